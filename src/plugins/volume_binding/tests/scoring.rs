//! Scores, which only the gate StorageCapacityScoring brings.

use super::*;

fn scores(bench: &Bench, pod: &PodInfo) -> Vec<i64> {
    let handle = bench.world.handle();
    let mut state = bench.begin(pod).unwrap();
    assert!(bench.plugin.pre_score(&handle, &mut state, pod, &[]).is_success());
    let score = |node: &Arc<NodeInfo>| bench.plugin.score(&handle, &state, pod, node).unwrap();
    bench.world.snapshot.list().iter().map(score).collect()
}

const GATE: &str = "StorageCapacityScoring=true";

/// The usual shape prefers nodes whose storage is used least.
#[test]
fn volumes_that_are_there_score_by_how_much_of_them_is_asked_for() {
    let bench = Bench::with_gates(
        &format!(
            "{}{}{}",
            volume("east", "10Gi", "east", ""),
            volume("west", "5Gi", "west", ""),
            claim("data", "local", "4Gi", "")
        ),
        GATE,
    );
    assert_eq!(scores(&bench, &pod(&["data"])), [60, 20]);
    assert_eq!(scores(&bench, &pod(&[])), [0, 0]);
}

#[test]
fn volumes_that_are_made_score_by_the_room_there_is() {
    let capacity = |name: &str, zone: &str, size: &str| {
        format!(
            "---\n{{kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {{name: {name}}}, storageClassName: fast, nodeTopology: {{matchLabels: {{zone: {zone}}}}}, capacity: {size}}}\n"
        )
    };
    let driver = "---\n{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: csi.example.com}, spec: {storageCapacity: true}}\n";
    let bench = Bench::with_gates(
        &format!(
            "{driver}{}{}{}{}",
            capacity("e", "east", "100Gi"),
            capacity("w", "west", "20Gi"),
            claim("one", "fast", "10Gi", ""),
            claim("two", "fast", "5Gi", "")
        ),
        GATE,
    );
    assert_eq!(scores(&bench, &pod(&["one", "two"])), [85, 25]);
}

#[test]
fn where_nobody_asks_for_room_there_is_no_score() {
    let bench = Bench::with_gates(&claim("data", "fast", "1Gi", ""), GATE);
    assert_eq!(scores(&bench, &pod(&["data"])), [0, 0]);
}
