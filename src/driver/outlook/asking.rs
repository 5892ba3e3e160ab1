//! What would be, asked in a session: worked out on a copy beside it, and taken over as a branch if a person wants it.

use std::sync::Arc;

use super::task::{Answer, Task, WhatIfView};
use crate::driver::sandbox::ops::{SimulatorOp, SimulatorSaid};
use crate::driver::sandbox::words;
use crate::driver::session::{NoticeLevel, RunState};
use crate::driver::stepper::Stepper;

/// The questions of a session.
#[derive(Debug, Default)]
pub struct Asking {
    n_asked: u64,
    task: Option<Task>,
    view: Option<Arc<WhatIfView>>,
}

impl Asking {
    /// The last question with what is known of it.
    pub fn view(&self) -> Option<Arc<WhatIfView>> {
        self.view.clone()
    }

    /// Whether a question is worked on.
    pub const fn is_underway(&self) -> bool {
        self.task.is_some()
    }

    /// Takes what has become known.
    pub fn look(&mut self) {
        let (Some(task), Some(view)) = (&self.task, &self.view) else { return };
        let answer = task.look();
        if answer != view.answer {
            let is_over = !matches!(answer, Answer::Underway(_));
            self.view = Some(Arc::new(WhatIfView { answer, ..(**view).clone() }));
            if is_over {
                self.task = None;
            }
        }
    }

    /// The last question is of no interest any more; if it is worked on, that ends.
    pub fn forget(&mut self) {
        self.task = None;
        self.view = None;
    }
}

fn read_file(name: &str) -> Result<String, String> {
    std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))
}

impl Stepper {
    /// Asks what would be with these changes, in words.
    pub(in crate::driver) fn ask_what_if(&mut self, text: &str) {
        let split: Vec<&str> = text.split_whitespace().collect();
        let edits = match words::parse(&split, &read_file) {
            Ok(edits) if !edits.is_empty() => edits,
            Ok(_) => return self.say(NoticeLevel::Error, "write :whatif CHANGE, such as :whatif drain NODE"),
            Err(error) => return self.say(NoticeLevel::Error, error),
        };
        self.run_state = RunState::Paused;
        match Task::start(self.simulator().clone(), edits) {
            Ok(task) => {
                self.asking.n_asked += 1;
                self.asking.task = Some(task);
                let (number, text) = (self.asking.n_asked, split.join(" "));
                self.asking.view = Some(Arc::new(WhatIfView { number, text, answer: Answer::Underway(0) }));
            }
            Err(error) => self.say(NoticeLevel::Error, format!("no thread is left to work it out: {error}")),
        }
    }

    /// Makes the changes of the last question here, in a branch of its own.
    pub(in crate::driver) fn take_what_if(&mut self) {
        let Some(view) = self.asking.view() else {
            return self.say(NoticeLevel::Info, "nothing was asked: :whatif CHANGE");
        };
        let Answer::Known(answer) = &view.answer else {
            return self.say(NoticeLevel::Info, "it is not known yet what would be");
        };
        self.run_state = RunState::Paused;
        self.rewind.begin_branch();
        for edit in answer.edits.iter() {
            if let SimulatorSaid::Edited(Err(error)) = self.rewind.apply(SimulatorOp::Edit(edit.clone())) {
                return self.say(NoticeLevel::Error, error);
            }
        }
        self.asking.forget();
        let branch = self.moment().branch;
        let text = format!(
            "{}: this is branch {branch} now, the rest stays as it was; run it on to see what becomes of it",
            view.text
        );
        self.say(NoticeLevel::Info, text);
    }
}
