//! The normalization that most plugins use.
//!
//! Follows `helper/normalize_score.go`.

use crate::framework::{MAX_NODE_SCORE, NodeScore};

/// Scales the scores so that the highest becomes 100; with `reverse` the highest becomes 0. Where all are 0 they
/// stay 0, or all become 100 with `reverse`.
pub fn default_normalize_score(reverse: bool, scores: &mut [NodeScore]) {
    let highest = scores.iter().map(|score| score.score).max().unwrap_or(0).max(0);
    for score in scores {
        let scaled = if highest == 0 { 0 } else { MAX_NODE_SCORE.wrapping_mul(score.score) / highest };
        score.score = match (reverse, highest) {
            (true, _) => MAX_NODE_SCORE - scaled,
            (false, 0) => score.score,
            (false, _) => scaled,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Str;

    fn normalized(reverse: bool, scores: &[i64]) -> Vec<i64> {
        let name = Str::from("n");
        let mut scores: Vec<NodeScore> =
            scores.iter().map(|score| NodeScore { name: name.clone(), score: *score }).collect();
        default_normalize_score(reverse, &mut scores);
        scores.into_iter().map(|score| score.score).collect()
    }

    /// Upstream's own table.
    #[test]
    fn scores_are_scaled_to_100() {
        assert_eq!(normalized(false, &[1, 2, 3, 4]), [25, 50, 75, 100]);
        assert_eq!(normalized(true, &[1, 2, 3, 4]), [75, 50, 25, 0]);
        assert_eq!(normalized(false, &[1000, 10, 20, 30]), [100, 1, 2, 3]);
        assert_eq!(normalized(true, &[1000, 10, 20, 30]), [0, 99, 98, 97]);
        assert_eq!(normalized(false, &[1, 1, 1, 1]), [100, 100, 100, 100]);
        assert_eq!(normalized(false, &[0, 0]), [0, 0]);
        assert_eq!(normalized(true, &[0, 0]), [100, 100]);
    }
}
