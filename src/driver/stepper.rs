//! How a sandbox goes on: step by step, or by itself at a chosen speed.
//!
//! Reads no clock: whoever owns the stepper tells it how much wall-clock time has gone by.

use crate::api::{Duration, Time};

use super::sandbox::simulator::Simulator;
use super::session::{Advance, Notice, NoticeLevel, RunState, SessionCommand, Speed};

/// While running, attempts are this far apart in simulated time, so that a person can follow them.
const CYCLE_INTERVAL: Duration = Duration::from_millis(100);

/// A sandbox with a person's hand on it.
#[derive(Clone, Debug)]
pub struct Stepper {
    simulator: Simulator,
    run_state: RunState,
    speed: Speed,
    notice: Option<Notice>,
    n_notices: u64,
    /// While running: when the next attempt may be made.
    next_cycle_at: Time,
    /// Attempts when the run to an outcome began.
    cycles_at_start: u64,
}

impl Stepper {
    /// A paused sandbox.
    pub fn new(simulator: Simulator) -> Self {
        let next_cycle_at = simulator.now();
        Self {
            simulator,
            run_state: RunState::Paused,
            speed: Speed::Times(1),
            notice: None,
            n_notices: 0,
            next_cycle_at,
            cycles_at_start: 0,
        }
    }

    /// The sandbox.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Ends the recording, if there is one.
    pub fn finish_recording(&mut self, reason: &str) {
        self.simulator.finish_recording(reason);
    }

    /// Whether it runs.
    pub fn run_state(&self) -> RunState {
        self.run_state
    }

    /// How fast it runs.
    pub fn speed(&self) -> Speed {
        self.speed
    }

    /// The last answer to a command.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// Does a command. False if the session is to end.
    pub fn command(&mut self, command: SessionCommand) -> bool {
        match command {
            SessionCommand::StepPhase => self.step(Simulator::step_phase),
            SessionCommand::StepCycle => self.step(Simulator::step_cycle),
            SessionCommand::RunToOutcome => {
                self.cycles_at_start = self.simulator.scheduler().n_outcomes();
                self.start(RunState::RunningToOutcome);
            }
            SessionCommand::Run => self.start(RunState::Running),
            SessionCommand::Pause => self.run_state = RunState::Paused,
            SessionCommand::SetSpeed(speed) => self.speed = speed,
            SessionCommand::Faster => self.speed = self.speed.faster(),
            SessionCommand::Slower => self.speed = self.speed.slower(),
            SessionCommand::Advance(advance) => self.advance(advance),
            SessionCommand::Edit(edit) => match self.simulator.edit(&edit) {
                Ok(said) => self.say(NoticeLevel::Info, said),
                Err(said) => self.say(NoticeLevel::Error, said),
            },
            SessionCommand::Quit => return false,
        }
        self.report_problems();
        true
    }

    fn start(&mut self, run_state: RunState) {
        self.run_state = run_state;
        self.next_cycle_at = self.simulator.now();
    }

    fn step(&mut self, step: impl Fn(&mut Simulator) -> bool) {
        self.run_state = RunState::Paused;
        if !step(&mut self.simulator) {
            let text = match self.simulator.next_timeout() {
                Some((_, reason)) => {
                    format!("no pod can be tried now; next: {reason} (advance time to get there)")
                }
                None => "no pod can be tried now, and nothing will happen by itself".to_owned(),
            };
            self.say(NoticeLevel::Info, text);
        }
    }

    fn advance(&mut self, advance: Advance) {
        self.run_state = RunState::Paused;
        let to = match advance {
            Advance::By(by) => self.simulator.now() + by,
            Advance::ToNextTimeout => match self.simulator.next_timeout() {
                Some((at, _)) => at,
                None => {
                    self.say(
                        NoticeLevel::Info,
                        "nothing will happen by itself: no backoff, no time-out, no flush",
                    );
                    return;
                }
            },
        };
        let before = self.simulator.now();
        self.simulator.advance_to(to, |_| true);
        let by = crate::api::time::human_duration(self.simulator.now() - before);
        self.say(NoticeLevel::Info, format!("time moved on by {by}"));
    }

    /// Lets `wall` of wall-clock time go by, as far as the stepper runs. `is_over` says that the caller wants to be
    /// back: where the machine cannot keep up with the speed, time goes as fast as it can.
    pub fn tick(&mut self, wall: Duration, mut is_over: impl FnMut() -> bool) {
        let target = match (self.run_state, self.speed) {
            (RunState::Paused, _) => return,
            // A person who asks for the outcome does not want to wait for it.
            (RunState::RunningToOutcome, _) | (RunState::Running, Speed::Max) => None,
            (RunState::Running, Speed::Times(n)) => Some(self.simulator.now() + wall.saturating_mul(n)),
        };
        match target {
            Some(target) => self.run_until(target, &mut is_over),
            None => self.run_flat_out(&mut is_over),
        }
        self.report_problems();
    }

    fn run_until(&mut self, target: Time, is_over: &mut impl FnMut() -> bool) {
        while self.run_state != RunState::Paused && !is_over() {
            let now = self.simulator.now();
            if self.simulator.scheduler().can_schedule() && self.next_cycle_at <= now {
                self.simulator.step_cycle();
                self.next_cycle_at = now + CYCLE_INTERVAL;
                self.stop_at_outcome();
                continue;
            }
            if now >= target {
                return;
            }
            let stop = if self.next_cycle_at > now { target.min(self.next_cycle_at) } else { target };
            self.simulator.advance_to(stop, |simulator| !simulator.scheduler().can_schedule() && !is_over());
            self.stop_at_outcome();
        }
    }

    fn run_flat_out(&mut self, is_over: &mut impl FnMut() -> bool) {
        while self.run_state != RunState::Paused && !is_over() {
            if self.simulator.step_cycle() {
                self.stop_at_outcome();
                continue;
            }
            if self.simulator.is_at_rest() {
                if self.can_reach_the_flush() {
                    continue;
                }
                self.run_state = RunState::Paused;
                self.say(NoticeLevel::Info, "at rest: nothing moves until something changes; paused");
                return;
            }
            let Some((at, _)) = self.simulator.next_timeout() else { return };
            self.simulator.advance_to(at, |_| true);
            self.stop_at_outcome();
        }
    }

    /// A person who asks for an outcome gets the one that the flush of unschedulable pods brings, too.
    fn can_reach_the_flush(&mut self) -> bool {
        if self.run_state != RunState::RunningToOutcome {
            return false;
        }
        let Some((at, _)) = self.simulator.next_timeout() else { return false };
        self.simulator.advance_to(at, |_| true);
        self.simulator.scheduler().can_schedule()
    }

    fn stop_at_outcome(&mut self) {
        if self.run_state == RunState::RunningToOutcome
            && self.simulator.scheduler().n_outcomes() > self.cycles_at_start
        {
            self.run_state = RunState::Paused;
        }
    }

    /// In how much wall-clock time the stepper wants its next tick; `None` while it is paused.
    pub fn next_tick(&self) -> Option<Duration> {
        /// The clock on the screen moves at least so often.
        const TICK_MAX: Duration = Duration::from_millis(100);
        match (self.run_state, self.speed) {
            (RunState::Paused, _) => None,
            (RunState::RunningToOutcome, _) | (_, Speed::Max) => Some(Duration::ZERO),
            (RunState::Running, Speed::Times(n)) => {
                Some((CYCLE_INTERVAL / n.max(1)).clamp(Duration::from_millis(16), TICK_MAX))
            }
        }
    }

    fn report_problems(&mut self) {
        for problem in self.simulator.scheduler_mut().take_problems() {
            tracing::warn!(target: "scheduler", "{problem}");
        }
    }

    /// Answers a command.
    pub fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.n_notices += 1;
        self.notice = Some(Notice { number: self.n_notices, level, text: text.into() });
    }
}
