//! How extenders are called: over the network, or by a player that answers by rules.

mod http;
mod http_errors;
mod play_answers;
mod player;
mod rules;
#[cfg(test)]
mod tests;
mod tls;

pub use http::HttpTransport;
pub use player::{PlayedAnswer, PlayedBind, Player, PlayerError};
pub use tls::{TlsError, TlsProblem};
