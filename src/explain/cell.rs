//! One cell of the matrix: what a plugin said of a node, and why, with the live numbers.

use crate::framework::{Asked, Code, NodeInfo, PluginWords, Status};
use crate::scheduler::trace::{CycleTrace, FilterTrace, NodeVerdict};

use super::{counted, filter, names, placement, score, volumes};

/// Which of a plugin's two answers for a node is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellPoint {
    /// Its answer at Filter.
    Filter,
    /// Its score.
    Score,
}

/// Why a cell says what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellExplanation {
    /// What the plugin answered; absent if it was not asked.
    pub code: Option<Code>,
    /// The answer in one or two sentences.
    pub sentence: String,
    /// The numbers that lead to it, a line each; empty where none can be given for certain.
    pub arithmetic: Vec<String>,
    /// What would change it.
    pub hint: Option<String>,
}

impl CellExplanation {
    pub(super) fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code: Some(code), sentence: sentence.into(), arithmetic: Vec::new(), hint: None }
    }

    pub(super) fn not_asked(sentence: impl Into<String>) -> Self {
        Self { code: None, sentence: sentence.into(), arithmetic: Vec::new(), hint: None }
    }

    pub(super) fn with_arithmetic(mut self, arithmetic: Vec<String>) -> Self {
        self.arithmetic = arithmetic;
        self
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sentence and hint together.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} {hint}", self.sentence),
            None => self.sentence.clone(),
        }
    }
}

/// Explains what `plugin` said of `node` in this attempt.
pub fn cell(trace: &CycleTrace, point: CellPoint, node: &str, plugin: &str) -> CellExplanation {
    let Some(info) = trace.snapshot.get(node) else {
        return CellExplanation::not_asked(format!("There was no node {node} when this attempt began."));
    };
    match point {
        CellPoint::Filter => filter_cell(trace, info, plugin),
        CellPoint::Score => score::cell(trace, info, plugin),
    }
}

fn filter_cell(trace: &CycleTrace, node: &NodeInfo, plugin: &str) -> CellExplanation {
    let Some(filter) = &trace.filter else { return CellExplanation::not_asked(no_filter(trace)) };
    let position = trace.snapshot.position(node.name());
    let Some(verdict) = position.and_then(|position| filter.verdicts.get(position)) else {
        return CellExplanation::not_asked("Filter has not come to this node.");
    };
    let Some(order) = filter.plugins.iter().position(|name| *name == plugin) else {
        return CellExplanation::not_asked(format!("{plugin} does not filter in this profile."));
    };
    match verdict {
        NodeVerdict::Excluded => return CellExplanation::not_asked(excluded(trace, node.name())),
        NodeVerdict::NotEvaluated => return CellExplanation::not_asked(not_evaluated(filter)),
        NodeVerdict::Feasible | NodeVerdict::Rejected(_) => {}
    }
    if filter.skipped.contains(plugin) {
        return CellExplanation {
            code: Some(Code::Skip),
            ..CellExplanation::not_asked(format!("{plugin} skipped: {}.", skip_reason(plugin)))
        };
    }
    match verdict {
        NodeVerdict::Rejected(status) if status.plugin() == plugin => {
            of_answer(trace, node, plugin, Some(status))
        }
        NodeVerdict::Rejected(status) if is_after(filter, order, status) => {
            CellExplanation::not_asked(format!("Not asked: {} had turned the node down.", status.plugin()))
        }
        _ => of_answer(trace, node, plugin, None),
    }
}

/// Explains what a Filter plugin that was asked said of a node: why it refused, or, without a status, why it did not.
pub(super) fn of_answer(
    trace: &CycleTrace,
    node: &NodeInfo,
    plugin: &str,
    refusal: Option<&Status>,
) -> CellExplanation {
    let own = trace.explainers.get(plugin).and_then(|own| own.explain_filter(&asked(trace, node), refusal));
    if let Some(PluginWords { sentence, arithmetic, hint }) = own {
        let code = refusal.map_or(Code::Success, Status::code);
        return CellExplanation { hint, ..CellExplanation::new(code, sentence).with_arithmetic(arithmetic) };
    }
    let explanation = match refusal {
        Some(status) => filter::rejected(&trace.pod_info, node, plugin, status),
        None => filter::passed(&trace.pod_info, node, plugin),
    };
    match plugin {
        names::VOLUME_BINDING => volumes::bound(trace, node, explanation),
        names::VOLUME_ZONE => volumes::in_zone(trace, node, explanation),
        names::NODE_VOLUME_LIMITS => volumes::within_limits(trace, node, explanation),
        names::VOLUME_RESTRICTIONS => volumes::not_in_use(trace, node, explanation),
        names::POD_TOPOLOGY_SPREAD => placement::spread(trace, node, explanation),
        names::INTER_POD_AFFINITY => placement::affinity(trace, node, explanation),
        names::NODE_DECLARED_FEATURES => placement::features(trace, node, explanation),
        _ => explanation,
    }
}

/// What an answer about the node was made from, for a plugin that explains itself.
pub(super) fn asked<'a>(trace: &'a CycleTrace, node: &'a NodeInfo) -> Asked<'a> {
    Asked {
        now: trace.started,
        state: &trace.filter_state,
        snapshot: &trace.snapshot,
        pod: &trace.pod_info,
        node,
    }
}

/// Whether the plugin at `order` comes after the one that said `status`.
fn is_after(filter: &FilterTrace, order: usize, status: &Status) -> bool {
    filter.plugins.iter().position(|name| *name == status.plugin()).is_some_and(|rejecter| order > rejecter)
}

/// Why there are no verdicts of Filter in an attempt.
pub fn no_filter(trace: &CycleTrace) -> String {
    let rejection = trace
        .pre_filter
        .iter()
        .flatten()
        .find(|verdict| !verdict.status.is_success() && !verdict.status.is_skip());
    match rejection {
        Some(verdict) => {
            let more = match verdict.plugin {
                names::VOLUME_BINDING => volumes::unbound(&trace.cycle_state),
                _ => String::new(),
            };
            format!(
                "Filter did not run: {} had answered at PreFilter for all nodes: {}.{more}",
                verdict.plugin,
                verdict.status.message()
            )
        }
        None => String::from("Filter has not run yet."),
    }
}

pub(super) fn excluded(trace: &CycleTrace, node: &str) -> String {
    let by = trace.pre_filter.iter().flatten().find_map(|verdict| {
        let names = verdict.node_names.as_ref()?;
        (!names.contains(node)).then_some((verdict.plugin, names.len()))
    });
    match by {
        Some((plugin, n)) => {
            format!("Left out: {plugin} had narrowed the search to {} at PreFilter.", counted(n, "node"))
        }
        None => String::from("Left out by PreFilter."),
    }
}

pub(super) fn not_evaluated(filter: &FilterTrace) -> String {
    match &filter.nominated_node {
        Some(node) => format!("Not looked at: {node}, the node that the pod is nominated to, passed."),
        None => format!(
            "Not looked at: the search ends at {} (percentageOfNodesToScore).",
            counted(filter.n_to_find, "feasible node")
        ),
    }
}

/// Why a Filter plugin answers Skip at PreFilter.
pub fn skip_reason(plugin: &str) -> &'static str {
    match plugin {
        names::NODE_AFFINITY => "the pod has no node affinity and the profile adds none",
        names::NODE_PORTS => "the pod asks for no port of the host",
        "InterPodAffinity" => "neither the pod nor any pod that runs here has (anti-)affinity to the other",
        "PodTopologySpread" => "the pod has no constraint that forbids a node",
        "VolumeBinding" | "VolumeZone" | "VolumeRestrictions" | "NodeVolumeLimits" => {
            "the pod has no volume that it looks at"
        }
        "DynamicResources" => "the pod has no resource claims",
        _ => "it had nothing to do for this pod",
    }
}
