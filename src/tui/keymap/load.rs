//! Reading keymaps.
//!
//! Unlike a theme, a keymap with a mistake is refused: a key that does something else than a person wrote down is
//! worse than a message. Every message points at line and column and names what was probably meant.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{chord_to_string, parse_chord};
use super::{Binding, Keymap};
use crate::tui::action::{Action, Context};
use crate::tui::mistake::{Mistake, position};
use crate::tui::suggest::nearest;

const DEFAULT: &str = include_str!("default.toml");
const VIM: &str = include_str!("vim.toml");
const ARROWS: &str = include_str!("arrows.toml");

/// A keymap for people who are used to certain keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Letters and arrows both.
    #[default]
    Default,
    /// More of vim's keys: windows, jumps, halves of a page.
    Vim,
    /// No letter moves anything: arrows, page keys and function keys.
    Arrows,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Default, Self::Vim, Self::Arrows];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Vim => "vim",
            Self::Arrows => "arrows",
        }
    }

    /// The preset of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// What it lays over the built-in keys.
    const fn text(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::Vim => Some(VIM),
            Self::Arrows => Some(ARROWS),
        }
    }
}

/// Where a keymap comes from: a preset, and files that are laid over it, each with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeymapSource {
    /// The preset's name; the default one where it is empty.
    pub preset: String,
    /// Names and texts, the later ones over the earlier ones.
    pub files: Vec<(String, String)>,
}

impl KeymapSource {
    /// Reads it.
    ///
    /// # Errors
    /// The mistakes of the first file that has any. A preset that there is not is the default one.
    pub fn read(&self) -> Result<Keymap, Vec<Mistake>> {
        let mut keymap = preset(Preset::parse(&self.preset).unwrap_or_default());
        for (file, text) in &self.files {
            keymap = with_overrides(keymap, file, text)?;
        }
        Ok(keymap)
    }
}

/// The keymap that is built in.
pub fn built_in() -> Keymap {
    // A test reads the file without errors.
    let bindings = Reader { file: "default.toml", text: DEFAULT, errors: Vec::new() }.read();
    Keymap { bindings: bindings.into_iter().map(|(binding, _)| binding).collect() }
}

/// A preset. A test reads each without errors.
pub fn preset(preset: Preset) -> Keymap {
    let mut keymap = built_in();
    if let Some(text) = preset.text() {
        let bindings = Reader { file: preset.as_str(), text, errors: Vec::new() }.read();
        lay_over(&mut keymap, bindings);
    }
    keymap
}

/// A keymap with a person's own laid over it. `file` is named in the errors.
pub fn with_overrides(mut keymap: Keymap, file: &str, text: &str) -> Result<Keymap, Vec<Mistake>> {
    let mut reader = Reader { file, text, errors: Vec::new() };
    let bindings = reader.read();
    reader.check_conflicts(&bindings);
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    lay_over(&mut keymap, bindings);
    Ok(keymap)
}

fn lay_over(keymap: &mut Keymap, bindings: Vec<(Binding, Range<usize>)>) {
    for (binding, _) in bindings {
        // What the new key makes unreachable goes with it.
        keymap.bindings.retain(|old| old.context != binding.context || !overlaps(old, &binding));
        keymap.bindings.push(binding);
    }
}

/// Whether one of the two chords begins with the other, so that only one of them can be meant.
fn overlaps(a: &Binding, b: &Binding) -> bool {
    a.keys.starts_with(&b.keys) || b.keys.starts_with(&a.keys)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    errors: Vec<Mistake>,
}

impl Reader<'_> {
    fn read(&mut self) -> Vec<(Binding, Range<usize>)> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        // What follows a mistake in the syntax is guesswork: only the first is worth a message.
        if let Some(error) = errors.first() {
            self.error(error.span().unwrap_or_default(), error.message().to_owned());
            return Vec::new();
        }
        let mut found = Vec::new();
        for (name, value) in table.get_ref() {
            let Some(context) = Context::parse(name.get_ref()) else {
                let hint = nearest(name.get_ref(), Context::ALL.iter().map(|context| context.as_str()));
                self.error(name.span(), format!("unknown context {:?}{hint}", name.get_ref()));
                continue;
            };
            let Some(entries) = value.get_ref().as_array() else {
                self.error(
                    value.span(),
                    format!("write [[{context}]], with two brackets, before each binding"),
                );
                continue;
            };
            found.extend(entries.iter().filter_map(|entry| self.read_binding(context, entry)));
        }
        // TOML tables are sorted by name; the order within a context is that of the file.
        found.sort_by_key(|(_, span)| span.start);
        found
    }

    fn read_binding(
        &mut self,
        context: Context,
        entry: &Spanned<DeValue<'_>>,
    ) -> Option<(Binding, Range<usize>)> {
        let Some(table) = entry.get_ref().as_table() else {
            self.error(entry.span(), "a table with \"on\" and \"run\" is expected here".to_owned());
            return None;
        };
        let mut keys = None;
        let mut action = None;
        let mut description = None;
        for (key, value) in table {
            let Some(text) = value.get_ref().as_str() else {
                self.error(
                    value.span(),
                    format!("a text is expected here, not {}", value.get_ref().type_str()),
                );
                return None;
            };
            match key.get_ref().as_ref() {
                "on" => match parse_chord(text) {
                    Ok(chord) => keys = Some((chord, value.span())),
                    Err(message) => {
                        self.error(value.span(), message);
                        return None;
                    }
                },
                "run" => action = Some(self.read_action(context, text, value.span())?),
                "desc" => description = Some(text.to_owned()),
                other => {
                    let hint = nearest(other, ["on", "run", "desc"]);
                    self.error(key.span(), format!("unknown key {other:?}{hint}"));
                    return None;
                }
            }
        }
        match (keys, action) {
            (Some((keys, span)), Some(action)) => {
                Some((Binding { context, keys, action, description }, span))
            }
            (None, _) => {
                self.error(entry.span(), "\"on\" is missing: the key".to_owned());
                None
            }
            (_, None) => {
                self.error(entry.span(), "\"run\" is missing: what the key does".to_owned());
                None
            }
        }
    }

    /// The action of that name, `Some(None)` for `none`; `None` after an error.
    fn read_action(&mut self, context: Context, name: &str, span: Range<usize>) -> Option<Option<Action>> {
        if name == "none" {
            return Some(None);
        }
        let Some(action) = Action::parse(name) else {
            let hint = nearest(name, Action::TABLE.iter().map(|info| info.name));
            self.error(span, format!("unknown action {name:?}{hint}"));
            return None;
        };
        if !can_be_bound(action, context) {
            let places: Vec<_> = action.info().contexts.iter().map(|context| context.as_str()).collect();
            self.error(
                span,
                format!("{name:?} does nothing in {context}; it can be bound in {}", places.join(", ")),
            );
            return None;
        }
        Some(Some(action))
    }

    /// Two bindings of one file in one context of which only one can be meant.
    fn check_conflicts(&mut self, bindings: &[(Binding, Range<usize>)]) {
        for (index, (binding, span)) in bindings.iter().enumerate() {
            let before = &bindings[..index];
            let other =
                before.iter().find(|(old, _)| old.context == binding.context && overlaps(old, binding));
            if let Some((old, old_span)) = other {
                let (line, _) = position(self.text, old_span);
                let message = format!(
                    "{:?} cannot be told apart from {:?} in line {line}",
                    chord_to_string(&binding.keys),
                    chord_to_string(&old.keys)
                );
                self.error(span.clone(), message);
            }
        }
    }

    fn error(&mut self, span: Range<usize>, message: String) {
        self.errors.push(Mistake::at(self.file, self.text, &span, message));
    }
}

/// Whether an action does something in a context. What works everywhere can also be bound in a pane alone.
fn can_be_bound(action: Action, context: Context) -> bool {
    let contexts = action.info().contexts;
    let is_pane = !matches!(context, Context::Overlay | Context::Confirm | Context::TextInput);
    let is_wide =
        contexts.iter().any(|context| matches!(context, Context::Global | Context::Stepper | Context::List));
    contexts.contains(&context) || (is_pane && is_wide)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a keymap that cannot be read is a failure of the test")]
mod tests {
    use super::super::Lookup;
    use super::*;

    const PANE: [Context; 4] = [Context::Queues, Context::List, Context::Stepper, Context::Global];

    fn errors(text: &str) -> Vec<String> {
        with_overrides(built_in(), "keys.toml", text).unwrap_err().iter().map(Mistake::to_string).collect()
    }

    #[test]
    fn the_built_in_keymap_has_no_mistake_and_no_conflict() {
        let mut reader = Reader { file: "default.toml", text: DEFAULT, errors: Vec::new() };
        let bindings = reader.read();
        reader.check_conflicts(&bindings);
        assert_eq!(reader.errors, []);
    }

    #[test]
    fn presets_have_no_mistake_and_leave_a_key_for_every_action() {
        for name in Preset::ALL {
            let mut reader =
                Reader { file: name.as_str(), text: name.text().unwrap_or_default(), errors: Vec::new() };
            let bindings = reader.read();
            reader.check_conflicts(&bindings);
            assert_eq!(reader.errors, []);
            let keymap = preset(name);
            for info in Action::TABLE.iter().filter(|info| !info.is_palette_only) {
                let is_bound = keymap.bindings().iter().any(|binding| binding.action == Some(info.action));
                assert!(is_bound, "{}: {} has no key", name.as_str(), info.name);
            }
        }
    }

    #[test]
    fn the_arrows_preset_moves_by_no_letter() {
        use Action as A;
        let moves =
            [A::SelectNext, A::SelectPrevious, A::SelectFirst, A::SelectLast, A::ScrollLeft, A::ScrollRight];
        let keymap = preset(Preset::Arrows);
        for action in moves {
            let keys: Vec<String> = keymap.keys_for(action, &PANE).collect();
            assert!(!keys.is_empty(), "{action:?}");
            assert!(keys.iter().all(|key| key.len() > 1 && !key.contains(' ')), "{action:?}: {keys:?}");
        }
    }

    #[test]
    fn a_persons_own_keys_win_and_none_takes_a_key_away() {
        let text = "[[stepper]]\non = 'N'\nrun = 'step-cycle'\n[[queues]]\non = 'n'\nrun = 'none'\n";
        let keymap = with_overrides(built_in(), "keys.toml", text).unwrap();
        let key = |text: &str| parse_chord(text).unwrap();
        assert_eq!(keymap.lookup(&PANE, &key("N")), Lookup::Action(Action::StepCycle));
        assert_eq!(keymap.lookup(&PANE, &key("n")), Lookup::Nothing);
        assert_eq!(keymap.lookup(&PANE[1..], &key("n")), Lookup::Action(Action::StepCycle));
    }

    #[test]
    fn a_key_that_begins_a_chord_replaces_the_chord() {
        let keymap =
            with_overrides(built_in(), "keys.toml", "[[list]]\non = 'g'\nrun = 'select-first'\n").unwrap();
        let key = |text: &str| parse_chord(text).unwrap();
        assert_eq!(keymap.lookup(&PANE, &key("g")), Lookup::Action(Action::SelectFirst));
        assert!(keymap.keys_for(Action::SelectLast, &PANE).all(|keys| keys != "g e"));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        assert_eq!(
            errors("[[list]]\non = \"j\"\nrun = \"select-nxt\"\n"),
            ["keys.toml:3:7: unknown action \"select-nxt\"; did you mean \"select-next\"?"]
        );
        assert_eq!(
            errors("[[lists]]\non = \"j\"\nrun = \"select-next\"\n"),
            ["keys.toml:1:3: unknown context \"lists\"; did you mean \"list\"?"]
        );
        assert_eq!(
            errors("[[list]]\non = \"entr\"\nrun = \"open\"\n"),
            ["keys.toml:2:6: unknown key \"entr\"; did you mean \"enter\"?"]
        );
        assert_eq!(
            errors("[[list]]\non = \"j\"\nrun = \"close\"\n"),
            ["keys.toml:3:7: \"close\" does nothing in list; it can be bound in overlay"]
        );
        assert_eq!(
            errors("[[list]]\non = 'g'\nrun = 'open'\n[[list]]\non = 'g g'\nrun = 'open'\n"),
            ["keys.toml:5:6: \"g g\" cannot be told apart from \"g\" in line 2"]
        );
        assert_eq!(errors("[list]\non = 'g'\n").len(), 1);
        assert_eq!(errors("[[list]\n").len(), 1, "broken TOML is one error");
    }
}
