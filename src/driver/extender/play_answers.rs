//! The answers that a rule makes to a call, and the same in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rules::{AnswerKind, RejectionKind, Rule};
use crate::api::objects::{Node, NodeStatus, ObjectMeta, ResourceList};
use crate::api::{NamespacedName, ObjectStore, Quantity, Str};

/// The label that holds a node's name.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// `ExtenderFilterResult`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct FilterResult {
    nodes: Option<NodeList>,
    node_names: Option<Vec<Str>>,
    failed_nodes: BTreeMap<Str, String>,
    failed_and_unresolvable_nodes: BTreeMap<Str, String>,
    pub error: String,
}

#[derive(Serialize)]
struct NodeList {
    metadata: BTreeMap<Str, Str>,
    items: Vec<Node>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HostPriority {
    host: Str,
    score: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct PreemptionResult {
    pub node_name_to_meta_victims: BTreeMap<Str, MetaVictims>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MetaVictims {
    #[serde(rename = "Pods")]
    pub pods: Vec<MetaPod>,
    #[serde(rename = "NumPDBViolations")]
    pub num_pdb_violations: i64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MetaPod {
    #[serde(rename = "UID")]
    pub uid: Str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BindingResult {
    pub error: String,
}

/// The node of the API, or a made-up one where it has none of that name.
pub(super) fn node(api: &ObjectStore, name: &Str) -> Arc<Node> {
    if let Some(node) = api.node(name) {
        return Arc::clone(node);
    }
    let room = [("cpu", "64"), ("memory", "256Gi"), ("pods", "110")];
    let room: ResourceList = room
        .into_iter()
        .filter_map(|(resource, amount)| Some((Str::from(resource), amount.parse::<Quantity>().ok()?)))
        .collect();
    Arc::new(Node {
        metadata: ObjectMeta {
            name: name.clone(),
            labels: [(Str::from(HOSTNAME), name.clone())].into(),
            ..ObjectMeta::default()
        },
        status: NodeStatus { capacity: room.clone(), allocatable: room, ..NodeStatus::default() },
        ..Node::default()
    })
}

/// Which nodes pass, and the same in words.
pub(super) fn filter(
    rule: &Rule,
    nodes: &[Arc<Node>],
    by_name: bool,
    api: &ObjectStore,
) -> (FilterResult, String) {
    let (mut failed, mut unresolvable) = (BTreeMap::new(), BTreeMap::new());
    let mut passing: Vec<Arc<Node>> = Vec::new();
    for node in nodes {
        let name = node.name();
        let rejection = rule.reject.iter().find(|entry| entry.has(name, &node.metadata.labels));
        let Some(rejection) = rejection else {
            passing.push(Arc::clone(node));
            continue;
        };
        let reason = || (name.clone(), rejection.reason.clone());
        match rejection.kind {
            RejectionKind::Failed => failed.extend([reason()]),
            RejectionKind::Unresolvable => unresolvable.extend([reason()]),
            RejectionKind::Both => {
                failed.extend([reason()]);
                unresolvable.extend([reason()]);
            }
            RejectionKind::Silent => {}
            RejectionKind::Listed => {
                failed.extend([reason()]);
                passing.push(Arc::clone(node));
            }
        }
    }
    passing.extend(rule.add.iter().map(|name| self::node(api, name)));
    failed.extend(rule.add_failed.clone());
    let kind = rule.answer.unwrap_or(if by_name { AnswerKind::NodeNames } else { AnswerKind::Nodes });
    let mut names: Vec<Str> = passing.iter().map(|node| node.name().clone()).collect();
    names.sort();
    let node_names = matches!(kind, AnswerKind::NodeNames | AnswerKind::Both).then(|| names.clone());
    let nodes = matches!(kind, AnswerKind::Nodes | AnswerKind::Both).then(|| NodeList {
        metadata: BTreeMap::new(),
        items: passing.iter().map(|node| rewritten(rule, node)).collect(),
    });
    let mut text = format!("{} {}", kind.as_str(), or_dash(&names));
    for (what, reasons) in [("failed", &failed), ("unresolvable", &unresolvable)] {
        for (node, reason) in reasons {
            text.push_str(&format!("; {what} {node}: {reason}"));
        }
    }
    let result = FilterResult {
        nodes,
        node_names,
        failed_nodes: failed,
        failed_and_unresolvable_nodes: unresolvable,
        error: String::new(),
    };
    (result, text)
}

fn rewritten(rule: &Rule, node: &Node) -> Node {
    let mut node = node.clone();
    if let Some(rewrite) = rule.rewrite.get(node.name()) {
        node.metadata.labels.extend(rewrite.labels.clone());
        node.status.allocatable.extend(rewrite.allocatable.clone());
    }
    node
}

/// The scores of the nodes, and the same in words.
pub(super) fn prioritize(rule: &Rule, nodes: &[Arc<Node>]) -> (Vec<HostPriority>, String) {
    let score = |node: &Node| {
        let labels = &node.metadata.labels;
        let by_label =
            || rule.by_label.iter().find_map(|(key, values)| values.get(labels.get(key)?).copied());
        rule.scores.get(node.name()).copied().or_else(by_label).or(rule.default)
    };
    let scored =
        nodes.iter().filter_map(|node| Some(HostPriority { host: node.name().clone(), score: score(node)? }));
    let extra = rule.extra.iter().map(|entry| HostPriority { host: entry.host.clone(), score: entry.score });
    let list: Vec<HostPriority> = scored.chain(extra).collect();
    let mut parts: Vec<String> = list.iter().map(|entry| format!("{}={}", entry.host, entry.score)).collect();
    parts.sort();
    (list, or_dash(&parts))
}

/// The candidates that are left, with their victims.
pub(super) fn preempt(
    rule: &Rule,
    sent: &BTreeMap<Str, MetaVictims>,
    api: &ObjectStore,
) -> BTreeMap<Str, MetaVictims> {
    let is_dropped =
        |name: &Str| rule.drop.as_ref().is_some_and(|drop| drop.has(name, &node(api, name).metadata.labels));
    let kept = sent.iter().filter(|(name, _)| !is_dropped(name));
    let mut candidates: BTreeMap<Str, MetaVictims> =
        kept.map(|(name, victims)| (name.clone(), victims.clone())).collect();
    for (name, victims) in &rule.victims {
        let pods = victims.pods.iter().map(|pod| MetaPod { uid: uid_of(api, pod) }).collect();
        candidates.insert(name.clone(), MetaVictims { pods, num_pdb_violations: victims.pdb_violations });
    }
    candidates
}

/// The uid of a pod that is named `namespace/name`.
fn uid_of(api: &ObjectStore, pod: &str) -> Str {
    let key = pod.split_once('/').map(|(namespace, name)| NamespacedName::new(namespace, name));
    match key.and_then(|key| api.pods.get(&key)) {
        Some(pod) => pod.uid().clone(),
        None => format!("none/{pod}").into(),
    }
}

/// Candidates in words: `NODE[POD POD]`, and `!N` if that many disruption budgets are violated.
pub(super) fn victims_text(candidates: &BTreeMap<Str, MetaVictims>, api: &ObjectStore) -> Vec<String> {
    let names: BTreeMap<&Str, String> =
        api.pods.values().map(|pod| (pod.uid(), pod.key().to_string())).collect();
    let name = |pod: &MetaPod| names.get(&pod.uid).cloned().unwrap_or_else(|| pod.uid.to_string());
    let candidates = candidates.iter().map(|(node, victims)| {
        let pods: Vec<String> = victims.pods.iter().map(name).collect();
        let violations = match victims.num_pdb_violations {
            0 => String::new(),
            number => format!("!{number}"),
        };
        format!("{node}[{}]{violations}", pods.join(" "))
    });
    candidates.collect()
}

/// The texts with commas between them, or a dash if there are none.
pub(super) fn or_dash(texts: &[impl AsRef<str>]) -> String {
    if texts.is_empty() {
        return "-".to_owned();
    }
    texts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
}
