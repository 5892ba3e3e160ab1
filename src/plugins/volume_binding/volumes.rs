//! Volumes and capacities with their selectors parsed, found by class.
//!
//! Follows the class index of `plugins/volumebinding/assume_cache.go`, `CheckNodeAffinity` of
//! `component-helpers/storage/volume` and `tryTranslatePVToCSI` of `binder.go`. What is here is drawn from the objects
//! that a watch has reported; what is only assumed is kept beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::api::node_selector::LazyNodeSelector;
use crate::api::objects::{
    CSINode, CSIStorageCapacity, Labels, MIGRATED_PLUGINS_ANNOTATION, NodeSelector, PersistentVolume,
};
use crate::api::{NamespacedName, Selector, Str};
use crate::plugins::helper::csi_translation::{InTreePlugin, persistent_to_csi};

/// From which nodes a volume can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach(Option<LazyNodeSelector>);

impl Reach {
    fn new(selector: Option<&NodeSelector>) -> Self {
        Self(selector.map(|selector| LazyNodeSelector::new(selector, "")))
    }

    /// A label that a node must have to reach it, with the values that it may have; absent if there is none.
    pub fn needed_label(&self) -> Option<(&str, &[Str])> {
        self.0.as_ref()?.needed_label()
    }

    /// Whether a node with these labels reaches it (`CheckNodeAffinity`).
    ///
    /// # Errors
    /// It does not; the text says why.
    pub fn check(&self, labels: &Labels) -> Result<(), String> {
        let Some(selector) = &self.0 else { return Ok(()) };
        match selector.try_matches_labels(labels) {
            Ok(true) => Ok(()),
            Ok(false) => Err("no matching NodeSelectorTerms".to_owned()),
            Err(errors) => Err(errors.to_string()),
        }
    }
}

/// A volume of an in-tree plugin whose place a CSI driver has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Migrated {
    plugin: InTreePlugin,
    reach: Result<Reach, String>,
}

/// A volume with its selectors parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownVolume {
    /// The volume as a watch last reported it.
    pub volume: Arc<PersistentVolume>,
    /// By its own node affinity.
    pub reach: Reach,
    migrated: Option<Migrated>,
}

impl KnownVolume {
    fn new(volume: &Arc<PersistentVolume>) -> Self {
        let affinity = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let plugin = InTreePlugin::of_persistent(volume).filter(|plugin| plugin.is_migrated());
        let migrated = plugin.map(|plugin| Migrated {
            plugin,
            reach: persistent_to_csi(volume)
                .map(|translated| Reach::new(translated.node_affinity.as_ref()))
                .map_err(|error| format!("could not translate pv: {error}")),
        });
        Self { volume: Arc::clone(volume), reach: Reach::new(affinity), migrated }
    }
}

/// A capacity with its selector parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownCapacity {
    /// The capacity.
    pub capacity: Arc<CSIStorageCapacity>,
    /// The nodes that can reach it; none if its selector is absent or cannot be parsed.
    pub nodes: Selector,
}

/// The volumes and capacities of a cluster.
#[derive(Clone, Default)]
pub struct KnownVolumes {
    volumes: BTreeMap<Str, Arc<KnownVolume>>,
    names_by_class: BTreeMap<Str, BTreeSet<Str>>,
    capacities_by_class: BTreeMap<Str, BTreeMap<NamespacedName, Arc<KnownCapacity>>>,
    migrated: MigratedPlugins,
}

/// The in-tree plugins whose CSI drivers serve their volumes on a node, by node.
#[derive(Clone, Debug, Default)]
pub struct MigratedPlugins(Arc<BTreeMap<Str, Vec<InTreePlugin>>>);

impl MigratedPlugins {
    /// From which nodes the volume can be reached, as seen from a node: where that has gone over to the CSI driver of
    /// an in-tree plugin, its volumes are translated (`isPluginMigratedToCSIOnNode`).
    ///
    /// # Errors
    /// It is one of CSI there and cannot be translated.
    pub fn reach_on<'a>(&self, node_name: &str, volume: &'a KnownVolume) -> Result<&'a Reach, String> {
        let Some(migrated) = &volume.migrated else { return Ok(&volume.reach) };
        if self.0.get(node_name).is_some_and(|plugins| plugins.contains(&migrated.plugin)) {
            return migrated.reach.as_ref().map_err(Clone::clone);
        }
        Ok(&volume.reach)
    }
}

/// How many there are; a person who looks at an attempt does not want to see all of them.
impl fmt::Debug for KnownVolumes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capacities: usize = self.capacities_by_class.values().map(BTreeMap::len).sum();
        f.debug_struct("KnownVolumes")
            .field("volumes", &self.volumes.len())
            .field("capacities", &capacities)
            .finish()
    }
}

impl KnownVolumes {
    /// A volume came, changed or is gone.
    pub fn put_volume(&mut self, old: Option<&PersistentVolume>, new: Option<&Arc<PersistentVolume>>) {
        if let Some(old) = old {
            self.volumes.remove(old.name());
            if let Some(names) = self.names_by_class.get_mut(old.class()) {
                names.remove(old.name());
                if names.is_empty() {
                    self.names_by_class.remove(old.class());
                }
            }
        }
        if let Some(new) = new {
            self.names_by_class.entry(new.class().clone()).or_default().insert(new.name().clone());
            self.volumes.insert(new.name().clone(), Arc::new(KnownVolume::new(new)));
        }
    }

    /// A capacity came, changed or is gone.
    pub fn put_capacity(&mut self, old: Option<&CSIStorageCapacity>, new: Option<&Arc<CSIStorageCapacity>>) {
        if let Some(old) = old
            && let Some(of_class) = self.capacities_by_class.get_mut(&old.storage_class_name)
        {
            of_class.remove(&old.metadata.key());
            if of_class.is_empty() {
                self.capacities_by_class.remove(&old.storage_class_name);
            }
        }
        if let Some(new) = new {
            let nodes = Selector::from_label_selector(new.node_topology.as_ref()).unwrap_or_default();
            let known = KnownCapacity { capacity: Arc::clone(new), nodes };
            let of_class = self.capacities_by_class.entry(new.storage_class_name.clone()).or_default();
            of_class.insert(new.metadata.key(), Arc::new(known));
        }
    }

    /// The drivers of a node came, changed or are gone.
    pub fn put_csi_node(&mut self, name: &Str, new: Option<&CSINode>) {
        let annotation = new.and_then(|node| node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION));
        let plugins = annotation.into_iter().flat_map(|names| names.split(','));
        let plugins: Vec<InTreePlugin> = plugins.filter_map(InTreePlugin::by_name).collect();
        let by_node = Arc::make_mut(&mut self.migrated.0);
        if plugins.is_empty() {
            by_node.remove(name);
        } else {
            by_node.insert(name.clone(), plugins);
        }
    }

    /// What nodes have gone over to.
    pub const fn migrated(&self) -> &MigratedPlugins {
        &self.migrated
    }

    /// The volume of that name.
    pub fn volume(&self, name: &str) -> Option<&Arc<KnownVolume>> {
        self.volumes.get(name)
    }

    /// The volumes of a class by name. Upstream lists them in the order of a Go map.
    pub fn of_class(&self, class: &str) -> impl Iterator<Item = &Arc<KnownVolume>> {
        let names = self.names_by_class.get(class).into_iter().flatten();
        names.filter_map(|name| self.volumes.get(name))
    }

    /// The capacities of a class by namespace and name. Upstream lists them in the order of a Go map.
    pub fn capacities(&self, class: &str) -> impl Iterator<Item = &Arc<KnownCapacity>> {
        self.capacities_by_class.get(class).into_iter().flat_map(BTreeMap::values)
    }
}
