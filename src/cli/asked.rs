//! Where a question about a pod is asked: files, a live cluster that is read once, or a moment of a recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::args::{ConnectionArgs, InputArgs, RecordArgs};
use super::live;
use super::replay::Recorded;
use super::setup::{self, Purpose};
use super::{Main, config, tell};
use crate::api::manifest::load;
use crate::api::{Kind, NamespacedName, Object, Str};
use crate::driver::extender::HttpTransport;
use crate::driver::history::HistoryLimits;
use crate::driver::live::connect;
use crate::driver::live::once::read_once;
use crate::driver::live::plugin::Terminal;
use crate::driver::live::session::now as live_now;
use crate::driver::replay::RecordedSession;
use crate::driver::rewind::Rewind;
use crate::driver::runner::run_to_rest;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::seek::{Found, SeekTo};
use crate::driver::session::Edit;
use crate::tui::commands::parse_duration;

/// Where the question is asked.
#[derive(Clone, Debug, Args)]
pub struct AskedArgs {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,
    /// Reads the cluster of the kubeconfig once, and writes nothing
    #[arg(long, conflicts_with_all = ["filenames", "rec"])]
    pub live: bool,
    /// A moment of a recording: FILE, or FILE@T with a time after its start, a percentage or a marker; its end without T
    #[arg(long, value_name = "FILE@T", conflicts_with = "filenames")]
    pub rec: Option<String>,
    /// The namespace of POD
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Lets pods be scheduled until nothing moves before the question is asked
    #[arg(long)]
    pub run: bool,
    /// The cluster of --live.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// How an answer is printed that has no Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
}

/// A cluster that can be asked.
pub(super) struct Asked {
    pub simulator: Simulator,
    /// `kubectl` with the flags that lead to the cluster.
    pub kubectl: String,
}

impl Asked {
    /// Finds the cluster.
    pub fn find(args: &AskedArgs, program: &Main) -> anyhow::Result<Self> {
        let mut asked = if args.live {
            of_live(args, program)?
        } else if let Some(place) = &args.rec {
            Self { simulator: of_recording(place, program)?, kubectl: "kubectl".to_owned() }
        } else {
            let setup = setup::build(&args.input, &RecordArgs::default(), Purpose::Result, program)?;
            for line in &setup.notes {
                tell(line);
            }
            Self { simulator: setup.simulator, kubectl: "kubectl".to_owned() }
        };
        asked.simulator.scheduler_mut().set_tracing(true);
        if args.run {
            asked.simulator.leave_recording();
            run_to_rest(&mut asked.simulator);
        }
        Ok(asked)
    }

    /// The pod that is asked about: one of the cluster by its name, else that of a manifest, which is put there.
    pub fn subject(
        &mut self,
        name: Option<&str>,
        file: Option<&Path>,
        args: &AskedArgs,
    ) -> anyhow::Result<NamespacedName> {
        match (name, file) {
            (Some(name), _) => self.pod(name, args.namespace.as_deref()),
            (None, Some(path)) => self.add_pod(path),
            (None, None) => bail!("name a pod, or give one with --pod"),
        }
    }

    /// Puts the pod of a manifest there, with what else the manifest has. The answer is its name.
    fn add_pod(&mut self, path: &Path) -> anyhow::Result<NamespacedName> {
        let source = config::read_file(path)?;
        let loaded = load(std::slice::from_ref(&source))?;
        let pods: Vec<NamespacedName> =
            loaded.objects.iter().filter(|object| object.kind() == Kind::Pod).map(Object::key).collect();
        let [key] = pods.as_slice() else {
            bail!("{}: one pod is needed, and there are {}", path.display(), pods.len());
        };
        if self.simulator.api().objects().pods.contains_key(key)
            || self.simulator.scheduler().objects().pods.contains_key(key)
        {
            bail!("{}: there is a pod {key} already; leave out --pod and name it", path.display());
        }
        self.simulator.leave_recording();
        let edit = Edit::Apply { source: source.name, text: source.text };
        self.simulator.edit(&edit).map_err(anyhow::Error::msg)?;
        Ok(key.clone())
    }

    /// The pod that a person names.
    fn pod(&self, name: &str, namespace: Option<&str>) -> anyhow::Result<NamespacedName> {
        let pods = &self.simulator.scheduler().objects().pods;
        let key = match (name.split_once('/'), namespace) {
            (Some((given, _)), Some(namespace)) if given != namespace => {
                bail!("{name:?} and --namespace {namespace} name two namespaces");
            }
            (Some((namespace, name)), _) => NamespacedName::new(namespace, name),
            (None, namespace) => NamespacedName::new(namespace.unwrap_or("default"), name),
        };
        if pods.contains_key(&key) {
            return Ok(key);
        }
        let alike: Vec<&NamespacedName> = pods.keys().filter(|known| known.name == key.name).collect();
        match alike.as_slice() {
            [only] if namespace.is_none() && !name.contains('/') => Ok((*only).clone()),
            [] => bail!("there is no pod {key}"),
            several => {
                let names: Vec<String> = several.iter().take(5).map(ToString::to_string).collect();
                bail!("there is no pod {key}; of that name there are {}", names.join(", "));
            }
        }
    }

    /// The node that a person names.
    pub fn node(&self, name: &str) -> anyhow::Result<Str> {
        let node = Str::from(name);
        if !self.simulator.scheduler().caches_node(&node) {
            bail!("there is no node {name}");
        }
        Ok(node)
    }
}

/// The cluster as it is, in a sandbox that nobody else acts in.
fn of_live(args: &AskedArgs, program: &Main) -> anyhow::Result<Asked> {
    let configuration = config::load(args.input.config.as_deref(), &args.input.gates.list, program)?
        .map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connection = live::connection(&args.connection);
    let kinds = live::kinds(&configuration);
    let (target, read) = runtime.block_on(async {
        let (config, target) = connect::configure(&connection).await?;
        let client = connect::client(config, &connection, &Terminal::default()).await?;
        connect::greet(&client, &target).await?;
        // Priorities that are only thought of come from classes.
        let all: Vec<Kind> = kinds.into_iter().chain([Kind::PriorityClass]).collect();
        let read = read_once(&client, &all).await?;
        anyhow::Ok((target, read))
    })?;
    for note in &read.notes {
        tell(note);
    }
    let options = setup::options(&configuration, args.input.seed, Purpose::Result);
    let profiles = live::profiles(&configuration, program)?;
    let transport = HttpTransport::new(&options.extenders)?;
    let now = live_now();
    let api = SandboxApi::new(read.objects, now)?;
    let simulator = Simulator::new(profiles, options, api, now).context("building the scheduler")?;
    let simulator = simulator.with_transport(Arc::new(transport));
    Ok(Asked { simulator, kubectl: live::kubectl(&connection, &target) })
}

/// A moment of a recording.
fn of_recording(place: &str, program: &Main) -> anyhow::Result<Simulator> {
    // The file's name may hold an @ itself.
    let (file, at) = match place.rsplit_once('@') {
        Some((file, at)) if !Path::new(place).exists() => (file, Some(at)),
        _ => (place, None),
    };
    let recorded = Recorded::find(&PathBuf::from(file)).map_err(anyhow::Error::msg)?;
    let session = recorded.open().and_then(RecordedSession::read).with_context(|| recorded.name())?;
    let mut rewind = Rewind::of_recording(&session, program.registry(), HistoryLimits::default())
        .with_context(|| recorded.name())?;
    let wrong = |at: &str| {
        format!(
            "{at:?} is no place of {file}: a time after its start such as 2m14s, a percentage such as 50%, or a marker"
        )
    };
    match at {
        None => _ = rewind.go_to_end(),
        Some(at) => {
            let percent = at.strip_suffix('%').and_then(|number| number.parse::<u8>().ok());
            match (percent, parse_duration(at)) {
                (Some(percent), _) => _ = rewind.seek_to(&SeekTo::Percent(percent)),
                (None, Ok(elapsed)) => {
                    // What happened when is known once it was played.
                    let to = rewind.simulator().start() + elapsed;
                    while rewind.next_known_at().is_some_and(|next| next <= to) && rewind.follow() {}
                }
                (None, Err(_)) => {
                    if rewind.seek_to(&SeekTo::Marker(at.to_owned())) == Found::Nothing {
                        bail!(wrong(at));
                    }
                }
            }
        }
    }
    Ok(rewind.simulator().clone())
}
