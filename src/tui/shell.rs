//! What holds the console together: which pane has the focus, what lies over it, and who gets a key.
//!
//! The shell routes. It knows no clock, no terminal and no file: time, keys, views and log lines are handed to
//! it, and what it wants done in the world comes back as [`Effect`]s. Drawing goes into a buffer. So everything
//! that a person can see or do can be tested without a terminal.

use std::sync::Arc;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::driver::session::{Edit, NoticeLevel, SessionCommand, SessionView};
use crate::driver::work::WorkView;

use super::action::{Action, Context};
use super::changes::Changes;
use super::chrome::Standing;
use super::commands::{self, CommandCx, Deed};
use super::keymap::{Key, Keymap, Lookup};
use super::layout::{Arrangement, Place, SavedLayout};
use super::log_lines::LogLines;
use super::overlays::compare::CompareOverlay;
use super::overlays::confirm::Confirm;
use super::overlays::message::Message;
use super::overlays::what_if::WhatIfOverlay;
use super::overlays::workloads::WorkloadsOverlay;
use super::overlays::{Overlay, OverlayCx, OverlayOutcome, which_key};
use super::panes::{self, Cx, Outcome, Pane, PaneId, Request, Subject};
use super::theme::library::Themes;
use super::theme::{ColorDepth, Theme};
use super::widgets::glyphs::Glyphs;

mod advice;
mod appearance;
mod draw;
mod known;
mod lesson;
mod live;
mod moving;
mod perform;
pub mod plain;
mod watches;

use moving::{Dragged, Jumps};

/// How long a notice stays.
const NOTICE_TIME: Duration = Duration::from_secs(8);
/// How many command lines are remembered.
const HISTORY: usize = 100;
/// How many rows a turn of the wheel moves.
const WHEEL_ROWS: usize = 3;

/// Something that the shell wants done in the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell the session.
    Session(SessionCommand),
    /// Read a file and give it to the session.
    ApplyFile(String),
    /// Read a configuration from a file and give it to the session.
    ConfigFile(String),
    /// Put a text on the clipboard.
    Copy(String),
    /// Keep this text as a person's own layout.
    SaveLayout(String),
    /// Forget what is on the terminal and draw everything.
    Redraw,
    /// Go to the shell that the console was started from.
    Suspend,
    /// End.
    Quit,
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseDeed {
    /// The left button went down.
    Click,
    /// The mouse moved with the left button down.
    Drag,
    /// The button was let go.
    Release,
    /// The wheel turned up.
    ScrollUp,
    /// The wheel turned down.
    ScrollDown,
    /// The wheel turned left.
    ScrollLeft,
    /// The wheel turned right.
    ScrollRight,
}

/// How the console looks.
#[derive(Clone, Debug)]
pub struct Look {
    /// The styles.
    pub theme: Theme,
    /// The themes that can be chosen.
    pub themes: Themes,
    /// The theme that settings named last.
    pub settings_theme: Option<String>,
    /// The signs.
    pub glyphs: Glyphs,
    /// The layout that settings named last.
    pub settings_layout: Option<String>,
    /// A person's own layout, if one was saved.
    pub own_layout: Option<SavedLayout>,
    /// How many colours the terminal shows; themes that are chosen later are converted to it.
    pub depth: ColorDepth,
    /// Whether nothing is lit for a moment.
    pub is_motion_reduced: bool,
}

impl Look {
    /// A look with that theme, the built-in ones to choose from, and nothing lit.
    pub fn new(theme: Theme, is_ascii: bool) -> Self {
        Self {
            depth: theme.depth(),
            theme,
            themes: Themes::default(),
            settings_theme: None,
            settings_layout: None,
            own_layout: None,
            glyphs: Glyphs::new(is_ascii),
            is_motion_reduced: true,
        }
    }
}

/// What the shell was told about the world.
struct World {
    view: Arc<SessionView>,
    changes: Changes,
    log: LogLines,
    now: Duration,
    /// The panes that are on the screen.
    shown: Vec<PaneId>,
}

/// Where the focus is, and what belongs to that.
struct Focus {
    arrangement: Arrangement,
    jumps: Jumps,
    filters: [Option<String>; PaneId::COUNT],
}

struct Keys {
    keymap: Keymap,
    pending: Vec<Key>,
    since: Duration,
}

struct ShownNotice {
    level: NoticeLevel,
    text: String,
    until: Duration,
}

/// Where things were drawn last, for the mouse.
#[derive(Default)]
struct Drawn {
    places: Vec<Place>,
    frames: Vec<(PaneId, Rect)>,
    insides: Vec<(PaneId, Rect)>,
    tabs: Vec<(PaneId, Rect)>,
}

/// The console without its terminal.
pub struct Shell {
    panes: [Box<dyn Pane>; PaneId::COUNT],
    focus: Focus,
    overlays: Vec<Box<dyn Overlay>>,
    keys: Keys,
    selected: Option<Subject>,
    world: World,
    look: Look,
    notice: Option<ShownNotice>,
    work: Option<WorkView>,
    /// The number of the work that was called off last; 0 before.
    called_off: u64,
    /// How many times somebody went to a page of the details.
    n_opened: u64,
    history: Vec<String>,
    /// How many of them were typed here.
    n_typed: usize,
    drawn: Drawn,
    standing: Option<Standing>,
    dragged: Option<Dragged>,
    course: Option<lesson::OpenCourse>,
}

impl Shell {
    /// A console with one of each pane.
    pub fn new(view: Arc<SessionView>, look: Look, keymap: Keymap) -> Self {
        Self::with_panes(panes::set::all(), view, look, keymap)
    }

    /// A console with these panes, in the order of [`PaneId::ALL`].
    pub fn with_panes(
        panes: [Box<dyn Pane>; PaneId::COUNT],
        view: Arc<SessionView>,
        look: Look,
        keymap: Keymap,
    ) -> Self {
        let arrangement = Arrangement::START;
        let log = LogLines { now: view.scheduler.now, ..LogLines::default() };
        let world = World { view, changes: Changes::default(), log, now: Duration::ZERO, shown: Vec::new() };
        let mut shell = Self {
            panes,
            focus: Focus { arrangement, jumps: Jumps::default(), filters: Default::default() },
            overlays: Vec::new(),
            keys: Keys { keymap, pending: Vec::new(), since: Duration::ZERO },
            selected: None,
            world,
            look,
            notice: None,
            work: None,
            called_off: 0,
            n_opened: 0,
            history: Vec::new(),
            n_typed: 0,
            drawn: Drawn::default(),
            standing: None,
            dragged: None,
            course: None,
        };
        shell.follow_selection();
        shell
    }

    /// Tells what time it is, on the console's own clock. Time does not go back.
    pub fn set_now(&mut self, now: Duration) {
        self.world.now = self.world.now.max(now);
        if self.notice.as_ref().is_some_and(|notice| notice.until <= self.world.now) {
            self.notice = None;
        }
    }

    /// When the screen changes by itself next: a light goes out, a notice goes, a chord is helped.
    pub fn deadline(&self) -> Option<Duration> {
        let now = self.world.now;
        let light = self.world.changes.lit_until();
        let notice = self.notice.as_ref().map(|notice| notice.until);
        let chord = (!self.keys.pending.is_empty()).then(|| self.keys.since + which_key::PATIENCE);
        [light, notice, chord].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// Takes a newer view.
    pub fn on_view(&mut self, view: Arc<SessionView>) {
        let old = std::mem::replace(&mut self.world.view, view);
        let new = Arc::clone(&self.world.view);
        self.world.log.now = new.scheduler.now;
        if !self.look.is_motion_reduced && !Arc::ptr_eq(&old.scheduler, &new.scheduler) {
            self.world.changes = Changes::between(&old, &new, self.world.now);
        }
        let compared = |view: &SessionView| view.comparison.as_ref().map(|(number, _)| *number);
        if compared(&new) > compared(&old) {
            self.overlays.push(Box::new(CompareOverlay::default()));
        }
        self.take_advice(&old, &new);
        let asked = |view: &SessionView| view.known.what_if.as_ref().map(|asked| asked.number);
        if asked(&new) > asked(&old) {
            self.overlays.push(Box::new(WhatIfOverlay::default()));
        }
        let seen = old.notice.as_ref().map_or(0, |notice| notice.number);
        if let Some(notice) = new.notice.as_ref().filter(|notice| notice.number > seen) {
            if notice.level == NoticeLevel::Error && notice.text.trim_end().contains('\n') {
                self.overlays.push(Box::new(Message::new("not done".to_owned(), notice.text.clone())));
            }
            self.notify(notice.level, notice.text.clone());
        }
        self.overlays.retain(|overlay| !overlay.is_over(&new));
        if let (None, Some(failure)) = (&old.failure, &new.failure) {
            let body = format!("{failure}\n\nNothing more will happen here. What is on the screen stays.");
            self.overlays.push(Box::new(Message::new("the session has ended".to_owned(), body)));
        }
        self.follow_selection();
    }

    /// Whether that is the view it has.
    pub fn has_view(&self, view: &Arc<SessionView>) -> bool {
        Arc::ptr_eq(&self.world.view, view)
    }

    /// Takes what long work is under way.
    pub fn set_work(&mut self, work: Option<WorkView>) {
        self.work = work;
    }

    /// Says what the person may do who is one of several.
    pub const fn set_standing(&mut self, standing: Standing) {
        self.standing = Some(standing);
    }

    /// The lines of the log pane, to add to.
    pub fn log_mut(&mut self) -> &mut LogLines {
        &mut self.world.log
    }

    /// Shows a sentence in the footer for a while.
    pub fn notify(&mut self, level: NoticeLevel, text: String) {
        self.notice = Some(ShownNotice { level, text, until: self.world.now.saturating_add(NOTICE_TIME) });
    }

    /// Takes a key.
    pub fn on_key(&mut self, key: Key) -> Vec<Effect> {
        self.keys.pending.push(key);
        self.keys.since = self.world.now;
        let contexts = self.contexts();
        match self.look_up(&contexts, key) {
            Found::Action(action) => {
                self.keys.pending.clear();
                self.dispatch(action)
            }
            Found::Typed(c) => {
                self.keys.pending.clear();
                self.type_text(c.encode_utf8(&mut [0; 4]))
            }
            Found::Prefix => Vec::new(),
            Found::Nothing => {
                self.keys.pending.clear();
                Vec::new()
            }
        }
    }

    /// Takes pasted text. Where no text is typed, a manifest is offered to the session.
    pub fn on_paste(&mut self, pasted: &str) -> Vec<Effect> {
        self.keys.pending.clear();
        if self.is_typing() {
            return self.type_text(pasted);
        }
        if self.overlays.is_empty() && pasted.contains("kind") && pasted.contains("apiVersion") {
            let n_lines = pasted.lines().count();
            let edit = Edit::Apply { source: "pasted text".to_owned(), text: pasted.to_owned() };
            self.overlays.push(Box::new(Confirm::new(
                "Apply the pasted manifest?".to_owned(),
                format!("It has {n_lines} lines. Its objects are added to the sandbox, or changed if they are there."),
                SessionCommand::Edit(edit),
            )));
        }
        Vec::new()
    }

    /// Takes what the mouse did at a position of the screen.
    pub fn on_mouse(&mut self, deed: MouseDeed, x: u16, y: u16) -> Vec<Effect> {
        let position = Position::new(x, y);
        let at = |places: &[(PaneId, Rect)]| places.iter().find(|(_, area)| area.contains(position)).copied();
        if !self.overlays.is_empty() {
            return match deed {
                MouseDeed::Click
                | MouseDeed::Drag
                | MouseDeed::Release
                | MouseDeed::ScrollLeft
                | MouseDeed::ScrollRight => Vec::new(),
                MouseDeed::ScrollUp => self.dispatch_any(&[Action::HistoryPrevious, Action::SelectPrevious]),
                MouseDeed::ScrollDown => self.dispatch_any(&[Action::HistoryNext, Action::SelectNext]),
            };
        }
        let action = match deed {
            MouseDeed::Click => {
                let tab = at(&self.drawn.tabs);
                if tab.is_none() && self.take_border(x, y) {
                    return Vec::new();
                }
                if let Some((id, _)) = tab.or_else(|| at(&self.drawn.frames)) {
                    self.go_to_pane(id);
                }
                let Some((id, _)) = at(&self.drawn.insides) else { return Vec::new() };
                let outcome = self.ask_pane(id, |pane, cx| pane.hit(position, cx));
                return self.after(outcome).unwrap_or_default();
            }
            MouseDeed::Drag | MouseDeed::Release => {
                self.drag_border(x, y, deed == MouseDeed::Release);
                return Vec::new();
            }
            MouseDeed::ScrollUp => Action::SelectPrevious,
            MouseDeed::ScrollDown => Action::SelectNext,
            MouseDeed::ScrollLeft => Action::ScrollLeft,
            MouseDeed::ScrollRight => Action::ScrollRight,
        };
        let Some((id, _)) = at(&self.drawn.frames) else { return Vec::new() };
        let mut effects = Vec::new();
        for _ in 0..WHEEL_ROWS {
            let outcome = self.ask_pane(id, |pane, cx| pane.handle(action, cx));
            effects.extend(self.after(outcome).unwrap_or_default());
        }
        effects
    }

    /// Draws everything. `buf` is the whole screen.
    pub fn draw(&mut self, buf: &mut Buffer) {
        let before = self.selected.clone();
        self.draw_once(buf);
        // Drawing may have put a selection onto what is there now; the details follow in the same frame.
        self.follow_selection();
        if self.selected != before {
            self.draw_once(buf);
        }
    }

    /// The pane that has the focus.
    pub const fn focused(&self) -> PaneId {
        self.focus.arrangement.focus
    }

    /// What is selected.
    pub const fn selected(&self) -> Option<&Subject> {
        self.selected.as_ref()
    }

    /// Whether an overlay is open.
    pub fn has_overlay(&self) -> bool {
        !self.overlays.is_empty()
    }

    fn is_typing(&self) -> bool {
        self.overlays.last().is_some_and(|overlay| overlay.contexts().first() == Some(&Context::TextInput))
    }

    /// Where keys are looked up now.
    fn contexts(&self) -> Vec<Context> {
        match self.overlays.last() {
            Some(overlay) => overlay.contexts().to_vec(),
            None => self.pane_contexts(),
        }
    }

    fn pane_contexts(&self) -> Vec<Context> {
        let mut contexts = self.panes[self.focused().index()].contexts().to_vec();
        contexts.extend([Context::Stepper, Context::Global]);
        contexts
    }

    fn look_up(&self, contexts: &[Context], key: Key) -> Found {
        let (typing, rest) = if self.is_typing() { contexts.split_at(1) } else { contexts.split_at(0) };
        let keymap = &self.keys.keymap;
        match keymap.lookup(typing, &self.keys.pending) {
            Lookup::Action(action) => return Found::Action(action),
            Lookup::Prefix => return Found::Prefix,
            Lookup::Nothing => {}
        }
        if let (false, Some(c)) = (typing.is_empty(), key.typed()) {
            return Found::Typed(c);
        }
        match keymap.lookup(rest, &self.keys.pending) {
            Lookup::Action(action) => Found::Action(action),
            Lookup::Prefix => Found::Prefix,
            Lookup::Nothing => Found::Nothing,
        }
    }

    /// Gives an action to the top overlay, or to the focused pane, or does it.
    fn dispatch(&mut self, action: Action) -> Vec<Effect> {
        if let Some(number) = self.called_off_by(action) {
            self.called_off = number;
            return vec![Effect::Session(SessionCommand::CallOff(number))];
        }
        if let Some(outcome) = self.ask_overlay(|overlay, cx| overlay.handle(action, cx)) {
            return self.after_overlay(outcome);
        }
        let outcome = self.ask_pane(self.focused(), |pane, cx| pane.handle(action, cx));
        self.after(outcome).unwrap_or_else(|| self.perform(action))
    }

    /// The work that an action calls off: who waits wants to get rid of that before what lies over the panes. An overlay
    /// is closed by the next one, however long the work goes on.
    fn called_off_by(&self, action: Action) -> Option<u64> {
        let number = self.work.as_ref()?.number;
        let is_meant = match action {
            Action::Back => true,
            Action::Close | Action::Cancel => self.called_off != number,
            _ => false,
        };
        is_meant.then_some(number)
    }

    /// Gives the top overlay the first of these actions that it has a use for.
    fn dispatch_any(&mut self, actions: &[Action]) -> Vec<Effect> {
        for action in actions {
            match self.ask_overlay(|overlay, cx| overlay.handle(*action, cx)) {
                Some(OverlayOutcome::Ignored | OverlayOutcome::Through(_)) => {}
                Some(outcome) => return self.after_overlay(outcome),
                None => return Vec::new(),
            }
        }
        Vec::new()
    }

    fn type_text(&mut self, typed: &str) -> Vec<Effect> {
        match self.ask_overlay(|overlay, cx| overlay.insert(typed, cx)) {
            Some(outcome) => self.after_overlay(outcome),
            None => Vec::new(),
        }
    }

    fn ask_pane(&mut self, id: PaneId, ask: impl FnOnce(&mut dyn Pane, &Cx<'_>) -> Outcome) -> Outcome {
        let cx =
            pane_cx(&self.world, &self.look, &self.keys.keymap, self.selected.as_ref(), id == self.focused());
        ask(self.panes[id.index()].as_mut(), &cx)
    }

    fn ask_overlay(
        &mut self,
        ask: impl FnOnce(&mut dyn Overlay, &OverlayCx<'_>) -> OverlayOutcome,
    ) -> Option<OverlayOutcome> {
        let mut overlay = self.overlays.pop()?;
        let pane_contexts = self.pane_contexts();
        let outcome = ask(overlay.as_mut(), &self.overlay_cx(&pane_contexts));
        self.overlays.push(overlay);
        Some(outcome)
    }

    fn overlay_cx<'a>(&'a self, pane_contexts: &'a [Context]) -> OverlayCx<'a> {
        OverlayCx {
            view: &self.world.view,
            theme: &self.look.theme,
            themes: &self.look.themes,
            glyphs: &self.look.glyphs,
            keymap: &self.keys.keymap,
            selected: self.selected.as_ref(),
            pane: self.focused(),
            pane_contexts,
            history: &self.history,
        }
    }

    /// Does what a pane asks for; `None` if it had no use for the action.
    fn after(&mut self, outcome: Outcome) -> Option<Vec<Effect>> {
        match outcome {
            Outcome::Ignored => None,
            Outcome::Changed => {
                self.follow_selection();
                Some(Vec::new())
            }
            Outcome::Request(request) => {
                self.follow_selection();
                Some(self.request(request))
            }
        }
    }

    fn request(&mut self, request: Request) -> Vec<Effect> {
        match request {
            Request::Session(command) => return vec![Effect::Session(command)],
            Request::Focus(id) => self.go_to_pane(id),
            Request::Select(subject) => self.selected = Some(subject),
            Request::OpenDetails(subject) => return self.open_details(subject),
            Request::Notice(level, sentence) => self.notify(level, sentence),
            Request::Copy(copied) => return self.copy(copied),
            Request::Command(line) => return self.carry_out(&line),
            Request::Action(action) => return self.perform(action),
        }
        Vec::new()
    }

    fn after_overlay(&mut self, outcome: OverlayOutcome) -> Vec<Effect> {
        match outcome {
            OverlayOutcome::Ignored | OverlayOutcome::Changed => {}
            OverlayOutcome::Close => drop(self.overlays.pop()),
            OverlayOutcome::Command(line) => {
                self.overlays.pop();
                return self.command(&line);
            }
            OverlayOutcome::Session(command) => {
                self.overlays.pop();
                return vec![Effect::Session(command)];
            }
            OverlayOutcome::Type(line) => {
                self.overlays.pop();
                self.open_palette(&line);
            }
            OverlayOutcome::GoTo(subject) => {
                self.overlays.pop();
                return self.go_to(subject);
            }
            OverlayOutcome::Tell(command) => return vec![Effect::Session(command)],
            OverlayOutcome::Copy(text, said) => {
                self.notify(NoticeLevel::Info, said);
                return vec![Effect::Copy(text)];
            }
            OverlayOutcome::Through(action) => {
                self.overlays.pop();
                return self.dispatch(action);
            }
            OverlayOutcome::Filter(filter) => self.set_filter(filter),
            OverlayOutcome::Pane(action) => {
                let outcome = self.ask_pane(self.focused(), |pane, cx| pane.handle(action, cx));
                return self.after(outcome).unwrap_or_default();
            }
        }
        Vec::new()
    }

    /// Carries out a command line.
    fn command(&mut self, line: &str) -> Vec<Effect> {
        let line = line.trim();
        if self.history.last().is_none_or(|last| last != line) {
            self.history.push(line.to_owned());
            self.n_typed += 1;
            if self.history.len() > HISTORY {
                self.history.remove(0);
            }
        }
        self.carry_out(line)
    }

    fn carry_out(&mut self, line: &str) -> Vec<Effect> {
        let cx =
            CommandCx { view: &self.world.view, selected: self.selected.as_ref(), themes: &self.look.themes };
        match commands::parse(line, &cx) {
            Ok(Deed::Action(action)) => return self.dispatch(action),
            Ok(Deed::Session(command)) => return vec![Effect::Session(command)],
            Ok(Deed::Confirm { question, detail, command }) => {
                self.overlays.push(Box::new(Confirm::new(question, detail, command)));
            }
            Ok(Deed::Arm { anyway }) => return self.ask_to_arm(anyway),
            Ok(Deed::ApplyFile(path)) => return vec![Effect::ApplyFile(path)],
            Ok(Deed::ConfigFile(path)) => return vec![Effect::ConfigFile(path)],
            Ok(Deed::Open(subject)) => return self.open_details(subject),
            Ok(Deed::Theme(name)) => self.use_theme(&name),
            Ok(Deed::Layout(deed)) => return self.use_layout(deed),
            Ok(Deed::Lesson(deed)) => return self.lesson(deed),
            Ok(Deed::Explain(word)) => self.explain(word),
            Ok(Deed::Workloads) => self.overlays.push(Box::new(WorkloadsOverlay::default())),
            Err(text) if text.contains('\n') => {
                self.overlays.push(Box::new(Message::new("not done".to_owned(), text)));
            }
            Err(sentence) => self.notify(NoticeLevel::Error, sentence),
        }
        Vec::new()
    }

    fn focus_by(&mut self, steps: usize) {
        let all = PaneId::of(self.world.view.live.is_some());
        let next = (self.focused().index() + steps) % all.len();
        self.go_to_pane(all[next]);
    }

    fn focus_on(&mut self, id: PaneId) {
        if id != self.focused() {
            self.focus.arrangement.focus_on(id);
            self.follow_selection();
        }
    }

    fn set_filter(&mut self, filter: Option<String>) {
        let index = self.focused().index();
        self.panes[index].set_filter(filter.as_deref());
        self.focus.filters[index] = filter;
        self.follow_selection();
    }

    /// Takes over what the focused pane has selected.
    fn follow_selection(&mut self) {
        let cx = pane_cx(&self.world, &self.look, &self.keys.keymap, self.selected.as_ref(), true);
        if let Some(subject) = self.panes[self.focused().index()].selected(&cx) {
            self.selected = Some(subject);
        }
    }
}

/// What a key comes to.
enum Found {
    Action(Action),
    Typed(char),
    Prefix,
    Nothing,
}

/// Not a method, so that a pane can be borrowed beside it.
fn pane_cx<'a>(
    world: &'a World,
    look: &'a Look,
    keymap: &'a Keymap,
    selected: Option<&'a Subject>,
    focused: bool,
) -> Cx<'a> {
    Cx {
        view: &world.view,
        theme: &look.theme,
        glyphs: &look.glyphs,
        focused,
        changed: &world.changes,
        now: world.now,
        selected,
        log: &world.log,
        shown: &world.shown,
        keymap,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
mod tests;
