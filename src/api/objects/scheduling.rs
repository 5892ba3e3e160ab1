//! Pod groups (`scheduling.k8s.io/v1alpha2`): pods that are scheduled with a view to each other (KEP-4671).

use serde::{Deserialize, Serialize};

use super::meta::{Condition, ObjectMeta, nullable_str};
use super::nullable;
use crate::api::Str;

/// A group of pods.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodGroup {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodGroupSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodGroupStatus,
}

impl PodGroup {
    /// How many pods must find a place before any is bound, if the group is a gang.
    pub fn gang_min_count(&self) -> Option<i32> {
        self.spec.scheduling_policy.gang.as_ref().map(|gang| gang.min_count)
    }

    /// How important the group as a whole is; 0 if nothing says so (`util.PodGroupPriority`).
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or(0)
    }

    /// Whether its pods can only be evicted together.
    pub fn is_disrupted_as_one(&self) -> bool {
        self.spec.disruption_mode.as_deref() == Some("PodGroup")
    }

    /// The condition of that type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// The label by which nodes are divided into places for the whole group, if it asks for that.
    pub fn topology_key(&self) -> Option<&Str> {
        self.spec.scheduling_constraints.as_ref()?.topology.first().map(|constraint| &constraint.key)
    }
}

/// `spec` of a pod group.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodGroupSpec {
    #[serde(default, deserialize_with = "nullable")]
    pub scheduling_policy: PodGroupSchedulingPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling_constraints: Option<PodGroupSchedulingConstraints>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruption_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// `status` of a pod group.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodGroupStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How the pods of a group are scheduled: one by one, or all or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodGroupSchedulingPolicy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic: Option<BasicSchedulingPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangSchedulingPolicy>,
}

/// The pods are scheduled one by one; there is nothing to be said about how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BasicSchedulingPolicy {}

/// The pods are scheduled all or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct GangSchedulingPolicy {
    #[serde(default, deserialize_with = "nullable")]
    pub min_count: i32,
}

/// What the place of a whole group must be like.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodGroupSchedulingConstraints {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub topology: Vec<TopologyConstraint>,
}

/// All pods of the group are on nodes with one value of this label.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct TopologyConstraint {
    #[serde(default, deserialize_with = "nullable_str")]
    pub key: Str,
}
