//! Nodes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::meta::{Condition, ObjectMeta, nullable_str, str_is_empty};
use super::nullable;
use super::pod::ResourceList;
use crate::api::Str;

/// A machine of the cluster.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Node {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: NodeSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: NodeStatus,
}

impl Node {
    /// `metadata.name`.
    pub fn name(&self) -> &Str {
        &self.metadata.name
    }

    /// The value of a label, if the node has it.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(AsRef::as_ref)
    }
}

/// `spec` of a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeSpec {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// `status` of a node.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "ResourceList::is_empty")]
    pub capacity: ResourceList,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "ResourceList::is_empty")]
    pub allocatable: ResourceList,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<NodeCondition>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ContainerImage>,
    /// Features that the kubelet declares (KEP-5328); NodeDeclaredFeatures reads them.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub declared_features: Vec<String>,
}

/// A condition of a node.
pub type NodeCondition = Condition;

/// Images that are on a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerImage {
    /// All names of the image, with tags and digests.
    #[serde(default, deserialize_with = "nullable")]
    pub names: Vec<Arc<str>>,
    /// Bytes.
    #[serde(default, deserialize_with = "nullable")]
    pub size_bytes: i64,
}

/// A taint: repels pods that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The taint's key.
    #[serde(deserialize_with = "nullable_str")]
    pub key: Str,
    /// The taint's value, often empty.
    #[serde(default = "empty", deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub value: Str,
    /// What the taint does.
    pub effect: TaintEffect,
}

fn empty() -> Str {
    Str::from("")
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            write!(f, "{}:{}", self.key, self.effect.as_str())
        } else {
            write!(f, "{}={}:{}", self.key, self.value, self.effect.as_str())
        }
    }
}

/// What a taint does to pods that do not tolerate it. `Other` keeps an effect that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum TaintEffect {
    /// Pods are not scheduled onto the node.
    NoSchedule,
    /// The node is avoided where another one will do.
    PreferNoSchedule,
    /// Pods are not scheduled, and running ones are evicted.
    NoExecute,
    /// An effect that has no meaning here.
    Other(String),
}

impl TaintEffect {
    /// The effect as the API spells it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(text) => text,
        }
    }
}

impl From<String> for TaintEffect {
    fn from(text: String) -> Self {
        match text.as_str() {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(text),
        }
    }
}

impl From<TaintEffect> for String {
    fn from(effect: TaintEffect) -> Self {
        effect.as_str().to_owned()
    }
}
