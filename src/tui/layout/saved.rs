//! A person's own layout as a file: a preset and the borders that were moved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Preset, Splits};
use crate::tui::mistake::Mistake;
use crate::tui::panes::PaneId;
use crate::tui::suggest::nearest;

/// A layout that can be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedLayout {
    /// Which panes stand together.
    pub preset: Preset,
    /// How far borders were moved.
    pub splits: Splits,
}

/// What the file may say.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    preset: String,
    width: BTreeMap<String, i8>,
    height: BTreeMap<String, i8>,
}

impl SavedLayout {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut file = File { preset: self.preset.as_str().to_owned(), ..File::default() };
        for (pane, width, height) in self.splits.differing() {
            for (map, value) in [(&mut file.width, width), (&mut file.height, height)] {
                if value != 0 {
                    map.insert(pane.as_str().to_owned(), value);
                }
            }
        }
        // A map of numbers can be written.
        let text = toml::to_string(&file).unwrap_or_default();
        format!(
            "# Written by :layout save. Sizes are hundredths more or less than by default, of timeline height rows.\n{text}"
        )
    }

    /// Reads the file. `file` is named in the mistake.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        let read: File = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            Mistake::at(file, text, &span, error.message().to_owned())
        })?;
        let wrong = |word: &str, why: String| {
            let at = text.find(word).unwrap_or_default();
            Mistake::at(file, text, &(at..at + word.len()), why)
        };
        let preset = Preset::parse(&read.preset).ok_or_else(|| {
            let hint = nearest(&read.preset, Preset::ALL.map(Preset::as_str));
            wrong(&read.preset, format!("preset: there is no layout {:?}{hint}", read.preset))
        })?;
        let mut splits = Splits::NONE;
        for name in read.width.keys().chain(read.height.keys()) {
            let Some(pane) = PaneId::ALL.into_iter().find(|pane| pane.as_str() == name) else {
                let hint = nearest(name, PaneId::ALL.map(PaneId::as_str));
                return Err(wrong(name, format!("there is no pane {name:?}{hint}")));
            };
            let of = |map: &BTreeMap<String, i8>| map.get(name).copied().unwrap_or(0);
            splits.set(pane, of(&read.width), of(&read.height));
        }
        Ok(Self { preset, splits })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a file that cannot be read is a failure of the test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut layout = SavedLayout { preset: Preset::Debug, splits: Splits::NONE };
        layout.splits.set(PaneId::Queues, -7, 0);
        layout.splits.set(PaneId::Details, 7, 12);
        assert_eq!(SavedLayout::parse("layout.toml", &layout.to_text()).unwrap(), layout);
        let empty = SavedLayout::default();
        assert_eq!(SavedLayout::parse("layout.toml", &empty.to_text()).unwrap(), empty);
    }

    #[test]
    fn mistakes_name_their_line() {
        let mistake = |text| SavedLayout::parse("layout.toml", text).unwrap_err().to_string();
        assert!(mistake("preset = \"teech\"\n").starts_with("layout.toml:1:"));
        assert!(mistake("preset = \"teech\"\n").contains("did you mean \"teach\"?"));
        assert!(mistake("preset = \"teach\"\n[width]\nqueue = 3\n").contains("there is no pane \"queue\""));
        assert!(mistake("preset = \"teach\"\n[width]\nqueues = 300\n").starts_with("layout.toml:3:"));
    }
}
