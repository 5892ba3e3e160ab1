//! How a sandbox goes on: step by step, or by itself at a chosen speed; and how it goes back.
//!
//! Reads no clock: whoever owns the stepper tells it how much wall-clock time has gone by.

use std::sync::Arc;

use crate::api::{Duration, Kind, NamespacedName, Time};
use crate::framework::meter::Meter;
use crate::scheduler::pod_group_trace::GroupStep;

use super::advice::{AdviceQuestion, Numbered};
use super::api_server::publish::Publisher;
use super::branches::{BranchComparison, BranchView};
use super::breakpoints::list::Stop;
use super::breakpoints::look::{Before, place_in};
use super::breakpoints::{Breaks, DebugCommand, DebugView};
use super::desk::Desk;
use super::inspect::{Inspected, Inspector};
use super::latency::{Latencies, LatencyView};
use super::outlook::asking::Asking;
use super::outlook::task::WhatIfView;
use super::replay::chunk::Lead;
use super::rewind::{Moment, Rewind};
use super::sandbox::ops::{SimulatorOp, SimulatorSaid};
use super::sandbox::simulator::Simulator;
use super::seek::{SeekTo, Wanted};
use super::session::{Advance, BackTo, Edit, Notice, NoticeLevel, RunState, SessionCommand, Speed};
use super::work::Work;

/// While running, attempts are this far apart in simulated time, so that a person can follow them.
pub(super) const CYCLE_INTERVAL: Duration = Duration::from_millis(100);

/// A sandbox with a person's hand on it.
#[derive(Debug)]
pub struct Stepper {
    pub(super) rewind: Rewind,
    pub(super) run_state: RunState,
    pub(super) speed: Speed,
    notice: Option<Notice>,
    n_notices: u64,
    /// While running: when the next attempt may be made.
    pub(super) next_cycle_at: Time,
    /// Attempts when the run to an outcome began.
    cycles_at_start: u64,
    /// While running in the past: simulated time that has gone by and was not used up by what is known yet.
    pub(super) credit: Duration,
    /// The place whose markers and notes were told last.
    pub(super) told_at: Option<(usize, usize)>,
    /// What was looked for last.
    pub(super) last_seek: Option<Wanted>,
    /// What is looked for while a recording is looked through, and from where.
    pub(super) awaited: Option<(SeekTo, (usize, usize))>,
    /// Absent where nothing can be recorded.
    pub(super) desk: Option<Desk>,
    pub(super) breaks: Breaks,
    /// Why it stands where it stands, if that is because of a breakpoint.
    stop: Option<Stop>,
    comparison: Option<(u64, Arc<BranchComparison>)>,
    /// What was worked out last that a person had asked for.
    pub(super) advice: Option<Numbered>,
    /// What is looked into besides the view.
    inspector: Inspector,
    /// What would be, if somebody asks.
    pub(super) asking: Asking,
    /// Who measures, if anybody does.
    latencies: Option<Arc<Latencies>>,
    /// Where long work is told of.
    pub(super) work: Work,
    /// Present while the sandbox is served as an API.
    pub(super) served: Option<Publisher>,
}

impl Stepper {
    /// A paused sandbox.
    pub fn new(simulator: Simulator) -> Self {
        Self::on(Rewind::new(simulator))
    }

    /// The same with a clock beside it that measures how long plugins take.
    pub fn measured(mut simulator: Simulator) -> Self {
        let latencies = Latencies::new();
        let meter: Arc<dyn Meter> = Arc::<Latencies>::clone(&latencies);
        simulator.scheduler_mut().measure(&meter);
        Self { latencies: Some(latencies), ..Self::new(simulator) }
    }

    /// Measures the sandbox that has taken the place of another one.
    pub(super) fn measure_again(&mut self) {
        let Some(latencies) = &self.latencies else { return };
        let meter: Arc<dyn Meter> = Arc::<Latencies>::clone(latencies);
        self.rewind.simulator_mut().scheduler_mut().measure(&meter);
    }

    /// It stands where it stands because somebody put it there.
    pub(super) fn forget_stop(&mut self) {
        self.stop = None;
    }

    /// How long plugins took so far, if that is measured.
    pub fn latency(&self) -> Option<Arc<LatencyView>> {
        self.latencies.as_ref().map(|latencies| Arc::new(latencies.view()))
    }

    /// A paused sandbox or recording with what is known of it.
    pub fn on(rewind: Rewind) -> Self {
        let next_cycle_at = rewind.simulator().now();
        let mut stepper = Self {
            rewind,
            run_state: RunState::Paused,
            speed: Speed::Times(1),
            notice: None,
            n_notices: 0,
            next_cycle_at,
            cycles_at_start: 0,
            credit: Duration::ZERO,
            told_at: None,
            last_seek: None,
            awaited: None,
            desk: None,
            breaks: Breaks::default(),
            stop: None,
            comparison: None,
            advice: None,
            inspector: Inspector::default(),
            asking: Asking::default(),
            latencies: None,
            work: Work::default(),
            served: None,
        };
        stepper.tell_how_it_ends();
        stepper.tell_marks();
        stepper
    }

    /// Long work is told of there, and asks there whether it is still wanted.
    pub fn set_work(&mut self, work: &Work) {
        self.rewind.set_work(work.clone());
        self.work = work.clone();
    }

    /// The sandbox.
    pub fn simulator(&self) -> &Simulator {
        self.rewind.simulator()
    }

    /// Where in what is known of it the sandbox stands.
    pub fn moment(&self) -> Moment {
        self.rewind.moment()
    }

    /// What is told of breakpoints and watches.
    pub fn debug_view(&self) -> Arc<DebugView> {
        self.breaks.view(self.stop.as_ref())
    }

    /// The branches; none while there is only one.
    pub fn branch_views(&self) -> Arc<[BranchView]> {
        if self.moment().n_branches > 1 { self.rewind.branch_views().into() } else { Arc::from([]) }
    }

    /// The two branches that were compared last.
    pub fn comparison(&self) -> Option<&(u64, Arc<BranchComparison>)> {
        self.comparison.as_ref()
    }

    /// The last question of what would be, with what is known of it.
    pub fn what_if(&mut self) -> Option<Arc<WhatIfView>> {
        self.asking.look();
        self.asking.view()
    }

    /// Looks at what is watched.
    pub fn update_watches(&mut self) {
        self.breaks.update_watches(self.rewind.simulator().scheduler());
    }

    /// Ends the recording, if there is one.
    pub fn finish_recording(&mut self, reason: &str) {
        self.rewind.finish_recording(reason);
    }

    /// What was asked for besides the view; while the session runs, as it was then.
    pub fn inspected(&mut self) -> Option<Arc<Inspected>> {
        let wanted = (self.run_state == RunState::Paused).then(|| self.rewind.moment());
        self.inspector.view(self.rewind.simulator().scheduler(), wanted, &self.work)
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
        let is_about_the_view = matches!(
            command,
            SessionCommand::SetSpeed(_)
                | SessionCommand::Faster
                | SessionCommand::Slower
                | SessionCommand::Request(_)
        );
        if !is_about_the_view {
            self.breaks.run_to(None);
        }
        let task = work_of(&command).map(|what| self.work.begin(what));
        // Time that has gone by stays gone, and what was saved in part is told of where it is saved.
        let leaves_no_trace = !matches!(command, SessionCommand::Advance(_) | SessionCommand::SaveLast(_));
        match command {
            SessionCommand::StepPhase => self.step(Rewind::step_phase),
            SessionCommand::StepPlacement => self.step(step_placement),
            SessionCommand::StepCycle => self.step(Rewind::step_cycle),
            SessionCommand::RunToOutcome => {
                self.cycles_at_start = self.simulator().scheduler().n_outcomes();
                self.start(RunState::RunningToOutcome);
            }
            SessionCommand::Run => self.start(RunState::Running),
            SessionCommand::Pause => self.run_state = RunState::Paused,
            SessionCommand::SetSpeed(speed) => self.speed = speed,
            SessionCommand::Faster => self.speed = self.speed.faster(),
            SessionCommand::Slower => self.speed = self.speed.slower(),
            SessionCommand::Advance(advance) => self.advance(advance),
            SessionCommand::Edit(edit) => self.edit(edit),
            SessionCommand::Back(to) => self.back(to),
            SessionCommand::ToEnd => self.go_to_end(),
            SessionCommand::ToElapsed(elapsed) => self.go_to_elapsed(elapsed),
            SessionCommand::ToBranch(branch) => self.go_to_branch(branch),
            SessionCommand::Live(_) => self.say(NoticeLevel::Error, "this is a sandbox: nothing is live"),
            SessionCommand::Seek(to) => self.seek(&to),
            SessionCommand::SeekAgain { is_back } => self.seek_again(is_back),
            SessionCommand::Leave => self.leave_recording(),
            SessionCommand::Fork => self.fork(),
            SessionCommand::Mark(name) => self.mark(&name),
            SessionCommand::Note(text) => self.note(&text),
            SessionCommand::Record(to) => self.record(&to),
            SessionCommand::StopRecording => self.stop_recording(),
            SessionCommand::SaveLast(to) => self.save_last(&to),
            SessionCommand::Inspect(question) => self.inspector.ask(question),
            SessionCommand::Compare(a, b) => self.compare(a, b),
            SessionCommand::Advise(question) => self.advise(&question),
            SessionCommand::TryFix(index) => self.try_fix(index),
            SessionCommand::WhatIf(text) => self.ask_what_if(&text),
            SessionCommand::TakeWhatIf => self.take_what_if(),
            SessionCommand::ForgetWhatIf => self.asking.forget(),
            SessionCommand::Debug(command) => self.debug(command),
            SessionCommand::Stage(stage) => self.take_stage(&stage),
            // What is under way does not come here to be called off.
            SessionCommand::CallOff(_) => {}
            SessionCommand::Request(ticket) => {
                self.answer_client(&ticket);
                return true;
            }
            SessionCommand::Quit => return false,
        }
        let is_called_off = task.is_some_and(|task| task.is_called_off());
        if is_called_off && leaves_no_trace {
            self.say(NoticeLevel::Info, "stopped: everything is as it was before");
        }
        self.tell_marks();
        self.report_problems();
        true
    }

    fn start(&mut self, run_state: RunState) {
        self.run_state = run_state;
        self.next_cycle_at = self.simulator().now();
        self.credit = Duration::ZERO;
    }

    fn step(&mut self, step: impl Fn(&mut Rewind) -> bool) {
        self.run_state = RunState::Paused;
        let watch = self.before_a_move();
        if step(&mut self.rewind) {
            self.stop_at_breaks(watch);
        } else if self.rewind.is_at_end_of_recording() {
            self.say_recording_is_over();
        } else {
            let text = match self.simulator().next_timeout() {
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
        if self.rewind.is_at_end_of_recording() {
            return self.say_recording_is_over();
        }
        let to = match advance {
            Advance::By(by) => self.simulator().now() + by,
            Advance::ToNextTimeout => match self.simulator().next_timeout() {
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
        let before = self.simulator().now();
        self.stop = None;
        if self.rewind.is_past() {
            // In the past time goes along the way that is known.
            self.rewind.go_to_time(to);
        } else {
            self.advance_to(to, |_| true);
        }
        if self.stop.is_some() {
            return;
        }
        let by = crate::api::time::human_duration(self.simulator().now() - before);
        if self.work.has_stopped() {
            return self.say(NoticeLevel::Info, format!("stopped on the way: time has moved on by {by}"));
        }
        self.say(NoticeLevel::Info, format!("time moved on by {by}"));
    }

    fn advance_to(&mut self, to: Time, mut at_stop: impl FnMut(&Simulator) -> bool) {
        let (from, whole) = (self.simulator().now(), millis(to - self.simulator().now().min(to)));
        while self.simulator().next_timeout().is_some_and(|(at, _)| at <= to) {
            if !self.work.goes_on(millis(self.simulator().now() - from), whole) {
                return;
            }
            if self.apply_and_look(SimulatorOp::NextTimeout) || !at_stop(self.simulator()) {
                return;
            }
        }
        if to > self.simulator().now() {
            self.apply_and_look(SimulatorOp::TimeTo(to));
        }
    }

    pub(super) fn edit(&mut self, edit: Edit) {
        let n_branches = self.moment().n_branches;
        let watch = self.before_a_move().filter(|_| self.run_state != RunState::Paused);
        if let Err(said) = self.rewind.try_for_branch(&edit) {
            return self.say(NoticeLevel::Error, said);
        }
        let SimulatorSaid::Edited(said) = self.rewind.apply(SimulatorOp::Edit(edit)) else { return };
        if self.stop_at_breaks(watch) {
            return;
        }
        let moment = self.moment();
        match said {
            Ok(said) if moment.n_branches > n_branches => {
                let branch = moment.branch;
                self.say(
                    NoticeLevel::Info,
                    format!("{said}; this is branch {branch} now, the rest stays as it was"),
                );
            }
            Ok(said) => self.say(NoticeLevel::Info, said),
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    fn back(&mut self, to: BackTo) {
        self.run_state = RunState::Paused;
        self.stop = None;
        match to {
            BackTo::Phase if self.rewind.back_phase() => {}
            BackTo::Cycle if self.rewind.back_cycle() => {}
            BackTo::Start if self.rewind.back_to_start() => {}
            BackTo::Phase | BackTo::Cycle | BackTo::Start => {
                self.say(NoticeLevel::Info, "this is the beginning of what is known");
            }
            BackTo::Change(kind, key) => self.back_to_change(kind, &key),
        }
    }

    fn back_to_change(&mut self, kind: Kind, key: &NamespacedName) {
        let what = kind.as_str().to_lowercase();
        let Some(op) = self.rewind.back_to_change(kind, key) else {
            return self
                .say(NoticeLevel::Info, format!("nothing before this moment has changed {what} {key}"));
        };
        let cycle = self.simulator().scheduler().counts().cycles;
        let by = match op {
            SimulatorOp::StepPhase | SimulatorOp::StepCycle => format!("in cycle {cycle}"),
            SimulatorOp::Recorded(chunk) if chunk.is_step() => format!("in cycle {cycle}"),
            SimulatorOp::Recorded(chunk) if chunk.lead == Lead::Load => "when the recording began".to_owned(),
            SimulatorOp::NextTimeout | SimulatorOp::TimeTo(_) => "as time went on".to_owned(),
            SimulatorOp::Edit(_) | SimulatorOp::Leave(_) => "by hand".to_owned(),
            SimulatorOp::Request(_) => "by a client of the API".to_owned(),
            SimulatorOp::Anew(_) => "when the scheduler was begun anew".to_owned(),
            SimulatorOp::Recorded(_) => "from outside".to_owned(),
        };
        let at = crate::api::time::human_duration(self.simulator().elapsed());
        self.say(NoticeLevel::Info, format!("{what} {key} was changed {by}, {at} after the start"));
    }

    fn go_to_end(&mut self) {
        self.run_state = RunState::Paused;
        if !self.rewind.go_to_end() {
            self.say(NoticeLevel::Info, "this is the last moment that is known");
        }
    }

    fn go_to_elapsed(&mut self, elapsed: Duration) {
        self.run_state = RunState::Paused;
        let at = self.simulator().start() + elapsed;
        self.rewind.go_to_time(at);
    }

    fn go_to_branch(&mut self, branch: usize) {
        self.run_state = RunState::Paused;
        if !self.rewind.go_to_branch(branch) {
            let last = self.moment().n_branches.saturating_sub(1);
            self.say(NoticeLevel::Error, format!("there is no branch {branch}; branches are 0 to {last}"));
        }
    }

    /// Lets `wall` of wall-clock time go by, as far as the stepper runs. `is_over` says that the caller wants to be
    /// back: where the machine cannot keep up with the speed, time goes as fast as it can.
    pub fn tick(&mut self, wall: Duration, mut is_over: impl FnMut() -> bool) {
        if self.rewind.is_past() {
            self.play_the_past(wall, &mut is_over);
            return;
        }
        if self.run_state != RunState::Paused && self.rewind.is_at_end_of_recording() {
            self.run_state = RunState::Paused;
            self.say_recording_is_over();
        }
        let target = match (self.run_state, self.speed) {
            (RunState::Paused, _) => return,
            // A person who asks for the outcome does not want to wait for it.
            (RunState::RunningToOutcome, _) | (RunState::Running, Speed::Max) => None,
            (RunState::Running, _) if self.breaks.is_running_to() => None,
            (RunState::Running, Speed::Times(n)) => Some(self.simulator().now() + wall.saturating_mul(n)),
        };
        match target {
            Some(target) => self.run_until(target, &mut is_over),
            None => self.run_flat_out(&mut is_over),
        }
        self.report_problems();
    }

    fn run_until(&mut self, target: Time, is_over: &mut impl FnMut() -> bool) {
        while self.run_state != RunState::Paused && !is_over() {
            let now = self.simulator().now();
            if self.simulator().scheduler().can_schedule() && self.next_cycle_at <= now {
                self.next_cycle_at = now + CYCLE_INTERVAL;
                if self.apply_and_look(SimulatorOp::StepCycle) {
                    return;
                }
                self.stop_at_outcome();
                continue;
            }
            if now >= target {
                return;
            }
            let stop = if self.next_cycle_at > now { target.min(self.next_cycle_at) } else { target };
            self.advance_to(stop, |simulator| !simulator.scheduler().can_schedule() && !is_over());
            self.stop_at_outcome();
        }
    }

    fn run_flat_out(&mut self, is_over: &mut impl FnMut() -> bool) {
        while self.run_state != RunState::Paused && !is_over() {
            let watch = self.before_a_move();
            if self.rewind.step_cycle() {
                if self.stop_at_breaks(watch) {
                    return;
                }
                self.stop_at_outcome();
                continue;
            }
            if self.simulator().is_at_rest() {
                if self.can_reach_the_flush() {
                    continue;
                }
                self.run_state = RunState::Paused;
                self.breaks.run_to(None);
                self.say(NoticeLevel::Info, "at rest: nothing moves until something changes; paused");
                return;
            }
            if self.simulator().next_timeout().is_none() {
                return;
            }
            if self.apply_and_look(SimulatorOp::NextTimeout) {
                return;
            }
            self.stop_at_outcome();
        }
    }

    /// A person who asks for an outcome gets the one that the flush of unschedulable pods brings, too.
    fn can_reach_the_flush(&mut self) -> bool {
        if self.run_state != RunState::RunningToOutcome {
            return false;
        }
        if self.simulator().next_timeout().is_none() {
            return false;
        }
        !self.apply_and_look(SimulatorOp::NextTimeout) && self.simulator().scheduler().can_schedule()
    }

    pub(super) fn stop_at_outcome(&mut self) {
        if self.run_state == RunState::RunningToOutcome
            && self.simulator().scheduler().n_outcomes() > self.cycles_at_start
        {
            self.run_state = RunState::Paused;
        }
    }

    /// In how much wall-clock time the stepper wants its next tick; `None` while it is paused.
    pub fn next_tick(&self) -> Option<Duration> {
        /// The clock on the screen moves at least so often.
        const TICK_MAX: Duration = Duration::from_millis(100);
        match (self.run_state, self.speed) {
            (RunState::Paused, _) => self.asking.is_underway().then_some(TICK_MAX),
            (RunState::RunningToOutcome, _) | (_, Speed::Max) => Some(Duration::ZERO),
            (RunState::Running, _) if self.breaks.is_running_to() => Some(Duration::ZERO),
            (RunState::Running, Speed::Times(n)) => {
                Some((CYCLE_INTERVAL / n.max(1)).clamp(Duration::from_millis(16), TICK_MAX))
            }
        }
    }

    /// What has happened up to now, if there are breakpoints to ask what happens next. The stop is over.
    pub(super) fn before_a_move(&mut self) -> Option<(usize, Before)> {
        self.stop = None;
        if self.breaks.is_idle() {
            return None;
        }
        Some((self.rewind.position(), Before::of(self.rewind.simulator())))
    }

    fn apply_and_look(&mut self, op: SimulatorOp) -> bool {
        let watch = self.before_a_move();
        self.rewind.apply(op);
        self.stop_at_breaks(watch)
    }

    /// Stops where a breakpoint is hit by what has happened since, at the phase at which it is. Whether it did.
    pub(super) fn stop_at_breaks(&mut self, since: Option<(usize, Before)>) -> bool {
        let Some((position, before)) = since else { return false };
        let mut stop = None;
        if before.needs_phases(self.rewind.simulator().scheduler()) && !self.rewind.is_inside() {
            // The evidence of each attempt is there while it is made.
            let breaks = &mut self.breaks;
            self.rewind.go_again_to(position, |before, simulator| {
                let found = breaks.look(before, simulator.scheduler(), simulator.last_events());
                stop = found.iter().find_map(|found| breaks.count(found));
                stop.is_some()
            });
        } else {
            let simulator = self.rewind.simulator();
            for found in self.breaks.look(&before, simulator.scheduler(), simulator.last_events()) {
                stop = self.breaks.count(&found);
                if stop.is_none() {
                    continue;
                }
                if let (Some(at), false, false) = (found.at, found.is_last, self.rewind.is_inside()) {
                    self.rewind.go_again_to(position, |_, simulator| {
                        place_in(simulator.scheduler()).as_ref() == Some(&at)
                    });
                }
                break;
            }
        }
        let Some(stop) = stop else { return false };
        self.run_state = RunState::Paused;
        self.rewind.mark(&stop.to_string(), false);
        // That it has stopped is what is told, and not what is marked here.
        self.told_at = Some(self.place());
        self.say(NoticeLevel::Info, format!("stopped: {stop}"));
        self.stop = Some(stop);
        true
    }

    fn compare(&mut self, a: usize, b: usize) {
        let last = self.moment().n_branches.saturating_sub(1);
        match self.rewind.compare_branches([a, b]) {
            Some(comparison) => {
                let n = comparison.differences.len();
                let number = self.comparison.as_ref().map_or(0, |(number, _)| *number) + 1;
                self.comparison = Some((number, Arc::new(comparison)));
                let pods = if n == 1 {
                    "1 pod goes another way".to_owned()
                } else {
                    format!("{n} pods go other ways")
                };
                self.say(NoticeLevel::Info, format!("branch {a} and branch {b}: {pods}"));
            }
            None => {
                let text = format!("there are no such branches; branches are 0 to {last}");
                self.say(NoticeLevel::Error, text);
            }
        }
    }

    fn debug(&mut self, command: DebugCommand) {
        match command {
            DebugCommand::RunTo(condition) => {
                self.breaks.run_to(Some(condition));
                self.start(RunState::Running);
            }
            DebugCommand::RunBackTo(condition) => {
                self.run_state = RunState::Paused;
                let text = match self.rewind.back_to_condition(&condition) {
                    Some(hit) => {
                        let (number, condition) = (None, condition.text().to_owned());
                        let stop = Stop { number, condition, hit };
                        let text = format!("back: {stop}");
                        self.stop = Some(stop);
                        // A mark that was made there says the same.
                        self.told_at = Some(self.place());
                        text
                    }
                    None => format!("that was true at no moment before that is known: {condition}"),
                };
                self.say(NoticeLevel::Info, text);
            }
            command => match self.breaks.change(command, self.rewind.simulator().scheduler()) {
                Ok(text) => self.say(NoticeLevel::Info, text),
                Err(text) => self.say(NoticeLevel::Error, text),
            },
        }
    }

    /// The breakpoints and watches are changed as elsewhere, where it is told.
    pub(super) fn change_breaks(&mut self, command: DebugCommand) {
        let _ = self.breaks.change(command, self.rewind.simulator().scheduler());
    }

    fn report_problems(&mut self) {
        for problem in self.rewind.simulator_mut().scheduler_mut().take_problems() {
            tracing::warn!(target: "scheduler", "{problem}");
        }
    }

    /// Answers a command.
    pub fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.n_notices += 1;
        self.notice = Some(Notice { number: self.n_notices, level, text: text.into() });
    }
}

/// What a command that may take long does.
fn work_of(command: &SessionCommand) -> Option<String> {
    Some(match command {
        SessionCommand::Back(BackTo::Phase) => "going back a phase".to_owned(),
        SessionCommand::Back(BackTo::Cycle) => "going back an attempt".to_owned(),
        SessionCommand::Back(BackTo::Start) => "going back to the start".to_owned(),
        SessionCommand::Back(BackTo::Change(kind, key)) => {
            format!("going back to the last change of {} {key}", kind.as_str().to_lowercase())
        }
        SessionCommand::ToEnd => "going to the last moment".to_owned(),
        SessionCommand::ToElapsed(elapsed) => {
            format!("going to {}", crate::api::time::human_duration(*elapsed))
        }
        SessionCommand::ToBranch(branch) => format!("going to branch {branch}"),
        SessionCommand::Seek(SeekTo::Marker(name)) => format!("going to {name}"),
        SessionCommand::Seek(SeekTo::Percent(percent)) => format!("going to {percent} %"),
        SessionCommand::Seek(SeekTo::Position(_)) => "going there".to_owned(),
        SessionCommand::Seek(SeekTo::Next(_)) | SessionCommand::SeekAgain { is_back: false } => {
            "looking for the next one".to_owned()
        }
        SessionCommand::Seek(SeekTo::Previous(_)) | SessionCommand::SeekAgain { is_back: true } => {
            "looking for the one before".to_owned()
        }
        SessionCommand::Advise(AdviceQuestion::Fix(question)) => {
            format!("looking for what lets {} run", question.pod)
        }
        SessionCommand::Advise(AdviceQuestion::Capacity { pod, .. }) => {
            format!("counting how many more fit like {pod}")
        }
        SessionCommand::Compare(a, b) => format!("comparing branches {a} and {b}"),
        SessionCommand::Debug(DebugCommand::RunBackTo(condition)) => format!("going back to {condition}"),
        SessionCommand::Advance(_) => "moving time on".to_owned(),
        SessionCommand::SaveLast(_) => "saving".to_owned(),
        _ => return None,
    })
}

fn millis(duration: Duration) -> usize {
    usize::try_from(duration.as_millis()).unwrap_or(usize::MAX)
}

/// Goes on phase by phase until a pod group has been tried in a placement, or has come a step further in its cycle. One
/// phase outside such a cycle.
fn step_placement(rewind: &mut Rewind) -> bool {
    let mut has_moved = false;
    while rewind.step_phase() {
        has_moved = true;
        let scheduler = rewind.simulator().scheduler();
        if scheduler.next_phase_of_attempt().is_some() && scheduler.is_in_group_cycle() {
            continue;
        }
        if !matches!(scheduler.next_group_step(), Some(GroupStep::Members | GroupStep::EndPlacement)) {
            break;
        }
    }
    has_moved
}
