//! Equal inputs, equal outputs.

use schedscope::api::Duration;
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::sample;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::scheduler::SchedulerOptions;

use crate::support::test_plugins::Calls;
use crate::support::world::{build, drain, sandbox};

fn sample_sandbox(options: SchedulerOptions) -> Simulator {
    build(&sample::source().text, None, &Calls::default(), options)
}

/// A small story: some attempts, time, changes by hand, more attempts; the digest after every step.
fn digests_of_a_story(mut simulator: Simulator) -> Vec<u64> {
    let mut digests = Vec::new();
    let mut note = |simulator: &Simulator| digests.push(simulator.scheduler().digest());
    note(&simulator);
    for _ in 0..5 {
        simulator.step_phase();
        note(&simulator);
    }
    for _ in 0..6 {
        simulator.step_cycle();
        note(&simulator);
    }
    simulator.edit(&Edit::Cordon("b-2".into())).unwrap();
    note(&simulator);
    let to = simulator.now() + Duration::from_secs(4);
    simulator.advance_to(to, |simulator| {
        drain(simulator);
        true
    });
    note(&simulator);
    simulator.edit(&Edit::Uncordon("b-2".into())).unwrap();
    drain(&mut simulator);
    note(&simulator);
    digests
}

#[test]
fn equal_inputs_give_equal_digests() {
    let story = || digests_of_a_story(sample_sandbox(SchedulerOptions::default()));
    let first = story();
    assert_eq!(first, story());
    let mut distinct = first.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), first.len(), "every step shows in the digest");
}

#[test]
fn a_copy_goes_on_as_the_original_does() {
    let mut original = sample_sandbox(SchedulerOptions::default());
    for _ in 0..7 {
        original.step_phase();
    }
    let mut copy = original.clone();
    drain(&mut original);
    assert_ne!(original.scheduler().digest(), copy.scheduler().digest());
    drain(&mut copy);
    assert_eq!(original.scheduler().digest(), copy.scheduler().digest());
}

#[test]
fn looking_changes_nothing() {
    let traced = SchedulerOptions { is_tracing: true, ..SchedulerOptions::default() };
    let blind = SchedulerOptions { is_tracing: false, ..SchedulerOptions::default() };
    let digest = |options| {
        let mut simulator = sample_sandbox(options);
        run_to_rest(&mut simulator);
        simulator.scheduler().digest()
    };
    assert_eq!(digest(traced), digest(blind));
}

#[test]
fn stepping_by_phases_decides_what_whole_cycles_decide() {
    let placed = |step: fn(&mut Simulator) -> bool| {
        let mut simulator = sample_sandbox(SchedulerOptions::default());
        while step(&mut simulator) {}
        let pods = simulator.api().objects().pods.clone();
        pods.into_iter().map(|(key, pod)| (key, pod.spec.node_name.clone())).collect::<Vec<_>>()
    };
    assert_eq!(placed(Simulator::step_phase), placed(Simulator::step_cycle));
}

#[test]
fn the_seed_decides_ties_and_nothing_else() {
    let manifest =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n";
    let nodes: String = (0..8).map(|i| crate::support::world::node(&format!("n{i}"), "4")).collect();
    let host = |seed| {
        let options = SchedulerOptions { seed, ..SchedulerOptions::default() };
        let mut simulator = build(&(nodes.clone() + manifest), None, &Calls::default(), options);
        simulator.step_cycle();
        crate::support::world::node_of(&simulator, "web")
    };
    assert_eq!(host(7), host(7));
    let hosts: std::collections::BTreeSet<String> = (0..40).map(host).collect();
    assert!(hosts.len() > 4, "eight equal nodes, forty seeds: {hosts:?}");
    let mut alone = sandbox(&(crate::support::world::node("only", "4") + manifest));
    alone.step_cycle();
    assert_eq!(crate::support::world::node_of(&alone, "web"), "only");
}
