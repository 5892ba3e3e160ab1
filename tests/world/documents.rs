//! Workloads through the API: what clients write lives, and what becomes of it stands in its document.

use std::sync::Arc;

use serde_json::{Value, json};

use schedscope::api::workloads::WorkloadKind;
use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::sandbox::documents::Part;
use schedscope::driver::sandbox::requests::{ClientRequest, ClientVerb, Deletion};
use schedscope::driver::sandbox::resources::ResourceId;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::world::WorldOrder;

use super::{SECOND, deployment, living, names, nodes, order, run_for};
use crate::support::world::drain;

const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n---\n";

fn deployments() -> ResourceId {
    ResourceId::of("apps", "deployments").unwrap()
}

fn request(simulator: &mut Simulator, name: &str, verb: ClientVerb) -> Option<Arc<Value>> {
    let key = NamespacedName::new("default", name);
    let answer = simulator.carry_out_request(&ClientRequest { resource: deployments(), key, verb });
    drain(simulator);
    answer.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

fn document(simulator: &Simulator, resource: ResourceId, name: &str) -> Option<Arc<Value>> {
    simulator.api().document(resource, &NamespacedName::new("default", name))
}

#[test]
fn a_deployment_of_a_client_lives_and_tells_its_status() {
    let mut simulator = living(&(NAMESPACE.to_owned() + &nodes(2)));
    let labels = json!({"app": "web"});
    let wanted = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx:1", "command": ["nginx", "-g", "daemon off;"]}]},
            },
        },
    });
    request(&mut simulator, "web", ClientVerb::Create(Arc::new(wanted)));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(names(&simulator, "web-").len(), 3);
    let web = document(&simulator, deployments(), "web").unwrap();
    assert_eq!(web["status"]["readyReplicas"], 3);
    assert_eq!(web["status"]["updatedReplicas"], 3);
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["command"][0], "nginx");
    // The replica set that was made has the whole template, and its owner.
    let sets = ResourceId::of("apps", "replicasets").unwrap();
    let sets = simulator.api().documents(sets);
    assert_eq!(sets.len(), 1);
    let set = &sets[0].1;
    assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], web["metadata"]["uid"]);
    assert_eq!(set["spec"]["template"]["spec"]["containers"][0]["command"][0], "nginx");
    assert_eq!((&set["spec"]["replicas"], &set["status"]["readyReplicas"]), (&json!(3), &json!(3)));
    // It is scaled by a client, and by hand.
    let mut larger = Value::clone(&web);
    larger["spec"]["replicas"] = json!(5);
    request(&mut simulator, "web", ClientVerb::Update(Arc::new(larger), Part::Main));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(names(&simulator, "web-").len(), 5);
    let key = NamespacedName::new("default", "web");
    order(&mut simulator, WorldOrder::Scale { kind: WorkloadKind::Deployment, key, replicas: 1 }).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    let web = document(&simulator, deployments(), "web").unwrap();
    assert_eq!((&web["spec"]["replicas"], &web["status"]["replicas"]), (&json!(1), &json!(1)));
    request(&mut simulator, "web", ClientVerb::Delete(Deletion::default()));
    run_for(&mut simulator, 60 * SECOND);
    assert!(names(&simulator, "web-").is_empty());
    assert!(simulator.world_view().unwrap().workloads.is_empty());
}

#[test]
fn workloads_of_manifests_are_seen_by_clients() {
    let job = "
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec:
  completions: 2
  template:
    metadata: {annotations: {sandbox.schedscope.dev/run-time: 10s}}
    spec: {restartPolicy: Never, containers: [{name: pi, image: 'perl:5', command: [perl]}]}
---
";
    let mut simulator = living(&(NAMESPACE.to_owned() + &nodes(1) + &deployment(2, "nginx:1", "") + job));
    let found = document(&simulator, deployments(), "nginx-deployment").unwrap();
    assert_eq!(found["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"], 80);
    run_for(&mut simulator, Duration::from_secs(120));
    let jobs = ResourceId::of("batch", "jobs").unwrap();
    let pi = document(&simulator, jobs, "pi").unwrap();
    assert_eq!(pi["status"]["succeeded"], 2);
    assert_eq!(pi["status"]["conditions"][0]["type"], "Complete");
}
