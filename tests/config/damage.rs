//! Damaged configurations: whatever a text holds, it is read or refused with complaints that point into it.

use schedscope::api::Rng;
use schedscope::config::{FeatureGates, ReadOptions, SchedulerConfig, view};

use super::{catalog, packed};

/// What is put into texts where they are damaged.
const PIECES: [&str; 24] = [
    "", " ", "\n", "\t", "-", "- ", ":", ": ", "{", "}", "[", "]", "'", "\"", "&a ", "*a", "<<: ", "null",
    "-1", "1e99", "!!int ", "|\n", "\u{e9}", "---\n",
];

#[test]
fn no_damage_makes_it_panic() {
    let files = packed("odd.tar.zst");
    let texts: Vec<&String> = files
        .iter()
        .filter(|(name, _)| name.ends_with(".yaml") || name.ends_with(".json"))
        .map(|f| f.1)
        .collect();
    let (gates, catalog) = (FeatureGates::default(), catalog());
    let options = ReadOptions { source: "damaged", gates: &gates, catalog: &catalog };
    let mut rng = Rng::new(7);
    let mut below = |bound: usize| usize::try_from(rng.next_u64() % bound.max(1) as u64).unwrap();
    let mut refused = 0;
    for _ in 0..3_000 {
        let mut text = texts[below(texts.len())].clone();
        for _ in 0..=below(3) {
            let mut ends = [below(text.len() + 1), below(text.len() + 1)];
            ends[1] = ends[0] + (ends[1].abs_diff(ends[0])).min(below(12));
            let [start, end] = ends
                .map(|end| (0..=end.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap());
            text.replace_range(start..end, PIECES[below(PIECES.len())]);
        }
        match SchedulerConfig::read(&text, options) {
            Ok(config) => {
                let _ = (view::yaml(&config), view::table(&config), view::diff(&config));
            }
            Err(complaints) => {
                refused += 1;
                assert!(!complaints.is_empty(), "{text}");
                let lines = text.lines().count().max(1) + 1;
                let places = complaints.list.iter().flat_map(|complaint| &complaint.places);
                assert!(
                    places.clone().count() > 0 && places.into_iter().all(|place| place.line <= lines),
                    "{text}"
                );
            }
        }
    }
    assert!(refused > 300, "only {refused} were refused");
}
