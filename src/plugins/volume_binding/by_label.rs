//! Finding what a node reaches without asking each thing in turn.
//!
//! Volumes and capacities are often tied to one node or zone by a label. They are found by that label; what is not
//! tied to one is asked in turn.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::api::objects::Labels;

/// Positions in a list, by the label that a node must have.
#[derive(Clone, Debug, Default)]
pub struct ByLabel {
    tied: BTreeMap<Str, BTreeMap<Str, Vec<usize>>>,
    untied: Vec<usize>,
}

impl ByLabel {
    /// Sorts a list. `needed` tells the label that a node must have for each of its elements, if there is one.
    pub fn of<'a, T: 'a>(list: &'a [T], needed: impl Fn(&'a T) -> Option<(&'a str, &'a [Str])>) -> Self {
        let mut found = Self::default();
        for (position, element) in list.iter().enumerate() {
            let Some((key, values)) = needed(element) else {
                found.untied.push(position);
                continue;
            };
            if !found.tied.contains_key(key) {
                found.tied.insert(Str::from(key), BTreeMap::new());
            }
            if let Some(by_value) = found.tied.get_mut(key) {
                for value in values {
                    let positions = by_value.entry(value.clone()).or_default();
                    // A value may be named twice.
                    if positions.last() != Some(&position) {
                        positions.push(position);
                    }
                }
            }
        }
        found
    }

    /// The first element of the list that will do for a node with these labels. `will_do` is asked of those alone that
    /// have their label.
    pub fn first(&self, labels: &Labels, will_do: impl Fn(usize) -> bool) -> Option<usize> {
        let tied = self.tied.iter().filter_map(|(key, by_value)| by_value.get(labels.get(key)?));
        let lists = tied.chain(std::iter::once(&self.untied));
        lists.filter_map(|positions| positions.iter().copied().find(|position| will_do(*position))).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_whatever_it_is_tied_to() {
        let value = |values: &[&str]| values.iter().map(|value| Str::from(*value)).collect::<Vec<_>>();
        let list = [
            Some(("zone", value(&["b"]))),
            Some(("host", value(&["h1"]))),
            None,
            Some(("zone", value(&["a", "b", "b"]))),
        ];
        let found = ByLabel::of(&list, |one| one.as_ref().map(|(key, values)| (*key, values.as_slice())));
        let labels: Labels =
            [("zone", "b"), ("host", "h1")].map(|(key, value)| (Str::from(key), Str::from(value))).into();
        let first = |from: usize| found.first(&labels, |position| position >= from);
        assert_eq!(
            [first(0), first(1), first(2), first(3), first(4)],
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(found.first(&Labels::new(), |_| true), Some(2));
    }
}
