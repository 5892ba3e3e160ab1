//! The commands of breakpoints and watches.

use crate::driver::breakpoints::expr::Field;
use crate::driver::breakpoints::{Condition, DebugCommand, ParseError, Watched};
use crate::driver::session::SessionCommand;
use crate::tui::panes::{CellKind, Subject};

use super::{CommandCx, Deed, usage};

fn debug(command: DebugCommand) -> Result<Deed, String> {
    Ok(Deed::Session(SessionCommand::Debug(command)))
}

fn told(error: &ParseError) -> String {
    error.to_string()
}

fn condition(words: &[&str]) -> Result<Condition, String> {
    Condition::parse(&words.join(" ")).map_err(|error| told(&error))
}

/// `:break [once | after N] CONDITION`; without a condition on what is selected.
pub(super) fn set_break(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let (is_once, n_ignored, words) = match arguments {
        ["once", words @ ..] => (true, 0, words),
        ["after", n, words @ ..] => {
            (false, n.parse().map_err(|_| format!("{n:?} is not a number of hits"))?, words)
        }
        words => (false, 0, words),
    };
    let condition = match words {
        [] => Condition::parse(&about(cx.selected)?).map_err(|error| told(&error))?,
        words => condition(words)?,
    };
    debug(DebugCommand::Break { condition, is_once, n_ignored })
}

/// The condition that is about what is selected.
fn about(selected: Option<&Subject>) -> Result<String, String> {
    match selected {
        Some(Subject::Pod(pod)) => Ok(format!("pod == \"{pod}\"")),
        Some(Subject::Node(node)) => Ok(format!("node == \"{node}\"")),
        Some(Subject::Cell { node, plugin, kind }) => {
            let point = match kind {
                CellKind::Filter => "Filter",
                CellKind::Score => "Score",
            };
            Ok(format!("point == {point} && plugin == \"{plugin}\" && node == \"{node}\""))
        }
        Some(Subject::Plugin { plugin, .. }) => Ok(format!("plugin == \"{plugin}\"")),
        Some(Subject::Phase(phase)) => Ok(format!("point == {phase}")),
        Some(_) | None => Err("write :break CONDITION, such as :break node == a-1 && code == \
                               Unschedulable; or select a pod, a node, a plugin or a cell"
            .to_owned()),
    }
}

/// `:watch VALUE`.
pub(super) fn watch(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    if arguments.is_empty() {
        let fields: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        return Err(format!("{}: a condition, or one of {}", usage("watch"), fields.join(", ")));
    }
    debug(DebugCommand::Watch(Watched::parse(&arguments.join(" ")).map_err(|error| told(&error))?))
}

/// `:unbreak N | all`.
pub(super) fn delete(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        ["all"] => debug(DebugCommand::DeleteAll),
        [word] => debug(DebugCommand::Delete(number(word)?)),
        _ => Err(usage("unbreak")),
    }
}

/// `:enable N`.
pub(super) fn enable(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [word] = arguments else { return Err(usage("enable")) };
    debug(DebugCommand::Enable(number(word)?, true))
}

/// `:disable N`.
pub(super) fn disable(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [word] = arguments else { return Err(usage("disable")) };
    debug(DebugCommand::Enable(number(word)?, false))
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("{word:?} is not the number of a breakpoint or a watch"))
}

/// `:run-to CONDITION`.
pub(super) fn run_to(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    debug(DebugCommand::RunTo(condition(arguments)?))
}

/// `:run-back-to CONDITION`.
pub(super) fn run_back_to(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    debug(DebugCommand::RunBackTo(condition(arguments)?))
}
