//! Volumes that are attached to a node, or are to be, whether or not a pod there uses them.
//!
//! Follows `getNodeVolumeAttachmentInfo` and its index by node in `plugins/nodevolumelimits/csi.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::usage::{Volumes, unique_name};
use crate::api::objects::VolumeAttachment;
use crate::api::{NamespacedName, Object, ObjectStore, Str};
use crate::plugins::helper::listers;

/// The names of all attachments by node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
    by_node: BTreeMap<Str, BTreeSet<NamespacedName>>,
}

impl Attachments {
    /// The volumes of the node's attachments. One without driver or volume does not count, nor does one of a volume
    /// that is gone or not of CSI.
    pub(super) fn volumes(&self, node: &Str, objects: &ObjectStore) -> Volumes {
        let keys = self.by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| {
            let spec = &objects.volume_attachments.get(key)?.spec;
            let volume = listers::volume(objects, spec.source.persistent_volume_name.as_ref()?).ok()?;
            let handle = &volume.spec.csi.as_ref()?.volume_handle;
            let driver = Some(&spec.attacher).filter(|driver| !driver.is_empty())?;
            Some((unique_name(driver, handle), driver.clone()))
        })
        .collect()
    }

    /// The names of the volumes that the node's attachments are of, whether or not they are there.
    pub(super) fn volume_names<'a>(
        &self,
        node: &Str,
        objects: &'a ObjectStore,
    ) -> impl Iterator<Item = &'a Str> {
        let keys = self.by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| {
            objects.volume_attachments.get(key)?.spec.source.persistent_volume_name.as_ref()
        })
    }

    /// How many nodes have some.
    pub(super) fn len(&self) -> usize {
        self.by_node.len()
    }

    /// An attachment came, changed or is gone; others do not matter.
    pub(super) fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        if let Some(Object::VolumeAttachment(attachment)) = old {
            self.forget(attachment);
        }
        if let Some(Object::VolumeAttachment(attachment)) = new {
            let keys = self.by_node.entry(attachment.spec.node_name.clone()).or_default();
            keys.insert(attachment.metadata.key());
        }
    }

    fn forget(&mut self, attachment: &VolumeAttachment) {
        let node = &attachment.spec.node_name;
        if let Some(keys) = self.by_node.get_mut(node) {
            keys.remove(&attachment.metadata.key());
            if keys.is_empty() {
                self.by_node.remove(node);
            }
        }
    }
}
