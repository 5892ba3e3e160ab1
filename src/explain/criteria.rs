//! Which rule chose among the candidates of a preemption, with the numbers that it saw, and in which order pods were
//! tried whether they can stay.
//!
//! The rules are those of `pickOneNodeForPreemption`, one after the other: each keeps the best of those that are left.

use std::sync::Arc;

use crate::api::Time;
use crate::api::objects::PodDisruptionBudget;
use crate::framework::preemption::{Candidate, Criterion, PreemptionEvidence};

use super::{CandidateNumbers, budgets_of, candidate_numbers, counted};

/// What a rule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStory {
    /// The rule.
    pub criterion: Criterion,
    /// Whether it decided; the rules before it left several, those behind it were not asked.
    pub standing: RuleStanding,
    /// The numbers, in a sentence; empty if it was not asked.
    pub text: String,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleStanding {
    /// Several were left after it.
    LeftSeveral,
    /// It left one.
    Decided,
    /// It was not asked.
    NotAsked,
}

/// The rules in their order.
const RULES: [Criterion; 5] = [
    Criterion::MinPdbViolations,
    Criterion::MinHighestPriority,
    Criterion::MinSumPriorities,
    Criterion::MinNumVictims,
    Criterion::LatestStartTime,
];

/// What each rule saw, and which one decided.
pub fn rule_stories(evidence: &PreemptionEvidence) -> Vec<RuleStory> {
    let Some(decided) = evidence.criterion else { return Vec::new() };
    let numbered =
        |candidate: &Candidate| Some((candidate.node_name.to_string(), candidate_numbers(candidate)?));
    let mut left: Vec<(String, CandidateNumbers)> = evidence.candidates.iter().filter_map(numbered).collect();
    let mut stories = Vec::new();
    let mut is_over = decided == Criterion::OnlyCandidate;
    for criterion in RULES {
        if is_over {
            stories.push(RuleStory { criterion, standing: RuleStanding::NotAsked, text: String::new() });
            continue;
        }
        let value = |numbers: &CandidateNumbers| value(criterion, numbers);
        let Some(best) = left.iter().map(|(_, numbers)| value(numbers)).max() else { break };
        let n_before = left.len();
        let next = left
            .iter()
            .filter(|(_, numbers)| value(numbers) < best)
            .max_by_key(|(_, numbers)| value(numbers))
            .cloned();
        left.retain(|(_, numbers)| value(numbers) == best);
        is_over = criterion == decided;
        let shown = left.first().map(|(_, numbers)| shown(criterion, numbers)).unwrap_or_default();
        let text = match (&next, is_over) {
            (None, _) => format!("{shown} on all {n_before} that were left"),
            (Some((node, numbers)), true) => format!(
                "{shown} on {}; the next is {node} with {}",
                left.first().map(|(node, _)| node.as_str()).unwrap_or_default(),
                self::shown(criterion, numbers)
            ),
            (Some(_), false) => format!("{shown} on {} of {n_before}; the others are out", left.len()),
        };
        let standing = if is_over { RuleStanding::Decided } else { RuleStanding::LeftSeveral };
        stories.push(RuleStory { criterion, standing, text });
    }
    stories
}

/// The higher the better. Priorities are shifted above 0, so that few pods go before many of negative priority.
fn value(criterion: Criterion, numbers: &CandidateNumbers) -> i128 {
    match criterion {
        Criterion::MinPdbViolations => -i128::from(numbers.n_pdb_violations),
        Criterion::MinHighestPriority => -i128::from(numbers.highest_priority),
        Criterion::MinSumPriorities => {
            -(i128::from(numbers.sum_priorities) + ((numbers.n_victims as i128) << 31))
        }
        Criterion::MinNumVictims => -(numbers.n_victims as i128),
        // One that has not started starts now, which is the latest.
        Criterion::LatestStartTime => numbers.started.map_or(i128::MAX, |at| i128::from(at.as_nanos())),
        Criterion::OnlyCandidate | Criterion::Random => 0,
    }
}

fn shown(criterion: Criterion, numbers: &CandidateNumbers) -> String {
    match criterion {
        Criterion::MinPdbViolations => numbers.n_pdb_violations.to_string(),
        Criterion::MinHighestPriority => numbers.highest_priority.to_string(),
        Criterion::MinSumPriorities => {
            format!("{} ({})", numbers.sum_priorities, counted(numbers.n_victims, "victim"))
        }
        Criterion::MinNumVictims => numbers.n_victims.to_string(),
        Criterion::LatestStartTime => {
            numbers.started.map_or_else(|| "not started".to_owned(), Time::to_rfc3339)
        }
        Criterion::OnlyCandidate | Criterion::Random => String::new(),
    }
}

/// A pod that was tried whether it can stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReprieveLine {
    /// Whether it stays.
    pub stays: bool,
    /// The pod, its priority, its budgets, and what came of it.
    pub text: String,
}

/// The pods of lower priority on a candidate, in the order in which it was tried whether they can stay.
pub fn reprieves(candidate: &Candidate, pdbs: &[Arc<PodDisruptionBudget>]) -> Vec<ReprieveLine> {
    let line = |(at, tried): (usize, &crate::framework::preemption::Reprieve)| {
        let pod = &tried.pod.pod;
        let budgets: Vec<String> = budgets_of(pdbs, pod)
            .iter()
            .map(|(name, allowed)| {
                format!("budget {}/{name} allows {allowed} more now", pod.metadata.namespace)
            })
            .collect();
        let mut text = format!("{}. {} prio {}", at + 1, pod.key(), pod.priority());
        if !budgets.is_empty() {
            text.push_str(&format!(", {}", budgets.join(", ")));
        }
        if tried.violates_budget {
            text.push_str(", its eviction would violate that");
        }
        match &tried.refusal {
            None => text.push_str(": stays, the pod fits beside it"),
            Some(refusal) => text.push_str(&format!(": has to go, beside it {}", refusal.message())),
        }
        ReprieveLine { stays: tried.refusal.is_none(), text }
    };
    candidate.victims.tried.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Str;
    use crate::api::objects::{ObjectMeta, Pod};
    use crate::framework::PodInfo;
    use crate::framework::preemption::Victims;

    fn candidate(node: &str, violations: i64, priorities: &[i32]) -> Candidate {
        let victim = |priority: &i32| {
            let metadata = ObjectMeta { name: Str::from(format!("p{priority}")), ..ObjectMeta::default() };
            let mut pod = Pod { metadata, ..Pod::default() };
            pod.spec.priority = Some(*priority);
            Arc::new(PodInfo::new(Arc::new(pod)))
        };
        let pods = priorities.iter().map(victim).collect();
        let victims = Victims { pods, num_pdb_violations: violations, tried: Vec::new() };
        Candidate { node_name: Str::from(node), victims }
    }

    #[test]
    fn each_rule_tells_what_it_left_and_the_last_one_what_decided() {
        let candidates = vec![candidate("a", 0, &[100]), candidate("b", 0, &[200]), candidate("c", 1, &[5])];
        let evidence = PreemptionEvidence {
            candidates,
            selected: Some(Str::from("a")),
            criterion: Some(Criterion::MinHighestPriority),
            rejected: Vec::new(),
        };
        let stories = rule_stories(&evidence);
        let told: Vec<(RuleStanding, &str)> =
            stories.iter().map(|story| (story.standing, story.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (RuleStanding::LeftSeveral, "0 on 2 of 3; the others are out"),
                (RuleStanding::Decided, "100 on a; the next is b with 200"),
                (RuleStanding::NotAsked, ""),
                (RuleStanding::NotAsked, ""),
                (RuleStanding::NotAsked, ""),
            ]
        );
    }
}
