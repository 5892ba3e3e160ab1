//! The bodies of answers, as `k8s.io/kube-scheduler/extender/v1` has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::api::Str;
use crate::api::objects::Node;

/// `ExtenderFilterResult`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Filter {
    pub nodes: Option<Vec<Node>>,
    pub node_names: Option<Vec<String>>,
    pub failed_nodes: BTreeMap<Str, String>,
    pub failed_and_unresolvable_nodes: BTreeMap<Str, String>,
    pub error: String,
}

/// `MetaVictims`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MetaVictims {
    pub uids: Vec<String>,
    pub num_pdb_violations: i64,
}

/// Reads an `ExtenderFilterResult`.
pub(super) fn filter(body: &str) -> Result<Filter, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

/// Reads a `HostPriorityList`.
pub(super) fn prioritize(body: &str) -> Result<Vec<(Str, i64)>, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

/// Reads an `ExtenderPreemptionResult`.
pub(super) fn preempt(body: &str) -> Result<BTreeMap<Str, MetaVictims>, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

/// Reads the error of an `ExtenderBindingResult`; it is empty if all went well.
pub(super) fn bind(body: &str) -> Result<String, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}
