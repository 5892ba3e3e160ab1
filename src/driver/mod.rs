//! What stands between the core and the world: clocks, threads and I/O.

pub mod branches;
pub mod breakpoints;
pub mod conformance;
pub mod extender;
pub mod history;
pub mod recorder;
pub mod rewind;
pub mod runner;
pub mod sandbox;
pub mod session;
pub mod stepper;
pub mod what_if;
