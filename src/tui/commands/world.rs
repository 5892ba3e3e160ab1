//! Command lines about what lives in a sandbox: its parts, its workloads, nodes that are drained or cut off.

use super::{CommandCx, Deed, only_node, usage};
use crate::api::workloads::WorkloadKind;
use crate::api::{NamespacedName, Str};
use crate::driver::sandbox::world::{Part, WorldOrder, WorldView};
use crate::driver::session::{Edit, SessionCommand};

/// Said where nothing lives.
const NOTHING_LIVES: &str = "nothing lives in this cluster; `:world on` starts it";

fn order(order: WorldOrder) -> Result<Deed, String> {
    Ok(Deed::Session(SessionCommand::Edit(Edit::World(order))))
}

fn view<'v>(cx: &CommandCx<'v>) -> Result<&'v WorldView, String> {
    cx.view.known.world.as_deref().ok_or_else(|| NOTHING_LIVES.to_owned())
}

/// `:world [on|off|PART on|off]`.
pub(super) fn world(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let switch = |word: &str| match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    match arguments {
        [] => view(cx).map(|_| Deed::Workloads),
        ["on"] => order(WorldOrder::Start("all".to_owned())),
        ["off"] => view(cx).and_then(|_| order(WorldOrder::Start("none".to_owned()))),
        [part, word] => {
            let part = Part::of_word(part).ok_or_else(|| {
                let names: Vec<&str> = Part::ALL.iter().map(|part| part.as_str()).collect();
                format!("{part:?} is none of {}", names.join(", "))
            })?;
            let is_on = switch(word).ok_or_else(|| usage("world"))?;
            if !is_on {
                view(cx)?;
            }
            order(WorldOrder::Switch { part, is_on })
        }
        _ => Err(usage("world")),
    }
}

/// `:workloads`.
pub(super) fn workloads(_: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    view(cx).map(|_| Deed::Workloads)
}

/// `:scale KIND NAME N`, or `KIND/NAME N`.
pub(super) fn scale(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let [named @ .., number] = arguments else { return Err(usage("scale")) };
    let replicas: i32 = number
        .parse()
        .ok()
        .filter(|replicas| *replicas >= 0)
        .ok_or_else(|| format!("{number:?} is not a number of pods: a whole number from 0 on"))?;
    let (kind, key) = workload(named, cx, "scale")?;
    order(WorldOrder::Scale { kind, key, replicas })
}

/// `:rollout restart KIND NAME`.
pub(super) fn rollout(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let ["restart", named @ ..] = arguments else { return Err(usage("rollout")) };
    let (kind, key) = workload(named, cx, "rollout")?;
    order(WorldOrder::Restart { kind, key })
}

/// `:drain [NODE] [--force]`.
pub(super) fn drain(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let is_forced = arguments.contains(&"--force");
    let names: Vec<&str> = arguments.iter().copied().filter(|word| *word != "--force").collect();
    let node = only_node(&names, cx)?;
    view(cx)?;
    order(WorldOrder::Drain { node, is_forced })
}

/// `:node-down [NODE]`.
pub(super) fn node_down(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let node = only_node(arguments, cx)?;
    view(cx)?;
    order(WorldOrder::NodeDown(node))
}

/// `:node-up [NODE]`.
pub(super) fn node_up(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let node = only_node(arguments, cx)?;
    view(cx)?;
    order(WorldOrder::NodeUp(node))
}

/// The deletion of a workload, if that is its kind.
pub(super) fn delete(kind: &str, name: &str, cx: &CommandCx<'_>) -> Option<Deed> {
    let kind = WorkloadKind::of_word(kind)?;
    let world = cx.view.known.world.as_deref()?;
    let key = find(world, kind, name);
    Some(Deed::Confirm {
        question: format!("Delete {} {key}?", kind.as_str().to_lowercase()),
        detail: "Its pods go with it.".to_owned(),
        command: SessionCommand::Edit(Edit::World(WorldOrder::Delete { kind, key })),
    })
}

/// The workload that is named by kind and name, together or apart.
fn workload(
    arguments: &[&str],
    cx: &CommandCx<'_>,
    command: &str,
) -> Result<(WorkloadKind, NamespacedName), String> {
    let (kind, name) = match arguments {
        [kind, name] => (*kind, *name),
        [both] => both.split_once('/').ok_or_else(|| usage(command))?,
        _ => return Err(usage(command)),
    };
    let kind = WorkloadKind::of_word(kind).ok_or_else(|| {
        let kinds: Vec<String> = WorkloadKind::ALL.iter().map(|kind| kind.as_str().to_lowercase()).collect();
        format!("{kind:?} is none of {}", kinds.join(", "))
    })?;
    Ok((kind, find(view(cx)?, kind, name)))
}

/// The workload of that name; without a namespace the only one in any, or else the one in `default`.
fn find(world: &WorldView, kind: WorkloadKind, name: &str) -> NamespacedName {
    if let Some((namespace, name)) = name.split_once('/') {
        return NamespacedName::new(namespace, name);
    }
    let mut found = world.workloads.iter().filter(|row| row.kind == kind && *row.key.name == *name);
    match (found.next(), found.next()) {
        (Some(row), None) => row.key.clone(),
        _ => NamespacedName::new("default", name),
    }
}

/// What can stand for a workload in a command line.
pub(super) fn names(cx: &CommandCx<'_>) -> Vec<String> {
    let rows = cx.view.known.world.as_deref().map(|world| world.workloads.as_slice()).unwrap_or_default();
    let name = |kind: WorkloadKind, key: &NamespacedName| -> Str {
        Str::from(format!("{} {}/{}", kind.as_str().to_lowercase(), key.namespace, key.name))
    };
    rows.iter().map(|row| name(row.kind, &row.key).to_string()).collect()
}
