//! What several plugins need: taints, normalization of scores, sorting, objects in hints, signatures, spreading by
//! default, devices.
//!
//! Follows `pkg/scheduler/framework/plugins/helper` and parts of `pkg/scheduler/util`.

pub mod csi_translation;
pub mod devices;
pub mod ephemeral;
pub mod listers;
pub mod normalize_score;
pub mod objects;
pub mod shape_score;
pub mod signers;
pub mod sort;
pub mod spread;
pub mod taints;
pub mod volumes;
