//! `schedscope serve`: a scheduler without a terminal.
//!
//! Follows `cmd/kube-scheduler/app`: it elects by default, serves health and metrics, and ends with the lease.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::{Client, Config};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::klog::Klog;
use super::serve_args::{ServeArgs, ServerArgs};
use super::setup::{self, Purpose, Recording};
use super::{Main, attach, config, exit, live};
use crate::config::{FeatureGates, Gate, SchedulerConfig};
use crate::driver::extender::HttpTransport;
use crate::driver::live::connect::{self, Connection};
use crate::driver::live::elect::LeaseName;
use crate::driver::live::engine::{Engine, Mode};
use crate::driver::live::lease::ElectionOptions;
use crate::driver::live::plugin::Terminal;
use crate::driver::live::session::{Leadership, LiveSetup, Served, SessionThread, now, spawn};
use crate::driver::metrics::families::Metric;
use crate::driver::metrics::meter::SchedulerMeter;
use crate::driver::metrics::registry::Registry;
use crate::driver::metrics::work_queue::WorkQueue;
use crate::driver::serve::auth::{Guard, GuardOptions};
use crate::driver::serve::authorities::{Authorities, AuthorityOptions, ProxyHeaders};
use crate::driver::serve::certs::{CertOptions, ServingCert, server_config};
use crate::driver::serve::health::{Health, Standing};
use crate::driver::serve::http::{Endpoints, serve};
use crate::driver::serve::reload::follow;
use crate::driver::session::{SessionCommand, SessionHandle};
use crate::framework::RequestOptions;
use crate::framework::extender::Extender;
use crate::recording::Header;
use crate::tui::remote;

/// The kube-scheduler that is followed.
const KUBERNETES_VERSION: &str = "v1.36.3";
/// So long deeds under way are waited for when it ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// Leases need so much more between their times (`JitterFactor`).
const JITTER: f64 = 1.2;

/// Serves until a signal comes or the lease is lost. The answer is the exit code.
pub(super) fn run(args: &ServeArgs, program: &Main) -> anyhow::Result<u8> {
    let configuration = configuration(args, program)?;
    let election = election(&configuration)?;
    let lease_name = election.as_ref().map(|(lease, _)| lease.name.clone()).unwrap_or_default();
    tracing_subscriber::registry()
        .with(Klog { format: args.logging_format, verbosity: args.verbosity })
        .try_init()
        .context("starting the log")?;
    let serving = runtime("serve")?;
    let network = runtime("network")?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        kubernetes = KUBERNETES_VERSION,
        "Starting Kubernetes Scheduler"
    );

    let registry = Arc::new(Registry::default());
    describe(&registry, &configuration.gates);
    let standing = Arc::new(Standing::default());
    let (inspection_sender, inspections) = mpsc::unbounded_channel();
    let (leadership_sender, leadership) = watch::channel(Leadership::None);
    let registry_for_requests = Arc::clone(&registry);
    let watchdog = Arc::clone(&standing.watchdog);
    let served =
        Served { registry: registry_for_requests, inspections, leadership: leadership_sender, watchdog };
    let is_elected = election.is_some();
    if let Some((lease, _)) = &election {
        let lock = format!("{}/{}", lease.namespace, lease.name);
        tracing::info!(lock, "Attempting to acquire leader lease...");
        registry.set(Metric::LeaderElectionMasterStatus, &[&lease_name], 0.0);
    }
    let prepared = prepare(args, (&configuration, program), &registry, election, served);
    let (setup, client, recorder) = network.block_on(prepared)?;
    let target = setup.target.clone();
    if target.is_insecure {
        tracing::warn!(server = target.server, "The certificate of the API server is not looked at");
    }
    let endpoints = Arc::new(Endpoints {
        health: Health::new(Arc::clone(&standing), Arc::clone(&registry), is_elected),
        standing,
        registry,
        configz: configz(&configuration),
        inspections: inspection_sender,
        requests: RequestOptions::from_gates(&configuration.gates),
    });
    serving.block_on(listen(&args.server, &endpoints))?;
    let (session, thread) = spawn(setup, &client, network).context("starting the session")?;
    let session = Arc::new(Mutex::new(session));
    let _consoles = match &args.console_socket {
        None => None,
        Some(path) => {
            let path = attach::socket(path.as_ref())?;
            let _context = serving.enter();
            let host = remote::host::open(&path, Arc::clone(&session))
                .with_context(|| format!("--console-socket: {}", path.display()))?;
            tracing::info!(socket = %path.display(), "Consoles may attach");
            Some(host)
        }
    };
    let watching = Arc::clone(&endpoints);
    serving.spawn(async move { watching.watch_for_sync().await });
    let end = serving.block_on(until_end(leadership, &endpoints, &lease_name));
    let code = finish(&serving, end?, &session, thread, &endpoints);
    recorder.map(Recording::finish).transpose()?;
    code
}

fn runtime(name: &str) -> anyhow::Result<Runtime> {
    let built = Builder::new_multi_thread().worker_threads(2).thread_name(name).enable_all().build();
    built.with_context(|| format!("starting the threads of {name}"))
}

/// The configuration with what flags say.
fn configuration(args: &ServeArgs, program: &Main) -> anyhow::Result<SchedulerConfig> {
    let mut configuration =
        config::load(args.config.as_deref(), &args.gates.list, program)?.map_err(anyhow::Error::msg)?;
    let leader = &mut configuration.document.leader_election;
    let flags = &args.election;
    leader.leader_elect = flags.leader_elect.or(leader.leader_elect).or(Some(true));
    for (flag, field) in [
        (&flags.leader_elect_resource_name, &mut leader.resource_name),
        (&flags.leader_elect_resource_namespace, &mut leader.resource_namespace),
        (&flags.leader_elect_resource_lock, &mut leader.resource_lock),
    ] {
        if let Some(value) = flag {
            field.clone_from(value);
        }
    }
    for (flag, field) in [
        (flags.leader_elect_lease_duration, &mut leader.lease_duration),
        (flags.leader_elect_renew_deadline, &mut leader.renew_deadline),
        (flags.leader_elect_retry_period, &mut leader.retry_period),
    ] {
        if let Some(value) = flag {
            field.0 = i64::try_from(value.as_nanos()).unwrap_or(i64::MAX);
        }
    }
    let client = &mut configuration.document.client_connection;
    if let Some(path) = &args.kubeconfig {
        client.kubeconfig = path.display().to_string();
    }
    Ok(configuration)
}

/// How the election is held; absent with `--leader-elect=false`.
fn election(configuration: &SchedulerConfig) -> anyhow::Result<Option<(LeaseName, ElectionOptions)>> {
    let Some((lease, options)) = live::election(None, configuration) else { return Ok(None) };
    if options.lease_duration <= options.renew_deadline {
        bail!("leader election: leaseDuration must be greater than renewDeadline");
    }
    if options.renew_deadline.as_secs_f64() <= JITTER * options.retry_period.as_secs_f64() {
        bail!("leader election: renewDeadline must be greater than retryPeriod*JitterFactor");
    }
    if options.retry_period.is_zero() {
        bail!("leader election: retryPeriod must be greater than zero");
    }
    Ok(Some((lease, options)))
}

/// What is known of the program from the start.
fn describe(registry: &Registry, gates: &FeatureGates) {
    for gate in Gate::ALL {
        let stage = gate.stage().as_str();
        let number = if gates.is_enabled(*gate) { 1.0 } else { 0.0 };
        registry.set(Metric::KubernetesFeatureEnabled, &[gate.as_str(), stage], number);
    }
    let version = KUBERNETES_VERSION;
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let labels = ["", "rustc", "", "", version, "", major, minor, &platform];
    registry.set(Metric::KubernetesBuildInfo, &labels, 1.0);
    let binary = format!("{major}.{minor}");
    let before = minor.parse::<u32>().map(|minor| format!("{major}.{}", minor.saturating_sub(1)));
    let labels = [&binary, "kube", &binary, &before.unwrap_or_default()];
    registry.set(Metric::VersionInfo, &labels, 1.0);
    registry.count_families();
}

/// What `/configz` says.
fn configz(configuration: &SchedulerConfig) -> String {
    json!({"componentconfig": configuration.document.to_document()}).to_string()
}

async fn prepare(
    args: &ServeArgs,
    (configuration, program): (&SchedulerConfig, &Main),
    registry: &Arc<Registry>,
    election: Option<(LeaseName, ElectionOptions)>,
    served: Served,
) -> anyhow::Result<(LiveSetup, Client, Option<Recording>)> {
    let configured = &configuration.document.client_connection;
    let kubeconfig = Some(PathBuf::from(&configured.kubeconfig)).filter(|path| !path.as_os_str().is_empty());
    let connection = Connection {
        kubeconfig: args.kubeconfig.clone().or(kubeconfig),
        server: args.master.clone(),
        ..Connection::default()
    };
    let (config, target) = connect::configure(&connection).await?;
    // Nobody opens a console here.
    let client = connect::client(config, &connection, &Terminal::default()).await?;
    connect::greet(&client, &target).await?;
    let extenders = Extender::all_from_config(&configuration.extenders);
    let transport = Arc::new(HttpTransport::new(&extenders)?);
    // Evidence is kept while somebody looks.
    let options = setup::options(configuration, live::seed(), Purpose::Result);
    let kinds = live::kinds(configuration);
    let header = Header::new(configuration, &options, now(), &target.context);
    let (recorder, tap) = setup::start_recording(&args.record, &header, Purpose::Console, program)?.unzip();
    let meter = Arc::new(SchedulerMeter::new(Arc::clone(registry)));
    let mut profiles = Vec::new();
    for profile in live::profiles(configuration, program)? {
        meter.expect_profile(&profile);
        profiles.push(profile.measured_by(Arc::<SchedulerMeter>::clone(&meter)));
    }
    let engine =
        Engine::new(profiles, live::profiles(configuration, program)?, options, &kinds, Mode::Observe)
            .context("building the scheduler")?
            .recorded(tap);
    let recording_file = args.record.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let kubectl = live::kubectl(&connection, &target);
    let setup = LiveSetup {
        engine,
        kinds,
        target,
        qps: args.kube_api_qps.unwrap_or_else(|| f64::from(configured.qps)),
        burst: args.kube_api_burst.unwrap_or_else(|| u32::try_from(configured.burst).unwrap_or(100)),
        host: connect::host_name(),
        transport,
        is_running: true,
        election,
        is_armed: true,
        recording_file: recording_file.into(),
        steering: live::steering(args.audit.as_deref(), args.serve_anyway, configuration, kubectl)?,
        served: Some(served),
    };
    Ok((setup, client, recorder))
}

/// A client for reviews: of that kubeconfig, else of the pod's service account, else none.
async fn review_client(kubeconfig: Option<&Path>, flag: &str) -> anyhow::Result<Option<Client>> {
    let connection = Connection { kubeconfig: kubeconfig.map(Path::to_owned), ..Connection::default() };
    let config = match kubeconfig {
        Some(_) => connect::configure(&connection).await.with_context(|| format!("--{flag}"))?.0,
        None => match Config::incluster() {
            Ok(config) => config,
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(connect::client(config, &connection, &Terminal::default()).await?))
}

/// Begins to listen.
async fn listen(args: &ServerArgs, endpoints: &Arc<Endpoints>) -> anyhow::Result<()> {
    if args.secure_port == 0 {
        tracing::info!("Nothing is served over HTTPS: --secure-port is 0");
        return Ok(());
    }
    let options = CertOptions {
        cert_file: args.tls_cert_file.clone(),
        key_file: args.tls_private_key_file.clone(),
        dir: args.cert_dir.clone(),
    };
    let cert = Arc::new(ServingCert::new(&options)?);
    let proxy = &args.proxy;
    let proxy_ca = proxy.requestheader_client_ca_file.clone().map(|path| {
        let headers = ProxyHeaders {
            allowed_names: proxy.requestheader_allowed_names.clone(),
            user: proxy.requestheader_username_headers.clone(),
            uid: proxy.requestheader_uid_headers.clone(),
            group: proxy.requestheader_group_headers.clone(),
            extra_prefix: proxy.requestheader_extra_headers_prefix.clone(),
        };
        (path, headers)
    });
    let authorities = Authorities::new(AuthorityOptions {
        client_ca: args.client_ca_file.clone(),
        proxy_ca,
        looks_up: !args.authentication_skip_lookup,
    });
    let authorities = Arc::new(authorities.map_err(anyhow::Error::msg)?);
    let authentication = args.authentication_kubeconfig.as_deref();
    let authorization = args.authorization_kubeconfig.as_deref();
    let reviews_tokens = review_client(authentication, "authentication-kubeconfig").await?;
    let reviews_access = review_client(authorization, "authorization-kubeconfig").await?;
    if reviews_tokens.is_none() {
        tracing::warn!("No authentication-kubeconfig provided, so bearer tokens won't work");
    }
    if reviews_access.is_none() {
        tracing::warn!(
            "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work"
        );
    }
    let client = reviews_tokens.clone();
    let guard = Arc::new(Guard::new(GuardOptions {
        reviews_tokens,
        reviews_access,
        authorities: Arc::clone(&authorities),
        open_paths: args.authorization_always_allow_paths.clone(),
    }));
    let address = SocketAddr::new(args.bind_address, args.secure_port);
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("--secure-port: listening on {address}"))?;
    tracing::info!(address = %address, "Serving securely");
    let registry = Arc::clone(&endpoints.registry);
    tokio::spawn(async move { authorities.keep(client, &registry).await });
    tokio::spawn(keep_cert(Arc::clone(&cert), Arc::clone(&endpoints.registry)));
    tokio::spawn(serve(listener, server_config(cert)?, guard, Arc::clone(endpoints)));
    Ok(())
}

/// Reads the server's certificate again when its files change.
async fn keep_cert(cert: Arc<ServingCert>, registry: Arc<Registry>) {
    // What connections are taken with; what was read counts as taken over at once.
    let taken_over = WorkQueue::new(&registry, "DynamicServingCertificateController");
    let take_over = || taken_over.run(|| Ok::<_, String>(true));
    let files = cert.files();
    if take_over().is_err() || files.is_empty() {
        return;
    }
    let queue = WorkQueue::new(&registry, "DynamicCABundle-serving-cert");
    follow("serving-cert", files, queue, || match cert.reload() {
        Ok(true) => take_over(),
        Ok(false) => Ok(false),
        Err(error) => Err(error.to_string()),
    })
    .await;
}

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A signal came.
    Asked,
    /// The lease is somebody else's.
    LeaseLost,
    /// The session has ended by itself.
    SessionOver,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn until_end(
    mut leadership: watch::Receiver<Leadership>,
    endpoints: &Endpoints,
    lease: &str,
) -> anyhow::Result<End> {
    let mut signals = Signals::new().context("waiting for signals")?;
    let mut has_led = false;
    loop {
        tokio::select! {
            () = signals.next() => return Ok(End::Asked),
            changed = leadership.changed() => {
                if changed.is_err() {
                    return Ok(End::SessionOver);
                }
                let leadership = leadership.borrow_and_update().clone();
                match leadership {
                    Leadership::Leading => {
                        has_led = true;
                        endpoints.put_leader(lease, true);
                        tracing::info!(lock = lease, "Successfully acquired lease");
                    }
                    Leadership::Waiting { holder } if !holder.is_empty() => {
                        tracing::info!(lock = lease, holder, "Another instance holds the lease");
                    }
                    Leadership::Refused { why } => bail!("not started: {why}; --serve-anyway says otherwise"),
                    Leadership::None if has_led => {
                        endpoints.put_leader(lease, false);
                        endpoints.standing.has_lost_lease.store(true, Ordering::Relaxed);
                        return Ok(End::LeaseLost);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Ends what is under way and gives the lease back. The answer is the exit code.
fn finish(
    serving: &Runtime,
    end: End,
    session: &Mutex<SessionHandle>,
    thread: SessionThread,
    endpoints: &Endpoints,
) -> anyhow::Result<u8> {
    let send = |command| session.lock().unwrap_or_else(PoisonError::into_inner).send(command);
    endpoints.standing.is_ending.store(true, Ordering::Relaxed);
    if end == End::Asked {
        tracing::info!("Requested to terminate, exiting");
        let is_over = serving.block_on(async {
            let mut signals = Signals::new()?;
            send(SessionCommand::Pause);
            let deeds = async {
                while endpoints.has_deeds().await {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::select! {
                () = signals.next() => return Ok::<_, std::io::Error>(false),
                ended = tokio::time::timeout(PATIENCE, deeds) => if ended.is_err() {
                    tracing::warn!("Deeds that are under way are not waited for any longer");
                }
            }
            send(SessionCommand::Quit);
            let waiting = tokio::task::spawn_blocking(move || thread.wait());
            tokio::select! {
                () = signals.next() => Ok(false),
                is_good = waiting => Ok(is_good.unwrap_or(false)),
            }
        });
        if !is_over.context("waiting for signals")? {
            // A second signal: nothing more is waited for.
            std::process::exit(1);
        }
        return Ok(exit::OK);
    }
    send(SessionCommand::Quit);
    let is_good = thread.wait();
    match end {
        End::LeaseLost => tracing::error!("Leaderelection lost"),
        _ => tracing::error!(panicked = !is_good, "The session has ended"),
    }
    Ok(exit::LEASE_LOST)
}
