//! From the scheduler to the explanation.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::codes::{EXTENDER, code_of};
use super::pair::{against, choice};
use super::{
    AttemptReport, CandidateReport, ExplainError, Explanation, NoHelp, NodeReport, OneChangeReport,
    PodStatus, PreFilterReport, PreemptionReport, QueueReport, ReasonCount, RefusalReport, RefuserReport,
    SCHEMA, Shortfall, VictimReport,
};
use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::explain::cell::of_answer;
use crate::explain::{
    PodPlace, filter, gang, gang_headline, listed, names, one_change_away, place_of, pod_story, preemption,
    refusal_counts, requests, verdict_so_far,
};
use crate::framework::{Code, NodeInfo, PodInfo, Status};
use crate::scheduler::Scheduler;
use crate::scheduler::reading::{NodeReading, PodReading, Refusal};
use crate::scheduler::trace::{CycleOutcome, CycleTrace, NodeVerdict};
use crate::scheduler::view::View;

/// How many nodes are named for each reason.
const N_EXAMPLES: usize = 5;
/// For how many nodes that are one change away the rule is told in sentences.
const N_WHY: usize = 12;

/// Explains a pod that the scheduler knows; `node` is one that it is compared with besides.
///
/// The scheduler stays as it is. Extenders are not asked.
///
/// # Errors
/// If there is no such pod, or no such node.
pub fn explain(
    scheduler: &Scheduler,
    pod: &NamespacedName,
    node: Option<&Str>,
) -> Result<Explanation, ExplainError> {
    let object = scheduler.objects().pods.get(pod).ok_or_else(|| ExplainError::NoPod(pod.to_string()))?;
    if let Some(node) = node.filter(|node| !scheduler.caches_node(node)) {
        return Err(ExplainError::NoNode(node.to_string()));
    }
    let view = scheduler.view();
    let Some(reading) = scheduler.read_to_the_end(object) else {
        return Ok(ignored(object, scheduler));
    };
    let pair = node.and_then(|node| scheduler.read(object, Some(node)));
    let place = place_of(&view, pod);
    let status = status(place.as_ref(), &reading);
    let story = pod_story(&view, pod).filter(|_| reading.assigned_to.is_none());
    let mut notes = Vec::new();
    if let Some(on) = &reading.assigned_to {
        notes.push(format!(
            "The pod is on {on}. All this is told as if it were not there and had to find a place now; what decided \
             when it was placed may have been something else."
        ));
    }
    if scheduler.has_extenders() {
        notes.push(
            "The configuration has extenders. They were not asked; they may refuse nodes or add points."
                .into(),
        );
    }
    Ok(Explanation {
        schema: SCHEMA,
        pod: pod.to_string(),
        profile: object.spec.scheduler_name.to_string(),
        priority: object.priority(),
        requests: requests(&reading.trace.pod_info),
        status,
        headline: headline(object, status, &reading),
        next: story.map(|story| story.next).unwrap_or_default(),
        is_hypothetical: false,
        assigned_to: reading.assigned_to.as_ref().map(ToString::to_string),
        queue: place.as_ref().and_then(|place| queue(&view, place)),
        attempt: Some(attempt(&reading)),
        reasons: reasons(&reading.trace),
        pre_filter: pre_filter(&reading),
        refusers: refusal_counts(&reading)
            .into_iter()
            .map(|count| RefuserReport {
                plugin: count.plugin,
                nodes: count.n,
                alone: count.n_alone,
                reason: count.reason,
            })
            .collect(),
        one_change_away: changes(&reading),
        choice: choice(&reading.trace),
        against: pair.as_ref().and_then(|pair| against(&reading, pair)),
        preemption: preemption_report(&reading.trace, scheduler),
        gang: gang(&view, object).map(|gang| gang_headline(&gang)),
        nodes: nodes(&reading),
        notes,
    })
}

/// A pod that no profile is responsible for.
fn ignored(pod: &Arc<Pod>, scheduler: &Scheduler) -> Explanation {
    let known: Vec<String> = scheduler.profiles().map(|profile| profile.profile_name.to_string()).collect();
    let name = &pod.spec.scheduler_name;
    Explanation {
        schema: SCHEMA,
        pod: pod.key().to_string(),
        profile: name.to_string(),
        priority: pod.priority(),
        requests: requests(&PodInfo::new(Arc::clone(pod))),
        status: PodStatus::Ignored,
        headline: format!(
            "Pod {} is for another scheduler: it asks for {name:?}; the profiles here are {}.",
            pod.key(),
            listed(&known, 6)
        ),
        next: String::new(),
        is_hypothetical: false,
        assigned_to: pod.is_assigned().then(|| pod.spec.node_name.to_string()),
        queue: None,
        attempt: None,
        reasons: Vec::new(),
        pre_filter: Vec::new(),
        refusers: Vec::new(),
        one_change_away: Vec::new(),
        choice: None,
        against: None,
        preemption: None,
        gang: None,
        nodes: Vec::new(),
        notes: Vec::new(),
    }
}

fn status(place: Option<&PodPlace<'_>>, reading: &PodReading) -> PodStatus {
    match place {
        Some(PodPlace::Waiting(_)) => PodStatus::WaitingAtPermit,
        Some(PodPlace::Assigned(..) | PodPlace::Binding(_)) => PodStatus::Placed,
        Some(PodPlace::Unschedulable(row)) if row.gated_by.is_some() => PodStatus::Gated,
        _ if reading.assigned_to.is_some() => PodStatus::Placed,
        _ => match &reading.trace.outcome {
            CycleOutcome::Tried { .. } => PodStatus::WouldBePlaced,
            CycleOutcome::Error { .. } => PodStatus::Error,
            _ => PodStatus::Pending,
        },
    }
}

fn headline(pod: &Pod, status: PodStatus, reading: &PodReading) -> String {
    let key = pod.key();
    let found = match &reading.trace.outcome {
        CycleOutcome::Tried { node } => match &reading.assigned_to {
            Some(on) if on == node => format!("it would be placed on {node} again now"),
            _ => format!("it would be placed on {node} now"),
        },
        CycleOutcome::Error { message } | CycleOutcome::Unschedulable { message, .. } => message.clone(),
        _ => verdict_so_far(&reading.trace),
    };
    match status {
        PodStatus::Placed => {
            let on = reading.assigned_to.as_deref().unwrap_or_default();
            let on = if on.is_empty() { String::from("has its place") } else { format!("is on {on}") };
            format!("Pod {key} {on}; {found}{}", end(&found))
        }
        PodStatus::WaitingAtPermit => format!("Pod {key} has a node and is held at Permit."),
        PodStatus::Gated => {
            let gates: Vec<&str> = pod.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
            let by = if gates.is_empty() { String::new() } else { format!(" by {}", listed(&gates, 4)) };
            format!("Pod {key} is gated{by} and not tried. If it were, {found}{}", end(&found))
        }
        PodStatus::WouldBePlaced => match &reading.trace.outcome {
            CycleOutcome::Tried { node } => format!("Pod {key} would be placed on {node}."),
            _ => format!("Pod {key} would be placed."),
        },
        PodStatus::Pending => format!("Pod {key} is pending: {found}{}", end(&found)),
        PodStatus::Error => format!("An attempt for pod {key} ends with an error: {found}{}", end(&found)),
        PodStatus::Ignored => format!("Pod {key} is for another scheduler."),
    }
}

fn end(sentence: &str) -> &'static str {
    if sentence.ends_with(['.', ':']) { "" } else { "." }
}

fn queue(view: &View, place: &PodPlace<'_>) -> Option<QueueReport> {
    let name = match place {
        PodPlace::Active(..) => "activeQ",
        PodPlace::Backoff(_) => "backoffQ",
        PodPlace::Unschedulable(_) => "unschedulablePods",
        PodPlace::InCycle(_) | PodPlace::InGroup(_) => "inFlight",
        PodPlace::Waiting(_) => "waitingAtPermit",
        PodPlace::Binding(_) => "binding",
        PodPlace::Assigned(..) => return None,
    };
    let seconds = |since| view.now.saturating_since(since).as_secs_f64();
    let empty = QueueReport {
        place: name,
        attempts: 0,
        seconds: 0.0,
        backoff_seconds_left: None,
        gated_by: None,
        rejected_by: Vec::new(),
        pending_plugins: Vec::new(),
        nominated_node: None,
        last_message: None,
    };
    let texts = |plugins: &[Str]| {
        let named = plugins.iter().filter(|plugin| !plugin.is_empty());
        named.map(ToString::to_string).collect()
    };
    Some(match (place.queue_row(), place) {
        (Some(row), _) => QueueReport {
            attempts: row.attempts,
            seconds: seconds(row.since),
            backoff_seconds_left: row
                .backoff_expiration
                .map(|expiration| expiration.saturating_since(view.now).as_secs_f64()),
            gated_by: row.gated_by.as_ref().map(ToString::to_string),
            rejected_by: texts(&row.unschedulable_plugins),
            pending_plugins: texts(&row.pending_plugins),
            nominated_node: row.nominated_node.as_ref().map(ToString::to_string),
            last_message: row.message.as_ref().map(ToString::to_string),
            ..empty
        },
        (None, PodPlace::Waiting(row)) => QueueReport {
            seconds: seconds(row.since),
            pending_plugins: row.plugins.iter().map(|(plugin, _)| plugin.to_string()).collect(),
            ..empty
        },
        (None, PodPlace::Binding(row)) => QueueReport { seconds: seconds(row.since), ..empty },
        (None, _) => empty,
    })
}

fn attempt(reading: &PodReading) -> AttemptReport {
    let (outcome, message) = match &reading.trace.outcome {
        CycleOutcome::Unschedulable { message, .. } => ("unschedulable", message.clone()),
        CycleOutcome::Error { message } => ("error", message.clone()),
        CycleOutcome::Skipped { reason } => ("error", reason.clone()),
        _ => ("fits", String::new()),
    };
    let feasible = reading.trace.filter.as_ref().map_or(0, |filter| filter.n_feasible());
    AttemptReport { outcome, message, nodes: reading.trace.nodes().len(), feasible }
}

/// The reasons as `FitError.Error` counts them, by plugin and words, the most frequent first.
pub fn reasons(trace: &CycleTrace) -> Vec<ReasonCount> {
    let mut counts: Vec<ReasonCount> = Vec::new();
    let mut add = |plugin: &str, status: &Status, reason: &str, nodes: &mut dyn Iterator<Item = &Str>| {
        let known = counts.iter().position(|count| count.plugin == plugin && count.reason == reason);
        let at = known.unwrap_or(counts.len());
        if known.is_none() {
            counts.push(ReasonCount {
                code: code_of(plugin, reason),
                plugin: plugin.to_owned(),
                reason: reason.to_owned(),
                nodes: 0,
                preemption_may_help: status.code() == Code::Unschedulable,
                examples: Vec::new(),
            });
        }
        let Some(count) = counts.get_mut(at) else { return };
        for node in nodes {
            count.nodes += 1;
            if count.examples.len() < N_EXAMPLES {
                count.examples.push(node.to_string());
            }
        }
    };
    let all = || trace.nodes().iter().map(|node| node.name());
    let Some(found) = &trace.filter else {
        let refused = trace.pre_filter.iter().flatten().find(|verdict| verdict.status.is_rejected());
        if let Some(verdict) = refused {
            add(verdict.plugin, &verdict.status, &verdict.status.message(), &mut all());
        }
        return counts;
    };
    let excluded = excluded_by(trace);
    for (node, verdict) in all().zip(&found.verdicts) {
        match verdict {
            NodeVerdict::Rejected(status) if status.reasons().is_empty() => {
                add(status.plugin(), status, "", &mut std::iter::once(node));
            }
            NodeVerdict::Rejected(status) => {
                for reason in status.reasons() {
                    add(status.plugin(), status, reason, &mut std::iter::once(node));
                }
            }
            NodeVerdict::Excluded => {
                let (plugin, reason) = &excluded;
                let status = Status::bare(Code::UnschedulableAndUnresolvable);
                add(plugin, &status, reason, &mut std::iter::once(node));
            }
            NodeVerdict::Feasible | NodeVerdict::NotEvaluated => {}
        }
    }
    counts.sort_by(|a, b| {
        b.nodes.cmp(&a.nodes).then_with(|| (&a.plugin, &a.reason).cmp(&(&b.plugin, &b.reason)))
    });
    counts
}

/// The plugins that leave nodes out at PreFilter, and the words for it.
fn excluded_by(trace: &CycleTrace) -> (String, String) {
    let narrowing = trace.pre_filter.iter().flatten().filter(|verdict| verdict.node_names.is_some());
    let plugins: Vec<&str> = narrowing.map(|verdict| verdict.plugin).collect();
    let reason = format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "));
    (plugins.first().copied().unwrap_or_default().to_owned(), reason)
}

fn pre_filter(reading: &PodReading) -> Vec<PreFilterReport> {
    let told = reading.pre_filter.iter().filter(|answer| {
        (!answer.status.is_success() && !answer.status.is_skip()) || answer.node_names.is_some()
    });
    told.map(|answer| {
        let message = answer.status.message();
        PreFilterReport {
            plugin: answer.plugin,
            code: answer.status.code().as_str(),
            reason_code: (!answer.status.is_success()).then(|| code_of(answer.plugin, &message)),
            message,
            nodes: answer.node_names.iter().flatten().map(ToString::to_string).collect(),
        }
    })
    .collect()
}

/// A plugin's no, without sentences.
pub(super) fn refusal(refusal: &Refusal) -> RefusalReport {
    refused(refusal.plugin, &refusal.status, refusal.is_for_nominated)
}

fn refused(plugin: &str, status: &Status, is_for_nominated: bool) -> RefusalReport {
    let plugin = if plugin.is_empty() { EXTENDER } else { plugin };
    RefusalReport {
        plugin: plugin.to_owned(),
        status: status.code().as_str(),
        codes: status.reasons().iter().map(|reason| code_of(plugin, reason)).collect(),
        reasons: status.reasons().to_vec(),
        why: String::new(),
        arithmetic: Vec::new(),
        is_for_nominated,
    }
}

/// The same with what the rule finds.
pub(super) fn refusal_with_why(trace: &CycleTrace, node: &NodeInfo, by: &Refusal) -> RefusalReport {
    let found = of_answer(trace, node, by.plugin, Some(&by.status));
    RefusalReport { why: found.text(), arithmetic: found.arithmetic, ..refusal(by) }
}

fn changes(reading: &PodReading) -> Vec<OneChangeReport> {
    let by_node: BTreeMap<&Str, &NodeReading> = reading.nodes.iter().map(|node| (&node.node, node)).collect();
    let away = one_change_away(reading).into_iter().enumerate();
    away.map(|(i, change)| {
        let info = reading.trace.snapshot.get(&change.node);
        let only = by_node.get(&change.node).and_then(|node| node.refusals.first());
        let why = match (info, only) {
            (Some(info), Some(only)) if i < N_WHY => {
                of_answer(&reading.trace, info, only.plugin, Some(&only.status)).text()
            }
            _ => String::new(),
        };
        let reason = only.and_then(|only| only.status.reasons().first());
        OneChangeReport {
            node: change.node.to_string(),
            plugin: change.plugin,
            code: code_of(change.plugin, reason.map_or("", String::as_str)),
            what: change.what,
            why,
            shortfalls: match info {
                Some(info) if change.plugin == names::FIT => shortfalls(&reading.trace.pod_info, info),
                _ => Vec::new(),
            },
        }
    })
    .collect()
}

/// What a node has too little of.
fn shortfalls(pod: &PodInfo, node: &NodeInfo) -> Vec<Shortfall> {
    let demands = filter::demands(pod, node);
    let short = demands.into_iter().filter_map(|demand| {
        let free = demand.allocatable.saturating_sub(demand.used);
        let short = demand.requested.saturating_sub(free);
        (short > 0).then_some(Shortfall {
            resource: demand.resource,
            requested: demand.requested,
            free,
            allocatable: demand.allocatable,
            short,
        })
    });
    short.collect()
}

fn nodes(reading: &PodReading) -> Vec<NodeReport> {
    let trace = &reading.trace;
    let totals: BTreeMap<&Str, i64> = trace
        .score
        .iter()
        .flat_map(|score| score.nodes.iter().zip(score.scores.totals.iter().copied()))
        .collect();
    let excluded = excluded_by(trace);
    let rejected_all = trace.pre_filter.iter().flatten().find(|verdict| verdict.status.is_rejected());
    let reports = reading.nodes.iter().enumerate().map(|(i, node)| {
        let verdict = trace.filter.as_ref().and_then(|filter| filter.verdicts.get(i));
        let (verdict, refused_by) = match (verdict, rejected_all) {
            (Some(NodeVerdict::Feasible), _) => ("feasible", None),
            (Some(NodeVerdict::Rejected(status)), _) => {
                let first = node.refusals.iter().find(|refusal| refusal.plugin == status.plugin());
                let is_for_nominated = first.is_some_and(|first| first.is_for_nominated);
                ("refused", Some(refused(status.plugin(), status, is_for_nominated)))
            }
            (Some(NodeVerdict::Excluded), _) => {
                let (plugin, reason) = &excluded;
                ("excluded", Some(refused(plugin, &Status::unresolvable(reason.clone()), false)))
            }
            (Some(NodeVerdict::NotEvaluated), _) => ("notEvaluated", None),
            (None, Some(verdict)) => ("refused", Some(refused(verdict.plugin, &verdict.status, false))),
            (None, None) => ("notEvaluated", None),
        };
        NodeReport {
            node: node.node.to_string(),
            verdict,
            total: totals.get(&node.node).copied(),
            refused_by,
            all_refusals: node.refusals.iter().map(refusal).collect(),
        }
    });
    reports.collect()
}

fn preemption_report(trace: &CycleTrace, scheduler: &Scheduler) -> Option<PreemptionReport> {
    if !matches!(trace.outcome, CycleOutcome::Unschedulable { .. }) {
        return None;
    }
    let empty = |outcome, sentence: String, message: String| PreemptionReport {
        outcome,
        sentence,
        message,
        node: None,
        victims: Vec::new(),
        budget_violations: 0,
        criterion: None,
        candidates: Vec::new(),
        no_help: Vec::new(),
    };
    let is_in_profile = scheduler
        .profiles()
        .filter(|profile| profile.profile_name == trace.profile)
        .flat_map(|profile| &profile.plugins.post_filter)
        .any(|plugin| plugin.name() == names::DEFAULT_PREEMPTION);
    if !is_in_profile {
        let sentence = "The profile has no preemption (DefaultPreemption is not at PostFilter).".to_owned();
        return Some(empty("notInProfile", sentence, String::new()));
    }
    let post_filter = trace.post_filter.as_ref();
    let answer = post_filter.and_then(|post_filter| {
        post_filter.verdicts.iter().find(|verdict| verdict.plugin == names::DEFAULT_PREEMPTION)
    });
    let Some(answer) = answer else {
        let sentence =
            "Preemption was not tried: another PostFilter plugin ended the attempt before.".to_owned();
        let message =
            post_filter.iter().flat_map(|post_filter| &post_filter.verdicts).map(|v| v.status.message());
        return Some(empty("notEligible", sentence, message.collect::<Vec<_>>().join(" ")));
    };
    let message = answer.status.message();
    let Some(evidence) = post_filter.and_then(|post_filter| post_filter.evidence.as_ref()) else {
        let outcome = if answer.status.is_error() { "failed" } else { "notEligible" };
        return Some(empty(outcome, format!("Preemption does not help: {message}"), message));
    };
    let selected =
        evidence.candidates.iter().find(|candidate| Some(&candidate.node_name) == evidence.selected.as_ref());
    let mut no_help: Vec<NoHelp> = Vec::new();
    let mut count = |reason: &str, n: usize| match no_help.iter_mut().find(|known| known.reason == reason) {
        Some(known) => known.nodes += n,
        None => no_help.push(NoHelp { reason: reason.to_owned(), nodes: n }),
    };
    for (_, reason) in &evidence.rejected {
        count(reason, 1);
    }
    let n_tried = evidence.rejected.len() + evidence.candidates.len();
    if evidence.selected.is_none() && trace.nodes().len() > n_tried {
        count("Preemption is not helpful for scheduling", trace.nodes().len() - n_tried);
    }
    no_help.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.reason.cmp(&b.reason)));
    Some(PreemptionReport {
        outcome: if evidence.selected.is_some() { "wouldPreempt" } else { "noCandidates" },
        sentence: sentence_case(&preemption(evidence)),
        message,
        node: evidence.selected.as_ref().map(ToString::to_string),
        victims: selected
            .iter()
            .flat_map(|candidate| &candidate.victims.pods)
            .map(|info| VictimReport { pod: info.pod.key().to_string(), priority: info.pod.priority() })
            .collect(),
        budget_violations: selected.map_or(0, |candidate| candidate.victims.num_pdb_violations),
        criterion: evidence.criterion.map(|criterion| criterion.as_str()),
        candidates: evidence
            .candidates
            .iter()
            .map(|candidate| CandidateReport {
                node: candidate.node_name.to_string(),
                victims: candidate.victims.pods.len(),
                budget_violations: candidate.victims.num_pdb_violations,
            })
            .collect(),
        no_help,
    })
}

fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}{}", chars.as_str(), end(text))
}
