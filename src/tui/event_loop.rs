//! The loop: waits for signals, the terminal, the session and the log, and draws when something changed.
//!
//! Everything that is ready is taken before a frame is drawn; at most one frame is drawn in 16 ms; nothing is
//! drawn and nothing is written while nothing changes. Clock, files and the clipboard are touched here and
//! nowhere else in the console.

#![expect(clippy::disallowed_methods, reason = "the loop owns its clock")]

use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use futures::StreamExt;

use crate::driver::session::{Edit, NoticeLevel, SessionCommand, SessionHandle};

use super::keymap::Key;
use super::log_lines::LogRing;
use super::settings::SettingsSource;
use super::shell::{Effect, MouseDeed, Shell};
use super::signals::{Signal, Signals};
use super::terminal::Terminal;
use super::{ExitReason, TuiError};

mod watch;

use watch::SettingsWatch;

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How large a file to apply may be.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Takes the terminal over and runs the console until it ends.
pub async fn run(
    shell: Shell,
    has_mouse: bool,
    session: SessionHandle,
    log: LogRing,
    settings: Option<Arc<dyn SettingsSource>>,
) -> Result<ExitReason, TuiError> {
    let folders = settings.as_ref().map(|source| source.folders()).unwrap_or_default();
    let (watch, problems) = SettingsWatch::new(&folders);
    for problem in problems {
        tracing::warn!(target: "settings", "not watched: {problem}");
    }
    // Before the terminal is touched there is somebody who gives it back on a signal.
    let signals = Signals::new()?;
    let terminal = Terminal::take_over(has_mouse)?;
    let mut shell = shell;
    if let Some(settings) = &settings {
        shell.set_history(settings.history());
    }
    let console = Console {
        shell,
        terminal,
        session,
        log,
        events: Some(EventStream::new()),
        signals,
        started: Instant::now(),
        settings,
        watch,
        is_session_alive: true,
        is_dirty: true,
        end: None,
    };
    console.run().await
}

struct Console {
    shell: Shell,
    terminal: Terminal,
    session: SessionHandle,
    log: LogRing,
    /// Dropped while the terminal is given back: a reader that is only left alone goes on reading.
    events: Option<EventStream>,
    signals: Signals,
    started: Instant,
    settings: Option<Arc<dyn SettingsSource>>,
    watch: SettingsWatch,
    is_session_alive: bool,
    is_dirty: bool,
    end: Option<ExitReason>,
}

/// What woke the loop.
enum Woken {
    Signal(Signal),
    Terminal(Option<std::io::Result<Event>>),
    View(bool),
    Log,
    Settings,
    Deadline,
}

impl Console {
    async fn run(mut self) -> Result<ExitReason, TuiError> {
        let mut next_frame = self.started;
        loop {
            self.shell.set_now(self.started.elapsed());
            if self.is_dirty && Instant::now() >= next_frame {
                self.terminal.draw(|buf| self.shell.draw(buf))?;
                self.is_dirty = false;
                next_frame = Instant::now() + FRAME;
            }
            let deadline = if self.is_dirty {
                Some(next_frame)
            } else {
                let shell = self.shell.deadline().map(|at| self.started + at);
                [shell, self.watch.due()].into_iter().flatten().min()
            };
            let woken = self.wait(deadline).await;
            self.shell.set_now(self.started.elapsed());
            self.on(woken)?;
            self.drain().await?;
            if self.watch.take_due(Instant::now()) {
                self.read_settings();
            }
            if let Some(reason) = self.end {
                self.keep_history();
                // An error means that the session has ended already, which is what is wanted.
                self.session.send(SessionCommand::Quit);
                return Ok(reason);
            }
        }
    }

    async fn wait(&mut self, deadline: Option<Instant>) -> Woken {
        let events = &mut self.events;
        let session = &mut self.session;
        tokio::select! {
            biased;
            signal = self.signals.next() => Woken::Signal(signal),
            event = next_event(events) => Woken::Terminal(event),
            is_alive = session.changed(), if self.is_session_alive => Woken::View(is_alive),
            () = self.log.arrived() => Woken::Log,
            () = self.watch.changed() => Woken::Settings,
            () = until(deadline) => Woken::Deadline,
        }
    }

    /// Takes everything that is ready without waiting.
    async fn drain(&mut self) -> Result<(), TuiError> {
        while self.end.is_none() {
            if let Some(signal) = ready(self.signals.next()).await {
                self.on(Woken::Signal(signal))?;
            } else if let Some(event) = ready(next_event(&mut self.events)).await {
                self.on(Woken::Terminal(event))?;
            } else {
                break;
            }
        }
        if self.is_session_alive
            && let Some(is_alive) = ready(self.session.changed()).await
        {
            self.on(Woken::View(is_alive))?;
        }
        Ok(())
    }

    fn on(&mut self, woken: Woken) -> Result<(), TuiError> {
        match woken {
            Woken::Signal(Signal::End(number)) => self.end = Some(ExitReason::Signal(number)),
            Woken::Signal(Signal::Stop) => self.suspend()?,
            Woken::Signal(Signal::Continue) => {
                self.events = None;
                self.terminal.take_back()?;
                self.events = Some(EventStream::new());
                self.is_dirty = true;
            }
            Woken::Signal(Signal::Resized) => self.on_resized(),
            Woken::Terminal(Some(Ok(event))) => self.on_terminal(event)?,
            // Without a terminal there is nobody to work for.
            Woken::Terminal(Some(Err(_)) | None) => self.end = Some(ExitReason::TerminalGone),
            Woken::View(true) => {
                let view = self.session.view();
                if !self.shell.has_view(&view) {
                    self.shell.on_view(view);
                }
                self.shell.set_work(self.session.work());
                self.is_dirty = true;
            }
            Woken::View(false) => {
                self.is_session_alive = false;
                self.shell.on_view(self.session.view());
                self.shell.notify(NoticeLevel::Error, "The session has ended: q quits.".to_owned());
                self.is_dirty = true;
            }
            Woken::Log => self.is_dirty |= self.log.drain_into(self.shell.log_mut()),
            Woken::Settings => self.watch.note(Instant::now()),
            Woken::Deadline => self.is_dirty = true,
        }
        Ok(())
    }

    /// Remembers what was typed until the next time; that this fails is no reason to end otherwise.
    fn keep_history(&self) {
        let (Some(settings), Some(lines)) = (&self.settings, self.shell.typed_lines()) else { return };
        if let Err(why) = settings.keep_history(lines) {
            tracing::warn!(target: "settings", "the command lines are not remembered: {why}");
        }
    }

    /// Files have changed. What is wrong with them is told, and everything stays as it was.
    fn read_settings(&mut self) {
        match self.settings.as_ref().map(|source| source.read()) {
            Some(Ok(appearance)) => self.shell.set_appearance(appearance),
            Some(Err(mistakes)) => self.shell.tell_mistakes(&mistakes),
            None => {}
        }
        self.is_dirty = true;
    }

    /// A terminal that was small for a moment has lost what did not fit, even if its size is the same again.
    fn on_resized(&mut self) {
        self.terminal.forget();
        self.is_dirty = true;
    }

    fn on_terminal(&mut self, event: Event) -> Result<(), TuiError> {
        let effects = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match Key::from_event(&key) {
                Some(key) => self.shell.on_key(key),
                None => return Ok(()),
            },
            Event::Paste(text) => self.shell.on_paste(&text),
            Event::Mouse(mouse) => match mouse_deed(&mouse) {
                Some(deed) => self.shell.on_mouse(deed, mouse.column, mouse.row),
                None => return Ok(()),
            },
            Event::Resize(..) => {
                self.on_resized();
                Vec::new()
            }
            Event::Key(_) | Event::FocusGained | Event::FocusLost => return Ok(()),
        };
        self.is_dirty = true;
        for effect in effects {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), TuiError> {
        match effect {
            Effect::Session(command) => self.tell(command),
            Effect::ApplyFile(path) => match read_file(&path) {
                Ok(text) => self.tell(SessionCommand::Edit(Edit::Apply { source: path, text })),
                Err(why) => self.shell.notify(NoticeLevel::Error, why),
            },
            Effect::ConfigFile(path) => match read_file(&path) {
                Ok(text) => self.tell(SessionCommand::Edit(Edit::Configure { source: path, text })),
                Err(why) => self.shell.notify(NoticeLevel::Error, why),
            },
            Effect::Copy(text) => self.terminal.copy(&text)?,
            Effect::SaveLayout(text) => {
                let (level, sentence) = save_layout(self.settings.as_deref(), &text);
                self.shell.notify(level, sentence);
            }
            Effect::Redraw => self.terminal.forget(),
            Effect::Suspend => self.suspend()?,
            Effect::Quit => self.end = Some(ExitReason::Quit),
        }
        Ok(())
    }

    fn tell(&mut self, command: SessionCommand) {
        if !self.session.send(command) {
            self.shell.notify(NoticeLevel::Error, "The session has ended: q quits.".to_owned());
        }
    }

    fn suspend(&mut self) -> Result<(), TuiError> {
        self.events = None;
        self.terminal.suspend()?;
        self.events = Some(EventStream::new());
        self.is_dirty = true;
        Ok(())
    }
}

async fn next_event(events: &mut Option<EventStream>) -> Option<std::io::Result<Event>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// What a future has ready, or nothing. It is asked with the waker of this task, unlike `now_or_never` would: an
/// event stream remembers the first waker that it is given until it has called it.
async fn ready<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

/// Waits until then, or for ever.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// What an event of the mouse means, if it means anything.
pub(super) const fn mouse_deed(event: &MouseEvent) -> Option<MouseDeed> {
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(MouseDeed::Click),
        MouseEventKind::ScrollUp => Some(MouseDeed::ScrollUp),
        MouseEventKind::ScrollDown => Some(MouseDeed::ScrollDown),
        MouseEventKind::ScrollLeft => Some(MouseDeed::ScrollLeft),
        MouseEventKind::ScrollRight => Some(MouseDeed::ScrollRight),
        MouseEventKind::Drag(MouseButton::Left) => Some(MouseDeed::Drag),
        MouseEventKind::Up(MouseButton::Left) => Some(MouseDeed::Release),
        MouseEventKind::Down(_) | MouseEventKind::Up(_) | MouseEventKind::Drag(_) | MouseEventKind::Moved => {
            None
        }
    }
}

/// Keeps a layout, and says where, or why not.
pub(super) fn save_layout(settings: Option<&dyn SettingsSource>, text: &str) -> (NoticeLevel, String) {
    match settings.map(|settings| settings.save_layout(text)) {
        Some(Ok(path)) => {
            let path = path.display();
            let sentence = format!("Saved as {path}: :layout own, or layout = \"own\" in settings.toml.");
            (NoticeLevel::Info, sentence)
        }
        Some(Err(why)) => (NoticeLevel::Error, why),
        None => {
            (NoticeLevel::Warning, "It is kept until the end: there is no folder of settings.".to_owned())
        }
    }
}

/// The text of a file, or why it cannot be had. What is no ordinary file is not opened: reading it might never end.
pub(super) fn read_file(name: &str) -> Result<String, String> {
    let path = expand_home(name);
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let metadata = std::fs::metadata(&path).map_err(|error| wrong(&error))?;
    if !metadata.is_file() {
        return Err(wrong(&"not a file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(wrong(&"larger than 256 MiB"));
    }
    let mut text = String::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text))
        .map_err(|error| wrong(&error))?;
    Ok(text)
}

/// `~/` is the home directory, as a shell would have it.
fn expand_home(name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Path::new(name).to_owned(),
    }
}
