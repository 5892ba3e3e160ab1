//! On which nodes preemption would help, and which of them is taken.
//!
//! Follows `findCandidates`, `DryRunPreemption` and `pickOneNodeForPreemption` of
//! `pkg/scheduler/framework/preemption/preemption.go`. Upstream tries several nodes at once; here they are tried
//! one after the other from a random one on, so the candidates are the same every time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;

use super::DefaultPreemption;
use super::victims::{DisruptionBudget, start_time};
use crate::api::{Rng, Str, Time};
use crate::framework::preemption::{Candidate, Criterion, Victims};
use crate::framework::{Code, CycleState, Handle, NodeToStatus, PodInfo, Status, TieBreak};

/// What the dry runs found.
pub(super) struct Found {
    /// Nodes on which the pod would fit; those without a violated budget first.
    pub candidates: Vec<Candidate>,
    /// Why the other nodes that were tried are none.
    pub statuses: NodeToStatus,
}

impl DefaultPreemption {
    /// Tries the nodes on which preemption may help, from a random one on, until there are enough candidates.
    ///
    /// # Errors
    /// There is no candidate, and a dry run ended with an error.
    pub(super) fn find_candidates(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> Result<Found, Status> {
        if handle.snapshot.num_nodes() == 0 {
            return Err(Status::error("no nodes available"));
        }
        let mut statuses = NodeToStatus::new();
        let nodes = node_to_status.nodes_for_status_code(handle.snapshot.list(), Code::Unschedulable);
        if nodes.is_empty() {
            return Ok(Found { candidates: Vec::new(), statuses });
        }
        let budgets = DisruptionBudget::all(handle.objects);
        let offset = match handle.tie_break {
            TieBreak::Random => handle.rng.borrow_mut().below(nodes.len()),
            TieBreak::ByName => 0,
        };
        let wanted = self.num_candidates(nodes.len());
        let (mut kind, mut violating) = (Vec::new(), Vec::new());
        let mut errors: BTreeMap<Str, String> = BTreeMap::new();
        for node in nodes.iter().cycle().skip(offset).take(nodes.len()) {
            let mut copy = node.as_ref().clone();
            let status =
                match self.select_victims_on_node(handle, &mut state.clone(), pod, &mut copy, &budgets) {
                    Ok(victims) if victims.pods.is_empty() => {
                        let name = node.name();
                        Status::error(format!("expected at least one victim pod on node {name:?}"))
                    }
                    Ok(victims) => {
                        let list = if victims.num_pdb_violations == 0 { &mut kind } else { &mut violating };
                        if list.len() < wanted {
                            list.push(Candidate { node_name: node.name().clone(), victims });
                        }
                        // A violated budget is accepted only where there is nothing better among enough candidates.
                        if !kind.is_empty() && kind.len() + violating.len() >= wanted {
                            break;
                        }
                        continue;
                    }
                    Err(status) => status,
                };
            if status.is_error() {
                errors.insert(node.name().clone(), status.message());
            }
            statuses.set(node.name().clone(), status);
        }
        kind.append(&mut violating);
        if !kind.is_empty() || errors.is_empty() {
            return Ok(Found { candidates: kind, statuses });
        }
        Err(Status::error(aggregate(errors.into_values())))
    }

    /// How many candidates are enough, of `n_nodes` nodes that are tried.
    fn num_candidates(&self, n_nodes: usize) -> usize {
        let at_least = |number: i32| usize::try_from(number).unwrap_or(0);
        let part = n_nodes.saturating_mul(at_least(self.args.min_candidate_nodes_percentage)) / 100;
        part.max(at_least(self.args.min_candidate_nodes_absolute)).min(n_nodes)
    }
}

/// Several errors in one text (`utilerrors.Aggregate`), each once. They come in the order of the nodes' names, so that
/// the text does not depend on where the search began.
fn aggregate(errors: impl Iterator<Item = String>) -> String {
    let texts: IndexSet<String> = errors.collect();
    let joined = texts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    if texts.len() == 1 { joined } else { format!("[{joined}]") }
}

/// Chooses the candidate that does the least harm and tells which rule decided; how it ends among equals is for
/// `tie_break` to say. `None` without candidates.
pub fn pick_candidate(
    candidates: &[Candidate],
    now: Time,
    tie_break: TieBreak,
    rng: &RefCell<Rng>,
) -> Option<(usize, Criterion)> {
    let (best, criterion) = best_candidates(candidates, now);
    let index = match (best.as_slice(), tie_break) {
        ([], _) => return None,
        ([only], _) => *only,
        (several, TieBreak::Random) => *several.get(rng.borrow_mut().below(several.len()))?,
        (several, TieBreak::ByName) => *several
            .iter()
            .min_by_key(|index| candidates.get(**index).map(|candidate| &candidate.node_name))?,
    };
    Some((index, criterion))
}

/// The candidates that are equal by all rules, and the rule after which no others were left.
pub fn best_candidates(candidates: &[Candidate], now: Time) -> (Vec<usize>, Criterion) {
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    if left.len() < 2 {
        return (left, Criterion::OnlyCandidate);
    }
    // The higher the better. Priorities are shifted above 0, so that few pods go before many of negative priority.
    type Rule<'a> = &'a dyn Fn(&Victims) -> i128;
    let rules: [(Criterion, Rule<'_>); 5] = [
        (Criterion::MinPdbViolations, &|victims| -i128::from(victims.num_pdb_violations)),
        (Criterion::MinHighestPriority, &|victims| {
            -victims.pods.first().map_or(0, |first| i128::from(first.pod.priority()))
        }),
        (Criterion::MinSumPriorities, &|victims| {
            let shifted = |info: &Arc<PodInfo>| i128::from(info.pod.priority()) + (1 << 31);
            -victims.pods.iter().map(shifted).sum::<i128>()
        }),
        (Criterion::MinNumVictims, &|victims| -(victims.pods.len() as i128)),
        (Criterion::LatestStartTime, &|victims| i128::from(earliest_start(victims, now).as_nanos())),
    ];
    for (criterion, score) in rules {
        let scores: Vec<i128> = left.iter().map(|index| score(&candidates[*index].victims)).collect();
        let highest = scores.iter().max().copied();
        left = left.into_iter().zip(scores).filter(|(_, s)| Some(*s) == highest).map(|(i, _)| i).collect();
        if left.len() == 1 {
            return (left, criterion);
        }
    }
    (left, Criterion::Random)
}

/// When the first of the most important victims started.
fn earliest_start(victims: &Victims, now: Time) -> Time {
    let highest = victims.pods.iter().map(|info| info.pod.priority()).max();
    let most_important = victims.pods.iter().filter(|info| Some(info.pod.priority()) == highest);
    most_important.map(|info| start_time(&info.pod, now)).min().unwrap_or(Time::ZERO)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::Str;
    use crate::config::FeatureGates;
    use crate::config::plugin_args::DefaultPreemptionArgs;
    use crate::plugins::fixtures::pod_info;

    const NOW: Time = Time::from_secs(1_767_225_600);

    /// A candidate with these violations and victims: priority and start, in seconds after the start of 2025.
    fn candidate(name: &str, violations: i64, victims: &[(i32, u64)]) -> Candidate {
        let victim = |(priority, start): &(i32, u64)| {
            let start = Time::from_secs(1_735_689_600 + start).to_rfc3339();
            Arc::new(pod_info(&format!(
                "{{spec: {{priority: {priority}}}, status: {{startTime: '{start}'}}}}"
            )))
        };
        Candidate {
            node_name: Str::from(name),
            victims: Victims {
                pods: victims.iter().map(victim).collect(),
                num_pdb_violations: violations,
                tried: Vec::new(),
            },
        }
    }

    fn pick(candidates: &[Candidate]) -> (usize, Criterion) {
        pick_candidate(candidates, NOW, TieBreak::Random, &RefCell::new(Rng::new(1))).unwrap()
    }

    #[test]
    fn the_rules_one_after_the_other() {
        assert_eq!(pick(&[candidate("a", 3, &[(5, 0)])]), (0, Criterion::OnlyCandidate));
        assert_eq!(
            pick(&[candidate("a", 1, &[(1, 0)]), candidate("b", 0, &[(9, 0)])]),
            (1, Criterion::MinPdbViolations)
        );
        assert_eq!(
            pick(&[candidate("a", 0, &[(9, 0)]), candidate("b", 0, &[(8, 0), (8, 0)])]),
            (1, Criterion::MinHighestPriority)
        );
        assert_eq!(
            pick(&[candidate("a", 0, &[(9, 0), (5, 0)]), candidate("b", 0, &[(9, 0), (4, 0)])]),
            (1, Criterion::MinSumPriorities)
        );
        // Of negative priorities, one pod is a smaller sum than two.
        assert_eq!(
            pick(&[candidate("a", 0, &[(-5, 0), (-5, 0)]), candidate("b", 0, &[(-5, 0)])]),
            (1, Criterion::MinSumPriorities)
        );
        // The sums are equal only where each counts 0, which is the lowest priority there is.
        assert_eq!(
            pick(&[candidate("a", 0, &[(9, 0), (i32::MIN, 0)]), candidate("b", 0, &[(9, 0)]),]),
            (1, Criterion::MinNumVictims)
        );
        // The most important victims count, and of them the one that started first.
        assert_eq!(
            pick(&[
                candidate("a", 0, &[(9, 20), (9, 10), (1, 90)]),
                candidate("b", 0, &[(9, 30), (9, 15), (1, 0)]),
            ]),
            (1, Criterion::LatestStartTime)
        );
    }

    #[test]
    fn chance_decides_among_equals_alone() {
        let equal =
            [candidate("a", 0, &[(9, 0)]), candidate("b", 0, &[(9, 0)]), candidate("c", 0, &[(10, 0)])];
        let rng = RefCell::new(Rng::new(7));
        let picks: Vec<_> =
            (0..64).map(|_| pick_candidate(&equal, NOW, TieBreak::Random, &rng).unwrap()).collect();
        assert!(picks.contains(&(0, Criterion::Random)) && picks.contains(&(1, Criterion::Random)));
        assert!(!picks.iter().any(|(index, _)| *index == 2));
        assert_eq!(pick_candidate(&[], NOW, TieBreak::Random, &rng), None);
    }

    #[test]
    fn a_victim_that_has_not_started_starts_now() {
        let mut fresh = candidate("b", 0, &[(9, 0)]);
        fresh.victims.pods = vec![Arc::new(pod_info("{spec: {priority: 9}}"))];
        assert_eq!(pick(&[candidate("a", 0, &[(9, 0)]), fresh]), (1, Criterion::LatestStartTime));
    }

    /// Upstream's own table: nodes, percentage, absolute number, candidates.
    #[test]
    fn how_many_candidates_are_enough() {
        for (n_nodes, percentage, absolute, expected) in [
            (10, 0, 0, 0),
            (10, 10, 0, 1),
            (10, 10, 5, 5),
            (10, 10, 100, 10),
            (5000, 10, 100, 500),
            (500, 10, 100, 100),
        ] {
            let args = DefaultPreemptionArgs {
                min_candidate_nodes_percentage: percentage,
                min_candidate_nodes_absolute: absolute,
            };
            let plugin = DefaultPreemption::new(args, &FeatureGates::default());
            assert_eq!(
                plugin.num_candidates(n_nodes),
                expected,
                "{n_nodes} nodes, {percentage} %, {absolute}"
            );
        }
    }
}
