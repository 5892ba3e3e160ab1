//! Claims as the scheduler assumes them, and allocations that are in flight.
//!
//! Follows the claim tracker of `plugins/dynamicresources/dra_manager.go` and `util/assumecache`. A claim that was
//! written is assumed until a watch reports it; what the watch reports of an older version is not told on. An allocation
//! that a pod has reserved and not written yet is in flight: its devices count as allocated, and no other pod may use
//! the claim but those that are tried in the same cycle of a pod group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::allocated::{AllocatedDevices, AllocatedState};
use crate::api::objects::{AllocationResult, ResourceClaim};
use crate::api::{Digest, Digestible, NamespacedName, Object, ObjectStore, Str, Uid};
use crate::framework::{ObjectChange, Told};

/// Marks the claim for the extended resources of a pod.
pub const EXTENDED_RESOURCE_CLAIM_ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";

/// The claims of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Whether shares of devices count by themselves (DRAConsumableCapacity).
    shares: bool,
    assumed: BTreeMap<NamespacedName, Arc<ResourceClaim>>,
    allocated: Arc<AllocatedDevices>,
    in_flight: BTreeMap<Uid, InFlight>,
    in_flight_devices: Arc<AllocatedDevices>,
    /// The claims for extended resources, by the pods that own them.
    of_pods: BTreeMap<Uid, BTreeSet<NamespacedName>>,
}

/// An allocation that was reserved and is not written.
#[derive(Clone, Debug)]
struct InFlight {
    claim: Arc<ResourceClaim>,
    /// How many pods have reserved it.
    n_sharers: usize,
    /// The cycle of the pod group in which that was done last, if it was in one.
    pod_group_cycle: Option<u64>,
}

fn version(claim: &ResourceClaim) -> Option<u64> {
    claim.metadata.resource_version.parse().ok()
}

impl Claims {
    /// No claims. `shares` is the gate DRAConsumableCapacity.
    pub fn new(shares: bool) -> Self {
        Self { shares, ..Self::default() }
    }

    /// A claim by its key, the assumed one first (`AssumeCache.Get`).
    pub fn get<'a>(
        &'a self,
        objects: &'a ObjectStore,
        key: &NamespacedName,
    ) -> Option<&'a Arc<ResourceClaim>> {
        let known = objects.resource_claims.get(key)?;
        Some(self.assumed.get(key).unwrap_or(known))
    }

    /// The claim for the extended resources of a pod (`findExtendedResourceClaim`); of several the first by name.
    pub fn of_pod<'a>(
        &'a self,
        objects: &'a ObjectStore,
        name: &str,
        uid: &Uid,
    ) -> Option<&'a Arc<ResourceClaim>> {
        let mut claims = self.of_pods.get(uid)?.iter().filter_map(|key| self.get(objects, key));
        claims.find(|claim| owners(claim).any(|owner| owner.name == name && owner.uid == uid.as_ref()))
    }

    /// What is allocated now.
    pub fn allocated_state(&self) -> AllocatedState {
        AllocatedState {
            by_claims: Arc::clone(&self.allocated),
            in_flight: Arc::clone(&self.in_flight_devices),
        }
    }

    /// The allocation that is in flight for a claim.
    pub fn pending_allocation(&self, uid: &Uid) -> Option<&AllocationResult> {
        self.in_flight.get(uid)?.claim.status.allocation.as_ref()
    }

    /// The same, if it was reserved in that cycle of a pod group: the other members may use it, too.
    pub fn shared_allocation(&self, uid: &Uid, pod_group_cycle: Option<u64>) -> Option<&AllocationResult> {
        let in_flight = self.in_flight.get(uid)?;
        let is_shared = pod_group_cycle.is_some() && in_flight.pod_group_cycle == pod_group_cycle;
        in_flight.claim.status.allocation.as_ref().filter(|_| is_shared)
    }

    /// The claims whose allocation is in flight, by the UIDs that they had when it was reserved.
    pub fn in_flight(&self) -> impl Iterator<Item = (&Uid, &Arc<ResourceClaim>)> {
        self.in_flight.iter().map(|(uid, in_flight)| (uid, &in_flight.claim))
    }

    /// The claims that are assumed to be as they were written.
    pub fn assumed(&self) -> impl Iterator<Item = &Arc<ResourceClaim>> {
        self.assumed.values()
    }

    /// An allocation is in flight from now on, for one pod more (`SignalClaimPendingAllocation`).
    pub fn add_in_flight(&mut self, uid: Uid, claim: Arc<ResourceClaim>, pod_group_cycle: Option<u64>) {
        if let Some(in_flight) = self.in_flight.get_mut(&uid) {
            in_flight.n_sharers += 1;
            in_flight.pod_group_cycle = pod_group_cycle.or(in_flight.pod_group_cycle);
            return;
        }
        Arc::make_mut(&mut self.in_flight_devices).add(&claim, self.shares);
        self.in_flight.insert(uid, InFlight { claim, n_sharers: 1, pod_group_cycle });
    }

    /// A pod does not need an allocation in flight any more. It is no longer in flight if that was the last one, or
    /// if it `is_written`. False if it still is, or was not (`MaybeRemoveClaimPendingAllocation`).
    pub fn remove_in_flight(&mut self, uid: &Uid, is_written: bool) -> bool {
        let Some(in_flight) = self.in_flight.get_mut(uid) else { return false };
        if in_flight.n_sharers > 1 && !is_written {
            in_flight.n_sharers -= 1;
            return false;
        }
        if let Some(in_flight) = self.in_flight.remove(uid) {
            Arc::make_mut(&mut self.in_flight_devices).remove(&in_flight.claim, self.shares);
        }
        true
    }

    /// Takes a claim that was written for the present one (`Assume`). The answer is what is to be told of it.
    ///
    /// # Errors
    /// There is no such claim, or a newer one.
    pub fn assume(
        &mut self,
        objects: &ObjectStore,
        claim: Arc<ResourceClaim>,
    ) -> Result<Option<ObjectChange>, AssumeError> {
        let key = claim.metadata.key();
        let Some(known) = self.get(objects, &key).cloned() else { return Err(AssumeError::NotFound) };
        if version(&claim) < version(&known) {
            return Err(AssumeError::OutOfSync);
        }
        if claim == known {
            return Ok(None);
        }
        self.count(Some(&known), Some(&claim));
        self.assumed.insert(key, Arc::clone(&claim));
        Ok(Some((Some(Object::ResourceClaim(known)), Some(Object::ResourceClaim(claim)))))
    }

    /// Takes the claim as a watch has reported it (`Restore`). The answer is what is to be told of it.
    pub fn restore(&mut self, objects: &ObjectStore, key: &NamespacedName) -> Option<ObjectChange> {
        let assumed = self.assumed.remove(key)?;
        let known = objects.resource_claims.get(key)?;
        self.count(Some(&assumed), Some(known));
        Some((Some(Object::ResourceClaim(assumed)), Some(Object::ResourceClaim(Arc::clone(known)))))
    }

    /// A watch has reported a change.
    pub fn changed(&mut self, old: Option<&Arc<ResourceClaim>>, new: Option<&Arc<ResourceClaim>>) -> Told {
        let Some(claim) = new.or(old) else { return Told::AsReported };
        let key = claim.metadata.key();
        let assumed = self.assumed.get(&key);
        if let (Some(assumed), Some(new)) = (assumed, new)
            && version(new) <= version(assumed)
        {
            if version(new) == version(assumed) {
                let assumed = self.assumed.remove(&key);
                self.count(assumed.as_ref(), Some(new));
            }
            return Told::Instead(Vec::new());
        }
        let latest = self.assumed.remove(&key);
        self.count(latest.as_ref().or(old), new);
        // Between the two writes that allocate a claim a watch may report the first, which adds a finalizer. Upstream
        // hears of it only when it knows better, and nobody waits for it.
        if let (None, Some(old), Some(new)) = (&latest, old, new)
            && old.status == new.status
            && old.metadata.finalizers != new.metadata.finalizers
            && self.in_flight.contains_key(&new.metadata.uid)
        {
            return Told::Instead(Vec::new());
        }
        match latest {
            None => Told::AsReported,
            Some(latest) => {
                let new = new.cloned().map(Object::ResourceClaim);
                Told::Instead(vec![(Some(Object::ResourceClaim(latest)), new)])
            }
        }
    }

    /// Keeps the sums right when `new` takes the place of `old`.
    fn count(&mut self, old: Option<&Arc<ResourceClaim>>, new: Option<&Arc<ResourceClaim>>) {
        // An allocation comes and goes and does not change: API servers see to that. But a claim may have been made anew
        // under the same name while the watch was lost (DIVERGES: kube-scheduler then keeps the old one's devices).
        let has_allocation = |claim: &&Arc<ResourceClaim>| claim.status.allocation.is_some();
        let (was, is) = (old.filter(has_allocation), new.filter(has_allocation));
        let is_kept = was.zip(is).is_some_and(|(was, is)| was.metadata.uid == is.metadata.uid);
        if !is_kept && (was.is_some() || is.is_some()) {
            let devices = Arc::make_mut(&mut self.allocated);
            if let Some(was) = was {
                devices.remove(was, self.shares);
            }
            if let Some(is) = is {
                devices.add(is, self.shares);
            }
        }
        if let Some(old) = old.filter(|claim| is_for_extended_resources(claim)) {
            for owner in owners(old) {
                let uid = Uid::from(owner.uid.as_str());
                if let Some(keys) = self.of_pods.get_mut(&uid) {
                    keys.remove(&old.metadata.key());
                    if keys.is_empty() {
                        self.of_pods.remove(&uid);
                    }
                }
            }
        }
        if let Some(new) = new.filter(|claim| is_for_extended_resources(claim)) {
            for owner in owners(new) {
                let keys = self.of_pods.entry(Uid::from(owner.uid.as_str())).or_default();
                keys.insert(new.metadata.key());
            }
        }
    }
}

fn is_for_extended_resources(claim: &ResourceClaim) -> bool {
    claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM_ANNOTATION).is_some_and(|on| on.as_ref() == "true")
}

fn owners(claim: &ResourceClaim) -> impl Iterator<Item = &crate::api::objects::OwnerReference> {
    claim.metadata.owner_references.iter().filter(|owner| owner.controller)
}

/// Why a claim cannot be assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssumeError {
    /// No watch has reported it yet.
    NotFound,
    /// A watch has reported a newer one.
    OutOfSync,
}

impl Digestible for Claims {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.assumed.len());
        for claim in self.assumed.values() {
            digest_claim(claim, digest);
        }
        self.allocated.digest(digest);
        digest.len(self.in_flight.len());
        for (uid, in_flight) in &self.in_flight {
            digest.str(uid).len(in_flight.n_sharers);
            digest_claim(&in_flight.claim, digest);
        }
        self.in_flight_devices.digest(digest);
    }
}

fn digest_claim(claim: &ResourceClaim, digest: &mut Digest) {
    let text = |text: &Str, digest: &mut Digest| {
        digest.str(text);
    };
    text(&claim.metadata.namespace, digest);
    text(&claim.metadata.name, digest);
    digest.str(&claim.metadata.uid).str(&claim.metadata.resource_version);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn claim(version: u64, device: Option<&str>) -> Arc<ResourceClaim> {
        let allocation = device.map_or_else(String::new, |device| {
            format!("allocation: {{devices: {{results: [{{driver: d, pool: p, device: {device}}}]}}}}")
        });
        let yaml = format!(
            "{{metadata: {{name: c, namespace: default, uid: c, resourceVersion: '{version}'}}, status: {{{allocation}}}}}"
        );
        Arc::new(serde_saphyr::from_str(&yaml).unwrap())
    }

    /// Claims, and the objects that a watch has reported.
    #[derive(Default)]
    struct World {
        claims: Claims,
        objects: ObjectStore,
    }

    impl World {
        fn report(&mut self, new: Option<&Arc<ResourceClaim>>) -> Told {
            let key = claim(0, None).metadata.key();
            let old = match new {
                Some(new) => self.objects.resource_claims.insert(key, Arc::clone(new)),
                None => self.objects.resource_claims.remove(&key),
            };
            self.claims.changed(old.as_ref(), new)
        }

        fn is_allocated(&self, device: &str) -> bool {
            let id = super::super::PoolId { driver: "d".into(), pool: "p".into() };
            let state = self.claims.allocated_state();
            state.pool(&id).iter().flatten().any(|in_use| in_use.is_allocated(device))
        }
    }

    #[test]
    fn an_assumed_claim_counts_until_a_watch_reports_a_newer_one() {
        let mut world = World::default();
        world.report(Some(&claim(1, None)));
        let told = world.claims.assume(&world.objects, claim(3, Some("d0"))).unwrap();
        assert!(told.is_some());
        assert!(world.is_allocated("d0"));
        assert_eq!(
            world.report(Some(&claim(2, None))),
            Told::Instead(Vec::new()),
            "older than what is assumed"
        );
        assert!(world.is_allocated("d0"));
        assert_eq!(world.report(Some(&claim(3, Some("d0")))), Told::Instead(Vec::new()), "told already");
        let told = world.report(Some(&claim(4, None)));
        assert_eq!(told, Told::AsReported);
        assert!(!world.is_allocated("d0"));
    }

    #[test]
    fn only_what_is_known_and_not_newer_can_be_assumed() {
        let mut world = World::default();
        assert_eq!(world.claims.assume(&world.objects, claim(1, None)), Err(AssumeError::NotFound));
        world.report(Some(&claim(2, None)));
        assert_eq!(world.claims.assume(&world.objects, claim(1, None)), Err(AssumeError::OutOfSync));
    }

    #[derive(Clone, Debug)]
    enum Deed {
        Report(bool),
        Gone,
        Assume(bool),
        Restore,
        Reserve,
        GiveBack,
        Written,
    }

    fn deeds() -> impl Strategy<Value = Vec<Deed>> {
        let deed = prop_oneof![
            any::<bool>().prop_map(Deed::Report),
            Just(Deed::Gone),
            any::<bool>().prop_map(Deed::Assume),
            Just(Deed::Restore),
            Just(Deed::Reserve),
            Just(Deed::GiveBack),
            Just(Deed::Written),
        ];
        prop::collection::vec(deed, 0..30)
    }

    proptest! {
        /// Whatever happened before: when all is given back and the claim is gone, nothing is left.
        #[test]
        fn assume_and_restore_leave_no_trace(deeds in deeds()) {
            let mut world = World::default();
            let key = claim(0, None).metadata.key();
            let mut n_sharers = 0_usize;
            for (version, deed) in (1..).zip(deeds) {
                let with = |is_allocated: bool| claim(version, is_allocated.then_some("d0"));
                match deed {
                    Deed::Report(is_allocated) => drop(world.report(Some(&with(is_allocated)))),
                    Deed::Gone => drop(world.report(None)),
                    Deed::Assume(is_allocated) => {
                        drop(world.claims.assume(&world.objects, with(is_allocated)));
                    }
                    Deed::Restore => drop(world.claims.restore(&world.objects, &key)),
                    Deed::Reserve => {
                        n_sharers += 1;
                        world.claims.add_in_flight("c".into(), with(true), None);
                    }
                    Deed::GiveBack => {
                        let was_last = world.claims.remove_in_flight(&"c".into(), false);
                        prop_assert_eq!(was_last, n_sharers == 1);
                        n_sharers = n_sharers.saturating_sub(1);
                    }
                    Deed::Written => {
                        let was_in_flight = world.claims.remove_in_flight(&"c".into(), true);
                        prop_assert_eq!(was_in_flight, n_sharers > 0);
                        n_sharers = 0;
                    }
                }
                prop_assert_eq!(world.claims.pending_allocation(&"c".into()).is_some(), n_sharers > 0);
                let known = world.claims.get(&world.objects, &key);
                let has = known.is_some_and(|claim| claim.status.allocation.is_some())
                    || world.claims.pending_allocation(&"c".into()).is_some();
                prop_assert_eq!(world.is_allocated("d0"), has);
            }
            world.claims.remove_in_flight(&"c".into(), true);
            world.report(None);
            let mut clean = Digest::new();
            Claims::default().digest(&mut clean);
            let mut left = Digest::new();
            world.claims.digest(&mut left);
            prop_assert_eq!(left.finish(), clean.finish());
        }
    }
}
