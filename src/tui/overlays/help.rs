//! What the keys do here and now: computed from the keymap in force and the contexts of the focused pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::breakpoints::expr::Field;
use crate::explain::glossary;
use crate::tui::action::{Action, Context};
use crate::tui::commands::COMMANDS;
use crate::tui::keymap::Binding;
use crate::tui::keymap::key::chord_to_string;
use crate::tui::panes::PaneId;
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;
use crate::tui::words;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed};

const WIDTH: u16 = 92;
const KEYS_WIDTH: u16 = 18;
/// How many words are explained at once.
const N_WORDS: usize = 3;

/// The help.
#[derive(Default)]
pub struct Help {
    filter: LineEditor,
    offset: usize,
    height: usize,
    n_lines: usize,
}

/// A line of it.
#[derive(Default)]
struct HelpLine {
    keys: String,
    text: String,
    is_heading: bool,
    /// Whether it is a line of a sentence, over the whole width.
    is_prose: bool,
}

impl Help {
    fn lines(&self, width: usize, cx: &OverlayCx<'_>) -> Vec<HelpLine> {
        let wanted = self.filter.text().trim().to_lowercase();
        let mut lines = words(&wanted, width, cx);
        let mut section = |title: String, entries: Vec<(String, String)>| {
            let entries: Vec<_> = entries
                .into_iter()
                .filter(|(keys, text)| {
                    keys.contains(wanted.as_str()) || text.to_lowercase().contains(&wanted)
                })
                .collect();
            if entries.is_empty() {
                return;
            }
            if !lines.is_empty() {
                lines.push(HelpLine::default());
            }
            lines.push(HelpLine { keys: title, is_heading: true, ..HelpLine::default() });
            lines.extend(entries.into_iter().map(|(keys, text)| HelpLine {
                keys,
                text,
                ..HelpLine::default()
            }));
        };
        let active = cx.keymap.active(cx.pane_contexts);
        for context in cx.pane_contexts {
            let here: Vec<&Binding> =
                active.iter().copied().filter(|binding| binding.context == *context).collect();
            section(context_title(*context, cx.pane), entries(&here));
        }
        let commands = COMMANDS
            .iter()
            .map(|info| {
                let line = format!(":{} {}", info.name, info.arguments);
                (line.trim_end().to_owned(), info.description.to_owned())
            })
            .collect();
        section("commands".to_owned(), commands);
        section("conditions of breakpoints, watches and run-to".to_owned(), conditions());
        for context in [Context::TextInput, Context::Overlay, Context::Confirm, Context::Ask] {
            section(context_title(context, cx.pane), entries(&cx.keymap.active(&[context])));
        }
        lines
    }
}

/// What the words mean that the selected thing is about, or those that are looked for.
fn words(wanted: &str, width: usize, cx: &OverlayCx<'_>) -> Vec<HelpLine> {
    let found: Vec<(String, String)> = if wanted.is_empty() {
        words::of_subject(&cx.view.scheduler, cx.selected).into_iter().take(N_WORDS).collect()
    } else {
        let entries = glossary::entries_of(&cx.view.scheduler);
        let is_like = |entry: &glossary::Entry| entry.word.to_lowercase().contains(wanted);
        entries.filter(is_like).map(|entry| (entry.word.to_owned(), entry.body())).collect()
    };
    let mut lines = Vec::new();
    for (word, body) in found {
        if !lines.is_empty() {
            lines.push(HelpLine::default());
        }
        lines.push(HelpLine { keys: word, is_heading: true, ..HelpLine::default() });
        let paragraphs = body.split('\n').filter(|paragraph| !paragraph.is_empty());
        for line in paragraphs.flat_map(|paragraph| text::wrap(paragraph, width.saturating_sub(1))) {
            lines.push(HelpLine { text: line, is_prose: true, ..HelpLine::default() });
        }
    }
    lines
}

/// What a condition can be made of.
fn conditions() -> Vec<(String, String)> {
    let line = |keys: &str, text: &str| (keys.to_owned(), text.to_owned());
    let mut lines = vec![
        line("== != < <= > >=", "compare; such as attempts >= 3"),
        line("~  !~", "is like a pattern with * and ?, or has that part; such as pod ~ shop/*"),
        line("&&  ||  !  ( )", "and, or, not; all that is said of a plugin and a node is said of one answer"),
        line("label(KEY)", "a label of the pod"),
        line("score(PLUGIN)", "its normalized score for the node; raw(PLUGIN) and weighted(PLUGIN) likewise"),
    ];
    lines.extend(Field::ALL.iter().map(|field| line(field.name(), field.meaning())));
    lines
}

/// One entry for each action: all its keys, and what it does.
fn entries(bindings: &[&Binding]) -> Vec<(String, String)> {
    let mut entries: Vec<(Action, String, String)> = Vec::new();
    for binding in bindings {
        let Some(action) = binding.action else { continue };
        let keys = chord_to_string(&binding.keys);
        let description =
            || binding.description.clone().unwrap_or_else(|| action.info().description.to_owned());
        match entries.iter_mut().find(|(known, _, _)| *known == action) {
            Some((_, known, _)) => {
                known.push_str("  ");
                known.push_str(&keys);
            }
            None => entries.push((action, keys, description())),
        }
    }
    entries.into_iter().map(|(_, keys, text)| (keys, text)).collect()
}

fn context_title(context: Context, pane: PaneId) -> String {
    match context {
        Context::Global => "everywhere".to_owned(),
        Context::Stepper => "stepping and time".to_owned(),
        Context::List => "moving".to_owned(),
        Context::TextInput => "where text is typed".to_owned(),
        Context::Overlay => "overlays".to_owned(),
        Context::Confirm => "questions".to_owned(),
        Context::Ask => "binds that wait for a person".to_owned(),
        Context::Queues
        | Context::Cycle
        | Context::Matrix
        | Context::Waiting
        | Context::Nodes
        | Context::Details
        | Context::Log
        | Context::Timeline
        | Context::Agreement => format!("in the {} pane", pane.as_str()),
    }
}

impl Overlay for Help {
    fn contexts(&self) -> &'static [Context] {
        &[Context::TextInput, Context::List]
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.n_lines.saturating_sub(self.height);
        self.offset = match action {
            Action::Accept => return OverlayOutcome::Close,
            Action::Cancel if self.filter.is_empty() => return OverlayOutcome::Close,
            Action::Cancel => {
                self.filter.set("");
                0
            }
            Action::HistoryPrevious => self.offset.saturating_sub(1),
            Action::HistoryNext => self.offset + 1,
            Action::PageDown => self.offset + self.height,
            Action::PageUp => self.offset.saturating_sub(self.height),
            action if self.filter.handle(action) => 0,
            _ => return OverlayOutcome::Ignored,
        }
        .min(last);
        OverlayOutcome::Changed
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        // The keys by which one leaves other overlays leave this one too, as long as nothing is looked for.
        if self.filter.is_empty() && matches!(text, "?" | "q") {
            return OverlayOutcome::Close;
        }
        self.filter.insert(text);
        self.offset = 0;
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let style = |role| cx.theme.style(role);
        let title = Line::from(format!("help {} {}", cx.glyphs.dot, cx.pane.as_str()));
        let size = (WIDTH.min(screen.width.saturating_sub(4)), screen.height.saturating_sub(4));
        let inner = boxed(screen, size, 50, &title, buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        if inner.height < 4 || inner.width == 0 {
            return;
        }
        text::put(buf, inner.x, inner.y, inner.width, cx.pane.question(), style(Role::Text), cx.glyphs);
        let find = Rect { y: inner.y + 1, height: 1, ..inner };
        let x = text::put(buf, find.x, find.y, find.width, "find: ", style(Role::Label), cx.glyphs);
        let field = Rect { x, width: find.right().saturating_sub(x), ..find };
        self.filter.render(field, buf, cx.theme, cx.glyphs);

        let body = Rect { y: inner.y + 3, height: inner.height - 3, ..inner };
        let lines = self.lines(usize::from(body.width), cx);
        self.height = usize::from(body.height);
        self.n_lines = lines.len();
        self.offset = self.offset.min(self.n_lines.saturating_sub(self.height));
        let keys_width = if body.width < 60 { KEYS_WIDTH.min(body.width / 2) } else { KEYS_WIDTH };
        for (line, y) in lines.iter().skip(self.offset).zip(body.y..body.bottom()) {
            if line.is_heading {
                text::put(buf, body.x, y, body.width, &line.keys, style(Role::Heading), cx.glyphs);
                continue;
            }
            if line.is_prose {
                let room = body.width.saturating_sub(1);
                text::put(buf, body.x + 1, y, room, &line.text, style(Role::Text), cx.glyphs);
                continue;
            }
            let end = text::put(
                buf,
                body.x + 1,
                y,
                body.width.saturating_sub(1),
                &line.keys,
                style(Role::Key),
                cx.glyphs,
            );
            let x = end.saturating_add(2).max(body.x + keys_width);
            text::put(buf, x, y, body.right().saturating_sub(x), &line.text, style(Role::Text), cx.glyphs);
        }
        let n_below = self.n_lines.saturating_sub(self.offset + self.height);
        let mark = match (self.offset, n_below) {
            (0, 0) => String::new(),
            (above, below) => format!("{above} above, {below} below"),
        };
        let width = u16::try_from(text::width(&mark)).unwrap_or(0);
        let x = inner.right().saturating_sub(width);
        text::put(buf, x, find.y, width, &mark, style(Role::Muted), cx.glyphs);
    }
}
