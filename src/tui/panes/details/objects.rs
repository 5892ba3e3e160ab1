//! Pages about pods, nodes and Events, and their YAML.

use serde::Serialize;

use super::attempt;
use super::now;
use super::page::Page;
use super::reading::answer;
use crate::api::time::human_duration;
use crate::api::{Duration, Kind, NamespacedName};
use crate::driver::inspect::{Found, Inspect};
use crate::driver::live::NOT_KEPT;
use crate::explain;
use crate::framework::{NodeInfo, PodInfo};
use crate::scheduler::view::{ObjectEvent, View};
use crate::tui::panes::{Cx, Subject, names, predicted};
use crate::tui::theme::Role;

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
    if let Some(trace) = &view.cycle {
        attempt::to_win(page, trace, name, "");
    }
    page.heading("asked for");
    for used in explain::resource_uses(info) {
        page.used(used);
    }
    free(page, info);
    now::node(page, info, cx);
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

/// What is free, and what is stranded.
fn free(page: &mut Page, info: &NodeInfo) {
    let free: Vec<String> = explain::resource_uses(info)
        .iter()
        .map(|used| {
            format!("{} {}", used.resource, explain::amount::short(&used.resource, used.free().max(0)))
        })
        .collect();
    page.item("free", free.join(", "));
    let (cpu, memory) = explain::stranded(info);
    if cpu > 0 || memory > 0 {
        let (cpu, memory) = (explain::amount::cpu(cpu), explain::amount::bytes_short(memory));
        page.item("stranded", format!("cpu {cpu}, memory {memory}: free, and something else is used up"));
    }
}

pub(super) fn event(page: &mut Page, event: &ObjectEvent, cx: &Cx<'_>) {
    let role = if event.type_ == "Warning" { Role::Warning } else { Role::StatusSuccess };
    page.title(vec![
        (event.reason.to_owned(), role),
        (String::from("  "), Role::Text),
        (event.regarding.to_string(), Role::Strong),
    ]);
    page.text(predicted::note(event, cx), Role::Text);
    page.heading("event");
    page.item("type", event.type_);
    page.item("action", event.action);
    let ago: Duration = cx.view.scheduler.now.saturating_since(event.at);
    page.item("when", format!("{} ago", human_duration(ago)));
    let by = if predicted::is_unwritten(event, cx) { "nobody: it is a prediction" } else { "the scheduler" };
    page.item("written by", by);
}

/// The object of a subject as YAML, with the fields that the scheduler reads.
pub(super) fn yaml(subject: &Subject, cx: &Cx<'_>) -> Page {
    let view = &cx.view.scheduler;
    let mut page = Page::default();
    if let Subject::Object(kind, key) = subject {
        match object_of(*kind, key, cx) {
            Some(text) => page.code(&text),
            None => page.text("The object is not there (any more).", Role::Muted),
        }
        return page;
    }
    let pod = subject.pod().and_then(|key| explain::place_of(view, key));
    let node = subject.node().and_then(|name| find_node(view, name)).and_then(NodeInfo::node);
    let written = match (pod, node) {
        (Some(place), _) => {
            let is_cut = cx.view.live.is_some() && place.pod().is_assigned();
            let not_kept = if is_cut { NOT_KEPT } else { &[] };
            Some(write(place.pod().as_ref(), "Pod", not_kept))
        }
        (None, Some(node)) => Some(write(node.as_ref(), "Node", &[])),
        (None, None) => None,
    };
    match written {
        Some(Ok(text)) => page.code(&text),
        Some(Err(why)) => page.text(why, Role::Error),
        None => page.text("Only pods and nodes that are there can be shown as YAML.", Role::Muted),
    }
    page
}

/// An object of another kind as YAML, if it is the one that was asked for last.
fn object_of(kind: Kind, key: &NamespacedName, cx: &Cx<'_>) -> Option<String> {
    let inspected = answer(&Inspect::Object(kind, key.clone()), cx)?;
    let Found::Object(store) = &inspected.found else { return None };
    let object = store.get(kind, key)?;
    let mut fields = Vec::new();
    let mut writer = serde_json::Serializer::new(&mut fields);
    object.serialize_fields(&mut writer).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&fields).ok()?;
    let text = serde_saphyr::to_string(&value).ok()?;
    let version = kind.api_version();
    Some(format!("# the fields that the scheduler reads\napiVersion: {version}\nkind: {kind}\n{text}"))
}

fn write(object: &impl Serialize, kind: &str, remarks: &[&str]) -> Result<String, String> {
    match serde_saphyr::to_string(object) {
        Ok(text) => {
            let remarks: String = remarks.iter().map(|remark| format!("# {remark}\n")).collect();
            Ok(format!(
                "# the fields that the scheduler reads\n{remarks}apiVersion: v1\nkind: {kind}\n{text}"
            ))
        }
        Err(error) => Err(format!("The object cannot be written as YAML: {error}")),
    }
}
