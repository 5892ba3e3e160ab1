//! What stands between the core and the world: clocks, threads and I/O.

pub mod sandbox;
