//! The workloads of a cluster that is made, and their pods.

use std::collections::BTreeSet;

use super::nodes::{Node, Pool};
use super::{GenerateOptions, Work, pick};
use crate::api::Rng;
use crate::driver::sandbox::names::letters;

/// A workload.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub work: Work,
    pub namespace: &'static str,
    pub name: String,
    /// The kind of the pods' controller and its name.
    pub owner: (&'static str, String),
    pub replicas: usize,
    /// Of each pod: thousandths of a core, mebibytes, GPUs.
    pub cpu: u64,
    pub memory: u64,
    pub gpus: u64,
    pub pool: Pool,
    /// The most that one zone may have more than another, and whether that is a rule or a wish.
    pub spread: Option<(u64, bool)>,
    /// Whether no two of its pods may be on one node.
    pub is_apart: bool,
    pub priority_class: &'static str,
    /// How many of its pods may be away at once.
    pub budget: Option<u64>,
}

/// A pod.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    /// Which workload.
    pub of: usize,
    pub name: String,
    /// Which node.
    pub node: Option<usize>,
    /// Whether it is to have none.
    pub is_pending: bool,
    /// The device that it has been given.
    pub device: Option<u64>,
    /// Hours since it was started.
    pub age: usize,
}

/// Everything beside the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Cluster {
    pub workloads: Vec<Workload>,
    pub pods: Vec<Pod>,
}

/// What workloads of a kind are like.
struct Shape {
    namespace: &'static str,
    names: &'static [&'static str],
    /// The fewest and the most replicas in a cluster of some hundred pods.
    replicas: (usize, usize),
    /// Sizes to choose from: thousandths of a core and mebibytes.
    sizes: &'static [(u64, u64)],
    pool: Pool,
    kind: &'static str,
    priority_class: &'static str,
}

fn shape(work: Work) -> Shape {
    match work {
        Work::Web => Shape {
            namespace: "shop",
            names: &["storefront", "search", "checkout", "catalog", "images", "account", "blog", "landing"],
            replicas: (3, 24),
            sizes: &[(100, 128), (250, 256), (500, 512), (1_000, 1_024)],
            pool: Pool::General,
            kind: "ReplicaSet",
            priority_class: "serving",
        },
        Work::Api => Shape {
            namespace: "platform",
            names: &["orders", "payments", "users", "inventory", "pricing", "mail", "tokens", "gateway"],
            replicas: (2, 12),
            sizes: &[(250, 512), (500, 512), (500, 1_024), (1_000, 2_048)],
            pool: Pool::General,
            kind: "ReplicaSet",
            priority_class: "serving",
        },
        Work::Batch => Shape {
            namespace: "batch",
            names: &["report", "import", "export", "thumbnails", "cleanup", "billing", "etl"],
            replicas: (1, 20),
            sizes: &[(500, 512), (1_000, 1_024), (2_000, 2_048), (4_000, 4_096)],
            pool: Pool::General,
            kind: "Job",
            priority_class: "batch",
        },
        Work::Db => Shape {
            namespace: "data",
            names: &["orders-db", "users-db", "events-db", "ledger-db", "search-index"],
            replicas: (3, 5),
            sizes: &[(1_000, 4_096), (2_000, 8_192), (2_000, 16_384)],
            pool: Pool::Memory,
            kind: "StatefulSet",
            priority_class: "data",
        },
        Work::Cache => Shape {
            namespace: "data",
            names: &["session-cache", "page-cache", "price-cache"],
            replicas: (3, 9),
            sizes: &[(250, 4_096), (500, 8_192)],
            pool: Pool::Memory,
            kind: "StatefulSet",
            priority_class: "serving",
        },
        Work::Gpu => Shape {
            namespace: "ml",
            names: &["train-ranking", "train-vision", "train-speech", "finetune"],
            replicas: (1, 6),
            sizes: &[(2_000, 16_384), (4_000, 32_768)],
            pool: Pool::Gpu,
            kind: "Job",
            priority_class: "training",
        },
        Work::Devices => Shape {
            namespace: "ml",
            names: &["infer-ranking", "infer-vision", "infer-speech"],
            replicas: (1, 6),
            sizes: &[(1_000, 4_096), (2_000, 8_192)],
            pool: Pool::Gpu,
            kind: "ReplicaSet",
            priority_class: "serving",
        },
        Work::System => Shape {
            namespace: "kube-system",
            names: &["log-agent", "metrics-agent", "net-agent"],
            replicas: (0, 0),
            sizes: &[(50, 64), (100, 128)],
            pool: Pool::General,
            kind: "DaemonSet",
            priority_class: "system-node-critical",
        },
    }
}

/// The workloads, and all their pods without nodes.
pub(super) fn make(options: &GenerateOptions, nodes: &[Node], rng: &mut Rng) -> Cluster {
    let mut cluster = Cluster::default();
    let mut left = options.pods;
    // Agents first: they are one a node, so there are as many sorts of them as fit into a third of all pods.
    if options.mix.iter().any(|(work, _)| *work == Work::System) {
        let is_alone = options.mix.len() == 1;
        let sorts = if is_alone { left / nodes.len().max(1) } else { left / 3 / nodes.len().max(1) };
        for _ in 0..sorts.min(3) {
            left -= nodes.len();
            add(&mut cluster, Work::System, nodes.len(), rng);
        }
    }
    let mix: Vec<(Work, u32)> =
        options.mix.iter().copied().filter(|(work, _)| *work != Work::System).collect();
    let mix = if mix.is_empty() { vec![(Work::Web, 1)] } else { mix };
    let total: u32 = mix.iter().map(|(_, weight)| *weight).sum();
    // Large clusters have larger workloads, too.
    let scale = 1 + options.pods / 4_000;
    let all = left;
    for (index, (work, weight)) in mix.iter().enumerate() {
        let is_last = index + 1 == mix.len();
        let mut share =
            if is_last { left } else { (all * *weight as usize / total.max(1) as usize).min(left) };
        left -= share;
        let (fewest, most) = shape(*work).replicas;
        while share > 0 {
            let wanted = (fewest + rng.below(most.saturating_sub(fewest) + 1)) * scale;
            let replicas = wanted.clamp(1, share);
            add(&mut cluster, *work, replicas, rng);
            share -= replicas;
        }
    }
    mark_pending(options, &mut cluster, rng);
    scale_requests(options, nodes, &mut cluster);
    cluster
}

/// Letters that no other pod of the workload has.
fn new_end(taken: &mut BTreeSet<String>, rng: &mut Rng) -> String {
    loop {
        let end = letters(rng, 5);
        if taken.insert(end.clone()) {
            return end;
        }
    }
}

fn add(cluster: &mut Cluster, work: Work, replicas: usize, rng: &mut Rng) {
    let shape = shape(work);
    let n = cluster.workloads.iter().filter(|known| known.work == work).count();
    let base = shape.names.get(n % shape.names.len().max(1)).copied().unwrap_or("app");
    let round = n / shape.names.len().max(1);
    let name = if round == 0 { base.to_owned() } else { format!("{base}-{}", round + 1) };
    let (cpu, memory) = pick(rng, shape.sizes).copied().unwrap_or((100, 128));
    let owner = match shape.kind {
        "ReplicaSet" => format!("{name}-{}", letters(rng, 9)),
        _ => name.clone(),
    };
    let of = cluster.workloads.len();
    let mut ends = BTreeSet::new();
    for index in 0..replicas {
        let name = match shape.kind {
            "StatefulSet" => format!("{owner}-{index}"),
            _ => format!("{owner}-{}", new_end(&mut ends, rng)),
        };
        let age = rng.below(600);
        cluster.pods.push(Pod { of, name, node: None, is_pending: false, device: None, age });
    }
    let budget = match work {
        Work::Web => Some((replicas as u64 / 4).max(1)),
        Work::Api | Work::Db | Work::Cache => Some(1),
        _ => None,
    };
    cluster.workloads.push(Workload {
        work,
        namespace: shape.namespace,
        name,
        owner: (shape.kind, owner),
        replicas,
        cpu,
        memory,
        gpus: if work == Work::Gpu { [1, 1, 2].get(rng.below(3)).copied().unwrap_or(1) } else { 0 },
        pool: shape.pool,
        spread: match work {
            Work::Web => Some((1, true)),
            Work::Api => Some((2, false)),
            _ => None,
        },
        is_apart: matches!(work, Work::Db | Work::Cache),
        priority_class: shape.priority_class,
        budget: budget.filter(|_| replicas > 1),
    });
}

/// Which pods have no node: some of the last workload of each kind but agents, until there are enough.
fn mark_pending(options: &GenerateOptions, cluster: &mut Cluster, rng: &mut Rng) {
    let mut candidates: Vec<usize> = cluster
        .pods
        .iter()
        .enumerate()
        .filter(|(_, pod)| cluster.workloads.get(pod.of).is_some_and(|of| of.work != Work::System))
        .map(|(index, _)| index)
        .collect();
    for _ in 0..options.pending {
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates.swap_remove(rng.below(candidates.len()));
        if let Some(pod) = cluster.pods.get_mut(chosen) {
            pod.is_pending = true;
        }
    }
}

/// Makes the requests of all pods that run add up to the share that is wanted, in each pool.
fn scale_requests(options: &GenerateOptions, nodes: &[Node], cluster: &mut Cluster) {
    // What is as large or as small as it may be leaves more to the others.
    for _ in 0..4 {
        for pool in [Pool::General, Pool::Memory, Pool::Gpu] {
            scale_pool(options, nodes, cluster, pool);
        }
    }
}

fn scale_pool(options: &GenerateOptions, nodes: &[Node], cluster: &mut Cluster, pool: Pool) {
    let is_there = |node: &&Node| node.pool == pool;
    let cpu_there: u64 = nodes.iter().filter(is_there).map(|node| node.cpu).sum();
    let memory_there: u64 = nodes.iter().filter(is_there).map(|node| node.memory).sum();
    let smallest = nodes.iter().filter(is_there).map(|node| (node.cpu, node.memory)).min();
    let Some((least_cpu, least_memory)) = smallest else { return };
    let mut asked = (0_u64, 0_u64);
    for pod in cluster.pods.iter().filter(|pod| !pod.is_pending) {
        let Some(of) = cluster.workloads.get(pod.of).filter(|of| of.pool == pool) else { continue };
        asked = (asked.0 + of.cpu, asked.1 + of.memory);
    }
    let wanted = |there: u64| there * u64::from(options.utilization) / 1_000;
    // Less of the memory, so that one of the two is what binds.
    let (cpu_wanted, memory_wanted) = (wanted(cpu_there), wanted(memory_there) * 4 / 5);
    for of in cluster.workloads.iter_mut().filter(|of| of.pool == pool) {
        let cpu = of.cpu * cpu_wanted / asked.0.max(1);
        let memory = of.memory * memory_wanted / asked.1.max(1);
        of.cpu = (cpu / 5 * 5).clamp(10, (least_cpu / 3).max(10));
        of.memory = (memory / 16 * 16).clamp(16, (least_memory / 3).max(16));
    }
}
