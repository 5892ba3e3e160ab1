//! The screen: the console's bytes and sizes, and each pane on a cluster made by hand.

mod bytes;
pub mod console;
pub mod fixture;
mod harness;
mod panes;
