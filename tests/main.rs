//! The one integration test binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod api_server;
mod brute_force;
mod cli;
mod cluster;
mod config;
mod conformance;
mod explain;
mod lessons;
mod measure;
mod recordings;
mod scheduler;
mod simulation;
mod support;
mod terminal;
mod tidy;
mod tui;
mod world;
