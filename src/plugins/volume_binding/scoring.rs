//! How well the storage of a node is used: only behind the gate StorageCapacityScoring.
//!
//! Follows `plugins/volumebinding/scorer.go` and `Score` of `volume_binding.go`.

use std::collections::BTreeMap;

use crate::config::plugin_args::UtilizationShapePoint;
use crate::plugins::helper::shape_score::{FunctionShapePoint, broken_linear};

use super::binder::PodVolumes;

const MAX_UTILIZATION: i64 = 100;
/// Scores of shapes go to 10, those of nodes to 100.
const SCORE_SCALE: i64 = 10;

/// Bytes that are requested and that there are, of one class.
#[derive(Clone, Copy, Debug, Default)]
struct StorageResource {
    requested: i64,
    capacity: i64,
}

/// The function from the use of storage to score.
#[derive(Clone, Debug)]
pub struct CapacityScorer {
    shape: Vec<FunctionShapePoint>,
}

/// What a node's storage has room for, of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassUse {
    /// The class.
    pub class: String,
    /// Bytes that the pod's claims ask for.
    pub requested: i64,
    /// Bytes that there are.
    pub capacity: i64,
    /// In per cent, as the score counts it.
    pub utilization: i64,
    /// What the shape gives for it.
    pub score: i64,
}

/// What Score counts, kept for people.
#[derive(Clone, Debug)]
pub(super) struct Scoring(pub(super) CapacityScorer);

impl CapacityScorer {
    /// The function through these points.
    pub fn new(shape: &[UtilizationShapePoint]) -> Self {
        let point = |point: &UtilizationShapePoint| FunctionShapePoint {
            utilization: i64::from(point.utilization),
            score: i64::from(point.score) * SCORE_SCALE,
        };
        Self { shape: shape.iter().map(point).collect() }
    }

    /// The score of a node on which this is to be done: the mean over the classes.
    pub fn score(&self, volumes: &PodVolumes) -> i64 {
        let classes = by_class(volumes);
        let Ok(count) = i32::try_from(classes.len()) else { return 0 };
        if count == 0 {
            return 0;
        }
        let sum: i64 = classes.values().map(|resource| self.score_class(*resource)).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "sums of scores are small"
        )]
        let mean = (sum as f64 / f64::from(count)).round() as i64;
        mean
    }

    /// The points of its shape, utilization and score, each from 0 to 100.
    pub fn points(&self) -> Vec<(i64, i64)> {
        self.shape.iter().map(|point| (point.utilization, point.score)).collect()
    }

    /// What each class contributes to the score.
    pub fn classes(&self, volumes: &PodVolumes) -> Vec<ClassUse> {
        let of = |(class, resource): (&str, StorageResource)| ClassUse {
            class: class.to_owned(),
            requested: resource.requested,
            capacity: resource.capacity,
            utilization: utilization(resource),
            score: self.score_class(resource),
        };
        by_class(volumes).into_iter().map(of).collect()
    }

    fn score_class(&self, resource: StorageResource) -> i64 {
        broken_linear(&self.shape, utilization(resource))
    }
}

fn utilization(StorageResource { requested, capacity }: StorageResource) -> i64 {
    if capacity == 0 || requested > capacity {
        MAX_UTILIZATION
    } else {
        requested.wrapping_mul(MAX_UTILIZATION) / capacity
    }
}

/// What is requested and there, by class: of the volumes that are bound, or if there are none, of those that are made
/// where room was asked for.
fn by_class(volumes: &PodVolumes) -> BTreeMap<&str, StorageResource> {
    let mut classes: BTreeMap<&str, StorageResource> = BTreeMap::new();
    for binding in &volumes.bindings {
        let resource = classes.entry(&*binding.volume.spec.storage_class_name).or_default();
        resource.requested += binding.claim.request().unwrap_or_default().value();
        resource.capacity += binding.volume.size().unwrap_or_default().value();
    }
    if !volumes.bindings.is_empty() {
        return classes;
    }
    for provision in &volumes.provisions {
        let Some(capacity) = &provision.capacity else { continue };
        let resource = classes.entry(provision.claim.class()).or_default();
        // All volumes of a class are made in the same room.
        resource.capacity = capacity.capacity.unwrap_or_default().value();
        resource.requested += provision.claim.request().unwrap_or_default().value();
    }
    classes
}
