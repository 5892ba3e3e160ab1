//! The screen: panes drawn into buffers from a cluster made by hand, and the bytes that reach a terminal.

mod advice;
mod bytes;
pub mod console;
mod drawing;
pub mod fixture;
mod harness;
mod live_view;
mod matrix;
mod moving;
mod overlays;
mod panes;
mod stories;
mod themes;
mod timeline;
mod what_if;
mod why;
mod workloads;
