//! The one integration test binary.

mod explain;
mod tui;
