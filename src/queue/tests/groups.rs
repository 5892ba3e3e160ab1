//! Pods of groups: they are given out together, and come back by backoff alone.

use super::*;
use crate::api::objects::PodSchedulingGroup;
use crate::framework::PodNominator;

fn member(name: &str) -> Pod {
    let mut pod = pod(name);
    pod.spec.scheduling_group = Some(PodSchedulingGroup { pod_group_name: "g".into() });
    pod
}

fn bench() -> Bench {
    Bench::with(QueueOptions { has_pod_groups: true, ..QueueOptions::default() })
}

impl Bench {
    fn pop_specific(&mut self, pod: &Arc<Pod>) -> Option<QueuedPodInfo> {
        self.queue.pop_specific_pod(env_of!(self), pod)
    }
}

#[test]
fn a_member_is_taken_out_wherever_it_is() {
    let mut bench = bench();
    let rejected = bench.add_rejected(member("a"), "Room");
    assert_eq!(bench.queues(), "|a|");
    let active = bench.add(member("b"));
    for pod in [&rejected, &active] {
        let info = bench.pop_specific(pod).unwrap();
        assert_eq!(info.pod().metadata.name, pod.metadata.name);
        assert!(bench.queue.is_in_flight(pod.uid()));
    }
    assert_eq!(bench.queues(), "||");
    assert!(bench.pop_specific(&active).is_none(), "it is in flight");
}

#[test]
fn the_attempt_of_a_member_that_came_along_is_counted() {
    let mut bench = bench();
    let pod = bench.add(member("a"));
    assert_eq!(bench.pop_specific(&pod).unwrap().attempts, 1);
}

#[test]
fn a_member_that_is_held_stays_where_it_is() {
    let mut bench = bench();
    let mut held = gated("a");
    held.spec.scheduling_group = member("a").spec.scheduling_group;
    let held = bench.add(held);
    assert!(bench.pop_specific(&held).is_none());
    assert_eq!(bench.queues(), "||a");
}

#[test]
fn no_event_is_needed_for_a_member_to_come_back() {
    let mut bench = bench();
    bench.add_rejected(member("a"), "Room");
    bench.add_rejected(pod("single"), "Room");
    assert_eq!(bench.queues(), "|a|single");
}

#[test]
fn nominated_members_in_flight_are_known_by_name_alone() {
    let mut bench = bench();
    let mut nominated = with_priority("a", 7);
    nominated.status.nominated_node_name = "n".into();
    let nominated = bench.add(nominated);
    bench.nominator.know_by_name([nominated.uid().clone()].into_iter());
    let seen = Arc::clone(&bench.nominator.nominated_pods_for_node("n")[0]);
    assert_eq!((seen.pod.key(), seen.pod.priority()), (nominated.key(), 0));
    bench.nominator.know_again();
    bench.update(&nominated, |pod| pod.metadata.generation = 2);
    assert_eq!(bench.nominator.nominated_pods_for_node("n")[0].pod.priority(), 7);
}
