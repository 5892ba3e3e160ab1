//! The sandbox: a cluster in memory, for a scheduler to work on.
//!
//! It plays the API server, with its defaults and its answers, as much of the kubelet as makes an evicted pod go when
//! its grace period is over, and the controllers of volumes and devices. Nothing replaces a pod that has gone.

pub mod admission;
pub mod answers;
pub mod api;
mod configuration;
pub mod controllers;
pub mod deletion;
pub mod disk_defaults;
pub mod documents;
pub mod edits;
mod following;
pub mod ops;
pub mod record;
pub mod requests;
pub mod resources;
pub mod sample;
pub mod simulator;
pub mod storage_defaults;
pub mod told;
mod writes;
