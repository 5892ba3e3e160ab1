//! What happens in a lesson before a question, and how far the engine goes for its answer.
//!
//! Each deed is what a person could do in the console at that moment, so it is an operation of the sandbox and can be
//! taken back like any other.

use crate::api::time::parse_human_duration;
use crate::api::{Duration, Kind, NamespacedName, Str};
use crate::driver::session::Edit;

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The cluster changes.
    Edit(Edit),
    /// Time goes on.
    Wait(Duration),
}

/// How far the engine goes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Until {
    /// Until nothing moves any more, whatever time that takes.
    #[default]
    Rest,
    /// Until nothing can be tried without time going on.
    Settled,
    /// Nothing is done.
    Now,
    /// Until so many attempts were made since the start of the lesson.
    Attempt(u64),
    /// Until the next attempt for the pod is over.
    Tried(NamespacedName),
    /// Until that time after the start; what can be tried on the way is tried.
    Elapsed(Duration),
}

/// No lesson waits so long.
const DURATION_MAX: Duration = Duration::from_secs(1_000_000_000);

/// The words that can stand for how far the engine goes.
pub const UNTIL: &str =
    "`rest`, `settled`, `now`, `attempt N`, `tried POD`, or a time after the start such as `10s`";
/// The words that can stand for a deed.
pub const DEEDS: &str = "`wait TIME`, `delete pod POD`, `delete node NODE`, `delete KIND NAME`, `cordon NODE`, `uncordon NODE`, \
     `taint NODE KEY=VALUE:EFFECT`, `label NODE KEY=VALUE`, `allow POD`, `reject POD`, or a manifest";

/// The name of a pod or another object: `name` is in the namespace `default`.
pub fn object_name(word: &str) -> NamespacedName {
    let (namespace, name) = word.split_once('/').unwrap_or(("default", word));
    NamespacedName::new(namespace, name)
}

/// A duration like `10s`, `1m30s`, `500ms`; a number alone is seconds.
///
/// # Errors
/// In one sentence, if it is none.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_human_duration(text).filter(|duration| *duration < DURATION_MAX);
    duration.ok_or_else(|| format!("{text:?} is not a time such as 10s, 1m30s or 500ms"))
}

impl Until {
    /// Reads how far the engine goes.
    ///
    /// # Errors
    /// In one sentence, if it cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words.as_slice() {
            ["rest"] => Self::Rest,
            ["settled"] => Self::Settled,
            ["now"] => Self::Now,
            ["attempt", number] => Self::Attempt(
                number.parse().map_err(|_| format!("{number:?} is not the number of an attempt"))?,
            ),
            ["tried", pod] => Self::Tried(object_name(pod)),
            [time] => Self::Elapsed(
                parse_duration(time).map_err(|_| format!("{text:?} is not known here: write {UNTIL}"))?,
            ),
            _ => return Err(format!("{text:?} is not known here: write {UNTIL}")),
        })
    }
}

impl Deed {
    /// Reads a deed. `source` is what complaints about a manifest call it.
    ///
    /// # Errors
    /// In one sentence, if it cannot be read.
    pub fn parse(text: &str, source: &str) -> Result<Self, String> {
        if text.contains("kind:") || text.trim_start().starts_with('{') {
            return Ok(Self::Edit(Edit::Apply { source: source.to_owned(), text: text.to_owned() }));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let edit = match words.as_slice() {
            ["wait", time] => return Ok(Self::Wait(parse_duration(time)?)),
            ["delete", "pod", pod] => Edit::DeletePod(object_name(pod)),
            ["delete", "node", node] => Edit::DeleteNode(Str::from(*node)),
            ["delete", kind, name] => {
                let known = Kind::ALL.iter().find(|known| known.as_str().eq_ignore_ascii_case(kind));
                let kind = *known.ok_or_else(|| format!("there is no kind {kind:?}"))?;
                Edit::Delete { kind, key: object_name(name) }
            }
            ["cordon", node] => Edit::Cordon(Str::from(*node)),
            ["uncordon", node] => Edit::Uncordon(Str::from(*node)),
            ["taint", node, taint] => Edit::Taint { node: Str::from(*node), taint: (*taint).to_owned() },
            ["label", node, label] => Edit::Label { node: Str::from(*node), label: (*label).to_owned() },
            ["allow", pod] => Edit::Allow(object_name(pod)),
            ["reject", pod] => Edit::Reject(object_name(pod)),
            _ => return Err(format!("{text:?} is not known here: write {DEEDS}")),
        };
        Ok(Self::Edit(edit))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn deeds_are_read() {
        assert_eq!(Deed::parse("wait 1m30s", "x"), Ok(Deed::Wait(Duration::from_secs(90))));
        assert_eq!(Deed::parse("cordon a", "x"), Ok(Deed::Edit(Edit::Cordon("a".into()))));
        let apply = Deed::parse("kind: Pod", "x").unwrap();
        assert_eq!(apply, Deed::Edit(Edit::Apply { source: "x".into(), text: "kind: Pod".into() }));
        assert!(Deed::parse("delete banana b", "x").unwrap_err().contains("there is no kind"));
        assert!(Deed::parse("explode", "x").unwrap_err().contains("wait TIME"));
    }

    #[test]
    fn how_far_the_engine_goes_is_read() {
        assert_eq!(Until::parse("attempt 3"), Ok(Until::Attempt(3)));
        assert_eq!(Until::parse("tried ml/a"), Ok(Until::Tried(NamespacedName::new("ml", "a"))));
        assert_eq!(Until::parse("1.5s"), Ok(Until::Elapsed(Duration::from_millis(1_500))));
        assert!(Until::parse("later").unwrap_err().contains("`rest`"));
    }
}
