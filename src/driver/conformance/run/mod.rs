//! Plays a script against the scheduler and tells what it did after each command: the language, the clock and the
//! lines of the reference's `run`.
//!
//! The scheduler is the ordinary one, by turns ([`Turns::OnCommand`]); the API is in memory and the clock artificial,
//! so that the text is a function of the files. Among equals the first by name is taken.

mod api;
mod groups;
mod lines;
mod script;
mod stage;
mod state;
#[path = "../../../../tests/support/test_plugins.rs"]
pub mod test_plugins;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::manifest::{ManifestErrors, Source, load};
use crate::api::{Duration, NamespacedName, Object, Time};
use crate::config::{ExtensionPoint, FeatureGates, PluginCatalog, ReadOptions, SchedulerConfig};
use crate::driver::extender::{Player, PlayerError};
use crate::driver::recorder::RecordingTap;
use crate::driver::sandbox::admission::PriorityClasses;
use crate::driver::sandbox::api::ApiError;
use crate::framework::extender::Extender;
use crate::framework::runtime::{RegistryError, build_profiles};
use crate::plugins::registry::in_tree_registry;
use crate::scheduler::input::{Command as Steer, Input};
use crate::scheduler::trace::Phase;
use crate::scheduler::turns::Turns;
use crate::scheduler::{Scheduler, SchedulerOptions, TieBreak};

use super::{CaseError, CaseSources, EPOCH};
use script::{Change, Command, Deed, Moment};
use stage::{Extenders, Stage};
use state::since_start;
use test_plugins::Calls;

/// `drain` makes no more attempts than this and one.
const DRAIN_MAX: usize = 200;
const SECOND: Duration = Duration::from_secs(1);

/// Why a script cannot be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The cluster or the configuration is no good.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A test plugin cannot be registered.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A command is not one.
    #[error("{line:?}: {reason}")]
    Command {
        /// The line.
        line: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that a command names cannot be read.
    #[error("{name}: {reason}")]
    File {
        /// The file.
        name: String,
        /// Why.
        reason: String,
    },
    /// A manifest that a command names cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestErrors),
    /// The API refuses an object.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// An extender cannot be played.
    #[error(transparent)]
    Player(#[from] PlayerError),
}

/// Reads a file that the script names, next to the script's cluster.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Plays a script and gives its text, a line after the other, to `print`.
///
/// # Errors
/// Why it cannot be played to its end; what has been printed until then is right.
pub fn run(
    sources: &CaseSources,
    script: &str,
    read_file: ReadFile<'_>,
    print: &mut dyn FnMut(&str),
) -> Result<(), RunError> {
    run_recorded(sources, script, read_file, print, &mut |_, _, _| None)
}

/// Makes the way to a recording for a scheduler that is made so and begins at that time.
pub type Record<'a> = &'a mut dyn FnMut(&SchedulerConfig, &SchedulerOptions, Time) -> Option<RecordingTap>;

/// The same, recorded.
///
/// # Errors
/// As [`run`] has them.
pub fn run_recorded(
    sources: &CaseSources,
    script: &str,
    read_file: ReadFile<'_>,
    print: &mut dyn FnMut(&str),
    record: Record<'_>,
) -> Result<(), RunError> {
    let stage = set(sources, record)?;
    let during = BTreeMap::new();
    let mut run = Run { stage, during, printed: None, read_file, print };
    run.print_line("# start");
    run.print_state();
    for line in script.lines() {
        let Some((text, command)) = script::parse(line)? else { continue };
        run.print_line(&format!("> {text}"));
        match run.command(command) {
            Err(RunError::Api(error @ ApiError::NotFound { .. })) => run.print_line(&format!("  {error}")),
            other => other?,
        }
        run.stage.settle();
        if let Some(error) = run.stage.take_error() {
            return Err(error.into());
        }
        run.print_state();
    }
    run.stage.finish_recording();
    Ok(())
}

/// The scene at the start: the cluster is there, and the pending pods have arrived.
fn set(sources: &CaseSources, record: Record<'_>) -> Result<Stage, RunError> {
    let gates = FeatureGates::parse(sources.feature_gates.trim()).map_err(CaseError::from)?;
    let config = read_config(sources.config.as_ref(), &gates)?;
    let calls = Calls::default();
    let mut registry = in_tree_registry();
    test_plugins::register(&mut registry, &calls)?;
    let profiles = build_profiles(&config.profiles, &registry, &gates).map_err(CaseError::from)?;
    let list = Extender::all_from_config(&config.extenders);
    let options = SchedulerOptions {
        tie_break: TieBreak::ByName,
        turns: Turns::OnCommand,
        ..SchedulerOptions::default()
    };
    // One thing at a time, so that the order is the script's.
    let options = SchedulerOptions { parallelism: 1, ..options.configured(&config) };
    let tap = record(&config, &options, EPOCH);
    let scheduler = Scheduler::new(profiles.into_values().collect(), options).map_err(CaseError::from)?;
    let extenders = match &sources.extenders {
        _ if list.is_empty() => None,
        None => return Err(CaseError::NoRules.into()),
        Some(Source { name, text }) => {
            let error = |error| CaseError::Extenders { name: name.clone(), error };
            Some(Extenders { player: Player::parse(text, &list).map_err(error)?, list })
        }
    };
    let mut stage = Stage::new(scheduler, calls, extenders, EPOCH);
    stage.record(tap);
    fill(&mut stage, &sources.manifests)?;
    Ok(stage)
}

/// Everything but the pending pods is there at the start, listed by kind and key as a server does; then each of those
/// arrives.
fn fill(stage: &mut Stage, manifests: &[Source]) -> Result<(), RunError> {
    let objects = load(manifests)?.objects;
    let classes = classes(&objects);
    let classes = PriorityClasses::new(&classes);
    let is_pending = |object: &Object| matches!(object, Object::Pod(pod) if !pod.is_assigned());
    let (pending, settled): (Vec<Object>, Vec<Object>) = objects.into_iter().partition(is_pending);
    for object in settled {
        stage.api.apply(object, true, &classes, EPOCH)?;
    }
    stage.api.take_events();
    // The queue counts its intervals from the first input on.
    stage.handle(Input::Timeout);
    let mut listed: Vec<Object> = stage.api.objects().iter().collect();
    listed.sort_by_cached_key(|object| (object.kind(), object.key().to_string()));
    for object in listed {
        stage.handle(Input::Added(object));
    }
    for object in pending {
        stage.apply(object, true, &classes)?;
    }
    Ok(())
}

type Classes = BTreeMap<NamespacedName, Arc<crate::api::objects::PriorityClass>>;

/// The priority classes among the objects of a file.
fn classes(objects: &[Object]) -> Classes {
    let classes = objects.iter().filter_map(|object| match object {
        Object::PriorityClass(class) => Some((object.key(), Arc::clone(class))),
        _ => None,
    });
    classes.collect()
}

fn read_config(config: Option<&Source>, gates: &FeatureGates) -> Result<SchedulerConfig, CaseError> {
    let Some(Source { name, text }) = config else { return Ok(SchedulerConfig::default_under(gates)) };
    let catalog = PluginCatalog::default()
        .with("TestReserveA", [ExtensionPoint::Reserve])
        .with("TestReserveB", [ExtensionPoint::Reserve])
        .with("TestPermitA", [ExtensionPoint::Permit])
        .with("TestPermitB", [ExtensionPoint::Permit])
        .with("TestPreBind", [ExtensionPoint::PreBind])
        .with("TestPostBind", [ExtensionPoint::PostBind]);
    Ok(SchedulerConfig::read(text, ReadOptions { source: name, gates, catalog: &catalog })?)
}

/// A script under way.
struct Run<'a> {
    stage: Stage,
    /// What is to be done within the next attempt.
    during: BTreeMap<Moment, Vec<Change>>,
    /// The time that was printed last.
    printed: Option<Time>,
    read_file: ReadFile<'a>,
    print: &'a mut dyn FnMut(&str),
}

impl Run<'_> {
    fn print_line(&mut self, line: &str) {
        (self.print)(line);
    }

    fn flush(&mut self, indent: &str) {
        for line in self.stage.lines.take() {
            self.print_line(&format!("{indent}{line}"));
        }
    }

    fn print_state(&mut self) {
        self.flush("  ");
        for line in state::lines(&self.stage.scheduler, self.stage.now) {
            self.print_line(&format!("  {line}"));
        }
        let now = api::cut_to_millis(self.stage.now);
        if self.printed != Some(now) {
            self.printed = Some(now);
            self.print_line(&format!("  now +{}", since_start(now)));
        }
    }

    fn command(&mut self, command: Command) -> Result<(), RunError> {
        match command {
            Command::Queue => {}
            Command::Cycle => {
                self.cycle();
            }
            Command::Drain => self.drain(),
            Command::Wait(time) => self.advance(time, true),
            Command::Advance(time) => self.advance(time, false),
            Command::Graceful(graceful) => self.stage.graceful = graceful,
            Command::During(moment, change) => self.during.entry(moment).or_default().push(change),
            Command::Fail { verb, pod, fault } => {
                self.stage.faults.insert((verb, pod), fault);
            }
            Command::Slow { verb, pod, takes } => {
                self.stage.slow.insert((verb, pod), takes);
            }
            Command::Extenders(file) => {
                let text = self.read(&file)?;
                if let Some(extenders) = &mut self.stage.extenders {
                    extenders.player = Player::parse(&text, &extenders.list)?;
                }
            }
            Command::Allow { pod, plugin } => self.signal(&pod, |uid| Steer::AllowWaitingPod { uid, plugin }),
            Command::Reject { pod, plugin } => {
                let (plugin, message) = match plugin {
                    Some(plugin) => (plugin, "the script rejects it"),
                    None => (String::new(), "removed"),
                };
                let message = message.to_owned();
                self.signal(&pod, |uid| Steer::RejectWaitingPod { uid, plugin, message });
            }
            Command::Change(change) => self.change(&change)?,
        }
        Ok(())
    }

    fn read(&self, file: &str) -> Result<String, RunError> {
        (self.read_file)(file).map_err(|reason| RunError::File { name: file.to_owned(), reason })
    }

    fn signal(&mut self, pod: &NamespacedName, signal: impl FnOnce(crate::api::Uid) -> Steer) {
        self.stage.tick();
        let waiting = self.stage.scheduler.waiting_pods();
        let uid = waiting.iter().map(|waiting| &waiting.pod_info).find(|info| info.pod.key() == *pod);
        match uid.map(|info| info.uid().clone()) {
            Some(uid) => self.stage.handle(Input::Command(signal(uid))),
            None => self.print_line(&format!("  {pod} is not waiting")),
        }
    }

    fn change(&mut self, change: &Change) -> Result<(), RunError> {
        match &change.deed {
            Deed::Apply(file) => {
                let text = self.read(file)?;
                let with_status = api::claims_with_status(&text);
                let objects = load(&[Source { name: file.clone(), text }])?.objects;
                let classes = classes(&objects);
                let classes = PriorityClasses::new(&classes);
                for object in objects {
                    let has_status = with_status.contains(&object.key());
                    self.stage.apply(object, has_status, &classes)?;
                }
            }
            Deed::Delete(kind, key) => {
                self.stage.tick();
                self.stage.api.delete(*kind, key)?;
            }
            Deed::Terminate(pod) => {
                self.stage.tick();
                self.stage.api.terminate(pod, self.stage.now)?;
            }
            Deed::ExternalBind(pod, node) => {
                self.stage.tick();
                self.stage.api.bind_elsewhere(pod, node, self.stage.now)?;
            }
        }
        Ok(())
    }

    /// The changes that were kept for this moment of an attempt.
    fn change_during(&mut self, moment: Moment) {
        for change in self.during.remove(&moment).unwrap_or_default() {
            let line = format!("during {}: {}", moment.as_str(), change.text);
            self.stage.lines.add(line.clone());
            if let Err(error) = self.change(&change) {
                self.stage.lines.add(format!("{line}: {error}"));
            }
            self.stage.settle();
        }
    }

    /// One attempt. False if none can be made.
    fn cycle(&mut self) -> bool {
        if !self.stage.scheduler.can_schedule() {
            return false;
        }
        self.flush("  ");
        self.stage.tick();
        let before = self.stage.scheduler.group_trace().map(|trace| trace.number);
        self.stage.handle(Input::Command(Steer::NextPhase));
        while self.stage.scheduler.is_in_cycle() {
            let phase = self.stage.scheduler.next_phase_of_attempt();
            let has_nodes = self.stage.scheduler.snapshot().num_nodes() > 0;
            match phase {
                Some(Phase::PreFilter) if has_nodes => self.change_during(Moment::PreFilter),
                Some(Phase::PostFilter) => self.change_during(Moment::PostFilter),
                _ => {}
            }
            groups::before_deed(&mut self.stage);
            // In the cycle of a group several attempts may come to that moment.
            let may_come = matches!(phase, Some(Phase::PreFilter | Phase::Filter))
                || self.stage.scheduler.is_in_group_cycle();
            let is_awaited = may_come && self.during.contains_key(&Moment::PostFilter)
                || phase.is_none() && !self.during.is_empty();
            let steer = if is_awaited { Steer::NextPhase } else { Steer::ScheduleOne };
            self.stage.handle(Input::Command(steer));
            while self.stage.scheduler.is_in_cycle() && self.stage.has_deeds() {
                self.stage.do_deed();
            }
        }
        let trace = self.stage.scheduler.view().cycle;
        self.stage.end_attempt();
        self.stage.settle();
        let group = self.stage.scheduler.group_trace().filter(|trace| Some(trace.number) != before);
        if let Some(trace) = group {
            self.print_line(&format!("  {}", groups::cycle_line(&trace)));
            groups::evidence(&trace, self.stage.now, &mut self.stage.lines);
        } else if let Some(trace) = trace {
            let line = format!(
                "  cycle {} attempt={} from={}",
                trace.pod_key(),
                trace.attempt,
                trace.popped_from.as_str()
            );
            self.print_line(&line);
            lines::evidence(&trace, self.stage.now, &mut self.stage.lines);
        }
        self.flush("    ");
        true
    }

    fn drain(&mut self) {
        let mut count = 0;
        while self.cycle() {
            if count == DRAIN_MAX {
                self.print_line(&format!("  drain stopped after {DRAIN_MAX} cycles"));
                return;
            }
            count += 1;
        }
    }

    /// Lets time go by, with a stop at every whole second and at the end.
    fn advance(&mut self, time: Duration, with_attempts: bool) {
        let end = api::cut_to_millis(self.stage.now) + time;
        if with_attempts {
            self.drain();
        }
        while self.stage.now < end {
            let next = (self.stage.now.truncate_to_second() + SECOND).min(end);
            self.stage.go_to(next);
            let mut told = Vec::new();
            for line in self.stage.lines.take() {
                told.push(format!("  {line}"));
            }
            let is_quiet = told.is_empty() && !(with_attempts && self.stage.scheduler.can_schedule());
            if !is_quiet {
                self.print_line(&format!("  at +{}", since_start(next)));
            }
            for line in told {
                self.print_line(&line);
            }
            if with_attempts {
                self.drain();
            }
        }
    }
}
