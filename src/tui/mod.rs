//! The console: panes, overlays, keys, themes and the loop that draws them.
//!
//! It sees the scheduler through [`SessionView`](crate::driver::session::SessionView)s and speaks to it through
//! a [`SessionHandle`](crate::driver::session::SessionHandle); it decides nothing about scheduling and knows no
//! queue, cache or plugin. ratatui stays inside this module, crossterm inside `terminal`, `event_loop` and
//! `keymap::key`.

pub mod action;
pub mod changes;
pub mod keymap;
pub mod layout;
pub mod log_lines;
pub mod panes;
pub mod suggest;
pub mod theme;
pub mod widgets;
