//! Images on nodes: pulled one after the other, kept, and reported as kubelets report them.
//!
//! How large an image is, other nodes know, or the annotation `sandbox.schedscope.dev/image-size` of the pod says; else
//! a size from 20 to 300 MB is made up from the name, the same every time. A kubelet writes its images into the status
//! of the node every 10 s if they have changed: the 50 largest (`nodeStatusMaxImages`). It writes an image's full name
//! as container runtimes do, and beside it the name as pods spell it: ImageLocality compares that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Wx;
use super::alarms::Alarm;
use super::pods::annotation;
use crate::api::objects::{ContainerImage, Node, Pod};
use crate::api::{Duration, Quantity, Str, Time};

/// How many images a kubelet reports (`nodeStatusMaxImages`).
const REPORTED: usize = 50;
/// How often it does (`nodeStatusUpdateFrequency`).
const REPORT_INTERVAL: u64 = 10;

/// An image that a node has pulled or is pulling.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pulled {
    at: Time,
    /// As the pod spells it, with a tag.
    name: Str,
    bytes: u64,
    is_reported: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeImages {
    /// From when on nothing is pulled.
    free_at: Time,
    /// By full name.
    pulled: BTreeMap<Str, Pulled>,
    /// Images that the node reported when it was first looked at, by full name.
    there: BTreeSet<Str>,
}

/// The images of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Images {
    nodes: BTreeMap<Str, NodeImages>,
    /// Sizes that nodes have told of, by full name.
    sizes: BTreeMap<Str, u64>,
}

impl Images {
    /// Looks at what a node has.
    pub(super) fn sync_node(&mut self, node: &Node) {
        let images = self.nodes.entry(node.name().clone()).or_default();
        for image in &node.status.images {
            for name in &image.names {
                let full = full_name(name);
                if let Ok(bytes) = u64::try_from(image.size_bytes) {
                    self.sizes.insert(full.clone(), bytes);
                }
                if !images.pulled.contains_key(&full) {
                    images.there.insert(full);
                }
            }
        }
    }

    pub(super) fn forget_node(&mut self, node: &Str) {
        self.nodes.remove(node);
    }

    /// Pulls what a pod needs and its node does not have. The answer is when all of it is there.
    pub(super) fn pull_all(&mut self, wx: &mut Wx<'_>, pod: &Pod) -> Time {
        let node = self.nodes.entry(pod.spec.node_name.clone()).or_default();
        let mut ready = wx.now;
        let mut has_pulled = false;
        for container in pod.spec.init_containers.iter().chain(&pod.spec.containers) {
            if container.image.is_empty() {
                continue;
            }
            let full = full_name(&container.image);
            if node.there.contains(&full) {
                continue;
            }
            if let Some(known) = node.pulled.get(&full) {
                ready = ready.max(known.at);
                continue;
            }
            let said = annotation(pod, "image-size").and_then(|text| text.parse::<Quantity>().ok());
            let said = said.and_then(|size| u64::try_from(size.value()).ok());
            let bytes =
                said.or_else(|| self.sizes.get(&full).copied()).unwrap_or_else(|| made_up_size(&full));
            let nanos =
                u128::from(bytes) * 1_000_000_000 / u128::from(wx.settings.pull_bytes_per_second.max(1));
            let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            let at = node.free_at.max(wx.now).saturating_add(time);
            node.free_at = at;
            ready = ready.max(at);
            let name = with_tag(&container.image);
            node.pulled.insert(full, Pulled { at, name, bytes, is_reported: false });
            has_pulled = true;
        }
        if has_pulled {
            self.report_soon(wx, &pod.spec.node_name);
        }
        ready
    }

    /// The node reports at its next turn that comes after a pull.
    pub(super) fn report_soon(&self, wx: &mut Wx<'_>, node: &Str) {
        let unreported = self.nodes.get(node).into_iter().flat_map(|images| images.pulled.values());
        let first = unreported.filter(|image| !image.is_reported).map(|image| image.at).min();
        if let Some(at) = first {
            let seconds = at.max(wx.now).as_nanos() / 1_000_000_000;
            let turn = Time::from_secs((seconds / REPORT_INTERVAL + 1) * REPORT_INTERVAL);
            wx.alarms.set_by(Alarm::Report(node.clone()), turn);
        }
    }

    /// It is the node's turn to report.
    pub(super) fn report(&mut self, wx: &mut Wx<'_>, name: &Str) {
        let Some(old) = wx.api.objects().node(name).cloned() else { return };
        let Some(images) = self.nodes.get_mut(name) else { return };
        let mut node = Node::clone(&old);
        for (full, image) in &mut images.pulled {
            if image.is_reported || image.at > wx.now {
                continue;
            }
            image.is_reported = true;
            let mut names: Vec<Arc<str>> = vec![full.clone()];
            if image.name != *full {
                names.push(image.name.clone());
            }
            let size_bytes = i64::try_from(image.bytes).unwrap_or(i64::MAX);
            node.status.images.push(ContainerImage { names, size_bytes });
        }
        node.status.images.sort_by_key(|image| std::cmp::Reverse(image.size_bytes));
        node.status.images.truncate(REPORTED);
        if node != *old {
            wx.api.write(node.into());
        }
        self.report_soon(wx, name);
    }
}

/// With `:latest`, if it has neither tag nor digest.
fn with_tag(image: &str) -> Str {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains(':') || image.contains('@') {
        Str::from(image)
    } else {
        Str::from(format!("{image}:latest"))
    }
}

/// As container runtimes call it.
fn full_name(image: &str) -> Str {
    let tagged = with_tag(image);
    match tagged.split_once('/') {
        None => Str::from(format!("docker.io/library/{tagged}")),
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => tagged,
        Some(_) => Str::from(format!("docker.io/{tagged}")),
    }
}

/// From 20 to 300 MB, by the name (FNV-1a).
fn made_up_size(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    20_000_000 + hash % 280_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_names_that_container_runtimes_give_them() {
        assert_eq!(&*full_name("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(&*full_name("nginx:1.25"), "docker.io/library/nginx:1.25");
        assert_eq!(&*full_name("team/app:1"), "docker.io/team/app:1");
        assert_eq!(&*full_name("registry.k8s.io/pause:3.10"), "registry.k8s.io/pause:3.10");
        assert_eq!(&*full_name("localhost:5000/app"), "localhost:5000/app:latest");
        assert_eq!(&*full_name("ghcr.io/a/b@sha256:00"), "ghcr.io/a/b@sha256:00");
    }

    #[test]
    fn a_made_up_size_is_the_same_every_time_and_within_bounds() {
        for name in ["a", "b", "docker.io/library/nginx:latest"] {
            assert_eq!(made_up_size(name), made_up_size(name));
            assert!((20_000_000..300_000_000).contains(&made_up_size(name)));
        }
    }
}
