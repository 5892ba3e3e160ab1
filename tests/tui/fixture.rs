//! A small cluster with one attempt in it, made by hand: the same numbers in every test of the screen.
//!
//! Twelve nodes in three zones and a scheduler that has come to a chosen [`Stage`]. The answers of the plugins are
//! computed here by their plainest rules, so that the evidence agrees with the objects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use schedscope::api::objects::{
    Affinity, Container, ContainerPort, Node, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    PodSchedulingGate, PreferredSchedulingTerm, Taint, TaintEffect,
};
use schedscope::api::{Duration, NamespacedName, Quantity, Str, Time};
use schedscope::driver::session::{RunState, SessionView, Speed};
use schedscope::framework::preemption::{Candidate, Criterion, PreemptionEvidence, Victims};
use schedscope::framework::runtime::{PluginScores, PluginVerdict, ScoreOutcome};
use schedscope::framework::{
    Code, ImageStateSummary, NodeInfo, PodInfo, PodResources, Resource, Snapshot, Status,
};
use schedscope::scheduler::trace::{
    CycleOutcome, CycleTrace, FilterTrace, NodeVerdict, Phase, PoppedFrom, PostFilterTrace, ScoreTrace,
    SelectionReason, SelectionTrace,
};
use schedscope::scheduler::view::{
    BindingRow, Counts, CycleSummary, ObjectEvent, QueueMoveLine, QueueRow, View, WaitingRow,
};

pub const MI: i64 = 1 << 20;
pub const GI: i64 = 1 << 30;

pub const FIT: &str = "NodeResourcesFit";
pub const TAINTS: &str = "TaintToleration";
pub const AFFINITY: &str = "NodeAffinity";
pub const PORTS: &str = "NodePorts";
pub const NAME: &str = "NodeName";
pub const CORDON: &str = "NodeUnschedulable";
pub const BALANCED: &str = "NodeResourcesBalancedAllocation";
pub const IMAGES: &str = "ImageLocality";

pub const FILTERS: [&str; 6] = [CORDON, NAME, TAINTS, AFFINITY, PORTS, FIT];

/// The start of the session, and the moment that most views show.
pub const START: Time = Time::from_secs(1_767_225_600);

pub fn now() -> Time {
    START + Duration::from_secs(134)
}

pub fn ago(millis: u64) -> Time {
    Time::from_nanos(now().as_nanos() - millis * 1_000_000)
}

pub fn ahead(millis: u64) -> Time {
    now() + Duration::from_millis(millis)
}

fn text(value: &str) -> Str {
    Str::from(value)
}

/// A pod in the making.
#[derive(Clone)]
pub struct PodMaker {
    pod: Pod,
    cpu: i64,
    memory: i64,
    extended: BTreeMap<Str, i64>,
}

pub fn pod(key: &str) -> PodMaker {
    let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
    let mut pod = Pod::default();
    pod.metadata.namespace = text(namespace);
    pod.metadata.name = text(name);
    pod.metadata.uid = text(&format!("uid-{namespace}-{name}"));
    pod.spec.scheduler_name = text("default-scheduler");
    pod.spec.priority = Some(0);
    pod.status.phase = String::from("Pending");
    let app = name.rsplit_once('-').map_or(name, |(app, _)| app);
    pod.metadata.labels.insert(text("app"), text(app));
    pod.spec.containers.push(Container {
        name: text("main"),
        image: text(&format!("registry.example.com/{namespace}/{app}:2.3")),
        ..Container::default()
    });
    PodMaker { pod, cpu: 0, memory: 0, extended: BTreeMap::new() }
}

impl PodMaker {
    pub fn asks(mut self, milli_cpu: i64, memory: i64) -> Self {
        self.cpu = milli_cpu;
        self.memory = memory;
        self
    }

    pub fn extended(mut self, name: &str, amount: i64) -> Self {
        self.extended.insert(text(name), amount);
        self
    }

    pub fn priority(mut self, priority: i32) -> Self {
        self.pod.spec.priority = Some(priority);
        self
    }

    pub fn gate(mut self, name: &str) -> Self {
        self.pod.spec.scheduling_gates.push(PodSchedulingGate { name: name.to_owned() });
        self
    }

    pub fn host_port(mut self, port: i32) -> Self {
        let port = ContainerPort { host_port: port, container_port: port, ..ContainerPort::default() };
        self.pod.spec.containers[0].ports.push(port);
        self
    }

    pub fn spec(mut self, change: impl FnOnce(&mut Pod)) -> Self {
        change(&mut self.pod);
        self
    }

    pub fn on(mut self, node: &str) -> Self {
        self.pod.spec.node_name = text(node);
        self.pod.status.phase = String::from("Running");
        self.pod.status.start_time = Some(START);
        self
    }

    pub fn info(mut self) -> Arc<PodInfo> {
        let requests = &mut self.pod.spec.containers[0].resources.requests;
        if self.cpu > 0 {
            requests.insert(text("cpu"), Quantity::from_milli(self.cpu));
        }
        if self.memory > 0 {
            requests.insert(text("memory"), Quantity::from_value(self.memory));
        }
        for (name, amount) in &self.extended {
            requests.insert(name.clone(), Quantity::from_value(*amount));
        }
        let resources = PodResources {
            requests: Resource {
                milli_cpu: self.cpu,
                memory: self.memory,
                scalar_resources: self.extended,
                ..Resource::default()
            },
            non_zero_milli_cpu: if self.cpu == 0 { 100 } else { self.cpu },
            non_zero_memory: if self.memory == 0 { 200 * MI } else { self.memory },
        };
        Arc::new(PodInfo { pod: Arc::new(self.pod), resources })
    }

    pub fn pod(self) -> Arc<Pod> {
        Arc::clone(&self.info().pod)
    }
}

pub fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
    Taint { key: text(key), value: text(value), effect }
}

pub fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

pub fn node_affinity(pod: &mut Pod) -> &mut NodeAffinity {
    pod.spec
        .affinity
        .get_or_insert_with(Affinity::default)
        .node_affinity
        .get_or_insert_with(NodeAffinity::default)
}

pub fn prefers(weight: i32, requirement: NodeSelectorRequirement) -> PreferredSchedulingTerm {
    PreferredSchedulingTerm {
        weight,
        preference: NodeSelectorTerm { match_expressions: vec![requirement], match_fields: Vec::new() },
    }
}

/// A node without pods.
pub fn node(name: &str, cpu: i64, memory: i64) -> Node {
    let mut node = Node::default();
    node.metadata.name = text(name);
    node.metadata.uid = text(&format!("uid-{name}"));
    let zone = name.split('-').next().unwrap_or_default();
    node.metadata.labels.insert(text("kubernetes.io/hostname"), text(name));
    node.metadata.labels.insert(text("topology.kubernetes.io/zone"), text(&format!("zone-{zone}")));
    let allocatable = &mut node.status.allocatable;
    allocatable.insert(text("cpu"), Quantity::from_value(cpu));
    allocatable.insert(text("memory"), Quantity::from_value(memory * GI));
    allocatable.insert(text("pods"), Quantity::from_value(30));
    node.status.capacity = node.status.allocatable.clone();
    node
}

pub fn with_pods(node: Node, pods: impl IntoIterator<Item = Arc<PodInfo>>) -> NodeInfo {
    let mut info = NodeInfo::with_node(Arc::new(node));
    for pod in pods {
        info.add_pod(pod);
    }
    info
}

/// `n` pods of the same owner on a node, together asking for that much.
fn running(node: &str, owner: &str, n: i64, cpu: i64, memory: i64) -> Vec<Arc<PodInfo>> {
    (0..n)
        .map(|i| {
            let first = if i == 0 { (cpu % n, memory % n) } else { (0, 0) };
            pod(&format!("{owner}-{node}-{i}")).asks(cpu / n + first.0, memory / n + first.1).on(node).info()
        })
        .collect()
}

/// The twelve nodes by name.
pub fn nodes() -> Vec<Arc<NodeInfo>> {
    let plain = |name: &str, n: i64, cpu: i64, memory: i64| {
        with_pods(node(name, 4, 16), running(name, "shop/web", n, cpu, memory * GI))
    };
    let image = |info: &mut NodeInfo, num_nodes: usize| {
        let states = BTreeMap::from([(
            text("registry.example.com/shop/cart:2.3"),
            ImageStateSummary { size: 640 * MI, num_nodes },
        )]);
        info.set_image_states(states);
    };
    let gpu = |name: &str, used: i64| {
        let mut object = node(name, 8, 32);
        object.spec.taints.push(taint("gpu", "true", TaintEffect::NoSchedule));
        object.status.allocatable.insert(text("example.com/gpu"), Quantity::from_value(2));
        let user = pod(&format!("ml/gpu-{name}"))
            .asks(2000, 8 * GI)
            .extended("example.com/gpu", used)
            .on(name)
            .info();
        with_pods(object, [user])
    };
    let mut b1 = plain("b-1", 4, 1600, 4);
    image(&mut b1, 2);
    let mut c2 = plain("c-2", 5, 2000, 6);
    image(&mut c2, 2);
    let mut spot = node("b-4", 4, 16);
    spot.spec.taints.push(taint("spot", "true", TaintEffect::PreferNoSchedule));
    let mut cordoned = node("c-4", 4, 16);
    cordoned.spec.unschedulable = true;
    cordoned.spec.taints.push(taint("node.kubernetes.io/unschedulable", "", TaintEffect::NoSchedule));
    vec![
        plain("a-1", 9, 2800, 10),
        plain("a-2", 6, 3000, 8),
        gpu("a-3", 2),
        gpu("a-4", 1),
        b1,
        plain("b-2", 7, 3600, 12),
        plain("b-3", 5, 2900, 9),
        with_pods(spot, running("b-4", "shop/web", 3, 1200, 3 * GI)),
        plain("c-1", 8, 3900, 15),
        c2,
        plain("c-3", 6, 2600, 7),
        with_pods(cordoned, running("c-4", "shop/web", 2, 800, 2 * GI)),
    ]
    .into_iter()
    .map(Arc::new)
    .collect()
}

/// What the filters of the profile say about one node.
fn filter(pod: &PodInfo, info: &NodeInfo) -> NodeVerdict {
    let Some(node) = info.node() else { return NodeVerdict::Excluded };
    let reject = |code, reason: &str, plugin: &str| {
        NodeVerdict::Rejected(Status::new(code, reason).with_plugin(plugin))
    };
    let hard = |taint: &Taint| taint.effect == TaintEffect::NoSchedule;
    let tolerated = |taint: &Taint| pod.pod.spec.tolerations.iter().any(|t| t.key == taint.key);
    if node.spec.unschedulable {
        return reject(Code::UnschedulableAndUnresolvable, "node(s) were unschedulable", CORDON);
    }
    if node.spec.taints.iter().any(|taint| hard(taint) && !tolerated(taint)) {
        return reject(Code::UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)", TAINTS);
    }
    let wanted = &pod.resources.requests;
    let mut reasons = Vec::new();
    let mut is_hopeless = false;
    let mut compare = |name: &str, wanted: i64, used: i64, there: i64| {
        if wanted > 0 && wanted > there - used {
            reasons.push(format!("Insufficient {name}"));
            is_hopeless |= wanted > there;
        }
    };
    compare("cpu", wanted.milli_cpu, info.requested().milli_cpu, info.allocatable().milli_cpu);
    compare("memory", wanted.memory, info.requested().memory, info.allocatable().memory);
    for (name, amount) in &wanted.scalar_resources {
        let of = |resource: &Resource| resource.scalar_resources.get(name).copied().unwrap_or_default();
        compare(name, *amount, of(info.requested()), of(info.allocatable()));
    }
    if reasons.is_empty() {
        return NodeVerdict::Feasible;
    }
    let code = if is_hopeless { Code::UnschedulableAndUnresolvable } else { Code::Unschedulable };
    NodeVerdict::Rejected(Status::with_reasons(code, reasons).with_plugin(FIT))
}

/// How far the attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Popped.
    Popped,
    /// PreFilter is done.
    PreFiltered,
    /// Filter is done and three nodes fit.
    Filtered,
    /// They have scores.
    Scored,
    /// One is chosen.
    Selected,
    /// It is chosen by chance among two.
    Tied,
    /// A Permit plugin holds the pod.
    Waiting,
    /// The pod is bound.
    Bound,
    /// Filter is done and no node fits.
    NothingFits,
    /// Preemption has found room.
    Preempted,
    /// Preemption has found none.
    NoRoom,
}

/// The pod that is tried.
pub fn star() -> Arc<PodInfo> {
    pod("shop/cart-5").priority(1000).asks(1500, 2 * GI).info()
}

/// The pod that fits nowhere but is important.
pub fn preemptor() -> Arc<PodInfo> {
    pod("shop/pay-1").priority(2000).asks(3000, 2 * GI).info()
}

pub fn verdict(plugin: &'static str, status: Status) -> PluginVerdict {
    PluginVerdict { plugin, status, node_names: None }
}

/// An attempt for a pod, popped and nothing else.
pub fn popped(pod_info: Arc<PodInfo>, nodes: Vec<Arc<NodeInfo>>) -> CycleTrace {
    CycleTrace {
        number: 13,
        started: ago(0),
        pod_info,
        attempt: 2,
        queued_for: Duration::from_millis(400),
        popped_from: PoppedFrom::ActiveQ,
        profile: text("default-scheduler"),
        snapshot: Snapshot::new(nodes),
        phase: Phase::Pop,
        next: Some(Phase::PreFilter),
        pre_filter: None,
        filter: None,
        post_filter: None,
        pre_score: None,
        score: None,
        selection: None,
        reserve: None,
        permit: None,
        pre_bind: None,
        bind: None,
        post_bind: None,
        cycle_state: Vec::new(),
        outcome: CycleOutcome::InProgress,
    }
}

/// Runs the filters.
pub fn filtered(mut trace: CycleTrace) -> CycleTrace {
    let has_affinity = trace.pod_info.pod.spec.affinity.is_some();
    let has_ports = !schedscope::framework::host_ports(&trace.pod_info.pod).is_empty();
    let skip_or = |run: bool| if run { Status::SUCCESS } else { Status::skip() };
    trace.pre_filter = Some(vec![
        verdict(AFFINITY, skip_or(has_affinity)),
        verdict(PORTS, skip_or(has_ports)),
        verdict(FIT, Status::SUCCESS),
    ]);
    let skipped = [(AFFINITY, has_affinity), (PORTS, has_ports)];
    trace.filter = Some(FilterTrace {
        plugins: FILTERS.to_vec(),
        skipped: skipped.into_iter().filter(|(_, run)| !run).map(|(name, _)| name).collect(),
        verdicts: trace.nodes().iter().map(|node| filter(&trace.pod_info, node)).collect(),
        start_index: 0,
        n_to_find: trace.nodes().len(),
        nominated_node: None,
    });
    trace.phase = Phase::Filter;
    trace.next = Some(Phase::PreScore);
    trace
}

fn least_allocated(pod: &PodInfo, node: &NodeInfo) -> i64 {
    let there = node.allocatable();
    let used = node.non_zero_requested();
    let score = |used: i64, wanted: i64, there: i64| (there - used - wanted) * 100 / there;
    let cpu = score(used.milli_cpu, pod.resources.non_zero_milli_cpu, there.milli_cpu);
    let memory = score(used.memory, pod.resources.non_zero_memory, there.memory);
    (cpu + memory) / 2
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as upstream does")]
fn balanced(pod: &PodInfo, node: &NodeInfo) -> i64 {
    let there = node.allocatable();
    let used = node.requested();
    let wanted = &pod.resources.requests;
    let balance = |cpu: i64, memory: i64| {
        let cpu = cpu as f64 / there.milli_cpu as f64;
        let memory = memory as f64 / there.memory as f64;
        ((1.0 - ((cpu - memory) / 2.0).abs()) * 100.0) as i64
    };
    let with = balance(used.milli_cpu + wanted.milli_cpu, used.memory + wanted.memory);
    let without = balance(used.milli_cpu, used.memory);
    50 + (50 + with - without) / 2
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as upstream does")]
fn image_locality(pod: &PodInfo, node: &NodeInfo, n_nodes: usize) -> i64 {
    let image = &pod.pod.spec.containers[0].image;
    let sum = node
        .image_states()
        .get(image)
        .map_or(0, |state| (state.size as f64 * (state.num_nodes as f64 / n_nodes as f64)) as i64);
    100 * (sum.clamp(23 * MI, 1000 * MI) - 23 * MI) / (977 * MI)
}

/// Scores the feasible nodes.
pub fn scored(trace: CycleTrace) -> CycleTrace {
    let mut trace = filtered(trace);
    let feasible: Vec<Arc<NodeInfo>> = trace
        .filter
        .iter()
        .flat_map(|filter| &filter.verdicts)
        .zip(trace.nodes())
        .filter(|(verdict, _)| **verdict == NodeVerdict::Feasible)
        .map(|(_, node)| Arc::clone(node))
        .collect();
    let soft = |node: &NodeInfo| {
        let taints = node.node().map_or(&[][..], |node| &node.spec.taints);
        i64::try_from(taints.iter().filter(|taint| taint.effect == TaintEffect::PreferNoSchedule).count())
            .unwrap_or_default()
    };
    let pod = Arc::clone(&trace.pod_info);
    let n_nodes = trace.nodes().len();
    let column = |plugin, weight, raw: Vec<i64>, normalize: &dyn Fn(i64, i64) -> i64| {
        let max = raw.iter().copied().max().unwrap_or_default();
        let normalized = raw.iter().map(|value| normalize(*value, max)).collect();
        PluginScores { plugin, weight, raw, normalized }
    };
    let same = |value: i64, _: i64| value;
    let plugins = vec![
        column(TAINTS, 3, feasible.iter().map(|node| soft(node)).collect(), &|value, max| {
            if max == 0 { 100 } else { 100 - 100 * value / max }
        }),
        column(FIT, 1, feasible.iter().map(|node| least_allocated(&pod, node)).collect(), &same),
        column(BALANCED, 1, feasible.iter().map(|node| balanced(&pod, node)).collect(), &same),
        column(IMAGES, 1, feasible.iter().map(|node| image_locality(&pod, node, n_nodes)).collect(), &same),
    ];
    let totals = (0..feasible.len())
        .map(|i| plugins.iter().map(|scores| scores.normalized[i] * scores.weight).sum())
        .collect();
    trace.pre_score = Some(vec![
        verdict(TAINTS, Status::SUCCESS),
        verdict(AFFINITY, Status::skip()),
        verdict(FIT, Status::SUCCESS),
        verdict(BALANCED, Status::SUCCESS),
    ]);
    trace.score = Some(ScoreTrace {
        nodes: feasible.iter().map(|node| node.name().clone()).collect(),
        skipped: BTreeSet::from([AFFINITY]),
        scores: ScoreOutcome { plugins, totals },
    });
    trace.phase = Phase::Score;
    trace.next = Some(Phase::Select);
    trace
}

/// Chooses the best node.
pub fn selected(trace: CycleTrace) -> CycleTrace {
    let mut trace = scored(trace);
    let Some(score) = &trace.score else { return trace };
    let mut ranked: Vec<(i64, Str)> =
        score.scores.totals.iter().copied().zip(score.nodes.iter().cloned()).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let best = ranked[0].0;
    let ties: Vec<Str> =
        ranked.iter().filter(|(total, _)| *total == best).map(|(_, name)| name.clone()).collect();
    let runner_up =
        ranked.iter().find(|(total, _)| *total < best).map(|(total, name)| (name.clone(), *total));
    trace.selection = Some(SelectionTrace {
        host: ranked[0].1.clone(),
        reason: if ties.len() > 1 { SelectionReason::Tie } else { SelectionReason::HighestTotal },
        total: Some(best),
        ties,
        runner_up,
    });
    trace.phase = Phase::Select;
    trace.next = Some(Phase::Assume);
    trace
}

/// What preemption found for [`preemptor`].
pub fn evidence() -> PreemptionEvidence {
    let victims = |node: &str, pods: &[(&str, i32)], violations| Candidate {
        node_name: text(node),
        victims: Victims {
            pods: pods
                .iter()
                .map(|(key, priority)| pod(key).priority(*priority).asks(800, GI).on(node).info())
                .collect(),
            num_pdb_violations: violations,
        },
    };
    PreemptionEvidence {
        candidates: vec![
            victims("b-1", &[("batch/train-3", 10), ("batch/train-4", 0)], 0),
            victims("b-3", &[("shop/web-b-3-0", 100)], 1),
            victims("c-2", &[("batch/etl-2", 50), ("batch/etl-3", 50), ("batch/etl-4", 0)], 0),
        ],
        selected: Some(text("b-1")),
        criterion: Some(Criterion::MinHighestPriority),
        rejected: vec![
            (text("a-1"), String::from("No preemption victims found for incoming pod")),
            (text("c-1"), String::from("Insufficient cpu")),
        ],
    }
}

/// The attempt at that stage.
pub fn trace(stage: Stage) -> CycleTrace {
    let begun = popped(star(), nodes());
    match stage {
        Stage::Popped => begun,
        Stage::PreFiltered => {
            let mut trace = filtered(begun);
            trace.filter = None;
            trace.phase = Phase::PreFilter;
            trace.next = Some(Phase::Filter);
            trace
        }
        Stage::Filtered => filtered(begun),
        Stage::Scored => scored(begun),
        Stage::Selected => selected(begun),
        Stage::Tied => {
            let twins = nodes()
                .into_iter()
                .map(|info| {
                    if info.name().as_ref() != "c-2" {
                        return info;
                    }
                    let mut twin = with_pods(node("c-2", 4, 16), running("c-2", "shop/web", 4, 1600, 4 * GI));
                    twin.set_image_states(info.image_states().clone());
                    Arc::new(twin)
                })
                .collect();
            selected(popped(star(), twins))
        }
        Stage::Waiting => {
            let mut trace = selected(begun);
            trace.reserve = Some(vec![verdict("VolumeBinding", Status::SUCCESS)]);
            trace.permit = Some(vec![verdict("Coscheduling", Status::bare(Code::Wait))]);
            trace.phase = Phase::Permit;
            trace.next = Some(Phase::WaitOnPermit);
            trace.outcome = CycleOutcome::Waiting { node: text("b-1") };
            trace
        }
        Stage::Bound => {
            let mut trace = selected(begun);
            trace.reserve = Some(Vec::new());
            trace.permit = Some(Vec::new());
            trace.pre_bind = Some(Vec::new());
            trace.bind = Some(vec![verdict("DefaultBinder", Status::SUCCESS)]);
            trace.post_bind = Some(Vec::new());
            trace.phase = Phase::PostBind;
            trace.next = None;
            trace.outcome = CycleOutcome::Bound { node: text("b-1") };
            trace
        }
        Stage::NothingFits | Stage::Preempted | Stage::NoRoom => {
            let mut trace = filtered(popped(preemptor(), nodes()));
            trace.next = Some(Phase::PostFilter);
            if stage == Stage::NothingFits {
                return trace;
            }
            let is_helped = stage == Stage::Preempted;
            let mut found = evidence();
            if !is_helped {
                found.candidates.clear();
                found.selected = None;
                found.criterion = None;
            }
            let nominated_node = is_helped.then(|| text("b-1"));
            let status = if is_helped {
                Status::SUCCESS
            } else {
                Status::unschedulable(
                    "preemption: 0/12 nodes are available: 2 No preemption victims found for incoming pod.",
                )
            };
            trace.post_filter = Some(PostFilterTrace {
                verdicts: vec![verdict("DefaultPreemption", status)],
                nominated_node: nominated_node.clone(),
                evidence: Some(Arc::new(found)),
            });
            trace.phase = Phase::PostFilter;
            trace.next = None;
            trace.outcome = CycleOutcome::Unschedulable {
                message: String::from(
                    "0/12 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), 9 Insufficient cpu.",
                ),
                nominated_node,
            };
            trace
        }
    }
}

pub fn queue_row(pod: Arc<Pod>, attempts: u32, since: Time) -> QueueRow {
    QueueRow {
        pod,
        attempts,
        since,
        backoff_expiration: None,
        backoff_duration: None,
        is_error_backoff: false,
        gated_by: None,
        unschedulable_plugins: Vec::new(),
        pending_plugins: Vec::new(),
        nominated_node: None,
        message: None,
        flush_at: None,
    }
}

/// A row of backoffQ: how long it lasts in all and how long still, in milliseconds.
pub fn backoff_row(pod: Arc<Pod>, attempts: u32, all: u64, left: u64, is_error: bool) -> QueueRow {
    QueueRow {
        backoff_expiration: Some(ahead(left)),
        backoff_duration: Some(Duration::from_millis(all)),
        is_error_backoff: is_error,
        unschedulable_plugins: if is_error { Vec::new() } else { vec![text(FIT)] },
        ..queue_row(pod, attempts, ago(all - left))
    }
}

/// A row of unschedulablePods: for how many milliseconds.
pub fn unschedulable_row(pod: Arc<Pod>, plugins: &[&str], millis: u64) -> QueueRow {
    QueueRow {
        unschedulable_plugins: plugins.iter().map(|plugin| text(plugin)).collect(),
        message: Some(text("0/12 nodes are available: 12 Insufficient cpu.")),
        flush_at: Some(ahead(330_000 - millis)),
        ..queue_row(pod, 3, ago(millis))
    }
}

pub fn gated_row(pod: Arc<Pod>) -> QueueRow {
    QueueRow { gated_by: Some(text("SchedulingGates")), ..queue_row(pod, 0, ago(134_000)) }
}

/// The scheduler with no pod and no node.
pub fn empty_view() -> View {
    View { now: now(), ..View::default() }
}

/// The scheduler at that stage.
pub fn scheduler(stage: Stage) -> View {
    let cycle = trace(stage);
    let pending = |key: &str, priority: i32, cpu: i64| pod(key).priority(priority).asks(cpu, GI).pod();
    let active_q = vec![
        queue_row(pending("shop/search-1", 100, 500), 1, ago(3_000)),
        queue_row(pending("shop/search-2", 100, 500), 1, ago(2_900)),
        queue_row(pending("batch/train-0", 0, 1000), 1, ago(9_100)),
        queue_row(pending("batch/train-1", 0, 1000), 1, ago(9_100)),
    ];
    let backoff_q = vec![
        backoff_row(pending("shop/api-2", 0, 3000), 2, 2_000, 1_200, false),
        backoff_row(pending("batch/etl-9", 0, 500), 3, 4_000, 3_800, true),
    ];
    let mut nominated = unschedulable_row(pending("shop/pay-0", 2000, 3000), &[FIT], 12_000);
    nominated.nominated_node = Some(text("b-1"));
    let unschedulable_pods = vec![
        gated_row(pod("ci/gate-1").gate("example.com/quota").pod()),
        unschedulable_row(pending("db/pg-2", 100, 9000), &[FIT], 31_000),
        unschedulable_row(pending("ml/gpu-7", 0, 500), &[FIT, TAINTS], 252_000),
        unschedulable_row(pending("ml/gpu-8", 0, 500), &[FIT, TAINTS], 252_000),
        nominated,
    ];
    let waiting = vec![WaitingRow {
        pod: pending("ml/gang-0", 0, 500),
        node: text("c-3"),
        since: ago(12_000),
        plugins: vec![(text("Coscheduling"), ahead(18_000))],
    }];
    let binding = vec![
        BindingRow {
            pod: pending("shop/web-9", 0, 200),
            node: text("a-1"),
            since: ago(2_000),
            phase: Phase::PreBind,
        },
        BindingRow {
            pod: pending("shop/web-10", 0, 200),
            node: text("b-3"),
            since: ago(300),
            phase: Phase::Bind,
        },
    ];
    let nodes = nodes();
    View {
        now: now(),
        counts: Counts {
            active: active_q.len(),
            backoff: backoff_q.len(),
            unschedulable: unschedulable_pods.len(),
            gated: 1,
            waiting: waiting.len(),
            binding: binding.len(),
            nodes: nodes.len(),
            assigned: nodes.iter().map(|node| node.pods().len()).sum(),
            bound: 52,
            cycles: 13,
            preempted: 2,
        },
        active_q,
        backoff_q,
        unschedulable_pods,
        waiting,
        binding,
        nodes,
        cycle: Some(Arc::new(cycle)),
        history: Arc::new(VecDeque::from([
            summary(
                11,
                9_000,
                "batch/etl-9",
                CycleOutcome::Error { message: String::from("binding rejected") },
            ),
            summary(12, 5_000, "shop/web-9", CycleOutcome::Binding { node: text("a-1") }),
        ])),
        events: Arc::new(VecDeque::from([
            event(
                31_000,
                "Warning",
                "FailedScheduling",
                "Scheduling",
                "db/pg-2",
                "0/12 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), 9 Insufficient cpu. preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling.",
            ),
            event(
                12_000,
                "Warning",
                "FailedScheduling",
                "Scheduling",
                "shop/pay-0",
                "0/12 nodes are available: 9 Insufficient cpu.",
            ),
            event(
                4_000,
                "Normal",
                "Scheduled",
                "Binding",
                "shop/web-8",
                "Successfully assigned shop/web-8 to c-3",
            ),
        ])),
        moves: Arc::new(VecDeque::from([
            moved(10_000, "shop/search-1", "to activeQ by AssignedPodDelete (NodeResourcesFit: Queue)"),
            moved(800, "shop/api-2", "to backoffQ by NodeAdd (NodeResourcesFit: Queue)"),
        ])),
        n_dropped: 0,
    }
}

fn key(key: &str) -> NamespacedName {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    NamespacedName::new(namespace, name)
}

fn summary(number: u64, millis: u64, pod: &str, outcome: CycleOutcome) -> CycleSummary {
    CycleSummary { number, started: ago(millis), pod: key(pod), outcome }
}

fn event(
    millis: u64,
    type_: &'static str,
    reason: &'static str,
    action: &'static str,
    regarding: &str,
    note: &str,
) -> ObjectEvent {
    ObjectEvent { at: ago(millis), type_, reason, action, regarding: key(regarding), note: note.to_owned() }
}

fn moved(millis: u64, pod: &str, text: &str) -> QueueMoveLine {
    QueueMoveLine { at: ago(millis), pod: key(pod), text: text.to_owned() }
}

/// A session around a scheduler.
pub fn session(view: View) -> SessionView {
    SessionView {
        source: text("sample"),
        run_state: RunState::Paused,
        speed: Speed::Times(10),
        elapsed: now().saturating_since(START),
        next_timeout: Some((Duration::from_millis(1_200), text("backoff of shop/api-2 ends"))),
        scheduler: Arc::new(view),
        notice: None,
        failure: None,
    }
}
