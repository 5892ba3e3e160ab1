//! The scheduler's cache: every node with what is on it, the pods included that are about to be bound there.
//!
//! Mirrors `pkg/scheduler/backend/cache`. The cache follows what the watchers report, plus what the scheduler
//! *assumes*: a pod takes its place on the node as soon as the node is chosen. Assumed pods do not expire. What a
//! cycle sees is a [`Snapshot`](crate::framework::Snapshot), which the cache brings up to date between cycles.
//!
//! Not here: pod groups.

mod image_states;
mod node_tree;
mod scheduler_cache;
#[cfg(test)]
mod tests;

pub use scheduler_cache::{Cache, CacheError};
