//! The clusters of the benchmark, made here so that no data has to be kept.

use schedscope::api::manifest::Source;
use serde_json::{Value, json};

const N_NODES: usize = 1000;
const N_RUNNING: usize = 500;
const N_PENDING: usize = 200;
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const DRIVER: &str = "disk.example.com";
const DRA: &str = "resource.k8s.io/v1";

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
    /// A bound claim that one zone reaches, and one for which a volume is to be made.
    Volumes,
    /// A volume of the node.
    LocalVolumes,
    /// One of a node's eight devices, chosen by a selector.
    Devices,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 13] = [
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
        Self::Volumes,
        Self::LocalVolumes,
        Self::Devices,
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
            Self::Volumes => "volumes",
            Self::LocalVolumes => "local-volumes",
            Self::Devices => "dra",
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
        items.extend(self.storage_and_devices());
        items.extend((0..N_PENDING).map(|i| self.pending_pod(i)));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        vec![Source { name: format!("{}.json", self.name()), text: list.to_string() }]
    }

    /// The objects beside nodes and pods.
    fn storage_and_devices(self) -> Vec<Value> {
        let classes = [
            class("fast", DRIVER, "Immediate"),
            class("late", DRIVER, "WaitForFirstConsumer"),
            class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        ];
        match self {
            Self::Volumes => {
                let nodes = (0..N_NODES).map(|i| {
                    json!({
                        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node_name(i)},
                        "spec": {"drivers": [{"name": DRIVER, "nodeID": node_name(i), "topologyKeys": [ZONE],
                            "allocatable": {"count": 16}}]},
                    })
                });
                let of_pods = (0..N_PENDING).flat_map(|i| {
                    let zone = format!("zone-{}", i % 3);
                    let source = json!({"csi": {"driver": DRIVER, "volumeHandle": format!("pv-{i}")}});
                    let claim_ref = json!({"kind": "PersistentVolumeClaim", "namespace": "default",
                        "name": format!("bound-{i}")});
                    let mut volume = volume(i, "fast", (ZONE, &zone), &source);
                    volume["spec"]["claimRef"] = claim_ref;
                    volume["status"]["phase"] = "Bound".into();
                    let mut bound = claim(&format!("bound-{i}"), "fast");
                    bound["spec"]["volumeName"] = format!("pv-{i}").into();
                    bound["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
                    bound["status"]["phase"] = "Bound".into();
                    [volume, bound, claim(&format!("late-{i}"), "late")]
                });
                classes.into_iter().chain(nodes).chain(of_pods).collect()
            }
            Self::LocalVolumes => {
                let source = json!({"local": {"path": "/mnt"}});
                let volumes = (0..N_NODES).map(|i| volume(i, "local", (HOSTNAME, &node_name(i)), &source));
                let claims = (0..N_PENDING).map(|i| claim(&format!("local-{i}"), "local"));
                classes.into_iter().chain(volumes).chain(claims).collect()
            }
            Self::Devices => {
                let gpu = json!({
                    "apiVersion": DRA, "kind": "DeviceClass", "metadata": {"name": "gpu"},
                    "spec": {"selectors": [{"cel": {"expression": "device.driver == \"gpu.example.com\""}}]},
                });
                let claims = (0..N_PENDING).map(device_claim);
                std::iter::once(gpu).chain((0..N_NODES).map(slice)).chain(claims).collect()
            }
            _ => Vec::new(),
        }
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
            Self::Volumes => pod["spec"]["volumes"] = volumes(&[format!("bound-{i}"), format!("late-{i}")]),
            Self::LocalVolumes => pod["spec"]["volumes"] = volumes(&[format!("local-{i}")]),
            Self::Devices => {
                pod["spec"]["resourceClaims"] =
                    json!([{"name": "gpu", "resourceClaimName": format!("gpu-{i}")}]);
                pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "gpu"}]);
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

fn class(name: &str, provisioner: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    })
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"},
    })
}

fn volume(i: usize, class: &str, (key, value): (&str, &str), source: &Value) -> Value {
    let reach = json!([{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]);
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("pv-{i}")},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "nodeAffinity": {"required": {"nodeSelectorTerms": reach}}},
        "status": {"phase": "Available"},
    });
    for (name, value) in source.as_object().into_iter().flatten() {
        volume["spec"][name] = value.clone();
    }
    volume
}

fn volumes(claims: &[String]) -> Value {
    let volume = |(i, claim): (usize, &String)| json!({"name": format!("v{i}"), "persistentVolumeClaim": {"claimName": claim}});
    claims.iter().enumerate().map(volume).collect()
}

fn slice(i: usize) -> Value {
    let device = |j: usize| {
        json!({
            "name": format!("gpu-{j}"), "attributes": {"model": {"string": if j.is_multiple_of(2) { "a" } else { "b" }}},
            "capacity": {"memory": {"value": format!("{}Gi", 16 + 8 * (j % 3))}},
        })
    };
    let pool = json!({"name": node_name(i), "generation": 1, "resourceSliceCount": 1});
    json!({
        "apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": format!("slice-{i}")},
        "spec": {"driver": "gpu.example.com", "nodeName": node_name(i), "pool": pool,
            "devices": (0..8).map(device).collect::<Vec<_>>()},
    })
}

fn device_claim(i: usize) -> Value {
    let expression = "device.attributes[\"gpu.example.com\"].model == \"b\" && \
                      device.capacity[\"gpu.example.com\"].memory.isGreaterThan(quantity(\"20Gi\"))";
    let exactly = json!({"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]});
    json!({
        "apiVersion": DRA, "kind": "ResourceClaim", "metadata": {"name": format!("gpu-{i}"), "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    })
}
