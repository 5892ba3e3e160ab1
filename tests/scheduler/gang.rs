//! Pod groups with their gates on: the members are tried together, and only if enough of them fit is any of them sent on
//! its way. Texts and decisions are those of kube-scheduler v1.36.

use schedscope::api::NamespacedName;
use schedscope::api::objects::PodGroup;
use schedscope::config::FeatureGates;
use schedscope::driver::breakpoints::{Condition, DebugCommand};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::{BackTo, Edit, SessionCommand};
use schedscope::driver::stepper::Stepper;
use schedscope::scheduler::pod_group_trace::{GroupOutcome, GroupStep, GroupTrace, MemberVerdict};
use schedscope::scheduler::{SchedulerOptions, TieBreak};

use crate::support::test_plugins::Calls;
use crate::support::world::{
    WITH_TEST_PLUGINS, annotations, apply, build, drain, node, node_of, pod, pod_of,
};

const GATES: &str = "GenericWorkload=true,GangScheduling=true";

fn group(spec: &str) -> String {
    format!(
        "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {{name: train}}\nspec: {{{spec}}}\n---\n"
    )
}

fn gang(min_count: i32) -> String {
    group(&format!("schedulingPolicy: {{gang: {{minCount: {min_count}}}}}"))
}

fn sandbox_with(gates: &str, manifest: &str) -> Simulator {
    let gates = FeatureGates::parse(gates).unwrap();
    let options = SchedulerOptions { gates, tie_break: TieBreak::ByName, ..SchedulerOptions::default() };
    build(manifest, None, &Calls::default(), options)
}

fn gang_sandbox(manifest: &str) -> Simulator {
    sandbox_with(GATES, manifest)
}

fn worker(name: &str, cpu: &str) -> String {
    pod(name, cpu, "", ", schedulingGroup: {podGroupName: train}")
}

fn in_zone(name: &str, cpu: &str, zone: &str) -> String {
    node(name, cpu).replacen("labels: {", &format!("labels: {{zone: {zone}, "), 1)
}

fn gated_by(simulator: &Simulator, name: &str) -> Option<String> {
    let view = simulator.scheduler().view();
    let row = view.unschedulable_pods.iter().find(|row| row.pod.metadata.name.as_ref() == name);
    row.and_then(|row| row.gated_by.as_ref().map(ToString::to_string))
}

fn trace_of(simulator: &Simulator) -> GroupTrace {
    simulator.scheduler().group_trace().as_deref().cloned().expect("the cycle of a group")
}

/// Status, reason and message of the group's condition.
fn condition(simulator: &Simulator) -> (String, String, String) {
    let key = NamespacedName::new("default", "train");
    let group: &PodGroup = simulator.api().objects().pod_groups.get(&key).unwrap();
    let condition = group.condition("PodGroupScheduled").cloned().unwrap();
    (condition.status, condition.reason, condition.message)
}

fn message(simulator: &Simulator, name: &str) -> String {
    pod_of(simulator, name).unwrap().condition("PodScheduled").cloned().unwrap_or_default().message
}

#[test]
fn a_gang_is_let_in_when_group_and_quorum_are_there_and_bound_in_one_cycle() {
    let mut simulator = gang_sandbox(&(node("a", "2") + &node("b", "2") + &worker("w1", "2")));
    assert_eq!(gated_by(&simulator, "w1").as_deref(), Some("GangScheduling"), "its group is not there");
    apply(&mut simulator, &gang(2));
    assert_eq!(gated_by(&simulator, "w1").as_deref(), Some("GangScheduling"), "it is alone");
    apply(&mut simulator, &worker("w2", "2"));
    assert_eq!((gated_by(&simulator, "w1"), gated_by(&simulator, "w2")), (None, None));
    assert!(simulator.step_cycle());
    assert_eq!([node_of(&simulator, "w1"), node_of(&simulator, "w2")], ["a", "b"]);
    assert_eq!(trace_of(&simulator).outcome, GroupOutcome::Scheduled);
    assert_eq!(condition(&simulator), ("True".to_owned(), "Scheduled".to_owned(), String::new()));
}

#[test]
fn where_the_quorum_does_not_fit_nobody_is_bound_and_each_says_why() {
    let manifest = node("a", "2") + &gang(2) + &worker("w1", "2") + &worker("w2", "2");
    let mut simulator = gang_sandbox(&manifest);
    assert!(simulator.step_cycle());
    assert_eq!([node_of(&simulator, "w1"), node_of(&simulator, "w2")], ["", ""]);
    assert_eq!(
        message(&simulator, "w1"),
        "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to \
         wait and no plugin rejected pod"
    );
    assert_eq!(
        message(&simulator, "w2"),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: \
         1 No preemption victims found for incoming pod."
    );
    let unschedulable = "pod group is unschedulable".to_owned();
    assert_eq!(condition(&simulator), ("False".to_owned(), "Unschedulable".to_owned(), unschedulable));
    let view = simulator.scheduler().view();
    assert_eq!(view.backoff_q.len(), 2, "both come back by backoff alone");
    assert!(view.waiting.is_empty());
}

#[test]
fn a_trial_leaves_the_nodes_as_they_were() {
    let manifest = node("a", "2") + &gang(2) + &worker("w1", "2") + &worker("w2", "2");
    let mut simulator = gang_sandbox(&manifest);
    simulator.step_phase();
    let before = simulator.scheduler().snapshot().clone();
    simulator.step_cycle();
    assert_eq!(*simulator.scheduler().snapshot(), before);
    assert_eq!(before.list()[0].pods().len(), 0);
}

#[test]
fn of_a_group_that_is_no_gang_those_are_bound_that_fit() {
    let manifest =
        node("a", "2") + &group("schedulingPolicy: {basic: {}}") + &worker("w1", "2") + &worker("w2", "2");
    let mut simulator = gang_sandbox(&manifest);
    assert!(simulator.step_cycle());
    assert_eq!([node_of(&simulator, "w1"), node_of(&simulator, "w2")], ["a", ""]);
    assert_eq!(condition(&simulator).0, "True");
}

#[test]
fn the_most_important_member_is_tried_first() {
    let high = pod("w2", "2", "", ", priority: 7, schedulingGroup: {podGroupName: train}");
    let manifest = node("a", "2") + &group("schedulingPolicy: {basic: {}}") + &worker("w1", "2") + &high;
    let mut simulator = gang_sandbox(&manifest);
    drain_one(&mut simulator);
    assert_eq!([node_of(&simulator, "w1"), node_of(&simulator, "w2")], ["", "a"]);
}

fn drain_one(simulator: &mut Simulator) {
    assert!(simulator.step_cycle(), "an attempt");
}

#[test]
fn a_group_with_a_topology_constraint_is_put_into_one_domain() {
    let gates = format!("{GATES},TopologyAwareWorkloadScheduling=true");
    let nodes = in_zone("a", "2", "za") + &in_zone("b", "4", "zb") + &in_zone("c", "4", "zb");
    let spec = "schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: zone}]}";
    let manifest = nodes + &group(spec) + &worker("w1", "2") + &worker("w2", "2");
    let mut simulator = sandbox_with(&gates, &manifest);
    assert!(simulator.step_cycle());
    assert!(
        [node_of(&simulator, "w1"), node_of(&simulator, "w2")]
            .iter()
            .all(|node| ["b", "c"].contains(&&**node))
    );
    let trace = trace_of(&simulator);
    let run = trace.schedule_run().unwrap();
    assert_eq!(run.placement_names, ["za".into(), "zb".into()]);
    assert_eq!(run.chosen.as_deref(), Some("zb"));
    let verdicts: Vec<bool> =
        run.placements[0].members.iter().map(|m| matches!(m.verdict, MemberVerdict::Fits { .. })).collect();
    assert_eq!(verdicts, [true, false], "only one fits into the smaller zone");
    let message = |trace: &GroupTrace| trace.schedule_run().unwrap().placements[0].members[1].verdict.clone();
    let MemberVerdict::Rejected { message } = message(&trace) else { panic!("rejected") };
    assert!(message.starts_with("0/1 nodes are available: 1 Insufficient cpu."), "{message}");
}

#[test]
fn a_group_makes_room_for_itself_as_a_whole_and_spares_whom_it_can() {
    let gates = format!("{GATES},WorkloadAwarePreemption=true");
    let running = |name: &str, node: &str| pod(name, "2", "", &format!(", nodeName: {node}"));
    let nodes = node("a", "2") + &node("b", "2") + &node("c", "2");
    let victims = running("v1", "a") + &running("v2", "b") + &running("v3", "c");
    let spec = "schedulingPolicy: {gang: {minCount: 2}}, priority: 5";
    let manifest = nodes + &victims + &group(spec) + &worker("w1", "2") + &worker("w2", "2");
    let mut simulator = sandbox_with(&gates, &manifest);
    assert!(simulator.step_cycle());
    let trace = trace_of(&simulator);
    assert_eq!(trace.victims.len(), 2, "one of three may stay");
    assert_eq!(trace.runs.len(), 5, "with all, without all, and one for each that might be spared");
    let GroupOutcome::WaitingOnPreemption { message } = &trace.outcome else { panic!("{:?}", trace.outcome) };
    assert_eq!(message, "pod group is unschedulable");
    let view = simulator.scheduler().view();
    let note = &view.events.iter().find(|event| event.reason == "Preempted").unwrap().note;
    assert!(note.starts_with("Preempted by podgroup ") && note.ends_with(" on node cluster"), "{note}");
}

#[test]
fn stepping_through_a_group_decides_what_whole_cycles_decide() {
    let manifest = node("a", "4") + &node("b", "2") + &gang(3) + &worker("w1", "2") + &worker("w2", "2");
    let manifest = manifest + &worker("w3", "2");
    let mut whole = gang_sandbox(&manifest);
    let mut stepped = gang_sandbox(&manifest);
    drain(&mut whole);
    let mut phases = 0;
    while stepped.step_phase() {
        phases += 1;
        assert!(phases < 200, "phases do not end");
    }
    let nodes = |simulator: &Simulator| ["w1", "w2", "w3"].map(|name| node_of(simulator, name));
    assert_eq!(nodes(&whole), nodes(&stepped));
    assert!(nodes(&whole).iter().all(|node| !node.is_empty()));
    assert!(phases > 20, "each member goes through its phases: {phases}");
}

#[test]
fn a_copy_in_the_middle_of_a_trial_goes_the_same_way() {
    let manifest = node("a", "4") + &node("b", "2") + &gang(3) + &worker("w1", "2") + &worker("w2", "2");
    let mut one = gang_sandbox(&(manifest + &worker("w3", "2")));
    for _ in 0..14 {
        one.step_phase();
    }
    assert!(one.scheduler().is_in_group_cycle());
    let mut other = one.clone();
    drain(&mut one);
    drain(&mut other);
    assert_eq!(one.scheduler().digest(), other.scheduler().digest());
    assert_eq!(node_of(&one, "w3"), node_of(&other, "w3"));
}

#[test]
fn a_person_can_go_on_a_placement_at_a_time() {
    let gates = format!("{GATES},TopologyAwareWorkloadScheduling=true");
    let nodes = in_zone("a", "4", "za") + &in_zone("b", "4", "zb");
    let spec = "schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: zone}]}";
    let manifest = nodes + &group(spec) + &worker("w1", "2") + &worker("w2", "2");
    let mut stepper = Stepper::new(sandbox_with(&gates, &manifest));
    let mut steps = Vec::new();
    for _ in 0..5 {
        stepper.command(SessionCommand::StepPlacement);
        let trace = trace_of(stepper.simulator());
        let placements = trace.runs.first().map_or(0, |run| run.placements.len());
        steps.push((stepper.simulator().scheduler().next_group_step(), placements));
    }
    let step = |step, placements| (Some(step), placements);
    assert_eq!(
        steps,
        [
            step(GroupStep::Generate, 0),
            step(GroupStep::Place, 0),
            step(GroupStep::Place, 1),
            step(GroupStep::Choose, 2),
            step(GroupStep::Submit, 2),
        ]
    );
}

#[test]
fn what_is_tried_in_a_copy_of_the_calls_can_be_taken_back() {
    let calls = Calls::default();
    let before = calls.copy();
    let annotated = pod("w1", "1", &annotations(&[("permit-a", "unschedulable,success")]), "");
    let options = SchedulerOptions::default();
    let mut simulator = build(&(node("a", "2") + &annotated), Some(WITH_TEST_PLUGINS), &calls, options);
    simulator.step_cycle();
    assert!(!calls.copy().take().is_empty());
    calls.restore(&before);
    assert!(calls.take().is_empty());
}

#[test]
fn without_the_gates_a_group_is_nothing() {
    let manifest = node("a", "4") + &worker("w1", "2");
    let mut simulator = build(&manifest, None, &Calls::default(), SchedulerOptions::default());
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "w1"), "a");
}

/// The members of a gang are tried in one go.
#[test]
fn one_goes_back_to_the_attempt_of_each_member() {
    let manifest = node("a", "4") + &gang(3) + &worker("w1", "1") + &worker("w2", "1") + &worker("w3", "1");
    let mut stepper = Stepper::new(gang_sandbox(&manifest));
    stepper.command(SessionCommand::StepCycle);
    let after = stepper.simulator().scheduler().digest();
    for member in ["w1", "w2", "w3"] {
        let text = format!("pod == {member} && point == Filter");
        let condition = Condition::parse(&text).unwrap();
        stepper.command(SessionCommand::ToEnd);
        stepper.command(SessionCommand::Debug(DebugCommand::RunBackTo(condition)));
        let notice = stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default();
        assert!(notice.starts_with(&format!("back: here at Filter of default/{member}")), "{notice}");
        let trace = stepper.simulator().scheduler().newest_trace().expect("an attempt");
        assert_eq!(&*trace.pod_key().name, member);
    }
    stepper.command(SessionCommand::ToEnd);
    assert_eq!(stepper.simulator().scheduler().digest(), after);
}

#[test]
fn branches_are_compared_in_the_attempts_of_every_member() {
    let members: String = ["w1", "w2", "w3"].iter().map(|name| worker(name, "1")).collect();
    let manifest = node("a", "4") + &node("b", "4") + &gang(3) + &members;
    let mut stepper = Stepper::new(gang_sandbox(&manifest));
    stepper.command(SessionCommand::StepCycle);
    stepper.command(SessionCommand::Back(BackTo::Start));
    stepper.command(SessionCommand::Edit(Edit::Cordon("a".into())));
    stepper.command(SessionCommand::StepCycle);
    stepper.command(SessionCommand::Compare(0, 1));
    let (_, comparison) = stepper.comparison().cloned().expect("a comparison");
    assert!(!comparison.differences.is_empty(), "{comparison:?}");
    for difference in &comparison.differences {
        for decided in &difference.decided {
            let decided = decided.as_ref().unwrap_or_else(|| panic!("{difference:?}"));
            assert!(decided.node.is_some() && decided.reason.is_some(), "{difference:?}");
        }
    }
}
