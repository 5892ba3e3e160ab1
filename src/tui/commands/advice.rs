//! Command lines that have something worked out in copies.

use crate::api::{NamespacedName, Str};
use crate::driver::advice::AdviceQuestion;
use crate::driver::fix::FixQuestion;
use crate::driver::session::SessionCommand;

use super::{CommandCx, Deed, find_pod, usage};
use crate::tui::panes::Subject;

fn selected(cx: &CommandCx<'_>) -> Result<NamespacedName, String> {
    let in_cycle = || cx.view.scheduler.cycle.as_ref().map(|cycle| cycle.pod_key());
    let pod = cx.selected.and_then(Subject::pod).cloned().or_else(in_cycle);
    pod.ok_or_else(|| "no pod is selected and none was tried: name it".to_owned())
}

/// `:fix`.
pub(super) fn fix(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let (pod, onto) = match arguments {
        [] => (selected(cx)?, None),
        [pod] => (find_pod(pod, cx), None),
        [pod, node] => (find_pod(pod, cx), Some(Str::from(*node))),
        _ => return Err(usage("fix")),
    };
    let question = FixQuestion { onto, ..FixQuestion::any(pod) };
    Ok(Deed::Session(SessionCommand::Advise(AdviceQuestion::Fix(question))))
}

/// `:try-fix`.
pub(super) fn try_fix(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [number] = arguments else { return Err(usage("try-fix")) };
    let number = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let index = number.ok_or_else(|| "write the number of a fix, from 1 on".to_owned())?;
    Ok(Deed::Session(SessionCommand::TryFix(index)))
}

/// `:capacity`.
pub(super) fn capacity(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let (rest, may_preempt) = match arguments {
        [rest @ .., "preempt"] => (rest, true),
        rest => (rest, false),
    };
    let pod = match rest {
        [] => selected(cx)?,
        [pod] => find_pod(pod, cx),
        _ => return Err(usage("capacity")),
    };
    Ok(Deed::Session(SessionCommand::Advise(AdviceQuestion::Capacity { pod, may_preempt })))
}
