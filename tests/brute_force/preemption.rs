//! The rules of preemption read word for word: who has to go on a node, and which node costs least.
//!
//! Only CPU is asked for, so that a pod fits a node or does not by one addition.

use std::collections::BTreeMap;

use schedscope::api::manifest::Source;
use schedscope::api::{NamespacedName, Rng};
use schedscope::driver::conformance::{Case, CaseSources};
use serde_json::{Value, json};

const APPS: [&str; 3] = ["web", "db", "mail"];

/// A pod on a node.
#[derive(Clone, Debug)]
struct Running {
    name: String,
    node: usize,
    cpu: i64,
    priority: i64,
    /// In seconds; a larger one is later.
    started: usize,
    app: &'static str,
}

/// The pods of an app of which so many may be disrupted.
#[derive(Clone, Debug)]
struct Budget {
    app: &'static str,
    allowed: i64,
}

/// Nodes by what they have, pods on them, budgets, and the pod that wants room.
#[derive(Clone, Debug)]
struct World {
    nodes: Vec<i64>,
    running: Vec<Running>,
    budgets: Vec<Budget>,
    cpu: i64,
    priority: i64,
}

/// Who has to go, the most important first, and how many of them violate a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Victims {
    pods: Vec<usize>,
    violations: i64,
}

fn node_name(node: usize) -> String {
    format!("n{node}")
}

impl World {
    fn random(rng: &mut Rng) -> Self {
        let nodes: Vec<i64> = (0..2 + rng.below(4)).map(|_| 2 + rng.below(5) as i64).collect();
        let mut running = Vec::new();
        for (node, cpu) in nodes.iter().enumerate() {
            let mut free = *cpu;
            while free > 0 && rng.below(8) > 0 {
                let cpu = 1 + (rng.below(2) as i64).min(free - 1);
                free -= cpu;
                running.push(Running {
                    name: format!("r{:02}", running.len()),
                    node,
                    cpu,
                    priority: 10 * rng.below(4) as i64,
                    started: rng.below(4),
                    app: APPS[rng.below(3)],
                });
            }
        }
        let budgets = (0..rng.below(3))
            .map(|_| Budget { app: APPS[rng.below(3)], allowed: rng.below(3) as i64 })
            .collect();
        Self { nodes, running, budgets, cpu: 1 + rng.below(5) as i64, priority: 10 * rng.below(5) as i64 }
    }

    fn manifest(&self) -> String {
        let mut items: Vec<Value> = Vec::new();
        for (node, cpu) in self.nodes.iter().enumerate() {
            let amounts = json!({"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110"});
            items.push(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": node_name(node)}, "status": {"allocatable": amounts},
            }));
        }
        for (i, budget) in self.budgets.iter().enumerate() {
            items.push(json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": format!("b{i}"), "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": budget.app}}},
                "status": {"disruptionsAllowed": budget.allowed},
            }));
        }
        let pod = |name: &str, app: &str, cpu: i64, priority: i64| {
            let requests = json!({"cpu": cpu.to_string()});
            let containers = json!([{"name": "c", "image": "i", "resources": {"requests": requests}}]);
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
                "spec": {"priority": priority, "containers": containers},
            })
        };
        for running in &self.running {
            let mut item = pod(&running.name, running.app, running.cpu, running.priority);
            item["spec"]["nodeName"] = node_name(running.node).into();
            item["status"] = json!({"startTime": format!("2025-12-31T00:00:0{}Z", running.started)});
            items.push(item);
        }
        items.push(pod("wanting", "none", self.cpu, self.priority));
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
    }

    fn used(&self, node: usize, without: &[usize]) -> i64 {
        let on_node = self.running.iter().enumerate();
        on_node.filter(|(i, pod)| pod.node == node && !without.contains(i)).map(|(_, pod)| pod.cpu).sum()
    }

    fn fits(&self, node: usize, without: &[usize]) -> bool {
        self.used(node, without) + self.cpu <= self.nodes[node]
    }

    /// The pod with the higher priority is the more important, then the one that has run for longer; equals stay in the
    /// order in which they came.
    fn by_importance(&self, pods: &mut [usize]) {
        pods.sort_by_key(|i| (-self.running[*i].priority, self.running[*i].started));
    }

    /// `None` where the pod fits already, never fits, or does not fit although all lesser pods are gone.
    fn victims_on(&self, node: usize) -> Option<Victims> {
        if self.fits(node, &[]) || self.cpu > self.nodes[node] {
            return None;
        }
        let lesser = |pod: &Running| pod.node == node && pod.priority < self.priority;
        let mut gone: Vec<usize> = (0..self.running.len()).filter(|i| lesser(&self.running[*i])).collect();
        if gone.is_empty() || !self.fits(node, &gone) {
            return None;
        }
        self.by_importance(&mut gone);
        // Each budget is used up by the most important pods first; whoever finds it empty violates it.
        let mut left: Vec<i64> = self.budgets.iter().map(|budget| budget.allowed).collect();
        let (mut violating, mut others) = (Vec::new(), Vec::new());
        for pod in gone.clone() {
            let mut violates = false;
            for (budget, left) in self.budgets.iter().zip(&mut left) {
                if budget.app == self.running[pod].app {
                    *left -= 1;
                    violates |= *left < 0;
                }
            }
            if violates { violating.push(pod) } else { others.push(pod) }
        }
        // Those that violate a budget may come back first.
        let mut violations = 0;
        for (candidates, counts) in [(violating, true), (others, false)] {
            for pod in candidates {
                let without: Vec<usize> = gone.iter().copied().filter(|other| *other != pod).collect();
                if self.fits(node, &without) {
                    gone = without;
                } else if counts {
                    violations += 1;
                }
            }
        }
        self.by_importance(&mut gone);
        Some(Victims { pods: gone, violations })
    }

    /// The nodes that are best by every criterion, in the order of the criteria.
    fn best(&self, candidates: &BTreeMap<usize, Victims>) -> Vec<String> {
        let priority = |pod: &usize| self.running[*pod].priority;
        let cost = |victims: &Victims| {
            let highest = victims.pods.iter().map(priority).max().unwrap_or(i64::MIN);
            let sum: i64 = victims.pods.iter().map(|pod| priority(pod) + i64::from(i32::MAX) + 1).sum();
            let of_highest = victims.pods.iter().filter(|pod| priority(pod) == highest);
            let earliest = of_highest.map(|pod| self.running[*pod].started).min().unwrap_or(0);
            // The later the most important victims began, the better.
            (victims.violations, highest, sum, victims.pods.len(), std::cmp::Reverse(earliest))
        };
        let least = candidates.values().map(cost).min();
        let is_best = |(_, victims): &(&usize, &Victims)| Some(cost(victims)) == least;
        candidates.iter().filter(is_best).map(|(node, _)| node_name(*node)).collect()
    }
}

/// Whether preemption was possible at all.
fn compare(seed: u64) -> bool {
    let world = World::random(&mut Rng::new(seed));
    let text = world.manifest();
    let sources = CaseSources {
        manifests: vec![Source { name: "cluster.json".to_owned(), text }],
        ..CaseSources::default()
    };
    let case = Case::new(&sources).unwrap();
    let decision = case.decide(&NamespacedName::new("default", "wanting")).unwrap();
    let fits_somewhere = (0..world.nodes.len()).any(|node| world.fits(node, &[]));
    let place = format!("seed {seed}: {world:?}");
    assert_eq!(decision.outcome, if fits_somewhere { "fits" } else { "unschedulable" }, "{place}");
    if fits_somewhere {
        return false;
    }
    let candidates: BTreeMap<usize, Victims> =
        (0..world.nodes.len()).filter_map(|node| Some((node, world.victims_on(node)?))).collect();
    let expected: BTreeMap<String, (Vec<String>, i64)> = candidates
        .iter()
        .map(|(node, victims)| {
            let names = victims.pods.iter().map(|pod| format!("default/{}", world.running[*pod].name));
            (node_name(*node), (names.collect(), victims.violations))
        })
        .collect();
    let sorted = |(mut pods, violations): (Vec<String>, i64)| {
        pods.sort();
        (pods, violations)
    };
    let found: BTreeMap<String, (Vec<String>, i64)> = decision
        .preemption_by_node
        .iter()
        .filter(|(_, dry_run)| !dry_run.victims.is_empty())
        .map(|(node, dry_run)| (node.clone(), sorted((dry_run.victims.clone(), dry_run.pdb_violations))))
        .collect();
    let expected: BTreeMap<String, (Vec<String>, i64)> =
        expected.into_iter().map(|(node, victims)| (node, sorted(victims))).collect();
    assert_eq!(found, expected, "{place}");
    let best = world.best(&candidates);
    assert_eq!(decision.nominated_node.is_empty(), best.is_empty(), "{place}");
    if !best.is_empty() {
        assert!(best.contains(&decision.nominated_node), "{} of {best:?}: {place}", decision.nominated_node);
        assert_eq!(sorted((decision.evicted, 0)).0, expected[&decision.nominated_node].0, "{place}");
        assert!(best.len() == 1 || decision.nominated_tie.len() == best.len(), "{place}");
    }
    !best.is_empty()
}

#[test]
fn a_few_preemptions() {
    let n_preemptions = (0..300).filter(|seed| compare(*seed)).count();
    assert!(n_preemptions > 60, "{n_preemptions}");
}

#[test]
#[ignore = "slow: 10,000 clusters"]
fn ten_thousand_preemptions() {
    let n_preemptions = (1_000..11_000).filter(|seed| compare(*seed)).count();
    assert!(n_preemptions > 2_000, "{n_preemptions}");
}
