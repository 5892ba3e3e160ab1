//! The panes of the console, put together.

use super::Pane;
use super::PaneId;
use super::placeholder::PlaceholderPane;
use super::queues::QueuesPane;

/// One of each, in the order of [`PaneId::ALL`].
pub fn all() -> [Box<dyn Pane>; 7] {
    [
        Box::new(QueuesPane::new()),
        Box::new(PlaceholderPane::new(PaneId::Cycle)),
        Box::new(PlaceholderPane::new(PaneId::Matrix)),
        Box::new(PlaceholderPane::new(PaneId::Waiting)),
        Box::new(PlaceholderPane::new(PaneId::Nodes)),
        Box::new(PlaceholderPane::new(PaneId::Details)),
        Box::new(PlaceholderPane::new(PaneId::Log)),
    ]
}
