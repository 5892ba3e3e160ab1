//! What pods in PreBind wait for, and what plugins assume meanwhile: the part of the read model that plugins keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::ResourceClaim;
use crate::api::{Kind, NamespacedName, Str};
use crate::framework::CycleState;
use crate::plugins::dynamic_resources::evidence::{DeviceWait, device_wait};
use crate::plugins::helper::devices::{DeviceId, DeviceState};
use crate::plugins::names;
use crate::plugins::volume_binding::{SELECTED_NODE, VolumeState, VolumeWait, volume_wait};
use crate::queue::QueueProfile;

use super::Scheduler;
use super::view::{Assumption, BindingWait, Listeners};

/// What PreBind waits for in the attempt of that state.
pub(super) fn of_binding(state: &CycleState) -> Vec<BindingWait> {
    let volumes = volume_wait(state).map(|wait| BindingWait {
        plugin: names::VOLUME_BINDING,
        what: of_volumes(&wait),
        until: wait.until,
        next_look: wait.next_look,
    });
    let devices = device_wait(state).map(|wait| BindingWait {
        plugin: names::DYNAMIC_RESOURCES,
        what: of_devices(&wait),
        until: Some(wait.until),
        next_look: Some(wait.next_look),
    });
    volumes.into_iter().chain(devices).collect()
}

fn of_volumes(wait: &VolumeWait) -> Vec<String> {
    let bound = wait.bound.iter().map(|(claim, volume)| format!("claim {claim} to be bound to {volume}"));
    let made = wait.made.iter().map(|claim| format!("a volume to be made for claim {claim}"));
    let written = |(index, text): (usize, String)| {
        let is_written = index < wait.n_written;
        if is_written { text } else { format!("{text} (not written yet)") }
    };
    bound.chain(made).enumerate().map(written).collect()
}

fn of_devices(wait: &DeviceWait) -> Vec<String> {
    let mut lines = Vec::new();
    for device in &wait.devices {
        let (missing, failed) = (device.missing.join(", "), device.failed.join(", "));
        if !failed.is_empty() {
            lines.push(format!("device {} has failed: {failed}", device.id));
        } else if !missing.is_empty() {
            lines.push(format!("device {} to become {missing}", device.id));
        }
    }
    lines
}

/// The devices of a claim, each once.
fn devices(claim: &ResourceClaim) -> Vec<String> {
    let mut devices: Vec<String> = Vec::new();
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    for device in results.map(|result| DeviceId::of(result).to_string()) {
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    devices
}

/// Which plugin of which profile listens to which events.
pub(super) fn listeners(profiles: &BTreeMap<Str, QueueProfile>, has_extenders: bool) -> Listeners {
    let of_profile = |(name, profile): (&Str, &QueueProfile)| {
        let plugins = profile.framework.all.iter().map(|plugin| plugin.name());
        let extenders = has_extenders.then_some(super::extender_calls::EXTENDER_NAME);
        let events = |plugin: &'static str| (Str::from(plugin), profile.hints.events_of(plugin).collect());
        (name.clone(), plugins.chain(extenders).map(events).collect())
    };
    profiles.iter().map(of_profile).collect()
}

impl Scheduler {
    /// What plugins have assumed and no watch has reported.
    pub(super) fn assumptions(&self) -> Vec<Assumption> {
        let mut all = Vec::new();
        self.world.states.read(|state: &VolumeState| {
            for profile in self.world.profiles.keys() {
                let assumed = state.assumed(profile);
                let volumes = assumed.volumes().map(|volume| Assumption {
                    plugin: names::VOLUME_BINDING,
                    kind: Kind::PersistentVolume,
                    object: volume.metadata.key(),
                    what: match &volume.spec.claim_ref {
                        Some(claim) => {
                            let claim = NamespacedName::new(claim.namespace.clone(), claim.name.clone());
                            format!("given to claim {claim}")
                        }
                        None => "given to a claim".to_owned(),
                    },
                });
                let claims = assumed.claims().map(|claim| Assumption {
                    plugin: names::VOLUME_BINDING,
                    kind: Kind::PersistentVolumeClaim,
                    object: claim.metadata.key(),
                    what: match claim.metadata.annotations.get(SELECTED_NODE) {
                        Some(node) => format!("gets a new volume on {node}"),
                        None => "bound".to_owned(),
                    },
                });
                all.extend(volumes.chain(claims));
            }
        });
        self.world.states.read(|state: &DeviceState| {
            let of_claim = |claim: &Arc<ResourceClaim>, what: String| Assumption {
                plugin: names::DYNAMIC_RESOURCES,
                kind: Kind::ResourceClaim,
                object: claim.metadata.key(),
                what,
            };
            all.extend(state.claims.in_flight().map(|(_, claim)| {
                of_claim(claim, format!("gets {}, not written yet", devices(claim).join(", ")))
            }));
            all.extend(state.claims.assumed().map(|claim| {
                let devices = devices(claim);
                let has = if devices.is_empty() { "no devices".to_owned() } else { devices.join(", ") };
                of_claim(claim, format!("has {has}, written and not reported yet"))
            }));
        });
        all
    }

    /// The claims that have devices, those in flight included.
    pub(super) fn device_claims(&self) -> Vec<Arc<ResourceClaim>> {
        let of_state = |state: &DeviceState| {
            let known = self.world.objects.resource_claims.keys();
            let known = known.filter_map(|key| state.claims.get(&self.world.objects, key));
            let in_flight = state.claims.in_flight().map(|(_, claim)| claim);
            let has_devices = |claim: &&Arc<ResourceClaim>| claim.status.allocation.is_some();
            known.chain(in_flight).filter(has_devices).cloned().collect()
        };
        self.world.states.read(of_state).unwrap_or_default()
    }

    /// An attempt begins: what led to it is kept for people.
    pub(super) fn note_attempt(&mut self, pod: &NamespacedName) {
        if self.options.is_tracing {
            self.collect_moves();
            self.journal.pods.begin_attempt(pod);
        }
    }
}
