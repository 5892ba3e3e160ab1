//! What is wrong with a configuration, said all at once, and where.

use std::fmt;

use crate::api::manifest::{Place, printable_text};

/// At which step something was found. Of several steps only the first that finds something speaks, since the next
/// ones need what it checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Reading the text: it is neither YAML nor JSON, or of another kind.
    Read,
    /// Decoding: fields that are unknown or there twice, values that do not fit.
    Decode,
    /// Validation: values that are not allowed.
    Validate,
    /// Building the profiles and extenders.
    Build,
}

/// Something wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// At which step it was found.
    pub step: Step,
    /// What is wrong. From validation on, the words are kube-scheduler's.
    pub text: String,
    /// Where in the text it stands; the nearest field around it that is there. Empty where the text is not at fault.
    pub places: Vec<Place>,
}

impl Complaint {
    /// One line after the name of the source, and an excerpt with a caret for each place.
    fn write(&self, f: &mut fmt::Formatter<'_>, source: &str, word: &str) -> fmt::Result {
        f.write_str(&printable_text(source))?;
        if let Some(place) = self.places.first() {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {word}{}", printable_text(&self.text))?;
        for place in &self.places {
            let number = place.line.to_string();
            let margin = " ".repeat(number.len());
            let caret = " ".repeat(place.caret);
            write!(f, "\n{margin} |\n{number} | {}\n{margin} | {caret}^", place.excerpt)?;
        }
        Ok(())
    }
}

/// All that is wrong with a configuration, or all that is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Complaints {
    /// The file, or what else the text is called.
    pub source: String,
    /// Whether the configuration is good all the same.
    pub are_warnings: bool,
    /// The complaints, in the order in which kube-scheduler finds them.
    pub list: Vec<Complaint>,
}

impl std::error::Error for Complaints {}

impl Complaints {
    /// Whether there is nothing to be said.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.are_warnings { "warning: " } else { "" };
        for (i, complaint) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            complaint.write(f, &self.source, word)?;
        }
        Ok(())
    }
}
