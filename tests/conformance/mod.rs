//! Golden conformance: what kube-scheduler v1.36.3 decides for many small clusters must be what is decided here.
//!
//! The data and its rules are described in `data/README.md`. Plugins that are not built take no part: what they
//! reject or score is left out of the comparison, and where the rest would depend on it, the rest too (see
//! [`compare`]).

mod absent;
mod archive;
mod case;
mod compare;
mod decide;
mod golden;
mod profiles;

use std::collections::BTreeMap;

use case::Case;
use compare::Tally;

/// The families whose plugins are all here or mostly so.
const FAMILIES: [&str; 10] = [
    "images",
    "misc",
    "nodeaffinity",
    "podaffinity",
    "preemption",
    "profiles",
    "resources",
    "scoring",
    "spread",
    "taints",
];

fn compare_all(cases: &BTreeMap<String, BTreeMap<String, String>>) -> Tally {
    let mut tally = Tally::default();
    for (name, files) in cases {
        match Case::read(name, files) {
            Ok(case) => compare::case(&case, &mut tally),
            Err(reason) => tally.leave_out(name, &reason),
        }
    }
    tally
}

/// The cases that are checked in; `SCHEDSCOPE_GOLDEN=DIR` compares those of a folder instead.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn decisions_are_those_of_kube_scheduler() {
    let folder = std::env::var_os("SCHEDSCOPE_GOLDEN");
    let cases = match &folder {
        Some(folder) => archive::read_folder(folder.as_ref()),
        None => archive::read_packed("decide.tar.zst"),
    };
    let tally = compare_all(&cases);
    println!("{tally}");
    assert!(tally.mismatches.is_empty(), "{}", tally.mismatch_text());
    assert!(tally.pods > 0, "there is nothing to compare");
    if folder.is_none() {
        // What is left out must not grow without notice.
        assert_eq!(tally.left_out.len(), 0, "{:?}", tally.left_out);
        for family in FAMILIES {
            assert!(cases.keys().any(|name| name.starts_with(family)), "family {family}");
        }
    }
}
