//! `schedscope explain`: why a pod is pending, or where it is, and what is one change away.

use std::path::PathBuf;

use clap::Args;

use super::asked::{Asked, AskedArgs};
use super::run::{json_text, print, visible_lines};
use super::whatif::ReportFormat;
use super::{Main, exit};
use crate::explain::report::{Form, explain, render};

/// `schedscope explain`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without -f, --live or --rec the embedded sample is asked. docs/explain.md tells of the JSON form and of \
                  the reason codes.\n\n\
                  Exit codes: 0 the pod is placed, or would be now; 1 it is not; 2 wrong input."
)]
pub struct ExplainArgs {
    /// The pod: NAME or NAMESPACE/NAME
    #[arg(value_name = "POD", required_unless_present = "pod_file")]
    pub pod: Option<String>,
    /// Explains this pod, which is in no cluster yet
    #[arg(long = "pod", value_name = "FILE", conflicts_with = "pod")]
    pub pod_file: Option<PathBuf>,
    /// Why not that node: its refusals, or its points beside the chosen one's
    #[arg(long, value_name = "NODE")]
    pub against: Option<String>,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// Explains. The answer is the exit code.
pub(super) fn run(args: &ExplainArgs, program: &Main) -> anyhow::Result<u8> {
    let mut asked = Asked::find(&args.asked, program)?;
    let pod = asked.subject(args.pod.as_deref(), args.pod_file.as_deref(), &args.asked)?;
    let against = args.against.as_deref().map(|node| asked.node(node)).transpose()?;
    let mut explanation = explain(asked.simulator.scheduler(), &pod, against.as_ref())?;
    if args.pod_file.is_some() {
        explanation.is_hypothetical = true;
        explanation.notes.push("The pod is in no cluster: this is what would become of it.".to_owned());
    }
    let text = match args.output {
        ReportFormat::Text => visible_lines(&render(&explanation, Form::Text)),
        ReportFormat::Markdown => visible_lines(&render(&explanation, Form::Markdown)),
        ReportFormat::Json => json_text(&explanation)?,
    };
    print(&text)?;
    Ok(if explanation.status.is_placed() { exit::OK } else { exit::PENDING })
}
