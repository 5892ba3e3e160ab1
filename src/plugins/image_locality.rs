//! ImageLocality: nodes that have the pod's images score higher, the more bytes the higher; an image counts by
//! the part of all nodes that have it, so that pods do not heap up where an image happens to be.
//!
//! Follows `plugins/imagelocality/image_locality.go`.

use std::borrow::Cow;

use super::helper::signers;
use super::names;
use crate::api::objects::Pod;
use crate::framework::{
    CycleState, Handle, MAX_NODE_SCORE, NodeInfo, Plugin, PodInfo, ScorePlugin, SignFragment, SignPlugin,
    Status,
};

const MB: i64 = 1024 * 1024;
/// Sums up to this score 0.
const MIN_THRESHOLD: i64 = 23 * MB;
/// Sums from this on, per container, score 100.
const MAX_CONTAINER_THRESHOLD: i64 = 1000 * MB;

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageLocality;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        names::IMAGE_LOCALITY
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl ScorePlugin for ImageLocality {
    fn score(
        &self,
        handle: &Handle<'_>,
        _: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let n_nodes = handle.snapshot.num_nodes();
        let sum: i64 = images(&pod.pod).map(|image| scaled_score(node, image, n_nodes)).sum();
        // Image volumes add to the sum, and are no containers.
        let n_containers = pod.pod.spec.containers.len() + pod.pod.spec.init_containers.len();
        let max_threshold =
            MAX_CONTAINER_THRESHOLD.saturating_mul(i64::try_from(n_containers).unwrap_or(i64::MAX));
        // Not clamp: without containers the upper threshold is below the lower one.
        let sum = if sum < MIN_THRESHOLD { MIN_THRESHOLD } else { sum.min(max_threshold) };
        Ok(MAX_NODE_SCORE * (sum - MIN_THRESHOLD) / (max_threshold - MIN_THRESHOLD))
    }
}

/// The images of init containers, containers and image volumes.
fn images(pod: &Pod) -> impl Iterator<Item = &str> {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let volumes = pod.spec.volumes.iter().filter_map(|volume| volume.get("image"));
    let references = volumes.filter(|image| image.is_object()).map(|image| match image.get("reference") {
        Some(serde_json::Value::String(reference)) => reference.as_str(),
        _ => "",
    });
    containers.map(|container| container.image.as_ref()).chain(references)
}

fn scaled_score(node: &NodeInfo, image: &str, n_nodes: usize) -> i64 {
    if node.image_states().is_empty() {
        return 0;
    }
    let Some(state) = node.image_states().get(normalized_image_name(image).as_ref()) else { return 0 };
    let spread = state.num_nodes as f64 / n_nodes as f64;
    (state.size as f64 * spread) as i64
}

/// The image's name with the tag `latest` if it has none.
fn normalized_image_name(name: &str) -> Cow<'_, str> {
    if name.rfind(':') <= name.rfind('/') {
        Cow::Owned(format!("{name}:latest"))
    } else {
        Cow::Borrowed(name)
    }
}

impl SignPlugin for ImageLocality {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
        let mut names: Vec<Cow<'_, str>> =
            containers.map(|container| normalized_image_name(&container.image)).collect();
        names.sort_unstable();
        names.dedup();
        Ok(vec![signers::fragment(signers::IMAGE_NAMES, &names)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::scores;

    fn node(name: &str, images: &[(&str, i64)]) -> String {
        let images: Vec<String> = images
            .iter()
            .map(|(image, mb)| format!("{{names: ['{image}'], sizeBytes: {}}}", mb * MB))
            .collect();
        format!("{{metadata: {{name: {name}}}, status: {{images: [{}]}}}}", images.join(", "))
    }

    fn raw(pod: &str, nodes: &[&str]) -> Vec<i64> {
        let scores = scores(&ImageLocality, pod, nodes, &[]).unwrap_or_default();
        scores.into_iter().map(|(raw, _)| raw).collect()
    }

    /// Upstream's own table.
    #[test]
    fn bytes_that_are_there_count_by_the_part_of_nodes_that_have_them() {
        let one = node(
            "one",
            &[("gcr.io/40:latest", 40), ("gcr.io/300:latest", 300), ("gcr.io/2000:latest", 2000)],
        );
        let two = node("two", &[("gcr.io/250:latest", 250), ("gcr.io/10:latest", 10)]);
        let nodes = [one.as_str(), two.as_str()];
        // 100 * (40 MB / 2 is below 23 MB), 100 * (250 MB / 2 - 23 MB) / (2 * 1000 MB - 23 MB)
        assert_eq!(raw("{spec: {containers: [{image: gcr.io/40}, {image: gcr.io/250}]}}", &nodes), [0, 5]);
        // 100 * (40 MB / 2 + 300 MB / 2 - 23 MB) / (2 * 1000 MB - 23 MB)
        assert_eq!(raw("{spec: {containers: [{image: gcr.io/40}, {image: gcr.io/300}]}}", &nodes), [7, 0]);
        // 4000 MB / 2 is the most that counts for two containers; 10 MB / 2 is below 23 MB.
        let pod = "{spec: {containers: [{image: gcr.io/10}, {image: gcr.io/4000}]}}";
        let large = node("large", &[("gcr.io/4000:latest", 4000), ("gcr.io/30:latest", 30)]);
        assert_eq!(raw(pod, &[&large, &two]), [100, 0]);
        // 100 * (4000 MB / 3 - 23 MB) / (2 * 1000 MB - 23 MB)
        assert_eq!(raw(pod, &[&large, &two, &node("three", &[])]), [66, 0, 0]);
    }

    #[test]
    fn an_image_volume_adds_bytes_but_no_container() {
        let one = node("one", &[("img:1", 500), ("data:1", 500)]);
        let volume =
            "{spec: {containers: [{image: 'img:1'}], volumes: [{name: v, image: {reference: 'data:1'}}]}}";
        assert_eq!(raw("{spec: {containers: [{image: 'img:1'}]}}", &[&one]), [48]);
        assert_eq!(raw(volume, &[&one]), [100]);
    }

    #[test]
    fn a_name_without_tag_is_the_latest() {
        assert_eq!(normalized_image_name("root"), "root:latest");
        assert_eq!(normalized_image_name("root:tag"), "root:tag");
        assert_eq!(normalized_image_name("gcr.io:5000/root"), "gcr.io:5000/root:latest");
        assert_eq!(normalized_image_name("root@sha256:abc"), "root@sha256:abc");
    }
}
