//! Command lines about pods that Permit plugins hold.

use super::{CommandCx, Deed, find_pod, usage};
use crate::api::time::human_duration;
use crate::driver::session::{Edit, SessionCommand};
use crate::scheduler::view::WaitingRow;
use crate::tui::panes::Subject;

/// `:allow`.
pub(super) fn allow(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let row = waiting(arguments, cx, "allow")?;
    let pod = row.pod.key();
    Ok(Deed::Confirm {
        question: format!("Allow pod {pod}?"),
        detail: format!(
            "{}. It goes on to PreBind on {} as if they had all allowed it.",
            held(row, cx),
            row.node
        ),
        command: SessionCommand::Edit(Edit::Allow(pod)),
    })
}

/// `:reject`.
pub(super) fn reject(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let row = waiting(arguments, cx, "reject")?;
    let pod = row.pod.key();
    Ok(Deed::Confirm {
        question: format!("Reject pod {pod}?"),
        detail: format!("{}. It gives its place on {} back and is queued again.", held(row, cx), row.node),
        command: SessionCommand::Edit(Edit::Reject(pod)),
    })
}

/// Who holds the pod, and for how long still.
fn held(row: &WaitingRow, cx: &CommandCx<'_>) -> String {
    let now = cx.view.scheduler.now;
    let plugins: Vec<String> = row
        .plugins
        .iter()
        .map(|(plugin, until)| {
            format!("{plugin} (gives up in {})", human_duration(until.saturating_since(now)))
        })
        .collect();
    format!("It is held by {}", plugins.join(", "))
}

/// The waiting pod that is named, or selected.
fn waiting<'v>(arguments: &[&str], cx: &CommandCx<'v>, verb: &str) -> Result<&'v WaitingRow, String> {
    let key = match arguments {
        [] => cx.selected.and_then(Subject::pod).cloned().ok_or("no pod is selected: name it")?,
        [name] => find_pod(name, cx),
        _ => return Err(usage(verb)),
    };
    let rows = &cx.view.scheduler.waiting;
    rows.iter().find(|row| row.pod.key() == key).ok_or_else(|| match rows.len() {
        0 => format!("pod {key} does not wait at Permit, and no other pod does: nothing to {verb}"),
        _ => format!("pod {key} does not wait at Permit: nothing to {verb}"),
    })
}
