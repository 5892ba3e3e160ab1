//! A sandbox that is served and taken back.

use schedscope::driver::api_server::mirror::Mirror;
use schedscope::driver::sandbox::resources::ResourceId;
use schedscope::driver::session::{BackTo, SessionCommand};
use schedscope::driver::stepper::Stepper;

use crate::support::world::{START, node, pod, sandbox};

#[test]
fn who_watches_a_sandbox_that_is_taken_back_lists_anew() {
    let manifest = [node("a", "4"), pod("web", "1", "", "")].concat();
    let mut simulator = sandbox(&manifest);
    simulator.begin_telling();
    let mut stepper = Stepper::new(simulator);
    let mirror = Mirror::new(1_000, START);
    stepper.serve_api(std::sync::Arc::clone(&mirror));
    let pods = ResourceId::of("", "pods").unwrap();
    let events = ResourceId::of("", "events").unwrap();
    let node_of = || {
        let listed = mirror.list(pods, None);
        listed.objects[0].document()["spec"]["nodeName"].as_str().map(str::to_owned)
    };
    let begin = mirror.version();
    assert_eq!(node_of(), None);
    stepper.command(SessionCommand::StepCycle);
    stepper.publish();
    assert_eq!(node_of().as_deref(), Some("a"));
    let (changes, bound) = mirror.changes_since(pods, begin).unwrap();
    assert!(!changes.is_empty());
    assert_eq!(mirror.list(events, None).objects.len(), 1, "Scheduled");
    stepper.command(SessionCommand::Back(BackTo::Cycle));
    stepper.publish();
    assert_eq!(node_of(), None);
    assert!(mirror.changes_since(pods, bound).is_err(), "what was seen is no longer so");
    assert!(mirror.version() > bound, "no version stands for two states");
    assert_eq!(mirror.list(events, None).objects.len(), 0, "what was said later was not said");
    let nodes = ResourceId::of("", "nodes").unwrap();
    assert!(mirror.changes_since(nodes, begin).is_ok(), "of what is as it was nobody lists anew");
}
