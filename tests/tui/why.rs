//! The pages that answer why, on a sandbox that has run: the evidence is the scheduler's own.

use schedscope::api::{NamespacedName, Str};
use schedscope::driver::inspect::{Inspect, inspect};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::{Edit, SessionCommand};
use schedscope::scheduler::trace::Phase;
use schedscope::tui::action::Action::{self, *};
use schedscope::tui::panes::details::DetailsPane;
use schedscope::tui::panes::nodes::NodesPane;
use schedscope::tui::panes::waiting::WaitingPane;
use schedscope::tui::panes::{Outcome, Request, Subject};
use schedscope::tui::theme::{ColorDepth, Theme};
use std::sync::Arc;

use super::harness::Screen;
use crate::support::world::{annotations, drain, node, pod, sandbox, sandbox_with_test_plugins};

macro_rules! check {
    ($name:expr, $screen:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $screen.planes());
        })
    };
}

/// The insides of a pane on screens of 80x24, 120x36 and 200x60.
const SIZES: [(u16, u16, &str); 3] = [(80, 21, "80x24"), (78, 30, "120x36"), (130, 54, "200x60")];

const SPREAD: &str = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: \
                      DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]";

fn zoned(name: &str, cpu: &str, zone: &str, taint: &str) -> String {
    let taints = if taint.is_empty() {
        String::new()
    } else {
        format!("spec: {{taints: [{{key: {taint}, effect: NoSchedule}}]}}\n")
    };
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{zone: {zone}, \
         topology.kubernetes.io/zone: {zone}}}}}\n{taints}\
         status: {{allocatable: {{cpu: '{cpu}', memory: 16Gi, pods: '110'}}}}\n---\n"
    )
}

/// Two zones, a tainted node, pods that are spread, and one that fits nowhere.
fn cluster() -> Simulator {
    let mut manifest = String::new();
    for (name, cpu, zone, taint) in
        [("a-1", "2", "a", ""), ("a-2", "4", "a", "gpu"), ("b-1", "1", "b", "gpu"), ("b-2", "3", "b", "")]
    {
        manifest += &zoned(name, cpu, zone, taint);
    }
    for i in 0..3 {
        manifest += &pod(&format!("web-{i}"), "500m", ", labels: {app: web}", SPREAD);
    }
    manifest += &pod("big", "2500m", "", ", priority: 100");
    let mut simulator = sandbox(&manifest);
    // The pod that waits is tried when the others have their places.
    drain(&mut simulator);
    let huge = pod("huge", "3500m", "", ", priority: 7");
    simulator.edit(&Edit::Apply { source: "test".to_owned(), text: huge }).unwrap();
    drain(&mut simulator);
    simulator
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn details(simulator: &Simulator, subject: Subject, width: u16, height: u16) -> Screen {
    let mut screen = Screen::new(DetailsPane::new(), simulator.scheduler().view(), width, height);
    if let Some(question) = subject.inspect() {
        screen.view.known.inspected = Some(Arc::new(inspect(simulator.scheduler(), &question)));
    }
    screen.selecting(subject)
}

/// Checks a page at each size, and at the first one in the light theme.
fn checked(simulator: &Simulator, name: &str, subject: &Subject, actions: &[Action]) {
    for (width, height, size) in SIZES {
        let mut screen = details(simulator, subject.clone(), width, height);
        screen.act(actions);
        check!(format!("why_{name}_{size}"), screen);
    }
}

#[test]
fn pages() {
    let simulator = cluster();
    checked(&simulator, "pod", &Subject::Reading(key("huge"), None), &[]);
    checked(&simulator, "pair", &Subject::Reading(key("huge"), Some(Str::from("b-1"))), &[]);
    checked(&simulator, "rules", &Subject::Pod(key("web-0")), &[NextMode]);
    checked(&simulator, "internals", &Subject::Internals, &[]);
    checked(&simulator, "node", &Subject::Node(Str::from("a-2")), &[]);
    let plugin = Subject::Plugin { plugin: Str::from("TaintToleration"), phase: Phase::Filter };
    checked(&simulator, "plugin", &plugin, &[]);
    checked(&simulator, "preemption", &Subject::Phase(Phase::PostFilter), &[]);
    let mut light = details(&simulator, Subject::Reading(key("huge"), None), 80, 21);
    light.theme = Theme::light(ColorDepth::TrueColor);
    check!("why_pod_light", light);
}

#[test]
fn the_packing_picture() {
    let simulator = cluster();
    for (width, height, size) in SIZES {
        let mut screen = Screen::new(NodesPane::new(), simulator.scheduler().view(), width, height);
        screen.act(&[NextMode, NextMode, ScrollRight]);
        check!(format!("packing_{size}"), screen);
    }
    let mut ascii = Screen::new(NodesPane::new(), simulator.scheduler().view(), 44, 16).ascii();
    ascii.act(&[PreviousMode]);
    check!("packing_narrow_ascii", ascii);
    let outcome = ascii.act(&[SelectLast, Open]);
    assert_eq!(outcome, Outcome::Request(Request::OpenDetails(Subject::Node(Str::from("b-2")))));
}

#[test]
fn enter_asks_every_plugin() {
    let simulator = cluster();
    let mut screen = details(&simulator, Subject::Pod(key("huge")), 80, 21);
    let reading = Subject::Reading(key("huge"), None);
    assert_eq!(screen.act(&[Open]), Outcome::Request(Request::OpenDetails(reading)));
    let mut screen = details(&simulator, Subject::Node(Str::from("a-1")), 80, 21);
    let pair = Subject::Reading(key("huge"), Some(Str::from("a-1")));
    assert_eq!(screen.act(&[Open]), Outcome::Request(Request::OpenDetails(pair)));
}

#[test]
fn a_page_without_an_answer_says_what_to_press() {
    let simulator = cluster();
    let mut screen = details(&simulator, Subject::Reading(key("huge"), None), 80, 21);
    screen.view.known.inspected = None;
    assert!(screen.text().contains("Press enter here to ask again."), "{}", screen.text());
    let mut gone = details(&simulator, Subject::Reading(key("nobody"), None), 80, 21);
    assert!(gone.text().contains("There is no pod default/nobody (any more)."), "{}", gone.text());
    let gone = inspect(simulator.scheduler(), &Inspect::Pair(key("huge"), Str::from("z-9")));
    assert!(format!("{:?}", gone.found).contains("There is no node z-9"));
}

#[test]
fn a_waiting_pod_is_allowed_or_rejected_from_its_row() {
    let manifest = node("a", "4") + &pod("web", "1", &annotations(&[("permit-a", "wait=60s")]), "");
    let (mut simulator, _) = sandbox_with_test_plugins(&manifest);
    simulator.step_cycle();
    let mut screen = Screen::new(WaitingPane::new(), simulator.scheduler().view(), 80, 21);
    let asked = |line: &str| Outcome::Request(Request::Command(line.to_owned()));
    assert_eq!(screen.act(&[AllowWaiting]), asked("allow default/web"));
    assert_eq!(screen.act(&[RejectWaiting]), asked("reject default/web"));
    let command = SessionCommand::Edit(Edit::Allow(key("web")));
    let mut stepper = schedscope::driver::stepper::Stepper::new(simulator);
    assert!(stepper.command(command));
    let notice = stepper.notice().map(|notice| notice.text.clone());
    assert_eq!(notice.as_deref(), Some("pod default/web was allowed, in the name of TestPermitA"));
}
