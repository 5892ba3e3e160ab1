//! Generated names, as `k8s.io/apimachinery/pkg/util/rand` makes them.

use crate::api::Rng;

/// Without vowels and digits that look like letters, so that no words come about.
pub(in crate::driver) const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many characters the end of a name has.
const END_LEN: usize = 5;

/// The end of a generated name.
pub(in crate::driver) fn name_end(rng: &mut Rng) -> String {
    letters(rng, END_LEN)
}

/// So many letters as they stand in generated names.
pub(in crate::driver) fn letters(rng: &mut Rng, n: usize) -> String {
    let letters = (0..n).filter_map(|_| ALPHABET.get(rng.below(ALPHABET.len())));
    letters.map(|letter| char::from(*letter)).collect()
}
