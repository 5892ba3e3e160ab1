//! The terms of pod affinity and anti-affinity, parsed once when the pod comes in.
//!
//! Follows `AffinityTerm` of `staging/src/k8s.io/kube-scheduler/framework/types.go` and `PodInfo.Update` of
//! `pkg/scheduler/framework/types.go`. `matchLabelKeys` are not looked at: the API server has merged them into
//! the selector when the pod was created.

use std::collections::BTreeSet;

use crate::api::objects::{Labels, Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm};
use crate::api::selector::SelectorError;
use crate::api::{ObjectStore, Selector, Str};

/// Which pods a term speaks of, and in which topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityTerm {
    namespaces: BTreeSet<Str>,
    namespace_selector: Selector,
    selector: Selector,
    topology_key: Str,
}

impl AffinityTerm {
    /// Parses a term of a pod that is in `namespace`, which is meant where the term names none.
    ///
    /// # Errors
    /// One of the two selectors is not valid.
    pub fn new(namespace: &Str, term: &PodAffinityTerm) -> Result<Self, SelectorError> {
        let selector = Selector::from_label_selector(term.label_selector.as_ref())?;
        let namespaces = if term.namespaces.is_empty() && term.namespace_selector.is_none() {
            BTreeSet::from([namespace.clone()])
        } else {
            term.namespaces.iter().map(|name| Str::from(name.as_str())).collect()
        };
        let namespace_selector = Selector::from_label_selector(term.namespace_selector.as_ref())?;
        Ok(Self { namespaces, namespace_selector, selector, topology_key: Str::from(&*term.topology_key) })
    }

    /// The label of a node whose value is the topology domain.
    pub const fn topology_key(&self) -> &Str {
        &self.topology_key
    }

    /// Whether the term speaks of a pod with these labels, in a namespace of this name that has
    /// `namespace_labels`.
    pub fn matches(&self, namespace: &str, labels: &Labels, namespace_labels: &Labels) -> bool {
        (self.namespaces.contains(namespace) || self.namespace_selector.matches(namespace_labels))
            && self.selector.matches(labels)
    }

    /// Adds the names of the namespaces that the namespace selector selects (`mergeAffinityTermNamespacesIfNotEmpty`).
    /// The selector stays: asked about a namespace without labels, one that wants a label absent matches any
    /// namespace, and kube-scheduler asks so.
    #[must_use]
    pub fn with_selected_namespaces(mut self, objects: &ObjectStore) -> Self {
        if !self.namespace_selector.is_empty() && !self.namespace_selector.is_nothing() {
            let selected = objects
                .namespaces
                .values()
                .filter(|namespace| self.namespace_selector.matches(&namespace.metadata.labels));
            self.namespaces.extend(selected.map(|namespace| namespace.metadata.name.clone()));
        }
        self
    }
}

/// A preferred term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedAffinityTerm {
    /// The term.
    pub term: AffinityTerm,
    /// How much it counts, 1 to 100.
    pub weight: i32,
}

/// All terms of a pod. A list in which a term cannot be parsed is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PodAffinityTerms {
    /// The pods that must be in the same domain.
    pub required_affinity: Vec<AffinityTerm>,
    /// The pods that must not be in the same domain.
    pub required_anti_affinity: Vec<AffinityTerm>,
    /// The pods that should be in the same domain.
    pub preferred_affinity: Vec<WeightedAffinityTerm>,
    /// The pods that should not be in the same domain.
    pub preferred_anti_affinity: Vec<WeightedAffinityTerm>,
    /// What could not be parsed, in one text.
    pub error: Option<String>,
}

impl PodAffinityTerms {
    /// The terms of a pod; absent if it has neither pod affinity nor pod anti-affinity.
    pub fn of(pod: &Pod) -> Option<Self> {
        let affinity = pod.spec.affinity.as_ref()?;
        if affinity.pod_affinity.is_none() && affinity.pod_anti_affinity.is_none() {
            return None;
        }
        let namespace = &pod.metadata.namespace;
        let mut errors = Vec::new();
        let mut terms = Self::default();
        // The errors stand in this order: all of the required lists, then the preferred ones.
        if let Some(affinity) = &affinity.pod_affinity {
            let parsed = required(namespace, &affinity.required);
            terms.required_affinity = or_note(parsed, "requiredAffinityTerms", &mut errors);
        }
        if let Some(affinity) = &affinity.pod_anti_affinity {
            let parsed = required(namespace, &affinity.required);
            terms.required_anti_affinity = or_note(parsed, "requiredAntiAffinityTerms", &mut errors);
        }
        if let Some(affinity) = &affinity.pod_affinity {
            let parsed = preferred(namespace, &affinity.preferred);
            terms.preferred_affinity = or_note(parsed, "preferredAffinityTerms", &mut errors);
        }
        if let Some(affinity) = &affinity.pod_anti_affinity {
            let parsed = preferred(namespace, &affinity.preferred);
            terms.preferred_anti_affinity = or_note(parsed, "preferredAntiAffinityTerms", &mut errors);
        }
        terms.error = match errors.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        };
        Some(terms)
    }

    /// Only the required terms of a pod, affinity and anti-affinity (`GetAffinityTerms`).
    ///
    /// # Errors
    /// A term cannot be parsed.
    pub fn required_of(pod: &Pod) -> Result<(Vec<AffinityTerm>, Vec<AffinityTerm>), SelectorError> {
        let parsed = |affinity: Option<&PodAffinity>| {
            affinity.map_or(Ok(Vec::new()), |affinity| required(&pod.metadata.namespace, &affinity.required))
        };
        let affinity = pod.spec.affinity.as_ref();
        Ok((
            parsed(affinity.and_then(|affinity| affinity.pod_affinity.as_ref()))?,
            parsed(affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()))?,
        ))
    }
}

fn required(namespace: &Str, terms: &[PodAffinityTerm]) -> Result<Vec<AffinityTerm>, SelectorError> {
    terms.iter().map(|term| AffinityTerm::new(namespace, term)).collect()
}

fn preferred(
    namespace: &Str,
    terms: &[WeightedPodAffinityTerm],
) -> Result<Vec<WeightedAffinityTerm>, SelectorError> {
    let parse = |weighted: &WeightedPodAffinityTerm| {
        let term = AffinityTerm::new(namespace, &weighted.pod_affinity_term)?;
        Ok(WeightedAffinityTerm { term, weight: weighted.weight })
    };
    terms.iter().map(parse).collect()
}

fn or_note<T>(parsed: Result<Vec<T>, SelectorError>, list: &str, errors: &mut Vec<String>) -> Vec<T> {
    parsed.unwrap_or_else(|error| {
        errors.push(format!("{list}: {error}"));
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::objects::Namespace;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect()
    }

    fn term(yaml: &str) -> AffinityTerm {
        AffinityTerm::new(&Str::from("own"), &serde_saphyr::from_str(yaml).unwrap()).unwrap()
    }

    #[test]
    fn a_term_without_namespaces_speaks_of_its_pods_own() {
        let term = term("{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}");
        let web = labels(&[("app", "web")]);
        assert!(term.matches("own", &web, &Labels::new()));
        assert!(!term.matches("other", &web, &Labels::new()));
        assert!(!term.matches("own", &labels(&[("app", "db")]), &Labels::new()));
    }

    #[test]
    fn an_absent_label_selector_matches_no_pod_and_an_empty_one_all() {
        assert!(!term("{topologyKey: zone}").matches("own", &Labels::new(), &Labels::new()));
        assert!(term("{topologyKey: zone, labelSelector: {}}").matches(
            "own",
            &Labels::new(),
            &Labels::new()
        ));
    }

    #[test]
    fn namespaces_are_named_or_selected() {
        let term = term(
            "{topologyKey: zone, labelSelector: {}, namespaces: [a], namespaceSelector: {matchLabels: {team: x}}}",
        );
        let none = Labels::new();
        assert!(term.matches("a", &none, &none));
        assert!(term.matches("b", &none, &labels(&[("team", "x")])));
        assert!(
            !term.matches("own", &none, &none),
            "the pod's own namespace is meant only where nothing is said"
        );
        let mut objects = ObjectStore::default();
        let mut selected = Namespace::default();
        selected.metadata.name = Str::from("b");
        selected.metadata.labels = labels(&[("team", "x")]);
        objects.insert(selected.into());
        assert!(term.with_selected_namespaces(&objects).matches("b", &none, &none));
    }

    #[test]
    fn a_list_with_a_term_that_cannot_be_parsed_is_empty() {
        let pod: Pod = serde_saphyr::from_str(
            "{spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
               {topologyKey: a, labelSelector: {}},
               {topologyKey: b, labelSelector: {matchExpressions: [{key: k, operator: Near}]}}]},
             podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
               {topologyKey: c, labelSelector: {matchExpressions: [{key: k, operator: Far}]}}]}}}}",
        )
        .unwrap();
        let terms = PodAffinityTerms::of(&pod).unwrap();
        assert!(terms.required_affinity.is_empty());
        assert_eq!(
            terms.error.as_deref(),
            Some(
                "[requiredAffinityTerms: \"Near\" is not a valid label selector operator, \
                 requiredAntiAffinityTerms: \"Far\" is not a valid label selector operator]"
            )
        );
        assert_eq!(PodAffinityTerms::of(&Pod::default()), None);
    }
}
