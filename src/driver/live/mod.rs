//! The live cluster: watched, predicted, and run where a person wants that.
//!
//! `connect` finds the API server, `feed` lists and watches each kind, `informers` makes inputs of what they report,
//! `engine` holds the scheduler, `observer` compares its decisions with the cluster's.

pub mod connect;
pub mod elect;
pub mod engine;
pub mod events;
mod feed;
pub mod informers;
mod kept;
pub mod lease;
pub mod observer;
pub mod requests;
pub mod session;
pub mod view;
pub mod writer;
