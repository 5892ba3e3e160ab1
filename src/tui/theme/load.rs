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
        _ => None,
    }
}

/// The names of the themes that are built in.
pub const BUILT_IN: [&str; 2] = ["dark", "light"];

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
