//! NodeAffinity: a pod fits where the node has the labels that it selects, prefers nodes by weighted terms, and
//! both may be added to for all pods by the configuration (`addedAffinity`).
//!
//! Follows `plugins/nodeaffinity/node_affinity.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::helper::normalize_score::default_normalize_score;
use super::helper::objects::changed_node;
use super::helper::signers;
use super::names;
use crate::api::node_selector::{METADATA_NAME, PreferredSchedulingTerms, RequiredNodeAffinity};
use crate::api::objects::{self, NodeSelectorTerm, Pod};
use crate::api::{Object, Str};
use crate::config::plugin_args::NodeAffinityArgs;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, NodeScore, Plugin, PodInfo, PreFilterPlugin, PreFilterResult,
    PreScorePlugin, QueueingHint, ScoreExtensions, ScorePlugin, SignFragment, SignPlugin, Status,
};

const REASON_POD: &str = "node(s) didn't match Pod's node affinity/selector";
const REASON_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
const REASON_CONFLICT: &str = "pod affinity terms conflict";

/// The plugin.
#[derive(Clone, Debug)]
pub struct NodeAffinity {
    added: Arc<NodeAffinityArgs>,
    // Most nodes get one of these, so they are made once.
    mismatch: Status,
    enforced_mismatch: Status,
}

/// What the pod requires, parsed.
#[derive(Debug)]
struct PreFilterState {
    required: RequiredNodeAffinity,
}

/// What the pod prefers, parsed.
#[derive(Debug)]
struct PreScoreState {
    preferred: Option<PreferredSchedulingTerms>,
}

impl Default for NodeAffinity {
    fn default() -> Self {
        Self::new(NodeAffinityArgs::default())
    }
}

fn affinity_of(pod: &Pod) -> Option<&objects::NodeAffinity> {
    pod.spec.affinity.as_ref()?.node_affinity.as_ref()
}

fn preferred_of(pod: &Pod) -> Result<Option<PreferredSchedulingTerms>, Status> {
    let preferred = affinity_of(pod).map(|affinity| &affinity.preferred).filter(|terms| !terms.is_empty());
    preferred.map(|terms| PreferredSchedulingTerms::new(terms, "")).transpose().map_err(Status::error)
}

/// The names to which `metadata.name` narrows a term; absent if it does not.
fn node_names(term: &NodeSelectorTerm) -> Option<BTreeSet<Str>> {
    let by_name =
        |field: &&objects::NodeSelectorRequirement| field.key == METADATA_NAME && field.operator == "In";
    let sets =
        term.match_fields.iter().filter(by_name).map(|field| {
            field.values.iter().map(|value| Str::from(value.as_str())).collect::<BTreeSet<Str>>()
        });
    sets.reduce(|names, more| names.intersection(&more).cloned().collect())
}

impl NodeAffinity {
    /// The plugin with these arguments.
    pub fn new(args: NodeAffinityArgs) -> Self {
        let named = |reason| Status::unresolvable(reason).with_plugin(names::NODE_AFFINITY);
        Self { added: Arc::new(args), mismatch: named(REASON_POD), enforced_mismatch: named(REASON_ENFORCED) }
    }

    fn is_schedulable_after_node_change(
        &self,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<QueueingHint, String> {
        let (original, modified) = changed_node(old, new)?;
        if self.added.added_required.as_ref().is_some_and(|added| !added.matches(modified)) {
            return Ok(QueueingHint::QueueSkip);
        }
        let required = RequiredNodeAffinity::of(pod);
        let matches = |node| required.try_matches(node).map_err(|errors| errors.to_string());
        if !matches(modified)? {
            return Ok(QueueingHint::QueueSkip);
        }
        match original {
            Some(original) if matches(original)? => Ok(QueueingHint::QueueSkip),
            _ => Ok(QueueingHint::Queue),
        }
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        names::NODE_AFFINITY
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

impl PreFilterPlugin for NodeAffinity {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let required = affinity_of(&pod.pod).and_then(|affinity| affinity.required.as_ref());
        if required.is_none() && self.added.added_required.is_none() && pod.pod.spec.node_selector.is_empty()
        {
            return (None, Status::skip());
        }
        state.write(self.name(), PreFilterState { required: RequiredNodeAffinity::of(&pod.pod) });
        // The terms are alternatives: the search is narrowed only if every one of them names nodes.
        let terms = required.map_or(&[][..], |required| &required.node_selector_terms);
        let Some(by_term) = terms.iter().map(node_names).collect::<Option<Vec<_>>>() else {
            return (None, Status::SUCCESS);
        };
        if by_term.is_empty() {
            return (None, Status::SUCCESS);
        }
        let node_names: BTreeSet<Str> = by_term.into_iter().flatten().collect();
        if node_names.is_empty() {
            return (None, Status::unresolvable(REASON_CONFLICT));
        }
        (Some(PreFilterResult { node_names }), Status::SUCCESS)
    }
}

impl FilterPlugin for NodeAffinity {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let Some(node) = node.node() else { return self.mismatch.clone() };
        if self.added.added_required.as_ref().is_some_and(|added| !added.matches(node)) {
            return self.enforced_mismatch.clone();
        }
        let matches = match state.read::<PreFilterState>() {
            Some(state) => state.required.matches(node),
            // PreFilter is not enabled for this plugin.
            None => RequiredNodeAffinity::of(&pod.pod).matches(node),
        };
        if matches { Status::SUCCESS } else { self.mismatch.clone() }
    }
}

impl PreScorePlugin for NodeAffinity {
    fn pre_score(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Status {
        match preferred_of(&pod.pod) {
            Err(status) => status,
            Ok(None) if self.added.added_preferred.is_none() => Status::skip(),
            Ok(preferred) => {
                state.write(self.name(), PreScoreState { preferred });
                Status::SUCCESS
            }
        }
    }
}

impl ScorePlugin for NodeAffinity {
    fn score(
        &self,
        _: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let Some(node) = node.node() else { return Ok(0) };
        let score = |terms: &PreferredSchedulingTerms| terms.score(node);
        let added = self.added.added_preferred.as_ref().map_or(0, score);
        let own = match state.read::<PreScoreState>() {
            Some(state) => state.preferred.as_ref().map_or(0, score),
            // PreScore is not enabled for this plugin.
            None => preferred_of(&pod.pod)?.as_ref().map_or(0, score),
        };
        Ok(added + own)
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

impl ScoreExtensions for NodeAffinity {
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        _: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        default_normalize_score(false, scores);
        Status::SUCCESS
    }
}

impl EnqueueExtensions for NodeAffinity {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let plugin = self.clone();
        let event = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL);
        vec![ClusterEventWithHint::hinted(event, move |_, pod, old, new| {
            plugin.is_schedulable_after_node_change(pod, old, new)
        })]
    }
}

impl SignPlugin for NodeAffinity {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        let selector = signers::fragment(signers::NODE_SELECTOR, &pod.spec.node_selector)?;
        Ok(vec![signers::node_affinity(pod)?, selector])
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::{filter, hint, node_object, pod, pod_info, scores, world};

    const SSD: &str = "{metadata: {name: ssd, labels: {disk: ssd, gen: '7'}}}";
    const HDD: &str = "{metadata: {name: hdd, labels: {disk: hdd}}}";

    fn requires(terms: &str) -> String {
        format!(
            "{{metadata: {{uid: a}}, spec: {{affinity: {{nodeAffinity: \
             {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}}}}}}}}}"
        )
    }

    fn prefers(terms: &str) -> String {
        format!(
            "{{spec: {{affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: \
             [{terms}]}}}}}}}}"
        )
    }

    fn with_added(args: &serde_json::Value) -> NodeAffinity {
        NodeAffinity::new(NodeAffinityArgs::from_value(Some(args), "").unwrap())
    }

    #[test]
    fn selector_and_required_terms_must_both_match() {
        let refused = Status::unresolvable("node(s) didn't match Pod's node affinity/selector")
            .with_plugin("NodeAffinity");
        let ask = |pod: &str| filter(&NodeAffinity::default(), pod, &[SSD, HDD], &[]);
        assert_eq!(ask("{}"), Err(Status::skip()));
        assert_eq!(ask("{spec: {nodeSelector: {disk: ssd}}}"), Ok(vec![Status::SUCCESS, refused.clone()]));
        let any_disk = requires("{matchExpressions: [{key: disk, operator: Exists}]}");
        assert_eq!(ask(&any_disk), Ok(vec![Status::SUCCESS; 2]));
        let newer = requires("{matchExpressions: [{key: gen, operator: Gt, values: ['5']}]}");
        assert_eq!(ask(&newer), Ok(vec![Status::SUCCESS, refused.clone()]));
        let both = newer.replace("spec: {", "spec: {nodeSelector: {disk: hdd}, ");
        assert_eq!(ask(&both), Ok(vec![refused.clone(); 2]));
        // No term at all matches nothing, and neither does one that is not valid.
        assert_eq!(ask(&requires("")), Ok(vec![refused.clone(); 2]));
        let negative = requires("{matchExpressions: [{key: gen, operator: Gt, values: ['-5']}]}");
        assert_eq!(ask(&negative), Ok(vec![refused; 2]));
    }

    #[test]
    fn names_of_nodes_narrow_the_search() {
        let world = world(&[SSD, HDD], &[]);
        let ask = |terms: &str| {
            let pod = pod_info(&requires(terms));
            NodeAffinity::default().pre_filter(&world.handle(), &mut CycleState::new(), &pod, &[])
        };
        let named = |names: &[&str]| Some(names.iter().map(|name| Str::from(*name)).collect::<BTreeSet<_>>());
        let names = |terms: &str| ask(terms).0.map(|result| result.node_names);
        let on = |name: &str| format!("{{key: metadata.name, operator: In, values: [{name}]}}");
        let (a, b) = (on("ssd"), on("gone"));
        assert_eq!(names(&format!("{{matchFields: [{a}]}}")), named(&["ssd"]));
        assert_eq!(
            names(&format!("{{matchFields: [{a}]}}, {{matchFields: [{b}]}}")),
            named(&["gone", "ssd"])
        );
        // A term that names no node makes all nodes eligible.
        let other = "{matchExpressions: [{key: disk, operator: Exists}]}";
        assert_eq!(names(&format!("{{matchFields: [{a}]}}, {other}")), None);
        // Within a term all fields must match.
        assert_eq!(
            ask(&format!("{{matchFields: [{a}, {b}]}}")),
            (None, Status::unresolvable("pod affinity terms conflict"))
        );
    }

    #[test]
    fn weights_of_matching_terms_are_scaled_to_100() {
        let term = |weight: i32, disk: &str| {
            format!(
                "{{weight: {weight}, preference: {{matchExpressions: [{{key: disk, operator: In, values: \
                 [{disk}]}}]}}}}"
            )
        };
        let ask = |pod: &str| scores(&NodeAffinity::default(), pod, &[SSD, HDD], &[]);
        assert_eq!(ask("{}"), Err(Status::skip()));
        let pod = prefers(&format!("{}, {}", term(2, "ssd"), term(8, "hdd")));
        assert_eq!(ask(&pod), Ok(vec![(2, 25), (8, 100)]));
        assert_eq!(ask(&prefers(&term(2, "none"))), Ok(vec![(0, 0), (0, 0)]));
        // A preference that is not valid is an error.
        let negative =
            "{weight: 1, preference: {matchExpressions: [{key: gen, operator: Lt, values: ['-5']}]}}";
        let error = ask(&prefers(negative)).unwrap_err();
        assert!(
            error.is_error()
                && error.message().starts_with("[0].matchExpressions[0].values[0][gen]: Invalid")
        );
    }

    #[test]
    fn added_affinity_holds_for_every_pod() {
        let expression =
            |disk| json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]});
        let plugin = with_added(&json!({"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [expression("ssd")]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": expression("hdd")}],
        }}));
        let enforced = Status::unresolvable("node(s) didn't match scheduler-enforced node affinity")
            .with_plugin("NodeAffinity");
        assert_eq!(filter(&plugin, "{}", &[SSD, HDD], &[]), Ok(vec![Status::SUCCESS, enforced]));
        assert_eq!(scores(&plugin, "{}", &[SSD, HDD], &[]), Ok(vec![(0, 0), (5, 100)]));
    }

    #[test]
    fn hints() {
        use QueueingHint::{Queue, QueueSkip};
        let waiting = pod(&requires("{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}"));
        let (ssd, hdd) = (node_object(SSD), node_object(HDD));
        let plugin = NodeAffinity::default();
        let ask = |old: Option<&Object>, new| hint(&plugin, 0, &waiting, old, Some(new));
        assert_eq!(ask(None, &ssd), Ok(Queue));
        assert_eq!(ask(None, &hdd), Ok(QueueSkip));
        assert_eq!(ask(Some(&hdd), &ssd), Ok(Queue));
        assert_eq!(ask(Some(&ssd), &ssd), Ok(QueueSkip));
        assert_eq!(ask(Some(&ssd), &hdd), Ok(QueueSkip));
        let term = json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]});
        let strict = with_added(&json!({"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}));
        assert_eq!(hint(&strict, 0, &waiting, None, Some(&ssd)), Ok(QueueSkip));
    }
}
