//! The page of workloads over the whole console, and the commands about what lives.

use std::sync::Arc;

use schedscope::api::workloads::WorkloadKind;
use schedscope::api::{NamespacedName, Time};
use schedscope::driver::sandbox::controllers::Deed;
use schedscope::driver::sandbox::world::{GroupRow, Part, WorkloadRow, WorldOrder, WorldView};
use schedscope::driver::session::{Edit, Known, SessionCommand, SessionView};
use schedscope::tui::shell::{Effect, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{press, screen, session, shell, snapshot, type_command};

fn row(
    kind: WorkloadKind,
    name: &str,
    owner: Option<(&str, &str)>,
    numbers: [i32; 4],
    note: &str,
) -> WorkloadRow {
    let [desired, current, ready, pending] = numbers;
    let pod = |n: i32| NamespacedName::new("shop", format!("{name}-{n}"));
    WorkloadRow {
        kind,
        key: NamespacedName::new("shop", name),
        owner: owner.map(|(kind, name)| (kind.to_owned(), name.into())),
        desired,
        current,
        ready,
        pending,
        note: note.to_owned(),
        pods: (0..current).map(pod).collect(),
    }
}

fn view() -> SessionView {
    let workloads = vec![
        row(WorkloadKind::CronJob, "report", None, [0, 1, 1, 0], "*/5 * * * *; last 2026-01-01T00:10:00Z"),
        row(
            WorkloadKind::Job,
            "report-29453770",
            Some(("CronJob", "report")),
            [1, 1, 1, 0],
            "0 of 1 succeeded",
        ),
        row(WorkloadKind::Deployment, "web", None, [6, 7, 5, 1], "rolling out: 4 of 6 updated"),
        row(WorkloadKind::ReplicaSet, "web-6b7c9d", Some(("Deployment", "web")), [4, 4, 2, 1], ""),
        row(WorkloadKind::ReplicaSet, "web-5f2xkz", Some(("Deployment", "web")), [3, 3, 3, 0], ""),
        row(WorkloadKind::DaemonSet, "log-agent", None, [5, 5, 5, 0], ""),
    ];
    let parts = Part::ALL.iter().map(|part| (*part, *part != Part::Autoscaler)).collect();
    let groups = vec![GroupRow { name: "burst".into(), size: 1, booting: 1, bounds: (0, 4) }];
    let deeds = vec![Deed {
        at: Time::from_secs(10),
        controller: "deployment-controller",
        kind: "Deployment",
        object: NamespacedName::new("shop", "web"),
        is_warning: false,
        reason: "ScalingReplicaSet",
        note: "scaled up replica set web-6b7c9d from 3 to 4".to_owned(),
    }];
    let world = Some(Arc::new(WorldView { parts, workloads, groups, deeds }));
    SessionView { known: Known { world, ..Known::default() }, ..session(2) }
}

fn console() -> Shell {
    shell(view(), Theme::dark(ColorDepth::TrueColor), false)
}

#[test]
fn workloads_are_listed_with_what_belongs_to_them() {
    for (name, size) in [("80x24", (80, 24)), ("120x36", (120, 36))] {
        let mut shell = console();
        assert!(type_command(&mut shell, "workloads").is_empty());
        snapshot(format!("workloads_{name}"), &screen(&mut shell, size));
    }
}

#[test]
fn enter_shows_the_pods_of_a_workload_and_goes_to_one() {
    let mut shell = console();
    type_command(&mut shell, "workloads");
    for _ in 0..2 {
        press(&mut shell, "j");
    }
    press(&mut shell, "enter");
    let text = screen(&mut shell, (120, 36));
    assert!(text.contains("deployment shop/web") && text.contains("shop/web-0  has no node"), "{text}");
    assert!(text.contains("00:00:10  scaled up replica set web-6b7c9d from 3 to 4"), "{text}");
    press(&mut shell, "enter");
    assert!(!shell.has_overlay());
}

#[test]
fn commands_tell_the_world_what_to_do() {
    let order = |line: &str| match type_command(&mut console(), line).as_slice() {
        [Effect::Session(SessionCommand::Edit(Edit::World(order)))] => order.clone(),
        other => panic!("{line}: {other:?}"),
    };
    let key = NamespacedName::new("shop", "web");
    let kind = WorkloadKind::Deployment;
    assert_eq!(order("scale deploy web 3"), WorldOrder::Scale { kind, key: key.clone(), replicas: 3 });
    assert_eq!(order("scale deployment/web 0"), WorldOrder::Scale { kind, key: key.clone(), replicas: 0 });
    assert_eq!(order("rollout restart deployment shop/web"), WorldOrder::Restart { kind, key });
    assert_eq!(order("drain node-1"), WorldOrder::Drain { node: "node-1".into(), is_forced: false });
    assert_eq!(order("drain node-1 --force"), WorldOrder::Drain { node: "node-1".into(), is_forced: true });
    assert_eq!(order("node-down node-1"), WorldOrder::NodeDown("node-1".into()));
    assert_eq!(order("node-up node-1"), WorldOrder::NodeUp("node-1".into()));
    assert_eq!(order("world autoscaler on"), WorldOrder::Switch { part: Part::Autoscaler, is_on: true });
    assert_eq!(order("world on"), WorldOrder::Start("all".to_owned()));
}

#[test]
fn what_cannot_be_done_is_said() {
    let said = |view: SessionView, line: &str| {
        let mut shell = shell(view, Theme::dark(ColorDepth::TrueColor), false);
        assert!(type_command(&mut shell, line).is_empty(), "{line}");
        screen(&mut shell, (160, 36))
    };
    assert!(said(session(2), "workloads").contains("nothing lives in this cluster; `:world on` starts it"));
    assert!(said(session(2), "drain node-1").contains("nothing lives in this cluster"));
    assert!(said(view(), "scale pod web 3").contains("\"pod\" is none of cronjob, job, deployment"));
    assert!(said(view(), "scale deploy web -1").contains("\"-1\" is not a number of pods"));
    assert!(said(view(), "world moon on").contains("\"moon\" is none of kubelets, nodes"));
}
