//! The answers of an API server, and what a watch tells of it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::api::manifest::load;
use crate::api::objects::{AllocationResult, PersistentVolumeClaim, ResourceClaim};
use crate::framework::{ApiWrite, WriteVerb};

const START: Time = Time::from_secs(1_767_225_600);

fn sources(text: &str) -> Vec<Source> {
    vec![Source { name: "test.yaml".to_owned(), text: text.to_owned() }]
}

fn sandbox(text: &str) -> SandboxApi {
    SandboxApi::new(load(&sources(text)).unwrap().objects, START).unwrap()
}

fn pod_text(name: &str, spec: &str) -> String {
    format!("kind: Pod\napiVersion: v1\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n")
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn uid(name: &str) -> Uid {
    Uid::from(format!("pod/default/{name}"))
}

fn pod(api: &SandboxApi, name: &str) -> Pod {
    Pod::clone(api.objects().pods.get(&key(name)).unwrap())
}

fn condition(status: &str) -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: status.to_owned(),
        reason: "Unschedulable".to_owned(),
        ..PodCondition::default()
    }
}

/// `+ default/a`, `~ default/a`, `- default/a`.
fn told(api: &mut SandboxApi) -> Vec<String> {
    let text = |event: WatchEvent| match event {
        WatchEvent::Added(object) => format!("+ {}", object.key()),
        WatchEvent::Modified { new, .. } => format!("~ {}", new.key()),
        WatchEvent::Deleted(object) => format!("- {}", object.key()),
    };
    api.take_events().into_iter().map(text).collect()
}

#[test]
fn a_bind_sets_the_node_and_clears_the_nomination() {
    let mut api =
        sandbox("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nstatus: {nominatedNodeName: n2}\n");
    let before = pod(&api, "a");
    assert_eq!((&*before.metadata.uid, before.metadata.resource_version.as_str()), ("pod/default/a", "1"));
    assert_eq!(before.metadata.creation_timestamp, Some(START));
    let now = START + Duration::from_secs(5);
    api.bind(&key("a"), &uid("a"), &"n1".into(), now).unwrap();
    let bound = pod(&api, "a");
    assert_eq!((&*bound.spec.node_name, &*bound.status.nominated_node_name), ("n1", ""));
    assert_eq!((bound.status.start_time, bound.metadata.resource_version.as_str()), (Some(now), "2"));
    let scheduled = bound.condition("PodScheduled").unwrap();
    assert_eq!((scheduled.status.as_str(), scheduled.last_transition_time), ("True", Some(now)));
    let events = api.take_events();
    assert_eq!(events, [WatchEvent::Modified { old: before.into(), new: bound.into() }]);
}

#[test]
fn a_bind_is_refused_in_the_words_of_the_server() {
    let mut api = sandbox(
        &[
            pod_text("bound", "{nodeName: n1}"),
            pod_text("gated", "{schedulingGates: [{name: g}]}"),
            pod_text("other", "{}"),
            pod_text("going", "{nodeName: n1}"),
        ]
        .concat(),
    );
    api.delete_pod(&key("going"), START).unwrap();
    api.take_events();
    for (name, uid, answer) in [
        ("lost", uid("lost"), "pods \"lost\" not found"),
        (
            "bound",
            uid("bound"),
            "Operation cannot be fulfilled on pods/binding \"bound\": pod bound is already assigned to node \"n1\"",
        ),
        (
            "gated",
            uid("gated"),
            "Operation cannot be fulfilled on pods/binding \"gated\": pod gated has non-empty .spec.schedulingGates",
        ),
        (
            "going",
            uid("going"),
            "Operation cannot be fulfilled on pods/binding \"going\": pod going is being deleted, cannot be assigned to a host",
        ),
        (
            "other",
            uid("old"),
            "Operation cannot be fulfilled on pods \"other\": StorageError: invalid object, Code: 4, Key: \
             /registry/pods/default/other, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: pod/default/old, UID in object meta: pod/default/other",
        ),
    ] {
        assert_eq!(api.bind(&key(name), &uid, &"n1".into(), START).unwrap_err().to_string(), answer);
    }
    assert!(told(&mut api).is_empty());
}

#[test]
fn a_status_patch_changes_only_what_it_names() {
    let mut api = sandbox(&pod_text("a", "{}"));
    let (key, uid) = (key("a"), uid("a"));
    let later = |seconds| START + Duration::from_secs(seconds);
    api.patch_pod_status(&key, &uid, Some(condition("False")), None, later(1)).unwrap();
    api.patch_pod_status(&key, &uid, None, Some("n1".into()), later(2)).unwrap();
    let patched = pod(&api, "a").status;
    assert_eq!(&*patched.nominated_node_name, "n1");
    assert_eq!(patched.conditions.first().unwrap().last_transition_time, Some(later(1)));
    assert_eq!(told(&mut api), ["~ default/a", "~ default/a"]);
    // Nothing changes, nothing is told; the transition is that of the status.
    api.patch_pod_status(&key, &uid, Some(condition("False")), Some("n1".into()), later(3)).unwrap();
    assert!(told(&mut api).is_empty());
    api.patch_pod_status(&key, &uid, Some(condition("True")), Some("".into()), later(4)).unwrap();
    let patched = pod(&api, "a").status;
    assert_eq!((&*patched.nominated_node_name, patched.conditions.len()), ("", 1));
    assert_eq!(patched.conditions.first().unwrap().last_transition_time, Some(later(4)));
    assert!(matches!(
        api.patch_pod_status(&key, &"x".into(), None, None, START),
        Err(ApiError::Conflict { .. })
    ));
}

#[test]
fn a_running_pod_goes_when_its_grace_period_is_over() {
    let mut api = sandbox(
        &[
            pod_text("slow", "{nodeName: n1}"),
            pod_text("quick", "{nodeName: n1, terminationGracePeriodSeconds: 5}"),
            pod_text("hard", "{nodeName: n1, terminationGracePeriodSeconds: 0}"),
            pod_text("waits", "{}"),
        ]
        .concat(),
    );
    for name in ["slow", "quick", "hard", "waits"] {
        api.evict_pod(&key(name), &uid(name), START).unwrap();
    }
    assert_eq!(told(&mut api), ["~ default/slow", "~ default/quick", "- default/hard", "- default/waits"]);
    assert_eq!(pod(&api, "quick").metadata.deletion_timestamp, Some(START + Duration::from_secs(5)));
    assert_eq!(api.next_timeout(), Some(START + Duration::from_secs(5)));
    api.delete_pod(&key("quick"), START + Duration::from_secs(4)).unwrap();
    api.advance(START + Duration::from_millis(4_999));
    assert!(told(&mut api).is_empty());
    api.advance(START + Duration::from_secs(40));
    assert_eq!(told(&mut api), ["- default/quick", "- default/slow"]);
    assert_eq!((api.next_timeout(), api.objects().count(Kind::Pod)), (None, 0));
}

#[test]
fn an_eviction_is_for_one_pod_and_not_for_its_name() {
    let mut api = sandbox(&pod_text("a", "{}"));
    let refused = api.evict_pod(&key("a"), &"old".into(), START).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Operation cannot be fulfilled on Pod \"a\": the UID in the precondition (old) does not match the UID in \
         record (pod/default/a). The object might have been deleted and then recreated"
    );
    assert_eq!(
        api.evict_pod(&key("b"), &"old".into(), START).unwrap_err().to_string(),
        "pods \"b\" not found"
    );
}

#[test]
fn an_object_that_comes_again_is_another_one() {
    let mut api = sandbox(&pod_text("a", "{}"));
    api.delete_pod(&key("a"), START).unwrap();
    let object = load(&sources(&pod_text("a", "{}"))).unwrap().objects.pop().unwrap();
    assert_eq!(api.create(object.clone(), START), Ok(Applied::Created));
    assert_eq!(&*pod(&api, "a").metadata.uid, "pod/default/a#2");
    assert_eq!(api.create(object, START).unwrap_err().to_string(), "pods \"a\" already exists");
    api.delete_pod(&key("a"), START).unwrap();
    let versions: Vec<String> = api
        .take_events()
        .iter()
        .map(|event| match event {
            WatchEvent::Added(object) | WatchEvent::Deleted(object) => {
                object.metadata().resource_version.clone()
            }
            WatchEvent::Modified { new, .. } => new.metadata().resource_version.clone(),
        })
        .collect();
    assert_eq!(versions, ["1", "3", "3"]);
    let class = NamespacedName::cluster("gold");
    assert_eq!(
        api.delete(Kind::PriorityClass, &class, START).unwrap_err().to_string(),
        "priorityclasses.scheduling.k8s.io \"gold\" not found"
    );
}

#[test]
fn a_replaced_pod_keeps_what_a_manifest_cannot_change() {
    let mut api = sandbox(&pod_text("a", "{}"));
    api.patch_pod_status(&key("a"), &uid("a"), Some(condition("False")), None, START).unwrap();
    api.bind(&key("a"), &uid("a"), &"n1".into(), START).unwrap();
    api.delete_pod(&key("a"), START).unwrap();
    api.take_events();
    let before = pod(&api, "a");
    let text = "kind: Pod\napiVersion: v1\nmetadata: {name: a, labels: {new: x}}\n";
    let object = load(&sources(text)).unwrap().objects.pop().unwrap();
    assert_eq!(api.apply(object.clone(), START + Duration::from_secs(9)), Ok(Applied::Configured));
    let after = pod(&api, "a");
    assert_eq!((after.metadata.labels.len(), &after.spec, &after.status), (1, &before.spec, &before.status));
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.metadata.deletion_timestamp, before.metadata.deletion_timestamp);
    assert_eq!(api.apply(object, START), Ok(Applied::Unchanged));
    assert_eq!(told(&mut api), ["~ default/a"]);
}

#[test]
fn pods_that_have_ended_are_not_there() {
    let done = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nstatus: {phase: Succeeded}\n";
    assert_eq!(sandbox(done).objects().count(Kind::Pod), 0);
    let mut api = sandbox(&pod_text("a", "{nodeName: n1}"));
    let object = load(&sources(done)).unwrap().objects.pop().unwrap();
    assert_eq!(api.apply(object, START), Ok(Applied::Ended));
    assert_eq!(told(&mut api), ["- default/a"]);
}

#[test]
fn a_pod_that_was_terminating_in_the_dump_goes_after_its_grace_period() {
    let text = |name: &str, at: &str| {
        format!(
            "kind: Pod\napiVersion: v1\nmetadata: {{name: {name}, deletionTimestamp: \"{at}\"}}\nspec: {{nodeName: n1}}\n---\n"
        )
    };
    let api = sandbox(
        &[
            text("past", "2025-12-31T00:00:00Z"),
            text("soon", "2026-01-01T00:00:10Z"),
            text("later", "2026-11-30T00:00:00Z"),
        ]
        .concat(),
    );
    let due: Vec<(u64, String)> =
        api.terminating.iter().map(|(at, key)| ((*at - START).as_secs(), key.name.to_string())).collect();
    assert_eq!(due, [(10, "soon".to_owned()), (30, "later".to_owned()), (30, "past".to_owned())]);
}

#[test]
fn what_admission_refuses_is_told_with_its_place() {
    let text = "kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: shop}\nspec:\n  priorityClassName: gold\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: b}\nspec: {priorityClassName: late}\n---\nkind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: late}\nvalue: 7\n";
    let loaded = load(&sources(text)).unwrap();
    let errors = SandboxApi::from_manifests(loaded.clone(), &sources(text), START).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "test.yaml:5:22: document 1: Pod shop/a: spec.priorityClassName: no PriorityClass with name gold was found\n  \
         |\n5 |   priorityClassName: gold\n  |                      ^"
    );
    let refused = SandboxApi::new(loaded.objects, START).unwrap_err();
    assert_eq!(refused.errors.iter().map(|error| error.index).collect::<Vec<_>>(), [0]);
}

fn with_claims() -> SandboxApi {
    sandbox(
        "kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {name: data}\nspec: {storageClassName: fast}\n---\n\
         kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nmetadata: {name: gpu}\nspec: {}\n---\n",
    )
}

fn resource_claim(api: &SandboxApi) -> ResourceClaim {
    ResourceClaim::clone(api.objects().resource_claims.get(&key("gpu")).unwrap())
}

fn write(api: &mut SandboxApi, verb: WriteVerb, object: impl Into<Object>) -> Result<Object, ApiError> {
    api.carry_out_write(&ApiWrite { verb, object: object.into() }, START)
}

#[test]
fn an_object_with_finalizers_goes_with_the_last_of_them_where_controllers_run() {
    let data = key("data");
    let mut api = with_claims();
    api.delete(Kind::PersistentVolumeClaim, &data, START).unwrap();
    assert!(api.objects().persistent_volume_claims.is_empty(), "nobody would take the finalizer away");
    let mut api = with_claims();
    api.set_has_controllers();
    api.take_events();
    api.delete(Kind::PersistentVolumeClaim, &data, START).unwrap();
    api.delete(Kind::PersistentVolumeClaim, &data, START).unwrap();
    let claim = api.objects().persistent_volume_claims.get(&data).cloned().unwrap();
    assert_eq!(claim.metadata.deletion_timestamp, Some(START));
    assert_eq!(api.take_events().len(), 1, "a second deletion changes nothing");
    let mut freed = PersistentVolumeClaim::clone(&claim);
    freed.metadata.finalizers.clear();
    write(&mut api, WriteVerb::Update, freed).unwrap();
    assert!(api.objects().persistent_volume_claims.is_empty());
    assert!(matches!(api.take_events().as_slice(), [WatchEvent::Deleted(_)]));
}

#[test]
fn a_write_of_the_status_leaves_the_rest_and_the_other_way_round() {
    let mut api = with_claims();
    let stale = resource_claim(&api);
    let mut with_finalizer = stale.clone();
    with_finalizer.metadata.finalizers.push(Str::from("x"));
    with_finalizer.status.allocation = Some(AllocationResult::default());
    write(&mut api, WriteVerb::Update, with_finalizer).unwrap();
    assert_eq!(resource_claim(&api).status.allocation, None, "the status is not written");
    let mut allocated = stale;
    allocated.status.allocation = Some(AllocationResult::default());
    let refused = write(&mut api, WriteVerb::UpdateStatus, allocated.clone()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Operation cannot be fulfilled on resourceclaims.resource.k8s.io \"gpu\": the object has been modified; please apply your changes to the latest version and try again"
    );
    allocated.metadata.resource_version.clear();
    write(&mut api, WriteVerb::UpdateStatus, allocated).unwrap();
    let claim = resource_claim(&api);
    assert!(claim.status.allocation.is_some());
    assert_eq!(claim.metadata.finalizers.len(), 1, "the rest is not written");
}

#[test]
fn a_manifest_that_is_applied_again_leaves_what_controllers_have_written() {
    let mut api = with_claims();
    let claims =
        |api: &SandboxApi| api.objects().persistent_volume_claims.get(&key("data")).cloned().unwrap();
    let mut bound = PersistentVolumeClaim::clone(&claims(&api));
    bound.spec.volume_name = Str::from("disk");
    bound.metadata.annotations.insert(Str::from("pv.kubernetes.io/bind-completed"), Str::from("yes"));
    bound.status.phase = "Bound".to_owned();
    api.store(bound.into());
    let stored = claims(&api);
    let again = "kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {name: data}\nspec: {storageClassName: fast}\n";
    assert_eq!(api.apply_text("editor", again, START).unwrap(), "persistentvolumeclaim/data unchanged");
    assert_eq!(claims(&api), stored);
}
