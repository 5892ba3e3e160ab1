//! What the scheduler holds inside, side by side: the cache against the snapshot and against what the watches report,
//! pods assumed, nominated and in flight, and the plugins in force. For people; read back by nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{NamespacedName, Str, Time};
use crate::framework::meter::Meter;
use crate::framework::runtime::WeightedPlugin;
use crate::framework::{Framework, NodeInfo, Plugin};

use super::Scheduler;

/// How many differences are named of each kind.
const N_NAMED: usize = 20;

/// What the scheduler holds inside at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Internals {
    /// Nodes and pods on them in the cache.
    pub cache: (usize, usize),
    /// The same in the snapshot, as the last attempt saw them.
    pub snapshot: (usize, usize),
    /// The same as the watches report.
    pub reported: (usize, usize),
    /// Where the snapshot is behind the cache.
    pub snapshot_differs: Differences,
    /// Where the cache is not as reported.
    pub reported_differs: Differences,
    /// Pods that count on a node and are not bound to it as far as is known: pod and node.
    pub assumed: Vec<(NamespacedName, Str)>,
    /// Pods that are to get a node once there is room: pod and node.
    pub nominated: Vec<(NamespacedName, Str)>,
    /// Pods whose attempts are not over.
    pub in_flight: Vec<NamespacedName>,
    /// How many events are kept for them.
    pub n_in_flight_events: usize,
    /// The profiles with their plugins.
    pub profiles: Vec<ProfileView>,
    /// Deeds whose outcome is not known.
    pub n_pending_effects: usize,
}

/// Differences, of which the first are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// How many there are.
    pub n: usize,
    /// What is different, and how.
    pub first: Vec<(Str, String)>,
}

impl Differences {
    fn add(&mut self, what: impl Into<Str>, how: impl Into<String>) {
        self.n += 1;
        if self.first.len() < N_NAMED {
            self.first.push((what.into(), how.into()));
        }
    }
}

/// Plugins in the order in which they run; Score plugins with their weights.
pub type PluginNames = Vec<(&'static str, Option<i64>)>;

/// A profile with its plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileView {
    /// Its name.
    pub name: Str,
    /// The extension points in order, each with its plugins; Score plugins with their weights.
    pub points: Vec<(&'static str, PluginNames)>,
}

impl Scheduler {
    /// Lets every profile be measured from now on.
    pub fn measure(&mut self, meter: &Arc<dyn Meter>) {
        for profile in Arc::make_mut(&mut self.world.profiles).values_mut() {
            profile.framework = profile.framework.clone().measured_by(Arc::clone(meter));
        }
    }

    /// Lets whoever measures the other one measure this one.
    pub(super) fn measured_as(&mut self, other: &Self) {
        if let Some(meter) = other.world.metering().meter() {
            self.measure(&meter);
        }
    }

    /// Whether somebody measures.
    pub fn is_measured(&self) -> bool {
        self.world.metering().is_there()
    }

    /// The time of the last input.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// What the scheduler holds inside. Costs time in proportion to pods and nodes.
    pub fn internals(&self) -> Internals {
        let cached: BTreeMap<&Str, &NodeInfo> = self
            .cache
            .nodes()
            .filter(|node| node.node().is_some())
            .map(|node| (node.name(), node.as_ref()))
            .collect();
        let objects = &self.world.objects;
        let mut on_nodes: BTreeMap<&Str, usize> = BTreeMap::new();
        for pod in objects.pods.values().filter(|pod| !pod.spec.node_name.is_empty() && !pod.is_terminal()) {
            *on_nodes.entry(&pod.spec.node_name).or_default() += 1;
        }
        let list = self.world.snapshot.list();
        Internals {
            cache: (cached.len(), cached.values().map(|node| node.pods().len()).sum()),
            snapshot: (list.len(), list.iter().map(|node| node.pods().len()).sum()),
            reported: (objects.nodes.len(), on_nodes.values().sum()),
            snapshot_differs: self.snapshot_differs(&cached),
            reported_differs: self.reported_differs(&cached, &on_nodes),
            assumed: self.assumed_pods().map(|pod| (pod.key(), pod.spec.node_name.clone())).collect(),
            nominated: self.nominations().map(|(node, pod)| (pod.key(), node.clone())).collect(),
            in_flight: self.in_flight_pods().iter().map(|pod| pod.key()).collect(),
            n_in_flight_events: self.n_in_flight_events(),
            profiles: self.profiles().map(profile_view).collect(),
            n_pending_effects: self.pending_effects.len(),
        }
    }

    fn snapshot_differs(&self, cached: &BTreeMap<&Str, &NodeInfo>) -> Differences {
        let mut differs = Differences::default();
        let snapshot = &self.world.snapshot;
        for (name, node) in cached {
            match snapshot.get(name) {
                None => differs.add((*name).clone(), "is in the cache alone"),
                Some(seen) if seen.pods().len() != node.pods().len() => {
                    let (now, then) = (node.pods().len(), seen.pods().len());
                    differs.add((*name).clone(), format!("pods: cache {now}, snapshot {then}"));
                }
                Some(seen) if seen.requested() != node.requested() => {
                    differs.add((*name).clone(), "other pods, with other requests");
                }
                Some(seen) if seen.node() != node.node() => {
                    differs.add((*name).clone(), "the node has changed since");
                }
                Some(_) => {}
            }
        }
        for node in snapshot.list().iter().filter(|node| !cached.contains_key(node.name())) {
            differs.add(node.name().clone(), "is in the snapshot alone");
        }
        differs
    }

    fn reported_differs(
        &self,
        cached: &BTreeMap<&Str, &NodeInfo>,
        on_nodes: &BTreeMap<&Str, usize>,
    ) -> Differences {
        let mut differs = Differences::default();
        for (name, node) in cached {
            let n_reported = on_nodes.get(name).copied().unwrap_or_default();
            let n_cached = node.pods().len();
            if n_cached != n_reported {
                let n_assumed =
                    node.pods().iter().filter(|info| self.cache.is_assumed_pod(&info.pod)).count();
                differs.add(
                    (*name).clone(),
                    format!("pods: cache {n_cached} ({n_assumed} of them assumed), reported {n_reported}"),
                );
            }
        }
        for (key, node) in &self.world.objects.nodes {
            if !cached.contains_key(node.name()) {
                differs.add(key.name.clone(), "is reported and not in the cache");
            }
        }
        for (name, n) in on_nodes {
            if !cached.contains_key(*name) {
                differs.add((*name).clone(), format!("{n} pods are reported on a node that is not there"));
            }
        }
        differs
    }
}

fn profile_view(framework: &Framework) -> ProfileView {
    type Plugins = Vec<Arc<dyn Plugin>>;
    let names = |plugins: &Plugins| plugins.iter().map(|plugin| (plugin.name(), None)).collect();
    let weighted = |plugins: &Vec<WeightedPlugin>| {
        plugins.iter().map(|scored| (scored.plugin.name(), Some(scored.weight))).collect()
    };
    let by_point = &framework.plugins;
    let points = vec![
        ("PreEnqueue", names(&by_point.pre_enqueue)),
        ("QueueSort", names(&by_point.queue_sort)),
        ("PreFilter", names(&by_point.pre_filter)),
        ("Filter", names(&by_point.filter)),
        ("PostFilter", names(&by_point.post_filter)),
        ("PreScore", names(&by_point.pre_score)),
        ("Score", weighted(&by_point.score)),
        ("Reserve", names(&by_point.reserve)),
        ("Permit", names(&by_point.permit)),
        ("PreBind", names(&by_point.pre_bind)),
        ("Bind", names(&by_point.bind)),
        ("PostBind", names(&by_point.post_bind)),
        ("PlacementGenerate", names(&by_point.placement_generate)),
        ("PlacementScore", weighted(&by_point.placement_score)),
    ];
    ProfileView { name: framework.profile_name.clone(), points }
}
