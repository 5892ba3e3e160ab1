//! Constraints, parsed; and which nodes count for them.
//!
//! Follows `podtopologyspread/common.go`.

use std::borrow::Cow;
use std::sync::Arc;

use super::PodTopologySpread;
use crate::api::node_selector::RequiredNodeAffinity;
use crate::api::objects::{Labels, Node, Pod, Toleration, TopologySpreadConstraint};
use crate::api::selector::SelectorError;
use crate::api::{ObjectStore, Selector, Str};
use crate::framework::topology::{DomainId, Domains};
use crate::framework::{NodeInfo, PodClass, Snapshot};
use crate::plugins::helper::{spread, taints};

/// Constraints that keep a pod off a node.
pub(super) const DO_NOT_SCHEDULE: &str = "DoNotSchedule";
/// Constraints that only count in the score.
pub(super) const SCHEDULE_ANYWAY: &str = "ScheduleAnyway";

const HONOR: &str = "Honor";

/// A constraint.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) max_skew: i32,
    pub(super) topology_key: Str,
    pub(super) selector: Selector,
    pub(super) min_domains: i32,
    /// Whether only nodes count that the pod's node affinity admits.
    pub(super) honors_affinity: bool,
    /// Whether only nodes count whose taints the pod tolerates.
    pub(super) honors_taints: bool,
}

impl Constraint {
    /// Whether pods of the class are among those that are spread, with a pod of `namespace`. An empty selector counts
    /// no pods that are there.
    pub(super) fn counts(&self, class: &PodClass, namespace: &Str) -> bool {
        class.namespace() == namespace
            && !class.is_terminating()
            && !self.selector.is_empty()
            && self.selector.matches(class.labels())
    }
}

/// Whether a node with these labels has the keys of all constraints.
pub(super) fn has_all_keys(labels: &Labels, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| labels.contains_key(&constraint.topology_key))
}

impl PodTopologySpread {
    /// The constraints of the pod that have this action, or the default ones where it has none at all.
    ///
    /// # Errors
    /// A selector cannot be parsed.
    pub(super) fn constraints_of(
        &self,
        pod: &Pod,
        objects: &ObjectStore,
        action: &str,
    ) -> Result<Vec<Constraint>, SelectorError> {
        if !pod.spec.topology_spread_constraints.is_empty() {
            return self.parsed(&pod.spec.topology_spread_constraints, &pod.metadata.labels, action);
        }
        let mut constraints = self.parsed(&self.default_constraints, &pod.metadata.labels, action)?;
        if constraints.is_empty() {
            return Ok(constraints);
        }
        let selector = spread::default_selector(pod, objects);
        if selector.is_empty() {
            return Ok(Vec::new());
        }
        for constraint in &mut constraints {
            constraint.selector = selector.clone();
        }
        Ok(constraints)
    }

    /// The pod's constraints that keep it off nodes.
    ///
    /// # Errors
    /// What went wrong, as upstream words it.
    pub(super) fn hard_constraints(
        &self,
        pod: &Pod,
        objects: &ObjectStore,
    ) -> Result<Vec<Constraint>, String> {
        self.constraints_of(pod, objects, DO_NOT_SCHEDULE).map_err(|error| {
            if pod.spec.topology_spread_constraints.is_empty() {
                format!("setting default hard topology spread constraints: {error}")
            } else {
                format!("obtaining pod's hard topology spread constraints: {error}")
            }
        })
    }

    fn parsed(
        &self,
        constraints: &[TopologySpreadConstraint],
        labels: &Labels,
        action: &str,
    ) -> Result<Vec<Constraint>, SelectorError> {
        let parse = |constraint: &TopologySpreadConstraint| {
            let mut selector = Selector::from_label_selector(constraint.label_selector.as_ref())?;
            if self.match_label_keys && !selector.is_nothing() {
                let own = constraint
                    .match_label_keys
                    .iter()
                    .filter_map(|key| labels.get_key_value(key.as_str()))
                    .map(|(key, value)| (key.clone(), value.clone()));
                let own: Labels = own.collect();
                if !own.is_empty() {
                    selector = spread::merged(&Selector::from_labels(&own), &selector);
                }
            }
            Ok(Constraint {
                max_skew: constraint.max_skew,
                topology_key: Str::from(constraint.topology_key.as_str()),
                selector,
                min_domains: constraint.min_domains.unwrap_or(1),
                honors_affinity: constraint.node_affinity_policy.as_deref().unwrap_or(HONOR) == HONOR,
                honors_taints: constraint.node_taints_policy.as_deref() == Some(HONOR),
            })
        };
        constraints.iter().filter(|constraint| constraint.when_unsatisfiable == action).map(parse).collect()
    }
}

/// Which nodes count, by the policies of the constraints.
#[derive(Clone, Debug)]
pub(super) struct Inclusion {
    /// What the pod requires of nodes, if anything.
    required: Option<RequiredNodeAffinity>,
    tolerations: Vec<Toleration>,
    comparison_operators: bool,
}

impl Inclusion {
    pub(super) fn new(plugin: &PodTopologySpread, pod: &Pod) -> Self {
        let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let is_restricted = !pod.spec.node_selector.is_empty()
            || affinity.is_some_and(|affinity| affinity.required.is_some());
        Self {
            required: is_restricted.then(|| RequiredNodeAffinity::of(pod)),
            tolerations: pod.spec.tolerations.clone(),
            comparison_operators: plugin.comparison_operators,
        }
    }

    /// Whether every node counts for the constraint.
    const fn includes_all(&self, constraint: &Constraint) -> bool {
        !(constraint.honors_taints || constraint.honors_affinity && self.required.is_some())
    }

    /// Whether the node counts for the constraint.
    pub(super) fn includes(&self, constraint: &Constraint, node: &Node) -> bool {
        let is_admitted = !constraint.honors_affinity
            || self.required.as_ref().is_none_or(|required| required.matches(node));
        is_admitted
            && (!constraint.honors_taints
                || taints::first_untolerated(&node.spec.taints, &self.tolerations, self.comparison_operators)
                    .is_none())
    }
}

/// For each constraint the domain of each node of the snapshot that counts for it, by position. Where not all keys
/// are required, nodes without the key count for the domain of the empty value, if there is one.
pub(super) fn counted_domains<'a>(
    snapshot: &Snapshot,
    constraints: &[Constraint],
    domains: &'a [Arc<Domains>],
    inclusion: &Inclusion,
    requires_all_keys: bool,
) -> Vec<Cow<'a, [Option<DomainId>]>> {
    let counted = constraints.iter().zip(domains).map(|(constraint, own)| {
        let blank = if requires_all_keys { None } else { own.find("") };
        // With one constraint a node that lacks its key has no domain anyway.
        let asks_for_keys = requires_all_keys && domains.len() > 1;
        let includes_all = inclusion.includes_all(constraint);
        if includes_all && !asks_for_keys && blank.is_none() {
            return Cow::Borrowed(own.of_positions());
        }
        let domain_of = |(position, node): (usize, &Arc<NodeInfo>)| {
            let domain = own.at(position).or(blank)?;
            let has_all = !asks_for_keys || domains.iter().all(|domains| domains.at(position).is_some());
            let is_included = includes_all || inclusion.includes(constraint, node.node()?);
            (has_all && is_included).then_some(domain)
        };
        Cow::Owned(snapshot.list().iter().enumerate().map(domain_of).collect())
    });
    counted.collect()
}
