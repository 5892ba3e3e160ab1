//! The sandbox: a cluster in memory, for a scheduler to work on.
//!
//! It plays the API server, with its defaults and its answers, as much of the kubelet as makes an evicted pod go when
//! its grace period is over, and the controllers of volumes and devices. A pod that has gone is replaced where a node was
//! drained or removed ([`returns`]), or where the cluster lives ([`world`]). What happens by itself is a [`scenario`].

pub mod admission;
pub mod answers;
pub mod api;
pub mod changes;
mod configuration;
pub mod controllers;
pub mod deletion;
pub mod disk_defaults;
pub mod documents;
mod draining;
pub mod edits;
mod following;
pub mod generate;
mod living;
pub(in crate::driver) mod names;
pub mod ops;
pub mod record;
pub mod requests;
pub mod resources;
pub mod returns;
pub mod sample;
pub mod scenario;
mod several;
pub mod simulator;
pub mod storage_defaults;
pub mod told;
pub mod words;
pub mod world;
mod world_documents;
mod writes;
