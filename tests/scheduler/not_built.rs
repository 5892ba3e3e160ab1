//! Pods that use what is not built: their attempts end with an error that says so, and all others go on.

use crate::support::world::{drain, node, node_of, pod, pod_of, sandbox};

#[test]
fn a_pod_with_a_claim_gets_an_error_that_names_it_and_others_are_bound() {
    let claim = |name: &str, volume: &str| pod(name, "1", "", &format!(", volumes: [{{name: v, {volume}}}]"));
    let manifest = node("one", "4")
        + &claim("data", "persistentVolumeClaim: {claimName: data}")
        + &claim("scratch", "ephemeral: {}")
        + &claim("plain", "emptyDir: {}");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    let condition = |name: &str| {
        let condition = pod_of(&simulator, name).unwrap().condition("PodScheduled").cloned().unwrap();
        (condition.reason, condition.message)
    };
    let error = |plugin: &str, used: &str| {
        let text = format!("{plugin} is not built yet: pod uses {used}");
        ("SchedulerError".to_owned(), format!("running PreFilter plugin \"{plugin}\": {text}"))
    };
    assert_eq!(condition("data"), error("VolumeRestrictions", "the claim \"data\""));
    assert_eq!(condition("scratch"), error("NodeVolumeLimits", "the ephemeral volume \"v\""));
    assert_eq!(node_of(&simulator, "plain"), "one");
}
