//! The player and the client.

mod http;
mod player;
