//! The file of a lesson: TOML, read strictly. docs/lessons.md describes it; every mistake is told with its place.

use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::api::manifest::{Place, Source};

use super::expression::Expression;
use super::script::{Deed, Until};

/// The panes that a lesson can ask a learner to look at.
pub const PANES: &[&str] = &["queues", "cycle", "matrix", "waiting", "nodes", "details", "log", "timeline"];

/// A mistake in a lesson, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LessonError {
    /// The file.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// Such as `question 2, answer`; empty where the text itself cannot be read.
    pub field: String,
    /// What is wrong, in one sentence.
    pub reason: String,
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// A lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// What it is called in the list and where progress is kept: the name of its file or folder.
    pub id: String,
    /// The file.
    pub file: String,
    /// Its title.
    pub title: String,
    /// What it is about, in a word or two, such as a plugin.
    pub topic: String,
    /// The situation, in a few sentences.
    pub text: String,
    /// The pane to look at first.
    pub look: Option<String>,
    /// The cluster and the scheduler.
    pub setup: Setup,
    /// What is asked.
    pub questions: Vec<Question>,
}

/// The cluster of a lesson and its scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Where random numbers start.
    pub seed: u64,
    /// Feature gates as kube-scheduler takes them.
    pub gates: String,
    /// A `KubeSchedulerConfiguration`; the program's default one if there is none.
    pub config: Option<Source>,
    /// The objects.
    pub manifests: Vec<Source>,
    /// Whether controllers act: volumes are made and bound, claims are made of templates.
    pub controllers: bool,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question itself.
    pub ask: String,
    /// What gives the right answer.
    pub answer: Expression,
    /// What the author expects it to be.
    pub expect: String,
    /// What there is to choose from; empty where the learner writes the answer.
    pub choices: Vec<String>,
    /// What happens before it is asked.
    pub deeds: Vec<Deed>,
    /// How far the engine goes for the answer.
    pub until: Until,
    /// Hints, one after the other.
    pub hints: Vec<String>,
    /// What there is to learn from it, told with the answer.
    pub because: String,
    /// The pane to look at when the answer is shown.
    pub look: Option<String>,
    /// Where `expect` stands, for complaints.
    pub place: (usize, usize),
    /// Where `answer` stands.
    pub answer_place: (usize, usize),
}

type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LessonDocument {
    title: Text,
    topic: Text,
    text: Text,
    look: Option<Text>,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    gates: String,
    config: Option<Text>,
    #[serde(rename = "config-file")]
    config_file: Option<Text>,
    cluster: Option<Text>,
    #[serde(default)]
    files: Vec<Text>,
    #[serde(default)]
    controllers: bool,
    #[serde(default, rename = "question")]
    questions: Vec<Spanned<QuestionDocument>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionDocument {
    ask: Text,
    answer: Text,
    expect: Spanned<Expected>,
    #[serde(default)]
    choices: Vec<Text>,
    #[serde(default, rename = "do")]
    deeds: Vec<Text>,
    until: Option<Text>,
    #[serde(default)]
    hints: Vec<String>,
    #[serde(default)]
    because: String,
    look: Option<Text>,
}

/// A text, a number or a truth.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Expected {
    Text(String),
    Number(i64),
    YesNo(bool),
}

const fn one() -> u64 {
    1
}

/// Reads the other files that a lesson names.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    errors: Vec<LessonError>,
}

impl Reader<'_> {
    fn place(&self, offset: usize) -> (usize, usize) {
        let place = Place::find(self.text, offset);
        (place.line, place.column)
    }

    fn error(&mut self, offset: usize, field: impl Into<String>, reason: impl Into<String>) {
        let (line, column) = self.place(offset);
        let (field, reason) = (field.into(), reason.into());
        self.errors.push(LessonError { file: self.file.to_owned(), line, column, field, reason });
    }

    fn filled(&mut self, text: &Text, field: &str) -> String {
        if text.get_ref().trim().is_empty() {
            self.error(text.span().start, field, "it is empty");
        }
        unfolded(text.get_ref())
    }

    fn pane(&mut self, look: Option<Text>, field: &str) -> Option<String> {
        let look = look?;
        if !PANES.contains(&look.get_ref().as_str()) {
            let reason = format!("there is no pane {:?}; there are {}", look.get_ref(), PANES.join(", "));
            self.error(look.span().start, field, reason);
        }
        Some(look.into_inner())
    }

    fn question(&mut self, number: usize, document: QuestionDocument) -> Option<Question> {
        let field = |name: &str| format!("question {number}, {name}");
        let ask = self.filled(&document.ask, &field("ask"));
        let answer_at = document.answer.span().start;
        let answer = match Expression::parse(document.answer.get_ref()) {
            Ok(answer) => Some(answer),
            Err(reason) => {
                self.error(answer_at, field("answer"), reason);
                None
            }
        };
        let until = match &document.until {
            None => Until::default(),
            Some(text) => Until::parse(text.get_ref()).unwrap_or_else(|reason| {
                self.error(text.span().start, field("until"), reason);
                Until::default()
            }),
        };
        let mut deeds = Vec::new();
        for text in &document.deeds {
            let source = format!("{}: {}", self.file, field("do"));
            match Deed::parse(text.get_ref(), &source) {
                Ok(deed) => deeds.push(deed),
                Err(reason) => self.error(text.span().start, field("do"), reason),
            }
        }
        let mut choices: Vec<String> = Vec::new();
        for choice in &document.choices {
            if choices.contains(choice.get_ref()) {
                self.error(
                    choice.span().start,
                    field("choices"),
                    format!("{:?} is there twice", choice.get_ref()),
                );
            }
            choices.push(choice.get_ref().clone());
        }
        if choices.len() == 1 || choices.len() > 9 {
            let at = document.choices.first().map_or(0, |choice| choice.span().start);
            self.error(at, field("choices"), "there must be from 2 to 9 of them, or none at all");
        }
        let place = self.place(document.expect.span().start);
        let expect = match document.expect.into_inner() {
            Expected::Text(text) => text,
            Expected::Number(number) => number.to_string(),
            Expected::YesNo(yes) => if yes { "yes" } else { "no" }.to_owned(),
        };
        let look = self.pane(document.look, &field("look"));
        Some(Question {
            ask,
            answer: answer?,
            expect,
            choices,
            deeds,
            until,
            hints: document.hints.iter().map(|hint| unfolded(hint)).collect(),
            because: unfolded(&document.because),
            look,
            place,
            answer_place: self.place(answer_at),
        })
    }
}

/// A text as it was meant: lines that follow each other are one paragraph.
fn unfolded(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let joined = paragraphs.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.collect::<Vec<_>>().join("\n\n")
}

impl Lesson {
    /// Reads a lesson. `id` is what it is called; `read` gets the files that it names.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(file: &str, id: &str, text: &str, read: ReadFile<'_>) -> Result<Self, Vec<LessonError>> {
        let mut reader = Reader { file, text, errors: Vec::new() };
        let document: LessonDocument = match toml::from_str(text) {
            Ok(document) => document,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.error(at, "", error.message().replace('\n', " "));
                return Err(reader.errors);
            }
        };
        let title = reader.filled(&document.title, "title");
        let topic = reader.filled(&document.topic, "topic");
        let situation = reader.filled(&document.text, "text");
        let look = reader.pane(document.look, "look");
        let mut source = |name: &Text, field: &str| match read(name.get_ref()) {
            Ok(text) => Some(Source { name: name.get_ref().clone(), text }),
            Err(reason) => {
                reader.error(name.span().start, field, reason);
                None
            }
        };
        let mut manifests: Vec<Source> = Vec::new();
        if let Some(cluster) = &document.cluster {
            manifests.push(Source { name: format!("{file}: cluster"), text: cluster.get_ref().clone() });
        }
        manifests.extend(document.files.iter().filter_map(|name| source(name, "files")));
        let mut config = document.config_file.as_ref().and_then(|name| source(name, "config-file"));
        if let (Some(config), Some(_)) = (&document.config, &document.config_file) {
            reader.error(config.span().start, "config", "there is a config-file, too");
        }
        if let Some(text) = &document.config {
            config = Some(Source { name: format!("{file}: config"), text: text.get_ref().clone() });
        }
        if manifests.is_empty() && reader.errors.is_empty() {
            reader.error(0, "cluster", "there is neither a cluster nor files");
        }
        if document.questions.is_empty() {
            reader.error(0, "question", "a lesson asks at least one: write [[question]]");
        }
        let mut questions = Vec::new();
        for (i, question) in document.questions.into_iter().enumerate() {
            questions.extend(reader.question(i + 1, question.into_inner()));
        }
        if !reader.errors.is_empty() {
            return Err(reader.errors);
        }
        Ok(Self {
            id: id.to_owned(),
            file: file.to_owned(),
            title,
            topic,
            text: situation,
            look,
            setup: Setup {
                seed: document.seed,
                gates: document.gates,
                config,
                manifests,
                controllers: document.controllers,
            },
            questions,
        })
    }

    /// A complaint about a place of the lesson.
    pub(super) fn complaint(
        &self,
        (line, column): (usize, usize),
        field: String,
        reason: String,
    ) -> LessonError {
        LessonError { file: self.file.clone(), line, column, field, reason }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const GOOD: &str = "title = 'T'\ntopic = 'x'\ntext = '''\nOne line\nand more.\n\nAgain.'''\ncluster = 'kind: Pod'\n\
                        [[question]]\nask = 'Which?'\nanswer = 'chosen(web)'\nexpect = 'a'\n";

    fn read(text: &str) -> Result<Lesson, Vec<String>> {
        let no_file = |name: &str| Err(format!("{name}: no such file"));
        Lesson::read("l.toml", "l", text, &no_file)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_lesson_is_read() {
        let lesson = read(GOOD).unwrap();
        assert_eq!(lesson.text, "One line and more.\n\nAgain.");
        assert_eq!(lesson.questions[0].place, (12, 10));
        assert_eq!(lesson.questions[0].answer.text(), "chosen(web)");
    }

    #[test]
    fn every_mistake_is_told_with_line_and_field() {
        let text = GOOD
            .replace("chosen(web)", "winner(web)")
            .replace("ask = 'Which?'", "ask = ''\nuntil = 'soon enough'\ndo = ['explode']");
        let errors = read(&text).unwrap_err();
        let begins: Vec<bool> = [
            "l.toml:10:7: question 1, ask: it is empty",
            "l.toml:13:10: question 1, answer: there is no function",
            "l.toml:11:9: question 1, until: \"soon enough\" is not known here",
            "l.toml:12:7: question 1, do: \"explode\" is not known here",
        ]
        .iter()
        .zip(&errors)
        .map(|(begin, error)| error.starts_with(begin))
        .collect();
        assert_eq!(begins, [true; 4], "{errors:#?}");
    }

    #[test]
    fn unknown_fields_are_refused() {
        let errors = read(&GOOD.replace("topic", "tpoic")).unwrap_err();
        assert!(errors[0].starts_with("l.toml:2:1: unknown field `tpoic`"), "{errors:?}");
        let errors = read(&format!("{GOOD}anwser = 'b'\n")).unwrap_err();
        assert!(errors[0].contains("unknown field `anwser`"), "{errors:?}");
    }

    #[test]
    fn files_that_are_not_there_are_told() {
        let errors = read(&GOOD.replace("cluster = 'kind: Pod'", "files = ['c.yaml']")).unwrap_err();
        assert_eq!(errors, ["l.toml:8:10: files: c.yaml: no such file"]);
    }
}
