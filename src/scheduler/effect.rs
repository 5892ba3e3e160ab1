//! What comes out of the core: deeds for the driver to do.

use std::sync::Arc;

use crate::api::objects::{Condition, Pod, PodCondition, PodGroup};
use crate::api::{NamespacedName, Str, Uid};
use crate::framework::ApiWrite;
use crate::framework::extender::ExtenderCall;

pub use crate::framework::api_write::{ApiFailure, ApiFailureReason};

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
        /// The pod as the scheduler knows it: the patch is what is to be different from it.
        base: Arc<Pod>,
    },
    /// PATCH the status of the pod group.
    PatchPodGroupStatus {
        /// The group.
        pod_group: NamespacedName,
        /// The condition to set.
        condition: Condition,
        /// The group as the scheduler knows it, against which the change is made.
        base: Arc<PodGroup>,
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
    /// Write an object that a plugin wants written. Answered by [`super::input::Input::Written`].
    Write(ApiWrite),
    /// Record a Kubernetes Event.
    Event(ObjectEvent),
}
