//! What several tests share.

#[cfg(unix)]
pub mod pty;
pub mod world;

// The plugins of scripts, which the program itself needs for `conformance run`; they stand beside this file.
pub use schedscope::driver::conformance::run::test_plugins;
