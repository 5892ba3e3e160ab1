//! The signs of the console, in Unicode and in ASCII.
//!
//! Every sign has a meaning and every meaning has a sign in both sets, so that colour is never needed to read
//! the screen.

use ratatui::symbols::border;

use crate::framework::Code;

/// A set of signs. Each is one column wide, but for the arrow in ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Whether only ASCII is used.
    pub is_ascii: bool,
    /// Yes, fits, done.
    pub success: &'static str,
    /// No, and preemption may help.
    pub failure: &'static str,
    /// No, and preemption would not help.
    pub unresolvable: &'static str,
    /// Something went wrong.
    pub error: &'static str,
    /// Held until somebody lets it go.
    pub wait: &'static str,
    /// Nothing to do.
    pub skip: &'static str,
    /// Waits for something outside.
    pub pending: &'static str,
    /// A gate.
    pub gate: &'static str,
    /// What is cut off ends with it.
    pub ellipsis: &'static str,
    /// Between parts of a line.
    pub dot: &'static str,
    /// Between two things that meet, such as node and plugin.
    pub times: &'static str,
    /// A row that can be unfolded.
    pub folded: &'static str,
    /// A row that can be folded.
    pub unfolded: &'static str,
    /// What comes next.
    pub next: &'static str,
    /// From one to another.
    pub arrow: &'static str,
    /// The chosen one.
    pub winner: &'static str,
    /// As good as the chosen one.
    pub tie: &'static str,
    /// The session is paused.
    pub paused: &'static str,
    /// The session runs.
    pub running: &'static str,
    /// More to the left.
    pub more_left: &'static str,
    /// More to the right.
    pub more_right: &'static str,
    /// The taken part of a bar.
    pub bar_used: &'static str,
    /// The last half column of the taken part.
    pub bar_half: &'static str,
    /// The free part of a bar.
    pub bar_free: &'static str,
    /// The thumb of a scrollbar.
    pub thumb: &'static str,
    /// Before what is typed.
    pub prompt: &'static str,
    /// The lines of frames.
    pub border: border::Set<'static>,
    /// Where a divider meets the left side of a frame.
    pub join_left: &'static str,
    /// Where a divider meets the right side of a frame.
    pub join_right: &'static str,
}

/// Unicode.
pub const UNICODE: Glyphs = Glyphs {
    is_ascii: false,
    success: "✓",
    failure: "✗",
    unresolvable: "⊘",
    error: "!",
    wait: "◔",
    skip: "·",
    pending: "…",
    gate: "⊖",
    ellipsis: "…",
    dot: "·",
    times: "×",
    folded: "▸",
    unfolded: "▾",
    next: "▶",
    arrow: "→",
    winner: "★",
    tie: "≈",
    paused: "‖",
    running: "▶",
    more_left: "‹",
    more_right: "›",
    bar_used: "━",
    bar_half: "╸",
    bar_free: "─",
    thumb: "┃",
    prompt: "❯",
    border: border::ROUNDED,
    join_left: "├",
    join_right: "┤",
};

/// ASCII.
pub const ASCII: Glyphs = Glyphs {
    is_ascii: true,
    success: "+",
    failure: "x",
    unresolvable: "X",
    error: "!",
    wait: "w",
    skip: ".",
    pending: "~",
    gate: "#",
    ellipsis: "~",
    dot: "-",
    times: "x",
    folded: ">",
    unfolded: "v",
    next: ">",
    arrow: "->",
    winner: "*",
    tie: "=",
    paused: "|",
    running: ">",
    more_left: "<",
    more_right: ">",
    bar_used: "=",
    bar_half: "-",
    bar_free: ".",
    thumb: "#",
    prompt: ">",
    border: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
    join_left: "+",
    join_right: "+",
};

impl Glyphs {
    /// ASCII or Unicode.
    pub const fn new(is_ascii: bool) -> Self {
        if is_ascii { ASCII } else { UNICODE }
    }

    /// The sign of a status code.
    pub const fn code(&self, code: Code) -> &'static str {
        match code {
            Code::Success => self.success,
            Code::Error => self.error,
            Code::Unschedulable => self.failure,
            Code::UnschedulableAndUnresolvable => self.unresolvable,
            Code::Wait => self.wait,
            Code::Skip => self.skip,
            Code::Pending => self.pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const CODES: [Code; 7] = [
        Code::Success,
        Code::Error,
        Code::Unschedulable,
        Code::UnschedulableAndUnresolvable,
        Code::Wait,
        Code::Skip,
        Code::Pending,
    ];

    #[test]
    fn each_code_has_a_sign_of_its_own_in_both_sets() {
        for glyphs in [UNICODE, ASCII] {
            let signs: BTreeSet<_> = CODES.iter().map(|code| glyphs.code(*code)).collect();
            assert_eq!(signs.len(), CODES.len());
            assert_eq!(glyphs.is_ascii, signs.iter().all(|sign| sign.is_ascii()));
        }
    }
}
