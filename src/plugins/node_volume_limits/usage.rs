//! Which volumes of CSI drivers a pod uses.
//!
//! Follows `filterAttachableVolumes` and what it calls in `plugins/nodevolumelimits/csi.go`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::objects::{PersistentVolumeClaim, Pod};
use crate::api::{ObjectStore, Str};
use crate::plugins::helper::csi_translation::{InTreePlugin, inline_to_csi, persistent_to_csi};
use crate::plugins::helper::volumes::{EPHEMERAL, PERSISTENT_VOLUME_CLAIM, Volume, text};
use crate::plugins::helper::{ephemeral, listers};

/// The driver of each volume, by the volume's unique name: driver and handle.
pub(super) type Volumes = BTreeMap<String, Str>;

/// What the handle of a volume that is to be made begins with.
const FOR_CLAIM: &str = "<claim>-";

/// The claim that the handle stands for until its volume is made.
pub(super) fn of_claim(handle: &str) -> Option<&str> {
    handle.strip_prefix(FOR_CLAIM)
}

/// Why the volumes of a pod are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// A claim is not there (yet).
    NoClaim(String),
    /// Anything else.
    Other(String),
}

impl Problem {
    /// The sentence.
    pub(super) fn text(self) -> String {
        match self {
            Self::NoClaim(text) | Self::Other(text) => text,
        }
    }
}

/// A volume of a pod that may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counted<'a> {
    /// A claim by its name.
    Claim(&'a str),
    /// A claim that is made for the pod.
    Ephemeral,
    /// A disk of a plugin that was part of Kubernetes.
    Inline(InTreePlugin),
}

impl<'a> Counted<'a> {
    /// What the volume counts as, if it does. A claim goes before everything else.
    pub(super) fn of(volume: &'a Volume) -> Option<Self> {
        let sources = volume.iter().filter(|(_, source)| !source.is_null());
        sources
            .filter_map(|(field, source)| match field.as_str() {
                PERSISTENT_VOLUME_CLAIM => Some(Self::Claim(text(source, "claimName"))),
                EPHEMERAL => Some(Self::Ephemeral),
                field => InTreePlugin::by_field(field).map(Self::Inline),
            })
            .min()
    }
}

/// The name of a pod's volume.
pub(super) fn name_of(volume: &Volume) -> &str {
    volume.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Where volumes are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    /// The objects.
    pub(super) objects: &'a ObjectStore,
    /// Whether the node has a `CSINode`. Without one no in-tree volume has gone over to a driver.
    pub(super) has_csi_node: bool,
}

impl Lookup<'_> {
    /// Adds the volumes of the pod to be scheduled, which needs all its claims.
    pub(super) fn add_new(self, pod: &Pod, volumes: &mut Volumes) -> Result<(), Problem> {
        self.add(pod, volumes, true)
    }

    /// Adds the volumes of a pod on the node; claims that are gone do not count.
    pub(super) fn add_existing(self, pod: &Pod, volumes: &mut Volumes) -> Result<(), Problem> {
        self.add(pod, volumes, false)
    }

    fn add(self, pod: &Pod, volumes: &mut Volumes, is_new: bool) -> Result<(), Problem> {
        for volume in &pod.spec.volumes {
            let found = match Counted::of(volume) {
                None => None,
                Some(Counted::Inline(plugin)) => self.inline(pod, volume, plugin)?,
                Some(Counted::Claim(name)) => match self.claim(pod, name, is_new)? {
                    Some(claim) => self.driver_and_handle(claim),
                    None => None,
                },
                Some(Counted::Ephemeral) => {
                    let name = ephemeral::claim_name(pod, name_of(volume));
                    match self.claim(pod, &name, is_new)? {
                        Some(claim) => {
                            ephemeral::check_is_for_pod(pod, claim).map_err(Problem::Other)?;
                            self.driver_and_handle(claim)
                        }
                        None => None,
                    }
                }
            };
            if let Some((driver, handle)) = found {
                volumes.insert(unique_name(&driver, &handle), driver);
            }
        }
        Ok(())
    }

    fn claim(&self, pod: &Pod, name: &str, is_new: bool) -> Result<Option<&PersistentVolumeClaim>, Problem> {
        if name.is_empty() {
            return Err(Problem::Other("PersistentVolumeClaim had no name".to_owned()));
        }
        let namespace = &pod.metadata.namespace;
        match listers::claim(self.objects, namespace, name) {
            Ok(claim) => Ok(Some(claim)),
            Err(error) if is_new => {
                Err(Problem::NoClaim(format!("looking up PVC {namespace}/{name}: {error}")))
            }
            Err(_) => Ok(None),
        }
    }

    /// Whether nodes like this one have gone over to the plugin's driver (`isCSIMigrationOn`).
    const fn is_migrated(self, plugin: InTreePlugin) -> bool {
        self.has_csi_node && plugin.is_migrated()
    }

    fn inline(
        self,
        pod: &Pod,
        volume: &Volume,
        plugin: InTreePlugin,
    ) -> Result<Option<(Str, String)>, Problem> {
        if !self.is_migrated(plugin) {
            return Ok(None);
        }
        let source = inline_to_csi(volume, &pod.metadata.namespace).map_err(|error| {
            Problem::Other(format!("converting volume({}) from inline to csi: {error}", name_of(volume)))
        })?;
        Ok(Some((Str::from(source.driver), source.volume_handle)))
    }

    /// Driver and handle of a claim's volume; absent if it does not count.
    fn driver_and_handle(self, claim: &PersistentVolumeClaim) -> Option<(Str, String)> {
        let name = &claim.spec.volume_name;
        // A volume that is named and not there may have been deleted, or be still to come.
        let volume = if name.is_empty() { None } else { listers::volume(self.objects, name).ok() };
        let Some(volume) = volume else { return self.of_class(claim) };
        let (driver, handle) = match &volume.spec.csi {
            Some(csi) => (csi.driver.clone(), csi.volume_handle.to_string()),
            None => {
                InTreePlugin::of_persistent(volume).filter(|plugin| self.is_migrated(*plugin))?;
                let source = persistent_to_csi(volume).ok()?.source;
                (Str::from(source.driver), source.volume_handle)
            }
        };
        (!driver.is_empty() && !handle.is_empty()).then_some((driver, handle))
    }

    /// The driver that will make the claim's volume, with a handle that stands for it until then.
    fn of_class(self, claim: &PersistentVolumeClaim) -> Option<(Str, String)> {
        let class = listers::class(self.objects, claim.class()).ok()?;
        let driver = match InTreePlugin::by_name(&class.provisioner) {
            Some(plugin) if self.is_migrated(plugin) => Str::from(plugin.driver()),
            Some(_) => return None,
            None => class.provisioner.clone(),
        };
        // Upstream begins it with random characters, so that it is the handle of no volume.
        let handle = format!("{FOR_CLAIM}{}/{}", claim.metadata.namespace, claim.metadata.name);
        (!driver.is_empty()).then_some((driver, handle))
    }
}

/// `driver/handle` (`getVolumeUniqueName`).
pub(super) fn unique_name(driver: &str, handle: &str) -> String {
    format!("{driver}/{handle}")
}
