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
}

/// `status` of a disruption budget.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodDisruptionBudgetStatus {
    #[serde(default, deserialize_with = "nullable")]
    pub disruptions_allowed: i32,
    /// Names of pods whose eviction has been granted, with the time of it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub disrupted_pods: BTreeMap<String, serde_json::Value>,
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
