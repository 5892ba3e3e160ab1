//! The devices of a node as the claims of the attempt's pod saw them: request by device.

use super::page::Page;
use crate::explain::{self, RequestStory};
use crate::framework::NodeInfo;
use crate::scheduler::trace::CycleTrace;
use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// Adds the table; nothing if the pod has no claims.
pub(super) fn table(page: &mut Page, trace: &CycleTrace, node: &NodeInfo, cx: &Cx<'_>) {
    let Some((pools, claims)) = explain::devices(&cx.view.scheduler, trace, node) else { return };
    page.heading("devices for its claims");
    for problem in pools {
        page.text(problem, Role::Warning);
    }
    for claim in claims {
        page.text(claim.headline, Role::Strong);
        for request in claim.requests {
            of_request(page, request, cx);
        }
    }
}

fn of_request(page: &mut Page, request: RequestStory, cx: &Cx<'_>) {
    page.text(request.headline, Role::Text);
    for (letter, expression) in request.selectors {
        page.item_in(format!("selector {letter}"), expression, Role::Muted);
    }
    for device in request.devices {
        let (sign, role) = if device.is_usable {
            (cx.glyphs.success, Role::StatusSuccess)
        } else {
            (cx.glyphs.failure, Role::StatusUnschedulable)
        };
        let verdicts =
            if device.verdicts.is_empty() { String::new() } else { format!("  {}", device.verdicts) };
        page.title(vec![(format!("{sign} "), role), (device.device, Role::Name), (verdicts, Role::Muted)]);
        if !device.why_not.is_empty() {
            page.note(device.why_not.join("; "), Role::Text);
        }
    }
    if request.n_more > 0 {
        page.text(format!("{} more", request.n_more), Role::Muted);
    }
}
