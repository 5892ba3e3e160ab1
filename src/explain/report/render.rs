//! The explanation as text for a terminal or a pipe, and as Markdown for an issue or a chat.

use super::{AgainstReport, ChoiceReport, Explanation, PairPoints, PreemptionReport, QueueReport};
use crate::explain::{counted, listed};

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
}

/// How many nodes that are one change away are listed.
const N_CHANGES: usize = 20;
/// For how many of them the rule is told.
const N_WHY: usize = 5;
/// How many nodes are ranked.
const N_RANKED: usize = 5;
/// How many candidates of preemption are listed.
const N_CANDIDATES: usize = 5;

/// Writes the explanation. Names from the cluster stand in it as they are: whoever prints it cleans it.
pub fn render(explanation: &Explanation, form: Form) -> String {
    let mut page = Page { form, text: String::new() };
    page.title(&explanation.headline);
    if !explanation.requests.is_empty() {
        page.line(&format!(
            "It asks for {}; priority {}, profile {}.",
            explanation.requests.join(", "),
            explanation.priority,
            explanation.profile
        ));
    }
    for note in &explanation.notes {
        page.line(note);
    }
    if let Some(queue) = &explanation.queue {
        page.heading("Queue");
        page.line(&queue_text(queue));
        if !explanation.next.is_empty() {
            page.line(&explanation.next);
        }
    }
    if let Some(gang) = &explanation.gang {
        page.heading("Gang");
        page.line(gang);
    }
    why_not(&mut page, explanation);
    if let Some(choice) = &explanation.choice {
        why_here(&mut page, choice);
    }
    if let Some(against) = &explanation.against {
        why_not_there(&mut page, against);
    }
    if let Some(preemption) = &explanation.preemption {
        preemption_text(&mut page, preemption);
    }
    page.text
}

struct Page {
    form: Form,
    text: String,
}

impl Page {
    const fn is_markdown(&self) -> bool {
        matches!(self.form, Form::Markdown)
    }

    fn title(&mut self, text: &str) {
        let line = if self.is_markdown() { format!("## {}\n\n", escaped(text)) } else { format!("{text}\n") };
        self.text.push_str(&line);
    }

    fn heading(&mut self, text: &str) {
        let line = if self.is_markdown() { format!("\n### {text}\n\n") } else { format!("\n{text}\n") };
        self.text.push_str(&line);
    }

    /// A sentence of its own.
    fn line(&mut self, text: &str) {
        self.end_list();
        let line = if self.is_markdown() { format!("{}\n\n", escaped(text)) } else { format!("  {text}\n") };
        self.text.push_str(&line);
    }

    /// In Markdown a blank line ends a list or a table.
    fn end_list(&mut self) {
        if self.is_markdown() && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn item(&mut self, text: &str) {
        let line = if self.is_markdown() { format!("- {}\n", escaped(text)) } else { format!("  {text}\n") };
        self.text.push_str(&line);
    }

    fn under(&mut self, text: &str) {
        let line =
            if self.is_markdown() { format!("  - {}\n", escaped(text)) } else { format!("    {text}\n") };
        self.text.push_str(&line);
    }

    /// A table; columns whose name ends in `>` are right-aligned.
    fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.end_list();
        if self.is_markdown() {
            let names: Vec<&str> = header.iter().map(|name| name.trim_end_matches('>')).collect();
            self.text.push_str(&format!("| {} |\n", names.join(" | ")));
            let rules: Vec<&str> =
                header.iter().map(|name| if name.ends_with('>') { "---:" } else { "---" }).collect();
            self.text.push_str(&format!("| {} |\n", rules.join(" | ")));
            for row in rows {
                let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
                self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
            }
            return;
        }
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let name = header.get(column).map_or(0, |name| name.trim_end_matches('>').len());
            cells.chain([name]).max().unwrap_or(0)
        };
        let names: Vec<String> = header.iter().map(|name| name.trim_end_matches('>').to_owned()).collect();
        for row in std::iter::once(&names).chain(rows) {
            let mut line = String::from(" ");
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(width(column).saturating_sub(cell.chars().count()));
                let is_right = header.get(column).is_some_and(|name| name.ends_with('>'));
                line.push_str(&if is_right { format!(" {pad}{cell} ") } else { format!(" {cell}{pad} ") });
            }
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

/// Text that Markdown must not read as its own.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '<' | '>' | '`' | '[' | ']' | '#' | '\\') {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

fn queue_text(queue: &QueueReport) -> String {
    let mut text = format!("{}, {}", queue.place, counted(queue.attempts as usize, "attempt"));
    if let Some(gate) = &queue.gated_by {
        text.push_str(&format!(", gated by {gate}"));
    }
    if let Some(left) = queue.backoff_seconds_left {
        text.push_str(&format!(", backs off for another {left:.1} s"));
    }
    if !queue.rejected_by.is_empty() {
        text.push_str(&format!(", turned down by {}", listed(&queue.rejected_by, 6)));
    }
    if !queue.pending_plugins.is_empty() {
        text.push_str(&format!(", held by {}", listed(&queue.pending_plugins, 4)));
    }
    if let Some(node) = &queue.nominated_node {
        text.push_str(&format!(", nominated to {node}"));
    }
    text.push('.');
    text
}

fn why_not(page: &mut Page, explanation: &Explanation) {
    if !explanation.reasons.is_empty() {
        let n_nodes = explanation.attempt.as_ref().map_or(0, |attempt| attempt.nodes);
        let n_fit = explanation.attempt.as_ref().map_or(0, |attempt| attempt.feasible);
        page.heading(&format!("Why not elsewhere: {n_fit} of {} fit", counted(n_nodes, "node")));
        let rows: Vec<Vec<String>> = explanation
            .reasons
            .iter()
            .map(|count| {
                let more = count.nodes.saturating_sub(count.examples.len().min(3));
                let mut examples = count.examples.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                if more > 0 {
                    examples.push_str(&format!(" and {more} more"));
                }
                vec![
                    count.nodes.to_string(),
                    count.plugin.clone(),
                    count.reason.clone(),
                    count.code.into(),
                    examples,
                ]
            })
            .collect();
        page.table(&["NODES>", "PLUGIN", "REASON", "CODE", "WHERE"], &rows);
    }
    for answer in explanation.pre_filter.iter().filter(|answer| !answer.message.is_empty()) {
        page.line(&format!(
            "{} turns the pod down before any node is looked at: {}",
            answer.plugin, answer.message
        ));
    }
    let several: Vec<_> =
        explanation.refusers.iter().filter(|refuser| refuser.alone < refuser.nodes).collect();
    if !several.is_empty() {
        page.heading("Every plugin asked, whatever the others say");
        let rows: Vec<Vec<String>> = explanation
            .refusers
            .iter()
            .map(|refuser| {
                vec![
                    refuser.nodes.to_string(),
                    refuser.alone.to_string(),
                    refuser.plugin.to_owned(),
                    refuser.reason.clone(),
                ]
            })
            .collect();
        page.table(&["REFUSES>", "ALONE>", "PLUGIN", "REASON"], &rows);
    }
    if !explanation.one_change_away.is_empty() {
        page.heading(&format!("One change away: {}", counted(explanation.one_change_away.len(), "node")));
        for (i, change) in explanation.one_change_away.iter().take(N_CHANGES).enumerate() {
            page.item(&format!("{}: {}: {}", change.node, change.plugin, change.what));
            if i < N_WHY && !change.why.is_empty() {
                page.under(&change.why);
            }
        }
        let rest = explanation.one_change_away.len().saturating_sub(N_CHANGES);
        if rest > 0 {
            page.item(&format!("{rest} more"));
        }
    }
}

fn why_here(page: &mut Page, choice: &ChoiceReport) {
    page.heading(&format!("Why {}", choice.node));
    let mut sentence = choice.sentence.clone();
    if let Some(plugin) = choice.decisive {
        sentence.push_str(&format!(" {plugin} decides."));
    }
    page.line(&sentence);
    if choice.ties.len() > 1 {
        page.line(&format!("The tie: {}.", listed(&choice.ties, 8)));
    }
    let ranked: Vec<String> = choice
        .ranking
        .iter()
        .take(N_RANKED)
        .map(|ranked| format!("{} {}", ranked.node, ranked.total))
        .collect();
    if ranked.len() > 1 {
        page.line(&format!("By total: {}.", ranked.join(", ")));
    }
    let other = choice.runner_up.as_ref().or_else(|| choice.ties.iter().find(|node| **node != choice.node));
    if let Some(other) = other {
        points_table(page, &choice.node, other, &choice.points);
    }
}

fn why_not_there(page: &mut Page, against: &AgainstReport) {
    page.heading(&format!("And {}", against.node));
    page.line(&against.headline);
    for line in &against.lines {
        page.line(line);
    }
    for refusal in &against.refusals {
        page.item(&format!("{}: {}", refusal.plugin, refusal.reasons.join(", ")));
        page.under(&refusal.why);
        for line in &refusal.arithmetic {
            page.under(line);
        }
    }
    if let (Some(other), [_, ..]) = (&against.compared_with, against.points.as_slice()) {
        if let Some([first, second]) = against.totals {
            page.line(&format!("Totals: {other} {first}, {} {second}.", against.node));
        }
        points_table(page, other, &against.node, &against.points);
    }
}

fn points_table(page: &mut Page, first: &str, second: &str, points: &[PairPoints]) {
    if points.is_empty() {
        return;
    }
    let (apart, alike): (Vec<&PairPoints>, Vec<&PairPoints>) =
        points.iter().partition(|pair| pair.difference != 0 || pair.first != pair.second);
    if apart.is_empty() {
        page.line(&format!("All {} plugins give {first} and {second} the same points.", points.len()));
        return;
    }
    let show = |points: super::Points| format!("{} ({} raw)", points.normalized, points.raw);
    let rows: Vec<Vec<String>> = apart
        .iter()
        .map(|pair| {
            vec![
                pair.plugin.clone(),
                pair.weight.to_string(),
                show(pair.first),
                show(pair.second),
                format!("{:+}", pair.difference),
            ]
        })
        .collect();
    let (first, second) = (format!("{first}>"), format!("{second}>"));
    page.table(&["PLUGIN", "WEIGHT>", &first, &second, "POINTS>"], &rows);
    if !alike.is_empty() {
        let names: Vec<&str> = alike.iter().map(|pair| pair.plugin.as_str()).collect();
        page.line(&format!("The same points by {}.", listed(&names, 9)));
    }
}

fn preemption_text(page: &mut Page, preemption: &PreemptionReport) {
    page.heading("Preemption");
    page.line(&preemption.sentence);
    let others =
        preemption.candidates.iter().filter(|candidate| Some(&candidate.node) != preemption.node.as_ref());
    let others: Vec<String> = others
        .map(|candidate| format!("{} ({})", candidate.node, counted(candidate.victims, "pod")))
        .collect();
    if !others.is_empty() {
        page.line(&format!("It would also help on {}.", listed(&others, N_CANDIDATES)));
    }
    for no_help in &preemption.no_help {
        page.item(&format!("{}: {}", counted(no_help.nodes, "node"), no_help.reason));
    }
}
