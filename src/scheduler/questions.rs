//! Questions that an attempt has for the world outside: calls to extenders, writes to the API.
//!
//! A question is an effect: the phase that needs the answer is given up, and run again from where it began when the
//! answer has come.

use crate::api::Rng;
use crate::framework::extender::ExtenderAnswer;
use crate::framework::{Answer, Framework, PluginStates, Question, WriteResult};

use super::Scheduler;
use super::cycle::Cycle;
use super::effect::{EffectId, EffectKind};
use super::pending::PendingEffect;
use super::trace::Phase;

/// The scheduler as it was when a phase began that may have questions.
pub(super) struct BeforeQuestions {
    cycle: Cycle,
    rng: Rng,
    states: PluginStates,
    next_start_node_index: usize,
}

impl Scheduler {
    /// Keeps what a phase may change, if it may have questions.
    pub(super) fn before_questions(&self, cycle: &Cycle, framework: &Framework) -> Option<BeforeQuestions> {
        let may_write = || {
            let mut plugins =
                framework.plugins.post_filter.iter().filter_map(|plugin| plugin.as_post_filter());
            plugins.any(|plugin| plugin.may_write(&cycle.state))
        };
        if self.world.extenders.is_empty() && !(cycle.next == Phase::PostFilter && may_write()) {
            return None;
        }
        self.world.answers.borrow_mut().rewind();
        Some(BeforeQuestions {
            cycle: cycle.clone(),
            rng: self.world.rng.borrow().clone(),
            states: self.world.states.clone(),
            next_start_node_index: self.next_start_node_index,
        })
    }

    /// Puts the phase back to its beginning if it has questions, and asks them. False if it has none: it is over.
    pub(super) fn ask_questions(&mut self, before: BeforeQuestions) -> bool {
        if !self.world.answers.borrow().has_missing() {
            self.world.answers.borrow_mut().clear();
            return false;
        }
        let questions = self.world.answers.borrow_mut().take_missing();
        self.world.take_requests();
        self.world.rng.replace(before.rng);
        self.world.states = before.states;
        self.next_start_node_index = before.next_start_node_index;
        self.cycle = Some(before.cycle);
        for question in questions {
            let id = self.emit(match question.clone() {
                Question::Extender(call) => EffectKind::CallExtender(call),
                Question::Write(write) => EffectKind::Write(write),
            });
            self.questions.insert(id, None);
            self.pending_effects.insert(id, PendingEffect::AttemptQuestion(question));
        }
        true
    }

    /// An extender has answered.
    pub(super) fn extender_answered(&mut self, id: EffectId, answer: ExtenderAnswer) {
        match self.pending_effects.remove(&id) {
            Some(PendingEffect::AttemptQuestion(question)) => {
                self.question_answered(id, question, Answer::Extender(answer));
            }
            Some(PendingEffect::ExtenderBind { uid, extender }) => {
                self.extender_has_bound(&uid, extender, &answer);
            }
            Some(_) | None => {}
        }
    }

    /// A write that a plugin wanted has ended.
    pub(super) fn written(&mut self, id: EffectId, result: WriteResult) {
        match self.pending_effects.remove(&id) {
            Some(PendingEffect::AttemptQuestion(question)) => {
                self.question_answered(id, question, Answer::Write(result));
            }
            Some(PendingEffect::Write { uid, plugin, write }) => {
                match (self.binding_cycles.get_mut(&uid), result) {
                    (Some(binding), result) => {
                        binding.cycle.state.put_write_result(plugin, write, result);
                        self.binding_cycles.wake(&uid);
                    }
                    (None, Ok(_)) => {}
                    (None, Err(failure)) => {
                        let (kind, key) = (write.object.kind(), write.object.key());
                        self.note_problem(&format!(
                            "{plugin}: {} {kind} {key}: {failure}",
                            write.verb.as_str()
                        ));
                    }
                }
            }
            Some(_) | None => {}
        }
    }

    /// When the last answer has come, the phase is run again.
    fn question_answered(&mut self, id: EffectId, question: Question, answer: Answer) {
        self.questions.insert(id, Some((question, answer)));
        if self.questions.values().any(Option::is_none) {
            return;
        }
        let answers = std::mem::take(&mut self.questions);
        self.world.answers.borrow_mut().add(answers.into_values().flatten());
        let is_stepped = self.cycle.as_ref().is_some_and(|cycle| cycle.is_stepped);
        self.next_phase(is_stepped);
        if self.is_driving {
            self.drive();
        }
    }
}
