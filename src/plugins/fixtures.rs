//! Test support for the plugins: objects written as YAML, and the way through a plugin's points.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::manifest::{Source, load};
use crate::api::objects::{Node, Pod};
use crate::api::{Object, Str};
use crate::framework::testing::TestWorld;
use crate::framework::{
    CycleState, ImageStateSummary, NodeInfo, NodeScore, Plugin, PodInfo, QueueingHint, Snapshot, Status,
};

/// A pod. Its uid is its name unless it has one.
pub fn pod(yaml: &str) -> Arc<Pod> {
    let mut pod: Pod = serde_saphyr::from_str(yaml).unwrap();
    if pod.metadata.uid.is_empty() {
        pod.metadata.uid = pod.metadata.name.clone();
    }
    Arc::new(pod)
}

pub fn pod_info(yaml: &str) -> PodInfo {
    PodInfo::new(pod(yaml))
}

pub fn pod_object(yaml: &str) -> Object {
    Object::Pod(pod(yaml))
}

pub fn node(yaml: &str) -> Arc<Node> {
    Arc::new(serde_saphyr::from_str(yaml).unwrap())
}

pub fn node_object(yaml: &str) -> Object {
    Object::Node(node(yaml))
}

/// A node with these pods on it, wherever they say that they are.
pub fn node_info(yaml: &str, pods: &[&str]) -> NodeInfo {
    let mut info = NodeInfo::with_node(node(yaml));
    for pod in pods {
        info.add_pod(Arc::new(pod_info(pod)));
    }
    info
}

/// Nodes, and pods on the nodes that they name.
pub fn world(nodes: &[&str], pods: &[&str]) -> TestWorld {
    let mut infos: Vec<NodeInfo> = nodes.iter().map(|yaml| node_info(yaml, &[])).collect();
    let mut world = TestWorld::default();
    for yaml in pods {
        let pod = pod(yaml);
        world.objects.insert(Object::Pod(Arc::clone(&pod)));
        if let Some(info) = infos.iter_mut().find(|info| *info.name() == pod.spec.node_name) {
            info.add_pod(Arc::new(PodInfo::new(pod)));
        }
    }
    let mut images: BTreeMap<Str, ImageStateSummary> = BTreeMap::new();
    let objects: Vec<Arc<Node>> = infos.iter().filter_map(|info| info.node().cloned()).collect();
    for image in objects.iter().flat_map(|node| &node.status.images) {
        for name in &image.names {
            let state = images.entry(name.clone()).or_default();
            *state = ImageStateSummary { size: image.size_bytes, num_nodes: state.num_nodes + 1 };
        }
    }
    for (info, node) in infos.iter_mut().zip(&objects) {
        let names = node.status.images.iter().flat_map(|image| &image.names);
        info.set_image_states(names.map(|name| (name.clone(), images[name])).collect());
        world.objects.insert(Object::Node(Arc::clone(node)));
    }
    world.snapshot = Snapshot::new(infos.into_iter().map(Arc::new).collect());
    world
}

/// Everything that a multi-document manifest holds; nodes with the pods that name them make the snapshot.
pub fn world_of(manifest: &str) -> TestWorld {
    let source = Source { name: "test".to_owned(), text: manifest.to_owned() };
    let mut world = TestWorld::default();
    for object in load(&[source]).unwrap().objects {
        world.objects.insert(object);
    }
    let nodes = world.objects.nodes.values().map(|node| {
        let mut info = NodeInfo::with_node(Arc::clone(node));
        for pod in world.objects.pods.values().filter(|pod| pod.spec.node_name == node.metadata.name) {
            info.add_pod(Arc::new(PodInfo::new(Arc::clone(pod))));
        }
        Arc::new(info)
    });
    world.snapshot = Snapshot::new(nodes.collect());
    world
}

/// What the plugin's PreFilter and, where that passes, its Filter answer for each node.
pub fn filter(plugin: &dyn Plugin, pod: &str, nodes: &[&str], pods: &[&str]) -> Result<Vec<Status>, Status> {
    let world = world(nodes, pods);
    let (pod, mut state) = (pod_info(pod), CycleState::new());
    if let Some(pre_filter) = plugin.as_pre_filter() {
        let (_, status) = pre_filter.pre_filter(&world.handle(), &mut state, &pod, world.snapshot.list());
        if !status.is_success() {
            return Err(status);
        }
    }
    let filter = plugin.as_filter().unwrap();
    let nodes = world.snapshot.list().iter();
    Ok(nodes.map(|node| filter.filter(&world.handle(), &state, &pod, node)).collect())
}

/// The same in a world of a multi-document manifest, by node.
pub fn filter_in(plugin: &dyn Plugin, manifest: &str, pod: &str) -> Result<Vec<Status>, Status> {
    let mut world = world_of(manifest);
    plugin.add_states(&mut world.states);
    for object in world.objects.iter() {
        world.states.object_changed(&world.objects, None, Some(&object));
    }
    let (pod, mut state) = (pod_info(pod), CycleState::new());
    let pre_filter = plugin.as_pre_filter().unwrap();
    let (_, status) = pre_filter.pre_filter(&world.handle(), &mut state, &pod, world.snapshot.list());
    if !status.is_success() {
        return Err(status);
    }
    let filter = plugin.as_filter().unwrap();
    let nodes = world.snapshot.list().iter();
    Ok(nodes.map(|node| filter.filter(&world.handle(), &state, &pod, node)).collect())
}

/// An object of a manifest.
pub fn object(manifest: &str) -> Object {
    let source = Source { name: "test".to_owned(), text: manifest.to_owned() };
    load(&[source]).unwrap().objects.remove(0)
}

/// Raw and normalized score of each node; an error is what PreScore or Score ended with.
pub fn scores(
    plugin: &dyn Plugin,
    pod: &str,
    nodes: &[&str],
    pods: &[&str],
) -> Result<Vec<(i64, i64)>, Status> {
    let world = world(nodes, pods);
    let (pod, mut state) = (pod_info(pod), CycleState::new());
    let handle = world.handle();
    let nodes = world.snapshot.list();
    if let Some(pre_score) = plugin.as_pre_score() {
        let status = pre_score.pre_score(&handle, &mut state, &pod, nodes);
        if !status.is_success() {
            return Err(status);
        }
    }
    let score = plugin.as_score().unwrap();
    let raw: Vec<i64> =
        nodes.iter().map(|node| score.score(&handle, &state, &pod, node)).collect::<Result<_, _>>()?;
    let scored =
        nodes.iter().zip(&raw).map(|(node, raw)| NodeScore { name: node.name().clone(), score: *raw });
    let mut normalized: Vec<NodeScore> = scored.collect();
    if let Some(extensions) = score.score_extensions() {
        let status = extensions.normalize_score(&handle, &state, &pod, &mut normalized);
        if !status.is_success() {
            return Err(status);
        }
    }
    Ok(raw.into_iter().zip(normalized.into_iter().map(|score| score.score)).collect())
}

/// What the plugin's hint number `index` says of an event.
pub fn hint(
    plugin: &dyn Plugin,
    index: usize,
    pod: &Arc<Pod>,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let events = plugin.as_enqueue_extensions().unwrap().events_to_register();
    let hint = events[index].queueing_hint_fn.clone().unwrap();
    hint(&TestWorld::default().handle(), pod, old, new)
}
