//! Pod groups in a run: how their cycle goes on, and its lines.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::objects::Condition;
use crate::api::{NamespacedName, ObjectStore, Time};
use crate::framework::ClusterEvent;
use crate::scheduler::input::{Command, Input};
use crate::scheduler::pod_group_trace::{GroupTrace, MemberTrial, RunTrace};
use crate::scheduler::turns::Strand;
use crate::scheduler::{GroupDeed, QueueMove, Scheduler};

use super::lines::{Lines, preemption};
use super::stage::Stage;

/// Whether it is a binding cycle of a member that begins.
pub(super) fn is_of_member(scheduler: &Scheduler, strand: &Strand) -> bool {
    let Strand::Binding(uid) = strand else { return false };
    scheduler.begins_binding_of_member(uid)
}

/// The clock moves before each member that goes back to the queue.
pub(super) fn before_deed(stage: &mut Stage) {
    let returns = match stage.scheduler.next_group_deed() {
        Some(GroupDeed::Return) => true,
        Some(GroupDeed::Bind) => stage.returns_member(&Input::Command(Command::ScheduleOne)),
        Some(GroupDeed::Drop) | None => false,
    };
    if returns {
        stage.nudge();
    }
}

/// Whether a member of a group has come back to the queue.
pub(super) fn is_return_of_member(entry: &QueueMove, objects: &ObjectStore) -> bool {
    let QueueMove::Entered { pod, event, .. } = entry else { return false };
    let is_member = || objects.pods.get(pod).is_some_and(|pod| pod.pod_group_name().is_some());
    *event == ClusterEvent::SCHEDULE_ATTEMPT_FAILURE && is_member()
}

/// The line of the cycle.
pub(super) fn cycle_line(trace: &GroupTrace) -> String {
    let popped = trace.members.iter().find(|member| member.is_popped);
    let (pod, attempt) =
        popped.map_or_else(Default::default, |popped| (popped.pod.to_string(), popped.attempt));
    format!("cycle {pod} attempt={attempt} from={}", trace.popped_from.as_str())
}

/// What happened in the cycle.
pub(super) fn evidence(trace: &GroupTrace, now: Time, lines: &mut Lines) {
    for member in trace.members.iter().filter(|member| !member.is_popped) {
        lines.add(format!("also {} attempt={}", member.pod, member.attempt));
    }
    for run in &trace.runs {
        placements(trace, run, lines);
        for member in run.placements.iter().flat_map(|placement| &placement.members) {
            trial(member, now, lines);
        }
    }
}

fn placements(trace: &GroupTrace, run: &RunTrace, lines: &mut Lines) {
    let names: Vec<&str> = run.placement_names.iter().map(AsRef::as_ref).collect();
    if !names.is_empty() && names != [""] {
        lines.add(format!("placements {}: {}", trace.group, names.join(",")));
    }
    if let Some((names, outcome)) = &run.scores {
        let mut totals: Vec<_> = names.iter().zip(&outcome.totals).collect();
        totals.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then(a_name.cmp(b_name)));
        let totals: Vec<String> = totals.iter().map(|(name, total)| format!("{name}={total}")).collect();
        lines.add(format!("placement {}: {}", trace.group, totals.join(" ")));
    }
}

fn trial(member: &MemberTrial, now: Time, lines: &mut Lines) {
    if let Some(selection) = &member.selection
        && let Some(total) = selection.total
    {
        lines.add(format!(
            "choose {}: score {total}, best of {} feasible: {}",
            member.pod,
            member.n_feasible,
            selection.ties.join(",")
        ));
    }
    let Some(trace) = &member.trace else { return };
    if let Some(hint) = trace.filter.as_ref().and_then(|filter| filter.node_hint.as_ref()) {
        lines.add(format!("batch-hint {}: {hint}", member.pod));
    }
    preemption(trace, now, lines);
}

/// A status patch, only the fields sent.
pub(super) fn patch(group: &NamespacedName, old: Option<&Condition>, new: &Condition) -> String {
    let mut fields: BTreeMap<&str, Value> = BTreeMap::new();
    fields.insert("type", new.type_.as_str().into());
    let texts = [
        ("message", old.map(|old| &old.message), &new.message),
        ("reason", old.map(|old| &old.reason), &new.reason),
        ("status", old.map(|old| &old.status), &new.status),
    ];
    for (name, old, new) in texts {
        if old != Some(new) {
            fields.insert(name, new.as_str().into());
        }
    }
    let generation = old.map_or(0, |old| old.observed_generation);
    if generation != new.observed_generation {
        fields.insert("observedGeneration", new.observed_generation.into());
    }
    let status = serde_json::json!({ "conditions": [fields] });
    format!("patch podgroup {group} {status}")
}
