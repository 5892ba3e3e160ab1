//! What would be, as a text for a terminal or in Markdown.

use super::tables::{Form, markdown, percent, table};
use crate::api::time::human_duration;
use crate::driver::outlook::what_if::{PodChange, PodLost, Totals, WhatIf};
use crate::explain::counted;
use crate::tui::widgets::text::clean;

/// So many pods of a list are named.
const NAMED: usize = 40;

/// The answer.
pub(super) fn render(answer: &WhatIf, form: Form) -> String {
    let mut out = Writer { form, text: String::new() };
    out.title(&format!("What if: {}", answer.changes.join(", ")));
    for said in &answer.said {
        out.item(said);
    }
    if answer.is_nothing() && answer.budgets.is_empty() {
        out.paragraph("Every pod stays where it is.");
    }
    out.changes(&answer.stuck, "no longer fits", "no longer fit", Shown::Why);
    out.lost(
        &answer.lost,
        "is lost, since no controller makes it again",
        "are lost, since no controller makes them again",
    );
    out.lost(&answer.evicted, "is evicted to make room", "are evicted to make room");
    if !answer.held.is_empty() {
        let stay = if answer.held.len() == 1 { "stays" } else { "stay" };
        out.heading(&format!("{} {stay} on a node that is drained:", counted(answer.held.len(), "pod")));
        for held in answer.held.iter().take(NAMED) {
            out.item(&format!("{} on {}: {}", held.pod, held.node, held.cause));
        }
        if let Some(rest) = answer.held.len().checked_sub(NAMED).filter(|rest| *rest > 0) {
            out.item(&format!("and {rest} more"));
        }
    }
    if !answer.budgets.is_empty() {
        out.heading(&format!("{} would be broken:", counted(answer.budgets.len(), "disruption budget")));
        for budget in &answer.budgets {
            let names: Vec<String> = budget.evicted.iter().take(NAMED).map(ToString::to_string).collect();
            out.item(&format!(
                "{} allows {}, and {} would be evicted: {}",
                budget.budget,
                counted(usize::try_from(budget.allowed).unwrap_or(0), "eviction"),
                budget.evicted.len(),
                names.join(", ")
            ));
        }
    }
    out.changes(&answer.moved, "moves", "move", Shown::FromTo);
    out.changes(&answer.freed, "gets a node", "get a node", Shown::To);
    out.changes(&answer.added, "is new", "are new", Shown::To);
    out.lost(&answer.with_node, "goes with its node", "go with their node");
    let stay = if answer.n_same == 1 { "stays" } else { "stay" };
    out.heading(&format!("{} {stay} as today.", counted(answer.n_same, "pod")));
    let [before, after] = &answer.totals;
    out.blank();
    let rows: Vec<Vec<String>> = rows(before)
        .into_iter()
        .zip(rows(after))
        .map(|((name, before), (_, after))| vec![name, before, after])
        .collect();
    out.text.push_str(&table(form, &["", "today", "then"], &rows, 1));
    out.text
}

/// The numbers of an outcome, as people read them.
pub(super) fn rows(totals: &Totals) -> Vec<(String, String)> {
    let measures = &totals.measures;
    let mut rows = vec![
        ("pods on nodes".to_owned(), totals.placed.to_string()),
        ("pending pods".to_owned(), totals.pending.to_string()),
        ("evicted to make room".to_owned(), totals.preempted.to_string()),
        ("nodes, empty of them".to_owned(), format!("{}, {}", measures.nodes, measures.empty_nodes)),
    ];
    for name in ["cpu", "memory"] {
        if let Some(resource) = measures.resource(name) {
            rows.push((format!("{name} in use, mean"), percent(resource.mean)));
            rows.push((format!("{name}, standard deviation"), percent(resource.deviation)));
        }
    }
    for resource in measures.resources.iter().filter(|it| !matches!(&*it.resource, "cpu" | "memory")) {
        rows.push((
            format!("{} in use", resource.resource),
            format!("{}/{}", resource.requested, resource.allocatable),
        ));
    }
    rows.push(("largest hole".to_owned(), hole(totals)));
    rows.push(("free cpu outside of it".to_owned(), percent(measures.fragmentation())));
    rows.push((
        "stranded cpu, memory".to_owned(),
        format!("{}, {}", cores(measures.stranded.0), bytes(measures.stranded.1)),
    ));
    rows
}

/// The largest hole of an outcome.
pub(super) fn hole(totals: &Totals) -> String {
    totals
        .measures
        .largest_hole
        .map_or_else(|| "-".to_owned(), |(cpu, memory)| format!("{} {}", cores(cpu), bytes(memory)))
}

/// Waits at three ranks.
pub(super) fn waits(totals: &Totals) -> [String; 3] {
    [totals.waits.p50, totals.waits.p90, totals.waits.p99].map(human_duration)
}

fn cores(milli: u64) -> String {
    if milli.is_multiple_of(1_000) { format!("{}", milli / 1_000) } else { format!("{milli}m") }
}

fn bytes(bytes: u64) -> String {
    const GI: u64 = 1 << 30;
    match bytes {
        0 => "0".to_owned(),
        bytes if bytes >= 10 * GI || bytes.is_multiple_of(GI) => format!("{}Gi", bytes / GI),
        bytes => format!("{}Mi", bytes >> 20),
    }
}

/// What of a pod is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Why,
    FromTo,
    To,
}

struct Writer {
    form: Form,
    text: String,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(&clean(line));
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.strong(title, "### ", "");
    }

    fn heading(&mut self, heading: &str) {
        self.blank();
        self.strong(heading, "**", "**");
    }

    /// A line above others, in Markdown between these.
    fn strong(&mut self, text: &str, before: &str, behind: &str) {
        match self.form {
            Form::Text => self.line(text),
            Form::Markdown => {
                self.line(&format!("{before}{}{behind}", markdown(text)));
                self.blank();
            }
        }
    }

    fn paragraph(&mut self, text: &str) {
        self.blank();
        self.line(text);
    }

    fn item(&mut self, item: &str) {
        match self.form {
            Form::Text => self.line(&format!("  {item}")),
            Form::Markdown => self.line(&format!("- {item}")),
        }
    }

    fn more(&mut self, n: usize) {
        if n > NAMED {
            self.item(&format!("and {} more", n - NAMED));
        }
    }

    /// How many pods do something, if any do.
    fn pods(&mut self, n: usize, one: &str, several: &str) {
        if n > 0 {
            self.heading(&format!("{} {}:", counted(n, "pod"), if n == 1 { one } else { several }));
        }
    }

    fn changes(&mut self, list: &[PodChange], one: &str, several: &str, shown: Shown) {
        self.pods(list.len(), one, several);
        for change in list.iter().take(NAMED) {
            let old =
                change.instead_of.as_ref().map(|old| format!(" (for {})", old.name)).unwrap_or_default();
            let node = |node: &Option<crate::api::Str>| node.as_deref().unwrap_or("-").to_owned();
            let rest = match shown {
                Shown::Why => match &change.before {
                    Some(before) => format!(", on {before} today: {}", change.message),
                    None => format!(": {}", change.message),
                },
                Shown::FromTo => format!(": {} -> {}", node(&change.before), node(&change.after)),
                Shown::To => format!(": {}", node(&change.after)),
            };
            self.item(&format!("{}{old}{rest}", change.pod));
        }
        self.more(list.len());
    }

    fn lost(&mut self, list: &[PodLost], one: &str, several: &str) {
        self.pods(list.len(), one, several);
        for lost in list.iter().take(NAMED) {
            let node = lost.node.as_deref().map(|node| format!(", on {node}")).unwrap_or_default();
            self.item(&format!("{}{node}", lost.pod));
        }
        self.more(list.len());
    }
}
