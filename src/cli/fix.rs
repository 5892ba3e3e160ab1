//! `schedscope fix`: what would let a pod run, each proven by a run.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::asked::{AnswerFormat, Asked, AskedArgs};
use super::run::{json_text, print, visible_lines};
use super::{Main, exit};
use crate::api::objects::Pod;
use crate::driver::advice::WallPatience;
use crate::driver::fix::{Fix, FixQuestion, FixReport, find};
use crate::tui::commands::parse_duration;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/fix/v1";

/// `schedscope fix`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without -f, --live or --rec the embedded sample is asked. docs/fix.md tells what is tried and what it \
                  costs. Nothing is changed: every fix is run in a copy.\n\n\
                  Exit codes: 0 a fix was found, or none is needed; 1 none was found within the budget; 2 wrong input."
)]
pub struct FixArgs {
    /// The pod: NAME or NAMESPACE/NAME
    #[arg(value_name = "POD", required_unless_present = "pod_file")]
    pub pod: Option<String>,
    /// Looks for a fix for this pod, which is in no cluster yet
    #[arg(long = "pod", value_name = "FILE", conflicts_with = "pod")]
    pub pod_file: Option<PathBuf>,
    /// The node that the pod shall get to
    #[arg(long, value_name = "NODE")]
    pub onto: Option<String>,
    /// When the search ends: a time such as 10s, or a number of runs such as 20runs
    #[arg(long, value_name = "TIME|RUNS", default_value = "10s", value_parser = budget)]
    pub budget: Budget,
    /// How many fixes are enough
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max: usize,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = AnswerFormat::Text)]
    pub output: AnswerFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// After that time.
    Time(std::time::Duration),
    /// After so many runs.
    Runs(usize),
}

fn budget(text: &str) -> Result<Budget, String> {
    if let Some(runs) = text.strip_suffix("runs").or_else(|| text.strip_suffix("run")) {
        let runs =
            runs.trim().parse().map_err(|_| format!("{text:?} is no number of runs such as 20runs"))?;
        return Ok(Budget::Runs(runs));
    }
    parse_duration(text).map(Budget::Time)
}

/// Looks for fixes. The answer is the exit code.
pub(super) fn run(args: &FixArgs, program: &Main) -> anyhow::Result<u8> {
    let mut asked = Asked::find(&args.asked, program)?;
    let key = asked.subject(args.pod.as_deref(), args.pod_file.as_deref(), &args.asked)?;
    let onto = args.onto.as_deref().map(|node| asked.node(node)).transpose()?;
    let (time, n_runs_max) = match args.budget {
        Budget::Time(time) => (Some(time), usize::MAX),
        Budget::Runs(runs) => (None, runs),
    };
    let question = FixQuestion { onto, n_wanted: args.max, n_runs_max, ..FixQuestion::any(key.clone()) };
    let patience = WallPatience::from_now(time);
    let report = find(&asked.simulator, &question, &mut |_| patience.goes_on())?;
    let pod = asked.simulator.scheduler().objects().pods.get(&key).cloned().unwrap_or_default();
    let text = match args.output {
        AnswerFormat::Text => visible_lines(&text(&report, &pod, &asked.kubectl)),
        AnswerFormat::Json => json_text(&Report::of(&report, &pod, &asked.kubectl))?,
    };
    print(&text)?;
    let is_fine = report.is_fine_on.is_some() || !report.fixes.is_empty();
    Ok(if is_fine { exit::OK } else { exit::PENDING })
}

fn text(report: &FixReport, pod: &Pod, kubectl: &str) -> String {
    let key = &report.question.pod;
    if let Some(node) = &report.is_fine_on {
        return format!("Nothing needs to change: pod {key} gets to {node} by itself.\n");
    }
    let mut text = format!("Pod {key} does not run: {}\n", report.message);
    if report.message.is_empty() {
        text = match &report.question.onto {
            Some(node) => format!("Pod {key} does not get to {node} by itself.\n"),
            None => format!("Pod {key} has no node.\n"),
        };
    }
    let progress = &report.progress;
    if report.fixes.is_empty() {
        text.push('\n');
        text.push_str(&report.not_found().join("\n"));
        text.push('\n');
        return text;
    }
    for (i, fix) in report.fixes.iter().enumerate() {
        text.push_str(&format!("\n{}. {}\n", i + 1, fix.title()));
        let alike = match fix.n_alike {
            0 => String::new(),
            n => format!("; the same would do for {n} more nodes"),
        };
        text.push_str(&format!("   cost {}: runs on {}{alike}\n", fix.cost, fix.node));
        for line in fix.effects.lines() {
            text.push_str(&format!("   {line}\n"));
        }
        for command in fix.commands(pod, kubectl) {
            text.push_str(&format!("     {command}\n"));
        }
    }
    let cut = report.cut.map(|why| format!(" The search ended early: {why}.")).unwrap_or_default();
    text.push_str(&format!(
        "\nEach was run in a copy until nothing moved: {} runs for {} sets of changes.{cut}\n",
        progress.n_runs, progress.n_candidates
    ));
    text
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    schema: &'static str,
    pod: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    onto: Option<String>,
    /// `fine`, `found` or `notFound`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    message: &'a str,
    fixes: Vec<FixJson>,
    candidates: usize,
    asked: usize,
    runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_early: Option<&'static str>,
    tried: Vec<Tried<'a>>,
    unanswered: Vec<Unanswered<'a>>,
    too_large: &'a [String],
}

#[derive(Serialize)]
struct Tried<'a> {
    changes: &'a str,
    sets: usize,
}

#[derive(Serialize)]
struct Unanswered<'a> {
    what: &'a str,
    nodes: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FixJson {
    cost: u32,
    node: String,
    changes: Vec<ChangeJson>,
    commands: Vec<String>,
    evicted: Vec<String>,
    stuck: Vec<String>,
    moved: Vec<MovedJson>,
    also_placed: Vec<PlacedJson>,
    alike: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeJson {
    kind: &'static str,
    what: String,
    cost: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pod_patch: Vec<crate::driver::fix::patch::PatchOp>,
}

#[derive(Serialize)]
struct MovedJson {
    pod: String,
    from: String,
    to: String,
}

#[derive(Serialize)]
struct PlacedJson {
    pod: String,
    node: String,
}

impl<'a> Report<'a> {
    fn of(report: &'a FixReport, pod: &Pod, kubectl: &str) -> Self {
        let outcome = match (&report.is_fine_on, report.fixes.is_empty()) {
            (Some(_), _) => "fine",
            (None, false) => "found",
            (None, true) => "notFound",
        };
        Self {
            schema: SCHEMA,
            pod: report.question.pod.to_string(),
            onto: report.question.onto.as_ref().map(ToString::to_string),
            outcome,
            node: report.is_fine_on.as_ref().map(ToString::to_string),
            message: &report.message,
            fixes: report.fixes.iter().map(|fix| FixJson::of(fix, pod, kubectl)).collect(),
            candidates: report.progress.n_candidates,
            asked: report.progress.n_asked,
            runs: report.progress.n_runs,
            ended_early: report.cut,
            tried: report.tried.iter().map(|(changes, sets)| Tried { changes, sets: *sets }).collect(),
            unanswered: report
                .unanswered
                .iter()
                .map(|(what, nodes)| Unanswered { what, nodes: *nodes })
                .collect(),
            too_large: &report.too_large,
        }
    }
}

impl FixJson {
    fn of(fix: &Fix, pod: &Pod, kubectl: &str) -> Self {
        let names = |keys: &[crate::api::NamespacedName]| keys.iter().map(ToString::to_string).collect();
        let effects = &fix.effects;
        let changes = fix.changes.iter().map(|change| ChangeJson {
            kind: change.kind.code(),
            what: change.what.clone(),
            cost: change.cost,
            pod_patch: change.ops().to_vec(),
        });
        let moved = effects.moved.iter().map(|(pod, from, to)| MovedJson {
            pod: pod.to_string(),
            from: from.to_string(),
            to: to.to_string(),
        });
        let placed = effects
            .also_placed
            .iter()
            .map(|(pod, node)| PlacedJson { pod: pod.to_string(), node: node.to_string() });
        Self {
            cost: fix.cost,
            node: fix.node.to_string(),
            changes: changes.collect(),
            commands: fix.commands(pod, kubectl),
            evicted: names(&effects.evicted),
            stuck: names(&effects.stuck),
            moved: moved.collect(),
            also_placed: placed.collect(),
            alike: fix.n_alike,
        }
    }
}
