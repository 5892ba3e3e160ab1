//! Which events wake a pod.

use super::super::super::fixtures;
use super::*;
use crate::api::manifest::{Source, load};
use crate::framework::QueueingHint;

fn object(yaml: &str) -> Object {
    load(&[Source { name: "test".to_owned(), text: yaml.to_owned() }]).unwrap().objects.remove(0)
}

/// Whether a change wakes a pod with these volumes.
fn wakes(event: &str, volumes: &str, old: &str, new: &str) -> Result<bool, String> {
    let bench = Bench::new("");
    let pod = fixtures::pod(&format!(
        "{{metadata: {{name: p, namespace: default}}, spec: {{volumes: {volumes}}}}}"
    ));
    let events = bench.plugin.events_to_register();
    let position = events.iter().position(|one| one.event.resource.as_str() == event).unwrap();
    let (old, new) = ((!old.is_empty()).then(|| object(old)), object(new));
    let hint = fixtures::hint(&bench.plugin, position, &pod, old.as_ref(), Some(&new))?;
    Ok(hint == QueueingHint::Queue)
}

const CLAIM: &str = "[{name: v, persistentVolumeClaim: {claimName: data}}]";

#[test]
fn it_listens_to_seven_kinds_of_objects() {
    use crate::framework::{ActionType, EventResource};
    let (add, update) = (ActionType::ADD, ActionType::UPDATE);
    let events = Bench::new("").plugin.events_to_register();
    let events: Vec<_> = events
        .iter()
        .map(|one| (one.event.resource, one.event.action_type, one.queueing_hint_fn.is_some()))
        .collect();
    assert_eq!(
        events,
        [
            (EventResource::StorageClass, add | update, true),
            (EventResource::PersistentVolumeClaim, add | update, true),
            (EventResource::PersistentVolume, add | update, false),
            (EventResource::Node, add | ActionType::UPDATE_NODE_LABEL, false),
            (EventResource::CsiNode, add | update, true),
            (EventResource::CsiDriver, update, true),
            (EventResource::CsiStorageCapacity, add | update, true),
        ]
    );
}

#[test]
fn a_claim_wakes_the_pods_that_use_it() {
    let claim = |namespace: &str, name: &str| {
        format!(
            "{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, namespace: {namespace}}}}}"
        )
    };
    let wakes = |volumes: &str, new: &str| wakes("PersistentVolumeClaim", volumes, "", new);
    assert_eq!(wakes(CLAIM, &claim("default", "data")), Ok(true));
    assert_eq!(wakes(CLAIM, &claim("default", "other")), Ok(false));
    assert_eq!(wakes(CLAIM, &claim("elsewhere", "data")), Ok(false));
    assert_eq!(wakes("[{name: v, ephemeral: {}}]", &claim("default", "p-v")), Ok(true));
    assert!(wakes(CLAIM, "{kind: Node, apiVersion: v1, metadata: {name: n1}}").is_err());
}

#[test]
fn a_class_wakes_when_it_is_new_or_its_topologies_change() {
    let class = |more: &str| {
        format!(
            "{{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {{name: s}}, provisioner: p{more}}}"
        )
    };
    let wakes = |old: &str, new: &str| wakes("storage.k8s.io/StorageClass", CLAIM, old, new);
    assert_eq!(wakes("", &class("")), Ok(true));
    assert_eq!(wakes(&class(""), &class(", reclaimPolicy: Retain")), Ok(false));
    assert_eq!(wakes(&class(""), &class(", allowedTopologies: []")), Ok(false));
    let topologies = ", allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]";
    assert_eq!(wakes(&class(""), &class(topologies)), Ok(true));
}

#[test]
fn a_capacity_wakes_when_it_is_new_or_larger() {
    let capacity = |more: &str| {
        format!(
            "{{kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {{name: c}}, storageClassName: s{more}}}"
        )
    };
    let wakes = |old: &str, new: &str| {
        let old = if old == "-" { String::new() } else { capacity(old) };
        wakes("storage.k8s.io/CSIStorageCapacity", CLAIM, &old, &capacity(new))
    };
    assert_eq!(wakes("-", ""), Ok(true));
    assert_eq!(wakes("", ""), Ok(false));
    assert_eq!(wakes("", ", capacity: 1Gi"), Ok(true));
    assert_eq!(wakes(", capacity: 1Gi", ", capacity: 2Gi"), Ok(true));
    assert_eq!(wakes(", capacity: 1Gi", ", capacity: 1024Mi"), Ok(false));
    assert_eq!(wakes(", capacity: 2Gi", ", capacity: 9Gi, maximumVolumeSize: 1Gi"), Ok(false));
    assert_eq!(wakes(", capacity: 2Gi", ""), Ok(false));
}

#[test]
fn a_node_wakes_when_other_plugins_have_gone_over() {
    let node = |plugins: &str| {
        format!(
            "{{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {{name: n1, annotations: {{storage.alpha.kubernetes.io/migrated-plugins: '{plugins}'}}}}}}"
        )
    };
    let wakes = |old: &str, new: &str| wakes("storage.k8s.io/CSINode", CLAIM, old, new);
    assert_eq!(wakes("", &node("")), Ok(true));
    assert_eq!(wakes(&node("x"), &node("x")), Ok(false));
    assert_eq!(wakes(&node("x"), &node("x,y")), Ok(true));
    let bare = "{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {name: n1}}";
    assert_eq!(wakes(bare, &node("")), Ok(false));
}

#[test]
fn a_driver_wakes_pods_with_inline_volumes_of_it_when_it_stops_telling_its_capacity() {
    let driver = |capacity: &str| {
        format!(
            "{{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {{name: d}}, spec: {{storageCapacity: {capacity}}}}}"
        )
    };
    let wakes = |volumes: &str, old: &str, new: &str| {
        wakes("storage.k8s.io/CSIDriver", volumes, &driver(old), &driver(new))
    };
    let inline = "[{name: v, csi: {driver: d}}]";
    assert_eq!(wakes(inline, "true", "false"), Ok(true));
    assert_eq!(wakes(inline, "true", "null"), Ok(true));
    assert_eq!(wakes(inline, "false", "true"), Ok(false));
    assert_eq!(wakes("[{name: v, csi: {driver: e}}]", "true", "false"), Ok(false));
    assert_eq!(wakes(CLAIM, "true", "false"), Ok(false), "whatever its claims");
}
