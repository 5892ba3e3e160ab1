//! Metadata and label selectors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::api::{NamespacedName, Str, Time, Uid};

/// Labels or annotations, in the order of their keys.
pub type Labels = BTreeMap<Str, Str>;

/// `metadata`, as far as a scheduler reads it.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ObjectMeta {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub namespace: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub uid: Uid,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub generation: i64,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: Labels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<Str>,
}

impl ObjectMeta {
    /// Namespace and name.
    pub fn key(&self) -> NamespacedName {
        NamespacedName { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// The owner that controls the object (`metav1.GetControllerOf`).
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

/// An owner of an object.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct OwnerReference {
    #[serde(default, deserialize_with = "nullable")]
    pub api_version: String,
    #[serde(default, deserialize_with = "nullable")]
    pub kind: String,
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    #[serde(default, deserialize_with = "nullable")]
    pub uid: String,
    #[serde(default, deserialize_with = "nullable")]
    pub controller: bool,
}

/// A `metav1.LabelSelector`: all of `match_labels` and all of `match_expressions` must hold; empty matches all.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct LabelSelector {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: Labels,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One expression of a [`LabelSelector`]; `operator` is `In`, `NotIn`, `Exists` or `DoesNotExist`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct LabelSelectorRequirement {
    pub key: String,
    pub operator: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A status condition of an object; the scheduler compares type and status.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Condition {
    #[serde(rename = "type", default, deserialize_with = "nullable")]
    pub type_: String,
    #[serde(default, deserialize_with = "nullable")]
    pub status: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(value: &i64) -> bool {
    *value == 0
}

pub(crate) fn str_is_empty(text: &Str) -> bool {
    text.is_empty()
}

pub(crate) fn nullable_str<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Str, D::Error> {
    Ok(Option::<Str>::deserialize(deserializer)?.unwrap_or_else(|| Str::from("")))
}
