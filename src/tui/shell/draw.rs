//! How the shell draws: frames, tabs, footer, and the overlays over them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::chrome::{self, ChromeCx, Footer};
use crate::tui::layout::{self, Layout, Place, SHARED};
use crate::tui::overlays::which_key;
use crate::tui::panes::PaneId;
use crate::tui::theme::Role;
use crate::tui::widgets::glyphs::Glyphs;
use crate::tui::widgets::{frame, text};

use super::{Drawn, Shell, pane_cx};

impl Shell {
    pub(super) fn draw_once(&mut self, buf: &mut Buffer) {
        let screen = buf.area;
        for cell in &mut buf.content {
            cell.reset();
        }
        buf.set_style(screen, self.look.theme.style(Role::Screen));
        self.drawn = Drawn::default();
        self.world.shown.clear();
        // A recording has its strip wherever there is room.
        let has_strip = self.world.view.known.replay.is_some();
        let is_live = self.world.view.live.is_some();
        let arrangement = layout::Arrangement { has_strip, is_live, ..self.focus.arrangement };
        let (panel, room) = self.lesson_area(screen);
        let n_watch_lines = self.n_watch_lines(room);
        let n_live_lines = self.n_live_lines(room, n_watch_lines);
        let room = Rect { height: room.height - n_watch_lines - n_live_lines, ..room };
        match layout::layout(room, &arrangement) {
            Layout::TooSmall => self.draw_too_small(screen, buf),
            Layout::Panes { status, tabs, panes, footer } => {
                self.draw_watches(Rect { height: n_watch_lines, ..footer }, buf);
                let footer = Rect { y: footer.y + n_watch_lines, ..footer };
                self.draw_live_lines(Rect { height: n_live_lines, ..footer }, buf);
                let footer = Rect { y: footer.y + n_live_lines, ..footer };
                let places = panes;
                let panes: Vec<(PaneId, Rect)> =
                    places.iter().map(|Place { pane, area, .. }| (*pane, *area)).collect();
                self.world.shown.extend(panes.iter().map(|(id, _)| *id));
                chrome::status_bar(status, buf, self.world.log.n_dropped, &self.chrome_cx());
                // The strip has a place of its own.
                let shares = |id: &PaneId| SHARED.contains(id) && !(has_strip && *id == PaneId::Timeline);
                let is_one_of = panes.iter().filter(|(id, _)| shares(id)).count() == 1;
                for (id, area) in &panes {
                    self.draw_pane(*id, *area, tabs.is_none(), buf);
                    if tabs.is_none() && is_one_of && shares(id) {
                        self.draw_shared(*id, *area, buf);
                    }
                }
                if let Some(tabs) = tabs {
                    self.draw_tabs(tabs, &panes, buf);
                }
                self.draw_footer(footer, buf);
                self.draw_lesson(panel, buf);
                self.drawn.frames = panes;
                self.drawn.places = places;
                self.draw_overlays(screen, buf);
            }
        }
    }

    fn draw_too_small(&self, screen: Rect, buf: &mut Buffer) {
        let line = format!(
            "too small: {}{times}{} is needed, this is {}{times}{}",
            layout::MIN_WIDTH,
            layout::MIN_HEIGHT,
            screen.width,
            screen.height,
            times = self.look.glyphs.times,
        );
        let style = self.look.theme.style(Role::Warning);
        text::put(buf, screen.x, screen.y + screen.height / 2, screen.width, &line, style, &self.look.glyphs);
    }

    fn draw_pane(&mut self, id: PaneId, area: Rect, is_numbered: bool, buf: &mut Buffer) {
        let theme = &self.look.theme;
        let is_focused = id == self.focused();
        let is_armed = self.is_armed();
        let (border, title) = frame_roles(is_focused);
        let border = if is_armed { Role::ArmedBorder } else { border };
        let cx = pane_cx(&self.world, &self.look, &self.keys.keymap, self.selected.as_ref(), is_focused);
        let pane = &mut self.panes[id.index()];
        let glyphs = &self.look.glyphs;
        let inside = frame::frame(area, buf, &Line::default(), theme.style(border), glyphs);
        pane.render(inside, buf, &cx);
        // The title counts what was drawn.
        let mut line = pane.title(&cx).style(theme.style(title));
        if let Some(filter) = &self.focus.filters[id.index()] {
            line.push_span(Span::raw(" "));
            line.push_span(text::span(format!("/{filter}"), theme.style(Role::Match)));
        }
        let reserved = if is_numbered { 8 } else { 4 };
        let line = shorten(line, usize::from(area.width).saturating_sub(reserved), glyphs);
        frame::put_title(area.intersection(buf.area), buf, &line, glyphs);
        if is_armed {
            self.draw_armed(area, buf);
        }
        self.drawn.insides.push((id, inside));
        if is_numbered {
            let labels = [(id, id.label().to_owned())];
            self.draw_labels(&labels, id, Rect { height: 1, ..area }, buf);
        }
    }

    /// Names the panes that share the place in the lower side of the frame.
    fn draw_shared(&mut self, id: PaneId, area: Rect, buf: &mut Buffer) {
        let all = PaneId::of(self.world.view.live.is_some());
        let labels: Vec<(PaneId, String)> = SHARED
            .into_iter()
            .filter(|other| all.contains(other))
            .map(|other| (other, format!("{} {}", other.label(), other.as_str())))
            .collect();
        self.draw_labels(&labels, id, Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
    }

    /// Writes labels at the right end of a side of a frame, if there is room for all. Each is a place to click.
    fn draw_labels(&mut self, labels: &[(PaneId, String)], current: PaneId, side: Rect, buf: &mut Buffer) {
        let width = labels.iter().map(|(_, label)| text::width(label) + 2).sum::<usize>();
        let Some(room) = usize::from(side.width).checked_sub(width + 2) else { return };
        let (_, title) = frame_roles(current == self.focused());
        let glyphs = &self.look.glyphs;
        let mut x = side.x + 1 + u16::try_from(room).unwrap_or(0);
        for (id, label) in labels {
            let role = if *id == current { title } else { Role::Muted };
            let label = format!(" {label} ");
            let end = text::put(buf, x, side.y, side.width, &label, self.look.theme.style(role), glyphs);
            self.drawn.tabs.push((*id, Rect { x, width: end - x, ..side }));
            x = end;
        }
    }

    fn draw_tabs(&mut self, area: Rect, panes: &[(PaneId, Rect)], buf: &mut Buffer) {
        let counts: Vec<String> = PaneId::ALL
            .iter()
            .map(|id| {
                let cx = pane_cx(
                    &self.world,
                    &self.look,
                    &self.keys.keymap,
                    self.selected.as_ref(),
                    *id == self.focused(),
                );
                self.panes[id.index()].tab_counts(&cx)
            })
            .collect();
        let visible: Vec<PaneId> = panes.iter().map(|(id, _)| *id).collect();
        let places = chrome::tabs(area, buf, &visible, self.focused(), &counts, &self.chrome_cx());
        self.drawn.tabs.extend(places);
    }

    fn draw_footer(&self, area: Rect, buf: &mut Buffer) {
        let contexts = self.contexts();
        let footer = Footer {
            keymap: &self.keys.keymap,
            contexts: &contexts,
            pending: &self.keys.pending,
            notice: self.notice.as_ref().map(|notice| (notice.level, notice.text.as_str())),
            work: self.work.as_ref(),
        };
        chrome::footer(area, buf, &footer, &self.chrome_cx());
    }

    fn draw_overlays(&mut self, screen: Rect, buf: &mut Buffer) {
        let mut overlays = std::mem::take(&mut self.overlays);
        let pane_contexts = self.pane_contexts();
        let cx = self.overlay_cx(&pane_contexts);
        for overlay in &mut overlays {
            overlay.render(screen, buf, &cx);
        }
        let waited = self.world.now.saturating_sub(self.keys.since);
        if overlays.is_empty() && !self.keys.pending.is_empty() && waited >= which_key::PATIENCE {
            which_key::render(screen, buf, &self.keys.pending, &cx);
        }
        self.overlays = overlays;
    }

    fn chrome_cx(&self) -> ChromeCx<'_> {
        ChromeCx {
            view: &self.world.view,
            theme: &self.look.theme,
            glyphs: &self.look.glyphs,
            standing: self.standing,
        }
    }
}

/// The roles of a frame and its title.
const fn frame_roles(is_focused: bool) -> (Role, Role) {
    if is_focused { (Role::BorderFocused, Role::TitleFocused) } else { (Role::Border, Role::Title) }
}

/// Cuts a title to so many columns.
fn shorten(line: Line<'static>, columns: usize, glyphs: &Glyphs) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut room = columns.saturating_sub(text::width(glyphs.ellipsis));
    let mut spans = Vec::new();
    for span in line.spans {
        let head = text::prefix(&span.content, room).to_owned();
        room -= text::width(&head);
        let is_cut = head.len() < span.content.len();
        spans.push(Span::styled(head, span.style));
        if is_cut {
            spans.push(Span::styled(glyphs.ellipsis, span.style));
            break;
        }
    }
    Line { spans, ..Line::default().style(line.style) }
}
