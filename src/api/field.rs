//! Errors about one field of an object, in the words of the API server, and their joining into one text.
//!
//! Follows `k8s.io/apimachinery/pkg/util/validation/field` and `pkg/util/errors` (aggregates). Here stands only
//! the form of such errors; the rules are where the fields are read.

use std::fmt;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldErrorKind {
    /// The value does not follow the field's rules.
    Invalid,
    /// The value is none of those that are known.
    NotSupported,
    /// There must be a value.
    Required,
    /// There must be no value.
    Forbidden,
    /// The value must not occur twice.
    Duplicate,
}

impl FieldErrorKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
        }
    }
}

/// An error about one field: `path: kind: value: detail`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldError {
    /// Where the field is, such as `spec.values[0]`.
    pub path: String,
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// The value as text; absent where the kind shows none.
    pub value: Option<String>,
    /// What would be right; may be empty.
    pub detail: String,
}

impl FieldError {
    /// The value at `path` does not follow the rules; `value` is shown as it is.
    pub fn invalid(path: impl Into<String>, value: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind: FieldErrorKind::Invalid,
            value: Some(value.to_string()),
            detail: detail.into(),
        }
    }

    /// The text at `path` does not follow the rules.
    pub fn invalid_text(path: impl Into<String>, text: &str, detail: impl Into<String>) -> Self {
        Self::invalid(path, format_args!("{text:?}"), detail)
    }

    /// The text at `path` is none of `supported`.
    pub fn not_supported(path: impl Into<String>, text: &str, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        Self {
            path: path.into(),
            kind: FieldErrorKind::NotSupported,
            value: Some(format!("{text:?}")),
            detail: format!("supported values: {}", quoted.join(", ")),
        }
    }

    /// There must be a value at `path`.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: FieldErrorKind::Required, value: None, detail: detail.into() }
    }

    /// There must be no value at `path`.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: FieldErrorKind::Forbidden, value: None, detail: detail.into() }
    }

    /// The text at `path` occurs twice.
    pub fn duplicate(path: impl Into<String>, text: &str) -> Self {
        Self {
            path: path.into(),
            kind: FieldErrorKind::Duplicate,
            value: Some(format!("{text:?}")),
            detail: String::new(),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind.as_str())?;
        if let Some(value) = &self.value {
            write!(f, ": {value}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// One or more errors. Several are shown as `[one, two]`, each text once.
#[derive(Clone, Debug, PartialEq, Eq, Default, thiserror::Error)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    /// `Ok` if there is no error.
    ///
    /// # Errors
    /// The errors themselves.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = Vec::with_capacity(self.0.len());
        for error in &self.0 {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [one] => f.write_str(one),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

/// A path below `parent`, which may be empty.
pub fn child(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// The element of a list at `parent`, which may be empty.
pub fn index(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_stands_alone_and_several_stand_in_brackets() {
        let one = FieldError::invalid("weight", 0, "must be 1");
        let two = FieldError::required("shape", "at least one point must be specified");
        assert_eq!(FieldErrors(vec![one.clone()]).to_string(), "weight: Invalid value: 0: must be 1");
        assert_eq!(
            FieldErrors(vec![one.clone(), two, one]).to_string(),
            "[weight: Invalid value: 0: must be 1, shape: Required value: at least one point must be specified]"
        );
    }

    #[test]
    fn paths_of_lists_and_children() {
        assert_eq!(child(&index("", 0), "values"), "[0].values");
        assert_eq!(child("", "values"), "values");
    }
}
