//! A pod's past in words: what became of the events since its last attempt, what brought each attempt about, and what
//! differed between two of them.

use std::collections::BTreeMap;

use crate::api::{Str, Time};
use crate::framework::ClusterEvent;
use crate::scheduler::pod_log::{Attempt, NodeVerdicts, PodLog, VerdictClass, Wake};
use crate::scheduler::trace::{CycleOutcome, PoppedFrom};
use crate::scheduler::{HintAnswer, HintResult, QueueMove, QueueName, QueueingStrategy};

use super::{counted, hint_reason, listed};

/// How many nodes are named where verdicts are compared.
const N_NODES_NAMED: usize = 6;
/// How many different verdicts of an attempt are told.
const N_VERDICTS: usize = 6;

/// What an event did to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// When; if it came several times, the last time.
    pub at: Time,
    /// The event and what came of it.
    pub text: String,
    /// Whether it moved the pod.
    pub has_moved: bool,
    /// What each plugin that had turned the pod down answered: plugin, answer, reason.
    pub answers: Vec<(Str, &'static str, String)>,
}

/// What became of the events since the last attempt of a pod, the oldest first.
pub fn since_last_attempt(log: &PodLog) -> Vec<EventLine> {
    let mut lines = Vec::new();
    let mut moves = log.moves.iter().peekable();
    while let Some(moved) = moves.next() {
        let line = match &moved.entry {
            QueueMove::Entered { queue, event, .. } => EventLine {
                at: moved.at,
                text: entered(*queue, *event),
                has_moved: *event != ClusterEvent::SCHEDULE_ATTEMPT_FAILURE,
                answers: Vec::new(),
            },
            QueueMove::Judged { event, object, in_flight, answers, strategy, .. } => {
                let has_moved = *strategy != QueueingStrategy::Skip;
                // Where the judgement leads stands in what follows.
                let to = has_moved
                    .then(|| {
                        moves.next_if(|next| match &next.entry {
                            QueueMove::Entered { event: by, queue, .. } => {
                                (by == event || *by == ClusterEvent::SCHEDULE_ATTEMPT_FAILURE)
                                    && *queue != QueueName::Unschedulable
                            }
                            QueueMove::Judged { .. } => false,
                        })
                    })
                    .flatten();
                let to = match to.map(|to| &to.entry) {
                    Some(QueueMove::Entered { queue, .. }) => format!("moved to {}", queue_name(*queue)),
                    _ if has_moved => "worth a retry".to_owned(),
                    _ => "stayed".to_owned(),
                };
                let times =
                    if moved.times > 1 { format!(" {} times, last", moved.times) } else { String::new() };
                let object = object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
                let meanwhile = if *in_flight { " during the attempt" } else { "" };
                EventLine {
                    at: moved.at,
                    text: format!("{}{times}{object}{meanwhile}: {to}", event.label()),
                    has_moved,
                    answers: answers.iter().map(|answer| of_answer(*event, answer)).collect(),
                }
            }
        };
        lines.push(line);
    }
    lines
}

fn of_answer(event: ClusterEvent, answer: &HintAnswer) -> (Str, &'static str, String) {
    let said = match &answer.result {
        HintResult::Skip => "Skip",
        HintResult::Queue | HintResult::Error(_) => "Queue",
    };
    (answer.plugin.into(), said, hint_reason(answer.plugin, event, &answer.result))
}

const fn queue_name(queue: QueueName) -> &'static str {
    match queue {
        QueueName::Active => "activeQ",
        QueueName::Backoff => "backoffQ",
        QueueName::Unschedulable => "unschedulablePods",
    }
}

fn entered(queue: QueueName, event: ClusterEvent) -> String {
    let queue = queue_name(queue);
    let by = event.label();
    if event == ClusterEvent::SCHEDULE_ATTEMPT_FAILURE {
        format!("back to {queue} after the attempt")
    } else if event == ClusterEvent::BACKOFF_COMPLETE {
        format!("its backoff ended: moved to {queue}")
    } else if event == ClusterEvent::UNSCHEDULABLE_TIMEOUT {
        format!("it had waited for too long ({by}): moved to {queue}")
    } else if event == ClusterEvent::FORCE_ACTIVATE {
        format!("somebody wanted it tried at once ({by}): moved to {queue}")
    } else if event == ClusterEvent::UNSCHEDULED_POD_ADD {
        format!("it came: into {queue}")
    } else {
        format!("{by}: moved to {queue}")
    }
}

/// What brought an attempt about.
pub fn woken_by(wake: &Wake) -> String {
    let event = wake.event;
    if event == ClusterEvent::UNSCHEDULED_POD_ADD && wake.answers.is_empty() {
        return "its arrival".to_owned();
    }
    if event == ClusterEvent::SCHEDULE_ATTEMPT_FAILURE {
        return "the end of its backoff alone".to_owned();
    }
    if event == ClusterEvent::UNSCHEDULABLE_TIMEOUT {
        return "the flush: it had waited for too long".to_owned();
    }
    let object = wake.object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
    let helps: Vec<&str> = wake
        .answers
        .iter()
        .filter(|answer| answer.result != HintResult::Skip)
        .map(|answer| answer.plugin)
        .collect();
    let who = if helps.is_empty() { String::new() } else { format!(" (Queue by {})", listed(&helps, 3)) };
    format!("{}{object}{who}", event.label())
}

/// An attempt of a pod in a few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptStory {
    /// What brought it about.
    pub why: String,
    /// How the nodes were judged, in a line; empty if that is not known.
    pub verdicts: String,
    /// What differed from the attempt before, one change a line; empty if there is none to compare with.
    pub differences: Vec<String>,
}

/// Tells of an attempt, and of what differed from the one before it.
pub fn attempt_story(attempt: &Attempt, before: Option<&Attempt>) -> AttemptStory {
    let why = match (&attempt.woken_by, attempt.popped_from) {
        (Some(wake), PoppedFrom::ActiveQ) => woken_by(wake),
        (Some(wake), PoppedFrom::BackoffQ) => {
            format!("{}; popped from backoffQ, since activeQ was empty", woken_by(wake))
        }
        (None, from) => format!("popped from {}", from.as_str()),
    };
    let verdicts = attempt.verdicts.as_ref().map(verdict_counts).unwrap_or_default();
    AttemptStory {
        why,
        verdicts,
        differences: before.map_or_else(Vec::new, |before| differences(before, attempt)),
    }
}

/// How many nodes have each verdict, in a line.
pub fn verdict_counts(verdicts: &NodeVerdicts) -> String {
    let counts = verdicts.counts();
    let mut parts: Vec<String> = counts
        .iter()
        .take(N_VERDICTS)
        .map(|(class, count)| match class {
            VerdictClass::Feasible => format!("{count} fit"),
            class => format!("{count} {}", verdict(class)),
        })
        .collect();
    let rest: usize = counts.iter().skip(N_VERDICTS).map(|(_, count)| count).sum();
    if rest > 0 {
        parts.push(format!("{rest} others"));
    }
    parts.join(", ")
}

/// A verdict in a few words.
pub fn verdict(class: &VerdictClass) -> String {
    match class {
        VerdictClass::Feasible => "fits".to_owned(),
        VerdictClass::Rejected { plugin, reason } if reason.is_empty() => format!("turned down by {plugin}"),
        VerdictClass::Rejected { plugin, reason } => format!("{reason} ({plugin})"),
        VerdictClass::Excluded => "left out by PreFilter".to_owned(),
        VerdictClass::NotEvaluated => "not looked at".to_owned(),
        VerdictClass::Other => "turned down otherwise".to_owned(),
    }
}

/// Nodes that went from one verdict to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The verdict before.
    pub from: VerdictClass,
    /// The verdict after.
    pub to: VerdictClass,
    /// The nodes, in the order of the later attempt.
    pub nodes: Vec<Str>,
}

/// What differs between the verdicts of two attempts.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct VerdictDiff {
    /// The nodes whose verdict changed, those that fit now first, then by their number.
    pub flips: Vec<Flip>,
    /// Nodes that the later attempt alone saw.
    pub came: Vec<Str>,
    /// Nodes that the earlier attempt alone saw.
    pub went: Vec<Str>,
}

/// Compares the verdicts of two attempts node by node.
pub fn compare_verdicts(before: &NodeVerdicts, after: &NodeVerdicts) -> VerdictDiff {
    let mut known: BTreeMap<&Str, &VerdictClass> = before.iter().collect();
    let mut flips: BTreeMap<(&VerdictClass, &VerdictClass), Vec<Str>> = BTreeMap::new();
    let mut came = Vec::new();
    for (node, to) in after.iter() {
        match known.remove(node) {
            None => came.push(node.clone()),
            Some(from) if from == to => {}
            Some(from) => flips.entry((from, to)).or_default().push(node.clone()),
        }
    }
    let went = before.iter().map(|(node, _)| node).filter(|node| known.contains_key(node)).cloned().collect();
    let mut flips: Vec<Flip> = flips
        .into_iter()
        .map(|((from, to), nodes)| Flip { from: from.clone(), to: to.clone(), nodes })
        .collect();
    let is_feasible = |flip: &Flip| flip.to == VerdictClass::Feasible;
    flips.sort_by(|a, b| is_feasible(b).cmp(&is_feasible(a)).then_with(|| b.nodes.len().cmp(&a.nodes.len())));
    VerdictDiff { flips, came, went }
}

/// What differed between two attempts of a pod, one change a line.
pub fn differences(before: &Attempt, after: &Attempt) -> Vec<String> {
    let (Some(earlier), Some(later)) = (&before.verdicts, &after.verdicts) else {
        let missing = |attempt: &Attempt| match (&attempt.verdicts, &attempt.outcome) {
            (Some(_), _) => None,
            (None, CycleOutcome::Skipped { .. }) => Some(format!("attempt {} was skipped", attempt.number)),
            (None, _) => Some(format!("the verdicts of attempt {} are not known", attempt.number)),
        };
        return [missing(before), missing(after)].into_iter().flatten().take(1).collect();
    };
    let diff = compare_verdicts(earlier, later);
    let nodes = |nodes: &[Str]| format!("{}: {}", counted(nodes.len(), "node"), listed(nodes, N_NODES_NAMED));
    let mut lines: Vec<String> = diff
        .flips
        .iter()
        .map(|flip| format!("{} {} -> {}", nodes(&flip.nodes), verdict(&flip.from), verdict(&flip.to)))
        .collect();
    if !diff.came.is_empty() {
        // What came is told with its verdict, since that is what it changes.
        let of_new: Vec<String> = later
            .iter()
            .filter(|(node, _)| diff.came.contains(node))
            .take(N_NODES_NAMED)
            .map(|(node, class)| format!("{node} {}", verdict(class)))
            .collect();
        let rest = diff.came.len() - of_new.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        lines.push(format!("new: {}{more}", of_new.join(", ")));
    }
    if !diff.went.is_empty() {
        lines.push(format!("gone: {}", nodes(&diff.went)));
    }
    if lines.is_empty() {
        lines.push("every node was judged as before".to_owned());
    }
    lines
}

/// The attempt of that number, and the one of the same pod before it.
pub fn attempt_of(log: &PodLog, number: u64) -> Option<(&Attempt, Option<&Attempt>)> {
    let at = log.attempts.iter().position(|attempt| attempt.number == number)?;
    let before = at.checked_sub(1).and_then(|at| log.attempts.get(at));
    log.attempts.get(at).map(|attempt| (attempt.as_ref(), before.map(AsRef::as_ref)))
}
