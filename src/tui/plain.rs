//! The plain mode: lines of text instead of a screen, with the same commands.
//!
//! For screen readers, for terminals that can show nothing else, and for scripts: a line is read, carried out, and what
//! came of it is printed. Nothing that was printed is ever changed, no colour and no cursor movement is written.

use std::io::{self, Write};
use std::time::Duration;

use ratatui::layout::Rect;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use crate::api::{NamespacedName, Str};
use crate::driver::outlook::task::Answer;
use crate::driver::session::{Edit, RunState, SessionCommand, SessionHandle, SessionView};
use crate::driver::work::WorkView;
use crate::explain::verdict_so_far;

use super::commands::COMMANDS;
use super::event_loop::read_file;
use super::log_lines::LogRing;
use super::panes::log::outcome_text;
use super::panes::{PaneId, Subject};
use super::shell::plain::Asked;
use super::shell::{Effect, Shell};
use super::signals::{Signal, Signals};
use super::suggest::nearest;
use super::widgets::text::clean;
use super::{ExitReason, TuiError};

/// How wide a pane is drawn.
const WIDTH: u16 = 120;
/// How many lines of a pane are printed at the most.
const HEIGHT: u16 = 500;
/// So long the answer to a command is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What can be typed besides the commands of the console.
const OWN: [(&str, &str); 4] = [
    ("show [PANE] [TEXT]", "Print a pane, or those of its lines that have the text"),
    ("select pod NS/NAME", "Select a pod: `show details` is about it"),
    ("select node NAME", "Select a node"),
    ("where", "Say where the session stands"),
];

/// Runs the plain mode until it ends. `is_prompting` says whether a person types.
pub async fn run(
    shell: Shell,
    session: SessionHandle,
    log: LogRing,
    is_prompting: bool,
) -> Result<ExitReason, TuiError> {
    let signals = Signals::new()?;
    let printed = Printed::new(shell.view());
    let input = BufReader::new(tokio::io::stdin()).lines();
    Plain { shell, session, log, signals, input, printed, is_prompting, is_alive: true }.run().await
}

struct Plain {
    shell: Shell,
    session: SessionHandle,
    log: LogRing,
    signals: Signals,
    input: Lines<BufReader<Stdin>>,
    printed: Printed,
    is_prompting: bool,
    is_alive: bool,
}

impl Plain {
    async fn run(mut self) -> Result<ExitReason, TuiError> {
        self.say(&where_it_stands(self.shell.view()))?;
        if self.is_prompting {
            self.say("Type help for the commands, quit to end.")?;
        }
        for line in self.shell.take_lesson_news() {
            self.say(&line)?;
        }
        loop {
            self.prompt()?;
            let reason = tokio::select! {
                biased;
                signal = self.signals.next() => match signal {
                    Signal::End(number) => Some(ExitReason::Signal(number)),
                    // There is no screen to give back: the default is done by the shell.
                    Signal::Stop | Signal::Continue | Signal::Resized => None,
                },
                line = self.input.next_line() => match line? {
                    Some(line) => self.line(line.trim()).await?,
                    None => Some(ExitReason::TerminalGone),
                },
                is_alive = self.session.changed(), if self.is_alive => {
                    self.is_alive = is_alive;
                    self.news()?;
                    None
                }
            };
            if let Some(reason) = reason {
                // An error means that the session has ended already, which is what is wanted.
                self.session.send(SessionCommand::Quit);
                return Ok(reason);
            }
        }
    }

    fn prompt(&self) -> io::Result<()> {
        if self.is_prompting {
            let mut out = io::stdout().lock();
            out.write_all(b"> ")?;
            out.flush()?;
        }
        Ok(())
    }

    /// Prints lines of text. What is quoted from the cluster is cleaned.
    fn say(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for line in text.split('\n') {
            writeln!(out, "{}", clean(line))?;
        }
        out.flush()
    }

    async fn line(&mut self, line: &str) -> Result<Option<ExitReason>, TuiError> {
        let n_opened = self.shell.n_opened();
        let effects = match self.shell.asked() {
            Some(Asked::Confirmation) => match line.to_ascii_lowercase().as_str() {
                "y" | "yes" => self.shell.answer(true),
                "n" | "no" | "" => self.shell.answer(false),
                _ => {
                    self.say("Answer yes or no.")?;
                    return Ok(None);
                }
            },
            Some(Asked::Text) => match line {
                "" => {
                    self.shell.close_overlay();
                    Vec::new()
                }
                line => self.shell.answer_text(line),
            },
            Some(Asked::Nothing) | None => {
                let line = line.strip_prefix(':').unwrap_or(line);
                let words: Vec<&str> = line.split_whitespace().collect();
                match words.as_slice() {
                    [] => return Ok(None),
                    ["help" | "h" | "?"] => {
                        self.help()?;
                        return Ok(None);
                    }
                    ["where"] => {
                        self.say(&where_it_stands(self.shell.view()))?;
                        return Ok(None);
                    }
                    ["show", rest @ ..] => {
                        self.show(rest)?;
                        return Ok(None);
                    }
                    ["select", rest @ ..] => {
                        self.select(rest)?;
                        return Ok(None);
                    }
                    _ => self.shell.run_line(line),
                }
            }
        };
        for effect in effects {
            if let Some(reason) = self.carry_out(effect).await? {
                return Ok(Some(reason));
            }
        }
        self.news()?;
        self.ask()?;
        if self.shell.n_opened() > n_opened {
            self.show(&[PaneId::Details.as_str()])?;
        }
        Ok(None)
    }

    async fn carry_out(&mut self, effect: Effect) -> Result<Option<ExitReason>, TuiError> {
        let command = match effect {
            Effect::Session(command) => command,
            Effect::ApplyFile(path) => match read_file(&path) {
                Ok(text) => SessionCommand::Edit(Edit::Apply { source: path, text }),
                Err(why) => {
                    self.say(&why)?;
                    return Ok(None);
                }
            },
            Effect::ConfigFile(path) => match read_file(&path) {
                Ok(text) => SessionCommand::Edit(Edit::Configure { source: path, text }),
                Err(why) => {
                    self.say(&why)?;
                    return Ok(None);
                }
            },
            Effect::Copy(text) => {
                self.say(&text)?;
                return Ok(None);
            }
            Effect::Quit => return Ok(Some(ExitReason::Quit)),
            Effect::SaveLayout(_) => {
                self.say("A layout is of panes on a screen, and these are plain lines: nothing is saved.")?;
                return Ok(None);
            }
            Effect::Redraw | Effect::Suspend => return Ok(None),
        };
        let wanted = self.session.n_sent() + 1;
        if !self.session.send(command) {
            self.say("The session has ended.")?;
            return Ok(None);
        }
        // A pause that a command asks for is part of its answer, and so is what two copies of the cluster come to.
        let answered = |view: &SessionView| {
            let is_asked =
                matches!(&view.known.what_if, Some(asked) if matches!(asked.answer, Answer::Underway(_)));
            view.known.n_answered >= wanted && view.run_state != RunState::RunningToOutcome && !is_asked
        };
        let mut told = None;
        let until = tokio::time::Instant::now() + PATIENCE;
        while self.is_alive && !answered(&self.session.view()) {
            let work = self.session.work();
            tokio::select! {
                biased;
                signal = self.signals.next() => if let Signal::End(number) = signal {
                    // Who interrupts long work wants that to end, and nothing else.
                    match work {
                        Some(work) => _ = self.session.send(SessionCommand::CallOff(work.number)),
                        None => return Ok(Some(ExitReason::Signal(number))),
                    }
                },
                is_alive = self.session.changed() => self.is_alive = is_alive,
                () = tokio::time::sleep_until(until), if work.is_none() => {
                    self.say("No answer yet: the session is still at work.")?;
                    break;
                }
            }
            if let Some(line) = self.session.work().and_then(|work| progress(&work, &mut told)) {
                self.say(&line)?;
            }
        }
        Ok(None)
    }

    /// Prints what is new in the view.
    fn news(&mut self) -> io::Result<()> {
        let view = self.session.view();
        self.shell.on_view(view);
        self.log.drain_into(self.shell.log_mut());
        let lines = self.printed.news(self.shell.view());
        for line in lines {
            self.say(&line)?;
        }
        if let Some(notice) = self.shell.take_notice() {
            self.say(&notice)?;
        }
        for line in self.shell.take_lesson_news() {
            self.say(&line)?;
        }
        Ok(())
    }

    /// Prints what an overlay says, and closes it if it wants to hear nothing.
    fn ask(&mut self) -> io::Result<()> {
        while let Some(asked) = self.shell.asked() {
            let mut lines = self.shell.overlay_text(Rect::new(0, 0, WIDTH, HEIGHT));
            if asked != Asked::Nothing {
                // The keys at its lower end are no use here.
                lines.pop();
            }
            self.say(&lines.join("\n"))?;
            match asked {
                Asked::Confirmation => return self.say("yes or no?"),
                Asked::Text => return self.say("Type it, or nothing to leave it."),
                Asked::Nothing => self.shell.close_overlay(),
            }
        }
        Ok(())
    }

    fn show(&mut self, words: &[&str]) -> io::Result<()> {
        let (name, filter) = match words {
            [] => (self.shell.focused().as_str(), String::new()),
            [name, rest @ ..] => (*name, rest.join(" ")),
        };
        let Some(id) = PaneId::ALL.into_iter().find(|id| id.as_str() == name) else {
            let known = PaneId::ALL.map(PaneId::as_str);
            return self.say(&format!(
                "There is no pane {name:?}{}; there are {}.",
                nearest(name, known),
                known.join(", ")
            ));
        };
        self.shell.focus_pane(id);
        let filter = (!filter.is_empty()).then_some(filter.as_str());
        let (lines, is_cut) = self.shell.pane_text(id, filter, Rect::new(0, 0, WIDTH, HEIGHT));
        self.say(&lines.join("\n"))?;
        if is_cut {
            self.say(&format!("There is more: show {name} TEXT prints only what has the text."))?;
        }
        Ok(())
    }

    fn select(&mut self, words: &[&str]) -> io::Result<()> {
        let subject = match words {
            ["pod", name] => {
                let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
                Subject::Pod(NamespacedName::new(namespace, name))
            }
            ["node", name] => Subject::Node(Str::from(*name)),
            _ => return self.say("Write select pod NS/NAME, or select node NAME."),
        };
        self.shell.select(subject);
        self.show(&["details"])
    }

    fn help(&self) -> io::Result<()> {
        let commands =
            COMMANDS.iter().map(|info| (format!("{} {}", info.name, info.arguments), info.description));
        let own = OWN.iter().map(|(usage, about)| ((*usage).to_owned(), *about));
        for (usage, about) in own.chain(commands) {
            self.say(&format!("{}: {about}.", usage.trim()))?;
        }
        Ok(())
    }
}

/// What is under way and how far it has come: once when it is seen first, and once for each quarter. `told` is what was
/// told last.
fn progress(work: &WorkView, told: &mut Option<(u64, u8)>) -> Option<String> {
    let quarter = work.percent().map_or(0, |percent| percent / 25);
    let now = Some((work.number, quarter));
    if *told == now {
        return None;
    }
    *told = now;
    let far = work.percent().map(|percent| format!(": {percent} %")).unwrap_or_default();
    Some(format!("{}{far}; ctrl-c stops it.", work.what))
}

/// Where a session stands, in a line.
fn where_it_stands(view: &SessionView) -> String {
    let state = match view.run_state {
        RunState::Paused => "paused",
        RunState::Running | RunState::RunningToOutcome => "running",
    };
    let counts = &view.scheduler.counts;
    format!(
        "{}, {state}, time {}: cycle {}, {} bound, {} in activeQ, {} in backoffQ, {} unschedulable, {} waiting, {} nodes.",
        view.source,
        crate::api::time::human_duration(view.elapsed),
        counts.cycles,
        counts.bound,
        counts.active,
        counts.backoff,
        counts.unschedulable,
        counts.waiting,
        counts.nodes,
    )
}

/// What was printed already.
struct Printed {
    /// The last attempt, and what was said about it.
    attempt: Option<(u64, String)>,
}

impl Printed {
    fn new(view: &SessionView) -> Self {
        let mut printed = Self { attempt: None };
        printed.news(view);
        printed
    }

    /// Lines about what has happened since.
    fn news(&mut self, view: &SessionView) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(cycle) = &view.scheduler.cycle else {
            self.attempt = None;
            return lines;
        };
        let last = self.attempt.as_ref().map_or(0, |(number, _)| *number);
        for past in
            view.scheduler.history.iter().filter(|past| past.number > last && past.number < cycle.number)
        {
            lines.push(format!("Attempt {}, {}: {}.", past.number, past.pod, outcome_text(&past.outcome)));
        }
        let now =
            format!("Attempt {}, {}: {}.", cycle.number, cycle.pod_info.pod.key(), verdict_so_far(cycle));
        if self.attempt.as_ref().is_none_or(|(_, said)| *said != now) {
            lines.push(now.clone());
        }
        self.attempt = Some((cycle.number, now));
        lines
    }
}
