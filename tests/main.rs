//! The one integration test binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod config;
mod conformance;
mod explain;
mod scheduler;
mod support;
mod tidy;
mod tui;
