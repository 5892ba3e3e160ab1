//! Themes: a style for each role, found by an index while drawing.
//!
//! A theme is read once from TOML (`load`), converted once to the colours that the terminal shows (`color`), and
//! never looked at as text again.

use ratatui::style::{Modifier, Style};

pub mod color;
pub mod library;
pub mod load;
pub mod role;

pub use color::ColorDepth;
pub use role::Role;

use crate::framework::Code;

/// The name of the theme without colours.
pub const MONO: &str = "mono";

/// For what kind of background a theme is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Light text on a dark background.
    Dark,
    /// Dark text on a light background.
    Light,
}

/// A style for every role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    name: String,
    variant: Variant,
    depth: ColorDepth,
    styles: Vec<Style>,
}

impl Theme {
    /// Puts a theme together. `styles` has an entry for each of [`Role::ALL`], in that order; what is missing has
    /// no style.
    pub(super) fn new(name: String, variant: Variant, depth: ColorDepth, mut styles: Vec<Style>) -> Self {
        styles.resize(Role::ALL.len(), Style::new());
        Self { name, variant, depth, styles }
    }

    /// The theme of that name among those that are built in, at that depth; [`Theme::mono`] if the terminal shows
    /// no colours.
    pub fn built_in(name: &str, depth: ColorDepth) -> Option<Self> {
        if depth == ColorDepth::None {
            return load::embedded(name).map(|_| Self::mono());
        }
        let text = load::embedded(name)?;
        Some(load::load(name, text, depth, &|_| None).0)
    }

    /// The dark theme.
    pub fn dark(depth: ColorDepth) -> Self {
        Self::built_in("dark", depth).unwrap_or_else(Self::mono)
    }

    /// The light theme.
    pub fn light(depth: ColorDepth) -> Self {
        Self::built_in("light", depth).unwrap_or_else(Self::mono)
    }

    /// The theme without colours: every colour is the terminal's own, and bold, dim, italic, underline and
    /// reverse tell things apart.
    pub fn mono() -> Self {
        let styles = Role::ALL.iter().map(|role| Style::reset().add_modifier(mono_modifier(*role))).collect();
        Self::new(MONO.to_owned(), Variant::Dark, ColorDepth::None, styles)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For what background it is.
    pub const fn variant(&self) -> Variant {
        self.variant
    }

    /// For what terminal it was converted.
    pub const fn depth(&self) -> ColorDepth {
        self.depth
    }

    /// The style of a role. Patch it onto what is below: roles without a background let it through.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// The style of a status code.
    pub fn code(&self, code: Code) -> Style {
        self.style(match code {
            Code::Success => Role::StatusSuccess,
            Code::Error => Role::StatusError,
            Code::Unschedulable => Role::StatusUnschedulable,
            Code::UnschedulableAndUnresolvable => Role::StatusUnresolvable,
            Code::Wait => Role::StatusWait,
            Code::Skip => Role::StatusSkip,
            Code::Pending => Role::StatusPending,
        })
    }

    /// The style of a score that is `part` of `whole`.
    pub fn score(&self, part: i64, whole: i64) -> Style {
        let fifth = if whole <= 0 { 0 } else { part.saturating_mul(5) / whole };
        self.style(match fifth {
            i64::MIN..=0 => Role::ScoreLowest,
            1 => Role::ScoreLow,
            2 => Role::ScoreMiddle,
            3 => Role::ScoreHigh,
            _ => Role::ScoreHighest,
        })
    }
}

/// What tells a role apart without colour.
fn mono_modifier(role: Role) -> Modifier {
    match role {
        Role::Strong
        | Role::Heading
        | Role::Accent
        | Role::TitleFocused
        | Role::BorderFocused
        | Role::ArmedBorder
        | Role::StatusBarName
        | Role::StatusBarValue
        | Role::Key
        | Role::QueueActive
        | Role::QueueBackoff
        | Role::QueueUnschedulable
        | Role::Warning
        | Role::Paused
        | Role::Running
        | Role::StatusUnschedulable
        | Role::Tie
        | Role::ScoreHighest
        | Role::LogWarn => Modifier::BOLD,
        Role::Muted
        | Role::Label
        | Role::Border
        | Role::StatusBarLabel
        | Role::KeyLabel
        | Role::StatusSkip
        | Role::QueueGated
        | Role::BarFree
        | Role::Scrollbar
        | Role::ScoreLowest
        | Role::LogTrace
        | Role::LogDebug => Modifier::DIM,
        Role::Selection | Role::Cursor | Role::TabFocused => Modifier::REVERSED,
        Role::Error | Role::Danger | Role::Armed | Role::StatusError | Role::LogError => {
            Modifier::BOLD.union(Modifier::REVERSED)
        }
        Role::SelectionUnfocused | Role::StatusPending | Role::Match => Modifier::UNDERLINED,
        Role::Lit | Role::StatusUnresolvable | Role::Winner => Modifier::BOLD.union(Modifier::UNDERLINED),
        Role::StatusWait => Modifier::ITALIC,
        Role::Screen
        | Role::Text
        | Role::Name
        | Role::Number
        | Role::Title
        | Role::StatusBar
        | Role::Footer
        | Role::Tab
        | Role::Overlay
        | Role::OverlayBorder
        | Role::Input
        | Role::Info
        | Role::StatusSuccess
        | Role::BarUsed
        | Role::BarHigh
        | Role::BarFull
        | Role::ScoreLow
        | Role::ScoreMiddle
        | Role::ScoreHigh
        | Role::LogInfo => Modifier::empty(),
    }
}
