//! What a live session shows and does beside the live cluster: its past, forks of it, breakpoints, recordings.
//!
//! Commands that go back, look for something or are about a branch are passed on to where the past is kept; while that is
//! looked at, steps and changes are, too. None of them reaches the live scheduler. What arms, disarms and confirms always
//! does.

use std::path::Path;
use std::sync::Arc;

use crate::api::Str;
use crate::driver::breakpoints::DebugCommand;
use crate::driver::breakpoints::list::Stop;
use crate::driver::breakpoints::look::Before;
use crate::driver::desk::{Desk, finish};
use crate::driver::recorder::{Recorder, RecordingTap};
use crate::driver::session::{
    Aside, Known, NoticeLevel, RecordTo, RecorderView, RunState, SessionCommand, SessionView,
};

use super::past::{Past, PastView};
use super::session::Live;

impl Live {
    /// Passes a command on that is not for the live cluster. What is for it comes back.
    pub(super) fn passed_on(&mut self, command: SessionCommand) -> Option<SessionCommand> {
        use SessionCommand as Tell;
        let is_aside = self.is_aside();
        let is_fork = is_aside && self.past_view().is_some_and(|past| past.is_fork && !past.is_at_live);
        match command {
            Tell::Quit | Tell::Live(_) => Some(command),
            Tell::ToEnd if is_aside && !is_fork => self.show_live(),
            Tell::ToBranch(0) if is_aside => self.show_live(),
            Tell::ToEnd | Tell::ToBranch(0) if !is_aside => {
                self.say(NoticeLevel::Info, "this is the live cluster as it is now");
                None
            }
            Tell::Debug(DebugCommand::RunTo(_)) if !is_aside => self.debug(command),
            Tell::Debug(DebugCommand::RunBackTo(_) | DebugCommand::RunTo(_)) => self.pass_to_past(command),
            Tell::Debug(_) => self.debug(command),
            Tell::Record(_) | Tell::StopRecording | Tell::SaveLast(_) if !is_fork => Some(command),
            Tell::Back(_)
            | Tell::ToElapsed(_)
            | Tell::ToBranch(_)
            | Tell::Seek(_)
            | Tell::SeekAgain { .. }
            | Tell::Fork
            | Tell::Compare(..)
            | Tell::Advise(_)
            | Tell::TryFix(_) => self.pass_to_past(command),
            command if is_aside => self.pass_to_past(command),
            command => Some(command),
        }
    }

    /// Whether something else than the live cluster is shown, or was asked for.
    pub(super) fn is_aside(&self) -> bool {
        let is_aside = |past: &Past| past.is_waited_for() || !past.views.borrow().is_at_live;
        self.past.as_ref().is_some_and(|past| past.is_alive() && is_aside(past))
    }

    fn past_view(&self) -> Option<Arc<PastView>> {
        self.past.as_ref().filter(|past| past.is_alive()).map(|past| Arc::clone(&past.views.borrow()))
    }

    fn pass_to_past(&mut self, command: SessionCommand) -> Option<SessionCommand> {
        let is_kept = self.past.as_mut().is_some_and(|past| past.command(command));
        if !is_kept {
            self.say(NoticeLevel::Error, "nothing is kept of the past of this session");
        }
        None
    }

    fn show_live(&mut self) -> Option<SessionCommand> {
        if let Some(past) = &mut self.past {
            past.go_to_live();
        }
        None
    }

    /// There is something new to see of the past.
    pub(super) fn hear_of_the_past(&mut self) {
        let Some(notice) = self.past_view().and_then(|past| past.notice.clone()) else { return };
        if notice.number > self.past_notice {
            self.past_notice = notice.number;
            self.say(notice.level, notice.text);
        }
    }

    /// The view of the live cluster with what is known besides, or what is looked at instead.
    pub(super) fn with_aside(&self, view: SessionView) -> SessionView {
        let Some(past) = self.past_view() else { return view };
        let comparison = past.comparison.clone();
        let advice = past.advice.clone();
        if let Some(shown) = past.view.as_ref().filter(|_| !past.is_at_live) {
            let (aside, recorder) = if past.is_fork {
                (Aside::Fork, shown.known.recorder.clone())
            } else {
                let ahead = view.elapsed.saturating_sub(past.elapsed);
                (Aside::Past { ahead }, view.known.recorder.clone())
            };
            return SessionView {
                live: view.live,
                aside: Some(aside),
                notice: view.notice,
                known: Known { n_answered: view.known.n_answered, recorder, advice, ..shown.known.clone() },
                branches: Arc::clone(&past.branches),
                comparison,
                ..(**shown).clone()
            };
        }
        SessionView {
            moment: past.moment.clone(),
            known: Known { timeline: Arc::clone(&past.timeline), advice, ..view.known },
            branches: Arc::clone(&past.branches),
            comparison,
            ..view
        }
    }

    /// Breakpoints and watches are the same in the past and in forks.
    fn debug(&mut self, command: SessionCommand) -> Option<SessionCommand> {
        let SessionCommand::Debug(command) = command else { return Some(command) };
        if let DebugCommand::RunTo(condition) = command {
            self.breaks.run_to(Some(condition));
            self.run_state = RunState::Running;
            return None;
        }
        if let Some(past) = &mut self.past {
            past.change_breaks(command.clone());
        }
        match self.breaks.change(command, self.engine.scheduler()) {
            Ok(text) => self.say(NoticeLevel::Info, text),
            Err(text) => self.say(NoticeLevel::Error, text),
        }
        None
    }

    /// What has happened up to now, if there are breakpoints to ask what happens next.
    pub(super) fn before_a_move(&mut self) -> Option<Before> {
        let is_idle = self.breaks.is_idle();
        self.engine.collect_events(!is_idle);
        (!is_idle).then(|| Before::of_scheduler(self.engine.scheduler()))
    }

    /// Pauses where a breakpoint is hit by what has happened since: nothing is tried and nothing is bound until a person
    /// lets it go on. Whether it did.
    pub(super) fn stop_at_breaks(&mut self, before: Option<Before>) -> bool {
        let Some(before) = before else { return false };
        let found = self.breaks.look(&before, self.engine.scheduler(), self.engine.events());
        let Some(stop) = found.iter().find_map(|found| self.breaks.count(found)) else { return false };
        self.run_state = RunState::Paused;
        self.engine.mark(&stop.to_string(), false);
        self.say(NoticeLevel::Info, format!("stopped: {stop}; nothing is bound until it goes on"));
        self.stop = Some(stop);
        true
    }

    /// A person lets it go on.
    pub(super) fn forget_stop(&mut self) {
        self.stop = None;
        self.breaks.run_to(None);
    }

    /// Why it stands where it stands, if that is because of a breakpoint.
    pub(super) fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// How the recording goes, if one is being made.
    pub(super) fn recorder_view(&self) -> Option<RecorderView> {
        if let Some(recorder) = self.past_view().and_then(|past| past.recorder.clone()) {
            return Some(recorder);
        }
        let (stats, failure) = self.engine.recording_state()?;
        let begun = self.desk.as_ref().and_then(Desk::file).cloned();
        let file = begun.unwrap_or_else(|| self.recording_file.clone());
        Some(RecorderView { file, stats, failure: failure.map(Str::from) })
    }

    /// Records the session from its start on.
    pub(super) fn record(&mut self, to: &RecordTo) {
        if self.recorder_view().is_some() {
            return self.say(NoticeLevel::Info, "this session is being recorded: :record stop ends that");
        }
        if self.is_too_long() {
            return self.past.as_mut().map_or((), |past| past.record_live(to.clone(), false));
        }
        let begun = self.with_new_file(to, |tap, new, _| tap.begin(new).map_err(|error| error.to_string()));
        match begun {
            Ok((file, recorder)) => {
                if let Some(desk) = &mut self.desk {
                    desk.has_begun(file.clone(), recorder);
                }
                self.say(NoticeLevel::Info, format!("recording to {file}, from the session's start on"));
            }
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    /// Ends the recording.
    pub(super) fn stop_recording(&mut self, reason: &str) {
        if self.past_view().is_some_and(|past| past.recorder.is_some()) {
            return self.past.as_mut().map_or((), |past| past.stop_recording_live());
        }
        if self.engine.recording_state().is_none() {
            return self.say(NoticeLevel::Info, "this session is not being recorded");
        }
        if let Some((tap, scheduler)) = self.engine.tap() {
            tap.stop(tap.inputs(), scheduler, reason);
        }
        let (file, recorder) = self.desk.as_mut().map(Desk::take).unwrap_or_default();
        let file = file.unwrap_or_else(|| self.recording_file.clone());
        match recorder.map(Recorder::finish) {
            Some(Err(error)) => self.say(NoticeLevel::Error, format!("{file}: {error}")),
            Some(Ok(stats)) => {
                self.say(NoticeLevel::Info, format!("recorded {} inputs to {file}", stats.inputs));
            }
            None => self.say(NoticeLevel::Info, format!("the recording {file} is complete")),
        }
    }

    /// Saves what has happened up to now.
    pub(super) fn save_last(&mut self, to: &RecordTo) {
        if self.is_too_long() {
            return self.past.as_mut().map_or((), |past| past.record_live(to.clone(), true));
        }
        let saved = self.with_new_file(to, |tap, new, scheduler| {
            let behind = tap.inputs();
            tap.save(new, behind, scheduler, "saved from the session").map_err(|error| error.to_string())
        });
        let total = self.engine.tap().map_or(0, |(tap, _)| tap.inputs());
        let task = self.work.begin("saving");
        let said = saved.and_then(|(file, recorder)| {
            let stats = finish(Path::new(&*file), recorder, total, &self.work)?;
            Ok(format!("saved {} inputs to {file}", stats.inputs))
        });
        drop(task);
        match said {
            Ok(said) => self.say(NoticeLevel::Info, said),
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    /// Whether more has happened than is kept from the start on.
    fn is_too_long(&mut self) -> bool {
        self.past.as_ref().is_some_and(Past::is_alive)
            && self.engine.tap().is_some_and(|(tap, _)| !tap.is_whole())
    }

    fn with_new_file(
        &mut self,
        to: &RecordTo,
        begin: impl FnOnce(&mut RecordingTap, RecordingTap, &crate::scheduler::Scheduler) -> Result<(), String>,
    ) -> Result<(Str, Recorder), String> {
        let (Some(desk), Some((tap, scheduler))) = (&self.desk, self.engine.tap()) else {
            return Err("this session cannot be recorded".to_owned());
        };
        if !tap.is_whole() {
            return Err(crate::driver::tap::TooLong.to_string());
        }
        let path = desk.path(to);
        let (recorder, new) = desk.create(&path, desk.header()).map_err(|error| error.to_string())?;
        begin(tap, new, scheduler)?;
        Ok((path.to_string_lossy().as_ref().into(), recorder))
    }

    /// Ends what is recorded here and in forks.
    pub(super) fn end_recordings(&mut self) {
        if let Some(past) = &mut self.past {
            past.end();
        }
        let (_, recorder) = self.desk.as_mut().map(Desk::take).unwrap_or_default();
        if let Some(Err(error)) = recorder.map(Recorder::finish) {
            tracing::error!(target: "live", "the recording: {error}");
        }
    }
}
