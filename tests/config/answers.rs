//! kube-scheduler's answers to whole configurations.

use std::collections::BTreeSet;

use schedscope::config::{Complaints, FeatureGates, GateErrors, ReadOptions, SchedulerConfig, Step, view};
use serde_json::Value;

use super::{Files, catalog, packed, unpacked};

/// The answers that are checked in: those to generated configurations, and to some that were written
/// to be odd.
/// `SCHEDSCOPE_GOLDEN=DIR` compares those of a folder instead.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn configurations_are_understood_and_refused_as_by_kube_scheduler() {
    let folder = std::env::var_os("SCHEDSCOPE_GOLDEN");
    if let Some(files) = folder.as_ref().and_then(|folder| unpacked(folder.as_ref())) {
        let tally = compare_all(&files, false);
        println!("{} accepted, {} refused", tally.accepted, tally.refused);
        assert!(tally.mismatches.is_empty(), "{}", tally.mismatches.join("\n\n"));
        return;
    }
    for (name, count) in [("generated.tar.zst", 100), ("odd.tar.zst", 292), ("mixed.tar.zst", 200)] {
        // What is written is compared to the byte here: nobody who has both need look twice.
        let tally = compare_all(&packed(name), true);
        println!("{name}: {} accepted, {} refused", tally.accepted, tally.refused);
        assert!(tally.mismatches.is_empty(), "{}", tally.mismatches.join("\n\n"));
        assert!(tally.accepted + tally.refused >= count, "{name}: {}", tally.accepted + tally.refused);
    }
}

#[derive(Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    mismatches: Vec<String>,
}

fn compare_all(files: &Files, to_the_byte: bool) -> Tally {
    let mut tally = Tally::default();
    for (file, text) in files {
        let Some((name, "yaml" | "json")) = file.rsplit_once('.') else { continue };
        let gates = files.get(&format!("{name}.gates")).map_or("", |gates| gates.trim());
        let ours = answer(file, text, gates);
        let result = match (files.get(&format!("{name}.out")), files.get(&format!("{name}.err"))) {
            (Some(expected), None) => accepted(&ours, expected, to_the_byte),
            (None, Some(expected)) => refused(&ours, expected),
            _ => Err("there must be one answer".to_owned()),
        };
        match (result, ours) {
            (Ok(()), Answer::Accepted(_)) => tally.accepted += 1,
            (Ok(()), _) => tally.refused += 1,
            (Err(reason), _) => tally.mismatches.push(format!("{file} ({gates}): {reason}")),
        }
    }
    tally
}

enum Answer {
    Accepted(String),
    Gates(GateErrors),
    Refused(Complaints),
}

fn answer(source: &str, text: &str, gates: &str) -> Answer {
    let gates = match FeatureGates::parse(gates) {
        Ok(gates) => gates,
        Err(errors) => return Answer::Gates(errors),
    };
    let catalog = catalog();
    match SchedulerConfig::read(text, ReadOptions { source, gates: &gates, catalog: &catalog }) {
        Ok(config) => Answer::Accepted(view::yaml(&config)),
        Err(complaints) => Answer::Refused(complaints),
    }
}

fn documents(text: &str) -> Result<Vec<Value>, String> {
    serde_saphyr::from_multiple(text).map_err(|error| error.to_string())
}

fn accepted(ours: &Answer, expected: &str, to_the_byte: bool) -> Result<(), String> {
    let ours = match ours {
        Answer::Accepted(ours) => ours,
        Answer::Gates(errors) => return Err(format!("refused: {errors}")),
        Answer::Refused(complaints) => return Err(format!("refused: {complaints}")),
    };
    let is_equal = if to_the_byte { ours == expected } else { documents(ours)? == documents(expected)? };
    if is_equal {
        return Ok(());
    }
    let line = ours.lines().zip(expected.lines()).position(|(ours, expected)| ours != expected).unwrap_or(0);
    let around =
        |text: &str| text.lines().skip(line.saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n");
    Err(format!("line {}:\n{}\n--- expected\n{}", line + 1, around(ours), around(expected)))
}

fn refused(ours: &Answer, expected: &str) -> Result<(), String> {
    let expected = expected.trim_start_matches("oracle: ");
    let expected = expected.strip_suffix('\n').unwrap_or(expected);
    let complaints = match ours {
        Answer::Accepted(_) => return Err(format!("accepted; expected: {expected}")),
        Answer::Gates(errors) => {
            let texts = errors.0.iter().map(ToString::to_string).collect();
            return same_set(texts, expected);
        }
        Answer::Refused(complaints) => complaints,
    };
    let texts: Vec<String> = complaints.list.iter().map(|complaint| complaint.text.clone()).collect();
    let step = complaints.list.first().map(|complaint| complaint.step);
    let has_places = complaints.list.iter().all(|complaint| !complaint.places.is_empty());
    if !has_places {
        return Err(format!("without a place: {complaints}"));
    }
    match step {
        Some(Step::Validate) => same_set(texts, expected),
        // Of several problems upstream tells the first that it meets.
        Some(Step::Build) if texts.iter().any(|text| text == expected) => Ok(()),
        Some(Step::Read | Step::Decode) if names_the_field(&texts, expected) => Ok(()),
        _ => Err(format!("{complaints}\n--- expected\n{expected}")),
    }
}

/// Whether the texts are those of `[one, two]` or `one`, in any order.
fn same_set(mut texts: Vec<String>, expected: &str) -> Result<(), String> {
    let is_list = texts.len() > 1;
    let inner = expected.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| is_list);
    let mut rest = inner.unwrap_or(expected).to_owned();
    // The longest first, since one may be a part of another.
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    for text in &texts {
        match rest.find(text.as_str()) {
            Some(at) => rest.replace_range(at..at + text.len(), ""),
            None => return Err(format!("not expected: {text}\n--- expected\n{expected}")),
        }
    }
    if rest.split(", ").all(str::is_empty) {
        return Ok(());
    }
    Err(format!("missing: {rest}\n--- expected\n{expected}"))
}

/// Whether each field that a decoding error of Go names is named here too.
fn names_the_field(texts: &[String], expected: &str) -> bool {
    let ours: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '/')))
        .collect();
    let mut fields: Vec<&str> = Vec::new();
    for before in ["unknown field \"", "duplicate field \"", "key \""] {
        fields.extend(expected.split(before).skip(1).filter_map(|rest| rest.split('"').next()));
    }
    let go = expected.split("Go struct field ").skip(1);
    fields.extend(go.filter_map(|rest| rest.split(' ').next()));
    fields.iter().all(|field| field.rsplit('.').next().is_some_and(|last| ours.contains(last)))
}
