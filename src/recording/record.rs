//! What a recording consists of.

use indexmap::IndexMap;

use crate::api::Time;
use crate::scheduler::input::Input;

/// One line of a recording after the first.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Something happened to the scheduler.
    Input {
        /// When.
        at: Time,
        /// What. Boxed, as inputs are large beside the rest.
        input: Box<Input>,
        /// The checksum of what the scheduler decided upon it, if anything; see
        /// [`decisions_check`](super::decisions_check).
        decided: Option<u32>,
    },
    /// The state of the scheduler after the inputs so far, component by component.
    Digest {
        /// How many inputs there were in the file.
        inputs: u64,
        /// The digest of each component.
        parts: IndexMap<String, u64>,
    },
    /// A place that a person wants to find again.
    Marker {
        /// When.
        at: Time,
        /// What it is called.
        name: String,
    },
    /// What a person or a program says about this place.
    Note {
        /// When.
        at: Time,
        /// The text.
        text: String,
    },
    /// The session went back to its state behind an earlier input; what follows goes on from there.
    Rewind {
        /// The number of that input in the file, counted from 1; 0 stands for the beginning.
        input: u64,
    },
    /// The recording is complete.
    End {
        /// How many inputs there were in the file.
        inputs: u64,
        /// Why it ended.
        reason: String,
    },
}
