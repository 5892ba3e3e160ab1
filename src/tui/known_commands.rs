//! Command lines about what is known of the session: going to a place, searching, marking, recording.

use crate::api::NamespacedName;
use crate::driver::live::session::LiveCommand;
use crate::driver::seek::{SeekTo, Wanted};
use crate::driver::session::{RecordTo, SessionCommand};

use super::commands::{CommandCx, Deed, parse_duration};

fn session(command: SessionCommand) -> Result<Deed, String> {
    Ok(Deed::Session(command))
}

fn seek(to: SeekTo) -> Result<Deed, String> {
    session(SessionCommand::Seek(to))
}

/// `:goto`: a time after the start, hundredths of the way, or the name of a marker.
pub(super) fn goto(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let words = arguments.join(" ");
    if words.is_empty() {
        return Err("write :goto DURATION, N% or the name of a marker".to_owned());
    }
    if let Some(percent) = words.strip_suffix('%').and_then(|number| number.parse::<u8>().ok()) {
        return seek(SeekTo::Percent(percent));
    }
    match parse_duration(&words) {
        Ok(elapsed) => session(SessionCommand::ToElapsed(elapsed)),
        Err(_) => seek(SeekTo::Marker(words)),
    }
}

/// `:next`.
pub(super) fn next(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    seek(SeekTo::Next(wanted(arguments, cx, "next")?))
}

/// `:previous`.
pub(super) fn previous(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    seek(SeekTo::Previous(wanted(arguments, cx, "previous")?))
}

fn wanted(arguments: &[&str], cx: &CommandCx<'_>, command: &str) -> Result<Wanted, String> {
    match arguments {
        ["marker" | "mark"] => Ok(Wanted::Mark),
        ["failure" | "failed"] => Ok(Wanted::Failure),
        ["preemption" | "preempted"] => Ok(Wanted::Preemption),
        ["pod"] => match cx.selected.and_then(|subject| subject.pod()) {
            Some(pod) => Ok(Wanted::CycleOf(pod.clone())),
            None => Err("no pod is selected: name it".to_owned()),
        },
        ["pod", name] => {
            let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
            Ok(Wanted::CycleOf(NamespacedName::new(namespace, name)))
        }
        _ => Err(format!("write :{command} marker, failure, preemption, or pod [NS/NAME]")),
    }
}

/// `:search`.
pub(super) fn search(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        [] => session(SessionCommand::SeekAgain { is_back: false }),
        words => seek(SeekTo::Next(Wanted::Text(words.join(" ")))),
    }
}

/// `:take`.
pub(super) fn take(_: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    session(SessionCommand::Live(LiveCommand::TakeControls))
}

/// `:release`.
pub(super) fn release(_: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    session(SessionCommand::Live(LiveCommand::GiveControls))
}

/// `:mark`.
pub(super) fn mark(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        [] => Err("write :mark NAME".to_owned()),
        words => session(SessionCommand::Mark(words.join(" "))),
    }
}

/// `:note`.
pub(super) fn note(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        [] => Err("write :note TEXT".to_owned()),
        words => session(SessionCommand::Note(words.join(" "))),
    }
}

/// `:record`.
pub(super) fn record(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    session(match arguments {
        [] => SessionCommand::Record(RecordTo::AnyFile),
        ["stop"] => SessionCommand::StopRecording,
        words => SessionCommand::Record(RecordTo::File(words.join(" ").into())),
    })
}

/// `:save-last`.
pub(super) fn save_last(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    session(SessionCommand::SaveLast(match arguments {
        [] => RecordTo::AnyFile,
        words => RecordTo::File(words.join(" ").into()),
    }))
}
