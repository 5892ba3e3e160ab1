//! Branches side by side, and what a branch may begin with besides objects: weights and configurations.

use schedscope::driver::branches::PodEnd;
use schedscope::driver::session::{BackTo, Edit, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;

use crate::support::world::{node, pod, sandbox};

/// One large and one small node, and pods for both.
fn stepper() -> Stepper {
    let nodes = node("big", "8") + &node("small", "4");
    let pods: String = (0..4).map(|n| pod(&format!("web-{n}"), "1", "", "")).collect();
    Stepper::new(sandbox(&(nodes + &pods + &pod("zz-huge", "100", "", ""))))
}

fn digest(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().digest()
}

fn drain(stepper: &mut Stepper) {
    for _ in 0..12 {
        stepper.command(Tell::StepCycle);
    }
}

fn notice(stepper: &Stepper) -> String {
    stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

fn edit(stepper: &mut Stepper, edit: Edit) {
    stepper.command(Tell::Edit(edit));
}

#[test]
fn two_branches_are_told_apart_pod_by_pod_and_neither_changes() {
    let mut stepper = stepper();
    drain(&mut stepper);
    let first = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Start));
    edit(&mut stepper, Edit::Cordon("big".into()));
    // The branch is compared as it would go on, though nobody has gone on.
    let second = digest(&stepper);
    let moment = stepper.moment();
    stepper.command(Tell::Compare(0, 1));
    assert_eq!((digest(&stepper), stepper.moment()), (second, moment));
    let (number, comparison) = stepper.comparison().cloned().expect("a comparison");
    assert_eq!((number, comparison.branches, comparison.parted_at), (1, [0, 1], 0));
    assert!(comparison.beyond[1] >= 5, "{:?}", comparison.beyond);
    assert!(!comparison.differences.is_empty());
    for difference in &comparison.differences {
        assert_eq!(difference.attempt, 1);
        assert_eq!(difference.ends[1], PodEnd::On("small".into()), "{difference:?}");
        assert_eq!(difference.turned_by(), ["NodeUnschedulable"]);
        let why = difference.why(["A", "B"]);
        assert_eq!(why[0], "B: NodeUnschedulable turns big down: node(s) were unschedulable", "{why:?}");
    }
    let equal = comparison.n_equal + comparison.differences.len();
    assert_eq!(equal, 5);
    stepper.command(Tell::ToBranch(0));
    assert_eq!(digest(&stepper), first);
    stepper.command(Tell::Compare(0, 0));
    assert!(stepper.comparison().is_some_and(|(_, comparison)| comparison.differences.is_empty()));
    stepper.command(Tell::Compare(0, 9));
    assert_eq!(notice(&stepper), "there are no such branches; branches are 0 to 1");
}

#[test]
fn a_weight_that_turns_a_choice_is_named() {
    let mut stepper = stepper();
    drain(&mut stepper);
    stepper.command(Tell::Back(BackTo::Start));
    edit(&mut stepper, Edit::Weight { plugin: "ImageLocality".into(), weight: 3 });
    assert!(
        notice(&stepper).starts_with("ImageLocality has weight 3 now, before 1; this is branch 1"),
        "{}",
        notice(&stepper)
    );
    for (wrong, said) in [
        (("ImageLocality", 0), "0 is not a weight: a number from 1 to 1000000"),
        (("Nobody", 2), "\"Nobody\" does not score; DynamicResources"),
    ] {
        let ((plugin, weight), n) = (wrong, stepper.moment().n_branches);
        edit(&mut stepper, Edit::Weight { plugin: plugin.into(), weight });
        assert!(notice(&stepper).starts_with(said), "{}", notice(&stepper));
        assert_eq!(stepper.moment().n_branches, n);
    }
    stepper.command(Tell::Compare(0, 1));
    assert!(stepper.comparison().unwrap().1.differences.is_empty(), "no images, no difference");
    // Balanced allocation leans to the node that the pod leaves in balance; with weight it decides.
    stepper.command(Tell::ToBranch(0));
    stepper.command(Tell::Back(BackTo::Start));
    let taint = Edit::Taint { node: "big".into(), taint: "slow=yes:PreferNoSchedule".to_owned() };
    edit(&mut stepper, taint);
    stepper.command(Tell::Compare(0, 2));
    let comparison = stepper.comparison().unwrap().1.clone();
    assert!(!comparison.differences.is_empty());
    for difference in &comparison.differences {
        assert_eq!(
            difference.turned_by().first().map(String::as_str),
            Some("TaintToleration"),
            "{:?}",
            difference.why(["A", "B"])
        );
    }
    let names: Vec<_> = stepper.branch_views().iter().map(|branch| branch.change.clone()).collect();
    assert_eq!(names[0], "the session");
    assert_eq!(names[1], "gave ImageLocality weight 3");
    assert_eq!(names[2], "tainted big slow=yes:PreferNoSchedule");
    let parents: Vec<_> = stepper.branch_views().iter().map(|branch| branch.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0)]);
}

const MOST_ALLOCATED: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  plugins:
    score:
      disabled: [{name: '*'}]
      enabled: [{name: NodeResourcesFit, weight: 1}]
";

#[test]
fn another_configuration_is_another_start_and_another_branch() {
    let mut stepper = stepper();
    drain(&mut stepper);
    let configure = |text: &str| Edit::Configure { source: "packing.yaml".to_owned(), text: text.to_owned() };
    edit(&mut stepper, configure("kind: Nothing"));
    assert!(
        stepper
            .notice()
            .is_some_and(|notice| notice.level == schedscope::driver::session::NoticeLevel::Error)
    );
    stepper.command(Tell::Back(BackTo::Start));
    edit(&mut stepper, configure(MOST_ALLOCATED));
    assert!(
        notice(&stepper).starts_with("the scheduler has started again under packing.yaml; this is branch"),
        "{}",
        notice(&stepper)
    );
    let branch = stepper.moment().branch;
    drain(&mut stepper);
    let objects = stepper.simulator().scheduler().objects();
    let on_small = objects.pods.values().filter(|pod| &*pod.spec.node_name == "small").count();
    assert_eq!(on_small, 4, "the small node is filled first");
    let after = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Cycle));
    stepper.command(Tell::ToEnd);
    assert_eq!(digest(&stepper), after, "going back and on again is the same");
    stepper.command(Tell::Compare(0, branch));
    let comparison = stepper.comparison().unwrap().1.clone();
    assert!(!comparison.differences.is_empty());
    for difference in &comparison.differences {
        assert!(
            difference.turned_by().iter().any(|plugin| plugin == "NodeResourcesFit"),
            "{:?}",
            difference.why(["A", "B"])
        );
    }
}

#[test]
fn what_waits_in_memory_is_lost_by_a_start_and_nothing_else() {
    let mut stepper = stepper();
    drain(&mut stepper);
    let bound = stepper.simulator().scheduler().counts().bound;
    edit(&mut stepper, Edit::Configure { source: "x".to_owned(), text: MOST_ALLOCATED.to_owned() });
    let view = stepper.simulator().scheduler().view();
    assert_eq!(view.counts.bound, bound);
    assert_eq!(view.counts.assigned, 4);
    // The pod that was turned down is tried again, as after any start.
    assert_eq!((view.active_q.len(), view.unschedulable_pods.len()), (1, 0));
    assert_eq!(view.active_q[0].attempts, 0);
}
