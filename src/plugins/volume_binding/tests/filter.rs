//! PreFilter and Filter.

use super::super::binder::{BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING};
use super::*;
use crate::framework::Code;

/// What PreFilter turns the pod down with.
fn refused(bench: &Bench, pod: &PodInfo) -> (Code, String) {
    let status = bench.begin(pod).unwrap_err();
    (status.code(), status.message())
}

#[test]
fn a_pod_without_claims_passes_all_points_with_nothing_to_do() {
    let bench = Bench::new("");
    let pod = pod_info(
        "{metadata: {name: p}, spec: {volumes: [{name: tmp, emptyDir: {}}, {name: c, csi: {driver: d}}]}}",
    );
    let (handle, plugin, mut state) = (bench.world.handle(), &bench.plugin, CycleState::new());
    let (_, status) = plugin.pre_filter(&handle, &mut state, &pod, &[]);
    assert_eq!((status.code(), status.message()), (Code::Skip, String::new()));
    assert_eq!(plugin.pre_score(&handle, &mut state, &pod, &[]).code(), Code::Skip);
    let node = Str::from("a");
    assert!(plugin.reserve(&handle, &mut state, &pod, &node).is_success());
    let (result, status) = plugin.pre_bind_pre_flight(&handle, &mut state, &pod, &node);
    assert_eq!((result.allow_parallel, status.code()), (true, Code::Skip));
}

#[test]
fn without_its_pre_filter_it_has_nothing_to_go_by() {
    let bench = Bench::with_gates("", "StorageCapacityScoring=true");
    let (handle, plugin, mut state) = (bench.world.handle(), &bench.plugin, CycleState::new());
    let (pod, node) = (pod(&[]), Arc::clone(&bench.world.snapshot.list()[0]));
    let answer = |status: Status| (status.code(), status.message());
    let not_found = (Code::Error, "not found".to_owned());
    assert_eq!(answer(plugin.filter(&handle, &state, &pod, &node)), not_found);
    assert_eq!(answer(plugin.pre_score(&handle, &mut state, &pod, &[])), not_found);
    assert_eq!(answer(plugin.score(&handle, &state, &pod, &node).unwrap_err()), not_found);
    assert_eq!(answer(plugin.reserve(&handle, &mut state, &pod, &"a".into())), not_found);
}

#[test]
fn a_claim_that_is_not_in_order_turns_the_pod_down_everywhere() {
    let lost = claim("lost", "local", "1Gi", ", volumeName: gone").replace("phase: Pending", "phase: Lost");
    let going = claim("going", "local", "1Gi", "")
        .replace("uid: uid-going", "uid: u, deletionTimestamp: '2026-01-01T00:00:00Z'");
    let bench = Bench::new(&format!("{lost}{going}{}", claim("early", "now", "1Gi", "")));
    for (name, text) in [
        ("none", "persistentvolumeclaim \"none\" not found"),
        ("lost", "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\""),
        ("going", "persistentvolumeclaim \"going\" is being deleted"),
        ("early", "pod has unbound immediate PersistentVolumeClaims"),
    ] {
        assert_eq!(refused(&bench, &pod(&[name])), (Code::UnschedulableAndUnresolvable, text.to_owned()));
    }
}

#[test]
fn an_ephemeral_claim_must_be_the_pods_own() {
    let owner = |uid: &str| {
        format!("uid: u, ownerReferences: [{{kind: Pod, name: p, uid: {uid}, controller: true}}]")
    };
    let own = claim("p-own", "fast", "1Gi", "").replace("uid: uid-p-own", &owner("p"));
    let other = claim("p-other", "fast", "1Gi", "").replace("uid: uid-p-other", &owner("q"));
    let bench = Bench::new(&format!("{own}{other}"));
    let pod = |volume: &str| {
        pod_info(&format!(
            "{{metadata: {{name: p, namespace: default}}, spec: {{volumes: [{{name: {volume}, ephemeral: {{}}}}]}}}}"
        ))
    };
    assert_eq!(bench.filter(&pod("own")), by_node(&[("a", ""), ("b", "")]));
    let refused = |volume: &str| refused(&bench, &pod(volume)).1;
    assert_eq!(refused("other"), "PVC default/p-other was not created for pod default/p (pod is not owner)");
    assert_eq!(
        refused("late"),
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-late\""
    );
}

#[test]
fn a_class_that_is_not_there_or_a_volume_that_is_named_binds_at_once() {
    let named = claim("named", "local", "1Gi", ", volumeName: v");
    let bench = Bench::new(&format!("{named}{}", claim("unknown", "gone", "1Gi", "")));
    for name in ["named", "unknown"] {
        assert_eq!(refused(&bench, &pod(&[name])).1, "pod has unbound immediate PersistentVolumeClaims");
    }
}

#[test]
fn a_bound_volume_keeps_its_pod_where_it_can_be_reached() {
    let bench = Bench::new(&format!(
        "{}{}{}",
        volume("v", "1Gi", "east", ""),
        bound("data", "v"),
        bound("gone", "no-such-volume")
    ));
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", ""), ("b", NODE_CONFLICT)]));
    assert_eq!(bench.filter(&pod(&["gone"])), by_node(&[("a", VOLUME_MISSING), ("b", VOLUME_MISSING)]));
    // The first claim that fails ends the look at the bound ones.
    assert_eq!(
        bench.filter(&pod(&["data", "gone"])),
        by_node(&[("a", VOLUME_MISSING), ("b", NODE_CONFLICT)])
    );
}

#[test]
fn reasons_stand_in_upstreams_order() {
    let bench = Bench::new(&format!(
        "{}{}{}",
        volume("v", "1Gi", "east", ""),
        bound("data", "v"),
        claim("new", "local", "5Gi", "")
    ));
    let both = format!("{NODE_CONFLICT}, {BIND_CONFLICT}");
    assert_eq!(bench.filter(&pod(&["new", "data"])), by_node(&[("a", BIND_CONFLICT), ("b", &both)]));
}

#[test]
fn a_claim_takes_a_volume_that_has_all_it_asks_for() {
    let fits = |volumes: &str, more: &str| {
        let bench = Bench::new(&format!("{volumes}{}", claim("data", "local", "5Gi", more)));
        bench.filter(&pod(&["data"])) == by_node(&[("a", ""), ("b", BIND_CONFLICT)])
    };
    let usual = |more: &str| volume("v", "5Gi", "east", more);
    assert!(fits(&usual(""), ""));
    assert!(!fits(&volume("v", "4Gi", "east", ""), ""), "size");
    assert!(!fits(&usual(", volumeMode: Block"), ""), "mode");
    assert!(fits(&usual(", volumeMode: Block"), ", volumeMode: Block"));
    assert!(!fits(&usual(", volumeAttributesClassName: gold"), ""), "attributes");
    assert!(fits(&usual(", volumeAttributesClassName: gold"), ", volumeAttributesClassName: gold"));
    assert!(!fits(&usual(""), ", selector: {matchLabels: {tier: x}}"), "selector");
    let labelled = usual("").replace("{name: v}", "{name: v, labels: {tier: x}}");
    assert!(fits(&labelled, ", selector: {matchLabels: {tier: x}}"));
    assert!(!fits(&usual("").replace("[ReadWriteOnce]", "[ReadOnlyMany]"), ""), "access modes");
    assert!(!fits(&usual("").replace("Available", "Released"), ""), "phase");
    let going = usual("").replace("{name: v}", "{name: v, deletionTimestamp: '2026-01-01T00:00:00Z'}");
    assert!(!fits(&going, ""), "deletion");
    assert!(!fits(&usual("").replace("local", "other"), ""), "class");
    let annotated = usual("").replace("local", "other");
    let annotation = "{name: v, annotations: {volume.beta.kubernetes.io/storage-class: local}}";
    assert!(fits(&annotated.replace("{name: v}", annotation), ""), "the annotation counts first");
    assert!(!fits(&usual(", claimRef: {namespace: default, name: other}"), ""), "another claim's");
    assert!(fits(&usual(", claimRef: {namespace: default, name: data}"), ""), "reserved");
    assert!(
        !fits(&usual(", claimRef: {namespace: default, name: data, uid: older}"), ""),
        "an earlier claim's"
    );
}

#[test]
fn a_selector_that_cannot_be_parsed_is_an_error() {
    let selector = ", selector: {matchExpressions: [{key: tier, operator: Near}]}";
    let bench = Bench::new(&claim("data", "local", "1Gi", selector));
    let text = "error creating internal label selector for claim: default/data: \"Near\" is not a valid label selector operator";
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", text), ("b", text)]));
}

#[test]
fn a_reserved_volume_is_taken_or_none() {
    let reserved = volume("big", "50Gi", "west", ", claimRef: {namespace: default, name: data}");
    let bench = Bench::new(&format!(
        "{reserved}{}{}",
        volume("small", "5Gi", "east", ""),
        claim("data", "local", "5Gi", "")
    ));
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", BIND_CONFLICT), ("b", "")]));
}

#[test]
fn claims_of_one_pod_do_not_share_a_volume_and_the_smallest_comes_first() {
    let bench = Bench::new(&format!(
        "{}{}{}{}{}",
        volume("v5", "5Gi", "east", ""),
        volume("v9", "9Gi", "east", ""),
        claim("large", "local", "8Gi", ""),
        claim("small", "local", "1Gi", ""),
        claim("third", "local", "1Gi", "")
    ));
    assert_eq!(bench.filter(&pod(&["large", "small"])), by_node(&[("a", ""), ("b", BIND_CONFLICT)]));
    let all = pod(&["large", "small", "third"]);
    assert_eq!(bench.filter(&all), by_node(&[("a", BIND_CONFLICT), ("b", BIND_CONFLICT)]));
    bench.reserve(&pod(&["large", "small"]), "a");
    let taken = |name: &str| {
        bench.world.states.read(|state: &VolumeState| {
            let assumed = state.assumed("default-scheduler");
            let volume = assumed.volume(&state.known.volume(name).unwrap().volume);
            volume.spec.claim_ref.as_ref().unwrap().name.to_string()
        })
    };
    assert_eq!((taken("v5"), taken("v9")), (Some("small".to_owned()), Some("large".to_owned())));
}

#[test]
fn volumes_are_made_where_the_class_allows_it() {
    let class = |terms: &str| {
        format!(
            "---\n{{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {{name: there}}, provisioner: x, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: {terms}}}\n{}",
            claim("data", "there", "1Gi", "")
        )
    };
    let filter = |terms: &str| Bench::new(&class(terms)).filter(&pod(&["data"]));
    let east = "{matchLabelExpressions: [{key: zone, values: [east]}]}";
    assert_eq!(filter("[]"), by_node(&[("a", ""), ("b", "")]));
    assert_eq!(filter(&format!("[{east}]")), by_node(&[("a", ""), ("b", BIND_CONFLICT)]));
    let neither = by_node(&[("a", BIND_CONFLICT), ("b", BIND_CONFLICT)]);
    assert_eq!(filter("[{matchLabelExpressions: []}]"), neither, "an empty term matches nothing");
    assert_eq!(
        filter("[{matchLabelExpressions: [{key: zone, values: []}]}]"),
        neither,
        "nor does an invalid one"
    );
    assert_eq!(filter(&format!("[{{}}, {east}]")), by_node(&[("a", ""), ("b", BIND_CONFLICT)]));
}

/// A driver that tells its capacity, and capacities.
fn with_capacities(capacities: &[&str]) -> Bench {
    let mut text = "---\n{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: csi.example.com}, spec: {storageCapacity: true}}\n".to_owned();
    for (i, capacity) in capacities.iter().enumerate() {
        text += &format!(
            "---\n{{kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {{name: c{i}}}, storageClassName: fast, {capacity}}}\n"
        );
    }
    Bench::new(&(text + &claim("data", "fast", "5Gi", "")))
}

#[test]
fn there_must_be_room_where_the_driver_tells_of_it() {
    let filter = |capacities: &[&str]| with_capacities(capacities).filter(&pod(&["data"]));
    let neither = by_node(&[("a", NOT_ENOUGH_SPACE), ("b", NOT_ENOUGH_SPACE)]);
    let in_east = by_node(&[("a", ""), ("b", NOT_ENOUGH_SPACE)]);
    assert_eq!(filter(&[]), neither);
    assert_eq!(filter(&["nodeTopology: {matchLabels: {zone: east}}, capacity: 5Gi"]), in_east);
    assert_eq!(filter(&["nodeTopology: {}, capacity: 5Gi"]), by_node(&[("a", ""), ("b", "")]));
    assert_eq!(filter(&["capacity: 50Gi"]), neither, "no topology means nowhere");
    assert_eq!(filter(&["nodeTopology: {}, capacity: 4Gi"]), neither);
    assert_eq!(filter(&["nodeTopology: {}"]), neither, "a capacity that is not known is none");
    assert_eq!(filter(&["nodeTopology: {}, capacity: 50Gi, maximumVolumeSize: 4Gi"]), neither);
    assert_eq!(
        filter(&["nodeTopology: {}, capacity: 1Gi, maximumVolumeSize: 5Gi"]),
        by_node(&[("a", ""), ("b", "")])
    );
    let invalid = "nodeTopology: {matchExpressions: [{key: zone, operator: Near}]}, capacity: 50Gi";
    assert_eq!(filter(&[invalid]), neither);
}

#[test]
fn nobody_asks_for_room_without_a_driver_or_without_a_size() {
    let bench = Bench::new(&claim("data", "fast", "5Gi", ""));
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", ""), ("b", "")]));
    let mut bench = with_capacities(&[]);
    let mut claim = bench.claim("data");
    claim.spec.resources.requests.clear();
    bench.put(claim.into());
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", ""), ("b", "")]));
}

#[test]
fn a_selected_node_is_kept() {
    let selected = claim("data", "fast", "5Gi", "")
        .replace("uid: uid-data", "uid: u, annotations: {volume.kubernetes.io/selected-node: b}");
    let bench = Bench::new(&selected);
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", BIND_CONFLICT), ("b", "")]));
}

#[test]
fn an_in_tree_volume_is_translated_where_the_node_has_gone_over() {
    let disk = |id: &str| {
        format!(
            "---\n{{kind: PersistentVolume, apiVersion: v1, metadata: {{name: v, labels: {{topology.kubernetes.io/zone: z1}}}}, spec: {{awsElasticBlockStore: {{volumeID: '{id}'}}}}}}\n{}",
            bound("data", "v")
        )
    };
    let csi_node = "---\n{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {name: b, annotations: {storage.alpha.kubernetes.io/migrated-plugins: 'kubernetes.io/gce-pd,kubernetes.io/aws-ebs'}}}\n";
    let bench = Bench::new(&format!("{}{csi_node}", disk("vol-1")));
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", ""), ("b", NODE_CONFLICT)]));
    let bench = Bench::new(&format!("{}{csi_node}", disk("aws://z1/disk")));
    let error = "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z1/disk)";
    assert_eq!(bench.filter(&pod(&["data"])), by_node(&[("a", ""), ("b", error)]));
}
