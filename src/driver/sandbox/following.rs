//! A scheduler that is given what was recorded instead of what a simulated cluster does.
//!
//! Nothing that it asks for is done: what came of it is in the recording. It is compared all the time. When something
//! else is to happen than what was recorded, an API is made of the objects that the scheduler knows, what was asked for
//! and not answered yet is done there, and from then on it is a sandbox like any other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::Time;
use crate::driver::replay::chunk::{Chunk, changed_by};
use crate::framework::extender::ExtenderAnswer;
use crate::recording::{Divergence, Header, Judge, Record};
use crate::scheduler::Scheduler;
use crate::scheduler::effect::{Effect, EffectId, EffectKind};
use crate::scheduler::input::Input;

use super::api::SandboxApi;
use super::controllers::Controllers;
use super::simulator::{Notes, Simulator};

/// How a recording is followed.
#[derive(Clone, Debug)]
pub(super) struct Following {
    judge: Judge,
    /// What was asked for and not answered yet.
    open: BTreeMap<EffectId, Effect>,
    divergence: Option<Arc<Divergence>>,
    seed: u64,
}

impl Simulator {
    /// A scheduler before the first input of its recording, which begins at `start`.
    pub fn following(scheduler: Scheduler, judge: Judge, start: Time, seed: u64) -> Self {
        let following = Following { judge, open: BTreeMap::new(), divergence: None, seed };
        Self::without_cluster(scheduler, start, following)
    }

    /// The same for a scheduler in the middle of what `header` begins, that waits for answers to `open`.
    pub fn following_from(
        scheduler: Scheduler,
        header: &Header,
        now: Time,
        open: BTreeMap<EffectId, Effect>,
    ) -> Self {
        let following = Following { judge: Judge::new(header), open, divergence: None, seed: header.seed };
        let mut simulator = Self::without_cluster(scheduler, header.start, following);
        simulator.now = now;
        simulator
    }

    /// Whether it is given what was recorded.
    pub fn is_following(&self) -> bool {
        self.following.is_some()
    }

    /// Where it has differed from its recording first, if it has.
    pub fn divergence(&self) -> Option<&Arc<Divergence>> {
        self.following.as_ref()?.divergence.as_ref()
    }

    /// Gives the scheduler a stretch of its recording, up to the first difference. Nothing, where it is not followed.
    pub(super) fn follow(&mut self, chunk: &Chunk) {
        let Some(mut following) = self.following.take() else { return };
        if following.divergence.is_none() {
            let outcome = self.give(chunk, &mut following);
            following.divergence = outcome.err().map(Arc::new);
        }
        self.following = Some(following);
    }

    fn give(&mut self, chunk: &Chunk, following: &mut Following) -> Result<(), Divergence> {
        let judge = &mut following.judge;
        if judge.inputs() + 1 != chunk.number {
            judge.go_to(judge.inputs(), chunk.number - 1);
        }
        for record in &chunk.records {
            match record {
                Record::Input { at, input, decided } => {
                    match &**input {
                        Input::EffectDone { id, .. }
                        | Input::ExtenderAnswered { id, .. }
                        | Input::Written { id, .. } => _ = following.open.remove(id),
                        _ => {}
                    }
                    if let (Some(notes), Some(changed)) = (&mut self.notes, changed_by(input)) {
                        notes.changed.push(changed);
                    }
                    self.now = self.now.max(*at);
                    self.scheduler.handle(*at, (**input).clone());
                    let effects: Vec<Effect> = std::iter::from_fn(|| self.scheduler.poll_effect()).collect();
                    let outcome = judge.took(*at, &effects, *decided);
                    let deeds = effects.into_iter().filter(|deed| !matches!(deed.kind, EffectKind::Event(_)));
                    following.open.extend(deeds.map(|deed| (deed.id, deed)));
                    outcome?;
                }
                Record::Digest { inputs, parts } => judge.compare(*inputs, parts, &self.scheduler)?,
                Record::Marker { .. } | Record::Note { .. } | Record::Rewind { .. } | Record::End { .. } => {}
            }
        }
        Ok(())
    }

    /// Leaves the recording: what happens from now on is up to whoever steers.
    pub fn leave_recording(&mut self) {
        let Some(seed) = self.following.as_ref().map(|following| following.seed) else { return };
        self.let_go(Some(Controllers::new(seed)));
    }

    /// Extenders will answer so.
    pub fn know_answers(&mut self, answers: impl Iterator<Item = ExtenderAnswer>) {
        self.notes = Some(Notes { known_answers: answers.collect(), ..Notes::default() });
    }

    /// The same for a look at what happens inside an attempt: nobody else acts.
    pub fn leave_recording_alone(&mut self) {
        self.let_go(None);
    }

    fn let_go(&mut self, controllers: Option<Controllers>) {
        let Some(following) = self.following.take() else { return };
        self.api = SandboxApi::resumed(self.scheduler.objects().clone(), self.now);
        self.effects = VecDeque::from_iter(following.open.into_values());
        if let Some(mut controllers) = controllers {
            controllers.start(&mut self.api, self.now);
            self.controllers = Some(controllers);
        }
        self.settle();
    }
}
