//! What a scheduler is made with, and what of that a configuration says.

use super::turns::Turns;
use crate::config::{FeatureGates, Gate, SchedulerConfig};
use crate::framework::TieBreak;
use crate::framework::extender::Extender;
use crate::queue::QueueOptions;

/// `parallelism` of a configuration that does not set it.
const PARALLELISM: usize = 16;

/// What a scheduler is made with.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Where the random numbers start.
    pub seed: u64,
    /// `percentageOfNodesToScore` of profiles that set none; 0 means adaptive.
    pub percentage_of_nodes_to_score: i32,
    /// How the queue behaves.
    pub queue: QueueOptions,
    /// The extenders, ignorable ones last.
    pub extenders: Vec<Extender>,
    /// Whether the ranking of one attempt may serve the next pod (`OpportunisticBatching`).
    pub is_batching: bool,
    /// Whether pods of groups are scheduled together under the gate GenericWorkload. Without it each is tried by itself,
    /// which tells what plugins say of one pod.
    pub is_grouping: bool,
    /// The feature gates, for what the core itself decides by them; plugins are made with them.
    pub gates: FeatureGates,
    /// How ties end.
    pub tie_break: TieBreak,
    /// How many victims of a preemption are dealt with at the same time, and how many PreBind plugins of a pod run beside
    /// each other (`parallelism`).
    pub parallelism: usize,
    /// Who decides when things go on that run beside the attempts.
    pub turns: Turns,
    /// Whether evidence of attempts is kept. Has no influence on any decision.
    pub is_tracing: bool,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            percentage_of_nodes_to_score: 0,
            queue: QueueOptions::default(),
            extenders: Vec::new(),
            is_batching: true,
            is_grouping: true,
            gates: FeatureGates::default(),
            tie_break: TieBreak::Random,
            parallelism: PARALLELISM,
            turns: Turns::AtOnce,
            is_tracing: true,
        }
    }
}

impl SchedulerOptions {
    /// The same, with everything that `config` says about a scheduler besides its profiles.
    #[must_use]
    pub fn configured(self, config: &SchedulerConfig) -> Self {
        Self {
            percentage_of_nodes_to_score: config.percentage_of_nodes_to_score,
            queue: QueueOptions {
                pod_initial_backoff: config.pod_initial_backoff,
                pod_max_backoff: config.pod_max_backoff,
                pop_from_backoff_q: config.gates.is_enabled(Gate::SchedulerPopFromBackoffQ),
                ..self.queue
            },
            extenders: Extender::all_from_config(&config.extenders),
            parallelism: usize::try_from(config.parallelism).unwrap_or(1),
            is_batching: config.gates.is_enabled(Gate::OpportunisticBatching),
            gates: config.gates,
            ..self
        }
    }
}
