//! Where the pods of a cluster that is made run: as their own rules allow, and where room is.

use std::collections::{BTreeMap, BTreeSet};

use super::nodes::{GPUS, Node, Pool};
use super::workloads::{Cluster, Workload};
use super::{GenerateOptions, Work};
use crate::api::Rng;

/// Among so many nodes the emptiest is taken.
const CHOICES: usize = 6;
/// So many times it is tried before every node is looked at.
const TRIES: usize = 8;

/// Gives every pod a node that is not to be pending. One for which there is no room stays without.
pub(super) fn place(options: &GenerateOptions, nodes: &mut [Node], cluster: &mut Cluster, rng: &mut Rng) {
    let mut by_place: BTreeMap<(Pool, usize), Vec<usize>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        by_place.entry((node.pool, node.zone)).or_default().push(index);
    }
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    // How many of the workload under way are in each zone.
    let mut zones = vec![0_u64; options.zones];
    let mut of_before = usize::MAX;
    let mut agent = 0;
    for pod in &mut cluster.pods {
        let Some(of) = cluster.workloads.get(pod.of) else { continue };
        if pod.of != of_before {
            of_before = pod.of;
            agent = 0;
            zones.fill(0);
        }
        if of.work == Work::System {
            pod.node = take(nodes, agent, of, &mut pod.device).then_some(agent);
            agent += 1;
            continue;
        }
        if pod.is_pending {
            continue;
        }
        // The zone with the fewest of them comes first; a rule about zones allows no other.
        let mut order: Vec<usize> = (0..options.zones).collect();
        order.sort_by_key(|zone| zones.get(*zone).copied().unwrap_or(0));
        if matches!(of.spread, Some((_, true))) {
            let pool = of.pool;
            let least = order.iter().map(|zone| zones.get(*zone).copied().unwrap_or(0)).min().unwrap_or(0);
            order.retain(|zone| {
                zones.get(*zone).copied().unwrap_or(0) == least && by_place.contains_key(&(pool, *zone))
            });
        }
        for zone in order {
            // Small clusters have no pool of their own for everything.
            let pools = if of.pool == Pool::Memory { [Pool::Memory, Pool::General] } else { [of.pool; 2] };
            let found = pools.into_iter().find_map(|pool| {
                let candidates = by_place.get(&(pool, zone))?;
                choose(nodes, candidates, of, pod.of, &taken, rng)
            });
            if let Some(index) = found
                && take(nodes, index, of, &mut pod.device)
            {
                pod.node = Some(index);
                if of.is_apart {
                    taken.insert((pod.of, index));
                }
                if let Some(n) = zones.get_mut(zone) {
                    *n += 1;
                }
                break;
            }
        }
    }
}

fn has_room(node: &Node, of: &Workload) -> bool {
    node.used_cpu + of.cpu <= node.cpu
        && node.used_memory + of.memory <= node.memory
        && node.used_places < node.places
        && (of.gpus == 0 || node.used_gpus + of.gpus <= GPUS)
        && (of.work != Work::Devices || node.used_devices < GPUS)
}

fn choose(
    nodes: &[Node],
    candidates: &[usize],
    of: &Workload,
    workload: usize,
    taken: &BTreeSet<(usize, usize)>,
    rng: &mut Rng,
) -> Option<usize> {
    let is_free = |index: &usize| {
        nodes.get(*index).is_some_and(|node| !node.is_cordoned && has_room(node, of))
            && !(of.is_apart && taken.contains(&(workload, *index)))
    };
    let fullness =
        |index: &usize| nodes.get(*index).map_or(u64::MAX, |node| node.used_cpu * 1_000 / node.cpu.max(1));
    for _ in 0..TRIES {
        let drawn: Vec<usize> =
            (0..CHOICES).filter_map(|_| candidates.get(rng.below(candidates.len())).copied()).collect();
        if let Some(best) = drawn.into_iter().filter(is_free).min_by_key(|index| (fullness(index), *index)) {
            return Some(best);
        }
    }
    candidates.iter().copied().find(is_free)
}

fn take(nodes: &mut [Node], index: usize, of: &Workload, device: &mut Option<u64>) -> bool {
    let Some(node) = nodes.get_mut(index).filter(|node| has_room(node, of)) else { return false };
    node.used_cpu += of.cpu;
    node.used_memory += of.memory;
    node.used_places += 1;
    node.used_gpus += of.gpus;
    if of.work == Work::Devices {
        *device = Some(node.used_devices);
        node.used_devices += 1;
    }
    true
}
