//! A pod's past for people: what became of the events since its last attempt, what brought the attempts about and what
//! differed between them, and what is waited for and assumed on the way to a node.

use std::sync::Arc;

use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::explain::{self, EventLine};
use schedscope::queue::QueueMove;
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::pod_log::PodLog;
use schedscope::scheduler::trace::Phase;
use schedscope::scheduler::view::View;

use crate::support::test_plugins::Calls;
use crate::support::world::{apply, build, drain, node, node_of, pod, sandbox};

fn view(simulator: &Simulator) -> View {
    simulator.scheduler().view()
}

fn log(simulator: &Simulator, name: &str) -> Arc<PodLog> {
    let key = NamespacedName::new("default", name);
    Arc::clone(view(simulator).pod_logs.get(&key).expect("a log of the pod"))
}

fn since(simulator: &Simulator, name: &str) -> Vec<EventLine> {
    explain::since_last_attempt(&log(simulator, name))
}

fn last(simulator: &Simulator, name: &str) -> EventLine {
    since(simulator, name).pop().expect("an event")
}

/// What each plugin answered, as `plugin answer: reason`.
fn answers(line: &EventLine) -> Vec<String> {
    line.answers.iter().map(|(plugin, answer, reason)| format!("{plugin} {answer}: {reason}")).collect()
}

fn delete(simulator: &mut Simulator, name: &str) {
    let key = NamespacedName::new("default", name);
    simulator.edit(&Edit::DeletePod(key)).expect("a deletion");
}

fn placed(name: &str, cpu: &str, node: &str) -> String {
    pod(name, cpu, "", &format!(", nodeName: {node}, terminationGracePeriodSeconds: 0"))
}

#[test]
fn a_rejected_pod_tells_why_each_event_left_it_where_it_was_and_which_one_woke_it() {
    let manifest = node("a", "1") + &placed("filler", "1", "a") + &pod("p", "1", "", "");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    let story = explain::pod_story(&view(&simulator), &NamespacedName::new("default", "p")).unwrap();
    assert!(story.next.starts_with("What would wake it: a pod that leaves a node"), "{}", story.next);
    assert!(story.next.contains("the flush in"), "{}", story.next);
    assert_eq!(last(&simulator, "p").text, "back to unschedulablePods after the attempt");

    // A node that would be too small even when it is empty.
    apply(&mut simulator, &node("small", "500m"));
    let line = last(&simulator, "p");
    assert_eq!((line.text.as_str(), line.has_moved), ("NodeAdd small: stayed", false));
    assert_eq!(answers(&line), ["NodeResourcesFit Skip: even empty the node is too small"]);
    // Another one of its kind is told together with it.
    apply(&mut simulator, &node("smaller", "400m"));
    assert_eq!(last(&simulator, "p").text, "NodeAdd 2 times, last smaller: stayed");

    delete(&mut simulator, "filler");
    let line = last(&simulator, "p");
    assert_eq!(
        (line.text.as_str(), line.has_moved),
        ("AssignedPodDelete default/filler: moved to backoffQ", true)
    );
    assert_eq!(
        answers(&line),
        ["NodeResourcesFit Queue: a pod with a place is gone, and what it had is free"]
    );

    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "p"), "a");
    let log = log(&simulator, "p");
    let numbers: Vec<u64> = log.attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2]);
    let (attempt, before) = explain::attempt_of(&log, 2).expect("the second attempt");
    let story = explain::attempt_story(attempt, before);
    assert_eq!(
        story.why,
        "AssignedPodDelete default/filler (Queue by NodeResourcesFit); popped from backoffQ, since activeQ was empty"
    );
    assert_eq!(
        story.differences,
        [
            "1 node: a Insufficient cpu (NodeResourcesFit) -> fits",
            "new: small Insufficient cpu (NodeResourcesFit), smaller Insufficient cpu (NodeResourcesFit)",
        ]
    );
}

#[test]
fn the_plugins_that_turned_it_down_say_what_they_listen_to() {
    let mut simulator = sandbox(&(node("a", "1") + &pod("p", "2", "", "")));
    drain(&mut simulator);
    let view = view(&simulator);
    let wakers = explain::wakers(&view, &view.unschedulable_pods[0]);
    let of_fit = &wakers[0];
    assert_eq!(&*of_fit.plugin, "NodeResourcesFit");
    // UpdateNodeTaint comes with every plugin that listens to new nodes.
    let expected = ["Node Add|UpdateNodeAllocatable|UpdateNodeTaint", "Pod Delete|UpdatePodScaleDown"];
    for events in expected {
        assert!(of_fit.events.contains(&events.to_owned()), "{:?}", of_fit.events);
    }
}

#[test]
fn an_event_during_the_attempt_is_told_as_such() {
    let manifest = node("a", "1") + &placed("filler", "1", "a") + &pod("p", "1", "", "");
    let mut simulator = sandbox(&manifest);
    while simulator.scheduler().next_phase_of_attempt() != Some(Phase::PostFilter) {
        assert!(simulator.step_phase());
    }
    delete(&mut simulator, "filler");
    while simulator.scheduler().is_in_cycle() {
        assert!(simulator.step_phase());
    }
    let line = last(&simulator, "p");
    assert_eq!(line.text, "AssignedPodDelete default/filler during the attempt: moved to backoffQ");
    drain(&mut simulator);
    let log = log(&simulator, "p");
    let wake = log.attempts.back().and_then(|attempt| attempt.woken_by.clone()).expect("a cause");
    assert_eq!(wake.object, Some(NamespacedName::new("default", "filler")));
}

#[test]
fn without_tracing_nothing_is_kept_and_a_deleted_pod_is_forgotten() {
    let manifest = node("a", "1") + &pod("p", "2", "", "");
    let blind = SchedulerOptions { is_tracing: false, ..SchedulerOptions::default() };
    let mut simulator = build(&manifest, None, &Calls::default(), blind);
    drain(&mut simulator);
    assert!(view(&simulator).pod_logs.is_empty());
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    assert_eq!(view(&simulator).pod_logs.len(), 1);
    delete(&mut simulator, "p");
    assert!(view(&simulator).pod_logs.is_empty());
}

#[test]
fn the_past_of_a_pod_is_bounded_and_counts_what_it_lets_go() {
    let mut simulator = sandbox(&(node("a", "1") + &pod("p", "2", "", "")));
    for _ in 0..20 {
        drain(&mut simulator);
        // A change of taints wakes whoever listens to new nodes.
        for taint in ["t=x:PreferNoSchedule", "t:PreferNoSchedule-"] {
            let edit = Edit::Taint { node: "a".into(), taint: taint.to_owned() };
            simulator.edit(&edit).expect("an edit");
        }
    }
    drain(&mut simulator);
    let log = log(&simulator, "p");
    assert_eq!((log.attempts.len(), log.n_older_attempts), (12, 9));
    // Verdicts that stay the same are kept once.
    let verdicts: Vec<_> = log.attempts.iter().filter_map(|attempt| attempt.verdicts.as_ref()).collect();
    assert!(verdicts.windows(2).all(|pair| Arc::ptr_eq(&pair[0].nodes, &pair[1].nodes)));
    // The log of the queue keeps the moves before the last attempt no longer.
    assert!(log.moves.iter().all(|moved| matches!(
        &moved.entry,
        QueueMove::Entered { pod, .. } | QueueMove::Judged { pod, .. } if *pod.name == *"p"
    )));
}

const CLASS: &str = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: \
                     csi.example.com, volumeBindingMode: WaitForFirstConsumer}\n---\n";

fn claim(name: &str, size: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}}}, spec: {{storageClassName: slow, \
         accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}}}\n---\n"
    )
}

/// A pod in PreBind that waits for two volumes: nobody binds or makes any here.
fn waiting_for_volumes(until: Phase) -> Simulator {
    let volume = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {storageClassName: slow, \
                  accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}, status: {phase: Available}}\n---\n";
    let volumes = ", volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, \
                   persistentVolumeClaim: {claimName: logs}}]";
    let manifest =
        [node("a", "4"), CLASS.to_owned(), volume.to_owned(), claim("data", "9Gi"), claim("logs", "1Gi")];
    let mut simulator = sandbox(&(manifest.concat() + &pod("p", "1", "", volumes)));
    if until == Phase::Reserve {
        while simulator.scheduler().next_phase_of_attempt() != Some(Phase::Permit) {
            assert!(simulator.step_phase());
        }
    } else {
        drain(&mut simulator);
    }
    simulator
}

#[test]
fn a_binding_tells_which_volumes_it_waits_for_and_until_when() {
    let mut simulator = waiting_for_volumes(Phase::PreBind);
    let second = Duration::from_secs(1);
    let now = simulator.now();
    simulator.advance_to(now.saturating_add(second), |_| true);
    let view = view(&simulator);
    let row = &view.binding[0];
    assert_eq!(row.phase, Phase::PreBind);
    let wait = &row.waits[0];
    assert_eq!(wait.plugin, "VolumeBinding");
    assert_eq!(
        wait.what,
        ["claim default/logs to be bound to disk", "a volume to be made for claim default/data"]
    );
    // bindTimeoutSeconds is 600 by default, and the bindings are looked at once a second.
    let left = wait.until.map(|until| until.saturating_since(view.now));
    assert_eq!(left, Some(Duration::from_secs(599)));
    assert_eq!(wait.next_look.map(|at| at.saturating_since(view.now)), Some(second));
}

#[test]
fn what_is_assumed_of_volumes_shows_until_a_watch_reports_it() {
    let simulator = waiting_for_volumes(Phase::Reserve);
    let assumed: Vec<String> = view(&simulator)
        .assumptions
        .iter()
        .map(|assumption| format!("{} {} {}", assumption.kind, assumption.object, assumption.what))
        .collect();
    assert_eq!(
        assumed,
        [
            "PersistentVolume disk given to claim default/logs",
            "PersistentVolumeClaim default/data gets a new volume on a",
        ]
    );
    assert!(view(&waiting_for_volumes(Phase::PreBind)).assumptions.is_empty(), "all is written and reported");
}
