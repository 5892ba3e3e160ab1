//! Whether a lesson's author expects what the engine answers.

use crate::framework::runtime::Registry;

use super::answer::{Answer, folded};
use super::file::{Lesson, LessonError, Question};
use super::play::{PlayError, play};

/// What is wrong with a lesson that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// It cannot be played.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// Its author expects something else, or the choices do not have exactly one right one.
    #[error(transparent)]
    Answer(#[from] LessonError),
}

/// Plays a lesson and compares. The engine's answers, or everything that is wrong.
///
/// # Errors
/// See [`Disagreement`].
pub fn check(lesson: &Lesson, registry: &Registry) -> Result<Vec<Answer>, Vec<Disagreement>> {
    let played = play(lesson, registry).map_err(|error| vec![error.into()])?;
    let mut found: Vec<Disagreement> = Vec::new();
    for (i, (question, played)) in lesson.questions.iter().zip(&played.questions).enumerate() {
        let problems = compare(question, &played.answer).into_iter();
        found.extend(problems.map(|(field, reason)| {
            lesson.complaint(question.place, format!("question {}, {field}", i + 1), reason).into()
        }));
    }
    if found.is_empty() {
        Ok(played.questions.into_iter().map(|question| question.answer).collect())
    } else {
        Err(found)
    }
}

fn compare(question: &Question, answer: &Answer) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let call = question.answer.text();
    match answer.is(&question.expect) {
        Some(true) => {}
        Some(false) => {
            found.push((
                "expect",
                format!("the author expects {:?}, the engine says {call} = {answer}", question.expect),
            ));
        }
        None => found.push((
            "expect",
            format!("{:?} is not {}; the engine says {call} = {answer}", question.expect, answer.kind()),
        )),
    }
    if !question.choices.is_empty() {
        let right: Vec<&String> =
            question.choices.iter().filter(|choice| answer.is(choice) == Some(true)).collect();
        match right.len() {
            1 => {}
            0 => found.push(("choices", format!("none of them is the engine's answer, {answer}"))),
            _ => found.push(("choices", format!("more than one of them is the engine's answer, {answer}"))),
        }
        let impossible = question.choices.iter().find(|choice| answer.is(choice).is_none());
        if let Some(choice) = impossible {
            found.push(("choices", format!("{choice:?} is not {}", answer.kind())));
        }
    }
    found
}

/// The choice that is meant by a letter, a number or its text.
pub(super) fn choice<'a>(question: &'a Question, typed: &str) -> Option<&'a String> {
    let wanted = folded(typed);
    if let Some(choice) = question.choices.iter().find(|choice| folded(choice) == wanted) {
        return Some(choice);
    }
    let mut letters = ('a'..='i').zip(&question.choices);
    letters.find(|(letter, _)| wanted == letter.to_string()).map(|(_, choice)| choice)
}
