//! Cluster events: what has changed in the cluster, and what a change means to a rejected pod.
//!
//! Mirrors `staging/src/k8s.io/kube-scheduler/framework/types.go` and `pkg/scheduler/framework/events.go`.

use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;

use crate::api::Object;
use crate::api::objects::Pod;

use super::handle::Handle;

/// The kind of object that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are Kubernetes kinds")]
pub enum EventResource {
    Pod,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    CsiNode,
    CsiDriver,
    VolumeAttachment,
    CsiStorageCapacity,
    StorageClass,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    PodGroup,
    /// A pod that is on a node; only incoming events have it.
    AssignedPod,
    /// A pod that waits to be scheduled; only incoming events have it.
    UnschedulablePod,
    /// Any resource.
    WildCard,
}

impl EventResource {
    /// The resource as upstream's labels spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::CsiNode => "storage.k8s.io/CSINode",
            Self::CsiDriver => "storage.k8s.io/CSIDriver",
            Self::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            Self::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            Self::StorageClass => "storage.k8s.io/StorageClass",
            Self::ResourceClaim => "resource.k8s.io/ResourceClaim",
            Self::ResourceSlice => "resource.k8s.io/ResourceSlice",
            Self::DeviceClass => "resource.k8s.io/DeviceClass",
            Self::PodGroup => "scheduling.k8s.io/PodGroup",
            Self::AssignedPod => "AssignedPod",
            Self::UnschedulablePod => "UnschedulablePod",
            Self::WildCard => "*",
        }
    }

    /// Whether somebody who listens for `self` hears events of `incoming`.
    fn matches(self, incoming: Self) -> bool {
        self == Self::WildCard
            || self == incoming
            || self == Self::Pod && matches!(incoming, Self::AssignedPod | Self::UnschedulablePod)
    }
}

/// What happened to the object: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionType(u32);

macro_rules! action_types {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)+) => {
        impl ActionType {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)+

            /// The single actions with their names.
            pub const BASIC: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),+];
        }
    };
}

action_types! {
    /// The object is new.
    ADD = 0, "Add";
    /// The object is gone.
    DELETE = 1, "Delete";
    /// A node's allocatable resources changed.
    UPDATE_NODE_ALLOCATABLE = 2, "UpdateNodeAllocatable";
    /// A node's labels changed.
    UPDATE_NODE_LABEL = 3, "UpdateNodeLabel";
    /// A node's taints or `spec.unschedulable` changed.
    UPDATE_NODE_TAINT = 4, "UpdateNodeTaint";
    /// A node's conditions changed.
    UPDATE_NODE_CONDITION = 5, "UpdateNodeCondition";
    /// A node's annotations changed.
    UPDATE_NODE_ANNOTATION = 6, "UpdateNodeAnnotation";
    /// The features that a node declares changed.
    UPDATE_NODE_DECLARED_FEATURE = 7, "UpdateNodeDeclaredFeature";
    /// A pod's labels changed.
    UPDATE_POD_LABEL = 8, "UpdatePodLabel";
    /// A pod's requests went down.
    UPDATE_POD_SCALE_DOWN = 9, "UpdatePodScaleDown";
    /// A pod got more tolerations.
    UPDATE_POD_TOLERATION = 10, "UpdatePodToleration";
    /// A pod's last scheduling gate was taken away.
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 11, "UpdatePodSchedulingGatesEliminated";
    /// The list of claims that were generated for a pod changed.
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 12, "UpdatePodGeneratedResourceClaim";
}

impl ActionType {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self((1 << 13) - 1);
    /// Every update.
    pub const UPDATE: Self = Self(Self::ALL.0 & !(Self::ADD.0 | Self::DELETE.0));

    /// Whether the two have an action in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether every action of `other` is in this one.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits, for the digest.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for ActionType {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for ActionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("All");
        }
        if *self == Self::UPDATE {
            return f.write_str("Update");
        }
        let mut separator = "";
        for (action, name) in Self::BASIC {
            if self.intersects(*action) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ActionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A change in the cluster, or what a plugin wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterEvent {
    /// The kind of object.
    pub resource: EventResource,
    /// What happened to it.
    pub action_type: ActionType,
    /// A name of its own, which special events have.
    pub custom_label: Option<&'static str>,
}

impl ClusterEvent {
    /// An event without a name of its own.
    pub const fn new(resource: EventResource, action_type: ActionType) -> Self {
        Self { resource, action_type, custom_label: None }
    }

    const fn named(resource: EventResource, action_type: ActionType, label: &'static str) -> Self {
        Self { resource, action_type, custom_label: Some(label) }
    }

    /// A pod was assigned to a node (`EventAssignedPodAdd`).
    pub const ASSIGNED_POD_ADD: Self = Self::new(EventResource::AssignedPod, ActionType::ADD);
    /// An assigned pod is gone, or its place was given up (`EventAssignedPodDelete`).
    pub const ASSIGNED_POD_DELETE: Self = Self::new(EventResource::AssignedPod, ActionType::DELETE);
    /// A pod came that waits to be scheduled (`EventUnscheduledPodAdd`).
    pub const UNSCHEDULED_POD_ADD: Self = Self::new(EventResource::UnschedulablePod, ActionType::ADD);
    /// A waiting pod changed (`EventUnscheduledPodUpdate`).
    pub const UNSCHEDULED_POD_UPDATE: Self = Self::new(EventResource::UnschedulablePod, ActionType::UPDATE);
    /// A waiting pod is gone (`EventUnscheduledPodDelete`).
    pub const UNSCHEDULED_POD_DELETE: Self = Self::new(EventResource::UnschedulablePod, ActionType::DELETE);
    /// A node is new.
    pub const NODE_ADD: Self = Self::new(EventResource::Node, ActionType::ADD);
    /// A node is gone.
    pub const NODE_DELETE: Self = Self::new(EventResource::Node, ActionType::DELETE);
    /// The pod's backoff is over (`framework.BackoffComplete`).
    pub const BACKOFF_COMPLETE: Self =
        Self::named(EventResource::WildCard, ActionType::ALL, "BackoffComplete");
    /// The attempt failed and the pod went back (`framework.ScheduleAttemptFailure`).
    pub const SCHEDULE_ATTEMPT_FAILURE: Self =
        Self::named(EventResource::WildCard, ActionType::ALL, "ScheduleAttemptFailure");
    /// Somebody asked for the pod to be tried at once (`framework.ForceActivate`).
    pub const FORCE_ACTIVATE: Self = Self::named(EventResource::WildCard, ActionType::ALL, "ForceActivate");
    /// The pod has been unschedulable for too long (`framework.EventUnschedulableTimeout`).
    pub const UNSCHEDULABLE_TIMEOUT: Self =
        Self::named(EventResource::WildCard, ActionType::ALL, "UnschedulableTimeout");

    /// The event's name as logs and metrics have it (`ClusterEvent.Label`).
    pub fn label(&self) -> String {
        match self.custom_label {
            Some(label) => label.to_owned(),
            None => format!("{}{}", self.resource.as_str(), self.action_type),
        }
    }

    /// Whether it stands for any change at all (`IsWildCard`).
    pub fn is_wildcard(&self) -> bool {
        self.resource == EventResource::WildCard && self.action_type == ActionType::ALL
    }

    /// Whether somebody who listens for `self` hears `incoming` (`MatchClusterEvents`): the incoming event must
    /// be the same or more specific.
    pub fn matches(&self, incoming: &Self) -> bool {
        self.is_wildcard()
            || self.resource.matches(incoming.resource)
                && self.action_type.intersects(incoming.action_type)
                && incoming.action_type.bits() <= self.action_type.bits()
    }
}

/// What an event means to a pod that a plugin rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueingHint {
    /// The event cannot make the pod schedulable.
    QueueSkip,
    /// The event may make the pod schedulable.
    Queue,
}

/// Judges an event for a pod that the plugin rejected: old object (absent when added), new object (absent when
/// deleted). An error counts as [`QueueingHint::Queue`].
pub type QueueingHintFn = Arc<
    dyn Fn(&Handle<'_>, &Arc<Pod>, Option<&Object>, Option<&Object>) -> Result<QueueingHint, String>
        + Send
        + Sync,
>;

/// An event that a plugin listens to, and how it judges it; without a function the answer is always Queue.
#[derive(Clone)]
pub struct ClusterEventWithHint {
    /// Which events.
    pub event: ClusterEvent,
    /// How they are judged.
    pub queueing_hint_fn: Option<QueueingHintFn>,
}

impl ClusterEventWithHint {
    /// Every such event is worth a retry.
    pub const fn always(event: ClusterEvent) -> Self {
        Self { event, queueing_hint_fn: None }
    }

    /// Such events are judged by `hint`.
    pub fn hinted(
        event: ClusterEvent,
        hint: impl Fn(&Handle<'_>, &Arc<Pod>, Option<&Object>, Option<&Object>) -> Result<QueueingHint, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { event, queueing_hint_fn: Some(Arc::new(hint)) }
    }
}

impl fmt::Debug for ClusterEventWithHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.event.label(), if self.queueing_hint_fn.is_some() { " (hinted)" } else { "" })
    }
}
