//! What would make a plugin stop refusing a node, by what the plugin says there.
//!
//! Each remedy is a guess from the rule and the numbers; whether it holds is found out later, by asking the plugins and
//! by running it.

use serde_json::{Value, json};

use super::change::{Change, ChangeKind, Deed, evict, toleration};
use super::evictions::{evictable, holders_of_ports, members_of_domain, pods_that_free};
use super::parts;
use super::patch::{PatchOp, key};
use crate::api::objects::{Container, Pod, Taint, TaintEffect};
use crate::api::quantity::Format;
use crate::api::{NamespacedName, ObjectStore, Quantity, Str};
use crate::driver::sandbox::changes::{CONDITION_TAINTS, HOSTNAME};
use crate::driver::sandbox::world::budgets::covers;
use crate::driver::session::Edit;
use crate::framework::resource::names as resources;
use crate::framework::{NodeInfo, PodInfo, Resource};
use crate::plugins::helper::taints::tolerates;
use crate::plugins::inter_pod_affinity::explain_affinity;
use crate::plugins::names;
use crate::plugins::pod_topology_spread::explain_spread;
use crate::scheduler::reading::Refusal;
use crate::scheduler::trace::CycleTrace;

/// By how much `maxSkew` is raised at the most: more is no spread any more.
const WIDEST_RAISE: i32 = 10;
/// A request is lowered to this part of itself at the least.
const LEAST_PART: i64 = 10;

/// What remedies are found from.
pub(super) struct Cx<'a> {
    /// The attempt, with what its plugins remember.
    pub trace: &'a CycleTrace,
    /// The pod.
    pub pod: &'a Pod,
    /// All objects before anything ran.
    pub start: &'a ObjectStore,
    /// All objects as they are asked about.
    pub objects: &'a ObjectStore,
}

impl Cx<'_> {
    pub fn info(&self) -> &PodInfo {
        &self.trace.pod_info
    }
}

/// What would make the plugin stop refusing the node; empty where nothing is known.
pub(super) fn remedies(cx: &Cx<'_>, node: &NodeInfo, refusal: &Refusal) -> Vec<Change> {
    match refusal.plugin {
        names::TAINT_TOLERATION => taints(cx, node),
        names::NODE_UNSCHEDULABLE => cordoned(node),
        names::NODE_RESOURCES_FIT => fit(cx, node),
        names::NODE_AFFINITY => affinity(cx, node),
        names::NODE_PORTS => ports(cx, node),
        names::POD_TOPOLOGY_SPREAD => spread(cx, node),
        names::INTER_POD_AFFINITY => pod_affinity(cx, node),
        names::NODE_VOLUME_LIMITS => pods_that_free(cx, node, "volumes", |pod| !pod.claims.is_empty()),
        names::DYNAMIC_RESOURCES => {
            pods_that_free(cx, node, "devices", |pod| !pod.pod.spec.resource_claims.is_empty())
        }
        names::VOLUME_RESTRICTIONS => {
            let own = &cx.info().claims;
            pods_that_free(cx, node, "a claim", |pod| pod.claims.iter().any(|claim| own.contains(claim)))
        }
        names::VOLUME_BINDING => super::additions::volumes(cx).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Whether a copy of the node without its pods would be free of this refusal.
pub(super) fn is_cured_by_empty_copy(refusal: &Refusal) -> bool {
    matches!(
        refusal.plugin,
        names::NODE_RESOURCES_FIT
            | names::NODE_UNSCHEDULABLE
            | names::NODE_PORTS
            | names::NODE_VOLUME_LIMITS
            | names::INTER_POD_AFFINITY
            | names::POD_TOPOLOGY_SPREAD
    )
}

fn taints(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let Some(object) = node.node() else { return Vec::new() };
    let tolerations = &cx.pod.spec.tolerations;
    let unwanted: Vec<&Taint> = object
        .spec
        .taints
        .iter()
        .filter(|taint| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute))
        .filter(|taint| {
            !tolerations.iter().any(|own| tolerates(own, &taint.key, &taint.value, &taint.effect, false))
        })
        .collect();
    if unwanted.is_empty() {
        return Vec::new();
    }
    // Tolerating these helps the scheduler, not the pod.
    let is_condition = unwanted.iter().any(|taint| taint.key.starts_with(CONDITION_TAINTS));
    let names: Vec<String> = unwanted.iter().map(ToString::to_string).collect();
    let n = u32::try_from(unwanted.len()).unwrap_or(1);
    let cost = if is_condition { 8 } else { 1 + n };
    let values: Vec<Value> =
        unwanted.iter().map(|taint| toleration(&taint.key, &taint.value, taint.effect.as_str())).collect();
    let tolerate = Change::of_pod(
        ChangeKind::AddTolerations,
        format!("tolerate {}", names.join(", ")),
        cost,
        add_tolerations(cx.pod, values),
    );
    if is_condition {
        // They come back as long as the node is not well.
        return vec![tolerate];
    }
    let edits = unwanted.iter().map(|taint| Edit::Taint {
        node: node.name().clone(),
        taint: format!("{}:{}-", taint.key, taint.effect.as_str()),
    });
    let commands = unwanted
        .iter()
        .map(|taint| format!("kubectl taint node {} {}:{}-", node.name(), taint.key, taint.effect.as_str()));
    let remove = Change::of_cluster(
        ChangeKind::RemoveTaints,
        format!("take {} from {}", names.join(", "), node.name()),
        3 + n,
        edits.collect(),
        commands.collect(),
    );
    vec![tolerate, remove]
}

/// Tolerations behind those that the pod has.
fn add_tolerations(pod: &Pod, values: Vec<Value>) -> Vec<PatchOp> {
    if pod.spec.tolerations.is_empty() {
        return vec![PatchOp::add("/spec/tolerations", Value::Array(values))];
    }
    values.into_iter().map(|value| PatchOp::add("/spec/tolerations/-", value)).collect()
}

fn cordoned(node: &NodeInfo) -> Vec<Change> {
    let name = node.name();
    let commands = vec![format!("kubectl uncordon {name}")];
    let edits = vec![Edit::Uncordon(name.clone())];
    vec![Change::of_cluster(ChangeKind::Uncordon, format!("uncordon {name}"), 3, edits, commands)]
}

/// An amount of a resource of which there is too little.
#[derive(Clone, Debug)]
pub(super) struct Short {
    pub resource: Str,
    pub short: i64,
    pub requested: i64,
    pub allocatable: i64,
}

/// What a node has too little of for a pod.
pub(super) fn shortages(pod: &PodInfo, node: &NodeInfo) -> Vec<Short> {
    let wanted = &pod.resources.requests;
    let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    let allowed = node.allocatable().allowed_pod_number;
    let mut found = Vec::new();
    let mut add = |resource: &str, requested: i64, used: i64, allocatable: i64| {
        let short = requested.saturating_sub(allocatable.saturating_sub(used));
        if requested > 0 && short > 0 {
            found.push(Short { resource: resource.into(), short, requested, allocatable });
        }
    };
    add(resources::PODS, 1, n_pods, allowed);
    type Amount = fn(&Resource) -> i64;
    let fixed: [(&str, Amount); 3] = [
        (resources::CPU, |resource| resource.milli_cpu),
        (resources::MEMORY, |resource| resource.memory),
        (resources::EPHEMERAL_STORAGE, |resource| resource.ephemeral_storage),
    ];
    for (name, amount) in fixed {
        add(name, amount(wanted), amount(node.requested()), amount(node.allocatable()));
    }
    for (name, requested) in &wanted.scalar_resources {
        let of = |resource: &Resource| resource.scalar_resources.get(name).copied().unwrap_or_default();
        add(name, *requested, of(node.requested()), of(node.allocatable()));
    }
    found
}

fn fit(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let short = shortages(cx.info(), node);
    let mut changes = Vec::new();
    changes.extend(lower_requests(cx.pod, &short));
    if short.iter().all(|short| short.requested <= short.allocatable) {
        changes.extend(evictable(cx, node, &short));
    }
    changes
}

/// Lowers what the pod asks for by what is missing.
fn lower_requests(pod: &Pod, short: &[Short]) -> Option<Change> {
    if short.is_empty() || short.iter().any(|short| &*short.resource == resources::PODS) {
        return None;
    }
    let mut ops = Vec::new();
    let mut said = Vec::new();
    let mut cost = 3;
    for Short { resource, short, requested, .. } in short {
        let left = requested - short;
        if left < requested / LEAST_PART || left <= 0 {
            return None;
        }
        // A tenth of the request costs a point.
        cost += u32::try_from((10 * short + requested - 1) / requested).unwrap_or(10);
        ops.extend(lower(pod, resource, *short)?);
        said.push(format!(
            "{resource} from {} to {}",
            spelled(resource, *requested),
            spelled(resource, left)
        ));
    }
    let what = format!("request less: {}", said.join(", "));
    Some(Change::of_pod(ChangeKind::LowerRequests, what, cost, ops))
}

/// Takes an amount from the pod's own request, or from the container that asks for most.
fn lower(pod: &Pod, resource: &str, by: i64) -> Option<Vec<PatchOp>> {
    let amount = |quantity: &Quantity| match resource {
        resources::CPU => quantity.milli_value(),
        _ => quantity.value(),
    };
    let name = key(resource);
    let lowered = |old: i64, at: &str, has_limit: bool| {
        let new = spelled(resource, old - by);
        let mut ops = vec![PatchOp::add(format!("{at}/requests/{name}"), new.as_str())];
        if has_limit && is_extended(resource) {
            // Of these a limit is the request.
            ops.push(PatchOp::add(format!("{at}/limits/{name}"), new.as_str()));
        }
        ops
    };
    let pod_level =
        pod.spec.resources.as_ref().and_then(|own| Some((own, amount(own.requests.get(resource)?))));
    if let Some((own, old)) = pod_level {
        return (old > by).then(|| lowered(old, "/spec/resources", own.limits.contains_key(resource)));
    }
    let request = |container: &Container| container.resources.requests.get(resource).map_or(0, amount);
    let containers = pod.spec.containers.iter().enumerate();
    let (at, most) = containers.max_by_key(|(at, container)| (request(container), std::cmp::Reverse(*at)))?;
    let old = request(most);
    (old > by).then(|| {
        lowered(
            old,
            &format!("/spec/containers/{at}/resources"),
            most.resources.limits.contains_key(resource),
        )
    })
}

fn is_extended(resource: &str) -> bool {
    !matches!(resource, resources::CPU | resources::MEMORY | resources::EPHEMERAL_STORAGE)
}

/// An amount of a resource as a manifest has it.
pub(super) fn spelled(resource: &str, amount: i64) -> String {
    match resource {
        resources::CPU => Quantity::from_milli(amount).to_string(),
        resources::MEMORY | resources::EPHEMERAL_STORAGE => {
            Quantity::from_value(amount).with_format(Format::BinarySi).to_string()
        }
        _ => Quantity::from_value(amount).to_string(),
    }
}

fn affinity(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let Some(object) = node.node() else { return Vec::new() };
    let wrong: Vec<(&Str, &Str)> = cx
        .pod
        .spec
        .node_selector
        .iter()
        .filter(|(key, value)| object.label(key) != Some(value.as_ref()))
        .collect();
    let required =
        cx.pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    let mut changes = Vec::new();
    let drop_selector: Vec<PatchOp> = if wrong.len() == cx.pod.spec.node_selector.len() && !wrong.is_empty() {
        vec![PatchOp::remove("/spec/nodeSelector")]
    } else {
        wrong.iter().map(|(name, _)| PatchOp::remove(format!("/spec/nodeSelector/{}", key(name)))).collect()
    };
    let selector_text: Vec<String> = wrong.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let selector_text = selector_text.join(", ");
    if !wrong.is_empty() {
        changes.push(Change::of_pod(
            ChangeKind::DropNodeSelector,
            format!("drop {selector_text} from the node selector"),
            4,
            drop_selector.clone(),
        ));
        let labels: Vec<(String, String)> =
            wrong.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        changes.push(label(node, &labels));
    }
    let Some(required) = required else { return changes };
    for part in parts::of_node_affinity(required, object) {
        let Deed::PatchPod(ops) = &part.deed else { continue };
        if wrong.is_empty() {
            changes.push(part);
        } else {
            let what = format!("drop {selector_text} from the node selector, and {}", part.what);
            let ops = drop_selector.iter().chain(ops).cloned().collect();
            changes.push(Change::of_pod(part.kind, what, 4 + part.cost, ops));
        }
    }
    let at = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let drop_affinity = PatchOp::remove(at);
    changes.push(Change::of_pod(
        ChangeKind::DropNodeAffinity,
        "drop the required node affinity",
        5,
        vec![drop_affinity.clone()],
    ));
    if !wrong.is_empty() {
        let mut ops = drop_selector;
        ops.push(drop_affinity);
        changes.push(Change::of_pod(
            ChangeKind::DropNodeAffinity,
            format!("drop {selector_text} from the node selector and the required node affinity"),
            9,
            ops,
        ));
        return changes;
    }
    // A term of plain In requirements is met by labels.
    let wanted = required.node_selector_terms.iter().find_map(|term| {
        let is_plain = term.match_fields.is_empty() && !term.match_expressions.is_empty();
        let missing = term.match_expressions.iter().filter(|wanted| {
            !object
                .label(&wanted.key)
                .is_some_and(|has| wanted.values.iter().any(|value| value.as_str() == has))
        });
        let labels: Option<Vec<(String, String)>> = missing
            .map(|wanted| {
                let value = wanted.values.first().filter(|_| wanted.operator == "In")?;
                Some((wanted.key.to_string(), value.to_string()))
            })
            .collect();
        labels.filter(|labels| is_plain && !labels.is_empty())
    });
    changes.extend(wanted.map(|labels| label(node, &labels)));
    changes
}

fn label(node: &NodeInfo, labels: &[(String, String)]) -> Change {
    let texts: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    // What says where or what a node is cannot be made true by a label.
    let is_fact = labels.iter().any(|(key, _)| key.contains("kubernetes.io/"));
    let edits =
        texts.iter().map(|label| Edit::Label { node: node.name().clone(), label: label.clone() }).collect();
    let command = format!("kubectl label node {} {} --overwrite", node.name(), texts.join(" "));
    let what = format!("label {} with {}", node.name(), texts.join(", "));
    Change::of_cluster(ChangeKind::LabelNode, what, if is_fact { 9 } else { 3 }, edits, vec![command])
}

fn ports(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let mut changes: Vec<Change> = holders_of_ports(cx, node).into_iter().collect();
    let containers = cx.pod.spec.containers.iter().enumerate();
    let ops: Vec<PatchOp> = containers
        .flat_map(|(at, container)| {
            container.ports.iter().enumerate().map(move |(port, own)| (at, port, own))
        })
        .filter(|(_, _, own)| own.host_port > 0)
        .map(|(at, port, _)| PatchOp::replace(format!("/spec/containers/{at}/ports/{port}/hostPort"), 0))
        .collect();
    if !ops.is_empty() && !cx.pod.spec.host_network {
        changes.push(Change::of_pod(ChangeKind::DropHostPorts, "drop the host ports", 5, ops));
    }
    changes
}

fn spread(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let Some(found) = explain_spread(&cx.trace.filter_state, &cx.trace.snapshot, node) else {
        return Vec::new();
    };
    let violated: Vec<_> = found.iter().filter(|spread| !spread.is_kept()).collect();
    let constraints = &cx.pod.spec.topology_spread_constraints;
    let place_of = |key: &str| {
        constraints.iter().position(|constraint| {
            *constraint.topology_key == *key && constraint.when_unsatisfiable == "DoNotSchedule"
        })
    };
    let (mut relax, mut raise) = (Vec::new(), Vec::new());
    let (mut keys, mut skews) = (Vec::new(), Vec::new());
    let mut can_raise = true;
    let mut widest = 0;
    for spread in &violated {
        let Some(at) = place_of(&spread.key) else { return Vec::new() };
        let path = format!("/spec/topologySpreadConstraints/{at}");
        relax.push(PatchOp::replace(format!("{path}/whenUnsatisfiable"), "ScheduleAnyway"));
        if constraints.get(at).is_some_and(|constraint| constraint.min_domains.is_some()) {
            // Only DoNotSchedule may have it.
            relax.push(PatchOp::remove(format!("{path}/minDomains")));
        }
        keys.push(spread.key.to_string());
        match (&spread.domain, i32::try_from(spread.skew())) {
            (Some(_), Ok(skew)) => {
                widest = widest.max(skew - spread.max_skew);
                raise.push(PatchOp::replace(format!("{path}/maxSkew"), skew));
                skews.push(format!("{} to {skew}", spread.key));
            }
            _ => can_raise = false,
        }
    }
    if keys.is_empty() {
        return Vec::new();
    }
    let mut changes = vec![Change::of_pod(
        ChangeKind::RelaxSpread,
        format!("make the spread over {} a wish (ScheduleAnyway)", keys.join(", ")),
        4,
        relax,
    )];
    if can_raise && widest <= WIDEST_RAISE {
        let cost = 2 + u32::try_from(widest).unwrap_or(1);
        let what = format!("allow more skew: maxSkew of {}", skews.join(", "));
        changes.push(Change::of_pod(ChangeKind::RaiseMaxSkew, what, cost, raise));
    }
    changes
}

fn pod_affinity(cx: &Cx<'_>, node: &NodeInfo) -> Vec<Change> {
    let Some(found) = explain_affinity(&cx.trace.filter_state, &cx.trace.snapshot, node) else {
        return Vec::new();
    };
    let is_met =
        found.affinity.iter().all(|pods| pods.domain.is_some() && (pods.number > 0 || found.may_be_first));
    let drop = |kind, which: &str, what: &str| {
        let path = format!("/spec/affinity/{which}/requiredDuringSchedulingIgnoredDuringExecution");
        Change::of_pod(kind, format!("drop {what}"), 5, vec![PatchOp::remove(path)])
    };
    let mut per_rule: Vec<Vec<Change>> = Vec::new();
    if !is_met {
        let what = "the required pod affinity";
        let mut ways = parts::of_pod_affinity(cx.pod);
        ways.push(drop(ChangeKind::DropPodAffinity, "podAffinity", what));
        per_rule.push(ways);
    }
    let close: Vec<(&Str, &Str)> = found
        .anti_affinity
        .iter()
        .filter(|pods| pods.number > 0)
        .filter_map(|pods| Some((&pods.key, pods.domain.as_ref()?)))
        .collect();
    if !close.is_empty() {
        let what = "the required pod anti-affinity";
        let keys: Vec<&Str> = close.iter().map(|(key, _)| *key).collect();
        let mut ways = parts::of_pod_anti_affinity(cx.pod, &keys);
        ways.push(drop(ChangeKind::DropPodAntiAffinity, "podAntiAffinity", what));
        ways.extend(members_of_domain(cx, &close, |own, other, topology| own.repels(other, topology)));
        per_rule.push(ways);
    }
    let others: Vec<(&Str, &Str)> = found
        .existing_anti_affinity
        .iter()
        .filter(|pods| pods.number > 0)
        .filter_map(|pods| Some((&pods.key, pods.domain.as_ref()?)))
        .collect();
    if !others.is_empty() {
        let evict =
            members_of_domain(cx, &others, |own, other, topology| own.is_repelled_by(other, topology));
        per_rule.push(evict.into_iter().collect());
    }
    // Two rules at once are left to other nodes.
    match per_rule.len() {
        1 => per_rule.into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}

/// Evicts pods, with the price of each.
pub(super) fn evict_all(cx: &Cx<'_>, pods: &[&Pod]) -> Change {
    let price = |pod: &&Pod| -> u32 {
        let above = if pod.priority() >= cx.pod.priority() { 3 } else { 0 };
        let system = if &*pod.metadata.namespace == "kube-system" { 10 } else { 0 };
        4 + above + system + if is_guarded(cx.objects, pod) { 5 } else { 0 }
    };
    evict(pods, pods.iter().map(price).sum())
}

/// Whether a disruption budget that allows no more counts the pod.
fn is_guarded(objects: &ObjectStore, pod: &Pod) -> bool {
    let mut budgets = objects.pod_disruption_budgets.values();
    budgets.any(|budget| budget.status.disruptions_allowed <= 0 && covers(budget)(pod))
}

/// Ties the pod to a node by its host name; `None` if the node has no such label.
pub(super) fn pin_to(pod: &Pod, node: &NodeInfo) -> Option<Change> {
    let name = node.node()?.label(HOSTNAME)?;
    let op = if pod.spec.node_selector.is_empty() {
        PatchOp::add("/spec/nodeSelector", json!({HOSTNAME: name}))
    } else {
        PatchOp::add(format!("/spec/nodeSelector/{}", key(HOSTNAME)), name)
    };
    Some(Change::of_pod(ChangeKind::PinToNode, format!("tie the pod to {}", node.name()), 4, vec![op]))
}

/// The key of a pod's claim.
pub(super) fn claim_key(pod: &Pod, name: &str) -> NamespacedName {
    NamespacedName::new(pod.metadata.namespace.clone(), name)
}
