//! Device drivers that publish what devices the nodes have, from a small file.
//!
//! The file is a YAML list. Each entry is a driver on some nodes with the devices that each of those nodes has; a
//! device is written as in a `ResourceSlice` (`resource.k8s.io/v1`), and `count` makes several of it:
//!
//! ```yaml
//! - driver: gpu.example.com
//!   nodeSelector: {matchLabels: {pool: gpu}}   # absent: every node
//!   devices:
//!   - name: gpu
//!     count: 4                                 # gpu-0 to gpu-3
//!     attributes: {model: {string: a100}}
//!     capacity: {memory: {value: 40Gi}}
//! ```
//!
//! Every such node is a pool of its own. Its slices come with the node, go with it, and follow its labels.

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::api::objects::{
    Device, LabelSelector, Node, ObjectMeta, ResourcePool, ResourceSlice, ResourceSliceSpec,
};
use crate::api::{Kind, NamespacedName, Selector, Str};

use super::Cx;
use super::journal::Said;

const NAME: &str = "device-driver";

/// How many devices a slice can have.
const DEVICES_PER_SLICE: usize = 128;
/// How many if one of them has taints or takes from counters.
const ELABORATE_DEVICES_PER_SLICE: usize = 64;

/// A driver on some nodes, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfferText {
    driver: String,
    #[serde(default)]
    node_selector: Option<LabelSelector>,
    devices: Vec<DeviceText>,
}

/// A device, and how many of it there are.
#[derive(Clone, Debug, Deserialize)]
struct DeviceText {
    #[serde(default)]
    count: Option<u32>,
    #[serde(flatten)]
    device: Device,
}

#[derive(Clone, Debug)]
struct Offer {
    driver: Str,
    /// Absent for every node.
    selector: Option<Selector>,
    devices: Vec<Device>,
}

/// The drivers of a sandbox.
#[derive(Clone, Debug, Default)]
pub struct DeviceDrivers {
    offers: Vec<Offer>,
    /// The slices that are published, as they were written, by node.
    published: BTreeMap<Str, Vec<ResourceSlice>>,
}

/// Why a file of drivers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeviceDriversError(String);

impl DeviceDrivers {
    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, DeviceDriversError> {
        let offers: Vec<OfferText> =
            serde_saphyr::from_str(text).map_err(|error| DeviceDriversError(error.to_string()))?;
        let offers = offers.into_iter().enumerate().map(|(i, offer)| {
            let wrong = |what: String| DeviceDriversError(format!("[{i}] {}: {what}", offer.driver));
            if offer.driver.is_empty() {
                return Err(DeviceDriversError(format!("[{i}]: driver is missing")));
            }
            let selector = offer.node_selector.as_ref();
            let selector = selector.map(|selector| Selector::from_label_selector(Some(selector))).transpose();
            let selector = selector.map_err(|error| wrong(format!("nodeSelector: {error}")))?;
            let devices: Vec<Device> = offer.devices.iter().flat_map(several).collect();
            let mut names: Vec<&Str> = devices.iter().map(|device| &device.name).collect();
            names.sort_unstable();
            if names.first().is_some_and(|name| name.is_empty()) {
                return Err(wrong("a device has no name".to_owned()));
            }
            if let Some([twice, _]) = names.array_windows().find(|[one, other]| one == other) {
                return Err(wrong(format!("there are two devices {twice}")));
            }
            Ok(Offer { driver: Str::from(offer.driver.as_str()), selector, devices })
        });
        Ok(Self { offers: offers.collect::<Result<_, _>>()?, published: BTreeMap::new() })
    }

    /// Publishes the slices of a node, or takes them back. Changed ones make a new generation of their pool.
    pub(super) fn sync_node(&mut self, cx: &mut Cx<'_>, name: &Str) {
        let node = cx.api.objects().node(name).cloned();
        let mut wanted = node.map(|node| self.slices_of(&node)).unwrap_or_default();
        let known = self.published.get(name).map(Vec::as_slice).unwrap_or_default();
        let generation = known.first().map_or(0, |slice| slice.spec.pool.generation);
        for slice in &mut wanted {
            slice.spec.pool.generation = generation;
        }
        if wanted == known {
            return;
        }
        let is_wanted =
            |slice: &&ResourceSlice| wanted.iter().any(|new| new.metadata.name == slice.metadata.name);
        let old: Vec<NamespacedName> =
            known.iter().filter(|slice| !is_wanted(slice)).map(|slice| slice.metadata.key()).collect();
        for key in old {
            if cx.api.delete_object(Kind::ResourceSlice, &key, cx.now).is_ok() {
                let said = Said::done("Withdrawn", format!("is taken back: node {name} has it no more"));
                cx.tell(NAME, Kind::ResourceSlice, &key, said);
            }
        }
        for slice in &mut wanted {
            slice.spec.pool.generation = generation + 1;
            publish(cx, name, slice.clone());
        }
        if wanted.is_empty() {
            self.published.remove(name);
        } else {
            self.published.insert(name.clone(), wanted);
        }
    }

    fn slices_of(&self, node: &Node) -> Vec<ResourceSlice> {
        let mut per_driver: BTreeMap<&Str, Vec<&Device>> = BTreeMap::new();
        let has = |offer: &&Offer| {
            offer.selector.as_ref().is_none_or(|selector| selector.matches(&node.metadata.labels))
        };
        for offer in self.offers.iter().filter(has) {
            per_driver.entry(&offer.driver).or_default().extend(&offer.devices);
        }
        per_driver.into_iter().flat_map(|(driver, devices)| slices(node, driver, &devices)).collect()
    }
}

/// `name-0`, `name-1` and so on; without a count the device alone.
fn several(text: &DeviceText) -> Vec<Device> {
    let Some(count) = text.count else { return vec![text.device.clone()] };
    let numbered = |number: u32| {
        let mut device = text.device.clone();
        device.name = Str::from(format!("{}-{number}", device.name));
        device
    };
    (0..count).map(numbered).collect()
}

fn slices(node: &Node, driver: &Str, devices: &[&Device]) -> Vec<ResourceSlice> {
    let name = &node.metadata.name;
    let is_elaborate = |device: &&Device| !device.taints.is_empty() || !device.consumes_counters.is_empty();
    let size = if devices.iter().any(is_elaborate) { ELABORATE_DEVICES_PER_SLICE } else { DEVICES_PER_SLICE };
    let chunks = devices.chunks(size);
    let resource_slice_count = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
    chunks
        .enumerate()
        .map(|(number, chunk)| ResourceSlice {
            metadata: ObjectMeta {
                name: Str::from(format!("{name}-{driver}-{number}")),
                ..ObjectMeta::default()
            },
            spec: ResourceSliceSpec {
                driver: driver.clone(),
                pool: ResourcePool { name: name.clone(), generation: 1, resource_slice_count },
                node_name: Some(name.clone()),
                devices: chunk.iter().copied().cloned().collect(),
                ..ResourceSliceSpec::default()
            },
        })
        .collect()
}

fn publish(cx: &mut Cx<'_>, node: &Str, slice: ResourceSlice) {
    let (key, n_devices) = (slice.metadata.key(), slice.spec.devices.len());
    let said = match cx.api.apply(slice.into(), cx.now) {
        Ok(_) => Said::done("Published", format!("offers {n_devices} devices of node {node}")),
        Err(error) => Said::failed("Failed", error.to_string()),
    };
    cx.tell(NAME, Kind::ResourceSlice, &key, said);
}
