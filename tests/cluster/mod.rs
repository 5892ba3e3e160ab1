//! Against a real kube-apiserver and etcd, with the real kube-scheduler beside.
//!
//! `SCHEDSCOPE_E2E=1 cargo test cluster` builds what it needs with Go; without it, or without Go, each test says why it
//! was skipped.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    reason = "real processes are started and waited for, and a skipped test says why"
)]

mod certificates;
mod console;
mod credentials;
mod endings;
mod faults;
mod harness;
mod manifests;
mod metrics;
mod observe;
mod operate;
mod past;
mod proxy;
mod questions;
mod rate;
mod rbac;
mod safety;
mod serve;
mod served;
mod twins;

pub use harness::{built, is_skipped};
