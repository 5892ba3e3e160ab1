//! Command lines about a live cluster.

use super::{CommandCx, Deed, session, usage};
use crate::driver::live::session::LiveCommand;
use crate::driver::live::view::LiveView;
use crate::driver::session::SessionCommand;

fn live<'a>(cx: &CommandCx<'a>) -> Result<&'a LiveView, String> {
    cx.view.live.as_deref().ok_or_else(|| "this is no live cluster: schedscope live".to_owned())
}

/// `:arm`.
pub(super) fn arm(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    live(cx)?;
    match arguments {
        [] => Ok(Deed::Arm { anyway: false }),
        ["anyway"] => Ok(Deed::Arm { anyway: true }),
        _ => Err(usage("arm")),
    }
}

/// `:disarm`.
pub(super) fn disarm(_: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    live(cx)?;
    session(SessionCommand::Live(LiveCommand::Disarm))
}

/// `:confirm`.
pub(super) fn confirm(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let is_confirming = live(cx)?.is_confirming;
    let wanted = match arguments {
        [] => !is_confirming,
        ["on"] => true,
        ["off"] => false,
        _ => return Err(usage("confirm")),
    };
    session(SessionCommand::Live(LiveCommand::SetConfirming(wanted)))
}
