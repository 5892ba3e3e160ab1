//! Which key does what where.
//!
//! A keymap is a list of bindings read from TOML (`load`): the one that is built in, and a person's own laid over
//! it. Chords are bindings of several keys. This module knows no terminal; `key` translates its reports.

use super::action::{Action, Context};

pub mod key;
pub mod load;

pub use key::Key;

use key::chord_to_string;

/// A key or chord in a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where it counts.
    pub context: Context,
    /// The keys, one after the other.
    pub keys: Vec<Key>,
    /// What it does; absent if the key was taken away.
    pub action: Option<Action>,
    /// The person's own words for it.
    pub description: Option<String>,
}

/// What keys that were pressed come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing.
    Nothing,
    /// The beginning of a chord.
    Prefix,
    /// An action.
    Action(Action),
}

/// All bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Keymap {
    /// Everything that is bound.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// What `keys` come to where `contexts` count, the most special first. The first context that knows the keys,
    /// or chords that begin with them, decides.
    pub fn lookup(&self, contexts: &[Context], keys: &[Key]) -> Lookup {
        for context in contexts {
            let mut in_context = self.bindings.iter().filter(|binding| binding.context == *context);
            if let Some(binding) = in_context.clone().find(|binding| binding.keys == keys) {
                return binding.action.map_or(Lookup::Nothing, Lookup::Action);
            }
            if in_context.any(|binding| binding.action.is_some() && binding.keys.starts_with(keys)) {
                return Lookup::Prefix;
            }
        }
        Lookup::Nothing
    }

    /// What can follow on `prefix`: the keys that are missing, and the binding.
    pub fn continuations(&self, contexts: &[Context], prefix: &[Key]) -> Vec<(String, &Binding)> {
        self.within(contexts)
            .filter(|binding| binding.action.is_some() && binding.keys.len() > prefix.len())
            .filter(|binding| self.reaches(contexts, binding))
            .filter_map(|binding| {
                binding.keys.strip_prefix(prefix).map(|rest| (chord_to_string(rest), binding))
            })
            .collect()
    }

    /// The keys for an action where `contexts` count, the first bound first; keys that a more special context uses
    /// for something else are left out.
    pub fn keys_for(&self, action: Action, contexts: &[Context]) -> impl Iterator<Item = String> {
        // Each frame asks for the keys of many actions, and whether a key is reached takes a look at all bindings.
        self.within(contexts)
            .filter(move |binding| binding.action == Some(action))
            .filter(move |binding| self.reaches(contexts, binding))
            .map(|binding| chord_to_string(&binding.keys))
    }

    /// The first of them.
    pub fn key_for(&self, action: Action, contexts: &[Context]) -> Option<String> {
        self.keys_for(action, contexts).next()
    }

    /// The bindings of these contexts, the most special context first.
    fn within<'k>(&'k self, contexts: &[Context]) -> impl Iterator<Item = &'k Binding> {
        contexts
            .iter()
            .flat_map(|context| self.bindings.iter().filter(move |binding| binding.context == *context))
    }

    /// The bindings that work where `contexts` count, the most special context first.
    pub fn active(&self, contexts: &[Context]) -> Vec<&Binding> {
        self.within(contexts).filter(|binding| self.reaches(contexts, binding)).collect()
    }

    /// Whether the binding's keys come to its action.
    fn reaches(&self, contexts: &[Context], binding: &Binding) -> bool {
        let Some(action) = binding.action else { return false };
        let before =
            (1..binding.keys.len()).all(|n| self.lookup(contexts, &binding.keys[..n]) == Lookup::Prefix);
        before && self.lookup(contexts, &binding.keys) == Lookup::Action(action)
    }

    /// Every action with a key, as a table in Markdown: the key table of the README.
    pub fn markdown(&self) -> String {
        let mut table = String::from("| Where | Key | Does |\n|---|---|---|\n");
        for context in Context::ALL {
            for info in Action::TABLE {
                let keys: Vec<String> = self
                    .bindings
                    .iter()
                    .filter(|binding| binding.context == context && binding.action == Some(info.action))
                    .map(|binding| format!("`{}`", chord_to_string(&binding.keys)))
                    .collect();
                if !keys.is_empty() {
                    table.push_str(&format!("| {context} | {} | {} |\n", keys.join(" "), info.description));
                }
            }
        }
        table
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a key that cannot be read is a failure of the test")]
mod tests {
    use super::key::parse_chord;
    use super::*;

    const QUEUES: [Context; 4] = [Context::Queues, Context::List, Context::Stepper, Context::Global];
    const CYCLE: [Context; 4] = [Context::Cycle, Context::List, Context::Stepper, Context::Global];

    fn lookup(contexts: &[Context], keys: &str) -> Lookup {
        load::built_in().lookup(contexts, &parse_chord(keys).unwrap())
    }

    #[test]
    fn the_more_special_context_decides() {
        assert_eq!(lookup(&QUEUES, "h"), Lookup::Action(Action::ScrollLeft));
        assert_eq!(lookup(&CYCLE, "h"), Lookup::Action(Action::Fold));
        assert_eq!(lookup(&QUEUES, "n"), Lookup::Action(Action::StepCycle));
        assert_eq!(lookup(&QUEUES, "Z"), Lookup::Nothing);
    }

    #[test]
    fn a_chord_begins_continues_and_ends() {
        assert_eq!(lookup(&QUEUES, "g"), Lookup::Prefix);
        assert_eq!(lookup(&QUEUES, "g g"), Lookup::Action(Action::SelectFirst));
        assert_eq!(lookup(&QUEUES, "g x"), Lookup::Nothing);
        let keymap = load::built_in();
        let next: Vec<_> = keymap
            .continuations(&QUEUES, &parse_chord("g").unwrap())
            .into_iter()
            .map(|(keys, binding)| (keys, binding.action.unwrap()))
            .collect();
        assert_eq!(next, [("g".to_owned(), Action::SelectFirst), ("e".to_owned(), Action::SelectLast)]);
    }

    #[test]
    fn every_action_has_a_key_or_is_for_the_palette() {
        let keymap = load::built_in();
        for info in Action::TABLE {
            let is_bound = keymap.bindings().iter().any(|binding| binding.action == Some(info.action));
            assert_ne!(is_bound, info.is_palette_only, "{}", info.name);
        }
    }

    #[test]
    fn every_action_can_be_reached_in_each_of_its_contexts() {
        let keymap = load::built_in();
        for info in Action::TABLE.iter().filter(|info| !info.is_palette_only) {
            for context in info.contexts {
                let is_bound = keymap
                    .bindings()
                    .iter()
                    .any(|binding| binding.context == *context && binding.action == Some(info.action));
                assert!(is_bound, "{} has no key in {context}", info.name);
            }
        }
    }

    #[test]
    fn the_key_table_names_every_bound_action() {
        let table = load::built_in().markdown();
        assert!(table.contains("| stepper | `n` | Do the rest of this attempt, or a whole one |"), "{table}");
        assert!(table.contains("| list | `g g` `home` | Select the first row |"), "{table}");
    }
}
