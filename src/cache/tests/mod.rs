//! Tests of the cache.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod derived;
mod properties;
mod rules;

use std::sync::Arc;

use crate::api::objects::{ContainerImage, ContainerPort, Node, Pod};
use crate::api::{Quantity, Str};
use crate::framework::{PodInfo, PodResources, Resource, Snapshot};

use super::{Cache, CacheError};

fn node(name: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = name.into();
    node
}

fn in_zone(name: &str, region: &str, zone: &str) -> Node {
    let mut node = node(name);
    node.metadata.labels.insert("topology.kubernetes.io/region".into(), region.into());
    node.metadata.labels.insert("topology.kubernetes.io/zone".into(), zone.into());
    node
}

fn with_images(name: &str, images: &[(&[&str], i64)]) -> Node {
    let mut node = node(name);
    node.status.images = images
        .iter()
        .map(|(names, size)| ContainerImage {
            names: names.iter().map(|name| Str::from(*name)).collect(),
            size_bytes: *size,
        })
        .collect();
    node
}

fn with_cpu(name: &str, cores: i64) -> Node {
    let mut node = node(name);
    node.status.allocatable.insert("cpu".into(), Quantity::from_value(cores));
    node
}

/// A pod on a node that requests so many thousandths of a core.
fn pod(name: &str, node: &str, milli_cpu: i64) -> Arc<PodInfo> {
    let mut pod = Pod::default();
    pod.metadata.namespace = "default".into();
    pod.metadata.name = name.into();
    pod.metadata.uid = format!("uid-{name}").into();
    pod.spec.node_name = node.into();
    let mut container = crate::api::objects::Container::default();
    // In a cluster no two pods on a node have the same host port.
    let host_port = 8000 + i32::from(*name.as_bytes().last().unwrap());
    container.ports.push(ContainerPort { host_port, ..ContainerPort::default() });
    pod.spec.containers.push(container);
    let mut requests = Resource { milli_cpu, memory: milli_cpu * 10, ..Resource::default() };
    requests.scalar_resources.insert("example.com/gpu".into(), milli_cpu % 3);
    Arc::new(PodInfo {
        resources: PodResources { requests, non_zero_milli_cpu: milli_cpu, non_zero_memory: 7 },
        ..PodInfo::new(Arc::new(pod))
    })
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.list().iter().map(|node| node.name().as_ref()).collect()
}

fn snapshot_of(cache: &mut Cache) -> Snapshot {
    let mut snapshot = Snapshot::default();
    cache.update_snapshot(&mut snapshot);
    snapshot
}
