//! Golden conformance: what kube-scheduler v1.36.3 decides for many small clusters must be what is decided here, in
//! every field.
//!
//! The data and its rules are described in `data/README.md`. What comes from a fault of kube-scheduler is named and not
//! compared (see [`compare`]).

pub mod archive;
mod compare;
mod profiles;
pub mod runs;

use std::collections::BTreeMap;

use compare::Tally;

/// The families that are checked in.
const FAMILIES: [&str; 19] = [
    "big",
    "cases",
    "dra",
    "dra2",
    "extenders",
    "gang",
    "images",
    "misc",
    "mixed",
    "nodeaffinity",
    "podaffinity",
    "preemption",
    "profiles",
    "resources",
    "scoring",
    "spread",
    "taints",
    "volumelimits",
    "volumes",
];

/// The cases that are checked in; `SCHEDSCOPE_GOLDEN=DIR` compares those of a folder instead.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn decisions_are_those_of_kube_scheduler() {
    let folder = std::env::var_os("SCHEDSCOPE_GOLDEN");
    let cases = match &folder {
        Some(folder) => {
            let mut cases = archive::read_folder(folder.as_ref());
            cases.retain(|_, files| {
                files.contains_key("decisions.jsonl") || !files.contains_key("script.txt")
            });
            if cases.is_empty() {
                return;
            }
            cases
        }
        None => {
            let mut cases = archive::read_packed("decide.tar.zst");
            cases.extend(archive::read_packed("extenders.tar.zst"));
            cases.extend(archive::read_packed("storage.tar.zst"));
            cases
        }
    };
    let mut tally = Tally::default();
    for (name, files) in &cases {
        compare::case(name, files, &mut tally);
    }
    println!("{tally}");
    assert!(tally.mismatches.is_empty(), "{}", tally.mismatch_text());
    assert!(tally.families.values().any(|family| family.pods > 0), "there is nothing to compare");
    if folder.is_none() {
        let families: Vec<&str> = tally.families.keys().map(String::as_str).collect();
        assert_eq!(families, FAMILIES);
        // What is left out must not grow without notice.
        assert_eq!(tally.left_out.len(), compare::UPSTREAM_FAULTS.len(), "{:?}", tally.left_out);
    }
}

/// A folder's texts by file.
type Files = BTreeMap<String, String>;
