//! The screen: panes drawn into buffers from a cluster made by hand.

pub mod fixture;
mod harness;
mod panes;
