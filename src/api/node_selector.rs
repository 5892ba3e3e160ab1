//! Selectors of nodes: required and preferred node affinity, parsed once and matched often.
//!
//! Follows `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`. Terms are alternatives; within a term all
//! expressions over labels and all fields (`metadata.name`) must match. A term that cannot be parsed is an error
//! only where it is asked for ([`NodeSelector`], [`PreferredSchedulingTerms`]); within a pod's required affinity
//! it matches nothing and is reported only if no other term matches.

use super::Str;
use super::field::{self, FieldError, FieldErrors};
use super::objects::{
    self, Labels, Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, PreferredSchedulingTerm,
};
use super::selector::{Operator, Requirement, Selector, json_list};

/// The one field of a node that a selector can name.
pub const METADATA_NAME: &str = "metadata.name";

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const FIELD_OPERATORS: &[&str] = &["In", "NotIn"];

/// A condition on a field of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    field: Str,
    value: Str,
    is_equal: bool,
}

impl FieldRequirement {
    fn matches(&self, node: &Node) -> bool {
        let actual: &str = if self.field.as_ref() == METADATA_NAME { node.name() } else { "" };
        (actual == self.value.as_ref()) == self.is_equal
    }
}

/// A parsed term.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    labels: Selector,
    fields: Vec<FieldRequirement>,
}

impl Term {
    fn parse(term: &NodeSelectorTerm, path: &str) -> Result<Self, FieldErrors> {
        let mut errors = Vec::new();
        let labels =
            expressions(&term.match_expressions, &field::child(path, "matchExpressions"), &mut errors);
        let fields = fields(&term.match_fields, &field::child(path, "matchFields"), &mut errors);
        FieldErrors(errors).into_result()?;
        Ok(Self { labels: Selector::new(labels), fields })
    }

    fn matches(&self, node: &Node) -> bool {
        self.labels.matches(&node.metadata.labels)
            && (node.name().is_empty() || self.fields.iter().all(|field| field.matches(node)))
    }
}

fn expressions(
    requirements: &[NodeSelectorRequirement],
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Vec<Requirement> {
    let mut parsed = Vec::with_capacity(requirements.len());
    for (i, requirement) in requirements.iter().enumerate() {
        let path = field::index(path, i);
        let operator = match requirement.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::GreaterThan,
            "Lt" => Operator::LessThan,
            other => {
                errors.push(FieldError::not_supported(field::child(&path, "operator"), other, OPERATORS));
                continue;
            }
        };
        match Requirement::new(&requirement.key, operator, &requirement.values, &path) {
            Ok(requirement) => parsed.push(requirement),
            Err(found) => errors.extend(found.0),
        }
    }
    parsed
}

fn fields(
    requirements: &[NodeSelectorRequirement],
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Vec<FieldRequirement> {
    let mut parsed = Vec::with_capacity(requirements.len());
    for (i, requirement) in requirements.iter().enumerate() {
        let path = field::index(path, i);
        let is_equal = match requirement.operator.as_str() {
            "In" => true,
            "NotIn" => false,
            other => {
                let path = field::child(&path, "operator");
                errors.push(FieldError::not_supported(path, other, FIELD_OPERATORS));
                continue;
            }
        };
        match requirement.values.as_slice() {
            [value] => parsed.push(FieldRequirement {
                field: Str::from(requirement.key.as_str()),
                value: Str::from(value.as_str()),
                is_equal,
            }),
            values => errors.push(FieldError::invalid(
                field::child(&path, "values"),
                json_list(values),
                "must have one element",
            )),
        }
    }
    parsed
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.is_empty() && term.match_fields.is_empty()
}

/// A node selector whose terms that cannot be parsed match nothing (`LazyErrorNodeSelector`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LazyNodeSelector {
    terms: Vec<Result<Term, FieldErrors>>,
}

impl LazyNodeSelector {
    /// Parses the terms; empty ones are left out, for they match nothing. `path` is where the selector stands.
    pub fn new(selector: &objects::NodeSelector, path: &str) -> Self {
        let path = field::child(path, "nodeSelectorTerms");
        let terms = selector.node_selector_terms.iter().enumerate();
        let terms = terms.filter(|(_, term)| !is_empty(term));
        Self { terms: terms.map(|(i, term)| Term::parse(term, &field::index(&path, i))).collect() }
    }

    /// Whether any term matches the node; terms that cannot be parsed do not.
    pub fn matches(&self, node: &Node) -> bool {
        self.terms.iter().flatten().any(|term| term.matches(node))
    }

    /// The same, where no term matches with the errors of those that cannot be parsed.
    ///
    /// # Errors
    /// No term matches, and these are the errors of the terms that could not be parsed.
    pub fn try_matches(&self, node: &Node) -> Result<bool, FieldErrors> {
        if self.matches(node) {
            return Ok(true);
        }
        self.errors().into_result().map(|()| false)
    }

    /// The same for a node of which only the labels are known: fields match whatever they ask for.
    ///
    /// # Errors
    /// No term matches, and these are the errors of the terms that could not be parsed.
    pub fn try_matches_labels(&self, labels: &Labels) -> Result<bool, FieldErrors> {
        if self.terms.iter().flatten().any(|term| term.labels.matches(labels)) {
            return Ok(true);
        }
        self.errors().into_result().map(|()| false)
    }

    /// A label without which no node matches, with the values that it may have; absent if there is no such label.
    pub fn needed_label(&self) -> Option<(&str, &[Str])> {
        match self.terms.as_slice() {
            [Ok(term)] => term.labels.needed_label(),
            _ => None,
        }
    }

    fn errors(&self) -> FieldErrors {
        FieldErrors(
            self.terms.iter().filter_map(|term| term.as_ref().err()).flat_map(|e| e.0.clone()).collect(),
        )
    }
}

/// A node selector all of whose terms can be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSelector(LazyNodeSelector);

impl NodeSelector {
    /// Parses the terms; `path` is where the selector stands.
    ///
    /// # Errors
    /// The errors of all terms that cannot be parsed.
    pub fn new(selector: &objects::NodeSelector, path: &str) -> Result<Self, FieldErrors> {
        let lazy = LazyNodeSelector::new(selector, path);
        lazy.errors().into_result()?;
        Ok(Self(lazy))
    }

    /// Whether any term matches the node.
    pub fn matches(&self, node: &Node) -> bool {
        self.0.matches(node)
    }
}

/// Preferred terms with their weights.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PreferredSchedulingTerms {
    terms: Vec<(Term, i64)>,
}

impl PreferredSchedulingTerms {
    /// Parses the terms; those without weight and empty ones are left out. `path` is where they stand.
    ///
    /// # Errors
    /// The errors of all terms that cannot be parsed.
    pub fn new(terms: &[PreferredSchedulingTerm], path: &str) -> Result<Self, FieldErrors> {
        let mut parsed = Vec::with_capacity(terms.len());
        let mut errors = Vec::new();
        for (i, term) in terms.iter().enumerate() {
            if term.weight == 0 || is_empty(&term.preference) {
                continue;
            }
            match Term::parse(&term.preference, &field::index(path, i)) {
                Ok(preference) => parsed.push((preference, i64::from(term.weight))),
                Err(found) => errors.extend(found.0),
            }
        }
        FieldErrors(errors).into_result()?;
        Ok(Self { terms: parsed })
    }

    /// The sum of the weights of the terms that match the node.
    pub fn score(&self, node: &Node) -> i64 {
        self.terms.iter().filter(|(term, _)| term.matches(node)).map(|(_, weight)| weight).sum()
    }
}

/// What a pod requires of its node: `nodeSelector` and required node affinity (`GetRequiredNodeAffinity`).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RequiredNodeAffinity {
    labels: Option<Selector>,
    affinity: Option<LazyNodeSelector>,
}

impl RequiredNodeAffinity {
    /// Parses what the pod requires.
    pub fn of(pod: &Pod) -> Self {
        let labels = &pod.spec.node_selector;
        let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        Self {
            labels: (!labels.is_empty()).then(|| Selector::from_labels(labels)),
            affinity: affinity
                .and_then(|affinity| affinity.required.as_ref())
                .map(|required| LazyNodeSelector::new(required, "")),
        }
    }

    /// Whether the node has what the pod requires; terms that cannot be parsed match nothing.
    pub fn matches(&self, node: &Node) -> bool {
        self.labels_match(node) && self.affinity.as_ref().is_none_or(|affinity| affinity.matches(node))
    }

    /// The same, where no term matches with the errors of those that cannot be parsed.
    ///
    /// # Errors
    /// No term matches, and these are the errors of the terms that could not be parsed.
    pub fn try_matches(&self, node: &Node) -> Result<bool, FieldErrors> {
        match &self.affinity {
            _ if !self.labels_match(node) => Ok(false),
            Some(affinity) => affinity.try_matches(node),
            None => Ok(true),
        }
    }

    fn labels_match(&self, node: &Node) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.matches(&node.metadata.labels))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn node(name: &str, labels: &[(&str, &str)]) -> Node {
        let mut node = Node::default();
        node.metadata.name = Str::from(name);
        node.metadata.labels =
            labels.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect();
        node
    }

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeSelectorRequirement {
        NodeSelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    fn labelled(requirements: Vec<NodeSelectorRequirement>) -> NodeSelectorTerm {
        NodeSelectorTerm { match_expressions: requirements, ..NodeSelectorTerm::default() }
    }

    fn selector(terms: Vec<NodeSelectorTerm>) -> objects::NodeSelector {
        objects::NodeSelector { node_selector_terms: terms }
    }

    #[test]
    fn terms_are_alternatives_and_an_empty_term_matches_nothing() {
        let zone = |zone| labelled(vec![requirement("zone", "In", &[zone])]);
        let parsed = LazyNodeSelector::new(&selector(vec![zone("a"), zone("b")]), "");
        assert!(parsed.matches(&node("n", &[("zone", "b")])));
        assert!(!parsed.matches(&node("n", &[("zone", "c")])));
        assert!(
            !LazyNodeSelector::new(&selector(vec![NodeSelectorTerm::default()]), "").matches(&node("n", &[]))
        );
        assert!(!LazyNodeSelector::new(&selector(vec![]), "").matches(&node("n", &[])));
    }

    #[test]
    fn fields_match_the_name_alone() {
        let by_field = |key, operator, value| {
            let term = NodeSelectorTerm {
                match_fields: vec![requirement(key, operator, &[value])],
                ..NodeSelectorTerm::default()
            };
            LazyNodeSelector::new(&selector(vec![term]), "")
        };
        assert!(by_field(METADATA_NAME, "In", "n1").matches(&node("n1", &[])));
        assert!(!by_field(METADATA_NAME, "In", "n1").matches(&node("n2", &[])));
        assert!(by_field(METADATA_NAME, "NotIn", "n1").matches(&node("n2", &[])));
        // Any other field is empty.
        assert!(!by_field("metadata.uid", "In", "n1").matches(&node("n1", &[])));
        assert!(by_field("metadata.uid", "In", "").matches(&node("n1", &[])));
    }

    #[test]
    fn a_term_that_cannot_be_parsed_is_reported_only_where_no_term_matches() {
        let broken = labelled(vec![requirement("gen", "Gt", &["-5"])]);
        let good = labelled(vec![requirement("zone", "Exists", &[])]);
        let parsed = LazyNodeSelector::new(&selector(vec![broken.clone(), good]), "");
        assert_eq!(parsed.try_matches(&node("n", &[("zone", "a")])), Ok(true));
        assert!(parsed.try_matches(&node("n", &[])).is_err());
        assert!(!parsed.matches(&node("n", &[("gen", "7")])));
        assert!(NodeSelector::new(&selector(vec![broken]), "").is_err());
    }

    #[test]
    fn without_a_name_fields_match_whatever_they_ask_for() {
        let term = NodeSelectorTerm {
            match_fields: vec![requirement(METADATA_NAME, "In", &["n1"])],
            match_expressions: vec![requirement("zone", "In", &["a"])],
        };
        let parsed = LazyNodeSelector::new(&selector(vec![term]), "");
        assert_eq!(parsed.try_matches_labels(&node("n2", &[("zone", "a")]).metadata.labels), Ok(true));
        assert_eq!(parsed.try_matches_labels(&node("n1", &[]).metadata.labels), Ok(false));
    }

    #[test]
    fn the_label_that_all_nodes_need_is_known_where_there_is_one_term() {
        let zone = || labelled(vec![requirement("a", "Exists", &[]), requirement("zone", "In", &["x", "y"])]);
        let needed = |terms| {
            let parsed = LazyNodeSelector::new(&selector(terms), "");
            parsed.needed_label().map(|(key, values)| (key.to_owned(), values.len()))
        };
        assert_eq!(needed(vec![zone()]), Some(("zone".to_owned(), 2)));
        assert_eq!(needed(vec![zone(), NodeSelectorTerm::default()]), Some(("zone".to_owned(), 2)));
        assert_eq!(needed(vec![zone(), zone()]), None);
        assert_eq!(needed(vec![labelled(vec![requirement("zone", "NotIn", &["x"])])]), None);
    }

    #[test]
    fn errors_name_term_and_requirement() {
        let term = NodeSelectorTerm {
            match_expressions: vec![requirement("zone", "Near", &["a"])],
            match_fields: vec![requirement(METADATA_NAME, "In", &["a", "b"])],
        };
        assert_eq!(
            NodeSelector::new(&selector(vec![term.clone()]), "").unwrap_err().to_string(),
            "[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: \
             \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\", \
             nodeSelectorTerms[0].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element]"
        );
        let preferred = PreferredSchedulingTerm { weight: 1, preference: term };
        let text = PreferredSchedulingTerms::new(&[preferred], "").unwrap_err().to_string();
        assert!(text.starts_with("[[0].matchExpressions[0].operator: Unsupported value"), "{text}");
    }

    #[test]
    fn weights_of_matching_preferences_add_up() {
        let prefer = |weight, key| PreferredSchedulingTerm {
            weight,
            preference: labelled(vec![requirement(key, "Exists", &[])]),
        };
        let terms =
            PreferredSchedulingTerms::new(&[prefer(5, "ssd"), prefer(7, "gpu"), prefer(0, "ssd")], "")
                .unwrap();
        assert_eq!(terms.score(&node("n", &[("ssd", ""), ("gpu", "")])), 12);
        assert_eq!(terms.score(&node("n", &[("gpu", "")])), 7);
        assert_eq!(terms.score(&node("n", &[])), 0);
    }
}
