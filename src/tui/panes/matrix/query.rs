//! The filter of the matrix: words that a row must have, each by itself.
//!
//! `verdict:fits zone:eu !label:disk=hdd score>50`: all of them must hold; `!` turns one round. A word without a key is
//! looked for in the node's name, in the plugin that turned it down and in the reasons. A term that cannot be
//! understood is left out and said, so that rows do not vanish while somebody is typing.

use std::collections::BTreeSet;

use crate::api::Str;
use crate::framework::{Code, NodeInfo, Status};
use crate::scheduler::trace::{CycleTrace, NodeVerdict, ScoreTrace};
use crate::tui::panes::find::Find;
use crate::tui::panes::names;

/// The label that names a node's zone.
pub(super) const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// The keys, for the sentence that says what there is.
const KEYS: &str = "name verdict reason plugin zone label, score>N or PLUGIN>N";
const VERDICTS: [&str; 10] = [
    "fits",
    "rejected",
    "unschedulable",
    "unresolvable",
    "error",
    "excluded",
    "unseen",
    "scored",
    "winner",
    "tie",
];

/// A comparison with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Relation {
    const ALL: [(&'static str, Self); 5] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        (">", Self::Above),
        ("<", Self::Below),
        ("=", Self::Equal),
    ];

    const fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Above => left > right,
            Self::AtLeast => left >= right,
            Self::Below => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
        }
    }
}

/// What a term asks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Question {
    Text(Find),
    Name(Find),
    Verdict(&'static str),
    Reason(Find),
    Plugin(String),
    Zone(String),
    Label {
        key: String,
        value: Option<String>,
    },
    /// The total, or the points of the plugin of that name.
    Points {
        of: Option<String>,
        relation: Relation,
        number: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    is_not: bool,
    question: Question,
}

/// A filter as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    terms: Vec<Term>,
    /// What the plain words are, for marking them.
    pub(super) find: Find,
    /// What was not understood, in a few words.
    pub(super) mistake: Option<String>,
}

impl Query {
    /// Reads a filter.
    pub(super) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for word in words(text) {
            let (is_not, rest) = match word.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, word.as_str()),
            };
            if rest.is_empty() {
                continue;
            }
            match question(rest) {
                Ok(question) => {
                    if let (Question::Text(find) | Question::Name(find) | Question::Reason(find), false) =
                        (&question, is_not)
                    {
                        query.find = find.clone();
                    }
                    query.terms.push(Term { is_not, question });
                }
                Err(mistake) => query.mistake = query.mistake.or(Some(mistake)),
            }
        }
        query
    }

    /// Whether something is asked.
    pub(super) fn is_on(&self) -> bool {
        !self.terms.is_empty()
    }
}

fn found(text: &str) -> Find {
    let mut find = Find::default();
    find.set(Some(text));
    find
}

/// The words of a text; what stands between quotes is one.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn question(word: &str) -> Result<Question, String> {
    if let Some((key, value)) = word.split_once(':') {
        return keyed(key, value);
    }
    let relation = Relation::ALL
        .into_iter()
        .filter_map(|(sign, relation)| word.find(sign).map(|at| (at, sign, relation)))
        .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())));
    let Some((at, sign, relation)) = relation else { return Ok(Question::Text(found(word))) };
    let (name, number) = (&word[..at], &word[at + sign.len()..]);
    let number = number.parse().map_err(|_| format!("{name}{sign} wants a whole number"))?;
    let of = match name.to_lowercase().as_str() {
        "score" | "total" => None,
        "" => return Err(format!("what is to be {sign} {number}? score, or a plugin")),
        name => Some(name.to_owned()),
    };
    Ok(Question::Points { of, relation, number })
}

fn keyed(key: &str, value: &str) -> Result<Question, String> {
    let key = key.to_lowercase();
    let wanted = match key.as_str() {
        "name" => "a part of a name",
        "verdict" => {
            "one of fits rejected unschedulable unresolvable error excluded unseen scored winner tie"
        }
        "reason" => "a part of a reason",
        "plugin" => "a part of a plugin's name",
        "zone" => "a zone or its beginning",
        "label" => "KEY or KEY=VALUE",
        _ => return Err(format!("{key}: is no key; there are {KEYS}")),
    };
    if value.is_empty() {
        return Err(format!("{key}: wants {wanted}"));
    }
    Ok(match key.as_str() {
        "name" => Question::Name(found(value)),
        "reason" => Question::Reason(found(value)),
        "plugin" => Question::Plugin(value.to_lowercase()),
        "zone" => Question::Zone(value.to_owned()),
        "label" => match value.split_once('=') {
            Some((key, value)) => Question::Label { key: key.to_owned(), value: Some(value.to_owned()) },
            None => Question::Label { key: value.to_owned(), value: None },
        },
        _ => {
            let value = value.to_lowercase();
            let known = VERDICTS.into_iter().find(|verdict| verdict.starts_with(&value));
            Question::Verdict(known.ok_or_else(|| format!("verdict:{value} is none; it is {wanted}"))?)
        }
    })
}

/// One row, as far as a filter looks at it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'t> {
    pub(super) name: &'t Str,
    pub(super) node: Option<&'t NodeInfo>,
    pub(super) verdict: Option<&'t NodeVerdict>,
    /// Its place among the scored nodes.
    pub(super) scored: Option<usize>,
}

/// A filter put to one attempt.
pub(super) struct Filter<'t> {
    query: &'t Query,
    trace: &'t CycleTrace,
    /// The values that some node has, for telling a whole value from the beginning of others.
    whole: BTreeSet<&'t str>,
    /// For each term that asks for points of a plugin: its place among the scores.
    columns: Vec<Option<usize>>,
}

impl<'t> Filter<'t> {
    pub(super) fn new(query: &'t Query, trace: &'t CycleTrace) -> Self {
        let mut whole = BTreeSet::new();
        let mut columns = Vec::new();
        for term in &query.terms {
            let has =
                |key: &str, value: &str| trace.nodes().iter().any(|node| label(node, key) == Some(value));
            let mut column = None;
            match &term.question {
                Question::Zone(value) if has(ZONE_LABEL, value) => drop(whole.insert(value.as_str())),
                Question::Label { key, value: Some(value) } if has(key, value) => {
                    whole.insert(value.as_str());
                }
                Question::Points { of: Some(name), .. } => {
                    let plugins = trace.score.iter().flat_map(|score| &score.scores.plugins);
                    let names: Vec<&str> = plugins.map(|scores| scores.plugin).collect();
                    let is = |exactly: bool| names.iter().position(|plugin| is_named(plugin, name, exactly));
                    column = is(true).or_else(|| is(false));
                }
                _ => {}
            }
            columns.push(column);
        }
        Self { query, trace, whole, columns }
    }

    /// Whether the row is shown.
    pub(super) fn admits(&self, row: Asked<'_>) -> bool {
        self.query
            .terms
            .iter()
            .zip(&self.columns)
            .all(|(term, column)| self.holds(&term.question, *column, row) != term.is_not)
    }

    fn holds(&self, question: &Question, column: Option<usize>, row: Asked<'_>) -> bool {
        let status = match row.verdict {
            Some(NodeVerdict::Rejected(status)) => Some(status),
            _ => None,
        };
        let reasons = |find: &Find| reasons(status).any(|reason| find.matches([reason]));
        match question {
            Question::Text(find) => {
                find.matches([row.name.as_ref(), status.map_or("", Status::plugin)]) || reasons(find)
            }
            Question::Name(find) => find.matches([row.name.as_ref()]),
            Question::Reason(find) => reasons(find),
            Question::Plugin(name) => status.is_some_and(|status| is_named(status.plugin(), name, false)),
            Question::Verdict(verdict) => self.is(verdict, status, row),
            Question::Zone(value) => self.has(row, ZONE_LABEL, Some(value)),
            Question::Label { key, value } => self.has(row, key, value.as_deref()),
            Question::Points { of, relation, number } => {
                let points =
                    self.trace.score.as_ref().zip(row.scored).and_then(|(score, at)| match (of, column) {
                        (None, _) => score.scores.totals.get(at).copied(),
                        (Some(_), Some(column)) => points(score, column, at),
                        (Some(_), None) => None,
                    });
                points.is_some_and(|points| relation.holds(points, *number))
            }
        }
    }

    fn has(&self, row: Asked<'_>, key: &str, wanted: Option<&str>) -> bool {
        let Some(found) = row.node.and_then(|node| label(node, key)) else { return false };
        match wanted {
            None => true,
            Some(wanted) if self.whole.contains(wanted) => found == wanted,
            Some(wanted) => found.starts_with(wanted),
        }
    }

    fn is(&self, verdict: &str, status: Option<&Status>, row: Asked<'_>) -> bool {
        let code = status.map(Status::code);
        let selection = self.trace.selection.as_ref();
        match verdict {
            "fits" => row.verdict == Some(&NodeVerdict::Feasible),
            "rejected" => status.is_some(),
            "unschedulable" => matches!(code, Some(Code::Unschedulable | Code::Pending)),
            "unresolvable" => code == Some(Code::UnschedulableAndUnresolvable),
            "error" => code == Some(Code::Error),
            "excluded" => row.verdict == Some(&NodeVerdict::Excluded),
            "unseen" => row.verdict == Some(&NodeVerdict::NotEvaluated),
            "scored" => row.scored.is_some(),
            "winner" => selection.is_some_and(|selection| selection.host == *row.name),
            _ => selection.is_some_and(|selection| selection.ties.contains(row.name)),
        }
    }
}

/// The points of a plugin for a scored node, times its weight.
pub(super) fn points(score: &ScoreTrace, column: usize, at: usize) -> Option<i64> {
    let scores = score.scores.plugins.get(column)?;
    Some(scores.normalized.get(at)?.saturating_mul(scores.weight))
}

pub(super) fn label<'n>(node: &'n NodeInfo, key: &str) -> Option<&'n str> {
    node.node()?.metadata.labels.get(key).map(AsRef::as_ref)
}

fn reasons(status: Option<&Status>) -> impl Iterator<Item = &str> {
    status.into_iter().flat_map(|status| status.reasons()).map(String::as_str)
}

/// Whether a plugin is meant by a name in lower case: any of its names, or a part of the whole one.
fn is_named(plugin: &str, name: &str, exactly: bool) -> bool {
    let forms = [plugin, names::medium(plugin), names::short(plugin)];
    let is_one = forms.iter().any(|form| form.eq_ignore_ascii_case(name));
    is_one || !exactly && plugin.to_lowercase().contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_between_blanks_and_quotes_hold_them_together() {
        assert_eq!(words(" a  reason:\"too many\" b"), ["a", "reason:too many", "b"]);
        assert_eq!(words("\"open"), ["open"]);
    }

    #[test]
    fn what_cannot_be_understood_is_said_and_left_out() {
        let mistake = |text| Query::parse(text).mistake.unwrap_or_default();
        assert!(mistake("colour:red").starts_with("colour: is no key; there are name"));
        assert!(mistake("zone:").starts_with("zone: wants a zone"));
        assert!(mistake("verdict:maybe").starts_with("verdict:maybe is none"));
        assert_eq!(mistake("score>many"), "score> wants a whole number");
        assert!(mistake(">5").starts_with("what is to be > 5?"));
        let query = Query::parse("colour:red a-1");
        assert_eq!(query.terms.len(), 1);
        assert!(!Query::parse("!").is_on() && Query::parse("!").mistake.is_none());
    }

    #[test]
    fn the_longer_sign_of_a_comparison_counts() {
        let points = |text| match Query::parse(text).terms.remove(0).question {
            Question::Points { of, relation, number } => (of, relation, number),
            other => unreachable!("{other:?}"),
        };
        assert_eq!(points("score>=50"), (None, Relation::AtLeast, 50));
        assert_eq!(points("Fit<-3"), (Some(String::from("fit")), Relation::Below, -3));
        assert_eq!(points("total=7"), (None, Relation::Equal, 7));
    }
}
