//! Whether the values of the arguments of plugins are allowed.
//!
//! Follows `pkg/scheduler/apis/config/validation/validation_pluginargs.go`.

use serde_json::json;

use super::invalid_text;
use crate::api::field::{FieldError, child, index};
use crate::api::label;
use crate::api::node_selector::{NodeSelector, PreferredSchedulingTerms};
use crate::config::gates::{FeatureGates, Gate};
use crate::config::go_text::{GoDuration, quoted};
use crate::config::v1::defaults::has_binding_conditions;
use crate::config::v1::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs, MAX_CUSTOM_PRIORITY_SCORE,
    NodeAffinity, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs,
    PodTopologySpreadArgs, ResourceSpec, TopologySpreadConstraint, UtilizationShapePoint, VolumeBindingArgs,
};

const STRATEGIES: [&str; 3] = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];

/// Arguments whose values are checked.
pub(in crate::config) trait Validate {
    /// What is wrong with the arguments, which stand at `path` and have their defaults.
    fn validate(&self, path: &str, gates: &FeatureGates) -> Vec<FieldError>;
}

impl Validate for PluginArgs {
    fn validate(&self, path: &str, gates: &FeatureGates) -> Vec<FieldError> {
        match self {
            Self::DefaultPreemption(args) => args.validate(path, gates),
            Self::DynamicResources(args) => args.validate(path, gates),
            Self::InterPodAffinity(args) => args.validate(path, gates),
            Self::NodeAffinity(args) => args.validate(path, gates),
            Self::NodeResourcesBalancedAllocation(args) => args.validate(path, gates),
            Self::NodeResourcesFit(args) => args.validate(path, gates),
            Self::PodTopologySpread(args) => args.validate(path, gates),
            Self::VolumeBinding(args) => args.validate(path, gates),
            Self::Other(_) => Vec::new(),
        }
    }
}

fn not_supported(path: String, text: &str, supported: &[&str]) -> FieldError {
    let mut error = FieldError::not_supported(path, "", supported);
    error.value = Some(quoted(text));
    error
}

impl Validate for DefaultPreemptionArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let percentage = self.min_candidate_nodes_percentage.unwrap_or(0);
        let absolute = self.min_candidate_nodes_absolute.unwrap_or(0);
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
        errors
    }
}

impl Validate for InterPodAffinityArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let weight = self.hard_pod_affinity_weight.unwrap_or(0);
        if (0..=100).contains(&weight) {
            return Vec::new();
        }
        let path = child(path, "hardPodAffinityWeight");
        vec![FieldError::invalid(path, weight, "not in valid range [0, 100]")]
    }
}

impl Validate for PodTopologySpreadArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let type_path = child(path, "defaultingType");
        match self.defaulting_type.as_str() {
            "System" if !self.default_constraints.is_empty() => {
                errors.push(invalid_text(type_path, "System", "when .defaultConstraints are not empty"));
            }
            "System" | "List" => {}
            other => errors.push(not_supported(type_path, other, &["System", "List"])),
        }
        let list_path = child(path, "defaultConstraints");
        for (i, constraint) in self.default_constraints.iter().enumerate() {
            let path = index(&list_path, i);
            spread_constraint(constraint, &path, &mut errors);
            let is_repeated = self.default_constraints[..i].iter().any(|earlier| {
                earlier.topology_key == constraint.topology_key
                    && earlier.when_unsatisfiable == constraint.when_unsatisfiable
            });
            if is_repeated {
                let value = format!("{{{}, {}}}", constraint.topology_key, constraint.when_unsatisfiable);
                let mut error = FieldError::duplicate(path, "");
                error.value = Some(quoted(&value));
                errors.push(error);
            }
        }
        errors
    }
}

fn spread_constraint(constraint: &TopologySpreadConstraint, path: &str, errors: &mut Vec<FieldError>) {
    if constraint.max_skew <= 0 {
        let path = child(path, "maxSkew");
        errors.push(FieldError::invalid(path, constraint.max_skew, "not in valid range (0, inf)"));
    }
    let key_path = child(path, "topologyKey");
    if constraint.topology_key.is_empty() {
        errors.push(FieldError::required(key_path, "can not be empty"));
    } else {
        label_name(&constraint.topology_key, &key_path, errors);
    }
    let action_path = child(path, "whenUnsatisfiable");
    let action = constraint.when_unsatisfiable.as_str();
    if action.is_empty() {
        errors.push(FieldError::required(action_path, "can not be empty"));
    } else if !ACTIONS.contains(&action) {
        errors.push(not_supported(action_path, action, &ACTIONS));
    }
    if constraint.label_selector.is_some() {
        let detail = "constraint must not define a selector, as they deduced for each pod";
        errors.push(FieldError::forbidden(child(path, "labelSelector"), detail));
    }
}

fn label_name(name: &str, path: &str, errors: &mut Vec<FieldError>) {
    for detail in label::key_errors(name) {
        errors.push(invalid_text(path, name, detail));
    }
}

fn shape_errors(shape: &[UtilizationShapePoint], path: &str) -> Vec<FieldError> {
    if shape.is_empty() {
        return vec![FieldError::required(path, "at least one point must be specified")];
    }
    let mut errors = Vec::new();
    let unsorted = shape.iter().zip(shape.iter().skip(1));
    let unsorted = unsorted.enumerate().find(|(_, (one, next))| one.utilization >= next.utilization);
    if let Some((i, (_, next))) = unsorted {
        let path = child(&index(path, i + 1), "utilization");
        errors.push(FieldError::invalid(path, next.utilization, "values must be sorted in increasing order"));
    }
    for (i, point) in shape.iter().enumerate() {
        let mut check = |name, value: i32, max: i32| {
            if !(0..=max).contains(&value) {
                let detail = format!("not in valid range [0, {max}]");
                errors.push(FieldError::invalid(child(&index(path, i), name), value, detail));
            }
        };
        check("utilization", point.utilization, 100);
        check("score", point.score, MAX_CUSTOM_PRIORITY_SCORE);
    }
    errors
}

impl Validate for NodeResourcesBalancedAllocationArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (i, ResourceSpec { name, weight }) in self.resources.iter().enumerate() {
            let path = index(&child(path, "resources"), i);
            if self.resources[..i].iter().any(|earlier| earlier.name == *name) {
                let mut error = FieldError::duplicate(child(&path, "name"), "");
                error.value = Some(quoted(name));
                errors.push(error);
            }
            if *weight != 1 {
                errors.push(FieldError::invalid(child(&path, "weight"), weight, "must be 1"));
            }
        }
        errors
    }
}

impl Validate for NodeAffinityArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let Some(added) = &self.added_affinity else { return Vec::new() };
        let affinity = added.to_object();
        let path = child(path, "addedAffinity");
        let required_path = child(&path, "requiredDuringSchedulingIgnoredDuringExecution");
        let preferred_path = child(&path, "preferredDuringSchedulingIgnoredDuringExecution");
        let required = affinity.required.as_ref().map(|required| NodeSelector::new(required, &required_path));
        let preferred = PreferredSchedulingTerms::new(&affinity.preferred, &preferred_path);
        let mut errors: Vec<FieldError> = Vec::new();
        errors.extend(required.and_then(Result::err).into_iter().flat_map(|found| found.0));
        errors.extend(preferred.err().into_iter().flat_map(|found| found.0));
        let empty = empty_values(added, &child(&required_path, "nodeSelectorTerms"), &preferred_path);
        for error in errors.iter_mut().filter(|error| empty.contains(&error.path)) {
            error.value = error.value.take().map(|value| value.replace("null", "[]"));
        }
        errors
    }
}

/// The paths of the values that are an empty list, which a complaint shows otherwise than none at all.
fn empty_values(affinity: &NodeAffinity, required_path: &str, preferred_path: &str) -> Vec<String> {
    let required = affinity.required.iter().flat_map(|selector| selector.node_selector_terms.items());
    let required = required.enumerate().map(|(i, term)| (term, index(required_path, i)));
    let preferred = affinity.preferred.iter().enumerate();
    let preferred = preferred.map(|(i, term)| (&term.preference, index(preferred_path, i)));
    let mut paths = Vec::new();
    for (term, path) in required.chain(preferred) {
        for (list, name) in
            [(&term.match_expressions, "matchExpressions"), (&term.match_fields, "matchFields")]
        {
            let empty = list.iter().enumerate().filter(|(_, requirement)| requirement.values.is_empty_list());
            paths.extend(empty.map(|(i, _)| child(&index(&child(&path, name), i), "values")));
        }
    }
    paths
}

impl Validate for VolumeBindingArgs {
    fn validate(&self, path: &str, gates: &FeatureGates) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let timeout = self.bind_timeout_seconds.unwrap_or(0);
        if timeout < 0 {
            let detail = "invalid BindTimeoutSeconds, should not be a negative value";
            errors.push(FieldError::invalid(child(path, "bindTimeoutSeconds"), timeout, detail));
        }
        let shape_path = child(path, "shape");
        if gates.is_enabled(Gate::StorageCapacityScoring) {
            errors.extend(shape_errors(self.shape.items(), &shape_path));
        } else if let Some(shape) = &self.shape.0 {
            let point = |point: &UtilizationShapePoint| json!({"Utilization": point.utilization, "Score": point.score});
            let value: serde_json::Value = shape.iter().map(point).collect();
            let detail =
                "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
            errors.push(FieldError::invalid(shape_path, value, detail));
        }
        errors
    }
}

impl Validate for NodeResourcesFitArgs {
    fn validate(&self, path: &str, _: &FeatureGates) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (i, name) in self.ignored_resources.iter().enumerate() {
            label_name(name, &index(&child(path, "ignoredResources"), i), &mut errors);
        }
        for (i, name) in self.ignored_resource_groups.iter().enumerate() {
            let path = index(&child(path, "ignoredResourceGroups"), i);
            if name.contains('/') {
                errors.push(invalid_text(path.as_str(), name, "resource group name can't contain '/'"));
            }
            label_name(name, &path, &mut errors);
        }
        let path = child(path, "scoringStrategy");
        let Some(strategy) = &self.scoring_strategy else {
            errors.push(FieldError::required(path, "ScoringStrategy field is required"));
            return errors;
        };
        if !STRATEGIES.contains(&strategy.strategy.as_str()) {
            errors.push(not_supported(child(&path, "type"), &strategy.strategy, &STRATEGIES));
        }
        for (i, resource) in strategy.resources.iter().enumerate() {
            if !(1..=100).contains(&resource.weight) {
                let path = child(&index(&child(&path, "resources"), i), "weight");
                let detail = format!("resource weight of {} not in valid range (0, 100]", resource.name);
                errors.push(FieldError::invalid(path, resource.weight, detail));
            }
        }
        let ratio_path = child(&path, "requestedToCapacityRatio");
        match (&strategy.requested_to_capacity_ratio, strategy.strategy == "RequestedToCapacityRatio") {
            (Some(ratio), true) => errors.extend(shape_errors(&ratio.shape, &child(&ratio_path, "shape"))),
            (None, true) => {
                let detail = "must be specified when type is RequestedToCapacityRatio";
                errors.push(FieldError::required(ratio_path, detail));
            }
            (Some(_), false) => {
                let detail = "must be nil when type is not RequestedToCapacityRatio";
                errors.push(FieldError::forbidden(ratio_path, detail));
            }
            (None, false) => {}
        }
        errors
    }
}

impl Validate for DynamicResourcesArgs {
    fn validate(&self, path: &str, gates: &FeatureGates) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let filter_path = child(path, "filterTimeout");
        if let Some(timeout) = self.filter_timeout {
            if !gates.is_enabled(Gate::DRASchedulerFilterTimeout) {
                let detail = "DRASchedulingFilterTimeout feature gate is disabled";
                errors.push(FieldError::forbidden(filter_path, detail));
            } else if timeout.0 < 0 {
                errors.push(invalid_text(filter_path, &timeout.to_string(), "must be zero or positive"));
            }
        }
        let binding_path = child(path, "bindingTimeout");
        if let Some(timeout) = self.binding_timeout {
            if !has_binding_conditions(gates) {
                let detail =
                    "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled";
                errors.push(FieldError::forbidden(binding_path, detail));
            } else if timeout < GoDuration::from_secs(1) {
                errors.push(invalid_text(binding_path, &timeout.to_string(), "must be at least 1 second"));
            }
        }
        errors
    }
}
