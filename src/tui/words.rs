//! Which words of Kubernetes a selected thing is about, explained.

use crate::explain::glossary;
use crate::explain::{self, PodPlace};
use crate::scheduler::view::View;

use super::panes::Subject;

/// The words of a subject, each with what it means, the most special first.
pub fn of_subject(view: &View, subject: Option<&Subject>) -> Vec<(String, String)> {
    let names: Vec<String> = match subject {
        Some(Subject::Cell { plugin, kind, .. }) => {
            let point = match kind {
                super::panes::CellKind::Filter => "Filter",
                super::panes::CellKind::Score => "Score",
            };
            vec![plugin.to_string(), point.to_owned()]
        }
        Some(Subject::Plugin { plugin, phase }) => vec![plugin.to_string(), phase.to_string()],
        Some(Subject::Phase(phase)) => vec![phase.to_string()],
        Some(Subject::Attempt(_)) => vec!["attempt".to_owned()],
        Some(Subject::Pod(key)) => match explain::place_of(view, key) {
            Some(PodPlace::Active(..)) => vec!["activeQ".to_owned()],
            Some(PodPlace::Backoff(_)) => vec!["backoffQ".to_owned()],
            Some(PodPlace::Unschedulable(row)) => {
                let by = row.gated_by.iter().chain(&row.unschedulable_plugins).chain(&row.pending_plugins);
                std::iter::once("unschedulable".to_owned()).chain(by.map(ToString::to_string)).collect()
            }
            Some(PodPlace::Waiting(_)) => vec!["waiting".to_owned()],
            Some(PodPlace::Binding(_)) => vec!["binding".to_owned()],
            Some(PodPlace::InCycle(_) | PodPlace::InGroup(_)) => vec!["attempt".to_owned()],
            Some(PodPlace::Assigned(..)) | None => Vec::new(),
        },
        Some(Subject::Profile(_)) => vec!["profile".to_owned()],
        Some(Subject::Object(kind, _)) if glossary::entry(kind.as_str()).is_some() => vec![kind.to_string()],
        Some(
            Subject::Object(..)
            | Subject::Node(_)
            | Subject::Event(_)
            | Subject::Reading(..)
            | Subject::Internals,
        )
        | None => Vec::new(),
    };
    names
        .into_iter()
        .map(|name| {
            let body = glossary::entry_of(view, &name).map(|entry| entry.body());
            let unknown =
                || "It is none of kube-scheduler's own plugins: its authors know what it does.".to_owned();
            (name, body.unwrap_or_else(unknown))
        })
        .collect()
}
