//! What stands between the core and the world: clocks, threads and I/O.

mod batch_queue;
pub mod branches;
pub mod breakpoints;
pub mod conformance;
pub mod desk;
pub mod extender;
mod growing;
pub mod history;
pub mod inspect;
mod last_minutes;
mod left;
pub mod live;
mod permit;
mod phases;
pub mod playback;
pub mod player;
pub mod recorder;
pub mod replay;
pub mod rewind;
pub mod runner;
pub mod sandbox;
pub mod seek;
pub mod session;
pub mod stepper;
pub mod tap;
pub mod timeline;
pub mod what_if;
