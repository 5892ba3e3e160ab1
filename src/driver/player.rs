//! How a stepper goes through what is known: plays it, finds places in it, tells what is marked there.

use std::sync::Arc;
use std::sync::mpsc::TryRecvError;

use crate::api::Duration;

use super::replay::Ending;
use super::replay::scan::Scan;
use super::sandbox::ops::SimulatorOp;
use super::seek::{Found, SeekTo, Wanted};
use super::session::{NoticeLevel, ReplayView, RunState, Speed};
use super::stepper::{CYCLE_INTERVAL, Stepper};
use super::timeline::Timeline;

impl Stepper {
    /// What happened when on the present way.
    pub fn timeline(&mut self) -> Arc<Timeline> {
        self.rewind.timeline()
    }

    /// What there is to say about the recording, if one is played.
    pub fn replay_view(&self) -> Option<ReplayView> {
        Some(ReplayView {
            ending: self.rewind.ending()?.clone(),
            percent_known: self.rewind.percent_known(),
            divergence: self.rewind.divergence().cloned(),
        })
    }

    /// Takes what was found out about the recording so far. The answer tells whether there is more to come.
    pub fn take_news(&mut self, scan: &Scan) -> TryRecvError {
        let mut has_news = false;
        let state = loop {
            match scan.try_next() {
                Ok(news) => self.rewind.take_news(news),
                Err(error) => break error,
            }
            has_news = true;
        };
        if has_news {
            self.seek_further();
        }
        state
    }

    /// Looks again for what was not found in what had been looked through of the recording, unless somebody has moved on.
    fn seek_further(&mut self) {
        let Some((to, place)) = self.awaited.take() else { return };
        if place != self.place() || self.run_state != RunState::Paused {
            return;
        }
        match self.rewind.seek_to(&to) {
            Found::There(said) => self.say(NoticeLevel::Info, said.unwrap_or_else(|| "found".to_owned())),
            Found::Nothing => self.say(NoticeLevel::Info, nothing_found(&to)),
            Found::NotYet(_) => self.awaited = Some((to, place)),
        }
    }

    /// Follows the known way, at the speed that the sandbox runs at.
    pub(super) fn play_the_past(&mut self, wall: Duration, is_over: &mut impl FnMut() -> bool) {
        let is_timed = match (self.run_state, self.speed) {
            (RunState::Paused, _) => return,
            (RunState::Running, Speed::Times(n)) if !self.breaks.is_running_to() => {
                self.credit = self.credit.saturating_add(wall.saturating_mul(n));
                true
            }
            (RunState::RunningToOutcome | RunState::Running, _) => false,
        };
        while self.run_state != RunState::Paused && !is_over() {
            let Some(price) = self.price_of_next() else { break };
            if is_timed {
                if price > self.credit {
                    break;
                }
                self.credit = self.credit.saturating_sub(price);
            }
            let watch = self.before_a_move();
            if !self.rewind.follow() || self.stop_at_breaks(watch) {
                break;
            }
            self.tell_marks();
            self.stop_at_outcome();
        }
        self.next_cycle_at = self.simulator().now();
        if self.run_state != RunState::Paused && self.rewind.is_at_end_of_recording() {
            self.run_state = RunState::Paused;
            self.say_recording_is_over();
        }
    }

    /// How much time goes by until what is known to come next is over. An attempt takes a moment, also where it was
    /// recorded without one, so that a person can follow.
    fn price_of_next(&self) -> Option<Duration> {
        let at = self.rewind.next_known_at()?;
        let gap = at - self.simulator().now();
        Some(if self.rewind.is_step_next() { gap.max(CYCLE_INTERVAL) } else { gap })
    }

    /// Goes to a place in what is known.
    pub(super) fn seek(&mut self, to: &SeekTo) {
        self.run_state = RunState::Paused;
        if let SeekTo::Next(wanted) | SeekTo::Previous(wanted) = to
            && *wanted != Wanted::Mark
        {
            self.last_seek = Some(wanted.clone());
        }
        self.awaited = None;
        match self.rewind.seek_to(to) {
            Found::There(Some(said)) => self.say(NoticeLevel::Info, said),
            Found::There(None) => {}
            Found::Nothing => {
                let said = nothing_found(to);
                self.say(NoticeLevel::Info, said);
            }
            Found::NotYet(percent) => {
                let nothing = nothing_found(to);
                let said = format!(
                    "{nothing} in the {percent} % that were looked through so far; it is looked for further"
                );
                self.say(NoticeLevel::Info, said);
                self.awaited = Some((to.clone(), self.place()));
            }
        }
    }

    /// Looks for the same again.
    pub(super) fn seek_again(&mut self, is_back: bool) {
        match self.last_seek.clone() {
            Some(wanted) if is_back => self.seek(&SeekTo::Previous(wanted)),
            Some(wanted) => self.seek(&SeekTo::Next(wanted)),
            None => self.say(NoticeLevel::Info, "nothing was looked for yet: write :search TEXT"),
        }
    }

    /// Goes on from here as a sandbox.
    pub(super) fn leave_recording(&mut self) {
        self.run_state = RunState::Paused;
        if !self.rewind.moment().is_recorded {
            return self.say(NoticeLevel::Info, "this is a sandbox already");
        }
        self.rewind.apply(SimulatorOp::Leave(None));
        let branch = self.moment().branch;
        let said =
            format!("this is a sandbox now, as branch {branch}; the recording stays as it was (:branch 0)");
        self.say(NoticeLevel::Info, said);
    }

    /// Marks the present moment.
    pub(super) fn mark(&mut self, name: &str) {
        self.rewind.mark(name, false);
        self.told_at = Some(self.place());
        self.say(NoticeLevel::Info, format!("marked as {name:?}"));
    }

    /// Says something about the present moment.
    pub(super) fn note(&mut self, text: &str) {
        self.rewind.mark(text, true);
        self.told_at = Some(self.place());
        self.say(NoticeLevel::Info, "noted");
    }

    pub(super) fn place(&self) -> (usize, usize) {
        (self.moment().branch, self.rewind.position())
    }

    /// Tells the markers and notes of the present moment when it is come to.
    pub(super) fn tell_marks(&mut self) {
        let place = self.place();
        if self.told_at == Some(place) {
            return;
        }
        self.told_at = Some(place);
        let position = self.rewind.position();
        let mut said = String::new();
        for mark in self.rewind.marks_on_way().filter(|mark| mark.position == position) {
            let gap = match said.chars().next_back() {
                None => "",
                // A marker behind a note.
                Some(last) if !mark.is_note && last != ':' => "; ",
                Some(_) => " ",
            };
            let end = if mark.is_note { "" } else { ":" };
            said.push_str(&format!("{gap}{}{end}", mark.text));
        }
        if !said.is_empty() {
            self.say(NoticeLevel::Info, said.trim_end_matches(':').to_owned());
        }
        if let Some(divergence) = self.rewind.divergence() {
            let said = format!("the replay differs: {divergence}");
            self.say(NoticeLevel::Error, said);
        }
    }

    /// Tells at the beginning that a recording is not whole.
    pub(super) fn tell_how_it_ends(&mut self) {
        if let Some(Ending::Cut(how) | Ending::Damaged(how)) = self.rewind.ending().cloned() {
            self.say(NoticeLevel::Warning, format!("the recording is not whole: {how}"));
        }
    }

    /// Tells that nothing more comes.
    pub(super) fn say_recording_is_over(&mut self) {
        if let Some(divergence) = self.rewind.divergence() {
            let said = format!("the replay differs: {divergence}");
            return self.say(NoticeLevel::Error, said);
        }
        if self.rewind.is_live() {
            return self.say(NoticeLevel::Info, "this is the live cluster as it is now");
        }
        let how = match self.rewind.ending() {
            Some(Ending::Complete(why)) if !why.is_empty() => format!(" ({why})"),
            Some(Ending::Cut(how) | Ending::Damaged(how)) => format!(" ({how})"),
            Some(Ending::Complete(_)) | None => String::new(),
        };
        let said = format!("the recording ends here{how}; :leave goes on as a sandbox");
        self.say(NoticeLevel::Info, said);
    }
}

fn nothing_found(to: &SeekTo) -> String {
    let (wanted, side) = match to {
        SeekTo::Next(wanted) => (wanted, "after this moment"),
        SeekTo::Previous(wanted) => (wanted, "before this moment"),
        SeekTo::Marker(name) => return format!("there is no marker {name:?} on this way"),
        SeekTo::Position(_) | SeekTo::Percent(_) => return "there is nothing".to_owned(),
    };
    match wanted {
        Wanted::Mark => format!("there is no marker {side}"),
        Wanted::CycleOf(pod) => format!("there is no attempt of {pod} {side}"),
        Wanted::Preemption => format!("there is no preemption {side}"),
        Wanted::Failure => format!("there is no failure {side}"),
        Wanted::Text(text) => format!("there is no {text:?} {side}"),
    }
}
