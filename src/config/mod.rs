//! The configuration of a scheduler: profiles, their plugins and arguments, and feature gates.
//!
//! Text comes in as a `&str` and goes out as checked values; files are the caller's affair.

pub mod gates;

pub use gates::{FeatureGates, Gate, GateError};
