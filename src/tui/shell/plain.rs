//! What the plain mode has of the shell: command lines, answers, and panes as lines of text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::driver::session::SessionView;
use crate::tui::action::{Action, Context};
use crate::tui::panes::{PaneId, Subject};

use super::{Effect, Shell, pane_cx};

/// What an open overlay wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Yes or no.
    Confirmation,
    /// A line of text.
    Text,
    /// Nothing: it only says something.
    Nothing,
}

impl Shell {
    /// Carries out a command line, as if it had been typed after the `:`.
    pub fn run_line(&mut self, line: &str) -> Vec<Effect> {
        self.command(line)
    }

    /// How many times somebody went to a page of the details.
    pub const fn n_opened(&self) -> u64 {
        self.n_opened
    }

    /// The newest view that it was given.
    pub fn view(&self) -> &SessionView {
        &self.world.view
    }

    /// What stands in the footer for a while, taken away.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take().map(|notice| notice.text)
    }

    /// What the open overlay wants to hear, if there is one.
    pub fn asked(&self) -> Option<Asked> {
        let overlay = self.overlays.last()?;
        Some(match overlay.contexts().first() {
            Some(Context::Confirm) => Asked::Confirmation,
            Some(Context::TextInput) => Asked::Text,
            _ => Asked::Nothing,
        })
    }

    /// Answers the open overlay yes or no.
    pub fn answer(&mut self, is_yes: bool) -> Vec<Effect> {
        self.dispatch(if is_yes { Action::Accept } else { Action::Refuse })
    }

    /// Gives the open overlay a line of text in place of what it holds.
    pub fn answer_text(&mut self, line: &str) -> Vec<Effect> {
        self.dispatch(Action::CursorEnd);
        self.dispatch(Action::DeleteToStart);
        self.type_text(line);
        self.dispatch(Action::Accept)
    }

    /// Closes the open overlay.
    pub fn close_overlay(&mut self) {
        self.overlays.pop();
    }

    /// Selects a thing in the whole console.
    pub fn select(&mut self, subject: Subject) {
        self.selected = Some(subject);
    }

    /// Gives a pane the focus, so that commands about the focused pane mean it.
    pub fn focus_pane(&mut self, id: PaneId) {
        let selected = self.selected.clone();
        self.focus_on(id);
        // What was selected by name stays.
        if selected.is_some() {
            self.selected = selected;
        }
    }

    /// A pane as lines of text: its title and what is in it. The second answer is whether there is more than fits.
    pub fn pane_text(&mut self, id: PaneId, filter: Option<&str>, area: Rect) -> (Vec<String>, bool) {
        let mut buffer = Buffer::empty(area);
        let cx = pane_cx(&self.world, &self.look, &self.keys.keymap, self.selected.as_ref(), true);
        let pane = &mut self.panes[id.index()];
        pane.set_filter(filter);
        pane.render(area, &mut buffer, &cx);
        // It counts what was drawn.
        let title = pane.title(&cx);
        pane.set_filter(self.focus.filters[id.index()].as_deref());
        let title: String = title.spans.iter().map(|span| span.content.as_ref()).collect();
        let mut lines = vec![title.trim().to_owned()];
        let body = text_of(&buffer);
        let is_cut = body.len() >= usize::from(area.height);
        lines.extend(body);
        (lines, is_cut)
    }

    /// The open overlay as lines of text, without its frame.
    pub fn overlay_text(&mut self, area: Rect) -> Vec<String> {
        let Some(mut overlay) = self.overlays.pop() else { return Vec::new() };
        let mut buffer = Buffer::empty(area);
        let pane_contexts = self.pane_contexts();
        overlay.render(area, &mut buffer, &self.overlay_cx(&pane_contexts));
        self.overlays.push(overlay);
        without_frame(&text_of(&buffer))
    }
}

/// The rows of a buffer without blanks at their ends and without empty rows at the end.
fn text_of(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let mut lines: Vec<String> = (area.top()..area.bottom())
        .map(|y| {
            let mut line = String::new();
            let mut skip = 0;
            for x in area.left()..area.right() {
                let symbol = buffer.cell((x, y)).map_or(" ", |cell| cell.symbol());
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                // The cell behind a wide character belongs to it.
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                // Bars and rules say nothing that the numbers beside them do not, and are read out one by one.
                let is_drawn = symbol.chars().all(|c| ('\u{2500}'..='\u{257f}').contains(&c));
                line.push_str(if is_drawn { " " } else { symbol });
            }
            line.trim_end().to_owned()
        })
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The inside of a box that is drawn in the middle of nothing; its title becomes the first line.
fn without_frame(lines: &[String]) -> Vec<String> {
    // In ASCII a frame is made of these; any other has become blank already.
    let is_frame = |c: char| c.is_whitespace() || "+-|".contains(c);
    let mut framed = lines.iter().filter(|line| !line.chars().all(is_frame));
    let Some(first) = framed.next() else { return Vec::new() };
    let mut found = vec![first.trim_matches(is_frame).to_owned()];
    found.extend(framed.map(|line| line.trim().trim_matches('|').trim().to_owned()));
    found.retain(|line| !line.is_empty());
    found
}
