//! The page about what the scheduler holds inside.

use super::object::points;
use super::page::Page;
use super::reading::{answer, how_old};
use crate::api::Duration;
use crate::api::time::human_duration;
use crate::driver::inspect::{Found, Inspect};
use crate::driver::latency::{Histogram, SAMPLE_EVERY, SAMPLED_AT_FIRST};
use crate::explain;
use crate::scheduler::internals::{Differences, Internals};
use crate::tui::panes::{Cx, Subject};
use crate::tui::theme::Role;

/// How many things are listed of each kind.
const N_LISTED: usize = 20;
/// How many lines of what a plugin remembers are shown.
const N_STATE_LINES: usize = 6;

pub(super) fn internals(page: &mut Page, cx: &Cx<'_>) {
    page.title(vec![(String::from("internals"), Role::Strong)]);
    let inspected = answer(&Inspect::Internals, cx);
    how_old(page, inspected, cx);
    let Some(Found::Internals(inside)) = inspected.map(|inspected| &inspected.found) else { return };
    cache(page, inside);
    assumed(page, inside, cx);
    in_flight(page, inside);
    cycle_state(page, cx);
    for profile in &inside.profiles {
        page.heading(format!("profile {}", profile.name));
        page.name(profile.name.to_string(), Subject::Profile(profile.name.clone()));
        points(page, profile, cx);
    }
    speed(page, cx);
}

fn cache(page: &mut Page, inside: &Internals) {
    page.heading("cache, snapshot, API");
    let line = |(nodes, pods): (usize, usize)| {
        format!("{}, {} on them", explain::counted(nodes, "node"), explain::counted(pods, "pod"))
    };
    page.item("cache", line(inside.cache));
    page.item("snapshot", format!("{} (as the last attempt saw them)", line(inside.snapshot)));
    page.item("API", format!("{} (as the watches report)", line(inside.reported)));
    differences(page, "snapshot behind cache", &inside.snapshot_differs);
    differences(page, "cache other than API", &inside.reported_differs);
}

fn differences(page: &mut Page, what: &str, differences: &Differences) {
    if differences.n == 0 {
        page.text(format!("{what}: no difference"), Role::Muted);
        return;
    }
    page.text(format!("{what}: {}", explain::counted(differences.n, "node")), Role::Accent);
    for (name, how) in &differences.first {
        page.note(format!("{name}: {how}"), Role::Text);
    }
    let n_more = differences.n - differences.first.len();
    if n_more > 0 {
        page.note(format!("{n_more} more"), Role::Muted);
    }
}

fn assumed(page: &mut Page, inside: &Internals, cx: &Cx<'_>) {
    let pairs = |page: &mut Page, pairs: &[(crate::api::NamespacedName, crate::api::Str)], none: &str| {
        if pairs.is_empty() {
            page.text(none, Role::Muted);
        }
        for (pod, node) in pairs.iter().take(N_LISTED) {
            page.text(format!("{pod} {} {node}", cx.glyphs.arrow), Role::Text);
        }
        if pairs.len() > N_LISTED {
            page.text(format!("{} more", pairs.len() - N_LISTED), Role::Muted);
        }
    };
    page.heading(format!("assumed pods {}", inside.assumed.len()));
    pairs(
        page,
        &inside.assumed,
        "none: every pod that counts on a node is bound to it, as far as is reported",
    );
    let assumptions = &cx.view.scheduler.assumptions;
    page.heading(format!("assumed of volumes and claims {}", assumptions.len()));
    if assumptions.is_empty() {
        page.text("nothing", Role::Muted);
    }
    for assumption in assumptions.iter().take(N_LISTED) {
        let by =
            format!("{} {}: {} ({})", assumption.kind, assumption.object, assumption.what, assumption.plugin);
        page.text(by, Role::Text);
    }
    page.heading(format!("nominated pods {}", inside.nominated.len()));
    pairs(page, &inside.nominated, "none: no pod waits for room that is being made");
}

fn in_flight(page: &mut Page, inside: &Internals) {
    page.heading("in flight");
    let pods: Vec<String> = inside.in_flight.iter().map(ToString::to_string).collect();
    page.item(
        "pods",
        match pods.len() {
            0 => String::from("none"),
            n => format!("{n}: {}", explain::listed(&pods, 6)),
        },
    );
    page.item("events kept", inside.n_in_flight_events.to_string());
    page.item("deeds open", format!("{} without an outcome yet", inside.n_pending_effects));
}

fn cycle_state(page: &mut Page, cx: &Cx<'_>) {
    let Some(trace) = &cx.view.scheduler.cycle else {
        page.heading("CycleState");
        page.text("No pod has been tried yet: there is none.", Role::Muted);
        return;
    };
    page.heading(format!("CycleState of attempt {} ({})", trace.number, trace.pod_key()));
    let mut is_empty = true;
    for (plugin, contents) in trace.cycle_state.entries() {
        is_empty = false;
        page.text(plugin, Role::Strong);
        let n_lines = contents.lines().count();
        for line in contents.lines().take(N_STATE_LINES) {
            page.note(line, Role::Text);
        }
        if n_lines > N_STATE_LINES {
            let rest = n_lines - N_STATE_LINES;
            page.note(
                format!("{rest} more lines: the plugin's own page has them (:plugin {plugin})"),
                Role::Muted,
            );
        }
    }
    if is_empty {
        page.text("No plugin remembers anything yet.", Role::Muted);
    }
    let skips = |names: &std::collections::BTreeSet<&'static str>| {
        names.iter().copied().collect::<Vec<_>>().join(", ")
    };
    page.item("skip Filter", skips(&trace.cycle_state.skip_filter_plugins));
    page.item("skip Score", skips(&trace.cycle_state.skip_score_plugins));
}

fn speed(page: &mut Page, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    page.heading("speed");
    if let (Some(first), Some(last)) = (view.history.front(), view.history.back()) {
        let span = last.started.saturating_since(first.started);
        let n = view.history.len();
        let per_second = (n > 1 && !span.is_zero()).then(|| {
            let seconds = span.as_secs_f64();
            format!(
                ", {:.1} a second of the scheduler's time",
                f64::from(u32::try_from(n - 1).unwrap_or(u32::MAX)) / seconds
            )
        });
        page.item(
            "attempts",
            format!("the last {n} within {}{}", human_duration(span), per_second.unwrap_or_default()),
        );
    } else {
        page.item("attempts", "none yet");
    }
    let Some(latency) = &cx.view.known.latency else {
        page.item("latency", not_measured(cx));
        return;
    };
    if let Some(rate) = latency.attempts_per_second {
        page.item("rate", format!("{rate:.1} attempts a second of wall-clock time, over the last 256"));
    }
    page.heading("latency of extension points");
    if latency.points.is_empty() {
        page.text("Nothing has run yet: make an attempt.", Role::Muted);
    }
    for (point, histogram) in &latency.points {
        page.item(*point, took(histogram));
        page.note(buckets(histogram), Role::Muted);
    }
    page.heading("latency of plugins (all nodes of an attempt together where the point is measured so)");
    for ((plugin, point), histogram) in &latency.plugins {
        page.item(plugin.clone(), format!("{point} {}", took(histogram)));
        page.note(buckets(histogram), Role::Muted);
    }
    page.text(
        format!("Of plugins the first {SAMPLED_AT_FIRST} attempts are measured, then one in {SAMPLE_EVERY}; attempts that were made again when the session went back are among them."),
        Role::Muted,
    );
}

/// What there is to say where no clock runs beside the scheduler.
pub(super) fn not_measured(cx: &Cx<'_>) -> &'static str {
    if cx.view.live.is_some() {
        "not measured for this screen: this scheduler serves, and /metrics has its latencies \
         (scheduler_plugin_execution_duration_seconds and its sisters)"
    } else {
        "not measured: no clock runs beside a recording that is played"
    }
}

/// How often, how long on average and at most.
pub(super) fn took(histogram: &Histogram) -> String {
    let (mean, longest) = (short(histogram.mean()), short(histogram.longest));
    format!(
        "mean {mean}, longest {longest}, {}",
        explain::counted(usize::try_from(histogram.n).unwrap_or(usize::MAX), "time")
    )
}

/// How often in each bucket that has some.
pub(super) fn buckets(histogram: &Histogram) -> String {
    let filled = histogram.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
    let parts: Vec<String> = filled
        .map(|(bucket, n)| match Histogram::upper(bucket) {
            Some(upper) => format!("<{} {n}", short(upper)),
            None => format!("longer {n}"),
        })
        .collect();
    parts.join("  ")
}

/// A short time: `850ns`, `12us`, `3.4ms`, `1.2s`.
fn short(took: Duration) -> String {
    let nanos = took.as_nanos();
    let (unit, name) = match nanos {
        0..1_000 => return format!("{nanos}ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    match nanos / unit {
        whole @ 0..10 => format!("{whole}.{}{name}", nanos % unit * 10 / unit),
        whole => format!("{whole}{name}"),
    }
}
