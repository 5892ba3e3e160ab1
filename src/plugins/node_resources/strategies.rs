//! The three strategies by which NodeResourcesFit scores a node.
//!
//! Follows `least_allocated.go`, `most_allocated.go` and `requested_to_capacity_ratio.go` of
//! `plugins/noderesources`. All divide whole numbers; products wrap as upstream's do, for no amount may bring
//! the scheduler down.

use super::resource_allocation::Amounts;
use crate::config::plugin_args::{MAX_CUSTOM_PRIORITY_SCORE, ScoringStrategy};
use crate::framework::MAX_NODE_SCORE;
use crate::plugins::helper::shape_score::{FunctionShapePoint, broken_linear};

/// A strategy, ready for use.
#[derive(Clone, Debug)]
pub(super) enum Strategy {
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio(Vec<FunctionShapePoint>),
}

impl Strategy {
    pub(super) fn new(strategy: ScoringStrategy) -> Self {
        match strategy {
            ScoringStrategy::LeastAllocated => Self::LeastAllocated,
            ScoringStrategy::MostAllocated => Self::MostAllocated,
            ScoringStrategy::RequestedToCapacityRatio(shape) => Self::RequestedToCapacityRatio(
                shape
                    .into_iter()
                    .map(|point| FunctionShapePoint {
                        utilization: i64::from(point.utilization),
                        // Shapes score from 0 to 10.
                        score: i64::from(point.score) * (MAX_NODE_SCORE / MAX_CUSTOM_PRIORITY_SCORE),
                    })
                    .collect(),
            ),
        }
    }

    /// The score of a node with these resources.
    pub(super) fn score(&self, resources: impl Iterator<Item = Amounts>) -> i64 {
        let (mut sum, mut weights) = (0_i64, 0_i64);
        for amounts in resources {
            let score = self.resource_score(amounts.requested, amounts.allocatable);
            // Only with a shape, a resource that scores nothing does not count.
            if score > 0 || !matches!(self, Self::RequestedToCapacityRatio(_)) {
                sum = sum.wrapping_add(score.wrapping_mul(amounts.weight));
                weights += amounts.weight;
            }
        }
        match self {
            _ if weights == 0 => 0,
            Self::RequestedToCapacityRatio(_) => (sum as f64 / weights as f64).round() as i64,
            Self::LeastAllocated | Self::MostAllocated => sum / weights,
        }
    }

    fn resource_score(&self, requested: i64, capacity: i64) -> i64 {
        let percent = |amount: i64| amount.wrapping_mul(MAX_NODE_SCORE).wrapping_div(capacity);
        match self {
            Self::LeastAllocated if requested > capacity => 0,
            Self::LeastAllocated => percent(capacity.wrapping_sub(requested)),
            Self::MostAllocated => percent(requested.min(capacity)),
            Self::RequestedToCapacityRatio(shape) => {
                broken_linear(shape, if requested > capacity { 100 } else { percent(requested) })
            }
        }
    }
}
