//! `schedscope sandbox --serve-api`: the sandbox as a Kubernetes API, with the console or without.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::args::SandboxArgs;
use super::run::print;
use super::setup::{self, Purpose, Recording};
use super::{Main, console, exit, tell};
use crate::api::manifest;
use crate::api::objects::{Namespace, ObjectMeta, PriorityClass};
use crate::api::{Object, Str, Time};
use crate::config::SchedulerConfig;
use crate::driver::api_server::mirror::Mirror;
use crate::driver::api_server::server::{Place, Server};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::session::{SessionHandle, Speed, spawn_served};
use crate::tui::{self, ExitReason};

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// The priority classes that every cluster has.
const PRIORITY_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
/// What the name of a profile gets that is not to schedule anything: no pod asks for such a scheduler.
const IDLE_SUFFIX: &str = "/off";

/// How a sandbox is served.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Serving the sandbox as a Kubernetes API")]
pub struct ServeApiArgs {
    /// Serves the sandbox as a Kubernetes API on this address of the loopback interface, so that kubectl and other
    /// clients work with it; on a free port without an address. Simulated time then begins now and goes on by itself
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0",
          conflicts_with_all = ["scenario", "script"])]
    pub serve_api: Option<SocketAddr>,
    /// Writes the kubeconfig for the clients into this file, which only you can read; without it into
    /// schedscope/sandbox.kubeconfig in the folder of XDG_STATE_HOME
    #[arg(long, value_name = "FILE", requires = "serve_api")]
    pub kubeconfig_out: Option<PathBuf>,
    /// Opens no console: serves until a signal comes
    #[arg(long, requires = "serve_api")]
    pub no_console: bool,
    /// Leaves scheduling to a client, such as a real kube-scheduler
    #[arg(long, requires = "serve_api")]
    pub no_scheduler: bool,
    /// Lets simulated time stand until the console lets it go; the scheduler of the sandbox tries nothing before
    #[arg(long, requires = "serve_api", conflicts_with = "no_console")]
    pub paused: bool,
    /// How many times faster than the clock simulated time goes; ten attempts to schedule are made in a simulated second
    #[arg(long, value_name = "N", requires = "serve_api", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub speed: u32,
}

impl ServeApiArgs {
    /// Whether anything is to be served.
    pub(super) const fn is_wanted(&self) -> bool {
        self.serve_api.is_some()
    }
}

/// Serves, until the console is left or a signal comes. The answer is the exit code.
pub(super) fn run(args: &SandboxArgs, program: &Main) -> anyhow::Result<u8> {
    let Some(address) = args.api.serve_api else { bail!("--serve-api is not given") };
    // Everything that can be wrong is found before the terminal is touched.
    let options = if args.api.no_console { None } else { Some(console::options(&args.console)?) };
    let file = match &args.api.kubeconfig_out {
        Some(file) => file.clone(),
        None => state_file().context("--kubeconfig-out: HOME is not set, so say where it goes")?,
    };
    let place = Place::take(address).context("--serve-api")?;
    let now = now();
    let has_scheduler = !args.api.no_scheduler;
    let purpose = Purpose::Console;
    let setup = setup::build_prepared(
        &args.input,
        &args.record,
        purpose,
        program,
        now,
        |configuration, api, sources| {
            prepare(configuration, api, has_scheduler, now);
            for refused in api.serve_whole(manifest::whole(sources), now) {
                tell(&format!("not served: {refused}"));
            }
        },
    )?;
    if let Some(options) = &options {
        tui::check(options.is_plain).map_err(|error| console::explain(&error))?;
        console::start_log(&args.console, &options.log)?;
    }
    // Versions go on from one time that a sandbox is served to the next: nobody takes one for another.
    let mirror = Mirror::new(now.as_nanos() / 1_000, now);
    let speed = Some(Speed::Times(args.api.speed)).filter(|_| !args.api.paused);
    let greeting = format!("serving at {}; for kubectl: export KUBECONFIG={}", place.url(), file.display());
    let seen = Arc::clone(&mirror);
    let (session, writer) = spawn_served(setup.simulator, setup.source, setup.desk, seen, speed, &greeting)
        .context("starting the session")?;
    let server = place.serve(mirror, writer).context("--serve-api")?;
    write_kubeconfig(&file, &server.kubeconfig)?;
    let code = match options {
        None => {
            for line in &setup.notes {
                tell(line);
            }
            serve_until_signal(&server, &file, session)?
        }
        Some(options) => {
            for line in &setup.notes {
                tracing::info!(target: "load", "{line}");
            }
            tracing::info!(target: "api", "{greeting}");
            let reason = tui::run(session, options).map_err(|error| console::explain(&error))?;
            match reason {
                ExitReason::Quit | ExitReason::TerminalGone => exit::OK,
                ExitReason::Signal(number) => exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0)),
            }
        }
    };
    // What it says leads nowhere any more; what somebody else has put there meanwhile stays.
    if fs::read_to_string(&file).is_ok_and(|text| text == server.kubeconfig) {
        let _ = fs::remove_file(&file);
    }
    drop(server);
    setup.recorder.map(Recording::finish).transpose()?;
    Ok(code)
}

fn now() -> Time {
    #[expect(clippy::disallowed_methods, reason = "the command line may look at the clock")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_secs(since_epoch.as_secs())
}

/// Puts into the cluster what every cluster has.
fn prepare(configuration: &mut SchedulerConfig, api: &mut SandboxApi, has_scheduler: bool, now: Time) {
    if !has_scheduler {
        for profile in &mut configuration.profiles {
            profile.scheduler_name = format!("{}{IDLE_SUFFIX}", profile.scheduler_name).into();
        }
    }
    let mut namespaces: Vec<Str> = NAMESPACES.map(Str::from).to_vec();
    let known = api.objects().iter().map(|object| object.key().namespace);
    namespaces.extend(known.filter(|namespace| !namespace.is_empty()));
    namespaces.sort_unstable();
    namespaces.dedup();
    let named = |name: Str| ObjectMeta { name, ..ObjectMeta::default() };
    let namespaces = namespaces.into_iter().map(|name| Object::from(Namespace { metadata: named(name) }));
    let classes = PRIORITY_CLASSES.into_iter().map(|(name, value)| {
        Object::from(PriorityClass { metadata: named(name.into()), value, ..PriorityClass::default() })
    });
    for object in namespaces.chain(classes) {
        // One that is there already stays.
        let _ = api.create(object, now);
    }
}

/// `schedscope/sandbox.kubeconfig` in the folder of XDG_STATE_HOME.
fn state_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(folder.join("schedscope/sandbox.kubeconfig"))
}

/// Writes the file anew, for its owner alone: who reads it can write into the sandbox. A file of somebody else stays.
fn write_kubeconfig(file: &Path, text: &str) -> anyhow::Result<()> {
    let is_there = file.symlink_metadata().is_ok();
    if is_there && !fs::read_to_string(file).is_ok_and(|text| is_ours(&text)) {
        bail!(
            "--kubeconfig-out: {} is there already and is not from here: name another file",
            file.display()
        );
    }
    let written = || {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        if is_there {
            fs::remove_file(file)?;
        }
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        out.write_all(text.as_bytes())
    };
    written().with_context(|| format!("--kubeconfig-out: writing {}", file.display()))
}

/// Whether a kubeconfig was written by an earlier sandbox.
fn is_ours(text: &str) -> bool {
    let config: Option<serde_json::Value> = serde_json::from_str(text).ok();
    config.is_some_and(|config| {
        let clusters = config["clusters"].as_array().map_or(&[][..], Vec::as_slice);
        matches!(clusters, [cluster] if cluster["name"] == "schedscope")
    })
}

fn serve_until_signal(server: &Server, file: &Path, mut session: SessionHandle) -> anyhow::Result<u8> {
    print(&format!("{}\nexport KUBECONFIG={}\n", server.url, file.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting")?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).context("waiting for signals")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("waiting for signals")?;
        loop {
            tokio::select! {
                _ = terminate.recv() => return Ok(exit::OK),
                _ = interrupt.recv() => return Ok(exit::OK),
                is_there = session.changed() => if !is_there {
                    bail!("the session has ended");
                }
            }
            if let Some(failure) = &session.view().failure {
                bail!("the session has ended: {failure}");
            }
        }
    })
}
