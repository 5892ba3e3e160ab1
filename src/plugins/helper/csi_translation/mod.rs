//! Volumes of plugins that once were part of Kubernetes, as the CSI drivers see them that have taken over.
//!
//! Follows `k8s.io/csi-translation-lib`, as far as a scheduler reads the outcome: driver, volume handle and node
//! affinity. Attributes, secrets, access modes and the way back are left out. Whether a node has gone over to a driver
//! is for the caller to ask.
//!
//! A volume has one source. Upstream takes any of several in the order of a Go map; here it is the order of
//! [`InTreePlugin::ALL`].

mod handles;
mod topology;

use serde_json::Value;

use super::volumes::{self, Volume};
use crate::api::objects::{NodeSelector, PersistentVolume};

/// A plugin that was part of Kubernetes and has a CSI driver in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InTreePlugin {
    /// Persistent disks of Google Compute Engine.
    GcePersistentDisk,
    /// Block storage of Amazon.
    AwsElasticBlockStore,
    /// Block storage of OpenStack.
    Cinder,
    /// Disks of Azure.
    AzureDisk,
    /// File shares of Azure.
    AzureFile,
    /// Disks of vSphere.
    Vsphere,
    /// Volumes of Portworx.
    Portworx,
}

impl InTreePlugin {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::GcePersistentDisk,
        Self::AwsElasticBlockStore,
        Self::Cinder,
        Self::AzureDisk,
        Self::AzureFile,
        Self::Vsphere,
        Self::Portworx,
    ];

    /// The plugin's own name, as storage classes have it for provisioner.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GcePersistentDisk => "kubernetes.io/gce-pd",
            Self::AwsElasticBlockStore => "kubernetes.io/aws-ebs",
            Self::Cinder => "kubernetes.io/cinder",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
            Self::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The name of the CSI driver.
    pub const fn driver(self) -> &'static str {
        match self {
            Self::GcePersistentDisk => "pd.csi.storage.gke.io",
            Self::AwsElasticBlockStore => "ebs.csi.aws.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::Vsphere => "csi.vsphere.vmware.com",
            Self::Portworx => "pxd.portworx.com",
        }
    }

    /// The field of a volume that has its source, inline or persistent.
    pub const fn field(self) -> &'static str {
        match self {
            Self::GcePersistentDisk => "gcePersistentDisk",
            Self::AwsElasticBlockStore => "awsElasticBlockStore",
            Self::Cinder => "cinder",
            Self::AzureDisk => "azureDisk",
            Self::AzureFile => "azureFile",
            Self::Vsphere => "vsphereVolume",
            Self::Portworx => "portworxVolume",
        }
    }

    /// The plugin of that name (`IsMigratableIntreePluginByName`).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// The plugin whose sources have that field.
    pub fn by_field(field: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.field() == field)
    }

    /// The plugin of an inline volume (`IsInlineMigratable`, `GetInTreePluginNameFromSpec`).
    pub fn of_inline(volume: &Volume) -> Option<Self> {
        let sources = volume.iter().filter(|(_, source)| !source.is_null());
        sources.filter_map(|(field, _)| Self::by_field(field)).min()
    }

    /// The plugin of a persistent volume (`IsPVMigratable`, `GetInTreePluginNameFromSpec`).
    pub fn of_persistent(volume: &PersistentVolume) -> Option<Self> {
        Self::with_source(volume).map(|(plugin, _)| plugin)
    }

    fn with_source(volume: &PersistentVolume) -> Option<(Self, &Value)> {
        let spec = &volume.spec;
        let source = |plugin| match plugin {
            Self::GcePersistentDisk => spec.gce_persistent_disk.as_ref(),
            Self::AwsElasticBlockStore => spec.aws_elastic_block_store.as_ref(),
            Self::Cinder => spec.cinder.as_ref(),
            Self::AzureDisk => spec.azure_disk.as_ref(),
            Self::AzureFile => spec.azure_file.as_ref(),
            Self::Vsphere => spec.vsphere_volume.as_ref(),
            Self::Portworx => spec.portworx_volume.as_ref(),
        };
        Self::ALL.into_iter().find_map(|plugin| Some((plugin, source(plugin)?)))
    }

    /// Whether its volumes are counted and placed as those of its driver (`isCSIMigrationOn` of NodeVolumeLimits and
    /// `isCSIMigrationOnForPlugin` of VolumeBinding).
    pub const fn is_migrated(self) -> bool {
        match self {
            Self::GcePersistentDisk
            | Self::AwsElasticBlockStore
            | Self::Cinder
            | Self::AzureDisk
            | Self::Portworx => true,
            Self::AzureFile | Self::Vsphere => false,
        }
    }
}

/// A volume as its CSI driver knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiSource {
    /// The driver.
    pub driver: &'static str,
    /// The volume's name in the driver's world.
    pub volume_handle: String,
}

/// A persistent volume as its CSI driver knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiVolume {
    /// Driver and handle.
    pub source: CsiSource,
    /// From which nodes it can be reached, with the driver's topology keys.
    pub node_affinity: Option<NodeSelector>,
}

/// An inline volume of a pod in that namespace (`TranslateInTreeInlineVolumeToCSI`).
///
/// # Errors
/// The source is none that the driver could take.
pub fn inline_to_csi(volume: &Volume, namespace: &str) -> Result<CsiSource, String> {
    let name = volume.get("name").and_then(Value::as_str).unwrap_or_default();
    let found = InTreePlugin::of_inline(volume)
        .and_then(|plugin| Some((plugin, volumes::source(volume, plugin.field())?)));
    let (plugin, source) =
        found.ok_or_else(|| format!("could not find in-tree plugin translation logic for {name:?}"))?;
    let volume_handle = handles::inline(plugin, source, name, namespace)?;
    Ok(CsiSource { driver: plugin.driver(), volume_handle })
}

/// A persistent volume (`TranslateInTreePVToCSI`).
///
/// # Errors
/// It is none of an in-tree plugin, or the source is none that the driver could take.
pub fn persistent_to_csi(volume: &PersistentVolume) -> Result<CsiVolume, String> {
    let (plugin, source) = InTreePlugin::with_source(volume).ok_or_else(|| {
        format!("could not find in-tree plugin translation logic for {:?}", volume.metadata.name)
    })?;
    let volume_handle = handles::persistent(plugin, source, volume)?;
    let affinity = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let node_affinity = topology::translate(plugin, affinity, &volume.metadata.labels);
    Ok(CsiVolume { source: CsiSource { driver: plugin.driver(), volume_handle }, node_affinity })
}
