//! The one integration test binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod cli;
mod conformance;
mod explain;
mod measure;
mod scheduler;
mod support;
#[cfg(unix)]
mod terminal;
mod tidy;
mod tui;
