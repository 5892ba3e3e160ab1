//! A node with the sum of its pods.
//!
//! Mirrors `framework.NodeInfo`, `HostPortInfo` and `ImageStateSummary` of `pkg/scheduler/framework/types.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::objects::{Node, Pod};
use crate::api::{NamespacedName, Str};

use super::pod_info::PodInfo;
use super::resource::Resource;

/// Aggregated information about one node. The node object is absent for a name that pods refer to and that has
/// no node (yet): such an entry never reaches a snapshot.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NodeInfo {
    name: Str,
    node: Option<Arc<Node>>,
    pods: Vec<Arc<PodInfo>>,
    used_ports: HostPortInfo,
    requested: Resource,
    non_zero_requested: Resource,
    allocatable: Resource,
    /// Shared, for a node is copied often where pods are put on it in thought.
    image_states: Arc<BTreeMap<Str, ImageStateSummary>>,
    /// How many volumes of its pods refer to each claim (`PVCRefCounts`). Absent while none does, as on most nodes.
    claims: Option<Arc<BTreeMap<NamespacedName, u32>>>,
}

/// What is known of an image on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ImageStateSummary {
    /// Bytes.
    pub size: i64,
    /// On how many nodes of the cluster it is.
    pub num_nodes: usize,
}

impl NodeInfo {
    /// An entry for a name, without a node and without pods.
    pub fn new(name: Str) -> Self {
        Self { name, ..Self::default() }
    }

    /// An entry for a node, without pods and images.
    pub fn with_node(node: Arc<Node>) -> Self {
        let mut info = Self::new(node.name().clone());
        info.set_node(node);
        info
    }

    /// The node's name.
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// The node, if it exists.
    pub fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    /// The pods on the node, in the order in which they came; assumed ones included.
    pub fn pods(&self) -> &[Arc<PodInfo>] {
        &self.pods
    }

    /// The host ports that are taken.
    pub fn used_ports(&self) -> &HostPortInfo {
        &self.used_ports
    }

    /// The sum of all requests.
    pub fn requested(&self) -> &Resource {
        &self.requested
    }

    /// The sum of all requests with defaults for containers that request no CPU or memory.
    pub fn non_zero_requested(&self) -> &Resource {
        &self.non_zero_requested
    }

    /// `status.allocatable`.
    pub fn allocatable(&self) -> &Resource {
        &self.allocatable
    }

    /// The images on the node by each of their names.
    pub fn image_states(&self) -> &BTreeMap<Str, ImageStateSummary> {
        &self.image_states
    }

    /// The claims that volumes of its pods refer to by name, in order.
    pub fn claims(&self) -> impl Iterator<Item = &NamespacedName> {
        self.claims.iter().flat_map(|claims| claims.keys())
    }

    /// Replaces the images.
    pub fn set_image_states(&mut self, image_states: BTreeMap<Str, ImageStateSummary>) {
        self.image_states = Arc::new(image_states);
    }

    /// Puts the node in, or a newer version of it.
    pub fn set_node(&mut self, node: Arc<Node>) {
        self.allocatable = Resource::from_list(&node.status.allocatable);
        self.name = node.name().clone();
        self.node = Some(node);
    }

    /// Takes the node away; its pods stay until they are removed.
    pub fn remove_node(&mut self) {
        self.node = None;
        self.allocatable = Resource::default();
        self.image_states = Arc::default();
    }

    /// Adds a pod.
    pub fn add_pod(&mut self, pod_info: Arc<PodInfo>) {
        self.account(&pod_info, true);
        self.pods.push(pod_info);
    }

    /// Removes a pod by its uid and returns it; `None` if it is not there.
    pub fn remove_pod(&mut self, pod: &Pod) -> Option<Arc<PodInfo>> {
        let index = self.pods.iter().position(|info| info.uid() == pod.uid())?;
        // Upstream fills the gap with the last pod; the order of pods is visible in the order of victims.
        let pod_info = self.pods.swap_remove(index);
        self.account(&pod_info, false);
        Some(pod_info)
    }

    fn account(&mut self, pod_info: &PodInfo, add: bool) {
        let resources = &pod_info.resources;
        let non_zero = Resource {
            milli_cpu: resources.non_zero_milli_cpu,
            memory: resources.non_zero_memory,
            ..Resource::default()
        };
        if add {
            self.requested.add(&resources.requests);
            self.non_zero_requested.add(&non_zero);
        } else {
            self.requested.sub(&resources.requests);
            self.non_zero_requested.sub(&non_zero);
        }
        if !pod_info.claims.is_empty() {
            self.count_claims(&pod_info.claims, add);
        }
        for port in host_ports(&pod_info.pod) {
            if add {
                self.used_ports.add(&port);
            } else {
                self.used_ports.remove(&port);
            }
        }
    }

    fn count_claims(&mut self, claims: &[NamespacedName], add: bool) {
        let counts = Arc::make_mut(self.claims.get_or_insert_default());
        for claim in claims {
            if add {
                *counts.entry(claim.clone()).or_default() += 1;
            } else if let Some(count) = counts.get_mut(claim) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(claim);
                }
            }
        }
        if counts.is_empty() {
            self.claims = None;
        }
    }
}

/// A port of the host that a pod takes. An empty address stands for all (`0.0.0.0`), an empty protocol for TCP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// The address of the host.
    pub ip: Str,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Str,
    /// The port.
    pub port: i32,
}

/// The host ports that a pod's containers and sidecars ask for (`schedutil.GetHostPorts`).
pub fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let sidecars = pod.spec.init_containers.iter().filter(|c| c.restart_policy.as_deref() == Some("Always"));
    sidecars
        .chain(&pod.spec.containers)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| HostPort {
            ip: Str::from(if port.host_ip.is_empty() { HostPortInfo::ALL } else { &port.host_ip }),
            protocol: Str::from(if port.protocol.is_empty() { "TCP" } else { &port.protocol }),
            port: port.host_port,
        })
        .collect()
}

/// The host ports that are taken on a node (`framework.HostPortInfo`).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostPortInfo {
    ports: BTreeSet<HostPort>,
}

impl HostPortInfo {
    /// The address that stands for all addresses.
    pub const ALL: &'static str = "0.0.0.0";

    /// Takes a port.
    pub fn add(&mut self, port: &HostPort) {
        self.ports.insert(port.clone());
    }

    /// Gives a port back.
    pub fn remove(&mut self, port: &HostPort) {
        self.ports.remove(port);
    }

    /// How many ports are taken.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether none is taken.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The taken ports in order.
    pub fn iter(&self) -> impl Iterator<Item = &HostPort> {
        self.ports.iter()
    }

    /// Whether `wanted` collides with a taken port (`HostPortInfo.CheckConflict`): all addresses collide with
    /// each one.
    pub fn conflicts_with(&self, wanted: &HostPort) -> bool {
        if wanted.port <= 0 {
            return false;
        }
        self.ports.iter().any(|taken| {
            taken.port == wanted.port
                && taken.protocol == wanted.protocol
                && (taken.ip == wanted.ip
                    || taken.ip.as_ref() == Self::ALL
                    || wanted.ip.as_ref() == Self::ALL)
        })
    }
}
