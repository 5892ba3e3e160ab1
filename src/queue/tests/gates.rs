//! Pods that a PreEnqueue plugin holds.

use super::*;

#[test]
fn a_gated_pod_waits_among_the_unschedulable_ones() {
    let mut bench = Bench::new();
    let p = bench.add(gated("p"));
    assert_eq!(bench.queues(), "||p");
    let info = bench.info(&p);
    assert_eq!(info.gating_plugin.as_ref(), "Gates");
    assert!(info.unschedulable_plugins.contains("Gates"));
    assert_eq!(info.initial_attempt_timestamp, None);
}

#[test]
fn taking_the_last_gate_away_lets_the_pod_in() {
    let mut bench = Bench::new();
    let mut p = gated("p");
    p.spec.scheduling_gates.push(PodSchedulingGate { name: "second".into() });
    let p = bench.add(p);
    let p = bench.update(&p, |pod| {
        pod.spec.scheduling_gates.pop();
    });
    assert_eq!(bench.queues(), "||p");
    bench.set_time(5);
    let p = bench.update(&p, |pod| pod.spec.scheduling_gates.clear());
    assert_eq!(bench.queues(), "p||");
    let info = bench.info(&p);
    assert!(!info.is_gated());
    assert_eq!((info.timestamp, info.initial_attempt_timestamp), (START, Some(at(5))));
    // It is forgotten only when the next attempt fails.
    assert!(info.unschedulable_plugins.contains("Gates"));
}

#[test]
fn only_what_the_gating_plugin_listens_to_is_looked_at() {
    let mut bench = Bench::new();
    bench.add(gated("p"));
    bench.event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&pod("other").into()), None);
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "||p");
}

#[test]
fn an_event_that_opens_one_gate_finds_the_next_one() {
    let mut bench = Bench::new();
    let p = bench.add(labelled(gated("p"), "needs", "n"));
    let p = bench.update(&p, |pod| pod.spec.scheduling_gates.clear());
    assert_eq!(bench.queues(), "||p");
    assert_eq!(bench.info(&p).gating_plugin.as_ref(), "NeedsNode");
    bench.add_node(node("other"));
    assert_eq!(bench.queues(), "||p");
    bench.add_node(node("n"));
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn a_gated_pod_cannot_be_activated_or_flushed() {
    let mut bench = Bench::new();
    let p = bench.add(gated("p"));
    bench.queue.activate(env_of!(bench), &[p]);
    assert_eq!(bench.queues(), "||p");
    assert_eq!(bench.queue.next_timeout(START), None);
    assert_eq!(bench.queue.pending_pods(START).unschedulable[0].flush_at, None);
    bench.set_time(600);
    bench.flush();
    assert_eq!(bench.queues(), "||p");
}

#[test]
fn a_pod_can_be_held_on_its_way_back() {
    let mut bench = Bench::new();
    bench.add_node(node("n"));
    let p = bench.add(labelled(pod("p"), "needs", "n"));
    let popped = bench.pop();
    bench.world.objects.nodes.clear();
    bench.fail(popped.info, &[], &[]);
    assert_eq!(bench.queues(), "||p");
    assert_eq!(bench.info(&p).gating_plugin.as_ref(), "NeedsNode");
    assert_eq!(bench.info(&p).consecutive_errors_count, 1);
}

#[test]
fn without_popping_from_backoff_q_the_gate_is_at_its_end() {
    let mut bench = Bench::with(QueueOptions { pop_from_backoff_q: false, ..QueueOptions::default() });
    bench.add_node(node("n"));
    bench.add(labelled(pod("p"), "needs", "n"));
    let popped = bench.pop();
    bench.world.objects.nodes.clear();
    bench.fail(popped.info, &[], &[]);
    assert_eq!(bench.queues(), "|p|");
    bench.advance_to(2);
    assert_eq!(bench.queues(), "||p");
}

#[test]
fn a_pod_that_leaves_backoff_q_is_not_held_again() {
    let mut bench = Bench::new();
    bench.add_node(node("n"));
    bench.add(labelled(pod("p"), "needs", "n"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    bench.world.objects.nodes.clear();
    bench.advance_to(2);
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn gating_listens_to_the_plugins_events_of_every_profile() {
    let mut bench = Bench::new();
    bench.profiles.insert("other".into(), profile());
    let p = bench.add(gated("p"));
    let event = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED);
    assert_eq!(bench.info(&p).gating_plugin_events, [event]);
}
