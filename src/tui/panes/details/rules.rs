//! A pod's rules about other pods, domain by domain: topology spread and pod affinity, and where the next one may go.

use super::page::Page;
use crate::api::NamespacedName;
use crate::explain::{self, AffinityView, SpreadView};
use crate::framework::PodInfo;
use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// How many domains are listed.
const N_DOMAINS: usize = 40;

pub(super) fn rules(key: &NamespacedName, cx: &Cx<'_>) -> Page {
    let view = &cx.view.scheduler;
    let mut page = Page::default();
    page.title(vec![
        (String::from("pod "), Role::Muted),
        (key.to_string(), Role::Strong),
        (String::from(", spread and affinity"), Role::Muted),
    ]);
    let Some(place) = explain::place_of(view, key) else {
        page.text("The scheduler does not know this pod: it is gone, or it has ended.", Role::Muted);
        return page;
    };
    let pod = place.pod();
    let spreads = explain::spreads(&view.nodes, pod);
    let affinities = explain::affinities(&view.nodes, &PodInfo::new(std::sync::Arc::clone(pod)));
    if spreads.is_empty() && affinities.is_empty() {
        page.text(
            "It has no topology spread constraint and no pod affinity, and no pod that runs avoids it. \
             Spread constraints that the profile adds for all pods count in the score alone.",
            Role::Muted,
        );
    }
    if explain::is_on_node(&place) {
        page.text("It is on a node and counts there; the next one like it would find this:", Role::Text);
    }
    for view in &spreads {
        spread(&mut page, view);
    }
    for view in &affinities {
        affinity(&mut page, view);
    }
    page
}

fn spread(page: &mut Page, view: &SpreadView) {
    let kind = if view.is_hard { "DoNotSchedule" } else { "ScheduleAnyway" };
    page.heading(format!("spread over {}, skew at most {} ({kind})", view.key, view.max_skew));
    let selector = if view.selector.is_empty() { "no pod" } else { view.selector.as_str() };
    let itself = if view.counts_itself { "it counts itself" } else { "it does not count itself" };
    page.text(format!("Counts pods with {selector}; {itself}."), Role::Muted);
    if let Some(min) = view.too_few_domains {
        page.text(format!("Fewer domains than minDomains {min}: the fewest count as 0."), Role::Warning);
    }
    if view.domains.is_empty() {
        page.text("No node counts: none has the label, or the policies leave all out.", Role::Warning);
    }
    let most = view.domains.iter().map(|row| row.n_pods).max().unwrap_or_default();
    let of = usize::try_from(most).unwrap_or_default().max(1);
    for row in view.domains.iter().take(N_DOMAINS) {
        let (word, role) = match (view.is_hard, row.is_allowed) {
            (true, true) => ("allowed", Role::StatusSuccess),
            (true, false) => ("not allowed", Role::StatusUnschedulable),
            (false, _) => ("counts in the score", Role::Text),
        };
        let nodes = explain::counted(row.n_nodes, "node");
        let what = format!("{}: next makes skew {}, {word} ({nodes})", row.name, row.skew);
        page.count(usize::try_from(row.n_pods).unwrap_or_default(), of, what, role);
    }
    more(page, view.domains.len());
    let allowed: Vec<&str> =
        view.domains.iter().filter(|row| row.is_allowed).map(|row| row.name.as_ref()).collect();
    if view.is_hard {
        page.text(
            if allowed.is_empty() {
                String::from("The next pod may go nowhere.")
            } else {
                format!("The next pod may go to {}.", explain::listed(&allowed, 8))
            },
            Role::Strong,
        );
    }
    if view.n_left_out > 0 {
        let why = if view.is_hard { "refused, or not counted" } else { "not counted" };
        page.text(
            format!(
                "{} without the label or left out by a policy: {why}.",
                explain::counted(view.n_left_out, "node")
            ),
            Role::Muted,
        );
    }
}

fn affinity(page: &mut Page, view: &AffinityView) {
    page.heading(match view.kind {
        "is kept away" => format!("is kept away by {}, by {}", view.about, view.key),
        kind => format!("{kind} pods with {}, by {}", view.about, view.key),
    });
    if view.domains.is_empty() {
        page.text("No node has such a pod.", Role::Muted);
    }
    let of = view.domains.iter().map(|(_, n)| *n).max().unwrap_or(1);
    for (domain, n) in view.domains.iter().take(N_DOMAINS) {
        page.count(*n, of, domain.to_string(), Role::Text);
    }
    more(page, view.domains.len());
    if view.is_partly_known {
        page.text("Namespaces that are chosen by their labels are not counted here.", Role::Warning);
    }
}

fn more(page: &mut Page, n: usize) {
    if n > N_DOMAINS {
        page.text(format!("{} more domains", n - N_DOMAINS), Role::Muted);
    }
}
