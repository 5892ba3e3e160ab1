//! A cluster that is only simulated.

pub mod api;
pub mod simulator;
