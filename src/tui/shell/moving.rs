//! Going to things and coming back: jumps, links, layouts, borders, and words that are explained.

use ratatui::layout::Rect;

use crate::driver::session::{NoticeLevel, RunState, SessionCommand};
use crate::explain::glossary;
use crate::tui::action::Action;
use crate::tui::commands::LayoutDeed;
use crate::tui::layout::{Axis, Preset, SavedLayout, Splits, border_at};
use crate::tui::overlays::finder::Finder;
use crate::tui::overlays::message::Message;
use crate::tui::overlays::palette::Palette;
use crate::tui::panes::{PaneId, Subject};
use crate::tui::suggest::nearest;
use crate::tui::words;

use super::{Effect, HISTORY, Shell};

/// How many jumps are remembered.
const JUMPS: usize = 100;
/// By how many hundredths a key moves a border.
const STEP: i8 = 4;
/// The size of the page of which everything is copied.
const COPIED: Rect = Rect::new(0, 0, 110, 400);

/// A pane and what was selected there.
#[derive(Clone, Debug, PartialEq)]
struct Spot {
    pane: PaneId,
    selected: Option<Subject>,
}

/// Where a person was, and where they came back from.
#[derive(Default)]
pub(super) struct Jumps {
    back: Vec<Spot>,
    ahead: Vec<Spot>,
}

/// A border that the mouse has taken hold of.
#[derive(Clone, Copy)]
pub(super) struct Dragged {
    first: PaneId,
    second: PaneId,
    axis: Axis,
    at: u16,
}

impl Shell {
    /// Does an action of that kind; nothing where it is none.
    pub(super) fn perform_moving(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::JumpBack => match self.jump(false) {
                Some(effects) => return effects,
                None => self.notify(NoticeLevel::Info, "There is nothing to go back to.".to_owned()),
            },
            Action::JumpForward => match self.jump(true) {
                Some(effects) => return effects,
                None => self.notify(NoticeLevel::Info, "There is nothing to go forward to.".to_owned()),
            },
            Action::OpenFinder => {
                let pane_contexts = self.pane_contexts();
                let finder = Finder::new(&self.overlay_cx(&pane_contexts));
                self.overlays.push(Box::new(finder));
            }
            Action::NextLayout => {
                let next = self.focus.arrangement.preset.next();
                return self.use_layout(LayoutDeed::Preset(next));
            }
            Action::Wider => self.grow(Axis::Width, STEP),
            Action::Narrower => self.grow(Axis::Width, -STEP),
            Action::Taller => self.grow(Axis::Height, STEP),
            Action::Shorter => self.grow(Axis::Height, -STEP),
            Action::EvenOut => self.focus.arrangement.splits = Splits::NONE,
            Action::CopyText => return self.copy_text(),
            _ => return self.perform_known(action),
        }
        Vec::new()
    }

    /// Esc.
    pub(super) fn back(&mut self) -> Vec<Effect> {
        if self.focus.filters[self.focused().index()].is_some() {
            self.set_filter(None);
        } else if self.focus.arrangement.is_zoomed {
            self.focus.arrangement.is_zoomed = false;
        } else if self.world.view.run_state == RunState::RunningToOutcome {
            // What goes on until something happens may go on for long.
            return vec![Effect::Session(SessionCommand::Pause)];
        } else if self.focused() == PaneId::Details {
            return self.jump(false).unwrap_or_default();
        }
        Vec::new()
    }

    /// Gives a pane the focus, so that one can come back from it.
    pub(super) fn go_to_pane(&mut self, id: PaneId) {
        if id != self.focused() {
            self.remember();
            self.focus_on(id);
        }
    }

    /// Shows all about a subject. What has to be worked out for that is asked for.
    pub(super) fn open_details(&mut self, subject: Subject) -> Vec<Effect> {
        let question = subject.inspect();
        self.n_opened += 1;
        if self.focused() != PaneId::Details || self.selected.as_ref() != Some(&subject) {
            self.remember();
            self.focus_on(PaneId::Details);
            self.selected = Some(subject);
        }
        question.map(|question| Effect::Session(SessionCommand::Inspect(question))).into_iter().collect()
    }

    /// Selects a thing in the pane that has a row for it, and shows all about it.
    pub(super) fn go_to(&mut self, subject: Subject) -> Vec<Effect> {
        for id in [PaneId::Queues, PaneId::Waiting, PaneId::Nodes, PaneId::Matrix, PaneId::Cycle] {
            self.reveal(id, &subject);
        }
        self.open_details(subject)
    }

    fn reveal(&mut self, id: PaneId, subject: &Subject) -> bool {
        let is_focused = id == self.focused();
        let cx =
            super::pane_cx(&self.world, &self.look, &self.keys.keymap, self.selected.as_ref(), is_focused);
        self.panes[id.index()].reveal(subject, &cx)
    }

    fn spot(&self) -> Spot {
        Spot { pane: self.focused(), selected: self.selected.clone() }
    }

    /// Notes where one is, before going somewhere else.
    fn remember(&mut self) {
        let spot = self.spot();
        let jumps = &mut self.focus.jumps;
        jumps.ahead.clear();
        if jumps.back.last() != Some(&spot) {
            jumps.back.push(spot);
            if jumps.back.len() > JUMPS {
                jumps.back.remove(0);
            }
        }
    }

    /// Goes to where one was, or forward again, and asks again for what is shown there. Nothing if there is nothing.
    fn jump(&mut self, is_forward: bool) -> Option<Vec<Effect>> {
        let here = self.spot();
        let all = PaneId::of(self.world.view.live.is_some());
        let jumps = &mut self.focus.jumps;
        let (from, to) = if is_forward {
            (&mut jumps.ahead, &mut jumps.back)
        } else {
            (&mut jumps.back, &mut jumps.ahead)
        };
        // A fork has no panes about the cluster, which its live session has.
        let at = from.iter().rposition(|spot| *spot != here && all.contains(&spot.pane))?;
        let spot = from.split_off(at).swap_remove(0);
        to.push(here);
        self.focus_on(spot.pane);
        let mut question = None;
        if let Some(subject) = spot.selected {
            self.reveal(spot.pane, &subject);
            question = subject.inspect().filter(|_| spot.pane == PaneId::Details);
            self.selected = Some(subject);
        }
        self.follow_selection();
        Some(
            question.map(|question| Effect::Session(SessionCommand::Inspect(question))).into_iter().collect(),
        )
    }

    /// Opens the command line with something typed.
    pub(super) fn open_palette(&mut self, typed: &str) {
        let pane_contexts = self.pane_contexts();
        let palette = Palette::new(typed, &self.overlay_cx(&pane_contexts));
        self.overlays.push(Box::new(palette));
    }

    /// Takes over command lines of earlier times.
    pub fn set_history(&mut self, mut lines: Vec<String>) {
        lines.drain(..lines.len().saturating_sub(HISTORY));
        self.history = lines;
    }

    /// All command lines, the newest last, if one was typed that is not from an earlier time.
    pub fn typed_lines(&self) -> Option<&[String]> {
        (self.n_typed > 0).then_some(self.history.as_slice())
    }

    /// Changes the layout, or keeps it.
    pub(super) fn use_layout(&mut self, deed: LayoutDeed) -> Vec<Effect> {
        let arrangement = &mut self.focus.arrangement;
        match deed {
            LayoutDeed::Preset(preset) => {
                arrangement.is_zoomed = false;
                self.take_layout(SavedLayout { preset, splits: Splits::NONE });
                self.notify(NoticeLevel::Info, format!("layout {}", preset.as_str()));
            }
            LayoutDeed::Own => match self.look.own_layout {
                Some(own) => {
                    self.take_layout(own);
                    self.notify(NoticeLevel::Info, "layout own".to_owned());
                }
                None => {
                    let text = "No layout was saved yet: :layout save keeps the present one.".to_owned();
                    self.notify(NoticeLevel::Warning, text);
                }
            },
            LayoutDeed::Save => {
                let own = SavedLayout { preset: arrangement.preset, splits: arrangement.splits };
                self.look.own_layout = Some(own);
                return vec![Effect::SaveLayout(own.to_text())];
            }
        }
        Vec::new()
    }

    /// Takes a saved layout over.
    pub fn take_layout(&mut self, layout: SavedLayout) {
        // The queues have no place of their own in the other layouts: they would take that of something else.
        if layout.preset != Preset::Operate && self.focused() == PaneId::Queues {
            self.go_to_pane(PaneId::Cycle);
            self.focus.arrangement.taught = PaneId::Matrix;
            self.focus.arrangement.extra = PaneId::Log;
        }
        self.focus.arrangement.preset = layout.preset;
        self.focus.arrangement.splits = layout.splits;
    }

    /// Makes the focused pane larger or smaller.
    fn grow(&mut self, axis: Axis, by: i8) {
        let focus = self.focused();
        if !self.focus.arrangement.splits.grow(&self.drawn.places, focus, axis, by) {
            let text = "The pane has no neighbour in that direction.".to_owned();
            self.notify(NoticeLevel::Info, text);
        }
    }

    /// Takes hold of the border at a position; false if there is none.
    pub(super) fn take_border(&mut self, x: u16, y: u16) -> bool {
        self.dragged = border_at(&self.drawn.places, x, y).map(|(first, second, axis)| Dragged {
            first: first.slot,
            second: second.slot,
            axis,
            at: if axis == Axis::Width { x } else { y },
        });
        self.dragged.is_some()
    }

    /// Moves the border that the mouse has hold of.
    pub(super) fn drag_border(&mut self, x: u16, y: u16, is_last: bool) {
        let Some(dragged) = &mut self.dragged else { return };
        let places = &self.drawn.places;
        let (at, whole) = match dragged.axis {
            Axis::Width => (x, places.iter().map(|place| place.area.right()).max()),
            Axis::Height => (y, places.iter().map(|place| place.area.bottom()).max()),
        };
        let moved = i32::from(at) - i32::from(dragged.at);
        // The strip below counts in rows.
        let is_strip = dragged.axis == Axis::Height && dragged.second == PaneId::Timeline;
        let scale = if is_strip { 100 } else { i32::from(whole.unwrap_or(1).max(1)) };
        let by = i8::try_from((moved * 100 / scale).clamp(-80, 80)).unwrap_or(0);
        if by != 0 {
            self.focus.arrangement.splits.move_border(dragged.first, dragged.second, dragged.axis, by);
            dragged.at = at;
        }
        if is_last {
            self.dragged = None;
        }
    }

    /// Says what a word means; of the selected thing, if none is named.
    pub(super) fn explain(&mut self, word: Option<String>) {
        let (title, body) = match word {
            Some(word) => match glossary::entry_of(&self.world.view.scheduler, &word) {
                Some(entry) => (format!("{}: {}", entry.word, entry.kind.as_str()), entry.body()),
                None => {
                    let hint = nearest(
                        &word,
                        glossary::entries_of(&self.world.view.scheduler).map(|entry| entry.word),
                    );
                    let text = format!("{word:?} is not explained here{hint}");
                    self.notify(NoticeLevel::Warning, text);
                    return;
                }
            },
            None => {
                let words = words::of_subject(&self.world.view.scheduler, self.selected.as_ref());
                if words.is_empty() {
                    let text =
                        "The selected thing has no word of Kubernetes: write :explain WORD.".to_owned();
                    self.notify(NoticeLevel::Info, text);
                    return;
                }
                let texts: Vec<String> = words.iter().map(|(word, body)| format!("{word}\n{body}")).collect();
                ("what the words mean".to_owned(), texts.join("\n\n"))
            }
        };
        self.overlays.push(Box::new(Message::new(title, body)));
    }

    /// Copies what the details say of the selected thing.
    fn copy_text(&mut self) -> Vec<Effect> {
        if self.selected.is_none() {
            self.notify(NoticeLevel::Warning, "Nothing is selected.".to_owned());
            return Vec::new();
        }
        let (mut lines, _) = self.pane_text(PaneId::Details, None, COPIED);
        lines.remove(0);
        let n = lines.len();
        self.notify(NoticeLevel::Info, format!("copied {n} lines of the details"));
        vec![Effect::Copy(lines.join("\n"))]
    }
}
