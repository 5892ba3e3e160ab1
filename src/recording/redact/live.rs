//! Redaction while a session is recorded.

use super::{RedactError, Shadow};
use crate::api::Time;
use crate::framework::runtime::Registry;
use crate::recording::check::{Replay, Tree};
use crate::recording::header::{Header, HeaderError};
use crate::scheduler::effect::Effect;
use crate::scheduler::input::Input;

/// A redaction that follows a session, also where that goes back: it keeps the inputs, with their objects shared.
#[derive(Debug)]
pub struct LiveRedaction {
    shadow: Shadow,
    beginning: Replay,
    inputs: Vec<(Time, Input)>,
    tree: Tree,
}

impl LiveRedaction {
    /// Begins, with the header that is to be recorded.
    ///
    /// # Errors
    /// If no scheduler can be made of it.
    pub fn new(header: &Header, registry: &Registry) -> Result<(Self, Header), HeaderError> {
        let (shadow, header) = Shadow::new(header, registry)?;
        let beginning = shadow.replay.clone();
        Ok((Self { shadow, beginning, inputs: Vec::new(), tree: Tree::default() }, header))
    }

    /// As [`Shadow::input`].
    ///
    /// # Errors
    /// If something else is decided.
    pub fn input(
        &mut self,
        at: Time,
        input: &Input,
        deeds: &[Effect],
    ) -> Result<(Input, Option<u32>), RedactError> {
        let (redacted, decided) = self.shadow.input(at, input, deeds)?;
        self.inputs.push((at, redacted.clone()));
        self.tree.add();
        Ok((redacted, decided))
    }

    /// The session goes back to its state behind the input of that number.
    pub fn rewind(&mut self, input: u64) {
        self.tree.rewind(input);
        let mut replay = self.beginning.clone();
        for leg in self.tree.way().into_iter().rev() {
            for number in leg {
                let known = usize::try_from(number - 1).ok().and_then(|index| self.inputs.get(index));
                if let Some((at, input)) = known {
                    replay.input(*at, input.clone());
                }
            }
        }
        self.shadow.replay = replay;
    }

    /// The name of the next marker.
    pub fn marker(&mut self) -> String {
        self.shadow.marker()
    }

    /// The state of the scheduler.
    pub fn digest_parts(&self) -> Vec<(&'static str, u64)> {
        self.shadow.digest_parts()
    }
}
