//! Persistent volumes and what belongs to them: claims, classes, drivers, capacities and attachments.
//!
//! Where a volume's disk lives is kept as it came, except for CSI: the in-tree sources are only read to be translated.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::meta::{LabelSelector, ObjectMeta, nullable_str, str_is_empty};
use super::nullable;
use super::pod::{NodeSelector, ResourceList, ResourceRequirements};
use crate::api::{NamespacedName, Quantity, Str, Uid};

/// The annotation that named the class of a volume or claim before there was a field; it still counts first.
pub const BETA_STORAGE_CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
/// On a `CSINode`: the in-tree plugins, separated by commas, whose volumes a CSI driver serves there.
pub const MIGRATED_PLUGINS_ANNOTATION: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// A volume of the cluster.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolume {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PersistentVolumeSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: PersistentVolumeStatus,
}

impl PersistentVolume {
    /// `metadata.name`.
    pub fn name(&self) -> &Str {
        &self.metadata.name
    }

    /// The name of its class, empty if it has none (`GetPersistentVolumeClass`).
    pub fn class(&self) -> &Str {
        self.metadata.annotations.get(BETA_STORAGE_CLASS_ANNOTATION).unwrap_or(&self.spec.storage_class_name)
    }

    /// How large it is, if it says so.
    pub fn size(&self) -> Option<Quantity> {
        self.spec.capacity.get("storage").copied()
    }
}

/// `spec` of a persistent volume.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolumeSpec {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "ResourceList::is_empty")]
    pub capacity: ResourceList,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_ref: Option<ObjectReference>,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub storage_class_name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<VolumeNodeAffinity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_attributes_class_name: Option<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub persistent_volume_reclaim_policy: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csi: Option<CSIPersistentVolumeSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gce_persistent_disk: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_elastic_block_store: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cinder: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure_disk: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure_file: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vsphere_volume: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portworx_volume: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<Value>,
}

/// Another object, as a volume names its claim.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ObjectReference {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub namespace: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub uid: Uid,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

impl ObjectReference {
    /// Namespace and name of the object.
    pub fn key(&self) -> NamespacedName {
        NamespacedName { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// The nodes that a volume can be reached from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct VolumeNodeAffinity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<NodeSelector>,
}

/// The disk of a volume that a CSI driver serves.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSIPersistentVolumeSource {
    #[serde(default, deserialize_with = "nullable_str")]
    pub driver: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub volume_handle: Str,
}

/// `status` of a persistent volume.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolumeStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub phase: String,
}

/// A claim to a volume.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolumeClaim {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PersistentVolumeClaimSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: PersistentVolumeClaimStatus,
}

impl PersistentVolumeClaim {
    /// Namespace and name.
    pub fn key(&self) -> NamespacedName {
        self.metadata.key()
    }

    /// The name of its class, empty if it has none (`GetPersistentVolumeClaimClass`).
    pub fn class(&self) -> &str {
        let by_annotation = self.metadata.annotations.get(BETA_STORAGE_CLASS_ANNOTATION);
        by_annotation.or(self.spec.storage_class_name.as_ref()).map_or("", AsRef::as_ref)
    }

    /// How much it asks for, if it says so.
    pub fn request(&self) -> Option<Quantity> {
        self.spec.resources.requests.get("storage").copied()
    }
}

/// `spec` of a claim.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolumeClaimSpec {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    #[serde(default, deserialize_with = "nullable")]
    pub resources: ResourceRequirements,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub volume_name: Str,
    /// Empty asks for a volume without a class; absent leaves it to the default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_attributes_class_name: Option<String>,
}

/// `status` of a claim.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PersistentVolumeClaimStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub phase: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "ResourceList::is_empty")]
    pub capacity: ResourceList,
}

/// A class of volumes.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct StorageClass {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable_str")]
    pub provisioner: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim_policy: Option<String>,
    /// `Immediate` or `WaitForFirstConsumer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_binding_mode: Option<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// Where volumes may be made: all expressions must hold; an empty term matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct TopologySelectorTerm {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
}

/// A node label that must have one of some values.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct TopologySelectorLabelRequirement {
    #[serde(default, deserialize_with = "nullable")]
    pub key: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// The CSI drivers of a node. It has the node's name.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CSINodeSpec {
    /// The drivers.
    #[serde(default, deserialize_with = "nullable")]
    pub drivers: Vec<CSINodeDriver>,
}

/// The CSI drivers of a node. It has the node's name.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSINode {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: CSINodeSpec,
}

/// A CSI driver on a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSINodeDriver {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(
        rename = "nodeID",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub node_id: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub topology_keys: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<VolumeNodeResources>,
}

/// How many volumes of a driver a node can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VolumeNodeResources {
    /// Absent means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
}

/// A CSI driver of the cluster. It has the driver's name.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSIDriver {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: CSIDriverSpec,
}

/// `spec` of a CSI driver.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSIDriverSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_required: Option<bool>,
    /// Whether free space is to be looked at before a volume is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_capacity: Option<bool>,
    /// Whether nodes without the driver are left out (KEP-5030).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevent_pod_scheduling_if_missing: Option<bool>,
}

/// How much space a driver has for volumes of a class, seen from some nodes.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CSIStorageCapacity {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    /// The nodes that can reach the space; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_topology: Option<LabelSelector>,
    #[serde(default, deserialize_with = "nullable_str")]
    pub storage_class_name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_volume_size: Option<Quantity>,
}

/// A volume that is attached, or is to be attached, to a node.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct VolumeAttachment {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: VolumeAttachmentSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: VolumeAttachmentStatus,
}

/// `spec` of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct VolumeAttachmentSpec {
    #[serde(default, deserialize_with = "nullable_str")]
    pub attacher: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub node_name: Str,
    #[serde(default, deserialize_with = "nullable")]
    pub source: VolumeAttachmentSource,
}

/// What is attached.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct VolumeAttachmentSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_name: Option<Str>,
}

/// `status` of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct VolumeAttachmentStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}
