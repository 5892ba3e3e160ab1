//! How long a pod waits after a failure.

use super::*;

/// Fails the pod `count` times in the first second and returns the second at which backoffQ lets it go.
fn released_after(count: u32, options: QueueOptions, plugins: &[&str]) -> u64 {
    let mut bench = Bench::with(options);
    bench.add(pod("p"));
    for i in 1..=count {
        let popped = bench.pop();
        bench.fail(popped.info, plugins, &[]);
        if i < count {
            let pod = bench.world.objects.pods.values().next().cloned();
            bench.queue.activate(env_of!(bench), pod.as_slice());
        }
    }
    bench.add_node(node_with("n", "room", "yes"));
    (bench.queue.next_timeout(START).unwrap() - START).as_secs()
}

#[test]
fn backoff_doubles_from_one_second_to_ten_and_ends_at_the_second_tick_after_that() {
    let released: Vec<_> =
        (1..=6).map(|count| released_after(count, QueueOptions::default(), &["Room"])).collect();
    assert_eq!(released, [2, 3, 5, 9, 11, 11]);
}

#[test]
fn errors_back_off_as_long_by_a_count_of_their_own() {
    let released: Vec<_> = (1..=5).map(|count| released_after(count, QueueOptions::default(), &[])).collect();
    assert_eq!(released, [2, 3, 5, 9, 11]);
}

#[test]
fn very_many_failures_do_not_overflow() {
    assert_eq!(released_after(200, QueueOptions::default(), &["Room"]), 11);
    let odd = QueueOptions {
        pod_initial_backoff: Duration::ZERO,
        pod_max_backoff: Duration::from_secs(3),
        ..QueueOptions::default()
    };
    assert_eq!(released_after(200, odd, &[]), 1);
}

#[test]
fn an_initial_backoff_above_the_maximum_is_cut() {
    let options = QueueOptions {
        pod_initial_backoff: Duration::from_secs(20),
        pod_max_backoff: Duration::from_secs(4),
        ..QueueOptions::default()
    };
    assert_eq!(released_after(1, options, &[]), 5);
}

#[test]
fn a_maximum_of_zero_switches_backoff_off() {
    let mut bench = Bench::with(QueueOptions { pod_max_backoff: Duration::ZERO, ..QueueOptions::default() });
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn expiry_is_cut_to_the_second_and_the_pod_still_waits_in_it() {
    let mut bench = Bench::new();
    bench.world.now = START + Duration::from_millis(900);
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    let pod = bench.queue.pending_pods(bench.world.now).backoff.remove(0);
    assert_eq!(pod.info.backoff_expiration, at(1));
    assert_eq!((pod.remaining, pod.duration), (Duration::from_millis(100), Duration::from_secs(1)));

    bench.set_time(1);
    bench.flush();
    assert_eq!(bench.queues(), "|p|");
    assert_eq!(bench.queue.pending_pods(bench.world.now).backoff[0].remaining, Duration::ZERO);
    bench.set_time(2);
    bench.flush();
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn without_popping_from_backoff_q_expiry_is_not_cut() {
    let mut bench = Bench::with(QueueOptions { pop_from_backoff_q: false, ..QueueOptions::default() });
    bench.world.now = START + Duration::from_millis(900);
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(2)));
    // But backoffQ is looked through at whole seconds only.
    bench.world.now = START + Duration::from_millis(1999);
    bench.flush();
    assert_eq!(bench.queues(), "|p|");
    bench.set_time(2);
    bench.flush();
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn a_backoff_that_ended_among_the_unschedulable_pods_is_not_served_again() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.set_time(1);
    bench.add_node(node("small"));
    assert_eq!(bench.queues(), "||p");
    bench.set_time(2);
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn errors_and_rejections_are_counted_apart() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    let counts = |bench: &Bench| {
        let info = bench.info(&p);
        (info.unschedulable_count, info.consecutive_errors_count)
    };
    let retry = |bench: &mut Bench| {
        bench.queue.activate(env_of!(bench), std::slice::from_ref(&p));
        bench.pop().info
    };

    let info = bench.pop().info;
    bench.fail(info, &["Room"], &[]);
    let info = retry(&mut bench);
    bench.fail(info, &[], &["Waits"]);
    assert_eq!(counts(&bench), (2, 0));

    let info = retry(&mut bench);
    bench.fail(info, &[], &[]);
    assert_eq!(counts(&bench), (2, 1));
    // The errors decide while there are any.
    assert_eq!(bench.info(&p).backoff_expiration, at(1));

    let info = retry(&mut bench);
    bench.fail(info, &["Room"], &[]);
    assert_eq!(counts(&bench), (3, 0));
    assert_eq!(bench.info(&p).backoff_expiration, at(4));
}

#[test]
fn within_a_second_pods_are_popped_by_priority() {
    let mut bench = Bench::new();
    for (name, priority) in [("low", 1), ("high", 2)] {
        bench.add_rejected(with_priority(name, priority), "Room");
    }
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "|high low|");
    assert_eq!(bench.pop().info.pod().metadata.name.as_ref(), "high");
}

#[test]
fn both_backoff_queues_are_shown_as_one() {
    let mut bench = Bench::new();
    bench.add_rejected(with_priority("rejected", 1), "Room");
    for name in ["error", "later-error"] {
        bench.add(pod(name));
        let popped = bench.pop();
        bench.fail(popped.info, &[], &[]);
        bench.set_time(1);
    }
    bench.add_node(node_with("n", "room", "yes"));
    let backoff = bench.queue.pending_pods(bench.world.now).backoff;
    let shown: Vec<_> =
        backoff.iter().map(|pod| (pod.info.pod().metadata.name.as_ref(), pod.is_error)).collect();
    assert_eq!(shown, [("rejected", false), ("error", true), ("later-error", true)]);
}

#[test]
fn an_update_leaves_the_pod_in_its_backoff_queue() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    bench.update(&p, |pod| pod.metadata.generation = 7);
    let pods = bench.queue.pending_pods(bench.world.now);
    assert!(pods.backoff[0].is_error);
    assert_eq!(pods.backoff[0].info.pod().metadata.generation, 7);
}
