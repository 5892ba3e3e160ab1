//! Clusters of a given size and mix, made as manifests: what `schedscope generate` prints.
//!
//! A mix of workloads runs on pools of nodes in zones: web services spread over the zones, services behind budgets,
//! databases with volumes, caches kept apart, batch jobs of low priority, training on GPUs, claims for devices, agents on
//! every node. Requests are scaled so that the share of CPU that was asked for is used. Pods that run are put where
//! their own rules allow them, without the scheduler's help; those that are to be pending have no node. The same options give the same
//! bytes on every machine.

mod nodes;
mod place;
mod workloads;
mod write;

use std::fmt;

use crate::api::Rng;

/// The most nodes, and the most pods, that are made.
const N_MAX: usize = 2_000_000;

/// What kind of work runs in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Web services: many replicas, spread over the zones.
    Web,
    /// Services behind disruption budgets, apart from each other if possible.
    Api,
    /// Jobs of low priority.
    Batch,
    /// Databases: StatefulSets, one replica a node, with volumes.
    Db,
    /// Caches: much memory, no two on a node.
    Cache,
    /// Training on nodes with GPUs (an extended resource).
    Gpu,
    /// Pods with claims for devices (DynamicResources).
    Devices,
    /// Agents on every node (DaemonSets).
    System,
}

impl Work {
    /// Every kind.
    pub const ALL: [Self; 8] =
        [Self::Web, Self::Api, Self::Batch, Self::Db, Self::Cache, Self::Gpu, Self::Devices, Self::System];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Api => "api",
            Self::Batch => "batch",
            Self::Db => "db",
            Self::Cache => "cache",
            Self::Gpu => "gpu",
            Self::Devices => "devices",
            Self::System => "system",
        }
    }
}

/// What a cluster is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateOptions {
    /// How many nodes.
    pub nodes: usize,
    /// How many pods, those that are pending included.
    pub pods: usize,
    /// Over how many zones.
    pub zones: usize,
    /// Which work, with how large a share of the pods each.
    pub mix: Vec<(Work, u32)>,
    /// Where the random numbers start.
    pub seed: u64,
    /// The share of the nodes' CPU that running pods ask for, in thousandths.
    pub utilization: u32,
    /// How many of the pods are pending.
    pub pending: usize,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            nodes: 20,
            pods: 200,
            zones: 3,
            mix: vec![(Work::Web, 4), (Work::Api, 3), (Work::Batch, 2), (Work::Db, 1), (Work::System, 1)],
            seed: 1,
            utilization: 600,
            pending: 10,
        }
    }
}

impl GenerateOptions {
    /// Whether such a cluster can be.
    ///
    /// # Errors
    /// One sentence that says why not.
    pub fn check(&self) -> Result<(), String> {
        if self.nodes == 0 || self.nodes > N_MAX {
            return Err(format!("nodes: {} is not from 1 to {N_MAX}", self.nodes));
        }
        if self.pods > N_MAX {
            return Err(format!("pods: {} is more than {N_MAX}", self.pods));
        }
        if self.zones == 0 || self.zones > self.nodes {
            return Err(format!(
                "zones: {} is not from 1 to the number of nodes, {}",
                self.zones, self.nodes
            ));
        }
        if self.pending > self.pods {
            return Err(format!("pending: {} is more than all pods, {}", self.pending, self.pods));
        }
        if self.utilization > 1_000 {
            return Err("utilization: it is a share from 0 to 1".to_owned());
        }
        if self.mix.is_empty() {
            return Err("mix: name some work".to_owned());
        }
        Ok(())
    }
}

/// Reads a mix such as `web,batch,gpu` or `web=5,batch=2`.
///
/// # Errors
/// What is no work, with what is.
pub fn parse_mix(text: &str) -> Result<Vec<(Work, u32)>, String> {
    let mut mix = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (word, weight) = part.split_once('=').unwrap_or((part, "1"));
        let Some(work) = Work::ALL.into_iter().find(|work| work.as_str() == word) else {
            let known: Vec<&str> = Work::ALL.iter().map(|work| work.as_str()).collect();
            return Err(format!("{word:?} is no work that is known; known are {}", known.join(", ")));
        };
        let weight = weight.parse().ok().filter(|weight| (1..=1_000).contains(weight));
        let weight = weight.ok_or_else(|| format!("{part:?}: its share is a number from 1 to 1000"))?;
        if mix.iter().any(|(known, _)| *known == work) {
            return Err(format!("{word} is there twice"));
        }
        mix.push((work, weight));
    }
    if mix.is_empty() { Err("name some work, such as web,batch".to_owned()) } else { Ok(mix) }
}

/// Reads a share such as `0.6` or `60%`, in thousandths.
pub fn parse_share(text: &str) -> Option<u32> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |text| (text, 100.0));
    let share = number.parse::<f64>().ok()? / whole;
    // It is between 0 and 1000.
    (0.0..=1.0).contains(&share).then(|| (share * 1_000.0).round() as u32)
}

/// A part of a cluster as a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What its file is called.
    pub file: &'static str,
    /// The manifest: documents, each with `---` before it.
    pub text: String,
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The manifests.
    pub parts: Vec<Part>,
    /// Pods on nodes.
    pub n_running: usize,
    /// Pods without a node.
    pub n_pending: usize,
    /// The share of the nodes' CPU that is asked for by pods on them, in thousandths.
    pub utilization: u32,
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pods on nodes, {} pending, {}.{}% of the CPU asked for",
            self.n_running,
            self.n_pending,
            self.utilization / 10,
            self.utilization % 10
        )
    }
}

/// Makes a cluster.
pub fn generate(options: &GenerateOptions) -> Generated {
    let mut rng = Rng::new(options.seed);
    let mut nodes = nodes::make(options, &mut rng);
    let mut cluster = workloads::make(options, &nodes, &mut rng);
    place::place(options, &mut nodes, &mut cluster, &mut rng);
    let asked: u64 = nodes.iter().map(|node| node.used_cpu).sum();
    let there: u64 = nodes.iter().map(|node| node.cpu).sum();
    let n_running = cluster.pods.iter().filter(|pod| pod.node.is_some()).count();
    Generated {
        n_running,
        n_pending: cluster.pods.len() - n_running,
        utilization: u32::try_from(asked * 1_000 / there.max(1)).unwrap_or(u32::MAX),
        parts: write::parts(&nodes, &cluster),
    }
}

/// The texts of a cluster alone.
pub fn manifests(options: &GenerateOptions) -> Vec<String> {
    generate(options).parts.into_iter().map(|part| part.text).collect()
}

/// One of a list.
fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> Option<&'a T> {
    from.get(rng.below(from.len()))
}

/// The end of a name, as `generateName` makes it.
fn letters(rng: &mut Rng, n: usize) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..n).filter_map(|_| pick(rng, LETTERS)).map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::api::Time;
    use crate::api::manifest::{Source, load};
    use crate::driver::sandbox::api::SandboxApi;

    const START: Time = Time::from_secs(1_767_225_600);

    fn everything() -> GenerateOptions {
        GenerateOptions {
            nodes: 40,
            pods: 400,
            mix: Work::ALL.iter().map(|work| (*work, 1)).collect(),
            pending: 30,
            ..GenerateOptions::default()
        }
    }

    fn loaded(options: &GenerateOptions) -> SandboxApi {
        let sources: Vec<Source> = generate(options)
            .parts
            .into_iter()
            .map(|part| Source { name: part.file.to_owned(), text: part.text })
            .collect();
        let loaded = load(&sources).unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(loaded.report.notes(), Vec::<String>::new());
        SandboxApi::from_manifests(loaded, &sources, START).unwrap().0
    }

    #[test]
    fn no_two_pods_have_one_name_in_a_large_cluster() {
        let options = GenerateOptions { nodes: 5_000, pods: 20_000, ..GenerateOptions::default() };
        assert_eq!(loaded(&options).objects().pods.len(), 20_000);
    }

    #[test]
    fn what_is_made_is_read_without_a_note_and_has_the_size_that_was_asked_for() {
        for seed in [1, 2, 3] {
            let options = GenerateOptions { seed, ..everything() };
            let api = loaded(&options);
            assert_eq!((api.objects().nodes.len(), api.objects().pods.len()), (40, 400));
            let made = generate(&options);
            let n_pending = api.objects().pods.values().filter(|pod| !pod.is_assigned()).count();
            assert_eq!(n_pending, made.n_pending);
            assert!(n_pending >= 30, "{n_pending}");
        }
    }

    #[test]
    fn equal_options_give_equal_bytes_and_other_seeds_do_not() {
        assert_eq!(generate(&everything()), generate(&everything()));
        assert_ne!(generate(&everything()), generate(&GenerateOptions { seed: 2, ..everything() }));
    }

    #[test]
    fn the_share_of_the_cpu_is_about_what_was_asked_for() {
        for utilization in [300, 500, 700] {
            let options = GenerateOptions {
                nodes: 100,
                pods: 1_500,
                pending: 0,
                utilization,
                ..GenerateOptions::default()
            };
            let made = generate(&options);
            assert!(made.utilization.abs_diff(utilization) < 80, "{utilization}: {}", made.utilization);
        }
    }

    #[test]
    fn no_node_has_more_than_it_can_hold() {
        let api = loaded(&everything());
        for node in api.objects().nodes.values() {
            let on_it: Vec<_> =
                api.objects().pods.values().filter(|pod| pod.spec.node_name == *node.name()).collect();
            let cpu =
                |quantity: Option<&crate::api::quantity::Quantity>| quantity.map_or(0, |q| q.milli_value());
            let asked: i64 = on_it
                .iter()
                .flat_map(|pod| &pod.spec.containers)
                .map(|container| cpu(container.resources.requests.get("cpu")))
                .sum();
            assert!(asked <= cpu(node.status.allocatable.get("cpu")), "{}", node.name());
        }
    }

    #[test]
    fn a_mix_has_shares() {
        assert_eq!(parse_mix("web, batch=3").unwrap(), [(Work::Web, 1), (Work::Batch, 3)]);
        assert!(
            parse_mix("web,wep").unwrap_err().starts_with("\"wep\" is no work that is known; known are web,")
        );
        assert!(parse_mix("web=0").is_err() && parse_mix("").is_err() && parse_mix("web,web").is_err());
    }
}
