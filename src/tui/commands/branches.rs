//! The commands of branches, and of what a branch may begin with that is no object.

use crate::api::Str;
use crate::driver::session::{Edit, SessionCommand};

use super::{CommandCx, Deed, usage};

/// `:branch [N]`.
pub(super) fn branch(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let command = match arguments {
        [] => SessionCommand::Fork,
        [word] => {
            let number = word.parse().map_err(|_| format!("{word:?} is not the number of a branch"))?;
            SessionCommand::ToBranch(number)
        }
        _ => return Err(usage("branch")),
    };
    Ok(Deed::Session(command))
}

/// `:compare [A B]`; without numbers the branch of the present moment and the one that it left.
pub(super) fn compare(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let number =
        |word: &str| word.parse::<usize>().map_err(|_| format!("{word:?} is not the number of a branch"));
    let (a, b) = match arguments {
        [] => {
            let here = cx.view.moment.branch;
            let left = cx.view.branches.get(here).and_then(|branch| branch.parent);
            let only = "there is one branch only: go back and change something to begin another";
            match (left, cx.view.branches.len()) {
                (Some(parent), _) => (parent, here),
                (None, 0 | 1) => return Err(only.to_owned()),
                (None, _) => (here, 1),
            }
        }
        [a, b] => (number(a)?, number(b)?),
        _ => return Err(usage("compare")),
    };
    Ok(Deed::Session(SessionCommand::Compare(a, b)))
}

/// `:weight PLUGIN N`.
pub(super) fn weight(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [plugin, weight] = arguments else { return Err(usage("weight")) };
    let weight = weight.parse().map_err(|_| format!("{weight:?} is not a weight: a number from 1 on"))?;
    Ok(Deed::Session(SessionCommand::Edit(Edit::Weight { plugin: Str::from(*plugin), weight })))
}

/// `:config FILE`.
pub(super) fn config(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    if arguments.is_empty() {
        return Err(usage("config"));
    }
    Ok(Deed::ConfigFile(arguments.join(" ")))
}
