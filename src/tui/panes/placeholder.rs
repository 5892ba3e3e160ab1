//! An empty pane that holds a place until the real one is there.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::tui::action::{Action, Context};

use super::{Cx, Outcome, Pane, PaneId, Subject};

/// An empty pane.
pub struct PlaceholderPane {
    id: PaneId,
}

impl PlaceholderPane {
    /// In the place of `id`.
    pub const fn new(id: PaneId) -> Self {
        Self { id }
    }
}

impl Pane for PlaceholderPane {
    fn id(&self) -> PaneId {
        self.id
    }

    fn title(&self, _cx: &Cx<'_>) -> Line<'static> {
        Line::from(self.id.as_str())
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::List]
    }

    fn handle(&mut self, _action: Action, _cx: &Cx<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn render(&mut self, _area: Rect, _buf: &mut Buffer, _cx: &Cx<'_>) {}

    fn hit(&mut self, _position: Position, _cx: &Cx<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn set_filter(&mut self, _filter: Option<&str>) {}

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        None
    }
}
