//! What holds whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::api::{Digest, Digestible};
use crate::framework::NodeInfo;

/// Something that can happen to the cache; numbers are names.
#[derive(Clone, Debug)]
enum Op {
    PutNode { node: usize, zone: usize, cores: i64 },
    RemoveNode { node: usize },
    Assume { pod: usize, node: usize, milli_cpu: i64 },
    Add { pod: usize, node: usize, milli_cpu: i64 },
    Update { pod: usize, milli_cpu: i64 },
    Remove { pod: usize },
    Forget { pod: usize },
    Snapshot,
}

fn op() -> impl Strategy<Value = Op> {
    let (node, pod) = (|| 0..5_usize, || 0..8_usize);
    prop_oneof![
        3 => (node(), 0..3_usize, 1..9_i64).prop_map(|(node, zone, cores)| Op::PutNode { node, zone, cores }),
        1 => node().prop_map(|node| Op::RemoveNode { node }),
        4 => (pod(), node(), 1..500_i64)
            .prop_map(|(pod, node, milli_cpu)| Op::Assume { pod, node, milli_cpu }),
        4 => (pod(), node(), 1..500_i64).prop_map(|(pod, node, milli_cpu)| Op::Add { pod, node, milli_cpu }),
        2 => (pod(), 1..500_i64).prop_map(|(pod, milli_cpu)| Op::Update { pod, milli_cpu }),
        2 => pod().prop_map(|pod| Op::Remove { pod }),
        2 => pod().prop_map(|pod| Op::Forget { pod }),
        3 => Just(Op::Snapshot),
    ]
}

/// What the cache should know.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<String, Arc<Node>>,
    pods: BTreeMap<String, Arc<PodInfo>>,
    assumed: BTreeSet<String>,
    cache: Cache,
    snapshot: Snapshot,
}

impl Model {
    fn apply(&mut self, op: &Op) {
        match op {
            Op::PutNode { node, zone, cores } => {
                let name = format!("n{node}");
                let mut new = with_cpu(&name, *cores);
                new.metadata.labels = in_zone(&name, "r", &zone.to_string()).metadata.labels;
                new.status.images = with_images(&name, &[(&["img"], *cores)]).status.images;
                let new = Arc::new(new);
                if self.nodes.insert(name, Arc::clone(&new)).is_some() {
                    self.cache.update_node(new);
                } else {
                    self.cache.add_node(new);
                }
            }
            Op::RemoveNode { node: number } => {
                let name = format!("n{number}");
                let known = self.nodes.remove(&name).is_some();
                assert_eq!(self.cache.remove_node(&node(&name)).is_ok(), known);
            }
            Op::Assume { pod: number, node, milli_cpu } => {
                let name = format!("p{number}");
                let info = pod(&name, &format!("n{node}"), *milli_cpu);
                let is_new = !self.pods.contains_key(&name);
                assert_eq!(self.cache.assume_pod(Arc::clone(&info)).is_ok(), is_new);
                if is_new {
                    self.assumed.insert(name.clone());
                    self.pods.insert(name, info);
                }
            }
            Op::Add { pod: number, node, milli_cpu } => {
                let name = format!("p{number}");
                let info = pod(&name, &format!("n{node}"), *milli_cpu);
                let is_welcome = !self.pods.contains_key(&name) || self.assumed.remove(&name);
                assert_eq!(self.cache.add_pod(Arc::clone(&info)).is_ok(), is_welcome);
                if is_welcome {
                    self.pods.insert(name, info);
                }
            }
            Op::Update { pod: number, milli_cpu } => {
                let name = format!("p{number}");
                let Some(old) = self.pods.get(&name).map(Arc::clone) else { return };
                let new = pod(&name, &old.pod.spec.node_name, *milli_cpu);
                let is_added = !self.assumed.contains(&name);
                assert_eq!(self.cache.update_pod(&old.pod, Arc::clone(&new)).is_ok(), is_added);
                if is_added {
                    self.pods.insert(name, new);
                }
            }
            Op::Remove { pod: number } => {
                let name = format!("p{number}");
                let old = self.pods.remove(&name).unwrap_or_else(|| pod(&name, "n0", 1));
                let known = self.cache.get_pod(&old.pod).is_ok();
                assert_eq!(self.cache.remove_pod(&old.pod).is_ok(), known);
                self.assumed.remove(&name);
            }
            Op::Forget { pod: number } => {
                let name = format!("p{number}");
                let Some(old) = self.pods.get(&name).map(Arc::clone) else { return };
                let is_assumed = self.assumed.remove(&name);
                assert_eq!(self.cache.forget_pod(&old.pod).is_ok(), is_assumed);
                if is_assumed {
                    self.pods.remove(&name);
                }
            }
            Op::Snapshot => self.check_snapshot(),
        }
    }

    /// The node with its pods, added up from nothing.
    fn sum_of(&self, node: &Arc<Node>) -> NodeInfo {
        let mut info = NodeInfo::with_node(Arc::clone(node));
        for pod in self.pods.values().filter(|pod| pod.pod.spec.node_name == *node.name()) {
            info.add_pod(Arc::clone(pod));
        }
        info
    }

    fn check_snapshot(&mut self) {
        self.cache.update_snapshot(&mut self.snapshot);
        let rebuilt = snapshot_of(&mut self.cache);
        let expected: BTreeSet<&str> = self.nodes.keys().map(String::as_str).collect();
        assert_eq!(names(&self.snapshot).into_iter().collect::<BTreeSet<_>>(), expected);
        assert_eq!(self.snapshot.num_nodes(), expected.len());
        for (name, node) in &self.nodes {
            let info = self.snapshot.get(name).unwrap();
            assert_same(info, &self.sum_of(node));
            assert_same(info, rebuilt.get(name).unwrap());
            assert_eq!(info.pods(), rebuilt.get(name).unwrap().pods());
            assert_eq!(self.snapshot.list()[self.snapshot.position(name).unwrap()].name().as_ref(), name);
            let image = info.image_states()["img"];
            assert!((1..=5).contains(&image.num_nodes));
            assert_eq!(rebuilt.get(name).unwrap().image_states()["img"].num_nodes, self.nodes.len());
        }
    }

    fn check(&self) {
        assert_eq!(self.cache.pod_count(), self.pods.len());
        let assumed: Vec<_> =
            self.cache.assumed_pods().map(|pod| pod.pod.metadata.name.to_string()).collect();
        assert_eq!(assumed, self.assumed.iter().cloned().collect::<Vec<_>>());
        for pod in self.pods.values() {
            assert_eq!(self.cache.get_pod(&pod.pod).unwrap(), pod);
        }
        let pods_on_nodes: usize = self.cache.nodes().map(|info| info.pods().len()).sum();
        assert_eq!(pods_on_nodes, self.pods.len());
        assert!(self.cache.nodes().all(|info| info.node().is_some() || !info.pods().is_empty()));
    }
}

/// Equal but for the order of the pods and the image counts, and for resources of which nothing is left.
fn assert_same(a: &NodeInfo, b: &NodeInfo) {
    let sorted = |info: &NodeInfo| {
        let mut pods: Vec<_> = info.pods().iter().map(|pod| pod.uid().clone()).collect();
        pods.sort_unstable();
        pods
    };
    let requested = |info: &NodeInfo| {
        let mut requested = info.requested().clone();
        requested.scalar_resources.retain(|_, amount| *amount != 0);
        requested
    };
    assert_eq!(a.node(), b.node());
    assert_eq!(sorted(a), sorted(b));
    assert_eq!(requested(a), requested(b));
    assert_eq!(a.non_zero_requested(), b.non_zero_requested());
    assert_eq!(a.allocatable(), b.allocatable());
    assert_eq!(a.used_ports(), b.used_ports());
}

fn digest(cache: &Cache) -> u64 {
    let mut digest = Digest::new();
    cache.digest(&mut digest);
    digest.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_incremental_snapshot_equals_a_rebuilt_one(ops in prop::collection::vec(op(), 1..100)) {
        let mut model = Model::default();
        for op in &ops {
            model.apply(op);
            model.check();
        }
        model.check_snapshot();
    }

    #[test]
    fn a_copy_goes_its_own_way(
        before in prop::collection::vec(op(), 1..40),
        after in prop::collection::vec(op(), 1..40),
    ) {
        let mut model = Model::default();
        before.iter().for_each(|op| model.apply(op));
        let (copy, at_copy) = (model.cache.clone(), digest(&model.cache));
        let snapshot = snapshot_of(&mut copy.clone());
        for op in &after {
            model.apply(op);
            digest(&model.cache);
        }
        prop_assert_eq!(digest(&copy), at_copy);
        // A digest does not depend on earlier ones.
        let mut again = Model::default();
        before.iter().chain(&after).for_each(|op| again.apply(op));
        prop_assert_eq!(digest(&model.cache), digest(&again.cache));
        prop_assert_eq!(snapshot_of(&mut { copy }), snapshot);
    }
}
