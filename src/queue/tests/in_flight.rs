//! Events that come while a pod is being scheduled.

use super::*;

#[test]
fn an_event_in_flight_counts_when_the_pod_comes_back() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.add_node(node_with("n", "room", "yes"));
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn an_event_in_flight_that_cannot_help_does_not_count() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.add_node(node("small"));
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "||p");
}

#[test]
fn an_event_before_the_pop_does_not_count() {
    let mut bench = Bench::new();
    bench.add(pod("first"));
    bench.add(pod("second"));
    let first = bench.pop();
    bench.add_node(node_with("n", "room", "yes"));
    let second = bench.pop();
    bench.fail(first.info, &["Room"], &[]);
    bench.fail(second.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "|first|second");
}

#[test]
fn a_pending_plugin_is_heard_after_others_agreed() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.add_node(node_with("n", "room", "yes"));
    bench.label_node(node_with("n", "done", ""));
    bench.fail(popped.info, &["Room"], &["Waits"]);
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn an_error_needs_no_event() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn an_update_in_flight_is_judged_when_the_pod_comes_back() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    let popped = bench.pop();
    let p = bench.update(&p, |pod| {
        pod.metadata.labels.insert("go".into(), "".into());
    });
    assert_eq!(bench.queues(), "||");
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "|p|");
    assert!(bench.info(&p).pod().metadata.labels.contains_key("go"));
}

#[test]
fn activation_in_flight_is_remembered_for_that_pod_alone() {
    let mut bench = Bench::new();
    let a = bench.add(pod("a"));
    bench.add(pod("b"));
    let (first, second) = (bench.pop(), bench.pop());
    bench.queue.activate(env_of!(bench), &[a]);
    bench.fail(first.info, &["Room"], &[]);
    bench.fail(second.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "|a|b");
}

#[test]
fn an_event_that_nobody_listens_to_is_not_kept() {
    let mut bench = Bench::new();
    bench.profiles.clear();
    bench.add(pod("p"));
    bench.pop();
    bench.add_node(node("n"));
    assert!(bench.queue.active.in_flight_events().is_empty());
}

#[test]
fn events_are_kept_for_as_long_as_a_pod_needs_them() {
    let mut bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.add(pod(name));
    }
    let n_kept = |bench: &Bench| bench.queue.active.in_flight_events().len();
    bench.add_node(node("before"));
    assert_eq!(n_kept(&bench), 0);
    let a = bench.pop().info;
    bench.add_node(node("one"));
    let b = bench.pop().info;
    bench.add_node(node("two"));
    let c = bench.pop().info;
    bench.add_node(node("three"));
    assert_eq!(n_kept(&bench), 3);
    bench.queue.done(b.uid());
    assert_eq!(n_kept(&bench), 3);
    bench.queue.done(a.uid());
    assert_eq!(n_kept(&bench), 1);
    bench.queue.done(c.uid());
    bench.queue.done(c.uid());
    assert_eq!(n_kept(&bench), 0);
    assert!(bench.queue.pending_pods(START).in_flight.is_empty());
}

#[test]
fn pods_in_flight_are_shown_in_the_order_in_which_they_were_popped() {
    let mut bench = Bench::new();
    bench.add(pod("z"));
    bench.pop();
    bench.set_time(3);
    bench.add(pod("a"));
    bench.pop();
    let in_flight = bench.queue.pending_pods(bench.world.now).in_flight;
    let shown: Vec<_> = in_flight.iter().map(|pod| (pod.pod.metadata.name.as_ref(), pod.since)).collect();
    assert_eq!(shown, [("z", START), ("a", at(3))]);
}

#[test]
fn a_pod_that_was_deleted_in_flight_stays_in_flight_until_it_is_done() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    let popped = bench.pop();
    bench.delete(&p);
    assert!(bench.queue.is_in_flight(p.uid()));
    bench.queue.done(popped.info.uid());
    assert!(!bench.queue.is_in_flight(p.uid()));
}
