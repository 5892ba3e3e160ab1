//! A cluster that is made, as YAML.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::nodes::{GPUS, Node, Pool, zone_letter};
use super::workloads::{Cluster, Pod, Workload};
use super::{Part, Work};
use crate::api::Time;

/// The end of the year before simulated time begins: when the oldest pods may have started.
const NOW_SECS: u64 = 1_767_225_600;
const DRIVER: &str = "disk.csi.example.com";
const DEVICE_DRIVER: &str = "npu.example.com";
const GPU: &str = "example.com/gpu";

/// Writing into a text cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { let _ = write!($out, $($arg)*); };
}

/// Everything, by file.
pub(super) fn parts(nodes: &[Node], cluster: &Cluster) -> Vec<Part> {
    let has = |work: Work| cluster.workloads.iter().any(|of| of.work == work);
    let mut parts = vec![
        Part { file: "cluster.yaml", text: classes(cluster) },
        Part { file: "nodes.yaml", text: nodes_text(nodes, has(Work::Devices)) },
        Part { file: "workloads.yaml", text: workloads(cluster) },
    ];
    if has(Work::Db) {
        parts.push(Part { file: "storage.yaml", text: storage(nodes, cluster) });
    }
    if has(Work::Devices) {
        parts.push(Part { file: "devices.yaml", text: devices(nodes, cluster) });
    }
    parts.push(Part { file: "pods.yaml", text: pods(nodes, cluster) });
    parts
}

fn classes(cluster: &Cluster) -> String {
    let mut out = String::new();
    let namespaces: BTreeSet<&str> = cluster.workloads.iter().map(|of| of.namespace).collect();
    for namespace in namespaces {
        put!(
            out,
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {{kubernetes.io/metadata.name: \
             {namespace}}}}}\n"
        );
    }
    for (name, value, policy) in [
        ("data", 100_000, "PreemptLowerPriority"),
        ("serving", 10_000, "PreemptLowerPriority"),
        ("training", 1_000, "Never"),
        ("batch", 100, "Never"),
    ] {
        put!(
            out,
            "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n\
             preemptionPolicy: {policy}\n"
        );
    }
    put!(
        out,
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: system-node-critical}}\nvalue: \
         2000001000\n"
    );
    out
}

fn nodes_text(nodes: &[Node], has_devices: bool) -> String {
    let mut out = String::with_capacity(nodes.len() * 700);
    for node in nodes {
        let Node { name, machine, cpu, memory, places, .. } = node;
        let zone = zone_letter(node.zone);
        let pool = node.pool.as_str();
        put!(
            out,
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{kubernetes.io/hostname: {name}, \
             kubernetes.io/os: linux, kubernetes.io/arch: amd64, node.kubernetes.io/instance-type: {machine}, pool: {pool}, \
             topology.kubernetes.io/region: region-1, topology.kubernetes.io/zone: zone-{zone}}}\n"
        );
        let mut taints = Vec::new();
        if node.pool == Pool::Gpu {
            taints.push(format!("{{key: {GPU}, value: present, effect: NoSchedule}}"));
        }
        if node.is_worn {
            taints.push("{key: example.com/maintenance, value: soon, effect: PreferNoSchedule}".to_owned());
        }
        if node.is_cordoned {
            taints.push("{key: node.kubernetes.io/unschedulable, effect: NoSchedule}".to_owned());
        }
        match (taints.is_empty(), node.is_cordoned) {
            (true, _) => out.push_str("spec: {}\n"),
            (false, false) => _ = writeln!(out, "spec: {{taints: [{}]}}", taints.join(", ")),
            (false, true) => {
                _ = writeln!(out, "spec: {{unschedulable: true, taints: [{}]}}", taints.join(", "))
            }
        }
        let gpus = if node.pool == Pool::Gpu { format!(", {GPU}: '{GPUS}'") } else { String::new() };
        let room =
            format!("{{cpu: {cpu}m, memory: {memory}Mi, ephemeral-storage: 200Gi, pods: '{places}'{gpus}}}");
        put!(
            out,
            "status:\n  capacity: {room}\n  allocatable: {room}\n  conditions: [{{type: Ready, status: 'True'}}]\n"
        );
        put!(
            out,
            "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {name}}}\nspec: {{drivers: [{{name: \
             {DRIVER}, nodeID: {name}, topologyKeys: [topology.kubernetes.io/zone], allocatable: {{count: 32}}}}]}}\n"
        );
        if has_devices && node.pool == Pool::Gpu {
            put!(
                out,
                "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}-npu}}\nspec:\n  driver: \
                 {DEVICE_DRIVER}\n  nodeName: {name}\n  pool: {{name: {name}, generation: 1, resourceSliceCount: 1}}\n  \
                 devices:\n"
            );
            for device in 0..GPUS {
                put!(out, "  - {{name: npu-{device}, attributes: {{model: {{string: n100}}}}}}\n");
            }
        }
    }
    out
}

fn uid(of: &Workload) -> String {
    format!("{}/{}/{}", of.owner.0.to_lowercase(), of.namespace, of.owner.1)
}

fn pod_uid(of: &Workload, pod: &Pod) -> String {
    format!("pod/{}/{}", of.namespace, pod.name)
}

fn workloads(cluster: &Cluster) -> String {
    let mut out = String::new();
    let mut running = vec![0_u64; cluster.workloads.len()];
    for pod in cluster.pods.iter().filter(|pod| pod.node.is_some()) {
        if let Some(n) = running.get_mut(pod.of) {
            *n += 1;
        }
    }
    for (of, running) in cluster.workloads.iter().zip(running) {
        let (kind, owner) = &of.owner;
        let Workload { namespace, name, replicas, .. } = of;
        if matches!(*kind, "ReplicaSet" | "StatefulSet") {
            let service =
                if *kind == "StatefulSet" { format!("\n  serviceName: {name}") } else { String::new() };
            put!(
                out,
                "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {owner}, namespace: {namespace}, uid: {}}}\nspec:\n  \
                 replicas: {replicas}{service}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: \
                 {{labels: {}}}\n    spec:\n{}",
                uid(of),
                labels(of),
                spec(of, 6, ""),
            );
        }
        if let Work::Web | Work::Api | Work::Db | Work::Cache = of.work {
            put!(
                out,
                "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{selector: \
                 {{app: {name}}}}}\n"
            );
        }
        if let Some(away) = of.budget {
            let expected = *replicas as u64;
            let desired = expected.saturating_sub(away);
            put!(
                out,
                "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}, namespace: \
                 {namespace}}}\nspec: {{maxUnavailable: {away}, selector: {{matchLabels: {{app: {name}}}}}}}\nstatus: \
                 {{disruptionsAllowed: {}, currentHealthy: {running}, desiredHealthy: {desired}, expectedPods: {expected}}}\n",
                running.saturating_sub(desired),
            );
        }
    }
    out
}

fn labels(of: &Workload) -> String {
    format!("{{app: {}, tier: {}}}", of.name, of.work.as_str())
}

/// The fields of a pod's spec, each line so far to the right; `first` are further lines.
fn spec(of: &Workload, indent: usize, first: &str) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    let Workload { name, cpu, memory, .. } = of;
    out.push_str(first);
    let gpus = if of.gpus > 0 { format!(", {GPU}: '{}'", of.gpus) } else { String::new() };
    let requests = format!("{{cpu: {cpu}m, memory: {memory}Mi{gpus}}}");
    let limits = if of.gpus > 0 { format!(", limits: {{{GPU}: '{}'}}", of.gpus) } else { String::new() };
    let claims = if of.work == Work::Devices { ", claims: [{name: npu}]" } else { "" };
    put!(
        out,
        "{pad}priorityClassName: {}\n{pad}containers: [{{name: main, image: registry.example.com/{}:v1, resources: \
         {{requests: {requests}{limits}{claims}}}}}]\n",
        of.priority_class,
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-'),
    );
    match of.pool {
        Pool::Gpu => {
            put!(
                out,
                "{pad}nodeSelector: {{pool: gpu}}\n{pad}tolerations: [{{key: {GPU}, operator: Exists, effect: \
                 NoSchedule}}]\n"
            );
        }
        _ if of.work == Work::System => {
            put!(out, "{pad}tolerations: [{{operator: Exists}}]\n");
        }
        Pool::General | Pool::Memory => {}
    }
    if let Some((skew, is_rule)) = of.spread {
        let action = if is_rule { "DoNotSchedule" } else { "ScheduleAnyway" };
        put!(
            out,
            "{pad}topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: topology.kubernetes.io/zone, \
             whenUnsatisfiable: {action}, labelSelector: {{matchLabels: {{app: {name}}}}}}}]\n"
        );
    }
    let mut affinity = Vec::new();
    if of.pool == Pool::Memory {
        affinity.push(
            "nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, preference: \
             {matchExpressions: [{key: pool, operator: In, values: [memory]}]}}]}"
                .to_owned(),
        );
    }
    let term =
        format!("{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {name}}}}}}}");
    if of.is_apart {
        affinity
            .push(format!("podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}"));
    } else if of.work == Work::Api {
        affinity.push(format!(
            "podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 100, podAffinityTerm: {term}}}]}}"
        ));
    }
    if !affinity.is_empty() {
        put!(out, "{pad}affinity: {{{}}}\n", affinity.join(", "));
    }
    out
}

fn storage(nodes: &[Node], cluster: &Cluster) -> String {
    let mut out = String::new();
    put!(
        out,
        "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {{name: {DRIVER}}}\nspec: {{attachRequired: \
         true}}\n---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: fast-disks}}\nprovisioner: \
         {DRIVER}\nvolumeBindingMode: WaitForFirstConsumer\n"
    );
    for (of, pod) in pods_of(cluster, Work::Db) {
        let (namespace, claim) = (of.namespace, format!("data-{}", pod.name));
        let node = pod.node.and_then(|index| nodes.get(index));
        let volume = format!("pv-{namespace}-{}", pod.name);
        let (bound, done, phase) = match node {
            Some(_) => (
                format!(", volumeName: {volume}"),
                ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}",
                "status: {phase: Bound, capacity: {storage: 100Gi}, accessModes: [ReadWriteOnce]}",
            ),
            None => (String::new(), "", "status: {phase: Pending}"),
        };
        put!(
            out,
            "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {claim}, namespace: {namespace}{done}}}\n\
             spec: {{storageClassName: fast-disks, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: \
             100Gi}}}}{bound}}}\n{phase}\n"
        );
        let Some(node) = node else { continue };
        let zone = zone_letter(node.zone);
        put!(
            out,
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {volume}}}\nspec:\n  storageClassName: \
             fast-disks\n  accessModes: [ReadWriteOnce]\n  capacity: {{storage: 100Gi}}\n  persistentVolumeReclaimPolicy: \
             Retain\n  csi: {{driver: {DRIVER}, volumeHandle: {volume}}}\n  claimRef: {{kind: PersistentVolumeClaim, namespace: \
             {namespace}, name: {claim}}}\n  nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: \
             topology.kubernetes.io/zone, operator: In, values: [zone-{zone}]}}]}}]}}}}\nstatus: {{phase: Bound}}\n"
        );
    }
    out
}

fn pods_of(cluster: &Cluster, work: Work) -> impl Iterator<Item = (&Workload, &Pod)> {
    cluster.pods.iter().filter_map(move |pod| {
        let of = cluster.workloads.get(pod.of).filter(|of| of.work == work)?;
        Some((of, pod))
    })
}

fn devices(nodes: &[Node], cluster: &Cluster) -> String {
    let mut out = format!(
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: npu}}\nspec: {{selectors: [{{cel: \
         {{expression: 'device.driver == \"{DEVICE_DRIVER}\"'}}}}]}}\n"
    );
    for (of, pod) in pods_of(cluster, Work::Devices) {
        let namespace = of.namespace;
        put!(
            out,
            "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: npu-{}, namespace: \
             {namespace}}}\nspec: {{devices: {{requests: [{{name: npu, exactly: {{deviceClassName: npu}}}}]}}}}\n",
            pod.name
        );
        if let (Some(node), Some(device)) = (pod.node.and_then(|index| nodes.get(index)), pod.device) {
            let node = &node.name;
            put!(
                out,
                "status:\n  allocation:\n    devices: {{results: [{{request: npu, driver: {DEVICE_DRIVER}, pool: {node}, \
                 device: npu-{device}}}]}}\n    nodeSelector: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, \
                 operator: In, values: [{node}]}}]}}]}}\n  reservedFor: [{{resource: pods, name: {}, uid: {}}}]\n",
                pod.name,
                pod_uid(of, pod),
            );
        }
    }
    out
}

fn pods(nodes: &[Node], cluster: &Cluster) -> String {
    let mut out = String::with_capacity(cluster.pods.len() * 700);
    let bodies: Vec<String> = cluster.workloads.iter().map(|of| spec(of, 2, "")).collect();
    let namings: Vec<String> = cluster
        .workloads
        .iter()
        .map(|of| {
            let (kind, owner) = &of.owner;
            let version = if *kind == "Job" { "batch/v1" } else { "apps/v1" };
            format!(
                "  namespace: {}\n  labels: {}\n  ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: {owner}, uid: \
                 {}, controller: true}}]\n",
                of.namespace,
                labels(of),
                uid(of),
            )
        })
        .collect();
    for pod in &cluster.pods {
        let (Some(of), Some(naming), Some(body)) =
            (cluster.workloads.get(pod.of), namings.get(pod.of), bodies.get(pod.of))
        else {
            continue;
        };
        let node = pod.node.and_then(|index| nodes.get(index));
        put!(
            out,
            "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n  uid: {}\n{naming}spec:\n",
            pod.name,
            pod_uid(of, pod)
        );
        if let Some(node) = node {
            put!(out, "  nodeName: {}\n", node.name);
        }
        out.push_str(body);
        match of.work {
            Work::Db => {
                put!(
                    out,
                    "  volumes: [{{name: data, persistentVolumeClaim: {{claimName: data-{}}}}}]\n",
                    pod.name
                );
            }
            Work::Devices => {
                put!(out, "  resourceClaims: [{{name: npu, resourceClaimName: npu-{}}}]\n", pod.name);
            }
            _ => {}
        }
        match node {
            Some(_) => {
                let started = Time::from_secs(NOW_SECS - (pod.age as u64 + 1) * 3_600).to_rfc3339();
                put!(out, "status: {{phase: Running, startTime: '{started}'}}\n");
            }
            None => out.push_str("status: {phase: Pending}\n"),
        }
    }
    out
}
