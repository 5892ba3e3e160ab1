//! What DefaultPreemption does, case by case. The values are kube-scheduler's own answers for this cluster.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use super::*;
use crate::api::{NamespacedName, Object, Str};
use crate::config::{LoadOptions, SchedulerConfig};
use crate::framework::preemption::{Criterion, PendingVictim};
use crate::framework::testing::TestWorld;
use crate::framework::{Framework, NodeToStatus};
use crate::plugins::{
    fixtures::{hint, pod, pod_info, pod_object, world},
    registry::in_tree_registry,
};

const NODES: [&str; 3] = [
    "{metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}",
    "{metadata: {name: b}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}",
    "{metadata: {name: c}, status: {allocatable: {cpu: 1, memory: 4Gi, pods: 10}}}",
];

fn placed(name: &str, node: &str, priority: i32, cpu: i32, labels: &str) -> String {
    format!(
        "{{metadata: {{namespace: default, name: {name}, labels: {{{labels}}}}}, spec: {{nodeName: {node}, priority: \
         {priority}, containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}, status: {{startTime: \
         '2025-12-01T00:00:00Z'}}}}"
    )
}

pub(super) fn pending(priority: i32, cpu: i32, more: &str) -> String {
    format!(
        "{{metadata: {{namespace: default, name: new}}, spec: {{priority: {priority}{more}, containers: \
         [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}"
    )
}

/// Node a has a1 (protected by a budget that allows nothing) and a2 with 2 cores each, node b has b1 with 4.
pub(super) fn cluster() -> TestWorld {
    let pods = [
        placed("a1", "a", 100, 2, "app: db"),
        placed("a2", "a", 200, 2, "app: web"),
        placed("b1", "b", 500, 4, ""),
    ];
    let mut world = world(&NODES, &pods.each_ref().map(String::as_str));
    let budget = "{metadata: {namespace: default, name: db}, spec: {selector: {matchLabels: {app: db}}}, status: \
                  {disruptionsAllowed: 0}}";
    world.objects.insert(Object::PodDisruptionBudget(Arc::new(serde_saphyr::from_str(budget).unwrap())));
    world.framework = default_framework();
    world
}

fn default_framework() -> Framework {
    let (registry, gates) = (in_tree_registry(), FeatureGates::default());
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = SchedulerConfig::with_defaults(options);
    Framework::new(&config.profiles[0], &registry, &gates).unwrap()
}

/// Filters the pod on every node and runs PostFilter.
pub(super) fn post_filter(world: &mut TestWorld, pod_yaml: &str) -> (Option<PostFilterResult>, Status) {
    let pod = pod_info(pod_yaml);
    world.objects.insert(Object::Pod(Arc::clone(&pod.pod)));
    let handle = world.handle();
    let mut state = CycleState::new();
    let outcome = world.framework.run_pre_filter_plugins(&handle, &mut state, &pod);
    assert!(outcome.status.is_success());
    let mut statuses = NodeToStatus::new();
    for node in world.snapshot.list() {
        let status = world.framework.run_filter_plugins(&handle, &state, &pod, node);
        if !status.is_success() {
            statuses.set(node.name().clone(), status);
        }
    }
    let (result, status, _) = world.framework.run_post_filter_plugins(&handle, &mut state, &pod, &statuses);
    (result, status)
}

/// The nominated node, the victims that are to be evicted, and the rule that chose.
fn preempted(world: &mut TestWorld, pod_yaml: &str) -> (String, Vec<String>, Criterion) {
    let (result, status) = post_filter(world, pod_yaml);
    assert!(status.is_success(), "{status:?}");
    let result = result.unwrap();
    let evidence = result.evidence.unwrap();
    let requests = world.requests.borrow();
    let [HandleRequest::Preempt { candidate, plugin, .. }] = requests.as_slice() else {
        unreachable!("{requests:?}")
    };
    assert_eq!(plugin.as_ref(), "DefaultPreemption");
    assert_eq!(evidence.selected.as_ref(), Some(&candidate.node_name));
    assert_eq!(result.nominating_info, NominatingInfo::Override(candidate.node_name.clone()));
    let victims = candidate.victims.pods.iter().map(|victim| victim.pod.metadata.name.to_string());
    (candidate.node_name.to_string(), victims.collect(), evidence.criterion.unwrap())
}

#[test]
fn as_few_as_will_do_go_and_protected_pods_are_reprieved_first() {
    // One of a1 and a2 would have to go. a2 is the more important one, but a1 is protected.
    assert_eq!(
        preempted(&mut cluster(), &pending(1000, 2, "")),
        ("a".to_owned(), vec!["a2".to_owned()], Criterion::MinHighestPriority)
    );
    // Both would have to go, which violates the budget; so the more important b1 goes.
    assert_eq!(
        preempted(&mut cluster(), &pending(1000, 3, "")),
        ("b".to_owned(), vec!["b1".to_owned()], Criterion::MinPdbViolations)
    );
}

#[test]
fn victims_stand_in_the_order_of_their_importance() {
    let mut world = cluster();
    let (result, _) = post_filter(&mut world, &pending(1000, 3, ""));
    let evidence = result.unwrap().evidence.unwrap();
    let on_a = evidence.candidates.iter().find(|candidate| candidate.node_name.as_ref() == "a").unwrap();
    let names: Vec<&str> = on_a.victims.pods.iter().map(|victim| victim.pod.metadata.name.as_ref()).collect();
    assert_eq!(names, ["a2", "a1"]);
    assert_eq!(on_a.victims.num_pdb_violations, 1);
}

#[test]
fn every_pod_of_lower_priority_is_tried_the_protected_ones_first_and_it_is_known_what_refused() {
    let mut world = cluster();
    let (result, _) = post_filter(&mut world, &pending(1000, 2, ""));
    let evidence = result.unwrap().evidence.unwrap();
    let on_a = evidence.candidates.iter().find(|candidate| candidate.node_name.as_ref() == "a").unwrap();
    let tried: Vec<(&str, bool, Option<String>)> = on_a
        .victims
        .tried
        .iter()
        .map(|tried| {
            let refusal = tried.refusal.as_ref().map(Status::message);
            (tried.pod.pod.metadata.name.as_ref(), tried.violates_budget, refusal)
        })
        .collect();
    assert_eq!(tried, [("a1", true, None), ("a2", false, Some("Insufficient cpu".to_owned()))]);
}

#[test]
fn where_it_does_not_help_the_text_says_so_of_every_node() {
    let text = |priority, cpu, more: &str| {
        let mut world = cluster();
        let (result, status) = post_filter(&mut world, &pending(priority, cpu, more));
        assert_eq!(status.code(), Code::Unschedulable);
        assert!(world.requests.borrow().is_empty());
        (status.message(), result.map(|result| result.nominating_info))
    };
    let cleared = Some(NominatingInfo::clear());
    assert_eq!(
        text(150, 4, ""),
        (
            "no new claims to deallocate, preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming \
             pod, 1 Preemption is not helpful for scheduling."
                .to_owned(),
            cleared.clone()
        )
    );
    assert_eq!(
        text(10, 2, ""),
        (
            "no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption \
             victims found for incoming pod."
                .to_owned(),
            cleared.clone()
        )
    );
    assert_eq!(
        text(1000, 5, ""),
        (
            "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.".to_owned(),
            cleared
        )
    );
    // A pod that may not preempt keeps its nomination as it is.
    assert_eq!(
        text(1000, 2, ", preemptionPolicy: Never"),
        (
            "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.".to_owned(),
            None
        )
    );
}

#[test]
fn a_preemptor_waits_for_the_victims_on_its_node() {
    let nominated = pending(1000, 2, "").replace("}}]}}", "}}]}, status: {nominatedNodeName: a}}");
    let going = |condition: &str| {
        placed("a3", "a", 5, 0, "").replace(
            "status: {",
            &format!("status: {{conditions: [{{type: DisruptionTarget, status: 'True', reason: {condition}}}], "),
        )
        .replace("name: a3,", "name: a3, deletionTimestamp: '2026-01-01T00:00:00Z',")
    };
    let with = |victim: &str| {
        let mut world = cluster();
        let mut infos: Vec<_> = world.snapshot.list().iter().map(|node| node.as_ref().clone()).collect();
        infos[0].add_pod(Arc::new(pod_info(victim)));
        world.snapshot = crate::framework::Snapshot::new(infos.into_iter().map(Arc::new).collect());
        post_filter(&mut world, &nominated).1
    };
    assert_eq!(
        with(&going("PreemptionByScheduler")).message(),
        "no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."
    );
    // Somebody else deletes it: no reason to wait.
    assert!(with(&going("DeletionByTaintManager")).is_success());
}

#[test]
fn a_preemptor_stays_out_of_the_queue_until_its_last_victim_is_going() {
    let plugin = DefaultPreemption::new(DefaultPreemptionArgs::default(), &FeatureGates::default());
    let preemptor = pod("{metadata: {namespace: default, name: new}}");
    let mut world = cluster();
    let ask = |world: &TestWorld| plugin.pre_enqueue(&world.handle(), &preemptor);
    let held = Status::unresolvable("waiting for the preemption for this pod to be finished");
    assert_eq!(ask(&world), Status::SUCCESS);
    world.preemption.preempting.insert(Str::from("new"));
    assert_eq!(ask(&world), held);
    world.preemption.last_victims_pending_preemption.insert(
        Str::from("new"),
        PendingVictim { namespace: Str::from("default"), name: Str::from("a1"), uid: Str::from("a1") },
    );
    assert_eq!(ask(&world), held);
    let going = placed("a1", "a", 100, 2, "")
        .replace("name: a1,", "name: a1, deletionTimestamp: '2026-01-01T00:00:00Z',");
    world.objects.insert(pod_object(&going));
    assert_eq!(ask(&world), Status::SUCCESS);
    world.objects.pods.remove(&NamespacedName::new("default", "a1"));
    assert_eq!(ask(&world), Status::SUCCESS);

    // Without the gate nobody waits.
    let gates = FeatureGates::default().with(Gate::SchedulerAsyncPreemption, false).unwrap();
    let plugin = DefaultPreemption::new(DefaultPreemptionArgs::default(), &gates);
    world.preemption.last_victims_pending_preemption.clear();
    assert_eq!(plugin.pre_enqueue(&world.handle(), &preemptor), Status::SUCCESS);
    assert!(plugin.events_to_register().is_empty());
}

#[test]
fn the_deletion_of_a_pod_is_heard_and_left_to_other_plugins_to_judge() {
    let plugin = DefaultPreemption::new(DefaultPreemptionArgs::default(), &FeatureGates::default());
    let deleted = pod_object(&placed("a1", "a", 1, 1, ""));
    assert_eq!(hint(&plugin, 0, &pod("{}"), Some(&deleted), None), Ok(QueueingHint::QueueSkip));
}
