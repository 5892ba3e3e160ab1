//! A lesson, played through by the engine once: the operations that lead to each question and to its answer.
//!
//! The operations are those of a person at the console, so a session can be brought to any of these moments by doing them.

use std::sync::Arc;

use crate::api::manifest::load;
use crate::api::{Duration, Time};
use crate::config::{FeatureGates, ReadOptions, SchedulerConfig};
use crate::driver::history::Machine as _;
use crate::driver::runner::run_watched;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Controllers;
use crate::driver::sandbox::ops::{SimulatorOp, SimulatorSaid};
use crate::driver::sandbox::simulator::Simulator;
use crate::framework::runtime::{Registry, build_profiles};
use crate::scheduler::SchedulerOptions;
use crate::scheduler::pod_group_trace::PlacementTrace;
use crate::scheduler::trace::CycleTrace;

use super::answer::Answer;
use super::expression::Moment;
use super::file::{Lesson, LessonError, Question, Setup};
use super::script::{Deed, Until};

/// Where simulated time begins.
const START: Time = Time::from_secs(1_767_225_600);
/// A lesson takes no more operations than this.
const OPS_MAX: usize = 2_000;

/// Why a lesson cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    /// Its cluster or its configuration cannot be used.
    #[error("{file}: {reason}")]
    Setup {
        /// The file.
        file: String,
        /// What is wrong; it may have several lines.
        reason: String,
    },
    /// A question has no answer.
    #[error(transparent)]
    Question(#[from] LessonError),
}

/// A lesson with the engine's answers.
#[derive(Clone, Debug)]
pub struct Played {
    /// The sandbox at the start.
    pub initial: Simulator,
    /// What was done, from the start to the end.
    pub ops: Vec<SimulatorOp>,
    /// The questions in order.
    pub questions: Vec<PlayedQuestion>,
}

/// A question with the engine's answer.
#[derive(Clone, Debug)]
pub struct PlayedQuestion {
    /// So many operations lead to the moment at which it is asked.
    pub asked_at: usize,
    /// So many lead to the moment that the answer is about.
    pub answered_at: usize,
    /// The answer.
    pub answer: Answer,
    /// What is known at that moment.
    pub moment: Moment,
}

/// Makes the sandbox of a lesson.
fn sandbox(setup: &Setup, registry: &Registry) -> Result<Simulator, String> {
    let gates = FeatureGates::parse(setup.gates.trim()).map_err(|error| format!("gates: {error}"))?;
    let mut config = match &setup.config {
        None => SchedulerConfig::default_under(&gates),
        Some(source) => {
            let catalog = registry.catalog(&gates);
            let options = ReadOptions { source: &source.name, gates: &gates, catalog: &catalog };
            SchedulerConfig::read(&source.text, options).map_err(|complaints| complaints.to_string())?
        }
    };
    config.leave_out_unbuilt(&|name| registry.contains(name));
    let loaded = load(&setup.manifests).map_err(|errors| errors.to_string())?;
    let (api, _) =
        SandboxApi::from_manifests(loaded, &setup.manifests, START).map_err(|error| error.to_string())?;
    let profiles = build_profiles(&config.profiles, registry, &gates).map_err(|error| error.to_string())?;
    let options = SchedulerOptions { seed: setup.seed, is_tracing: true, ..SchedulerOptions::default() };
    let options = options.configured(&config);
    let simulator = Simulator::new(profiles.into_values().collect(), options, api, START);
    let simulator = simulator.map_err(|error| error.to_string())?;
    Ok(if setup.controllers { simulator.with_controllers(Controllers::new(setup.seed)) } else { simulator })
}

/// Keeps the evidence of attempts: of the newest one, and of all members of a group that were tried together.
fn note(attempts: &mut Vec<Arc<CycleTrace>>, simulator: &Simulator, op: &SimulatorOp) {
    if !op.is_step() {
        return;
    }
    let group = simulator.scheduler().group_trace();
    let run = group.as_ref().and_then(|group| group.schedule_run());
    let placements = run.iter().flat_map(|run| {
        let is_it =
            |placement: &&PlacementTrace| run.chosen.as_ref().is_none_or(|name| *name == placement.name);
        run.placements.iter().filter(is_it)
    });
    let members =
        placements.flat_map(|placement| &placement.members).filter_map(|member| member.trace.as_ref());
    for trace in members {
        if place(attempts, trace).is_err() {
            keep(attempts, Arc::clone(trace));
        }
    }
    if let Some(trace) = simulator.scheduler().newest_trace() {
        keep(attempts, Arc::new(trace.clone()));
    }
}

/// Where the evidence of this attempt is, or where it belongs. The members of a group have one number.
fn place(attempts: &[Arc<CycleTrace>], trace: &CycleTrace) -> Result<usize, usize> {
    let begin = attempts.partition_point(|known| known.number < trace.number);
    let end = attempts.partition_point(|known| known.number <= trace.number);
    let pod = trace.pod_key();
    (begin..end).find(|at| attempts.get(*at).is_some_and(|known| known.pod_key() == pod)).ok_or(end)
}

fn keep(attempts: &mut Vec<Arc<CycleTrace>>, trace: Arc<CycleTrace>) {
    match place(attempts, &trace) {
        Ok(at) => attempts[at] = trace,
        Err(at) => attempts.insert(at, trace),
    }
}

fn endless() -> String {
    format!("it does not come to an end within {OPS_MAX} operations: say how far with `until`")
}

struct Run {
    simulator: Simulator,
    ops: Vec<SimulatorOp>,
    attempts: Vec<Arc<CycleTrace>>,
}

impl Run {
    fn apply(&mut self, op: SimulatorOp) -> Result<SimulatorSaid, String> {
        if self.ops.len() >= OPS_MAX {
            return Err(endless());
        }
        let said = self.simulator.apply(&op, None).said;
        note(&mut self.attempts, &self.simulator, &op);
        self.ops.push(op);
        Ok(said)
    }

    /// Makes an attempt if one can be made.
    fn attempt(&mut self) -> Result<bool, String> {
        if !self.simulator.can_step() {
            return Ok(false);
        }
        self.apply(SimulatorOp::StepCycle)?;
        Ok(true)
    }

    fn deed(&mut self, deed: &Deed) -> Result<(), String> {
        match deed {
            Deed::Wait(time) => self.go_to(self.simulator.now() + *time),
            Deed::Edit(edit) => match self.apply(SimulatorOp::Edit(edit.clone()))? {
                SimulatorSaid::Edited(said) => said.map(drop),
                SimulatorSaid::Moved(_) | SimulatorSaid::Answered(_) => Ok(()),
            },
        }
    }

    /// Lets time go on without attempts.
    fn go_to(&mut self, to: Time) -> Result<(), String> {
        while self.simulator.next_timeout().is_some_and(|(at, _)| at <= to) {
            self.apply(SimulatorOp::NextTimeout)?;
        }
        if to > self.simulator.now() {
            self.apply(SimulatorOp::TimeTo(to))?;
        }
        Ok(())
    }

    fn go(&mut self, until: &Until) -> Result<(), String> {
        match until {
            Until::Now => {}
            Until::Settled => while self.attempt()? {},
            Until::Rest => self.rest()?,
            Until::Attempt(number) => {
                while self.simulator.scheduler().counts().cycles < *number {
                    self.attempt_or_wait(&format!("attempt {number} is never made"))?;
                }
            }
            Until::Tried(pod) => loop {
                let before = self.simulator.scheduler().counts().cycles;
                self.attempt_or_wait(&format!("pod {pod} is never tried"))?;
                let is_it = |trace: &Arc<CycleTrace>| trace.number > before && trace.pod_key() == *pod;
                if self.attempts.iter().any(is_it) {
                    break;
                }
            },
            Until::Elapsed(time) => {
                let to = self.simulator.start() + *time;
                loop {
                    while self.attempt()? {}
                    match self.simulator.next_timeout() {
                        Some((at, _)) if at <= to => self.apply(SimulatorOp::NextTimeout)?,
                        _ => break,
                    };
                }
                self.go_to(to)?;
            }
        }
        Ok(())
    }

    fn attempt_or_wait(&mut self, otherwise: &str) -> Result<(), String> {
        if self.attempt()? {
            return Ok(());
        }
        if self.simulator.next_timeout().is_none() {
            return Err(otherwise.to_owned());
        }
        self.apply(SimulatorOp::NextTimeout).map(drop)
    }

    /// Until nothing moves: what is tried again and again without any change counts as rest, too.
    fn rest(&mut self) -> Result<(), String> {
        let Self { simulator, ops, attempts } = self;
        let has_ended = run_watched(simulator, Duration::ZERO, &mut |simulator, op| {
            note(attempts, simulator, op);
            ops.push(op.clone());
            ops.len() < OPS_MAX
        });
        if has_ended { Ok(()) } else { Err(endless()) }
    }

    fn moment(&self) -> Moment {
        let view = self.simulator.scheduler().view();
        let mut attempts = self.attempts.clone();
        if let Some(trace) = &view.cycle
            && let Ok(at) = place(&attempts, trace)
        {
            attempts[at] = Arc::clone(trace);
        }
        Moment {
            start: self.simulator.start(),
            view: Arc::new(view),
            objects: self.simulator.api().objects().clone(),
            attempts,
        }
    }

    fn question(
        &mut self,
        lesson: &Lesson,
        number: usize,
        question: &Question,
    ) -> Result<PlayedQuestion, LessonError> {
        let wrong = |field: &str, reason: String| {
            lesson.complaint(question.answer_place, format!("question {number}, {field}"), reason)
        };
        for deed in &question.deeds {
            self.deed(deed).map_err(|reason| wrong("do", reason))?;
        }
        let asked_at = self.ops.len();
        self.go(&question.until).map_err(|reason| wrong("until", reason))?;
        let moment = self.moment();
        let answer = question.answer.evaluate(&moment).map_err(|reason| wrong("answer", reason))?;
        Ok(PlayedQuestion { asked_at, answered_at: self.ops.len(), answer, moment })
    }
}

/// Plays a lesson through.
///
/// # Errors
/// Its cluster cannot be made, something in it cannot be done, or a question has no answer.
pub fn play(lesson: &Lesson, registry: &Registry) -> Result<Played, PlayError> {
    let initial = sandbox(&lesson.setup, registry)
        .map_err(|reason| PlayError::Setup { file: lesson.file.clone(), reason })?;
    let mut run = Run { simulator: initial.clone(), ops: Vec::new(), attempts: Vec::new() };
    let mut questions = Vec::new();
    for (i, question) in lesson.questions.iter().enumerate() {
        questions.push(run.question(lesson, i + 1, question)?);
    }
    Ok(Played { initial, ops: run.ops, questions })
}
