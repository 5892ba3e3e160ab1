//! Amounts of the compute resources, as the scheduler counts them.
//!
//! Mirrors `framework.Resource` of `pkg/scheduler/framework/types.go`.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::api::objects::ResourceList;

/// Resource names that the scheduler knows by name.
pub mod names {
    /// CPU, counted in thousandths of a core.
    pub const CPU: &str = "cpu";
    /// Memory, counted in bytes.
    pub const MEMORY: &str = "memory";
    /// Local ephemeral storage, counted in bytes.
    pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
    /// The number of pods.
    pub const PODS: &str = "pods";
    /// What every huge page resource begins with.
    pub const HUGEPAGES_PREFIX: &str = "hugepages-";
}

/// CPU that BalancedAllocation and the scoring strategies assume for a container without a request, in
/// thousandths of a core (`schedutil.DefaultMilliCPURequest`).
pub const DEFAULT_MILLI_CPU_REQUEST: i64 = 100;
/// Memory assumed for a container without a request, in bytes (`schedutil.DefaultMemoryRequest`).
pub const DEFAULT_MEMORY_REQUEST: i64 = 200 * 1024 * 1024;

/// Amounts by resource.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Resource {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// How many pods the node takes; 0 in a request.
    pub allowed_pod_number: i64,
    /// Extended resources, huge pages and attachable volumes by name, in whole units.
    pub scalar_resources: BTreeMap<Str, i64>,
}

impl Resource {
    /// Reads a resource list (`NewResource`).
    pub fn from_list(list: &ResourceList) -> Self {
        let mut resource = Self::default();
        for (name, quantity) in list {
            match name.as_ref() {
                names::CPU => resource.milli_cpu += quantity.milli_value(),
                names::MEMORY => resource.memory += quantity.value(),
                names::EPHEMERAL_STORAGE => resource.ephemeral_storage += quantity.value(),
                names::PODS => resource.allowed_pod_number += quantity.value(),
                _ if is_scalar_resource_name(name) => {
                    *resource.scalar_resources.entry(name.clone()).or_default() += quantity.value();
                }
                _ => {}
            }
        }
        resource
    }

    /// Adds `other`, resource by resource.
    pub fn add(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_add(other.milli_cpu);
        self.memory = self.memory.saturating_add(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_add(other.ephemeral_storage);
        for (name, amount) in &other.scalar_resources {
            let sum = self.scalar_resources.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Takes `other` away, resource by resource.
    pub fn sub(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_sub(other.milli_cpu);
        self.memory = self.memory.saturating_sub(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_sub(other.ephemeral_storage);
        for (name, amount) in &other.scalar_resources {
            let rest = self.scalar_resources.entry(name.clone()).or_default();
            *rest = rest.saturating_sub(*amount);
        }
    }
}

/// Whether the scheduler counts a resource of that name as a scalar one (`schedutil.IsScalarResourceName`):
/// extended resources, huge pages, prefixed native ones and attachable volumes.
pub fn is_scalar_resource_name(name: &str) -> bool {
    is_extended_resource_name(name)
        || name.starts_with(names::HUGEPAGES_PREFIX)
        || is_prefixed_native_resource(name)
        || name.starts_with("attachable-volumes-")
}

fn is_prefixed_native_resource(name: &str) -> bool {
    name.contains("kubernetes.io/")
}

fn is_native_resource(name: &str) -> bool {
    !name.contains('/') || is_prefixed_native_resource(name)
}

/// Whether a resource is an extended one: named with a domain that is not Kubernetes' own
/// (`v1helper.IsExtendedResourceName`).
pub fn is_extended_resource_name(name: &str) -> bool {
    !is_native_resource(name)
        && !name.starts_with("requests.")
        && is_qualified_name(&format!("requests.{name}"))
}

/// Whether a text is a qualified name: an optional DNS subdomain, a slash, and a name of at most 63 characters.
pub fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let is_alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let name_is_good = !name.is_empty()
        && name.len() <= 63
        && name.starts_with(is_alphanumeric)
        && name.ends_with(is_alphanumeric)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    name_is_good && prefix.is_none_or(is_dns1123_subdomain)
}

fn is_dns1123_subdomain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            label.starts_with(is_edge)
                && label.ends_with(is_edge)
                && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resources_have_a_foreign_domain() {
        assert!(is_extended_resource_name("example.com/gpu"));
        assert!(!is_extended_resource_name("cpu"));
        assert!(!is_extended_resource_name("kubernetes.io/thing"));
        assert!(!is_extended_resource_name("requests.example.com/gpu"));
    }

    #[test]
    fn huge_pages_count_as_scalar() {
        assert!(is_scalar_resource_name("hugepages-2Mi"));
        assert!(!is_scalar_resource_name("memory"));
    }
}
