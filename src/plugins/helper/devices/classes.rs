//! Device classes, and the extended resources that they stand behind (KEP-5004).
//!
//! Follows `deviceclass/extendedresourcecache` of `k8s.io/dynamic-resource-allocation` with its oddities: of two classes
//! that name the same resource the newer one counts, and the other has not even its implicit name; when one of them
//! goes, the name goes too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::{DeviceClass, RESOURCE_DEVICE_CLASS_PREFIX};

/// The classes by their names.
pub type DeviceClasses = BTreeMap<Str, Arc<DeviceClass>>;

/// The classes by the extended resources that they stand behind.
#[derive(Clone, Debug, Default)]
pub struct ExtendedResources {
    by_resource: BTreeMap<Str, Arc<DeviceClass>>,
}

fn implicit(class: &DeviceClass) -> Str {
    Str::from(format!("{RESOURCE_DEVICE_CLASS_PREFIX}{}", class.metadata.name))
}

impl ExtendedResources {
    /// The class behind a resource.
    pub fn class(&self, resource: &str) -> Option<&Arc<DeviceClass>> {
        self.by_resource.get(resource)
    }

    /// Whether no class is known.
    pub fn is_empty(&self) -> bool {
        self.by_resource.is_empty()
    }

    /// A class came, changed or is gone.
    pub fn changed(&mut self, old: Option<&DeviceClass>, new: Option<&Arc<DeviceClass>>) {
        match (old, new) {
            (old, Some(new)) => self.put(old, new),
            (Some(old), None) => self.remove(old),
            (None, None) => {}
        }
    }

    fn put(&mut self, old: Option<&DeviceClass>, new: &Arc<DeviceClass>) {
        let explicit = new.spec.extended_resource_name.as_deref();
        if let Some(known) = explicit.and_then(|name| self.by_resource.get(name)) {
            let of = |class: &DeviceClass| class.metadata.creation_timestamp;
            let is_older = of(new) < of(known);
            if is_older || of(new) == of(known) && new.metadata.name >= known.metadata.name {
                return;
            }
        }
        if let Some(old) = old {
            self.remove(old);
        }
        if let Some(name) = explicit {
            self.by_resource.insert(Str::from(name), Arc::clone(new));
        }
        self.by_resource.insert(implicit(new), Arc::clone(new));
    }

    fn remove(&mut self, class: &DeviceClass) {
        self.by_resource.remove(&implicit(class));
        if let Some(name) = class.spec.extended_resource_name.as_deref() {
            self.by_resource.remove(name);
        }
    }
}
