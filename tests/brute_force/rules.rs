//! The rules, read word for word.

use schedscope::api::Selector;
use schedscope::api::node_selector::RequiredNodeAffinity;
use schedscope::api::objects::{Labels, Node, Pod, PodAffinityTerm, TopologySpreadConstraint};

use super::cluster::Cluster;

/// Who asks: a waiting pod's namespace selectors are resolved to names and then see no labels; those of a running
/// pod see the labels of the other pod's namespace.
#[derive(Clone, Copy, PartialEq)]
enum Asker {
    Waiting,
    Running,
}

fn namespace_labels(cluster: &Cluster, namespace: &str) -> Labels {
    let objects = cluster.objects();
    let found = objects.namespaces.values().find(|other| other.metadata.name.as_ref() == namespace);
    found.map(|namespace| namespace.metadata.labels.clone()).unwrap_or_default()
}

/// Whether a term of `owner` speaks of `other`.
fn speaks_of(cluster: &Cluster, asker: Asker, owner: &Pod, term: &PodAffinityTerm, other: &Pod) -> bool {
    let namespace = other.metadata.namespace.as_ref();
    let is_own = term.namespaces.is_empty() && term.namespace_selector.is_none();
    let selected = Selector::from_label_selector(term.namespace_selector.as_ref()).unwrap();
    let labels = namespace_labels(cluster, namespace);
    let is_in = is_own && owner.metadata.namespace.as_ref() == namespace
        || term.namespaces.iter().any(|name| name == namespace)
        || selected.matches(&labels)
        || asker == Asker::Waiting && selected.matches(&Labels::new());
    let selector = Selector::from_label_selector(term.label_selector.as_ref()).unwrap();
    is_in && selector.matches(&other.metadata.labels)
}

fn required(pod: &Pod, is_anti: bool) -> &[PodAffinityTerm] {
    let affinity = pod.spec.affinity.as_ref();
    let affinity =
        affinity.and_then(|a| if is_anti { a.pod_anti_affinity.as_ref() } else { a.pod_affinity.as_ref() });
    affinity.map_or(&[], |affinity| &affinity.required)
}

/// The pod's preferred terms with their weights, negative for anti-affinity.
fn preferred(pod: &Pod) -> Vec<(&PodAffinityTerm, i64)> {
    let Some(affinity) = &pod.spec.affinity else { return Vec::new() };
    let list = [(&affinity.pod_affinity, 1), (&affinity.pod_anti_affinity, -1)];
    list.into_iter()
        .filter_map(|(affinity, sign)| Some((affinity.as_ref()?, sign)))
        .flat_map(|(affinity, sign)| affinity.preferred.iter().map(move |term| (term, sign)))
        .map(|(term, sign)| (&term.pod_affinity_term, sign * i64::from(term.weight)))
        .collect()
}

/// Whether both nodes are in one domain of the key.
fn is_same_domain(a: &Node, b: &Node, key: &str) -> bool {
    a.label(key).is_some() && a.label(key) == b.label(key)
}

/// InterPodAffinity's Filter by node.
pub fn affinity_filter(cluster: &Cluster, pod: &Pod) -> Vec<bool> {
    let terms = required(pod, false);
    let matches_all =
        |other: &Pod| terms.iter().all(|term| speaks_of(cluster, Asker::Waiting, pod, term, other));
    let matching: Vec<&Node> = cluster
        .running
        .iter()
        .filter(|(_, other)| matches_all(other))
        .map(|(position, _)| cluster.nodes[*position].as_ref())
        .collect();
    let is_any_placed =
        matching.iter().any(|node| terms.iter().any(|term| node.label(&term.topology_key).is_some()));
    let fits = |node: &Node| {
        let has_keys = terms.iter().all(|term| node.label(&term.topology_key).is_some());
        let is_beside =
            terms.iter().all(|term| matching.iter().any(|m| is_same_domain(node, m, &term.topology_key)));
        let affinity = has_keys && (is_beside || !is_any_placed && matches_all(pod));
        let is_away = cluster.running.iter().all(|(position, other)| {
            let there = &cluster.nodes[*position];
            let own = required(pod, true).iter().any(|term| {
                is_same_domain(node, there, &term.topology_key)
                    && speaks_of(cluster, Asker::Waiting, pod, term, other)
            });
            let theirs = required(other, true).iter().any(|term| {
                is_same_domain(node, there, &term.topology_key)
                    && speaks_of(cluster, Asker::Running, other, term, pod)
            });
            !own && !theirs
        });
        affinity && is_away
    };
    cluster.nodes.iter().map(|node| fits(node)).collect()
}

/// InterPodAffinity's raw score by node, with a weight of 1 for what running pods require.
pub fn affinity_score(cluster: &Cluster, pod: &Pod) -> Vec<i64> {
    let score = |node: &Node| {
        let mut sum = 0;
        for (position, other) in &cluster.running {
            let there = &cluster.nodes[*position];
            let own = preferred(pod).into_iter().map(|(term, weight)| (Asker::Waiting, term, weight));
            let theirs = required(other, false).iter().map(|term| (term, 1)).chain(preferred(other));
            let theirs = theirs.map(|(term, weight)| (Asker::Running, term, weight));
            for (asker, term, weight) in own.chain(theirs) {
                let (owner, about): (&Pod, &Pod) =
                    if asker == Asker::Waiting { (pod, other) } else { (other, pod) };
                if is_same_domain(node, there, &term.topology_key)
                    && speaks_of(cluster, asker, owner, term, about)
                {
                    sum += weight;
                }
            }
        }
        sum
    };
    cluster.nodes.iter().map(|node| score(node)).collect()
}

fn constraints<'a>(pod: &'a Pod, action: &str) -> Vec<&'a TopologySpreadConstraint> {
    let constraints = pod.spec.topology_spread_constraints.iter();
    constraints.filter(|constraint| constraint.when_unsatisfiable == action).collect()
}

/// Whether the constraint's selector, narrowed by the pod's own labels, matches.
fn selects(constraint: &TopologySpreadConstraint, pod: &Pod, labels: &Labels) -> bool {
    let own = |key: &String| pod.metadata.labels.get(key.as_str());
    let has_own = |key: &String| own(key).is_none_or(|value| labels.get(key.as_str()) == Some(value));
    let selector = Selector::from_label_selector(constraint.label_selector.as_ref()).unwrap();
    selector.matches(labels) && constraint.match_label_keys.iter().all(has_own)
}

/// Matching pods on the node at a position. A selector that restricts nothing counts none.
fn matching_pods(
    cluster: &Cluster,
    constraint: &TopologySpreadConstraint,
    pod: &Pod,
    position: usize,
) -> i64 {
    let selector = Selector::from_label_selector(constraint.label_selector.as_ref()).unwrap();
    let is_narrowed =
        constraint.match_label_keys.iter().any(|key| pod.metadata.labels.contains_key(key.as_str()));
    if selector.is_empty() && !is_narrowed {
        return 0;
    }
    let counts = |other: &Pod| {
        !other.is_terminating()
            && other.metadata.namespace == pod.metadata.namespace
            && selects(constraint, pod, &other.metadata.labels)
    };
    let on_node = cluster.running.iter().filter(|(at, other)| *at == position && counts(other));
    i64::try_from(on_node.count()).unwrap()
}

/// Whether the node counts for a constraint, one of these.
fn is_counted(
    constraint: &TopologySpreadConstraint,
    all: &[&TopologySpreadConstraint],
    pod: &Pod,
    node: &Node,
) -> bool {
    let has_keys = all.iter().all(|constraint| node.label(&constraint.topology_key).is_some());
    let honors_affinity = constraint.node_affinity_policy.as_deref() != Some("Ignore");
    let honors_taints = constraint.node_taints_policy.as_deref() == Some("Honor");
    let is_tolerated = node.spec.taints.is_empty() || !pod.spec.tolerations.is_empty();
    has_keys
        && (!honors_affinity || RequiredNodeAffinity::of(pod).matches(node))
        && (!honors_taints || is_tolerated)
}

/// Matching pods in the domain of a value, and whether any node of it counts.
fn in_domain(
    cluster: &Cluster,
    constraint: &TopologySpreadConstraint,
    all: &[&TopologySpreadConstraint],
    pod: &Pod,
    value: &str,
) -> Option<i64> {
    let nodes = cluster.nodes.iter().enumerate();
    let counted: Vec<i64> = nodes
        .filter(|(_, node)| node.label(&constraint.topology_key) == Some(value))
        .filter(|(_, node)| is_counted(constraint, all, pod, node))
        .map(|(position, _)| matching_pods(cluster, constraint, pod, position))
        .collect();
    (!counted.is_empty()).then(|| counted.iter().sum())
}

fn values<'a>(cluster: &'a Cluster, key: &str) -> Vec<&'a str> {
    let mut values: Vec<&str> = cluster.nodes.iter().filter_map(|node| node.label(key)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// PodTopologySpread's Filter by node.
pub fn spread_filter(cluster: &Cluster, pod: &Pod) -> Vec<bool> {
    let all = constraints(pod, "DoNotSchedule");
    let holds = |constraint: &TopologySpreadConstraint, node: &Node| {
        let Some(value) = node.label(&constraint.topology_key) else { return false };
        let domains: Vec<i64> = values(cluster, &constraint.topology_key)
            .into_iter()
            .filter_map(|value| in_domain(cluster, constraint, &all, pod, value))
            .collect();
        let is_too_few = domains.len() < usize::try_from(constraint.min_domains.unwrap_or(1)).unwrap();
        let fewest = if is_too_few { 0 } else { domains.iter().copied().min().unwrap_or(0) };
        let there = in_domain(cluster, constraint, &all, pod, value).unwrap_or(0);
        let own = i64::from(selects(constraint, pod, &pod.metadata.labels));
        there + own - fewest <= i64::from(constraint.max_skew)
    };
    cluster.nodes.iter().map(|node| all.iter().all(|constraint| holds(constraint, node))).collect()
}

/// PodTopologySpread's raw score by node, where all nodes are scored. The last bit of the logarithm does not matter
/// for so few pods.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small numbers")]
pub fn spread_score(cluster: &Cluster, pod: &Pod) -> Vec<i64> {
    const HOSTNAME: &str = "kubernetes.io/hostname";
    let all = constraints(pod, "ScheduleAnyway");
    let has_keys = |node: &Node| all.iter().all(|constraint| node.label(&constraint.topology_key).is_some());
    let n_scored = cluster.nodes.iter().filter(|node| has_keys(node)).count();
    let score = |position: usize, node: &Node| {
        let parts = all.iter().map(|constraint| {
            let key = constraint.topology_key.as_str();
            let scored = cluster.nodes.iter().filter(|node| has_keys(node));
            let mut domains: Vec<&str> = scored.filter_map(|node| node.label(key)).collect();
            domains.sort_unstable();
            domains.dedup();
            let (n_domains, n_pods) = if key == HOSTNAME {
                (n_scored, matching_pods(cluster, constraint, pod, position))
            } else {
                let value = node.label(key).unwrap();
                (domains.len(), in_domain(cluster, constraint, &all, pod, value).unwrap_or(0))
            };
            n_pods as f64 * ((n_domains + 2) as f64).ln() + f64::from(constraint.max_skew - 1)
        });
        parts.sum::<f64>().round() as i64
    };
    let nodes = cluster.nodes.iter().enumerate();
    nodes.map(|(position, node)| if has_keys(node) { score(position, node) } else { 0 }).collect()
}
