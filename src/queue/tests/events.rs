//! Which events move which pods.

use super::*;

#[test]
fn a_hint_decides_for_the_plugin_that_turned_the_pod_down() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node("small"));
    assert_eq!(bench.queues(), "||p");
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn plugins_that_did_not_turn_the_pod_down_are_not_asked() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Waits");
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "||p");
}

#[test]
fn a_hint_that_fails_counts_as_queue() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "broken", ""));
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn an_event_without_a_hint_function_is_always_worth_a_retry() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    bench.event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&pod("other").into()), None);
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn a_plugin_that_wants_new_nodes_hears_of_taints_as_well() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    let event = ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_TAINT);
    bench.event(event, Some(&node("n").into()), Some(&node("n").into()));
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn a_plugin_that_says_nothing_hears_everything_but_what_is_not_unrolled() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Silent");
    let slices = ClusterEvent::new(EventResource::ResourceSlice, ActionType::ADD);
    bench.event(slices, None, None);
    assert_eq!(bench.queues(), "||p");
    bench.event(ClusterEvent::new(EventResource::StorageClass, ActionType::ADD), None, None);
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn queue_from_a_pending_plugin_skips_the_backoff() {
    let mut bench = Bench::new();
    bench.add(pod("p"));
    let popped = bench.pop();
    bench.fail(popped.info, &["Room"], &["Waits"]);
    bench.label_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "|p|");

    let popped = bench.pop();
    bench.fail(popped.info, &["Room"], &["Waits"]);
    let mut both = node_with("n", "room", "yes");
    both.metadata.labels.insert("done".into(), "".into());
    bench.label_node(both);
    assert_eq!(bench.queues(), "p||");
}

#[test]
fn a_pod_that_fails_the_pre_check_is_not_looked_at() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("a"), "Room");
    bench.add_rejected(pod("b"), "Room");
    let new = Object::from(node_with("n", "room", "yes"));
    let _none = bench.queue.move_all_to_active_or_backoff_queue(
        env_of!(bench),
        ClusterEvent::NODE_ADD,
        None,
        Some(&new),
        Some(&|pod| pod.metadata.name.as_ref() == "b"),
    );
    assert_eq!(bench.queues(), "|b|a");
}

#[test]
fn a_pod_of_a_profile_that_is_not_there_is_retried() {
    let mut bench = Bench::new();
    let mut foreign = pod("p");
    foreign.spec.scheduler_name = "other".into();
    bench.add_rejected(foreign, "Room");
    bench.add_node(node("small"));
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn each_profile_judges_for_its_own_pods() {
    let mut bench = Bench::new();
    bench.profiles.insert("silent".into(), QueueProfile::default());
    let mut other = pod("other");
    other.spec.scheduler_name = "silent".into();
    bench.add_rejected(other, "Room");
    bench.add_rejected(pod("p"), "Room");
    bench.add_node(node_with("n", "room", "yes"));
    assert_eq!(bench.queues(), "|p|other");
}

#[test]
fn what_changed_of_the_pod_itself_is_judged_change_by_change() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Room");
    let p = bench.update(&p, |pod| {
        pod.metadata.labels.insert("other".into(), "".into());
    });
    assert_eq!(bench.queues(), "||p");
    let p = bench.update(&p, |pod| pod.status.phase = "Pending".into());
    assert_eq!(bench.queues(), "||p");
    bench.update(&p, |pod| {
        pod.metadata.labels.insert("go".into(), "".into());
        pod.spec.tolerations.push(crate::api::objects::Toleration::default());
    });
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn an_update_of_another_pod_moves_nothing() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Room");
    let q = bench.add_rejected(pod("q"), "Room");
    bench.update(&q, |pod| {
        pod.metadata.labels.insert("go".into(), "".into());
    });
    assert_eq!(bench.queues(), "|q|p");
}

#[test]
fn activate_moves_past_the_backoff() {
    let mut bench = Bench::new();
    let rejected = bench.add_rejected(pod("rejected"), "Room");
    let failed = bench.add(pod("failed"));
    let popped = bench.pop();
    bench.fail(popped.info, &[], &[]);
    let unknown = Arc::new(pod("unknown"));
    bench.queue.activate(env_of!(bench), &[rejected, failed, unknown]);
    assert_eq!(bench.queues(), "failed rejected||");
}

#[test]
fn without_popping_from_backoff_q_a_moved_pod_stays_in_one_place() {
    let mut bench = Bench::with(QueueOptions { pop_from_backoff_q: false, ..QueueOptions::default() });
    let p = bench.add_rejected(pod("p"), "Room");
    bench.update(&p, |pod| {
        pod.metadata.labels.insert("go".into(), "".into());
        pod.spec.tolerations.push(crate::api::objects::Toleration::default());
    });
    assert_eq!(bench.queues(), "|p|");
}

#[test]
fn an_assigned_pod_that_changes_is_an_event_for_each_change() {
    let mut bench = Bench::new();
    bench.add_rejected(pod("p"), "Silent");
    let old = Arc::new(pod("assigned"));
    let mut new = labelled(pod("assigned"), "l", "v");
    new.spec.node_name = "n".into();
    bench.queue.assigned_pod_updated(env_of!(bench), &old, &Arc::new(new));
    assert_eq!(bench.queues(), "|p|");
}
