//! What makes a sandbox live: kubelets, controllers of workloads, the node lifecycle, budgets, an autoscaler.
//!
//! - `kubelets`, `images`: pods start, run, end, stop; nodes pull images and can be down
//! - `nodes`: taints from conditions, nodes that are not heard of, eviction by taints
//! - `podgc`: pods of nodes that do not exist
//! - `workloads`: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob
//! - [`budgets`], `drains`: the status of disruption budgets, and evictions that heed them
//! - `autoscaler`: nodes of node groups
//! - [`settings`]: which parts there are; [`orders`]: what a person tells the world
//!
//! Everything is state and simulated time: a world is cloned with its simulator, draws its random numbers from one seed,
//! and iterates in defined orders. What other parts of the cluster see of it are objects in the API. What was done is
//! told in the journal of the controllers.

mod alarms;
mod autoscaler;
pub mod budgets;
mod drains;
mod images;
mod kubelets;
mod nodes;
pub mod orders;
pub(super) mod podgc;
mod pods;
pub mod settings;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alarms::{Alarm, Alarms};
pub use autoscaler::GroupRow;
use autoscaler::{Autoscaler, Plan};
use drains::Drains;
use kubelets::Kubelets;
use nodes::Evictions;
pub use nodes::default_tolerations;
pub use orders::WorldOrder;
pub use settings::{Part, WorldSettings};
use workloads::Workloads;
pub use workloads::{WorkloadRow, WorkloadState};
pub(super) use workloads::{is_written_as, template_pointer};

use super::api::{SandboxApi, WatchEvent};
use super::controllers::{Deed, Journal, Said};
use crate::api::objects::{Labels, Node, OwnerReference, Pod};
use crate::api::workloads::{Living, WorkloadKind};
use crate::api::{Duration, Kind, NamespacedName, Object, Rng, Str, Time};
use crate::scheduler::Scheduler;

/// How many deeds are shown.
const DEEDS_SHOWN: u64 = 200;

/// What has to be looked at, in the order in which it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Node(Str),
    Pod(NamespacedName),
    Eviction(NamespacedName),
    /// Whoever cares for a pod that is not as it was.
    Owner(NamespacedName),
    /// The budgets of a namespace that cover, or have covered, a pod with these labels.
    Covering(Str, Labels),
    Workload(WorkloadKind, NamespacedName),
    Budget(NamespacedName),
}

/// The pods of nodes, by the names of both.
type ByNode = BTreeMap<Str, BTreeSet<NamespacedName>>;

/// What a part works on.
struct Wx<'a> {
    api: &'a mut SandboxApi,
    now: Time,
    journal: &'a mut Journal,
    rng: &'a mut Rng,
    alarms: &'a mut Alarms,
    due: &'a mut BTreeSet<Item>,
    settings: &'a WorldSettings,
    by_node: &'a ByNode,
}

impl Wx<'_> {
    fn tell(&mut self, part: &'static str, kind: &'static str, key: &NamespacedName, said: Said) {
        self.journal.add(self.now, part, kind, key, said);
    }

    /// Any time up to that one, in milliseconds.
    fn up_to(&mut self, most: Duration) -> Duration {
        let millis = usize::try_from(most.as_millis()).unwrap_or(usize::MAX);
        let drawn = self.rng.below(millis.saturating_add(1));
        Duration::from_millis(u64::try_from(drawn).unwrap_or(0))
    }

    /// The pods of a node.
    fn pods_on(&self, node: &str) -> Vec<Arc<Pod>> {
        let keys = self.by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.api.objects().pods.get(key))
            .filter(|pod| *pod.spec.node_name == *node)
            .cloned()
            .collect()
    }
}

/// The living part of a sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    settings: WorldSettings,
    rng: Rng,
    alarms: Alarms,
    due: BTreeSet<Item>,
    by_node: ByNode,
    kubelets: Kubelets,
    evictions: Evictions,
    workloads: Workloads,
    drains: Drains,
    autoscaler: Autoscaler,
}

/// What there is to see of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldView {
    /// Its parts, and whether they are on.
    pub parts: Vec<(Part, bool)>,
    /// The workloads, kind by kind.
    pub workloads: Vec<WorkloadRow>,
    /// The node groups.
    pub groups: Vec<GroupRow>,
    /// What was done last, the newest last.
    pub deeds: Vec<Deed>,
}

impl World {
    /// A world whose random numbers start from `seed`.
    pub fn new(seed: u64, settings: WorldSettings) -> Self {
        Self {
            settings,
            // Not the numbers that break ties of the scheduler, nor those of the provisioner.
            rng: Rng::new(seed ^ 0x6c69_7669_6e67),
            alarms: Alarms::default(),
            due: BTreeSet::new(),
            by_node: BTreeMap::new(),
            kubelets: Kubelets::default(),
            evictions: Evictions::default(),
            workloads: Workloads::default(),
            drains: Drains::default(),
            autoscaler: Autoscaler::default(),
        }
    }

    /// Its settings.
    pub const fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// Lends the parts with what they work on.
    fn parts<'a>(&'a mut self, api: &'a mut SandboxApi, now: Time, journal: &'a mut Journal) -> Lent<'a> {
        let Self { settings, rng, alarms, due, by_node, kubelets, evictions, workloads, drains, autoscaler } =
            self;
        Lent {
            wx: Wx { api, now, journal, rng, alarms, due, settings, by_node },
            kubelets,
            evictions,
            workloads,
            drains,
            autoscaler,
        }
    }

    /// Begins with a cluster and what lives in it: pods that are there are taken over, not made again.
    pub(super) fn start(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
        living: Vec<Living>,
    ) {
        api.set_lives(self.settings.has(Part::Kubelets), self.settings.has(Part::Nodes));
        for object in api.objects().iter() {
            self.observe(&WatchEvent::Added(object));
        }
        self.take_over(api, now, journal, living);
    }

    /// Takes over what came with the objects of the cluster.
    fn take_over(&mut self, api: &mut SandboxApi, now: Time, journal: &mut Journal, living: Vec<Living>) {
        let mut lent = self.parts(api, now, journal);
        let mut found = Vec::new();
        for object in living {
            match object {
                Living::Workload(workload) => found.push(*workload),
                Living::NodeGroup(group) => {
                    lent.autoscaler.apply(&mut lent.wx, *group);
                }
            }
        }
        lent.workloads.take_over(&mut lent.wx, found);
    }

    /// Adds or changes what a manifest says. The sentences are those of kubectl.
    pub(super) fn apply(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
        living: Vec<Living>,
    ) -> Vec<String> {
        let mut lent = self.parts(api, now, journal);
        let mut said = Vec::new();
        for object in living {
            let label = object.label();
            let done = match object {
                Living::Workload(workload) => lent.workloads.apply(&mut lent.wx, *workload),
                Living::NodeGroup(group) => lent.autoscaler.apply(&mut lent.wx, *group),
            };
            said.push(format!("{label} {done}"));
        }
        said
    }

    /// A change was reported.
    pub(super) fn observe(&mut self, event: &WatchEvent) {
        let (object, is_gone) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified { new: object, .. } => (object, false),
            WatchEvent::Deleted(object) => (object, true),
        };
        if matches!(object, Object::Pod(_) | Object::PodDisruptionBudget(_)) {
            self.drains.something_changed();
        }
        match object {
            Object::Node(node) => {
                self.due.insert(Item::Node(node.name().clone()));
                self.workloads.observe_node(&mut self.due);
            }
            Object::Pod(pod) => self.observe_pod(event, pod, is_gone),
            Object::PodDisruptionBudget(_) if !is_gone => {
                self.due.insert(Item::Budget(object.key()));
            }
            Object::ReplicaSet(_) | Object::StatefulSet(_) if is_gone => {
                let kind = if object.kind() == Kind::ReplicaSet {
                    WorkloadKind::ReplicaSet
                } else {
                    WorkloadKind::StatefulSet
                };
                self.due.insert(Item::Workload(kind, object.key()));
            }
            _ => {}
        }
    }

    fn observe_pod(&mut self, event: &WatchEvent, pod: &Pod, is_gone: bool) {
        let key = pod.key();
        if pod.is_assigned() {
            let node = &pod.spec.node_name;
            if is_gone {
                if let Some(keys) = self.by_node.get_mut(node) {
                    keys.remove(&key);
                    if keys.is_empty() {
                        self.by_node.remove(node);
                    }
                }
            } else {
                self.by_node.entry(node.clone()).or_default().insert(key.clone());
            }
        }
        if let WatchEvent::Modified { old, new } = event
            && let (Object::Pod(old), Object::Pod(new)) = (old, new)
        {
            if !matters(old, new) {
                return;
            }
            if old.metadata.labels != new.metadata.labels {
                self.due.insert(Item::Covering(key.namespace.clone(), old.metadata.labels.clone()));
            }
        }
        self.due.insert(Item::Covering(key.namespace.clone(), pod.metadata.labels.clone()));
        self.workloads.observe_pod(pod, is_gone, &mut self.due);
        self.due.extend([Item::Pod(key.clone()), Item::Eviction(key.clone()), Item::Owner(key)]);
    }

    /// Looks at everything that has changed, and at what came of that.
    pub(super) fn work(&mut self, api: &mut SandboxApi, now: Time, journal: &mut Journal) {
        while let Some(item) = self.due.pop_first() {
            let mut lent = self.parts(api, now, journal);
            let Lent { wx, kubelets, evictions, workloads, autoscaler, .. } = &mut lent;
            match item {
                Item::Node(name) => {
                    match wx.api.objects().node(&name).cloned() {
                        Some(node) => kubelets.images.sync_node(&node),
                        None => kubelets.forget_node(wx, &name),
                    }
                    if podgc::look(wx, &name) && wx.settings.has(Part::Kubelets) {
                        kubelets.resume(wx);
                    }
                    nodes::sync_node(wx, &name);
                    autoscaler.look_soon(wx);
                }
                Item::Pod(key) => {
                    let node = wx.pod(&key).map(|pod| pod.spec.node_name.clone());
                    let lost = node.filter(|node| !node.is_empty() && wx.api.objects().node(node).is_none());
                    if let Some(node) = lost {
                        podgc::look(wx, &node);
                    }
                    if wx.settings.has(Part::Kubelets) {
                        kubelets.sync_pod(wx, &key);
                    }
                }
                Item::Eviction(key) => {
                    if wx.settings.has(Part::Nodes) {
                        evictions.sync_pod(wx, &key);
                    }
                }
                Item::Owner(key) => {
                    autoscaler.look_soon(wx);
                    let pod = wx.pod(&key);
                    let labels = pod.as_ref().map(|pod| pod.metadata.labels.clone());
                    wx.due.extend(labels.map(|labels| Item::Covering(key.namespace.clone(), labels)));
                    let owner = pod.and_then(|pod| pod.metadata.controller().cloned());
                    if let Some((kind, key)) = owner.and_then(|owner| workloads.owner_of(&owner).cloned()) {
                        let above = workloads.get(&(kind, key.clone()));
                        let above = above.and_then(|item| item.workload.metadata.controller());
                        let above = above.and_then(|above| workloads.owner_of(above)).cloned();
                        wx.due.extend(above.map(|(kind, key)| Item::Workload(kind, key)));
                        wx.due.insert(Item::Workload(kind, key));
                    }
                }
                Item::Workload(kind, key) => {
                    if wx.api.is_served() {
                        workloads.touch((kind, key.clone()));
                    }
                    let slim = match kind {
                        WorkloadKind::ReplicaSet => Some(Kind::ReplicaSet),
                        WorkloadKind::StatefulSet => Some(Kind::StatefulSet),
                        _ => None,
                    };
                    let is_gone = slim.is_some_and(|slim| wx.api.objects().get(slim, &key).is_none());
                    let of = (kind, key);
                    if is_gone && workloads.get(&of).is_some() {
                        // Somebody has deleted what the scheduler reads of it, which is the object itself.
                        let _ = workloads.delete(wx, &of);
                    } else if wx.settings.has(Part::Workloads) {
                        workloads.sync(wx, kubelets, &of);
                    }
                }
                Item::Covering(namespace, labels) => {
                    let keys =
                        budgets::covering(wx.api, &namespace, &labels).map(|budget| budget.metadata.key());
                    wx.due.extend(keys.map(Item::Budget));
                }
                Item::Budget(key) => {
                    if wx.settings.has(Part::Budgets) {
                        budgets::sync(wx, workloads, &key);
                    }
                }
            }
        }
    }

    /// When something happens by itself next, and what.
    pub(super) fn next_timeout(&self) -> Option<(Time, Str)> {
        self.alarms.first().map(|(at, alarm)| (*at, Str::from(alarm.describe())))
    }

    /// Whether something is on its way that comes to an end: a pod that starts, runs for a time or stops, a drain, a
    /// node that boots.
    pub(super) fn is_moving(&self) -> bool {
        let is_end = |alarm: &Alarm| {
            matches!(alarm, Alarm::Boot(_) | Alarm::Silence(_) | Alarm::Orphans(_) | Alarm::Evict(_))
                || matches!(alarm, Alarm::Workload(kind, _) if *kind != WorkloadKind::CronJob)
        };
        let has_pods = self.settings.has(Part::Kubelets) && self.kubelets.is_moving();
        has_pods || self.alarms.iter().any(is_end) || self.drains.is_moving() || !self.autoscaler.is_idle()
    }

    /// Time has gone on.
    pub(super) fn advance(&mut self, api: &mut SandboxApi, now: Time, journal: &mut Journal) {
        while let Some(alarm) = self.alarms.pop_due(now) {
            let mut lent = self.parts(api, now, journal);
            let Lent { wx, kubelets, evictions, workloads, drains, autoscaler } = &mut lent;
            match alarm {
                Alarm::Boot(node) => autoscaler.joins(wx, &node),
                Alarm::Pod(key) => {
                    if wx.settings.has(Part::Kubelets)
                        && let Some(ended) = kubelets.step_pod(wx, &key)
                    {
                        workloads.ended(wx, &ended);
                    }
                }
                Alarm::Report(node) => {
                    if wx.settings.has(Part::Kubelets) && !kubelets.is_down(&node) {
                        kubelets.images.report(wx, &node);
                    }
                }
                Alarm::Silence(node) => {
                    if wx.settings.has(Part::Nodes) && kubelets.is_down(&node) {
                        nodes::is_silent(wx, &node);
                    }
                }
                Alarm::Orphans(node) => podgc::collect(wx, workloads, &node),
                Alarm::Evict(key) => {
                    if wx.settings.has(Part::Nodes) {
                        evictions.time_out(wx, &key);
                    }
                }
                Alarm::Drain(node) => {
                    // What has happened at this very moment counts.
                    let budgets: Vec<NamespacedName> =
                        wx.api.objects().pod_disruption_budgets.keys().cloned().collect();
                    if wx.settings.has(Part::Budgets) {
                        budgets.iter().for_each(|key| budgets::sync(wx, workloads, key));
                    }
                    drains.go_on(wx, &node);
                }
                Alarm::Workload(kind, key) => {
                    wx.due.insert(Item::Workload(kind, key));
                }
                Alarm::Scan => autoscaler.wants_scan = wx.settings.has(Part::Autoscaler),
            }
        }
    }

    /// Whether the autoscaler wants to ask the scheduler.
    pub(super) const fn wants_scan(&self) -> bool {
        self.autoscaler.wants_scan
    }

    /// Lets the autoscaler ask the scheduler, and do what comes of it.
    pub(super) fn scan(
        &mut self,
        scheduler: &Scheduler,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
    ) {
        self.autoscaler.wants_scan = false;
        let plan: Plan = self.autoscaler.plan(scheduler, api);
        let mut lent = self.parts(api, now, journal);
        if lent.wx.settings.has(Part::Budgets) {
            let budgets: Vec<NamespacedName> =
                lent.wx.api.objects().pod_disruption_budgets.keys().cloned().collect();
            budgets.iter().for_each(|key| budgets::sync(&mut lent.wx, lent.workloads, key));
        }
        lent.autoscaler.carry_out(&mut lent.wx, plan);
    }

    /// A workload may have come to something else than what was told of it.
    pub(super) fn touch(&mut self, kind: WorkloadKind, key: NamespacedName) {
        self.workloads.touch((kind, key));
    }

    /// All workloads are to be told of.
    pub(super) fn touch_all(&mut self) {
        let keys: Vec<(WorkloadKind, NamespacedName)> =
            self.workloads.iter().map(|(key, _)| key.clone()).collect();
        keys.into_iter().for_each(|key| self.workloads.touch(key));
    }

    /// The workloads that may have come to something else since this was last asked, as they are; absent if they are gone.
    pub(super) fn take_touched(
        &mut self,
        api: &SandboxApi,
    ) -> Vec<(WorkloadKind, NamespacedName, Option<WorkloadState>)> {
        let touched = self.workloads.take_touched().into_iter();
        let state = |key: &workloads::Key| self.workloads.state(key, api);
        touched.map(|key| (state(&key), key)).map(|(state, (kind, key))| (kind, key, state)).collect()
    }

    /// What there is to see.
    pub fn view(&self, api: &SandboxApi, journal: &Journal) -> WorldView {
        WorldView {
            parts: Part::ALL.iter().map(|part| (*part, self.settings.has(*part))).collect(),
            workloads: self.workloads.rows(api),
            groups: self.autoscaler.rows(api),
            deeds: journal.since(journal.n_deeds().saturating_sub(DEEDS_SHOWN)).cloned().collect(),
        }
    }

    /// The object of a workload is gone, and what belonged to it has no owner any more.
    pub(super) fn orphan(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
        (kind, key): (WorkloadKind, NamespacedName),
    ) {
        let Lent { mut wx, workloads, .. } = self.parts(api, now, journal);
        workloads.orphan(&mut wx, &(kind, key));
    }

    /// The workloads that there are.
    pub(super) fn workloads(&self) -> impl Iterator<Item = &(WorkloadKind, NamespacedName)> {
        self.workloads.iter().map(|(key, _)| key)
    }

    /// Whether a node is down.
    pub fn is_down(&self, node: &Node) -> bool {
        self.kubelets.is_down(node.name())
    }

    /// Whether the workload that owns a pod runs here, and would make it again.
    pub fn runs(&self, owner: &OwnerReference) -> bool {
        self.settings.has(Part::Workloads) && self.workloads.owner_of(owner).is_some()
    }

    /// The workload of that kind and name; without a namespace the only one in any.
    pub fn find(&self, kind: WorkloadKind, namespace: Option<&Str>, name: &str) -> Option<NamespacedName> {
        let is_it = |key: &&NamespacedName| {
            *key.name == *name && namespace.is_none_or(|namespace| key.namespace == *namespace)
        };
        let of_kind = self.workloads.iter().map(|(key, _)| key).filter(|(of, _)| *of == kind);
        let mut found = of_kind.map(|(_, key)| key).filter(is_it);
        found.next().filter(|_| found.next().is_none()).cloned()
    }
}

/// Whether a change of a pod means anything to the world: not what a scheduler writes about its attempts.
fn matters(old: &Pod, new: &Pod) -> bool {
    old.spec.node_name != new.spec.node_name
        || old.status.phase != new.status.phase
        || old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        || old.metadata.labels != new.metadata.labels
        || old.metadata.owner_references != new.metadata.owner_references
        || old.spec.tolerations != new.spec.tolerations
        || old.condition("Ready") != new.condition("Ready")
        || old.condition("PodScheduled").map(|condition| &condition.reason)
            != new.condition("PodScheduled").map(|condition| &condition.reason)
}

/// The parts of a world with what they work on.
struct Lent<'a> {
    wx: Wx<'a>,
    kubelets: &'a mut Kubelets,
    evictions: &'a mut Evictions,
    workloads: &'a mut Workloads,
    drains: &'a mut Drains,
    autoscaler: &'a mut Autoscaler,
}
