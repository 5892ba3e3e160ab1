//! Numbers by which the outcomes of two runs are compared: how evenly the nodes are used, in how many pieces the free room
//! is, how long pods waited.
//!
//! All of them are whole numbers, so that they are the same on every machine: shares are in thousandths.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{Duration, Str};
use crate::driver::sandbox::returns::{Fate, fate};
use crate::framework::NodeInfo;
use crate::framework::resource::names;

/// From so many thousandths on a resource counts as used up.
const USED_UP: u64 = 950;

/// How a resource is used over the nodes that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMeasure {
    /// The resource.
    pub resource: Str,
    /// What is asked for on all nodes, in the base unit (thousandths of a core, bytes, pieces).
    pub requested: u64,
    /// What all nodes have.
    pub allocatable: u64,
    /// The mean of the nodes' shares in use, in thousandths.
    pub mean: u64,
    /// Their standard deviation, in thousandths: 0 if all nodes are used alike.
    pub deviation: u64,
    /// The highest share of a node.
    pub highest: u64,
}

/// How long pods waited for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Waits {
    /// How many got one.
    pub n: usize,
    /// Half of them waited no longer.
    pub p50: Duration,
    /// 90 of 100 waited no longer.
    pub p90: Duration,
    /// 99 of 100 waited no longer.
    pub p99: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Waits {
    /// Sums waits up.
    pub fn of(mut waits: Vec<Duration>) -> Self {
        waits.sort_unstable();
        let at = |percent: usize| {
            let rank = (waits.len() * percent).div_ceil(100).saturating_sub(1);
            waits.get(rank).copied().unwrap_or_default()
        };
        Self { n: waits.len(), p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}

/// The nodes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// How many nodes.
    pub nodes: usize,
    /// Nodes without pods, but for those of DaemonSets and of the kubelet.
    pub empty_nodes: usize,
    /// CPU and memory first, then what else nodes have, by name.
    pub resources: Vec<ResourceMeasure>,
    /// The node with the most free CPU: that, in thousandths of a core, and its free memory, in bytes.
    pub largest_hole: Option<(u64, u64)>,
    /// Free CPU and memory in all.
    pub free: (u64, u64),
    /// Free CPU and memory that is of no use, since the node has no room left of something else.
    pub stranded: (u64, u64),
}

impl Measures {
    /// How much of the free CPU is not in the largest hole, in thousandths: 0 if it is all in one piece.
    pub fn fragmentation(&self) -> u64 {
        let (largest, free) = (self.largest_hole.map_or(0, |(cpu, _)| cpu), self.free.0);
        match free {
            0 => 0,
            free => (free - largest.min(free)).saturating_mul(1_000) / free,
        }
    }

    /// The measure of a resource.
    pub fn resource(&self, name: &str) -> Option<&ResourceMeasure> {
        self.resources.iter().find(|measure| &*measure.resource == name)
    }
}

fn whole(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn share(requested: u64, allocatable: u64) -> u64 {
    requested.saturating_mul(1_000).checked_div(allocatable).unwrap_or(0)
}

/// What is asked for on a node, and what it has, by resource: CPU, memory, places, then its extended resources.
fn uses(node: &NodeInfo) -> Vec<(Str, u64, u64)> {
    let (used, there) = (node.requested(), node.allocatable());
    let mut uses = vec![
        (Str::from(names::CPU), whole(used.milli_cpu), whole(there.milli_cpu)),
        (Str::from(names::MEMORY), whole(used.memory), whole(there.memory)),
        (Str::from(names::PODS), node.pods().len() as u64, whole(there.allowed_pod_number)),
    ];
    uses.extend(there.scalar_resources.iter().filter(|(_, amount)| **amount > 0).map(|(name, amount)| {
        let used = used.scalar_resources.get(name).copied().unwrap_or_default();
        (Str::from(name.to_string()), whole(used), whole(*amount))
    }));
    uses
}

fn is_empty(node: &NodeInfo) -> bool {
    node.pods().iter().all(|info| fate(&info.pod) == Fate::OfItsNode)
}

/// Measures nodes.
pub fn measure(nodes: &[Arc<NodeInfo>]) -> Measures {
    let mut measures = Measures { nodes: nodes.len(), ..Measures::default() };
    let mut shares: BTreeMap<Str, Vec<u64>> = BTreeMap::new();
    let mut sums: BTreeMap<Str, (u64, u64)> = BTreeMap::new();
    for node in nodes {
        measures.empty_nodes += usize::from(is_empty(node));
        let uses = uses(node);
        let left = |at: usize| uses.get(at).map_or(0, |(_, used, there)| there.saturating_sub(*used));
        let is_used_up =
            |at: usize| uses.get(at).is_some_and(|(_, used, there)| share(*used, *there) >= USED_UP);
        let (cpu, memory, places) = (left(0), left(1), left(2));
        measures.free.0 += cpu;
        measures.free.1 += memory;
        if places > 0 && measures.largest_hole.is_none_or(|largest| (cpu, memory) > largest) {
            measures.largest_hole = Some((cpu, memory));
        }
        if is_used_up(1) || is_used_up(2) {
            measures.stranded.0 += cpu;
        }
        if is_used_up(0) || is_used_up(2) {
            measures.stranded.1 += memory;
        }
        for (resource, used, there) in uses.iter().filter(|(.., there)| *there > 0) {
            shares.entry(resource.clone()).or_default().push(share(*used, *there));
            let sum = sums.entry(resource.clone()).or_default();
            *sum = (sum.0.saturating_add(*used), sum.1.saturating_add(*there));
        }
    }
    let mut resources: Vec<ResourceMeasure> = shares
        .into_iter()
        .filter(|(resource, _)| &**resource != names::PODS)
        .map(|(resource, shares)| {
            let (requested, allocatable) = sums.get(&resource).copied().unwrap_or_default();
            let n = shares.len().max(1) as u64;
            let mean = shares.iter().sum::<u64>() / n;
            let squares: u64 = shares.iter().map(|share| share.abs_diff(mean).pow(2)).sum();
            let highest = shares.iter().copied().max().unwrap_or(0);
            ResourceMeasure {
                resource,
                requested,
                allocatable,
                mean,
                deviation: (squares / n).isqrt(),
                highest,
            }
        })
        .collect();
    let rank = |measure: &ResourceMeasure| match &*measure.resource {
        names::CPU => 0,
        names::MEMORY => 1,
        _ => 2,
    };
    resources.sort_by(|a, b| (rank(a), &a.resource).cmp(&(rank(b), &b.resource)));
    measures.resources = resources;
    measures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_rank() {
        let waits = Waits::of((1..=200).map(Duration::from_secs).collect());
        assert_eq!((waits.n, waits.p50.as_secs(), waits.p90.as_secs()), (200, 100, 180));
        assert_eq!((waits.p99.as_secs(), waits.max.as_secs()), (198, 200));
        assert_eq!(Waits::of(Vec::new()), Waits::default());
    }

    #[test]
    fn free_room_in_one_piece_is_not_fragmented() {
        let of = |largest: u64, free: u64| Measures {
            largest_hole: Some((largest, 0)),
            free: (free, 0),
            ..Measures::default()
        };
        assert_eq!(of(4_000, 4_000).fragmentation(), 0);
        assert_eq!(of(1_000, 4_000).fragmentation(), 750);
        assert_eq!(of(0, 0).fragmentation(), 0);
    }
}
