//! Namespaces, priority classes and disruption budgets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::meta::{LabelSelector, ObjectMeta};
use super::nullable;

/// A namespace; the scheduler reads its labels.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Namespace {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
}

/// A priority class. Only admission reads it: a scheduler sees `spec.priority` of the pod.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PriorityClass {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub value: i32,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub global_default: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption_policy: Option<String>,
}

/// A disruption budget. The scheduler reads the selector and the status that the disruption controller wrote.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodDisruptionBudget {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodDisruptionBudgetSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodDisruptionBudgetStatus,
}

/// `spec` of a disruption budget.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodDisruptionBudgetSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// `AlwaysAllow` or `IfHealthyBudget`: what holds for pods that are not ready. Only evictions read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_pod_eviction_policy: Option<String>,
}

/// `status` of a disruption budget.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodDisruptionBudgetStatus {
    #[serde(default, deserialize_with = "nullable")]
    pub disruptions_allowed: i32,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero_i32")]
    pub current_healthy: i32,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero_i32")]
    pub desired_healthy: i32,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero_i32")]
    pub expected_pods: i32,
    /// Names of pods whose eviction has been granted, with the time of it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub disrupted_pods: BTreeMap<String, serde_json::Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero_i32(value: &i32) -> bool {
    *value == 0
}

/// A number or a percentage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A plain number.
    Int(i64),
    /// A text such as `50%`.
    String(String),
}

impl IntOrString {
    /// The number; of a percentage that part of `total`, rounded up or down. None if it is neither
    /// (`intstr.GetScaledValueFromIntOrPercent`).
    pub fn scaled(&self, total: i32, rounds_up: bool) -> Option<i32> {
        let text = match self {
            Self::Int(number) => return i32::try_from(*number).ok(),
            Self::String(text) => text,
        };
        let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
        let hundredths = percent.checked_mul(i64::from(total))?;
        let part = if rounds_up {
            hundredths.div_euclid(100) + i64::from(hundredths.rem_euclid(100) > 0)
        } else {
            hundredths.div_euclid(100)
        };
        i32::try_from(part).ok()
    }
}
