//! Whom a node, or a plugin, refuses now: what the last attempts of pending pods said.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{NamespacedName, Str};
use crate::scheduler::pod_log::{NodeVerdicts, VerdictClass};
use crate::scheduler::view::{QueueRow, View};
use crate::scheduler::{HintResult, QueueMove};

use super::wakers::by_resource;

/// How many pending pods are looked at.
const N_PODS: usize = 2_000;

/// Whom a node refuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRefusals {
    /// By plugin and reason the pods, the most frequent first.
    pub by_reason: Vec<((Str, Str), Vec<NamespacedName>)>,
    /// Pending pods that the node would have taken.
    pub n_fit: usize,
    /// Pending pods of which it is not known: not tried yet, turned down before Filter, or the node was not looked at.
    pub n_unknown: usize,
    /// Pending pods that were not looked at, since there are very many.
    pub n_left_out: usize,
}

fn pending(view: &View) -> impl Iterator<Item = &QueueRow> {
    view.unschedulable_pods.iter().chain(&view.backoff_q).chain(&view.active_q)
}

fn last_verdicts<'v>(view: &'v View, row: &QueueRow) -> Option<&'v NodeVerdicts> {
    view.pod_logs.get(&row.pod.key())?.attempts.back()?.verdicts.as_ref()
}

/// Whom the node has refused in the last attempts of the pods that are pending.
pub fn node_refusals(view: &View, node: &str) -> NodeRefusals {
    let mut found = NodeRefusals::default();
    let mut by_reason: BTreeMap<(Str, Str), Vec<NamespacedName>> = BTreeMap::new();
    // Attempts mostly share their list of nodes: the node is looked for once in each.
    let mut place: Option<(Arc<[Str]>, Option<usize>)> = None;
    for row in pending(view).take(N_PODS) {
        let Some(verdicts) = last_verdicts(view, row) else {
            found.n_unknown += 1;
            continue;
        };
        let at = match &place {
            Some((nodes, at)) if Arc::ptr_eq(nodes, &verdicts.nodes) => *at,
            _ => {
                let at = verdicts.nodes.iter().position(|name| **name == *node);
                place = Some((Arc::clone(&verdicts.nodes), at));
                at
            }
        };
        match at.and_then(|at| verdicts.at(at)) {
            Some(VerdictClass::Feasible) => found.n_fit += 1,
            Some(VerdictClass::Rejected { plugin, reason }) => {
                by_reason.entry((plugin.clone(), reason.clone())).or_default().push(row.pod.key());
            }
            Some(VerdictClass::Excluded) => {
                by_reason.entry(("PreFilter".into(), "left out".into())).or_default().push(row.pod.key());
            }
            Some(VerdictClass::NotEvaluated | VerdictClass::Other) | None => found.n_unknown += 1,
        }
    }
    found.n_left_out = pending(view).count().saturating_sub(N_PODS);
    found.by_reason = by_reason.into_iter().collect();
    found.by_reason.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then_with(|| a.cmp(b)));
    found
}

/// What a plugin holds up now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginNow {
    /// The pods that it turned down in their last attempt or holds back; with it alone first.
    pub pods: Vec<(NamespacedName, bool)>,
    /// How many nodes it refused in the last attempts of pending pods, by reason; a node counts once for each pod.
    pub nodes: Vec<(Str, usize)>,
    /// Profiles in which it listens, with the events.
    pub events: Vec<(Str, Vec<String>)>,
    /// Its last answers to events, the newest first: event, object or pod, answer.
    pub answers: Vec<(crate::api::Time, NamespacedName, String)>,
    /// Pending pods that were not looked at, since there are very many.
    pub n_left_out: usize,
}

/// How many answers are kept to be shown.
const N_ANSWERS: usize = 8;

/// What a plugin holds up now, over all pending pods.
pub fn plugin_now(view: &View, plugin: &str) -> PluginNow {
    let mut now = PluginNow::default();
    let mut nodes: BTreeMap<Str, usize> = BTreeMap::new();
    let is_it = |name: &Str| **name == *plugin;
    for row in pending(view).take(N_PODS) {
        let has = row.unschedulable_plugins.iter().chain(&row.pending_plugins).any(is_it);
        let gates = row.gated_by.as_ref().is_some_and(is_it);
        if has || gates {
            let is_alone = row.unschedulable_plugins.len() + row.pending_plugins.len() <= 1;
            now.pods.push((row.pod.key(), is_alone));
        }
        if let Some(verdicts) = last_verdicts(view, row).filter(|_| has) {
            for (class, n) in verdicts.counts() {
                if let VerdictClass::Rejected { plugin, reason } = class
                    && is_it(plugin)
                {
                    *nodes.entry(reason.clone()).or_default() += n;
                }
            }
        }
    }
    now.n_left_out = pending(view).count().saturating_sub(N_PODS);
    now.pods.sort_by_key(|(_, is_alone)| !is_alone);
    now.nodes = nodes.into_iter().collect();
    now.nodes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    now.events = view
        .listeners
        .iter()
        .filter_map(|(profile, plugins)| {
            let events = plugins.get(plugin)?;
            Some((profile.clone(), by_resource(events)))
        })
        .collect();
    now.answers = view
        .moves
        .iter()
        .rev()
        .filter_map(|line| {
            let QueueMove::Judged { event, object, answers, pod, .. } = &line.entry else { return None };
            let answer = answers.iter().find(|answer| answer.plugin == plugin)?;
            let said = match &answer.result {
                HintResult::Skip => "Skip".to_owned(),
                HintResult::Queue => "Queue".to_owned(),
                HintResult::Error(error) => format!("Queue ({error})"),
            };
            let object = object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
            Some((line.at, pod.clone(), format!("{}{object}: {said}", event.label())))
        })
        .take(N_ANSWERS)
        .collect();
    now
}
