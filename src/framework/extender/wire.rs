//! The bodies of requests, as `k8s.io/kube-scheduler/extender/v1` has them: field names begin with a capital letter,
//! and of two ways to say the same one is null. Pods and nodes are in the form of the API, with the fields that a
//! scheduler knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::api::Str;
use crate::api::objects::{Node, Pod};
use crate::framework::node_info::NodeInfo;
use crate::framework::preemption::Victims;

/// `ExtenderArgs`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Args<'a> {
    pod: &'a Pod,
    nodes: Option<NodeList<'a>>,
    node_names: Option<Vec<&'a Str>>,
}

#[derive(Serialize)]
struct NodeList<'a> {
    metadata: Empty,
    items: Vec<&'a Node>,
}

#[derive(Serialize)]
struct Empty {}

/// `ExtenderPreemptionArgs`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PreemptionArgs<'a> {
    pod: &'a Pod,
    node_name_to_victims: Option<BTreeMap<&'a Str, WireVictims<&'a Pod>>>,
    node_name_to_meta_victims: Option<BTreeMap<&'a Str, WireVictims<MetaPod<'a>>>>,
}

#[derive(Serialize)]
struct WireVictims<P> {
    #[serde(rename = "Pods")]
    pods: Vec<P>,
    #[serde(rename = "NumPDBViolations")]
    num_pdb_violations: i64,
}

#[derive(Serialize)]
struct MetaPod<'a> {
    #[serde(rename = "UID")]
    uid: &'a str,
}

/// `ExtenderBindingArgs`.
#[derive(Serialize)]
struct BindingArgs<'a> {
    #[serde(rename = "PodName")]
    pod_name: &'a str,
    #[serde(rename = "PodNamespace")]
    pod_namespace: &'a str,
    #[serde(rename = "PodUID")]
    pod_uid: &'a str,
    #[serde(rename = "Node")]
    node: &'a str,
}

/// The body that asks about nodes, by their names only if the extender knows them.
pub(super) fn nodes(pod: &Pod, nodes: &[Arc<NodeInfo>], by_name: bool) -> String {
    let list = || NodeList {
        metadata: Empty {},
        items: nodes.iter().filter_map(|info| info.node().map(AsRef::as_ref)).collect(),
    };
    let names = || nodes.iter().map(|info| info.name()).collect();
    to_json(&Args { pod, nodes: (!by_name).then(list), node_names: by_name.then(names) })
}

/// The body that asks about victims, by their UIDs only if the extender knows the nodes.
pub(super) fn victims(pod: &Pod, victims: &BTreeMap<Str, Victims>, by_uid: bool) -> String {
    to_json(&PreemptionArgs {
        pod,
        node_name_to_victims: (!by_uid).then(|| each(victims, |pod| pod)),
        node_name_to_meta_victims: by_uid.then(|| each(victims, |pod| MetaPod { uid: pod.uid() })),
    })
}

fn each<'a, P>(
    victims: &'a BTreeMap<Str, Victims>,
    of: impl Fn(&'a Pod) -> P,
) -> BTreeMap<&'a Str, WireVictims<P>> {
    let wire = |victims: &'a Victims| WireVictims {
        pods: victims.pods.iter().map(|info| of(&info.pod)).collect(),
        num_pdb_violations: victims.num_pdb_violations,
    };
    victims.iter().map(|(node, victims)| (node, wire(victims))).collect()
}

/// The body that asks to bind.
pub(super) fn bind(pod: &Pod, node: &str) -> String {
    to_json(&BindingArgs {
        pod_name: &pod.metadata.name,
        pod_namespace: &pod.metadata.namespace,
        pod_uid: pod.uid(),
        node,
    })
}

/// No type here has anything that JSON cannot hold, so nothing fails.
fn to_json(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}
