//! A simple cluster autoscaler: nodes of node groups come for pods that need them, and go when nobody does.
//!
//! After the manner of `kubernetes/autoscaler` (cluster-autoscaler), in its main rules: every 10 s at the most, pods that
//! the scheduler turned down are tried on copies of the scheduler with nodes of a group added, by the scheduler's own
//! plugins. The group that helps the most pods with the fewest nodes grows. A node that is empty, or used by less than
//! half and whose pods fit elsewhere, goes after a time: it is drained as its budgets allow. One node goes at a time.
//! Left out: expanders by price, priorities of groups, balancing of similar ones, utilisation by devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Wx;
use super::alarms::Alarm;
use super::budgets::evict;
use super::pods::is_active;
use crate::api::objects::{Node, Pod};
use crate::api::workloads::NodeGroup;
use crate::api::{Duration, NamespacedName, Object, Str, Time};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Said;
use crate::scheduler::Scheduler;
use crate::scheduler::input::Input;
use crate::scheduler::trace::CycleOutcome;

const NAME: &str = "cluster-autoscaler";

/// The label that says which group a node is of.
pub(super) const GROUP_LABEL: &str = "sandbox.schedscope.dev/node-group";
/// How often it looks around at the most (`--scan-interval`).
const SCAN_INTERVAL: u64 = 10;
/// Pods that are looked at in one go at the most.
const PODS_MAX: usize = 100;
/// A node that is used by less than this many hundredths may go (`--scale-down-utilization-threshold`).
const USED_MAX: i64 = 50;

/// The groups and their nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Autoscaler {
    groups: BTreeMap<Str, Arc<NodeGroup>>,
    /// Nodes that were asked for and are not there yet, with their group.
    booting: BTreeMap<Str, Str>,
    /// Since when nodes are not needed.
    idle: BTreeMap<Str, Time>,
    /// Nodes that go as soon as they are empty.
    leaving: BTreeMap<Str, Str>,
    /// Whether the scheduler is to be asked.
    pub(super) wants_scan: bool,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// So many nodes of that group more, for so many pods.
    grow: Option<(Str, u32, usize)>,
    /// Nodes that nobody needs now.
    unneeded: Vec<Str>,
}

/// How a group is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Its name.
    pub name: Str,
    /// Its nodes.
    pub size: usize,
    /// Nodes that are asked for.
    pub booting: usize,
    /// The fewest and the most.
    pub bounds: (u32, u32),
}

/// Whether a scheduler has turned the pod down.
fn is_turned_down(pod: &Pod) -> bool {
    !pod.is_assigned()
        && is_active(pod)
        && pod.status.nominated_node_name.is_empty()
        && pod
            .condition("PodScheduled")
            .is_some_and(|condition| condition.status == "False" && condition.reason == "Unschedulable")
}

impl Autoscaler {
    pub(super) fn is_idle(&self) -> bool {
        self.booting.is_empty() && self.leaving.is_empty()
    }

    pub(super) fn rows(&self, api: &SandboxApi) -> Vec<GroupRow> {
        let row = |group: &Arc<NodeGroup>| GroupRow {
            name: group.name().clone(),
            size: self.nodes_of(api, group.name()).count(),
            booting: self.booting.values().filter(|of| *of == group.name()).count(),
            bounds: (group.spec.min, group.spec.max),
        };
        self.groups.values().map(row).collect()
    }

    fn nodes_of<'a>(&'a self, api: &'a SandboxApi, group: &'a str) -> impl Iterator<Item = &'a Arc<Node>> {
        api.objects().nodes.values().filter(move |node| node.label(GROUP_LABEL) == Some(group))
    }

    /// Adds a group or changes it.
    pub(super) fn apply(&mut self, wx: &mut Wx<'_>, group: NodeGroup) -> &'static str {
        let name = group.name().clone();
        let group = Arc::new(group);
        let said = match self.groups.get(&name) {
            None => "created",
            Some(known) if *known == group => return "unchanged",
            Some(_) => "configured",
        };
        self.groups.insert(name, group);
        self.look_soon(wx);
        said
    }

    /// Something has changed that may call for a node, or free one.
    pub(super) fn look_soon(&self, wx: &mut Wx<'_>) {
        if !self.groups.is_empty() {
            let seconds = wx.now.as_nanos() / 1_000_000_000;
            let turn = Time::from_secs((seconds / SCAN_INTERVAL + 1) * SCAN_INTERVAL);
            wx.alarms.set_by(Alarm::Scan, turn);
        }
    }

    /// What the scheduler would do with nodes more or fewer.
    pub(super) fn plan(&self, scheduler: &Scheduler, api: &SandboxApi) -> Plan {
        let mut base = Trial::new(scheduler);
        for (name, group) in &self.booting {
            if let Some(group) = self.groups.get(group) {
                base.add_node(node_of(group, name));
            }
        }
        let pods = api.objects().pods.values().filter(|pod| is_turned_down(pod)).take(PODS_MAX);
        let waiting: Vec<Arc<Pod>> = pods.filter(|pod| base.place(pod).is_none()).cloned().collect();
        let mut best: Option<(usize, u32, Str)> = None;
        for group in self.groups.values() {
            let there = self.nodes_of(api, group.name()).count();
            let there = there + self.booting.values().filter(|of| *of == group.name()).count();
            let room = group.spec.max.saturating_sub(u32::try_from(there).unwrap_or(u32::MAX));
            let (n_pods, n_nodes) = helped(&base, group, &waiting, room);
            let is_better = best
                .as_ref()
                .is_none_or(|(pods, nodes, _)| n_pods > *pods || (n_pods == *pods && n_nodes < *nodes));
            if n_pods > 0 && is_better {
                best = Some((n_pods, n_nodes, group.name().clone()));
            }
        }
        let grow = best.map(|(pods, nodes, name)| (name, nodes, pods));
        let unneeded = if grow.is_some() || !self.booting.is_empty() || !waiting.is_empty() {
            Vec::new()
        } else {
            self.unneeded(scheduler, api)
        };
        Plan { grow, unneeded }
    }

    /// The nodes of groups above their smallest size whose pods fit elsewhere.
    fn unneeded(&self, scheduler: &Scheduler, api: &SandboxApi) -> Vec<Str> {
        let mut unneeded = Vec::new();
        let mut by_node: BTreeMap<&Str, Vec<&Arc<Pod>>> = BTreeMap::new();
        for pod in api.objects().pods.values().filter(|pod| pod.is_assigned() && is_active(pod)) {
            if pod.metadata.controller().is_none_or(|owner| owner.kind != "DaemonSet") {
                by_node.entry(&pod.spec.node_name).or_default().push(pod);
            }
        }
        for group in self.groups.values() {
            let nodes: Vec<&Arc<Node>> = self.nodes_of(api, group.name()).collect();
            if nodes.len() <= group.spec.min as usize {
                continue;
            }
            for node in nodes {
                let pods = by_node.get(node.name()).map_or(&[][..], Vec::as_slice);
                let is_movable = |pod: &&Arc<Pod>| pod.metadata.controller().is_some();
                if !pods.iter().all(is_movable) || used(node, pods) >= USED_MAX {
                    continue;
                }
                let mut trial = Trial::new(scheduler);
                for pod in pods {
                    trial.handle(Input::Deleted(Object::Pod(Arc::clone(pod))));
                }
                trial.handle(Input::Deleted(Object::Node(Arc::clone(node))));
                let fits = pods.iter().all(|pod| {
                    let mut free = Pod::clone(pod);
                    free.spec.node_name = Str::from("");
                    trial.place(&Arc::new(free)).is_some()
                });
                if fits {
                    unneeded.push(node.name().clone());
                }
            }
        }
        unneeded
    }

    /// Does what was planned.
    pub(super) fn carry_out(&mut self, wx: &mut Wx<'_>, plan: Plan) {
        for group in self.groups.values().cloned().collect::<Vec<_>>() {
            let there = self.nodes_of(wx.api, group.name()).count();
            let there = there + self.booting.values().filter(|of| *of == group.name()).count();
            let missing = group.spec.min.saturating_sub(u32::try_from(there).unwrap_or(u32::MAX));
            self.boot(wx, &group, missing, "its group has too few nodes");
        }
        if let Some((name, nodes, pods)) = plan.grow
            && let Some(group) = self.groups.get(&name).cloned()
        {
            let for_pods =
                if pods == 1 { "1 pod needs it".to_owned() } else { format!("{pods} pods need such nodes") };
            self.boot(wx, &group, nodes, &for_pods);
            self.look_soon(wx);
        }
        self.idle.retain(|node, _| plan.unneeded.contains(node));
        for node in &plan.unneeded {
            let now = wx.now;
            let since = *self.idle.entry(node.clone()).or_insert(now);
            let Some(group) = self.group_of(wx.api, node) else { continue };
            let due = since + Duration::from_secs(group.spec.idle_seconds.unwrap_or(600));
            if due > now {
                wx.alarms.set_by(Alarm::Scan, due);
            } else if self.leaving.is_empty() && wx.api.cordon(node).is_ok() {
                self.leaving.insert(node.clone(), group.name().clone());
                self.idle.remove(node);
                let said = Said::done("ScaleDown", "is not needed: it is emptied and goes");
                wx.tell(NAME, "Node", &NamespacedName::cluster(node.clone()), said);
            }
        }
        self.empty(wx);
    }

    /// Evicts what is on nodes that go, and lets those go that are empty.
    pub(super) fn empty(&mut self, wx: &mut Wx<'_>) {
        for node in self.leaving.keys().cloned().collect::<Vec<_>>() {
            if !wx.api.objects().node(&node).is_some_and(|node| node.spec.unschedulable) {
                // It is gone, or somebody wants it after all.
                self.leaving.remove(&node);
                continue;
            }
            let pods = wx.pods_on(&node);
            let is_of_daemon_set =
                |pod: &Pod| pod.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet");
            let left: Vec<&Arc<Pod>> = pods.iter().filter(|pod| !is_of_daemon_set(pod)).collect();
            for pod in left.iter().filter(|pod| !pod.is_terminating()) {
                if let Err(error) = evict(wx.api, &pod.key(), None, wx.now) {
                    wx.tell(NAME, "Pod", &pod.key(), Said::failed("EvictionRefused", error.to_string()));
                }
            }
            if left.is_empty() {
                self.leaving.remove(&node);
                let _ = wx.api.delete_node(&node);
                let said = Said::done("ScaledDown", "is gone: nobody needed it");
                wx.tell(NAME, "Node", &NamespacedName::cluster(node.clone()), said);
            }
            self.look_soon(wx);
        }
    }

    fn group_of(&self, api: &SandboxApi, node: &Str) -> Option<Arc<NodeGroup>> {
        let label = api.objects().node(node)?.label(GROUP_LABEL)?.to_owned();
        self.groups.get(label.as_str()).cloned()
    }

    fn boot(&mut self, wx: &mut Wx<'_>, group: &NodeGroup, count: u32, why: &str) {
        for _ in 0..count {
            let name = loop {
                let name = super::workloads::templates::generated_name(wx.rng, &format!("{}-", group.name()));
                if wx.api.objects().node(&name).is_none() && !self.booting.contains_key(&name) {
                    break name;
                }
            };
            let seconds = group.spec.boot_seconds.unwrap_or(60);
            wx.alarms.set(Alarm::Boot(name.clone()), wx.now + Duration::from_secs(seconds));
            self.booting.insert(name.clone(), group.name().clone());
            let said = Said::done("ScaleUp", format!("is asked for: {why}; it takes {seconds} s"));
            wx.tell(NAME, "Node", &NamespacedName::cluster(name), said);
        }
    }

    /// A node is ready.
    pub(super) fn joins(&mut self, wx: &mut Wx<'_>, name: &Str) {
        let group = self.booting.remove(name).and_then(|group| self.groups.get(&group));
        let Some(group) = group else { return };
        // Nobody has that name.
        let _ = wx.api.create(node_of(group, name).into(), wx.now);
        let said = Said::done("NodeJoined", format!("has joined the cluster, of group {}", group.name()));
        wx.tell(NAME, "Node", &NamespacedName::cluster(name.clone()), said);
    }
}

/// How many of the pods so many nodes of a group would help, and how many nodes that takes.
fn helped(base: &Trial, group: &NodeGroup, pods: &[Arc<Pod>], room: u32) -> (usize, u32) {
    let mut trial = base.clone();
    let (mut n_pods, mut n_nodes) = (0, 0);
    for pod in pods {
        if trial.place(pod).is_some() {
            n_pods += 1;
            continue;
        }
        if n_nodes >= room {
            continue;
        }
        let mut larger = trial.clone();
        larger.add_node(node_of(group, &Str::from(format!("{}-new-{n_nodes}", group.name()))));
        if larger.place(pod).is_some() {
            trial = larger;
            n_pods += 1;
            n_nodes += 1;
        }
    }
    (n_pods, n_nodes)
}

/// A node of a group.
fn node_of(group: &NodeGroup, name: &Str) -> Node {
    let mut node = group.spec.template.clone();
    node.metadata.name = name.clone();
    node.metadata.labels.insert(Str::from(GROUP_LABEL), group.name().clone());
    node.metadata.labels.insert(Str::from("kubernetes.io/hostname"), name.clone());
    if node.status.allocatable.is_empty() {
        node.status.allocatable = node.status.capacity.clone();
    }
    if node.status.capacity.is_empty() {
        node.status.capacity = node.status.allocatable.clone();
    }
    node
}

/// The larger part of cpu and memory that pods request of a node, in hundredths.
fn used(node: &Node, pods: &[&Arc<Pod>]) -> i64 {
    let part = |resource: &str| {
        let all = node.status.allocatable.get(resource).map_or(0, |amount| amount.milli_value());
        let requests = pods.iter().flat_map(|pod| &pod.spec.containers);
        let amounts = requests.filter_map(|container| container.resources.requests.get(resource));
        let sum: i64 = amounts.map(|amount| amount.milli_value()).fold(0, i64::saturating_add);
        if all > 0 { sum.saturating_mul(100) / all } else { 0 }
    };
    part("cpu").max(part("memory"))
}

/// A copy of the scheduler to try things with.
#[derive(Clone)]
struct Trial {
    scheduler: Scheduler,
    now: Time,
}

impl Trial {
    fn new(scheduler: &Scheduler) -> Self {
        let mut trial = Self { scheduler: scheduler.clone(), now: scheduler.now() };
        trial.scheduler.set_tracing(false);
        trial
    }

    fn handle(&mut self, input: Input) {
        self.scheduler.handle(self.now, input);
        while self.scheduler.poll_effect().is_some() {}
    }

    fn add_node(&mut self, node: Node) {
        self.handle(Input::Added(node.into()));
    }

    /// Where the scheduler would put a pod; it counts as being there then.
    fn place(&mut self, pod: &Arc<Pod>) -> Option<Str> {
        let trace = self.scheduler.evaluate(pod)?;
        let CycleOutcome::Tried { node } = trace.outcome else { return None };
        let mut there = Pod::clone(pod);
        there.spec.node_name = node.clone();
        let is_known = self.scheduler.objects().pods.contains_key(&pod.key());
        let there = Object::from(there);
        if is_known {
            self.handle(Input::Updated { old: Object::Pod(Arc::clone(pod)), new: there });
        } else {
            self.handle(Input::Added(there));
        }
        Some(node)
    }
}
