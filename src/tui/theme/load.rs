//! Reading themes.
//!
//! A theme is never refused: what cannot be understood is left out with a warning that points at the line, and
//! the role looks like its fallback.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ratatui::style::{Modifier, Style};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::color::{self, ColorDepth, ThemeColor};
use super::role::Role;
use super::{Theme, Variant};
use crate::tui::suggest::nearest;

/// How many themes may stand behind one another.
const MAX_DEPTH: usize = 8;

/// The text of a theme that is built in.
pub fn embedded(name: &str) -> Option<&'static str> {
    match name {
        "dark" => Some(include_str!("../../../themes/dark.toml")),
        "light" => Some(include_str!("../../../themes/light.toml")),
        "high-contrast" => Some(include_str!("../../../themes/high-contrast.toml")),
        "color-blind" => Some(include_str!("../../../themes/color-blind.toml")),
        "solarized" => Some(include_str!("../../../themes/solarized.toml")),
        _ => None,
    }
}

/// The names of the themes that are built in as files; [`super::MONO`] is there besides.
pub const BUILT_IN: [&str; 5] = ["dark", "light", "high-contrast", "color-blind", "solarized"];

/// Something in a theme that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeWarning {
    /// The theme's name.
    pub theme: String,
    /// The line, from 1; 0 if it is about the whole.
    pub line: usize,
    /// What is wrong, in one sentence, with the nearest name that would do.
    pub message: String,
}

impl fmt::Display for ThemeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "theme {}:{}: {}", self.theme, self.line, self.message)
    }
}

/// A style that names colours.
#[derive(Clone, Debug, Default)]
struct RawStyle {
    fg: Option<(String, usize)>,
    bg: Option<(String, usize)>,
    modifier: Modifier,
}

/// What one file says.
#[derive(Default)]
struct RawTheme {
    variant: Option<Variant>,
    inherits: Option<(String, usize)>,
    palette: BTreeMap<String, ThemeColor>,
    roles: BTreeMap<Role, (RawStyle, String)>,
}

/// Reads the theme `name` from `text` for a terminal of that depth. `find` gives the text of a theme that
/// another inherits; where it has none, the built-in one is taken. At [`ColorDepth::None`] the answer is
/// [`Theme::mono`], whatever the text says.
pub fn load(
    name: &str,
    text: &str,
    depth: ColorDepth,
    find: &dyn Fn(&str) -> Option<String>,
) -> (Theme, Vec<ThemeWarning>) {
    let mut warnings = Vec::new();
    let mut chain = vec![name.to_owned()];
    let mut merged = Reader { theme: name, text, warnings: &mut warnings }.read();
    while let Some((parent, line)) = merged.inherits.take() {
        let child = chain.last().cloned().unwrap_or_default();
        let mut warn = |message: String| warnings.push(ThemeWarning { theme: child.clone(), line, message });
        if chain.contains(&parent) {
            warn(format!("{} inherits itself through {}", parent, chain.join(" -> ")));
            break;
        }
        if chain.len() >= MAX_DEPTH {
            warn(format!("more than {MAX_DEPTH} themes inherit from one another"));
            break;
        }
        let Some(parent_text) = find(&parent).or_else(|| embedded(&parent).map(str::to_owned)) else {
            warn(format!("there is no theme {parent:?}{}", nearest(&parent, BUILT_IN)));
            break;
        };
        let below = Reader { theme: &parent, text: &parent_text, warnings: &mut warnings }.read();
        merged.lay_over(below);
        chain.push(parent);
    }
    let variant = merged.variant.unwrap_or(Variant::Dark);
    let styles = merged.resolve(depth, &mut warnings);
    if depth == ColorDepth::None {
        return (Theme::mono(), warnings);
    }
    (Theme::new(name.to_owned(), variant, depth, styles), warnings)
}

impl RawTheme {
    /// Takes from `below` what is not there.
    fn lay_over(&mut self, below: Self) {
        self.variant = self.variant.or(below.variant);
        self.inherits = below.inherits;
        for (name, color) in below.palette {
            self.palette.entry(name).or_insert(color);
        }
        for (role, style) in below.roles {
            self.roles.entry(role).or_insert(style);
        }
    }

    fn resolve(&self, depth: ColorDepth, warnings: &mut Vec<ThemeWarning>) -> Vec<Style> {
        let mut resolved: BTreeMap<Role, Style> = BTreeMap::new();
        for (role, (raw, theme)) in &self.roles {
            let mut color = |named: &Option<(String, usize)>| {
                let (name, line) = named.as_ref()?;
                let found = self.color(name);
                if found.is_none() {
                    let mut known: Vec<&str> = self.palette.keys().map(String::as_str).collect();
                    for name in color::ansi_names() {
                        known.push(name);
                    }
                    let message = format!(
                        "{name:?} is neither in the palette, nor #rrggbb, nor one of the sixteen colours{}",
                        nearest(name, known)
                    );
                    warnings.push(ThemeWarning { theme: theme.clone(), line: *line, message });
                }
                found.map(|color| color.at(depth))
            };
            let mut style = Style::new().add_modifier(raw.modifier);
            style.fg = color(&raw.fg);
            style.bg = color(&raw.bg);
            resolved.insert(*role, style);
        }
        Role::ALL
            .iter()
            .map(|role| {
                let mut at = Some(*role);
                while let Some(role) = at {
                    if let Some(style) = resolved.get(&role) {
                        return *style;
                    }
                    at = role.fallback();
                }
                Style::new()
            })
            .collect()
    }

    fn color(&self, name: &str) -> Option<ThemeColor> {
        self.palette
            .get(name)
            .copied()
            .or_else(|| color::parse_rgb(name).map(ThemeColor::from_rgb))
            .or_else(|| color::parse_ansi(name).map(ThemeColor::from_ansi))
    }
}

/// Reads one file.
struct Reader<'a> {
    theme: &'a str,
    text: &'a str,
    warnings: &'a mut Vec<ThemeWarning>,
}

impl Reader<'_> {
    fn read(&mut self) -> RawTheme {
        let mut raw = RawTheme::default();
        let text = self.text;
        let (table, errors) = DeTable::parse_recoverable(text);
        // What follows the first mistake in the syntax is guesswork: only that one is worth a warning.
        if let Some(error) = errors.first() {
            self.warn(error.span().unwrap_or_default(), error.message().to_owned());
        }
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                // The file's name is the theme's name; a name inside is for people.
                "name" => {
                    self.text_of(value);
                }
                "variant" => {
                    raw.variant = match self.text_of(value).as_deref() {
                        Some("dark") => Some(Variant::Dark),
                        Some("light") => Some(Variant::Light),
                        Some(other) => {
                            self.warn(
                                value.span(),
                                format!("variant is \"dark\" or \"light\", not {other:?}"),
                            );
                            None
                        }
                        None => None,
                    }
                }
                "inherits" => {
                    let line = self.line(&value.span());
                    raw.inherits = self.text_of(value).map(|parent| (parent, line));
                }
                "palette" => self.read_palette(value, &mut raw),
                "roles" => self.read_roles(value, &mut raw),
                other => {
                    let known = ["name", "variant", "inherits", "palette", "roles"];
                    self.warn(key.span(), format!("unknown key {other:?}{}", nearest(other, known)));
                }
            }
        }
        raw
    }

    fn read_palette(&mut self, value: &Spanned<DeValue<'_>>, raw: &mut RawTheme) {
        for (name, value) in self.table_of(value) {
            if let Some(color) = self.read_color(value) {
                raw.palette.insert(name.get_ref().to_string(), color);
            }
        }
    }

    fn read_color(&mut self, value: &Spanned<DeValue<'_>>) -> Option<ThemeColor> {
        let parse = |text: &str| {
            color::parse_rgb(text)
                .map(ThemeColor::from_rgb)
                .or_else(|| color::parse_ansi(text).map(ThemeColor::from_ansi))
        };
        if let Some(text) = value.get_ref().as_str() {
            let color = parse(text);
            if color.is_none() {
                let hint = nearest(text, color::ansi_names());
                self.warn(value.span(), format!("{text:?} is neither #rrggbb nor one of the sixteen{hint}"));
            }
            return color;
        }
        let mut rgb = None;
        let mut ansi = None;
        for (key, value) in self.table_of(value) {
            let text = self.text_of(value)?;
            match key.get_ref().as_ref() {
                "rgb" => {
                    rgb = color::parse_rgb(&text);
                    if rgb.is_none() {
                        self.warn(value.span(), format!("{text:?} is not #rrggbb"));
                    }
                }
                "ansi" => {
                    ansi = color::parse_ansi(&text);
                    if ansi.is_none() {
                        let hint = nearest(&text, color::ansi_names());
                        self.warn(value.span(), format!("{text:?} is not one of the sixteen colours{hint}"));
                    }
                }
                other => {
                    self.warn(
                        key.span(),
                        format!("unknown key {other:?}{}", nearest(other, ["rgb", "ansi"])),
                    );
                }
            }
        }
        match (rgb, ansi) {
            (Some(rgb), Some(ansi)) => Some(ThemeColor { rgb: Some(rgb), ansi }),
            (Some(rgb), None) => Some(ThemeColor::from_rgb(rgb)),
            (None, Some(ansi)) => Some(ThemeColor::from_ansi(ansi)),
            (None, None) => None,
        }
    }

    fn read_roles(&mut self, value: &Spanned<DeValue<'_>>, raw: &mut RawTheme) {
        for (name, value) in self.table_of(value) {
            let Some(role) = Role::parse(name.get_ref()) else {
                let hint = nearest(name.get_ref(), Role::ALL.iter().map(|role| role.as_str()));
                self.warn(name.span(), format!("unknown role {:?}{hint}", name.get_ref()));
                continue;
            };
            let style = self.read_style(value);
            raw.roles.insert(role, (style, self.theme.to_owned()));
        }
    }

    fn read_style(&mut self, value: &Spanned<DeValue<'_>>) -> RawStyle {
        let mut style = RawStyle::default();
        let line = self.line(&value.span());
        if let Some(text) = value.get_ref().as_str() {
            style.fg = Some((text.to_owned(), line));
            return style;
        }
        for (key, value) in self.table_of(value) {
            let line = self.line(&value.span());
            let modifier = match key.get_ref().as_ref() {
                "fg" => {
                    style.fg = self.text_of(value).map(|text| (text, line));
                    continue;
                }
                "bg" => {
                    style.bg = self.text_of(value).map(|text| (text, line));
                    continue;
                }
                "bold" => Modifier::BOLD,
                "dim" => Modifier::DIM,
                "italic" => Modifier::ITALIC,
                "underline" => Modifier::UNDERLINED,
                "reverse" => Modifier::REVERSED,
                other => {
                    let known = ["fg", "bg", "bold", "dim", "italic", "underline", "reverse"];
                    self.warn(key.span(), format!("unknown key {other:?}{}", nearest(other, known)));
                    continue;
                }
            };
            match value.get_ref().as_bool() {
                Some(is_on) => style.modifier.set(modifier, is_on),
                None => self.warn(value.span(), "true or false is expected here".to_owned()),
            }
        }
        style
    }

    fn text_of(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.warn(value.span(), format!("a text is expected here, not {}", value.get_ref().type_str()));
        }
        text
    }

    fn table_of<'v, 'i>(
        &mut self,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Vec<(&'v Spanned<std::borrow::Cow<'i, str>>, &'v Spanned<DeValue<'i>>)> {
        match value.get_ref().as_table() {
            Some(table) => table.iter().collect(),
            None => {
                self.warn(
                    value.span(),
                    format!("a table is expected here, not {}", value.get_ref().type_str()),
                );
                Vec::new()
            }
        }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
    }

    fn warn(&mut self, span: Range<usize>, message: String) {
        let warning = ThemeWarning { theme: self.theme.to_owned(), line: self.line(&span), message };
        self.warnings.push(warning);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a built-in theme that is not there is a failure of the test")]
mod tests {
    use std::collections::BTreeSet;

    use ratatui::style::Color;

    use super::super::role::Kind;
    use super::*;
    use crate::framework::Code;
    use color::contrast;

    const DEPTHS: [ColorDepth; 3] = [ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor];
    const STATUS: [Code; 7] = [
        Code::Success,
        Code::Error,
        Code::Unschedulable,
        Code::UnschedulableAndUnresolvable,
        Code::Wait,
        Code::Skip,
        Code::Pending,
    ];

    fn warnings(text: &str) -> Vec<String> {
        load("mine", text, ColorDepth::TrueColor, &|_| None).1.iter().map(ThemeWarning::to_string).collect()
    }

    #[test]
    fn built_in_themes_have_no_warnings_and_set_every_role() {
        for name in BUILT_IN {
            let text = embedded(name).unwrap();
            assert_eq!(load(name, text, ColorDepth::TrueColor, &|_| None).1, [], "{name}");
            let mut warnings = Vec::new();
            let mut raw = Reader { theme: name, text, warnings: &mut warnings }.read();
            if let Some((parent, _)) = raw.inherits.take() {
                let text = embedded(&parent).unwrap();
                raw.lay_over(Reader { theme: &parent, text, warnings: &mut warnings }.read());
            }
            let missing: Vec<_> = Role::ALL.iter().filter(|role| !raw.roles.contains_key(role)).collect();
            assert_eq!(missing, Vec::<&Role>::new(), "{name}");
        }
    }

    #[test]
    fn text_can_be_read_on_every_background_that_it_stands_on() {
        let rgb = |color: Option<Color>| match color {
            Some(Color::Rgb(r, g, b)) => (r, g, b),
            other => unreachable!("{other:?} is not a colour of the theme"),
        };
        for name in BUILT_IN {
            let theme = Theme::built_in(name, ColorDepth::TrueColor).unwrap();
            let background = |role: Role| rgb(theme.style(role).bg);
            for role in Role::ALL.iter().filter(|role| role.kind() == Kind::Text) {
                let style = theme.style(*role);
                let fg = rgb(style.fg);
                // What has no background of its own also stands in bars, overlays and lit rows.
                let under = [Role::Screen, Role::StatusBar, Role::Overlay, Role::Lit].map(background);
                let under = style.bg.map_or(under.to_vec(), |bg| vec![rgb(Some(bg))]);
                for bg in under {
                    let contrast = contrast(fg, bg);
                    let least = if name == "high-contrast" { 7.0 } else { 4.5 };
                    assert!(contrast >= least, "{name}: {} has {contrast:.2} on {bg:?}", role.as_str());
                }
            }
        }
    }

    #[test]
    fn codes_look_different_at_every_depth() {
        for name in BUILT_IN {
            for depth in DEPTHS.into_iter().chain([ColorDepth::None]) {
                let theme = Theme::built_in(name, depth).unwrap();
                let looks: BTreeSet<String> =
                    STATUS.iter().map(|code| format!("{:?}", theme.code(*code))).collect();
                assert_eq!(looks.len(), STATUS.len(), "{name} at {depth:?}");
            }
        }
    }

    #[test]
    fn a_selection_shows_whether_the_focus_is_there_at_every_depth() {
        for name in BUILT_IN {
            for depth in DEPTHS.into_iter().chain([ColorDepth::None]) {
                let theme = Theme::built_in(name, depth).unwrap();
                let (focused, other) = (theme.style(Role::Selection), theme.style(Role::SelectionUnfocused));
                assert_ne!(
                    (focused.bg, focused.add_modifier),
                    (other.bg, other.add_modifier),
                    "{name} at {depth:?}"
                );
            }
        }
    }

    #[test]
    fn without_colours_no_role_has_one() {
        let theme = Theme::dark(ColorDepth::None);
        for role in Role::ALL {
            let style = theme.style(*role);
            assert_eq!((style.fg, style.bg), (Some(Color::Reset), Some(Color::Reset)), "{role:?}");
        }
    }

    #[test]
    fn a_theme_needs_only_what_differs() {
        let text = "inherits = \"dark\"\n[palette]\nblue = \"#123456\"\n[roles]\nborder = { fg = \"red\", bold = true }\n";
        let (theme, warnings) = load("mine", text, ColorDepth::TrueColor, &|_| None);
        assert_eq!(warnings, []);
        let dark = Theme::dark(ColorDepth::TrueColor);
        assert_eq!(theme.style(Role::Muted), dark.style(Role::Muted));
        assert_eq!(
            theme.style(Role::BorderFocused).fg,
            Some(Color::Rgb(0x12, 0x34, 0x56)),
            "the palette is shared"
        );
        assert_ne!(theme.style(Role::Border), dark.style(Role::Border));
    }

    #[test]
    fn what_is_not_understood_is_left_out_and_pointed_at() {
        assert_eq!(
            warnings("[roles]\nmutd = \"gray\"\n"),
            ["theme mine:2: unknown role \"mutd\"; did you mean \"muted\"?"]
        );
        assert_eq!(
            warnings("[roles]\nmuted = \"grey\"\n"),
            [
                "theme mine:2: \"grey\" is neither in the palette, nor #rrggbb, nor one of the sixteen colours; \
              did you mean \"gray\"?"
            ]
        );
        assert_eq!(
            warnings("[palette]\nblue = { rgb = \"#12\", ansi = \"blue\" }\n"),
            ["theme mine:2: \"#12\" is not #rrggbb"]
        );
        assert_eq!(warnings("colour = 1\n"), ["theme mine:1: unknown key \"colour\""]);
        assert_eq!(warnings("[roles\n").len(), 1);
    }

    #[test]
    fn themes_that_inherit_in_a_circle_are_read_once_each() {
        let find = |name: &str| match name {
            "a" => Some("inherits = \"b\"".to_owned()),
            "b" => Some("inherits = \"a\"".to_owned()),
            _ => None,
        };
        let (_, warnings) = load("a", "inherits = \"b\"", ColorDepth::TrueColor, &find);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].message.contains("inherits itself"), "{warnings:?}");
        assert_eq!(super::load("x", "inherits = \"drak\"", ColorDepth::TrueColor, &find).1.len(), 1);
    }
}
