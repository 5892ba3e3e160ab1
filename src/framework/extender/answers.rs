//! The answers of extenders that are at hand while a phase runs.
//!
//! A phase that needs an answer which is not there yet is given up, the call is made, and the phase is run again
//! with the answers so far. Calls are told apart by their place in the order as well as by what they say, since an
//! extender may answer the same question differently the second time.

use super::{ExtenderAnswer, ExtenderCall};

/// Answers in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtenderAnswers {
    answered: Vec<(ExtenderCall, ExtenderAnswer)>,
    n_used: usize,
    missing: Vec<ExtenderCall>,
}

impl ExtenderAnswers {
    /// The phase begins, or begins again.
    pub fn rewind(&mut self) {
        self.n_used = 0;
        self.missing.clear();
    }

    /// The answer to the next call; `None` if it has to be made first.
    pub fn answer(&mut self, call: ExtenderCall) -> Option<ExtenderAnswer> {
        let index = self.n_used + self.missing.len();
        match self.answered.get(index) {
            Some((asked, answer)) if *asked == call && self.missing.is_empty() => {
                self.n_used += 1;
                Some(answer.clone())
            }
            // The world has changed between the two runs: what was asked then is no answer now.
            Some(_) | None => {
                self.answered.truncate(index);
                self.missing.push(call);
                None
            }
        }
    }

    /// Whether a call has to be made before the phase can go on.
    pub fn has_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    /// The calls that have to be made, in order.
    pub fn take_missing(&mut self) -> Vec<ExtenderCall> {
        std::mem::take(&mut self.missing)
    }

    /// Adds answers, in the order of their calls.
    pub fn add(&mut self, answers: impl IntoIterator<Item = (ExtenderCall, ExtenderAnswer)>) {
        self.answered.extend(answers);
    }

    /// How many answers are at hand.
    pub fn len(&self) -> usize {
        self.answered.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty()
    }

    /// The phase is over.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
