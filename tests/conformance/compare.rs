//! Compares our decisions with the golden ones, field by field. All must be equal but for what kube-scheduler itself
//! leaves open: the order of reasons, and which of several tied nodes preemption takes.

use std::collections::BTreeMap;
use std::fmt;

use schedscope::api::NamespacedName;
use schedscope::api::manifest::Source;
use schedscope::driver::conformance::{Answer, Case, CaseSources, Decision};

use super::Files;

/// From this number of nodes on an attempt looks at a part of them only, from a place that is not in the answer.
const SAMPLED_FROM: usize = 100;

/// Decisions that come from a fault of kube-scheduler and are not imitated: case, pod, fault.
pub const UPSTREAM_FAULTS: [(&str, &str, &str); 1] = [(
    "big-002",
    "team-b/p01-queue",
    "each look at the pod adds its overhead to its pod-level request once more (PodRequests shares a big decimal \
     with the pod's spec)",
)];

/// The figures of a family.
#[derive(Default)]
pub struct Family {
    pub cases: usize,
    /// Pods that were compared.
    pub pods: usize,
    /// Fields that were compared where either side has something in them.
    pub fields: usize,
    pub mismatches: usize,
}

/// What was compared, and what was not equal.
#[derive(Default)]
pub struct Tally {
    pub families: BTreeMap<String, Family>,
    /// Cases and pods that were not compared, with the reason.
    pub left_out: BTreeMap<String, String>,
    pub mismatches: Vec<String>,
}

impl Tally {
    /// The first mismatches.
    pub fn mismatch_text(&self) -> String {
        let shown: Vec<&str> = self.mismatches.iter().take(30).map(String::as_str).collect();
        format!("{} mismatches\n{}", self.mismatches.len(), shown.join("\n"))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, family) in &self.families {
            let Family { cases, pods, fields, mismatches } = family;
            writeln!(f, "{name}: {cases} cases, {pods} pods, {fields} fields, {mismatches} mismatches")?;
        }
        for (what, reason) in &self.left_out {
            writeln!(f, "left out: {what}: {reason}")?;
        }
        write!(f, "{} mismatches", self.mismatches.len())
    }
}

fn source(files: &Files, name: &str) -> Option<Source> {
    Some(Source { name: name.to_owned(), text: files.get(name)?.clone() })
}

/// Compares every decision of a case.
pub fn case(name: &str, files: &Files, tally: &mut Tally) {
    let manifests = ["cluster.yaml", "cluster.json", "pending.yaml", "pending.json"];
    let sources = CaseSources {
        manifests: manifests.into_iter().filter_map(|manifest| source(files, manifest)).collect(),
        config: source(files, "config.yaml"),
        extenders: source(files, "extenders.yaml"),
        feature_gates: files.get("gates").cloned().unwrap_or_default(),
    };
    let case = match Case::new(&sources) {
        Ok(case) => case,
        Err(error) => {
            tally.left_out.insert(name.to_owned(), error.to_string());
            return;
        }
    };
    let Some(lines) = files.get("decisions.jsonl").map(|text| text.lines()) else {
        tally.left_out.insert(name.to_owned(), "there is no decisions.jsonl".to_owned());
        return;
    };
    let golden: Vec<Decision> = lines.map(|line| serde_json::from_str(line).expect("a decision")).collect();
    let first = name.split('-').next().unwrap_or_default();
    let family = if first.parse::<u32>().is_ok() { "cases" } else { first };
    let mut compared = Comparison { place: String::new(), family: Family::default(), mismatches: Vec::new() };
    let decided: Vec<String> = case.pending().iter().map(ToString::to_string).collect();
    let expected: Vec<String> = golden.iter().map(|decision| decision.pod.clone()).collect();
    compared.place = name.to_owned();
    compared.field("pods", &decided, &expected);
    for golden in golden {
        let fault = UPSTREAM_FAULTS.iter().find(|(case, pod, _)| *case == name && *pod == golden.pod);
        if let Some((_, pod, fault)) = fault {
            tally.left_out.insert(format!("{name} {pod}"), (*fault).to_owned());
            continue;
        }
        compared.place = format!("{name} {}", golden.pod);
        let (namespace, pod_name) = golden.pod.split_once('/').expect("namespace/name");
        let ours = case.decide(&NamespacedName::new(namespace, pod_name)).expect("a decision");
        compared.family.pods += 1;
        pod(sorted(golden), &sorted(ours), case.num_nodes(), &mut compared);
    }
    let figures = tally.families.entry(family.to_owned()).or_default();
    figures.cases += 1;
    figures.pods += compared.family.pods;
    figures.fields += compared.family.fields;
    figures.mismatches += compared.mismatches.len();
    tally.mismatches.extend(compared.mismatches);
}

struct Comparison {
    place: String,
    family: Family,
    mismatches: Vec<String>,
}

impl Comparison {
    fn field<T: PartialEq + fmt::Debug + Default>(&mut self, field: &str, ours: &T, golden: &T) {
        if *ours != T::default() || *golden != T::default() {
            self.family.fields += 1;
        }
        if ours != golden {
            let place = &self.place;
            self.mismatches.push(format!("{place}: {field}\n    ours   {ours:?}\n    golden {golden:?}"));
        }
    }
}

/// The same decision with the reasons in the order in which they are compared.
fn sorted(mut decision: Decision) -> Decision {
    let sort = |answer: &mut Answer| answer.reasons.sort();
    decision.pre_enqueue.iter_mut().for_each(sort);
    decision.pre_filter.iter_mut().for_each(|answer| answer.reasons.sort());
    decision.filter.values_mut().flat_map(|row| row.values_mut()).for_each(sort);
    decision.verdict.values_mut().for_each(sort);
    decision.preemption_by_node.values_mut().for_each(|found| found.reasons.sort());
    decision.preemption_after_extenders.values_mut().for_each(|found| found.reasons.sort());
    decision
}

/// Every field of a decision. A field that is added to the type must be named here.
fn pod(golden: Decision, ours: &Decision, num_nodes: usize, compared: &mut Comparison) {
    let Decision {
        pod: _,
        profile,
        no_profile,
        pre_enqueue,
        pre_filter,
        filter,
        verdict,
        skipped_filters,
        skipped_scores,
        scores,
        totals,
        best,
        feasible_nodes,
        host,
        outcome,
        message,
        unschedulable_plugins,
        pending_plugins,
        nominated_node,
        nominated_tie,
        evicted,
        preemption_by_node,
        preemption_after_extenders,
        extender_scores,
        extender_calls,
        error,
    } = golden;
    compared.field("profile", &ours.profile, &profile);
    compared.field("noProfile", &ours.no_profile, &no_profile);
    compared.field("preEnqueue", &ours.pre_enqueue, &pre_enqueue);
    compared.field("preFilter", &ours.pre_filter, &pre_filter);
    compared.field("filter", &ours.filter, &filter);
    compared.field("verdict", &ours.verdict, &verdict);
    compared.field("skippedFilters", &ours.skipped_filters, &skipped_filters);
    compared.field("skippedScores", &ours.skipped_scores, &skipped_scores);
    compared.field("scores", &ours.scores, &scores);
    compared.field("totals", &ours.totals, &totals);
    compared.field("best", &ours.best, &best);
    compared.field("feasibleNodes", &ours.feasible_nodes, &feasible_nodes);
    compared.field("host", &ours.host, &host);
    compared.field("outcome", &ours.outcome, &outcome);
    let several_fail = num_nodes >= SAMPLED_FROM && outcome == "error";
    if !several_fail {
        compared.field("message", &ours.message, &message);
        compared.field("error", &ours.error, &error);
    }
    compared.field("unschedulablePlugins", &ours.unschedulable_plugins, &unschedulable_plugins);
    compared.field("pendingPlugins", &ours.pending_plugins, &pending_plugins);
    compared.field("nominatedTie", &ours.nominated_tie, &nominated_tie);
    compared.field("preemptionByNode", &ours.preemption_by_node, &preemption_by_node);
    compared.field("extenderScores", &ours.extender_scores, &extender_scores);
    compared.field("extenderCalls", &ours.extender_calls, &extender_calls);
    compared.field("preemptionAfterExtenders", &ours.preemption_after_extenders, &preemption_after_extenders);
    if nominated_tie.len() > 1 {
        // Any of them may be taken; what is evicted must be what was found there, as far as it is not going already.
        compared.field("nominatedNode", &nominated_tie.contains(&ours.nominated_node), &true);
        let found = if preemption_after_extenders.is_empty() {
            &ours.preemption_by_node
        } else {
            &ours.preemption_after_extenders
        };
        let found = found.get(&ours.nominated_node);
        let is_victim = |pod: &String| found.is_some_and(|found| found.victims.contains(pod));
        compared.field("evicted", &ours.evicted.iter().all(is_victim), &true);
    } else {
        compared.field("nominatedNode", &ours.nominated_node, &nominated_node);
        compared.field("evicted", &ours.evicted, &evicted);
    }
}
