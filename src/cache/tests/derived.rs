//! What a snapshot derives from its nodes follows them step by step and is what it would be if it were made anew.

use std::sync::Arc;

use crate::api::objects::{Node, Pod};
use crate::api::{Rng, Str};
use crate::cache::Cache;
use crate::framework::{PodInfo, Snapshot};

const NODES: [&str; 4] = ["a", "b", "c", "d"];

fn node(rng: &mut Rng, name: &str) -> Arc<Node> {
    let mut node = Node::default();
    node.metadata.name = Str::from(name);
    node.metadata.labels.insert(Str::from("zone"), Str::from(["x", "y"][rng.below(2)]));
    Arc::new(node)
}

fn pod(rng: &mut Rng, uid: usize) -> Arc<PodInfo> {
    let mut pod = Pod::default();
    pod.metadata.uid = Str::from(uid.to_string());
    pod.metadata.labels.insert(Str::from("app"), Str::from(["web", "db"][rng.below(2)]));
    pod.spec.node_name = Str::from(NODES[rng.below(NODES.len())]);
    Arc::new(PodInfo::new(Arc::new(pod)))
}

#[test]
fn incremental_equals_rebuilt() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut cache = Cache::new();
        let mut snapshot = Snapshot::default();
        let mut pods: Vec<Arc<PodInfo>> = Vec::new();
        for step in 0..200 {
            match rng.below(6) {
                0 => {
                    let name = NODES[rng.below(NODES.len())];
                    cache.update_node(node(&mut rng, name));
                }
                // A node that is not there cannot be removed; that is an error and changes nothing.
                1 => drop(cache.remove_node(&node(&mut rng, NODES[step % NODES.len()]))),
                2 if !pods.is_empty() => {
                    let gone = pods.swap_remove(rng.below(pods.len()));
                    assert_eq!(cache.remove_pod(&gone.pod), Ok(()));
                }
                _ => {
                    let pod = pod(&mut rng, step);
                    assert_eq!(cache.add_pod(Arc::clone(&pod)), Ok(()));
                    pods.push(pod);
                }
            }
            // What is derived from the nodes is made at the first look and follows them from then on.
            cache.update_snapshot(&mut snapshot);
            let mut rebuilt = Snapshot::default();
            cache.clone().update_snapshot(&mut rebuilt);
            assert_eq!(snapshot, rebuilt, "seed {seed}, step {step}");
            assert_eq!(snapshot.pods(), rebuilt.pods(), "seed {seed}, step {step}");
            let domains = [&snapshot, &rebuilt].map(|snapshot| snapshot.domains("zone"));
            assert_eq!(domains[0].of_positions(), domains[1].of_positions(), "seed {seed}, step {step}");
            for (position, node) in snapshot.list().iter().enumerate() {
                assert_eq!(snapshot.position_of(node), Some(position), "seed {seed}, step {step}");
            }
        }
    }
}
