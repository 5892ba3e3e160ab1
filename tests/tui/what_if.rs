//! The page of what would be, over the whole console.

use std::sync::Arc;

use schedscope::api::{Duration, NamespacedName, Str};
use schedscope::driver::outlook::budgets::{Budget, Held};
use schedscope::driver::outlook::measures::{Measures, ResourceMeasure, Waits};
use schedscope::driver::outlook::task::{Answer, WhatIfView};
use schedscope::driver::outlook::what_if::{PodChange, PodLost, Totals, WhatIf};
use schedscope::driver::session::{Edit, Known, SessionCommand, SessionView};
use schedscope::tui::shell::{Effect, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{press, screen, session, shell, snapshot};

fn totals(placed: usize, pending: usize, mean: u64) -> Totals {
    let resource = |resource: &str, mean: u64| ResourceMeasure {
        resource: Str::from(resource),
        requested: mean * 40,
        allocatable: 40_000,
        mean,
        deviation: 82,
        highest: 910,
    };
    Totals {
        placed,
        pending,
        preempted: 1,
        attempts: (30, 4),
        waits: Waits::default(),
        measures: Measures {
            nodes: 12,
            empty_nodes: 2,
            resources: vec![resource("cpu", mean), resource("memory", mean - 90)],
            largest_hole: Some((3_500, 8 << 30)),
            free: (14_000, 90 << 30),
            stranded: (0, 0),
        },
        simulated: Duration::from_secs(40),
    }
}

fn change(pod: &str, before: Option<&str>, after: Option<&str>, message: &str) -> PodChange {
    PodChange {
        pod: NamespacedName::new("shop", pod),
        instead_of: before.map(|_| NamespacedName::new("shop", "web-7d9-old")),
        before: before.map(Str::from),
        after: after.map(Str::from),
        message: message.to_owned(),
        priority: 0,
    }
}

fn answer() -> WhatIf {
    let lost = |pod: &str| PodLost { pod: NamespacedName::new("batch", pod), node: Some("a-1".into()) };
    WhatIf {
        changes: vec!["drain a-1".to_owned()],
        edits: [Edit::Cordon("a-1".into())].into(),
        said: vec!["node/a-1 drained: 2 pods come back elsewhere, 1 without a controller lost".to_owned()],
        stuck: vec![change(
            "web-7d9-x2k4q",
            Some("a-1"),
            None,
            "0/12 nodes are available: 1 node(s) were unschedulable, 11 Insufficient memory.",
        )],
        moved: vec![change("web-7d9-b8c2d", Some("a-1"), Some("b-2"), "")],
        freed: Vec::new(),
        added: Vec::new(),
        lost: vec![lost("debug")],
        with_node: Vec::new(),
        evicted: Vec::new(),
        held: vec![Held {
            pod: NamespacedName::new("shop", "cart-0"),
            node: "a-1".into(),
            cause: "The disruption budget cart needs 1 healthy pods and has 1 currently".to_owned(),
        }],
        budgets: vec![Budget {
            budget: NamespacedName::new("shop", "web"),
            allowed: 1,
            evicted: vec![NamespacedName::new("shop", "web-1"), NamespacedName::new("shop", "web-2")],
        }],
        n_same: 41,
        totals: [totals(44, 1, 512), totals(42, 2, 547)],
    }
}

fn view(answer: Answer) -> SessionView {
    let what_if = WhatIfView { number: 1, text: "drain a-1".to_owned(), answer };
    let known = Known { what_if: Some(Arc::new(what_if)), ..session(2).known };
    SessionView { known, ..session(2) }
}

fn asked(answer: Answer) -> Shell {
    let mut shell = shell(session(2), Theme::dark(ColorDepth::TrueColor), false);
    shell.on_view(Arc::new(view(answer)));
    shell
}

#[test]
fn what_would_be_stands_beside_what_is() {
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36)), ("200x60", (200, 60))] {
        let mut shell = asked(Answer::Known(Arc::new(answer())));
        snapshot(format!("what_if_{name}"), &screen(&mut shell, size));
    }
}

#[test]
fn enter_goes_to_the_branch_and_escape_forgets_the_question() {
    let mut shell = asked(Answer::Known(Arc::new(answer())));
    press(&mut shell, "j");
    assert_eq!(press(&mut shell, "enter"), [Effect::Session(SessionCommand::TakeWhatIf)]);
    let mut shell = asked(Answer::Underway(120));
    assert!(screen(&mut shell, (120, 36)).contains("copies of the cluster: 120"));
    assert_eq!(press(&mut shell, "enter"), []);
    assert_eq!(press(&mut shell, "esc"), [Effect::Session(SessionCommand::ForgetWhatIf)]);
    let mut shell = asked(Answer::Failed("drain a-1: nodes \"a-1\" not found".to_owned()));
    assert!(screen(&mut shell, (80, 24)).contains("nodes \"a-1\" not found"));
    // It goes by itself when the session has forgotten the question.
    shell.on_view(Arc::new(session(2)));
    assert!(!shell.has_overlay());
}

#[test]
fn it_stays_inside_of_any_screen() {
    for width in (0..60).step_by(7) {
        for height in 0..14 {
            let mut shell = asked(Answer::Known(Arc::new(answer())));
            screen(&mut shell, (width, height));
        }
    }
}
