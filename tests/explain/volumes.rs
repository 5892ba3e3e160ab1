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
