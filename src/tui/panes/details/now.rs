//! Whom a node or a plugin holds up now, and who could be evicted from a node.

use super::internals;
use super::page::Page;
use crate::api::time::human_duration;
use crate::explain;
use crate::framework::NodeInfo;
use crate::scheduler::view::View;
use crate::tui::panes::{Cx, names};
use crate::tui::theme::Role;

/// How many pods are named in a line.
const N_PODS_NAMED: usize = 6;
/// How many reasons are listed.
const N_REASONS: usize = 12;
/// How many pods that could go are listed.
const N_EVICTABLE: usize = 15;

/// What a node refuses and who could go from it.
pub(super) fn node(page: &mut Page, info: &NodeInfo, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    let refusals = explain::node_refusals(view, info.name());
    page.heading("pending pods that it refused in their last attempt");
    if refusals.by_reason.is_empty() {
        let why = match (refusals.n_fit, refusals.n_unknown) {
            (0, 0) => String::from("No pod is pending."),
            (0, n) => format!("None is known: {} not been tried against it.", have(n)),
            (fit, _) => format!("None; it would have taken {}.", explain::counted(fit, "pod")),
        };
        page.text(why, Role::Muted);
    } else {
        let all: usize = refusals.by_reason.iter().map(|(_, pods)| pods.len()).sum();
        for ((plugin, reason), pods) in refusals.by_reason.iter().take(N_REASONS) {
            page.count(pods.len(), all, format!("{reason} ({plugin})"), Role::Text);
            let named: Vec<String> = pods.iter().take(N_PODS_NAMED + 1).map(ToString::to_string).collect();
            let more = pods.len().saturating_sub(N_PODS_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named: Vec<&str> = named.iter().take(N_PODS_NAMED).map(String::as_str).collect();
            page.note(format!("{}{more}", named.join(", ")), Role::Muted);
        }
        if refusals.n_unknown > 0 {
            page.text(format!("Of {} more it is not known.", refusals.n_unknown), Role::Muted);
        }
    }
    left_out(page, refusals.n_left_out);
    evictable(page, info, view);
}

fn have(n: usize) -> String {
    if n == 1 { String::from("1 pending pod has") } else { format!("{n} pending pods have") }
}

fn left_out(page: &mut Page, n: usize) {
    if n > 0 {
        page.text(format!("{n} pending pods were not looked at, since there are very many."), Role::Warning);
    }
}

/// In whose favour pods could be evicted: the pod that is tried, or the most important pending one.
fn preemptor(view: &View) -> Option<(String, i32)> {
    let tried =
        view.cycle.as_ref().filter(|cycle| !cycle.outcome.is_final()).map(|cycle| &cycle.pod_info.pod);
    // activeQ stands in the order of importance, and there can be very many pods in it.
    let pending = view.unschedulable_pods.iter().chain(&view.backoff_q).chain(view.active_q.first());
    let pending = pending.filter(|row| row.gated_by.is_none()).map(|row| &row.pod);
    let pod = tried.or_else(|| pending.max_by_key(|pod| pod.priority()))?;
    Some((pod.key().to_string(), pod.priority()))
}

fn evictable(page: &mut Page, info: &NodeInfo, view: &View) {
    page.heading("who could be preempted here");
    let Some((pod, priority)) = preemptor(view) else {
        page.text("No pod is pending that others could make room for.", Role::Muted);
        return;
    };
    let pods = explain::evictable(view, info, priority);
    let priority = names::priority(priority);
    if pods.is_empty() {
        page.text(
            format!("Nobody for {pod} (priority {priority}): no pod here is less important."),
            Role::Muted,
        );
        return;
    }
    page.text(format!("For {pod}, priority {priority}, the least important first:"), Role::Text);
    for candidate in pods.iter().take(N_EVICTABLE) {
        let budgets: Vec<String> =
            candidate.budgets.iter().map(|(name, allowed)| format!("{name} allows {allowed} more")).collect();
        let budgets =
            if budgets.is_empty() { String::new() } else { format!(", PDB {}", budgets.join(", ")) };
        let going = if candidate.is_terminating { ", going already" } else { "" };
        let role = if candidate.is_protected() { Role::Warning } else { Role::Text };
        let protected = if candidate.is_protected() { ", PROTECTED" } else { "" };
        let priority = names::priority(candidate.priority);
        page.text(format!("{}  prio {priority}{protected}{budgets}{going}", candidate.pod), role);
    }
    if pods.len() > N_EVICTABLE {
        page.text(format!("{} more", pods.len() - N_EVICTABLE), Role::Muted);
    }
}

/// What a plugin holds up over all pending pods, what it listens to, and what it answered last.
pub(super) fn plugin(page: &mut Page, plugin: &str, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    let now = explain::plugin_now(view, plugin);
    page.heading(format!("pending pods that it holds up {}", now.pods.len()));
    if now.pods.is_empty() {
        page.text("None: no pending pod was turned down or is held by it.", Role::Muted);
    }
    let n_alone = now.pods.iter().filter(|(_, is_alone)| *is_alone).count();
    if n_alone > 0 {
        page.text(format!("{n_alone} of them it alone."), Role::Text);
    }
    let pods: Vec<String> = now.pods.iter().take(30).map(|(pod, _)| pod.to_string()).collect();
    if !pods.is_empty() {
        let more = now.pods.len().saturating_sub(pods.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        page.text(format!("{}{more}", pods.join(", ")), Role::Muted);
    }
    left_out(page, now.n_left_out);
    if !now.nodes.is_empty() {
        page.heading("nodes that it refused in their last attempts (pods times nodes)");
        let all = now.nodes.iter().map(|(_, n)| n).sum();
        for (reason, n) in now.nodes.iter().take(N_REASONS) {
            page.count(*n, all, reason.to_string(), Role::Text);
        }
    }
    page.heading("what wakes its pods");
    if now.events.is_empty() {
        page.text("It listens to nothing: the flush alone moves a pod that it turned down.", Role::Muted);
    }
    for (profile, events) in &now.events {
        let events = if events.is_empty() { String::from("no event") } else { events.join(", ") };
        page.item(profile.to_string(), events);
    }
    if !now.answers.is_empty() {
        page.heading("its last answers to events");
        for (at, pod, answer) in &now.answers {
            let ago = format!("{} ago", human_duration(view.now.saturating_since(*at)));
            page.item(ago, format!("{pod}: {answer}"));
        }
    }
    page.heading("its time");
    let Some(latency) = &cx.view.known.latency else {
        page.text(format!("{}.", internals::not_measured(cx)), Role::Muted);
        return;
    };
    let mut is_empty = true;
    for ((_, point), histogram) in latency.plugins.iter().filter(|((name, _), _)| name == plugin) {
        is_empty = false;
        page.item(*point, internals::took(histogram));
        page.note(internals::buckets(histogram), Role::Muted);
    }
    if is_empty {
        page.text("It has not run yet in an attempt that was measured.", Role::Muted);
    }
}
