//! Which pod is next.

use super::*;
use crate::queue::PoppedFrom;

#[test]
fn pods_are_popped_by_priority_and_then_by_age() {
    let mut bench = Bench::new();
    for (secs, name, priority) in [(0, "old", 0), (1, "urgent", 10), (2, "young", 0)] {
        bench.set_time(secs);
        bench.add(with_priority(name, priority));
    }
    assert_eq!(bench.queues(), "urgent old young||");
    let popped: Vec<_> = (0..3).map(|_| bench.pop().info.pod().metadata.name.to_string()).collect();
    assert_eq!(popped, ["urgent", "old", "young"]);
    assert!(!bench.queue.can_pop());
    assert_eq!(bench.queue.pop(bench.world.now), None);
}

#[test]
fn pods_that_are_equal_to_the_plugin_are_popped_by_name() {
    let mut bench = Bench::new();
    for name in ["b", "c", "a"] {
        bench.add(pod(name));
    }
    assert_eq!(bench.queues(), "a b c||");
}

#[test]
fn an_attempt_is_counted_when_the_pod_is_popped() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    assert_eq!(bench.info(&p).attempts, 0);
    let popped = bench.pop();
    assert_eq!((popped.info.attempts, popped.from), (1, PoppedFrom::ActiveQ));
    bench.fail(popped.info, &["Room"], &[]);
    assert_eq!(bench.info(&p).attempts, 1);
    assert_eq!(bench.info(&p).initial_attempt_timestamp, Some(START));
}

#[test]
fn a_popped_pod_still_knows_who_turned_it_down() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Room");
    bench.queue.activate(env_of!(bench), &[p]);
    assert!(bench.pop().info.unschedulable_plugins.contains("Room"));
}

#[test]
fn backoff_q_is_popped_only_when_active_q_is_empty() {
    let mut bench = Bench::new();
    bench.add_rejected(with_priority("failed", 100), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    bench.add(pod("new"));
    assert_eq!(bench.queues(), "new|failed|");
    assert_eq!(bench.pop().info.pod().metadata.name.as_ref(), "new");
    let popped = bench.pop();
    assert_eq!((popped.info.pod().metadata.name.as_ref(), popped.from), ("failed", PoppedFrom::BackoffQ));
}

#[test]
fn backoff_q_is_not_popped_when_that_is_switched_off() {
    let mut bench = Bench::with(QueueOptions { pop_from_backoff_q: false, ..QueueOptions::default() });
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "|p|");
    assert!(!bench.queue.can_pop());
    assert_eq!(bench.queue.pop(bench.world.now), None);
}

#[test]
fn pods_that_ended_with_an_error_are_never_popped_early() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    assert_eq!(bench.queues(), "|p|");
    assert!(!bench.queue.can_pop());
}

#[test]
fn an_update_changes_the_place_of_a_pod_in_active_q() {
    let mut bench = Bench::new();
    bench.add(pod("first"));
    bench.set_time(1);
    let second = bench.add(pod("second"));
    bench.update(&second, |pod| pod.spec.priority = Some(1));
    assert_eq!(bench.queues(), "second first||");
}

#[test]
fn an_update_of_an_unknown_pod_adds_it() {
    let mut bench = Bench::new();
    let p = Arc::new(pod("p"));
    bench.update(&p, |pod| pod.metadata.generation = 2);
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn a_deleted_pod_is_nowhere() {
    let mut bench = Bench::new();
    let rejected = bench.add_rejected(pod("rejected"), "Room");
    let failed = bench.add(pod("failed"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    let new = bench.add(pod("new"));
    assert_eq!(bench.queues(), "new|failed|rejected");
    for pod in [rejected, failed, new] {
        bench.delete(&pod);
        assert!(bench.queue.get(pod.uid()).is_none());
    }
    assert!(bench.queue.is_empty());
}

#[test]
fn a_pod_that_is_in_flight_already_is_not_popped_again() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    bench.pop();
    bench.add(pod("p"));
    bench.set_time(1);
    bench.add(pod("q"));
    assert_eq!(bench.pop().info.pod().metadata.name.as_ref(), "q");
}

#[test]
fn a_pod_is_not_put_back_where_one_of_its_name_is() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    let mut recreated = pod("p");
    recreated.metadata.uid = "another".into();
    bench.add(recreated);
    let error = bench.queue.add_unschedulable_pod_if_not_present(env_of!(bench), popped.info).unwrap_err();
    assert_eq!(error.to_string(), "Pod default/p is already present in the active queue");
    assert!(!bench.queue.is_in_flight(&"pod/default/p".into()));
}

#[test]
fn a_queue_sort_plugin_that_contradicts_itself_loses_no_pod() {
    #[derive(Debug)]
    struct Cyclic;
    impl Plugin for Cyclic {
        fn name(&self) -> &'static str {
            "Cyclic"
        }
        fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
            Some(self)
        }
    }
    impl QueueSortPlugin for Cyclic {
        fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
            (b.pod().priority() - a.pod().priority()).rem_euclid(3) == 1
        }
    }
    let mut bench = Bench::new();
    bench.queue = SchedulingQueue::new(QueueOptions::default(), Arc::new(Cyclic));
    let pods: Vec<_> = (0..30).map(|i| bench.add(with_priority(&format!("p{i}"), i))).collect();
    for pod in pods.iter().step_by(2) {
        bench.delete(pod);
    }
    let mut n_popped = 0;
    while bench.queue.pop(START).is_some() {
        n_popped += 1;
    }
    assert_eq!(n_popped, 15);
}
