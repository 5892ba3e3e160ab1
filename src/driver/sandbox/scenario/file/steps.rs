//! The steps of a scenario file.

use super::tree::Field;
use super::{Elsewhere, expect, manifest};
use crate::api::manifest::load;
use crate::driver::sandbox::scenario::plan::{Deed, Step};
use crate::driver::sandbox::words;
use crate::driver::session::Edit;

/// The fields of a step, of which it has one beside `at`.
const DEEDS: &str = "do, apply, mark, note or expect";

/// The steps in the order of their times; those of the same time in the order of the file.
pub(super) fn read(field: &Field<'_>, elsewhere: Elsewhere<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = field.list().iter().flat_map(|step| one(step, elsewhere)).collect();
    steps.sort_by_key(|step| step.at);
    steps
}

fn one(field: &Field<'_>, elsewhere: Elsewhere<'_>) -> Vec<Step> {
    let Some(table) = field.table() else { return Vec::new() };
    let at = match table.get("at") {
        Some(at) => at.duration(),
        None => {
            table.wrong("at is missing: how long after the start, such as 5m");
            None
        }
    };
    let mut deeds: Vec<(Deed, usize)> = Vec::new();
    let mut n_kinds = 0;
    if let Some(field) = table.get("do") {
        n_kinds += 1;
        for line in field.one_or_more() {
            let Some(text) = line.text() else { continue };
            let split: Vec<&str> = text.split_whitespace().collect();
            match words::parse(&split, elsewhere.file) {
                Ok(edits) if edits.is_empty() => line.wrong("nothing is to be done"),
                Ok(edits) => deeds.extend(edits.into_iter().map(|edit| (Deed::Edit(edit), line.line()))),
                Err(error) => line.wrong(error),
            }
        }
    }
    if let Some(field) = table.get("apply") {
        n_kinds += 1;
        if let Some(source) = manifest(&field) {
            if let Err(errors) = load(std::slice::from_ref(&source)) {
                field.wrong(errors.errors.first().map_or_else(String::new, ToString::to_string));
            }
            deeds.push((Deed::Edit(Edit::Apply { source: source.name, text: source.text }), field.line()));
        }
    }
    for (key, is_note) in [("mark", false), ("note", true)] {
        let Some(field) = table.get(key) else { continue };
        n_kinds += 1;
        if let Some(text) = field.text() {
            let deed = if is_note { Deed::Note(text.into()) } else { Deed::Mark(text.into()) };
            deeds.push((deed, field.line()));
        }
    }
    if let Some(field) = table.get("expect") {
        n_kinds += 1;
        deeds.extend(field.one_or_more().iter().filter_map(expect::read).map(|expectation| {
            let line = expectation.line;
            (Deed::Expect(expectation), line)
        }));
    }
    match n_kinds {
        0 => table.wrong(format!("nothing happens: write {DEEDS}")),
        1 => {}
        _ => table.wrong(format!("a step is one of {DEEDS}: make several steps of it")),
    }
    table.finish();
    let Some(at) = at else { return Vec::new() };
    deeds.into_iter().map(|(deed, line)| Step { at, deed, line }).collect()
}
