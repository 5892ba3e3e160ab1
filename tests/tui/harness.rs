//! A pane on a screen of its own, driven by actions and read back as text.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use schedscope::api::{NamespacedName, Str};
use schedscope::driver::session::SessionView;
use schedscope::scheduler::trace::Phase;
use schedscope::scheduler::view::View;
use schedscope::tui::action::Action;
use schedscope::tui::changes::Changes;
use schedscope::tui::keymap::{self, Keymap};
use schedscope::tui::log_lines::LogLines;
use schedscope::tui::panes::{Cx, Outcome, Pane, PaneId, Subject};
use schedscope::tui::theme::{ColorDepth, Role, Theme};
use schedscope::tui::widgets::frame;
use schedscope::tui::widgets::glyphs::{ASCII, Glyphs, UNICODE};

use super::fixture;

/// A pane and everything that it is told.
pub struct Screen {
    pub pane: Box<dyn Pane>,
    pub view: SessionView,
    pub theme: Theme,
    pub glyphs: Glyphs,
    pub focused: bool,
    pub changed: Changes,
    pub selected: Option<Subject>,
    pub log: LogLines,
    pub shown: Vec<PaneId>,
    keymap: Keymap,
    size: (u16, u16),
}

impl Screen {
    pub fn new(pane: impl Pane + 'static, view: View, width: u16, height: u16) -> Self {
        Self::boxed(Box::new(pane), view, width, height)
    }

    pub fn boxed(pane: Box<dyn Pane>, view: View, width: u16, height: u16) -> Self {
        Self {
            pane,
            view: fixture::session(view),
            theme: Theme::dark(ColorDepth::TrueColor),
            glyphs: UNICODE,
            focused: true,
            changed: Changes::default(),
            selected: None,
            log: LogLines::default(),
            shown: Vec::new(),
            keymap: keymap::load::built_in(),
            size: (width, height),
        }
    }

    pub fn ascii(mut self) -> Self {
        self.glyphs = ASCII;
        self
    }

    pub fn selecting(mut self, subject: Subject) -> Self {
        self.selected = Some(subject);
        self
    }

    pub fn lit(mut self, pods: &[&str], nodes: &[&str], phases: &[Phase]) -> Self {
        let key = |key: &&str| {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            NamespacedName::new(namespace, name)
        };
        self.changed = Changes {
            at: Duration::ZERO,
            pods: pods.iter().map(key).collect(),
            nodes: nodes.iter().map(|node| Str::from(*node)).collect::<BTreeSet<_>>(),
            phases: phases.iter().copied().collect(),
        };
        self
    }

    pub fn show(&mut self, view: View) {
        self.view = fixture::session(view);
    }

    fn split(&mut self) -> (&mut dyn Pane, Cx<'_>) {
        let cx = Cx {
            view: &self.view,
            theme: &self.theme,
            glyphs: &self.glyphs,
            focused: self.focused,
            changed: &self.changed,
            now: Duration::from_millis(100),
            selected: self.selected.as_ref(),
            log: &self.log,
            shown: &self.shown,
            keymap: &self.keymap,
        };
        (self.pane.as_mut(), cx)
    }

    /// Draws, so that the pane knows its size, then does the actions one after the other, drawing in between.
    pub fn act(&mut self, actions: &[Action]) -> Outcome {
        let mut outcome = Outcome::Ignored;
        self.draw();
        for action in actions {
            let (pane, cx) = self.split();
            outcome = pane.handle(*action, &cx);
            self.draw();
        }
        outcome
    }

    pub fn click(&mut self, x: u16, y: u16) -> Outcome {
        self.draw();
        let (pane, cx) = self.split();
        pane.hit(Position::new(x, y), &cx)
    }

    pub fn subject(&mut self) -> Option<Subject> {
        let (pane, cx) = self.split();
        pane.selected(&cx)
    }

    /// The pane in its frame.
    pub fn draw(&mut self) -> Buffer {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let mut buf = Buffer::empty(area);
        let (pane, cx) = self.split();
        buf.set_style(area, cx.theme.style(Role::Screen));
        let border = cx.theme.style(if cx.focused { Role::BorderFocused } else { Role::Border });
        let inner = frame::frame(area, &mut buf, &Line::default(), border, cx.glyphs);
        pane.render(inner, &mut buf, &cx);
        // As in the console, the title counts what was drawn.
        let title_style = cx.theme.style(if cx.focused { Role::TitleFocused } else { Role::Title });
        let mut title = Line::from(Span::styled("", title_style));
        title.spans.extend(pane.title(&cx).spans);
        frame::put_title(area, &mut buf, &title, cx.glyphs);
        buf
    }

    /// Whether the pane, drawn into the middle of a larger buffer, leaves everything around it alone. Its own
    /// frame is around it, on which it may put dividers and scrollbars.
    pub fn stays_inside(&mut self) -> bool {
        let (width, height) = self.size;
        let area = Rect::new(0, 0, width + 20, height + 10);
        let inner = Rect::new(10, 5, width, height);
        let mut buf = Buffer::empty(area);
        for cell in &mut buf.content {
            cell.set_symbol("#");
        }
        let (pane, cx) = self.split();
        pane.render(inner, &mut buf, &cx);
        let is_inside = |x: u16, y: u16| inner.contains(Position::new(x, y));
        area.positions().all(|at| is_inside(at.x, at.y) || buf[at].symbol() == "#")
    }

    /// What stands on it.
    pub fn text(&mut self) -> String {
        text_plane(&self.draw())
    }

    /// What stands on it and how it looks.
    pub fn planes(&mut self) -> String {
        let buf = self.draw();
        format!("{}\n{}", text_plane(&buf), style_plane(&buf))
    }
}

pub fn text_plane(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut line = String::new();
        let mut skip = 0;
        for x in buf.area.left()..buf.area.right() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buf[(x, y)].symbol();
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A letter for each style, and what the letters mean.
fn style_plane(buf: &Buffer) -> String {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut styles: Vec<Style> = Vec::new();
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        for x in buf.area.left()..buf.area.right() {
            let cell = &buf[(x, y)];
            let mut style = cell.style();
            if cell.symbol() == " "
                && !style.add_modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED)
            {
                style.fg = None;
                style.add_modifier = Modifier::empty();
            }
            let index = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            out.push(LETTERS.chars().nth(index).unwrap_or('?'));
        }
        out.push('\n');
    }
    out.push('\n');
    for (style, letter) in styles.iter().zip(LETTERS.chars()) {
        writeln!(out, "{letter} {}", describe(style)).ok();
    }
    out
}

pub fn describe(style: &Style) -> String {
    let color = |color: Option<Color>| match color {
        None | Some(Color::Reset) => String::from("-"),
        Some(Color::Rgb(r, g, b)) => format!("#{r:02x}{g:02x}{b:02x}"),
        Some(other) => format!("{other:?}"),
    };
    let mut text = format!("{} on {}", color(style.fg), color(style.bg));
    for (name, _) in style.add_modifier.iter_names() {
        text.push(' ');
        text.push_str(&name.to_lowercase());
    }
    text
}
