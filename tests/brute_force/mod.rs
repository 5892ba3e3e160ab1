//! The rules of affinity and spreading read word for word, pod by pod and node by node, against the plugins, which
//! count by class and domain: on random small clusters both give the same.
//!
//! `cargo test brute_force -- --ignored` looks at 10,000 clusters.

mod cluster;
mod preemption;
mod rules;

use schedscope::api::Rng;
use schedscope::config::FeatureGates;
use schedscope::config::topology_args::{InterPodAffinityArgs, PodTopologySpreadArgs};
use schedscope::framework::testing::TestWorld;
use schedscope::framework::{CycleState, Plugin, PodInfo, Snapshot};
use schedscope::plugins::inter_pod_affinity::InterPodAffinity;
use schedscope::plugins::pod_topology_spread::PodTopologySpread;

use cluster::Cluster;

/// Whether each node passes the plugin's filter.
fn filtered(plugin: &dyn Plugin, world: &TestWorld, pod: &PodInfo) -> Vec<bool> {
    let mut state = CycleState::new();
    let (handle, nodes) = (world.handle(), world.snapshot.list());
    let (_, status) = plugin.as_pre_filter().unwrap().pre_filter(&handle, &mut state, pod, nodes);
    assert!(status.is_success() || status.is_skip(), "{status:?}");
    let filter = plugin.as_filter().unwrap();
    let passes = |node| status.is_skip() || filter.filter(&handle, &state, pod, node).is_success();
    nodes.iter().map(|node| passes(node)).collect()
}

/// The plugin's raw score of each node; nothing where it is skipped.
fn scored(plugin: &dyn Plugin, world: &TestWorld, pod: &PodInfo) -> Option<Vec<i64>> {
    let mut state = CycleState::new();
    let (handle, nodes) = (world.handle(), world.snapshot.list());
    let status = plugin.as_pre_score().unwrap().pre_score(&handle, &mut state, pod, nodes);
    if status.is_skip() {
        return None;
    }
    assert!(status.is_success(), "{status:?}");
    let score = plugin.as_score().unwrap();
    Some(nodes.iter().map(|node| score.score(&handle, &state, pod, node).unwrap()).collect())
}

fn compare(seed: u64) {
    let cluster = Cluster::random(&mut Rng::new(seed));
    let world =
        TestWorld { objects: cluster.objects(), snapshot: cluster.snapshot(), ..TestWorld::default() };
    let affinity = InterPodAffinity::new(InterPodAffinityArgs::default());
    let spread = PodTopologySpread::new(PodTopologySpreadArgs::System, &FeatureGates::default());
    for pod in &cluster.pending {
        let place = format!("seed {seed}, {}", pod.metadata.name);
        let info = PodInfo::new(pod.clone());
        assert_eq!(filtered(&affinity, &world, &info), rules::affinity_filter(&cluster, pod), "{place}");
        assert_eq!(filtered(&spread, &world, &info), rules::spread_filter(&cluster, pod), "{place}");
        let by_rule = rules::affinity_score(&cluster, pod);
        match scored(&affinity, &world, &info) {
            Some(scores) => assert_eq!(scores, by_rule, "{place}"),
            None => assert!(by_rule.iter().all(|score| *score == 0), "{place}"),
        }
        if let Some(scores) = scored(&spread, &world, &info) {
            assert_eq!(scores, rules::spread_score(&cluster, pod), "{place}");
        }
    }
    // The index of a snapshot that has followed every pod is that of a new one.
    assert_eq!(cluster.followed_snapshot().pods(), Snapshot::new(world.snapshot.list().to_vec()).pods());
}

#[test]
fn a_few_clusters() {
    (0..200).for_each(compare);
}

#[test]
#[ignore = "slow: 10,000 clusters"]
fn ten_thousand_clusters() {
    (1_000..11_000).for_each(compare);
}
