//! What a scenario file expects.

use super::tree::{Field, Table};
use crate::api::Str;
use crate::config::document::Value;
use crate::driver::sandbox::scenario::plan::{Count, Expect, Expectation, Of, PodIs};

/// One expectation: of a pod, of a number of pods, or of totals.
pub(super) fn read(field: &Field<'_>) -> Option<Expectation> {
    let table = field.table()?;
    let line = field.line();
    let what = if let Some(pod) = table.get("pod") {
        of_pod(&table, &pod)
    } else if let Some(pods) = table.get("pods") {
        of_pods(&table, &pods)
    } else {
        totals(&table)
    };
    table.finish();
    Some(Expectation { what: what?, line })
}

fn of_pod(table: &Table<'_>, pod: &Field<'_>) -> Option<Expect> {
    let name = Str::from(pod.text()?);
    let text = |key| table.get(key).and_then(|field| field.text()).map(Str::from);
    let mut is = Vec::new();
    if table.get("placed").and_then(|field| field.flag()) == Some(true) {
        is.push(PodIs::On(None));
    }
    is.extend(text("node").map(|node| PodIs::On(Some(node))));
    is.extend(text("zone").map(PodIs::InZone));
    if let Some(field) = table.get("nodeLabel") {
        match pair(&field.text()?) {
            Some((label, value)) => is.push(PodIs::OnLabel(label, value)),
            None => field.wrong("a label such as tier=web is expected"),
        }
    }
    if let Some(field) = table.get("pending") {
        is.push(PodIs::Pending(match field.node.value {
            Value::Bool(true) => "".into(),
            _ => field.text()?.into(),
        }));
    }
    if table.get("gone").and_then(|field| field.flag()) == Some(true) {
        is.push(PodIs::Gone);
    }
    match (is.len(), is.pop()) {
        (1, Some(is)) => Some(Expect::Pod { pod: name, is }),
        _ => {
            table.wrong(
                "say one of placed: true, node, zone, nodeLabel, pending: REASON (or true), gone: true",
            );
            None
        }
    }
}

fn of_pods(table: &Table<'_>, pods: &Field<'_>) -> Option<Expect> {
    let mut of = Of { pattern: Some(pods.text()?.into()), ..Of::default() };
    let text = |key| table.get(key).and_then(|field| field.text()).map(Str::from);
    of.zone = text("zone");
    of.node = text("node");
    for field in table.get("labels").map(|field| field.one_or_more()).unwrap_or_default() {
        for part in field.text()?.split(',') {
            match pair(part) {
                Some(label) => of.labels.push(label),
                None => field.wrong("labels such as app=web,tier=a are expected"),
            }
        }
    }
    let count = |key| table.get(key).and_then(|field| count(&field));
    let (placed, pending, n, per_node) =
        (count("placed"), count("pending"), count("count"), count("perNode"));
    if placed.or(pending).or(n).or(per_node).is_none() {
        table.wrong("say how many: placed, pending, count or perNode");
    }
    Some(Expect::Pods { of, placed, pending, count: n, per_node })
}

fn totals(table: &Table<'_>) -> Option<Expect> {
    let count = |key| table.get(key).and_then(|field| count(&field));
    let (preempted, attempts, nodes) = (count("preempted"), count("attempts"), count("nodes"));
    if preempted.or(attempts).or(nodes).is_none() {
        table.wrong("say of what: pod, pods, preempted, attempts or nodes");
        return None;
    }
    Some(Expect::Totals { preempted, attempts, nodes })
}

fn count(field: &Field<'_>) -> Option<Count> {
    let read = Count::parse(&field.text()?);
    if read.is_none() {
        field.wrong("a number such as 3, \">=3\", \"<5\" or 3-5 is expected");
    }
    read
}

fn pair(text: &str) -> Option<(Str, Str)> {
    let (key, value) = text.split_once('=')?;
    (!key.is_empty()).then(|| (Str::from(key.trim()), Str::from(value.trim())))
}
