//! InterPodAffinity: a pod goes where the pods are that it wants beside it, and keeps away from those that it
//! does not want, or that do not want it.
//!
//! Follows `plugins/interpodaffinity`. A term speaks of pods by label selector and namespaces, and of a topology
//! by the key of a node label; two nodes with the same value are in the same domain.
//!
//! - Required affinity: every term's domain must have a pod that matches *all* terms. A pod that matches its own
//!   terms may be the first one, if no pod anywhere matches.
//! - Required anti-affinity: no term's domain may have a pod that matches that term. It works both ways: a pod on
//!   a node keeps others off by its own terms.
//! - Preferred terms add to and subtract from a node's score, again both ways; required affinity of the pods that
//!   are there counts as a preference with the weight `hardPodAffinityWeight`.
//!
//! `matchLabelKeys` have no part in this: the API server has merged them into the label selector.

mod counts;
mod explain;
mod filtering;
mod hints;
mod scoring;
#[cfg(test)]
mod tests;

pub use explain::{AffinityOnNode, PodsInDomain, explain_affinity, explain_affinity_score};

use super::helper::signers;
use super::names;
use crate::api::objects::{Labels, Pod};
use crate::api::{NamespacedName, ObjectStore, Str};
use crate::config::topology_args::InterPodAffinityArgs;
use crate::framework::{
    AffinityTerm, Code, EnqueueExtensions, FilterPlugin, Plugin, PreFilterPlugin, PreScorePlugin,
    ScorePlugin, SignFragment, SignPlugin, Status,
};

const REASON_EXISTING_ANTI_AFFINITY: &str = "node(s) didn't satisfy existing pods anti-affinity rules";
const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";

/// The plugin.
#[derive(Clone, Debug)]
pub struct InterPodAffinity {
    args: InterPodAffinityArgs,
    // Most nodes get one of these, so they are made once.
    existing_anti_affinity: Status,
    affinity: Status,
    anti_affinity: Status,
}

impl InterPodAffinity {
    /// The plugin with its arguments.
    pub fn new(args: InterPodAffinityArgs) -> Self {
        let named = |code, reason| Status::new(code, reason).with_plugin(names::INTER_POD_AFFINITY);
        Self {
            args,
            existing_anti_affinity: named(Code::Unschedulable, REASON_EXISTING_ANTI_AFFINITY),
            affinity: named(Code::UnschedulableAndUnresolvable, REASON_AFFINITY),
            anti_affinity: named(Code::Unschedulable, REASON_ANTI_AFFINITY),
        }
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        names::INTER_POD_AFFINITY
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

impl SignPlugin for InterPodAffinity {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        let affinity = pod.spec.affinity.as_ref();
        if affinity.is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some()) {
            return Err(Status::unschedulable("pods with InterPodAffinity are not signable"));
        }
        // The terms of other pods read the labels.
        if self.args.ignore_preferred_terms_of_existing_pods {
            return Ok(Vec::new());
        }
        Ok(vec![signers::fragment(signers::LABELS, &pod.metadata.labels)?])
    }
}

/// The labels of a namespace; none if it is not known.
fn namespace_labels(objects: &ObjectStore, namespace: &Str) -> Labels {
    let namespace = objects.namespaces.get(&NamespacedName::cluster(namespace.clone()));
    namespace.map(|namespace| namespace.metadata.labels.clone()).unwrap_or_default()
}

/// Whether the pod is one that all of a pod's own terms speak of; not if there are none. The terms' namespace
/// selectors see a namespace without labels.
fn matches_all_terms(terms: &[AffinityTerm], namespace: &str, labels: &Labels) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(namespace, labels, &Labels::new()))
}
