//! DynamicResources: a pod runs where the devices that it claims can be allocated (KEP-4381).
//!
//! Follows `plugins/dynamicresources`. The allocator is in [`allocator`], what it knows of the cluster in
//! [`crate::plugins::helper::devices`]. Not built, since their gates are off by default: claims of pod groups
//! (DRAWorkloadResourceClaims) and DeviceTaintRules.

pub mod allocator;
mod binding;
mod binding_conditions;
mod claim_store;
mod deallocation;
pub mod evidence;
mod extended_resources;
mod filtering;
mod hints;
mod node_allocatable;
mod reservation;
mod scoring;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::names;
use crate::api::Duration;
use crate::api::objects::Pod;
use crate::config::plugin_args::DynamicResourcesArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::device_cel::{self, SelectorCache};
use crate::framework::{
    ClusterEventWithHint, EnqueueExtensions, FilterPlugin, Handle, Plugin, PluginStates, PostFilterPlugin,
    PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, ScorePlugin, SignFragment, SignPlugin,
    Status,
};
use crate::plugins::helper::devices::DeviceState;
pub use node_allocatable::node_allocatable_claim_statuses;
pub use scoring::{AlternativePoints, explain_points};

use allocator::{Features, steps_within};

/// Keeps a claim from being deleted while it is in use.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// The plugin.
#[derive(Clone, Debug)]
pub struct DynamicResources {
    gates: FeatureGates,
    features: Features,
    /// DRANodeAllocatableResources: devices may count against the node's own resources.
    node_allocatable: bool,
    /// PodLevelResources.
    pod_level: bool,
    /// How many steps the allocator may take on a node.
    max_steps: u64,
    binding_timeout: Duration,
    selectors: SelectorCache,
}

/// Gates, off by default, that would change what the plugin does and are refused.
const NOT_SUPPORTED: [Gate; 2] = [Gate::DRADeviceTaintRules, Gate::DRAWorkloadResourceClaims];

impl DynamicResources {
    /// The plugin with these arguments.
    ///
    /// # Errors
    /// A feature gate is on that the plugin would have to follow and does not.
    pub fn new(args: DynamicResourcesArgs, gates: &FeatureGates) -> Result<Self, String> {
        let refused = NOT_SUPPORTED.iter().filter(|gate| gates.is_enabled(**gate));
        let refused: Vec<String> = refused.map(ToString::to_string).collect();
        if !refused.is_empty() {
            let (names, off) = (refused.join(" and "), refused.join("=false,"));
            return Err(format!("not supported: feature gate {names} (turn off with {off}=false)"));
        }
        let has_timeout = gates.is_enabled(Gate::DRASchedulerFilterTimeout);
        Ok(Self {
            gates: *gates,
            features: Features::new(gates),
            node_allocatable: gates.is_enabled(Gate::DRANodeAllocatableResources),
            pod_level: gates.is_enabled(Gate::PodLevelResources),
            max_steps: steps_within(if has_timeout { args.filter_timeout } else { Duration::ZERO }),
            binding_timeout: args.binding_timeout,
            selectors: SelectorCache::new(device_cel::Features {
                consumable_capacity: gates.is_enabled(Gate::DRAConsumableCapacity),
                list_type_attributes: gates.is_enabled(Gate::DRAListTypeAttributes),
            }),
        })
    }
}

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        names::DYNAMIC_RESOURCES
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(DeviceState::new(&self.gates));
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreEnqueuePlugin for DynamicResources {
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        match hints::claims_of(handle, pod) {
            Ok(_) => Status::SUCCESS,
            Err(reason) => Status::unresolvable(reason),
        }
    }
}

impl EnqueueExtensions for DynamicResources {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        hints::events()
    }
}

impl SignPlugin for DynamicResources {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        if pod.spec.resource_claims.is_empty() {
            return Ok(Vec::new());
        }
        Err(Status::unschedulable("pods with dra resource claims are not signable"))
    }
}
