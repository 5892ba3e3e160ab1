//! The overlays of breakpoints and branches, and the strip of watches, over the whole console.

use std::sync::Arc;

use schedscope::api::{Duration, NamespacedName, Str};
use schedscope::driver::branches::{BranchComparison, BranchView, Decided, Difference, PodEnd};
use schedscope::driver::breakpoints::{BreakView, DebugCommand, DebugView, WatchView};
use schedscope::driver::session::{SessionCommand, SessionView};
use schedscope::recording::{NodePoints, Reason, Standing};
use schedscope::tui::shell::{Effect, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{press, screen, session, shell, snapshot, type_command};

pub fn view() -> SessionView {
    let breaks = vec![
        BreakView {
            number: 1,
            condition: "pod ~ \"shop/*\" && plugin == NodeResourcesFit && code == Unschedulable".to_owned(),
            is_enabled: true,
            is_once: false,
            n_ignored: 0,
            n_hits: 3,
            last_hit: Some("Filter of shop/web-1 (cycle 7): pod shop/web-1, code Unschedulable".to_owned()),
        },
        BreakView {
            number: 2,
            condition: "preemption".to_owned(),
            is_enabled: false,
            is_once: true,
            n_ignored: 2,
            n_hits: 1,
            last_hit: None,
        },
    ];
    let watches = vec![WatchView {
        number: 3,
        what: "chosen".to_owned(),
        value: "a-1".to_owned(),
        before: Some("b-2".to_owned()),
        changed_in: 7,
    }];
    let debug = Arc::new(DebugView { breaks, watches, stopped: None });
    let branch = |number: usize, parent: Option<usize>, change: &str| BranchView {
        number,
        parent,
        from: 12 * number,
        from_elapsed: Duration::from_secs(3 * number as u64),
        change: change.to_owned(),
        n_ops: 40 - number,
        totals: (20, 3, 25),
    };
    let branches = vec![
        branch(0, None, "the session"),
        branch(1, Some(0), "cordoned a-1"),
        branch(2, Some(0), "gave NodeResourcesFit weight 5"),
        branch(3, Some(1), "deleted node b-2"),
    ];
    SessionView { debug, branches: branches.into(), comparison: None, ..session(2) }
}

pub fn comparison() -> BranchComparison {
    let points = |fit: i64, taint: i64| NodePoints {
        total: Some(fit + taint),
        plugins: vec![("NodeResourcesFit".to_owned(), fit), ("TaintToleration".to_owned(), taint)],
    };
    let decided = |cycle: u64, node: &str, here: Standing, there: Standing| {
        let reason = Some(Reason { cycle, selection: None, here: Some(here), there: Some(there) });
        Some(Decided { cycle, node: Some(Str::from(node)), reason })
    };
    let by_points = Difference {
        pod: NamespacedName::new("shop", "web-1"),
        ends: [PodEnd::On("a-1".into()), PodEnd::On("b-2".into())],
        attempt: 1,
        decided: [
            decided(4, "a-1", Standing::Feasible(points(80, 100)), Standing::Feasible(points(60, 100))),
            decided(4, "b-2", Standing::Feasible(points(300, 100)), Standing::Feasible(points(200, 100))),
        ],
    };
    let rejected = Standing::Rejected {
        plugin: "NodeUnschedulable".to_owned(),
        reason: "node(s) were unschedulable".to_owned(),
    };
    let by_filter = Difference {
        pod: NamespacedName::new("shop", "web-2"),
        ends: [PodEnd::On("a-1".into()), PodEnd::Pending],
        attempt: 2,
        decided: [
            decided(9, "a-1", Standing::Feasible(points(80, 100)), Standing::NotThere),
            Some(Decided {
                cycle: 9,
                node: None,
                reason: Some(Reason { cycle: 9, selection: None, here: None, there: Some(rejected) }),
            }),
        ],
    };
    BranchComparison {
        branches: [0, 2],
        parted_at: 24,
        beyond: [0, 5],
        n_equal: 18,
        differences: vec![by_points, by_filter],
        bound: [20, 19],
        failed: [3, 6],
    }
}

fn console() -> Shell {
    shell(view(), Theme::dark(ColorDepth::TrueColor), false)
}

#[test]
fn breakpoints_are_listed_with_their_hits() {
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36)), ("200x60", (200, 60))] {
        let mut shell = console();
        press(&mut shell, "ctrl-b");
        snapshot(format!("breaks_{name}"), &screen(&mut shell, size));
    }
    let mut shell = shell(session(2), Theme::mono(), true);
    press(&mut shell, "ctrl-b");
    snapshot("breaks_none_ascii", &screen(&mut shell, (80, 24)));
}

#[test]
fn branches_are_a_tree() {
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36))] {
        let mut shell = console();
        type_command(&mut shell, "branches");
        snapshot(format!("branches_{name}"), &screen(&mut shell, size));
    }
    let mut shell = console();
    type_command(&mut shell, "branches");
    press(&mut shell, "j");
    let to = press(&mut shell, "c");
    assert_eq!(to, [Effect::Session(SessionCommand::Compare(0, 1))]);
    press(&mut shell, "j");
    // In the order of the tree the branch of branch 1 stands below it.
    assert_eq!(press(&mut shell, "enter"), [Effect::Session(SessionCommand::ToBranch(3))]);
}

#[test]
fn two_branches_are_compared_pod_by_pod() {
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36))] {
        let mut shell = console();
        let compared = SessionView { comparison: Some((1, Arc::new(comparison()))), ..view() };
        shell.on_view(Arc::new(compared));
        snapshot(format!("compare_{name}"), &screen(&mut shell, size));
        press(&mut shell, "j");
        snapshot(format!("compare_second_{name}"), &screen(&mut shell, size));
        press(&mut shell, "q");
        assert!(!shell.has_overlay());
    }
}

#[test]
fn breakpoints_are_switched_and_deleted_by_keys() {
    let mut shell = console();
    press(&mut shell, "ctrl-b");
    let tell = |command| [Effect::Session(SessionCommand::Debug(command))];
    assert_eq!(press(&mut shell, "space"), tell(DebugCommand::Toggle(1)));
    press(&mut shell, "j");
    assert_eq!(press(&mut shell, "x"), tell(DebugCommand::Delete(2)));
    assert!(shell.has_overlay(), "the list stays");
}

#[test]
fn a_wrong_condition_is_shown_with_its_place() {
    let mut shell = console();
    assert!(type_command(&mut shell, "break nod == a").is_empty());
    let text = screen(&mut shell, (80, 24));
    assert!(
        text.contains("nod == a") && text.contains("^^^") && text.contains("did you mean node?"),
        "{text}"
    );
}

#[test]
fn what_is_selected_gets_a_breakpoint_by_a_key() {
    let mut shell = console();
    screen(&mut shell, (120, 36));
    let set = press(&mut shell, "B");
    let [Effect::Session(SessionCommand::Debug(DebugCommand::Break { condition, is_once, .. }))] = &set[..]
    else {
        panic!("{set:?}");
    };
    assert!(condition.text().starts_with("pod == \"shop/"), "{condition}");
    assert!(!is_once);
}
