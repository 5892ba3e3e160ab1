//! Each pane as it looks, at the sizes that it has on screens of 80x24, 120x36 and 200x60.

use schedscope::tui::panes::cycle::CyclePane;
use schedscope::tui::panes::matrix::MatrixPane;
use schedscope::tui::panes::nodes::NodesPane;
use schedscope::tui::panes::queues::QueuesPane;
use schedscope::tui::panes::waiting::WaitingPane;

use super::fixture::{self, Stage, scheduler};
use super::harness::Screen;

#[test]
fn try_it() {
    for (w, h) in [(76, 20), (120, 20), (46, 16), (22, 9)] {
        println!("{}", Screen::new(NodesPane::new(), scheduler(Stage::Filtered), w, h).text());
    }
    for (w, h) in [(76, 6), (42, 7), (22, 7)] {
        println!("{}", Screen::new(WaitingPane::new(), scheduler(Stage::Filtered), w, h).text());
    }
}
