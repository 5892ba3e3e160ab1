//! PreFilter counts matching pods by domain, Filter compares a node's domain with the one that has the fewest.
//!
//! Follows `podtopologyspread/filtering.go`.

use std::fmt;
use std::sync::Arc;

use super::PodTopologySpread;
use super::constraints::{Constraint, Inclusion, counted_domains, has_all_keys};
use super::explain::SpreadOnNode;
use crate::api::objects::Pod;
use crate::framework::topology::{Domain, DomainCounts, DomainId, Domains, ShowCounts};
use crate::framework::{
    CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterExtensions, PreFilterPlugin,
    PreFilterResult, Snapshot, Status,
};

/// What is known of the pods on all nodes; a copy for a dry run shares all but what the dry run changes.
#[derive(Clone, Debug)]
struct PreFilterState {
    constraints: Arc<[Constraint]>,
    inclusion: Arc<Inclusion>,
    /// By constraint.
    spreads: Vec<Spread>,
}

/// How the pods of one constraint are spread.
#[derive(Clone)]
struct Spread {
    domains: Arc<Domains>,
    /// Matching pods by domain.
    counts: DomainCounts,
    /// How many domains have nodes that count.
    n_domains: usize,
    fewest: Fewest,
    /// 1 if the pod itself matches, else 0.
    own: i64,
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spread")
            .field("pods", &ShowCounts { domains: &self.domains, counts: &self.counts })
            .field("n_domains", &self.n_domains)
            .field("fewest", &self.fewest.0[0].1)
            .field("own", &self.own)
            .finish()
    }
}

/// The domain with the fewest pods and another one that comes next (`criticalPaths`). The first stays right while
/// only one domain changes, as in a dry run that is about one node.
#[derive(Clone, Copy, Debug)]
struct Fewest([(Option<DomainId>, i64); 2]);

impl Fewest {
    fn new() -> Self {
        Self([(None, i64::from(i32::MAX)); 2])
    }

    fn update(&mut self, domain: DomainId, count: i64) {
        let [first, second] = &mut self.0;
        if first.0 == Some(domain) {
            first.1 = count;
        } else if second.0 == Some(domain) {
            second.1 = count;
        } else if count < first.1 {
            *second = *first;
            *first = (Some(domain), count);
            return;
        } else if count < second.1 {
            *second = (Some(domain), count);
            return;
        }
        if first.1 > second.1 {
            std::mem::swap(first, second);
        }
    }
}

impl Spread {
    /// The number of pods that the domain with the fewest has, 0 where there are too few domains.
    fn minimum(&self, constraint: &Constraint) -> i64 {
        let is_too_few =
            i64::try_from(self.n_domains).unwrap_or(i64::MAX) < i64::from(constraint.min_domains);
        if is_too_few { 0 } else { self.fewest.0[0].1 }
    }
}

impl PreFilterState {
    fn new(snapshot: &Snapshot, pod: &Pod, constraints: Vec<Constraint>, inclusion: Inclusion) -> Self {
        let domains: Vec<Arc<Domains>> =
            constraints.iter().map(|constraint| snapshot.domains(&constraint.topology_key)).collect();
        let counted = counted_domains(snapshot, &constraints, &domains, &inclusion, true);
        let metadata = &pod.metadata;
        let spreads =
            constraints.iter().zip(&domains).zip(&counted).map(|((constraint, domains), counted)| {
                let mut is_counted = vec![false; domains.len()];
                for domain in counted.iter().flatten() {
                    is_counted[*domain as usize] = true;
                }
                let mut counts = vec![0; domains.len()];
                for class in
                    snapshot.pods().classes().filter(|class| constraint.counts(class, &metadata.namespace))
                {
                    for (position, n_pods) in class.nodes() {
                        if let Some(domain) = counted.get(position).copied().flatten() {
                            counts[domain as usize] += n_pods;
                        }
                    }
                }
                let mut fewest = Fewest::new();
                for (domain, (is_counted, count)) in (0..).zip(is_counted.iter().zip(&counts)) {
                    if *is_counted {
                        fewest.update(domain, *count);
                    }
                }
                Spread {
                    domains: Arc::clone(domains),
                    counts: DomainCounts::new(counts),
                    n_domains: is_counted.iter().filter(|is_counted| **is_counted).count(),
                    fewest,
                    own: i64::from(constraint.selector.matches(&metadata.labels)),
                }
            });
        let spreads = spreads.collect();
        Self { constraints: constraints.into(), inclusion: Arc::new(inclusion), spreads }
    }

    /// `other` is put onto the node (`change` 1) or taken off (-1). Unlike the counting of pods that are there, this
    /// asks neither whether the pod is terminating nor whether the selector is empty.
    fn update(&mut self, snapshot: &Snapshot, pod: &Pod, other: &Pod, node: &NodeInfo, change: i64) {
        if other.metadata.namespace != pod.metadata.namespace {
            return;
        }
        let Some(node_object) = node.node() else { return };
        if !has_all_keys(&node_object.metadata.labels, &self.constraints) {
            return;
        }
        let position = snapshot.position_of(node);
        for (constraint, spread) in self.constraints.iter().zip(&mut self.spreads) {
            if !constraint.selector.matches(&other.metadata.labels)
                || !self.inclusion.includes(constraint, node_object)
            {
                continue;
            }
            if let Domain::Known(domain) = spread.domains.of(node, position) {
                let count = spread.counts.add(domain, change);
                spread.fewest.update(domain, count);
            }
        }
    }
}

impl PreFilterPlugin for PodTopologySpread {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let constraints = match self.hard_constraints(&pod.pod, handle.objects) {
            Ok(constraints) if constraints.is_empty() => return (None, Status::skip()),
            Ok(constraints) => constraints,
            Err(error) => return (None, Status::error(format!("get constraints from pod: {error}"))),
        };
        let inclusion = Inclusion::new(self, &pod.pod);
        state.write(self.name(), PreFilterState::new(handle.snapshot, &pod.pod, constraints, inclusion));
        (None, Status::SUCCESS)
    }

    fn pre_filter_extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

fn not_found() -> Status {
    Status::error("reading \"PreFilterPodTopologySpread\" from cycleState: not found")
}

impl PreFilterExtensions for PodTopologySpread {
    fn add_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_add: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let Some(counted) = state.read_mut::<PreFilterState>() else { return not_found() };
        counted.update(handle.snapshot, &pod_to_schedule.pod, &pod_to_add.pod, node, 1);
        Status::SUCCESS
    }

    fn remove_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_remove: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let Some(counted) = state.read_mut::<PreFilterState>() else { return not_found() };
        counted.update(handle.snapshot, &pod_to_schedule.pod, &pod_to_remove.pod, node, -1);
        Status::SUCCESS
    }
}

impl FilterPlugin for PodTopologySpread {
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        let Some(counted) = state.read::<PreFilterState>() else { return not_found() };
        let position = handle.snapshot.position_of(node);
        for (constraint, spread) in counted.constraints.iter().zip(&counted.spreads) {
            let n_pods = match spread.domains.of(node, position) {
                Domain::Absent => return self.missing_label.clone(),
                Domain::Known(domain) => spread.counts.get(domain),
                Domain::Foreign => 0,
            };
            let skew = n_pods + spread.own - spread.minimum(constraint);
            if skew > i64::from(constraint.max_skew) {
                return self.skew.clone();
            }
        }
        Status::SUCCESS
    }
}

/// How each constraint sees a node of the snapshot.
pub(super) fn explain(state: &CycleState, snapshot: &Snapshot, node: &NodeInfo) -> Option<Vec<SpreadOnNode>> {
    let counted = state.read::<PreFilterState>()?;
    let position = snapshot.position(node.name());
    let spreads = counted.constraints.iter().zip(&counted.spreads).map(|(constraint, spread)| {
        let domain = position.and_then(|position| spread.domains.at(position));
        let value = |domain: DomainId| spread.domains.values().get(domain as usize).cloned();
        let is_too_few = i64::try_from(spread.n_domains).is_ok_and(|n| n < i64::from(constraint.min_domains));
        SpreadOnNode {
            key: constraint.topology_key.clone(),
            max_skew: constraint.max_skew,
            min_domains: constraint.min_domains,
            domain: domain.and_then(value),
            n_pods: domain.map_or(0, |domain| spread.counts.get(domain)),
            own: spread.own,
            fewest: spread.minimum(constraint),
            fewest_in: spread.fewest.0[0].0.filter(|_| !is_too_few).and_then(value),
            n_domains: spread.n_domains,
            domains: spread.counts.iter().filter_map(|(domain, n)| Some((value(domain)?, n))).collect(),
        }
    });
    Some(spreads.collect())
}
