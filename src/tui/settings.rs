//! A person's own settings: what the file may say, and what the console is made of once it is read.
//!
//! Reading files is not done here: a [`SettingsSource`] does that, at the start and whenever they have changed.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use super::keymap::Keymap;
use super::keymap::load::{KeymapSource, Preset, built_in};
use super::mistake::Mistake;
use super::suggest::nearest;
use super::theme::library::Themes;
use super::theme::{ColorDepth, Theme};

/// What `settings.toml` may say. What it does not say is as if there were no file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The theme's name.
    pub theme: Option<String>,
    /// The name of a keymap preset.
    pub keys: Option<String>,
    /// How many colours the terminal has, as for `--color`.
    pub color: Option<String>,
    /// Whether only ASCII is drawn.
    pub ascii: Option<bool>,
    /// Whether the mouse is listened to.
    pub mouse: Option<bool>,
    /// Whether nothing is lit for a moment.
    pub reduced_motion: Option<bool>,
}

impl Settings {
    /// Reads a settings file. `file` is named in the mistake.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            Mistake::at(file, text, &span, error.message().to_owned())
        })
    }

    /// The preset that it names.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn preset(&self) -> Result<Preset, String> {
        let Some(name) = &self.keys else { return Ok(Preset::Default) };
        let known = Preset::ALL.map(Preset::as_str);
        Preset::parse(name)
            .ok_or_else(|| format!("there is no keymap preset {name:?}{}", nearest(name, known)))
    }
}

/// How the console looks and which keys it has, from the command line and all files together.
#[derive(Clone, Debug)]
pub struct Appearance {
    /// The theme that was asked for.
    pub theme: Theme,
    /// The themes that can be chosen.
    pub themes: Themes,
    /// The keys.
    pub keymap: Keymap,
    /// Where those come from.
    pub keymap_source: KeymapSource,
    /// Whether only ASCII is drawn.
    pub is_ascii: bool,
    /// Whether nothing is lit for a moment.
    pub is_motion_reduced: bool,
    /// What was left out of themes, a line each.
    pub warnings: Vec<String>,
}

impl Appearance {
    /// What is right where nobody says otherwise: the dark theme, Unicode, the built-in keys.
    pub fn new(depth: ColorDepth) -> Self {
        Self {
            theme: Theme::dark(depth),
            themes: Themes::default(),
            keymap: built_in(),
            keymap_source: KeymapSource::default(),
            is_ascii: false,
            is_motion_reduced: false,
            warnings: Vec::new(),
        }
    }
}

/// Where settings come from.
pub trait SettingsSource: fmt::Debug + Send + Sync {
    /// The folders in which a change means that settings are to be read again; those that there are.
    fn folders(&self) -> Vec<PathBuf>;

    /// Reads everything.
    ///
    /// # Errors
    /// The mistakes, a line each, with file and line.
    fn read(&self) -> Result<Appearance, String>;
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a file that cannot be read is a failure of the test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_left_open() {
        assert_eq!(Settings::parse("settings.toml", "").unwrap(), Settings::default());
        let settings =
            Settings::parse("settings.toml", "theme = \"light\"\nreduced-motion = true\n").unwrap();
        assert_eq!(settings.theme.as_deref(), Some("light"));
        assert_eq!(settings.reduced_motion, Some(true));
        assert_eq!(settings.mouse, None);
    }

    #[test]
    fn mistakes_name_file_line_and_column() {
        let mistake = |text| Settings::parse("settings.toml", text).unwrap_err().to_string();
        assert!(
            mistake("theme = \"dark\"\nmuose = true\n")
                .starts_with("settings.toml:2:1: unknown field `muose`")
        );
        assert!(
            mistake("\nmouse = \"yes\"\n").starts_with("settings.toml:2:9: invalid type: string \"yes\"")
        );
        assert!(mistake("theme = \n").starts_with("settings.toml:1:"));
    }

    #[test]
    fn a_preset_that_there_is_not_is_named_with_the_nearest() {
        let settings = Settings { keys: Some("arrow".to_owned()), ..Settings::default() };
        let error = settings.preset().unwrap_err();
        assert_eq!(error, "there is no keymap preset \"arrow\"; did you mean \"arrows\"?");
    }
}
