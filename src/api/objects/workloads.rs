//! Services and the controllers that own pods, as far as spreading by default reads them: their selectors.

use serde::{Deserialize, Serialize};

use super::meta::{LabelSelector, Labels, ObjectMeta};
use super::nullable;

/// A service.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Service {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: LabelledSpec,
}

/// A replication controller.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ReplicationController {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: LabelledSpec,
}

/// `spec` of a service or a replication controller: pods with all of the labels belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct LabelledSpec {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Labels::is_empty")]
    pub selector: Labels,
}

/// A replica set.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ReplicaSet {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: SelectingSpec,
}

/// A stateful set.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct StatefulSet {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: SelectingSpec,
}

/// `spec` of a replica set or a stateful set: pods that the selector matches belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct SelectingSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}
