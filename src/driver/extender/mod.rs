//! How extenders are called: over the network, or by a player that answers by rules.

mod play_answers;
pub mod player;
mod rules;

pub use player::{PlayedAnswer, PlayedBind, Player, PlayerError};
