//! Effects whose outcome the core waits for.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Str, Uid};
use crate::framework::{ApiWrite, Question};

/// What an effect was for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PendingEffect {
    /// It binds that pod.
    Bind {
        /// The pod.
        uid: Uid,
        /// The Bind plugin.
        plugin: &'static str,
    },
    /// It is a question of the attempt under way.
    AttemptQuestion(Question),
    /// It lets an extender bind that pod.
    ExtenderBind {
        /// The pod.
        uid: Uid,
        /// The extender's position in the list.
        extender: usize,
    },
    /// It writes what a plugin wants written.
    Write {
        /// For which pod.
        uid: Uid,
        /// The plugin.
        plugin: &'static str,
        /// What is written.
        write: ApiWrite,
    },
    /// It marks or deletes a victim.
    Preemption {
        /// Which preemption: a preemptor may have more than one.
        run: u64,
        /// The victim.
        victim: Uid,
    },
    /// It clears the nomination of a less important pod on the node of a preemption.
    ClearNomination {
        /// Which preemption.
        run: u64,
    },
    /// It tells where a pod is about to go, whose binding cycle goes on afterwards.
    Nomination {
        /// The pod.
        uid: Uid,
    },
    /// It reports that a pod was turned down while it waited; then its room is given back.
    RejectionReport {
        /// The pod, as assumed.
        pod: Arc<Pod>,
    },
    /// It reports a failed attempt; nothing depends on it.
    Report {
        /// What is said if it fails.
        what: Str,
    },
}
