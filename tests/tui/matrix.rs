//! The matrix as somebody works with it: filters, orders, columns, and five thousand nodes.

use std::sync::Arc;

use schedscope::scheduler::view::View;
use schedscope::tui::action::Action;
use schedscope::tui::panes::matrix::MatrixPane;

use super::fixture::{self, Stage};
use super::harness::Screen;

fn screen(stage: Stage) -> Screen {
    Screen::new(MatrixPane::new(), fixture::scheduler(stage), 90, 20)
}

/// The names of the nodes that are shown, from above.
fn nodes(screen: &mut Screen) -> Vec<String> {
    let is_name = |word: &str| word.len() == 3 && word.as_bytes()[1] == b'-';
    let text = screen.text();
    let rows = text.lines().skip(3).filter(|line| !line.contains("more like"));
    rows.filter_map(|line| line.split_whitespace().find(|word| is_name(word)).map(str::to_owned)).collect()
}

fn filtered(stage: Stage, filter: &str) -> Vec<String> {
    let mut screen = screen(stage);
    screen.pane.set_filter(Some(filter));
    nodes(&mut screen)
}

#[test]
fn a_filter_asks_for_verdict_reason_plugin_and_name_all_of_which_must_hold() {
    let all = filtered(Stage::Filtered, "");
    let fits = filtered(Stage::Filtered, "verdict:fits");
    assert_eq!(fits, ["b-1", "b-4", "c-2"]);
    let rejected = filtered(Stage::Filtered, "!verdict:fits");
    assert_eq!(fits.len() + rejected.len(), all.len());
    assert_eq!(filtered(Stage::Filtered, "verdict:fits !b-1"), ["b-4", "c-2"]);
    let cpu = filtered(Stage::Filtered, "reason:cpu");
    assert!(cpu.contains(&String::from("a-1")) && !cpu.contains(&String::from("a-3")), "{cpu:?}");
    assert_eq!(filtered(Stage::Filtered, "plugin:Fit reason:cpu"), cpu);
    let tainted = filtered(Stage::Filtered, "plugin:taint");
    assert!(tainted.contains(&String::from("a-3")), "{tainted:?}");
}

#[test]
fn a_filter_compares_totals_and_the_points_of_a_plugin() {
    assert_eq!(filtered(Stage::Selected, "score>0"), filtered(Stage::Selected, ""));
    assert_eq!(filtered(Stage::Selected, "score>100000"), Vec::<String>::new());
    assert_eq!(filtered(Stage::Selected, "verdict:winner"), ["b-1"]);
    let (above, below) = (filtered(Stage::Selected, "Fit>=50"), filtered(Stage::Selected, "Fit<50"));
    assert_eq!(above.len() + below.len(), 3);
}

#[test]
fn a_mistake_in_a_filter_is_said_in_the_title_and_hides_nothing() {
    let mut screen = screen(Stage::Selected);
    screen.pane.set_filter(Some("zone:"));
    let text = screen.text();
    assert!(text.lines().next().is_some_and(|title| title.contains("zone: wants a zone")), "{text}");
    assert_eq!(nodes(&mut screen).len(), 3);
}

#[test]
fn rows_go_by_the_selected_column_and_round() {
    let mut screen = screen(Stage::Selected);
    screen.act(&[Action::SortByColumn]);
    let first = nodes(&mut screen);
    screen.act(&[Action::SortByColumn]);
    let mut round = nodes(&mut screen);
    round.reverse();
    assert_eq!(first, round);
    screen.act(&[Action::NextSort, Action::NextSort, Action::ReverseSort]);
    assert_eq!(nodes(&mut screen), ["c-2", "b-4", "b-1"]);
    assert!(screen.text().contains("by name, reversed"));
}

#[test]
fn the_columns_that_decide_can_stand_first() {
    let mut screen = screen(Stage::Filtered);
    let head = |screen: &mut Screen| screen.text().lines().nth(2).unwrap_or_default().to_owned();
    let before = head(&mut screen);
    assert!(before.find("Unsch") < before.find("Fit"), "{before}");
    screen.act(&[Action::DecidingFirst]);
    let after = head(&mut screen);
    assert!(after.find("Fit") < after.find("Unsch"), "{after}");
    // Going to the right goes to the neighbour on the screen.
    screen.act(&[Action::SelectFirst]);
    let subject = format!("{:?}", screen.subject());
    screen.act(&[Action::ScrollRight]);
    assert_ne!(subject, format!("{:?}", screen.subject()));
    screen.act(&[Action::DecidingFirst]);
    assert_eq!(head(&mut screen), before);
}

#[test]
fn equal_scores_of_thousands_fold_and_the_winner_is_always_seen() {
    let nodes: Vec<_> = (0..5_000)
        .map(|i| Arc::new(fixture::with_pods(fixture::node(&format!("n-{i:04}"), 8, 16), [])))
        .collect();
    let trace = fixture::selected(fixture::popped(fixture::star(), nodes));
    let host = trace.selection.as_ref().map(|selection| selection.host.to_string()).unwrap_or_default();
    let view = View { cycle: Some(Arc::new(trace)), ..fixture::empty_view() };
    let mut screen = Screen::new(MatrixPane::new(), view, 90, 20);
    let text = screen.text();
    assert!(text.contains("4998 more like") && text.contains(&host), "{text}");
    screen.act(&[Action::SelectLast, Action::Open, Action::SelectLast]);
    assert!(screen.text().contains("n-4999"));
}
