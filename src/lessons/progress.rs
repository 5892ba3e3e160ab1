//! How far a learner has come: which lessons are done, and how many questions were answered right at the first try.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of the file.
const SCHEMA: &str = "schedscope.dev/progress/v1";

/// What is kept of a lesson that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Questions that were answered right at the first try.
    pub right: usize,
    /// All its questions.
    pub of: usize,
}

/// The lessons that were done, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    lessons: BTreeMap<String, Done>,
}

impl Progress {
    /// Reads it. What cannot be read is no progress.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// As a text.
    pub fn text(&self) -> String {
        let document = Self { schema: SCHEMA.to_owned(), ..self.clone() };
        serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
    }

    /// What is kept of a lesson.
    pub fn of(&self, id: &str) -> Option<Done> {
        self.lessons.get(id).copied()
    }

    /// How many lessons were done.
    pub fn n_done(&self) -> usize {
        self.lessons.len()
    }

    /// A lesson was done. The best time counts.
    pub fn note(&mut self, id: &str, done: Done) {
        let best = self.lessons.get(id).filter(|before| before.of == done.of && before.right >= done.right);
        if best.is_none() {
            self.lessons.insert(id.to_owned(), done);
        }
    }
}

/// Where progress is kept.
pub trait ProgressStore: fmt::Debug + Send + Sync {
    /// Keeps it.
    ///
    /// # Errors
    /// In one sentence, why not.
    fn keep(&self, progress: &Progress) -> Result<(), String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_time_counts_and_what_is_written_is_read() {
        let mut progress = Progress::default();
        progress.note("filter", Done { right: 2, of: 2 });
        progress.note("filter", Done { right: 1, of: 2 });
        let read = Progress::read(&progress.text());
        assert_eq!(read.of("filter"), Some(Done { right: 2, of: 2 }));
        assert_eq!(read.n_done(), 1);
        // A lesson that has got another question is measured anew.
        progress.note("filter", Done { right: 1, of: 3 });
        assert_eq!(progress.of("filter"), Some(Done { right: 1, of: 3 }));
        assert_eq!(Progress::read("broken").n_done(), 0);
    }
}
