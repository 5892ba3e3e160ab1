//! The nodes of a cluster that is made: pools of like machines over the zones.

use super::{GenerateOptions, Work, pick};
use crate::api::Rng;

/// What a pool of nodes is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pool {
    General,
    /// Much memory, for databases and caches.
    Memory,
    /// GPUs; tainted, so that nothing else goes there.
    Gpu,
}

impl Pool {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Memory => "memory",
            Self::Gpu => "gpu",
        }
    }
}

/// A machine type: its name, thousandths of a core, and mebibytes.
struct Machine(&'static str, u64, u64);

const GENERAL: [Machine; 3] =
    [Machine("std-8", 8_000, 32_768), Machine("std-16", 16_000, 65_536), Machine("std-32", 32_000, 131_072)];
const MEMORY: [Machine; 2] = [Machine("mem-8", 8_000, 65_536), Machine("mem-16", 16_000, 131_072)];
const GPU: [Machine; 1] = [Machine("gpu-32", 32_000, 262_144)];

/// How many GPUs, and how many other devices, a node of the GPU pool has.
pub(super) const GPUS: u64 = 8;

/// A node and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub name: String,
    pub pool: Pool,
    pub zone: usize,
    pub machine: &'static str,
    /// Thousandths of a core.
    pub cpu: u64,
    /// Mebibytes.
    pub memory: u64,
    /// How many pods it may have.
    pub places: u64,
    pub is_cordoned: bool,
    /// Whether it is to be left alone if possible.
    pub is_worn: bool,
    pub used_cpu: u64,
    pub used_memory: u64,
    pub used_places: u64,
    pub used_gpus: u64,
    /// Devices that are given away.
    pub used_devices: u64,
}

/// The nodes, pool by pool; in each, zone after zone in turn.
pub(super) fn make(options: &GenerateOptions, rng: &mut Rng) -> Vec<Node> {
    // A pool is as large as the share of the pods that run on it, the agents on all nodes left aside.
    let share = |work: &[Work]| {
        let of = |wanted: &dyn Fn(Work) -> bool| -> usize {
            options.mix.iter().filter(|(known, _)| wanted(*known)).map(|(_, weight)| *weight as usize).sum()
        };
        options.nodes * of(&|known| work.contains(&known)) / of(&|known| known != Work::System).max(1)
    };
    let has = |work: &[Work]| options.mix.iter().any(|(known, _)| work.contains(known));
    let gpus = [Work::Gpu, Work::Devices];
    let gpu = if has(&gpus) { share(&gpus).max(1) } else { 0 };
    let memory = share(&[Work::Db, Work::Cache]);
    // One node is of the kind that everything runs on.
    let gpu = gpu.min(options.nodes.saturating_sub(1));
    let memory = memory.min(options.nodes.saturating_sub(1 + gpu));
    let general = options.nodes - gpu - memory;
    let per_node = (options.pods / options.nodes.max(1)) as u64;
    let places = 110.max(per_node * 2 + 20);
    let mut nodes = Vec::with_capacity(options.nodes);
    for (pool, count, machines) in [
        (Pool::General, general, &GENERAL as &[Machine]),
        (Pool::Memory, memory, &MEMORY),
        (Pool::Gpu, gpu, &GPU),
    ] {
        for index in 0..count {
            let Some(Machine(machine, cpu, memory)) = pick(rng, machines) else { continue };
            let zone = index % options.zones;
            nodes.push(Node {
                name: format!("{}-{}-{:04}", pool.as_str(), zone_letter(zone), index / options.zones + 1),
                pool,
                zone,
                machine,
                cpu: *cpu,
                memory: *memory,
                places,
                is_cordoned: pool == Pool::General && count > 20 && rng.below(100) == 0,
                is_worn: pool == Pool::General && count > 20 && rng.below(100) == 0,
                used_cpu: 0,
                used_memory: 0,
                used_places: 0,
                used_gpus: 0,
                used_devices: 0,
            });
        }
    }
    nodes
}

/// `a`, `b`, ... `z`, `z26`, ...
pub(super) fn zone_letter(zone: usize) -> String {
    match u8::try_from(zone) {
        Ok(zone @ 0..26) => char::from(b'a' + zone).to_string(),
        _ => format!("z{zone}"),
    }
}
