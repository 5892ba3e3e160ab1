//! What a recorded session would have come to under another configuration.
//!
//! A recording holds what happened to a scheduler, also what followed from its own deeds: the binding of a pod comes
//! back as a change of that pod. Under another configuration other deeds follow, so these changes cannot be taken over.
//! The recording is therefore played twice at the same time: by the scheduler that was recorded, which tells what were
//! its own deeds, and by a sandbox with the other configuration, which is given everything else and answers its own
//! deeds itself.
//!
//! Taken over: objects that come, change and go by others' hands, in their time; as many attempts as there were, at
//! their times; pods that were activated, allowed or turned down by hand. Left out: binds, nominations, conditions,
//! evictions and writes of the recorded scheduler with what they changed, changes of claims and volumes once attempts
//! have begun (the sandbox's controllers make their own), what extenders answered. Where the recorded scheduler had
//! nothing left to try, the other one is let go on until it has not either. What it comes to is a recording as well.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::recorder::{Recorder, RecorderError, RecorderOptions};
use super::sandbox::api::SandboxApi;
use super::sandbox::controllers::Controllers;
use super::sandbox::simulator::{Simulator, TICK};
use crate::api::objects::{Pod, PodCondition};
use crate::api::{Kind, NamespacedName, Object, Time, Uid};
use crate::config::SchedulerConfig;
use crate::framework::runtime::{Registry, build_profiles};
use crate::recording::{Header, HeaderError, Open, ReadError, Record, RecordingReader, Replay, last_way};
use crate::scheduler::SchedulerOptions;
use crate::scheduler::effect::{Effect, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::turns::Turns;

/// The condition that a scheduler sets.
const POD_SCHEDULED: &str = "PodScheduled";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No scheduler can be made.
    #[error("no scheduler can be made: {0}")]
    Scheduler(String),
    /// What comes of it cannot be written down.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
}

impl From<HeaderError> for WhatIfError {
    fn from(error: HeaderError) -> Self {
        Self::Scheduler(error.to_string())
    }
}

/// What it would have come to.
#[derive(Debug)]
pub struct WhatIf {
    /// The other session, as a recording.
    pub recording: Vec<u8>,
    /// What is to be told: what of the recording was left out, and how often.
    pub notes: Vec<String>,
}

/// The configuration that a recording was made with, by the list of its feature gates.
///
/// # Errors
/// If it cannot be read.
pub fn recorded_gates<R: BufRead>(open: Open<'_, R>) -> Result<String, ReadError> {
    let reader = RecordingReader::new(open()?)?;
    let gates = reader.header().gates.iter().map(|(gate, on)| format!("{gate}={on}"));
    Ok(gates.collect::<Vec<String>>().join(","))
}

/// Plays a recording under another configuration. Where it goes back, the way that was taken last counts.
///
/// # Errors
/// If the recording cannot be read, or no scheduler can be made of it or of the configuration.
pub fn what_if<R: BufRead>(
    open: Open<'_, R>,
    config: &SchedulerConfig,
    registry: &Registry,
) -> Result<WhatIf, WhatIfError> {
    let way = last_way(open()?)?;
    let mut reader = RecordingReader::new(open()?)?;
    let mut run = Run::new(reader.header(), config, registry)?;
    run.note_extenders(config);
    let mut number = 0;
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                if let Record::Input { at, input, .. } = entry.record {
                    number += 1;
                    if way.iter().any(|leg| leg.contains(&number)) {
                        run.input(at, *input);
                    }
                }
            }
            Ok(None) | Err(ReadError::Cut { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    run.finish()
}

/// The deeds of the recorded scheduler.
#[derive(Default)]
struct OwnDeeds {
    bound: BTreeSet<Uid>,
    evicted: BTreeSet<Uid>,
    written: BTreeSet<(Kind, NamespacedName)>,
    /// The types of the conditions that it has set.
    conditions: BTreeSet<(Uid, String)>,
}

impl OwnDeeds {
    fn note(&mut self, effects: &[Effect]) {
        for effect in effects {
            match &effect.kind {
                EffectKind::Bind { uid, .. } => _ = self.bound.insert(uid.clone()),
                EffectKind::DeletePod { uid, .. } => _ = self.evicted.insert(uid.clone()),
                EffectKind::Write(write) => {
                    self.written.insert((write.object.kind(), write.object.key()));
                }
                EffectKind::PatchPodGroupStatus { pod_group, .. } => {
                    self.written.insert((Kind::PodGroup, pod_group.clone()));
                }
                EffectKind::PatchPodStatus { uid, condition: Some(condition), .. } => {
                    self.conditions.insert((uid.clone(), condition.type_.clone()));
                }
                EffectKind::PatchPodStatus { .. } | EffectKind::CallExtender(_) | EffectKind::Event(_) => {}
            }
        }
    }
}

impl OwnDeeds {
    /// Whether a condition of a pod is the scheduler's.
    fn is_condition(&self, uid: &Uid, condition: &PodCondition) -> bool {
        condition.type_ == POD_SCHEDULED || self.conditions.contains(&(uid.clone(), condition.type_.clone()))
    }

    /// What of a pod is not the scheduler's.
    fn by_others(&self, pod: &Pod) -> Pod {
        let uid = &pod.metadata.uid;
        let mut others = pod.clone();
        others.metadata.resource_version.clear();
        if self.bound.contains(uid) {
            others.spec.node_name = "".into();
            others.status.start_time = None;
        }
        others.status.nominated_node_name = "".into();
        others.status.conditions.retain(|condition| !self.is_condition(uid, condition));
        others
    }
}

/// Both schedulers.
struct Run {
    recorded: Replay,
    deeds: OwnDeeds,
    other: Simulator,
    recorder: Recorder,
    memory: Memory,
    has_begun: bool,
    /// What was left out, with how often.
    left_out: BTreeMap<&'static str, u64>,
}

impl Run {
    fn new(header: &Header, config: &SchedulerConfig, registry: &Registry) -> Result<Self, WhatIfError> {
        let wrong = |error: &dyn std::fmt::Display| WhatIfError::Scheduler(error.to_string());
        let recorded = Replay::new(header, registry, false)?;
        let options = SchedulerOptions { turns: Turns::AtOnce, is_tracing: false, ..header.options()? };
        let options = options.configured(config);
        let source = format!("what if: {}", header.source);
        let other_header = Header::new(config, &options, header.start, &source)?;
        let memory = Memory::default();
        let sink = Box::new(memory.clone());
        let (recorder, tap) = Recorder::start(sink, &other_header, RecorderOptions::default())?;
        let profiles = build_profiles(&config.profiles, registry, &config.gates);
        let profiles = profiles.map_err(|error| wrong(&error))?.into_values().collect();
        let api = SandboxApi::default();
        let other = Simulator::recorded(profiles, options, api, header.start, Some(tap));
        let other = other.map_err(|error| wrong(&error))?.with_controllers(Controllers::new(header.seed));
        let (deeds, left_out) = (OwnDeeds::default(), BTreeMap::new());
        Ok(Self { recorded, deeds, other, recorder, memory, has_begun: false, left_out })
    }

    fn input(&mut self, at: Time, input: Input) {
        let attempts = self.recorded.scheduler().counts().cycles;
        let is_step = matches!(input, Input::Command(Command::ScheduleOne | Command::NextPhase));
        self.recorded.input(at, input.clone());
        let effects = self.recorded.effects();
        self.deeds.note(effects);
        // A step takes its own time.
        let tick = if is_step { u64::try_from(TICK.as_nanos()).unwrap_or_default() } else { 0 };
        self.other.let_clock_go_to(Time::from_nanos(at.as_nanos().saturating_sub(tick)));
        let has_begun_one = self.recorded.scheduler().counts().cycles > attempts;
        match input {
            Input::Added(object) => self.added(object),
            Input::Updated { old, new } => self.updated(&old, new),
            Input::Deleted(object) => self.deleted(&object),
            Input::Command(Command::ScheduleOne) => {
                self.has_begun = true;
                self.other.step_cycle();
            }
            Input::Command(Command::NextPhase) => self.phase(has_begun_one),
            Input::Timeout => self.other.time_out(),
            Input::Command(Command::GoOn(_)) => {}
            Input::Command(Command::SetWeight { .. } | Command::Configure { .. }) => {
                self.leave_out("changes of the configuration");
            }
            Input::Command(by_hand) => self.other.input(Input::Command(by_hand)),
            Input::ExtenderAnswered { .. } => self.leave_out("answers of extenders"),
            Input::EffectDone { .. } | Input::Written { .. } => {}
        }
        let recorded = self.recorded.scheduler();
        // While the outcome of its deeds is not known, it may have more to try in a moment.
        let is_busy = recorded.can_schedule()
            || recorded.is_in_cycle()
            || recorded.has_stepped_binding_cycle()
            || recorded.has_pending_effects();
        if self.has_begun && !is_busy {
            self.go_on();
        }
    }

    /// The recorded scheduler was stepped by a phase.
    fn phase(&mut self, has_begun_one: bool) {
        self.has_begun = true;
        let scheduler = self.other.scheduler();
        let is_in_one = scheduler.is_in_cycle() || scheduler.has_stepped_binding_cycle();
        if has_begun_one && is_in_one {
            // It has more phases here.
            self.other.step_cycle();
        }
        if has_begun_one || is_in_one {
            self.other.step_phase();
        }
    }

    /// The recorded scheduler had nothing left to try.
    fn go_on(&mut self) {
        // A pod that is tried again and again must not hold everything up.
        let most = self.other.scheduler().n_pending();
        for _ in 0..most {
            if !self.other.step_cycle() {
                return;
            }
        }
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    fn added(&mut self, object: Object) {
        if self.has_begun && object.kind() == Kind::PersistentVolume {
            return self.leave_out("changes of claims and volumes");
        }
        if self.deeds.written.contains(&(object.kind(), object.key())) {
            return self.leave_out("objects that the recorded scheduler wrote");
        }
        self.apply(object);
    }

    fn apply(&mut self, object: Object) {
        if self.other.change_now(|api, now| api.apply(object, now)).is_err() {
            self.leave_out("objects that the sandbox does not take");
        }
    }

    fn updated(&mut self, old: &Object, new: Object) {
        if let (Object::Pod(old), Object::Pod(new)) = (old, &new) {
            return self.pod_updated(old, new);
        }
        let is_storage =
            matches!(new.kind(), Kind::PersistentVolume | Kind::PersistentVolumeClaim | Kind::ResourceClaim);
        if is_storage && self.has_begun {
            return self.leave_out("changes of claims and volumes");
        }
        if !self.deeds.written.contains(&(new.kind(), new.key())) {
            self.apply(new);
        }
    }

    fn pod_updated(&mut self, old: &Pod, new: &Pod) {
        let (key, uid) = (new.key(), &new.metadata.uid);
        let Some(here) = self.other.api().objects().pods.get(&key).cloned() else {
            return self.leave_out("changes of pods that are gone here");
        };
        if new.is_terminating() && !old.is_terminating() {
            if !self.deeds.evicted.contains(uid) {
                // That it is there was asked for.
                let _ = self.other.change_now(|api, now| api.delete_pod(&key, now));
            }
            return;
        }
        let (before, mut pod) = (self.deeds.by_others(old), self.deeds.by_others(new));
        if before == pod {
            return;
        }
        let own = here.status.conditions.iter().filter(|condition| self.deeds.is_condition(uid, condition));
        pod.status.conditions.extend(own.cloned());
        self.apply(pod.into());
    }

    fn deleted(&mut self, object: &Object) {
        let is_eviction =
            matches!(object, Object::Pod(pod) if self.deeds.evicted.contains(&pod.metadata.uid));
        if is_eviction {
            return;
        }
        self.other.change_now(|api, _| api.take_away(object.kind(), &object.key()));
    }

    /// Tells that extenders are not called, where the other configuration has some.
    fn note_extenders(&mut self, config: &SchedulerConfig) {
        let n = config.extenders.len() as u64;
        if n > 0 {
            self.left_out.insert("extenders of the other configuration, every call of which fails", n);
        }
    }

    fn finish(mut self) -> Result<WhatIf, WhatIfError> {
        self.other.finish_recording("the recorded session ended here");
        self.recorder.finish()?;
        let notes = self.left_out.into_iter().map(|(what, n)| format!("left out: {what} ({n})")).collect();
        Ok(WhatIf { recording: self.memory.take(), notes })
    }
}

/// A sink that can be read afterwards.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// What was written.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
