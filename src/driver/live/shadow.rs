//! A recording of a live session of which too much has happened to be kept from its start.
//!
//! The state of a scheduler cannot be written down, and the live one is not begun anew for a recording. So another one is
//! begun on the cluster as it was at some moment, beside the live one, and is told the same: what the watches report, and
//! when an attempt was made. That run is recorded; it is true of itself. It asks nobody and writes nothing: a Bind is held
//! until the watch shows where the pod went, and other deeds are taken for done.

use std::collections::{BTreeMap, VecDeque};

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Object, Str, Time, Uid};
use crate::driver::recorder::{Recorder, RecorderError, RecorderStats, RecordingTap};
use crate::driver::replay::chunk::Chunk;
use crate::driver::session::RecorderView;
use crate::framework::extender::ExtenderAnswer;
use crate::recording::Record;
use crate::scheduler::Scheduler;
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectId, EffectKind};
use crate::scheduler::input::{Command, Input};

/// What the recording says of itself.
const ABOUT: &str = "More had happened in this live session than is kept. A scheduler was begun anew beside the live one, on \
     the cluster as it was, and was told the same: its decisions are its own. Backoffs, numbers of attempts, chance and what \
     plugins keep in memory were not carried over, and what the live scheduler wrote is seen in what the watches report.";

/// A scheduler beside the live one, and its recording.
#[derive(Debug)]
pub(super) struct Shadow {
    scheduler: Scheduler,
    tap: RecordingTap,
    recorder: Recorder,
    file: Str,
    now: Time,
    /// Binds that are neither done nor refused, by pod.
    held: BTreeMap<Uid, EffectId>,
    effects: VecDeque<Effect>,
    /// What was asked of extenders and not answered: the live one's answers are its own, in their order.
    calls: VecDeque<EffectId>,
}

impl Shadow {
    /// Begins with a scheduler that knows of nothing, on the cluster as `known` knows it at that time.
    pub fn begin(
        scheduler: Scheduler,
        known: &Scheduler,
        now: Time,
        (recorder, tap): (Recorder, RecordingTap),
        file: Str,
    ) -> Self {
        let (held, effects, calls) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        let mut shadow = Self { scheduler, tap, recorder, file, now, held, effects, calls };
        let view = known.view();
        let rows = view.unschedulable_pods.iter().chain(&view.backoff_q).chain(&view.active_q);
        let queued: Vec<NamespacedName> = rows.map(|row| row.pod.key()).collect();
        let is_pending =
            |object: &Object| matches!(object, Object::Pod(pod) if !pod.is_assigned() && !pod.is_terminal());
        let (mut pending, settled): (Vec<Object>, Vec<Object>) = known.objects().iter().partition(is_pending);
        // Those that are on their way or at Permit begin anew, and come last.
        pending
            .sort_by_key(|object| queued.iter().position(|key| *key == object.key()).unwrap_or(usize::MAX));
        for object in settled.into_iter().chain(pending) {
            shadow.handle(now, Input::Added(object));
        }
        shadow.settle();
        shadow.tap.marker(shadow.tap.inputs(), now, "begun anew", &shadow.scheduler);
        shadow.tap.note(shadow.tap.inputs(), now, ABOUT);
        shadow
    }

    /// The live scheduler was told this.
    pub fn take(&mut self, chunk: &Chunk) {
        for record in &chunk.records {
            let Record::Input { at, input, .. } = record else { continue };
            self.let_time_go_to(*at);
            match &**input {
                Input::Command(command @ (Command::ScheduleOne | Command::NextPhase)) => {
                    self.give_up_calls();
                    if self.scheduler.can_schedule() || self.scheduler.has_stepped_binding_cycle() {
                        self.handle(*at, Input::Command(command.clone()));
                    }
                }
                // Those are the live one's own.
                Input::EffectDone { .. } | Input::Written { .. } | Input::Timeout => {}
                Input::ExtenderAnswered { answer, .. } => {
                    if let Some(id) = self.calls.pop_front() {
                        self.handle(*at, Input::ExtenderAnswered { id, answer: answer.clone() });
                    }
                }
                input => {
                    self.handle(*at, input.clone());
                    self.let_go_of(input);
                }
            }
            self.settle();
        }
    }

    /// How the recording goes.
    pub fn view(&self) -> RecorderView {
        let failure = self.tap.failure().map(Str::from);
        RecorderView { file: self.file.clone(), stats: self.tap.stats(), failure }
    }

    /// The file.
    pub fn file(&self) -> &Str {
        &self.file
    }

    /// Attempts that were made.
    pub fn attempts(&self) -> u64 {
        self.scheduler.n_outcomes()
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn finish(mut self, reason: &str) -> Result<RecorderStats, RecorderError> {
        self.tap.finish(self.tap.inputs(), &self.scheduler, reason);
        drop(self.tap);
        self.recorder.finish()
    }

    /// The live scheduler goes on: what it has not asked is not answered.
    fn give_up_calls(&mut self) {
        while let Some(id) = self.calls.pop_front() {
            let answer = ExtenderAnswer::Failed("the live scheduler did not ask this".to_owned());
            self.handle(self.now, Input::ExtenderAnswered { id, answer });
            self.settle();
        }
    }

    /// Its own times are its own.
    fn let_time_go_to(&mut self, to: Time) {
        while let Some(at) = self.scheduler.poll_timeout().filter(|at| *at <= to) {
            let before = (self.now, self.tap.inputs());
            self.handle(at.max(self.now), Input::Timeout);
            self.settle();
            if (self.now, self.scheduler.poll_timeout()) == (before.0, Some(at)) {
                return;
            }
        }
    }

    fn handle(&mut self, at: Time, input: Input) {
        self.now = self.now.max(at);
        self.scheduler.handle(self.now, input.clone());
        let effects: Vec<Effect> = std::iter::from_fn(|| self.scheduler.poll_effect()).collect();
        self.tap.took(self.tap.inputs(), self.now, input, &effects, &self.scheduler);
        self.effects.extend(effects);
    }

    /// The cluster has decided about a pod whose bind was held, or it is gone.
    fn let_go_of(&mut self, input: &Input) {
        let gone = ApiFailure { reason: ApiFailureReason::NotFound, message: "the pod is gone".to_owned() };
        let (pod, result): (&Pod, _) = match input {
            Input::Added(Object::Pod(pod)) | Input::Updated { new: Object::Pod(pod), .. }
                if pod.is_assigned() =>
            {
                (pod, Ok(()))
            }
            Input::Deleted(Object::Pod(pod)) => (pod, Err(gone)),
            _ => return,
        };
        if let Some(id) = self.held.remove(pod.uid()) {
            self.handle(self.now, Input::EffectDone { id, result });
        }
    }

    fn settle(&mut self) {
        while let Some(Effect { id, kind }) = self.effects.pop_front() {
            let answer = match kind {
                EffectKind::Bind { uid, .. } => {
                    self.held.insert(uid, id);
                    continue;
                }
                EffectKind::Event(_) => continue,
                EffectKind::CallExtender(_) => {
                    self.calls.push_back(id);
                    continue;
                }
                EffectKind::Write(write) => Input::Written { id, result: Ok(write.object) },
                EffectKind::PatchPodStatus { .. }
                | EffectKind::PatchPodGroupStatus { .. }
                | EffectKind::DeletePod { .. } => Input::EffectDone { id, result: Ok(()) },
            };
            self.handle(self.now, answer);
        }
    }
}
