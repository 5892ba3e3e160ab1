//! The in-tree plugins of kube-scheduler v1.36, as far as they are built.
//!
//! Each file or folder is one plugin and opens with what it decides. A plugin imports no other plugin; what
//! several need is in [`helper`]. [`registry`] names those that are there.

pub mod default_binder;
pub mod default_preemption;
pub mod dynamic_resources;
#[cfg(test)]
mod fixtures;
pub mod gang_scheduling;
pub mod helper;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod names;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_name;
pub mod node_ports;
pub mod node_resources;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod pod_group_pods_count;
pub mod pod_topology_spread;
pub mod queue_sort;
pub mod registry;
pub mod scheduling_gates;
pub mod taint_toleration;
pub mod topology_placement;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;
