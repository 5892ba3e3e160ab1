//! How many more pods like one fit: copies of it are scheduled in a copy of the sandbox until one finds no place.
//!
//! What the cluster-capacity tool of kubernetes-sigs does, with this scheduler: the answer comes from scheduling, not
//! from arithmetic, so every constraint counts. Pods that wait already are scheduled first, as they would be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::runner::{run_to_rest, run_watched};
use super::sandbox::returns::fresh_copy;
use super::sandbox::simulator::Simulator;
use crate::api::objects::{Labels, Pod};
use crate::api::{Duration, NamespacedName, Str};
use crate::scheduler::trace::CycleOutcome;

/// How many nodes are listed for people.
const N_NODES: usize = 20;

/// What is asked.
#[derive(Clone, Debug)]
pub struct CapacityQuestion {
    /// The pod; a copy of it is made for each place.
    pub pod: Arc<Pod>,
    /// Whether copies may preempt.
    pub may_preempt: bool,
    /// How many copies are tried at most.
    pub n_max: usize,
}

/// Why no more fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityReason {
    /// The plugin.
    pub plugin: String,
    /// Its words.
    pub reason: String,
    /// How many nodes it stops.
    pub n_nodes: usize,
    /// How many of them nothing else stops.
    pub n_alone: usize,
}

/// What a node takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityNode {
    /// The node.
    pub node: Str,
    /// How many copies it took.
    pub n: usize,
    /// What stops it in the end: plugin and words of each that refuses.
    pub stopped_by: Vec<(String, String)>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityReport {
    /// The pod.
    pub pod: NamespacedName,
    /// How many copies got a place.
    pub n: usize,
    /// Whether copies might preempt.
    pub may_preempt: bool,
    /// Whether the number was reached that was tried at most, so that more may fit.
    pub is_cut: Option<&'static str>,
    /// What the first copy without a place was told.
    pub message: String,
    /// What stops nodes, the most frequent first: what binds.
    pub reasons: Vec<CapacityReason>,
    /// Every node, those that took most first.
    pub nodes: Vec<CapacityNode>,
    /// Pods that copies have evicted.
    pub evicted: Vec<NamespacedName>,
    /// Pods that waited before and have no place either.
    pub n_pending_before: usize,
}

impl CapacityReport {
    /// For people.
    pub fn text(&self) -> String {
        let report = self;
        let n = report.n;
        let fit = if n == 1 { "1 more pod fits".to_owned() } else { format!("{n} more pods fit") };
        let mut text = format!("{fit} like {}", report.pod);
        text.push_str(match (report.is_cut, report.may_preempt) {
            (Some(_), _) => " at least",
            (None, true) => ", with preemption",
            (None, false) => "",
        });
        text.push_str(&report.is_cut.map_or_else(|| ".\n".to_owned(), |why| format!(": {why}.\n")));
        if report.n_pending_before > 0 {
            text.push_str(&format!("{} pods waited before and have no place.\n", report.n_pending_before));
        }
        if !report.evicted.is_empty() {
            let names: Vec<String> = report.evicted.iter().take(10).map(ToString::to_string).collect();
            let more = report.evicted.len().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("Evicted for them: {}{more}.\n", names.join(", ")));
        }
        if !report.message.is_empty() {
            text.push_str(&format!("The next one is told: {}\n", report.message));
        }
        if let Some(first) = report.reasons.first() {
            text.push_str(&format!(
                "\nWhat binds first: {} ({}), on {} of {} nodes\n",
                first.reason,
                first.plugin,
                first.n_nodes,
                report.nodes.len()
            ));
            text.push_str("  NODES  ALONE  PLUGIN                REASON\n");
            for reason in &report.reasons {
                let CapacityReason { plugin, reason, n_nodes, n_alone } = reason;
                text.push_str(&format!("  {n_nodes:>5}  {n_alone:>5}  {plugin:<20}  {reason}\n"));
            }
        }
        text.push_str("\nBy node\n");
        for CapacityNode { node, n, stopped_by } in report.nodes.iter().take(N_NODES) {
            let reasons: Vec<&str> = stopped_by.iter().map(|(_, reason)| reason.as_str()).collect();
            let stopped =
                if reasons.is_empty() { String::new() } else { format!("  {}", reasons.join(", ")) };
            text.push_str(&format!("  {n:>5}  {node}{stopped}\n"));
        }
        let rest = report.nodes.len().saturating_sub(N_NODES);
        if rest > 0 {
            text.push_str(&format!("         {rest} more nodes\n"));
        }
        text
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// No profile is responsible for it.
    #[error("the pod is for another scheduler: it asks for {0:?}")]
    Ignored(Str),
    /// The cluster does not take the pod.
    #[error("{0}")]
    Refused(String),
}

/// Fills a copy of the sandbox. `go_on` hears of the number of copies so far and may end it.
///
/// # Errors
/// If the pod cannot be there at all.
pub fn capacity(
    start: &Simulator,
    question: &CapacityQuestion,
    go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<CapacityReport, CapacityError> {
    if !start.scheduler().has_profile(&question.pod.spec.scheduler_name) {
        return Err(CapacityError::Ignored(question.pod.spec.scheduler_name.clone()));
    }
    let mut copy = start.clone();
    copy.leave_recording();
    // Nobody looks at evidence of it.
    copy.scheduler_mut().set_tracing(false);
    run_to_rest(&mut copy);
    let before = assigned(&copy);
    let n_pending_before = copy.scheduler().n_pending();
    let mut names = names(&copy, &question.pod);
    let mut report = CapacityReport {
        pod: question.pod.key(),
        n: 0,
        may_preempt: question.may_preempt,
        is_cut: None,
        message: String::new(),
        reasons: Vec::new(),
        nodes: Vec::new(),
        evicted: Vec::new(),
        n_pending_before,
    };
    let mut by_node: BTreeMap<Str, usize> = BTreeMap::new();
    let mut copies: BTreeSet<NamespacedName> = BTreeSet::new();
    let last = loop {
        if report.n >= question.n_max {
            report.is_cut = Some("as many were tried as may be");
            break None;
        }
        if go_on(report.n).is_break() {
            report.is_cut = Some("the time was over");
            break None;
        }
        let Some(pod) = names.next().map(|name| copy_of(&question.pod, name, question.may_preempt)) else {
            break None;
        };
        let key = pod.key();
        let created = copy.change_now(|api, now| api.create(pod.into(), now));
        created.map_err(|error| CapacityError::Refused(error.to_string()))?;
        settle(&mut copy, &key, question.may_preempt);
        let Some(pod) = copy.api().objects().pods.get(&key).cloned() else { break None };
        if !pod.is_assigned() {
            break Some(pod);
        }
        *by_node.entry(pod.spec.node_name.clone()).or_default() += 1;
        copies.insert(key);
        report.n += 1;
    };
    if question.may_preempt {
        let now = assigned(&copy);
        // A copy that was evicted by another one had its place for a while only.
        let lost = copies.iter().filter(|key| !now.contains(*key)).count();
        report.n -= lost;
        report.evicted = before.difference(&now).cloned().collect();
        by_node.clear();
        for pod in copies.iter().filter_map(|key| copy.api().objects().pods.get(key)) {
            if pod.is_assigned() {
                *by_node.entry(pod.spec.node_name.clone()).or_default() += 1;
            }
        }
    }
    why(&copy, last.as_ref(), &mut by_node, &mut report);
    Ok(report)
}

/// Lets attempts be made until it is known what becomes of the pod.
fn settle(simulator: &mut Simulator, key: &NamespacedName, may_preempt: bool) {
    if may_preempt {
        run_watched(simulator, Duration::ZERO, &mut |_, _| true);
        return;
    }
    let uid = simulator.api().objects().pods.get(key).map(|pod| pod.uid().clone());
    let Some(uid) = uid else { return };
    let mut n_steps = 2 * simulator.scheduler().n_pending() + 8;
    let is_decided = |simulator: &Simulator| {
        let pod = simulator.api().objects().pods.get(key);
        pod.is_none_or(|pod| pod.is_assigned()) || simulator.scheduler().last_message(&uid).is_some()
    };
    while n_steps > 0 && !is_decided(simulator) {
        n_steps -= 1;
        if simulator.step_cycle() {
            continue;
        }
        if simulator.is_at_rest() || !simulator.go_to_next_timeout() {
            return;
        }
    }
}

fn assigned(simulator: &Simulator) -> BTreeSet<NamespacedName> {
    let pods = simulator.api().objects().pods.iter();
    pods.filter(|(_, pod)| pod.is_assigned() && !pod.is_terminating()).map(|(key, _)| key.clone()).collect()
}

/// Names that nobody has.
fn names(simulator: &Simulator, pod: &Pod) -> impl Iterator<Item = Str> + use<> {
    let taken: BTreeSet<Str> = simulator
        .api()
        .objects()
        .pods
        .keys()
        .filter(|key| key.namespace == pod.metadata.namespace)
        .map(|key| key.name.clone())
        .collect();
    let base = pod.metadata.name.clone();
    (1..u64::MAX).map(move |n| Str::from(format!("{base}-{n}"))).filter(move |name| !taken.contains(name))
}

fn copy_of(pod: &Pod, name: Str, may_preempt: bool) -> Pod {
    let mut copy = fresh_copy(pod, name);
    copy.metadata.annotations = Labels::default();
    if !may_preempt {
        copy.spec.preemption_policy = Some("Never".to_owned());
    }
    copy
}

/// What stops every node now.
fn why(
    simulator: &Simulator,
    last: Option<&Arc<Pod>>,
    by_node: &mut BTreeMap<Str, usize>,
    report: &mut CapacityReport,
) {
    let reading = last.and_then(|pod| simulator.scheduler().read(pod, None));
    let mut reasons: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    if let (Some(reading), Some(pod)) = (&reading, last) {
        report.message = match &reading.trace.outcome {
            CycleOutcome::Unschedulable { message, .. } | CycleOutcome::Error { message } => message.clone(),
            _ => simulator.scheduler().last_message(pod.uid()).map(ToString::to_string).unwrap_or_default(),
        };
        for node in &reading.nodes {
            let mut stopped_by = Vec::new();
            for refusal in &node.refusals {
                for reason in refusal.status.reasons() {
                    let key = (refusal.plugin.to_owned(), reason.clone());
                    let (n, alone) = reasons.entry(key.clone()).or_default();
                    *n += 1;
                    *alone += usize::from(node.refusals.len() == 1 && refusal.status.reasons().len() == 1);
                    stopped_by.push(key);
                }
            }
            let n = by_node.remove(&node.node).unwrap_or_default();
            report.nodes.push(CapacityNode { node: node.node.clone(), n, stopped_by });
        }
    }
    let rest = std::mem::take(by_node).into_iter();
    report.nodes.extend(rest.map(|(node, n)| CapacityNode { node, n, stopped_by: Vec::new() }));
    report.nodes.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.node.cmp(&b.node)));
    report.reasons = reasons
        .into_iter()
        .map(|((plugin, reason), (n_nodes, n_alone))| CapacityReason { plugin, reason, n_nodes, n_alone })
        .collect();
    report.reasons.sort_by(|a, b| {
        b.n_nodes.cmp(&a.n_nodes).then(b.n_alone.cmp(&a.n_alone)).then_with(|| a.reason.cmp(&b.reason))
    });
}
