//! `schedscope capacity`: how many more pods like one fit, and what binds first.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::asked::{Asked, AskedArgs};
use super::run::{json_text, print, visible_lines};
use super::{Main, exit};
use crate::api::objects::Pod;
use crate::driver::capacity::{CapacityNode, CapacityQuestion, CapacityReason, CapacityReport, capacity};
use crate::explain::report::codes::code_of;
use crate::tui::commands::parse_duration;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/capacity/v1";
/// How many nodes are listed for people.
const N_NODES: usize = 20;

/// `schedscope capacity`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Copies of the pod are scheduled one after the other, in a copy of the cluster, until one finds no place; \
                  pods that wait already are scheduled before.\n\n\
                  Exit codes: 0 at least one fits; 1 none does; 2 wrong input."
)]
pub struct CapacityArgs {
    /// A pod of the cluster: NAME or NAMESPACE/NAME
    #[arg(value_name = "POD", required_unless_present = "pod_file")]
    pub pod: Option<String>,
    /// The pod, from a manifest
    #[arg(long = "pod", value_name = "FILE", conflicts_with = "pod")]
    pub pod_file: Option<PathBuf>,
    /// Lets copies evict pods of lower priority
    #[arg(long)]
    pub preempt: bool,
    /// How many copies are tried at most
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max: usize,
    /// When it ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub budget: std::time::Duration,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = CapacityFormat::Text)]
    pub output: CapacityFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CapacityFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
}

/// Counts. The answer is the exit code.
pub(super) fn run(args: &CapacityArgs, program: &Main) -> anyhow::Result<u8> {
    let mut asked = Asked::find(&args.asked, program)?;
    let pod: Arc<Pod> = match (&args.pod, &args.pod_file) {
        (Some(name), _) => {
            let key = asked.pod(name, args.asked.namespace.as_deref())?;
            asked.simulator.scheduler().objects().pods.get(&key).cloned().unwrap_or_default()
        }
        (None, Some(path)) => {
            let key = asked.add_pod(path)?;
            let pod = asked.simulator.scheduler().objects().pods.get(&key).cloned().unwrap_or_default();
            // The copies count, not the pod that they are made of.
            let gone = crate::driver::session::Edit::DeletePod(key);
            asked.simulator.edit(&gone).map_err(anyhow::Error::msg)?;
            pod
        }
        (None, None) => bail!("name a pod, or give one with --pod"),
    };
    let question = CapacityQuestion { pod, may_preempt: args.preempt, n_max: args.max };
    #[expect(clippy::disallowed_methods, reason = "the command line may look at the clock")]
    let start = Instant::now();
    let report = capacity(&asked.simulator, &question, &mut |_| {
        if start.elapsed() >= args.budget { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let text = match args.output {
        CapacityFormat::Text => visible_lines(&text(&report, args.preempt)),
        CapacityFormat::Json => json_text(&Report::of(&report))?,
    };
    print(&text)?;
    Ok(if report.n > 0 { exit::OK } else { exit::PENDING })
}

fn text(report: &CapacityReport, may_preempt: bool) -> String {
    let n = report.n;
    let fit = if n == 1 { "1 more pod fits".to_owned() } else { format!("{n} more pods fit") };
    let mut text = format!("{fit} like {}", report.pod);
    text.push_str(match (report.is_cut, may_preempt) {
        (Some(_), _) => " at least",
        (None, true) => ", with preemption",
        (None, false) => "",
    });
    text.push_str(&report.is_cut.map_or_else(|| ".\n".to_owned(), |why| format!(": {why}.\n")));
    if report.n_pending_before > 0 {
        text.push_str(&format!("{} pods waited before and have no place.\n", report.n_pending_before));
    }
    if !report.evicted.is_empty() {
        let names: Vec<String> = report.evicted.iter().take(10).map(ToString::to_string).collect();
        let more = report.evicted.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("Evicted for them: {}{more}.\n", names.join(", ")));
    }
    if !report.message.is_empty() {
        text.push_str(&format!("The next one is told: {}\n", report.message));
    }
    if let Some(first) = report.reasons.first() {
        text.push_str(&format!(
            "\nWhat binds first: {} ({}), on {} of {} nodes\n",
            first.reason,
            first.plugin,
            first.n_nodes,
            report.nodes.len()
        ));
        text.push_str("  NODES  ALONE  PLUGIN                REASON\n");
        for reason in &report.reasons {
            let CapacityReason { plugin, reason, n_nodes, n_alone } = reason;
            text.push_str(&format!("  {n_nodes:>5}  {n_alone:>5}  {plugin:<20}  {reason}\n"));
        }
    }
    text.push_str("\nBy node\n");
    for CapacityNode { node, n, stopped_by } in report.nodes.iter().take(N_NODES) {
        let reasons: Vec<&str> = stopped_by.iter().map(|(_, reason)| reason.as_str()).collect();
        let stopped = if reasons.is_empty() { String::new() } else { format!("  {}", reasons.join(", ")) };
        text.push_str(&format!("  {n:>5}  {node}{stopped}\n"));
    }
    let rest = report.nodes.len().saturating_sub(N_NODES);
    if rest > 0 {
        text.push_str(&format!("         {rest} more nodes\n"));
    }
    text
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    schema: &'static str,
    pod: String,
    fits: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_early: Option<&'static str>,
    message: &'a str,
    pending_before: usize,
    evicted: Vec<String>,
    reasons: Vec<Reason<'a>>,
    nodes: Vec<Node<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reason<'a> {
    code: &'static str,
    plugin: &'a str,
    reason: &'a str,
    nodes: usize,
    alone: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    node: &'a str,
    fits: usize,
    stopped_by: Vec<StoppedBy<'a>>,
}

#[derive(Serialize)]
struct StoppedBy<'a> {
    code: &'static str,
    plugin: &'a str,
    reason: &'a str,
}

impl<'a> Report<'a> {
    fn of(report: &'a CapacityReport) -> Self {
        let reasons = report.reasons.iter().map(|reason| Reason {
            code: code_of(&reason.plugin, &reason.reason),
            plugin: &reason.plugin,
            reason: &reason.reason,
            nodes: reason.n_nodes,
            alone: reason.n_alone,
        });
        let nodes = report.nodes.iter().map(|node| Node {
            node: &node.node,
            fits: node.n,
            stopped_by: node
                .stopped_by
                .iter()
                .map(|(plugin, reason)| StoppedBy { code: code_of(plugin, reason), plugin, reason })
                .collect(),
        });
        Self {
            schema: SCHEMA,
            pod: report.pod.to_string(),
            fits: report.n,
            ended_early: report.is_cut,
            message: &report.message,
            pending_before: report.n_pending_before,
            evicted: report.evicted.iter().map(ToString::to_string).collect(),
            reasons: reasons.collect(),
            nodes: nodes.collect(),
        }
    }
}
