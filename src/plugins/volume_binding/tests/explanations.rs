//! The evidence for a person.

use super::super::explain::ClaimOutcome;
use super::*;

/// What becomes of each claim on a node, and of each volume that was tried.
fn explained(bench: &Bench, pod: &PodInfo, node: &str) -> Vec<String> {
    let node = bench.world.snapshot.get(node).and_then(|info| info.node()).unwrap();
    let explained = explain_match(&bench.begin(pod).unwrap(), node).unwrap();
    let mut lines = Vec::new();
    for claim in explained {
        lines.push(format!("{} {}", claim.claim.name, claim.outcome));
        lines.extend(claim.tried.iter().map(|tried| match &tried.mismatch {
            Some(mismatch) => format!("  {} {mismatch}", tried.volume),
            None => format!("  {} is taken", tried.volume),
        }));
        lines.extend(claim.capacities.iter().map(|capacity| format!("  {capacity}")));
    }
    lines
}

#[test]
fn every_volume_of_the_class_has_its_reason() {
    let bench = Bench::new(&format!(
        "{}{}{}{}{}{}{}{}",
        volume("a5", "5Gi", "east", ""),
        volume("b7", "7Gi", "east", ""),
        volume("c1", "1Gi", "east", ""),
        volume("d5", "5Gi", "west", ""),
        volume("e5", "5Gi", "east", "").replace("Available", "Released"),
        volume("f5", "5Gi", "east", ", claimRef: {namespace: team, name: other}"),
        volume("g5", "5Gi", "east", "").replace("[ReadWriteOnce]", "[ReadOnlyMany]"),
        claim("data", "local", "4Gi", "")
    ));
    assert_eq!(
        explained(&bench, &pod(&["data"]), "a"),
        [
            "data gets a5",
            "  a5 is taken",
            "  b7 would do, but a smaller one does too",
            "  c1 has 1Gi, the claim requests 4Gi",
            "  d5 cannot be reached from this node",
            "  e5 is Released, not Available",
            "  f5 belongs to claim team/other",
            "  g5 does not offer ReadWriteOnce",
        ]
    );
    assert_eq!(explained(&bench, &pod(&["data"]), "b")[0], "data gets d5");
}

#[test]
fn claims_of_one_pod_are_told_apart() {
    let bench = Bench::new(&format!(
        "{}{}{}{}{}{}",
        volume("a5", "5Gi", "east", ""),
        volume("b7", "7Gi", "west", ""),
        bound("old", "b7"),
        claim("one", "local", "2Gi", ""),
        claim("two", "local", "3Gi", ""),
        claim("made", "fast", "9Gi", "")
    ));
    assert_eq!(
        explained(&bench, &pod(&["one", "two", "old", "made"]), "a"),
        [
            "old is bound to b7, which the node does not reach: no matching NodeSelectorTerms",
            "one gets a5",
            "  a5 is taken",
            "  b7 cannot be reached from this node",
            "two gets no volume: none of its class will do, and nobody makes volumes of the class",
            "  a5 goes to another claim of the pod",
            "  b7 cannot be reached from this node",
            "made was not looked at, since another claim of the pod gets no volume",
        ]
    );
}

#[test]
fn capacities_are_told_where_room_is_asked_for() {
    let bench = Bench::new(&format!(
        "---\n{{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {{name: csi.example.com}}, spec: {{storageCapacity: true}}}}\n\
         ---\n{{kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {{name: e}}, storageClassName: fast, nodeTopology: {{matchLabels: {{zone: east}}}}, capacity: 4Gi}}\n\
         ---\n{{kind: CSIStorageCapacity, apiVersion: storage.k8s.io/v1, metadata: {{name: w}}, storageClassName: fast, nodeTopology: {{matchLabels: {{zone: west}}}}, capacity: 9Gi}}\n{}",
        claim("data", "fast", "5Gi", "")
    ));
    assert_eq!(
        explained(&bench, &pod(&["data"]), "a"),
        [
            "data gets no volume: none of its class will do, and no capacity that the node reaches has room for a new one",
            "  default/e: 4Gi, which is too little",
            "  default/w: 9Gi, which the node does not reach",
        ]
    );
    assert_eq!(
        explained(&bench, &pod(&["data"]), "b")[0],
        "data gets a new volume of class fast, for which default/w has room"
    );
}

/// What the evidence says is what Filter says.
#[test]
fn the_evidence_agrees_with_the_filter() {
    let bench = Bench::new(&format!(
        "{}{}{}{}",
        volume("v5", "5Gi", "east", ""),
        claim("data", "local", "4Gi", ""),
        claim("more", "local", "4Gi", ""),
        claim("made", "fast", "4Gi", "")
    ));
    for claims in [&["data"][..], &["data", "more"], &["made"], &["data", "made"]] {
        for (node, reasons) in bench.filter(&pod(claims)).unwrap() {
            let found = bench.world.snapshot.get(&node).and_then(|info| info.node()).unwrap();
            let state = bench.begin(&pod(claims)).unwrap();
            let explained = explain_match(&state, found).unwrap();
            let is_fine = |claim: &ClaimExplanation| {
                matches!(
                    claim.outcome,
                    ClaimOutcome::Bound(_) | ClaimOutcome::Matched(_) | ClaimOutcome::Provisioned { .. }
                )
            };
            assert_eq!(explained.iter().all(is_fine), reasons.is_empty(), "{claims:?} on {node}");
        }
    }
}
