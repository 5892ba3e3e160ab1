//! The bodies of answers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::go_json::{self, GoType};
use super::schema;
use crate::api::Str;
use crate::api::objects::Node;

/// `ExtenderFilterResult`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Filter {
    #[serde(default)]
    pub nodes: Option<NodeList>,
    #[serde(default)]
    pub node_names: Option<Vec<String>>,
    #[serde(default)]
    pub failed_nodes: Option<BTreeMap<Str, String>>,
    #[serde(default)]
    pub failed_and_unresolvable_nodes: Option<BTreeMap<Str, String>>,
    pub error: String,
}

#[derive(Deserialize)]
pub(super) struct NodeList {
    #[serde(default)]
    pub items: Option<Vec<Node>>,
}

/// `HostPriority`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostPriority {
    host: Str,
    #[serde(default)]
    score: Option<i64>,
}

/// `ExtenderPreemptionResult`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Preemption {
    #[serde(default)]
    node_name_to_meta_victims: Option<BTreeMap<Str, Option<MetaVictims>>>,
}

/// `MetaVictims`.
#[derive(Deserialize, Default)]
pub(super) struct MetaVictims {
    #[serde(rename = "Pods", default)]
    pub pods: Option<Vec<Option<MetaPod>>>,
    #[serde(rename = "NumPDBViolations", default)]
    pub num_pdb_violations: Option<i64>,
}

/// `MetaPod`.
#[derive(Deserialize)]
pub(super) struct MetaPod {
    #[serde(rename = "UID")]
    pub uid: String,
}

/// `ExtenderBindingResult`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Binding {
    error: String,
}

/// Reads an `ExtenderFilterResult`.
pub(super) fn filter(body: &str) -> Result<Filter, String> {
    read::<Option<Filter>>(body, &schema::FILTER_RESULT).map(|result| {
        result.unwrap_or_else(|| Filter {
            nodes: None,
            node_names: None,
            failed_nodes: None,
            failed_and_unresolvable_nodes: None,
            error: String::new(),
        })
    })
}

/// Reads a `HostPriorityList`.
pub(super) fn prioritize(body: &str) -> Result<Vec<(Str, i64)>, String> {
    let list = read::<Option<Vec<HostPriority>>>(body, &schema::HOST_PRIORITY_LIST)?.unwrap_or_default();
    Ok(list.into_iter().map(|entry| (entry.host, entry.score.unwrap_or(0))).collect())
}

/// Reads an `ExtenderPreemptionResult`. A candidate that is null counts as one without victims.
pub(super) fn preempt(body: &str) -> Result<BTreeMap<Str, MetaVictims>, String> {
    let result = read::<Option<Preemption>>(body, &schema::PREEMPTION_RESULT)?;
    let candidates = result.and_then(|result| result.node_name_to_meta_victims).unwrap_or_default();
    Ok(candidates.into_iter().map(|(node, victims)| (node, victims.unwrap_or_default())).collect())
}

/// Reads the error of an `ExtenderBindingResult`; it is empty if all went well.
pub(super) fn bind(body: &str) -> Result<String, String> {
    Ok(read::<Option<Binding>>(body, &schema::BINDING_RESULT)?.map(|result| result.error).unwrap_or_default())
}

fn read<T: DeserializeOwned>(body: &str, ty: &GoType) -> Result<T, String> {
    serde_json::from_value(go_json::decode(body, ty)?).map_err(|error| format!("json: {error}"))
}
