//! What holds whatever is done: sizes at rest, surges, equal worlds from equal seeds, going back and on again.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use schedscope::api::workloads::WorkloadKind;
use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::history::{History, HistoryLimits};
use schedscope::driver::sandbox::ops::SimulatorOp;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::world::{Part, WorldOrder};
use schedscope::driver::session::Edit;

use super::{deployment, is_ready, living_with, nodes, pods};

/// Something that is done to the cluster, or time that goes.
#[derive(Clone, Debug)]
enum Step {
    Scale(u32),
    Image(u8),
    Restart,
    DeletePod(u8),
    Drain(u8),
    Uncordon(u8),
    Down(u8),
    Up(u8),
    Time(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0_u32..9).prop_map(Step::Scale),
        (0_u8..3).prop_map(Step::Image),
        Just(Step::Restart),
        any::<u8>().prop_map(Step::DeletePod),
        (1_u8..4).prop_map(Step::Drain),
        (1_u8..4).prop_map(Step::Uncordon),
        (1_u8..4).prop_map(Step::Down),
        (1_u8..4).prop_map(Step::Up),
        (1_u32..200).prop_map(Step::Time),
        (1_u32..20).prop_map(Step::Time),
    ];
    proptest::collection::vec(step, 1..14)
}

const BUDGET: &str = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 1, \
                      selector: {matchLabels: {app: nginx}}}}\n---\n";

fn key() -> NamespacedName {
    NamespacedName::new("default", "nginx-deployment")
}

/// The operation of a step at this moment, if there is one.
fn op(simulator: &Simulator, step: &Step, replicas: u32) -> Option<SimulatorOp> {
    let node = |n: &u8| format!("n-{n}").as_str().into();
    let order = |order| Some(SimulatorOp::Edit(Edit::World(order)));
    match step {
        Step::Scale(to) => {
            let replicas = i32::try_from(*to).unwrap();
            order(WorldOrder::Scale { kind: WorkloadKind::Deployment, key: key(), replicas })
        }
        Step::Image(version) => {
            let text = deployment(replicas, &format!("nginx:{version}"), "");
            Some(SimulatorOp::Edit(Edit::Apply { source: "test".to_owned(), text }))
        }
        Step::Restart => order(WorldOrder::Restart { kind: WorkloadKind::Deployment, key: key() }),
        Step::DeletePod(n) => {
            let there = pods(simulator, "nginx");
            let pod = there.get(usize::from(*n) % there.len().max(1))?;
            Some(SimulatorOp::Edit(Edit::DeletePod(pod.key())))
        }
        Step::Drain(n) => order(WorldOrder::Drain { node: node(n), is_forced: false }),
        Step::Uncordon(n) => Some(SimulatorOp::Edit(Edit::Uncordon(node(n)))),
        Step::Down(n) => order(WorldOrder::NodeDown(node(n))),
        Step::Up(n) => order(WorldOrder::NodeUp(node(n))),
        Step::Time(_) => None,
    }
}

/// What is done with a cluster, as operations, with a look at every one.
fn play(history: &mut History<Simulator>, steps: &[Step], mut check: impl FnMut(&Simulator, u32)) -> u32 {
    let mut replicas = 4;
    let attempts = |history: &mut History<Simulator>| {
        for _ in 0..200 {
            if !history.machine().can_step() {
                break;
            }
            history.apply(SimulatorOp::StepCycle);
        }
    };
    attempts(history);
    for step in steps {
        if let Step::Scale(to) = step {
            replicas = *to;
        }
        if let Some(op) = op(history.machine(), step, replicas) {
            history.apply(op);
            attempts(history);
        }
        let seconds = if let Step::Time(seconds) = step { *seconds } else { 1 };
        let end = history.machine().now() + Duration::from_secs(u64::from(seconds));
        while history.machine().next_timeout().is_some_and(|(at, _)| at <= end) {
            history.apply(SimulatorOp::NextTimeout);
            check(history.machine(), replicas);
            attempts(history);
            check(history.machine(), replicas);
        }
        history.apply(SimulatorOp::TimeTo(end));
        attempts(history);
    }
    replicas
}

fn fresh(seed: u64) -> History<Simulator> {
    let manifest = nodes(3) + BUDGET + &deployment(4, "nginx:0", "");
    History::new(living_with(&manifest, "all", seed), HistoryLimits::default())
}

/// All that can be seen of a cluster.
fn state(simulator: &Simulator) -> String {
    let objects: Vec<String> = simulator.api().objects().iter().map(|object| format!("{object:?}")).collect();
    let deeds = simulator.controllers().unwrap().n_deeds();
    format!(
        "{:?} {} {deeds} {:?}\n{}",
        simulator.now(),
        simulator.scheduler().digest(),
        simulator.world_view(),
        objects.join("\n")
    )
}

fn run(cases: u32, test: impl Fn(Vec<Step>) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
    .run(&steps(), test)
    .unwrap();
}

#[test]
fn a_deployment_never_surges_beyond_its_limit_and_ends_at_its_size() {
    run(24, |steps| {
        let mut history = fresh(1);
        let mut largest = 4;
        let replicas = play(&mut history, &steps, |simulator, replicas| {
            largest = largest.max(replicas);
            let active = pods(simulator, "nginx").iter().filter(|pod| !pod.is_terminating()).count();
            let most = largest + largest.div_ceil(4);
            assert!(active <= most as usize, "{active} pods, at most {most} are allowed");
        });
        // All nodes back, and time for everything to come to rest.
        let back = [1, 2, 3].map(Step::Up).into_iter().chain([1, 2, 3].map(Step::Uncordon));
        let rest: Vec<Step> = back.chain([Step::Scale(replicas), Step::Time(900)]).collect();
        play(&mut history, &rest, |_, _| {});
        let there = pods(history.machine(), "nginx");
        prop_assert_eq!(there.len(), replicas as usize);
        prop_assert!(there.iter().all(|pod| is_ready(pod)));
        Ok(())
    });
}

#[test]
fn equal_seeds_make_equal_worlds_and_others_do_not() {
    let steps =
        [Step::Scale(7), Step::Time(60), Step::Image(1), Step::Time(30), Step::Drain(2), Step::Time(100)];
    let end = |seed| {
        let mut history = fresh(seed);
        play(&mut history, &steps, |_, _| {});
        state(history.machine())
    };
    assert_eq!(end(1), end(1));
    assert_ne!(end(1), end(2));
}

#[test]
fn going_back_and_on_again_gives_the_same_world() {
    run(8, |steps| {
        let mut history = fresh(3);
        play(&mut history, &steps, |_, _| {});
        let end = history.position();
        let last = state(history.machine());
        for at in [end / 3, end / 2, 0] {
            prop_assert!(history.seek(at));
            let there = state(history.machine());
            prop_assert!(history.seek(end));
            prop_assert_eq!(&state(history.machine()), &last);
            prop_assert!(history.seek(at));
            prop_assert_eq!(state(history.machine()), there);
            prop_assert!(history.seek(end));
        }
        Ok(())
    });
}

#[test]
fn a_part_that_is_off_does_nothing() {
    let manifest = nodes(1) + &deployment(3, "nginx:1", "");
    let mut simulator = living_with(&manifest, "-kubelets", 1);
    super::run_for(&mut simulator, Duration::from_secs(60));
    assert!(pods(&simulator, "nginx").iter().all(|pod| pod.is_assigned() && pod.status.phase == "Pending"));
    let switch = |part, is_on| WorldOrder::Switch { part, is_on };
    assert_eq!(super::order(&mut simulator, switch(Part::Kubelets, true)).unwrap(), "kubelets is on");
    super::run_for(&mut simulator, Duration::from_secs(60));
    assert!(pods(&simulator, "nginx").iter().all(|pod| is_ready(pod)));
    super::order(&mut simulator, switch(Part::Workloads, false)).unwrap();
    let gone = pods(&simulator, "nginx")[0].key();
    simulator.edit(&Edit::DeletePod(gone)).unwrap();
    super::run_for(&mut simulator, Duration::from_secs(60));
    assert_eq!(pods(&simulator, "nginx").len(), 2);
    super::order(&mut simulator, switch(Part::Workloads, true)).unwrap();
    super::run_for(&mut simulator, Duration::from_secs(60));
    assert_eq!(pods(&simulator, "nginx").len(), 3);
}
