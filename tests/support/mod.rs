//! What several tests share.

#[cfg(unix)]
pub mod pty;
pub use schedscope::driver::conformance::run::test_plugins;
pub mod world;
