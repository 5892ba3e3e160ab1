//! `schedscope generate`: a cluster of a given size and mix, as manifests.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;

use super::run::print;
use super::{exit, tell};
use crate::driver::sandbox::generate::{GenerateOptions, Work, generate, parse_mix, parse_share};

/// `schedscope generate`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Work for --mix: web, api, batch, db (volumes), cache, gpu (an extended resource), devices \
                  (DynamicResources), system (a pod on every node). The same flags give the same bytes.\n\n\
                  Exit codes: 0 written; 2 such a cluster cannot be, or it cannot be written."
)]
pub struct GenerateArgs {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub nodes: usize,
    /// How many pods, those that are pending included; ten a node by default
    #[arg(long, value_name = "N")]
    pub pods: Option<usize>,
    /// Over how many zones
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub zones: usize,
    /// Which work, with how large a share of the pods each: web,batch or web=5,batch=2
    #[arg(long, value_name = "WORK[=SHARE],...", default_value = "web=4,api=3,batch=2,db=1,system=1")]
    pub mix: String,
    /// Where the random numbers start
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The share of the nodes' CPU that running pods ask for: 0.6 or 60%
    #[arg(long, value_name = "SHARE", default_value = "60%", value_parser = share)]
    pub utilization: u32,
    /// How many of the pods have no node: a number, or a share such as 5%
    #[arg(long, value_name = "N|SHARE%", default_value = "5%")]
    pub pending: String,
    /// Writes files into this folder, which is made; standard output without it
    #[arg(short = 'o', long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A share in thousandths.
fn share(text: &str) -> Result<u32, String> {
    parse_share(text).ok_or_else(|| "a share such as 0.6 or 60% is expected".to_owned())
}

/// Makes and writes. The answer is the exit code.
pub(super) fn run(args: &GenerateArgs) -> anyhow::Result<u8> {
    let pods = args.pods.unwrap_or(args.nodes.saturating_mul(10));
    let pending = match args.pending.ends_with('%') {
        true => {
            let share = share(&args.pending).map_err(|error| anyhow::anyhow!("--pending: {error}"))?;
            pods * share as usize / 1_000
        }
        false => args.pending.parse().with_context(|| format!("--pending: {:?}", args.pending))?,
    };
    let mix: Vec<(Work, u32)> = parse_mix(&args.mix).map_err(|error| anyhow::anyhow!("--mix: {error}"))?;
    let options = GenerateOptions {
        nodes: args.nodes,
        pods,
        zones: args.zones.min(args.nodes.max(1)),
        mix,
        seed: args.seed,
        utilization: args.utilization,
        pending,
    };
    options.check().map_err(|error| anyhow::anyhow!("--{error}"))?;
    let made = generate(&options);
    match &args.output {
        None => {
            for part in &made.parts {
                print(&part.text)?;
            }
        }
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            for part in &made.parts {
                let path = folder.join(part.file);
                if path.exists() {
                    bail!("{}: it is there already, and nothing is written over", path.display());
                }
            }
            for part in &made.parts {
                let path = folder.join(part.file);
                fs::write(&path, &part.text).with_context(|| path.display().to_string())?;
            }
        }
    }
    tell(&format!("{} nodes, {made}", args.nodes));
    Ok(exit::OK)
}
