//! The state after a command: where every pod that is not bound is.

use crate::api::time::go_duration;
use crate::api::{Duration, Time};
use crate::driver::conformance::EPOCH;
use crate::scheduler::Scheduler;
use crate::scheduler::view::{QueueRow, View};

use super::api::cut_to_millis;

/// The lines of the state, without that of the time.
pub(super) fn lines(scheduler: &Scheduler, now: Time) -> Vec<String> {
    let view = scheduler.view();
    let mut lines = queues(&view, now);
    let mut others: Vec<String> = waiting(scheduler).collect();
    others.extend(scheduler.in_flight_pods().iter().map(|pod| format!("in-flight {}", pod.key())));
    others.extend(
        scheduler.assumed_pods().map(|pod| format!("assumed {} -> {}", pod.key(), pod.spec.node_name)),
    );
    let nominations = scheduler.nominations().filter(|(node, _)| scheduler.caches_node(node));
    others.extend(nominations.map(|(node, pod)| format!("nominated {} -> {node}", pod.key())));
    others.sort();
    lines.extend(others);
    lines
}

fn queues(view: &View, now: Time) -> Vec<String> {
    let mut lines: Vec<String> = view.active_q.iter().map(|row| queue_line("activeQ", row, now)).collect();
    let mut backoff: Vec<&QueueRow> = view.backoff_q.iter().collect();
    backoff.sort_by_cached_key(|row| (row.backoff_expiration, row.pod.key().to_string()));
    lines.extend(backoff.into_iter().map(|row| queue_line("backoffQ", row, now)));
    let mut unschedulable: Vec<&QueueRow> = view.unschedulable_pods.iter().collect();
    unschedulable.sort_by_cached_key(|row| row.pod.key().to_string());
    lines.extend(unschedulable.into_iter().map(|row| queue_line("unschedulable", row, now)));
    lines
}

fn queue_line(queue: &str, row: &QueueRow, now: Time) -> String {
    let mut line = format!("{queue} {} attempts={}", row.pod.key(), row.attempts);
    if let Some(expiration) = row.backoff_expiration {
        line.push_str(&format!(" until=+{}", until(expiration, now)));
    }
    if let Some(plugin) = &row.gated_by {
        line.push_str(&format!(" gated-by={plugin}"));
    }
    for (what, plugins) in [("rejected-by", &row.unschedulable_plugins), ("pending-by", &row.pending_plugins)]
    {
        if !plugins.is_empty() {
            line.push_str(&format!(" {what}={}", plugins.join(",")));
        }
    }
    if row.consecutive_errors > 0 {
        line.push_str(&format!(" errors={}", row.consecutive_errors));
    }
    let nominated = &row.pod.status.nominated_node_name;
    if !nominated.is_empty() {
        line.push_str(&format!(" nominated={nominated}"));
    }
    line
}

/// From now until then, rounded to milliseconds; negative if it is over.
fn until(time: Time, now: Time) -> String {
    let rounded = |duration: Duration| {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_millis(nanos.saturating_add(500_000) / 1_000_000)
    };
    if time >= now {
        return go_duration(rounded(time - now));
    }
    let over = rounded(now - time);
    if over.is_zero() { go_duration(over) } else { format!("-{}", go_duration(over)) }
}

/// The pods that Permit plugins hold. Those are there too whose binding cycle ended before it came to wait, and those
/// that are done waiting and have not gone on.
fn waiting(scheduler: &Scheduler) -> impl Iterator<Item = String> {
    scheduler.waiting_pods().iter().map(|waiting| {
        let pod = waiting.pod_info.pod.key();
        let plugins: Vec<&str> = waiting.pending_plugins.keys().map(AsRef::as_ref).collect();
        let line = format!("waiting {pod} on {} by {}", waiting.node_name, plugins.join(","));
        match waiting.deadline() {
            Some((until, _)) => format!("{line} until +{}", since_start(cut_to_millis(until))),
            None => line,
        }
    })
}

/// A time as the lines have it, counted from the start.
pub(super) fn since_start(time: Time) -> String {
    go_duration(time - EPOCH)
}
