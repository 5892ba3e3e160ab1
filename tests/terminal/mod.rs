//! The program in a real terminal: what is written, what is read, and what is left behind.
//!
//! The panes have their own tests without a terminal; here is what only a terminal can show.

mod colours;
mod ends;
pub mod hostile;
mod idle;
mod input;
mod panics;
mod people;
mod plain;
mod replay;
mod settings;
mod sizes;
mod speed;
mod steps;
mod stories;
mod suspend;
