//! Requests of clients.

use super::*;

const NOW: Time = Time::from_secs(1_000_000);

fn id(group: &str, plural: &str) -> ResourceId {
    ResourceId::of(group, plural).unwrap()
}

fn cluster() -> SandboxApi {
    let mut api = SandboxApi::default();
    let text = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
    api.apply_text("test", text, NOW).unwrap();
    api
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    })
}

fn ask(api: &mut SandboxApi, resource: ResourceId, name: &str, verb: ClientVerb) -> Answer {
    let namespace = if resource.get().is_namespaced { "shop" } else { "" };
    api.carry_out_request(&ClientRequest { resource, key: NamespacedName::new(namespace, name), verb }, NOW)
}

fn create(api: &mut SandboxApi, resource: ResourceId, document: Value) -> Answer {
    api.carry_out_request(&ClientRequest::create(resource, document), NOW)
}

fn patch(patch: Value, kind: PatchKind) -> ClientVerb {
    ClientVerb::Patch { kind, patch: Arc::new(patch), part: Part::Main }
}

#[test]
fn an_object_is_made_only_in_a_namespace_that_is_there() {
    let mut api = cluster();
    let pods = id("", "pods");
    let mut lost = pod("a");
    lost["metadata"]["namespace"] = "nowhere".into();
    assert_eq!(create(&mut api, pods, lost).unwrap_err().message, "namespaces \"nowhere\" not found");
    let made = create(&mut api, pods, pod("a")).unwrap().unwrap();
    assert_eq!(made["spec"]["restartPolicy"], "Always");
    assert_eq!(made["spec"]["schedulerName"], "default-scheduler");
    assert_eq!(create(&mut api, pods, pod("a")).unwrap_err().reason, "AlreadyExists");
    let empty = json!({"metadata": {"name": "b", "namespace": "shop"}, "spec": {}});
    let refusal = create(&mut api, pods, empty).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (422, "Pod \"b\" is invalid: spec.containers: Required value")
    );
}

#[test]
fn of_a_pod_only_some_fields_may_change() {
    let mut api = cluster();
    let pods = id("", "pods");
    create(&mut api, pods, pod("a")).unwrap();
    let image = json!({"spec": {"containers": [{"name": "c", "image": "i:2"}]}});
    let changed = ask(&mut api, pods, "a", patch(image, PatchKind::Strategic)).unwrap().unwrap();
    assert_eq!(changed["spec"]["containers"][0]["image"], "i:2");
    for forbidden in [
        json!({"spec": {"nodeName": "n"}}),
        json!({"spec": {"priority": 7}}),
        json!({"spec": {"nodeSelector": {"a": "b"}}}),
        json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}),
    ] {
        let refusal = ask(&mut api, pods, "a", patch(forbidden.clone(), PatchKind::Strategic)).unwrap_err();
        assert_eq!(refusal.code, 422, "{forbidden}: {}", refusal.message);
    }
    let label = json!([{"op": "add", "path": "/metadata/labels/tier", "value": "x"}]);
    let changed = ask(&mut api, pods, "a", patch(label, PatchKind::Json)).unwrap().unwrap();
    assert_eq!(changed["metadata"]["labels"], json!({"app": "web", "tier": "x"}));
}

#[test]
fn an_eviction_asks_the_budget() {
    let mut api = cluster();
    let (pods, budgets) = (id("", "pods"), id("policy", "poddisruptionbudgets"));
    for name in ["a", "b"] {
        create(&mut api, pods, pod(name)).unwrap();
        ask(&mut api, pods, name, ClientVerb::Bind { node: "n".into(), uid: None }).unwrap();
    }
    let budget = json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    create(&mut api, budgets, budget).unwrap();
    let refused = ask(&mut api, pods, "a", ClientVerb::Evict(Deletion::default())).unwrap_err();
    assert_eq!((refused.code, refused.reason), (429, "TooManyRequests"));
    assert_eq!(refused.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    let status = json!({"status": {"disruptionsAllowed": 1, "desiredHealthy": 1, "currentHealthy": 2}});
    let verb = ClientVerb::Patch { kind: PatchKind::Merge, patch: Arc::new(status), part: Part::Status };
    ask(&mut api, budgets, "web", verb).unwrap();
    ask(&mut api, pods, "a", ClientVerb::Evict(Deletion::default())).unwrap();
    let evicted = api.document(pods, &NamespacedName::new("shop", "a")).unwrap();
    assert!(evicted["metadata"]["deletionTimestamp"].is_string());
    let refused = ask(&mut api, pods, "b", ClientVerb::Evict(Deletion::default())).unwrap_err();
    let cause = "The disruption budget web needs 1 healthy pods and has 2 currently";
    assert_eq!(refused.causes[0]["message"], cause);
    let pod = api.document(pods, &NamespacedName::new("shop", "b")).unwrap();
    assert_eq!(pod["metadata"].get("deletionTimestamp"), None);
}

#[test]
fn a_namespace_goes_when_what_is_in_it_is_gone() {
    let mut api = cluster();
    let (pods, maps, namespaces) = (id("", "pods"), id("", "configmaps"), id("", "namespaces"));
    create(&mut api, pods, pod("a")).unwrap();
    create(&mut api, maps, json!({"metadata": {"name": "m", "namespace": "shop"}})).unwrap();
    ask(&mut api, pods, "a", ClientVerb::Bind { node: "n".into(), uid: None }).unwrap();
    let deleted =
        ask(&mut api, namespaces, "shop", ClientVerb::Delete(Deletion::default())).unwrap().unwrap();
    assert_eq!(deleted["status"]["phase"], "Terminating");
    assert!(api.documents(maps).is_empty());
    let refusal =
        create(&mut api, maps, json!({"metadata": {"name": "n", "namespace": "shop"}})).unwrap_err();
    assert_eq!(refusal.code, 403);
    api.advance(NOW + crate::api::Duration::from_secs(31));
    assert!(api.documents(pods).is_empty());
    assert!(api.documents(namespaces).is_empty());
    let verb = ClientVerb::Delete(Deletion::default());
    assert_eq!(ask(&mut api, namespaces, "default", verb).unwrap_err().code, 404);
}

#[test]
fn what_an_object_owns_goes_with_it_or_stays_as_an_orphan() {
    let mut api = cluster();
    let (pods, sets) = (id("", "pods"), id("apps", "replicasets"));
    let set = json!({"metadata": {"name": "s", "namespace": "shop"}, "spec": {}});
    for is_orphaning in [true, false] {
        let made = create(&mut api, sets, set.clone()).unwrap().unwrap();
        let mut owned = pod(if is_orphaning { "kept" } else { "gone" });
        owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": made["metadata"]["uid"]}]);
        create(&mut api, pods, owned).unwrap();
        let deletion = Deletion { is_orphaning, ..Deletion::default() };
        ask(&mut api, sets, "s", ClientVerb::Delete(deletion)).unwrap();
    }
    let left = api.documents(pods);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1["metadata"]["name"], "kept");
    assert_eq!(left[0].1["metadata"].get("ownerReferences"), None);
}

#[test]
fn a_server_side_apply_makes_what_is_not_there() {
    let mut api = cluster();
    let maps = id("", "configmaps");
    let apply = |data: Value| patch(json!({"data": data}), PatchKind::Apply);
    ask(&mut api, maps, "m", apply(json!({"a": "1"}))).unwrap();
    let map = ask(&mut api, maps, "m", apply(json!({"b": "2"}))).unwrap().unwrap();
    assert_eq!(map["data"], json!({"a": "1", "b": "2"}));
    let refusal = ask(&mut api, maps, "lost", patch(json!({}), PatchKind::Merge)).unwrap_err();
    assert_eq!(refusal.message, "configmaps \"lost\" not found");
}

#[test]
fn a_precondition_of_a_deletion_holds_it_up() {
    let mut api = cluster();
    let pods = id("", "pods");
    create(&mut api, pods, pod("a")).unwrap();
    let deletion = Deletion { uid: Some("other".to_owned()), ..Deletion::default() };
    assert_eq!(ask(&mut api, pods, "a", ClientVerb::Delete(deletion)).unwrap_err().code, 409);
    ask(&mut api, pods, "a", ClientVerb::Delete(Deletion::default())).unwrap();
    assert!(api.documents(pods).is_empty());
}
