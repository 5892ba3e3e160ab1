//! The timeline on screens of all sizes.

use std::sync::Arc;

use schedscope::api::{Duration, Str};
use schedscope::driver::replay::Ending;
use schedscope::driver::rewind::Moment;
use schedscope::driver::seek::SeekTo;
use schedscope::driver::session::{Known, ReplayView, SessionCommand};
use schedscope::driver::timeline::{Bin, Timeline, TimelineMark};
use schedscope::tui::action::Action::{NextMode, Open, ScrollRight, SelectNext};
use schedscope::tui::panes::timeline::TimelinePane;
use schedscope::tui::panes::{Outcome, Request};

use super::fixture::{Stage, scheduler};
use super::harness::Screen;

/// Compares the pane with its snapshot.
macro_rules! check {
    ($name:expr, $screen:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $screen.planes());
        })
    };
}

fn bin(attempts: u32, failed: u32, preempted: u32) -> Bin {
    Bin { attempts, failed, preempted, bound: attempts - failed }
}

fn mark(position: usize, seconds: u64, text: &str, is_note: bool) -> TimelineMark {
    TimelineMark { position, elapsed: Duration::from_secs(seconds), text: Str::from(text), is_note }
}

/// A recording of four minutes, of which three quarters were looked through.
fn screen(width: u16, height: u16) -> Screen {
    let mut screen = Screen::new(TimelinePane::new(), scheduler(Stage::Filtered), width, height);
    let by_time = [bin(9, 0, 0), bin(4, 1, 0), bin(0, 0, 0), bin(1, 1, 0), bin(6, 2, 3), bin(2, 0, 0)];
    let timeline = Timeline {
        by_order: vec![bin(1, 0, 0); 22],
        per_bin: 1,
        by_time: by_time.to_vec(),
        time_per_bin: Duration::from_secs(30),
        begin: Duration::ZERO,
        end: Duration::from_secs(240),
        n: 30,
        n_known: 22,
        marks: Arc::new(vec![
            mark(10, 20, "everything is there", false),
            mark(18, 125, "the evictions", false),
            mark(
                18,
                125,
                "three pods of lower priority have to go, one on each node that was full; \u{202e}txet",
                true,
            ),
        ]),
    };
    screen.view.known = Known {
        n_answered: 0,
        timeline: Arc::new(timeline),
        replay: Some(Arc::new(ReplayView {
            ending: Ending::Cut("it was cut off at byte 5".to_owned()),
            percent_known: 73,
            divergence: None,
        })),
        recorder: None,
        ..Known::default()
    };
    screen.view.elapsed = Duration::from_secs(134);
    screen.view.moment = Moment { position: 19, end: 30, is_recorded: true, ..Moment::default() };
    screen
}

#[test]
fn timeline() {
    check!("timeline_80x24", screen(80, 21));
    check!("timeline_120x36", screen(120, 6));
    let mut wide = screen(200, 6);
    wide.act(&[NextMode]);
    check!("timeline_200x60_in_order", wide);
    check!("timeline_ascii", screen(40, 12).ascii());
}

#[test]
fn a_mark_is_gone_to_and_the_strip_is_walked_along() {
    let to = |outcome| match outcome {
        Outcome::Request(Request::Session(SessionCommand::Seek(SeekTo::Position(position)))) => position,
        other => panic!("{other:?}"),
    };
    let mut screen = screen(42, 12);
    assert_eq!(to(screen.act(&[SelectNext, Open])), 18);
    assert_eq!(to(screen.act(&[ScrollRight])), 20);
    screen.act(&[NextMode]);
    assert_eq!(to(screen.click(20, 1)), 30 * 19 / 38);
}

#[test]
fn it_stays_inside_whatever_its_size() {
    for width in 0..50 {
        for height in 0..12 {
            assert!(screen(width, height).stays_inside(), "{width}x{height}");
        }
    }
}
