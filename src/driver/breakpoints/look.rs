//! What has happened between two moments, scene by scene: the phases of an attempt first, then what came of it.
//!
//! An attempt leaves its whole evidence behind, so an attempt that was made in one go is looked at afterwards, phase by
//! phase, as far as the evidence goes at each. A condition that stays true over several phases counts once, where it
//! becomes true.

use super::scene::{Around, Scene, phases_done};
use super::{Condition, Hit};
use crate::api::NamespacedName;
use crate::driver::sandbox::api::WatchEvent;
use crate::driver::sandbox::simulator::Simulator;
use crate::scheduler::Scheduler;
use crate::scheduler::trace::{CycleTrace, Phase};

/// The number of an attempt, its pod, and how far it has come.
pub(in crate::driver) type Place = (u64, NamespacedName, Phase);

/// The place of the newest attempt.
pub(in crate::driver) fn place_in(scheduler: &Scheduler) -> Option<Place> {
    scheduler.newest_trace().map(|trace| (trace.number, trace.pod_key(), trace.phase))
}

/// What had happened before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Before {
    n_moves: u64,
    n_outcomes: u64,
    /// The newest attempt, and how far it had come.
    attempt: Option<Place>,
    is_in_group: bool,
}

impl Before {
    /// What has happened up to now.
    pub(in crate::driver) fn of(simulator: &Simulator) -> Self {
        Self::of_scheduler(simulator.scheduler())
    }

    /// The same of a scheduler alone.
    pub(in crate::driver) fn of_scheduler(scheduler: &Scheduler) -> Self {
        Self {
            n_moves: scheduler.n_moves(),
            n_outcomes: scheduler.n_outcomes(),
            attempt: place_in(scheduler),
            is_in_group: scheduler.is_in_group_cycle(),
        }
    }

    /// Whether a phase is new since then.
    fn is_new(&self, trace: &CycleTrace, phase: Phase) -> bool {
        match &self.attempt {
            Some((number, _, _)) if *number > trace.number => false,
            // The members of a pod group are tried under one number, and each of them perhaps in several placements.
            Some((number, pod, done))
                if *number == trace.number && *done <= trace.phase && *pod == trace.pod_key() =>
            {
                phase > *done
            }
            Some(_) | None => true,
        }
    }

    /// Whether the evidence of several attempts may be gone by now: members of a pod group are tried in one go.
    pub(in crate::driver) fn needs_phases(&self, scheduler: &Scheduler) -> bool {
        let last = self.attempt.as_ref().map_or(0, |(number, ..)| *number);
        self.is_in_group
            || scheduler.is_in_group_cycle()
            || scheduler.newest_trace().is_some_and(|trace| trace.number > last + 1)
    }
}

/// Where conditions are true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Found {
    /// The attempt and the phase; absent where it is no phase but what came of the operation.
    pub at: Option<Place>,
    /// Whether nothing comes after it in the operation but what is not looked at phase by phase.
    pub is_last: bool,
    /// Which conditions, each with what is to be told.
    pub(in crate::driver) hits: Vec<(Condition, Hit)>,
}

impl Found {
    /// What is to be told of a condition.
    pub fn hit_of(&self, condition: &Condition) -> Option<&Hit> {
        self.hits.iter().find(|(known, _)| known == condition).map(|(_, hit)| hit)
    }
}

/// Every place since `before` where any of the conditions is true, in order. `events` is what the watches have reported
/// since.
pub(in crate::driver) fn places(
    conditions: &[&Condition],
    before: &Before,
    scheduler: &Scheduler,
    events: &[WatchEvent],
) -> Vec<Found> {
    let around = Around::new(scheduler);
    let trace = scheduler.newest_trace();
    let mut found = Vec::new();
    let phases: Vec<Phase> = trace.into_iter().flat_map(phases_done).collect();
    let mut last_phase = None;
    for (i, phase) in phases.iter().enumerate() {
        let Some(trace) = trace.filter(|trace| before.is_new(trace, *phase)) else { continue };
        let scene = Scene::phase(trace, *phase, around);
        let earlier =
            i.checked_sub(1).and_then(|i| phases.get(i)).map(|phase| Scene::phase(trace, *phase, around));
        let was_true = |condition: &Condition| earlier.as_ref().is_some_and(|scene| condition.is_true(scene));
        let hits = conditions
            .iter()
            .filter_map(|condition| Some(((*condition).clone(), condition.hit(&scene)?)))
            .filter(|(condition, _)| !was_true(condition));
        let hits: Vec<_> = hits.collect();
        let is_last = i + 1 == phases.len();
        if !hits.is_empty() {
            found.push(Found { at: Some((trace.number, trace.pod_key(), *phase)), is_last, hits });
            last_phase = is_last.then_some(found.len() - 1);
        }
    }
    let after = after_phases(conditions, before, scheduler, events);
    match last_phase.and_then(|at| found.get_mut(at)) {
        // What came of the last phase is the same moment.
        Some(last) => {
            for (condition, hit) in after {
                if last.hit_of(&condition).is_none() {
                    last.hits.push((condition, hit));
                }
            }
        }
        None if !after.is_empty() => found.push(Found { at: None, is_last: true, hits: after }),
        None => {}
    }
    found
}

/// What is true of what came of an operation: ends of attempts, moves between queues, changes of the cluster.
fn after_phases(
    conditions: &[&Condition],
    before: &Before,
    scheduler: &Scheduler,
    events: &[WatchEvent],
) -> Vec<(Condition, Hit)> {
    let around = Around::new(scheduler);
    let trace = scheduler.newest_trace();
    let history = scheduler.history();
    let n_new = scheduler.n_outcomes().saturating_sub(before.n_outcomes);
    let skipped = history.len().saturating_sub(usize::try_from(n_new).unwrap_or(usize::MAX));
    let ends = history.iter().skip(skipped).map(|line| Scene::outcome(line, trace, around));
    let moves = scheduler.moves_after(before.n_moves).map(|line| Scene::queue_move(line, around));
    let changes = events.iter().map(|event| Scene::change(event, around));
    let scenes: Vec<Scene<'_>> = changes.chain(moves).chain(ends).collect();
    conditions
        .iter()
        .filter_map(|condition| {
            let hit = scenes.iter().find_map(|scene| condition.hit(scene))?;
            Some(((*condition).clone(), hit))
        })
        .collect()
}

/// The scenes of the newest attempt as far as it has come, for watches.
pub(super) fn scenes_now(scheduler: &Scheduler) -> Vec<Scene<'_>> {
    let around = Around::new(scheduler);
    let Some(trace) = scheduler.newest_trace() else { return Vec::new() };
    let ends = scheduler.history().back().filter(|line| line.number == trace.number);
    let ends = ends.map(|line| Scene::outcome(line, Some(trace), around));
    phases_done(trace).map(|phase| Scene::phase(trace, phase, around)).chain(ends).collect()
}
