//! What several tests share.

#[cfg(unix)]
pub mod pty;
pub mod test_plugins;
pub mod world;
