//! What holds whatever happens.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::api::{Digest, Digestible, Uid};
use crate::queue::{MoveLogLevel, PendingPods};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Something that can happen to the queue. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Op {
    Add { name: usize, priority: i32, is_gated: bool, needs: bool },
    Recreate { name: usize },
    Label { name: usize, goes: bool },
    Ungate { name: usize },
    Touch { name: usize },
    Delete { name: usize },
    Pop,
    Bind { in_flight: usize },
    Fail { in_flight: usize, unschedulable: BTreeSet<usize>, pending: bool },
    NodeAdd { kind: usize },
    NodeLabel { kind: usize },
    NodesGone,
    PodDeleted,
    Activate { name: usize },
    Wait { millis: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let name = || 0..NAMES.len();
    prop_oneof![
        4 => (name(), 0..3, any::<bool>(), any::<bool>())
            .prop_map(|(name, priority, is_gated, needs)| Op::Add { name, priority, is_gated, needs }),
        1 => name().prop_map(|name| Op::Recreate { name }),
        2 => (name(), any::<bool>()).prop_map(|(name, goes)| Op::Label { name, goes }),
        2 => name().prop_map(|name| Op::Ungate { name }),
        1 => name().prop_map(|name| Op::Touch { name }),
        2 => name().prop_map(|name| Op::Delete { name }),
        8 => Just(Op::Pop),
        1 => (0..4_usize).prop_map(|in_flight| Op::Bind { in_flight }),
        6 => (0..4_usize, prop::collection::btree_set(0..3_usize, 0..3), any::<bool>()).prop_map(
            |(in_flight, unschedulable, pending)| Op::Fail { in_flight, unschedulable, pending }
        ),
        2 => (0..4_usize).prop_map(|kind| Op::NodeAdd { kind }),
        2 => (0..4_usize).prop_map(|kind| Op::NodeLabel { kind }),
        1 => Just(Op::NodesGone),
        1 => Just(Op::PodDeleted),
        2 => name().prop_map(|name| Op::Activate { name }),
        4 => prop_oneof![1..3_000_u64, 20_000..400_000_u64].prop_map(|millis| Op::Wait { millis }),
    ]
}

fn options() -> impl Strategy<Value = QueueOptions> {
    (any::<bool>(), 0..4_u64).prop_map(|(pop_from_backoff_q, max)| QueueOptions {
        pop_from_backoff_q,
        pod_max_backoff: Duration::from_secs(max * 3),
        ..QueueOptions::default()
    })
}

/// The queue together with what has to be true of it.
struct Model {
    bench: Bench,
    /// The pods that exist and are not bound, by name.
    pods: BTreeMap<usize, Arc<Pod>>,
    /// The pods in flight, in the order in which they were popped, whether they still exist or not.
    in_flight: Vec<QueuedPodInfo>,
    n_created: u64,
}

impl Model {
    fn new(options: QueueOptions) -> Self {
        Self { bench: Bench::with(options), pods: BTreeMap::new(), in_flight: Vec::new(), n_created: 0 }
    }

    fn node_of(kind: usize) -> Node {
        match kind {
            0 => node_with("n", "room", "yes"),
            1 => node_with("n", "broken", ""),
            2 => node_with("n", "done", ""),
            _ => node("n"),
        }
    }

    fn add(&mut self, name: usize, priority: i32, is_gated: bool, needs: bool) {
        if self.pods.contains_key(&name) {
            return;
        }
        self.n_created += 1;
        let mut pod = if is_gated { gated(NAMES[name]) } else { pod(NAMES[name]) };
        pod.metadata.uid = format!("{}-{}", NAMES[name], self.n_created).into();
        pod.spec.priority = Some(priority);
        let pod = if needs { labelled(pod, "needs", "n") } else { pod };
        let pod = self.bench.add(pod);
        self.pods.insert(name, pod);
    }

    fn update(&mut self, name: usize, change: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.get(&name) {
            let pod = self.bench.update(&pod.clone(), change);
            self.pods.insert(name, pod);
        }
    }

    fn delete(&mut self, name: usize) {
        if let Some(pod) = self.pods.remove(&name) {
            self.bench.delete(&pod);
        }
    }

    fn take_in_flight(&mut self, index: usize) -> Option<QueuedPodInfo> {
        (!self.in_flight.is_empty()).then(|| self.in_flight.remove(index % self.in_flight.len()))
    }

    fn exists(&self, uid: &Uid) -> bool {
        self.pods.values().any(|pod| pod.uid() == uid)
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Add { name, priority, is_gated, needs } => self.add(*name, *priority, *is_gated, *needs),
            Op::Recreate { name } => {
                self.delete(*name);
                self.add(*name, 0, false, false);
            }
            Op::Label { name, goes } => self.update(*name, |pod| {
                let key = if *goes { "go" } else { "other" };
                let value = if pod.metadata.labels.contains_key(key) { "again" } else { "" };
                pod.metadata.labels.insert(key.into(), value.into());
                pod.spec.tolerations.push(crate::api::objects::Toleration::default());
            }),
            Op::Ungate { name } => self.update(*name, |pod| pod.spec.scheduling_gates.clear()),
            Op::Touch { name } => self.update(*name, |pod| pod.metadata.generation += 1),
            Op::Delete { name } => self.delete(*name),
            Op::Pop => {
                let can_pop = self.bench.queue.can_pop();
                let popped = self.bench.queue.pop(self.bench.world.now);
                assert_eq!(popped.is_some(), can_pop);
                self.in_flight.extend(popped.map(|popped| popped.info));
            }
            Op::Bind { in_flight } => {
                if let Some(info) = self.take_in_flight(*in_flight) {
                    self.pods.retain(|_, pod| pod.uid() != info.uid());
                    self.bench.queue.done(info.uid());
                }
            }
            Op::Fail { in_flight, unschedulable, pending } => {
                let Some(info) = self.take_in_flight(*in_flight) else { return };
                if self.exists(info.uid()) {
                    let plugins: Vec<_> =
                        unschedulable.iter().map(|i| ["Room", "Silent", "NeedsNode"][*i]).collect();
                    let pending: &[&str] = if *pending { &["Waits"] } else { &[] };
                    self.bench.fail(info, &plugins, pending);
                } else {
                    self.bench.queue.done(info.uid());
                }
            }
            Op::NodeAdd { kind } => self.bench.add_node(Self::node_of(*kind)),
            Op::NodeLabel { kind } => self.bench.label_node(Self::node_of(*kind)),
            Op::NodesGone => self.bench.world.objects.nodes.clear(),
            Op::PodDeleted => {
                let gone = Object::from(pod("assigned"));
                self.bench.event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&gone), None);
            }
            Op::Activate { name } => {
                if let Some(pod) = self.pods.get(name) {
                    self.bench.queue.activate(env_of!(self.bench), std::slice::from_ref(pod));
                }
            }
            Op::Wait { millis } => self.wait(Duration::from_millis(*millis)),
        }
    }

    /// Time goes on, and both flushes run when they say that they are due.
    fn wait(&mut self, by: Duration) {
        let end = self.bench.world.now + by;
        while let Some(due) = self.bench.queue.next_timeout(self.bench.world.now).filter(|due| *due <= end) {
            self.bench.world.now = due;
            let before = self.bench.queue.next_timeout(self.bench.world.now);
            self.bench.flush();
            assert_ne!(
                self.bench.queue.next_timeout(self.bench.world.now),
                before,
                "nothing came of {due:?}"
            );
        }
        self.bench.world.now = end;
    }

    /// Every pod that exists and is not in flight is in exactly one queue, and nothing else is.
    fn check(&self) {
        let queue = &self.bench.queue;
        let pending = queue.pending_pods(self.bench.world.now);
        let queued = uids(&pending);
        let unique: BTreeSet<_> = queued.iter().collect();
        assert_eq!(unique.len(), queued.len(), "a pod is in two places");

        let in_flight: BTreeSet<_> = self.in_flight.iter().map(|info| info.uid().clone()).collect();
        let expected: BTreeSet<_> =
            self.pods.values().map(|pod| pod.uid()).filter(|uid| !in_flight.contains(*uid)).collect();
        assert_eq!(unique, expected);
        assert_eq!(pending.in_flight.len(), in_flight.len());
        for uid in &queued {
            assert_eq!(queue.get(uid).map(|(info, _)| info.uid()), Some(uid));
        }
        for (name, pod) in &self.pods {
            if let Some((info, _)) = queue.get(pod.uid()) {
                assert_eq!(info.pod(), pod, "the queue has an old version of {name}");
            }
        }
        for uid in &in_flight {
            assert!(queue.is_in_flight(uid) && queue.get(uid).is_none());
        }
        if in_flight.is_empty() {
            assert!(queue.active.in_flight_events().is_empty());
        }
        let counted = [QueueName::Active, QueueName::Backoff, QueueName::Unschedulable].map(|q| queue.len(q));
        assert_eq!(counted, [pending.active.len(), pending.backoff.len(), pending.unschedulable.len()]);
        self.check_order(&pending);
        self.check_waits(&pending);
    }

    fn check_order(&self, pending: &PendingPods) {
        assert!(pending.active.windows(2).all(|pair| !ByPriority.less(&pair[1], &pair[0])));
        let expirations: Vec<_> = pending.backoff.iter().map(|pod| pod.info.backoff_expiration).collect();
        assert!(expirations.is_sorted());
        let names: Vec<_> = pending.unschedulable.iter().map(|pod| pod.info.pod().key()).collect();
        assert!(names.is_sorted());
    }

    /// Nobody waits for longer than the flushes allow.
    fn check_waits(&self, pending: &PendingPods) {
        let now = self.bench.world.now;
        for pod in &pending.backoff {
            assert!(now < pod.info.backoff_expiration.truncate_to_second() + Duration::from_secs(1));
            assert_eq!(pod.is_error, pod.info.rejector_plugins().next().is_none());
        }
        for pod in pending.unschedulable.iter().filter(|pod| !pod.info.is_gated()) {
            assert!(now < pod.info.timestamp + Duration::from_secs(330) || pod.flush_at == Some(now));
            assert!(pod.flush_at.is_some());
        }
        for info in pending.active.iter().chain(pending.backoff.iter().map(|pod| &pod.info)) {
            assert!(!info.is_gated() || !self.bench.queue.options.pop_from_backoff_q);
        }
    }
}

fn uids(pending: &PendingPods) -> Vec<Uid> {
    let active = pending.active.iter();
    let backoff = pending.backoff.iter().map(|pod| &pod.info);
    let unschedulable = pending.unschedulable.iter().map(|pod| &pod.info);
    active.chain(backoff).chain(unschedulable).map(|info| info.uid().clone()).collect()
}

fn digest(queue: &SchedulingQueue) -> u64 {
    let mut digest = Digest::new();
    queue.digest(&mut digest);
    digest.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pod_is_in_exactly_one_place(options in options(), ops in prop::collection::vec(op(), 1..80)) {
        let mut model = Model::new(options);
        for op in &ops {
            model.apply(op);
            model.check();
        }
        while let Some(info) = model.in_flight.pop() {
            model.bench.queue.done(info.uid());
            model.pods.retain(|_, pod| pod.uid() != info.uid());
            model.check();
        }
    }

    #[test]
    fn nothing_schedulable_is_stuck(options in options(), ops in prop::collection::vec(op(), 1..60)) {
        let mut model = Model::new(options);
        for op in &ops {
            model.apply(op);
        }
        // No event comes any more: every pod that is not gated is tried within six minutes.
        let mut waiting: BTreeSet<Uid> = model
            .pods
            .values()
            .filter_map(|pod| model.bench.queue.get(pod.uid()))
            .filter(|(info, _)| !info.is_gated())
            .map(|(info, _)| info.uid().clone())
            .collect();
        for _ in 0..360 {
            model.wait(Duration::from_secs(1));
            while let Some(popped) = model.bench.queue.pop(model.bench.world.now) {
                waiting.remove(popped.info.uid());
                model.bench.queue.done(popped.info.uid());
            }
        }
        waiting.retain(|uid| !model.bench.queue.get(uid).is_some_and(|(info, _)| info.is_gated()));
        prop_assert!(waiting.is_empty(), "{waiting:?}");
    }

    #[test]
    fn a_copy_goes_its_own_way_and_the_same_way(
        options in options(),
        before in prop::collection::vec(op(), 1..40),
        after in prop::collection::vec(op(), 1..40),
    ) {
        let run = |level| {
            let mut model = Model::new(options.clone());
            model.bench.queue.set_move_log_level(level);
            before.iter().for_each(|op| model.apply(op));
            let (copy, at_copy) = (model.bench.queue.clone(), digest(&model.bench.queue));
            for op in &after {
                model.apply(op);
                if level == MoveLogLevel::Judgements {
                    digest(&model.bench.queue);
                }
            }
            // What happened to the one has not happened to the other.
            assert_eq!(digest(&copy), at_copy);
            (at_copy, digest(&model.bench.queue))
        };
        // Neither what is told of the moves nor an earlier look at the digest changes anything.
        prop_assert_eq!(run(MoveLogLevel::Off), run(MoveLogLevel::Judgements));
    }
}
