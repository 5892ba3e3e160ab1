//! What plugins know of devices beyond an attempt: claims, slices, and classes behind extended resources.
//!
//! Follows `DefaultDRAManager` of `plugins/dynamicresources/dra_manager.go`, which DynamicResources and the plugins of
//! node resources share. DeviceTaintRules are not built; their gate is off by default.

mod allocated;
mod claims;
mod classes;
mod node_selection;
mod slices;

pub use allocated::{
    AllocatedDevices, AllocatedState, ConsumedCapacity, DeviceId, PoolId, PoolUse, add_capacity,
    is_empty_capacity, subtract_capacity,
};
pub use claims::{AssumeError, Claims, EXTENDED_RESOURCE_CLAIM_ANNOTATION};
pub use classes::{DeviceClasses, ExtendedResources};
pub use node_selection::{device_matches, node_matches};
pub use slices::{DeviceSlices, IndexedSlice};

use std::sync::Arc;

use crate::api::objects::RESOURCE_DEVICE_CLASS_PREFIX;
use crate::api::{Digest, Digestible, Kind, Object, ObjectStore};
use crate::config::{FeatureGates, Gate};
use crate::framework::resource::is_extended_resource_name;
use crate::framework::{PluginState, Told};

/// The state that plugins share.
#[derive(Clone, Debug)]
pub struct DeviceState {
    /// The claims.
    pub claims: Claims,
    /// The slices.
    pub slices: Arc<DeviceSlices>,
    /// The classes.
    pub classes: Arc<DeviceClasses>,
    /// The classes behind extended resources; empty without the gate DRAExtendedResource.
    pub extended_resources: Arc<ExtendedResources>,
    with_extended_resources: bool,
}

impl DeviceState {
    /// The state of an empty cluster.
    pub fn new(gates: &FeatureGates) -> Self {
        Self {
            claims: Claims::new(gates.is_enabled(Gate::DRAConsumableCapacity)),
            slices: Arc::default(),
            classes: Arc::default(),
            extended_resources: Arc::default(),
            with_extended_resources: gates.is_enabled(Gate::DRAExtendedResource),
        }
    }
}

/// Whether a class of devices may stand behind a resource of that name (`IsDRAExtendedResourceName`).
pub fn may_be_devices(resource: &str) -> bool {
    is_extended_resource_name(resource) || resource.starts_with(RESOURCE_DEVICE_CLASS_PREFIX)
}

impl Digestible for DeviceState {
    fn digest(&self, digest: &mut Digest) {
        // Slices and classes follow from the objects.
        self.claims.digest(digest);
    }
}

impl PluginState for DeviceState {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::ResourceClaim, Kind::ResourceSlice, Kind::DeviceClass]
    }

    fn object_changed(&mut self, _: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told {
        match (old, new) {
            (None | Some(Object::ResourceClaim(_)), None | Some(Object::ResourceClaim(_))) => {
                let claim = |object: Option<&Object>| match object {
                    Some(Object::ResourceClaim(claim)) => Some(Arc::clone(claim)),
                    _ => None,
                };
                return self.claims.changed(claim(old).as_ref(), claim(new).as_ref());
            }
            (None | Some(Object::ResourceSlice(_)), None | Some(Object::ResourceSlice(_))) => {
                let slices = Arc::make_mut(&mut self.slices);
                if let Some(Object::ResourceSlice(old)) = old {
                    slices.remove(old);
                }
                if let Some(Object::ResourceSlice(new)) = new {
                    slices.insert(Arc::clone(new));
                }
            }
            (None | Some(Object::DeviceClass(_)), None | Some(Object::DeviceClass(_))) => {
                let class = |object: Option<&Object>| match object {
                    Some(Object::DeviceClass(class)) => Some(Arc::clone(class)),
                    _ => None,
                };
                let (old, new) = (class(old), class(new));
                let classes = Arc::make_mut(&mut self.classes);
                if let Some(old) = &old {
                    classes.remove(&old.metadata.name);
                }
                if let Some(new) = &new {
                    classes.insert(new.metadata.name.clone(), Arc::clone(new));
                }
                if self.with_extended_resources {
                    Arc::make_mut(&mut self.extended_resources).changed(old.as_deref(), new.as_ref());
                }
            }
            _ => {}
        }
        Told::AsReported
    }
}
