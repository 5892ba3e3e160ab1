//! The attempts of a recording as a report in Markdown (CommonMark with tables): who was turned down where and by whom,
//! who got how many points, what came of it, and what was said about it.
//!
//! Written attempt by attempt, so that a long recording needs no more memory than a short one.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use super::{ExportError, Range, outcome_text, play_range};
use crate::api::time::human_duration;
use crate::api::{Duration, Str, Time};
use crate::driver::playback::{Mark, Moment, Outline};
use crate::driver::session::{RunState, Speed};
use crate::explain;
use crate::framework::runtime::{PluginVerdict, Registry};
use crate::framework::{Code, Status};
use crate::scheduler::trace::{
    CycleOutcome, CycleTrace, FilterTrace, NodeVerdict, PostFilterTrace, ScoreTrace,
};
use crate::scheduler::view::{ObjectEvent, View};
use crate::tui::widgets::text::clean;

/// How the report is made.
#[derive(Clone, Debug)]
pub struct MarkdownOptions {
    /// Which part of the recording.
    pub range: Range,
    /// So many nodes have a row of their own in each table; with more of them, nodes with the same verdict share one.
    pub nodes_max: usize,
}

/// Writes a report of a recording.
///
/// # Errors
/// If the recording cannot be played or has no such range, or nothing can be written.
pub fn markdown(
    outline: &Outline,
    reader: impl BufRead,
    registry: &Registry,
    options: &MarkdownOptions,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut report =
        Report { options, out, start: outline.header.start, under_way: None, seen: 0, summary: Vec::new() };
    report.header(outline)?;
    let mut cycles = None;
    play_range(outline, reader, registry, &options.range, &mut |moment| {
        let now = moment.scheduler().counts().cycles;
        // Making a view costs time, so one is made only where there is something new to see.
        let is_new = cycles != Some(now) || !moment.marks.is_empty() || report.under_way.is_some();
        if is_new {
            let is_first = cycles.is_none();
            report.moment(moment, is_first)?;
        }
        cycles = Some(now);
        Ok(())
    })?;
    report.finish()
}

/// An attempt that may go on.
struct UnderWay {
    trace: Arc<CycleTrace>,
    outcome: CycleOutcome,
    events: Vec<ObjectEvent>,
}

struct Report<'a> {
    options: &'a MarkdownOptions,
    out: &'a mut dyn Write,
    start: Time,
    under_way: Option<UnderWay>,
    /// The last attempt that was seen before the range or in it.
    seen: u64,
    summary: Vec<(u64, Time, String, String)>,
}

impl Report<'_> {
    fn header(&mut self, outline: &Outline) -> Result<(), ExportError> {
        let header = &outline.header;
        let range = &self.options.range;
        writeln!(self.out, "# {}\n", escape(&header.source))?;
        writeln!(
            self.out,
            "A recording by schedscope {}, which follows the scheduler of Kubernetes {}. Begun at {}, seed {}. \
             From {} to {}.\n",
            escape(&header.app),
            escape(&header.kubernetes),
            header.start.to_rfc3339(),
            header.seed,
            escape(&range.from.to_string()),
            escape(&range.to.to_string()),
        )?;
        if header.redacted {
            writeln!(self.out, "Names are pseudonyms.\n")?;
        }
        if let Some(cut) = &outline.cut {
            writeln!(self.out, "The recording is not whole: {}.\n", escape(cut))?;
        }
        Ok(())
    }

    fn moment(&mut self, moment: &Moment<'_>, is_first: bool) -> Result<(), ExportError> {
        let view = moment.view(RunState::Paused, Speed::Times(1), None);
        let view = &*view.scheduler;
        if let Some(trace) = &view.cycle {
            let number = trace.number;
            if self.under_way.as_ref().is_some_and(|under_way| under_way.trace.number != number) {
                self.end_attempt()?;
            }
            // What ended before the range does not belong to it, but for the attempt that the range begins with.
            let begins_before = is_first && view.counts.cycles > number;
            if number > self.seen && !begins_before {
                self.under_way = Some(under_way(trace, view));
            }
            let is_over = self.under_way.as_ref().is_some_and(|under_way| under_way.outcome.is_final());
            if is_over {
                self.end_attempt()?;
            }
        }
        for mark in &moment.marks {
            let at = human_duration(moment.elapsed());
            match mark {
                Mark::Marker(name) => writeln!(self.out, "> **Marker {}** at {at}\n", escape(name))?,
                Mark::Note(text) => writeln!(self.out, "> {}\n", escape(text))?,
            }
        }
        Ok(())
    }

    fn end_attempt(&mut self) -> Result<(), ExportError> {
        let Some(UnderWay { trace, outcome, events }) = self.under_way.take() else { return Ok(()) };
        self.seen = trace.number;
        let pod = trace.pod_key().to_string();
        let outcome_text = outcome_text(&outcome);
        self.summary.push((trace.number, trace.started, pod.clone(), outcome_text.clone()));
        writeln!(self.out, "## Cycle {}: {}, {}\n", trace.number, escape(&pod), escape(&outcome_text))?;
        self.attempt(&trace, &outcome)?;
        if let Some(filter) = &trace.filter {
            self.filter(&trace, filter)?;
        }
        if let Some(post_filter) = &trace.post_filter {
            self.post_filter(post_filter)?;
        }
        if let Some(score) = &trace.score {
            let host = trace.selection.as_ref().map(|selection| &selection.host);
            self.score(score, host)?;
        }
        let steps = [
            ("PreFilter", &trace.pre_filter),
            ("PreScore", &trace.pre_score),
            ("Reserve", &trace.reserve),
            ("Permit", &trace.permit),
            ("PreBind", &trace.pre_bind),
            ("Bind", &trace.bind),
        ];
        for (point, verdicts) in steps {
            self.verdicts(point, verdicts.as_deref().unwrap_or_default())?;
        }
        for event in events {
            writeln!(
                self.out,
                "- Event {} {} at {}: {}",
                event.type_,
                event.reason,
                human_duration(event.at - self.start),
                escape(&event.note)
            )?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// What was tried, and how it ended.
    fn attempt(&mut self, trace: &CycleTrace, outcome: &CycleOutcome) -> Result<(), ExportError> {
        writeln!(
            self.out,
            "At {} ({}), try {}, priority {}, profile {}; popped from {} after {}.\n",
            human_duration(trace.started - self.start),
            trace.started.to_rfc3339_nanos(),
            trace.attempt,
            trace.pod_info.pod.priority(),
            escape(&trace.profile),
            trace.popped_from.as_str(),
            human_duration(trace.queued_for),
        )?;
        match outcome {
            CycleOutcome::Unschedulable { message, .. } | CycleOutcome::Error { message } => {
                writeln!(self.out, "{}\n", escape(message))?;
            }
            CycleOutcome::Skipped { reason } => writeln!(self.out, "{}\n", escape(reason))?,
            CycleOutcome::InProgress
            | CycleOutcome::Tried { .. }
            | CycleOutcome::Waiting { .. }
            | CycleOutcome::Binding { .. }
            | CycleOutcome::Bound { .. } => {
                if let Some(text) = explain::selection(trace) {
                    writeln!(self.out, "{}.\n", escape(&capitalized(&text)))?;
                }
            }
        }
        Ok(())
    }

    /// Which node passed which plugin.
    fn filter(&mut self, trace: &CycleTrace, filter: &FilterTrace) -> Result<(), ExportError> {
        writeln!(
            self.out,
            "### Filter: {} of {}\n",
            filter.n_feasible(),
            explain::counted(filter.verdicts.len(), "node")
        )?;
        let plugins: Vec<&str> =
            filter.plugins.iter().copied().filter(|plugin| !filter.skipped.contains(plugin)).collect();
        if !filter.skipped.is_empty() {
            let skipped: Vec<&str> =
                filter.plugins.iter().copied().filter(|plugin| filter.skipped.contains(plugin)).collect();
            writeln!(self.out, "Nothing to do for {}.\n", explain::listed(&skipped, usize::MAX))?;
        }
        let mut header = vec!["Node".to_owned()];
        header.extend(plugins.iter().map(|plugin| escape(plugin)));
        header.push("Verdict".to_owned());
        self.table_header(&header)?;
        for (names, verdict, by_extender) in rows(trace, filter, self.options.nodes_max) {
            let rejecting = match verdict {
                NodeVerdict::Rejected(status) => Some(status.plugin()),
                NodeVerdict::Feasible | NodeVerdict::Excluded | NodeVerdict::NotEvaluated => None,
            };
            let at = rejecting.and_then(|plugin| plugins.iter().position(|other| *other == plugin));
            let mut cells = vec![names];
            cells.extend((0..plugins.len()).map(|position| {
                let cell = match (verdict, at) {
                    (NodeVerdict::Excluded | NodeVerdict::NotEvaluated, _) => "",
                    (_, Some(at)) if position > at => "",
                    (_, Some(at)) if position == at => "✗",
                    _ => "✓",
                };
                cell.to_owned()
            }));
            let mut text = verdict_text(verdict);
            if let Some(status) = by_extender {
                text.push_str(&format!("; extender: {}", status.message()));
            }
            cells.push(escape(&text));
            self.row(&cells)?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// Whom room costs.
    fn post_filter(&mut self, trace: &PostFilterTrace) -> Result<(), ExportError> {
        writeln!(self.out, "### PostFilter\n")?;
        self.verdicts("PostFilter", &trace.verdicts)?;
        let Some(evidence) = &trace.evidence else {
            writeln!(self.out)?;
            return Ok(());
        };
        writeln!(self.out, "\n{}.\n", escape(&capitalized(&explain::preemption(evidence))))?;
        if evidence.candidates.is_empty() {
            return Ok(());
        }
        self.table_header(&["Candidate".to_owned(), "Victims".to_owned()])?;
        let max = self.options.nodes_max;
        for candidate in evidence.candidates.iter().take(max) {
            let is_chosen = evidence.selected.as_ref() == Some(&candidate.node_name);
            self.row(&[name(&candidate.node_name, is_chosen), escape(&explain::victims(candidate))])?;
        }
        if let Some(rest) = evidence.candidates.len().checked_sub(max).filter(|rest| *rest > 0) {
            self.row(&[format!("{rest} more"), String::new()])?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// How many points each node got from whom.
    fn score(&mut self, score: &ScoreTrace, host: Option<&Str>) -> Result<(), ExportError> {
        writeln!(self.out, "### Score: {}\n", explain::counted(score.nodes.len(), "node"))?;
        let mut header = vec!["Node".to_owned()];
        header.extend(
            score.scores.plugins.iter().map(|plugin| format!("{} ×{}", escape(plugin.plugin), plugin.weight)),
        );
        header.extend(score.extenders.iter().map(|(extender, _)| escape(extender)));
        header.push("Total".to_owned());
        self.table_header(&header)?;
        let total = |at: usize| score.scores.totals.get(at).copied().unwrap_or_default();
        let mut order: Vec<usize> = (0..score.nodes.len()).collect();
        let is_chosen = |at: usize| host.is_some() && score.nodes.get(at) == host;
        order.sort_by_key(|at| (!is_chosen(*at), std::cmp::Reverse(total(*at)), *at));
        for at in order.iter().copied().take(self.options.nodes_max) {
            let mut cells =
                vec![score.nodes.get(at).map(|node| name(node, is_chosen(at))).unwrap_or_default()];
            cells.extend(score.scores.plugins.iter().map(|plugin| {
                let points = plugin.normalized.get(at).copied().unwrap_or_default();
                points.saturating_mul(plugin.weight).to_string()
            }));
            cells.extend(
                score
                    .extenders
                    .iter()
                    .map(|(_, points)| points.get(at).copied().unwrap_or_default().to_string()),
            );
            cells.push(total(at).to_string());
            self.row(&cells)?;
        }
        let rest = order.get(self.options.nodes_max..).unwrap_or_default();
        if let Some(best) = rest.iter().map(|at| total(*at)).max() {
            let mut cells = vec![format!("{} more", rest.len())];
            cells.resize(header.len() - 1, String::new());
            cells.push(format!("at most {best}"));
            self.row(&cells)?;
        }
        writeln!(self.out)?;
        if !score.skipped.is_empty() {
            let skipped: Vec<&str> = score.skipped.iter().copied().collect();
            writeln!(self.out, "Nothing to score for {}.\n", explain::listed(&skipped, usize::MAX))?;
        }
        Ok(())
    }

    /// What is out of the ordinary at an extension point.
    fn verdicts(&mut self, point: &str, verdicts: &[PluginVerdict]) -> Result<(), ExportError> {
        let odd = verdicts.iter().filter(|verdict| !verdict.status.is_success() && !verdict.status.is_skip());
        for PluginVerdict { plugin, status, .. } in odd {
            writeln!(
                self.out,
                "- {point}: {plugin} answers {}: {}",
                code_text(status.code()),
                escape(&status.message())
            )?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), ExportError> {
        self.end_attempt()?;
        writeln!(self.out, "## Summary: {}\n", explain::counted(self.summary.len(), "cycle"))?;
        if self.summary.is_empty() {
            return Ok(());
        }
        self.table_header(&["Cycle", "At", "Pod", "Outcome"].map(str::to_owned))?;
        for (number, at, pod, outcome) in std::mem::take(&mut self.summary) {
            let at: Duration = at - self.start;
            self.row(&[number.to_string(), human_duration(at), escape(&pod), escape(&outcome)])?;
        }
        Ok(())
    }

    fn table_header(&mut self, cells: &[String]) -> Result<(), ExportError> {
        self.row(cells)?;
        self.row(&vec!["---".to_owned(); cells.len()])
    }

    fn row(&mut self, cells: &[String]) -> Result<(), ExportError> {
        writeln!(self.out, "| {} |", cells.join(" | "))?;
        Ok(())
    }
}

fn under_way(trace: &Arc<CycleTrace>, view: &View) -> UnderWay {
    let line = view.history.iter().rev().find(|line| line.number == trace.number);
    let outcome = line.map_or_else(|| trace.outcome.clone(), |line| line.outcome.clone());
    let pod = trace.pod_key();
    let events = view.events.iter().filter(|event| event.regarding == pod && event.at >= trace.started);
    UnderWay { trace: Arc::clone(trace), outcome, events: events.cloned().collect() }
}

/// Nodes with their verdict: one row for each if they are few, else one for all with the same verdict.
fn rows<'a>(
    trace: &'a CycleTrace,
    filter: &'a FilterTrace,
    max: usize,
) -> Vec<(String, &'a NodeVerdict, Option<&'a Status>)> {
    let nodes = trace.nodes().iter().map(|node| node.name());
    let all =
        nodes.zip(&filter.verdicts).map(|(node, verdict)| (node, verdict, filter.by_extenders.get(&**node)));
    let host = trace.selection.as_ref().map(|selection| &selection.host);
    if filter.verdicts.len() <= max {
        return all
            .map(|(node, verdict, status)| (name(node, host == Some(node)), verdict, status))
            .collect();
    }
    let mut groups: Vec<(Vec<&Str>, &NodeVerdict, Option<&Status>)> = Vec::new();
    let mut places: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    for (node, verdict, status) in all {
        let plugin = match verdict {
            NodeVerdict::Rejected(status) => status.plugin(),
            NodeVerdict::Feasible | NodeVerdict::Excluded | NodeVerdict::NotEvaluated => "",
        };
        let key = (format!("{plugin} {}", verdict_text(verdict)), status.map(Status::message));
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((nodes, _, _)) => nodes.push(node),
            None => groups.push((vec![node], verdict, status)),
        }
    }
    groups
        .into_iter()
        .map(|(nodes, verdict, status)| {
            let mut names: Vec<String> = Vec::new();
            let chosen = nodes.iter().find(|node| host == Some(**node));
            names.extend(chosen.map(|node| name(node, true)));
            let others = nodes.iter().filter(|node| host != Some(**node));
            names.extend(others.take(3 - names.len()).map(|node| name(node, false)));
            let rest = nodes.len() - names.len();
            let names = names.join(", ");
            let names = if rest > 0 { format!("{names} and {rest} more") } else { names };
            (names, verdict, status)
        })
        .collect()
}

/// The name of a node; the chosen one is bold.
fn name(node: &str, is_chosen: bool) -> String {
    if is_chosen { format!("**{}**", escape(node)) } else { escape(node) }
}

fn verdict_text(verdict: &NodeVerdict) -> String {
    match verdict {
        NodeVerdict::Feasible => "fits".to_owned(),
        NodeVerdict::Rejected(status) => status.message(),
        NodeVerdict::Excluded => "left out by PreFilter".to_owned(),
        NodeVerdict::NotEvaluated => "not looked at".to_owned(),
    }
}

const fn code_text(code: Code) -> &'static str {
    match code {
        Code::Success => "Success",
        Code::Error => "Error",
        Code::Unschedulable => "Unschedulable",
        Code::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        Code::Wait => "Wait",
        Code::Skip => "Skip",
        Code::Pending => "Pending",
    }
}

/// A sentence with a large letter at its beginning, unless it begins with a name.
fn capitalized(text: &str) -> String {
    let is_word = ["only ", "preemption "].iter().any(|word| text.starts_with(word));
    let mut chars = text.chars();
    match chars.next().filter(|_| is_word) {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}

/// A text as Markdown shows it as it is, also in a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '|' | '~' | '&' | '#' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
