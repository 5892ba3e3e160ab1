//! The volumes of each driver that a node has, gets and can have, as an attempt saw them.
//!
//! Evidence for a person; Filter does not use it.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::OwnVolumes;
use super::on_node::{OnNode, OnNodes};
use super::usage::of_claim;
use crate::api::Str;
use crate::framework::{CycleState, NodeInfo};

/// What Filter saw of the nodes that it came to.
#[derive(Clone, Default)]
pub(super) struct Seen(FxHashMap<Str, Arc<OnNode>>);

/// How many there are; a person who looks at an attempt does not want to see all of them.
impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.0.len())
    }
}

impl Seen {
    pub(super) fn of(known: &OnNodes, nodes: &[Arc<NodeInfo>]) -> Self {
        Self(nodes.iter().filter_map(|node| Some((node.name().clone(), known.get(node)?))).collect())
    }
}

/// The volumes of one driver on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverUse {
    /// The driver.
    pub driver: Str,
    /// How many volumes of it pods on the node use.
    pub used: usize,
    /// How many more are attached.
    pub attached: usize,
    /// Those that the pod brings and none of these uses yet: a handle, or the claim that a volume is to be made for.
    pub new: Vec<NewVolume>,
    /// How many volumes of the pod are in use there already.
    pub shared: usize,
    /// How many the node's `CSINode` allows, if it says so.
    pub limit: Option<i64>,
}

/// A volume that the pod brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewVolume {
    /// By the handle that its driver knows it by.
    Handle(String),
    /// It is to be made for this claim.
    ForClaim(String),
}

impl fmt::Display for NewVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handle(handle) => f.write_str(handle),
            Self::ForClaim(claim) => write!(f, "one for claim {claim}"),
        }
    }
}

impl DriverUse {
    /// How many there would be with the pod.
    pub fn total(&self) -> usize {
        self.used + self.attached + self.new.len()
    }

    /// Whether that is more than the node can have. Who brings nothing new is not asked.
    pub fn is_exceeded(&self) -> bool {
        let total = i64::try_from(self.total()).unwrap_or(i64::MAX);
        !self.new.is_empty() && self.limit.is_some_and(|limit| total > limit)
    }
}

/// The drivers of the pod's volumes and what the node has of each, by name; absent if the attempt has not come to it, or
/// the volumes cannot be told.
pub fn explain_limits(state: &CycleState, node: &Str) -> Option<Vec<DriverUse>> {
    let on_node = state.read::<Seen>()?.0.get(node)?;
    let own = state.read::<OwnVolumes>()?.on(on_node.csi_node.is_some()).as_ref().ok()?;
    let used = on_node.used.as_ref().ok()?;
    let mut drivers: Vec<&Str> = own.values().collect();
    drivers.sort();
    drivers.dedup();
    let explain = |driver: &Str| {
        let own = own.iter().filter(|(_, of)| *of == driver).map(|(name, _)| name);
        let (shared, new): (Vec<&String>, Vec<&String>) = own.partition(|name| used.contains_key(*name));
        let new = new.into_iter().map(|name| {
            let handle = name.strip_prefix(&**driver).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
            match of_claim(handle) {
                Some(claim) => NewVolume::ForClaim(claim.to_owned()),
                None => NewVolume::Handle(handle.to_owned()),
            }
        });
        DriverUse {
            driver: driver.clone(),
            used: used.values().filter(|of| *of == driver).count(),
            attached: on_node.attached.values().filter(|of| *of == driver).count(),
            new: new.collect(),
            shared: shared.len(),
            limit: on_node.limits.get(driver).copied(),
        }
    };
    Some(drivers.into_iter().map(explain).collect())
}
