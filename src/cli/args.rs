//! Subcommands and flags.

use super::capacity::CapacityArgs;
use super::compare::CompareArgs;
use super::explain::ExplainArgs;
use super::fix::FixArgs;
use super::generate::GenerateArgs;
use super::scenario::ScenarioArgs;
use super::serve_api::ServeApiArgs;
use super::serve_args::{AttachArgs, ServeArgs};
use super::whatif::WhatIfArgs;
use super::world::WorldArgs;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A terminal console with a complete Kubernetes scheduler inside it.
///
/// Without a subcommand it opens the console on an embedded sample cluster, paused. Nothing outside is touched.
#[derive(Debug, Parser)]
#[command(name = "schedscope", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 done; 1 some pods are still pending (run); 2 wrong input or command line."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Opens the console on a cluster from files, simulated and paused
    Sandbox(SandboxArgs),
    /// Opens the console on a live cluster: watches and predicts, and writes nothing until it is armed
    Live(Box<LiveArgs>),
    /// Is the scheduler of a cluster, without a terminal: elects, serves health and metrics, as kube-scheduler does
    Serve(Box<ServeArgs>),
    /// Opens the console on a scheduler that serves on this machine
    Attach(AttachArgs),
    /// Schedules a cluster from files until nothing moves, and prints where each pod went
    Run(RunArgs),
    /// Tells why a pod is pending or where it is, node by node, and what is one change away
    Explain(Box<ExplainArgs>),
    /// Finds what would let a pod run, each proven by a run in a copy
    Fix(Box<FixArgs>),
    /// Counts how many more pods like one fit, and tells what binds first
    Capacity(Box<CapacityArgs>),
    /// Tells what would be if the cluster changed: a drain, more nodes, another configuration
    Whatif(Box<WhatIfArgs>),
    /// Compares configurations over one cluster, recording or scenario: balance, fragmentation, waits
    Compare(Box<CompareArgs>),
    /// Makes a cluster of a given size and mix, as manifests
    Generate(GenerateArgs),
    /// Opens the console on a recording, or plays it without a screen and compares every decision
    Replay(ReplayArgs),
    /// Compares two recordings: which pods landed elsewhere and why, what each node got, how long pods waited
    Diff(DiffArgs),
    /// Replaces the names in a recording by pseudonyms, and proves that every decision stays
    Redact(RedactArgs),
    /// Makes a film, a report or a picture of a recording
    Export(ExportArgs),
    /// Makes a recording of what kube-scheduler-simulator has recorded or exported
    Import(ImportArgs),
    /// Teaches scheduling: short lessons in the console, with questions that the scheduler itself answers
    Learn(super::learn::LearnArgs),
    /// Shows, compares or checks a KubeSchedulerConfiguration
    Config(ConfigArgs),
    /// Prints a shell's completions of this command line
    Completions(CompletionsArgs),
    /// Prints a manual page: of the program, or of a subcommand
    Man(ManArgs),
    /// Compares this scheduler with kube-scheduler
    #[command(subcommand, hide = true)]
    Conformance(ConformanceCommand),
}

/// Where a cluster comes from.
#[derive(Clone, Debug, Default, Args)]
pub struct InputArgs {
    /// Manifests: a file, a folder, or - for standard input; such as `kubectl get nodes,pods -A -o yaml` prints
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-")]
    pub filenames: Vec<PathBuf>,
    /// Where the random numbers start that decide ties
    #[arg(long, value_name = "N", default_value_t = Self::SEED)]
    pub seed: u64,
    /// Devices of the nodes, for drivers that publish them: a small file, which the README describes
    #[arg(long, value_name = "FILE")]
    pub device_drivers: Option<PathBuf>,
    /// Leaves volumes, claims and devices as they are: nothing is bound, made or given back but by the scheduler
    #[arg(long, conflicts_with = "device_drivers")]
    pub no_controllers: bool,
    /// What lives in the cluster.
    #[command(flatten)]
    pub world: WorldArgs,
    /// A KubeSchedulerConfiguration: profiles, plugins, extenders, backoff; the default one if there is none
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
}

impl InputArgs {
    /// Where random numbers start if nothing else is said.
    pub const SEED: u64 = 1;
}

/// `schedscope sandbox`.
#[derive(Clone, Debug, Args)]
pub struct SandboxArgs {
    /// The cluster; the embedded sample if there is none.
    #[command(flatten)]
    pub input: InputArgs,
    /// What happens by itself.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Whether it is recorded.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Whether it is served as a Kubernetes API.
    #[command(flatten)]
    pub api: ServeApiArgs,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// `schedscope live`.
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    /// The cluster.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// A KubeSchedulerConfiguration: profiles, plugins, extenders, backoff; the default one if there is none
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
    /// Whether it is recorded.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Is the scheduler of the profiles' pods: binds them, reports on them, preempts for them
    #[arg(long)]
    pub operate: bool,
    /// Whether the lease of leaderElection is held before anything is written, so that no two instances do; as the
    /// configuration says without it, and true by default
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: Option<bool>,
    /// Serves a schedulerName although somebody else holds the lease of a scheduler for it
    #[arg(long)]
    pub serve_anyway: bool,
    /// Writes what is done in the cluster, withheld, refused or confirmed into this file, a JSON object a line; without
    /// it into schedscope/audit.jsonl in the folder of XDG_STATE_HOME, from the moment that anything is written
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Tries no pod before it is told to
    #[arg(long)]
    pub paused: bool,
    /// Opens no console and prints each decision of the cluster beside the one that was predicted, until a signal comes
    #[arg(short = 'o', long, value_enum)]
    pub output: Option<OutputFormat>,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// Which cluster, as whom; kubectl's flags.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// The kubeconfig; KUBECONFIG and ~/.kube/config without it, and in a pod of a cluster its service account
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The cluster of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// The user of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// The address of the API server
    #[arg(short = 's', long, value_name = "URL")]
    pub server: Option<String>,
    /// A bearer token
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The user to act as
    #[arg(long = "as", value_name = "USER")]
    pub impersonate: Option<String>,
    /// A group to act in; may be given several times
    #[arg(long = "as-group", value_name = "GROUP")]
    pub impersonate_groups: Vec<String>,
    /// The uid to act with
    #[arg(long = "as-uid", value_name = "UID")]
    pub impersonate_uid: Option<String>,
    /// What else to say of whom to act as; may be given several times
    #[arg(long = "as-user-extra", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub impersonate_extra: Vec<(String, String)>,
    /// The file of a client certificate
    #[arg(long, value_name = "FILE")]
    pub client_certificate: Option<PathBuf>,
    /// The file of its key
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<PathBuf>,
    /// The name for basic authentication
    #[arg(long, value_name = "NAME")]
    pub username: Option<String>,
    /// The password for basic authentication
    #[arg(long, value_name = "PASSWORD", hide_env_values = true)]
    pub password: Option<String>,
    /// The file of the authority that the server's certificate is from
    #[arg(long, value_name = "FILE")]
    pub certificate_authority: Option<PathBuf>,
    /// The name that the server's certificate is for
    #[arg(long, value_name = "NAME")]
    pub tls_server_name: Option<String>,
    /// Believes any server without a look at its certificate
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// How long a single request may take, such as 30s; 0 for ever
    #[arg(long, value_name = "DURATION", value_parser = request_timeout)]
    pub request_timeout: Option<std::time::Duration>,
}

impl std::fmt::Debug for ConnectionArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token stays out of every text.
        f.debug_struct("ConnectionArgs").field("context", &self.context).finish_non_exhaustive()
    }
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn request_timeout(text: &str) -> Result<std::time::Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds) => Ok(std::time::Duration::from_secs(seconds)),
        Err(_) => crate::tui::commands::parse_duration(text),
    }
}

/// `schedscope run`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every pod has a node, or all that the scenario expects is so; 1 some pods are pending, or \
                  something is not as the scenario expects; 2 wrong input."
)]
pub struct RunArgs {
    /// The cluster; the embedded sample if there is none.
    #[command(flatten)]
    pub input: InputArgs,
    /// What happens by itself.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Whether it is recorded.
    #[command(flatten)]
    pub record: RecordArgs,
    /// How the result is printed
    #[arg(short = 'o', long, value_enum, default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,
}

/// Recording.
#[derive(Clone, Debug, Default, Args)]
pub struct RecordArgs {
    /// Records everything that happens to the scheduler into this new file (.rec, or .rec.zst for a compressed one)
    #[arg(long = "record", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// An annotation whose text is recorded, for plugins of one's own; may be given several times
    #[arg(long = "record-annotation", value_name = "KEY", requires = "file")]
    pub annotations: Vec<String>,
    /// Records pseudonyms in place of names, namespaces, labels, images and uids
    #[arg(long, requires = "file")]
    pub redact: bool,
}

/// `schedscope diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exit codes: 0 all pods ended alike; 1 some did not; 2 a file cannot be read.")]
pub struct DiffArgs {
    /// Compares A with what it would have come to under this KubeSchedulerConfiguration
    #[arg(long, value_name = "FILE", conflicts_with = "b")]
    pub config: Option<PathBuf>,
    /// The feature gates of that; those of A if none are named
    #[arg(long, value_name = "A=true,B=false", default_value = "", requires = "config")]
    pub feature_gates: String,
    /// Keeps what it would have come to as a recording
    #[arg(long, value_name = "FILE", requires = "config")]
    pub record: Option<PathBuf>,
    /// How the result is printed
    #[arg(short = 'o', long, value_enum, default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,
    /// A recording
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Another one
    #[arg(value_name = "B", required_unless_present = "config")]
    pub b: Option<PathBuf>,
}

/// `schedscope redact`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 written; 1 written up to where the original was cut off; 2 nothing written."
)]
pub struct RedactArgs {
    /// The recording
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The new file with pseudonyms (.rec, or .rec.zst for a compressed one)
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
}

/// `schedscope export`.
#[derive(Clone, Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true)),
    after_help = "Places: `12` or `cycle:12` (behind an attempt), `input:345`, `marker:NAME`, `2m14s` (after the \
                  beginning), `start` (before the first attempt), `end`.\n\n\
                  Exit codes: 0 written; 1 written up to where the recording was cut off; 2 the file cannot be read, \
                  or has no such place; 3 the replay differs; 4 the recording is damaged."
)]
pub struct ExportArgs {
    /// A film for asciinema players (asciicast), with a marker at each attempt
    #[arg(long, group = "what")]
    pub cast: bool,
    /// A report in Markdown: verdicts, scores and outcome of each attempt
    #[arg(long, group = "what")]
    pub markdown: bool,
    /// A picture of the console in SVG
    #[arg(long, group = "what")]
    pub svg: bool,
    /// Where the film or the report begins
    #[arg(long, value_name = "PLACE", default_value = "start", conflicts_with = "svg")]
    pub from: String,
    /// Where it ends
    #[arg(long, value_name = "PLACE", default_value = "end", conflicts_with = "svg")]
    pub to: String,
    /// What the picture shows
    #[arg(long, value_name = "PLACE", default_value = "end", conflicts_with_all = ["cast", "markdown"])]
    pub at: String,
    /// The size of the console, in columns and rows
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x36", conflicts_with = "markdown")]
    pub size: String,
    /// Theme: dark, light, high-contrast, color-blind or solarized
    #[arg(long, value_name = "NAME", default_value = "dark", conflicts_with = "markdown")]
    pub theme: String,
    /// Uses ASCII characters alone
    #[arg(long, conflicts_with = "markdown")]
    pub ascii: bool,
    /// Keys that are pressed before the first picture, such as "3 z" for the matrix alone
    #[arg(long, value_name = "KEYS", default_value = "", conflicts_with = "markdown")]
    pub keys: String,
    /// How many times faster the film is than what was recorded
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["markdown", "svg"])]
    pub speed: u32,
    /// Each screen of the film stands at least so long
    #[arg(long, value_name = "DURATION", default_value = "500ms", conflicts_with_all = ["markdown", "svg"])]
    pub frame_min: String,
    /// Each screen of the film stands at most so long
    #[arg(long, value_name = "DURATION", default_value = "2s", conflicts_with_all = ["markdown", "svg"])]
    pub frame_max: String,
    /// The version of the film's format
    #[arg(long, value_name = "2|3", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3), conflicts_with_all = ["markdown", "svg"])]
    pub cast_version: u8,
    /// So many nodes have rows of their own in the tables of the report
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with_all = ["cast", "svg"])]
    pub nodes: usize,
    /// The new file; standard output if there is none
    #[arg(short = 'o', long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// The recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `schedscope import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exit codes: 0 written; 2 something is wrong with the file, and nothing was written.")]
pub struct ImportArgs {
    /// The new recording (.rec, or .rec.zst for a compressed one)
    #[arg(short = 'o', long, value_name = "OUT")]
    pub output: PathBuf,
    /// Where the random numbers start that decide ties
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A KubeSchedulerConfiguration, in place of the one in a snapshot; the default one if there is none
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
    /// A record (record.jsonl), or a snapshot (JSON)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `schedscope replay`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes of --check: 0 every decision and every state is as recorded; 1 so it is up to where the \
                        recording was cut off; 2 the file cannot be read, is no recording, or needs another version; \
                        3 the replay differs; 4 the recording is damaged."
)]
pub struct ReplayArgs {
    /// Plays it without a screen and compares every decision and every state
    #[arg(long)]
    pub check: bool,
    /// How the result is printed
    #[arg(short = 'o', long, value_enum, default_value_t = OutputFormat::Table, requires = "check")]
    pub output: OutputFormat,
    /// The recording: a file, or the name of one that comes with the program; without it those are listed
    #[arg(value_name = "FILE|NAME")]
    pub file: Option<PathBuf>,
    /// What other modes have and a replay has not: it is there to say so.
    #[arg(long, value_name = "FILE", hide = true)]
    pub record: Option<PathBuf>,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// `schedscope completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `schedscope man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Writes the pages of the program and of each subcommand into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "subcommands")]
    pub out: Option<PathBuf>,
    /// The subcommand, such as `config view`; the program itself without it
    #[arg(value_name = "SUBCOMMAND")]
    pub subcommands: Vec<String>,
}

/// `schedscope config`.
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What to do with a configuration.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Prints the configuration with all defaults, and the plugins that each profile runs, in order
    View(ConfigViewArgs),
    /// Prints what differs from the default configuration
    Diff(ConfigFileArgs),
    /// Checks a configuration and tells of everything that is wrong with it; exit code 2 if anything is
    Validate(ConfigValidateArgs),
}

/// `schedscope config view`.
#[derive(Clone, Debug, Args)]
pub struct ConfigViewArgs {
    /// The configuration.
    #[command(flatten)]
    pub file: ConfigFileArgs,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = ConfigFormat::Table)]
    pub output: ConfigFormat,
}

/// Which configuration.
#[derive(Clone, Debug, Args)]
pub struct ConfigFileArgs {
    /// A KubeSchedulerConfiguration, or - for standard input; the default configuration if there is none
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
}

/// `schedscope config validate`.
#[derive(Clone, Debug, Args)]
pub struct ConfigValidateArgs {
    /// A KubeSchedulerConfiguration, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
}

/// Feature gates.
#[derive(Clone, Debug, Default, Args)]
pub struct GateArgs {
    /// Feature gates as kube-scheduler takes them, such as GenericWorkload=true,GangScheduling=true
    #[arg(long = "feature-gates", value_name = "LIST", default_value = "", hide_default_value = true)]
    pub list: String,
}

/// How a configuration is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// For people.
    Table,
    /// The two documents: the configuration, and `effectivePlugins`.
    Yaml,
}

/// `schedscope conformance`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConformanceCommand {
    /// Decides each pending pod by itself and prints a line of JSON for each
    Decide(DecideArgs),
    /// Schedules the pending pods of each cluster and prints what the scheduling cycles cost
    Bench(BenchArgs),
    /// Plays a script against a cluster and prints what happened, command by command
    Run(ScriptArgs),
}

/// `schedscope conformance run`.
#[derive(Clone, Debug, Args)]
pub struct ScriptArgs {
    /// The commands, one a line
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// A KubeSchedulerConfiguration, in place of the config.yaml of the folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
    /// The folder with cluster.yaml, pending.yaml, config.yaml, and the files that the script names
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `schedscope conformance bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// Compares with a scheduler that is recorded into this new file; for one folder
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Compares with a scheduler whose metrics are counted as `serve` counts them
    #[arg(long, conflicts_with = "record")]
    pub metered: bool,
    /// Folders with cluster.yaml, pending.yaml and config.yaml
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
}

/// `schedscope conformance decide`.
#[derive(Clone, Debug, Args)]
pub struct DecideArgs {
    /// A KubeSchedulerConfiguration, in place of the config.yaml of a folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
    /// Only this pod, by namespace/name or name; may be given several times
    #[arg(long = "pod", value_name = "POD")]
    pub pods: Vec<String>,
    /// Manifests, or folders with cluster.yaml, pending.yaml and config.yaml
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// How the console looks and behaves.
#[derive(Clone, Debug, Args)]
pub struct ConsoleArgs {
    /// Theme: dark, light, high-contrast, color-blind, solarized, mono, one of your own, or the
    /// path of a .toml file [default: dark]
    #[arg(long, value_name = "NAME|FILE", env = "SCHEDSCOPE_THEME")]
    pub theme: Option<String>,
    /// How many colours the terminal has [default: auto]
    #[arg(long, value_enum)]
    pub color: Option<ColorWhen>,
    /// Uses ASCII characters alone
    #[arg(long)]
    pub ascii: bool,
    /// Reads commands and prints lines of text instead of drawing a screen; for screen readers,
    /// plain terminals and scripts
    #[arg(long)]
    pub plain: bool,
    /// Leaves the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Shows changes without lighting them up
    #[arg(long)]
    pub reduced_motion: bool,
    /// A file with key bindings, laid over the built-in ones
    #[arg(long, value_name = "FILE")]
    pub keymap: Option<PathBuf>,
    /// The folder of your own settings, keys and themes [default: $XDG_CONFIG_HOME/schedscope, or
    /// ~/.config/schedscope]
    #[arg(long, value_name = "DIR", env = "SCHEDSCOPE_SETTINGS")]
    pub settings: Option<PathBuf>,
    /// Writes log lines to this file as well
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Which log lines are kept, such as `info` or `schedscope=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// How many colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// As the environment says (NO_COLOR, COLORTERM, TERM).
    Auto,
    /// None.
    Never,
    /// 16 colours.
    #[value(name = "16")]
    Ansi16,
    /// 256 colours.
    #[value(name = "256")]
    Ansi256,
    /// All colours.
    Truecolor,
}
