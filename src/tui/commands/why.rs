//! Command lines that ask why: all that plugins say of a pod, and what a plugin does.

use std::collections::BTreeSet;

use super::{CommandCx, Deed, find_pod, nearest, usage};
use crate::api::Str;
use crate::scheduler::trace::Phase;
use crate::tui::panes::Subject;

/// `:why`.
pub(super) fn why(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let selected_pod = || cx.selected.and_then(Subject::pod).cloned();
    let in_cycle = || cx.view.scheduler.cycle.as_ref().map(|cycle| cycle.pod_key());
    let (pod, node) = match arguments {
        [] => {
            let node = cx.selected.and_then(Subject::node).cloned();
            let pod = selected_pod().or_else(in_cycle);
            (pod.ok_or("no pod is selected and none was tried: name it")?, node)
        }
        [pod] => (find_pod(pod, cx), None),
        [pod, node] => (find_pod(pod, cx), Some(Str::from(*node))),
        _ => return Err(usage("why")),
    };
    Ok(Deed::Open(Subject::Reading(pod, node)))
}

/// `:plugin`.
pub(super) fn plugin(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let [name] = arguments else { return Err(usage("plugin")) };
    let known = plugins(cx);
    match known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(name) => Ok(Deed::Open(Subject::Plugin { plugin: name.as_str().into(), phase: Phase::Filter })),
        None => {
            let names = known.iter().map(String::as_str);
            Err(format!("no plugin {name:?} listens or filters here{}", nearest(name, names)))
        }
    }
}

/// The plugins that listen to events or took part in the attempt.
pub(super) fn plugins(cx: &CommandCx<'_>) -> Vec<String> {
    let view = &cx.view.scheduler;
    let listening = view.listeners.values().flat_map(|plugins| plugins.keys()).map(ToString::to_string);
    let filter = view.cycle.iter().filter_map(|cycle| cycle.filter.as_ref());
    let filters = filter.flat_map(|filter| &filter.plugins).map(|plugin| (*plugin).to_owned());
    let score = view.cycle.iter().filter_map(|cycle| cycle.score.as_ref());
    let scores = score.flat_map(|score| &score.scores.plugins).map(|scores| scores.plugin.to_owned());
    let all: BTreeSet<String> = listening.chain(filters).chain(scores).collect();
    all.into_iter().collect()
}
