//! `schedscope live`: the console on a live cluster.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::args::{ConnectionArgs, LiveArgs, OutputFormat};
use super::setup::{self, Purpose, Recording};
use super::{Main, config, console, exit};
use crate::api::Kind;
use crate::config::{Gate, SchedulerConfig};
use crate::driver::desk::Desk;
use crate::driver::extender::HttpTransport;
use crate::driver::live::audit::{Audit, default_place};
use crate::driver::live::connect::{self, Connection, Target};
use crate::driver::live::deed::quote;
use crate::driver::live::elect::LeaseName;
use crate::driver::live::engine::{Engine, Mode};
use crate::driver::live::lease::ElectionOptions;
use crate::driver::live::plugin::Terminal;
use crate::driver::live::session::{LiveSetup, SessionThread, now as live_now, spawn, spawn_with_past};
use crate::driver::live::steering::Steering;
use crate::driver::session::{SessionCommand, SessionHandle, SessionView};
use crate::framework::Framework;
use crate::framework::extender::Extender;
use crate::framework::runtime::build_profiles;
use crate::recording::Header;
use crate::tui::widgets::text::clean;
use crate::tui::{self, ExitReason};

/// Opens the console. The answer is the exit code.
pub(super) fn run(args: &LiveArgs, program: &Main) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = console::options(&args.console)?;
    let configuration =
        config::load(args.config.as_deref(), &args.gates.list, program)?.map_err(anyhow::Error::msg)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("network")
        .enable_all()
        .build()
        .context("starting the network's threads")?;
    let connection = connection(&args.connection);
    let terminal = Terminal::default();
    let setup = runtime.block_on(prepare(args, &connection, &configuration, program, &terminal))?;
    if let Some(output) = args.output {
        console::start_plain_log(&args.console)?;
        let (setup, client, recorder, _) = setup;
        let (session, thread) = spawn(setup, &client, runtime).context("starting the session")?;
        let code = print(session, output);
        wait_for(thread)?;
        let code = code?;
        recorder.map(Recording::finish).transpose()?;
        return Ok(code);
    }
    tui::check(options.is_plain).map_err(|error| console::explain(&error))?;
    console::start_log(&args.console, &options.log)?;
    let (setup, client, recorder, desk) = setup;
    terminal.take();
    let (session, thread) = spawn_with_past(setup, &client, runtime, desk).context("starting the session")?;
    let reason = tui::run(session, options).map_err(|error| console::explain(&error));
    wait_for(thread)?;
    recorder.map(Recording::finish).transpose()?;
    match reason? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}

/// Waits until the session has given back what it holds.
fn wait_for(session: SessionThread) -> anyhow::Result<()> {
    if session.wait() { Ok(()) } else { Err(anyhow::anyhow!("the session has ended with a panic")) }
}

/// Prints what comes in until a signal comes. The answer is the exit code.
fn print(mut session: SessionHandle, output: OutputFormat) -> anyhow::Result<u8> {
    let runtime = Builder::new_current_thread().enable_all().build().context("waiting for signals")?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut printed = Printed::default();
        loop {
            printed.print(&session.view(), output)?;
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                is_alive = session.changed() => if !is_alive { break },
            }
        }
        session.send(SessionCommand::Quit);
        Ok(exit::OK)
    })
}

/// What was printed already.
#[derive(Default)]
struct Printed {
    has_started: bool,
    comparison: u64,
    notice: u64,
}

impl Printed {
    fn print(&mut self, view: &SessionView, output: OutputFormat) -> anyhow::Result<()> {
        let Some(live) = &view.live else { return Ok(()) };
        let mut out = std::io::stdout().lock();
        if live.has_started && !self.has_started {
            self.has_started = true;
            let informers: BTreeMap<&str, &str> =
                live.informers.iter().map(|row| (row.kind.resource(), row.state.as_str())).collect();
            match output {
                OutputFormat::Json => {
                    writeln!(out, "{}", json!({"started": live.target.server, "informers": informers}))?;
                }
                OutputFormat::Table => writeln!(out, "watching {}", clean(&live.target.server))?,
            }
        }
        if let Some(notice) = view.notice.as_ref().filter(|notice| notice.number > self.notice) {
            self.notice = notice.number;
            match output {
                OutputFormat::Json => writeln!(out, "{}", json!({"notice": notice.text}))?,
                OutputFormat::Table => writeln!(out, "{}", clean(&notice.text))?,
            }
        }
        let new: Vec<_> =
            live.comparisons.iter().take_while(|comparison| comparison.number > self.comparison).collect();
        for comparison in new.into_iter().rev() {
            let ours = comparison.ours.as_ref().map(ToString::to_string);
            match output {
                OutputFormat::Json => writeln!(
                    out,
                    "{}",
                    json!({
                        "at": comparison.at.to_rfc3339_micros(),
                        "pod": comparison.pod.to_string(),
                        "ours": ours,
                        "theirs": comparison.theirs.to_string(),
                        "agreement": comparison.agreement.as_str(),
                        "why": &*comparison.why,
                    })
                )?,
                OutputFormat::Table => writeln!(
                    out,
                    "{:9}  {}  ours {}  theirs {}  {}",
                    comparison.agreement.as_str(),
                    clean(&comparison.pod.to_string()),
                    clean(ours.as_deref().unwrap_or("-")),
                    clean(&comparison.theirs.to_string()),
                    clean(&comparison.why),
                )?,
            }
            self.comparison = comparison.number;
        }
        out.flush()?;
        Ok(())
    }
}

/// Finds the cluster, sees that it answers, and makes the scheduler.
async fn prepare(
    args: &LiveArgs,
    connection: &Connection,
    configuration: &SchedulerConfig,
    program: &Main,
    terminal: &Terminal,
) -> anyhow::Result<(LiveSetup, kube::Client, Option<Recording>, Desk)> {
    let (config, target) = connect::configure(connection).await?;
    let client = connect::client(config, connection, terminal).await?;
    connect::greet(&client, &target).await?;
    let extenders = Extender::all_from_config(&configuration.extenders);
    let transport = Arc::new(HttpTransport::new(&extenders)?);
    let options = setup::options(configuration, seed(), Purpose::Console);
    let kinds = kinds(configuration);
    let header = Header::new(configuration, &options, live_now(), &target.context);
    let (recorder, tap) = setup::start_recording(&args.record, &header, Purpose::Console, program)?.unzip();
    let engine = {
        let profiles = || profiles(configuration, program);
        Engine::new(profiles()?, profiles()?, options, &kinds, Mode::Observe)
    }
    .context("building the scheduler")?
    .recorded(tap);
    let header = header.context("the past of the session cannot be kept")?;
    let desk = Desk::new(header, setup::slim(&args.record, program), args.record.file.as_deref());
    let recording_file = args.record.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let kubectl = kubectl(connection, &target);
    let steering = steering(args.audit.as_deref(), args.serve_anyway, configuration, kubectl)?;
    let setup = LiveSetup {
        engine,
        kinds,
        target,
        qps: f64::from(configuration.document.client_connection.qps),
        burst: u32::try_from(configuration.document.client_connection.burst).unwrap_or(100),
        host: connect::host_name(),
        transport,
        is_running: !args.paused,
        election: election(args.leader_elect, configuration),
        is_armed: args.operate,
        served: None,
        recording_file: recording_file.into(),
        steering,
    };
    Ok((setup, client, recorder, desk.nameless(args.record.redact)))
}

/// The audit file and what else a person decides about operating.
pub(super) fn steering(
    audit: Option<&Path>,
    serves_anyway: bool,
    configuration: &SchedulerConfig,
    kubectl: String,
) -> anyhow::Result<Steering> {
    let audit = match audit {
        Some(path) => {
            Some(Audit::open(path).with_context(|| format!("--audit: opening {}", path.display()))?)
        }
        None => None,
    };
    let home = |name| std::env::var_os(name).map(PathBuf::from);
    let operator = ["USER", "LOGNAME"].into_iter().find_map(std::env::var_os);
    let operator = operator.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.is_empty());
    let operator = operator.unwrap_or_else(|| "unknown".to_owned());
    Ok(Steering {
        audit,
        audit_place: default_place(home("XDG_STATE_HOME").as_deref(), home("HOME").as_deref()),
        serves_anyway,
        delays_caches: configuration.document.delay_cache_until_active,
        operator: format!("{operator}@{}", connect::host_name()),
        kubectl,
    })
}

/// `kubectl` with the flags that lead to the same cluster; the token stays out.
pub(super) fn kubectl(args: &Connection, target: &Target) -> String {
    let mut text = "kubectl".to_owned();
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let path = shown(&args.kubeconfig);
    let (certificate, key) = (shown(&args.client_certificate), shown(&args.client_key));
    let flags = [
        ("kubeconfig", path.as_ref()),
        // The kubeconfig may have another current context by the time that somebody uses it.
        ("context", target.is_of_kubeconfig.then_some(&target.context)),
        ("cluster", args.cluster.as_ref()),
        ("user", args.user.as_ref()),
        ("server", args.server.as_ref()),
        ("client-certificate", certificate.as_ref()),
        ("client-key", key.as_ref()),
        ("as", args.impersonate.as_ref()),
        ("as-uid", args.impersonate_uid.as_ref()),
    ];
    for (flag, value) in flags.into_iter().filter_map(|(flag, value)| Some((flag, value?))) {
        text.push_str(&format!(" --{flag} {}", quote(value)));
    }
    text
}

/// How it is made sure that no other instance writes; absent with `--leader-elect=false`.
pub(super) fn election(
    leader_elect: Option<bool>,
    configuration: &SchedulerConfig,
) -> Option<(LeaseName, ElectionOptions)> {
    let leader = &configuration.document.leader_election;
    if !leader_elect.unwrap_or(leader.leader_elect.unwrap_or(true)) {
        return None;
    }
    let lease =
        LeaseName { namespace: leader.resource_namespace.clone(), name: leader.resource_name.clone() };
    let options = ElectionOptions {
        identity: format!("{}_{:x}", connect::host_name(), seed()),
        lease_duration: leader.lease_duration.to_std(),
        renew_deadline: leader.renew_deadline.to_std(),
        retry_period: leader.retry_period.to_std(),
    };
    Some((lease, options))
}

pub(super) fn profiles(configuration: &SchedulerConfig, program: &Main) -> anyhow::Result<Vec<Framework>> {
    let profiles = build_profiles(&configuration.profiles, program.registry(), &configuration.gates);
    Ok(profiles.context("building the profiles")?.into_values().collect())
}

/// Chance is chance in a live cluster; a recording keeps what it came to.
pub(super) fn seed() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the command line may look at the clock")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since_epoch.subsec_nanos()) ^ since_epoch.as_secs().rotate_left(32)
}

/// The kinds that are watched: all that the scheduler reads, but what it reads in files alone, and what belongs to a
/// gate that is off.
pub(super) fn kinds(configuration: &SchedulerConfig) -> Vec<Kind> {
    Kind::ALL
        .iter()
        .copied()
        .filter(|kind| match kind {
            // Admission and controllers have done their work by the time that a scheduler sees a pod.
            Kind::PriorityClass | Kind::ResourceClaimTemplate => false,
            Kind::PodGroup => configuration.gates.is_enabled(Gate::GenericWorkload),
            _ => true,
        })
        .collect()
}

pub(super) fn connection(args: &ConnectionArgs) -> Connection {
    Connection {
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        cluster: args.cluster.clone(),
        user: args.user.clone(),
        server: args.server.clone(),
        token: args.token.clone(),
        impersonate: args.impersonate.clone(),
        impersonate_groups: args.impersonate_groups.clone(),
        impersonate_uid: args.impersonate_uid.clone(),
        impersonate_extra: args.impersonate_extra.clone(),
        client_certificate: args.client_certificate.clone(),
        client_key: args.client_key.clone(),
        username: args.username.clone(),
        password: args.password.clone(),
        certificate_authority: args.certificate_authority.clone(),
        tls_server_name: args.tls_server_name.clone(),
        is_insecure: args.insecure_skip_tls_verify,
        request_timeout: args.request_timeout,
    }
}
