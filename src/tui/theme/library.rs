//! The themes that can be chosen by name: those that are built in, and a person's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::color::ColorDepth;
use super::load::{self, BUILT_IN, ThemeWarning};
use super::{MONO, Theme};

/// Themes by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Themes {
    own: BTreeMap<String, String>,
}

impl Themes {
    /// Adds a person's own theme, in place of the built-in one of that name if there is one.
    pub fn add(&mut self, name: &str, text: String) {
        self.own.insert(name.to_owned(), text);
    }

    /// Every name: the built-in ones first, then a person's own in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own =
            self.own.keys().map(String::as_str).filter(|name| !BUILT_IN.contains(name) && *name != MONO);
        BUILT_IN.into_iter().chain([MONO]).chain(own)
    }

    /// The theme of that name for a terminal of that depth, with what was left out of it; nothing where there is none
    /// of that name.
    pub fn load(&self, name: &str, depth: ColorDepth) -> Option<(Theme, Vec<ThemeWarning>)> {
        let own = self.own.get(name).map(String::as_str);
        if own.is_none() && name == MONO {
            return Some((Theme::mono(), Vec::new()));
        }
        let text = own.or_else(|| load::embedded(name))?;
        Some(load::load(name, text, depth, &|parent| self.own.get(parent).cloned()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a theme that is missing is a failure of the test")]
mod tests {
    use super::super::Role;
    use super::*;

    #[test]
    fn a_persons_own_theme_may_inherit_another_of_their_own() {
        let mut themes = Themes::default();
        themes.add("mine", "inherits = \"dark\"\n[roles]\nname = { underline = true }\n".to_owned());
        themes.add("louder", "inherits = \"mine\"\n[roles]\ntext = { bold = true }\n".to_owned());
        let (theme, warnings) = themes.load("louder", ColorDepth::TrueColor).unwrap();
        assert_eq!(warnings, []);
        let (mine, _) = themes.load("mine", ColorDepth::TrueColor).unwrap();
        assert_eq!(theme.style(Role::Name), mine.style(Role::Name));
        assert_ne!(theme.style(Role::Text), mine.style(Role::Text));
        assert_eq!(themes.names().last(), Some("mine"));
    }

    #[test]
    fn every_name_can_be_loaded() {
        let themes = Themes::default();
        for name in themes.names() {
            assert!(themes.load(name, ColorDepth::Ansi256).is_some(), "{name}");
        }
        assert!(themes.load("no-such-theme", ColorDepth::TrueColor).is_none());
    }
}
