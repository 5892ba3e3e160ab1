//! Workloads through the API: what clients write lives, and what becomes of it stands in its document.

use std::sync::Arc;

use serde_json::{Value, json};

use schedscope::api::NamespacedName;
use schedscope::driver::sandbox::documents::Part;
use schedscope::driver::sandbox::requests::{ClientRequest, ClientVerb, Deletion};
use schedscope::driver::sandbox::resources::ResourceId;
use schedscope::driver::sandbox::simulator::Simulator;

use super::{SECOND, living, names, nodes, run_for};
use crate::support::world::drain;

const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n---\n";

fn request(simulator: &mut Simulator, verb: ClientVerb) {
    let resource = ResourceId::of("apps", "deployments").unwrap();
    let key = NamespacedName::new("default", "web");
    let answer = simulator.carry_out_request(&ClientRequest { resource, key, verb });
    drain(simulator);
    answer.unwrap_or_else(|refusal| panic!("{refusal:?}"));
}

fn document(simulator: &Simulator) -> Arc<Value> {
    let resource = ResourceId::of("apps", "deployments").unwrap();
    simulator.api().document(resource, &NamespacedName::new("default", "web")).unwrap()
}

#[test]
fn a_deployment_of_a_client_lives_and_tells_its_status() {
    let mut simulator = living(&(NAMESPACE.to_owned() + &nodes(2)));
    simulator.begin_telling();
    let labels = json!({"app": "web"});
    let wanted = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
            },
        },
    });
    request(&mut simulator, ClientVerb::Create(Arc::new(wanted)));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(names(&simulator, "web-").len(), 3);
    assert_eq!(document(&simulator)["status"]["readyReplicas"], 3);
    let mut larger = Value::clone(&document(&simulator));
    larger["spec"]["replicas"] = json!(5);
    request(&mut simulator, ClientVerb::Update(Arc::new(larger), Part::Main));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(names(&simulator, "web-").len(), 5);
    request(&mut simulator, ClientVerb::Delete(Deletion::default()));
    run_for(&mut simulator, 60 * SECOND);
    assert!(names(&simulator, "web-").is_empty());
    assert!(simulator.world_view().unwrap().workloads.is_empty());
}
