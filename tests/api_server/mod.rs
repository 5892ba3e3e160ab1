//! The sandbox as a Kubernetes API: with the kube crate, with kubectl, and with a real kube-scheduler as client.
//!
//! What needs kubectl or the scheduler is skipped where `SCHEDSCOPE_E2E` is not 1; kubectl is the program that
//! `SCHEDSCOPE_KUBECTL` names, or the one on the path.

#![allow(clippy::disallowed_methods, clippy::print_stderr, reason = "real processes are waited for")]

mod harness;
mod kubectl;
mod past;
mod scheduler;
mod verbs;
mod watches;
mod workloads;
