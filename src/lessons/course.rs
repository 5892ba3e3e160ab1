//! A learner's way through lessons: what is open, what was answered, what is told.
//!
//! The course draws nothing. It answers each word of the learner with what the session is to do ([`CourseStep`]), and
//! tells what is to be seen as [`Block`]s.

use std::rc::Rc;
use std::sync::Arc;

use crate::api::NamespacedName;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::stage::Stage;
use crate::framework::runtime::Registry;

use super::check::choice;
use super::feedback;
use super::file::{Lesson, Question};
use super::play::{Played, PlayedQuestion, play};
use super::progress::{Done, Progress, ProgressStore};
use super::script::object_name;

/// A part of what is told of a lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Number of the lesson, how many there are, its title.
    Title(usize, usize, String),
    /// A paragraph of the situation.
    Text(String),
    /// Number of the question, how many there are, and the question.
    Question(usize, usize, String),
    /// Something to choose, with its letter; whether it is the right one, once that is told, or a wrong one that was
    /// tried.
    Choice(char, String, Option<bool>),
    /// What is to be typed, where there is nothing to choose.
    Kind(String),
    /// A hint.
    Hint(String),
    /// A wrong answer, and what speaks against it.
    Wrong(String, Vec<String>),
    /// The right answer, whether the learner has found it, and how it comes about.
    Right(String, bool, Vec<String>),
    /// What there is to learn from it.
    Because(String),
    /// The lesson is done: so many of all questions were right at the first try.
    Done(usize, usize),
}

/// What the session and the screen are to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CourseStep {
    /// Where the session is brought.
    pub stage: Option<Stage>,
    /// The pane to look at.
    pub look: Option<String>,
    /// The pod that it is about.
    pub pod: Option<NamespacedName>,
    /// Something to tell beside the blocks.
    pub notice: Option<String>,
}

/// What has become of the open question.
#[derive(Clone, Debug, Default)]
struct Tries {
    wrong: Vec<Wrong>,
    n_hints: usize,
    /// Whether the answer is told, and whether the learner has found it.
    told: Option<bool>,
}

/// A wrong answer.
#[derive(Clone, Debug)]
struct Wrong {
    typed: String,
    against: Vec<String>,
    /// So many hints were given before.
    n_hints: usize,
}

/// A learner's way.
#[derive(Clone, Debug)]
pub struct Course {
    lessons: Arc<[Lesson]>,
    registry: Registry,
    at: usize,
    played: Rc<Played>,
    question: usize,
    tries: Tries,
    n_right: usize,
    progress: Progress,
    store: Option<Arc<dyn ProgressStore>>,
}

impl Course {
    /// Opens a lesson.
    ///
    /// # Errors
    /// There is no such lesson, or it cannot be played.
    pub fn open(
        lessons: Arc<[Lesson]>,
        at: usize,
        registry: Registry,
        progress: Progress,
        store: Option<Arc<dyn ProgressStore>>,
    ) -> Result<Self, String> {
        let lesson = lessons.get(at).ok_or_else(|| "there is no such lesson".to_owned())?;
        let played = Rc::new(play(lesson, &registry).map_err(|error| error.to_string())?);
        Ok(Self {
            lessons,
            registry,
            at,
            played,
            question: 0,
            tries: Tries::default(),
            n_right: 0,
            progress,
            store,
        })
    }

    /// The sandbox at the start of the open lesson.
    pub fn initial(&self) -> Simulator {
        self.played.initial.clone()
    }

    /// All lessons.
    pub fn lessons(&self) -> &[Lesson] {
        &self.lessons
    }

    /// How far the learner has come.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The place of the open lesson.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The open lesson.
    pub fn lesson(&self) -> Option<&Lesson> {
        self.lessons.get(self.at)
    }

    /// The open question.
    pub fn question(&self) -> Option<&Question> {
        self.lesson()?.questions.get(self.question)
    }

    /// Whether the answer to the open question is told.
    pub const fn is_told(&self) -> bool {
        self.tries.told.is_some()
    }

    /// Whether the open lesson is done.
    pub fn is_done(&self) -> bool {
        self.is_told() && self.question + 1 >= self.played.questions.len()
    }

    /// Whether a lesson comes after the open one.
    pub fn has_next(&self) -> bool {
        self.at + 1 < self.lessons.len()
    }

    fn played_question(&self) -> Option<&PlayedQuestion> {
        self.played.questions.get(self.question)
    }

    /// What brings the session to where the open question is asked.
    pub fn step(&self) -> CourseStep {
        let n_ops = self.played_question().map_or(0, |question| question.asked_at);
        let look = self.lesson().and_then(|lesson| lesson.look.clone());
        CourseStep { stage: Some(self.stage(n_ops)), look, ..CourseStep::default() }
    }

    fn stage(&self, n_ops: usize) -> Stage {
        Stage::new(self.played.initial.clone(), self.played.ops.get(..n_ops).unwrap_or_default())
    }

    /// What brings the session to where the answer is seen.
    fn answer_step(&self) -> CourseStep {
        let (Some(question), Some(played)) = (self.question(), self.played_question()) else {
            return CourseStep::default();
        };
        let pod = question.answer.call().argument("POD").map(object_name);
        let look = question.look.clone().or_else(|| self.lesson()?.look.clone());
        CourseStep { stage: Some(self.stage(played.answered_at)), look, pod, notice: None }
    }

    /// Takes an answer: a choice by letter or text, or what was typed.
    ///
    /// # Errors
    /// In one sentence, if it cannot be an answer; nothing has changed then.
    pub fn answer(&mut self, typed: &str) -> Result<CourseStep, String> {
        let (Some(question), Some(played)) = (self.question(), self.played_question()) else {
            return Err("no question is open".to_owned());
        };
        if self.is_told() {
            return Err("it is answered already: go on, or do the lesson again".to_owned());
        }
        let typed = match choice(question, typed) {
            Some(choice) => choice.clone(),
            None if question.choices.is_empty() => typed.trim().to_owned(),
            None => {
                let last = ('a'..='i').nth(question.choices.len() - 1).unwrap_or('i');
                return Err(format!("{typed:?} is not one of the choices: write a letter from a to {last}"));
            }
        };
        match played.answer.is(&typed) {
            None => Err(format!("{typed:?} is not {}", played.answer.kind())),
            Some(true) => {
                let is_first = self.tries.wrong.is_empty();
                Ok(self.tell(true, is_first))
            }
            Some(false) => {
                let against = feedback::against(&question.answer, &played.moment, &typed);
                let notice = Some(format!("{typed} is not it"));
                self.tries.wrong.retain(|before| before.typed != typed);
                self.tries.wrong.push(Wrong { typed, against, n_hints: self.tries.n_hints });
                Ok(CourseStep { notice, ..CourseStep::default() })
            }
        }
    }

    /// Tells the answer without being asked again.
    ///
    /// # Errors
    /// If it is told already.
    pub fn reveal(&mut self) -> Result<CourseStep, String> {
        if self.is_told() {
            Err("the answer is there already".to_owned())
        } else {
            Ok(self.tell(false, false))
        }
    }

    fn tell(&mut self, is_found: bool, is_first: bool) -> CourseStep {
        self.tries.told = Some(is_found);
        self.n_right += usize::from(is_first);
        let mut step = self.answer_step();
        if self.is_done()
            && let Some(id) = self.lesson().map(|lesson| lesson.id.clone())
        {
            self.progress.note(&id, Done { right: self.n_right, of: self.played.questions.len() });
            if let Some(Err(error)) = self.store.as_ref().map(|store| store.keep(&self.progress)) {
                step.notice = Some(format!("progress is not kept: {error}"));
            }
        }
        step
    }

    /// Gives the next hint.
    ///
    /// # Errors
    /// In one sentence, if there is none.
    pub fn hint(&mut self) -> Result<CourseStep, String> {
        let n = self.question().map_or(0, |question| question.hints.len());
        if n == 0 {
            return Err("there is no hint for this question: step through the attempt and look".to_owned());
        }
        if self.tries.n_hints >= n {
            return Err("that was the last hint; the answer can be told, too".to_owned());
        }
        self.tries.n_hints += 1;
        Ok(CourseStep::default())
    }

    /// Goes on to the next question, or to the next lesson that is not done.
    ///
    /// # Errors
    /// In one sentence, if there is nothing more, or the next lesson cannot be played.
    pub fn go_on(&mut self) -> Result<CourseStep, String> {
        if !self.is_told() {
            return Err("answer the question first, or let the answer be told".to_owned());
        }
        if !self.is_done() {
            self.question += 1;
            self.tries = Tries::default();
            return Ok(self.step());
        }
        self.next_lesson()
    }

    /// Opens the lesson after this one.
    ///
    /// # Errors
    /// In one sentence, if there is none, or it cannot be played.
    pub fn next_lesson(&mut self) -> Result<CourseStep, String> {
        if !self.has_next() {
            return Err("that was the last lesson".to_owned());
        }
        self.go_to(self.at + 1)
    }

    /// Opens the lesson before this one.
    ///
    /// # Errors
    /// In one sentence, if there is none, or it cannot be played.
    pub fn previous_lesson(&mut self) -> Result<CourseStep, String> {
        match self.at.checked_sub(1) {
            Some(at) => self.go_to(at),
            None => Err("this is the first lesson".to_owned()),
        }
    }

    /// Begins this lesson again.
    pub fn again(&mut self) -> CourseStep {
        self.question = 0;
        self.tries = Tries::default();
        self.n_right = 0;
        self.step()
    }

    /// Opens the lesson at that place, from 0 on.
    ///
    /// # Errors
    /// In one sentence, if there is none, or it cannot be played; the open one stays open then.
    pub fn go_to(&mut self, at: usize) -> Result<CourseStep, String> {
        let lesson =
            self.lessons.get(at).ok_or_else(|| format!("there are {} lessons", self.lessons.len()))?;
        self.played = Rc::new(play(lesson, &self.registry).map_err(|error| error.to_string())?);
        self.at = at;
        Ok(self.again())
    }

    /// The place of the lesson of that number (from 1 on) or id.
    pub fn find(&self, word: &str) -> Option<usize> {
        let by_number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        by_number.or_else(|| self.lessons.iter().position(|lesson| lesson.id == word))
    }

    /// What is to be seen of the open lesson.
    pub fn blocks(&self) -> Vec<Block> {
        let (Some(lesson), Some(question), Some(played)) =
            (self.lesson(), self.question(), self.played_question())
        else {
            return Vec::new();
        };
        let mut blocks = vec![Block::Title(self.at + 1, self.lessons.len(), lesson.title.clone())];
        if self.question == 0 {
            blocks.extend(lesson.text.split("\n\n").map(|text| Block::Text(text.to_owned())));
        }
        let n = lesson.questions.len();
        blocks.push(Block::Question(self.question + 1, n, question.ask.clone()));
        for (letter, text) in ('a'..='i').zip(&question.choices) {
            let is_right = played.answer.is(text) == Some(true);
            let was_tried = self.tries.wrong.iter().any(|wrong| wrong.typed == *text);
            let mark = if is_right && self.is_told() { Some(true) } else { was_tried.then_some(false) };
            blocks.push(Block::Choice(letter, text.clone(), mark));
        }
        if question.choices.is_empty() && !self.is_told() {
            blocks.push(Block::Kind(played.answer.kind().to_owned()));
        }
        let for_it =
            self.tries.told.map(|is_found| (is_found, feedback::for_it(&question.answer, &played.moment)));
        // What was told last stands last.
        let mut hints = question.hints.iter().take(self.tries.n_hints).cloned().map(Block::Hint);
        if let Some(wrong) = self.tries.wrong.last() {
            blocks.extend(hints.by_ref().take(wrong.n_hints));
            let is_told_again =
                |line: &&String| for_it.as_ref().is_some_and(|(_, lines)| lines.contains(line));
            let against = wrong.against.iter().filter(|line| !is_told_again(line)).cloned().collect();
            blocks.push(Block::Wrong(wrong.typed.clone(), against));
        }
        blocks.extend(hints);
        if let Some((is_found, lines)) = for_it {
            blocks.push(Block::Right(played.answer.to_string(), is_found, lines));
            if !question.because.is_empty() {
                blocks.push(Block::Because(question.because.clone()));
            }
            if self.is_done() {
                blocks.push(Block::Done(self.n_right, n));
            }
        }
        blocks
    }
}
