//! Lessons: a situation, questions about what the scheduler does in it, and the scheduler's own answers.
//!
//! A lesson is a file ([`mod@file`]) that says what there is and what to ask. The right answer is never written by hand:
//! an [`expression`] over the run gives it, and the run is the real engine on the lesson's cluster ([`mod@play`]). What
//! the author expects is only compared with it ([`mod@check`]). [`course`] is the learner's side: which question is open,
//! what was answered, what is told about it ([`feedback`], made of the evidence of the attempts), and [`progress`].
//!
//! Nothing here draws, reads a clock, a file or the environment: files are handed in, progress goes out through a trait.

pub mod answer;
pub mod bundled;
pub mod check;
pub mod course;
pub mod expression;
pub mod feedback;
pub mod file;
pub mod functions;
pub mod play;
pub mod progress;
pub mod script;

pub use answer::Answer;
pub use check::{Disagreement, check};
pub use course::{Block, Course, CourseStep};
pub use expression::{Expression, Moment};
pub use file::{Lesson, LessonError, Question};
pub use play::{PlayError, Played, play};
pub use progress::{Progress, ProgressStore};
