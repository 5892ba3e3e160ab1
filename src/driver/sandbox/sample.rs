//! The sample cluster that the program opens on when it is given none.
//!
//! It uses what the plugins of this version look at: no volumes, no pod affinity, no spreading. `sample.yaml` says
//! of each pending pod what becomes of it; kube-scheduler v1.36.3 decides so.

use crate::api::manifest::Source;

/// The sample as a manifest, embedded in the program.
pub const TEXT: &str = include_str!("sample.yaml");

/// A small cluster that lives, embedded in the program: workloads of every kind, a budget, a node group.
pub const LIVING_TEXT: &str = include_str!("living.yaml");

/// It, to be loaded like any other source.
pub fn living_source() -> Source {
    Source { name: "living.yaml".to_owned(), text: LIVING_TEXT.to_owned() }
}

/// The sample, to be loaded like any other source.
pub fn source() -> Source {
    Source { name: "sample.yaml".to_owned(), text: TEXT.to_owned() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::api::manifest::load;
    use crate::api::objects::{Node, Pod};
    use crate::api::{Duration, NamespacedName, Time};
    use crate::driver::sandbox::api::SandboxApi;

    const START: Time = Time::from_secs(1_767_225_600);

    fn sandbox() -> SandboxApi {
        let loaded = load(&[source()]).unwrap();
        assert_eq!(loaded.report.notes(), Vec::<String>::new());
        SandboxApi::from_manifests(loaded, &[source()], START).unwrap().0
    }

    fn node(api: &SandboxApi, name: &str) -> Node {
        Node::clone(api.objects().node(&name.into()).unwrap())
    }

    fn pod(api: &SandboxApi, namespace: &str, name: &str) -> Pod {
        Pod::clone(api.objects().pods.get(&NamespacedName::new(namespace, name)).unwrap())
    }

    #[test]
    fn it_has_twelve_nodes_in_three_zones() {
        let api = sandbox();
        let nodes: Vec<&Arc<Node>> = api.objects().nodes.values().collect();
        let zones: BTreeSet<_> =
            nodes.iter().filter_map(|node| node.label("topology.kubernetes.io/zone")).collect();
        assert_eq!((nodes.len(), zones.len()), (12, 3));
        assert_eq!(nodes.iter().filter(|node| node.spec.unschedulable).count(), 1);
        let gpus: Vec<_> =
            nodes.iter().filter_map(|node| node.status.allocatable.get("example.com/gpu")).collect();
        assert_eq!(gpus.iter().map(|gpus| gpus.value()).collect::<Vec<_>>(), [4]);
        for node in nodes {
            assert_eq!(node.label("kubernetes.io/hostname"), Some(&**node.name()));
        }
    }

    #[test]
    fn fifteen_pods_wait_and_every_other_one_runs_on_a_node_that_is_there() {
        let api = sandbox();
        let (assigned, pending): (Vec<_>, Vec<_>) =
            api.objects().pods.values().partition(|pod| pod.is_assigned());
        assert_eq!((assigned.len(), pending.len()), (43, 15));
        for pod in assigned {
            assert!(api.objects().node(&pod.spec.node_name).is_some(), "{}", pod.key());
            assert_eq!(pod.status.phase, "Running");
            assert!(pod.status.start_time.is_some());
        }
        for pod in api.objects().pods.values() {
            assert!(
                api.objects()
                    .namespaces
                    .contains_key(&NamespacedName::cluster(pod.metadata.namespace.clone()))
            );
        }
    }

    #[test]
    fn priorities_come_from_the_classes() {
        let api = sandbox();
        let priority = |namespace, name| pod(&api, namespace, name).spec.priority.unwrap();
        assert_eq!(priority("kube-system", "log-agent-b-4"), 2_000_001_000);
        assert_eq!(priority("shop", "web-5"), 1000);
        assert_eq!(priority("batch", "import-1"), 10);
        assert_eq!(pod(&api, "ml", "urgent-1").spec.preemption_policy.as_deref(), Some("Never"));
    }

    #[test]
    fn the_twins_differ_in_name_alone() {
        let api = sandbox();
        let load = |node: &str| -> Vec<_> {
            let on_node = api.objects().pods.values().filter(|pod| *pod.spec.node_name == *node);
            let mut load: Vec<_> = on_node
                .flat_map(|pod| &pod.spec.containers)
                .map(|container| format!("{:?}", container.resources))
                .collect();
            load.sort();
            load
        };
        let (one, other) = (node(&api, "b-1"), node(&api, "b-2"));
        assert_eq!((one.status, one.spec), (other.status, other.spec));
        assert_eq!(load("b-1"), load("b-2"));
    }

    #[test]
    fn one_pod_is_on_its_way_out() {
        let mut api = sandbox();
        let due = START + Duration::from_secs(20);
        assert_eq!(api.next_timeout(), Some(due));
        api.advance(due);
        assert!(!api.objects().pods.contains_key(&NamespacedName::new("batch", "report-1")));
        assert_eq!(api.next_timeout(), None);
    }
}
