//! Command lines that change what is simulated: adding, applying, deleting.

use crate::api::{Kind, NamespacedName, Str};
use crate::driver::session::{Edit, SessionCommand};
use crate::tui::action::Action;
use crate::tui::manifest;

use super::{CommandCx, Deed, find_pod, pod_name, pods, session, usage, world};

pub(super) fn add_pod(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let Some((first, settings)) = arguments.split_first() else { return Ok(Deed::Action(Action::AddPod)) };
    let is_file = [".yaml", ".yml", ".json"].iter().any(|ending| first.ends_with(ending));
    if is_file {
        return match settings {
            [] => Ok(Deed::ApplyFile((*first).to_owned())),
            _ => Err("a file says everything itself: leave the rest out".to_owned()),
        };
    }
    let text = manifest::pods(&pod_name(first), settings)?;
    session(SessionCommand::Edit(Edit::Apply { source: format!("add-pod {first}"), text }))
}

pub(super) fn add_node(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let Some((name, settings)) = arguments.split_first() else { return Err(usage("add-node")) };
    let text = manifest::node(name, settings)?;
    session(SessionCommand::Edit(Edit::Apply { source: format!("add-node {name}"), text }))
}

pub(super) fn apply(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    if arguments.is_empty() {
        return Err(usage("apply"));
    }
    // Names of files may have blanks in them.
    Ok(Deed::ApplyFile(arguments.join(" ")))
}

pub(super) fn delete(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        [] => match cx.selected {
            Some(subject) => match (subject.pod(), subject.node()) {
                (Some(pod), _) => Ok(confirm_pod(pod.clone())),
                (None, Some(node)) => Ok(confirm_node(node, cx)),
                (None, None) => Err("neither a pod nor a node is selected".to_owned()),
            },
            None => Err("nothing is selected".to_owned()),
        },
        ["pod" | "po" | "pods", name] => {
            let pod = find_pod(name, cx);
            let mut there = pods(cx.view).chain(cx.view.scheduler.in_flight.iter().map(|pod| pod.key()));
            if !there.any(|there| there == pod) {
                return Err(format!("there is no pod {pod}"));
            }
            Ok(confirm_pod(pod))
        }
        ["node" | "no" | "nodes", name] => {
            if !cx.view.scheduler.nodes.iter().any(|node| **node.name() == **name) {
                return Err(format!("there is no node {name}"));
            }
            Ok(confirm_node(&Str::from(*name), cx))
        }
        [kind, name] => match (world::delete(kind, name, cx), kind_named(kind)) {
            (Some(deed), _) => Ok(deed),
            (None, Some(kind)) => Ok(confirm_object(kind, name)),
            (None, None) => Err(usage("delete")),
        },
        _ => Err(usage("delete")),
    }
}

/// The kind that kubectl knows under that name.
pub(super) fn kind_named(word: &str) -> Option<Kind> {
    match word {
        "pvc" => Some(Kind::PersistentVolumeClaim),
        "pv" => Some(Kind::PersistentVolume),
        "sc" => Some(Kind::StorageClass),
        "ns" => Some(Kind::Namespace),
        "pdb" => Some(Kind::PodDisruptionBudget),
        _ => {
            let word = word.to_lowercase();
            let is_it = |kind: &&Kind| word == kind.resource() || word == kind.as_str().to_lowercase();
            Kind::ALL.iter().find(is_it).copied()
        }
    }
}

fn confirm_object(kind: Kind, name: &str) -> Deed {
    let key = if kind.is_namespaced() { pod_name(name) } else { NamespacedName::cluster(name) };
    Deed::Confirm {
        question: format!("Delete {} {key}?", kind.as_str().to_lowercase()),
        detail: "A claim stays as long as pods on nodes use it.".to_owned(),
        command: SessionCommand::Edit(Edit::Delete { kind, key }),
    }
}

fn confirm_pod(pod: NamespacedName) -> Deed {
    Deed::Confirm {
        question: format!("Delete pod {pod}?"),
        detail: "It leaves its node or its queue at once. It comes back only if you add it again.".to_owned(),
        command: SessionCommand::Edit(Edit::DeletePod(pod)),
    }
}

fn confirm_node(name: &Str, cx: &CommandCx<'_>) -> Deed {
    let n_pods =
        cx.view.scheduler.nodes.iter().find(|node| node.name() == name).map_or(0, |node| node.pods().len());
    let detail = match n_pods {
        0 => "No pod is on it. It comes back only if you add it again.".to_owned(),
        1 => "The pod on it goes with it. Both come back only if you add them again.".to_owned(),
        n => format!("The {n} pods on it go with it. All come back only if you add them again."),
    };
    let command = SessionCommand::Edit(Edit::DeleteNode(name.clone()));
    Deed::Confirm { question: format!("Delete node {name}?"), detail, command }
}
