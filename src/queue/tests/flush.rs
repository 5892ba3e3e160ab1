//! Pods that have been unschedulable for too long.

use super::*;

#[test]
fn the_flush_takes_what_waited_for_more_than_five_minutes() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Room");
    // At 300 s it has waited for five minutes, but not for more.
    assert_eq!(bench.queue.next_timeout(START), Some(at(330)));
    assert_eq!(bench.queue.pending_pods(START).unschedulable[0].flush_at, Some(at(330)));
    for secs in [300, 301, 329] {
        bench.set_time(secs);
        bench.flush();
        assert_eq!(bench.queues(), "||p");
    }
    bench.set_time(330);
    bench.flush();
    assert_eq!(bench.queues(), "p||");
    assert!(bench.info(&p).was_flushed_from_unschedulable);
    let popped = bench.pop();
    bench.fail(popped.info, &["Room"], &[]);
    assert!(!bench.info(&p).was_flushed_from_unschedulable);
}

#[test]
fn the_flush_runs_every_thirty_seconds_from_the_start() {
    let mut bench = Bench::new();
    bench.queue.set_start(START + Duration::from_secs(7));
    bench.world.now = START + Duration::from_secs(20);
    bench.add_rejected(pod("p"), "Room");
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(337)));
}

#[test]
fn the_age_counts_from_the_last_failure() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Room");
    bench.set_time(100);
    bench.queue.activate(env_of!(bench), &[p]);
    let popped = bench.pop();
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(420)));
}

#[test]
fn a_flush_that_was_missed_is_made_up_for_as_of_its_tick() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.set_time(40);
    bench.add_rejected(pod("q"), "Room");
    bench.set_time(345);
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(345)));
    // At 330 s the second pod had not waited for five minutes.
    bench.flush();
    assert_eq!(bench.queues(), "p||q");
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(360)));
}

#[test]
fn the_flush_is_an_event_for_pods_in_flight() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("old"), "Room");
    bench.set_time(310);
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.set_time(330);
    bench.flush();
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "old|p|");
}

#[test]
fn the_flush_is_an_event_for_pods_in_flight_even_if_all_that_waited_are_gated() {
    let mut bench = Bench::new();
    bench.add(gated("gated"));
    bench.set_time(310);
    bench.add(pod("p"));
    assert_eq!(bench.queue.next_timeout(bench.world.now), None);
    let popped = bench.pop();
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(330)));
    bench.set_time(330);
    bench.flush();
    assert_eq!(bench.queue.next_timeout(bench.world.now), Some(at(360)));
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.queues(), "|p|gated");
}

#[test]
fn other_limits_are_kept() {
    let mut bench = Bench::with(QueueOptions {
        pod_max_in_unschedulable_pods_duration: Duration::from_secs(45),
        ..QueueOptions::default()
    });
    bench.add_rejected(pod("p"), "Room");
    assert_eq!(bench.queue.next_timeout(START), Some(at(60)));
    bench.advance_to(60);
    assert_eq!(bench.queues(), "p||");
}
