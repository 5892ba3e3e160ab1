//! Compares our decisions with the golden ones, field by field.
//!
//! Always compared: `noProfile`, `preEnqueue`, what our plugins say in `preFilter`, `filter`, `skippedFilters`,
//! `skippedScores` and `scores`. Scores are computed over the nodes that the golden decision finds feasible, since
//! other plugins decide that too.
//!
//! A pod is *closed* when no absent plugin takes part in filtering it: all Filter plugins of its profile that are
//! not built are in the golden `skippedFilters`, so they are called neither for it nor with nominated pods nor in
//! the dry runs of preemption. Then `verdict`, `outcome`, `error`, `feasibleNodes`, `host`, `message`, `unschedulablePlugins`, `preemptionByNode`,
//! `nominatedTie`, `nominatedNode` and `evicted` are compared too. In `message` the part of DynamicResources' own
//! PostFilter ("no new claims to deallocate") is taken out of the golden text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::absent::is_absent;
use super::case::{Case, Profile};
use super::decide::decide;
use super::golden::{Answer, Decision};

/// What DynamicResources' PostFilter adds to the text.
const CLAIMS_TEXT: &str = "no new claims to deallocate";

/// From this number of nodes on an attempt looks at a part of them only.
const SAMPLED_FROM: usize = 100;

/// Decisions that come from a fault of kube-scheduler and are not imitated: case, pod, fault.
const UPSTREAM_FAULTS: [(&str, &str, &str); 1] = [(
    "big-002",
    "team-b/p01-queue",
    "each look at the pod adds its overhead to its pod-level request once more (PodRequests shares a big decimal \
     with the pod's spec)",
)];

/// What was compared, and what was not equal.
#[derive(Default)]
pub struct Tally {
    pub cases: usize,
    pub pods: usize,
    pub closed_pods: usize,
    /// Cases and pods that were not compared, with the reason.
    pub left_out: BTreeMap<String, String>,
    /// How often each field was compared where either side has something in it.
    pub fields: BTreeMap<&'static str, usize>,
    /// Pods that are not closed, by the plugins that take part.
    pub open_because_of: BTreeMap<String, usize>,
    pub mismatches: Vec<String>,
}

impl Tally {
    /// Notes a case or a pod that cannot be compared.
    pub fn leave_out(&mut self, what: &str, reason: &str) {
        self.left_out.insert(what.to_owned(), reason.to_owned());
    }

    /// Notes that plugins that are not built take part in filtering a pod.
    fn open(&mut self, because_of: &str) {
        *self.open_because_of.entry(because_of.to_owned()).or_default() += 1;
    }

    fn compare<T: PartialEq + fmt::Debug + Default>(
        &mut self,
        field: &'static str,
        place: &str,
        ours: &T,
        golden: &T,
    ) {
        if *ours != T::default() || *golden != T::default() {
            *self.fields.entry(field).or_default() += 1;
        }
        if ours != golden {
            self.mismatches.push(format!("{place}: {field}\n    ours   {ours:?}\n    golden {golden:?}"));
        }
    }

    /// The first mismatches.
    pub fn mismatch_text(&self) -> String {
        let shown: Vec<&str> = self.mismatches.iter().take(30).map(String::as_str).collect();
        format!("{} mismatches\n{}", self.mismatches.len(), shown.join("\n"))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cases, {} pods compared, {} of them closed",
            self.cases, self.pods, self.closed_pods
        )?;
        for (field, count) in &self.fields {
            writeln!(f, "  {field}: {count}")?;
        }
        for (plugins, count) in &self.open_because_of {
            writeln!(f, "  not closed: {count} pods with {plugins}")?;
        }
        for (case, reason) in &self.left_out {
            writeln!(f, "  left out: {case}: {reason}")?;
        }
        write!(f, "{} mismatches", self.mismatches.len())
    }
}

fn ours_only(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !is_absent(name)).cloned().collect()
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn sorted_rows(
    rows: BTreeMap<String, BTreeMap<String, Answer>>,
) -> BTreeMap<String, BTreeMap<String, Answer>> {
    let row = |row: BTreeMap<String, Answer>| {
        row.into_iter().filter(|(plugin, _)| !is_absent(plugin)).map(|(p, a)| (p, a.sorted())).collect()
    };
    let rows = rows.into_iter().map(|(node, answers)| (node, row(answers)));
    rows.filter(|(_, answers): &(_, BTreeMap<_, _>)| !answers.is_empty()).collect()
}

/// Compares every decision of a case.
pub fn case(case: &Case, tally: &mut Tally) {
    tally.cases += 1;
    for golden in &case.decisions {
        let fault = UPSTREAM_FAULTS.iter().find(|(name, pod, _)| *name == case.name && *pod == golden.pod);
        if let Some((_, _, fault)) = fault {
            tally.leave_out(&format!("{} {}", case.name, golden.pod), fault);
            continue;
        }
        tally.pods += 1;
        let feasible: BTreeSet<String> = golden.scores.keys().cloned().collect();
        let ours = decide(case, &golden.pod, &feasible);
        let place = format!("{} {}", case.name, golden.pod);
        pod(case, golden, &ours, &place, tally);
    }
}

fn pod(case: &Case, golden: &Decision, ours: &Decision, place: &str, tally: &mut Tally) {
    tally.compare("profile", place, &ours.profile, &golden.profile);
    tally.compare("noProfile", place, &ours.no_profile, &golden.no_profile);
    if golden.pre_enqueue.iter().any(|answer| is_absent(&answer.plugin)) {
        return tally.open("a PreEnqueue plugin that is not built");
    }
    tally.compare("preEnqueue", place, &ours.pre_enqueue, &golden.pre_enqueue);
    if golden.outcome == "gated" || golden.no_profile {
        tally.compare("outcome", place, &ours.outcome, &golden.outcome);
        return;
    }
    let Some(profile) = case.profiles.get(golden.profile.as_str()) else { return };
    let pre_filter: Vec<_> =
        golden.pre_filter.iter().filter(|answer| !is_absent(&answer.plugin)).cloned().collect();
    tally.compare("preFilter", place, &ours.pre_filter, &pre_filter);
    // Where PreFilter refuses the pod, golden has nothing of what follows.
    let absent_pre_filters = golden.pre_filter.iter().filter(|answer| is_absent(&answer.plugin));
    let refused_by_absent = absent_pre_filters.clone().any(|answer| answer.code != "Success");
    let narrowed_by_absent = absent_pre_filters.clone().any(|answer| !answer.nodes.is_empty());
    if !refused_by_absent {
        filters(golden, ours, narrowed_by_absent, place, tally);
    }
    scores(golden, ours, place, tally);
    let open = open_because_of(golden, ours, profile);
    if refused_by_absent || narrowed_by_absent {
        tally.open("a PreFilter plugin that is not built");
    } else if let Some(open) = open {
        tally.open(&open);
    } else {
        tally.closed_pods += 1;
        closed(case, golden, ours, place, tally);
    }
}

/// The plugins that are not built and take part in filtering the pod.
fn open_because_of(golden: &Decision, ours: &Decision, profile: &Profile) -> Option<String> {
    // One of ours has refused the pod before any node was looked at.
    if ours.pre_filter.iter().any(|answer| answer.code != "Success") {
        return None;
    }
    let takes_part = |name: &&&'static str| !golden.skipped_filters.iter().any(|skipped| skipped == **name);
    let open: Vec<&str> = profile.absent_filters.iter().filter(takes_part).copied().collect();
    (!open.is_empty()).then(|| open.join(", "))
}

fn filters(golden: &Decision, ours: &Decision, narrowed: bool, place: &str, tally: &mut Tally) {
    tally.compare("skippedFilters", place, &ours.skipped_filters, &ours_only(&golden.skipped_filters));
    let mut rows = sorted_rows(ours.filter.clone());
    let golden_rows = sorted_rows(golden.filter.clone());
    if narrowed {
        rows.retain(|node, _| golden_rows.contains_key(node));
    }
    tally.compare("filter", place, &rows, &golden_rows);
}

fn scores(golden: &Decision, ours: &Decision, place: &str, tally: &mut Tally) {
    if golden.scores.is_empty() {
        return;
    }
    tally.compare("skippedScores", place, &ours.skipped_scores, &ours_only(&golden.skipped_scores));
    let mut golden_scores = golden.scores.clone();
    for scores in golden_scores.values_mut() {
        scores.retain(|score| !is_absent(&score.plugin));
    }
    tally.compare("scores", place, &ours.scores, &golden_scores);
    if golden.scores.values().flatten().all(|score| !is_absent(&score.plugin)) {
        tally.compare("totals", place, &ours.totals, &golden.totals);
    }
}

fn closed(case: &Case, golden: &Decision, ours: &Decision, place: &str, tally: &mut Tally) {
    let verdicts = |verdicts: &BTreeMap<String, Answer>| {
        verdicts
            .iter()
            .map(|(node, answer)| (node.clone(), answer.clone().sorted()))
            .collect::<BTreeMap<_, _>>()
    };
    tally.compare("verdict", place, &verdicts(&ours.verdict), &verdicts(&golden.verdict));
    tally.compare("outcome", place, &ours.outcome, &golden.outcome);
    tally.compare("error", place, &ours.error, &golden.error);
    if case.snapshot.num_nodes() < SAMPLED_FROM {
        tally.compare("feasibleNodes", place, &ours.feasible_nodes, &golden.feasible_nodes);
    }
    if golden.feasible_nodes == 1 {
        tally.compare("host", place, &ours.host, &golden.host);
    }
    if golden.outcome == "unschedulable" {
        let plugins = &golden.unschedulable_plugins;
        tally.compare("unschedulablePlugins", place, &ours.unschedulable_plugins, plugins);
        tally.compare("pendingPlugins", place, &ours.pending_plugins, &golden.pending_plugins);
    }
    let (ours_text, golden_text) = messages(ours, golden);
    tally.compare("message", place, &ours_text, &golden_text);
    let mut dry_runs = golden.preemption_by_node.clone();
    for dry_run in dry_runs.values_mut() {
        dry_run.reasons.sort();
    }
    tally.compare("preemptionByNode", place, &ours.preemption_by_node, &dry_runs);
    let tie = sorted(golden.nominated_tie.clone());
    tally.compare("nominatedTie", place, &ours.nominated_tie, &tie);
    if tie.len() > 1 {
        let is_one = tie.contains(&ours.nominated_node);
        tally.compare("nominatedNode", place, &is_one, &true);
    } else {
        tally.compare("nominatedNode", place, &ours.nominated_node, &golden.nominated_node);
        tally.compare("evicted", place, &ours.evicted, &sorted(golden.evicted.clone()));
    }
}

/// Both texts without what DynamicResources says in PostFilter. Where PreFilter stopped before it, its PostFilter
/// ends with an error and DefaultPreemption is not asked; then the texts are compared up to there.
fn messages(ours: &Decision, golden: &Decision) -> (String, String) {
    if let Some(text) = golden.message.strip_suffix(" not found") {
        let ours = ours.message.get(..text.len()).unwrap_or(&ours.message);
        return (ours.to_owned(), text.to_owned());
    }
    let text = golden.message.replacen(&format!("{CLAIMS_TEXT}, "), "", 1);
    let text = text.replacen(&format!(", {CLAIMS_TEXT}"), "", 1).replacen(CLAIMS_TEXT, "", 1);
    (ours.message.clone(), text.trim_end().to_owned())
}
