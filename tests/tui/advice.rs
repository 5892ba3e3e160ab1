//! `:fix` and `:capacity` in the console: the list of fixes, and texts where there is nothing to choose.

use std::sync::Arc;

use schedscope::api::NamespacedName;
use schedscope::driver::advice::{Advice, AdviceQuestion};
use schedscope::driver::fix::FixQuestion;
use schedscope::driver::session::{BackTo, SessionCommand, SessionView};
use schedscope::driver::stepper::Stepper;
use schedscope::tui::shell::Effect;
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{press, screen, session, shell, snapshot};
use crate::support::world::{node, node_of, pod, sandbox};

fn web() -> NamespacedName {
    NamespacedName::new("default", "web")
}

/// A session on a cluster where `web` has no place.
fn stepper() -> Stepper {
    let tainted = "apiVersion: v1\nkind: Node\nmetadata: {name: gpu-1, labels: {kubernetes.io/hostname: gpu-1}}\n\
                   spec: {taints: [{key: gpu, value: 'yes', effect: NoSchedule}]}\n\
                   status: {allocatable: {cpu: '8', memory: 64Gi, pods: '110'}}\n---\n";
    let manifest =
        node("a-1", "4") + tainted + &pod("other", "2", "", ", nodeName: a-1") + &pod("web", "2500m", "", "");
    Stepper::new(sandbox(&manifest))
}

fn ask(stepper: &mut Stepper, question: AdviceQuestion) -> SessionView {
    stepper.command(SessionCommand::Advise(question));
    let mut view = session(2);
    view.known.advice = stepper.advice().cloned();
    view.scheduler = Arc::new(stepper.simulator().scheduler().view());
    view
}

#[test]
fn fixes_are_listed_by_cost_and_one_can_be_done() {
    let mut stepper = stepper();
    let view = ask(&mut stepper, AdviceQuestion::Fix(FixQuestion::any(web())));
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36)), ("200x60", (200, 60))] {
        let mut shell = shell(session(2), Theme::dark(ColorDepth::TrueColor), false);
        shell.on_view(Arc::new(view.clone()));
        assert!(shell.has_overlay());
        snapshot(format!("fixes_{name}"), &screen(&mut shell, size));
        press(&mut shell, "j");
        assert_eq!(press(&mut shell, "enter"), [Effect::Session(SessionCommand::TryFix(1))]);
        assert!(!shell.has_overlay());
    }
    stepper.command(SessionCommand::TryFix(0));
    assert_eq!(node_of(stepper.simulator(), "web"), "gpu-1");
    // It can be taken back like every other step.
    stepper.command(SessionCommand::Back(BackTo::Start));
    assert_eq!(node_of(stepper.simulator(), "web"), "");
    // From the past it is a branch, and the other one stays.
    stepper.command(SessionCommand::TryFix(1));
    assert_eq!(stepper.moment().n_branches, 2);
    assert_ne!(node_of(stepper.simulator(), "web"), "");
}

#[test]
fn capacity_is_a_text() {
    let mut stepper = stepper();
    let question = AdviceQuestion::Capacity { pod: web(), may_preempt: false };
    let view = ask(&mut stepper, question);
    let mut shell = shell(session(2), Theme::dark(ColorDepth::TrueColor), false);
    shell.on_view(Arc::new(view));
    snapshot("capacity_120x36", &screen(&mut shell, (120, 36)));
}

#[test]
fn what_is_asked_about_nobody_is_an_error() {
    let mut stepper = stepper();
    let lost = NamespacedName::new("default", "lost");
    stepper.command(SessionCommand::Advise(AdviceQuestion::Fix(FixQuestion::any(lost))));
    assert!(stepper.advice().is_none());
    assert_eq!(stepper.notice().map(|notice| notice.text.as_str()), Some("there is no pod default/lost"));
    stepper.command(SessionCommand::TryFix(0));
    assert!(stepper.notice().is_some_and(|notice| notice.text.starts_with("no fix was looked for yet")));
    stepper.command(SessionCommand::Advise(AdviceQuestion::Fix(FixQuestion::any(web()))));
    assert!(matches!(stepper.advice().map(|(_, advice)| advice.as_ref()), Some(Advice::Fix(_))));
}
