//! The functions of a lesson's answers: what the engine did, read off its evidence.

use std::collections::BTreeSet;

use crate::api::{Kind, NamespacedName, Str};
use crate::explain::{PodPlace, place_of};
use crate::framework::runtime::PluginVerdict;
use crate::framework::{NodeInfo, Status};
use crate::scheduler::pod_log::Attempt;
use crate::scheduler::trace::{CycleTrace, FilterTrace, NodeVerdict};

use super::answer::{Answer, short};
use super::expression::Moment;
use super::script::object_name;

/// What a function comes to, or why it has no answer.
type Evaluated = Result<Answer, String>;

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What stands in the brackets.
    pub arguments: &'static [&'static str],
    /// What it says.
    pub about: &'static str,
    pub(super) evaluate: fn(&Moment, &[String]) -> Evaluated,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Function {
    /// As it is written, such as `chosen(POD)`.
    pub fn usage(&self) -> String {
        format!("{}({})", self.name, self.arguments.join(", "))
    }
}

macro_rules! functions {
    ($($name:literal ($($argument:literal),*) $about:literal => $evaluate:expr;)+) => {
        /// Every function.
        pub const FUNCTIONS: &[Function] = &[$(
            Function { name: $name, arguments: &[$($argument),*], about: $about, evaluate: $evaluate },
        )+];
    };
}

functions! {
    "chosen" ("POD") "the node that the pod's last attempt has chosen, or none" => |moment, words| {
        let trace = last(moment, words)?;
        Ok(Answer::name_or_none(trace.selection.as_ref().map(|selection| &selection.host)))
    };
    "node" ("POD") "the node that the pod is on, or none" => |moment, words| {
        Ok(Answer::name_or_none(node_of(moment, word(words, 0)?)))
    };
    "domain" ("POD", "LABEL") "the value of that label on the node that the pod is on, or none" => |moment, words| {
        let node = node_of(moment, word(words, 0)?).and_then(|node| info(moment, &node));
        let value = node.and_then(|info| info.node()).and_then(|node| node.metadata.labels.get(word(words, 1).ok()?));
        Ok(Answer::name_or_none(value))
    };
    "plugin" ("POD", "NODE") "the plugin that turned the node down in the pod's last attempt, or none" => |moment, words| {
        Ok(Answer::name_or_none(refusal(moment, words)?.map(|status| status.plugin().to_owned())))
    };
    "code" ("POD", "NODE") "the status code of that plugin, or Success" => |moment, words| {
        let refused = refusal(moment, words)?;
        Ok(Answer::Name(refused.map_or("Success", |status| status.code().as_str()).to_owned()))
    };
    "plugins" ("POD") "the plugins that turned the pod down in its last attempt" => |moment, words| {
        let trace = last(moment, words)?;
        let in_filter = trace.filter.iter().flat_map(|filter| &filter.verdicts).filter_map(|verdict| match verdict {
            NodeVerdict::Rejected(status) => Some(status.plugin().to_owned()),
            _ => None,
        });
        let steps = [&trace.pre_filter, &trace.reserve, &trace.permit];
        let in_steps = steps.into_iter().flatten().flatten();
        let in_steps = in_steps.filter(|verdict| verdict.status.is_rejected()).map(|verdict| verdict.plugin.to_owned());
        Ok(Answer::Names(in_filter.chain(in_steps).collect()))
    };
    "permit" ("POD") "what Permit said in the pod's last attempt: Success, Wait, or the code of a refusal; none if it did not come so far" => |moment, words| {
        let said = last(moment, words)?.permit.as_ref().map(|verdicts| permit_code(verdicts));
        Ok(Answer::name_or_none(said))
    };
    "gate" ("POD") "the plugin that keeps the pod out of activeQ, or none" => |moment, words| {
        let key = object_name(word(words, 0)?);
        let row = place_of(&moment.view, &key).and_then(|place| place.queue_row());
        Ok(Answer::name_or_none(row.and_then(|row| row.gated_by.clone())))
    };
    "feasible" ("POD") "how many nodes passed all filters in the pod's last attempt" => |moment, words| {
        count(filter(last(moment, words)?)?.n_feasible())
    };
    "evaluated" ("POD") "how many nodes the filters were asked about in the pod's last attempt" => |moment, words| {
        let verdicts = &filter(last(moment, words)?)?.verdicts;
        count(verdicts.iter().filter(|v| matches!(v, NodeVerdict::Feasible | NodeVerdict::Rejected(_))).count())
    };
    "rejected" ("POD", "PLUGIN") "how many nodes the plugin turned down in the pod's last attempt" => |moment, words| {
        let plugin = word(words, 1)?;
        let verdicts = &filter(last(moment, words)?)?.verdicts;
        count(verdicts.iter().filter(|v| matches!(v, NodeVerdict::Rejected(status) if status.plugin() == plugin)).count())
    };
    "raw" ("POD", "PLUGIN", "NODE") "the plugin's score for the node before normalization" => |moment, words| {
        points(moment, words, |raw, _, _| raw)
    };
    "score" ("POD", "PLUGIN", "NODE") "the same after normalization, from 0 to 100" => |moment, words| {
        points(moment, words, |_, normalized, _| normalized)
    };
    "weighted" ("POD", "PLUGIN", "NODE") "the same times the plugin's weight" => |moment, words| {
        points(moment, words, |_, normalized, weight| normalized.saturating_mul(weight))
    };
    "total" ("POD", "NODE") "the node's total in the pod's last attempt" => |moment, words| {
        let trace = last(moment, words)?;
        let node = word(words, 1)?;
        let score = trace.score.as_ref().ok_or("nothing was scored in that attempt")?;
        let at = score.nodes.iter().position(|name| name.as_ref() == node);
        let total = at.and_then(|at| score.scores.totals.get(at).copied());
        total.map(Answer::Number).ok_or_else(|| format!("node {node} was not scored"))
    };
    "ties" ("POD") "how many nodes share the highest total in the pod's last attempt" => |moment, words| {
        let selection = last(moment, words)?.selection.as_ref();
        count(selection.ok_or("no node was chosen in that attempt")?.ties.len())
    };
    "queue" ("POD") "where the pod is: active, backoff, unschedulable, gated, waiting, binding, bound, gone" => |moment, words| {
        Ok(Answer::Name(queue(moment, &object_name(word(words, 0)?)).to_owned()))
    };
    "place" ("POD") "the pod's place in activeQ, from 1 on; 0 if it is not there" => |moment, words| {
        match place_of(&moment.view, &object_name(word(words, 0)?)) {
            Some(PodPlace::Active(place, _)) => count(place),
            _ => count(0),
        }
    };
    "attempts" ("POD") "how often the pod was tried" => |moment, words| {
        let key = object_name(word(words, 0)?);
        count(moment.attempts.iter().filter(|trace| trace.pod_key() == key).count())
    };
    "tried" ("N") "the pod of the attempt with that number" => |moment, words| {
        let number = number(word(words, 0)?)?;
        let trace = moment.attempts.iter().find(|trace| trace.number == number);
        trace.map(|trace| Answer::pod(trace.pod_key())).ok_or_else(|| format!("there was no attempt {number}"))
    };
    "tried-at" ("POD") "when the pod's last attempt began, after the start" => |moment, words| {
        Ok(Answer::Time(last(moment, words)?.started.saturating_since(moment.start)))
    };
    "backoff" ("POD") "how long the pod's present backoff is in all; 0 if it does not back off" => |moment, words| {
        match place_of(&moment.view, &object_name(word(words, 0)?)) {
            Some(PodPlace::Backoff(row)) => Ok(Answer::Time(row.backoff_duration.unwrap_or_default())),
            _ => Ok(Answer::Time(crate::api::Duration::ZERO)),
        }
    };
    "woken-by" ("POD") "the event that brought the pod's last attempt about, as kube-scheduler names it" => |moment, words| {
        let trace = last(moment, words)?;
        let log = moment.view.pod_logs.get(&trace.pod_key());
        let attempt: Option<&Attempt> =
            log.and_then(|log| log.attempts.iter().find(|attempt| attempt.number == trace.number)).map(|a| &**a);
        Ok(Answer::name_or_none(attempt.and_then(|attempt| attempt.woken_by.as_ref()).map(|wake| wake.event.label())))
    };
    "message" ("POD") "the text of the pod's last FailedScheduling event, or none" => |moment, words| {
        let key = object_name(word(words, 0)?);
        let failed = |event: &&crate::scheduler::view::ObjectEvent| event.reason == "FailedScheduling" && event.regarding == key;
        Ok(Answer::name_or_none(moment.view.events.iter().rev().find(failed).map(|event| &event.note)))
    };
    "victims" ("POD") "the pods that were evicted to make room for the pod" => |moment, words| {
        let key = object_name(word(words, 0)?);
        let evicted = moment.view.events.iter().filter(|event| event.reason == "Preempted");
        let for_it = evicted.filter(|event| event.related.as_ref() == Some(&key));
        Ok(names(for_it.map(|event| event.regarding.to_string())))
    };
    "nominated" ("POD") "the node that the pod is nominated to, or none" => |moment, words| {
        let pod = moment.objects.pods.get(&object_name(word(words, 0)?));
        let node = pod.map(|pod| &pod.status.nominated_node_name).filter(|node| !node.is_empty());
        Ok(Answer::name_or_none(node))
    };
    "candidates" ("POD") "the nodes where evicting pods would have made room for the pod, in its last attempt with PostFilter" => |moment, words| {
        let key = object_name(word(words, 0)?);
        let tries = moment.attempts.iter().rev().filter(|trace| trace.pod_key() == key);
        let evidence = tries.filter_map(|trace| trace.post_filter.as_ref()?.evidence.as_ref()).next();
        let evidence = evidence.ok_or("no preemption was tried for that pod")?;
        Ok(names(evidence.candidates.iter().map(|candidate| candidate.node_name.to_string())))
    };
    "pods" ("NODE") "how many pods are on the node" => |moment, words| {
        let node = word(words, 0)?;
        count(info(moment, node).ok_or_else(|| format!("there is no node {node}"))?.pods().len())
    };
    "claim" ("NAME") "the volume that the claim is bound to, or none" => |moment, words| {
        let name = word(words, 0)?;
        let claim = moment.objects.persistent_volume_claims.get(&object_name(name));
        let claim = claim.ok_or_else(|| format!("there is no claim {name}"))?;
        Ok(Answer::name_or_none(Some(&claim.spec.volume_name).filter(|volume| !volume.is_empty())))
    };
    "devices" ("CLAIM") "the devices that are allocated to the resource claim" => |moment, words| {
        let name = word(words, 0)?;
        let claim = moment.objects.resource_claims.get(&object_name(name));
        let claim = claim.ok_or_else(|| format!("there is no resource claim {name}"))?;
        let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
        Ok(names(results.map(|result| result.device.to_string())))
    };
    "objects" ("KIND") "how many objects of the kind there are" => |moment, words| {
        let kind = word(words, 0)?;
        let known = Kind::ALL.iter().find(|known| known.as_str().eq_ignore_ascii_case(kind));
        count(moment.objects.count(*known.ok_or_else(|| format!("there is no kind {kind:?}"))?))
    };
}

fn word(words: &[String], at: usize) -> Result<&str, String> {
    words.get(at).map(String::as_str).ok_or_else(|| "an argument is missing".to_owned())
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word:?} is not a whole number"))
}

fn count(n: usize) -> Evaluated {
    i64::try_from(n).map(Answer::Number).map_err(|_| "too many to count".to_owned())
}

fn names(all: impl Iterator<Item = String>) -> Answer {
    Answer::Names(all.map(|name| short(&name).to_owned()).collect::<BTreeSet<_>>())
}

fn last<'a>(moment: &'a Moment, words: &[String]) -> Result<&'a CycleTrace, String> {
    let pod = word(words, 0)?;
    let trace = moment.last_attempt(&object_name(pod));
    trace.map(|trace| &**trace).ok_or_else(|| format!("pod {pod} was not tried"))
}

fn filter(trace: &CycleTrace) -> Result<&FilterTrace, String> {
    trace.filter.as_ref().ok_or_else(|| format!("Filter did not run for pod {}", trace.pod_key()))
}

fn info<'a>(moment: &'a Moment, node: &str) -> Option<&'a NodeInfo> {
    moment.view.nodes.iter().find(|info| info.name().as_ref() == node).map(|info| &**info)
}

fn node_of(moment: &Moment, pod: &str) -> Option<Str> {
    let pod = moment.objects.pods.get(&object_name(pod))?;
    Some(pod.spec.node_name.clone()).filter(|node| !node.is_empty())
}

/// What turned the node down, if anything did.
fn refusal<'a>(moment: &'a Moment, words: &[String]) -> Result<Option<&'a Status>, String> {
    let trace = last(moment, words)?;
    let node = word(words, 1)?;
    let position = trace.snapshot.position(node).ok_or_else(|| format!("there is no node {node}"))?;
    match filter(trace)?.verdicts.get(position) {
        Some(NodeVerdict::Rejected(status)) => Ok(Some(status)),
        Some(NodeVerdict::Feasible) => Ok(None),
        Some(NodeVerdict::Excluded) => Err(format!("PreFilter had left node {node} out")),
        Some(NodeVerdict::NotEvaluated) | None => Err(format!("node {node} was not looked at")),
    }
}

/// What Permit plugins come to: one that refuses decides, and one that waits before those that agree.
fn permit_code(verdicts: &[PluginVerdict]) -> &'static str {
    let find = |is_it: fn(&Status) -> bool| verdicts.iter().find(|verdict| is_it(&verdict.status));
    let said = find(|status| !status.is_success() && !status.is_wait()).or_else(|| find(Status::is_wait));
    said.map_or("Success", |verdict| verdict.status.code().as_str())
}

fn points(moment: &Moment, words: &[String], take: fn(i64, i64, i64) -> i64) -> Evaluated {
    let trace = last(moment, words)?;
    let (plugin, node) = (word(words, 1)?, word(words, 2)?);
    let score = trace.score.as_ref().ok_or("nothing was scored in that attempt")?;
    let of_plugin = score.scores.plugins.iter().find(|scores| scores.plugin == plugin);
    let of_plugin = of_plugin.ok_or_else(|| format!("{plugin} gave no scores in that attempt"))?;
    let at = score.nodes.iter().position(|name| name.as_ref() == node);
    let found = at.and_then(|at| Some((of_plugin.raw.get(at)?, of_plugin.normalized.get(at)?)));
    let (raw, normalized) = found.ok_or_else(|| format!("node {node} was not scored"))?;
    Ok(Answer::Number(take(*raw, *normalized, of_plugin.weight)))
}

fn queue(moment: &Moment, key: &NamespacedName) -> &'static str {
    match place_of(&moment.view, key) {
        Some(PodPlace::Active(..)) => "active",
        Some(PodPlace::Backoff(_)) => "backoff",
        Some(PodPlace::Unschedulable(row)) if row.gated_by.is_some() => "gated",
        Some(PodPlace::Unschedulable(_)) => "unschedulable",
        Some(PodPlace::InCycle(_) | PodPlace::InGroup(_)) => "active",
        Some(PodPlace::Waiting(_)) => "waiting",
        Some(PodPlace::Binding(_)) => "binding",
        Some(PodPlace::Assigned(..)) => "bound",
        None => "gone",
    }
}
