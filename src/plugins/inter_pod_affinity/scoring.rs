//! PreScore adds up the weights of all terms in each domain, Score reads the sums.
//!
//! Follows `interpodaffinity/scoring.go`.

use std::sync::Arc;

use super::counts::{Adder, TopologyCounts};
use super::explain::{PodsInDomain, in_domains};
use super::{InterPodAffinity, namespace_labels};
use crate::api::objects::{Labels, Pod};
use crate::framework::{
    CycleState, Handle, MAX_NODE_SCORE, NodeInfo, NodeScore, Plugin, PodClass, PodInfo, PreScorePlugin,
    ScoreExtensions, ScorePlugin, Status, WeightedAffinityTerm,
};

/// The sum of the weights by topology pair.
#[derive(Debug)]
struct PreScoreState {
    weights: TopologyCounts,
}

/// Adds up what the pod and the pods that are there think of each other.
struct Opinions<'a> {
    adder: Adder<'a>,
    /// The preferred terms of the pod, with the namespaces that they select, anti-affinity with its weight negative.
    preferred: Vec<WeightedAffinityTerm>,
    hard_weight: i64,
    namespace: &'a str,
    labels: &'a Labels,
    namespace_labels: Labels,
}

impl Opinions<'_> {
    fn add_class(&mut self, class: &PodClass) {
        for WeightedAffinityTerm { term, weight } in &self.preferred {
            if term.matches(class.namespace(), class.labels(), &Labels::new()) {
                self.adder.add(term.topology_key(), class, i64::from(*weight));
            }
        }
        let Some(theirs) = class.affinity() else { return };
        let required = theirs.required_affinity.iter().map(|term| (term, self.hard_weight));
        let required = required.filter(|(_, weight)| *weight > 0);
        let affinity = theirs.preferred_affinity.iter().map(|own| (&own.term, i64::from(own.weight)));
        let anti = theirs.preferred_anti_affinity.iter().map(|own| (&own.term, -i64::from(own.weight)));
        for (term, weight) in required.chain(affinity).chain(anti) {
            if term.matches(self.namespace, self.labels, &self.namespace_labels) {
                self.adder.add(term.topology_key(), class, weight);
            }
        }
    }
}

fn has_preferred_terms(pod: &Pod) -> bool {
    let affinity = pod.spec.affinity.as_ref();
    let affinities = affinity.map(|affinity| [&affinity.pod_affinity, &affinity.pod_anti_affinity]);
    affinities.into_iter().flatten().flatten().any(|affinity| !affinity.preferred.is_empty())
}

impl PreScorePlugin for InterPodAffinity {
    fn pre_score(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Status {
        let has_preferred = has_preferred_terms(&pod.pod);
        if self.args.ignore_preferred_terms_of_existing_pods && !has_preferred {
            return Status::skip();
        }
        let own = pod.affinity.as_deref();
        if let Some(error) = own.and_then(|terms| terms.error.as_ref()) {
            return Status::error(format!("failed to parse pod: {error}"));
        }
        let resolved = |own: &WeightedAffinityTerm, sign: i32| WeightedAffinityTerm {
            term: own.term.clone().with_selected_namespaces(handle.objects),
            weight: sign.wrapping_mul(own.weight),
        };
        let preferred = own.map(|terms| {
            let affinity = terms.preferred_affinity.iter().map(|own| resolved(own, 1));
            affinity.chain(terms.preferred_anti_affinity.iter().map(|own| resolved(own, -1))).collect()
        });
        let metadata = &pod.pod.metadata;
        let mut opinions = Opinions {
            adder: match has_preferred {
                true => Adder::new(handle.snapshot),
                false => Adder::on(handle.snapshot, handle.snapshot.list_with_affinity()),
            },
            preferred: preferred.unwrap_or_default(),
            hard_weight: i64::from(self.args.hard_pod_affinity_weight),
            namespace: &metadata.namespace,
            labels: &metadata.labels,
            namespace_labels: namespace_labels(handle.objects, &metadata.namespace),
        };
        let classes = handle.snapshot.pods().classes();
        for class in classes.filter(|class| has_preferred || class.affinity().is_some()) {
            opinions.add_class(class);
        }
        if !opinions.adder.has_added() {
            return Status::skip();
        }
        state.write(self.name(), PreScoreState { weights: opinions.adder.finish() });
        Status::SUCCESS
    }
}

fn not_found() -> Status {
    Status::error("failed to read \"PreScoreInterPodAffinity\" from cycleState: not found")
}

impl ScorePlugin for InterPodAffinity {
    fn score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        _: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let state = state.read::<PreScoreState>().ok_or_else(not_found)?;
        Ok(state.weights.sum(node, handle.snapshot.position_of(node)))
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

impl ScoreExtensions for InterPodAffinity {
    /// The lowest score becomes 0 and the highest 100; where all are equal, all become 0.
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        state: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        if state.read::<PreScoreState>().is_none() {
            return not_found();
        }
        let lowest = scores.iter().map(|score| score.score).min().unwrap_or(0);
        let highest = scores.iter().map(|score| score.score).max().unwrap_or(0);
        for score in scores {
            score.score = normalized(score.score - lowest, highest - lowest);
        }
        Status::SUCCESS
    }
}

/// `part` of `whole` in percent, computed in floating point as upstream does and cut to an integer.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the rounding is upstream's"
)]
fn normalized(part: i64, whole: i64) -> i64 {
    if whole > 0 { (MAX_NODE_SCORE as f64 * (part as f64 / whole as f64)) as i64 } else { 0 }
}

/// The sums of the weights in the domains of the node at a position of the snapshot.
pub(super) fn explain(state: &CycleState, position: Option<usize>) -> Option<Vec<PodsInDomain>> {
    let state = state.read::<PreScoreState>()?;
    Some(in_domains(&state.weights, position, |_| 0))
}
