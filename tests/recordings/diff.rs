//! Two recordings side by side.

use schedscope::api::Duration;
use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Comparison, Standing, compare};
use schedscope::scheduler::trace::SelectionReason;

use super::session::recorded;
use crate::support::world::{node, pod};

fn session(manifest: &str, act: impl FnOnce(&mut Simulator)) -> Vec<u8> {
    let (mut simulator, recorder, memory) = recorded(manifest, RecorderOptions::default());
    act(&mut simulator);
    run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

fn compared(a: &[u8], b: &[u8]) -> Comparison {
    compare(&mut || Ok(a), &mut || Ok(b), &in_tree_registry()).unwrap()
}

fn manifest() -> String {
    node("big", "8") + &node("small", "4") + &pod("one", "1", "", "") + &pod("two", "100", "", "")
}

#[test]
fn a_recording_is_like_itself() {
    let a = session(&manifest(), |_| {});
    let comparison = compared(&a, &a);
    assert_eq!((comparison.n_equal, comparison.moved.len(), comparison.nodes.len()), (2, 0, 0));
    assert_eq!(comparison.waits.0, comparison.waits.1);
    assert_eq!((comparison.waits.0.n, comparison.waits.0.n_without), (1, 1));
}

#[test]
fn a_pod_that_landed_elsewhere_is_told_with_the_reason_on_both_sides() {
    let a = session(&manifest(), |_| {});
    let b = session(&manifest(), |simulator| {
        simulator.edit(&Edit::Cordon("big".into())).unwrap();
    });
    let comparison = compared(&a, &b);
    let [moved] = &comparison.moved[..] else { panic!("{comparison:?}") };
    assert_eq!(moved.pod.to_string(), "default/one");
    let node =
        |ending: &Option<schedscope::recording::Ending>| ending.as_ref().unwrap().node.clone().unwrap();
    assert_eq!((&*node(&moved.a), &*node(&moved.b)), ("big", "small"));
    let why_a = moved.why_a.as_ref().unwrap();
    assert_eq!(why_a.selection, Some(SelectionReason::HighestTotal));
    let (Some(Standing::Feasible(here)), Some(Standing::Feasible(there))) = (&why_a.here, &why_a.there)
    else {
        panic!("{why_a:?}");
    };
    assert!(here.total > there.total);
    let sum = |points: &schedscope::recording::NodePoints| {
        points.plugins.iter().map(|(_, points)| points).sum::<i64>()
    };
    assert_eq!(Some(sum(here)), here.total);
    let why_b = moved.why_b.as_ref().unwrap();
    assert_eq!(why_b.selection, Some(SelectionReason::OnlyFeasible));
    assert_eq!(
        why_b.there,
        Some(Standing::Rejected {
            plugin: "NodeUnschedulable".to_owned(),
            reason: "node(s) were unschedulable".to_owned()
        })
    );
    let loads: Vec<_> =
        comparison.nodes.iter().map(|(node, a, b)| (&**node, a.pods, b.pods, b.milli_cpu)).collect();
    assert_eq!(loads, [("big", 1, 0, 0), ("small", 0, 1, 1000)]);
}

#[test]
fn pods_that_wait_longer_or_are_not_there_show() {
    let a = session(&manifest(), |_| {});
    let b = session(&manifest(), |simulator| {
        let to = simulator.now() + Duration::from_secs(3);
        simulator.advance_to(to, |_| true);
        simulator.edit(&Edit::Apply { source: "test".to_owned(), text: pod("three", "1", "", "") }).unwrap();
    });
    let comparison = compared(&a, &b);
    let [moved] = &comparison.moved[..] else { panic!("{comparison:?}") };
    assert!(moved.a.is_none() && moved.b.is_some() && moved.pod.to_string() == "default/three");
    assert!(
        comparison.waits.1.max >= Duration::from_secs(3) && comparison.waits.0.max < Duration::from_secs(1)
    );
}
