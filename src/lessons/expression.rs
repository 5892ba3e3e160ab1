//! The little language in which a lesson says what the right answer is: a function of the run, or a comparison of two.
//!
//! `chosen(web)`, `score(web, NodeResourcesFit, a-1)`, `feasible(web) > 2`, `queue(web) == backoff`. The functions are in
//! [`super::functions`]; there is no arithmetic.

use std::sync::Arc;

use crate::api::{NamespacedName, ObjectStore, Time};
use crate::scheduler::trace::CycleTrace;
use crate::scheduler::view::View;

use super::answer::Answer;
use super::functions::{FUNCTIONS, Function};

/// What is known of the run at the moment that a question is about.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When the lesson began.
    pub start: Time,
    /// The scheduler.
    pub view: Arc<View>,
    /// The cluster, as the API has it.
    pub objects: ObjectStore,
    /// All attempts up to then, the first one first.
    pub attempts: Vec<Arc<CycleTrace>>,
}

impl Moment {
    /// The last attempt for a pod.
    pub fn last_attempt(&self, pod: &NamespacedName) -> Option<&Arc<CycleTrace>> {
        self.attempts.iter().rev().find(|trace| trace.pod_key() == *pod)
    }
}

/// How two things are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer signs first.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Different),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A function with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: &'static Function,
    /// Its arguments.
    pub arguments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Call(Call),
    Literal(String),
}

/// What the right answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    left: Call,
    compared: Option<(Comparison, Operand)>,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// In one sentence, if it cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = COMPARISONS
            .iter()
            .filter_map(|(sign, comparison)| Some((text.find(sign)?, *sign, *comparison)))
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()));
        let (left, compared) = match found {
            None => (text, None),
            Some((at, sign, comparison)) => {
                let (left, right) = text.split_at(at);
                let right = right.get(sign.len()..).unwrap_or_default().trim();
                if right.is_empty() {
                    return Err(format!("{text:?}: nothing stands after {sign}"));
                }
                let right = match right.contains('(') {
                    true => Operand::Call(call(right)?),
                    false => Operand::Literal(right.trim_matches('"').to_owned()),
                };
                (left, Some((comparison, right)))
            }
        };
        Ok(Self { text: text.trim().to_owned(), left: call(left)?, compared })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The function that it is about.
    pub const fn call(&self) -> &Call {
        &self.left
    }

    /// Whether it compares.
    pub const fn is_comparison(&self) -> bool {
        self.compared.is_some()
    }

    /// What it comes to.
    ///
    /// # Errors
    /// In one sentence, if the run has no answer: a name that is not there, an attempt that was not made.
    pub fn evaluate(&self, moment: &Moment) -> Result<Answer, String> {
        let left = self.left.evaluate(moment)?;
        let Some((comparison, right)) = &self.compared else { return Ok(left) };
        let right = match right {
            Operand::Call(call) => call.evaluate(moment)?.to_string(),
            Operand::Literal(literal) => literal.clone(),
        };
        let is_equal = || left.is(&right).ok_or_else(|| format!("{right:?} is not {}", left.kind()));
        let ordered = |judge: fn(i128, i128) -> bool| {
            let typed = match &left {
                Answer::Time(_) => super::script::parse_duration(&right).ok().map(Answer::Time),
                _ => right.parse::<i64>().ok().map(Answer::Number),
            };
            match (left.number(), typed.and_then(|typed| typed.number())) {
                (Some(left), Some(right)) => Ok(judge(left, right)),
                _ => Err(format!("{}: only numbers and times have an order", self.text)),
            }
        };
        let yes = match comparison {
            Comparison::Equal => is_equal()?,
            Comparison::Different => !is_equal()?,
            Comparison::Less => ordered(|a, b| a < b)?,
            Comparison::LessOrEqual => ordered(|a, b| a <= b)?,
            Comparison::Greater => ordered(|a, b| a > b)?,
            Comparison::GreaterOrEqual => ordered(|a, b| a >= b)?,
        };
        Ok(Answer::YesNo(yes))
    }
}

/// Reads `name(a, b)`.
fn call(text: &str) -> Result<Call, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is not a function with its arguments in brackets, such as chosen(web)");
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
    let name = name.trim();
    let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
        let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        return Err(format!("there is no function {name:?}; there are {}", names.join(", ")));
    };
    let arguments: Vec<String> =
        inside.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
    if arguments.len() != function.arguments.len() {
        return Err(format!("{name} is written {}", function.usage()));
    }
    Ok(Call { function, arguments })
}

impl Call {
    fn evaluate(&self, moment: &Moment) -> Result<Answer, String> {
        (self.function.evaluate)(moment, &self.arguments)
    }

    /// The argument of that name.
    pub fn argument(&self, name: &str) -> Option<&str> {
        let at = self.function.arguments.iter().position(|known| *known == name)?;
        self.arguments.get(at).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_cannot_be_read_is_told_in_a_sentence() {
        let error = |text: &str| Expression::parse(text).unwrap_err();
        assert!(error("web").contains("is not a function"));
        assert!(error("winner(web)").contains("there is no function \"winner\"; there are chosen"));
        assert_eq!(error("chosen(web, a)"), "chosen is written chosen(POD)");
        assert!(error("attempts(web) >").contains("nothing stands after >"));
    }

    #[test]
    fn the_parts_are_told_apart() {
        let expression = Expression::parse(" attempts(ml/web) >= 2 ").unwrap();
        assert_eq!(expression.text(), "attempts(ml/web) >= 2");
        assert_eq!(expression.call().argument("POD"), Some("ml/web"));
        assert_eq!(expression.compared, Some((Comparison::GreaterOrEqual, Operand::Literal("2".into()))));
    }
}
