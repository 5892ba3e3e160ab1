//! Volumes in words: what becomes of each claim of a pod on a node, which volumes were tried, and why each was not
//! taken; where volumes are, how many there may be, and who else has them.

use crate::api::NamespacedName;
use crate::framework::{Code, CycleState, NodeInfo};
use crate::plugins::node_volume_limits::{DriverUse, explain_limits};
use crate::plugins::volume_binding::{
    CapacityScore, ClaimExplanation, Mismatch, explain_capacity, explain_match, explain_unbound,
};
use crate::plugins::volume_restrictions::{DiskConflict, disk_conflicts, exclusive_claims};
use crate::plugins::volume_zone::{ZoneTried, explain_zones};
use crate::scheduler::trace::CycleTrace;

use super::amount::bytes_short;
use super::cell::CellExplanation;
use super::counted;

/// How many volumes or capacities are told one by one for each claim.
const TOLD: usize = 12;

/// Adds to VolumeBinding's answer for a node what became of each claim there.
pub(super) fn bound(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let claims = node.node().and_then(|node| explain_match(&trace.filter_state, node));
    let lines = claims.unwrap_or_default().iter().flat_map(lines).collect();
    explanation.with_arithmetic(lines)
}

/// The claims that VolumeBinding found unbound at PreFilter, as sentences that begin with a space.
pub(super) fn unbound(state: &CycleState) -> String {
    let claims = explain_unbound(state).iter().take(TOLD);
    claims.map(|claim| format!(" Claim {claim}.")).collect()
}

/// Adds to VolumeZone's answer for a node each label of the pod's volumes against the node's.
pub(super) fn in_zone(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let zones = node.node().and_then(|node| explain_zones(&trace.filter_state, node));
    let Some(zones) = zones else { return explanation };
    let passes = zones.iter().all(|zone| zone.is_admitted);
    if !leads_to(passes, Code::UnschedulableAndUnresolvable, &explanation) {
        return explanation;
    }
    let lines = if zones.is_empty() {
        vec!["The node has no label of a zone or region, so that any volume will do.".to_owned()]
    } else {
        let mut lines: Vec<&ZoneTried> = zones.iter().collect();
        lines.sort_by_key(|zone| zone.is_admitted);
        first(lines.into_iter().map(zone), zones.len(), "label")
    };
    explanation.with_arithmetic(lines)
}

/// `default/data, volume pv-1: topology.kubernetes.io/zone must be a; the node has b`
fn zone(tried: &ZoneTried) -> String {
    let ZoneTried { claim, volume, key, wanted, .. } = tried;
    let found = match &tried.found {
        None => "the node does not have that label".to_owned(),
        Some((label, value)) if label == key => format!("the node has {value}"),
        Some((label, value)) => format!("the node has {label}={value}"),
    };
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    format!("Claim {claim}, volume {volume}: {key} must be {}; {found}.", wanted.join(" or "))
}

/// Adds to NodeVolumeLimits' answer for a node how many volumes there are of each driver, and how many there may be.
pub(super) fn within_limits(
    trace: &CycleTrace,
    node: &NodeInfo,
    explanation: CellExplanation,
) -> CellExplanation {
    let Some(drivers) = explain_limits(&trace.filter_state, node.name()) else { return explanation };
    let passes = !drivers.iter().any(DriverUse::is_exceeded);
    if !leads_to(passes, Code::Unschedulable, &explanation) {
        return explanation;
    }
    explanation.with_arithmetic(drivers.iter().flat_map(|driver| driver_lines(driver, node.name())).collect())
}

/// `disk.example.com: 15 in use + 1 attached + 1 new = 17 > 16, which CSINode a-1 allows`
fn driver_lines(of: &DriverUse, node: &str) -> Vec<String> {
    let (driver, new) = (&of.driver, of.new.len());
    let Some(limit) = of.limit else {
        return vec![format!(
            "{driver}: CSINode {node} sets no limit, and the pod brings {}",
            counted(new, "volume")
        )];
    };
    let relation = match (of.is_exceeded(), new) {
        (true, _) => format!("> {limit}, which is what CSINode {node} allows"),
        (false, 0) => format!("of {limit} that CSINode {node} allows; not compared, since nothing is new"),
        (false, _) => format!("<= {limit}, which is what CSINode {node} allows"),
    };
    let mut lines = vec![format!(
        "{driver}: {} in use + {} attached besides + {new} new = {} {relation}",
        of.used,
        of.attached,
        of.total()
    )];
    if of.shared > 0 {
        lines.push(format!("  {} of the pod in use here already", counted(of.shared, "volume")));
    }
    let news = of.new.iter().map(|volume| format!("  new: {volume}"));
    lines.extend(first(news, new, "volume"));
    lines
}

/// Adds to VolumeRestrictions' answer for a node who has the pod's disks there, and who its claims.
pub(super) fn not_in_use(
    trace: &CycleTrace,
    node: &NodeInfo,
    explanation: CellExplanation,
) -> CellExplanation {
    let pod = &trace.pod_info.pod;
    let disks = disk_conflicts(pod, node);
    let held = exclusive_claims(&trace.filter_state);
    let namespace = &pod.metadata.namespace;
    let users =
        held.iter().flat_map(|name| users(trace, &NamespacedName::new(namespace.clone(), name.as_str())));
    let users: Vec<String> = users.collect();
    if !leads_to(disks.is_empty() && users.is_empty(), Code::Unschedulable, &explanation) {
        return explanation;
    }
    let mut lines = first(disks.iter().map(disk), disks.len(), "disk");
    let n_users = users.len();
    lines.extend(first(users.into_iter(), n_users, "pod"));
    explanation.with_arithmetic(lines)
}

fn disk(conflict: &DiskConflict) -> String {
    let DiskConflict { volume, disk, holder, both_read_only } = conflict;
    let why = if *both_read_only { "though both only read it" } else { "and not both only read it" };
    format!("Volume {volume}, {disk}: pod {holder} on this node has it, {why}.")
}

/// Who uses a claim that is for one pod alone.
fn users(trace: &CycleTrace, claim: &NamespacedName) -> Vec<String> {
    let nodes = trace.nodes().iter().filter(|node| node.claims().any(|used| used == claim));
    let users = nodes.flat_map(|node| node.pods().iter().map(move |pod| (node, pod)));
    let users = users.filter(|(_, pod)| pod.claims.contains(claim));
    users
        .map(|(node, pod)| {
            format!("Claim {claim} is ReadWriteOncePod: pod {} on {} uses it.", pod.pod.key(), node.name())
        })
        .collect()
}

/// Whether what was found is what the plugin answered: success, or this code.
fn leads_to(passes: bool, otherwise: Code, explanation: &CellExplanation) -> bool {
    explanation.code == Some(if passes { Code::Success } else { otherwise })
}

/// A claim, and below it what was tried for it: what came closest first.
fn lines(claim: &ClaimExplanation) -> Vec<String> {
    let mut lines = vec![format!("{} {}.", claim.claim, claim.outcome)];
    let mut tried: Vec<_> = claim.tried.iter().collect();
    tried.sort_by_key(|tried| closeness(tried.mismatch.as_ref()));
    let size =
        |size: Option<crate::api::Quantity>| size.map_or_else(String::new, |size| format!(" ({size})"));
    let volumes = tried.iter().map(|tried| match &tried.mismatch {
        Some(mismatch) => format!("  {}{} {mismatch}", tried.volume, size(tried.size)),
        None => format!("  {}{} is taken", tried.volume, size(tried.size)),
    });
    lines.extend(first(volumes, tried.len(), "volume"));
    let capacities = claim.capacities.iter().map(|capacity| format!("  {capacity}"));
    lines.extend(first(capacities, claim.capacities.len(), "capacity object"));
    lines
}

/// The first lines, and how many more there are.
fn first(lines: impl Iterator<Item = String>, count: usize, what: &str) -> Vec<String> {
    let mut first: Vec<String> = lines.take(TOLD).collect();
    if count > first.len() {
        first.push(format!("  and {} more", counted(count - first.len(), what)));
    }
    first
}

/// Volumes that would do come before those that fail for the node, and these before those that never would do.
const fn closeness(mismatch: Option<&Mismatch>) -> u8 {
    match mismatch {
        None => 0,
        Some(Mismatch::NotSmallest | Mismatch::Taken | Mismatch::NotReserved) => 1,
        Some(Mismatch::NodeAffinity) => 2,
        Some(Mismatch::OtherClaim(_)) => 4,
        Some(_) => 3,
    }
}

/// How VolumeBinding's points for a node came about; empty if that does not lead to them.
pub(super) fn score(trace: &CycleTrace, node: &NodeInfo, raw: i64) -> Vec<String> {
    let found = node.node().and_then(|node| explain_capacity(&trace.cycle_state, node));
    let Some(CapacityScore { classes, shape }) = found else { return Vec::new() };
    if classes.is_empty() {
        return if raw == 0 {
            vec!["Nothing is bound or made here for which room was asked: 0 points.".to_owned()]
        } else {
            Vec::new()
        };
    }
    let n = i64::try_from(classes.len()).unwrap_or(i64::MAX);
    let sum: i64 = classes.iter().map(|class| class.score).sum();
    // Half a point is rounded away from 0, as upstream rounds.
    if (sum * 2 + n).div_euclid(n * 2) != raw {
        return Vec::new();
    }
    let points: Vec<String> = shape.iter().map(|(use_, score)| format!("{use_} % gives {score}")).collect();
    let mut lines = vec![format!("the shape: {}, straight between", points.join(", "))];
    lines.extend(classes.iter().map(|class| {
        let over = if class.requested > class.capacity { ", more than there is" } else { "" };
        format!(
            "class {}: {} asked for of {}{over} = {} % used, {} points",
            class.class,
            bytes_short(class.requested),
            bytes_short(class.capacity),
            class.utilization,
            class.score
        )
    }));
    if classes.len() > 1 {
        lines.push(format!("the mean of {} classes: {sum} / {n} = {raw}", classes.len()));
    }
    lines
}
