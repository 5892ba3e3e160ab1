//! Changes of a cluster that are more than one object: a node is drained, taken away or joined by others like it, a
//! workload gets another size, a node falls silent.
//!
//! They follow `kubectl drain --ignore-daemonsets --force --delete-emptydir-data`, `kubectl scale` and what the node
//! lifecycle controller does (`pkg/controller/nodelifecycle`). A drain heeds disruption budgets: what they hold is evicted
//! later, or stays.

use std::fmt;
use std::sync::Arc;

use crate::api::objects::{CSINode, Node, ObjectMeta, Pod, Taint, TaintEffect};
use crate::api::workloads::WorkloadKind;
use crate::api::{Kind, NamespacedName, Object, ObjectStore, Str, Time};

use super::api::{ApiError, SandboxApi, not_found};
use super::controllers::Controllers;
use super::draining::Draining;
use super::edits::EditError;
use super::returns::{Returns, free_name, fresh_copy};
use super::simulator::Simulator;
use super::world::{World, WorldOrder};

/// The taint of a node whose kubelet is not heard of.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// How the taints begin that say that a node is not well, or cordoned.
pub const CONDITION_TAINTS: &str = "node.kubernetes.io/";
/// The label with a node's own name.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// The most nodes or pods that one change makes.
const N_MAX: usize = 100_000;

/// A change of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Cordons a node and evicts its pods; those of a controller come back as new pods.
    Drain(Str),
    /// Takes a node away, and its pods with it; those of a controller come back as new pods.
    RemoveNode(Str),
    /// Adds nodes like one that is there, empty ones.
    AddNodes {
        /// The node that they are like.
        like: Str,
        /// How many.
        count: usize,
    },
    /// Makes the pods of a workload so many.
    Scale {
        /// Which pods.
        of: Workload,
        /// How many there are to be.
        count: usize,
    },
    /// A node's kubelet falls silent: it is tainted as unreachable.
    NodeDown(Str),
    /// It is heard of again.
    NodeUp(Str),
}

/// The pods of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Those that this controller owns; a Deployment through its ReplicaSets.
    Controller {
        /// Absent: any namespace, if there is one such controller only.
        namespace: Option<Str>,
        /// Such as `ReplicaSet`; the case of letters does not count.
        kind: Str,
        /// Its name.
        name: Str,
    },
    /// Those that a label selector matches.
    Labels {
        /// Absent: any namespace.
        namespace: Option<Str>,
        /// Such as `app=web,tier in (a, b)`; only `key=value` pairs are understood.
        pairs: Vec<(Str, Str)>,
    },
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = match self {
            Self::Controller { namespace, .. } | Self::Labels { namespace, .. } => namespace,
        };
        match self {
            Self::Controller { kind, name, .. } => write!(f, "{}/{name}", kind.to_lowercase())?,
            Self::Labels { pairs, .. } => {
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}={value}", if at > 0 { "," } else { "" })?;
                }
            }
        }
        match namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Change {
    /// What is done, in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drain(node) => write!(f, "drain {node}"),
            Self::RemoveNode(node) => write!(f, "remove {node}"),
            Self::AddNodes { like, count } => write!(f, "add {count} like {like}"),
            Self::Scale { of, count } => write!(f, "scale {of} to {count}"),
            Self::NodeDown(node) => write!(f, "node {node} down"),
            Self::NodeUp(node) => write!(f, "node {node} up"),
        }
    }
}

impl Change {
    /// The same as something that was done.
    pub fn past(&self) -> String {
        match self {
            Self::Drain(node) => format!("drained {node}"),
            Self::RemoveNode(node) => format!("removed {node}"),
            Self::AddNodes { like, count } => format!("added {count} like {like}"),
            Self::Scale { of, count } => format!("scaled {of} to {count}"),
            Self::NodeDown(node) => format!("node {node} went down"),
            Self::NodeUp(node) => format!("node {node} came up"),
        }
    }
}

impl Simulator {
    /// Pods of a controller that the scheduler evicts come back from now on.
    #[must_use]
    pub fn with_returning_victims(mut self) -> Self {
        // In a cluster that lives controllers do.
        if !self.lives() {
            self.returns.replace_victims();
        }
        self
    }

    /// Whether the cluster lives.
    fn lives(&self) -> bool {
        self.controllers.as_ref().is_some_and(|controllers| controllers.world().is_some())
    }

    /// The pods that came back for others.
    pub fn returns(&self) -> &Returns {
        &self.returns
    }

    /// The same in a cluster that lives, where others do the work; none if it is nothing for them.
    fn change_living(&mut self, change: &Change) -> Option<Result<String, EditError>> {
        let order = match change {
            Change::Drain(node) => WorldOrder::Drain { node: node.clone(), is_forced: true },
            Change::NodeDown(node) => WorldOrder::NodeDown(node.clone()),
            Change::NodeUp(node) => WorldOrder::NodeUp(node.clone()),
            Change::Scale { of: Workload::Controller { namespace, kind, name }, count } => {
                let kind = WorkloadKind::of_word(kind)?;
                let world = self.controllers.as_ref()?.world()?;
                let key = world.find(kind, namespace.as_ref(), name)?;
                WorldOrder::Scale { kind, key, replicas: i32::try_from(*count).ok()? }
            }
            Change::RemoveNode(_) | Change::AddNodes { .. } | Change::Scale { .. } => return None,
        };
        if let Change::Drain(node) = change {
            let world = self.controllers.as_ref().and_then(Controllers::world);
            for pod in pods_on(&self.api, node).iter().filter(|pod| !pod.is_terminating()) {
                self.returns.expect(pod, world);
            }
        }
        let controllers = self.controllers.as_mut()?;
        Some(controllers.order(&mut self.api, self.now, &order).map_err(EditError::Syntax))
    }

    /// Changes the cluster, at the present time.
    pub(super) fn change_cluster(&mut self, change: &Change) -> Result<String, String> {
        if self.lives()
            && let Some(said) = self.change_living(change)
        {
            self.settle();
            return said.map_err(|error| error.to_string());
        }
        let world = self.controllers.as_ref().and_then(Controllers::world);
        let said = make((&mut self.api, &mut self.returns, &mut self.draining), world, change, self.now);
        self.settle();
        said.map_err(|error| error.to_string())
    }
}

fn make(
    (api, returns, draining): (&mut SandboxApi, &mut Returns, &mut Draining),
    world: Option<&World>,
    change: &Change,
    now: Time,
) -> Result<String, EditError> {
    match change {
        Change::Drain(node) => draining.begin(api, returns, node, now),
        Change::RemoveNode(node) => {
            for pod in pods_on(api, node) {
                returns.expect(&pod, world);
            }
            api.delete_node(node)
        }
        Change::AddNodes { like, count } => add_nodes(api, like, *count, now),
        Change::Scale { of, count } => scale(api, of, *count, now),
        Change::NodeDown(name) => node_down(api, name),
        Change::NodeUp(name) => {
            let mut node = node(api, name)?;
            node.spec.taints.retain(|taint| &*taint.key != UNREACHABLE);
            api.write(node.into());
            Ok(format!("node/{name} is ready"))
        }
    }
}

/// The pods of a node, by name.
pub fn pods_on(api: &SandboxApi, node: &Str) -> Vec<Arc<Pod>> {
    api.objects().pods.values().filter(|pod| pod.spec.node_name == *node).cloned().collect()
}

fn add_nodes(api: &mut SandboxApi, like: &Str, count: usize, now: Time) -> Result<String, EditError> {
    let model = node(api, like)?;
    if count == 0 || count > N_MAX {
        return Err(EditError::Syntax(format!("{count} nodes cannot be added: from 1 to {N_MAX}")));
    }
    let mut names = (1_usize..).map(|number| Str::from(format!("{like}-new-{number}")));
    let mut added = 0;
    while added < count {
        let Some(name) = names.next() else { break };
        if api.objects().node(&name).is_some() {
            continue;
        }
        for object in node_like(api.objects(), &model, &name) {
            api.create(object, now)?;
        }
        added += 1;
    }
    Ok(match count {
        1 => format!("1 node like {like} added"),
        _ => format!("{count} nodes like {like} added"),
    })
}

/// A new node like one that is there, under another name: well, and without its pods and images; with its CSINode, if it
/// has one.
pub fn node_like(objects: &ObjectStore, like: &Node, name: &Str) -> Vec<Object> {
    let mut node = like.clone();
    begin_anew(&mut node.metadata, name);
    if node.metadata.labels.contains_key(HOSTNAME) {
        node.metadata.labels.insert(HOSTNAME.into(), name.clone());
    }
    node.spec.unschedulable = false;
    node.spec.taints.retain(|taint| !taint.key.starts_with(CONDITION_TAINTS));
    node.status.images.clear();
    // What the node can attach is told by an object of its own.
    let csi = objects.csi_nodes.get(&NamespacedName::cluster(like.name().clone())).map(|csi| {
        let mut csi = CSINode::clone(csi);
        begin_anew(&mut csi.metadata, name);
        csi.metadata.owner_references.clear();
        csi.into()
    });
    std::iter::once(node.into()).chain(csi).collect()
}

fn begin_anew(metadata: &mut ObjectMeta, name: &Str) {
    metadata.name = name.clone();
    metadata.uid = "".into();
    metadata.resource_version.clear();
    metadata.creation_timestamp = None;
}

fn node_down(api: &mut SandboxApi, name: &Str) -> Result<String, EditError> {
    let mut node = node(api, name)?;
    for effect in [TaintEffect::NoSchedule, TaintEffect::NoExecute] {
        if !node.spec.taints.iter().any(|taint| &*taint.key == UNREACHABLE && taint.effect == effect) {
            node.spec.taints.push(Taint { key: UNREACHABLE.into(), value: "".into(), effect });
        }
    }
    api.write(node.into());
    Ok(format!("node/{name} is not heard of"))
}

fn node(api: &SandboxApi, name: &Str) -> Result<Node, ApiError> {
    let key = NamespacedName::cluster(name.clone());
    api.objects().nodes.get(&key).map(|node| Node::clone(node)).ok_or_else(|| not_found(Kind::Node, &key))
}

/// The pods of a workload that are not on their way out.
pub fn pods_of(api: &SandboxApi, of: &Workload) -> Vec<Arc<Pod>> {
    let is_in = |pod: &Pod, namespace: &Option<Str>| {
        namespace.as_ref().is_none_or(|namespace| pod.metadata.namespace == *namespace)
    };
    let is_one = |pod: &Pod| match of {
        Workload::Controller { namespace, kind, name } => {
            is_in(pod, namespace) && pod.metadata.controller().is_some_and(|owner| owns(owner, kind, name))
        }
        Workload::Labels { namespace, pairs } => {
            is_in(pod, namespace)
                && pairs.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
        }
    };
    api.objects().pods.values().filter(|pod| !pod.is_terminating() && is_one(pod)).cloned().collect()
}

fn owns(owner: &crate::api::objects::OwnerReference, kind: &str, name: &str) -> bool {
    if owner.kind.eq_ignore_ascii_case(kind) {
        return owner.name == name;
    }
    // The ReplicaSets of a Deployment have its name and a hash.
    kind.eq_ignore_ascii_case("Deployment")
        && owner.kind == "ReplicaSet"
        && owner.name.rsplit_once('-').is_some_and(|(base, _)| base == name)
}

fn scale(api: &mut SandboxApi, of: &Workload, count: usize, now: Time) -> Result<String, EditError> {
    let mut pods = pods_of(api, of);
    if count > N_MAX {
        return Err(EditError::Syntax(format!("{count} pods are more than the {N_MAX} that can be made")));
    }
    let Some(model) = pods.first().cloned() else {
        return Err(EditError::Syntax(format!("no pod of {of} is there to be multiplied")));
    };
    if pods.iter().any(|pod| pod.metadata.namespace != model.metadata.namespace) {
        return Err(EditError::Syntax(format!("{of} is in several namespaces: name one")));
    }
    let before = pods.len();
    if count < before {
        // As the ReplicaSet controller: those without a node go first, then the youngest.
        pods.sort_by(|a, b| {
            let rank = |pod: &Pod| (pod.is_assigned(), std::cmp::Reverse(pod.metadata.creation_timestamp));
            rank(a).cmp(&rank(b)).then_with(|| b.key().cmp(&a.key()))
        });
        for pod in pods.iter().take(before - count) {
            api.delete_pod(&pod.key(), now)?;
        }
    }
    let mut last = Pod::clone(&model);
    let is_stateful = model.metadata.controller().is_some_and(|owner| owner.kind == "StatefulSet");
    for _ in before..count {
        let name = if is_stateful { next_ordinal(api, &model) } else { free_name(api, &last) };
        last = fresh_copy(&model, name);
        api.create(last.clone().into(), now)?;
    }
    Ok(format!("{of} scaled from {before} to {count} pods"))
}

/// The first number that is free behind the name of a StatefulSet.
fn next_ordinal(api: &SandboxApi, model: &Pod) -> Str {
    let key = model.key();
    let base = key.name.rsplit_once('-').map_or(&*key.name, |(base, _)| base).to_owned();
    let is_free = |name: &Str| {
        !api.objects().pods.contains_key(&NamespacedName::new(key.namespace.clone(), name.clone()))
    };
    (0_u32..).map(|number| Str::from(format!("{base}-{number}"))).find(is_free).unwrap_or_default()
}
