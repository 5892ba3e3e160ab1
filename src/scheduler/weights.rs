//! Which weight of a Score plugin alone would make a node the best.
//!
//! Arithmetic over the scores of an attempt, all normalized scores as they are; nothing of kube-scheduler does this.

use crate::framework::runtime::ScoreOutcome;

/// The greatest weight of a Score plugin that is proposed; a larger one says nothing any more.
const MAX_WEIGHT: i64 = 100;

/// The plugins whose weight alone, all normalized scores as they are, would make the total of the node at `own` the
/// highest: present weight and the nearest one that does, the smallest step first.
pub fn deciding_weights(scores: &ScoreOutcome, own: usize) -> Vec<(&'static str, i64, i64)> {
    let totals = &scores.totals;
    let Some(own_total) = totals.get(own).copied() else { return Vec::new() };
    let mut found = Vec::new();
    for scores in &scores.plugins {
        let Some(own_score) = scores.normalized.get(own).copied() else { continue };
        // `change * (own_score - other) > total - own_total` must hold for every other node.
        let (mut least, mut most) = (1 - scores.weight, MAX_WEIGHT - scores.weight);
        for (at, (total, other)) in totals.iter().zip(&scores.normalized).enumerate() {
            if at == own {
                continue;
            }
            let (ahead, gain) = (total.saturating_sub(own_total), own_score.saturating_sub(*other));
            match gain {
                0 if ahead >= 0 => (least, most) = (1, 0),
                0 => {}
                1.. => least = least.max(ahead.div_euclid(gain) + 1),
                // Dividing by a negative number turns the comparison round.
                _ => most = most.min((-ahead - 1).div_euclid(-gain)),
            }
        }
        let nearest = if least > 0 { least } else { most };
        if least <= most && nearest != 0 {
            found.push((scores.plugin, scores.weight, scores.weight + nearest));
        }
    }
    found.sort_by_key(|(_, now, then)| (then - now).abs());
    found
}
