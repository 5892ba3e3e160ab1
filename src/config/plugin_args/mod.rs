//! The arguments of the plugins in the form that the plugins work with: checked, with the defaults of
//! `kubescheduler.config.k8s.io/v1`.
//!
//! The types of the API are in `v1`; here each becomes what its plugin asks for. Follows the beginning of each
//! plugin's `New` in `pkg/scheduler/framework/plugins`.

mod topology;
mod volumes_and_devices;

use serde_json::Value;

use super::decode::{Decode, Findings, Path};
use super::document::Node;
use super::gates::FeatureGates;
use super::v1::defaults::SetDefaults;
use super::v1::{self, without_type};
use super::validation::Validate;
use crate::api::field::{FieldErrors, child};
use crate::api::node_selector::{NodeSelector, PreferredSchedulingTerms};
pub use topology::{InterPodAffinityArgs, PodTopologySpreadArgs};
pub use v1::{ResourceSpec, UtilizationShapePoint};
pub use volumes_and_devices::{DynamicResourcesArgs, VolumeBindingArgs};

/// The highest score of a shape point (`MaxCustomPriorityScore`).
pub const MAX_CUSTOM_PRIORITY_SCORE: i64 = v1::MAX_CUSTOM_PRIORITY_SCORE as i64;

/// Why arguments are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// They do not have the form of the plugin's arguments.
    #[error("decoding arguments: {0}")]
    Form(String),
    /// They have the form, but a value is not allowed.
    #[error(transparent)]
    Invalid(#[from] FieldErrors),
}

/// Decodes, fills in defaults and checks; `path` is where the arguments stand.
fn read<T: Decode + SetDefaults + Validate>(
    args: Option<&Value>,
    path: &str,
    gates: &FeatureGates,
) -> Result<T, ArgsError> {
    let node = without_type(&Node::from_json(args.unwrap_or(&Value::Null)));
    let mut findings = Findings::default();
    let mut args = T::decode(&node, &Path::Text(path), &mut findings);
    if !findings.list.is_empty() {
        let texts: Vec<String> = findings.list.into_iter().map(|finding| finding.text).collect();
        return Err(ArgsError::Form(texts.join(", ")));
    }
    args.set_defaults(gates);
    FieldErrors(args.validate(path, gates)).into_result()?;
    Ok(args)
}

/// How NodeResourcesFit scores a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoringStrategy {
    /// The more is left, the better.
    LeastAllocated,
    /// The more is taken, the better.
    MostAllocated,
    /// By a function of the part that is taken; its points in the order of their utilization.
    RequestedToCapacityRatio(Vec<UtilizationShapePoint>),
}

/// The arguments of NodeResourcesFit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesFitArgs {
    /// Extended resources that Filter does not look at.
    pub ignored_resources: Vec<String>,
    /// Domains of extended resources that Filter does not look at.
    pub ignored_resource_groups: Vec<String>,
    /// How nodes are scored.
    pub scoring_strategy: ScoringStrategy,
    /// The resources that count in the score.
    pub resources: Vec<ResourceSpec>,
}

impl NodeResourcesFitArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::NodeResourcesFitArgs = read(args, path, &FeatureGates::default())?;
        let strategy = args.scoring_strategy.unwrap_or_default();
        let shape = strategy.requested_to_capacity_ratio.map(|ratio| ratio.shape);
        Ok(Self {
            ignored_resources: args.ignored_resources,
            ignored_resource_groups: args.ignored_resource_groups,
            scoring_strategy: match (strategy.strategy.as_str(), shape) {
                (_, Some(shape)) => ScoringStrategy::RequestedToCapacityRatio(shape),
                ("MostAllocated", None) => ScoringStrategy::MostAllocated,
                _ => ScoringStrategy::LeastAllocated,
            },
            resources: strategy.resources,
        })
    }
}

/// The arguments of NodeResourcesBalancedAllocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// The resources whose use is to be balanced.
    pub resources: Vec<ResourceSpec>,
}

impl NodeResourcesBalancedAllocationArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, a resource is named twice, or its weight is not 1.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::NodeResourcesBalancedAllocationArgs = read(args, path, &FeatureGates::default())?;
        Ok(Self { resources: args.resources })
    }
}

/// The arguments of NodeAffinity.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NodeAffinityArgs {
    /// What every node must match besides what the pod requires.
    pub added_required: Option<NodeSelector>,
    /// What is preferred besides what the pod prefers.
    pub added_preferred: Option<PreferredSchedulingTerms>,
}

impl NodeAffinityArgs {
    /// Reads and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a term cannot be parsed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::NodeAffinityArgs = read(args, path, &FeatureGates::default())?;
        let Some(affinity) = args.added_affinity.map(|affinity| affinity.to_object()) else {
            return Ok(Self::default());
        };
        let path = child(path, "addedAffinity");
        let required_path = child(&path, "requiredDuringSchedulingIgnoredDuringExecution");
        let preferred_path = child(&path, "preferredDuringSchedulingIgnoredDuringExecution");
        let required = affinity.required.map(|required| NodeSelector::new(&required, &required_path));
        let preferred = (!affinity.preferred.is_empty())
            .then(|| PreferredSchedulingTerms::new(&affinity.preferred, &preferred_path));
        Ok(Self { added_required: required.transpose()?, added_preferred: preferred.transpose()? })
    }
}

/// The arguments of DefaultPreemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultPreemptionArgs {
    /// On which part of the nodes (in percent) candidates are looked for at the least.
    pub min_candidate_nodes_percentage: i32,
    /// How many candidates are looked for at the least.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

impl DefaultPreemptionArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a number is out of range.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::DefaultPreemptionArgs = read(args, path, &FeatureGates::default())?;
        let defaults = Self::default();
        Ok(Self {
            min_candidate_nodes_percentage: args
                .min_candidate_nodes_percentage
                .unwrap_or(defaults.min_candidate_nodes_percentage),
            min_candidate_nodes_absolute: args
                .min_candidate_nodes_absolute
                .unwrap_or(defaults.min_candidate_nodes_absolute),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    #[test]
    fn fit_scores_by_what_is_left_of_cpu_and_memory_by_default() {
        let args = NodeResourcesFitArgs::from_value(None, "").unwrap();
        assert_eq!(args.scoring_strategy, ScoringStrategy::LeastAllocated);
        let resources: Vec<_> = args.resources.iter().map(|r| (r.name.as_str(), r.weight)).collect();
        assert_eq!(resources, [("cpu", 1), ("memory", 1)]);
        let args = NodeResourcesFitArgs::from_value(
            Some(&json!({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}})),
            "",
        );
        assert_eq!(args.unwrap().resources, [ResourceSpec { name: "cpu".into(), weight: 1 }]);
    }

    #[test]
    fn fit_refuses_what_upstream_refuses() {
        let error = |args: Value| NodeResourcesFitArgs::from_value(Some(&args), "").unwrap_err().to_string();
        assert_eq!(
            error(json!({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}})),
            "[scoringStrategy.type: Unsupported value: \"\": supported values: \"LeastAllocated\", \
             \"MostAllocated\", \"RequestedToCapacityRatio\", scoringStrategy.resources[0].weight: Invalid value: \
             101: resource weight of cpu not in valid range (0, 100]]"
        );
        assert_eq!(
            error(json!({"scoringStrategy": {"type": "RequestedToCapacityRatio"}})),
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is \
             RequestedToCapacityRatio"
        );
        let shape = json!([{"utilization": 50, "score": 11}, {"utilization": 0, "score": 0}]);
        assert_eq!(
            error(json!({"scoringStrategy": {
                "type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}})),
            "[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 0: values must be sorted \
             in increasing order, scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in \
             valid range [0, 10]]"
        );
        assert!(error(json!({"ignoredResourceGroups": ["example.com/a"]})).contains("can't contain '/'"));
        assert!(error(json!({"ignoredResource": []})).contains("unknown field \"ignoredResource\""));
    }

    #[test]
    fn balanced_allocation_takes_each_resource_once_with_weight_1() {
        let error = |args: Value| {
            NodeResourcesBalancedAllocationArgs::from_value(Some(&args), "").unwrap_err().to_string()
        };
        assert_eq!(
            error(json!({"resources": [{"name": "cpu"}, {"name": "cpu", "weight": 2}]})),
            "[resources[1].name: Duplicate value: \"cpu\", resources[1].weight: Invalid value: 2: must be 1]"
        );
    }

    #[test]
    fn preemption_looks_for_candidates_on_a_tenth_of_the_nodes_and_for_100_at_least() {
        let args = DefaultPreemptionArgs::from_value(None, "").unwrap();
        assert_eq!((args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute), (10, 100));
        let error =
            |args: Value| DefaultPreemptionArgs::from_value(Some(&args), "args").unwrap_err().to_string();
        assert_eq!(
            error(json!({"minCandidateNodesPercentage": 101})),
            "args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"
        );
        assert!(
            error(json!({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}))
                .contains("cannot be zero at the same time as minCandidateNodesAbsolute")
        );
    }

    #[test]
    fn added_affinity_is_parsed_as_a_whole() {
        let args = |operator: &str| {
            NodeAffinityArgs::from_value(
                Some(&json!({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": operator}]}]}}})),
                "",
            )
        };
        assert!(args("Exists").unwrap().added_required.is_some());
        let text = args("In").unwrap_err().to_string();
        assert!(
            text.starts_with(
                "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]\
                 .matchExpressions[0].values: Invalid value: null:"
            ),
            "{text}"
        );
    }
}
