//! `schedscope capacity`: how many more pods like one fit, and what binds first.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::asked::{AnswerFormat, Asked, AskedArgs};
use super::run::{json_text, print, visible_lines};
use super::{Main, exit};
use crate::api::objects::Pod;
use crate::driver::advice::WallPatience;
use crate::driver::capacity::{CapacityQuestion, CapacityReport, capacity};
use crate::driver::session::Edit;
use crate::explain::report::codes::code_of;
use crate::tui::commands::parse_duration;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/capacity/v1";

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
    #[arg(short = 'o', long, value_enum, default_value_t = AnswerFormat::Text)]
    pub output: AnswerFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// Counts. The answer is the exit code.
pub(super) fn run(args: &CapacityArgs, program: &Main) -> anyhow::Result<u8> {
    let mut asked = Asked::find(&args.asked, program)?;
    let key = asked.subject(args.pod.as_deref(), args.pod_file.as_deref(), &args.asked)?;
    let pod: Arc<Pod> = asked.simulator.scheduler().objects().pods.get(&key).cloned().unwrap_or_default();
    if args.pod_file.is_some() {
        // The copies count, not the pod that they are made of.
        asked.simulator.edit(&Edit::DeletePod(key)).map_err(anyhow::Error::msg)?;
    }
    let question = CapacityQuestion { pod, may_preempt: args.preempt, n_max: args.max };
    let patience = WallPatience::from_now(Some(args.budget));
    let report = capacity(&asked.simulator, &question, &mut |_| patience.goes_on())?;
    let text = match args.output {
        AnswerFormat::Text => visible_lines(&report.text()),
        AnswerFormat::Json => json_text(&Report::of(&report))?,
    };
    print(&text)?;
    Ok(if report.n > 0 { exit::OK } else { exit::PENDING })
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
