//! Tests of the scheduling queue with tiny plugins, in a world where the test turns the clock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backoff;
mod events;
mod flush;
mod gates;
mod groups;
mod in_flight;
mod log;
mod nominations;
mod order;
mod properties;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::{Node, Pod, PodSchedulingGate};
use crate::api::{Duration, NamespacedName, Object, Str, Time};
use crate::framework::runtime::QueueingHintMap;
use crate::framework::testing::TestWorld;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Framework, Handle, NodeInfo, PermitPlugin, Plugin, PodInfo, PreEnqueuePlugin,
    QueueSortPlugin, QueuedPodInfo, QueueingHint, ReservePlugin, Status,
};

use super::{Nominator, Popped, QueueEnv, QueueName, QueueOptions, QueueProfile, SchedulingQueue};

/// Orders by priority, then by age, as PrioritySort does.
#[derive(Debug)]
struct ByPriority;

impl Plugin for ByPriority {
    fn name(&self) -> &'static str {
        "ByPriority"
    }
    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        Some(self)
    }
}

impl QueueSortPlugin for ByPriority {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let key = |info: &QueuedPodInfo| (-i64::from(info.pod().priority()), info.timestamp);
        key(a) < key(b)
    }
}

/// Holds a pod that has scheduling gates, as SchedulingGates does.
#[derive(Debug)]
struct Gates;

impl Plugin for Gates {
    fn name(&self) -> &'static str {
        "Gates"
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for Gates {
    fn pre_enqueue(&self, _: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        if pod.spec.scheduling_gates.is_empty() { Status::SUCCESS } else { Status::unresolvable("gated") }
    }
}

impl EnqueueExtensions for Gates {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::hinted(
            ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
            |_, pod, _, new| Ok(queue_if(is_pod(new, pod))),
        )]
    }
}

/// Holds a pod with the label `needs` until there is a node of that name.
#[derive(Debug)]
struct NeedsNode;

impl Plugin for NeedsNode {
    fn name(&self) -> &'static str {
        "NeedsNode"
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for NeedsNode {
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        match pod.metadata.labels.get("needs") {
            Some(node) if handle.objects.node(node).is_none() => Status::unresolvable("the node is missing"),
            _ => Status::SUCCESS,
        }
    }
}

impl EnqueueExtensions for NeedsNode {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::always(ClusterEvent::NODE_ADD)]
    }
}

/// Turns pods down until a node has the label `room: yes`; its hint fails for a node labelled `broken`. Any
/// deletion of a pod is worth a retry, and so is a label `go` on the pod itself.
#[derive(Debug)]
struct Room;

impl Plugin for Room {
    fn name(&self) -> &'static str {
        "Room"
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for Room {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
        Status::SUCCESS
    }
}

impl EnqueueExtensions for Room {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL),
                |_, _, _, new| match new {
                    Some(Object::Node(node)) if node.label("broken").is_some() => Err("broken".into()),
                    Some(Object::Node(node)) => Ok(queue_if(node.label("room") == Some("yes"))),
                    _ => Ok(QueueingHint::QueueSkip),
                },
            ),
            ClusterEventWithHint::always(ClusterEvent::new(EventResource::Pod, ActionType::DELETE)),
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_LABEL),
                |_, pod, _, new| {
                    let goes =
                        matches!(new, Some(Object::Pod(new)) if new.metadata.labels.contains_key("go"));
                    Ok(queue_if(is_pod(new, pod) && goes))
                },
            ),
        ]
    }
}

/// Keeps pods pending until a node gets the label `done`.
#[derive(Debug)]
struct Waits;

impl Plugin for Waits {
    fn name(&self) -> &'static str {
        "Waits"
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PermitPlugin for Waits {
    fn permit(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> (Status, Duration) {
        (Status::SUCCESS, Duration::ZERO)
    }
}

impl EnqueueExtensions for Waits {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::hinted(
            ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_LABEL),
            |_, _, _, new| {
                let is_done = matches!(new, Some(Object::Node(node)) if node.label("done").is_some());
                Ok(queue_if(is_done))
            },
        )]
    }
}

/// Says nothing about events.
#[derive(Debug)]
struct Silent;

impl Plugin for Silent {
    fn name(&self) -> &'static str {
        "Silent"
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }
}

impl ReservePlugin for Silent {
    fn reserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> Status {
        Status::SUCCESS
    }
    fn unreserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) {}
}

fn queue_if(condition: bool) -> QueueingHint {
    if condition { QueueingHint::Queue } else { QueueingHint::QueueSkip }
}

fn is_pod(object: Option<&Object>, pod: &Pod) -> bool {
    matches!(object, Some(Object::Pod(other)) if other.uid() == pod.uid())
}

/// The clock starts here, at a whole second and a multiple of 30 s.
const START: Time = Time::from_secs(1_767_225_600);

fn at(secs: u64) -> Time {
    START + Duration::from_secs(secs)
}

fn profile() -> QueueProfile {
    let all: Vec<Arc<dyn Plugin>> = vec![
        Arc::new(ByPriority),
        Arc::new(Gates),
        Arc::new(NeedsNode),
        Arc::new(Room),
        Arc::new(Waits),
        Arc::new(Silent),
    ];
    let mut framework = Framework { profile_name: "default-scheduler".into(), all, ..Framework::default() };
    framework.plugins.pre_enqueue =
        framework.all.iter().filter(|plugin| plugin.as_pre_enqueue().is_some()).cloned().collect();
    QueueProfile { hints: QueueingHintMap::new(&framework), framework }
}

/// A queue with its surroundings.
struct Bench {
    world: TestWorld,
    profiles: BTreeMap<Str, QueueProfile>,
    queue: SchedulingQueue,
    nominator: Nominator,
}

macro_rules! env_of {
    ($bench:expr) => {
        &QueueEnv { handle: $bench.world.handle(), profiles: &$bench.profiles }
    };
}
use env_of;

impl Bench {
    fn new() -> Self {
        Self::with(QueueOptions::default())
    }

    fn with(options: QueueOptions) -> Self {
        let mut queue = SchedulingQueue::new(options, Arc::new(ByPriority));
        queue.set_start(START);
        Self {
            world: TestWorld { now: START, ..TestWorld::default() },
            profiles: BTreeMap::from([("default-scheduler".into(), profile())]),
            queue,
            nominator: Nominator::default(),
        }
    }

    fn set_time(&mut self, secs: u64) {
        self.world.now = at(secs);
    }

    /// Time goes on to that second; both flushes run whenever they are due.
    fn advance_to(&mut self, secs: u64) {
        while let Some(due) = self.queue.next_timeout(self.world.now).filter(|due| *due <= at(secs)) {
            self.world.now = due;
            self.flush();
        }
        self.set_time(secs);
    }

    fn flush(&mut self) {
        self.queue.flush_backoff_q_completed(env_of!(self));
        self.queue.flush_unschedulable_pods_leftover(env_of!(self));
    }

    fn add(&mut self, pod: Pod) -> Arc<Pod> {
        let pod = Arc::new(pod);
        self.world.objects.insert(Object::Pod(Arc::clone(&pod)));
        let changes = self.queue.add(env_of!(self), Arc::new(PodInfo::new(Arc::clone(&pod))));
        self.nominator.apply(&self.world.objects, changes);
        pod
    }

    fn update(&mut self, old: &Arc<Pod>, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
        let mut new = Pod::clone(old);
        change(&mut new);
        let new = Arc::new(new);
        self.world.objects.insert(Object::Pod(Arc::clone(&new)));
        let changes = self.queue.update(env_of!(self), Some(old), Arc::new(PodInfo::new(Arc::clone(&new))));
        self.nominator.apply(&self.world.objects, changes);
        new
    }

    fn delete(&mut self, pod: &Pod) {
        self.world.objects.remove(crate::api::Kind::Pod, &pod.key());
        let changes = self.queue.delete(pod);
        self.nominator.apply(&self.world.objects, changes);
    }

    fn pop(&mut self) -> Popped {
        self.queue.pop(self.world.now).unwrap()
    }

    /// The attempt fails; the plugins turned the pod down, or it was an error if there are none.
    fn fail(&mut self, mut info: QueuedPodInfo, unschedulable: &[&str], pending: &[&str]) {
        info.unschedulable_plugins = unschedulable.iter().map(|name| Str::from(*name)).collect();
        info.pending_plugins = pending.iter().map(|name| Str::from(*name)).collect();
        let key = info.pod().key();
        if let Some(pod) = self.world.objects.pods.get(&key) {
            info.pod_info = Arc::new(PodInfo::new(Arc::clone(pod)));
        }
        self.queue.add_unschedulable_pod_if_not_present(env_of!(self), info).unwrap();
    }

    /// A pod that is tried at once and turned down by `plugin`.
    fn add_rejected(&mut self, pod: Pod, plugin: &str) -> Arc<Pod> {
        let pod = self.add(pod);
        let popped = self.pop();
        self.fail(popped.info, &[plugin], &[]);
        pod
    }

    fn event(&mut self, event: ClusterEvent, old: Option<&Object>, new: Option<&Object>) {
        let _none = self.queue.move_all_to_active_or_backoff_queue(env_of!(self), event, old, new, None);
    }

    fn add_node(&mut self, node: Node) {
        let node = Object::from(node);
        self.world.objects.insert(node.clone());
        self.event(ClusterEvent::NODE_ADD, None, Some(&node));
    }

    fn label_node(&mut self, node: Node) {
        let event = ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_LABEL);
        self.event(event, None, Some(&node.into()));
    }

    fn names(&self, queue: QueueName) -> Vec<String> {
        let pending = self.queue.pending_pods(self.world.now);
        let name = |info: &Arc<QueuedPodInfo>| info.pod().metadata.name.to_string();
        match queue {
            QueueName::Active => pending.active.iter().map(name).collect(),
            QueueName::Backoff => pending.backoff.iter().map(|pod| name(&pod.info)).collect(),
            QueueName::Unschedulable => pending.unschedulable.iter().map(|pod| name(&pod.info)).collect(),
        }
    }

    /// The queues in one line: activeQ | backoffQ | unschedulablePods.
    fn queues(&self) -> String {
        [QueueName::Active, QueueName::Backoff, QueueName::Unschedulable]
            .map(|queue| self.names(queue).join(" "))
            .join("|")
    }

    fn info(&self, pod: &Pod) -> &QueuedPodInfo {
        self.queue.get(pod.uid()).unwrap().0
    }
}

fn pod(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = "default".into();
    pod.metadata.name = name.into();
    pod.metadata.uid = format!("pod/default/{name}").into();
    pod.spec.scheduler_name = "default-scheduler".into();
    pod
}

fn with_priority(name: &str, priority: i32) -> Pod {
    let mut pod = pod(name);
    pod.spec.priority = Some(priority);
    pod
}

fn gated(name: &str) -> Pod {
    let mut pod = pod(name);
    pod.spec.scheduling_gates = vec![PodSchedulingGate { name: "gate".into() }];
    pod
}

fn labelled(mut pod: Pod, key: &str, value: &str) -> Pod {
    pod.metadata.labels.insert(key.into(), value.into());
    pod
}

fn node(name: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = name.into();
    node
}

fn node_with(name: &str, label: &str, value: &str) -> Node {
    let mut node = node(name);
    node.metadata.labels.insert(label.into(), value.into());
    node
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}
