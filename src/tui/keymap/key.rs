//! A key as a keymap file writes it, and as the terminal reports it.
//!
//! Written `j`, `G`, `space`, `ctrl-c`, `alt-enter`, `shift-up`, `f5`; a chord is several with blanks between.
//! What is written is read back the same.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::suggest::nearest;

/// Which key, without what is held down with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A character; an upper-case letter stands for itself.
    Char(char),
    /// A function key.
    Function(u8),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Tab with shift.
    BackTab,
    /// Deletes backward.
    Backspace,
    /// Deletes forward.
    Delete,
    /// Insert.
    Insert,
    /// Arrow.
    Up,
    /// Arrow.
    Down,
    /// Arrow.
    Left,
    /// Arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

const NAMES: [(&str, Code); 16] = [
    ("space", Code::Char(' ')),
    ("enter", Code::Enter),
    ("esc", Code::Esc),
    ("tab", Code::Tab),
    ("backtab", Code::BackTab),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("insert", Code::Insert),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pgup", Code::PageUp),
    ("pgdn", Code::PageDown),
];

/// A key with what is held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Which key.
    pub code: Code,
    /// Whether control is held.
    pub ctrl: bool,
    /// Whether alt is held.
    pub alt: bool,
    /// Whether shift is held; never with a character, which already says it.
    pub shift: bool,
}

impl Key {
    /// A key with nothing held down.
    pub const fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// The character that typing this key puts into a text; `None` if it is not for typing.
    pub const fn typed(self) -> Option<char> {
        match self.code {
            Code::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// Reads one key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut key = Self::plain(Code::Esc);
        let mut rest = text;
        loop {
            let (modifier, after) = match rest.split_once('-') {
                // A minus sign of its own is a character.
                Some((modifier, after)) if !after.is_empty() && !modifier.is_empty() => (modifier, after),
                _ => break,
            };
            match modifier {
                "ctrl" => key.ctrl = true,
                "alt" => key.alt = true,
                "shift" => key.shift = true,
                other => {
                    let hint = nearest(other, ["ctrl", "alt", "shift"]);
                    return Err(format!("{other:?} cannot be held down with a key{hint}"));
                }
            }
            rest = after;
        }
        key.code = parse_code(rest)?;
        Ok(key.normalized())
    }

    /// What the terminal reports; `None` for keys that cannot be bound.
    pub fn from_event(event: &KeyEvent) -> Option<Self> {
        let code = match event.code {
            KeyCode::Char(c) => Code::Char(c),
            KeyCode::F(n) => Code::Function(n),
            KeyCode::Enter => Code::Enter,
            KeyCode::Esc => Code::Esc,
            KeyCode::Tab => Code::Tab,
            KeyCode::BackTab => Code::BackTab,
            KeyCode::Backspace => Code::Backspace,
            KeyCode::Delete => Code::Delete,
            KeyCode::Insert => Code::Insert,
            KeyCode::Up => Code::Up,
            KeyCode::Down => Code::Down,
            KeyCode::Left => Code::Left,
            KeyCode::Right => Code::Right,
            KeyCode::Home => Code::Home,
            KeyCode::End => Code::End,
            KeyCode::PageUp => Code::PageUp,
            KeyCode::PageDown => Code::PageDown,
            KeyCode::Null
            | KeyCode::CapsLock
            | KeyCode::ScrollLock
            | KeyCode::NumLock
            | KeyCode::PrintScreen
            | KeyCode::Pause
            | KeyCode::Menu
            | KeyCode::KeypadBegin
            | KeyCode::Media(_)
            | KeyCode::Modifier(_) => return None,
        };
        let held = event.modifiers;
        let key = Self {
            code,
            ctrl: held.contains(KeyModifiers::CONTROL),
            alt: held.contains(KeyModifiers::ALT),
            shift: held.contains(KeyModifiers::SHIFT),
        };
        Some(key.normalized())
    }

    /// The same key in the one form that is compared.
    fn normalized(mut self) -> Self {
        match self.code {
            Code::Char(c) => {
                if self.shift && c.is_ascii_lowercase() && !self.ctrl {
                    self.code = Code::Char(c.to_ascii_uppercase());
                }
                // With control, terminals do not tell upper case from lower.
                if self.ctrl {
                    self.code = Code::Char(c.to_ascii_lowercase());
                }
                self.shift = false;
            }
            Code::Tab if self.shift => {
                self.code = Code::BackTab;
                self.shift = false;
            }
            Code::BackTab => self.shift = false,
            _ => {}
        }
        self
    }
}

fn parse_code(text: &str) -> Result<Code, String> {
    let mut chars = text.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        if c.is_control() || c == ' ' {
            return Err(format!("{c:?} has no such name; write \"space\", \"tab\" or \"enter\""));
        }
        return Ok(Code::Char(c));
    }
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Ok(*code);
    }
    if let Some(number) = text.strip_prefix('f').and_then(|digits| digits.parse::<u8>().ok())
        && (1..=24).contains(&number)
    {
        return Ok(Code::Function(number));
    }
    Err(format!("unknown key {text:?}{}", nearest(text, NAMES.iter().map(|(name, _)| *name))))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_held, prefix) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            if is_held {
                f.write_str(prefix)?;
            }
        }
        match self.code {
            Code::Char(c) if c != ' ' => write!(f, "{c}"),
            Code::Function(number) => write!(f, "f{number}"),
            code => {
                let name = NAMES.iter().find(|(_, known)| *known == code).map_or("", |(name, _)| *name);
                f.write_str(name)
            }
        }
    }
}

/// Reads a chord: keys with blanks between.
pub fn parse_chord(text: &str) -> Result<Vec<Key>, String> {
    let keys = text.split_whitespace().map(Key::parse).collect::<Result<Vec<_>, _>>()?;
    if keys.is_empty() { Err("a key is expected here".to_owned()) } else { Ok(keys) }
}

/// Writes a chord.
pub fn chord_to_string(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failure to read a key is a failure of the test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_read_as_people_write_them() {
        let key = |text: &str| Key::parse(text).unwrap();
        assert_eq!(key("j"), Key::plain(Code::Char('j')));
        assert_eq!(key("G"), Key::plain(Code::Char('G')));
        assert_eq!(key("shift-g"), key("G"));
        assert_eq!(key("shift-tab"), key("backtab"));
        assert_eq!(key("-"), Key::plain(Code::Char('-')));
        assert_eq!(key("ctrl--"), Key { ctrl: true, ..Key::plain(Code::Char('-')) });
        assert_eq!(key("ctrl-C"), key("ctrl-c"));
        assert_eq!(key("f12"), Key::plain(Code::Function(12)));
    }

    #[test]
    fn what_is_no_key_is_answered_with_the_nearest_name() {
        let error = |text: &str| Key::parse(text).unwrap_err();
        assert_eq!(error("entr"), "unknown key \"entr\"; did you mean \"enter\"?");
        assert_eq!(error("crtl-c"), "\"crtl\" cannot be held down with a key; did you mean \"ctrl\"?");
        assert!(parse_chord("  ").is_err());
    }

    #[test]
    fn the_terminals_keys_are_those_of_the_keymap() {
        let event = |code, modifiers| Key::from_event(&KeyEvent::new(code, modifiers)).unwrap().to_string();
        assert_eq!(event(KeyCode::Char('G'), KeyModifiers::SHIFT), "G");
        assert_eq!(event(KeyCode::Char('c'), KeyModifiers::CONTROL), "ctrl-c");
        assert_eq!(event(KeyCode::BackTab, KeyModifiers::SHIFT), "backtab");
        assert_eq!(event(KeyCode::Char(' '), KeyModifiers::NONE), "space");
        assert_eq!(event(KeyCode::Char('+'), KeyModifiers::SHIFT), "+");
    }

    fn any_key() -> impl Strategy<Value = Key> {
        let code = prop_oneof![
            any::<char>()
                .prop_filter("bindable", |c| !c.is_control() && !c.is_whitespace())
                .prop_map(Code::Char),
            (1u8..=24).prop_map(Code::Function),
            (0..NAMES.len()).prop_map(|index| NAMES[index].1),
        ];
        (code, any::<(bool, bool, bool)>())
            .prop_map(|(code, (ctrl, alt, shift))| Key { code, ctrl, alt, shift }.normalized())
    }

    proptest! {
        #[test]
        fn chords_are_read_back_as_they_were_written(keys in proptest::collection::vec(any_key(), 1..4)) {
            prop_assert_eq!(parse_chord(&chord_to_string(&keys)).unwrap(), keys);
        }
    }
}
