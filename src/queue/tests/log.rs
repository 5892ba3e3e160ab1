//! What the queue tells of its moves.

use super::*;
use crate::queue::{HintResult, MoveLogLevel, QueueMove};

/// The log in the words of kube-scheduler's.
fn told(bench: &mut Bench) -> Vec<String> {
    let moves = bench.queue.take_moves();
    moves
        .into_iter()
        .map(|entry| match entry {
            QueueMove::Entered { pod, queue, event } => format!("{pod} to {queue} by {}", event.label()),
            QueueMove::Judged { pod, event, in_flight, answers, strategy, .. } => {
                let answers: Vec<_> = answers
                    .iter()
                    .map(|answer| match &answer.result {
                        HintResult::Skip => format!("{}=Skip", answer.plugin),
                        HintResult::Queue => format!("{}=Queue", answer.plugin),
                        HintResult::Error(_) => format!("{}=Queue(error)", answer.plugin),
                    })
                    .collect();
                let when = if in_flight { "in flight " } else { "" };
                format!("{when}{} {pod}: {} => {strategy}", event.label(), answers.join(" "))
            }
        })
        .collect()
}

#[test]
fn moves_are_told_once_with_what_caused_them() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node("small"));
    bench.add_node(node_with("n", "room", "yes"));
    bench.advance_to(2);
    assert_eq!(
        told(&mut bench),
        [
            "default/p to Active by UnschedulablePodAdd",
            "default/p to Unschedulable by ScheduleAttemptFailure",
            "NodeAdd default/p: Room=Queue => QueueAfterBackoff",
            "default/p to Backoff by NodeAdd",
            "default/p to Active by BackoffComplete",
        ]
    );
    assert!(told(&mut bench).is_empty());
}

#[test]
fn on_request_every_judgement_is_told() {
    let mut bench = Bench::new();
    bench.queue.set_move_log_level(MoveLogLevel::Judgements);
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.add_node(node_with("n", "broken", ""));
    bench.label_node(node_with("n", "room", "yes"));
    bench.fail(popped.info, &["Room", "Silent"], &[]);
    bench.advance_to(2);
    told(&mut bench);

    let p = bench.add(pod("q"));
    for _ in 0..2 {
        let popped = bench.pop();
        bench.fail(popped.info, &["Room"], &["Waits"]);
    }
    told(&mut bench);
    bench.label_node(node("n"));
    bench.update(&p, |pod| {
        pod.metadata.labels.insert("go".into(), "".into());
        pod.spec.tolerations.push(crate::api::objects::Toleration::default());
    });
    assert_eq!(
        told(&mut bench),
        [
            "NodeUpdateNodeLabel default/p: Room=Skip Waits=Skip => Skip",
            "NodeUpdateNodeLabel default/q: Room=Skip Waits=Skip => Skip",
            "UnschedulablePodUpdatePodLabel default/q: Room=Queue => QueueAfterBackoff",
            "default/q to Backoff by UnschedulablePodUpdatePodLabel",
        ]
    );
}

#[test]
fn on_request_events_in_flight_are_told_beyond_the_one_that_decided() {
    let mut bench = Bench::new();
    bench.queue.set_move_log_level(MoveLogLevel::Judgements);
    bench.add(pod("p"));
    let popped = bench.pop();
    told(&mut bench);
    bench.add_node(node_with("n", "broken", ""));
    bench.label_node(node("n"));
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(
        told(&mut bench),
        [
            "in flight NodeAdd default/p: Room=Queue(error) => QueueAfterBackoff",
            "in flight NodeUpdateNodeLabel default/p: Room=Skip => Skip",
            "default/p to Backoff by ScheduleAttemptFailure",
        ]
    );
}

#[test]
fn a_gate_on_the_way_is_told() {
    let mut bench = Bench::new();
    bench.add_node(node("n"));
    bench.add(labelled(pod("p"), "needs", "n"));
    let popped = bench.pop();
    bench.world.objects.nodes.clear();
    told(&mut bench);
    bench.fail(popped.info, &[], &[]);
    assert_eq!(
        told(&mut bench),
        [
            "default/p to Unschedulable by ScheduleAttemptFailure",
            "default/p to Unschedulable by ScheduleAttemptFailure"
        ]
    );
    bench.event(ClusterEvent::NODE_ADD, None, Some(&node("other").into()));
    assert_eq!(
        told(&mut bench),
        ["NodeAdd default/p: NeedsNode=Queue => QueueAfterBackoff", "default/p to Unschedulable by NodeAdd"]
    );
}

#[test]
fn nothing_is_told_when_that_is_switched_off() {
    let mut bench = Bench::new();
    bench.queue.set_move_log_level(MoveLogLevel::Off);
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    assert!(told(&mut bench).is_empty());
}

#[test]
fn the_log_is_bounded_and_keeps_the_newest() {
    let mut bench = Bench::new();
    for i in 0..20_000 {
        let pod = bench.add(pod(&format!("p{i}")));
        bench.delete(&pod);
    }
    let moves = bench.queue.take_moves();
    assert_eq!(moves.len(), 16 * 1024);
    assert!(matches!(moves.last(), Some(QueueMove::Entered { pod, .. }) if *pod == key("p19999")));
}
