//! `:whatif`: what would be if the cluster changed.

use crate::driver::sandbox::words::FORMS;
use crate::driver::session::SessionCommand;

use super::{CommandCx, Deed};

/// `:whatif CHANGE ...`; a node that is selected need not be named.
pub(super) fn what_if(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let node = cx.selected.and_then(|subject| subject.node());
    let words = match (arguments, node) {
        ([], _) => {
            let forms: Vec<&str> = FORMS.iter().map(|(form, _)| *form).collect();
            return Err(format!("write :whatif and a change: {}", forms.join(", ")));
        }
        ([verb @ ("drain" | "remove" | "cordon" | "down")], Some(node)) => format!("{verb} {node}"),
        (words, _) => words.join(" "),
    };
    Ok(Deed::Session(SessionCommand::WhatIf(words)))
}
