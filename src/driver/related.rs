//! An object with the objects that it names and that name it: what a person wants to see beside it.

use std::sync::Arc;

use crate::api::objects::{Pod, ResourceClaim, ResourceSlice};
use crate::api::selector::Selector;
use crate::api::store::{Kind, Object, ObjectStore};
use crate::api::{NamespacedName, Str};

/// So many of each kind at the most.
pub const RELATED_MAX: usize = 200;

/// The object and what it has to do with, as a store of their own; absent if there is no such object.
pub fn related(store: &ObjectStore, kind: Kind, key: &NamespacedName) -> Option<ObjectStore> {
    let object = store.get(kind, key)?;
    let mut found = ObjectStore::default();
    let namespace = &key.namespace;
    let mut take = |kind: Kind, key: NamespacedName| {
        if let Some(object) = store.get(kind, &key) {
            found.insert(object);
        }
    };
    let cluster = |name: &str| NamespacedName::cluster(Str::from(name));
    match &object {
        Object::PersistentVolumeClaim(claim) => {
            take(Kind::PersistentVolume, NamespacedName::cluster(claim.spec.volume_name.clone()));
            take(Kind::StorageClass, cluster(claim.class()));
            add_pods(&mut found, store, |pod| {
                pod.metadata.namespace == *namespace && pod.claim_names().any(|name| *name == *key.name)
            });
        }
        Object::PersistentVolume(volume) => {
            take(Kind::StorageClass, NamespacedName::cluster(volume.class().clone()));
            if let Some(claim) = &volume.spec.claim_ref {
                take(Kind::PersistentVolumeClaim, claim.key());
            }
        }
        Object::StorageClass(class) => {
            take(Kind::CSIDriver, NamespacedName::cluster(class.provisioner.clone()));
            let claims = store.persistent_volume_claims.values().filter(|claim| *claim.class() == *key.name);
            claims.take(RELATED_MAX).for_each(|claim| _ = found.insert(Arc::clone(claim).into()));
            let volumes = store.persistent_volumes.values().filter(|volume| *volume.class() == key.name);
            volumes.take(RELATED_MAX).for_each(|volume| _ = found.insert(Arc::clone(volume).into()));
            let capacities =
                store.csi_storage_capacities.values().filter(|of| of.storage_class_name == key.name);
            capacities.take(RELATED_MAX).for_each(|capacity| _ = found.insert(Arc::clone(capacity).into()));
        }
        Object::CSIDriver(_) => {
            let classes = store.storage_classes.values().filter(|class| class.provisioner == key.name);
            classes.take(RELATED_MAX).for_each(|class| _ = found.insert(Arc::clone(class).into()));
        }
        Object::ResourceClaim(claim) => {
            for request in &claim.spec.devices.requests {
                let classes = request.exactly.iter().map(|exactly| &exactly.device_class_name);
                let classes = classes.chain(request.first_available.iter().map(|sub| &sub.device_class_name));
                classes.for_each(|class| take(Kind::DeviceClass, NamespacedName::cluster(class.clone())));
            }
            let devices = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
            for device in devices {
                let has = |slice: &&Arc<ResourceSlice>| {
                    slice.spec.driver == device.driver
                        && slice.spec.pool.name == device.pool
                        && slice.spec.devices.iter().any(|it| it.name == device.device)
                };
                let slice = store.resource_slices.values().find(has);
                slice.into_iter().for_each(|slice| _ = found.insert(Arc::clone(slice).into()));
            }
            add_pods(&mut found, store, |pod| {
                pod.metadata.namespace == *namespace && names_claim(pod, &key.name)
            });
        }
        Object::ResourceSlice(slice) => {
            let uses = |claim: &&Arc<ResourceClaim>| {
                let results =
                    claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
                let is_of =
                    |driver: &Str, pool: &Str| *driver == slice.spec.driver && *pool == slice.spec.pool.name;
                results.into_iter().any(|it| {
                    is_of(&it.driver, &it.pool) && slice.spec.devices.iter().any(|d| d.name == it.device)
                })
            };
            let claims = store.resource_claims.values().filter(uses);
            claims.take(RELATED_MAX).for_each(|claim| _ = found.insert(Arc::clone(claim).into()));
        }
        Object::DeviceClass(_) => {
            let asks = |claim: &&Arc<ResourceClaim>| {
                claim.spec.devices.requests.iter().any(|request| {
                    let exactly = request.exactly.iter().map(|exactly| &exactly.device_class_name);
                    exactly
                        .chain(request.first_available.iter().map(|sub| &sub.device_class_name))
                        .any(|class| *class == key.name)
                })
            };
            let claims = store.resource_claims.values().filter(asks);
            claims.take(RELATED_MAX).for_each(|claim| _ = found.insert(Arc::clone(claim).into()));
        }
        Object::PodDisruptionBudget(budget) => {
            if let Ok(selector) = Selector::from_label_selector(budget.spec.selector.as_ref()) {
                add_pods(&mut found, store, |pod| {
                    pod.metadata.namespace == *namespace && selector.matches(&pod.metadata.labels)
                });
            }
        }
        Object::PodGroup(_) => add_pods(&mut found, store, |pod| {
            pod.metadata.namespace == *namespace && pod.pod_group_name() == Some(&key.name)
        }),
        Object::PriorityClass(_) => {
            add_pods(&mut found, store, |pod| *pod.spec.priority_class_name == *key.name);
        }
        _ => {}
    }
    found.insert(object);
    Some(found)
}

fn add_pods(found: &mut ObjectStore, store: &ObjectStore, is_one: impl Fn(&Pod) -> bool) {
    let pods = store.pods.values().filter(|pod| is_one(pod)).take(RELATED_MAX);
    pods.for_each(|pod| _ = found.insert(Arc::clone(pod).into()));
}

/// Whether a pod uses the claim of that name in its namespace, also one that was made for it.
pub fn names_claim(pod: &Pod, name: &str) -> bool {
    let named = pod.spec.resource_claims.iter().filter_map(|claim| claim.resource_claim_name.as_deref());
    let made =
        pod.status.resource_claim_statuses.iter().filter_map(|made| made.resource_claim_name.as_deref());
    let extended = pod.status.extended_resource_claim_status.iter().map(|made| &*made.resource_claim_name);
    named.chain(made).chain(extended).any(|claim| claim == name)
}
