//! The arguments of the plugins, typed, with the defaults of `kubescheduler.config.k8s.io/v1`, and checked.
//!
//! Follows `config/v1/types_pluginargs.go` of kube-scheduler, `apis/config/v1/defaults.go` and
//! `apis/config/validation/validation_pluginargs.go`.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::api::field::{FieldError, FieldErrors, child, index};
use crate::api::label;
use crate::api::node_selector::{NodeSelector, PreferredSchedulingTerms};
use crate::api::objects::NodeAffinity;

/// The highest score of a shape point (`MaxCustomPriorityScore`).
pub const MAX_CUSTOM_PRIORITY_SCORE: i64 = 10;

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

pub(super) fn decode<T: DeserializeOwned + Default>(args: Option<&Value>) -> Result<T, ArgsError> {
    match args {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => {
            serde_path_to_error::deserialize(value).map_err(|error| ArgsError::Form(error.to_string()))
        }
    }
}

/// A resource and its weight in a score.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceSpec {
    /// The resource.
    #[serde(default)]
    pub name: String,
    /// Its weight, 1 to 100.
    #[serde(default)]
    pub weight: i64,
}

fn default_resources() -> Vec<ResourceSpec> {
    ["cpu", "memory"].map(|name| ResourceSpec { name: name.to_owned(), weight: 1 }).into()
}

/// The given resources, each with a weight of 1 if it has none; CPU and memory if there are none.
fn with_default_weights(resources: Option<Vec<ResourceSpec>>) -> Vec<ResourceSpec> {
    let mut resources = resources.filter(|resources| !resources.is_empty()).unwrap_or_else(default_resources);
    for resource in resources.iter_mut().filter(|resource| resource.weight == 0) {
        resource.weight = 1;
    }
    resources
}

/// A point of a function from utilization to score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtilizationShapePoint {
    /// 0 to 100.
    #[serde(default)]
    pub utilization: i32,
    /// 0 to 10.
    #[serde(default)]
    pub score: i32,
}

fn check_shape(shape: &[UtilizationShapePoint], path: &str, errors: &mut Vec<FieldError>) {
    if shape.is_empty() {
        errors.push(FieldError::required(path, "at least one point must be specified"));
    }
    let unsorted = shape.windows(2).position(|pair| pair[0].utilization >= pair[1].utilization);
    if let Some(i) = unsorted {
        let path = child(&index(path, i + 1), "utilization");
        let detail = "values must be sorted in increasing order";
        errors.push(FieldError::invalid(path, shape[i + 1].utilization, detail));
    }
    for (i, point) in shape.iter().enumerate() {
        let mut check = |name, value: i32, max: i64| {
            if !(0..=max).contains(&i64::from(value)) {
                let detail = format!("not in valid range [0, {max}]");
                errors.push(FieldError::invalid(child(&index(path, i), name), value, detail));
            }
        };
        check("utilization", point.utilization, 100);
        check("score", point.score, MAX_CUSTOM_PRIORITY_SCORE);
    }
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

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawFitArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    ignored_resources: Option<Vec<String>>,
    #[serde(default)]
    ignored_resource_groups: Option<Vec<String>>,
    #[serde(default)]
    scoring_strategy: Option<RawStrategy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawStrategy {
    #[serde(default, rename = "type")]
    type_: Option<String>,
    #[serde(default)]
    resources: Option<Vec<ResourceSpec>>,
    #[serde(default)]
    requested_to_capacity_ratio: Option<RawRatio>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRatio {
    #[serde(default)]
    shape: Option<Vec<UtilizationShapePoint>>,
}

impl NodeResourcesFitArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawFitArgs = decode(args)?;
        let ignored_resources = raw.ignored_resources.unwrap_or_default();
        let ignored_resource_groups = raw.ignored_resource_groups.unwrap_or_default();
        let strategy = raw.scoring_strategy.unwrap_or_else(|| RawStrategy {
            type_: Some("LeastAllocated".to_owned()),
            resources: None,
            requested_to_capacity_ratio: None,
        });
        let resources = with_default_weights(strategy.resources);

        let mut errors = Vec::new();
        let mut check_names = |names: &[String], field: &str, is_group: bool| {
            for (i, name) in names.iter().enumerate() {
                let path = index(&child(path, field), i);
                if is_group && name.contains('/') {
                    let detail = "resource group name can't contain '/'";
                    errors.push(FieldError::invalid_text(path.as_str(), name, detail));
                }
                for error in label::key_errors(name) {
                    errors.push(FieldError::invalid_text(path.as_str(), name, error));
                }
            }
        };
        check_names(&ignored_resources, "ignoredResources", false);
        check_names(&ignored_resource_groups, "ignoredResourceGroups", true);

        let path = child(path, "scoringStrategy");
        let type_ = strategy.type_.unwrap_or_default();
        let shape = strategy.requested_to_capacity_ratio.map(|ratio| ratio.shape.unwrap_or_default());
        let ratio_path = child(&path, "requestedToCapacityRatio");
        let scoring_strategy = match type_.as_str() {
            "MostAllocated" => ScoringStrategy::MostAllocated,
            "RequestedToCapacityRatio" => {
                ScoringStrategy::RequestedToCapacityRatio(shape.clone().unwrap_or_default())
            }
            "LeastAllocated" => ScoringStrategy::LeastAllocated,
            other => {
                let known = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
                errors.push(FieldError::not_supported(child(&path, "type"), other, &known));
                ScoringStrategy::LeastAllocated
            }
        };
        for (i, resource) in resources.iter().enumerate() {
            if !(1..=100).contains(&resource.weight) {
                let path = child(&index(&child(&path, "resources"), i), "weight");
                let detail = format!("resource weight of {} not in valid range (0, 100]", resource.name);
                errors.push(FieldError::invalid(path, resource.weight, detail));
            }
        }
        match (&scoring_strategy, shape) {
            (ScoringStrategy::RequestedToCapacityRatio(_), None) => errors.push(FieldError::required(
                ratio_path,
                "must be specified when type is RequestedToCapacityRatio",
            )),
            (ScoringStrategy::RequestedToCapacityRatio(_), Some(shape)) => {
                check_shape(&shape, &child(&ratio_path, "shape"), &mut errors);
            }
            (_, Some(_)) => errors.push(FieldError::forbidden(
                ratio_path,
                "must be nil when type is not RequestedToCapacityRatio",
            )),
            (_, None) => {}
        }
        FieldErrors(errors).into_result()?;
        Ok(Self { ignored_resources, ignored_resource_groups, scoring_strategy, resources })
    }
}

/// The arguments of NodeResourcesBalancedAllocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// The resources whose use is to be balanced.
    pub resources: Vec<ResourceSpec>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawBalancedArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    resources: Option<Vec<ResourceSpec>>,
}

impl NodeResourcesBalancedAllocationArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, a resource is named twice, or its weight is not 1.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawBalancedArgs = decode(args)?;
        let resources = with_default_weights(raw.resources);
        let mut errors = Vec::new();
        for (i, resource) in resources.iter().enumerate() {
            let path = index(&child(path, "resources"), i);
            if resources[..i].iter().any(|earlier| earlier.name == resource.name) {
                errors.push(FieldError::duplicate(child(&path, "name"), &resource.name));
            }
            if resource.weight != 1 {
                errors.push(FieldError::invalid(child(&path, "weight"), resource.weight, "must be 1"));
            }
        }
        FieldErrors(errors).into_result()?;
        Ok(Self { resources })
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

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawNodeAffinityArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    added_affinity: Option<NodeAffinity>,
}

impl NodeAffinityArgs {
    /// Reads and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a term cannot be parsed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawNodeAffinityArgs = decode(args)?;
        let Some(affinity) = raw.added_affinity else { return Ok(Self::default()) };
        let path = child(path, "addedAffinity");
        let mut errors = Vec::new();
        let required = affinity.required.as_ref().map(|required| {
            NodeSelector::new(required, &child(&path, "requiredDuringSchedulingIgnoredDuringExecution"))
        });
        let preferred = (!affinity.preferred.is_empty()).then(|| {
            let path = child(&path, "preferredDuringSchedulingIgnoredDuringExecution");
            PreferredSchedulingTerms::new(&affinity.preferred, &path)
        });
        let args = Self {
            added_required: required.transpose().unwrap_or_else(|found| {
                errors.extend(found.0);
                None
            }),
            added_preferred: preferred.transpose().unwrap_or_else(|found| {
                errors.extend(found.0);
                None
            }),
        };
        FieldErrors(errors).into_result()?;
        Ok(args)
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

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawPreemptionArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    min_candidate_nodes_percentage: Option<i32>,
    #[serde(default)]
    min_candidate_nodes_absolute: Option<i32>,
}

impl DefaultPreemptionArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a number is out of range.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawPreemptionArgs = decode(args)?;
        let defaults = Self::default();
        let percentage =
            raw.min_candidate_nodes_percentage.unwrap_or(defaults.min_candidate_nodes_percentage);
        let absolute = raw.min_candidate_nodes_absolute.unwrap_or(defaults.min_candidate_nodes_absolute);
        let percentage_path = child(path, "minCandidateNodesPercentage");
        let absolute_path = child(path, "minCandidateNodesAbsolute");
        let mut errors = Vec::new();
        let mut refuse = |path: &str, value: i32, detail: &str| {
            errors.push(FieldError::invalid(path, value, detail));
        };
        if !(0..=100).contains(&percentage) {
            refuse(&percentage_path, percentage, "not in valid range [0, 100]");
        }
        if absolute < 0 {
            refuse(&absolute_path, absolute, "not in valid range [0, inf)");
        }
        if percentage == 0 && absolute == 0 {
            let detail = "cannot be zero at the same time as minCandidateNodesAbsolute";
            refuse(&percentage_path, percentage, detail);
            let detail = "cannot be zero at the same time as minCandidateNodesPercentage";
            refuse(&absolute_path, absolute, detail);
        }
        FieldErrors(errors).into_result()?;
        Ok(Self { min_candidate_nodes_percentage: percentage, min_candidate_nodes_absolute: absolute })
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
        assert_eq!(args.resources, default_resources());
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
        assert!(error(json!({"ignoredResource": []})).contains("unknown field `ignoredResource`"));
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
