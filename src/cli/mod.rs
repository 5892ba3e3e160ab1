//! The command line.

pub mod input;
