//! What goes into the core. A session is the list of its inputs with their times.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Object, Uid};

use crate::framework::WriteResult;
use crate::framework::extender::ExtenderAnswer;

use super::effect::{ApiFailure, EffectId};
use super::turns::Strand;

/// Everything that can happen to the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A watch reports a new object.
    Added(Object),
    /// A watch reports a change.
    Updated {
        /// The object as the watch last reported it.
        old: Object,
        /// The object as it is now.
        new: Object,
    },
    /// A watch reports that an object is gone.
    Deleted(Object),
    /// A deed that the core asked for has ended.
    EffectDone {
        /// Which deed.
        id: EffectId,
        /// How.
        result: Result<(), ApiFailure>,
    },
    /// An extender has answered, or could not be reached.
    ExtenderAnswered {
        /// Which call.
        id: EffectId,
        /// What came back.
        answer: ExtenderAnswer,
    },
    /// A write that a plugin wanted has ended.
    Written {
        /// Which write.
        id: EffectId,
        /// How.
        result: WriteResult,
    },
    /// Nothing but time: backoffs end, the flush runs, Permit times out.
    Timeout,
    /// A person, or the driver in a person's place, steers the scheduler.
    Command(Command),
}

/// How the scheduler is steered.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Does the rest of the attempt that is under way, or a whole one. Its binding cycle runs as far as it can.
    ScheduleOne,
    /// Does one phase of the attempt that is under way, or begins one.
    NextPhase,
    /// Lets something go on that waits for its turn; see [`Scheduler::turns`](super::Scheduler::turns).
    GoOn(Strand),
    /// Puts pods into activeQ at once, wherever they are in the queue.
    Activate(Vec<Arc<Pod>>),
    /// Another weight for a Score plugin, in every profile that has it.
    SetWeight {
        /// The plugin.
        plugin: String,
        /// Its weight.
        weight: i64,
    },
    /// The scheduler starts again under another configuration.
    Configure {
        /// A `KubeSchedulerConfiguration` without extenders, as JSON.
        configuration: String,
    },
    /// A Permit plugin allows a waiting pod.
    AllowWaitingPod {
        /// Which pod.
        uid: Uid,
        /// In the name of which plugin.
        plugin: String,
    },
    /// A Permit plugin turns a waiting pod down.
    RejectWaitingPod {
        /// Which pod.
        uid: Uid,
        /// In the name of which plugin.
        plugin: String,
        /// Why.
        message: String,
    },
}
