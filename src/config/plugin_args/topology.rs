//! The arguments of the plugins that look at where other pods are: InterPodAffinity and PodTopologySpread.

use serde_json::Value;

use super::{ArgsError, read};
use crate::api::objects::TopologySpreadConstraint;
use crate::config::gates::FeatureGates;
use crate::config::v1;

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

impl InterPodAffinityArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or the weight is out of range.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::InterPodAffinityArgs = read(args, path, &FeatureGates::default())?;
        let default = Self::default().hard_pod_affinity_weight;
        Ok(Self {
            hard_pod_affinity_weight: args.hard_pod_affinity_weight.unwrap_or(default),
            ignore_preferred_terms_of_existing_pods: args.ignore_preferred_terms_of_existing_pods,
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

impl PodTopologySpreadArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed.
    pub fn from_value(args: Option<&Value>, path: &str) -> Result<Self, ArgsError> {
        let args: v1::PodTopologySpreadArgs = read(args, path, &FeatureGates::default())?;
        if args.defaulting_type == "System" {
            return Ok(Self::System);
        }
        let constraints = args.default_constraints.into_iter().map(|constraint| TopologySpreadConstraint {
            max_skew: constraint.max_skew,
            topology_key: constraint.topology_key,
            when_unsatisfiable: constraint.when_unsatisfiable,
            // Validation has refused every selector.
            label_selector: None,
            min_domains: constraint.min_domains,
            node_affinity_policy: constraint.node_affinity_policy,
            node_taints_policy: constraint.node_taints_policy,
            match_label_keys: constraint.match_label_keys,
        });
        Ok(Self::List(constraints.collect()))
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
        assert!(error.contains("unknown field \"defaultConstraints[0].topology\""), "{error}");
    }
}
