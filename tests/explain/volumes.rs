//! What is said of the volumes that were tried.

use schedscope::explain::{self, CellPoint};
use schedscope::framework::Code;

use crate::support::world::{node, pod, sandbox};

fn volume(name: &str, size: &str, host: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{capacity: {{storage: {size}}}, \
         accessModes: [ReadWriteOnce], storageClassName: local, local: {{path: /data}}, nodeAffinity: {{required: \
         {{nodeSelectorTerms: [{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{host}]}}]}}]}}}}}}\n\
         status: {{phase: Available}}\n---\n"
    )
}

const CLAIM: &str = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local}\n\
    provisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n---\n\
    apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: local, \
    accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}\n---\n";

#[test]
fn a_cell_tells_which_volumes_were_tried_and_why_each_was_not_taken() {
    let claims = ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]";
    let mut simulator = sandbox(
        &[
            node("a-1", "4"),
            node("b-1", "4"),
            volume("disk-1", "4Gi", "a-1"),
            volume("disk-2", "8Gi", "a-1"),
            volume("disk-3", "6Gi", "a-1"),
            volume("disk-4", "1Gi", "b-1"),
            CLAIM.to_owned(),
            pod("web", "1", "", claims),
        ]
        .concat(),
    );
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    let trace = view.cycle.as_deref().expect("a trace");
    let cell = |node: &str| explain::cell(trace, CellPoint::Filter, node, "VolumeBinding");
    assert_eq!(
        cell("a-1").arithmetic,
        [
            "default/data gets disk-3.",
            "  disk-3 (6Gi) is taken",
            "  disk-2 (8Gi) would do, but a smaller one does too",
            "  disk-1 (4Gi) has 4Gi, the claim requests 5Gi",
            "  disk-4 (1Gi) has 1Gi, the claim requests 5Gi",
        ]
    );
    let refused = cell("b-1");
    assert_eq!(refused.code, Some(Code::UnschedulableAndUnresolvable));
    assert_eq!(
        refused.text(),
        "VolumeBinding answered UnschedulableAndUnresolvable: node(s) didn't find available persistent volumes to \
         bind. Preemption cannot help."
    );
    assert_eq!(
        refused.arithmetic[..2],
        [
            "default/data gets no volume: none of its class will do, and nobody makes volumes of the class.",
            "  disk-2 (8Gi) cannot be reached from this node",
        ]
    );
}

fn zoned(name: &str, zone: &str) -> String {
    node(name, "4").replace(
        "labels: {",
        &format!(
            "labels: {{{}",
            if zone.is_empty() { String::new() } else { format!("topology.kubernetes.io/zone: {zone}, ") }
        ),
    )
}

/// A claim that is bound to a volume of a driver, both with labels of the volume's own.
fn bound(claim: &str, mode: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: pv-{claim}, labels: {{{labels}}}}}\nspec: {{capacity: \
         {{storage: 5Gi}}, accessModes: [{mode}], csi: {{driver: disk.example.com, volumeHandle: h-{claim}}}, claimRef: \
         {{name: {claim}, namespace: default, kind: PersistentVolumeClaim}}}}\nstatus: {{phase: Bound}}\n---\n\
         apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {claim}, annotations: \
         {{pv.kubernetes.io/bind-completed: 'yes'}}}}\nspec: {{volumeName: pv-{claim}, accessModes: [{mode}], resources: \
         {{requests: {{storage: 5Gi}}}}}}\nstatus: {{phase: Bound}}\n---\n"
    )
}

fn claiming(claims: &[&str]) -> String {
    let volumes: Vec<String> = claims
        .iter()
        .map(|claim| format!("{{name: v-{claim}, persistentVolumeClaim: {{claimName: {claim}}}}}"))
        .collect();
    format!(", volumes: [{}]", volumes.join(", "))
}

/// What the next attempt's cell of a plugin says of each node: its code and its lines.
fn cells(objects: &[String], plugin: &str, nodes: &[&str]) -> Vec<(Option<Code>, Vec<String>)> {
    let mut simulator = sandbox(&objects.concat());
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    let trace = view.cycle.as_deref().expect("a trace");
    let cell = |node: &&str| {
        let cell = explain::cell(trace, CellPoint::Filter, node, plugin);
        (cell.code, cell.arithmetic)
    };
    nodes.iter().map(cell).collect()
}

#[test]
fn a_cell_of_volume_zone_sets_the_labels_of_volumes_against_those_of_the_node() {
    let objects = [
        zoned("a-1", "a"),
        zoned("b-1", "b"),
        zoned("c-1", ""),
        node("d-1", "4").replace("labels: {", "labels: {topology.kubernetes.io/region: r, "),
        bound("data", "ReadWriteOnce", "topology.kubernetes.io/zone: a__c"),
        bound("logs", "ReadWriteOnce", "failure-domain.beta.kubernetes.io/zone: a"),
        pod("web", "1", "", &claiming(&["data", "logs"])),
    ];
    let line = |claim: &str, key: &str, wanted: &str, found: &str| {
        format!("Claim default/{claim}, volume pv-{claim}: {key} must be {wanted}; {found}.")
    };
    let (zone, old) = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone");
    let of = |data: &str, logs: &str| vec![line("data", zone, "a or c", data), line("logs", old, "a", logs)];
    let refused = Some(Code::UnschedulableAndUnresolvable);
    let missing = "the node does not have that label";
    assert_eq!(
        cells(&objects, "VolumeZone", &["a-1", "b-1", "c-1", "d-1"]),
        [
            (Some(Code::Success), of("the node has a", "the node has topology.kubernetes.io/zone=a")),
            (refused, of("the node has b", "the node has topology.kubernetes.io/zone=b")),
            (
                Some(Code::Success),
                vec!["The node has no label of a zone or region, so that any volume will do.".to_owned()]
            ),
            (refused, of(missing, missing)),
        ]
    );
}

#[test]
fn a_cell_of_node_volume_limits_adds_up_the_volumes_of_each_driver() {
    let csi_node = |name: &str, count: &str| {
        format!(
            "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {name}}}\nspec: {{drivers: [{{name: \
             disk.example.com, nodeID: {name}{count}}}]}}\n---\n"
        )
    };
    let attached = "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: at}\nspec: {attacher: \
                    disk.example.com, nodeName: a-1, source: {persistentVolumeName: pv-other}}\nstatus: {attached: \
                    true}\n---\n";
    let objects = [
        node("a-1", "4"),
        node("b-1", "4"),
        node("c-1", "4"),
        csi_node("a-1", ", allocatable: {count: 3}"),
        csi_node("b-1", ", allocatable: {count: 3}"),
        csi_node("c-1", ""),
        bound("data", "ReadWriteMany", ""),
        bound("logs", "ReadWriteMany", ""),
        bound("shared", "ReadWriteMany", ""),
        bound("other", "ReadWriteMany", ""),
        attached.to_owned(),
        pod("old", "1", "", &format!(", nodeName: a-1{}", claiming(&["shared"]))),
        pod("web", "1", "", &claiming(&["data", "logs", "shared"])),
    ];
    let allows = |node: &str| format!("which is what CSINode {node} allows");
    let new = |handle: &str| format!("  new: h-{handle}");
    let said = cells(&objects, "NodeVolumeLimits", &["a-1", "b-1", "c-1"]);
    assert_eq!(
        said[0],
        (
            Some(Code::Unschedulable),
            vec![
                format!("disk.example.com: 1 in use + 1 attached besides + 2 new = 4 > 3, {}", allows("a-1")),
                "  1 volume of the pod in use here already".to_owned(),
                new("data"),
                new("logs"),
            ]
        )
    );
    assert_eq!(
        said[1],
        (
            Some(Code::Success),
            vec![
                format!(
                    "disk.example.com: 0 in use + 0 attached besides + 3 new = 3 <= 3, {}",
                    allows("b-1")
                ),
                new("data"),
                new("logs"),
                new("shared"),
            ]
        )
    );
    assert_eq!(
        said[2].1,
        ["disk.example.com: CSINode c-1 sets no limit, and the pod brings 3 volumes".to_owned()]
    );
}

#[test]
fn a_cell_of_volume_restrictions_names_who_has_the_claim_or_the_disk() {
    let objects = [
        node("a-1", "4"),
        node("b-1", "4"),
        bound("data", "ReadWriteOncePod", ""),
        pod("old", "1", "", &format!(", nodeName: a-1{}", claiming(&["data"]))),
        pod("web", "1", "", &claiming(&["data"])),
    ];
    let taken = "Claim default/data is ReadWriteOncePod: pod default/old on a-1 uses it.".to_owned();
    let refused = (Some(Code::Unschedulable), vec![taken]);
    assert_eq!(cells(&objects, "VolumeRestrictions", &["a-1", "b-1"]), [refused.clone(), refused]);

    let disk = |more: &str| format!(", volumes: [{{name: d, rbd: {{monitors: [m], image: img{more}}}}}]");
    let objects = [
        node("a-1", "4"),
        node("b-1", "4"),
        pod("old", "1", "", &format!(", nodeName: a-1{}", disk(""))),
        pod("web", "1", "", &disk(", readOnly: true")),
    ];
    assert_eq!(
        cells(&objects, "VolumeRestrictions", &["a-1", "b-1"]),
        [
            (
                Some(Code::Unschedulable),
                vec![
                    "Volume d, rbd rbd/img: pod default/old on this node has it, and not both only read it."
                        .to_owned()
                ]
            ),
            (Some(Code::Success), Vec::new()),
        ]
    );
}

#[test]
fn unbound_claims_that_do_not_wait_for_the_pod_are_named() {
    let claim = |name: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {{accessModes: \
             [ReadWriteOnce], resources: {{requests: {{storage: 5Gi}}}}{spec}}}\n---\n"
        )
    };
    let class = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: \
                 kubernetes.io/no-provisioner\nvolumeBindingMode: Immediate\n---\n";
    let mut simulator = sandbox(
        &[
            node("a-1", "4"),
            class.to_owned(),
            claim("data", ", storageClassName: fast"),
            claim("logs", ", storageClassName: gone"),
            claim("none", ", storageClassName: ''"),
            claim("named", ", storageClassName: fast, volumeName: pv-9"),
            pod("web", "1", "", &claiming(&["data", "logs", "none", "named"])),
        ]
        .concat(),
    );
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    let trace = view.cycle.as_deref().expect("a trace");
    assert_eq!(
        explain::no_filter(trace),
        "Filter did not run: VolumeBinding had answered at PreFilter for all nodes: pod has unbound immediate \
         PersistentVolumeClaims. Claim default/data has no volume, and its class fast binds at once (Immediate). \
         Claim default/logs has no volume, and its class gone does not exist. Claim default/none has no class and no \
         volume. Claim default/named names volume pv-9, and the binding is not complete."
    );
}
