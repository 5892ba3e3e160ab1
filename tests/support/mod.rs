//! What several tests share.

pub mod test_plugins;
pub mod world;
