//! Kubelets: images, starting, ending, restarting, stopping.

use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::session::Edit;

use super::{SECOND, deeds, is_ready, living, nodes, pod, run_for};

fn bare(name: &str, annotations: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, annotations: {{{annotations}}}}}, spec: {{containers: [{{name: c, \
         image: 'registry.example.com/app:1'}}]{spec}}}}}\n---\n"
    )
}

const SIZE: &str = "sandbox.schedscope.dev/image-size: '500M'";

#[test]
fn a_pod_starts_when_its_image_is_pulled_and_the_next_one_finds_it_there() {
    let mut simulator = living(&(nodes(1) + &bare("one", SIZE, "")));
    assert_eq!(&*pod(&simulator, "one").unwrap().spec.node_name, "n-1");
    // 500 MB at 50 MB/s are 10 s, and then it takes 1 to 2 s.
    run_for(&mut simulator, 10 * SECOND);
    assert_eq!(pod(&simulator, "one").unwrap().status.phase, "Pending");
    run_for(&mut simulator, 3 * SECOND);
    let one = pod(&simulator, "one").unwrap();
    assert_eq!(one.status.phase, "Running");
    assert!(is_ready(&one));
    // The kubelet reports at its next turn, with both names.
    run_for(&mut simulator, 10 * SECOND);
    let node = simulator.api().objects().node(&"n-1".into()).unwrap().clone();
    let images: Vec<(&str, i64)> =
        node.status.images.iter().map(|image| (&*image.names[0], image.size_bytes)).collect();
    assert_eq!(images, [("registry.example.com/app:1", 500_000_000)]);
    super::apply(&mut simulator, &bare("two", SIZE, "")).unwrap();
    run_for(&mut simulator, 3 * SECOND);
    assert_eq!(pod(&simulator, "two").unwrap().status.phase, "Running");
}

#[test]
fn images_are_pulled_one_after_the_other() {
    let second = bare("two", SIZE, "").replace("app:1", "other:1");
    let mut simulator = living(&(nodes(1) + &bare("one", SIZE, "") + &second));
    run_for(&mut simulator, 13 * SECOND);
    let phases = ["one", "two"].map(|name| pod(&simulator, name).unwrap().status.phase.clone());
    assert_eq!(phases.iter().filter(|phase| *phase == "Running").count(), 1);
    run_for(&mut simulator, 10 * SECOND);
    assert!(["one", "two"].iter().all(|name| is_ready(&pod(&simulator, name).unwrap())));
}

#[test]
fn a_pod_that_ends_leaves_or_is_restarted_as_its_policy_says() {
    let time = "sandbox.schedscope.dev/run-time: 30s";
    let failed = format!("{time}, sandbox.schedscope.dev/outcome: Failed");
    let manifest = nodes(1)
        + &bare("never", time, ", restartPolicy: Never")
        + &bare("on-failure", &failed, ", restartPolicy: OnFailure")
        + &bare("always", &failed, "");
    let mut simulator = living(&manifest);
    run_for(&mut simulator, Duration::from_secs(45));
    assert!(pod(&simulator, "never").is_none());
    assert!(deeds(&simulator).contains(&"Completed never".to_owned()));
    run_for(&mut simulator, Duration::from_secs(300));
    for name in ["on-failure", "always"] {
        assert_eq!(pod(&simulator, name).unwrap().status.phase, "Running", "{name}");
        let restarts = deeds(&simulator).iter().filter(|deed| **deed == format!("Restarted {name}")).count();
        assert!((3..10).contains(&restarts), "{name} was restarted {restarts} times");
        assert!(deeds(&simulator).contains(&format!("BackOff {name}")));
    }
}

#[test]
fn a_deleted_pod_stops_within_its_grace_period() {
    let manifest = nodes(1)
        + &bare("quick", "", "")
        + &bare("slow", "sandbox.schedscope.dev/stop-time: 20s", "")
        + &bare("stubborn", "sandbox.schedscope.dev/stop-time: 500s", ", terminationGracePeriodSeconds: 40");
    let mut simulator = living(&manifest);
    run_for(&mut simulator, 30 * SECOND);
    for name in ["quick", "slow", "stubborn"] {
        simulator.edit(&Edit::DeletePod(NamespacedName::new("default", name))).unwrap();
    }
    let there = |simulator: &_| ["quick", "slow", "stubborn"].map(|name| pod(simulator, name).is_some());
    assert_eq!(there(&simulator), [true, true, true]);
    run_for(&mut simulator, 3 * SECOND);
    assert_eq!(there(&simulator), [false, true, true]);
    run_for(&mut simulator, 20 * SECOND);
    assert_eq!(there(&simulator), [false, false, true]);
    run_for(&mut simulator, 20 * SECOND);
    assert_eq!(there(&simulator), [false, false, false]);
}

#[test]
fn pods_that_run_already_go_on_running() {
    let running = bare("there", "", ", nodeName: n-1");
    let mut simulator = living(&(nodes(1) + &running));
    assert!(is_ready(&pod(&simulator, "there").unwrap()));
    run_for(&mut simulator, Duration::from_secs(3_600));
    assert!(pod(&simulator, "there").is_some());
}
