//! The page about a pod: what would move it, what became of the events since its last attempt, and its attempts.

use super::object;
use super::page::Page;
use super::reading::open_key;
use crate::api::objects::Pod;
use crate::api::time::human_duration;
use crate::api::{NamespacedName, Time};
use crate::explain::{self, MemberPlace, PodPlace};
use crate::framework::PodInfo;
use crate::scheduler::pod_log::{Attempt, PodLog, VerdictClass};
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::view::{BindingRow, QueueRow, View};
use crate::tui::action::{Action, Context};
use crate::tui::panes::Cx;
use crate::tui::panes::log::outcome_text;
use crate::tui::panes::predicted;
use crate::tui::theme::Role;

/// How many Events are shown.
const N_EVENTS: usize = 8;
/// How many different verdicts of an attempt are shown.
const N_VERDICTS: usize = 6;
/// How many members of a group are shown.
const N_MEMBERS: usize = 20;

pub(super) fn pod(page: &mut Page, key: &NamespacedName, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    page.title(vec![(String::from("pod "), Role::Muted), (key.to_string(), Role::Strong)]);
    let Some(place) = explain::place_of(view, key) else {
        page.text("The scheduler does not know this pod: it is gone, or it has ended.", Role::Muted);
        events(page, key, cx);
        return;
    };
    if let Some(mut story) = explain::pod_story(view, key) {
        if matches!(place, PodPlace::Binding(_)) {
            story.headline = predicted::of_present(story.headline, cx);
            story.next = predicted::of_present(story.next, cx);
        }
        let role = match place {
            PodPlace::Unschedulable(row) if row.gated_by.is_none() => Role::StatusUnschedulable,
            PodPlace::Assigned(..) => Role::StatusSuccess,
            PodPlace::Waiting(_) => Role::StatusWait,
            _ => Role::Text,
        };
        // Of a pod that waits for a change one wants to know first which.
        if matches!(place, PodPlace::Unschedulable(_)) {
            page.text(story.next, Role::Strong);
            page.text(story.headline, role);
        } else {
            page.text(story.headline, role);
            page.text(story.next, Role::Text);
        }
    }
    let cycle = view.cycle.as_ref().filter(|cycle| cycle.pod_key() == *key);
    if let Some(cycle) = cycle {
        let verdict = predicted::of_attempt(explain::verdict_so_far(cycle), cycle.number, cx);
        page.text(format!("Attempt {}: {verdict}.", cycle.number), Role::Text);
    }
    let pod = place.pod();
    if let Some(message) = last_message(&place, pod) {
        page.heading("last answer");
        page.text(message, Role::Text);
    }
    if let PodPlace::Binding(row) = place {
        binding(page, row, view);
    }
    group(page, pod, view);
    if matches!(place, PodPlace::Unschedulable(_) | PodPlace::Backoff(_) | PodPlace::Active(..)) {
        let key = open_key(cx);
        let fix = cx.keymap.key_for(Action::FindFix, &[Context::Details, Context::Global]);
        let fix = fix.map(|fix| format!("; {fix} finds what would let it run")).unwrap_or_default();
        page.text(format!("{key} asks every plugin about every node{fix}."), Role::Muted);
    }
    let log = view.pod_logs.get(key).map(AsRef::as_ref);
    if let Some(log) = log {
        if place.queue_row().is_some() {
            since_last_attempt(page, log, view);
        }
        attempts(page, log, view, cx);
    }
    if let Some(row) = place.queue_row() {
        wakers(page, view, row);
    }
    page.heading("pod");
    let class = match pod.spec.priority_class_name.as_str() {
        "" => String::new(),
        class => format!(" ({class})"),
    };
    page.item("priority", format!("{}{class}", pod.priority()));
    let info = info_of(view, pod);
    let requests = info.map(|info| explain::requests(info).join(", ")).unwrap_or_else(|| declared(pod));
    page.item("requests", if requests.is_empty() { String::from("nothing") } else { requests });
    for rule in explain::rules(pod) {
        page.item(rule.kind, rule.text);
    }
    if pod.spec.preemption_policy.as_deref() == Some("Never") {
        page.item("preemption", "it evicts nobody");
    }
    if let Some(row) = place.queue_row() {
        page.item("attempts", row.attempts.to_string());
        page.item("in the queue", human_duration(view.now.saturating_since(row.since)));
        page.item("nominated to", row.nominated_node.as_deref().unwrap_or_default());
    }
    object::named_by(page, pod, cx);
    page.item("created", pod.metadata.creation_timestamp.map(Time::to_rfc3339).unwrap_or_default());
    if let Some(owner) = pod.metadata.controller() {
        page.item("owner", format!("{} {}", owner.kind, owner.name));
    }
    events(page, key, cx);
}

/// What the last attempt said: from the queue, or from the condition that it left.
fn last_message(place: &PodPlace<'_>, pod: &Pod) -> Option<String> {
    if let Some(message) = place.queue_row().and_then(|row| row.message.as_ref()) {
        return Some(message.to_string());
    }
    let condition = pod.condition("PodScheduled").filter(|condition| condition.status == "False")?;
    (!condition.message.is_empty()).then(|| condition.message.clone())
}

/// The pod with what was computed from it, if an attempt or a node has it.
fn info_of<'v>(view: &'v View, pod: &Pod) -> Option<&'v PodInfo> {
    let in_cycle =
        view.cycle.as_ref().map(|cycle| cycle.pod_info.as_ref()).filter(|info| info.uid() == pod.uid());
    in_cycle.or_else(|| {
        let at = view.nodes.binary_search_by(|node| node.name().cmp(&pod.spec.node_name)).ok()?;
        let node = view.nodes.get(at)?;
        node.pods().iter().map(AsRef::as_ref).find(|info| info.uid() == pod.uid())
    })
}

/// The requests of a pod that nothing has been computed from yet.
fn declared(pod: &Pod) -> String {
    explain::requests(&PodInfo::new(std::sync::Arc::new(pod.clone()))).join(", ")
}

fn ago(view: &View, at: Time) -> String {
    format!("{} ago", human_duration(view.now.saturating_since(at)))
}

/// What the pod waits for in PreBind, and for how long still.
fn binding(page: &mut Page, row: &BindingRow, view: &View) {
    for wait in &row.waits {
        page.heading(format!("{} waits for", wait.plugin));
        for what in &wait.what {
            page.text(what.clone(), Role::Text);
        }
        if let Some(until) = wait.until {
            page.item("gives up in", human_duration(until.saturating_since(view.now)));
        }
        if let Some(next) = wait.next_look {
            page.item("looks in", human_duration(next.saturating_since(view.now)));
        }
    }
}

/// The events that the plugins listen to that turned the pod down or hold it.
fn wakers(page: &mut Page, view: &View, row: &QueueRow) {
    let wakers = explain::wakers(view, row);
    let listening: Vec<_> = wakers.iter().filter(|waker| !waker.plugin.is_empty()).collect();
    if listening.is_empty() || view.listeners.is_empty() {
        return;
    }
    page.heading("events that its plugins listen to");
    for waker in listening {
        let events = if waker.events.is_empty() { String::from("none") } else { waker.events.join(", ") };
        page.item(waker.plugin.to_string(), events);
    }
}

/// What became of the events since the last attempt, the newest first.
fn since_last_attempt(page: &mut Page, log: &PodLog, view: &View) {
    let mut lines = explain::since_last_attempt(log);
    if log.attempts.is_empty() && lines.is_empty() {
        return;
    }
    page.heading(if log.attempts.is_empty() { "since it came" } else { "since its last attempt" });
    if lines.is_empty() {
        page.text("No event that its plugins listen to.", Role::Muted);
    }
    lines.reverse();
    for line in lines {
        let role = if line.has_moved { Role::StatusSuccess } else { Role::Text };
        page.item_in(ago(view, line.at), line.text, role);
        for (plugin, answer, reason) in line.answers {
            let role = if answer == "Skip" { Role::Muted } else { Role::Text };
            page.note(format!("{plugin} {answer}: {reason}"), role);
        }
    }
    if log.n_older_moves > 0 {
        page.text(format!("{} earlier ones are no longer kept.", log.n_older_moves), Role::Muted);
    }
}

/// The attempts, the newest first, each with what differed from the one before it.
fn attempts(page: &mut Page, log: &PodLog, view: &View, cx: &Cx<'_>) {
    if log.attempts.is_empty() && log.under_way.is_none() {
        return;
    }
    page.heading("attempts, and what differed");
    if let Some(wake) = &log.under_way {
        page.item_in("now", format!("brought about by {}", explain::woken_by(wake)), Role::Accent);
    }
    for (index, attempt) in log.attempts.iter().enumerate().rev() {
        let before = index.checked_sub(1).and_then(|before| log.attempts.get(before));
        let story = explain::attempt_story(attempt, before.map(AsRef::as_ref));
        page.title(vec![
            (format!("#{}", attempt.number), Role::Strong),
            (format!(" try {}", attempt.attempt), Role::Text),
            (format!(" {} ", cx.glyphs.dot), Role::Muted),
            (ago(view, attempt.started), Role::Text),
            (format!(" {} ", cx.glyphs.dot), Role::Muted),
            (
                predicted::of_attempt(short_outcome(&attempt.outcome), attempt.number, cx),
                outcome_role(&attempt.outcome),
            ),
        ]);
        page.note(format!("by {}", story.why), Role::Muted);
        histogram(page, attempt);
        for difference in story.differences {
            let role = if difference.ends_with("-> fits") { Role::Winner } else { Role::Accent };
            page.note(format!("{} {difference}", cx.glyphs.next), role);
        }
    }
    if log.n_older_attempts > 0 {
        let n = usize::try_from(log.n_older_attempts).unwrap_or(usize::MAX);
        page.text(format!("{} are no longer kept.", explain::counted(n, "older attempt")), Role::Muted);
    }
}

/// How many nodes have each verdict, as bars.
fn histogram(page: &mut Page, attempt: &Attempt) {
    let Some(verdicts) = &attempt.verdicts else { return };
    let counts = verdicts.counts();
    let of = counts.iter().map(|(_, n)| n).sum();
    for (class, n) in counts.iter().take(N_VERDICTS) {
        let role = if **class == VerdictClass::Feasible { Role::StatusSuccess } else { Role::Text };
        page.count(*n, of, explain::verdict(class), role);
    }
    let rest: usize = counts.iter().skip(N_VERDICTS).map(|(_, n)| n).sum();
    if rest > 0 {
        page.count(rest, of, "others", Role::Muted);
    }
}

/// The pod's group: the quorum, who waits, who blocks.
fn group(page: &mut Page, pod: &Pod, view: &View) {
    let Some(gang) = explain::gang(view, pod) else { return };
    page.heading("its group");
    page.text(explain::gang_headline(&gang), Role::Text);
    for member in gang.members.iter().take(N_MEMBERS) {
        let (place, role) = match &member.place {
            MemberPlace::Bound(node) => (format!("bound to {node}"), Role::StatusSuccess),
            MemberPlace::Binding(node) => (format!("on the way to {node}"), Role::StatusSuccess),
            MemberPlace::Waiting(node) => (format!("waits at Permit, {node}"), Role::StatusWait),
            MemberPlace::InCycle => (String::from("is being tried"), Role::Accent),
            MemberPlace::Pending(why) => (why.clone(), Role::StatusUnschedulable),
        };
        page.item_in(member.pod.name.to_string(), place, role);
    }
    if gang.members.len() > N_MEMBERS {
        page.text(format!("{} more", gang.members.len() - N_MEMBERS), Role::Muted);
    }
}

/// How an attempt ended, in a word or two.
pub(super) fn short_outcome(outcome: &CycleOutcome) -> String {
    match outcome {
        CycleOutcome::Unschedulable { nominated_node: Some(node), .. } => format!("nominated to {node}"),
        CycleOutcome::Unschedulable { .. } => String::from("unschedulable"),
        CycleOutcome::Error { message } => format!("error: {message}"),
        other => outcome_text(other),
    }
}

pub(super) const fn outcome_role(outcome: &CycleOutcome) -> Role {
    match outcome {
        CycleOutcome::Bound { .. } => Role::StatusSuccess,
        CycleOutcome::Unschedulable { .. } => Role::StatusUnschedulable,
        CycleOutcome::Error { .. } => Role::StatusError,
        CycleOutcome::Waiting { .. } => Role::StatusWait,
        _ => Role::Text,
    }
}

/// What kubelets and controllers of a cluster that lives have done with an object.
pub(super) fn lived(page: &mut Page, kind: &str, key: &NamespacedName, cx: &Cx<'_>) {
    let Some(world) = &cx.view.known.world else { return };
    let deeds: Vec<_> = world
        .deeds
        .iter()
        .rev()
        .filter(|deed| deed.kind == kind && deed.object == *key)
        .take(N_EVENTS)
        .collect();
    if !deeds.is_empty() {
        page.heading("in the cluster");
        for deed in deeds {
            page.item(ago(&cx.view.scheduler, deed.at), format!("{}: {}", deed.reason, deed.note));
        }
    }
}

/// What the scheduler wrote about the pod, and what became of it.
fn events(page: &mut Page, key: &NamespacedName, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    lived(page, "Pod", key, cx);
    let events: Vec<_> =
        view.events.iter().rev().filter(|event| event.regarding == *key).take(N_EVENTS).collect();
    if !events.is_empty() {
        page.heading("events");
        for event in events {
            page.item(ago(view, event.at), format!("{}: {}", event.reason, predicted::note(event, cx)));
        }
    }
}
