//! Label selectors, parsed once and matched often.
//!
//! Follows `k8s.io/apimachinery/pkg/labels` and `metav1.LabelSelectorAsSelector`. Selectors of nodes, which are
//! made of the same requirements, are in [`super::node_selector`]. The textual form (`a=b,c in (d)`) is written
//! here but not read.

use std::fmt;

use super::field::{self, FieldError, FieldErrors};
use super::objects::{LabelSelector, Labels};
use super::{Str, label};

/// How a label's value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a whole number above the value.
    GreaterThan,
    /// The label is a whole number below the value.
    LessThan,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    key: Str,
    operator: Operator,
    values: Vec<Str>,
    /// The value of [`Operator::GreaterThan`] and [`Operator::LessThan`].
    number: i64,
}

impl Requirement {
    /// Checks and builds a requirement (`labels.NewRequirement`); `path` is where it stands, for the errors.
    ///
    /// # Errors
    /// The key or a value is not valid for a label, or the number of values does not fit the operator. Values
    /// of `Gt` and `Lt` are label values too, so a negative number is an error.
    pub fn new(key: &str, operator: Operator, values: &[String], path: &str) -> Result<Self, FieldErrors> {
        let mut errors = Vec::new();
        let invalid_key = label::key_errors(key);
        if !invalid_key.is_empty() {
            errors.push(FieldError::invalid_text(field::child(path, "key"), key, invalid_key.join("; ")));
        }
        let values_path = field::child(path, "values");
        let mut number = 0;
        let wrong_count = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(detail) = wrong_count {
            errors.push(FieldError::invalid(&values_path, json_list(values), detail));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (i, value) in values.iter().enumerate() {
                match parse_int(value) {
                    Some(parsed) => number = parsed,
                    None => errors.push(FieldError::invalid_text(
                        field::index(&values_path, i),
                        value,
                        "for 'Gt', 'Lt' operators, the value must be an integer",
                    )),
                }
            }
        }
        for (i, value) in values.iter().enumerate() {
            let invalid_value = label::value_errors(value);
            if !invalid_value.is_empty() {
                let path = format!("{}[{key}]", field::index(&values_path, i));
                errors.push(FieldError::invalid_text(path, value, invalid_value.join("; ")));
            }
        }
        FieldErrors(errors).into_result()?;
        let values = values.iter().map(|value| Str::from(value.as_str())).collect();
        Ok(Self { key: Str::from(key), operator, values, number })
    }

    /// The label has this value; nothing is checked.
    fn equals(key: Str, value: Str) -> Self {
        Self { key, operator: Operator::In, values: vec![value], number: 0 }
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The operator.
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, in the order in which they were given.
    pub fn values(&self) -> &[Str] {
        &self.values
    }

    /// Whether the labels satisfy it.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(self.key.as_ref());
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => value.and_then(|v| parse_int(v)).is_some_and(|n| n > self.number),
            Operator::LessThan => value.and_then(|v| parse_int(v)).is_some_and(|n| n < self.number),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values: Vec<&str> = self.values.iter().map(AsRef::as_ref).collect();
        values.sort_unstable();
        let values = values.join(",");
        let key = &self.key;
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// A whole number as `strconv.ParseInt(text, 10, 64)` reads it.
fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// A list of texts as upstream's errors show it; an absent list and an empty one are both `null`.
pub(super) fn json_list(values: &[String]) -> String {
    if values.is_empty() {
        return "null".to_owned();
    }
    let quoted: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", quoted.join(","))
}

/// Why a label selector cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The operator is none of `In`, `NotIn`, `Exists`, `DoesNotExist`.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// A requirement is not valid.
    #[error(transparent)]
    Requirement(#[from] FieldErrors),
}

/// A parsed label selector: all requirements must hold, or nothing matches at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Sorted by key; absent in the selector that matches nothing.
    requirements: Option<Vec<Requirement>>,
}

impl Default for Selector {
    /// [`Selector::nothing`], as upstream's nil selector.
    fn default() -> Self {
        Self::nothing()
    }
}

impl Selector {
    /// Matches any labels.
    pub const fn everything() -> Self {
        Self { requirements: Some(Vec::new()) }
    }

    /// Matches no labels at all.
    pub const fn nothing() -> Self {
        Self { requirements: None }
    }

    /// All of the requirements must hold; without any, everything matches.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements: Some(requirements) }
    }

    /// Every label of `labels` must be there with its value (`labels.SelectorFromSet`); nothing is checked.
    pub fn from_labels(labels: &Labels) -> Self {
        Self::new(labels.iter().map(|(key, value)| Requirement::equals(key.clone(), value.clone())).collect())
    }

    /// Parses a selector of the API (`metav1.LabelSelectorAsSelector`): an absent one matches nothing, an empty
    /// one everything.
    ///
    /// # Errors
    /// An operator, a key or a value is not valid.
    pub fn from_label_selector(selector: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        let Some(selector) = selector else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (key, value) in &selector.match_labels {
            requirements.push(Requirement::new(key, Operator::In, &[value.to_string()], "")?);
        }
        for expression in &selector.match_expressions {
            let operator = match expression.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
            requirements.push(Requirement::new(&expression.key, operator, &expression.values, "")?);
        }
        Ok(Self::new(requirements))
    }

    /// A label without which nothing matches, with the values that it may have; absent if there is no such label.
    pub fn needed_label(&self) -> Option<(&str, &[Str])> {
        let mut needed = self.requirements.iter().flatten().filter(|one| one.operator == Operator::In);
        needed.next().map(|one| (one.key(), one.values()))
    }

    /// Whether the labels satisfy the selector.
    pub fn matches(&self, labels: &Labels) -> bool {
        match &self.requirements {
            Some(requirements) => requirements.iter().all(|requirement| requirement.matches(labels)),
            None => false,
        }
    }

    /// Whether it restricts nothing (`Selector.Empty`).
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether it is [`Selector::nothing`].
    pub const fn is_nothing(&self) -> bool {
        self.requirements.is_none()
    }

    /// The requirements, by key; none in a selector that matches nothing.
    pub fn requirements(&self) -> &[Requirement] {
        self.requirements.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements().iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::objects::LabelSelectorRequirement;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect()
    }

    fn requirement(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: vec![LabelSelectorRequirement {
                key: key.into(),
                operator: operator.into(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            }],
            ..LabelSelector::default()
        }
    }

    #[test]
    fn an_absent_selector_matches_nothing_and_an_empty_one_everything() {
        let absent = Selector::from_label_selector(None).unwrap();
        assert!(absent.is_nothing() && !absent.is_empty() && !absent.matches(&labels(&[])));
        let empty = Selector::from_label_selector(Some(&LabelSelector::default())).unwrap();
        assert!(empty.is_empty() && empty.matches(&labels(&[])) && empty.matches(&labels(&[("a", "b")])));
    }

    #[test]
    fn operators() {
        // Operator, values; whether a node labelled tier=back matches, and one without the label.
        for (operator, values, with, without) in [
            ("In", &["back", "front"][..], true, false),
            ("In", &["front"], false, false),
            ("NotIn", &["front"], true, true),
            ("NotIn", &["back"], false, true),
            ("Exists", &[], true, false),
            ("DoesNotExist", &[], false, true),
        ] {
            let selector =
                Selector::from_label_selector(Some(&requirement("tier", operator, values))).unwrap();
            assert_eq!(selector.matches(&labels(&[("tier", "back")])), with, "{operator} {values:?}");
            assert_eq!(selector.matches(&labels(&[])), without, "{operator} {values:?}");
        }
    }

    #[test]
    fn numbers_are_compared_as_whole_numbers() {
        let above = Requirement::new("gen", Operator::GreaterThan, &["9".into()], "").unwrap();
        assert!(above.matches(&labels(&[("gen", "10")])));
        assert!(!above.matches(&labels(&[("gen", "9")])));
        assert!(!above.matches(&labels(&[("gen", "ten")])));
        assert!(!above.matches(&labels(&[])));
    }

    #[test]
    fn errors_name_the_field() {
        let text = |key, operator, values: &[&str]| {
            Selector::from_label_selector(Some(&requirement(key, operator, values))).unwrap_err().to_string()
        };
        assert_eq!(
            text("tier", "In", &[]),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        );
        assert_eq!(
            text("tier", "Exists", &["a"]),
            "values: Invalid value: [\"a\"]: values set must be empty for exists and does not exist"
        );
        assert_eq!(text("tier", "Like", &["a"]), "\"Like\" is not a valid label selector operator");
        let negative =
            Requirement::new("gen", Operator::LessThan, &["-5".into()], "").unwrap_err().to_string();
        assert!(
            negative.starts_with("values[0][gen]: Invalid value: \"-5\": a valid label must be"),
            "{negative}"
        );
    }

    #[test]
    fn the_text_is_sorted_by_key_and_value() {
        let mut selector = requirement("tier", "In", &["front", "back"]);
        selector.match_labels = labels(&[("app", "web")]);
        let parsed = Selector::from_label_selector(Some(&selector)).unwrap();
        assert_eq!(parsed.to_string(), "app in (web),tier in (back,front)");
    }
}
