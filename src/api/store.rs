//! The objects as a watcher knows them: one map per kind, ordered by key.
//!
//! The scheduler keeps one of these as its informers' state, the sandbox keeps another as its API. Both only
//! ever share immutable objects, so a copy costs a reference per object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::objects::{
    CSIDriver, CSINode, CSIStorageCapacity, DeviceClass, Namespace, Node, ObjectMeta, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, PodGroup, PriorityClass, ReplicaSet,
    ReplicationController, ResourceClaim, ResourceClaimTemplate, ResourceSlice, Service, StatefulSet,
    StorageClass, VolumeAttachment,
};
use super::{NamespacedName, Str};

/// A type of object that an [`Object`] can hold.
pub trait OfKind: Sized {
    /// Its kind.
    const KIND: Kind;

    /// The object, if it is of this type.
    fn of(object: &Object) -> Option<&Arc<Self>>;
}

/// Declares the kinds of objects once: the [`Kind`] and [`Object`] enums, the store's maps and their accessors.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { field: $field:ident, api_version: $version:literal, resource: $resource:literal, namespaced: $namespaced:literal }),+ $(,)?) => {
        /// A kind of object that the scheduler reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $($(#[$doc])* $kind),+ }

        impl Kind {
            /// Every kind, in the order in which they are loaded: what others refer to comes first.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The kind as manifests spell it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),+ }
            }

            /// The API group and version of the kind.
            pub const fn api_version(self) -> &'static str {
                match self { $(Self::$kind => $version),+ }
            }

            /// The resource name in URLs and RBAC rules.
            pub const fn resource(self) -> &'static str {
                match self { $(Self::$kind => $resource),+ }
            }

            /// Whether objects of the kind are in a namespace.
            pub const fn is_namespaced(self) -> bool {
                match self { $(Self::$kind => $namespaced),+ }
            }
        }

        /// An object of any kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Object { $($(#[$doc])* $kind(Arc<$kind>)),+ }

        impl Object {
            /// The object's kind.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind),+ }
            }

            /// The object's metadata.
            pub fn metadata(&self) -> &ObjectMeta {
                match self { $(Self::$kind(object) => &object.metadata),+ }
            }

            /// The object's metadata, to change; an object that others hold is copied first.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Self::$kind(object) => &mut Arc::make_mut(object).metadata),+ }
            }

            /// Writes the object's own fields, without API version and kind.
            ///
            /// # Errors
            /// What the serializer says.
            pub fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$kind(object) => object.serialize(serializer)),+ }
            }

            /// Reads an object whose kind is known. Kind and API version in the input are not looked at.
            ///
            /// # Errors
            /// What the deserializer says about a field that does not fit.
            pub fn deserialize_kind<'de, D: Deserializer<'de>>(kind: Kind, deserializer: D) -> Result<Self, D::Error> {
                match kind { $(Kind::$kind => $kind::deserialize(deserializer).map(|object| Self::$kind(Arc::new(object)))),+ }
            }
        }

        $(impl From<Arc<$kind>> for Object {
            fn from(object: Arc<$kind>) -> Self { Self::$kind(object) }
        }

        impl From<$kind> for Object {
            fn from(object: $kind) -> Self { Self::$kind(Arc::new(object)) }
        }

        impl OfKind for $kind {
            const KIND: Kind = Kind::$kind;

            fn of(object: &Object) -> Option<&Arc<Self>> {
                match object { Object::$kind(object) => Some(object), _ => None }
            }
        })+

        /// Objects by kind and key.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct ObjectStore { $($(#[$doc])* pub $field: BTreeMap<NamespacedName, Arc<$kind>>),+ }

        impl ObjectStore {
            /// Puts an object in and returns the one that it replaces.
            pub fn insert(&mut self, object: Object) -> Option<Object> {
                let key = object.key();
                match object { $(Object::$kind(object) => self.$field.insert(key, object).map(Object::$kind)),+ }
            }

            /// Takes an object out.
            pub fn remove(&mut self, kind: Kind, key: &NamespacedName) -> Option<Object> {
                match kind { $(Kind::$kind => self.$field.remove(key).map(Object::$kind)),+ }
            }

            /// An object by kind and key.
            pub fn get(&self, kind: Kind, key: &NamespacedName) -> Option<Object> {
                match kind { $(Kind::$kind => self.$field.get(key).cloned().map(Object::$kind)),+ }
            }

            /// The objects of a kind, in the order of the keys.
            pub fn of_kind(&self, kind: Kind) -> Vec<Object> {
                match kind { $(Kind::$kind => self.$field.values().cloned().map(Object::$kind).collect()),+ }
            }

            /// How many objects of a kind there are.
            pub fn count(&self, kind: Kind) -> usize {
                match kind { $(Kind::$kind => self.$field.len()),+ }
            }

            /// How many objects there are.
            pub fn len(&self) -> usize {
                0 $(+ self.$field.len())+
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// All objects, kind by kind, each in the order of the keys.
            pub fn iter(&self) -> impl Iterator<Item = Object> + '_ {
                std::iter::empty()$(.chain(self.$field.values().cloned().map(Object::$kind)))+
            }
        }
    };
}

kinds! {
    /// A namespace.
    Namespace { field: namespaces, api_version: "v1", resource: "namespaces", namespaced: false },
    /// A priority class.
    PriorityClass { field: priority_classes, api_version: "scheduling.k8s.io/v1", resource: "priorityclasses", namespaced: false },
    /// A disruption budget.
    PodDisruptionBudget { field: pod_disruption_budgets, api_version: "policy/v1", resource: "poddisruptionbudgets", namespaced: true },
    /// A service.
    Service { field: services, api_version: "v1", resource: "services", namespaced: true },
    /// A replication controller.
    ReplicationController { field: replication_controllers, api_version: "v1", resource: "replicationcontrollers", namespaced: true },
    /// A replica set.
    ReplicaSet { field: replica_sets, api_version: "apps/v1", resource: "replicasets", namespaced: true },
    /// A stateful set.
    StatefulSet { field: stateful_sets, api_version: "apps/v1", resource: "statefulsets", namespaced: true },
    /// A class of volumes.
    StorageClass { field: storage_classes, api_version: "storage.k8s.io/v1", resource: "storageclasses", namespaced: false },
    /// A CSI driver of the cluster.
    CSIDriver { field: csi_drivers, api_version: "storage.k8s.io/v1", resource: "csidrivers", namespaced: false },
    /// The CSI drivers of a node.
    CSINode { field: csi_nodes, api_version: "storage.k8s.io/v1", resource: "csinodes", namespaced: false },
    /// How much space a driver has.
    CSIStorageCapacity { field: csi_storage_capacities, api_version: "storage.k8s.io/v1", resource: "csistoragecapacities", namespaced: true },
    /// A volume of the cluster.
    PersistentVolume { field: persistent_volumes, api_version: "v1", resource: "persistentvolumes", namespaced: false },
    /// A claim to a volume.
    PersistentVolumeClaim { field: persistent_volume_claims, api_version: "v1", resource: "persistentvolumeclaims", namespaced: true },
    /// A volume on a node.
    VolumeAttachment { field: volume_attachments, api_version: "storage.k8s.io/v1", resource: "volumeattachments", namespaced: false },
    /// A class of devices.
    DeviceClass { field: device_classes, api_version: "resource.k8s.io/v1", resource: "deviceclasses", namespaced: false },
    /// A slice of devices.
    ResourceSlice { field: resource_slices, api_version: "resource.k8s.io/v1", resource: "resourceslices", namespaced: false },
    /// A template of claims for devices.
    ResourceClaimTemplate { field: resource_claim_templates, api_version: "resource.k8s.io/v1", resource: "resourceclaimtemplates", namespaced: true },
    /// A claim for devices.
    ResourceClaim { field: resource_claims, api_version: "resource.k8s.io/v1", resource: "resourceclaims", namespaced: true },
    /// A group of pods.
    PodGroup { field: pod_groups, api_version: "scheduling.k8s.io/v1alpha2", resource: "podgroups", namespaced: true },
    /// A node.
    Node { field: nodes, api_version: "v1", resource: "nodes", namespaced: false },
    /// A pod.
    Pod { field: pods, api_version: "v1", resource: "pods", namespaced: true },
}

impl Object {
    /// Namespace and name.
    pub fn key(&self) -> NamespacedName {
        self.metadata().key()
    }
}

impl ObjectStore {
    /// The node of that name.
    pub fn node(&self, name: &Str) -> Option<&Arc<Node>> {
        self.nodes.get(&NamespacedName::cluster(name.clone()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
