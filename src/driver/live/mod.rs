//! The live cluster: watched, predicted, and run where a person wants that.
//!
//! `connect` finds the API server, `feed` lists and watches each kind, `informers` makes inputs of what they report,
//! `engine` holds the scheduler, `observer` compares its decisions with the cluster's. `keeper` keeps what the scheduler
//! is told, and `past` lets a person look at it, and fork it, while the cluster goes on.

mod aside;
pub mod audit;
pub mod connect;
pub mod deed;
pub mod elect;
pub mod engine;
pub mod events;
mod feed;
mod in_turn;
pub mod informers;
pub mod keeper;
mod kept;
pub mod lease;
pub mod observer;
pub mod once;
pub mod others;
pub mod past;
pub mod plugin;
mod pool;
mod renewing;
pub mod requests;
pub mod rules;
mod second_look;
pub mod session;
mod shadow;
pub mod steering;
pub mod view;
pub mod writer;

pub use kept::NOT_KEPT;
