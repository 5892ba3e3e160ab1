//! Themes and keys that are changed while the console is open.

use super::Shell;
use crate::driver::session::NoticeLevel;
use crate::tui::overlays::message::Message;
use crate::tui::settings::Appearance;
use crate::tui::suggest::nearest;
use crate::tui::theme::ColorDepth;
use crate::tui::widgets::glyphs::Glyphs;

impl Shell {
    /// Takes over what files say now. A theme that was chosen in the console stays, unless the files name another one
    /// than before.
    pub fn set_appearance(&mut self, appearance: Appearance) {
        let Appearance { theme, themes, keymap, is_ascii, is_motion_reduced, warnings, .. } = appearance;
        let has_new_name = self.look.settings_theme.as_deref() != Some(theme.name());
        let chosen = self.look.theme.name().to_owned();
        self.look.settings_theme = Some(theme.name().to_owned());
        self.look.theme = match themes.load(&chosen, self.look.depth) {
            Some((chosen, _)) if !has_new_name => chosen,
            _ => theme,
        };
        self.look.themes = themes;
        self.look.glyphs = Glyphs::new(is_ascii);
        self.look.is_motion_reduced = is_motion_reduced;
        self.keys.keymap = keymap;
        self.keys.pending.clear();
        match warnings.first() {
            None => self.notify(NoticeLevel::Info, "Settings, keys and themes were read again.".to_owned()),
            Some(first) => {
                self.notify(NoticeLevel::Warning, first.clone());
                for warning in warnings {
                    tracing::warn!(target: "settings", "{warning}");
                }
            }
        }
    }

    /// Files have changed and cannot be read. Everything stays as it was.
    pub fn tell_mistakes(&mut self, mistakes: &str) {
        self.notify(NoticeLevel::Error, "The settings were changed and cannot be read.".to_owned());
        let body = format!("{mistakes}\n\nEverything stays as it was until they are mended.");
        self.overlays.push(Box::new(Message::new("settings".to_owned(), body)));
    }

    /// Changes to the theme of that name.
    pub(super) fn use_theme(&mut self, name: &str) {
        match self.look.themes.load(name, self.look.depth) {
            Some(_) if self.look.depth == ColorDepth::None => {
                self.notify(NoticeLevel::Info, "Without colours every theme looks the same.".to_owned());
            }
            Some((theme, warnings)) => {
                self.look.theme = theme;
                if let Some(warning) = warnings.first() {
                    self.notify(NoticeLevel::Warning, warning.to_string());
                }
            }
            None => {
                let hint = nearest(name, self.look.themes.names());
                self.notify(NoticeLevel::Error, format!("there is no theme {name:?}{hint}"));
            }
        }
    }

    /// Changes to the theme after the present one.
    pub(super) fn use_next_theme(&mut self) {
        let names: Vec<String> = self.look.themes.names().map(str::to_owned).collect();
        let at = names.iter().position(|name| name == self.look.theme.name());
        let next = at.map_or(0, |at| (at + 1) % names.len().max(1));
        if let Some(name) = names.get(next) {
            self.use_theme(name);
            self.notify(NoticeLevel::Info, format!("theme {name}"));
        }
    }
}
