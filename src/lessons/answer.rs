//! What an expression comes to, and whether what a learner has typed is the same.
//!
//! A person may leave out the namespace `default`, write names in any case, and durations with or without a unit.

use std::collections::BTreeSet;
use std::fmt;

use crate::api::Duration;
use crate::api::time::human_duration;

use super::script::parse_duration;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A name: a node, a plugin, a queue, an event; `none` where there is none.
    Name(String),
    /// A whole number.
    Number(i64),
    /// A time after the start, or a length of time.
    Time(Duration),
    /// Names without an order; none of them is written `none`.
    Names(BTreeSet<String>),
    /// Yes or no.
    YesNo(bool),
}

/// How far apart two times may be that are the same to a person, in milliseconds.
const TOLERANCE_MS: u128 = 100;

impl Answer {
    /// The name of a pod, without the namespace `default`.
    pub fn pod(key: impl fmt::Display) -> Self {
        Self::Name(short(&key.to_string()).to_owned())
    }

    /// A name, or `none`.
    pub fn name_or_none(name: Option<impl fmt::Display>) -> Self {
        Self::Name(name.map_or_else(|| "none".to_owned(), |name| name.to_string()))
    }

    /// Whether what was typed is this answer. Absent if it cannot be an answer to such a question.
    pub fn is(&self, typed: &str) -> Option<bool> {
        let typed = typed.trim();
        match self {
            Self::Name(name) => (!typed.is_empty()).then(|| folded(typed) == folded(name)),
            Self::Number(number) => typed.parse::<i64>().ok().map(|typed| typed == *number),
            Self::Time(time) => {
                let typed = parse_duration(typed).ok()?;
                Some(typed.as_millis().abs_diff(time.as_millis()) <= TOLERANCE_MS)
            }
            Self::Names(names) => {
                let typed: BTreeSet<String> = typed
                    .split([',', ' '])
                    .filter(|word| !word.is_empty() && *word != "and")
                    .map(folded)
                    .filter(|word| word != "none")
                    .collect();
                Some(typed == names.iter().map(|name| folded(name)).collect())
            }
            Self::YesNo(yes) => match typed.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => Some(*yes),
                "no" | "n" | "false" => Some(!*yes),
                _ => None,
            },
        }
    }

    /// What a learner is to type.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Name(_) => "a name",
            Self::Number(_) => "a whole number",
            Self::Time(_) => "a time such as 10s or 1m30s",
            Self::Names(_) => "names with commas between them, or none",
            Self::YesNo(_) => "yes or no",
        }
    }

    /// What two answers are compared by: the same for two that a person would call the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other || self.is(&other.to_string()) == Some(true)
    }

    /// The number, if it is one, for comparisons.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(i128::from(*number)),
            Self::Time(time) => i128::try_from(time.as_millis()).ok(),
            Self::Name(_) | Self::Names(_) | Self::YesNo(_) => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => write!(f, "{number}"),
            Self::Time(time) if time.as_millis() % 1_000 < TOLERANCE_MS => {
                let whole = Duration::from_secs(time.as_secs());
                f.write_str(&if whole.as_secs() < 60 {
                    format!("{}s", whole.as_secs())
                } else {
                    human_duration(whole)
                })
            }
            Self::Time(time) => f.write_str(&human_duration(*time)),
            Self::Names(names) if names.is_empty() => f.write_str("none"),
            Self::Names(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                f.write_str(&names.join(", "))
            }
            Self::YesNo(yes) => f.write_str(if *yes { "yes" } else { "no" }),
        }
    }
}

/// A name without the namespace `default`.
pub(super) fn short(name: &str) -> &str {
    name.strip_prefix("default/").unwrap_or(name)
}

/// A name as it is compared.
pub(super) fn folded(name: &str) -> String {
    let name = short(name.trim()).to_lowercase();
    match name.as_str() {
        "-" | "nowhere" | "nobody" | "nothing" | "no node" => "none".to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_may_write_an_answer_in_several_ways() {
        assert_eq!(Answer::pod("default/web").is("Web"), Some(true));
        assert_eq!(Answer::pod("ml/web").is("web"), Some(false));
        assert_eq!(Answer::Name("none".into()).is("nowhere"), Some(true));
        assert_eq!(Answer::Time(Duration::from_millis(10_003)).is("10"), Some(true));
        assert_eq!(Answer::Time(Duration::from_millis(10_003)).is("11s"), Some(false));
        let names = Answer::Names(["a".to_owned(), "b".to_owned()].into());
        assert_eq!(names.is("b and a"), Some(true));
        assert_eq!(names.is("a"), Some(false));
        assert_eq!(Answer::Names(BTreeSet::new()).is("none"), Some(true));
        assert_eq!(Answer::YesNo(false).is("n"), Some(true));
    }

    #[test]
    fn what_cannot_be_an_answer_is_told_apart_from_a_wrong_one() {
        assert_eq!(Answer::Number(3).is("three"), None);
        assert_eq!(Answer::YesNo(true).is("perhaps"), None);
        assert_eq!(Answer::Time(Duration::ZERO).is("soon"), None);
        assert_eq!(Answer::Name("a".into()).is(" "), None);
    }

    #[test]
    fn an_answer_is_written_as_a_person_would_type_it() {
        for answer in [
            Answer::Number(-3),
            Answer::Time(Duration::from_millis(62_001)),
            Answer::Time(Duration::from_millis(1_500)),
            Answer::Names(["a".to_owned(), "ml/b".to_owned()].into()),
            Answer::Names(BTreeSet::new()),
            Answer::YesNo(true),
        ] {
            assert_eq!(answer.is(&answer.to_string()), Some(true), "{answer}");
        }
    }
}
