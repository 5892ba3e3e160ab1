//! Pages about pods, nodes and Events, and their YAML.

use serde::Serialize;

use super::page::Page;
use crate::api::objects::Pod;
use crate::api::time::human_duration;
use crate::api::{Duration, NamespacedName, Time};
use crate::explain::{self, PodPlace};
use crate::framework::{NodeInfo, PodInfo};
use crate::scheduler::view::{ObjectEvent, View};
use crate::tui::panes::log::outcome_text;
use crate::tui::panes::{Cx, Subject, names};
use crate::tui::theme::Role;

/// How many lines of each kind of past are shown.
const N_PAST: usize = 8;

pub(super) fn pod(page: &mut Page, key: &NamespacedName, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    page.title(vec![(String::from("pod "), Role::Muted), (key.to_string(), Role::Strong)]);
    let Some(place) = explain::place_of(view, key) else {
        page.text("The scheduler does not know this pod: it is gone, or it has ended.", Role::Muted);
        past(page, key, view);
        return;
    };
    if let Some(story) = explain::pod_story(view, key) {
        let role = match place {
            PodPlace::Unschedulable(row) if row.gated_by.is_none() => Role::StatusUnschedulable,
            PodPlace::Assigned(..) => Role::StatusSuccess,
            PodPlace::Waiting(_) => Role::StatusWait,
            _ => Role::Text,
        };
        page.text(story.headline, role);
        page.text(story.next, Role::Text);
    }
    let cycle = view.cycle.as_ref().filter(|cycle| cycle.pod_key() == *key);
    if let Some(cycle) = cycle {
        page.text(format!("Attempt {}: {}.", cycle.number, explain::verdict_so_far(cycle)), Role::Text);
    }
    let pod = place.pod();
    if let Some(message) = last_message(&place, pod) {
        page.heading("last answer");
        page.text(message, Role::Text);
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
    page.item("scheduler", pod.spec.scheduler_name.to_string());
    page.item("created", pod.metadata.creation_timestamp.map(Time::to_rfc3339).unwrap_or_default());
    if let Some(owner) = pod.metadata.controller() {
        page.item("owner", format!("{} {}", owner.kind, owner.name));
    }
    past(page, key, view);
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
        let node = view.nodes.iter().find(|node| *node.name() == pod.spec.node_name)?;
        node.pods().iter().map(AsRef::as_ref).find(|info| info.uid() == pod.uid())
    })
}

/// The requests of a pod that nothing has been computed from yet.
fn declared(pod: &Pod) -> String {
    explain::requests(&PodInfo::new(std::sync::Arc::new(pod.clone()))).join(", ")
}

fn past(page: &mut Page, key: &NamespacedName, view: &View) {
    let ago = |at: Time| format!("{} ago", human_duration(view.now.saturating_since(at)));
    let attempts: Vec<_> = view.history.iter().rev().filter(|line| line.pod == *key).take(N_PAST).collect();
    if !attempts.is_empty() {
        page.heading("attempts");
        for line in attempts {
            page.item(ago(line.started), format!("#{} {}", line.number, outcome_text(&line.outcome)));
        }
    }
    let moves: Vec<_> = view.moves.iter().rev().filter(|line| line.pod == *key).take(N_PAST).collect();
    if !moves.is_empty() {
        page.heading("moves");
        for line in moves {
            page.item(ago(line.at), line.text.clone());
        }
    }
    let events: Vec<_> =
        view.events.iter().rev().filter(|event| event.regarding == *key).take(N_PAST).collect();
    if !events.is_empty() {
        page.heading("events");
        for event in events {
            page.item(ago(event.at), format!("{}: {}", event.reason, event.note));
        }
    }
}

fn find_node<'v>(view: &'v View, name: &str) -> Option<&'v NodeInfo> {
    let index = view.nodes.binary_search_by(|node| node.name().as_ref().cmp(name)).ok()?;
    view.nodes.get(index).map(AsRef::as_ref)
}

pub(super) fn node(page: &mut Page, name: &str, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    page.title(vec![(String::from("node "), Role::Muted), (name.to_owned(), Role::Strong)]);
    let (Some(info), Some(summary)) = (find_node(view, name), explain::node(view, name)) else {
        page.text("There is no such node (any more).", Role::Muted);
        return;
    };
    page.text(summary.headline, Role::Text);
    for refusal in summary.refusals {
        page.text(refusal, Role::Text);
    }
    page.heading("asked for");
    for used in explain::resource_uses(info) {
        page.used(used);
    }
    let mut pods: Vec<&PodInfo> = info.pods().iter().map(AsRef::as_ref).collect();
    pods.sort_by_key(|pod| std::cmp::Reverse(pod.pod.priority()));
    page.heading(format!("pods {}, the most important first", pods.len()));
    for pod in pods {
        let requests = explain::requests(pod);
        let requests =
            if requests.is_empty() { String::from("requests nothing") } else { requests.join(", ") };
        let going = if pod.pod.is_terminating() { ", going" } else { "" };
        let priority = names::priority(pod.pod.priority());
        page.text(format!("{}  prio {priority}, {requests}{going}", pod.pod.key()), Role::Text);
    }
    let Some(node) = info.node() else { return };
    page.heading("labels");
    for (key, value) in &node.metadata.labels {
        page.text(format!("{key}={value}"), Role::Text);
    }
    let conditions = &node.status.conditions;
    if !conditions.is_empty() {
        page.heading("conditions");
        for condition in conditions {
            page.item(condition.type_.clone(), format!("{} {}", condition.status, condition.reason));
        }
    }
    let images = info.image_states();
    if !images.is_empty() {
        page.heading(format!("images {}", images.len()));
        for (image, state) in images {
            page.text(format!("{image}  {}", explain::amount::bytes_short(state.size)), Role::Text);
        }
    }
}

pub(super) fn event(page: &mut Page, event: &ObjectEvent, cx: &Cx<'_>) {
    let role = if event.type_ == "Warning" { Role::Warning } else { Role::StatusSuccess };
    page.title(vec![
        (event.reason.to_owned(), role),
        (String::from("  "), Role::Text),
        (event.regarding.to_string(), Role::Strong),
    ]);
    page.text(event.note.clone(), Role::Text);
    page.heading("event");
    page.item("type", event.type_);
    page.item("action", event.action);
    let ago: Duration = cx.view.scheduler.now.saturating_since(event.at);
    page.item("when", format!("{} ago", human_duration(ago)));
    page.item("written by", "the scheduler");
}

/// The object of a subject as YAML, with the fields that the scheduler reads.
pub(super) fn yaml(subject: &Subject, cx: &Cx<'_>) -> Page {
    let view = &cx.view.scheduler;
    let mut page = Page::default();
    let pod = subject.pod().and_then(|key| explain::place_of(view, key));
    let node = subject.node().and_then(|name| find_node(view, name)).and_then(NodeInfo::node);
    let written = match (pod, node) {
        (Some(place), _) => Some(write(place.pod().as_ref(), "Pod")),
        (None, Some(node)) => Some(write(node.as_ref(), "Node")),
        (None, None) => None,
    };
    match written {
        Some(Ok(text)) => page.code(&text),
        Some(Err(why)) => page.text(why, Role::Error),
        None => page.text("Only pods and nodes that are there can be shown as YAML.", Role::Muted),
    }
    page
}

fn write(object: &impl Serialize, kind: &str) -> Result<String, String> {
    match serde_saphyr::to_string(object) {
        Ok(text) => {
            Ok(format!("# the fields that the scheduler reads\napiVersion: v1\nkind: {kind}\n{text}"))
        }
        Err(error) => Err(format!("The object cannot be written as YAML: {error}")),
    }
}
