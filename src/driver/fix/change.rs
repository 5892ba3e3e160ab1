//! A change that may let a pod run: what it is, what it costs, how it is done here, and how with kubectl.

use serde_json::{Value, json};

use super::patch::PatchOp;
use crate::api::objects::{OwnerReference, Pod, Toleration};
use crate::api::{NamespacedName, Object};
use crate::driver::sandbox::changes::CONDITION_TAINTS;
use crate::driver::session::Edit;

/// The sorts of changes: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Takes scheduling gates away.
    RemoveGates,
    /// Lowers how many members of a gang are needed.
    LowerMinCount,
    /// Adds members to a gang.
    AddMembers,
    /// Adds tolerations.
    AddTolerations,
    /// Lowers requests.
    LowerRequests,
    /// Drops keys of the node selector.
    DropNodeSelector,
    /// Drops the required node affinity.
    DropNodeAffinity,
    /// Makes spread constraints a wish.
    RelaxSpread,
    /// Allows more skew.
    RaiseMaxSkew,
    /// Drops the required pod affinity.
    DropPodAffinity,
    /// Drops the required pod anti-affinity.
    DropPodAntiAffinity,
    /// Drops host ports.
    DropHostPorts,
    /// Raises the priority, so that others make room.
    RaisePriority,
    /// Lets the pod preempt.
    AllowPreemption,
    /// Ties the pod to a node.
    PinToNode,
    /// Gives a node labels.
    LabelNode,
    /// Takes taints from a node.
    RemoveTaints,
    /// Uncordons a node.
    Uncordon,
    /// Evicts pods.
    EvictPods,
    /// Adds a node.
    AddNode,
    /// Adds volumes.
    AddVolumes,
    /// Gives a Score plugin another weight.
    SetWeight,
}

impl ChangeKind {
    /// Its code in JSON.
    pub const fn code(self) -> &'static str {
        match self {
            Self::RemoveGates => "removeGates",
            Self::LowerMinCount => "lowerMinCount",
            Self::AddMembers => "addMembers",
            Self::AddTolerations => "addTolerations",
            Self::LowerRequests => "lowerRequests",
            Self::DropNodeSelector => "dropNodeSelector",
            Self::DropNodeAffinity => "dropNodeAffinity",
            Self::RelaxSpread => "relaxSpread",
            Self::RaiseMaxSkew => "raiseMaxSkew",
            Self::DropPodAffinity => "dropPodAffinity",
            Self::DropPodAntiAffinity => "dropPodAntiAffinity",
            Self::DropHostPorts => "dropHostPorts",
            Self::RaisePriority => "raisePriority",
            Self::AllowPreemption => "allowPreemption",
            Self::PinToNode => "pinToNode",
            Self::LabelNode => "labelNode",
            Self::RemoveTaints => "removeTaints",
            Self::Uncordon => "uncordon",
            Self::EvictPods => "evictPods",
            Self::AddNode => "addNode",
            Self::AddVolumes => "addVolumes",
            Self::SetWeight => "setWeight",
        }
    }
}

/// How a change is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The pod is another one.
    PatchPod(Vec<PatchOp>),
    /// The cluster is another one; with the command lines that do it with kubectl.
    Cluster(Vec<Edit>, Vec<String>),
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its sort.
    pub kind: ChangeKind,
    /// What it does, in a few words.
    pub what: String,
    /// What it costs, by the model of docs/fix.md.
    pub cost: u32,
    /// How.
    pub deed: Deed,
    /// The pods that it evicts.
    pub evicts: Vec<NamespacedName>,
}

impl Change {
    /// A change of the pod.
    pub fn of_pod(kind: ChangeKind, what: impl Into<String>, cost: u32, ops: Vec<PatchOp>) -> Self {
        Self { kind, what: what.into(), cost, deed: Deed::PatchPod(ops), evicts: Vec::new() }
    }

    /// A change of the cluster.
    pub fn of_cluster(
        kind: ChangeKind,
        what: impl Into<String>,
        cost: u32,
        edits: Vec<Edit>,
        commands: Vec<String>,
    ) -> Self {
        Self { kind, what: what.into(), cost, deed: Deed::Cluster(edits, commands), evicts: Vec::new() }
    }

    /// The operations on the pod.
    pub fn ops(&self) -> &[PatchOp] {
        match &self.deed {
            Deed::PatchPod(ops) => ops,
            Deed::Cluster(..) => &[],
        }
    }
}

/// An object as a manifest.
pub fn manifest(object: &Object) -> Option<String> {
    let mut fields = object.serialize_fields(serde_json::value::Serializer).ok()?;
    let map = fields.as_object_mut()?;
    map.insert("apiVersion".into(), object.kind().api_version().into());
    map.insert("kind".into(), object.kind().as_str().into());
    Some(fields.to_string())
}

/// An edit that puts an object there.
pub fn put(object: &Object) -> Option<Edit> {
    Some(Edit::Apply { source: "fix".to_owned(), text: manifest(object)? })
}

/// The pod with these changes; `None` where one of them does not go with it.
pub fn patched<'a>(pod: &Pod, changes: impl IntoIterator<Item = &'a Change>) -> Option<Pod> {
    let mut document = serde_json::to_value(pod).ok()?;
    for op in changes.into_iter().flat_map(Change::ops) {
        op.apply(&mut document).ok()?;
    }
    serde_json::from_value(document).ok()
}

/// Everything that the changes do, in the order in which it is done: the cluster first, then the pod, which is then
/// tried at once. `None` where one does not go with the pod.
pub fn edits(pod: &Pod, changes: &[Change]) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    for change in changes {
        if let Deed::Cluster(own, _) = &change.deed {
            // Two changes may want the same pod gone.
            edits.extend(own.iter().filter(|edit| !edits.contains(edit)).cloned().collect::<Vec<_>>());
        }
    }
    if changes.iter().any(|change| !change.ops().is_empty()) {
        edits.push(put(&patched(pod, changes)?.into())?);
    }
    edits.push(Edit::Activate(pod.key()));
    Some(edits)
}

/// The fields of a pod that an API server lets somebody change while it waits.
fn is_mutable(op: &PatchOp) -> bool {
    let path = op.path();
    matches!(op, PatchOp::Add { .. }) && path.starts_with("/spec/tolerations")
        || matches!(op, PatchOp::Remove { .. }) && path.starts_with("/spec/schedulingGates")
}

/// The command lines that do it in a cluster.
pub fn commands(pod: &Pod, changes: &[Change], kubectl: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for change in changes {
        if let Deed::Cluster(_, commands) = &change.deed {
            for command in commands {
                let command = match command.strip_prefix("kubectl ") {
                    Some(rest) => format!("{kubectl} {rest}"),
                    None => command.clone(),
                };
                if !lines.contains(&command) {
                    lines.push(command);
                }
            }
        }
    }
    let ops: Vec<&PatchOp> = changes.iter().flat_map(Change::ops).collect();
    if ops.is_empty() {
        return lines;
    }
    let (name, namespace) = (&pod.metadata.name, &pod.metadata.namespace);
    let patch = |ops: &[PatchOp]| quoted(&serde_json::to_string(ops).unwrap_or_default());
    let own = as_in_manifest(&ops, &mut lines, kubectl);
    if ops.iter().all(|op| is_mutable(op)) {
        lines.push(format!("{kubectl} patch pod {name} -n {namespace} --type=json -p {}", patch(&own)));
        return lines;
    }
    match pod.metadata.controller() {
        Some(owner) => {
            let (kind, owner, root) = template_of(owner, pod);
            if kind == "job" {
                lines.push("# the template of a Job cannot be changed: make the Job anew, with this patch".to_owned());
            }
            let below: Vec<PatchOp> = of_template(pod, own).iter().map(|op| op.below(root)).collect();
            lines.push(format!("{kubectl} patch {kind} {owner} -n {namespace} --type=json -p {}", patch(&below)));
        }
        None => lines.push(format!(
            "{kubectl} get pod {name} -n {namespace} -o yaml | {kubectl} patch -f - --local --type=json -p {} -o yaml | \
             {kubectl} replace --force -f -",
            patch(&own)
        )),
    }
    lines
}

/// For how long pods stay on nodes that are not well, unless they or a cluster's flags say otherwise.
const ADMITTED_SECONDS: i64 = 300;

/// Whether it is one that the admission plugin DefaultTolerationSeconds gives to a pod: no template has it.
fn is_of_admission(toleration: &Toleration) -> bool {
    let keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    keys.contains(&&*toleration.key)
        && toleration.effect == "NoExecute"
        && toleration.operator == "Exists"
        && toleration.toleration_seconds == Some(ADMITTED_SECONDS)
}

/// Whether it is one that the DaemonSet controller gives to its pods (`AddOrUpdateDaemonPodTolerations`).
fn is_of_daemon_sets(toleration: &Toleration) -> bool {
    toleration.key.starts_with(CONDITION_TAINTS)
        && toleration.operator == "Exists"
        && toleration.toleration_seconds.is_none()
}

/// The operations of a pod as they are done to the template that it was made from. Where all tolerations of the pod
/// are given to it, the template has no list to which others could be added; what stands there in spite of that is given to
/// the next pod again.
fn of_template(pod: &Pod, ops: Vec<PatchOp>) -> Vec<PatchOp> {
    const BEHIND_OTHERS: &str = "/spec/tolerations/-";
    let is_of_daemon_set = pod.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet");
    let is_given = |own: &Toleration| is_of_admission(own) || (is_of_daemon_set && is_of_daemon_sets(own));
    if !pod.spec.tolerations.iter().all(is_given) {
        return ops;
    }
    let Some(at) = ops.iter().position(|op| op.path() == BEHIND_OTHERS) else { return ops };
    let (added, mut others): (Vec<_>, Vec<_>) = ops.into_iter().partition(|op| op.path() == BEHIND_OTHERS);
    let values = added.into_iter().filter_map(|op| match op {
        PatchOp::Add { value, .. } => Some(value),
        PatchOp::Remove { .. } | PatchOp::Replace { .. } => None,
    });
    others.insert(at, PatchOp::add("/spec/tolerations", Value::Array(values.collect())));
    others
}

/// The operations as they are done in a cluster: there a priority comes from a class alone.
fn as_in_manifest(ops: &[&PatchOp], lines: &mut Vec<String>, kubectl: &str) -> Vec<PatchOp> {
    let names_class =
        |op: &&PatchOp| matches!(op, PatchOp::Add { path, .. } if path == "/spec/priorityClassName");
    let has_class = ops.iter().any(names_class);
    let mut own = Vec::new();
    for op in ops {
        match op {
            PatchOp::Add { path, .. } if path == "/spec/priority" && has_class => {}
            PatchOp::Remove { path } if path == "/spec/priorityClassName" => {}
            PatchOp::Add { path, value } if path == "/spec/priority" => {
                let class = format!("priority-{value}");
                lines.push(format!("{kubectl} create priorityclass {class} --value={value}"));
                own.push(PatchOp::add("/spec/priorityClassName", class));
            }
            op => own.push(PatchOp::clone(op)),
        }
    }
    own
}

/// Kind and name of what holds the pod's template, and where the template is in it.
fn template_of(owner: &OwnerReference, pod: &Pod) -> (String, String, &'static str) {
    const TEMPLATE: &str = "/spec/template";
    let hash = pod.metadata.labels.get("pod-template-hash");
    match (owner.kind.as_str(), hash) {
        ("ReplicaSet", Some(hash)) => {
            let suffix = format!("-{hash}");
            match owner.name.strip_suffix(&suffix) {
                Some(deployment) => ("deployment".into(), deployment.to_owned(), TEMPLATE),
                None => ("replicaset".into(), owner.name.clone(), TEMPLATE),
            }
        }
        (kind, _) => (kind.to_lowercase(), owner.name.clone(), TEMPLATE),
    }
}

/// A word for a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A command line that puts a manifest there.
pub fn apply_command(object: &Object) -> Option<String> {
    Some(format!("kubectl apply -f - <<< {}", quoted(&manifest(object)?)))
}

/// Evicts pods.
pub fn evict(pods: &[&Pod], cost: u32) -> Change {
    let keys: Vec<NamespacedName> = pods.iter().map(|pod| pod.key()).collect();
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let commands =
        keys.iter().map(|key| format!("kubectl delete pod {} -n {}", key.name, key.namespace)).collect();
    let node = pods.first().map(|pod| pod.spec.node_name.to_string()).unwrap_or_default();
    let edits = keys.iter().cloned().map(Edit::DeletePod).collect();
    let what = format!("evict {} from {node}", names.join(", "));
    Change { evicts: keys, ..Change::of_cluster(ChangeKind::EvictPods, what, cost, edits, commands) }
}

/// The toleration of a taint as JSON.
pub fn toleration(key: &str, value: &str, effect: &str) -> Value {
    if value.is_empty() {
        json!({"key": key, "operator": "Exists", "effect": effect})
    } else {
        json!({"key": key, "operator": "Equal", "value": value, "effect": effect})
    }
}
