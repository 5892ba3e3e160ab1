//! The way of a pod's volumes through PreBind: the writes one after the other, then a look once a second until the
//! controllers have bound everything.
//!
//! Follows `BindPodVolumes`, `bindAPIUpdate` and `checkBindings` of `plugins/volumebinding/binder.go`. The looks are at
//! what watches have reported, never at what is assumed.

use std::sync::Arc;

use crate::api::objects::{Node, PersistentVolumeClaim};
use crate::api::{Duration, Kind, NamespacedName, Object, ObjectStore, OfKind, Str, Time};
use crate::framework::{ApiWrite, WriteResult, WriteVerb};

use super::SELECTED_NODE;
use super::assume_cache::{VolumeState, not_found};
use super::binder::{Binding, PodVolumes};
use super::claims::is_fully_bound;
use super::volumes::KnownVolume;

/// How often the bindings are looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This has to be written, and its outcome told.
    Write(ApiWrite),
    /// A write is on its way.
    Wait,
    /// All is written; the bindings have to be looked at.
    Look,
}

/// How far the binding has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The claims for which volumes are made, as the server has them once they are written.
    claims: Vec<Arc<PersistentVolumeClaim>>,
    /// How many writes have ended.
    n_written: usize,
    /// Whether the next one is on its way.
    is_writing: bool,
    looks: Option<Looks>,
}

/// When the bindings are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Looks {
    next: Time,
    deadline: Time,
}

impl Progress {
    /// Nothing has been done yet.
    pub fn new(volumes: &PodVolumes) -> Self {
        let claims = volumes.provisions.iter().map(|provision| Arc::clone(&provision.claim)).collect();
        Self { claims, n_written: 0, is_writing: false, looks: None }
    }

    /// How many writes have ended.
    pub const fn n_written(&self) -> usize {
        self.n_written
    }

    /// When it is given up and when it is looked at next, once all is written.
    pub fn looks_until(&self) -> Option<(Time, Time)> {
        self.looks.map(|looks| (looks.deadline, looks.next))
    }

    /// Whether the outcome of a write is awaited.
    pub const fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// What is to be done next.
    pub fn next_step(&mut self, bindings: &[Binding]) -> Step {
        if self.is_writing {
            return Step::Wait;
        }
        let object = match bindings.get(self.n_written) {
            Some(binding) => Object::PersistentVolume(Arc::clone(&binding.volume)),
            None => match self.claims.get(self.n_written - bindings.len()) {
                Some(claim) => Object::PersistentVolumeClaim(Arc::clone(claim)),
                None => return Step::Look,
            },
        };
        self.is_writing = true;
        Step::Write(ApiWrite { verb: WriteVerb::Update, object })
    }

    /// A write has ended. What the server answered is what the bindings are compared with later.
    ///
    /// # Errors
    /// It has failed, and this is the server's word.
    pub fn written(&mut self, bindings: &mut [Binding], result: WriteResult) -> Result<(), String> {
        self.is_writing = false;
        let object = result.map_err(|failure| failure.to_string())?;
        let index = self.n_written;
        self.n_written += 1;
        let n_bindings = bindings.len();
        if let Some(binding) = bindings.get_mut(index) {
            if let Some(volume) = OfKind::of(&object) {
                binding.volume = Arc::clone(volume);
            }
        } else if let Some(claim) = self.claims.get_mut(index - n_bindings)
            && let Some(written) = OfKind::of(&object)
        {
            *claim = Arc::clone(written);
        }
        Ok(())
    }

    /// What was assumed and has not been written.
    pub fn not_written(&self, volumes: &PodVolumes) -> PodVolumes {
        let n_bindings = volumes.bindings.len();
        PodVolumes {
            bindings: volumes.bindings.iter().skip(self.n_written).cloned().collect(),
            provisions: volumes
                .provisions
                .iter()
                .skip(self.n_written.saturating_sub(n_bindings))
                .cloned()
                .collect(),
        }
    }

    /// Looks whether everything is bound, when it is time for that. Absent if not: it is to be asked again at the time
    /// that comes with it.
    ///
    /// # Errors
    /// The binding has failed, or taken too long.
    pub fn look(
        &mut self,
        now: Time,
        timeout: Duration,
        check: impl Fn(&[Arc<PersistentVolumeClaim>]) -> Result<bool, String>,
    ) -> Result<Option<Time>, String> {
        let looks = self.looks.get_or_insert(Looks { next: now + PERIOD, deadline: now + timeout });
        // Of a look and the deadline at the same time the look comes first. Upstream leaves that to chance: the ticker and
        // the end of the context are two timers.
        if looks.next <= now && looks.next <= looks.deadline {
            if check(&self.claims)? {
                return Ok(None);
            }
            while looks.next <= now {
                looks.next += PERIOD;
            }
        }
        if looks.deadline <= now {
            return Err("context deadline exceeded".to_owned());
        }
        Ok(Some(looks.next.min(looks.deadline)))
    }
}

/// What the bindings of a pod are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Checker<'a> {
    /// The pod.
    pub pod: &'a NamespacedName,
    /// Its node.
    pub node_name: &'a Str,
    /// The objects as watches have reported them.
    pub objects: &'a ObjectStore,
    /// The volumes with their selectors parsed.
    pub state: &'a VolumeState,
}

impl Checker<'_> {
    /// Whether all is bound (`checkBindings`).
    ///
    /// # Errors
    /// It never will be.
    pub fn check(&self, bindings: &[Binding], claims: &[Arc<PersistentVolumeClaim>]) -> Result<bool, String> {
        let name = self.node_name;
        let node = self
            .objects
            .node(name)
            .ok_or_else(|| format!("failed to get node {name:?}: node {name:?} not found"))?;
        if !self.objects.pods.contains_key(self.pod) {
            return Err(format!("pod does not exist any more: pod {:?} not found", self.pod.name));
        }
        for binding in bindings {
            if !self.is_bound(binding, node)? {
                return Ok(false);
            }
        }
        for claim in claims {
            if !self.is_provisioned(claim, node)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_bound(&self, binding: &Binding, node: &Node) -> Result<bool, String> {
        let failed = |reason: String| format!("failed to check binding: {reason}");
        let name = binding.volume.name();
        let known = self.state.known.volume(name).ok_or_else(|| {
            failed(not_found(Kind::PersistentVolume, &NamespacedName::cluster(name.clone())))
        })?;
        let key = binding.claim.key();
        let claim = self
            .objects
            .persistent_volume_claims
            .get(&key)
            .ok_or_else(|| failed(not_found(Kind::PersistentVolumeClaim, &key)))?;
        // The watch has not told of our own write yet.
        if version(&binding.volume.metadata.resource_version)
            > version(&known.volume.metadata.resource_version)
        {
            return Ok(false);
        }
        self.check_reach(known, node).map_err(|failure| match failure {
            Unreached::Untranslated(error) => format!("failed to translate pv to csi: {error}"),
            Unreached::Mismatch(text) => text,
        })?;
        if known.volume.spec.claim_ref.as_ref().is_none_or(|reference| reference.uid.is_empty()) {
            return Err(format!("ClaimRef got reset for pv {name:?}"));
        }
        Ok(is_fully_bound(claim))
    }

    fn is_provisioned(&self, written: &PersistentVolumeClaim, node: &Node) -> Result<bool, String> {
        let key = written.key();
        let claim = self.objects.persistent_volume_claims.get(&key).ok_or_else(|| {
            let reason = not_found(Kind::PersistentVolumeClaim, &key);
            format!("failed to check provisioning pvc: {reason}")
        })?;
        if version(&written.metadata.resource_version) > version(&claim.metadata.resource_version) {
            return Ok(false);
        }
        let name = &claim.metadata.name;
        if claim.metadata.annotations.is_empty() {
            return Err(format!("selectedNode annotation reset for PVC {name:?}"));
        }
        // Who cannot make the volume takes the annotation away.
        if claim.metadata.annotations.get(SELECTED_NODE) != Some(self.node_name) {
            return Err(format!("provisioning failed for PVC {name:?}"));
        }
        if !claim.spec.volume_name.is_empty() {
            // The watch may tell of the claim before it tells of the volume.
            let Some(known) = self.state.known.volume(&claim.spec.volume_name) else { return Ok(false) };
            self.check_reach(known, node).map_err(|failure| match failure {
                Unreached::Untranslated(text) | Unreached::Mismatch(text) => text,
            })?;
        }
        Ok(is_fully_bound(claim))
    }

    fn check_reach(&self, known: &KnownVolume, node: &Node) -> Result<(), Unreached> {
        let reach =
            self.state.known.migrated().reach_on(node.name(), known).map_err(Unreached::Untranslated)?;
        reach.check(&node.metadata.labels).map_err(|reason| {
            Unreached::Mismatch(format!(
                "pv {:?} node affinity doesn't match node {:?}: {reason}",
                known.volume.name(),
                node.name()
            ))
        })
    }
}

/// Why a volume cannot be reached.
enum Unreached {
    Untranslated(String),
    Mismatch(String),
}

/// A resourceVersion as a number, as the API server's own storage compares it.
fn version(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}
