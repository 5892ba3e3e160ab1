//! What comes out of the core: deeds for the driver to do.

use crate::api::objects::PodCondition;
use crate::api::{NamespacedName, Str, Uid};
use crate::framework::extender::ExtenderCall;

use super::view::ObjectEvent;

/// Names an effect; its outcome comes back under this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// A deed, in the order in which it is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its number.
    pub id: EffectId,
    /// What is to be done.
    pub kind: EffectKind,
}

/// What is to be done. Every kind but an Event is answered by [`super::input::Input::EffectDone`].
#[derive(Clone, Debug, PartialEq)]
pub enum EffectKind {
    /// POST a Binding of the pod to the node.
    Bind {
        /// The pod.
        pod: NamespacedName,
        /// Its uid, a precondition.
        uid: Uid,
        /// The node.
        node: Str,
    },
    /// PATCH the status of the pod.
    PatchPodStatus {
        /// The pod.
        pod: NamespacedName,
        /// Its uid.
        uid: Uid,
        /// The condition to set, if any.
        condition: Option<PodCondition>,
        /// The new `nominatedNodeName`, if it changes; empty clears it.
        nominated_node_name: Option<Str>,
    },
    /// DELETE the pod to make room for another one.
    DeletePod {
        /// The pod.
        pod: NamespacedName,
        /// Its uid.
        uid: Uid,
    },
    /// Ask an extender. Answered by [`super::input::Input::ExtenderAnswered`].
    CallExtender(ExtenderCall),
    /// Record a Kubernetes Event.
    Event(ObjectEvent),
}

/// Why a deed failed, as far as the scheduler acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApiFailureReason {
    /// The object is not there (any more).
    NotFound,
    /// The object has changed, or is bound already.
    Conflict,
    /// Anything else.
    Other,
}

/// The answer of the API to a deed that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiFailure {
    /// What the scheduler acts on.
    pub reason: ApiFailureReason,
    /// The server's words.
    pub message: String,
}
