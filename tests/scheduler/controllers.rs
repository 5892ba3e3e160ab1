//! Volumes and devices with their controllers: what a claim goes through until its pod runs, and afterwards.

use schedscope::api::objects::{PersistentVolume, PersistentVolumeClaim, ResourceClaim};
use schedscope::api::{Duration, Kind, NamespacedName};
use schedscope::driver::runner::{PodState, run_to_rest};
use schedscope::driver::sandbox::controllers::Controllers;
use schedscope::driver::sandbox::controllers::device_drivers::DeviceDrivers;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;

use crate::support::world::{apply, drain, events, node_of, pod_of, sandbox};

const SECOND: Duration = Duration::from_secs(1);

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn with_controllers(manifest: &str) -> Simulator {
    sandbox(manifest).with_controllers(Controllers::new(1))
}

/// Makes attempts and lets time go, attempts first.
fn run_for(simulator: &mut Simulator, time: Duration) {
    let end = simulator.now() + time;
    drain(simulator);
    while simulator.next_timeout().is_some_and(|(at, _)| at <= end) {
        simulator.go_to_next_timeout();
        drain(simulator);
    }
    simulator.let_time_go_to(end);
    drain(simulator);
}

fn claim(simulator: &Simulator, name: &str) -> Option<PersistentVolumeClaim> {
    simulator.api().objects().persistent_volume_claims.get(&key(name)).map(|claim| (**claim).clone())
}

fn phase(simulator: &Simulator, name: &str) -> String {
    claim(simulator, name).map(|claim| claim.status.phase).unwrap_or_default()
}

/// The volume that the claim is bound to.
fn volume_of(simulator: &Simulator, name: &str) -> Option<PersistentVolume> {
    let volume = claim(simulator, name)?.spec.volume_name;
    let volumes = &simulator.api().objects().persistent_volumes;
    volumes.get(&NamespacedName::cluster(volume)).map(|volume| (**volume).clone())
}

/// What the controllers have said, `reason object`.
fn deeds(simulator: &Simulator) -> Vec<String> {
    let journal = simulator.controllers().unwrap();
    journal.deeds().iter().map(|deed| format!("{} {}", deed.reason, deed.object.name)).collect()
}

fn delete(simulator: &mut Simulator, kind: Kind, name: &str) -> String {
    let edit = match kind {
        Kind::Pod => Edit::DeletePod(key(name)),
        _ => Edit::Delete { kind, key: key(name) },
    };
    simulator.edit(&edit).unwrap()
}

fn node(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{more}}}}}, \
         status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '10'}}}}}}\n---\n"
    )
}

fn csi_node(name: &str, keys: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {{name: {name}}}, spec: {{drivers: [{{name: \
         csi.example.com, nodeID: {name}, topologyKeys: [{keys}]}}]}}}}\n---\n"
    )
}

/// A class whose volumes take five seconds.
fn class(mode: &str, annotations: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: fast, annotations: \
         {{sandbox.schedscope.dev/provisioning-time: 5s{annotations}}}}}, provisioner: csi.example.com, \
         volumeBindingMode: {mode}}}\n---\n"
    )
}

fn claim_text(name: &str, class: &str, size: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}, namespace: default}}, spec: \
         {{storageClassName: '{class}', accessModes: [ReadWriteOnce], resources: {{requests: {{storage: \
         {size}}}}}}}}}\n---\n"
    )
}

fn volume_text(name: &str, class: &str, size: &str, more: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}}}, spec: {{storageClassName: '{class}', \
         accessModes: [ReadWriteOnce], capacity: {{storage: {size}}}, hostPath: {{path: /x}}{more}}}}}\n---\n"
    )
}

fn pod(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: \
         {{terminationGracePeriodSeconds: 10, containers: [{{name: c, image: i}}], {spec}}}}}\n---\n"
    )
}

fn pod_with_claim(name: &str, claim: &str) -> String {
    pod(name, &format!("volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}]"))
}

const WAIT: &str = "WaitForFirstConsumer";

#[test]
fn a_volume_is_made_where_the_scheduler_has_put_the_pod() {
    let manifest = [
        node("a", ""),
        csi_node("a", "kubernetes.io/hostname"),
        class(WAIT, ""),
        claim_text("data", "fast", "1Gi"),
        pod_with_claim("web", "data"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    run_for(&mut simulator, SECOND);
    assert_eq!(node_of(&simulator, "web"), "", "PreBind waits");
    assert_eq!(deeds(&simulator), ["Provisioning data"]);
    assert_eq!(
        simulator.next_timeout().map(|(_, what)| what.to_string()),
        simulator.scheduler().next_timeout_reason().map(|(_, what)| what.to_string()),
        "the scheduler looks once a second"
    );
    run_for(&mut simulator, 6 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
    assert_eq!(deeds(&simulator), ["Provisioning data", "ProvisioningSucceeded data", "Bound data"]);
    let volume = volume_of(&simulator, "data").unwrap();
    assert_eq!((volume.status.phase.as_str(), phase(&simulator, "data").as_str()), ("Bound", "Bound"));
    let affinity = volume.spec.node_affinity.unwrap().required.unwrap();
    let term = &affinity.node_selector_terms[0].match_expressions[0];
    assert_eq!(
        (term.key.as_str(), term.values.as_slice()),
        ("kubernetes.io/hostname", ["a".to_owned()].as_slice())
    );
    assert_eq!(volume.spec.csi.unwrap().driver.as_ref(), "csi.example.com");
}

#[test]
fn where_space_has_run_out_the_scheduler_chooses_again() {
    let manifest = [
        node("a", ""),
        class(WAIT, ", sandbox.schedscope.dev/provisioning-failures: '1'"),
        claim_text("data", "fast", "1Gi"),
        pod_with_claim("web", "data"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    run_for(&mut simulator, 7 * SECOND);
    assert_eq!(
        events(&simulator),
        [
            "FailedScheduling default/web: running PreBind plugin \"VolumeBinding\": binding volumes: provisioning failed for PVC \"data\""
        ]
    );
    assert_eq!(deeds(&simulator)[..2], ["Provisioning data", "ProvisioningFailed data"]);
    run_for(&mut simulator, 10 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
    assert_eq!(deeds(&simulator)[2..], ["Provisioning data", "ProvisioningSucceeded data", "Bound data"]);
}

#[test]
fn after_any_other_error_the_driver_tries_again_by_itself() {
    let manifest = [
        node("a", ""),
        class(
            WAIT,
            ", sandbox.schedscope.dev/provisioning-failures: '2', sandbox.schedscope.dev/provisioning-error: Internal",
        ),
        claim_text("data", "fast", "1Gi"),
        pod_with_claim("web", "data"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    // 5 s, a pause of 1 s, 5 s, a pause of 2 s, 5 s.
    run_for(&mut simulator, 17 * SECOND);
    assert_eq!((node_of(&simulator, "web").as_str(), phase(&simulator, "data").as_str()), ("", "Pending"));
    run_for(&mut simulator, 3 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
    assert_eq!(events(&simulator).len(), 1, "the pod has never failed: {:?}", events(&simulator));
}

#[test]
fn a_driver_that_always_fails_leaves_the_run_with_an_end() {
    for error in ["ResourceExhausted", "Internal"] {
        let annotations = format!(
            ", sandbox.schedscope.dev/provisioning-failures: always, sandbox.schedscope.dev/provisioning-error: {error}"
        );
        let manifest = [
            node("a", ""),
            class(WAIT, &annotations),
            claim_text("data", "fast", "1Gi"),
            pod_with_claim("web", "data"),
        ];
        let summary = run_to_rest(&mut with_controllers(&manifest.concat()));
        assert_eq!(summary.pods[0].state, PodState::Pending, "{error}");
    }
}

#[test]
fn claims_that_do_not_wait_get_the_smallest_volume_that_fits_or_a_new_one() {
    let manifest = [
        node("a", ""),
        class("Immediate", ""),
        claim_text("small", "", "1Gi"),
        claim_text("new", "fast", "1Gi"),
        volume_text("large", "", "10Gi", ""),
        volume_text("medium", "", "2Gi", ""),
        volume_text("tiny", "", "1Mi", ""),
        pod_with_claim("web", "new"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    assert_eq!(volume_of(&simulator, "small").unwrap().metadata.name.as_ref(), "medium");
    let volumes = &simulator.api().objects().persistent_volumes;
    assert_eq!(volumes[&NamespacedName::cluster("tiny")].status.phase, "Available");
    run_for(&mut simulator, SECOND);
    assert_eq!(
        events(&simulator),
        [
            "FailedScheduling default/web: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        ]
    );
    run_for(&mut simulator, 10 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
}

#[test]
fn a_volume_that_is_reserved_for_a_claim_waits_for_it() {
    let reserved = ", claimRef: {kind: PersistentVolumeClaim, namespace: default, name: late}";
    let manifest = [
        node("a", ""),
        volume_text("mine", "", "10Gi", reserved),
        volume_text("free", "", "1Gi", ""),
        claim_text("early", "", "1Gi"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    assert_eq!(volume_of(&simulator, "early").unwrap().metadata.name.as_ref(), "free");
    apply(&mut simulator, &claim_text("late", "", "1Gi"));
    assert_eq!(volume_of(&simulator, "late").unwrap().metadata.name.as_ref(), "mine");
}

#[test]
fn the_binding_that_the_scheduler_begins_is_finished() {
    let reach = ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, \
                 operator: In, values: [b]}]}]}}";
    let class = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: \
                 kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n---\n";
    let manifest = [
        node("a", ""),
        node("b", ""),
        class.to_owned(),
        volume_text("disk", "local", "1Gi", reach),
        claim_text("data", "local", "1Gi"),
        pod_with_claim("web", "data"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    assert_eq!(phase(&simulator, "data"), "Pending", "nobody binds it before the pod has a node");
    run_for(&mut simulator, 2 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "b");
    assert_eq!(volume_of(&simulator, "data").unwrap().metadata.name.as_ref(), "disk");
    assert_eq!(deeds(&simulator), ["Bound data"]);
    // Without a person the data stay.
    delete(&mut simulator, Kind::Pod, "web");
    run_for(&mut simulator, 11 * SECOND);
    assert_eq!(
        delete(&mut simulator, Kind::PersistentVolumeClaim, "data"),
        "persistentvolumeclaim \"data\" deleted"
    );
    let volumes = &simulator.api().objects().persistent_volumes;
    assert_eq!(volumes[&NamespacedName::cluster("disk")].status.phase, "Released");
}

#[test]
fn space_goes_down_with_every_volume_and_comes_back() {
    let driver = "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.example.com}, spec: \
                  {storageCapacity: true}}\n---\n";
    let capacity = "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: here, namespace: \
                    default}, storageClassName: fast, nodeTopology: {}, capacity: 3Gi}\n---\n";
    let manifest = [
        node("a", ""),
        class(WAIT, ""),
        driver.to_owned(),
        capacity.to_owned(),
        claim_text("one", "fast", "2Gi"),
        claim_text("two", "fast", "2Gi"),
        pod_with_claim("first", "one"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    let left = |simulator: &Simulator| {
        let capacities = &simulator.api().objects().csi_storage_capacities;
        capacities[&key("here")].capacity.unwrap().to_string()
    };
    run_for(&mut simulator, 7 * SECOND);
    assert_eq!((node_of(&simulator, "first").as_str(), left(&simulator).as_str()), ("a", "1Gi"));
    apply(&mut simulator, &pod_with_claim("second", "two"));
    run_for(&mut simulator, SECOND);
    assert_eq!(
        events(&simulator)[1..],
        [
            "FailedScheduling default/second: 0/1 nodes are available: 1 node(s) did not have enough free storage. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        ]
    );
    delete(&mut simulator, Kind::Pod, "first");
    assert_eq!(
        delete(&mut simulator, Kind::PersistentVolumeClaim, "one"),
        "persistentvolumeclaim \"one\" is being deleted"
    );
    run_for(&mut simulator, 30 * SECOND);
    assert_eq!(claim(&simulator, "one"), None);
    assert_eq!((node_of(&simulator, "second").as_str(), left(&simulator).as_str()), ("a", "1Gi"));
}

#[test]
fn an_ephemeral_volume_lives_as_long_as_its_pod() {
    let template = "{metadata: {labels: {app: web}}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], \
                    resources: {requests: {storage: 1Gi}}}}";
    let volume = format!("volumes: [{{name: scratch, ephemeral: {{volumeClaimTemplate: {template}}}}}]");
    let mut simulator = with_controllers(&[node("a", ""), class(WAIT, ""), pod("web", &volume)].concat());
    run_for(&mut simulator, 7 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
    let made = claim(&simulator, "web-scratch").unwrap();
    assert_eq!(made.metadata.controller().unwrap().uid, "pod/default/web");
    assert_eq!(made.metadata.labels.len(), 1);
    delete(&mut simulator, Kind::Pod, "web");
    run_for(&mut simulator, 9 * SECOND);
    assert!(claim(&simulator, "web-scratch").is_some(), "the pod is still there");
    run_for(&mut simulator, 2 * SECOND);
    assert_eq!(claim(&simulator, "web-scratch"), None);
    assert!(simulator.api().objects().persistent_volumes.is_empty(), "it was made for the claim");
}

#[test]
fn a_claim_in_use_stays_until_its_last_pod_has_gone() {
    let manifest = [
        node("a", ""),
        volume_text("disk", "", "1Gi", ""),
        claim_text("data", "", "1Gi"),
        pod_with_claim("one", "data"),
        pod_with_claim("two", "data"),
    ];
    let mut simulator = with_controllers(&manifest.concat());
    run_for(&mut simulator, SECOND);
    assert_eq!((node_of(&simulator, "one"), node_of(&simulator, "two")), ("a".to_owned(), "a".to_owned()));
    assert_eq!(
        delete(&mut simulator, Kind::PersistentVolumeClaim, "data"),
        "persistentvolumeclaim \"data\" is being deleted"
    );
    apply(&mut simulator, &pod_with_claim("late", "data"));
    delete(&mut simulator, Kind::Pod, "one");
    run_for(&mut simulator, 15 * SECOND);
    assert!(claim(&simulator, "data").unwrap().metadata.deletion_timestamp.is_some());
    assert!(
        events(&simulator).last().unwrap().starts_with(
            "FailedScheduling default/late: 0/1 nodes are available: persistentvolumeclaim \"data\" is being deleted."
        ),
        "{:?}",
        events(&simulator)
    );
    delete(&mut simulator, Kind::Pod, "two");
    run_for(&mut simulator, 15 * SECOND);
    assert_eq!(claim(&simulator, "data"), None, "a pod without a node does not count");
}

const DRIVERS: &str = "
- driver: gpu.example.com
  nodeSelector: {matchLabels: {gpu: 'yes'}}
  devices:
  - {name: gpu, count: 2, attributes: {model: {string: a100}}, capacity: {memory: {value: 40Gi}}}
";

const DEVICES: &str = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: \
                       [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}}\n---\n\
                       {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one-gpu, \
                       namespace: default}, spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: \
                       gpu, allocationMode: ExactCount, count: 2}}]}}}}\n---\n";

fn with_devices(manifest: &str) -> Simulator {
    let controllers = Controllers::new(1).with_drivers(DeviceDrivers::parse(DRIVERS).unwrap());
    sandbox(manifest).with_controllers(controllers)
}

fn resource_claims(simulator: &Simulator) -> Vec<ResourceClaim> {
    simulator.api().objects().resource_claims.values().map(|claim| (**claim).clone()).collect()
}

fn device_pod(name: &str) -> String {
    pod(name, "resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]")
}

#[test]
fn devices_of_a_template_go_from_pod_to_pod() {
    let manifest = [node("a", ", gpu: 'yes'"), node("b", ""), DEVICES.to_owned(), device_pod("first")];
    let mut simulator = with_devices(&manifest.concat());
    run_for(&mut simulator, 2 * SECOND);
    assert_eq!(node_of(&simulator, "first"), "a");
    let claims = resource_claims(&simulator);
    assert!(claims[0].metadata.name.starts_with("first-g-"), "{}", claims[0].metadata.name);
    assert_eq!(claims[0].status.allocation.as_ref().unwrap().devices.results.len(), 2);
    assert_eq!(claims[0].status.reserved_for[0].name.as_ref(), "first");
    let status = &pod_of(&simulator, "first").unwrap().status.resource_claim_statuses[0];
    assert_eq!(status.resource_claim_name.as_deref(), Some(claims[0].metadata.name.as_ref()));
    apply(&mut simulator, &device_pod("second"));
    run_for(&mut simulator, 5 * SECOND);
    assert_eq!(node_of(&simulator, "second"), "", "both devices are taken");
    delete(&mut simulator, Kind::Pod, "first");
    run_for(&mut simulator, 20 * SECOND);
    assert_eq!(node_of(&simulator, "second"), "a");
    assert_eq!(resource_claims(&simulator).len(), 1, "the claim of the first pod went with it");
}

#[test]
fn a_claim_of_its_own_is_deallocated_with_its_last_pod() {
    let shared = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared, namespace: default}, \
                  spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}}\n---\n";
    let user = |name: &str| pod(name, "resourceClaims: [{name: g, resourceClaimName: shared}]");
    let manifest =
        [node("a", ", gpu: 'yes'"), DEVICES.to_owned(), shared.to_owned(), user("one"), user("two")];
    let mut simulator = with_devices(&manifest.concat());
    run_for(&mut simulator, 2 * SECOND);
    let state = |simulator: &Simulator| {
        let claim = &resource_claims(simulator)[0];
        (claim.status.allocation.is_some(), claim.status.reserved_for.len(), claim.metadata.finalizers.len())
    };
    assert_eq!(state(&simulator), (true, 2, 1));
    delete(&mut simulator, Kind::Pod, "one");
    run_for(&mut simulator, 11 * SECOND);
    assert_eq!(state(&simulator), (true, 1, 1));
    delete(&mut simulator, Kind::Pod, "two");
    run_for(&mut simulator, 11 * SECOND);
    assert_eq!(state(&simulator), (false, 0, 0));
}

#[test]
fn a_pod_waits_for_its_template() {
    let (class, template) = DEVICES.split_once("---\n").unwrap();
    let manifest = [node("a", ", gpu: 'yes'"), format!("{class}---\n"), device_pod("web")];
    let mut simulator = with_devices(&manifest.concat());
    run_for(&mut simulator, 2 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "");
    assert!(deeds(&simulator).contains(&"FailedResourceClaimCreation web".to_owned()));
    apply(&mut simulator, template);
    run_for(&mut simulator, 5 * SECOND);
    assert_eq!(node_of(&simulator, "web"), "a");
}

#[test]
fn slices_follow_the_labels_of_their_nodes() {
    let mut simulator = with_devices(&[node("a", ", gpu: 'yes'"), node("b", "")].concat());
    let slices = |simulator: &Simulator| {
        let slices = simulator.api().objects().resource_slices.values();
        slices.map(|slice| (slice.metadata.name.to_string(), slice.spec.devices.len())).collect::<Vec<_>>()
    };
    let of = |node: &str| (format!("{node}-gpu.example.com-0"), 2);
    assert_eq!(slices(&simulator), [of("a")]);
    let label = |node: &str, label: &str| Edit::Label { node: node.into(), label: label.to_owned() };
    simulator.edit(&label("b", "gpu=yes")).unwrap();
    simulator.edit(&label("a", "gpu-")).unwrap();
    assert_eq!(slices(&simulator), [of("b")]);
    simulator.edit(&Edit::DeleteNode("b".into())).unwrap();
    assert_eq!(slices(&simulator), []);
}

#[test]
fn files_of_drivers_are_read_strictly() {
    let wrong = |text: &str| DeviceDrivers::parse(text).unwrap_err().to_string();
    assert!(wrong("- driver: d\n").contains("devices"));
    assert!(wrong("- {driver: d, devices: [], nodes: all}").contains("nodes"));
    assert_eq!(wrong("- {driver: d, devices: [{name: x}, {name: x}]}"), "[0] d: there are two devices x");
    assert_eq!(wrong("- {driver: d, devices: [{count: 2}, {}]}"), "[0] d: a device has no name");
    assert!(DeviceDrivers::parse("[]").is_ok());
}

#[test]
fn one_seed_gives_one_course_of_events() {
    let manifest = [
        node("a", ""),
        class(WAIT, "").replace("sandbox.schedscope.dev/provisioning-time: 5s", ""),
        claim_text("one", "fast", "1Gi"),
        claim_text("two", "fast", "1Gi"),
        pod_with_claim("web", "one"),
        pod_with_claim("api", "two"),
    ];
    let course = |seed: u64| {
        let mut simulator = sandbox(&manifest.concat()).with_controllers(Controllers::new(seed));
        run_for(&mut simulator, 10 * SECOND);
        let journal = simulator.controllers().unwrap().deeds();
        journal.iter().map(|deed| (deed.at, deed.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(course(1), course(1));
    assert_ne!(course(1), course(2), "volumes take other times");
    assert_eq!(course(1).len(), 6);
}
