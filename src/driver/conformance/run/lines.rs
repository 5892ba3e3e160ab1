//! What happened, as lines.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Object, Str, Time};
use crate::framework::{ApiWrite, WriteVerb};
use crate::plugins::default_preemption::best_candidates;
use crate::plugins::volume_binding::SELECTED_NODE;
use crate::scheduler::trace::CycleTrace;
use crate::scheduler::view::ObjectEvent;
use crate::scheduler::{HintResult, QueueMove};

use super::api::ConditionPatch;

/// Lines that have not been printed yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Vec<String>);

impl Lines {
    pub fn add(&mut self, line: String) {
        self.0.push(line);
    }

    /// The lines since the last call, in byte order; but the moves of one pod keep theirs, and so do the calls of test
    /// plugins for it.
    pub fn take(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.0);
        lines.sort_by(|a, b| key(a).cmp(key(b)));
        lines
    }
}

fn key(line: &str) -> &str {
    if !line.starts_with("move ") && !line.starts_with("plugin ") {
        return line;
    }
    let second_space = line.match_indices(' ').nth(1);
    second_space.and_then(|(at, _)| line.get(..at)).unwrap_or(line)
}

/// A move between queues, or how an event was judged; `None` for a judgement without anybody who judges.
pub(super) fn queue_move(entry: &QueueMove) -> String {
    match entry {
        QueueMove::Entered { pod, queue, event } => format!("move {pod} to {queue} by {}", event.label()),
        QueueMove::Judged { pod, event, in_flight, answers, strategy, .. } => {
            let what = if *in_flight { "hint-in-flight" } else { "hint" };
            let answers: Vec<String> = answers
                .iter()
                .map(|answer| {
                    let result = match answer.result {
                        HintResult::Skip => "Skip",
                        HintResult::Queue => "Queue",
                        HintResult::Error(_) => "Queue(error)",
                    };
                    format!("{}={result}", answer.plugin)
                })
                .collect();
            let answers =
                if answers.is_empty() { "(rejected by no plugin)".to_owned() } else { answers.join(" ") };
            format!("{what} {} {pod}: {answers} => {strategy}", event.label())
        }
    }
}

pub(super) fn event(event: &ObjectEvent) -> String {
    format!("event {} {} {}: {}", event.type_, event.reason, event.regarding, event.note)
}

/// A status patch, only the fields sent.
pub(super) fn patch(
    pod: &NamespacedName,
    condition: Option<&ConditionPatch>,
    nominated_node_name: Option<&Str>,
) -> String {
    let mut status: BTreeMap<&str, Value> = BTreeMap::new();
    if let Some(condition) = condition {
        let mut fields: BTreeMap<&str, Value> = BTreeMap::new();
        let texts = [
            ("message", &condition.message),
            ("reason", &condition.reason),
            ("status", &condition.status),
            ("type", &Some(condition.type_.clone())),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name, text_or_null(text));
            }
        }
        if let Some(generation) = condition.observed_generation {
            fields
                .insert("observedGeneration", if generation == 0 { Value::Null } else { generation.into() });
        }
        status.insert("conditions", serde_json::json!([fields]));
    }
    if let Some(node) = nominated_node_name {
        status.insert("nominatedNodeName", text_or_null(node));
    }
    format!("patch {pod} {}", serde_json::to_string(&status).unwrap_or_default())
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

/// A write of a plugin: updates are told, and patches of pods; `old` is the object before it.
pub(super) fn write(write: &ApiWrite, old: Option<&Object>) -> Option<String> {
    let (kind, key) = (write.object.kind(), write.object.key());
    let sub = match write.verb {
        WriteVerb::Update => "",
        WriteVerb::UpdateStatus => "/status",
        WriteVerb::Create | WriteVerb::Delete => return None,
        WriteVerb::PatchStatus => {
            let (Some(Object::Pod(old)), Object::Pod(new)) = (old, &write.object) else { return None };
            return Some(format!("patch {key} {}", device_statuses(old, new)));
        }
    };
    let what = written(&write.object);
    Some(format!("update {}{sub} {key} {what}", kind.resource()).trim_end().to_owned())
}

/// What changes in a pod's status about its devices.
fn device_statuses(old: &Pod, new: &Pod) -> String {
    let mut status: BTreeMap<&str, Value> = BTreeMap::new();
    let (old, new) = (&old.status, &new.status);
    if old.extended_resource_claim_status != new.extended_resource_claim_status {
        status.insert("extendedResourceClaimStatus", in_order(&new.extended_resource_claim_status));
    }
    if old.node_allocatable_resource_claim_statuses != new.node_allocatable_resource_claim_statuses {
        let statuses = &new.node_allocatable_resource_claim_statuses;
        let value = if statuses.is_empty() { Value::Null } else { in_order(statuses) };
        status.insert("nodeAllocatableResourceClaimStatuses", value);
    }
    serde_json::to_string(&status).unwrap_or_default()
}

/// The value as JSON with its keys in byte order.
fn in_order(value: &impl Serialize) -> Value {
    fn sort(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<String, Value> =
                    fields.into_iter().map(|(key, value)| (key, sort(value))).collect();
                Value::Object(fields.into_iter().collect())
            }
            Value::Array(values) => Value::Array(values.into_iter().map(sort).collect()),
            other => other,
        }
    }
    sort(serde_json::to_value(value).unwrap_or_default())
}

/// What a write of an object is about.
fn written(object: &Object) -> String {
    match object {
        Object::PersistentVolumeClaim(claim) => {
            let selected = claim.metadata.annotations.get(SELECTED_NODE).map_or("", AsRef::as_ref);
            format!("selected-node={selected} volume={}", claim.spec.volume_name)
        }
        Object::PersistentVolume(volume) => {
            let claim = volume.spec.claim_ref.as_ref();
            claim.map_or_else(String::new, |claim| format!("claim={}", claim.key()))
        }
        Object::ResourceClaim(claim) => {
            let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
            let mut devices: Vec<String> = results
                .map(|result| format!("{}/{}/{}", result.driver, result.pool, result.device))
                .collect();
            devices.sort();
            let mut users: Vec<&str> =
                claim.status.reserved_for.iter().map(|user| user.name.as_ref()).collect();
            users.sort_unstable();
            format!("devices={} reservedFor={}", devices.join(","), users.join(","))
        }
        _ => String::new(),
    }
}

/// What an attempt chose, and from what.
pub(super) fn evidence(trace: &CycleTrace, now: Time, lines: &mut Lines) {
    let pod = trace.pod_key();
    if let Some(hint) = trace.filter.as_ref().and_then(|filter| filter.node_hint.as_ref()) {
        lines.add(format!("batch-hint {pod}: {hint}"));
    }
    if let Some(score) = &trace.score {
        let totals: BTreeMap<&Str, i64> =
            score.nodes.iter().zip(score.scores.totals.iter().copied()).collect();
        let best = score.scores.totals.iter().copied().max().unwrap_or_default();
        let ties: Vec<&str> =
            totals.iter().filter(|(_, total)| **total == best).map(|(node, _)| node.as_ref()).collect();
        let n = score.nodes.len();
        lines.add(format!("choose {pod}: score {best}, best of {n} feasible: {}", ties.join(",")));
    }
    preemption(trace, now, lines);
}

/// Among which candidates DefaultPreemption had to choose.
pub(super) fn preemption(trace: &CycleTrace, now: Time, lines: &mut Lines) {
    let found = trace.post_filter.as_ref().and_then(|post_filter| post_filter.evidence.as_ref());
    if let Some(found) = found.filter(|found| found.candidates.len() > 1) {
        let (best, _) = best_candidates(&found.candidates, now);
        let mut best: Vec<&str> = best
            .into_iter()
            .filter_map(|index| found.candidates.get(index))
            .map(|candidate| candidate.node_name.as_ref())
            .collect();
        best.sort_unstable();
        lines.add(format!("preempt: best of {} candidates: {}", found.candidates.len(), best.join(",")));
    }
}
