//! What would be: with and without changes, on generated clusters and on small ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use schedscope::api::{Duration, Kind};
use schedscope::config::FeatureGates;
use schedscope::driver::history::Machine;
use schedscope::driver::outlook::run::{Progress, RunError, run_out};
use schedscope::driver::outlook::task::Answer;
use schedscope::driver::outlook::what_if::{WhatIf, what_if};
use schedscope::driver::recorder::RecordingTap;
use schedscope::driver::runner::{run_to_rest, run_watched};
use schedscope::driver::sandbox::changes::Change;
use schedscope::driver::sandbox::generate::{GenerateOptions, Work, manifests};
use schedscope::driver::sandbox::ops::SimulatorOp;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::words;
use schedscope::driver::session::{Edit, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::scheduler::SchedulerOptions;

use crate::support::test_plugins::Calls;
use crate::support::world::{START, api_of, frameworks, node, pod, sandbox};

fn generated(seed: u64) -> Simulator {
    let mix = vec![(Work::Web, 3), (Work::Api, 2), (Work::Batch, 2), (Work::System, 1)];
    let options = GenerateOptions { nodes: 9, pods: 90, pending: 6, seed, mix, ..GenerateOptions::default() };
    sandbox(&manifests(&options).concat())
}

fn edits(line: &str) -> Vec<Edit> {
    let split: Vec<&str> = line.split_whitespace().collect();
    words::parse(&split, &|name| Err(format!("{name} is not read here"))).unwrap()
}

fn ask(simulator: &Simulator, line: &str) -> WhatIf {
    what_if(simulator, &edits(line), &Progress::default()).unwrap()
}

fn on(node: &str) -> String {
    format!(", nodeName: {node}")
}

fn owned(name: &str, kind: &str, node: &str) -> String {
    let owner = format!(
        ", ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: owner, uid: u-{kind}, controller: true}}]"
    );
    pod(name, "1", &owner, &on(node))
}

#[test]
fn no_change_changes_nothing() {
    for seed in 1..5 {
        let simulator = generated(seed);
        let before = simulator.scheduler().digest();
        let answer = what_if(&simulator, &[], &Progress::default()).unwrap();
        assert!(answer.is_nothing(), "{answer:?}");
        assert_eq!(answer.totals[0], answer.totals[1]);
        assert_eq!(answer.n_same, 90);
        assert_eq!(simulator.scheduler().digest(), before, "the one that was asked about stays as it is");
    }
}

#[test]
fn a_drain_is_a_cordon_and_a_deletion_of_each_pod_with_its_return() {
    for seed in 1..4 {
        let mut simulator = generated(seed);
        // By hand no budget is asked.
        let budgets: Vec<_> = simulator.api().objects().pod_disruption_budgets.keys().cloned().collect();
        for key in budgets {
            simulator.edit(&Edit::Delete { kind: Kind::PodDisruptionBudget, key }).unwrap();
        }
        let drained = "general-a-0001";
        let answer = ask(&simulator, &format!("drain {drained}"));
        // By hand: what a person would do in a branch, pod by pod.
        let mut by_hand = simulator.clone().with_returning_victims();
        by_hand.edit(&Edit::Cordon(drained.into())).unwrap();
        let pods: Vec<_> = by_hand
            .api()
            .objects()
            .pods
            .values()
            .filter(|pod| &*pod.spec.node_name == drained)
            .filter(|pod| pod.metadata.controller().is_some_and(|owner| owner.kind != "DaemonSet"))
            .cloned()
            .collect();
        for pod in &pods {
            by_hand.edit(&Edit::DeletePod(pod.key())).unwrap();
            let mut again = (**pod).clone();
            again.metadata.name = format!("{}-again", pod.metadata.name).into();
            again.metadata.uid = "".into();
            again.metadata.creation_timestamp = None;
            again.spec.node_name = "".into();
            again.status = Default::default();
            by_hand.change_now(|api, now| api.create(again.into(), now)).unwrap();
        }
        run_to_rest(&mut by_hand);
        let placed = by_hand.api().objects().pods.values().filter(|pod| pod.is_assigned()).count();
        assert_eq!(answer.totals[1].placed, placed, "seed {seed}");
        let from: BTreeSet<_> = answer
            .moved
            .iter()
            .chain(&answer.stuck)
            .filter(|change| change.before.as_deref() == Some(drained))
            .filter_map(|change| change.instead_of.clone())
            .collect();
        assert_eq!(from, pods.iter().map(|pod| pod.key()).collect(), "seed {seed}");
        assert!(answer.lost.is_empty() && answer.with_node.is_empty());
    }
}

#[test]
fn a_bare_pod_is_lost_one_of_a_stateful_set_keeps_its_name_and_an_agent_stays() {
    let manifest = node("a", "4")
        + &node("b", "4")
        + &pod("bare", "1", "", &on("a"))
        + &owned("db-0", "StatefulSet", "a")
        + &owned("agent-x", "DaemonSet", "a")
        + &owned("web-1-abcde", "ReplicaSet", "a");
    let simulator = sandbox(&manifest);
    let answer = ask(&simulator, "drain a");
    let lost: Vec<_> = answer.lost.iter().map(|lost| lost.pod.name.to_string()).collect();
    assert_eq!(lost, ["bare"]);
    let moved: Vec<_> =
        answer.moved.iter().map(|it| (it.pod.name.to_string(), it.after.as_deref())).collect();
    assert_eq!(moved.len(), 2, "{answer:?}");
    assert!(moved.contains(&("db-0".to_owned(), Some("b"))));
    let web = answer.moved.iter().find(|it| it.pod.name.starts_with("web-1-")).unwrap();
    assert_eq!(web.instead_of.as_ref().map(|pod| &*pod.name), Some("web-1-abcde"));
    assert_ne!(&*web.pod.name, "web-1-abcde");
    assert!(answer.with_node.is_empty());
    let answer = ask(&simulator, "remove a");
    assert_eq!(answer.with_node.iter().map(|it| &*it.pod.name).collect::<Vec<_>>(), ["agent-x"]);
    assert_eq!(answer.totals[1].measures.nodes, 1);
}

#[test]
fn what_no_longer_fits_is_told_with_the_reason_and_the_budget_that_stood_before_it() {
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: \
                  {minAvailable: 2, selector: {matchLabels: {app: web}}}}\n---\n";
    let web = |name: &str, node: &str| {
        owned(name, "ReplicaSet", node).replace("metadata: {", "metadata: {labels: {app: web}, ")
    };
    let manifest = node("a", "2")
        + &node("b", "1")
        + budget
        + &web("web-1-x", "a")
        + &web("web-1-y", "a")
        + &web("web-1-z", "b");
    // One of three may go, and fits nowhere; so the other one stays.
    let answer = ask(&sandbox(&manifest), "drain a");
    assert_eq!(answer.stuck.len(), 1);
    assert_eq!(
        answer.stuck[0].message.split(". ").next(),
        Some("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable")
    );
    let [held] = answer.held.as_slice() else { unreachable!("{:?}", answer.held) };
    assert_eq!((&*held.pod.name, &*held.node), ("web-1-y", "a"));
    assert_eq!(held.cause, "The disruption budget web needs 2 healthy pods and has 2 currently");
    assert!(ask(&sandbox(&manifest), "drain b").held.is_empty());
}

/// Evictions go on as the pods that came back have nodes: never are fewer healthy than the budget needs.
#[test]
fn a_drain_goes_on_as_far_as_the_budget_allows_at_a_time() {
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: \
                  {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}\n---\n";
    let web =
        |name: &str| owned(name, "ReplicaSet", "a").replace("metadata: {", "metadata: {labels: {app: web}, ");
    let manifest =
        node("a", "4") + &node("b", "4") + budget + &web("web-1-x") + &web("web-1-y") + &web("web-1-z");
    let answer = ask(&sandbox(&manifest), "drain a");
    assert_eq!((answer.moved.len(), answer.held.len(), answer.stuck.len()), (3, 0, 0), "{answer:?}");
    let mut simulator = sandbox(&manifest);
    let said = simulator.edit(&edits("drain a")[0]).unwrap();
    assert_eq!(said, "node/a cordoned: 1 pods come back elsewhere, 2 wait for disruption budgets");
    let healthy = |simulator: &Simulator| {
        let pods = simulator.api().objects().pods.values();
        pods.filter(|pod| pod.is_assigned() && !pod.is_terminating()).count()
    };
    run_watched(&mut simulator, Duration::ZERO, &mut |simulator, _| {
        assert!(healthy(simulator) >= 2);
        true
    });
    assert!(simulator.api().objects().pods.values().all(|pod| &*pod.spec.node_name == "b"));
}

#[test]
fn a_budget_with_an_empty_selector_is_for_all_pods_of_its_namespace() {
    let budget = |selector: &str| {
        format!(
            "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: all, namespace: default}}, spec: \
             {{maxUnavailable: 0{selector}}}}}\n---\n"
        )
    };
    let cluster = node("a", "2") + &node("b", "2") + &owned("web-1-x", "ReplicaSet", "a");
    let answer = ask(&sandbox(&(cluster.clone() + &budget(", selector: {}"))), "drain a");
    assert_eq!(answer.held.iter().map(|it| &*it.pod.name).collect::<Vec<_>>(), ["web-1-x"]);
    assert!(ask(&sandbox(&(cluster + &budget(""))), "drain a").held.is_empty());
}

#[test]
fn nodes_are_added_and_workloads_scaled() {
    let manifest = node("a", "2") + &owned("web-1-x", "ReplicaSet", "a") + &pod("big", "2", "", "");
    let simulator = sandbox(&manifest);
    let answer = ask(&simulator, "add 2 like a");
    assert_eq!(answer.freed.iter().map(|it| &*it.pod.name).collect::<Vec<_>>(), ["big"]);
    assert_eq!(answer.totals[1].measures.nodes, 3);
    let answer = ask(&simulator, "scale replicaset/owner 3");
    assert_eq!((answer.added.len(), answer.stuck.len()), (1, 1), "{answer:?}");
    let answer = ask(&simulator, "scale replicaset/owner 0");
    assert_eq!(answer.freed.len(), 1, "the room of the pod that goes is taken");
    let error = what_if(&simulator, &edits("drain a drain lost"), &Progress::default()).unwrap_err();
    assert_eq!(error.to_string(), "drain lost: nodes \"lost\" not found");
}

#[test]
fn a_run_ends_when_nobody_waits() {
    let progress = Progress::default();
    progress.cancel();
    let error = run_out(&mut generated(1), &[], Duration::ZERO, &progress).unwrap_err();
    assert_eq!(error, RunError::Cancelled);
}

#[test]
fn what_is_asked_on_copies_never_reaches_the_recording_of_the_session() {
    let manifest = node("a", "4") + &node("b", "4") + &owned("web-1-x", "ReplicaSet", "a");
    let manifest = manifest + &pod("new", "1", "", "") + &pod("newer", "1", "", "");
    let profiles = frameworks(None, &Calls::default(), &FeatureGates::default());
    let options = SchedulerOptions::default();
    let tap = Some(RecordingTap::in_memory());
    let mut simulator = Simulator::recorded(profiles, options, api_of(&manifest), START, tap).unwrap();
    simulator.apply(&SimulatorOp::StepCycle, None);
    let n = simulator.n_recorded();
    assert!(n > 0);
    ask(&simulator, "drain a");
    run_to_rest(&mut simulator.clone());
    assert_eq!(simulator.n_recorded(), n);
    run_to_rest(&mut simulator);
    assert!(simulator.n_recorded() > n, "the session itself is recorded all the same");
}

#[test]
fn a_drain_can_be_taken_back_and_done_again() {
    let drain = SimulatorOp::Edit(Edit::Change(Change::Drain("general-a-0001".into())));
    let mut one = generated(2);
    let mut other = one.clone();
    let first = one.apply(&drain, None);
    let second = other.apply(&drain, Some(&first.outside));
    assert_eq!(first.said, second.said);
    assert_eq!(one.scheduler().digest(), other.scheduler().digest());
    assert_eq!(one.api(), other.api());
}

#[test]
fn a_question_in_a_session_changes_nothing_and_can_be_taken_over_as_a_branch() {
    let mut stepper = Stepper::new(generated(3));
    for _ in 0..5 {
        stepper.command(Tell::StepCycle);
    }
    let before = (stepper.moment(), stepper.simulator().scheduler().digest());
    stepper.command(Tell::WhatIf("drain general-a-0001".to_owned()));
    let answer = loop {
        let view = stepper.what_if().expect("a question");
        match &view.answer {
            Answer::Known(answer) => break Arc::clone(answer),
            Answer::Underway(_) => std::thread::yield_now(),
            Answer::Failed(error) => unreachable!("{error}"),
        }
    };
    assert!(!answer.moved.is_empty());
    assert_eq!((stepper.moment(), stepper.simulator().scheduler().digest()), before);
    stepper.command(Tell::TakeWhatIf);
    assert_eq!((stepper.moment().branch, stepper.moment().n_branches), (1, 2));
    assert!(stepper.what_if().is_none());
    // What was told of comes to be.
    // Where a question is asked, pods that are preempted come back as well.
    let mut branch = stepper.simulator().clone().with_returning_victims();
    run_to_rest(&mut branch);
    let pods = &branch.api().objects().pods;
    for moved in &answer.moved {
        let node = pods.get(&moved.pod).map(|pod| pod.spec.node_name.clone());
        assert_eq!(node, moved.after, "{}", moved.pod);
    }
    stepper.command(Tell::ToBranch(0));
    assert_eq!(stepper.simulator().scheduler().digest(), before.1);
    stepper.command(Tell::WhatIf("explode".to_owned()));
    assert!(stepper.notice().is_some_and(|notice| notice.text.starts_with("\"explode\" is no change")));
}
