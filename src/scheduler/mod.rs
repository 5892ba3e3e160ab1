//! The scheduler core: deterministic, sans-IO, a copyable value.

pub mod trace;
pub mod view;
