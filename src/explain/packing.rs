//! The cluster as something to pack pods into: what is asked for, what still fits where, and what is stranded.

use crate::framework::resource::names as resources;
use crate::framework::{NodeInfo, Resource};
use crate::scheduler::view::View;

use super::amount::short;
use super::node::other_uses;
use super::{ResourceUse, main_uses};

/// From how many hundredths on a resource counts as used up.
const USED_UP: i64 = 95;
/// The pods whose room is told, in thousandths of a core and bytes.
const SIZES: [(i64, i64); 5] =
    [(500, GI), (1_000, 2 * GI), (2_000, 4 * GI), (4_000, 8 * GI), (8_000, 16 * GI)];
const GI: i64 = 1 << 30;

/// How much of a resource is asked for in the whole cluster.
pub type Usage = ResourceUse;

/// How many pods of one size still fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The size, such as `500m 1Gi`.
    pub size: String,
    /// How many fit.
    pub n: i64,
    /// On how many nodes.
    pub n_nodes: usize,
    /// Whether it is the size of the pod that was asked about.
    pub is_wanted: bool,
    /// How many would fit if all that is free were on one node.
    pub n_in_one: i64,
}

/// The cluster as something to pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// What is asked for of each resource.
    pub usage: Vec<Usage>,
    /// How much room there is for pods of some sizes. Requests alone are looked at: no taint, no rule of a pod.
    pub room: Vec<Room>,
    /// The most cpu that is free on one node, with what memory is free beside it; thousandths of a core and bytes.
    pub largest: Option<(i64, i64)>,
    /// CPU that is free where memory or places are used up, and memory where cpu or places are.
    pub stranded: (i64, i64),
}

/// What is free on a node: cpu, memory, places; never below 0.
fn free(node: &NodeInfo) -> (i64, i64, i64) {
    let (used, there) = (node.requested(), node.allocatable());
    let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    (
        there.milli_cpu.saturating_sub(used.milli_cpu).max(0),
        there.memory.saturating_sub(used.memory).max(0),
        there.allowed_pod_number.saturating_sub(n_pods).max(0),
    )
}

fn fits(cpu: i64, memory: i64, free: (i64, i64, i64)) -> i64 {
    let by = |free: i64, wanted: i64| if wanted > 0 { free / wanted } else { i64::MAX };
    by(free.0, cpu).min(by(free.1, memory)).min(free.2)
}

/// CPU and memory that are free on a node and of no use, since something else is used up there.
pub fn stranded(node: &NodeInfo) -> (i64, i64) {
    let (cpu, memory, _) = free(node);
    let [no_cpu, no_memory, no_places] =
        main_uses(node).map(|used| used.percent().is_some_and(|percent| percent >= USED_UP));
    (if no_memory || no_places { cpu } else { 0 }, if no_cpu || no_places { memory } else { 0 })
}

/// Sums the cluster up. `wanted` is the request of a pod whose room is told besides.
pub fn packing(view: &View, wanted: Option<&Resource>) -> Packing {
    let wanted = wanted.map(|wanted| (wanted.milli_cpu, wanted.memory)).filter(|wanted| *wanted != (0, 0));
    let sizes = wanted.into_iter().chain(SIZES.into_iter().filter(|size| Some(*size) != wanted));
    // For each size: how many fit, and on how many nodes.
    let mut fitting: Vec<((i64, i64), i64, usize)> = sizes.map(|size| (size, 0, 0)).collect();
    let mut packing = Packing::default();
    let mut all_free = (0_i64, 0_i64, 0_i64);
    for node in &view.nodes {
        for used in main_uses(node).into_iter().chain(other_uses(node)) {
            match packing.usage.iter_mut().find(|sum| sum.resource == used.resource) {
                Some(sum) => {
                    sum.requested = sum.requested.saturating_add(used.requested);
                    sum.allocatable = sum.allocatable.saturating_add(used.allocatable);
                }
                None => packing.usage.push(used),
            }
        }
        let free = free(node);
        all_free = (
            all_free.0.saturating_add(free.0),
            all_free.1.saturating_add(free.1),
            all_free.2.saturating_add(free.2),
        );
        if free.2 > 0 && packing.largest.is_none_or(|largest| (free.0, free.1) > largest) {
            packing.largest = Some((free.0, free.1));
        }
        let (cpu, memory) = stranded(node);
        packing.stranded.0 = packing.stranded.0.saturating_add(cpu);
        packing.stranded.1 = packing.stranded.1.saturating_add(memory);
        for ((cpu, memory), n, n_nodes) in &mut fitting {
            let fit = fits(*cpu, *memory, free);
            *n = n.saturating_add(fit);
            *n_nodes += usize::from(fit > 0);
        }
    }
    let room = fitting.into_iter().map(|((cpu, memory), n, n_nodes)| Room {
        size: format!("{} {}", short(resources::CPU, cpu), short(resources::MEMORY, memory)),
        n,
        n_nodes,
        is_wanted: wanted == Some((cpu, memory)),
        n_in_one: fits(cpu, memory, all_free),
    });
    packing.room = room.collect();
    packing
}
