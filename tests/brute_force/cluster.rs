//! Random small clusters whose pods attract and repel each other.

use std::sync::Arc;

use schedscope::api::objects::{Node, Pod};
use schedscope::api::{Object, ObjectStore, Rng};
use schedscope::framework::{NodeInfo, PodInfo, Snapshot};
use serde_json::{Value, json};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 3] = ["zone", "rack", "kubernetes.io/hostname"];

/// Nodes, pods on them by the position of their node, and pods that wait.
pub struct Cluster {
    pub nodes: Vec<Arc<Node>>,
    pub running: Vec<(usize, Arc<Pod>)>,
    pub pending: Vec<Arc<Pod>>,
    namespaces: Vec<Value>,
}

fn pick<'a>(rng: &mut Rng, list: &[&'a str]) -> &'a str {
    list[rng.below(list.len())]
}

fn one_in(rng: &mut Rng, n: usize) -> bool {
    rng.below(n) == 0
}

fn labels(rng: &mut Rng) -> Value {
    let mut labels = json!({"app": pick(rng, &["web", "db", "mail"])});
    if one_in(rng, 2) {
        labels["tier"] = json!(pick(rng, &["front", "back"]));
    }
    labels
}

fn selector(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0 => json!({}),
        1 => Value::Null,
        2 => {
            json!({"matchExpressions": [{"key": "tier", "operator": pick(rng, &["Exists", "DoesNotExist"])}]})
        }
        3 => json!({"matchExpressions": [{"key": "app", "operator": pick(rng, &["In", "NotIn"]),
            "values": ["web", "db"]}]}),
        _ => json!({"matchLabels": {"app": pick(rng, &["web", "db", "mail"])}}),
    }
}

fn term(rng: &mut Rng) -> Value {
    let mut term = json!({"topologyKey": pick(rng, &KEYS), "labelSelector": selector(rng)});
    if one_in(rng, 4) {
        term["namespaces"] = json!([pick(rng, &NAMESPACES)]);
    }
    if one_in(rng, 4) {
        term["namespaceSelector"] = match rng.below(3) {
            0 => json!({}),
            1 => json!({"matchLabels": {"team": pick(rng, &["x", "y"])}}),
            _ => json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}),
        };
    }
    term
}

fn affinity(rng: &mut Rng) -> Value {
    let mut affinity = json!({});
    for kind in ["podAffinity", "podAntiAffinity"] {
        if one_in(rng, 3) {
            let terms: Vec<Value> = (0..=rng.below(2)).map(|_| term(rng)).collect();
            affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
        }
        if one_in(rng, 3) {
            let weight = 1 + rng.below(100);
            let terms = json!([{"weight": weight, "podAffinityTerm": term(rng)}]);
            affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"] = terms;
        }
    }
    affinity
}

fn constraint(rng: &mut Rng) -> Value {
    let mut constraint = json!({
        "maxSkew": 1 + rng.below(3),
        "topologyKey": pick(rng, &KEYS),
        "whenUnsatisfiable": pick(rng, &["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": selector(rng),
    });
    if one_in(rng, 3) {
        constraint["minDomains"] = json!(1 + rng.below(4));
    }
    if one_in(rng, 3) {
        constraint["nodeAffinityPolicy"] = json!(pick(rng, &["Honor", "Ignore"]));
    }
    if one_in(rng, 3) {
        constraint["nodeTaintsPolicy"] = json!(pick(rng, &["Honor", "Ignore"]));
    }
    if one_in(rng, 4) {
        constraint["matchLabelKeys"] = json!(["tier"]);
    }
    constraint
}

fn pod(rng: &mut Rng, name: &str, shy: usize) -> Arc<Pod> {
    let mut pod = json!({
        "metadata": {"name": name, "uid": name, "namespace": pick(rng, &NAMESPACES), "labels": labels(rng)},
        "spec": {},
    });
    if one_in(rng, shy) {
        pod["spec"]["affinity"] = affinity(rng);
    }
    if one_in(rng, 2) {
        let constraints: Vec<Value> = (0..=rng.below(2)).map(|_| constraint(rng)).collect();
        pod["spec"]["topologySpreadConstraints"] = json!(constraints);
    }
    if one_in(rng, 4) {
        pod["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    }
    if one_in(rng, 3) {
        pod["spec"]["tolerations"] = json!([{"key": "gpu", "operator": "Exists"}]);
    }
    if one_in(rng, 8) {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
    }
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn node(rng: &mut Rng, name: &str) -> Arc<Node> {
    let mut labels = json!({});
    for (key, values) in [("zone", ["z1", "z2"]), ("rack", ["r1", ""]), ("disk", ["ssd", "hdd"])] {
        if !one_in(rng, 4) {
            labels[key] = json!(pick(rng, &values));
        }
    }
    if !one_in(rng, 6) {
        labels["kubernetes.io/hostname"] = json!(if one_in(rng, 6) { "shared" } else { name });
    }
    let taints = if one_in(rng, 3) { json!([{"key": "gpu", "effect": "NoSchedule"}]) } else { json!([]) };
    let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}});
    Arc::new(serde_json::from_value(node).unwrap())
}

impl Cluster {
    pub fn random(rng: &mut Rng) -> Self {
        let n_nodes = 1 + rng.below(7);
        let nodes: Vec<_> = (0..n_nodes).map(|i| node(rng, &format!("n{i}"))).collect();
        let shy = [2, 4, 1000][rng.below(3)];
        let n_running = rng.below(15);
        let running = (0..n_running).map(|i| (rng.below(n_nodes), pod(rng, &format!("r{i}"), shy))).collect();
        let pending = (0..3).map(|i| pod(rng, &format!("p{i}"), 2)).collect();
        let teams = NAMESPACES.map(|name| {
            let labels = [json!({}), json!({"team": "x"}), json!({"team": "y"})];
            json!({"metadata": {"name": name, "labels": labels[rng.below(3)].clone()}})
        });
        Self { nodes, running, pending, namespaces: teams.into() }
    }

    pub fn objects(&self) -> ObjectStore {
        let mut objects = ObjectStore::default();
        for namespace in &self.namespaces {
            let namespace: schedscope::api::objects::Namespace =
                serde_json::from_value(namespace.clone()).unwrap();
            objects.insert(Object::from(namespace));
        }
        objects
    }

    pub fn snapshot(&self) -> Snapshot {
        let mut infos: Vec<NodeInfo> = self.nodes.iter().cloned().map(NodeInfo::with_node).collect();
        for (position, pod) in &self.running {
            infos[*position].add_pod(Arc::new(PodInfo::new(pod.clone())));
        }
        Snapshot::new(infos.into_iter().map(Arc::new).collect())
    }

    /// The snapshot of the nodes without pods, to which the pods came one by one.
    pub fn followed_snapshot(&self) -> Snapshot {
        let empty = self.nodes.iter().cloned().map(NodeInfo::with_node).map(Arc::new).collect();
        let mut snapshot = Snapshot::new(empty);
        assert_eq!(snapshot.pods().classes().count(), 0);
        for (position, pod) in &self.running {
            let mut info = snapshot.list()[*position].clone();
            Arc::make_mut(&mut info).add_pod(Arc::new(PodInfo::new(pod.clone())));
            snapshot.replace(info);
        }
        snapshot
    }
}
