//! What the console tells of a pod's past, of devices, of volumes on their way and of pod groups, from sandboxes that have
//! lived through it.

use schedscope::api::{Duration, NamespacedName, Str};
use schedscope::config::FeatureGates;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::scheduler::trace::Phase;
use schedscope::scheduler::{SchedulerOptions, TieBreak};
use schedscope::tui::action::Action::{NextSection, Open};
use schedscope::tui::panes::cycle::CyclePane;
use schedscope::tui::panes::details::DetailsPane;
use schedscope::tui::panes::nodes::NodesPane;
use schedscope::tui::panes::queues::QueuesPane;
use schedscope::tui::panes::waiting::WaitingPane;
use schedscope::tui::panes::{CellKind, Outcome, Pane, Request, Subject};

use super::harness::Screen;
use crate::support::test_plugins::Calls;
use crate::support::world::{apply, build, drain, node, pod, sandbox};

macro_rules! check {
    ($name:expr, $screen:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $screen.planes());
        })
    };
}

fn screen(pane: impl Pane + 'static, simulator: &Simulator, width: u16, height: u16) -> Screen {
    Screen::new(pane, simulator.scheduler().view(), width, height)
}

fn pod_subject(name: &str) -> Subject {
    Subject::Pod(NamespacedName::new("default", name))
}

fn cell(node: &str, plugin: &str) -> Subject {
    Subject::Cell { node: Str::from(node), plugin: Str::from(plugin), kind: CellKind::Filter }
}

fn advance(simulator: &mut Simulator, seconds: u64) {
    let now = simulator.now();
    simulator.advance_to(now.saturating_add(Duration::from_secs(seconds)), |_| true);
}

/// A pod that was turned down twice, and what happened in between.
fn turned_down() -> Simulator {
    let filler = pod("filler", "1", "", ", nodeName: a, terminationGracePeriodSeconds: 0");
    let mut simulator = sandbox(&(node("a", "1") + &filler + &pod("cart-5", "1", "", "")));
    drain(&mut simulator);
    advance(&mut simulator, 3);
    apply(&mut simulator, &node("small", "500m"));
    advance(&mut simulator, 2);
    let taint = Edit::Taint { node: "small".into(), taint: "team=ml:PreferNoSchedule".to_owned() };
    simulator.edit(&taint).expect("an edit");
    drain(&mut simulator);
    advance(&mut simulator, 4);
    apply(&mut simulator, &node("smaller", "400m"));
    simulator
}

#[test]
fn a_pod_in_queues_opens_its_story() {
    let simulator = turned_down();
    let mut queues = screen(QueuesPane::new(), &simulator, 44, 20);
    queues.act(&[NextSection]);
    assert_eq!(queues.act(&[Open]), Outcome::Request(Request::OpenDetails(pod_subject("cart-5"))));
    check!("story_80x24", screen(DetailsPane::new(), &simulator, 80, 40).selecting(pod_subject("cart-5")));
    check!(
        "story_narrow_ascii",
        screen(DetailsPane::new(), &simulator, 40, 60).selecting(pod_subject("cart-5")).ascii()
    );
    check!("story_attempt", screen(DetailsPane::new(), &simulator, 80, 16).selecting(Subject::Attempt(2)));
}

const DEVICES: &str = r#"
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: g0, attributes: {model: {string: big}}}
  - {name: g1, attributes: {model: {string: small}}}
  - {name: g2, attributes: {model: {string: big}}, taints: [{key: broken, value: 'yes', effect: NoSchedule}]}
  - {name: g3}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: first}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 1}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: second}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        count: 1
        selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "big"'}}]
---
"#;

#[test]
fn a_cell_of_dynamic_resources_is_a_table_of_requests_and_devices() {
    let with = |claim: &str| format!(", resourceClaims: [{{name: r, resourceClaimName: {claim}}}]");
    let pods = pod("train-0", "1", "", &with("first")) + &pod("train-1", "1", "", &with("second"));
    let mut simulator = sandbox(&(node("a", "4") + DEVICES + &pods));
    drain(&mut simulator);
    let subject = || cell("a", "DynamicResources");
    check!("devices_80x24", screen(DetailsPane::new(), &simulator, 80, 36).selecting(subject()));
    check!(
        "devices_narrow_ascii",
        screen(DetailsPane::new(), &simulator, 38, 60).selecting(subject()).ascii()
    );
}

const VOLUMES: &str = "
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: logs}, spec: {storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {storageClassName: slow, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}, status: {phase: Available}}
---
";

#[test]
fn volumes_on_their_way_show_what_is_assumed_and_when_the_wait_ends() {
    let volumes = ", volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, \
                   persistentVolumeClaim: {claimName: logs}}]";
    let mut simulator = sandbox(&(node("a", "4") + VOLUMES + &pod("pg-0", "1", "", volumes)));
    while simulator.scheduler().next_phase_of_attempt() != Some(Phase::Permit) {
        assert!(simulator.step_phase());
    }
    assert!(simulator.step_phase());
    check!("waiting_assumed", screen(WaitingPane::new(), &simulator, 76, 10));
    drain(&mut simulator);
    advance(&mut simulator, 5);
    check!("waiting_for_volumes", screen(WaitingPane::new(), &simulator, 76, 8));
    check!("waiting_for_volumes_narrow", screen(WaitingPane::new(), &simulator, 30, 8).ascii());
    check!(
        "details_waiting_for_volumes",
        screen(DetailsPane::new(), &simulator, 76, 16).selecting(pod_subject("pg-0"))
    );
}

/// A group of four of which three must fit, in one of two zones.
fn gang() -> Simulator {
    let in_zone = |name: &str, cpu: &str, zone: &str| {
        node(name, cpu).replacen("labels: {", &format!("labels: {{zone: {zone}, "), 1)
    };
    let group = "{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: train}, spec: \
                 {schedulingPolicy: {gang: {minCount: 3}}, schedulingConstraints: {topology: [{key: zone}]}}}\n---\n";
    let worker = |n: u32| pod(&format!("w{n}"), "2", "", ", schedulingGroup: {podGroupName: train}");
    let nodes = in_zone("a", "4", "east") + &in_zone("b", "2", "east") + &in_zone("c", "2", "west");
    let manifest = nodes + group + &(0..4).map(worker).collect::<String>();
    let gates = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true";
    let gates = FeatureGates::parse(gates).expect("gates");
    let options = SchedulerOptions { gates, tie_break: TieBreak::ByName, ..SchedulerOptions::default() };
    build(&manifest, None, &Calls::default(), options)
}

#[test]
fn the_cycle_of_a_group_shows_its_placements_and_where_each_member_stands() {
    let mut simulator = gang();
    let n_tried = |simulator: &Simulator| {
        let group = simulator.scheduler().group_trace();
        let run = group.as_deref().and_then(|group| group.schedule_run()).cloned();
        run.and_then(|run| Some(run.placements.last()?.members.len())).unwrap_or_default()
    };
    while n_tried(&simulator) < 2 {
        assert!(simulator.step_phase());
    }
    check!("group_under_way", screen(CyclePane::new(), &simulator, 78, 22));
    check!("group_under_way_narrow", screen(CyclePane::new(), &simulator, 40, 14).ascii());
    // The rest of the group's cycle. The member that does not fit would be tried again and again.
    assert!(simulator.step_cycle());
    check!("group_scheduled", screen(CyclePane::new(), &simulator, 78, 22));
}

#[test]
fn a_long_name_leaves_room_for_priority_and_try() {
    let long = "a-very-long-name-of-a-pod-that-somebody-has-thought-up-for-a-deployment-5d8f7c9b6-x2x4z";
    let mut simulator = sandbox(&(node("a", "1") + &pod(long, "2", "", "")));
    drain(&mut simulator);
    let mut cycle = screen(CyclePane::new(), &simulator, 60, 12);
    cycle.text();
    let text = cycle.text();
    let title = text.lines().next().unwrap_or_default();
    assert!(title.contains("…") && title.contains("prio 0") && title.contains("try 1"), "{title}");
}

#[test]
fn the_title_of_the_nodes_counts_what_the_filter_shows() {
    let simulator = sandbox(&(node("a-1", "1") + &node("a-2", "1") + &node("b-1", "1")));
    let mut nodes = screen(NodesPane::new(), &simulator, 60, 12);
    nodes.pane.set_filter(Some("a-"));
    let text = nodes.text();
    assert!(text.lines().next().unwrap_or_default().contains("nodes 2 of 3"), "{text}");
}

#[test]
fn a_member_that_is_not_tried_right_now_says_how_its_group_stands() {
    let mut simulator = gang();
    let details = |simulator: &Simulator, name: &str| {
        let mut screen = screen(DetailsPane::new(), simulator, 90, 12).selecting(pod_subject(name));
        screen.text()
    };
    while simulator.scheduler().view().cycle.is_none_or(|cycle| cycle.pod_key().name.as_ref() != "w1") {
        assert!(simulator.step_phase());
    }
    let text = details(&simulator, "w0");
    let line = "It is tried together with its group default/train: in placement east it fits on a, waits for";
    assert!(text.contains(&line[..80]), "{text}");
    assert!(details(&simulator, "w3").contains("its turn has not come"), "{}", details(&simulator, "w3"));
}
