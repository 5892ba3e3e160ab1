//! The past and the forks of a live session, on a thread of their own.
//!
//! What the live scheduler is told is heard here and kept; who goes back looks at copies of the scheduler that are given
//! the same again. Nothing leads from here to the cluster: what a copy asks for is answered by what was answered then, and
//! a fork is a sandbox with an API of its own. The live session goes on meanwhile, however long a look takes.

#![expect(clippy::disallowed_methods, reason = "a session owns its clock")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration as Elapsed, Instant};

use tokio::sync::watch;

use crate::api::time::human_duration;
use crate::api::{Duration, Str, Time};
use crate::driver::advice::Numbered;
use crate::driver::branches::{BranchComparison, BranchView};
use crate::driver::breakpoints::DebugCommand;
use crate::driver::desk::Desk;
use crate::driver::growing::PAST_BYTES_MAX;
use crate::driver::replay::chunk::Chunk;
use crate::driver::rewind::{Moment, Rewind};
use crate::driver::sandbox::ops::SimulatorFact;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::session::{
    Notice, NoticeLevel, RecordTo, RecorderView, RunState, SessionCommand, SessionView, panic_text,
    session_view, tell_of_deeds,
};
use crate::driver::stepper::Stepper;
use crate::driver::timeline::Timeline;
use crate::driver::work::Work;
use crate::recording::Header;
use crate::scheduler::Scheduler;

use super::keeper::Keeper;
use super::shadow::Shadow;

/// The shortest time between two views of something that moves.
const VIEW_INTERVAL: Elapsed = Elapsed::from_millis(33);
/// How often what has happened to the cluster is told while nothing else is.
const NEWS_INTERVAL: Elapsed = Elapsed::from_millis(500);
/// So many words are taken before somebody is answered.
const WORDS_MAX: usize = 4_096;

/// What is told to the keeper of the past.
#[derive(Debug)]
pub enum Word {
    /// The live scheduler was told this, and it came to that.
    Heard(Arc<Chunk>, Box<SimulatorFact>),
    /// A copy of the live scheduler behind what was heard.
    Checkpoint {
        /// The copy.
        simulator: Box<Simulator>,
        /// What it has cost to come there from the copy before.
        cost: Elapsed,
    },
    /// The present moment of the cluster is marked, or something is said about it.
    Mark {
        /// The name or the text.
        text: String,
        /// Whether it is a note.
        is_note: bool,
        /// When.
        at: Time,
    },
    /// A person wants something.
    Command(SessionCommand),
    /// Breakpoints and watches were changed.
    Breaks(DebugCommand),
    /// A person goes back to the live cluster.
    ToLive,
    /// The live session, of which too much has happened, is recorded from here on, or its last minutes are saved.
    RecordLive {
        /// Where to.
        to: RecordTo,
        /// Whether it is the last minutes alone.
        is_last: bool,
    },
    /// That recording ends.
    StopRecordingLive,
    /// The session ends.
    End,
}

/// What there is to see.
#[derive(Clone, Debug)]
pub struct PastView {
    /// How many commands and goings back to the live cluster were done.
    pub n_done: u64,
    /// Whether the live cluster is to be shown.
    pub is_at_live: bool,
    /// Whether it is a fork, if not.
    pub is_fork: bool,
    /// Simulated time since the start of the session.
    pub elapsed: Duration,
    /// The last view of what is not the live cluster.
    pub view: Option<Arc<SessionView>>,
    /// What happened when to the live cluster.
    pub timeline: Arc<Timeline>,
    /// Where that ends.
    pub moment: Moment,
    /// The branches.
    pub branches: Arc<[BranchView]>,
    /// The branches that were compared last.
    pub comparison: Option<(u64, Arc<BranchComparison>)>,
    /// What was worked out last in copies.
    pub advice: Option<Numbered>,
    /// The last answer to a command.
    pub notice: Option<Notice>,
    /// How the recording of the live session goes that is made here, if one is.
    pub recorder: Option<RecorderView>,
    /// Copies of the scheduler along the way, and about how many bytes they take.
    pub checkpoints: (usize, usize),
}

/// The way to the past.
#[derive(Debug)]
pub struct Past {
    words: Sender<Word>,
    /// What there is to see.
    pub views: watch::Receiver<Arc<PastView>>,
    n_sent: u64,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Past {
    /// Starts the thread, for a live scheduler that has been told nothing yet, and answers with what keeps its inputs.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(
        scheduler: &Scheduler,
        header: &Header,
        source: Str,
        desk: Option<Desk>,
        work: &Work,
    ) -> std::io::Result<(Self, Keeper)> {
        Self::start_with(scheduler, header, source, desk, PAST_BYTES_MAX, work)
    }

    /// The same with so many bytes for inputs, as estimated.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start_with(
        scheduler: &Scheduler,
        header: &Header,
        source: Str,
        desk: Option<Desk>,
        bytes_max: usize,
        work: &Work,
    ) -> std::io::Result<(Self, Keeper)> {
        let simulator = Simulator::following_from(
            scheduler.clone(),
            header,
            header.start,
            std::collections::BTreeMap::new(),
        );
        let mut stepper = Stepper::on(Rewind::of_live(simulator, bytes_max));
        stepper.set_work(work);
        if let Some(desk) = desk {
            stepper.set_desk(desk);
        }
        let (words, heard) = channel();
        let mut thread = Thread { stepper, source, is_at_live: true, n_done: 0, view: None, shadow: None };
        let (views, receiver) = watch::channel(Arc::new(thread.past_view()));
        let handle = std::thread::Builder::new().name("past".to_owned()).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| thread.run(&heard, &views))) {
                let text = panic_text(panic.as_ref());
                tracing::error!(target: "live", "the past is no longer kept, its thread has ended with a panic: {text}");
            }
        })?;
        let keeper = Keeper::new(words.clone(), header.clone());
        Ok((Self { words, views: receiver, n_sent: 0, thread: Some(handle) }, keeper))
    }

    /// Asks for something. False if the past is no longer kept.
    pub fn command(&mut self, command: SessionCommand) -> bool {
        self.n_sent += 1;
        self.words.send(Word::Command(command)).is_ok()
    }

    /// Goes back to the live cluster. False if the past is no longer kept.
    pub fn go_to_live(&mut self) -> bool {
        self.n_sent += 1;
        self.words.send(Word::ToLive).is_ok()
    }

    /// Breakpoints and watches were changed.
    pub fn change_breaks(&mut self, command: DebugCommand) {
        // Where the past is no longer kept nothing stops in it.
        let _ = self.words.send(Word::Breaks(command));
    }

    /// Records the live session, of which too much has happened to be recorded from its start: from here on, or its last
    /// minutes.
    pub fn record_live(&mut self, to: RecordTo, is_last: bool) {
        self.n_sent += 1;
        // Where the past is no longer kept that was told.
        let _ = self.words.send(Word::RecordLive { to, is_last });
    }

    /// Ends that recording.
    pub fn stop_recording_live(&mut self) {
        self.n_sent += 1;
        let _ = self.words.send(Word::StopRecordingLive);
    }

    /// Whether the past is still kept. Where it is not, that was told.
    pub fn is_alive(&self) -> bool {
        self.views.has_changed().is_ok()
    }

    /// Whether something was asked for that is not done yet.
    pub fn is_waited_for(&self) -> bool {
        self.views.borrow().n_done < self.n_sent
    }

    /// Ends recordings of forks and waits until that is done.
    pub fn end(&mut self) {
        let _ = self.words.send(Word::End);
        if let Some(thread) = self.thread.take() {
            // That it has panicked was told.
            let _ = thread.join();
        }
    }
}

struct Thread {
    stepper: Stepper,
    source: Str,
    is_at_live: bool,
    n_done: u64,
    view: Option<Arc<SessionView>>,
    shadow: Option<Shadow>,
}

impl Thread {
    fn run(&mut self, heard: &Receiver<Word>, views: &watch::Sender<Arc<PastView>>) {
        let mut last_tick = Instant::now();
        let mut last_view = Instant::now();
        let mut has_news = false;
        let mut n_told = 0;
        loop {
            let tick = self.stepper.next_tick().filter(|_| !self.is_at_live);
            let news = has_news.then(|| NEWS_INTERVAL.saturating_sub(last_view.elapsed()));
            let word = match [tick, news].into_iter().flatten().min() {
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => heard.recv_timeout(wait),
            };
            let was_paused = self.stepper.run_state() == RunState::Paused;
            let n_before = self.n_done;
            match word {
                Ok(word) => {
                    if !self.take(word) {
                        return self.stepper.finish_recording("the session was closed");
                    }
                    has_news = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return self.stepper.finish_recording("the session was closed");
                }
            }
            for word in heard.try_iter().take(WORDS_MAX) {
                if !self.take(word) {
                    return self.stepper.finish_recording("the session was closed");
                }
            }
            let now = Instant::now();
            if was_paused {
                last_tick = now;
            }
            let wall = now - last_tick;
            last_tick = now;
            if !self.is_at_live {
                self.stepper.tick(wall, || now.elapsed() >= VIEW_INTERVAL);
                self.see_whether_it_has_caught_up();
                n_told = tell_of_deeds(self.stepper.simulator(), n_told);
            }
            let is_moving = self.stepper.run_state() != RunState::Paused;
            let has_command = self.n_done > n_before;
            if has_command
                || (is_moving && last_view.elapsed() >= VIEW_INTERVAL)
                || (has_news && last_view.elapsed() >= NEWS_INTERVAL)
            {
                (last_view, has_news) = (Instant::now(), false);
                // Of the past itself nothing changes while the cluster goes on.
                if has_command || is_moving {
                    self.stepper.update_watches();
                    self.view = Some(Arc::new(session_view(&mut self.stepper, &self.source, 0)));
                }
                views.send_replace(Arc::new(self.past_view()));
            }
        }
    }

    /// False if the session ends.
    fn take(&mut self, word: Word) -> bool {
        match word {
            Word::Heard(chunk, fact) => {
                if let Some(shadow) = &mut self.shadow {
                    shadow.take(&chunk);
                }
                if self.stepper.rewind.hear(chunk, *fact) && !self.is_at_live {
                    let said =
                        "this is the oldest moment of the cluster that is kept; what was shown is forgotten";
                    self.stepper.say(NoticeLevel::Warning, said);
                }
            }
            Word::Checkpoint { simulator, cost } => {
                self.stepper.rewind.take_live_checkpoint(*simulator, cost)
            }
            Word::Mark { text, is_note, at } => self.stepper.rewind.mark_live(&text, is_note, at),
            Word::Command(command) => {
                self.n_done += 1;
                if self.is_at_live {
                    self.stepper.rewind.go_to_live();
                    self.is_at_live = false;
                }
                let is_alive = self.stepper.command(command);
                self.see_whether_it_has_caught_up();
                return is_alive;
            }
            Word::Breaks(command) => self.stepper.change_breaks(command),
            Word::ToLive => {
                self.n_done += 1;
                self.arrive_at_live();
            }
            Word::RecordLive { to, is_last } => {
                self.n_done += 1;
                match self.record_live(&to, is_last) {
                    Ok(said) => self.stepper.say(NoticeLevel::Warning, said),
                    Err(said) => self.stepper.say(NoticeLevel::Error, said),
                }
            }
            Word::StopRecordingLive => {
                self.n_done += 1;
                self.stop_recording_live("recording was stopped");
            }
            Word::End => {
                self.stop_recording_live("the session was closed");
                return false;
            }
        }
        true
    }

    /// The answer is what was done.
    fn record_live(&mut self, to: &RecordTo, is_last: bool) -> Result<String, String> {
        let Some(desk) = &self.stepper.desk else { return Err("this session cannot be recorded".to_owned()) };
        let rewind = &self.stepper.rewind;
        let (begin, known) = if is_last { rewind.last_minutes_of_live() } else { rewind.present_of_live() }
            .ok_or("nothing is kept of the last minutes")?;
        let source = format!("{} (begun anew)", desk.header().source);
        let header = Header { start: known.now(), source, ..desk.header().clone() };
        let registry = known.scheduler().registry();
        let scheduler = header.scheduler(registry, false).map_err(|error| error.to_string())?;
        let path = desk.path(to);
        let made = desk.create(&path, &header).map_err(|error| error.to_string())?;
        let file: Str = path.to_string_lossy().as_ref().into();
        let mut shadow = Shadow::begin(scheduler, known.scheduler(), known.now(), made, file);
        if !is_last {
            let said = format!(
                "recording to {} from here on: more has happened than is kept, so it is of a scheduler begun anew beside \
                 the live one and told the same",
                shadow.file()
            );
            self.shadow = Some(shadow);
            return Ok(said);
        }
        for chunk in rewind.chunks_of_live(begin) {
            shadow.take(chunk);
        }
        let (file, attempts) = (shadow.file().clone(), shadow.attempts());
        let span = human_duration(rewind.now_of_live().saturating_since(known.now()));
        let stats = shadow.finish("saved from the session").map_err(|error| format!("{file}: {error}"))?;
        Ok(format!(
            "saved the last {span} as a run of a scheduler begun anew, {attempts} attempts, {} inputs, to {file}",
            stats.inputs
        ))
    }

    fn stop_recording_live(&mut self, reason: &str) {
        let Some(shadow) = self.shadow.take() else { return };
        let file = shadow.file().clone();
        match shadow.finish(reason) {
            Ok(stats) => {
                self.stepper.say(NoticeLevel::Info, format!("recorded {} inputs to {file}", stats.inputs));
            }
            Err(error) => self.stepper.say(NoticeLevel::Error, format!("{file}: {error}")),
        }
    }

    /// At the end of its past is the live cluster itself.
    fn see_whether_it_has_caught_up(&mut self) {
        if !self.is_at_live && self.stepper.rewind.is_at_live() {
            self.arrive_at_live();
        }
    }

    /// A fork that runs is paused there.
    fn arrive_at_live(&mut self) {
        self.stepper.command(SessionCommand::Pause);
        self.stepper.rewind.go_to_live();
        self.is_at_live = true;
        self.view = None;
    }

    fn past_view(&mut self) -> PastView {
        let (timeline, moment) = if self.is_at_live {
            self.stepper.rewind.timeline_of_live()
        } else {
            (Arc::default(), Moment::default())
        };
        PastView {
            n_done: self.n_done,
            is_at_live: self.is_at_live,
            is_fork: !self.stepper.rewind.is_on_live_way(),
            elapsed: self.stepper.simulator().elapsed(),
            view: self.view.clone().filter(|_| !self.is_at_live),
            timeline,
            moment,
            branches: self.stepper.branch_views(),
            comparison: self.stepper.comparison().cloned(),
            advice: self.stepper.advice().cloned(),
            notice: self.stepper.notice().cloned(),
            recorder: self.shadow.as_ref().map(Shadow::view),
            checkpoints: self.stepper.rewind.checkpoints(),
        }
    }
}
