//! The arguments of the plugins that look at where other pods are: InterPodAffinity and PodTopologySpread.
//!
//! Follows `config/v1/types_pluginargs.go` of kube-scheduler, `apis/config/v1/defaults.go` and
//! `apis/config/validation/validation_pluginargs.go`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::plugin_args::{ArgsError, decode};
use crate::api::field::{FieldError, FieldErrors, child, index};
use crate::api::label;
use crate::api::objects::{LabelSelector, TopologySpreadConstraint};

/// The arguments of InterPodAffinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPodAffinityArgs {
    /// What a required term of an existing pod counts in the score, 0 to 100.
    pub hard_pod_affinity_weight: i32,
    /// Whether preferred terms of existing pods count only for pods that have some themselves.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawAffinityArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    hard_pod_affinity_weight: Option<i32>,
    #[serde(default)]
    ignore_preferred_terms_of_existing_pods: Option<bool>,
}

impl InterPodAffinityArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or the weight is out of range.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawAffinityArgs = decode(args)?;
        let defaults = Self::default();
        let weight = raw.hard_pod_affinity_weight.unwrap_or(defaults.hard_pod_affinity_weight);
        if !(0..=100).contains(&weight) {
            let path = child(path, "hardPodAffinityWeight");
            let error = FieldError::invalid(path, weight, "not in valid range [0, 100]");
            return Err(FieldErrors(vec![error]).into());
        }
        Ok(Self {
            hard_pod_affinity_weight: weight,
            ignore_preferred_terms_of_existing_pods: raw
                .ignore_preferred_terms_of_existing_pods
                .unwrap_or(defaults.ignore_preferred_terms_of_existing_pods),
        })
    }
}

/// The arguments of PodTopologySpread.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum PodTopologySpreadArgs {
    /// Pods without constraints of their own are spread as kube-scheduler thinks best.
    #[default]
    System,
    /// Pods without constraints of their own have these, with a selector that is found out for each pod.
    List(Vec<TopologySpreadConstraint>),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawSpreadArgs {
    #[serde(default, rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(default)]
    default_constraints: Option<Vec<RawConstraint>>,
    #[serde(default)]
    defaulting_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawConstraint {
    #[serde(default)]
    max_skew: Option<i32>,
    #[serde(default)]
    topology_key: Option<String>,
    #[serde(default)]
    when_unsatisfiable: Option<String>,
    #[serde(default)]
    label_selector: Option<LabelSelector>,
    #[serde(default)]
    min_domains: Option<i32>,
    #[serde(default)]
    node_affinity_policy: Option<String>,
    #[serde(default)]
    node_taints_policy: Option<String>,
    #[serde(default)]
    match_label_keys: Option<Vec<String>>,
}

impl From<RawConstraint> for TopologySpreadConstraint {
    fn from(raw: RawConstraint) -> Self {
        Self {
            max_skew: raw.max_skew.unwrap_or_default(),
            topology_key: raw.topology_key.unwrap_or_default(),
            when_unsatisfiable: raw.when_unsatisfiable.unwrap_or_default(),
            label_selector: raw.label_selector,
            min_domains: raw.min_domains,
            node_affinity_policy: raw.node_affinity_policy,
            node_taints_policy: raw.node_taints_policy,
            match_label_keys: raw.match_label_keys.unwrap_or_default(),
        }
    }
}

impl PodTopologySpreadArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let raw: RawSpreadArgs = decode(args)?;
        let constraints: Vec<TopologySpreadConstraint> =
            raw.default_constraints.unwrap_or_default().into_iter().map(Into::into).collect();
        let type_ = raw.defaulting_type.filter(|type_| !type_.is_empty());
        let type_ = type_.unwrap_or_else(|| "System".to_owned());
        let mut errors = Vec::new();
        let type_path = child(path, "defaultingType");
        let args = match type_.as_str() {
            "List" => Self::List(Vec::new()),
            "System" if constraints.is_empty() => Self::System,
            "System" => {
                let detail = "when .defaultConstraints are not empty";
                errors.push(FieldError::invalid_text(type_path, &type_, detail));
                Self::System
            }
            other => {
                errors.push(FieldError::not_supported(type_path, other, &["System", "List"]));
                Self::System
            }
        };
        let path = child(path, "defaultConstraints");
        for i in 0..constraints.len() {
            check_constraint(&constraints, i, &path, &mut errors);
        }
        FieldErrors(errors).into_result()?;
        Ok(match args {
            Self::System => Self::System,
            Self::List(_) => Self::List(constraints),
        })
    }
}

fn check_constraint(
    constraints: &[TopologySpreadConstraint],
    i: usize,
    list: &str,
    errors: &mut Vec<FieldError>,
) {
    let constraint = &constraints[i];
    let path = index(list, i);
    if constraint.max_skew <= 0 {
        let detail = "not in valid range (0, inf)";
        errors.push(FieldError::invalid(child(&path, "maxSkew"), constraint.max_skew, detail));
    }
    let (key, action) = (constraint.topology_key.as_str(), constraint.when_unsatisfiable.as_str());
    let key_path = child(&path, "topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(key_path, "can not be empty"));
    } else {
        let wrong = label::key_errors(key).into_iter();
        errors.extend(wrong.map(|error| FieldError::invalid_text(key_path.as_str(), key, error)));
    }
    let action_path = child(&path, "whenUnsatisfiable");
    match action {
        "DoNotSchedule" | "ScheduleAnyway" => {}
        "" => errors.push(FieldError::required(action_path, "can not be empty")),
        other => {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            errors.push(FieldError::not_supported(action_path, other, &known));
        }
    }
    if constraint.label_selector.is_some() {
        errors.push(FieldError::forbidden(
            child(&path, "labelSelector"),
            "constraint must not define a selector, as they deduced for each pod",
        ));
    }
    let is_repeated = constraints[..i]
        .iter()
        .any(|earlier| earlier.topology_key == key && earlier.when_unsatisfiable == action);
    if is_repeated {
        errors.push(FieldError::duplicate(path, &format!("{{{key}, {action}}}")));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_are_those_of_v1() {
        let args = InterPodAffinityArgs::from_value(None, "").unwrap();
        assert_eq!((args.hard_pod_affinity_weight, args.ignore_preferred_terms_of_existing_pods), (1, false));
        assert_eq!(PodTopologySpreadArgs::from_value(None, "").unwrap(), PodTopologySpreadArgs::System);
        let none = PodTopologySpreadArgs::from_value(Some(&json!({"defaultingType": "List"})), "").unwrap();
        assert_eq!(none, PodTopologySpreadArgs::List(Vec::new()));
    }

    #[test]
    fn what_is_not_allowed_is_refused_in_upstreams_words() {
        let error = |args: Value| PodTopologySpreadArgs::from_value(Some(&args), "").unwrap_err().to_string();
        assert_eq!(
            error(json!({"defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})),
            "defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"
        );
        assert_eq!(
            error(json!({"defaultingType": "Best"})),
            "defaultingType: Unsupported value: \"Best\": supported values: \"System\", \"List\""
        );
        assert_eq!(
            error(json!({"defaultingType": "List", "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
                {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}},
                {"topologyKey": "", "whenUnsatisfiable": "Perhaps"}]})),
            "[defaultConstraints[1].labelSelector: Forbidden: constraint must not define a selector, as they \
             deduced for each pod, defaultConstraints[1]: Duplicate value: \"{zone, ScheduleAnyway}\", \
             defaultConstraints[2].maxSkew: Invalid value: 0: not in valid range (0, inf), \
             defaultConstraints[2].topologyKey: Required value: can not be empty, \
             defaultConstraints[2].whenUnsatisfiable: Unsupported value: \"Perhaps\": supported values: \
             \"DoNotSchedule\", \"ScheduleAnyway\"]"
        );
        let weight = InterPodAffinityArgs::from_value(Some(&json!({"hardPodAffinityWeight": 101})), "");
        assert_eq!(
            weight.unwrap_err().to_string(),
            "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"
        );
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let args = json!({"defaultConstraints": [{"maxSkew": 1, "topology": "zone"}]});
        let error = PodTopologySpreadArgs::from_value(Some(&args), "").unwrap_err().to_string();
        assert!(error.contains("defaultConstraints[0]") && error.contains("topology"), "{error}");
    }
}
