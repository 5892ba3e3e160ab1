//! PreScore counts matching pods by domain, Score weighs them by how many domains there are.
//!
//! Follows `podtopologyspread/scoring.go`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::constraints::{Constraint, Inclusion, SCHEDULE_ANYWAY, counted_domains};
use super::explain::SpreadScore;
use super::logarithm::ln;
use super::{HOSTNAME, PodTopologySpread};
use crate::api::Str;
use crate::api::objects::Pod;
use crate::framework::topology::{Domain, DomainCounts, DomainId, Domains, ShowCounts};
use crate::framework::{
    CycleState, Handle, MAX_NODE_SCORE, NodeInfo, NodeScore, Plugin, PodInfo, PreScorePlugin,
    ScoreExtensions, ScorePlugin, Snapshot, Status,
};

/// What Score needs.
#[derive(Debug)]
struct PreScoreState {
    /// Nodes that lack a key; they get no score.
    ignored: BTreeSet<Str>,
    spreads: Vec<Spread>,
}

/// How the pods of one constraint are spread.
struct Spread {
    constraint: Constraint,
    domains: Arc<Domains>,
    pods: Pods,
    /// Makes a pod count more the more domains there are.
    weight: f64,
}

/// Matching pods, where they are counted.
enum Pods {
    /// By domain.
    Domain(DomainCounts),
    /// By node, for the key whose domains are nodes, by position in the snapshot.
    Node(Vec<i64>),
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Spread");
        shown.field("topology_key", &self.constraint.topology_key).field("weight", &self.weight);
        match &self.pods {
            Pods::Domain(counts) => shown.field("pods", &ShowCounts { domains: &self.domains, counts }),
            Pods::Node(_) => shown.field("pods", &"by node"),
        };
        shown.finish()
    }
}

/// The domains of one constraint that have nodes to score.
struct Scored {
    is_known: Vec<bool>,
    n_known: usize,
    /// Values that no node of the snapshot has.
    foreign: BTreeSet<Str>,
}

impl Scored {
    fn new(domains: &Domains) -> Self {
        Self { is_known: vec![false; domains.len()], n_known: 0, foreign: BTreeSet::new() }
    }

    fn add(&mut self, domain: DomainId) {
        if let Some(is_known) = self.is_known.get_mut(domain as usize)
            && !*is_known
        {
            *is_known = true;
            self.n_known += 1;
        }
    }

    fn add_value(&mut self, domains: &Domains, value: &str) {
        match domains.find(value) {
            Some(domain) => self.add(domain),
            None => drop(self.foreign.insert(Str::from(value))),
        }
    }

    fn len(&self) -> usize {
        self.n_known + self.foreign.len()
    }
}

impl PreScoreState {
    fn new(
        snapshot: &Snapshot,
        pod: &Pod,
        constraints: &[Constraint],
        inclusion: &Inclusion,
        nodes: &[Arc<NodeInfo>],
        requires_all_keys: bool,
    ) -> Self {
        let domains: Vec<Arc<Domains>> =
            constraints.iter().map(|constraint| snapshot.domains(&constraint.topology_key)).collect();
        let mut scored: Vec<Scored> = domains.iter().map(|domains| Scored::new(domains)).collect();
        let mut ignored = BTreeSet::new();
        for node in nodes {
            let position = snapshot.position_of(node);
            let is_absent = |domains: &Arc<Domains>| domains.of(node, position) == Domain::Absent;
            if requires_all_keys && domains.iter().any(is_absent) {
                ignored.insert(node.name().clone());
                continue;
            }
            let of_keys = constraints.iter().zip(&domains).zip(&mut scored);
            for ((constraint, domains), scored) in of_keys {
                if constraint.topology_key.as_ref() == HOSTNAME {
                    continue;
                }
                match domains.of(node, position) {
                    Domain::Known(domain) => scored.add(domain),
                    // Nodes without the key stand together with those whose value is empty.
                    Domain::Absent | Domain::Foreign => {
                        let label = node.node().and_then(|node| node.label(&constraint.topology_key));
                        scored.add_value(domains, label.unwrap_or(""));
                    }
                }
            }
        }
        let n_scored = nodes.len() - ignored.len().min(nodes.len());
        let counted = counted_domains(snapshot, constraints, &domains, inclusion, requires_all_keys);
        let spreads = constraints.iter().zip(&domains).zip(&scored).zip(&counted).map(
            |(((constraint, domains), scored), counted)| {
                let is_by_node = constraint.topology_key.as_ref() == HOSTNAME;
                let pods = if is_by_node {
                    Pods::Node(pods_by_node(snapshot, constraint, pod))
                } else {
                    let counts = pods_by_domain(snapshot, constraint, pod, counted, scored);
                    Pods::Domain(DomainCounts::new(counts))
                };
                let size = if is_by_node { n_scored } else { scored.len() };
                Spread {
                    constraint: constraint.clone(),
                    domains: Arc::clone(domains),
                    pods,
                    weight: ln(u32::try_from(size + 2).unwrap_or(u32::MAX)),
                }
            },
        );
        let spreads = spreads.collect();
        Self { ignored, spreads }
    }
}

/// Matching pods on each node; here every node counts.
fn pods_by_node(snapshot: &Snapshot, constraint: &Constraint, pod: &Pod) -> Vec<i64> {
    let mut counts = vec![0; snapshot.num_nodes()];
    let classes = snapshot.pods().classes();
    for class in classes.filter(|class| constraint.counts(class, &pod.metadata.namespace)) {
        for (position, n_pods) in class.nodes() {
            if let Some(count) = counts.get_mut(position) {
                *count += n_pods;
            }
        }
    }
    counts
}

/// Matching pods in each domain that has nodes to score.
fn pods_by_domain(
    snapshot: &Snapshot,
    constraint: &Constraint,
    pod: &Pod,
    counted: &[Option<DomainId>],
    scored: &Scored,
) -> Vec<i64> {
    let mut counts = vec![0; scored.is_known.len()];
    let classes = snapshot.pods().classes();
    for class in classes.filter(|class| constraint.counts(class, &pod.metadata.namespace)) {
        for (position, n_pods) in class.nodes() {
            if let Some(domain) = counted.get(position).copied().flatten()
                && let Some(count) = counts.get_mut(domain as usize)
            {
                *count += n_pods;
            }
        }
    }
    counts
}

/// Matching pods on a node that is not as the snapshot has it.
fn pods_on(node: &NodeInfo, constraint: &Constraint, pod: &Pod) -> i64 {
    if constraint.selector.is_empty() {
        return 0;
    }
    let is_counted = |other: &Pod| {
        !other.is_terminating()
            && other.metadata.namespace == pod.metadata.namespace
            && constraint.selector.matches(&other.metadata.labels)
    };
    let n_pods = node.pods().iter().filter(|other| is_counted(&other.pod)).count();
    i64::try_from(n_pods).unwrap_or(i64::MAX)
}

impl PreScorePlugin for PodTopologySpread {
    fn pre_score(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Status {
        if handle.snapshot.num_nodes() == 0 {
            return Status::skip();
        }
        let has_own = !pod.pod.spec.topology_spread_constraints.is_empty();
        let constraints = match self.constraints_of(&pod.pod, handle.objects, SCHEDULE_ANYWAY) {
            Ok(constraints) if constraints.is_empty() => return Status::skip(),
            Ok(constraints) => constraints,
            Err(error) => {
                let doing = if has_own { "obtaining pod's soft" } else { "setting default soft" };
                return Status::error(format!(
                    "calculating preScoreState: {doing} topology spread constraints: {error}"
                ));
            }
        };
        // A node without a zone is still spread over by kube-scheduler's own constraints, host by host.
        let requires_all_keys = has_own || !self.is_system_defaulted;
        let inclusion = Inclusion::new(self, &pod.pod);
        let counted =
            PreScoreState::new(handle.snapshot, &pod.pod, &constraints, &inclusion, nodes, requires_all_keys);
        state.write(self.name(), counted);
        Status::SUCCESS
    }
}

fn not_found() -> Status {
    Status::error("error reading \"PreScorePodTopologySpread\" from cycleState: not found")
}

impl ScorePlugin for PodTopologySpread {
    /// The weighted number of matching pods: the fewer, the better, as normalization has it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the rounding is upstream's"
    )]
    fn score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let state = state.read::<PreScoreState>().ok_or_else(not_found)?;
        if !state.ignored.is_empty() && state.ignored.contains(node.name()) {
            return Ok(0);
        }
        let position = handle.snapshot.position_of(node);
        let known = position.and_then(|position| handle.snapshot.list().get(position));
        let is_known = known.is_some_and(|known| std::ptr::eq(known.as_ref(), node));
        let mut score = 0.0;
        for Spread { constraint, domains, pods, weight } in &state.spreads {
            let n_pods = match (pods, domains.of(node, position)) {
                (_, Domain::Absent) => continue,
                (Pods::Domain(counts), Domain::Known(domain)) => counts.get(domain),
                (Pods::Domain(_), Domain::Foreign) => 0,
                (Pods::Node(counts), _) if is_known => {
                    position.and_then(|position| counts.get(position)).copied().unwrap_or(0)
                }
                (Pods::Node(_), _) => pods_on(node, constraint, &pod.pod),
            };
            score += n_pods as f64 * weight + f64::from(constraint.max_skew.wrapping_sub(1));
        }
        Ok(score.round() as i64)
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

/// Marks a node that gets no score.
const INVALID_SCORE: i64 = -1;

impl ScoreExtensions for PodTopologySpread {
    /// The highest score is turned into the lowest and the other way round; where nothing is there to count, all
    /// become 100.
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        state: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        let Some(state) = state.read::<PreScoreState>() else { return not_found() };
        let (mut lowest, mut highest) = (i64::MAX, 0);
        for score in scores.iter_mut() {
            if !state.ignored.is_empty() && state.ignored.contains(&score.name) {
                score.score = INVALID_SCORE;
                continue;
            }
            lowest = lowest.min(score.score);
            highest = highest.max(score.score);
        }
        for score in scores {
            score.score = match (score.score, highest) {
                (INVALID_SCORE, _) => 0,
                (_, 0) => MAX_NODE_SCORE,
                (own, _) => {
                    MAX_NODE_SCORE.wrapping_mul(highest.wrapping_add(lowest).wrapping_sub(own)) / highest
                }
            };
        }
        Status::SUCCESS
    }
}

/// What each constraint adds to the score of a node of the snapshot.
#[expect(clippy::cast_precision_loss, reason = "as Score computes it")]
pub(super) fn explain(state: &CycleState, snapshot: &Snapshot, node: &NodeInfo) -> Option<Vec<SpreadScore>> {
    let state = state.read::<PreScoreState>()?;
    if state.ignored.contains(node.name()) {
        return None;
    }
    let position = snapshot.position(node.name())?;
    let spreads = state.spreads.iter().map(|Spread { constraint, domains, pods, weight }| {
        let domain = domains.at(position);
        let n_pods = match (pods, domain) {
            (_, None) => 0,
            (Pods::Domain(counts), Some(domain)) => counts.get(domain),
            (Pods::Node(counts), Some(_)) => counts.get(position).copied().unwrap_or(0),
        };
        let added = n_pods as f64 * weight + f64::from(constraint.max_skew.wrapping_sub(1));
        SpreadScore {
            key: constraint.topology_key.clone(),
            domain: domain.and_then(|domain| domains.values().get(domain as usize).cloned()),
            n_pods,
            weight: *weight,
            max_skew: constraint.max_skew,
            points: if domain.is_some() { added } else { 0.0 },
        }
    });
    Some(spreads.collect())
}
