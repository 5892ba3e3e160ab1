//! The panes of the console, put together.

use super::agreement::AgreementPane;
use super::cycle::CyclePane;
use super::details::DetailsPane;
use super::informers::InformersPane;
use super::log::LogPane;
use super::matrix::MatrixPane;
use super::nodes::NodesPane;
use super::queues::QueuesPane;
use super::timeline::TimelinePane;
use super::waiting::WaitingPane;
use super::{Pane, PaneId};

/// One of each, in the order of [`PaneId::ALL`].
pub fn all() -> [Box<dyn Pane>; PaneId::COUNT] {
    [
        Box::new(QueuesPane::new()),
        Box::new(CyclePane::new()),
        Box::new(MatrixPane::new()),
        Box::new(WaitingPane::new()),
        Box::new(NodesPane::new()),
        Box::new(DetailsPane::new()),
        Box::new(LogPane::new()),
        Box::new(TimelinePane::new()),
        Box::new(AgreementPane::new()),
        Box::new(InformersPane::new()),
    ]
}
