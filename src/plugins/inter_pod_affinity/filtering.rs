//! PreFilter counts the pods that matter in each domain, Filter compares.
//!
//! Follows `interpodaffinity/filtering.go`.

use std::sync::Arc;

use super::counts::{Adder, TopologyCounts};
use super::explain::{AffinityOnNode, in_domains};
use super::{InterPodAffinity, matches_all_terms, namespace_labels};
use crate::api::objects::Labels;
use crate::framework::topology::Domain;
use crate::framework::{
    AffinityTerm, CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodAffinityTerms, PodInfo,
    PreFilterExtensions, PreFilterPlugin, PreFilterResult, Snapshot, Status,
};

/// What is known of the pods on all nodes; a copy for a dry run shares all but what the dry run changes.
#[derive(Clone, Debug)]
struct PreFilterState {
    /// Pods whose anti-affinity the pod violates.
    existing_anti_affinity: TopologyCounts,
    /// Pods that match all of the pod's required affinity terms, once for each term.
    affinity: TopologyCounts,
    /// Pods that match one of the pod's required anti-affinity terms.
    anti_affinity: TopologyCounts,
    terms: Arc<IncomingTerms>,
}

/// The required terms of the pod to schedule, with the namespaces that they select.
#[derive(Debug)]
struct IncomingTerms {
    affinity: Vec<AffinityTerm>,
    anti_affinity: Vec<AffinityTerm>,
    namespace_labels: Labels,
    /// Whether the pod is one that its own affinity terms speak of.
    is_own_match: bool,
}

impl PreFilterState {
    fn new(handle: &Handle<'_>, pod: &PodInfo, terms: IncomingTerms) -> Self {
        let (snapshot, metadata) = (handle.snapshot, &pod.pod.metadata);
        let mut existing = Adder::on(snapshot, snapshot.list_with_required_anti_affinity());
        let mut affinity = Adder::new(snapshot);
        let mut anti_affinity = Adder::new(snapshot);
        for term in &terms.affinity {
            affinity.know(term.topology_key());
        }
        for class in snapshot.pods().classes() {
            for term in class.affinity().map_or(&[][..], |terms| &terms.required_anti_affinity) {
                if term.matches(&metadata.namespace, &metadata.labels, &terms.namespace_labels) {
                    existing.add(term.topology_key(), class, 1);
                }
            }
            if matches_all_terms(&terms.affinity, class.namespace(), class.labels()) {
                for term in &terms.affinity {
                    affinity.add(term.topology_key(), class, 1);
                }
            }
            for term in &terms.anti_affinity {
                if term.matches(class.namespace(), class.labels(), &Labels::new()) {
                    anti_affinity.add(term.topology_key(), class, 1);
                }
            }
        }
        Self {
            existing_anti_affinity: existing.finish(),
            affinity: affinity.finish(),
            anti_affinity: anti_affinity.finish(),
            terms: Arc::new(terms),
        }
    }

    /// `other` is put onto the node (`change` 1) or taken off (-1).
    fn update(&mut self, snapshot: &Snapshot, pod: &PodInfo, other: &PodInfo, node: &NodeInfo, change: i64) {
        let (own, others) = (&pod.pod.metadata, &other.pod.metadata);
        let terms = Arc::clone(&self.terms);
        let no_terms = PodAffinityTerms::default();
        for term in &other.affinity.as_deref().unwrap_or(&no_terms).required_anti_affinity {
            if term.matches(&own.namespace, &own.labels, &terms.namespace_labels) {
                self.existing_anti_affinity.add(snapshot, term.topology_key(), node, change);
            }
        }
        if matches_all_terms(&terms.affinity, &others.namespace, &others.labels) {
            for term in &terms.affinity {
                self.affinity.add(snapshot, term.topology_key(), node, change);
            }
        }
        for term in &terms.anti_affinity {
            if term.matches(&others.namespace, &others.labels, &Labels::new()) {
                self.anti_affinity.add(snapshot, term.topology_key(), node, change);
            }
        }
    }

    fn is_affinity_satisfied(&self, node: &NodeInfo, position: Option<usize>) -> bool {
        let mut is_everywhere = true;
        for (domains, counts) in self.affinity.keys() {
            match domains.of(node, position) {
                Domain::Absent => return false,
                Domain::Known(domain) => is_everywhere &= counts.get(domain) > 0,
                Domain::Foreign => is_everywhere = false,
            }
        }
        // The first pod of a group that wants to be together has to begin somewhere.
        is_everywhere || self.affinity.is_zero() && self.terms.is_own_match
    }
}

impl PreFilterPlugin for InterPodAffinity {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let own = pod.affinity.as_deref();
        if let Some(error) = own.and_then(|terms| terms.error.as_ref()) {
            return (None, Status::unresolvable(format!("parsing pod: {error}")));
        }
        let resolved = |terms: &[AffinityTerm]| -> Vec<AffinityTerm> {
            terms.iter().map(|term| term.clone().with_selected_namespaces(handle.objects)).collect()
        };
        let affinity = own.map(|terms| resolved(&terms.required_affinity)).unwrap_or_default();
        let anti_affinity = own.map(|terms| resolved(&terms.required_anti_affinity)).unwrap_or_default();
        let metadata = &pod.pod.metadata;
        let terms = IncomingTerms {
            is_own_match: matches_all_terms(&affinity, &metadata.namespace, &metadata.labels),
            affinity,
            anti_affinity,
            namespace_labels: namespace_labels(handle.objects, &metadata.namespace),
        };
        let has_terms = !terms.affinity.is_empty() || !terms.anti_affinity.is_empty();
        let counted = PreFilterState::new(handle, pod, terms);
        if !has_terms && counted.existing_anti_affinity.is_zero() {
            return (None, Status::skip());
        }
        state.write(self.name(), counted);
        (None, Status::SUCCESS)
    }

    fn pre_filter_extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

fn not_found() -> Status {
    Status::error("error reading \"PreFilterInterPodAffinity\" from cycleState: not found")
}

impl PreFilterExtensions for InterPodAffinity {
    fn add_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_add: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let Some(counted) = state.read_mut::<PreFilterState>() else { return not_found() };
        counted.update(handle.snapshot, pod_to_schedule, pod_to_add, node, 1);
        Status::SUCCESS
    }

    fn remove_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_remove: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let Some(counted) = state.read_mut::<PreFilterState>() else { return not_found() };
        counted.update(handle.snapshot, pod_to_schedule, pod_to_remove, node, -1);
        Status::SUCCESS
    }
}

impl FilterPlugin for InterPodAffinity {
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        let Some(counted) = state.read::<PreFilterState>() else { return not_found() };
        let position = handle.snapshot.position_of(node);
        if !counted.is_affinity_satisfied(node, position) {
            self.affinity.clone()
        } else if counted.anti_affinity.is_any_positive(node, position) {
            self.anti_affinity.clone()
        } else if counted.existing_anti_affinity.is_any_positive(node, position) {
            self.existing_anti_affinity.clone()
        } else {
            Status::SUCCESS
        }
    }
}

/// What the rules see from the node at a position of the snapshot.
pub(super) fn explain(state: &CycleState, position: Option<usize>) -> Option<AffinityOnNode> {
    let counted = state.read::<PreFilterState>()?;
    let with_key = |terms: &[AffinityTerm], key: &str| {
        terms.iter().filter(|term| term.topology_key().as_ref() == key).count()
    };
    let terms = &counted.terms;
    Some(AffinityOnNode {
        affinity: in_domains(&counted.affinity, position, |key| with_key(&terms.affinity, key)),
        may_be_first: counted.affinity.is_zero() && terms.is_own_match,
        anti_affinity: in_domains(&counted.anti_affinity, position, |key| {
            with_key(&terms.anti_affinity, key)
        }),
        existing_anti_affinity: in_domains(&counted.existing_anti_affinity, position, |_| 0),
    })
}
