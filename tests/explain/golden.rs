//! What `explain` says of a pod is what kube-scheduler decides: every golden case, and the published schema.

use std::collections::BTreeMap;

use schedscope::api::NamespacedName;
use schedscope::api::manifest::Source;
use schedscope::driver::conformance::{Answer, Case, CaseSources, Decision};
use schedscope::explain::report::codes::CODES;
use schedscope::explain::report::{Explanation, Form, PodStatus, RefusalReport, explain, render};
use serde_json::Value;

use crate::conformance::archive;

type Files = BTreeMap<String, String>;

fn cases() -> BTreeMap<String, Files> {
    match std::env::var_os("SCHEDSCOPE_GOLDEN") {
        Some(folder) => archive::read_folder(folder.as_ref()),
        None => {
            let mut cases = archive::read_packed("decide.tar.zst");
            cases.extend(archive::read_packed("storage.tar.zst"));
            cases
        }
    }
}

fn source(files: &Files, name: &str) -> Option<Source> {
    Some(Source { name: name.to_owned(), text: files.get(name)?.clone() })
}

fn case(files: &Files) -> Option<Case> {
    let manifests = ["cluster.yaml", "cluster.json", "pending.yaml", "pending.json"];
    Case::new(&CaseSources {
        manifests: manifests.into_iter().filter_map(|manifest| source(files, manifest)).collect(),
        config: source(files, "config.yaml"),
        extenders: None,
        feature_gates: files.get("gates").cloned().unwrap_or_default(),
    })
    .ok()
}

fn validator() -> jsonschema::Validator {
    let text = include_str!("../../docs/explain.schema.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn answer_of(refusal: &RefusalReport) -> Answer {
    let mut reasons = refusal.reasons.clone();
    reasons.sort();
    Answer { code: refusal.status.to_owned(), reasons, plugin: refusal.plugin.clone() }
}

fn sorted(answer: &Answer, plugin: &str) -> Answer {
    let mut reasons = answer.reasons.clone();
    reasons.sort();
    let plugin = if answer.plugin.is_empty() { plugin.to_owned() } else { answer.plugin.clone() };
    Answer { code: answer.code.clone(), reasons, plugin }
}

/// What is told, as the golden decision has it; each difference is a line.
fn differences(told: &Explanation, golden: &Decision) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, is_equal: bool, ours: String, theirs: String| {
        if !is_equal {
            found.push(format!("{what}: told {ours}, golden {theirs}"));
        }
    };
    let status = match golden.outcome.as_str() {
        "ignored" => PodStatus::Ignored,
        "gated" => PodStatus::Gated,
        "fits" => PodStatus::WouldBePlaced,
        "unschedulable" => PodStatus::Pending,
        _ => PodStatus::Error,
    };
    // The oracle counts a cluster without nodes as an error; its event is that of an unschedulable pod.
    let has_no_nodes = told.nodes.is_empty() && told.status == PodStatus::Pending;
    check(
        "status",
        told.status == status || has_no_nodes && status == PodStatus::Error,
        told.status.as_str().to_owned(),
        golden.outcome.clone(),
    );
    let Some(attempt) = &told.attempt else { return found };
    if golden.outcome == "unschedulable" {
        let is_open = golden.nominated_tie.len() > 1;
        check(
            "message",
            attempt.message == golden.message || is_open,
            attempt.message.clone(),
            golden.message.clone(),
        );
        let node =
            told.preemption.as_ref().and_then(|preemption| preemption.node.clone()).unwrap_or_default();
        let is_one = golden.nominated_tie.contains(&node) || node == golden.nominated_node;
        check("nominated node", is_one, node, golden.nominated_node.clone());
        let counted: usize = told.reasons.iter().map(|reason| reason.nodes).sum();
        check("reasons", counted > 0 || told.nodes.is_empty(), counted.to_string(), golden.message.clone());
        for reason in told.reasons.iter().filter(|reason| !reason.reason.is_empty()) {
            let text = reason.reason.clone();
            check("reason in the event", golden.message.contains(&text), text, golden.message.clone());
        }
    }
    if golden.outcome == "fits" {
        let choice = told.choice.as_ref().map(|choice| choice.node.clone()).unwrap_or_default();
        let is_sampled = golden.feasible_nodes != golden.totals.len() && golden.feasible_nodes > 1;
        let is_one = golden.best.contains(&choice) || golden.host == choice || is_sampled;
        check("choice", is_one, choice, format!("{:?} or {}", golden.best, golden.host));
    }
    let totals: BTreeMap<&str, i64> =
        told.nodes.iter().filter_map(|node| Some((node.node.as_str(), node.total?))).collect();
    // Of a gated pod it is told what would come after the gate; the oracle stops there.
    for (node, total) in totals.iter().filter(|_| golden.outcome == "fits") {
        check(
            "total",
            golden.totals.get(*node) == Some(total),
            total.to_string(),
            format!("{:?}", golden.totals.get(*node)),
        );
    }
    for node in &told.nodes {
        let verdict = golden.verdict.get(&node.node);
        let ours = node.refused_by.as_ref().filter(|_| node.verdict == "refused").map(answer_of);
        if golden.pre_filter.is_empty()
            && (golden.outcome == "unschedulable" || golden.outcome == "fits" && ours.is_some())
        {
            let theirs = verdict.map(|answer| sorted(answer, ""));
            check(
                &format!("verdict of {}", node.node),
                ours == theirs,
                format!("{ours:?}"),
                format!("{theirs:?}"),
            );
        }
        if let Some(filter) = golden.filter.get(&node.node) {
            for (plugin, answer) in filter {
                let ours = node.all_refusals.iter().find(|refusal| refusal.plugin == *plugin).map(answer_of);
                let theirs = Some(sorted(answer, plugin));
                check(
                    &format!("{plugin} of {}", node.node),
                    ours == theirs,
                    format!("{ours:?}"),
                    format!("{theirs:?}"),
                );
            }
        }
    }
    found
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn explanations_agree_with_every_golden_decision() {
    let validator = validator();
    let (mut n_pods, mut n_left_out, mut wrong) = (0, 0, Vec::new());
    for (name, files) in cases() {
        let decisions = files.get("decisions.jsonl").filter(|_| !files.contains_key("extenders.yaml"));
        let (Some(case), Some(decisions)) = (case(&files), decisions) else {
            n_left_out += 1;
            continue;
        };
        for line in decisions.lines() {
            let golden: Decision = serde_json::from_str(line).unwrap();
            if (name.as_str(), golden.pod.as_str()) == ("big-002", "team-b/p01-queue") {
                // A fault of kube-scheduler that is not imitated.
                continue;
            }
            let (namespace, pod) = golden.pod.split_once('/').unwrap();
            let key = NamespacedName::new(namespace, pod);
            let scheduler = case.untried(&key).unwrap();
            let told = explain(&scheduler, &key, None).unwrap();
            n_pods += 1;
            wrong.extend(
                differences(&told, &golden).into_iter().map(|line| format!("{name} {}: {line}", golden.pod)),
            );
            if n_pods % 7 == 0 {
                let json = serde_json::to_value(&told).unwrap();
                if let Err(error) = validator.validate(&json) {
                    wrong.push(format!(
                        "{name} {}: schema: {error} at {}",
                        golden.pod,
                        error.instance_path()
                    ));
                }
                assert!(render(&told, Form::Text).contains(&golden.pod));
            }
        }
    }
    println!("{n_pods} pods told, {n_left_out} cases left out, {} differences", wrong.len());
    let shown: Vec<&str> = wrong.iter().take(30).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), shown.join("\n"));
    assert!(n_pods > 0, "there is nothing to compare");
}

#[test]
fn the_published_schema_lists_every_reason_code() {
    let text = include_str!("../../docs/explain.schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    let listed: Vec<&str> = schema["$defs"]["reasonCode"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|code| code.as_str().unwrap())
        .collect();
    let mut known: Vec<&str> = Vec::new();
    for code in CODES {
        if !known.contains(&code.code) {
            known.push(code.code);
        }
    }
    assert_eq!(listed, known);
    // And the reference page says what each means.
    let page = include_str!("../../docs/explain.md");
    for code in CODES {
        assert!(
            page.contains(&format!("| `{}` |", code.code)),
            "docs/explain.md does not tell of {}",
            code.code
        );
        assert!(page.contains(code.meaning), "docs/explain.md does not say: {}", code.meaning);
    }
}
