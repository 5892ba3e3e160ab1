//! Each pane as it looks on screens of 80x24, 120x36 and 200x60, and how it answers to actions.
//!
//! A snapshot holds what stands in the pane, then how it looks as one letter for each style, then the letters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use schedscope::api::{NamespacedName, Str};
use schedscope::scheduler::trace::{CycleOutcome, Phase};
use schedscope::scheduler::view::View;
use schedscope::tui::action::Action::{self, *};
use schedscope::tui::log_lines::{LogLevel, LogLine};
use schedscope::tui::panes::cycle::CyclePane;
use schedscope::tui::panes::details::DetailsPane;
use schedscope::tui::panes::log::LogPane;
use schedscope::tui::panes::matrix::MatrixPane;
use schedscope::tui::panes::nodes::NodesPane;
use schedscope::tui::panes::queues::QueuesPane;
use schedscope::tui::panes::waiting::WaitingPane;
use schedscope::tui::panes::{CellKind, Outcome, PaneId, Request, Subject, set};

use super::fixture::{self, Stage, ago, pod, queue_row, scheduler};
use super::harness::Screen;

/// Compares the pane with its snapshot.
macro_rules! check {
    ($name:expr, $screen:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $screen.planes());
        })
    };
}

fn key(namespace: &str, name: &str) -> NamespacedName {
    NamespacedName::new(namespace, name)
}

fn cell(node: &str, plugin: &str, kind: CellKind) -> Subject {
    Subject::Cell { node: Str::from(node), plugin: Str::from(plugin), kind }
}

fn line_with<'t>(text: &'t str, part: &str) -> &'t str {
    text.lines().find(|line| line.contains(part)).unwrap_or_default()
}

// ---- queues ----

#[test]
fn queues() {
    check!("queues_80x24", Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 80, 21));
    let mut lit =
        Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 44, 26).lit(&["shop/api-2"], &[], &[]);
    lit.shown = vec![PaneId::Waiting];
    check!("queues_120x36", lit);
    let mut wide = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 52, 45);
    wide.act(&[NextSection, SelectNext]);
    check!("queues_200x60", wide);
    check!("queues_empty", Screen::new(QueuesPane::new(), fixture::empty_view(), 44, 20));
    check!("queues_ascii", Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 30, 18).ascii());
}

#[test]
fn the_selection_goes_through_all_sections() {
    let mut screen = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 44, 20);
    let at =
        |screen: &mut Screen| screen.subject().and_then(|subject| subject.pod().map(ToString::to_string));
    screen.act(&[]);
    assert_eq!(at(&mut screen).as_deref(), Some("shop/search-1"));
    screen.act(&[SelectNext, SelectNext, SelectNext, SelectNext]);
    assert_eq!(at(&mut screen).as_deref(), Some("shop/api-2"));
    screen.act(&[NextSection]);
    assert_eq!(at(&mut screen).as_deref(), Some("ci/gate-1"));
    screen.act(&[PreviousSection]);
    assert_eq!(at(&mut screen).as_deref(), Some("shop/api-2"));
    let outcome = screen.act(&[SelectLast, Open]);
    assert_eq!(outcome, Outcome::Request(Request::OpenDetails(Subject::Pod(key("shop", "web-10")))));
}

#[test]
fn the_selection_stays_on_a_pod_that_moves_to_another_queue() {
    let mut screen = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 44, 20);
    screen.act(&[NextSection]);
    let mut view = scheduler(Stage::Filtered);
    let moved = view.backoff_q.remove(0);
    view.active_q.insert(0, moved);
    screen.show(view);
    screen.act(&[]);
    assert_eq!(screen.subject(), Some(Subject::Pod(key("shop", "api-2"))));
    assert!(line_with(&screen.text(), "api-2").contains(" 1 "));
}

#[test]
fn sections_keep_their_places_when_a_pod_moves() {
    let mut screen = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 44, 26);
    let dividers = |text: &str| -> Vec<usize> {
        text.lines().enumerate().filter(|(_, line)| line.starts_with('├')).map(|(y, _)| y).collect()
    };
    let before = dividers(&screen.text());
    let mut view = scheduler(Stage::Filtered);
    let moved = view.active_q.remove(0);
    view.unschedulable_pods.push(moved);
    screen.show(view);
    assert_eq!(dividers(&screen.text()), before);
}

#[test]
fn a_filter_shows_matching_pods_and_counts_them() {
    let mut screen = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 60, 24);
    screen.pane.set_filter(Some("SHOP"));
    check!("queues_filtered", screen);
    screen.pane.set_filter(Some("no such pod"));
    assert!(screen.text().contains("Nothing here matches."));
    screen.pane.set_filter(None);
    assert!(screen.text().contains("train-0"));
}

#[test]
fn a_click_selects_the_pod_under_it() {
    let mut screen = Screen::new(QueuesPane::new(), scheduler(Stage::Filtered), 44, 20);
    let y = screen.text().lines().position(|line| line.contains("etl-9")).unwrap_or_default();
    assert_eq!(screen.click(5, u16::try_from(y).unwrap_or_default()), Outcome::Changed);
    assert_eq!(screen.subject(), Some(Subject::Pod(key("batch", "etl-9"))));
    assert_eq!(screen.click(5, 5), Outcome::Ignored);
}

#[test]
fn thousands_of_pods_keep_the_selection_in_view() {
    let mut view = fixture::empty_view();
    view.active_q = (0..5_000).map(|i| queue_row(pod(&format!("x/p-{i:04}")).pod(), 0, ago(1_000))).collect();
    let mut screen = Screen::new(QueuesPane::new(), view, 44, 20);
    screen.act(&[SelectLast]);
    assert!(screen.text().contains("p-4999"));
    screen.act(&[SelectFirst, PageDown]);
    assert!(screen.text().contains("p-0000"));
}

// ---- cycle ----

#[test]
fn cycle() {
    check!("cycle_80x24", Screen::new(CyclePane::new(), scheduler(Stage::Selected), 80, 21));
    let lit =
        Screen::new(CyclePane::new(), scheduler(Stage::Filtered), 76, 12).lit(&[], &[], &[Phase::Filter]);
    check!("cycle_120x36", { lit });
    let mut preempted = Screen::new(CyclePane::new(), scheduler(Stage::Preempted), 84, 26);
    preempted.act(&[UnfoldAll]);
    check!("cycle_200x60", preempted);
    check!("cycle_bound", Screen::new(CyclePane::new(), scheduler(Stage::Bound), 80, 21));
    check!("cycle_narrow_ascii", Screen::new(CyclePane::new(), scheduler(Stage::Selected), 22, 24).ascii());
}

#[test]
fn a_cycle_that_has_not_begun_says_what_to_do() {
    let mut view = scheduler(Stage::Popped);
    view.cycle = None;
    let mut screen = Screen::new(CyclePane::new(), view, 70, 8);
    assert!(screen.text().contains("No pod has been tried yet."));
    screen.show(fixture::empty_view());
    assert!(screen.text().contains("activeQ is empty"));
}

#[test]
fn the_phase_just_done_and_the_one_after_it_are_in_view() {
    for (stage, just_done, next) in [
        (Stage::Filtered, "NodeResourcesFit   6 nodes", "PreScore"),
        (Stage::Scored, "ImageLocality", "Select"),
        (Stage::Bound, "PostBind", "no plugin"),
    ] {
        let mut screen = Screen::new(CyclePane::new(), scheduler(Stage::Popped), 76, 12);
        screen.text();
        screen.show(scheduler(stage));
        let text = screen.text();
        assert!(text.contains(just_done) && text.contains(next), "{stage:?}\n{text}");
    }
}

#[test]
fn folds_and_selection_survive_the_next_attempt() {
    let mut screen = Screen::new(CyclePane::new(), scheduler(Stage::Filtered), 76, 30);
    screen.act(&[SelectFirst, SelectNext, Fold]);
    assert_eq!(screen.subject(), Some(Subject::Phase(Phase::PreFilter)));
    assert!(line_with(&screen.text(), "PreFilter").contains('▸'));
    screen.show(scheduler(Stage::Preempted));
    assert!(line_with(&screen.text(), "PreFilter").contains('▸'));
    assert_eq!(screen.subject(), Some(Subject::Phase(Phase::PreFilter)));
}

#[test]
fn a_plugin_a_candidate_and_a_victim_can_be_followed() {
    let mut screen = Screen::new(CyclePane::new(), scheduler(Stage::Preempted), 84, 40);
    screen.act(&[UnfoldAll]);
    let text = screen.text();
    let y_of = |part: &str| {
        let y = text.lines().position(|line| line.contains(part)).unwrap_or_default();
        u16::try_from(y).unwrap_or_default()
    };
    screen.click(30, y_of("DefaultPreemption"));
    let plugin = Subject::Plugin { plugin: Str::from("DefaultPreemption"), phase: Phase::PostFilter };
    assert_eq!(screen.subject(), Some(plugin));
    screen.click(30, y_of("★ b-1"));
    assert_eq!(screen.subject(), Some(Subject::Node(Str::from("b-1"))));
    screen.click(30, y_of("batch/train-3"));
    assert_eq!(screen.subject(), Some(Subject::Pod(key("batch", "train-3"))));
}

// ---- matrix ----

#[test]
fn matrix() {
    check!("matrix_80x24", Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 80, 21));
    let lit =
        Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 76, 12).lit(&[], &[], &[Phase::Filter]);
    check!("matrix_120x36", { lit });
    check!("matrix_200x60", Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 120, 22));
    check!("matrix_scores_80x24", Screen::new(MatrixPane::new(), scheduler(Stage::Selected), 80, 21));
    check!("matrix_scores_120x36", Screen::new(MatrixPane::new(), scheduler(Stage::Tied), 76, 12));
    let mut raw = Screen::new(MatrixPane::new(), scheduler(Stage::Scored), 140, 22);
    raw.act(&[NextMode, NextMode]);
    check!("matrix_scores_200x60", raw);
    let mut narrow = Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 34, 12).ascii();
    narrow.act(&[SelectNext, SelectNext, SelectNext]);
    check!("matrix_narrow_ascii", narrow);
    check!("matrix_before_filter", Screen::new(MatrixPane::new(), scheduler(Stage::Popped), 44, 8));
}

#[test]
fn the_matrix_follows_the_attempt_until_somebody_chooses() {
    let mut screen = Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 76, 20);
    assert!(screen.text().contains("verdict"));
    screen.show(scheduler(Stage::Selected));
    assert!(screen.text().contains("total"));
    screen.act(&[NextSection]);
    assert!(screen.text().contains("verdict"));
    let mut next_attempt = fixture::trace(Stage::Selected);
    next_attempt.number += 1;
    screen.show(View { cycle: Some(Arc::new(next_attempt)), ..scheduler(Stage::Selected) });
    assert!(screen.text().contains("total"));
}

#[test]
fn the_selected_cell_is_the_one_that_decided() {
    let mut screen = Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 76, 20);
    screen.act(&[]);
    assert_eq!(screen.subject(), Some(cell("a-1", fixture::FIT, CellKind::Filter)));
    screen.act(&[SelectNext, SelectNext]);
    assert_eq!(screen.subject(), Some(cell("a-3", fixture::TAINTS, CellKind::Filter)));
    screen.act(&[ScrollLeft]);
    assert_eq!(screen.subject(), Some(cell("a-3", fixture::NAME, CellKind::Filter)));
    // A column that was chosen stays chosen on other rows.
    let outcome = screen.act(&[SelectFirst, Open]);
    let wanted = cell("a-1", fixture::NAME, CellKind::Filter);
    assert_eq!(outcome, Outcome::Request(Request::OpenDetails(wanted)));
}

#[test]
fn nodes_that_fared_the_same_fold_where_there_is_no_room() {
    let mut screen = Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 76, 10);
    assert!(screen.text().contains("▸ 4 more like a-1"));
    screen.act(&[SelectNext, Open]);
    let text = screen.text();
    assert!(text.contains("▾ 4 more like a-1") && text.contains(" a-2 "), "{text}");
    screen.act(&[ToggleFold]);
    assert!(screen.text().contains("▸ 4 more like a-1"));
    screen.act(&[UnfoldAll]);
    assert!(!screen.text().contains("more like"));
    screen.act(&[FoldAll]);
    assert!(screen.text().contains("▸ 4 more like a-1"));
}

#[test]
fn rows_can_be_put_in_another_order() {
    let mut screen = Screen::new(MatrixPane::new(), scheduler(Stage::Selected), 76, 20);
    let nodes = |text: &str| -> Vec<String> {
        let names = ["b-1", "b-4", "c-2"];
        let row = |line: &str| {
            names.iter().find(|name| line.contains(&format!(" {name} "))).map(|n| (*n).to_owned())
        };
        text.lines().skip(2).filter_map(row).collect()
    };
    assert_eq!(nodes(&screen.text()), ["b-1", "c-2", "b-4"]);
    screen.act(&[NextSort]);
    assert_eq!(nodes(&screen.text()), ["b-1", "b-4", "c-2"]);
}

#[test]
fn the_selection_stays_on_its_node_from_verdicts_to_scores() {
    let mut screen = Screen::new(MatrixPane::new(), scheduler(Stage::Filtered), 76, 20);
    screen.pane.set_filter(None);
    screen.act(&[NextSort, NextSort, NextSort]);
    screen.act(&[SelectFirst, SelectNext]);
    let before = screen.subject().and_then(|subject| subject.node().cloned());
    assert_eq!(before.as_deref(), Some("b-4"));
    screen.show(scheduler(Stage::Scored));
    screen.act(&[]);
    assert_eq!(screen.subject().and_then(|subject| subject.node().cloned()), before);
}

#[test]
fn five_thousand_nodes_fold_into_a_few_rows() {
    let nodes: Vec<_> = (0..5_000)
        .map(|i| {
            let name = format!("n-{i:04}");
            let user = pod(&format!("x/u-{i}")).asks(3_000, fixture::GI).on(&name).info();
            Arc::new(fixture::with_pods(fixture::node(&name, 4, 16), [user]))
        })
        .collect();
    let trace = fixture::filtered(fixture::popped(fixture::star(), nodes));
    let view = View { cycle: Some(Arc::new(trace)), ..fixture::empty_view() };
    let mut screen = Screen::new(MatrixPane::new(), view, 76, 20);
    assert!(screen.text().contains("▸ 4999 more like n-0000"));
    screen.act(&[UnfoldAll, SelectLast]);
    assert!(screen.text().contains("n-4999"));
}

// ---- waiting, nodes ----

#[test]
fn waiting() {
    check!("waiting_80x24", Screen::new(WaitingPane::new(), scheduler(Stage::Filtered), 80, 21));
    check!("waiting_120x36", Screen::new(WaitingPane::new(), scheduler(Stage::Filtered), 44, 8));
    check!("waiting_200x60", Screen::new(WaitingPane::new(), scheduler(Stage::Filtered), 52, 13));
    check!("waiting_empty", Screen::new(WaitingPane::new(), fixture::empty_view(), 44, 5));
}

#[test]
fn nodes() {
    check!("nodes_80x24", Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 80, 21));
    let mut folded = Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 76, 12);
    folded.act(&[SelectNext, Fold, NextSort]);
    check!("nodes_120x36", folded);
    let lit = Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 64, 34).lit(&[], &["b-1"], &[]);
    check!("nodes_200x60", { lit });
    check!("nodes_wide", Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 130, 21));
    check!("nodes_narrow_ascii", Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 24, 12).ascii());
    check!("nodes_empty", Screen::new(NodesPane::new(), fixture::empty_view(), 44, 6));
}

#[test]
fn a_node_opens_and_a_zone_folds() {
    let mut screen = Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 80, 21);
    screen.act(&[Open]);
    assert!(!screen.text().contains("a-1"));
    let outcome = screen.act(&[Open, SelectNext, Open]);
    assert_eq!(outcome, Outcome::Request(Request::OpenDetails(Subject::Node(Str::from("a-1")))));
    screen.act(&[NextMode]);
    assert!(!screen.text().contains("zone-a"));
    assert_eq!(screen.subject(), Some(Subject::Node(Str::from("a-1"))));
}

#[test]
fn nodes_are_found_by_zone_and_taint() {
    let mut screen = Screen::new(NodesPane::new(), scheduler(Stage::Filtered), 80, 21);
    screen.pane.set_filter(Some("gpu"));
    let text = screen.text();
    assert!(text.contains("a-3") && text.contains("a-4") && !text.contains("b-1"), "{text}");
}

// ---- details ----

fn details(subject: Subject, stage: Stage, width: u16, height: u16) -> Screen {
    Screen::new(DetailsPane::new(), scheduler(stage), width, height).selecting(subject)
}

#[test]
fn details_of_cells() {
    check!(
        "details_cell_80x24",
        details(cell("a-1", fixture::FIT, CellKind::Filter), Stage::Filtered, 80, 21)
    );
    check!(
        "details_cell_120x36",
        details(cell("b-1", fixture::FIT, CellKind::Score), Stage::Selected, 76, 10)
    );
    check!(
        "details_cell_200x60",
        details(cell("a-3", fixture::TAINTS, CellKind::Filter), Stage::Filtered, 84, 16)
    );
    let narrow = details(cell("a-1", fixture::FIT, CellKind::Filter), Stage::Filtered, 26, 30).ascii();
    check!("details_cell_narrow_ascii", { narrow });
}

#[test]
fn details_of_objects() {
    let mut view = scheduler(Stage::Filtered);
    view.unschedulable_pods[1].pod = pod("db/pg-2")
        .priority(100)
        .asks(9_000, fixture::GI)
        .spec(|pod| {
            fixture::node_affinity(pod)
                .preferred
                .push(fixture::prefers(20, fixture::requirement("disk", "In", &["ssd", "nvme"])));
            pod.spec.priority_class_name = String::from("database");
        })
        .pod();
    let mut of_pod = Screen::new(DetailsPane::new(), view, 80, 24).selecting(Subject::Pod(key("db", "pg-2")));
    check!("details_pod", of_pod);
    of_pod.act(&[PreviousMode]);
    check!("details_pod_yaml", of_pod);
    check!("details_node", details(Subject::Node(Str::from("a-3")), Stage::Filtered, 80, 24));
    let event = fixture::scheduler(Stage::Filtered).events[0].clone();
    check!("details_event", details(Subject::Event(Box::new(event)), Stage::Filtered, 60, 14));
    check!("details_gone", details(Subject::Node(Str::from("z-9")), Stage::Filtered, 44, 5));
}

#[test]
fn details_of_the_attempt() {
    let plugin = |plugin: &str, phase| Subject::Plugin { plugin: Str::from(plugin), phase };
    check!(
        "details_preemption",
        details(plugin("DefaultPreemption", Phase::PostFilter), Stage::Preempted, 80, 20)
    );
    check!("details_plugin_filter", details(plugin(fixture::FIT, Phase::Filter), Stage::Filtered, 60, 8));
    check!("details_plugin_score", details(plugin(fixture::TAINTS, Phase::Score), Stage::Scored, 60, 10));
    check!("details_phase", details(Subject::Phase(Phase::Select), Stage::Selected, 60, 10));
    check!("details_attempt", details(Subject::Attempt(11), Stage::Filtered, 60, 8));
}

#[test]
fn details_scroll_pin_and_start_over_with_another_subject() {
    let mut screen = details(Subject::Node(Str::from("a-1")), Stage::Filtered, 60, 10);
    screen.act(&[SelectLast]);
    assert!(
        !screen.text().contains("node a-1  ")
            && !line_with(&screen.text(), "cpu is the scarcest").contains("cpu")
    );
    screen.act(&[ToggleFollow]);
    screen.selected = Some(Subject::Node(Str::from("b-1")));
    assert!(screen.text().contains("pinned"));
    screen.act(&[ToggleFollow]);
    let text = screen.text();
    assert!(text.contains("node b-1") && text.contains("cpu is the scarcest"), "{text}");
    screen.selected = None;
    assert!(screen.text().contains("Nothing is selected"));
}

#[test]
fn text_from_the_cluster_cannot_steer_the_terminal() {
    let mut view = scheduler(Stage::Filtered);
    let hostile = "\u{1b}[2J\u{202e}evil\n";
    view.unschedulable_pods[1].message = Some(Str::from(hostile));
    view.unschedulable_pods[1].pod = pod("db/pg-2")
        .spec(|pod| {
            pod.metadata.labels.insert(Str::from("x"), Str::from(hostile));
            pod.spec.priority_class_name = String::from(hostile);
        })
        .pod();
    let mut screen = Screen::new(DetailsPane::new(), view, 80, 40).selecting(Subject::Pod(key("db", "pg-2")));
    for _ in 0..2 {
        let text = screen.text();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("evil"));
        screen.act(&[PreviousMode]);
    }
}

// ---- log ----

fn log_screen(width: u16, height: u16) -> Screen {
    let mut screen = Screen::new(LogPane::new(), scheduler(Stage::Filtered), width, height);
    let line = |millis, level, text: &str| LogLine {
        at: SystemTime::UNIX_EPOCH,
        seen: ago(millis),
        level,
        target: String::from("driver"),
        text: text.to_owned(),
    };
    screen.log.lines.push_back(line(133_000, LogLevel::Info, "loaded sample: 12 nodes, 55 pods"));
    screen.log.lines.push_back(line(11_000, LogLevel::Warn, "left out 2 objects of kind Widget"));
    screen
}

#[test]
fn log() {
    check!("log_80x24", log_screen(80, 21));
    let mut dropped = log_screen(76, 12);
    dropped.log.n_dropped = 7;
    check!("log_120x36", dropped);
    let mut attempts = log_screen(64, 24);
    attempts.act(&[NextMode, NextMode, NextMode]);
    check!("log_200x60", attempts);
    check!("log_narrow_ascii", log_screen(26, 9).ascii());
    check!("log_empty", Screen::new(LogPane::new(), fixture::empty_view(), 40, 5));
}

#[test]
fn the_log_follows_until_somebody_looks_back() {
    let mut screen = log_screen(80, 6);
    assert!(screen.text().contains("following"));
    screen.act(&[SelectPrevious]);
    assert!(!screen.text().contains("following"));
    let selected = screen.subject();
    assert!(selected.is_some());
    let mut view = scheduler(Stage::Filtered);
    let mut events = view.events.as_ref().clone();
    let mut newest = events[2].clone();
    newest.at = fixture::now();
    events.push_back(newest);
    view.events = Arc::new(events);
    screen.show(view);
    screen.act(&[]);
    assert_eq!(screen.subject(), selected);
    screen.act(&[SelectLast]);
    assert!(screen.text().contains("following"));
}

#[test]
fn long_lines_scroll_to_the_side() {
    let mut screen = log_screen(60, 12);
    screen.act(&[ScrollRight, ScrollRight, ScrollRight]);
    assert!(line_with(&screen.text(), "0/12").contains('‹'));
    screen.act(&[ScrollLeft, ScrollLeft, ScrollLeft]);
    assert!(line_with(&screen.text(), "db/pg-2").contains("FailedScheduling"));
}

// ---- all of them ----

fn subjects() -> Vec<Option<Subject>> {
    vec![
        None,
        Some(Subject::Pod(key("ml", "gpu-7"))),
        Some(Subject::Node(Str::from("a-3"))),
        Some(cell("a-1", fixture::FIT, CellKind::Filter)),
        Some(cell("b-1", fixture::BALANCED, CellKind::Score)),
        Some(Subject::Phase(Phase::PostFilter)),
        Some(Subject::Attempt(12)),
    ]
}

const STAGES: [Stage; 11] = [
    Stage::Popped,
    Stage::PreFiltered,
    Stage::Filtered,
    Stage::Scored,
    Stage::Selected,
    Stage::Tied,
    Stage::Waiting,
    Stage::Bound,
    Stage::NothingFits,
    Stage::Preempted,
    Stage::NoRoom,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the size, the stage and the keys, no pane panics or draws outside of its area.
    #[test]
    fn panes_stay_inside_at_every_size(
        width in 0_u16..90,
        height in 0_u16..30,
        stage in 0..STAGES.len(),
        subject in 0_usize..7,
        actions in proptest::collection::vec(0..Action::TABLE.len(), 0..6),
        is_ascii in any::<bool>(),
    ) {
        let view = if stage == 0 { fixture::empty_view() } else { scheduler(STAGES[stage]) };
        for pane in set::all() {
            let mut screen = Screen::boxed(pane, view.clone(), width, height);
            if is_ascii {
                screen = screen.ascii();
            }
            screen.selected = subjects()[subject].clone();
            let actions: Vec<Action> = actions.iter().map(|index| Action::TABLE[*index].action).collect();
            screen.act(&actions);
            screen.click(width / 2, height / 2);
            prop_assert!(screen.stays_inside());
        }
    }
}

#[test]
fn every_code_of_an_attempt_is_told_without_colour() {
    let mut signs: BTreeMap<char, usize> = BTreeMap::new();
    for stage in [Stage::Filtered, Stage::Waiting] {
        let mut screen = Screen::new(CyclePane::new(), scheduler(stage), 80, 40).ascii();
        for sign in screen.text().chars().filter(|c| "+xX.w".contains(*c)) {
            *signs.entry(sign).or_default() += 1;
        }
    }
    assert_eq!(signs.keys().collect::<String>(), "+.Xwx");
}

#[test]
fn errors_and_skipped_attempts_have_words() {
    let outcomes = [
        (
            CycleOutcome::Error { message: String::from("binding rejected") },
            "failed, will be retried: binding rejected",
        ),
        (CycleOutcome::Skipped { reason: String::from("the pod is going") }, "not tried: the pod is going"),
    ];
    for (outcome, words) in outcomes {
        let mut trace = fixture::trace(Stage::Selected);
        trace.outcome = outcome;
        trace.next = None;
        let view = View { cycle: Some(Arc::new(trace)), ..scheduler(Stage::Selected) };
        assert!(Screen::new(CyclePane::new(), view, 80, 21).text().contains(words));
    }
}

/// 5,000 nodes and as many pods. The bound is far above what is needed, so that no slow machine fails it.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test measures")]
fn large_clusters_are_drawn_at_once() {
    let nodes: Vec<_> = (0..5_000)
        .map(|i| {
            let name = format!("n-{i:04}");
            let user = pod(&format!("x/u-{i}")).asks(i64::from(i % 4) * 1_000, fixture::GI).on(&name).info();
            Arc::new(fixture::with_pods(fixture::node(&name, 4, 16), [user]))
        })
        .collect();
    let trace = fixture::scored(fixture::popped(fixture::star(), nodes.clone()));
    let mut view = fixture::empty_view();
    view.active_q = (0..5_000).map(|i| queue_row(pod(&format!("x/p-{i:04}")).pod(), 0, ago(1_000))).collect();
    view.nodes = nodes;
    view.cycle = Some(Arc::new(trace));
    for pane in set::all() {
        let id = pane.id();
        let mut screen = Screen::boxed(pane, view.clone(), 120, 40);
        screen.selected = Some(Subject::Node(Str::from("n-4999")));
        let started = std::time::Instant::now();
        screen.draw();
        screen.draw();
        assert!(started.elapsed() < Duration::from_secs(2), "{}", id.as_str());
    }
}
