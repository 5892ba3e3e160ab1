//! The clusters of the benchmark, made here so that no data has to be kept.

use schedscope::api::manifest::Source;
use serde_json::{Value, json};

const N_NODES: usize = 1000;
const N_RUNNING: usize = 500;
const N_PENDING: usize = 200;
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What the pods of a workload ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// CPU and memory alone.
    Basic,
    /// One of two zones.
    NodeAffinity,
    /// A zone with a pod of their kind.
    PodAffinity,
    /// A node without a pod of their kind.
    PodAntiAffinity,
    /// If possible, a node with a pod of their kind.
    PreferredPodAffinity,
    /// If possible, a node without a pod of their kind.
    PreferredPodAntiAffinity,
    /// To be spread over the zones.
    TopologySpreading,
    /// To be spread over the zones if possible.
    PreferredTopologySpreading,
    /// Nothing, but a Service selects them.
    DefaultTopologySpreading,
    /// More than any node has.
    Unschedulable,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Basic,
        Self::NodeAffinity,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::PreferredPodAffinity,
        Self::PreferredPodAntiAffinity,
        Self::TopologySpreading,
        Self::PreferredTopologySpreading,
        Self::DefaultTopologySpreading,
        Self::Unschedulable,
    ];

    /// The name under which results are kept.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::NodeAffinity => "node-affinity",
            Self::PodAffinity => "pod-affinity",
            Self::PodAntiAffinity => "pod-anti-affinity",
            Self::PreferredPodAffinity => "preferred-pod-affinity",
            Self::PreferredPodAntiAffinity => "preferred-pod-anti-affinity",
            Self::TopologySpreading => "topology-spreading",
            Self::PreferredTopologySpreading => "preferred-topology-spreading",
            Self::DefaultTopologySpreading => "default-topology-spreading",
            Self::Unschedulable => "unschedulable",
        }
    }

    /// The cluster with its pending pods.
    pub fn manifests(self) -> Vec<Source> {
        let mut items: Vec<Value> = (0..N_NODES).map(|i| self.node(i)).collect();
        items.extend((0..N_RUNNING).map(|i| self.running_pod(i)));
        if self == Self::DefaultTopologySpreading {
            items.push(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "blue", "namespace": "default"},
                "spec": {"selector": {"color": "blue"}},
            }));
        }
        items.extend((0..N_PENDING).map(|i| self.pending_pod(i)));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        vec![Source { name: format!("{}.json", self.name()), text: list.to_string() }]
    }

    const fn n_zones(self) -> usize {
        match self {
            Self::NodeAffinity => 2,
            Self::PodAffinity => 1,
            _ => 3,
        }
    }

    fn node(self, i: usize) -> Value {
        let name = node_name(i);
        let zone = format!("zone-{}", i % self.n_zones());
        let amounts = json!({"cpu": "4", "memory": "32Gi", "pods": "110"});
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone}},
            "status": {"capacity": amounts, "allocatable": amounts},
        })
    }

    fn running_pod(self, i: usize) -> Value {
        let mut pod = pod(&format!("running-{i:05}"));
        pod["spec"]["nodeName"] = node_name(i % N_NODES).into();
        if let Some(affinity) = self.pod_affinity() {
            pod["metadata"]["labels"] = json!({"color": "blue"});
            pod["spec"]["affinity"] = affinity;
        } else if self.spreads() {
            pod["metadata"]["labels"] = json!({"color": "red"});
        }
        pod
    }

    fn pending_pod(self, i: usize) -> Value {
        let mut pod = pod(&format!("pending-{i:05}"));
        if self.pod_affinity().is_some() || self.spreads() || self == Self::DefaultTopologySpreading {
            pod["metadata"]["labels"] = json!({"color": "blue"});
        }
        if let Some(affinity) = self.pod_affinity() {
            pod["spec"]["affinity"] = affinity;
        }
        if self.spreads() {
            let strict = self == Self::TopologySpreading;
            pod["spec"]["topologySpreadConstraints"] = json!([{
                "maxSkew": 5, "topologyKey": ZONE, "labelSelector": {"matchLabels": {"color": "blue"}},
                "whenUnsatisfiable": if strict { "DoNotSchedule" } else { "ScheduleAnyway" },
            }]);
        }
        match self {
            Self::NodeAffinity => {
                let zones = json!({"key": ZONE, "operator": "In", "values": ["zone-0", "zone-9"]});
                pod["spec"]["affinity"] = json!({"nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution":
                        {"nodeSelectorTerms": [{"matchExpressions": [zones]}]},
                }});
            }
            Self::Unschedulable => {
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "64".into();
            }
            _ => {}
        }
        pod
    }

    const fn spreads(self) -> bool {
        matches!(self, Self::TopologySpreading | Self::PreferredTopologySpreading)
    }

    fn pod_affinity(self) -> Option<Value> {
        let term =
            |key: &str| json!({"labelSelector": {"matchLabels": {"color": "blue"}}, "topologyKey": key});
        let preferred = json!([{"weight": 1, "podAffinityTerm": term(HOSTNAME)}]);
        Some(match self {
            Self::PodAffinity => json!({"podAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": [term(ZONE)]}}),
            Self::PodAntiAffinity => json!({"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": [term(HOSTNAME)]}}),
            Self::PreferredPodAffinity => json!({"podAffinity":
                {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}),
            Self::PreferredPodAntiAffinity => json!({"podAntiAffinity":
                {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}),
            _ => return None,
        })
    }
}

fn node_name(i: usize) -> String {
    format!("node-{i:05}")
}

fn pod(name: &str) -> Value {
    let requests = json!({"cpu": "100m", "memory": "500Mi"});
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [
            {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}},
        ]},
    })
}
