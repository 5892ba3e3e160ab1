//! Where a person's own settings lie, and how they go together with the command line.
//!
//! The folder is `$XDG_CONFIG_HOME/schedscope`, or `~/.config/schedscope`: `settings.toml`, `keys.toml`, and
//! `themes/NAME.toml`. The command line wins over the environment, that over `settings.toml`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::args::{ColorWhen, ConsoleArgs};
use crate::tui::keymap::load::KeymapSource;
use crate::tui::mistake;
use crate::tui::settings::{Appearance, Settings, SettingsSource};
use crate::tui::suggest::nearest;
use crate::tui::theme::ColorDepth;
use crate::tui::theme::library::Themes;

/// The largest of a person's own files that is read.
const MAX_BYTES: u64 = 1 << 20;

/// What the console is to look like, as the command line, the environment and the files say.
#[derive(Clone, Debug)]
pub(super) struct SettingsFiles {
    folder: Option<PathBuf>,
    theme: Option<String>,
    keymap: Option<PathBuf>,
    is_ascii: bool,
    is_motion_reduced: bool,
    depth: ColorDepth,
}

/// What only counts at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// How many colours are shown.
    pub(super) depth: ColorDepth,
    /// Whether the mouse is listened to.
    pub(super) has_mouse: bool,
}

impl SettingsFiles {
    /// The sources for these arguments, and what cannot change any more.
    ///
    /// # Errors
    /// A mistake in `settings.toml`.
    pub(super) fn new(
        args: &ConsoleArgs,
        var: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Fixed), String> {
        let folder = folder(args, var);
        let settings = read_settings(folder.as_deref())?;
        let color = match (args.color, &settings.color) {
            (Some(when), _) => when,
            (None, None) => ColorWhen::Auto,
            (None, Some(name)) => clap::ValueEnum::from_str(name, false).map_err(|_| {
                let known = ["auto", "never", "16", "256", "truecolor"];
                format!(
                    "{}: color: {name:?} is none of {}",
                    settings_file(folder.as_deref()),
                    known.join(", ")
                )
            })?,
        };
        let depth = match color {
            ColorWhen::Auto => ColorDepth::from_env(
                var("NO_COLOR").as_deref(),
                var("COLORTERM").as_deref(),
                var("TERM").as_deref(),
            ),
            ColorWhen::Never => ColorDepth::None,
            ColorWhen::Ansi16 => ColorDepth::Ansi16,
            ColorWhen::Ansi256 => ColorDepth::Ansi256,
            ColorWhen::Truecolor => ColorDepth::TrueColor,
        };
        let has_mouse = !args.no_mouse && settings.mouse.unwrap_or(true);
        let files = Self {
            folder,
            theme: args.theme.clone(),
            keymap: args.keymap.clone(),
            is_ascii: args.ascii || !is_utf8(var),
            is_motion_reduced: args.reduced_motion,
            depth,
        };
        Ok((files, Fixed { depth, has_mouse }))
    }

    /// A person's own themes.
    fn themes(&self) -> Result<Themes, String> {
        let mut themes = Themes::default();
        let Some(folder) = self.folder.as_ref().map(|folder| folder.join("themes")) else {
            return Ok(themes);
        };
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(themes),
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
            if let (Some(name), Some(text)) = (path.file_stem(), read_if_there(path)?) {
                themes.add(&name.to_string_lossy(), text);
            }
        }
        Ok(themes)
    }
}

impl SettingsSource for SettingsFiles {
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.folder.iter().cloned().collect();
        folders.extend(self.folder.iter().map(|folder| folder.join("themes")));
        let files = [self.keymap.as_deref(), self.theme.as_deref().and_then(theme_file)];
        for parent in files.into_iter().flatten().filter_map(Path::parent) {
            // A file's own folder may be written as nothing at all.
            folders.push(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() });
        }
        folders.retain(|folder| folder.is_dir());
        folders.sort();
        folders.dedup();
        folders
    }

    fn read(&self) -> Result<Appearance, String> {
        let settings = read_settings(self.folder.as_deref())?;
        let mut themes = self.themes()?;
        let (name, said_by) = match (&self.theme, &settings.theme) {
            (Some(name), _) => (name.as_str(), "--theme".to_owned()),
            (None, Some(name)) => {
                (name.as_str(), format!("{}: theme", settings_file(self.folder.as_deref())))
            }
            (None, None) => ("dark", String::new()),
        };
        let mut name = name.to_owned();
        if let Some(path) = theme_file(&name) {
            let text = read_if_there(path)?.ok_or_else(|| format!("{said_by}: there is no file {name}"))?;
            themes.add(&path.display().to_string(), text);
            name = path.display().to_string();
        }
        let Some((theme, warnings)) = themes.load(&name, self.depth) else {
            let known: Vec<&str> = themes.names().collect();
            let hint = nearest(&name, known.iter().copied());
            return Err(format!(
                "{said_by}: there is no theme {name:?}{hint}; there are {}",
                known.join(", ")
            ));
        };
        let preset = settings
            .preset()
            .map_err(|why| format!("{}: keys: {why}", settings_file(self.folder.as_deref())))?;
        let mut keymap_source = KeymapSource { preset: preset.as_str().to_owned(), files: Vec::new() };
        if let Some(path) = self.folder.as_ref().map(|folder| folder.join("keys.toml"))
            && let Some(text) = read_if_there(&path)?
        {
            keymap_source.files.push((path.display().to_string(), text));
        }
        if let Some(path) = &self.keymap {
            let file = path.display().to_string();
            let text = read_if_there(path)?.ok_or_else(|| format!("--keymap: there is no file {file}"))?;
            keymap_source.files.push((file, text));
        }
        let keymap = keymap_source.read().map_err(|mistakes| mistake::lines(&mistakes))?;
        Ok(Appearance {
            theme,
            themes,
            keymap,
            keymap_source,
            is_ascii: self.is_ascii || settings.ascii.unwrap_or(false),
            is_motion_reduced: self.is_motion_reduced || settings.reduced_motion.unwrap_or(false),
            warnings: warnings.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Where a person's own files lie; nothing where no home is known.
fn folder(args: &ConsoleArgs, var: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    if let Some(folder) = &args.settings {
        return Some(folder.clone());
    }
    // The XDG specification: what is not absolute is to be ignored.
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("schedscope"))
}

fn settings_file(folder: Option<&Path>) -> String {
    folder.unwrap_or(Path::new("")).join("settings.toml").display().to_string()
}

fn read_settings(folder: Option<&Path>) -> Result<Settings, String> {
    let Some(path) = folder.map(|folder| folder.join("settings.toml")) else {
        return Ok(Settings::default());
    };
    match read_if_there(&path)? {
        Some(text) => {
            Settings::parse(&path.display().to_string(), &text).map_err(|mistake| mistake.to_string())
        }
        None => Ok(Settings::default()),
    }
}

/// A theme that is named by its file.
fn theme_file(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    path.extension().is_some_and(|end| end == "toml").then_some(path)
}

/// The text of a file; nothing where there is none.
fn read_if_there(path: &Path) -> Result<Option<String>, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(wrong(&"not a file")),
        Ok(metadata) if metadata.len() > MAX_BYTES => return Err(wrong(&"larger than 1 MiB")),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(&error)),
    }
    fs::read_to_string(path).map(Some).map_err(|error| wrong(&error))
}

/// Whether the locale's characters are those of Unicode; they are where nothing is said.
fn is_utf8(var: &dyn Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(var).find(|value| !value.is_empty()).is_none_or(
        |value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        },
    )
}
