//! The points of the plugin by example; the texts are those of kube-scheduler v1.36.3.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::super::fixtures::{pod_info, world};
use super::*;
use crate::api::manifest::{Source, load};
use crate::api::objects::ResourceClaim;
use crate::api::{NamespacedName, Object, Uid};
use crate::framework::testing::TestWorld;
use crate::framework::{
    Code, CycleState, HandleRequest, NodeToStatus, PodInfo, PreBindProgress, QueueingHint, WriteVerb,
};
use crate::plugins::helper::devices::DeviceId;

fn plugin(gates: &str) -> DynamicResources {
    let gates = FeatureGates::parse(gates).unwrap();
    DynamicResources::new(DynamicResourcesArgs::from_value(None, "", &gates).unwrap(), &gates).unwrap()
}

#[test]
fn gates_that_are_not_followed_are_refused() {
    let refused = |gates: &str| {
        let gates = FeatureGates::parse(gates).unwrap();
        DynamicResources::new(DynamicResourcesArgs::from_value(None, "", &gates).unwrap(), &gates)
            .unwrap_err()
    };
    let rules = "not supported: feature gate DRADeviceTaintRules (turn off with DRADeviceTaintRules=false)";
    assert_eq!(refused("AllBeta=true"), rules);
    assert_eq!(
        refused("AllAlpha=true,AllBeta=true"),
        "not supported: feature gate DRADeviceTaintRules and DRAWorkloadResourceClaims (turn off with \
         DRADeviceTaintRules=false,DRAWorkloadResourceClaims=false)"
    );
}

/// A world of the nodes `one` and `two`, each with a GPU, and these objects.
fn cluster(plugin: &DynamicResources, manifests: &str) -> TestWorld {
    let mut world = world(&["{metadata: {name: one}}", "{metadata: {name: two}}"], &[]);
    plugin.add_states(&mut world.states);
    let slice = |node: &str| {
        format!(
            "{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: {node}}}, spec: {{driver: \
             gpu.example.com, nodeName: {node}, pool: {{name: {node}, generation: 1, resourceSliceCount: 1}}, devices: \
             [{{name: d0}}]}}}}\n---\n"
        )
    };
    let class = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: \
                 {extendedResourceName: example.com/gpu}}\n---\n";
    let text = [class, &slice("one"), &slice("two"), manifests].concat();
    let sources = [Source { name: "test".to_owned(), text }];
    for object in load(&sources).unwrap().objects {
        world.put(object);
    }
    world
}

fn claim(name: &str, status: &str) -> String {
    format!(
        "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: {name}, namespace: default, uid: \
         {name}, resourceVersion: '1'}}, spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, \
         allocationMode: ExactCount, count: 1}}}}]}}}}, status: {{{status}}}}}\n---\n"
    )
}

/// The status of a claim that has the GPU of a node.
fn on(node: &str) -> String {
    format!(
        "allocation: {{devices: {{results: [{{request: r, driver: gpu.example.com, pool: {node}, device: d0}}]}}, \
         nodeSelector: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [{node}]}}]}}]}}}}"
    )
}

fn pod(claims: &[&str]) -> PodInfo {
    let claims: Vec<String> =
        claims.iter().map(|claim| format!("{{name: {claim}, resourceClaimName: {claim}}}")).collect();
    pod_info(&format!(
        "{{metadata: {{name: p, uid: p, namespace: default}}, spec: {{resourceClaims: [{}]}}}}",
        claims.join(", ")
    ))
}

fn answer(status: &Status) -> (Code, String) {
    (status.code(), status.message())
}

/// The state after PreFilter, its answer, and what Filter says of each node.
fn attempt(
    plugin: &DynamicResources,
    world: &TestWorld,
    pod: &PodInfo,
) -> (CycleState, Status, Vec<(Code, String)>) {
    let mut state = CycleState::new();
    let (_, status) = plugin.pre_filter(&world.handle(), &mut state, pod, &[]);
    let nodes = world.snapshot.list().iter();
    let nodes = nodes.map(|node| answer(&plugin.filter(&world.handle(), &state, pod, node)));
    let answers = if status.is_success() { nodes.collect() } else { Vec::new() };
    (state, status, answers)
}

/// The same within that cycle of a pod group, as far as PreFilter; what Filter says of the nodes, or PreFilter.
fn attempt_in_group(
    plugin: &DynamicResources,
    world: &TestWorld,
    pod: &PodInfo,
    cycle: u64,
) -> (CycleState, Vec<(Code, String)>) {
    let mut state = CycleState::new();
    state.pod_group_cycle = Some(cycle);
    let (_, status) = plugin.pre_filter(&world.handle(), &mut state, pod, &[]);
    if !status.is_success() {
        return (state, vec![answer(&status)]);
    }
    let nodes = world.snapshot.list().iter();
    let answers = nodes.map(|node| answer(&plugin.filter(&world.handle(), &state, pod, node))).collect();
    (state, answers)
}

#[test]
fn members_of_a_group_share_what_one_of_them_has_reserved_in_this_cycle() {
    let plugin = plugin("");
    let world = cluster(&plugin, &claim("a", ""));
    let (pod, node) = (pod(&["a"]), "two".into());
    let (mut first, _) = attempt_in_group(&plugin, &world, &pod, 7);
    assert!(plugin.reserve(&world.handle(), &mut first, &pod, &node).is_success());
    let (mut second, nodes) = attempt_in_group(&plugin, &world, &pod, 7);
    assert_eq!(nodes, [success(), success()], "upstream does not ask where the shared devices are");
    assert!(plugin.reserve(&world.handle(), &mut second, &pod, &node).is_success());
    let in_progress = unresolvable("resource claim default/a is in the process of being allocated");
    assert_eq!(attempt_in_group(&plugin, &world, &pod, 8).1, std::slice::from_ref(&in_progress));
    // It is in flight until the last one gives it back.
    plugin.unreserve(&world.handle(), &mut first, &pod, &node);
    assert_eq!(attempt_in_group(&plugin, &world, &pod, 8).1, [in_progress]);
    plugin.unreserve(&world.handle(), &mut second, &pod, &node);
    assert_eq!(attempt_in_group(&plugin, &world, &pod, 8).1, [success(), success()]);
}

fn success() -> (Code, String) {
    (Code::Success, String::new())
}

fn unresolvable(reason: &str) -> (Code, String) {
    (Code::UnschedulableAndUnresolvable, reason.to_owned())
}

#[test]
fn a_pod_without_claims_has_nothing_to_deallocate_and_scores_0() {
    let (plugin, pod) = (plugin(""), pod(&[]));
    let world = cluster(&plugin, "");
    let (mut state, status, _) = attempt(&plugin, &world, &pod);
    assert_eq!(status.code(), Code::Skip);
    let handle = world.handle();
    let (_, status) = plugin.post_filter(&handle, &mut state, &pod, &NodeToStatus::new());
    assert_eq!(answer(&status), (Code::Unschedulable, "no new claims to deallocate".to_owned()));
    assert_eq!(plugin.score(&handle, &state, &pod, &world.snapshot.list()[0]), Ok(0));
    assert!(plugin.reserve(&handle, &mut state, &pod, &"one".into()).is_success());
    let (result, status) = plugin.pre_bind_pre_flight(&handle, &mut state, &pod, &"one".into());
    assert_eq!((result.allow_parallel, status.code()), (true, Code::Skip));
}

#[test]
fn where_pre_filter_had_stopped_before_it_post_filter_finds_nothing() {
    let (plugin, pod) = (plugin(""), pod(&["c"]));
    let world = cluster(&plugin, "");
    let (handle, mut state) = (world.handle(), CycleState::new());
    let (_, status) = plugin.post_filter(&handle, &mut state, &pod, &NodeToStatus::new());
    assert_eq!(answer(&status), (Code::Error, "not found".to_owned()));
    assert!(!plugin.may_write(&state));
}

#[test]
fn claims_that_are_not_there_keep_a_pod_out_of_the_queue() {
    let plugin = plugin("");
    let going =
        claim("going", "").replace("uid: going", "uid: going, deletionTimestamp: '2026-01-01T00:00:00Z'");
    let world = cluster(&plugin, &(claim("there", "") + &going));
    let ask = |spec: &str, status: &str| {
        let pod = format!(
            "{{metadata: {{name: p, uid: p, namespace: default}}, spec: {{resourceClaims: [{spec}]}}, status: {{{status}}}}}"
        );
        answer(&plugin.pre_enqueue(&world.handle(), &pod_info(&pod).pod))
    };
    assert_eq!(ask("{name: c, resourceClaimName: there}", ""), success());
    assert_eq!(
        ask("{name: c, resourceClaimName: gone}", ""),
        unresolvable("could not find ResourceClaim \"default/gone\"")
    );
    assert_eq!(
        ask("{name: c, resourceClaimName: going}", ""),
        unresolvable("resourceclaim \"going\" is being deleted")
    );
    let template = "{name: c, resourceClaimTemplateName: t}";
    assert_eq!(ask(template, ""), unresolvable("pod \"default/p\": ResourceClaim not created yet"));
    assert_eq!(
        ask(template, "resourceClaimStatuses: [{name: c, resourceClaimName: there}]"),
        unresolvable("ResourceClaim default/there was not created for Pod default/p (Pod is not owner)")
    );
    assert_eq!(ask(template, "resourceClaimStatuses: [{name: c}]"), success(), "no claim is needed");
    assert_eq!(
        ask("{name: c}", ""),
        unresolvable("pod \"default/p\", spec.resourceClaim \"c\": none of the supported fields are set")
    );
}

#[test]
fn what_is_reserved_is_not_given_to_others_until_it_is_given_back() {
    let plugin = plugin("");
    let mut world = cluster(&plugin, &(claim("a", "") + &claim("b", "")));
    let (first, second) = (pod(&["a"]), pod(&["b"]));
    let before = world.handle().state(|devices: &DeviceState| devices.claims.allocated_state()).unwrap();
    let (mut state, _, nodes) = attempt(&plugin, &world, &first);
    assert_eq!(nodes, [success(), success()]);
    assert!(plugin.reserve(&world.handle(), &mut state, &first, &"one".into()).is_success());
    let (_, _, nodes) = attempt(&plugin, &world, &second);
    assert_eq!(nodes, [unresolvable("cannot allocate all claims"), success()]);
    let (_, status, _) = attempt(&plugin, &world, &first);
    let in_process = "resource claim default/a is in the process of being allocated";
    assert_eq!(answer(&status), unresolvable(in_process));
    plugin.unreserve(&world.handle(), &mut state, &first, &"one".into());
    let (_, _, nodes) = attempt(&plugin, &world, &second);
    assert_eq!(nodes, [success(), success()]);
    let after = world.handle().state(|devices: &DeviceState| devices.claims.allocated_state()).unwrap();
    assert_eq!((after.by_claims, after.in_flight), (before.by_claims, before.in_flight));
    assert!(world.requests.get_mut().is_empty(), "nothing was written, nothing is undone");
}

#[test]
fn an_allocated_claim_binds_the_pod_to_its_nodes() {
    let plugin = plugin("");
    let world = cluster(&plugin, &(claim("a", &on("one")) + &claim("b", "")));
    let not_available = unresolvable("resourceclaim not available on the node");
    let (_, _, nodes) = attempt(&plugin, &world, &pod(&["a"]));
    assert_eq!(nodes, [success(), not_available]);
    let (_, _, nodes) = attempt(&plugin, &world, &pod(&["a", "b"]));
    let none = unresolvable("cannot allocate all claims");
    assert_eq!(nodes, [none, unresolvable("resourceclaim not available on the node")]);
}

#[test]
fn a_claim_of_an_unknown_class_cannot_be_had() {
    let plugin = plugin("");
    let world = cluster(&plugin, &claim("a", "").replace("deviceClassName: gpu", "deviceClassName: tpu"));
    let (_, status, _) = attempt(&plugin, &world, &pod(&["a"]));
    assert_eq!(answer(&status), unresolvable("request r: device class tpu does not exist"));
}

#[test]
fn pre_bind_writes_finalizer_allocation_and_reservation() {
    let plugin = plugin("");
    let world = cluster(&plugin, &claim("a", ""));
    let (pod, node) = (pod(&["a"]), "two".into());
    let (mut state, _, _) = attempt(&plugin, &world, &pod);
    assert!(plugin.reserve(&world.handle(), &mut state, &pod, &node).is_success());
    let write = |state: &mut CycleState| {
        let progress = plugin.pre_bind(&world.handle(), state, &pod, &node, None);
        assert_eq!(progress, PreBindProgress::Pending { wake_at: None });
        match world.requests.borrow_mut().pop() {
            Some(HandleRequest::Write { write, .. }) => write,
            other => unreachable!("{other:?}"),
        }
    };
    let first = write(&mut state);
    assert_eq!((first.verb, &*first.object.metadata().finalizers[0]), (WriteVerb::Update, FINALIZER));
    let mut answered = first.object.clone();
    answered.metadata_mut().resource_version = "2".to_owned();
    state.put_write_result(plugin.name(), first, Ok(answered));
    let second = write(&mut state);
    let Object::ResourceClaim(claim) = &second.object else { unreachable!() };
    assert_eq!(second.verb, WriteVerb::UpdateStatus);
    assert_eq!(claim.status.reserved_for[0].uid, Uid::from("p"));
    assert_eq!(claim.status.allocation.as_ref().unwrap().devices.results[0].pool.as_ref(), "two");
    let mut answered = second.object.clone();
    answered.metadata_mut().resource_version = "3".to_owned();
    state.put_write_result(plugin.name(), second, Ok(answered));
    let progress = plugin.pre_bind(&world.handle(), &mut state, &pod, &node, None);
    assert_eq!(progress, PreBindProgress::Done(Status::SUCCESS));
    // What was in flight is assumed now, and the queue hears of it.
    let told = world.requests.borrow_mut().pop();
    assert!(matches!(told, Some(HandleRequest::TellOf((Some(_), Some(_))))), "{told:?}");
    let in_flight = world.handle().state(|devices: &DeviceState| devices.claims.in_flight().count());
    assert_eq!(in_flight, Some(0));
    let (_, _, nodes) = attempt(&plugin, &world, &pod);
    assert_eq!(nodes, [unresolvable("resourceclaim not available on the node"), success()]);
}

#[test]
fn a_claim_that_somebody_else_writes_is_tried_again() {
    use crate::framework::api_write::{ApiFailure, ApiFailureReason};
    let plugin = plugin("");
    let mut world = cluster(&plugin, &claim("a", ""));
    let (pod, node) = (pod(&["a"]), "one".into());
    let (mut state, _, _) = attempt(&plugin, &world, &pod);
    assert!(plugin.reserve(&world.handle(), &mut state, &pod, &node).is_success());
    for attempt in 1..=5 {
        plugin.pre_bind(&world.handle(), &mut state, &pod, &node, None);
        let Some(HandleRequest::Write { write, .. }) = world.requests.get_mut().pop() else { unreachable!() };
        let failure = ApiFailure { reason: ApiFailureReason::Conflict, message: "changed".to_owned() };
        state.put_write_result(plugin.name(), write, Err(failure));
        let progress = plugin.pre_bind(&world.handle(), &mut state, &pod, &node, None);
        if attempt < 5 {
            assert!(matches!(progress, PreBindProgress::Pending { wake_at: Some(_) }), "{progress:?}");
            world.now = world.now.saturating_add(Duration::from_millis(10));
        } else {
            let error = "add finalizer to claim default/a: changed";
            assert_eq!(progress, PreBindProgress::Done(Status::error(error)));
        }
    }
    let in_flight = world.handle().state(|devices: &DeviceState| devices.claims.in_flight().count());
    assert_eq!(in_flight, Some(0), "what failed is not in flight any more");
}

#[test]
fn deallocation_of_any_claim_wakes_pods_whose_own_claims_are_there() {
    let plugin = plugin("");
    let world = cluster(&plugin, &(claim("a", "") + &claim("b", &on("one"))));
    let object = |name: &str, status: &str| -> Object {
        let claim: ResourceClaim = serde_saphyr::from_str(&format!(
            "{{metadata: {{name: {name}, namespace: default, uid: {name}}}, status: {{{status}}}}}"
        ))
        .unwrap();
        claim.into()
    };
    let hint = |pod: &PodInfo, old: Option<&Object>, new: &Object| {
        let events = plugin.events_to_register();
        let hint = events[1].queueing_hint_fn.clone().unwrap();
        hint(&world.handle(), &pod.pod, old, Some(new)).unwrap()
    };
    let (allocated, free) = (object("b", &on("one")), object("b", ""));
    assert_eq!(hint(&pod(&["a"]), Some(&allocated), &free), QueueingHint::Queue);
    assert_eq!(hint(&pod(&["missing"]), Some(&allocated), &free), QueueingHint::QueueSkip);
    assert_eq!(hint(&pod(&["a"]), Some(&free), &allocated), QueueingHint::QueueSkip, "the claim of others");
    let own = object("a", "");
    assert_eq!(hint(&pod(&["a"]), None, &own), QueueingHint::Queue);
    assert_eq!(hint(&pod(&["a"]), Some(&own), &own), QueueingHint::QueueSkip, "the same status");
    assert_eq!(hint(&pod(&["a"]), Some(&own), &object("a", &on("two"))), QueueingHint::Queue);
}

#[test]
fn pods_with_claims_cannot_be_signed() {
    let sign = |pod: &PodInfo| plugin("").sign_pod(&pod.pod);
    assert_eq!(sign(&pod(&[])), Ok(Vec::new()));
    let status = sign(&pod(&["c"])).unwrap_err();
    let text = "pods with dra resource claims are not signable";
    assert_eq!(answer(&status), (Code::Unschedulable, text.to_owned()));
}

#[test]
fn earlier_alternatives_score_more() {
    let plugin = plugin("");
    let list = "firstAvailable: [{name: two, deviceClassName: gpu, allocationMode: ExactCount, count: 2}, {name: one, \
                deviceClassName: gpu, allocationMode: ExactCount, count: 1}]";
    let exactly = "exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}";
    let world = cluster(&plugin, &claim("a", "").replace(exactly, list));
    let pod = pod(&["a"]);
    let (state, _, _) = attempt(&plugin, &world, &pod);
    assert_eq!(plugin.score(&world.handle(), &state, &pod, &world.snapshot.list()[0]), Ok(7));
}

#[test]
fn evidence_shows_each_device_and_who_has_it() {
    let plugin = plugin("");
    let mut world = cluster(&plugin, &(claim("a", "") + &claim("b", &on("one"))));
    let holders = |id: &DeviceId| {
        let is_first = id.to_string() == "gpu.example.com/one/d0";
        if is_first { vec![NamespacedName::new("default", "b")] } else { Vec::new() }
    };
    let explain = |world: &TestWorld, node: usize| {
        let pod = pod(&["a"]);
        let (state, _, _) = attempt(&plugin, world, &pod);
        let node = &world.snapshot.list()[node];
        evidence::explain(&state, &pod.pod, node, holders).unwrap().unwrap()
    };
    let found = explain(&world, 0);
    let device = &found.claims[0].requests[0].devices[0];
    assert_eq!((device.id.to_string().as_str(), device.is_usable), ("gpu.example.com/one/d0", false));
    assert_eq!(device.holders, [NamespacedName::new("default", "b")]);
    assert!(explain(&world, 1).claims[0].requests[0].devices[0].is_usable);
    let class: crate::api::objects::DeviceClass = serde_saphyr::from_str(
        "{metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == \"other\"'}}]}}",
    )
    .unwrap();
    world.put(class);
    let found = explain(&world, 1);
    let selector = &found.claims[0].requests[0].devices[0].selectors[0];
    assert_eq!((selector.is_of_class, &selector.verdict), (true, &Ok(false)));
}

#[test]
fn claims_for_extended_resources_are_made_for_the_node() {
    let plugin = plugin("");
    let world = cluster(&plugin, "");
    let pod = pod_info(
        "{metadata: {name: p, uid: p, namespace: default}, spec: {initContainers: [{name: setup, resources: {requests: \
         {example.com/gpu: 1}}}], containers: [{name: main, resources: {requests: {cpu: 1, example.com/gpu: 1}}}]}}",
    );
    let (state, _, nodes) = attempt(&plugin, &world, &pod);
    assert_eq!(nodes, [success(), success()]);
    let found = state::read(&state).unwrap().nodes.get("one").unwrap();
    // What runs at the start uses the device of what runs later.
    let mappings: Vec<(&str, &str)> =
        found.mappings.iter().map(|mapping| (&*mapping.container_name, &*mapping.request_name)).collect();
    assert_eq!(mappings, [("main", "container-1-request-1"), ("setup", "container-1-request-1")]);
    let off = self::plugin("DRAExtendedResource=false");
    let world = cluster(&off, "");
    let (_, status, _) = attempt(&off, &world, &pod);
    assert_eq!(status.code(), Code::Skip);
}
