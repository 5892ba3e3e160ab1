//! PodTopologySpread: pods that belong together are spread over topology domains.
//!
//! Follows `plugins/podtopologyspread` and the KEPs 895 (spreading), 1258 (default constraints), 3022 (`minDomains`),
//! 3094 (node inclusion policies) and 3243 (`matchLabelKeys`, resolved here).
//!
//! - A `DoNotSchedule` constraint keeps the pod off a node if its domain would have more than `maxSkew` matching
//!   pods above the domain that has the fewest; above 0 where there are fewer than `minDomains` domains.
//! - A `ScheduleAnyway` constraint lets a node score the higher the fewer matching pods its domain has.
//! - Which nodes and their pods count is up to the policies: by default those that the pod's node affinity
//!   admits, whatever their taints. A node that lacks the key of any of the constraints does not count.
//! - A pod without constraints of its own has the default ones, if it belongs to a service or a controller.

mod constraints;
mod explain;
mod filtering;
mod hints;
mod logarithm;
mod scoring;
#[cfg(test)]
mod tests;

pub use explain::{SpreadOnNode, SpreadScore, explain_spread, explain_spread_score};

use super::names;
use crate::api::objects::{Pod, TopologySpreadConstraint};
use crate::config::topology_args::PodTopologySpreadArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::{
    Code, EnqueueExtensions, FilterPlugin, Plugin, PreFilterPlugin, PreScorePlugin, ScorePlugin,
    SignFragment, SignPlugin, Status,
};

const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";
const REASON_MISSING_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// The node label whose domains are single nodes (`v1.LabelHostname`).
const HOSTNAME: &str = "kubernetes.io/hostname";
/// `v1.LabelTopologyZone`.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The plugin.
#[derive(Clone, Debug)]
pub struct PodTopologySpread {
    default_constraints: Vec<TopologySpreadConstraint>,
    /// Whether the default constraints are kube-scheduler's own: they do not ask for all keys in scoring.
    is_system_defaulted: bool,
    /// The gate MatchLabelKeysInPodTopologySpread.
    match_label_keys: bool,
    /// The gate TaintTolerationComparisonOperators.
    comparison_operators: bool,
    // Most nodes get one of these, so they are made once.
    skew: Status,
    missing_label: Status,
}

impl PodTopologySpread {
    /// The plugin with its arguments.
    pub fn new(args: PodTopologySpreadArgs, gates: &FeatureGates) -> Self {
        let named = |code, reason| Status::new(code, reason).with_plugin(names::POD_TOPOLOGY_SPREAD);
        let is_system_defaulted = args == PodTopologySpreadArgs::System;
        Self {
            default_constraints: match args {
                PodTopologySpreadArgs::System => system_default_constraints(),
                PodTopologySpreadArgs::List(constraints) => constraints,
            },
            is_system_defaulted,
            match_label_keys: gates.is_enabled(Gate::MatchLabelKeysInPodTopologySpread),
            comparison_operators: gates.is_enabled(Gate::TaintTolerationComparisonOperators),
            skew: named(Code::Unschedulable, REASON_SKEW),
            missing_label: named(Code::UnschedulableAndUnresolvable, REASON_MISSING_LABEL),
        }
    }
}

fn system_default_constraints() -> Vec<TopologySpreadConstraint> {
    let constraint = |key: &str, max_skew| TopologySpreadConstraint {
        topology_key: key.to_owned(),
        when_unsatisfiable: constraints::SCHEDULE_ANYWAY.to_owned(),
        max_skew,
        ..TopologySpreadConstraint::default()
    };
    vec![constraint(HOSTNAME, 3), constraint(ZONE, 5)]
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        names::POD_TOPOLOGY_SPREAD
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl SignPlugin for PodTopologySpread {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        if !pod.spec.topology_spread_constraints.is_empty() {
            return Err(Status::unschedulable("pods with topology constraints are not signable"));
        }
        if !self.default_constraints.is_empty() {
            return Err(Status::unschedulable("pods with default topology constraints are not signable"));
        }
        Ok(Vec::new())
    }
}
