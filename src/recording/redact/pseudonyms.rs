//! Words that stand for other words, in the same order.
//!
//! Schedulers compare names for equality and, where a tie has to end, by their order. So every word gets a word that
//! stands in the same relation to all others: equal words get equal ones, and of two words the smaller one gets the
//! smaller one. Words come one by one and keep what they got.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Letters of a pseudonym.
const BASE: u64 = 26;
/// How far a new last word stands from the one before it, so that others fit between.
const STEP: u64 = 64;
/// A part of a pseudonym that stands in the middle: its first letter says how many digits follow.
const MIDDLE: u8 = b'n';

/// Words with their pseudonyms.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    known: BTreeMap<String, String>,
}

impl Words {
    /// The pseudonym of a word.
    pub(super) fn get(&mut self, word: &str) -> String {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let neighbour = |range| self.known.range::<str, (Bound<&str>, Bound<&str>)>(range);
        let before = neighbour((Bound::Unbounded, Bound::Excluded(word))).next_back();
        let behind = neighbour((Bound::Excluded(word), Bound::Unbounded)).next();
        let before = before.map_or(&[][..], |(_, pseudonym)| pseudonym.as_bytes());
        let behind = behind.map(|(_, pseudonym)| pseudonym.as_bytes());
        let pseudonym = String::from_utf8_lossy(&between(before, behind)).into_owned();
        self.known.insert(word.to_owned(), pseudonym.clone());
        pseudonym
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// A part of a pseudonym: a letter that says how many digits it has, and those.
///
/// Letters from `n` on count upwards from three digits, those before it downwards; so longer parts stand further out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    head: u8,
    number: u64,
}

impl Part {
    fn n_digits(head: u8) -> usize {
        usize::from(if head >= MIDDLE { head - MIDDLE } else { MIDDLE - 1 - head }) + 3
    }

    /// How many parts have that head.
    fn count(head: u8) -> u64 {
        BASE.saturating_pow(u32::try_from(Self::n_digits(head)).unwrap_or(u32::MAX))
    }

    /// The last part of a pseudonym with what stands before it.
    fn split_last(pseudonym: &[u8]) -> Option<(&[u8], Self)> {
        let mut at = 0;
        let mut last = None;
        while let Some(head) = pseudonym.get(at).copied() {
            let end = at + 1 + Self::n_digits(head);
            let digits = pseudonym.get(at + 1..end)?;
            let number = digits.iter().fold(0_u64, |number, digit| {
                number.wrapping_mul(BASE).wrapping_add(u64::from(digit.wrapping_sub(b'a')))
            });
            last = Some((pseudonym.get(..at)?, Self { head, number }));
            at = end;
        }
        last
    }

    fn write(self, to: &mut Vec<u8>) {
        to.push(self.head);
        let n_digits = Self::n_digits(self.head);
        let start = to.len();
        let mut number = self.number;
        for _ in 0..n_digits {
            to.push(b'a' + u8::try_from(number % BASE).unwrap_or(0));
            number /= BASE;
        }
        if let Some(digits) = to.get_mut(start..) {
            digits.reverse();
        }
    }

    /// The part so many places further on.
    fn plus(self, step: u64) -> Option<Self> {
        let number = self.number.checked_add(step)?;
        if number < Self::count(self.head) {
            return Some(Self { number, ..self });
        }
        (self.head < b'v').then(|| Self { head: self.head + 1, number: 0 })
    }

    /// The part so many places before.
    fn minus(self, step: u64) -> Option<Self> {
        match self.number.checked_sub(step) {
            Some(number) => Some(Self { number, ..self }),
            None if self.head > b'e' => {
                let head = self.head - 1;
                Some(Self { head, number: Self::count(head) - 1 })
            }
            None => None,
        }
    }
}

/// A pseudonym between two others; the empty one stands before all.
fn between(before: &[u8], behind: Option<&[u8]>) -> Vec<u8> {
    let fits = |pseudonym: &Vec<u8>| {
        pseudonym.as_slice() > before && behind.is_none_or(|behind| pseudonym.as_slice() < behind)
    };
    let with = |prefix: &[u8], part: Part| {
        let mut pseudonym = prefix.to_vec();
        part.write(&mut pseudonym);
        pseudonym
    };
    let mut candidates: Vec<Vec<u8>> = Vec::new();
    let last = Part::split_last(before);
    let first = behind.and_then(Part::split_last);
    if let (Some((prefix, low)), Some((other, high))) = (last, first)
        && prefix == other
        && low.head == high.head
    {
        candidates.push(with(prefix, Part { number: low.number.midpoint(high.number), ..low }));
    }
    for step in [STEP, 1] {
        candidates.extend(last.and_then(|(prefix, low)| Some(with(prefix, low.plus(step)?))));
    }
    for step in [STEP, 1] {
        candidates.extend(first.and_then(|(prefix, high)| Some(with(prefix, high.minus(step)?))));
    }
    // No room beside them: one level deeper.
    let middle = Part { head: MIDDLE, number: 0 };
    let deeper = with(before, middle);
    candidates.into_iter().find(fits).unwrap_or(deeper)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_order(words: &Words) {
        let pseudonyms: Vec<&String> = words.known.values().collect();
        assert!(pseudonyms.is_sorted_by(|a, b| a < b), "{:?}", words.known);
        assert!(pseudonyms.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    proptest! {
        #[test]
        fn pseudonyms_stand_in_the_order_of_the_words(list in prop::collection::vec("[a-z0-9_]{0,4}", 0..300)) {
            let mut words = Words::default();
            for word in &list {
                let first = words.get(word);
                prop_assert_eq!(first, words.get(word));
            }
            in_order(&words);
        }
    }

    #[test]
    fn words_in_order_get_short_pseudonyms() {
        for is_reversed in [false, true] {
            let mut words = Words::default();
            let mut list: Vec<String> = (0..20_000).map(|number| format!("{number:06}")).collect();
            if is_reversed {
                list.reverse();
            }
            let longest = list.iter().map(|word| words.get(word).len()).max();
            assert!(longest <= Some(7), "{longest:?}");
            in_order(&words);
            assert_eq!(words.len(), 20_000);
        }
    }

    #[test]
    fn words_in_any_order_get_pseudonyms_of_moderate_length() {
        let mut words = Words::default();
        let mut rng = crate::api::Rng::new(1);
        let total: usize = (0..10_000).map(|_| words.get(&format!("{:016x}", rng.next_u64())).len()).sum();
        assert!(total / 10_000 < 40, "{}", total / 10_000);
        in_order(&words);
    }
}
