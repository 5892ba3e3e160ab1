//! A page of text: titles, sentences, labelled values and bars, broken into lines of a given width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::explain::ResourceUse;
use crate::explain::amount;
use crate::tui::panes::find::Find;
use crate::tui::panes::{Cx, Subject};
use crate::tui::theme::Role;
use crate::tui::widgets::{bar, text};

/// The narrowest and the widest column of labels.
const LABEL_MIN: usize = 8;
const LABEL_MAX: usize = 16;
/// How far notes are set in.
const NOTE_INDENT: usize = 4;
/// The least width of a value beside its label; below that it goes under it.
const VALUE_MIN: usize = 14;

/// A part of a page.
#[derive(Clone, Debug)]
enum Block {
    /// A line of its own, cut where it is too long.
    Line(Vec<(String, Role)>),
    /// A paragraph.
    Text(String, Role),
    /// A paragraph that is set in.
    Note(String, Role),
    /// The head of a section.
    Heading(String),
    /// A value with its name.
    Item(String, String, Role),
    /// A bar.
    Use(ResourceUse),
    /// A bar for so many of how many, with what they are.
    Count(usize, usize, String, Role),
    /// A line of a file: its indentation stays when it is broken.
    Code(String),
}

/// A page in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    blocks: Vec<Block>,
    /// Words of the page that can be gone to and do not show by their form what they are.
    names: Vec<(String, Subject)>,
}

impl Page {
    /// Lets a word of the page be gone to.
    pub(super) fn name(&mut self, word: impl Into<String>, to: Subject) {
        let word = word.into();
        if !word.is_empty() {
            self.names.push((word, to));
        }
    }

    /// The words that can be gone to.
    pub(super) fn names(&self) -> &[(String, Subject)] {
        &self.names
    }

    /// The title: parts with their roles.
    pub(super) fn title(&mut self, parts: Vec<(String, Role)>) {
        self.blocks.push(Block::Line(parts));
    }

    /// A paragraph; nothing if it is empty.
    pub(super) fn text(&mut self, text: impl Into<String>, role: Role) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Text(text, role));
        }
    }

    /// A paragraph that belongs to the line above it, and is set in.
    pub(super) fn note(&mut self, text: impl Into<String>, role: Role) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Note(text, role));
        }
    }

    /// The head of a section, with a blank line before it.
    pub(super) fn heading(&mut self, heading: impl Into<String>) {
        self.blocks.push(Block::Text(String::new(), Role::Text));
        self.blocks.push(Block::Heading(heading.into()));
    }

    /// A value with its name; nothing if it is empty.
    pub(super) fn item(&mut self, label: impl Into<String>, value: impl Into<String>) {
        self.item_in(label, value, Role::Text);
    }

    /// A value in a role of its own.
    pub(super) fn item_in(&mut self, label: impl Into<String>, value: impl Into<String>, role: Role) {
        let value = value.into();
        if !value.is_empty() {
            self.blocks.push(Block::Item(label.into(), value, role));
        }
    }

    /// How much of a resource is asked for.
    pub(super) fn used(&mut self, used: ResourceUse) {
        self.blocks.push(Block::Use(used));
    }

    /// So many of how many, as a bar, and what they are.
    pub(super) fn count(&mut self, n: usize, of: usize, what: impl Into<String>, role: Role) {
        self.blocks.push(Block::Count(n, of, what.into(), role));
    }

    /// A file.
    pub(super) fn code(&mut self, text: &str) {
        self.blocks.extend(text.lines().map(|line| Block::Code(line.to_owned())));
    }

    /// The page in lines of `width` columns; with something to find, the lines that have it.
    pub(super) fn lines(&self, width: usize, find: &Find, cx: &Cx<'_>) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for section in self.blocks.split_inclusive(|block| matches!(block, Block::Heading(_))) {
            let drawer = PageDrawer { width, label_width: label_width(section, width), find, cx };
            for block in section {
                drawer.draw(block, &mut lines);
            }
        }
        lines
    }
}

/// One width for the labels of a section, so that values stand below one another.
fn label_width(section: &[Block], width: usize) -> usize {
    let labels = section.iter().filter_map(|block| match block {
        Block::Item(label, ..) => Some(text::width(label)),
        Block::Use(used) => Some(text::width(&used.resource)),
        _ => None,
    });
    labels.max().unwrap_or_default().clamp(LABEL_MIN, LABEL_MAX).min(width / 3)
}

struct PageDrawer<'a> {
    width: usize,
    label_width: usize,
    find: &'a Find,
    cx: &'a Cx<'a>,
}

impl PageDrawer<'_> {
    fn style(&self, role: Role) -> Style {
        self.cx.theme.style(role)
    }

    fn draw(&self, block: &Block, lines: &mut Vec<Line<'static>>) {
        match block {
            Block::Line(parts) => {
                let spans =
                    parts.iter().flat_map(|(part, role)| self.find.spans(part, self.style(*role), self.cx));
                self.push(lines, spans.collect(), parts.iter().map(|(part, _)| part.as_str()));
            }
            Block::Text(paragraph, role) => {
                if paragraph.is_empty() {
                    if !self.find.is_on() && !lines.is_empty() {
                        lines.push(Line::default());
                    }
                    return;
                }
                for line in text::wrap(paragraph, self.width) {
                    self.push(lines, self.find.spans(&line, self.style(*role), self.cx), [line.as_str()]);
                }
            }
            Block::Note(paragraph, role) => {
                for line in text::wrap(paragraph, self.width.saturating_sub(NOTE_INDENT)) {
                    let mut spans = vec![Span::raw(" ".repeat(NOTE_INDENT))];
                    spans.extend(self.find.spans(&line, self.style(*role), self.cx));
                    self.push(lines, spans, [line.as_str()]);
                }
            }
            Block::Heading(heading) => {
                if !self.find.is_on() {
                    lines.push(Line::from(text::span(heading, self.style(Role::Heading))));
                }
            }
            Block::Item(label, value, role) => self.item(label, value, *role, lines),
            Block::Use(used) => self.used(used, lines),
            Block::Count(n, of, what, role) => self.count((*n, *of), what, *role, lines),
            Block::Code(line) => self.code(line, lines),
        }
    }

    fn push<'t>(
        &self,
        lines: &mut Vec<Line<'static>>,
        spans: Vec<Span<'static>>,
        texts: impl IntoIterator<Item = &'t str>,
    ) {
        if self.find.matches(texts) {
            lines.push(Line::from(spans));
        }
    }

    fn item(&self, label: &str, value: &str, role: Role, lines: &mut Vec<Line<'static>>) {
        let label_style = self.style(Role::Label);
        let beside = self.width.saturating_sub(self.label_width + 2);
        if beside < VALUE_MIN {
            self.push(lines, self.find.spans(label, label_style, self.cx), [label, value]);
            for line in text::wrap(value, self.width.saturating_sub(2)) {
                let mut spans = vec![Span::raw("  ")];
                spans.extend(self.find.spans(&line, self.style(role), self.cx));
                self.push(lines, spans, [label, line.as_str()]);
            }
            return;
        }
        for (i, line) in text::wrap(value, beside).into_iter().enumerate() {
            let shown = if i == 0 { text::clean(label).into_owned() } else { String::new() };
            let padded = text::left(&shown, self.label_width, self.cx.glyphs);
            let mut spans = vec![Span::styled(format!("{padded}  "), label_style)];
            spans.extend(self.find.spans(&line, self.style(role), self.cx));
            self.push(lines, spans, [label, line.as_str()]);
        }
    }

    fn used(&self, used: &ResourceUse, lines: &mut Vec<Line<'static>>) {
        let short = |value| amount::short(&used.resource, value);
        let percent = used.percent().map(|percent| format!("  {percent}%")).unwrap_or_default();
        let amounts = format!("{} of {}{percent}", short(used.requested), short(used.allocatable));
        let level = bar::level(used.requested, used.allocatable);
        let room = self.width.saturating_sub(self.label_width + 2);
        let bar_width = room.saturating_sub(22).clamp(6, 24);
        let label = text::left(&text::clean(&used.resource), self.label_width, self.cx.glyphs);
        let mut spans = vec![Span::styled(format!("{label}  "), self.style(Role::Label))];
        if room >= bar_width + 16 {
            let bar_width = u16::try_from(bar_width).unwrap_or(u16::MAX);
            spans.extend(bar::spans(bar_width, used.requested, used.allocatable, level, self.cx));
            spans.push(Span::raw("  "));
        }
        let style = match level {
            Role::BarHigh | Role::BarFull => self.style(level),
            _ => self.style(Role::Number),
        };
        spans.push(Span::styled(amounts, style));
        self.push(lines, spans, [used.resource.as_ref()]);
    }

    fn count(&self, (n, of): (usize, usize), what: &str, role: Role, lines: &mut Vec<Line<'static>>) {
        const BAR: u16 = 10;
        let number = format!(" {n:>width$} ", width = of.to_string().len());
        let beside = self.width.saturating_sub(usize::from(BAR) + number.len());
        let has_bar = beside >= VALUE_MIN;
        let number_width = number.len() + if has_bar { usize::from(BAR) } else { 0 };
        for (i, part) in text::wrap(what, self.width.saturating_sub(number_width)).into_iter().enumerate() {
            let mut spans = Vec::new();
            if i == 0 {
                if has_bar {
                    let amount = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
                    spans.extend(bar::spans(BAR, amount(n), amount(of), Role::BarUsed, self.cx));
                }
                spans.push(Span::styled(number.clone(), self.style(Role::Number)));
            } else {
                spans.push(Span::raw(" ".repeat(number_width)));
            }
            spans.extend(self.find.spans(&part, self.style(role), self.cx));
            self.push(lines, spans, [what]);
        }
    }

    fn code(&self, line: &str, lines: &mut Vec<Line<'static>>) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let indent = indent.min(self.width / 2);
        let body = line.trim_start_matches(' ');
        let room = self.width.saturating_sub(indent);
        for (i, part) in text::wrap(body, room).into_iter().enumerate() {
            let mut spans = vec![Span::raw(" ".repeat(indent))];
            let split = (i == 0).then(|| key_end(&part)).flatten();
            if let Some(end) = split {
                spans.extend(self.find.spans(&part[..end], self.style(Role::Label), self.cx));
                spans.extend(self.find.spans(&part[end..], self.style(Role::Text), self.cx));
            } else {
                spans.extend(self.find.spans(&part, self.style(Role::Text), self.cx));
            }
            self.push(lines, spans, [part.as_str()]);
        }
    }
}

/// Where the key of a line of YAML ends, its colon included.
fn key_end(line: &str) -> Option<usize> {
    let end = line.find(": ").map(|at| at + 1).or_else(|| line.ends_with(':').then_some(line.len()))?;
    let key = line[..end].trim_start_matches("- ");
    (!key.contains(['"', '\'', ' '])).then_some(end)
}
