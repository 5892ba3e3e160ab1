//! Answers from outside that are at hand while a phase of an attempt runs.
//!
//! A phase that needs an answer which is not there yet is given up, the question is asked, and the phase is run again
//! with the answers so far. Questions are told apart by their place in the order as well as by what they say, since
//! the same question may be answered differently the second time.

use super::api_write::{ApiWrite, WriteResult};
use super::extender::{ExtenderAnswer, ExtenderCall};

/// What a phase wants to know from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// What an extender says.
    Extender(ExtenderCall),
    /// What comes of a write to the API.
    Write(ApiWrite),
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An extender has answered, or could not be reached.
    Extender(ExtenderAnswer),
    /// What came of a write to the API.
    Write(WriteResult),
}

/// Answers in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    answered: Vec<(Question, Answer)>,
    n_used: usize,
    missing: Vec<Question>,
}

impl Answers {
    /// The phase begins, or begins again.
    pub fn rewind(&mut self) {
        self.n_used = 0;
        self.missing.clear();
    }

    /// The answer to the next question; `None` if it has to be asked first.
    pub fn answer(&mut self, question: Question) -> Option<Answer> {
        let index = self.n_used + self.missing.len();
        match self.answered.get(index) {
            Some((asked, answer)) if *asked == question && self.missing.is_empty() => {
                self.n_used += 1;
                Some(answer.clone())
            }
            // The world has changed between the two runs: what was asked then is no answer now.
            Some(_) | None => {
                self.answered.truncate(index);
                self.missing.push(question);
                None
            }
        }
    }

    /// Whether a question has to be asked before the phase can go on.
    pub fn has_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    /// The questions that have to be asked, in order.
    pub fn take_missing(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.missing)
    }

    /// Adds answers, in the order of their questions.
    pub fn add(&mut self, answers: impl IntoIterator<Item = (Question, Answer)>) {
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
