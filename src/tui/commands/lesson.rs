//! Command lines of a lesson: answering, hints, and going from one lesson to another.

use super::{CommandCx, Deed, usage};

/// What is to be done with the lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LessonDeed {
    /// Asks for the answer, or goes on after it.
    AnswerOrGoOn,
    /// Takes that answer.
    Answer(String),
    /// Shows the whole text.
    Text,
    /// Shows more of the text in the panel.
    More,
    /// Gives a hint.
    Hint,
    /// Tells the answer.
    Reveal,
    /// Opens the next lesson.
    Next,
    /// Opens the lesson before.
    Previous,
    /// Begins the lesson again.
    Again,
    /// Lists the lessons.
    List,
    /// Hides or shows the panel.
    Panel,
    /// Opens the lesson of that number or name.
    GoTo(String),
}

/// `:answer`.
pub(super) fn answer(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    Ok(Deed::Lesson(match arguments {
        [] => LessonDeed::AnswerOrGoOn,
        words => LessonDeed::Answer(words.join(" ")),
    }))
}

/// `:lesson`.
pub(super) fn lesson(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    Ok(Deed::Lesson(match arguments {
        [] | ["text"] => LessonDeed::Text,
        ["next"] => LessonDeed::Next,
        ["previous"] => LessonDeed::Previous,
        ["again"] => LessonDeed::Again,
        ["list"] => LessonDeed::List,
        ["hint"] => LessonDeed::Hint,
        ["tell"] => LessonDeed::Reveal,
        [word] => LessonDeed::GoTo((*word).to_owned()),
        _ => return Err(usage("lesson")),
    }))
}
