//! Full readings, domains, budgets, gangs and packing, beside what the scheduler decides.

use std::sync::Arc;

use schedscope::api::objects::Pod;
use schedscope::api::{NamespacedName, Str};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::explain;
use schedscope::framework::PodInfo;
use schedscope::scheduler::reading::PodReading;
use schedscope::scheduler::trace::NodeVerdict;

use crate::support::world::{drain, node, pod, sandbox};

/// A node with a zone and a taint, if there is one.
fn zoned(name: &str, cpu: &str, zone: &str, taint: &str) -> String {
    let taints = if taint.is_empty() {
        String::new()
    } else {
        format!("spec: {{taints: [{{key: {taint}, effect: NoSchedule}}]}}\n")
    };
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{zone: '{zone}', kubernetes.io/hostname: {name}}}}}\n\
         {taints}status: {{allocatable: {{cpu: '{cpu}', memory: 64Gi, pods: '110'}}}}\n---\n"
    )
}

fn object(simulator: &Simulator, name: &str) -> Arc<Pod> {
    let key = NamespacedName::new("default", name);
    Arc::clone(&simulator.scheduler().objects().pods[&key])
}

fn read(simulator: &Simulator, name: &str, node: Option<&str>) -> PodReading {
    let node = node.map(Str::from);
    simulator.scheduler().read(&object(simulator, name), node.as_ref()).unwrap()
}

/// Three nodes: one too small, one tainted, one both; and a pod.
fn three_nodes() -> Simulator {
    let manifest = zoned("a", "1", "x", "")
        + &zoned("b", "4", "x", "gpu")
        + &zoned("c", "1", "y", "gpu")
        + &pod("web", "1500m", "", "");
    sandbox(&manifest)
}

#[test]
fn a_reading_asks_every_plugin_also_behind_the_first_that_refuses() {
    let simulator = three_nodes();
    let reading = read(&simulator, "web", None);
    let refusals: Vec<(String, Vec<&str>)> = reading
        .nodes
        .iter()
        .map(|node| (node.node.to_string(), node.refusals.iter().map(|refusal| refusal.plugin).collect()))
        .collect();
    assert_eq!(
        refusals,
        [
            ("a".to_owned(), vec!["NodeResourcesFit"]),
            ("b".to_owned(), vec!["TaintToleration"]),
            ("c".to_owned(), vec!["TaintToleration", "NodeResourcesFit"]),
        ]
    );
    assert_eq!(explain::reading_headline(&reading), "None of 3 nodes fits; 2 are one change away.");
    let away: Vec<(String, &str, String)> = explain::one_change_away(&reading)
        .into_iter()
        .map(|change| (change.node.to_string(), change.plugin, change.what))
        .collect();
    assert_eq!(
        away,
        [
            ("b".to_owned(), "TaintToleration", "node(s) had untolerated taint(s)".to_owned()),
            (
                "a".to_owned(),
                "NodeResourcesFit",
                "cpu 500m too little, more than the whole node has".to_owned()
            ),
        ]
    );
    let counts: Vec<(&str, usize, usize)> = explain::refusal_counts(&reading)
        .iter()
        .map(|count| (count.plugin, count.n, count.n_alone))
        .collect();
    assert_eq!(counts, [("NodeResourcesFit", 2, 1), ("TaintToleration", 2, 1)]);
    assert_eq!(explain::nodes_by_refusals(&reading), [(1, 2), (2, 1)]);
}

#[test]
fn the_first_refusal_of_a_reading_is_the_verdict_of_an_attempt() {
    let mut simulator = three_nodes();
    let reading = read(&simulator, "web", None);
    let digest = simulator.scheduler().digest();
    assert_eq!(read(&simulator, "web", None).nodes, reading.nodes, "equal questions have equal answers");
    assert_eq!(simulator.scheduler().digest(), digest, "a reading changes nothing");
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    let trace = view.cycle.as_ref().unwrap();
    let verdicts = &trace.filter.as_ref().unwrap().verdicts;
    for ((info, verdict), node) in trace.nodes().iter().zip(verdicts).zip(&reading.nodes) {
        assert_eq!(*info.name(), node.node);
        match (verdict, node.refusals.first()) {
            (NodeVerdict::Rejected(status), Some(first)) => {
                assert_eq!((status.plugin(), status.message()), (first.plugin, first.status.message()));
            }
            (NodeVerdict::Feasible, None) => {}
            (verdict, refusal) => assert_eq!(format!("{verdict:?}"), format!("{refusal:?}")),
        }
    }
}

#[test]
fn a_pair_has_the_points_of_an_attempt_and_points_for_a_node_that_is_refused() {
    let manifest = zoned("a", "4", "x", "")
        + &zoned("b", "8", "x", "")
        + &zoned("c", "64", "y", "gpu")
        + &pod("web", "1", "", "");
    let mut simulator = sandbox(&manifest);
    let pairs = ["a", "b", "c"].map(|name| read(&simulator, "web", Some(name)));
    let totals = pairs.each_ref().map(|reading| {
        let scores = reading.scores.as_ref().unwrap().as_ref().unwrap();
        scores.outcome.totals[scores.at]
    });
    assert_eq!(explain::pair_headline(&pairs[0]), "No plugin refuses a: the pod fits.");
    assert_eq!(explain::pair_headline(&pairs[2]), "TaintToleration alone refuses c: one change away.");
    let says = explain::pair(&pairs[2]);
    let taints = says.iter().find(|says| says.plugin == "TaintToleration").unwrap();
    assert_eq!(
        taints.explanation.sentence,
        "Taint gpu:NoSchedule is not tolerated: the pod has no toleration."
    );
    let fit = says.iter().find(|says| says.plugin == "NodeResourcesFit").unwrap();
    assert!(fit.explanation.sentence.starts_with("The node has room"), "{}", fit.explanation.sentence);
    let scores = pairs[2].scores.as_ref().unwrap().as_ref().unwrap();
    assert_eq!(scores.nodes.len(), 3, "the refused node beside both that fit");
    assert!(explain::pair_points(scores, false).starts_with("If nobody refused it, it would have"));
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    let score = view.cycle.as_ref().unwrap().score.as_ref().unwrap();
    assert_eq!(score.scores.totals, totals[..2]);
}

#[test]
fn a_pod_on_a_node_is_read_as_if_it_were_not_there() {
    let mut simulator = sandbox(&(node("a", "2") + &pod("web", "1500m", "", "")));
    drain(&mut simulator);
    let reading = read(&simulator, "web", Some("a"));
    assert_eq!(reading.assigned_to.as_deref(), Some("a"));
    assert_eq!(reading.n_feasible, 1, "it does not take its own room away");
}

const SPREAD: &str = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: \
                      DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]";

#[test]
fn a_domain_is_allowed_where_the_plugin_refuses_no_node_of_it() {
    let labels = ", labels: {app: web}";
    let mut manifest = String::new();
    for (name, zone) in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "z")] {
        manifest += &zoned(name, "4", zone, "");
    }
    manifest += "apiVersion: v1\nkind: Node\nmetadata: {name: e}\nstatus: {allocatable: {cpu: '4', memory: 64Gi, pods: '110'}}\n---\n";
    for i in 0..7 {
        manifest += &pod(&format!("web-{i}"), "100m", labels, SPREAD);
    }
    let mut simulator = sandbox(&manifest);
    for i in 0..7 {
        let name = format!("web-{i}");
        let view = simulator.scheduler().view();
        let spreads = explain::spreads(&view.nodes, &object(&simulator, &name));
        let [spread] = spreads.as_slice() else { unreachable!("one constraint") };
        assert_eq!(spread.n_left_out, 1, "the node without the label");
        let reading = read(&simulator, &name, None);
        for row in &spread.domains {
            for info in &view.nodes {
                let zone = info.node().and_then(|node| node.metadata.labels.get("zone"));
                if zone != Some(&row.name) {
                    continue;
                }
                let said = reading.nodes.iter().find(|node| node.node == *info.name()).unwrap();
                let is_refused = said.refusals.iter().any(|refusal| refusal.plugin == "PodTopologySpread");
                assert_eq!(row.is_allowed, !is_refused, "{name}, {}: {spread:?}", info.name());
            }
        }
        simulator.step_cycle();
    }
    let view = simulator.scheduler().view();
    let spread = &explain::spreads(&view.nodes, &object(&simulator, "web-0"))[0];
    assert_eq!(spread.domains.iter().map(|row| row.n_pods).sum::<i64>(), 7);
}

#[test]
fn anti_affinity_of_pods_that_run_is_told_by_domain() {
    type Told = (&'static str, String, Vec<(Str, usize)>);
    let anti = ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, \
                labelSelector: {matchLabels: {app: web}}}]}}";
    let labels = ", labels: {app: web}";
    let manifest = zoned("a", "4", "x", "") + &zoned("b", "4", "y", "") + &pod("web-0", "1", labels, anti);
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    crate::support::world::apply(&mut simulator, &pod("web-1", "1", labels, anti));
    let view = simulator.scheduler().view();
    let info = PodInfo::new(object(&simulator, "web-1"));
    let told: Vec<Told> = explain::affinities(&view.nodes, &info)
        .into_iter()
        .map(|view| (view.kind, view.about, view.domains))
        .collect();
    let domain = &told[0].2[0].0;
    assert_eq!(told[0], ("avoids", "app in (web)".to_owned(), vec![(domain.clone(), 1)]));
    assert_eq!(told[1], ("is kept away", "default/web-0".to_owned(), vec![(domain.clone(), 1)]));
}

#[test]
fn room_counts_pods_node_by_node_and_free_cpu_beside_full_memory_is_stranded() {
    let full = "apiVersion: v1\nkind: Node\nmetadata: {name: f}\nstatus: {allocatable: {cpu: '8', memory: 1Gi, pods: '110'}}\n---\n";
    let hog = "apiVersion: v1\nkind: Pod\nmetadata: {name: hog}\nspec: {nodeName: f, containers: [{name: c, image: i, \
               resources: {requests: {cpu: '1', memory: 1Gi}}}]}\n---\n";
    let simulator = sandbox(&(node("a", "3") + &node("b", "3") + full + hog));
    let view = simulator.scheduler().view();
    let packing = explain::packing(&view, None);
    assert_eq!(packing.stranded, (7_000, 0));
    let two = packing.room.iter().find(|room| room.size == "2 4Gi").unwrap();
    assert_eq!(
        (two.n, two.n_nodes, two.n_in_one),
        (2, 2, 6),
        "3 cpu on each of two nodes, 7 where memory is gone"
    );
    assert_eq!(packing.largest.map(|(cpu, _)| cpu), Some(7_000));
}

#[test]
fn budgets_stand_before_pods_that_could_go() {
    let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: default}\n\
                  spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\nstatus: {disruptionsAllowed: 0}\n---\n";
    let manifest = node("a", "4")
        + budget
        + &pod("web", "1", ", labels: {app: web}", ", priority: 5")
        + &pod("job", "1", "", ", priority: 1");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    let view = simulator.scheduler().view();
    let told: Vec<(String, i32, bool)> = explain::evictable(&view, &view.nodes[0], 10)
        .iter()
        .map(|pod| (pod.pod.name.to_string(), pod.priority, pod.is_protected()))
        .collect();
    assert_eq!(told, [("job".to_owned(), 1, false), ("web".to_owned(), 5, true)]);
    assert_eq!(explain::evictable(&view, &view.nodes[0], 5).len(), 1, "pods below that priority alone");
}

#[test]
fn a_node_and_a_plugin_tell_whom_they_refused_last() {
    let mut simulator = three_nodes();
    drain(&mut simulator);
    let view = simulator.scheduler().view();
    let refused = explain::node_refusals(&view, "b");
    assert_eq!(
        refused.by_reason,
        [(
            (Str::from("TaintToleration"), Str::from("node(s) had untolerated taint(s)")),
            vec![NamespacedName::new("default", "web")]
        )]
    );
    let now = explain::plugin_now(&view, "TaintToleration");
    assert_eq!(now.pods, [(NamespacedName::new("default", "web"), false)]);
    assert_eq!(now.nodes, [(Str::from("node(s) had untolerated taint(s)"), 2)]);
    assert!(!now.events.is_empty());
}

#[test]
fn the_snapshot_is_behind_the_cache_until_the_next_attempt() {
    let mut simulator = sandbox(&(node("a", "4") + &pod("one", "1", "", "") + &pod("two", "1", "", "")));
    simulator.step_cycle();
    let inside = simulator.scheduler().internals();
    assert_eq!((inside.cache, inside.snapshot, inside.reported), ((1, 1), (1, 0), (1, 1)));
    assert_eq!(inside.snapshot_differs.first, [(Str::from("a"), "pods: cache 1, snapshot 0".to_owned())]);
    assert_eq!(inside.reported_differs.n, 0);
    let scores = inside.profiles[0].points.iter().find(|(point, _)| *point == "Score").unwrap();
    assert!(scores.1.contains(&("TaintToleration", Some(3))));
}
