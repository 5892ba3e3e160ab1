//! The extenders of a case, played by rules, and the questions that they are asked outside of the attempt.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{ObjectStore, Str};
use crate::driver::extender::{PlayedAnswer, Player, PlayerError};
use crate::framework::extender::{Extender, ExtenderAnswer, ExtenderCall};
use crate::framework::preemption::Candidate;
use crate::framework::{Answer, Handle, NodeInfo, PodInfo, Question, Status};
use crate::plugins::default_preemption::ask_extenders;

/// What an extender's score of 1 counts beside the scores of plugins.
const SCORE_SCALE: i64 = 10;

/// Extenders with unused rules. A copy goes its own way: what it is asked uses up no rule here.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// In the order in which they are asked.
    pub extenders: Vec<Extender>,
    player: Player,
    api: Arc<ObjectStore>,
}

/// What extenders add to the totals: by extender, then node.
pub(super) type Given = BTreeMap<Str, BTreeMap<Str, i64>>;

impl Stage {
    /// Extenders that answer by the rules of an `extenders.yaml`.
    pub(super) fn new(extenders: Vec<Extender>, rules: &str, api: ObjectStore) -> Result<Self, PlayerError> {
        let player = Player::parse(rules, &extenders)?;
        Ok(Self { extenders, player, api: Arc::new(api) })
    }

    /// Makes a call of the scheduler.
    pub(super) fn play(&mut self, call: &ExtenderCall) -> Result<PlayedAnswer, PlayerError> {
        let extender = self.extenders.get(call.extender);
        let extender = extender.ok_or_else(|| PlayerError::Missing(call.url.clone()))?;
        self.player.answer(extender, call, &self.api)
    }

    /// Makes a call; a call that cannot be played fails.
    fn answer(&mut self, call: &ExtenderCall) -> ExtenderAnswer {
        match self.play(call) {
            Ok(played) => played.answer,
            Err(error) => ExtenderAnswer::Failed(error.to_string()),
        }
    }

    /// Which of the nodes the filter extenders leave. `None` if one of them fails.
    pub(super) fn filter(
        &mut self,
        pod: &PodInfo,
        mut nodes: Vec<Arc<NodeInfo>>,
    ) -> Option<Vec<Arc<NodeInfo>>> {
        for (index, extender) in self.extenders.clone().iter().enumerate() {
            if nodes.is_empty() {
                break;
            }
            if !extender.is_filter() || !extender.is_interested(&pod.pod) {
                continue;
            }
            let answer = self.answer(&extender.filter_call(index, &pod.pod, &nodes));
            match extender.filter_answer(&answer, &nodes) {
                Ok(result) => nodes = result.nodes,
                Err(_) if extender.ignorable => {}
                Err(_) => return None,
            }
        }
        Some(nodes)
    }

    /// What the prioritizing extenders add to the totals of these nodes.
    pub(super) fn prioritize(&mut self, pod: &PodInfo, nodes: &[Arc<NodeInfo>]) -> Given {
        let mut given = Given::new();
        for (index, extender) in self.extenders.clone().iter().enumerate() {
            if !extender.is_prioritizer() || !extender.is_interested(&pod.pod) {
                continue;
            }
            let answer = self.answer(&extender.prioritize_call(index, &pod.pod, nodes));
            let Ok(scores) = extender.prioritize_answer(&answer) else { continue };
            let name = self.player.name_of(extender).cloned().unwrap_or_default();
            let by_node = given.entry(name).or_default();
            for (host, score) in scores {
                let points = score.wrapping_mul(extender.weight).wrapping_mul(SCORE_SCALE);
                let sum = by_node.entry(host).or_default();
                *sum = sum.wrapping_add(points);
            }
        }
        given
    }

    /// What the preempting extenders leave of the candidates, and whether any was asked.
    ///
    /// # Errors
    /// One of them fails.
    pub(super) fn preempt(
        &mut self,
        handle: &Handle<'_>,
        pod: &PodInfo,
        candidates: &[Candidate],
    ) -> Result<(Vec<Candidate>, bool), Status> {
        handle.answers.borrow_mut().clear();
        loop {
            handle.answers.borrow_mut().rewind();
            let left = ask_extenders(handle, &pod.pod, candidates.to_vec());
            if let Some(left) = left {
                let was_asked = !handle.answers.borrow().is_empty();
                handle.answers.borrow_mut().clear();
                return left.map(|left| (left, was_asked));
            }
            let questions = handle.answers.borrow_mut().take_missing();
            for question in questions {
                let Question::Extender(call) = &question else { continue };
                let answer = Answer::Extender(self.answer(call));
                handle.answers.borrow_mut().add([(question, answer)]);
            }
        }
    }
}
