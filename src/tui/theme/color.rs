//! Colours, and what becomes of them on terminals that show fewer.

use ratatui::style::Color;

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// None: bold, reverse and the like only (`NO_COLOR`).
    None,
    /// The sixteen that every terminal has; the person's own settings say how they look.
    Ansi16,
    /// The 256 of xterm.
    Ansi256,
    /// Every one.
    TrueColor,
}

impl ColorDepth {
    /// What the environment says: `NO_COLOR` (if not empty), then `COLORTERM`, then `TERM`.
    pub fn from_env(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) {
            return Self::None;
        }
        if matches!(colorterm, Some("truecolor" | "24bit")) {
            return Self::TrueColor;
        }
        match term {
            Some(term) if term.ends_with("-direct") => Self::TrueColor,
            Some(term) if term.contains("256color") => Self::Ansi256,
            _ => Self::Ansi16,
        }
    }
}

/// A colour of a theme: the exact one, and the one of the sixteen that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThemeColor {
    /// Red, green and blue; absent for the terminal's own colour or one of its sixteen.
    pub rgb: Option<(u8, u8, u8)>,
    /// On a terminal with sixteen colours.
    pub ansi: Color,
}

impl ThemeColor {
    /// A colour with the nearest of the sixteen.
    pub fn from_rgb(rgb: (u8, u8, u8)) -> Self {
        Self { rgb: Some(rgb), ansi: nearest_ansi16(rgb) }
    }

    /// One of the sixteen, at any depth.
    pub const fn from_ansi(ansi: Color) -> Self {
        Self { rgb: None, ansi }
    }

    /// The colour for a terminal of that depth.
    pub fn at(self, depth: ColorDepth) -> Color {
        match (depth, self.rgb) {
            (ColorDepth::None, _) => Color::Reset,
            (ColorDepth::Ansi16, _) | (_, None) => self.ansi,
            (ColorDepth::Ansi256, Some(rgb)) => Color::Indexed(nearest_ansi256(rgb)),
            (ColorDepth::TrueColor, Some((r, g, b))) => Color::Rgb(r, g, b),
        }
    }
}

/// The sixteen by name, with the values that xterm gives them.
const ANSI16: [(&str, Color, (u8, u8, u8)); 16] = [
    ("black", Color::Black, (0, 0, 0)),
    ("red", Color::Red, (205, 0, 0)),
    ("green", Color::Green, (0, 205, 0)),
    ("yellow", Color::Yellow, (205, 205, 0)),
    ("blue", Color::Blue, (0, 0, 238)),
    ("magenta", Color::Magenta, (205, 0, 205)),
    ("cyan", Color::Cyan, (0, 205, 205)),
    ("gray", Color::Gray, (229, 229, 229)),
    ("dark-gray", Color::DarkGray, (127, 127, 127)),
    ("light-red", Color::LightRed, (255, 0, 0)),
    ("light-green", Color::LightGreen, (0, 255, 0)),
    ("light-yellow", Color::LightYellow, (255, 255, 0)),
    ("light-blue", Color::LightBlue, (92, 92, 255)),
    ("light-magenta", Color::LightMagenta, (255, 0, 255)),
    ("light-cyan", Color::LightCyan, (0, 255, 255)),
    ("white", Color::White, (255, 255, 255)),
];

/// Names of colours that need no palette.
pub fn ansi_names() -> impl Iterator<Item = &'static str> {
    ANSI16.iter().map(|(name, _, _)| *name).chain(["reset"])
}

/// One of the sixteen by name, or the terminal's own (`reset`).
pub fn parse_ansi(name: &str) -> Option<Color> {
    if name == "reset" {
        return Some(Color::Reset);
    }
    ANSI16.iter().find(|(known, _, _)| *known == name).map(|(_, color, _)| *color)
}

/// `#rrggbb`.
pub fn parse_rgb(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    Some((r, g, b))
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    // Green weighs most in what the eye sees as near.
    3 * square(a.0, b.0) + 6 * square(a.1, b.1) + square(a.2, b.2)
}

fn nearest_ansi16(rgb: (u8, u8, u8)) -> Color {
    ANSI16
        .iter()
        .min_by_key(|(_, _, known)| distance(*known, rgb))
        .map_or(Color::Reset, |(_, color, _)| *color)
}

/// The nearest of xterm's colours 16 to 255: the cube of 6 x 6 x 6 and the ramp of greys. The first sixteen are
/// left out because nobody knows how they look.
fn nearest_ansi256(rgb: (u8, u8, u8)) -> u8 {
    (16..=255).min_by_key(|index| distance(ansi256_rgb(*index), rgb)).unwrap_or(16)
}

fn ansi256_rgb(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return (grey, grey, grey);
    }
    let cube = index.saturating_sub(16);
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
}

/// The contrast of two colours as WCAG 2 defines it: 1 to 21.
pub fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |channel: u8| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_wins_unless_it_is_empty() {
        let depth = ColorDepth::from_env;
        assert_eq!(depth(Some("1"), Some("truecolor"), Some("xterm-256color")), ColorDepth::None);
        assert_eq!(depth(Some(""), Some("truecolor"), Some("xterm")), ColorDepth::TrueColor);
        assert_eq!(depth(None, None, Some("screen-256color")), ColorDepth::Ansi256);
        assert_eq!(depth(None, None, Some("xterm-direct")), ColorDepth::TrueColor);
        assert_eq!(depth(None, None, Some("vt100")), ColorDepth::Ansi16);
        assert_eq!(depth(None, None, None), ColorDepth::Ansi16);
    }

    #[test]
    fn a_colour_becomes_what_the_terminal_can_show() {
        let blue = ThemeColor { rgb: Some((0, 0, 255)), ansi: Color::LightBlue };
        assert_eq!(blue.at(ColorDepth::TrueColor), Color::Rgb(0, 0, 255));
        assert_eq!(blue.at(ColorDepth::Ansi256), Color::Indexed(21));
        assert_eq!(blue.at(ColorDepth::Ansi16), Color::LightBlue);
        assert_eq!(blue.at(ColorDepth::None), Color::Reset);
        assert_eq!(ThemeColor::from_rgb((8, 8, 8)).at(ColorDepth::Ansi256), Color::Indexed(232));
    }

    #[test]
    fn hexadecimal_colours_have_six_digits() {
        assert_eq!(parse_rgb("#7aa2f7"), Some((0x7a, 0xa2, 0xf7)));
        for wrong in ["7aa2f7", "#7aa2f", "#7aa2fg", "#+aa2f7", ""] {
            assert_eq!(parse_rgb(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn black_on_white_has_the_highest_contrast() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 0.01);
        assert!((contrast((119, 119, 119), (255, 255, 255)) - 4.48).abs() < 0.01);
    }
}
