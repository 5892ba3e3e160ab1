//! Breakpoints and watches: conditions over what an attempt, the queue or the cluster does.
//!
//! A [`Condition`] is a text that a person writes, such as `pod ~ "shop/*" && plugin == NodeResourcesFit && code ==
//! Unschedulable`. It is read by [`Condition::parse`], and asked about one [`scene::Scene`] at a time: a phase of an
//! attempt, the outcome of one, a move between queues, a change of the cluster. Nothing here changes the scheduler, and
//! where no breakpoint is set nothing is looked at.
//!
//! Not here: when a session stops ([`super::stepper`]), and how it goes back ([`super::rewind`]).

mod eval;
pub mod expr;
pub mod list;
pub mod look;
mod parse;
pub mod scene;

use std::fmt;

pub use eval::Hit;
use expr::{Expr, Operand};
pub use list::{BreakView, Breaks, DebugCommand, DebugView, WatchView};
pub use parse::ParseError;
use scene::Scene;

/// Something that is true of some moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
    expr: Expr,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Self { text: text.trim().to_owned(), expr: parse::condition(text)? })
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of plugins that it is about.
    pub fn plugins(&self) -> Vec<&str> {
        self.expr.plugins()
    }

    /// Where in a scene it is true, if it is.
    pub fn hit(&self, scene: &Scene<'_>) -> Option<Hit> {
        eval::hit(&self.expr, scene)
    }

    /// Whether it is true of a scene.
    pub fn is_true(&self, scene: &Scene<'_>) -> bool {
        eval::is_true(&self.expr, scene)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Something whose value is shown: a field, or whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    text: String,
    what: WatchedKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WatchedKind {
    Value(Operand),
    Condition(Expr),
}

impl Watched {
    /// Reads a field such as `chosen` or `score(NodeResourcesFit)`, or a condition.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let what = match parse::value(text) {
            Some(operand) => WatchedKind::Value(operand),
            None => WatchedKind::Condition(parse::condition(text)?),
        };
        Ok(Self { text: text.trim().to_owned(), what })
    }

    /// The names of plugins that it is about.
    pub fn plugins(&self) -> Vec<&str> {
        match &self.what {
            WatchedKind::Value(operand) => operand.plugin().into_iter().collect(),
            WatchedKind::Condition(expr) => expr.plugins(),
        }
    }

    /// What is watched, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value in some scenes of one attempt, the newest last; `-` where there is none.
    pub fn value(&self, scenes: &[Scene<'_>]) -> String {
        match &self.what {
            WatchedKind::Value(operand) => eval::show(operand, scenes),
            WatchedKind::Condition(expr) => {
                let is_true = scenes.iter().any(|scene| eval::is_true(expr, scene));
                if is_true { "yes" } else { "no" }.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
