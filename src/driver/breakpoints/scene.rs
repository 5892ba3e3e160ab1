//! What there is to know about one moment, for conditions to be asked about.
//!
//! A moment has facts of its own, such as the pod of the attempt, and rows: what one plugin said of one node. A
//! condition is true of a moment if it is true of it with one of its rows, so `plugin == TaintToleration && node == a-1`
//! speaks of one answer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::expr::{Field, ScoreKind};
use crate::api::objects::Pod;
use crate::api::{NamespacedName, ObjectStore};
use crate::driver::sandbox::api::WatchEvent;
use crate::framework::runtime::PluginVerdict;
use crate::framework::{ActionType, ClusterEvent, EventResource, Status};
use crate::scheduler::trace::{CycleOutcome, CycleTrace, NodeVerdict, Phase};
use crate::scheduler::view::{Counts, CycleSummary, QueueMoveLine};
use crate::scheduler::{HintResult, QueueMove, Scheduler};

/// What is the same for all scenes of one moment.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    counts: Counts,
    history: &'a VecDeque<CycleSummary>,
    objects: &'a ObjectStore,
}

impl<'a> Around<'a> {
    /// What a scheduler knows now.
    pub fn new(scheduler: &'a Scheduler) -> Self {
        Self { counts: scheduler.counts(), history: scheduler.history(), objects: scheduler.objects() }
    }
}

/// One moment.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    what: What<'a>,
    around: Around<'a>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Phase(&'a CycleTrace, Phase),
    Outcome(&'a CycleSummary, Option<&'a CycleTrace>),
    Move(&'a QueueMoveLine),
    Change(&'a WatchEvent),
}

/// What one plugin said of one node, or what else belongs together.
#[derive(Clone, Copy, Default)]
pub struct Row<'a> {
    plugin: Option<&'a str>,
    node: Option<&'a str>,
    status: Option<&'a Status>,
    points: Option<i64>,
    /// The place of the node among those that were scored.
    scored: Option<usize>,
    victim: Option<&'a Pod>,
    hint: Option<&'static str>,
}

/// A value that a field has.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// The reasons of a status.
    Reasons(&'a [String]),
    /// An object.
    Name(&'a str, &'a str),
    /// A change of the cluster.
    Event(EventValue),
    /// A number.
    Number(i64),
    /// A duration, in milliseconds.
    Millis(i64),
    /// Yes or no.
    Flag(bool),
}

/// A change of the cluster: what it is about, and what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventValue {
    resource: String,
    verb: String,
    is_update: bool,
    /// Its own name, if it has one.
    label: Option<&'static str>,
}

impl EventValue {
    fn of_cluster_event(event: &ClusterEvent) -> Self {
        let resource = match event.resource {
            EventResource::AssignedPod | EventResource::UnschedulablePod => "Pod",
            other => other.as_str().rsplit('/').next().unwrap_or_default(),
        };
        Self {
            resource: resource.to_owned(),
            verb: event.action_type.to_string(),
            is_update: event.custom_label.is_none() && ActionType::UPDATE.contains(event.action_type),
            label: event.custom_label,
        }
    }

    fn of_watch_event(event: &WatchEvent) -> Self {
        let (verb, is_update) = match event {
            WatchEvent::Added(_) => ("Add", false),
            WatchEvent::Modified { .. } => ("Update", true),
            WatchEvent::Deleted(_) => ("Delete", false),
        };
        let resource = event.object().kind().as_str().to_owned();
        Self { resource, verb: verb.to_owned(), is_update, label: None }
    }

    /// Whether a person means it by `Node/Update`, `Node/*`, `Node`, `NodeUpdate` or `BackoffComplete`.
    pub fn is_meant_by(&self, text: &str) -> bool {
        if let Some(label) = self.label {
            return label.eq_ignore_ascii_case(text);
        }
        let is_resource = |text: &str| text == "*" || self.resource.eq_ignore_ascii_case(text);
        let is_verb = |text: &str| {
            text == "*"
                || self.verb.eq_ignore_ascii_case(text)
                || self.is_update && text.eq_ignore_ascii_case("update")
        };
        match text.split_once('/') {
            Some((resource, verb)) => is_resource(resource) && is_verb(verb),
            None => is_resource(text) || format!("{}{}", self.resource, self.verb).eq_ignore_ascii_case(text),
        }
    }

    /// As it is shown.
    pub fn text(&self) -> String {
        self.label.map_or_else(|| format!("{}/{}", self.resource, self.verb), str::to_owned)
    }
}

impl<'a> Scene<'a> {
    /// The moment at which a phase of an attempt was done.
    pub const fn phase(trace: &'a CycleTrace, phase: Phase, around: Around<'a>) -> Self {
        Self { what: What::Phase(trace, phase), around }
    }

    /// The moment at which an attempt has ended; `trace` is that of an attempt that has ended now.
    pub fn outcome(line: &'a CycleSummary, trace: Option<&'a CycleTrace>, around: Around<'a>) -> Self {
        let trace = trace.filter(|trace| trace.number == line.number);
        Self { what: What::Outcome(line, trace), around }
    }

    /// The moment at which a pod has moved between queues, or might have.
    pub const fn queue_move(line: &'a QueueMoveLine, around: Around<'a>) -> Self {
        Self { what: What::Move(line), around }
    }

    /// The moment at which the cluster has changed.
    pub const fn change(event: &'a WatchEvent, around: Around<'a>) -> Self {
        Self { what: What::Change(event), around }
    }

    /// What it is, such as `Filter of shop/web (cycle 3)`.
    pub fn place(&self) -> String {
        match self.what {
            What::Phase(trace, phase) => format!("{phase} of {} (cycle {})", trace.pod_key(), trace.number),
            What::Outcome(line, _) => format!("the end of cycle {} ({})", line.number, line.pod),
            What::Move(line) => format!("a move of {} in the queue", line.pod),
            What::Change(event) => {
                let object = event.object();
                format!("a change of {} {}", object.kind().as_str().to_lowercase(), object.key())
            }
        }
    }

    /// The pod that it is about.
    fn pod(&self) -> Option<&'a Arc<Pod>> {
        match self.what {
            What::Phase(trace, _) => Some(&trace.pod_info.pod),
            What::Outcome(line, trace) => match trace {
                Some(trace) => Some(&trace.pod_info.pod),
                None => self.around.objects.pods.get(&line.pod),
            },
            What::Move(line) => self.around.objects.pods.get(&line.pod),
            What::Change(event) => match event.object() {
                crate::api::Object::Pod(pod) => Some(pod),
                _ => None,
            },
        }
    }

    /// The name of that pod, also where it is gone.
    fn pod_name(&self) -> Option<(&'a str, &'a str)> {
        fn name(key: &NamespacedName) -> (&str, &str) {
            (&key.namespace, &key.name)
        }
        match self.what {
            What::Outcome(line, _) => Some(name(&line.pod)),
            What::Move(line) => match &line.entry {
                QueueMove::Entered { .. } | QueueMove::Judged { .. } => Some(name(&line.pod)),
            },
            What::Phase(..) | What::Change(_) => {
                self.pod().map(|pod| (&*pod.metadata.namespace, &*pod.metadata.name))
            }
        }
    }

    fn trace(&self) -> Option<&'a CycleTrace> {
        match self.what {
            What::Phase(trace, _) => Some(trace),
            What::Outcome(_, trace) => trace,
            What::Move(_) | What::Change(_) => None,
        }
    }

    /// How far the attempt has come.
    fn has_done(&self, phase: Phase) -> bool {
        match self.what {
            What::Phase(_, done) => done >= phase,
            What::Outcome(..) => true,
            What::Move(_) | What::Change(_) => false,
        }
    }

    /// A label of the pod.
    pub fn label(&self, key: &str) -> Option<Value<'a>> {
        self.pod()?.metadata.labels.get(key).map(|value| Value::Text(value))
    }

    /// A field, with what a row says.
    pub fn field(&self, field: Field, row: Option<&Row<'a>>) -> Option<Value<'a>> {
        let number = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let count = |n: usize| number(n as u64);
        let counts = &self.around.counts;
        let trace = self.trace();
        Some(match field {
            Field::Pod => {
                let (namespace, name) = self.pod_name()?;
                Value::Name(namespace, name)
            }
            Field::Namespace => Value::Text(self.pod_name()?.0),
            Field::Priority => Value::Number(self.pod()?.priority().into()),
            Field::Attempts => Value::Number(trace?.attempt.into()),
            Field::Waited => Value::Millis(i64::try_from(trace?.queued_for.as_millis()).unwrap_or(i64::MAX)),
            Field::Profile => Value::Text(&self.pod()?.spec.scheduler_name),
            Field::Cycle => match self.what {
                What::Phase(trace, _) => number(trace.number),
                What::Outcome(line, _) => number(line.number),
                What::Move(_) | What::Change(_) => number(counts.cycles),
            },
            Field::Point => match self.what {
                What::Phase(_, phase) => Value::Text(phase.as_str()),
                _ => return None,
            },
            Field::Plugin => Value::Text(row?.plugin?),
            Field::Node => Value::Text(row.and_then(|row| row.node).or_else(|| self.node())?),
            Field::Code => Value::Text(row?.status?.code().as_str()),
            Field::Reason => Value::Reasons(row?.status?.reasons()),
            Field::Points => Value::Number(row?.points?),
            Field::Total => {
                let totals = &trace?.score.as_ref()?.scores.totals;
                Value::Number(*totals.get(row?.scored?)?)
            }
            Field::Feasible if self.has_done(Phase::Filter) => count(trace?.filter.as_ref()?.n_feasible()),
            Field::Chosen => Value::Text(self.chosen()?),
            Field::Last => Value::Text(self.last()?),
            Field::Margin if self.has_done(Phase::Select) => {
                let selection = trace?.selection.as_ref()?;
                Value::Number(selection.total? - selection.runner_up.as_ref()?.1)
            }
            Field::Preemption => match self.what {
                What::Phase(trace, Phase::PostFilter) => {
                    let nominated = trace.post_filter.as_ref()?.nominated_node.as_deref();
                    Value::Flag(nominated.is_some_and(|node| !node.is_empty()))
                }
                What::Phase(..) => Value::Flag(false),
                _ => return None,
            },
            Field::Victim => {
                let metadata = &row?.victim?.metadata;
                Value::Name(&metadata.namespace, &metadata.name)
            }
            Field::Nominated => Value::Text(self.nominated()?),
            Field::Outcome => match self.what {
                What::Outcome(line, _) => Value::Text(outcome_name(&line.outcome)),
                _ => return None,
            },
            Field::Message => match self.what {
                What::Outcome(line, _) => Value::Text(message(&line.outcome)),
                _ => return None,
            },
            Field::Event => match self.what {
                What::Move(line) => match &line.entry {
                    QueueMove::Entered { event, .. } | QueueMove::Judged { event, .. } => {
                        Value::Event(EventValue::of_cluster_event(event))
                    }
                },
                What::Change(event) => Value::Event(EventValue::of_watch_event(event)),
                _ => return None,
            },
            Field::Queue => match self.what {
                What::Move(line) => match &line.entry {
                    QueueMove::Entered { queue, .. } => Value::Text(queue.as_str()),
                    QueueMove::Judged { .. } => return None,
                },
                _ => return None,
            },
            Field::Hint => Value::Text(row?.hint?),
            Field::Bound => number(counts.bound),
            Field::Failed => number(counts.failed),
            Field::Evicted => number(counts.preempted),
            Field::Feasible | Field::Margin => return None,
        })
    }

    /// The node that the moment itself is about.
    fn node(&self) -> Option<&'a str> {
        match self.what {
            What::Phase(..) => self.chosen(),
            What::Outcome(line, _) => match &line.outcome {
                CycleOutcome::Bound { node } => Some(node),
                _ => None,
            },
            What::Change(event) => match event.object() {
                crate::api::Object::Node(node) => Some(&node.metadata.name),
                crate::api::Object::Pod(pod) if pod.is_assigned() => Some(&pod.spec.node_name),
                _ => None,
            },
            What::Move(_) => None,
        }
    }

    fn chosen(&self) -> Option<&'a str> {
        let selection = self.trace()?.selection.as_ref()?;
        self.has_done(Phase::Select).then_some(&*selection.host)
    }

    /// Where the pod was to go before this attempt.
    fn last(&self) -> Option<&'a str> {
        let trace = self.trace()?;
        let nominated = &trace.pod_info.pod.status.nominated_node_name;
        if !nominated.is_empty() {
            return Some(nominated);
        }
        let key = trace.pod_key();
        let before = self.around.history.iter().rev();
        let mut before = before.filter(|line| line.number < trace.number && line.pod == key);
        before.find_map(|line| line.host.as_deref())
    }

    fn nominated(&self) -> Option<&'a str> {
        let by_post_filter = || self.trace()?.post_filter.as_ref()?.nominated_node.as_deref();
        let nominated = self.has_done(Phase::PostFilter).then(by_post_filter).flatten();
        let nominated = nominated.filter(|node| !node.is_empty());
        nominated.or_else(|| {
            let node = &self.pod()?.status.nominated_node_name;
            (!node.is_empty()).then_some(&**node)
        })
    }

    /// What a Score plugin gave the node of a row.
    pub fn score(&self, kind: ScoreKind, plugin: &str, row: Option<&Row<'a>>) -> Option<Value<'a>> {
        let score = self.trace()?.score.as_ref()?;
        let scored = row?.scored?;
        let of = score.scores.plugins.iter().find(|scores| scores.plugin.eq_ignore_ascii_case(plugin));
        let Some(of) = of else {
            // What an extender adds to a total has no other form.
            let (_, points) = score.extenders.iter().find(|(name, _)| **name == *plugin)?;
            return points.get(scored).map(|points| Value::Number(*points));
        };
        let normalized = || of.normalized.get(scored).copied();
        Some(Value::Number(match kind {
            ScoreKind::Normalized => normalized()?,
            ScoreKind::Raw => of.raw.get(scored).copied()?,
            ScoreKind::Weighted => normalized()?.saturating_mul(of.weight),
        }))
    }

    /// Shows the rows one by one, until `see` answers true. Whether it did.
    pub fn rows(&self, see: &mut dyn FnMut(&Row<'a>) -> bool) -> bool {
        match self.what {
            What::Phase(trace, phase) => phase_rows(trace, phase, see),
            What::Move(line) => match &line.entry {
                QueueMove::Judged { answers, .. } => answers.iter().any(|answer| {
                    let hint = match answer.result {
                        HintResult::Skip => "Skip",
                        HintResult::Queue | HintResult::Error(_) => "Queue",
                    };
                    see(&Row { plugin: Some(answer.plugin), hint: Some(hint), ..Row::default() })
                }),
                QueueMove::Entered { .. } => false,
            },
            What::Outcome(..) | What::Change(_) => false,
        }
    }
}

fn phase_rows<'a>(trace: &'a CycleTrace, phase: Phase, see: &mut dyn FnMut(&Row<'a>) -> bool) -> bool {
    let host = trace.selection.as_ref().map(|selection| &*selection.host);
    let mut verdicts = |verdicts: Option<&'a Vec<PluginVerdict>>, node: Option<&'a str>| {
        verdicts.into_iter().flatten().any(|verdict| {
            let (plugin, status) = (Some(verdict.plugin), Some(&verdict.status));
            see(&Row { plugin, status, node, ..Row::default() })
        })
    };
    match phase {
        Phase::Pop | Phase::Assume | Phase::WaitOnPermit => false,
        Phase::PreFilter => verdicts(trace.pre_filter.as_ref(), None),
        Phase::PreScore => verdicts(trace.pre_score.as_ref(), None),
        Phase::Reserve => verdicts(trace.reserve.as_ref(), host),
        Phase::Permit => verdicts(trace.permit.as_ref(), host),
        Phase::PreBind => verdicts(trace.pre_bind.as_ref(), host),
        Phase::Bind => verdicts(trace.bind.as_ref(), host),
        Phase::PostBind => trace
            .post_bind
            .iter()
            .flatten()
            .any(|plugin| see(&Row { plugin: Some(plugin), node: host, ..Row::default() })),
        Phase::Filter => filter_rows(trace, see),
        Phase::PostFilter => {
            verdicts(trace.post_filter.as_ref().map(|post_filter| &post_filter.verdicts), None)
                || victim_rows(trace, see)
        }
        Phase::Score => score_rows(trace, see),
        Phase::Select => {
            let scored = trace
                .score
                .as_ref()
                .and_then(|score| score.nodes.iter().position(|node| Some(&**node) == host));
            see(&Row { node: host, scored, ..Row::default() })
        }
    }
}

fn filter_rows<'a>(trace: &'a CycleTrace, see: &mut dyn FnMut(&Row<'a>) -> bool) -> bool {
    static SUCCESS: Status = Status::SUCCESS;
    let Some(filter) = &trace.filter else { return false };
    let asked = || filter.plugins.iter().filter(|plugin| !filter.skipped.contains(*plugin));
    for (verdict, node) in filter.verdicts.iter().zip(trace.nodes()) {
        let node = Some(&**node.name());
        let by = match verdict {
            NodeVerdict::Feasible => None,
            NodeVerdict::Rejected(status) => Some(status),
            NodeVerdict::Excluded | NodeVerdict::NotEvaluated => continue,
        };
        let agreed = asked().take_while(|plugin| by.is_none_or(|status| status.plugin() != **plugin));
        let mut rows = agreed.map(|plugin| (*plugin, &SUCCESS)).chain(by.map(|by| (by.plugin(), by)));
        let is_seen = rows.any(|(plugin, status)| see(&row_of(plugin, status, node)));
        if is_seen {
            return true;
        }
    }
    filter.by_extenders.iter().any(|(node, status)| see(&row_of(status.plugin(), status, Some(node))))
}

fn row_of<'a>(plugin: &'a str, status: &'a Status, node: Option<&'a str>) -> Row<'a> {
    Row { plugin: Some(plugin), status: Some(status), node, ..Row::default() }
}

fn victim_rows<'a>(trace: &'a CycleTrace, see: &mut dyn FnMut(&Row<'a>) -> bool) -> bool {
    let Some(evidence) = trace.post_filter.as_ref().and_then(|post_filter| post_filter.evidence.as_ref())
    else {
        return false;
    };
    let is_taken = |node: &crate::api::Str| evidence.selected.as_ref() == Some(node);
    evidence.candidates.iter().filter(|candidate| is_taken(&candidate.node_name)).any(|candidate| {
        candidate.victims.pods.iter().any(|victim| {
            let node = Some(&*candidate.node_name);
            see(&Row { victim: Some(&victim.pod), node, ..Row::default() })
        })
    })
}

fn score_rows<'a>(trace: &'a CycleTrace, see: &mut dyn FnMut(&Row<'a>) -> bool) -> bool {
    let Some(score) = &trace.score else { return false };
    score.nodes.iter().enumerate().any(|(i, node)| {
        score.scores.plugins.iter().any(|plugin| {
            let points = plugin.normalized.get(i).copied();
            see(&Row {
                plugin: Some(plugin.plugin),
                node: Some(node),
                points,
                scored: Some(i),
                ..Row::default()
            })
        })
    })
}

/// The phases of an attempt that have left evidence, in order.
pub fn phases_done(trace: &CycleTrace) -> impl Iterator<Item = Phase> + '_ {
    Phase::ALL.into_iter().filter(|phase| {
        *phase <= trace.phase
            && match phase {
                Phase::Pop => true,
                Phase::PreFilter => trace.pre_filter.is_some(),
                Phase::Filter => trace.filter.is_some(),
                Phase::PostFilter => trace.post_filter.is_some(),
                Phase::PreScore => trace.pre_score.is_some(),
                Phase::Score => trace.score.is_some(),
                Phase::Select => trace.selection.is_some(),
                Phase::Assume => trace.selection.is_some() && trace.post_filter.is_none(),
                Phase::Reserve => trace.reserve.is_some(),
                Phase::Permit => trace.permit.is_some(),
                Phase::WaitOnPermit => trace.phase == Phase::WaitOnPermit,
                Phase::PreBind => trace.pre_bind.is_some(),
                Phase::Bind => trace.bind.is_some(),
                Phase::PostBind => trace.post_bind.is_some(),
            }
    })
}

const fn outcome_name(outcome: &CycleOutcome) -> &'static str {
    match outcome {
        CycleOutcome::InProgress => "InProgress",
        CycleOutcome::Tried { .. } => "Tried",
        CycleOutcome::Waiting { .. } => "Waiting",
        CycleOutcome::Binding { .. } => "Binding",
        CycleOutcome::Bound { .. } => "Bound",
        CycleOutcome::Unschedulable { .. } => "Unschedulable",
        CycleOutcome::Error { .. } => "Error",
        CycleOutcome::Skipped { .. } => "Skipped",
    }
}

fn message(outcome: &CycleOutcome) -> &str {
    match outcome {
        CycleOutcome::Unschedulable { message, .. } | CycleOutcome::Error { message } => message,
        CycleOutcome::Skipped { reason } => reason,
        _ => "",
    }
}
