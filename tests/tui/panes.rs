//! Each pane as it looks, at the sizes that it has on screens of 80x24, 120x36 and 200x60.

use schedscope::tui::panes::cycle::CyclePane;
use schedscope::tui::panes::queues::QueuesPane;

use super::fixture::{self, Stage, scheduler};
use super::harness::Screen;

#[test]
fn try_it() {
    for stage in [Stage::Filtered, Stage::Selected, Stage::Preempted, Stage::Bound] {
        println!("{}", Screen::new(CyclePane::new(), scheduler(stage), 76, 40).text());
    }
    println!("{}", Screen::new(CyclePane::new(), scheduler(Stage::Selected), 24, 20).text());
    println!("{}", Screen::new(CyclePane::new(), fixture::empty_view(), 40, 6).text());
}
