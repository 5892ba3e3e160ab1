//! What stands between the core and the world: clocks, threads and I/O.

pub mod conformance;
pub mod extender;
pub mod history;
pub mod live;
pub mod recorder;
pub mod rewind;
pub mod runner;
pub mod sandbox;
pub mod session;
pub mod stepper;
