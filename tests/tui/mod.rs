//! The screen.

mod bytes;
pub mod console;
