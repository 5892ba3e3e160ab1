//! Against a real kube-apiserver and etcd, with the real kube-scheduler beside.
//!
//! `SCHEDSCOPE_E2E=1 cargo test cluster` builds what it needs with Go and runs them; without it each test says why it
//! was skipped.

mod harness;
mod observe;
mod operate;
