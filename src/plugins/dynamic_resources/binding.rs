//! PreBind: claims are written with their allocation and with the pod as one that may use them; then the devices are
//! waited for.
//!
//! Follows `PreBind` and `bindClaim` of `dynamicresources.go`. Upstream's calls block; here each is a step: what has been
//! written is remembered in the [`Binding`], and PreBind is asked again when the outcome is there.

use std::sync::Arc;

use super::binding_conditions;
use super::claim_store::{consumer, is_in_memory, is_reserved_for};
use super::extended_resources::generate_name;
use super::reservation::add_finalizer;
use super::state::{StateData, read, read_mut};
use super::{DynamicResources, node_allocatable};
use crate::api::objects::{AllocationResult, Pod, PodExtendedResourceClaimStatus, ResourceClaim};
use crate::api::{Duration, Object, Str, Time, Uid};
use crate::framework::api_write::{ApiFailure, ApiFailureReason};
use crate::framework::{
    ApiWrite, CycleState, Handle, HandleRequest, Plugin, PodInfo, PreBindPlugin, PreBindPreFlightResult,
    PreBindProgress, Status, WriteResult, WriteVerb,
};
use crate::plugins::helper::devices::{AssumeError, DeviceState};

/// How often a write that met another one is tried in all (`retry.DefaultRetry`).
const MAX_ATTEMPTS: u32 = 5;
/// The time before it is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// How long a new claim may take to be reported by a watch.
const VISIBLE_WITHIN: Duration = Duration::from_secs(120);
/// How often it is looked for.
const VISIBLE_INTERVAL: Duration = Duration::from_secs(1);
/// How often conditions are looked at.
const CONDITIONS_INTERVAL: Duration = Duration::from_secs(5);

/// How far PreBind has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding {
    /// The claim that is being written.
    index: usize,
    /// Its UID among those in flight.
    uid: Uid,
    step: Step,
}

impl Binding {
    /// Until when devices are waited for, and when they are looked at next, while that is so.
    pub(super) const fn wait_for_devices(&self) -> Option<(Time, Time)> {
        match self.step {
            Step::Conditions { until, next } => Some((until, next)),
            _ => None,
        }
    }
}

/// What comes next.
#[derive(Clone, Debug, Default)]
enum Step {
    /// Begin with the claim.
    #[default]
    Claim,
    /// The claim for extended resources is being created.
    Created,
    /// The finalizer is being written.
    Finalized { attempt: u32 },
    /// Allocation and reservation are being written.
    Reserved { attempt: u32 },
    /// Somebody else has written the claim: try again with theirs.
    Retry { attempt: u32, at: Time },
    /// The status of the pod is being written.
    PodPatched { claim: Arc<ResourceClaim> },
    /// The new claim is to be reported by a watch; then go on, or end with this error.
    Visible { claim: Arc<ResourceClaim>, until: Time, next: Time, error: Option<String> },
    /// All claims are written.
    Claims,
    /// What devices take from the node is being written to the status of the pod.
    NodeAllocatable,
    /// The devices are to become ready.
    Conditions { until: Time, next: Time },
}

/// What a step leads to.
enum Next {
    /// The next step at once.
    Go(Step),
    /// The outcome of a write.
    Write(Step, ApiWrite),
    /// A time, or a change of an object.
    Wait(Step, Time),
    /// The end.
    End(Status),
}

impl PreBindPlugin for DynamicResources {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let status = match read(state) {
            Ok(data) if data.claims.is_empty() => Status::skip(),
            Ok(_) => Status::SUCCESS,
            Err(status) => status,
        };
        (PreBindPreFlightResult { allow_parallel: true }, status)
    }

    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
        cancelled: Option<&str>,
    ) -> PreBindProgress {
        loop {
            let outcome = state.take_write_result(self.name()).map(|(_, outcome)| outcome);
            let data = match read_mut(state) {
                Ok(data) => data,
                Err(status) => return PreBindProgress::Done(status),
            };
            if data.claims.is_empty() {
                return PreBindProgress::Done(Status::SUCCESS);
            }
            if data.binding.step.is_write() && outcome.is_none() {
                return PreBindProgress::Pending { wake_at: None };
            }
            let step = std::mem::take(&mut data.binding.step);
            let next = Binder { plugin: self, handle, pod: &pod.pod, node_name, data }.go(step, outcome);
            if let Some(reason) = cancelled
                && !matches!(next, Next::End(_))
            {
                return PreBindProgress::Done(Status::error(reason));
            }
            let (step, progress) = match next {
                Next::Go(step) => (step, None),
                Next::Write(step, write) => {
                    let (pod, plugin) = (pod.uid().clone(), self.name());
                    handle.request(HandleRequest::Write { pod, plugin, write });
                    (step, Some(PreBindProgress::Pending { wake_at: None }))
                }
                Next::Wait(step, at) => (step, Some(PreBindProgress::Pending { wake_at: Some(at) })),
                Next::End(status) => return PreBindProgress::Done(status),
            };
            if let Ok(data) = read_mut(state) {
                data.binding.step = step;
            }
            if let Some(progress) = progress {
                return progress;
            }
        }
    }
}

impl Step {
    /// Whether the outcome of a write is waited for.
    const fn is_write(&self) -> bool {
        matches!(
            self,
            Self::Created
                | Self::Finalized { .. }
                | Self::Reserved { .. }
                | Self::PodPatched { .. }
                | Self::NodeAllocatable
        )
    }
}

/// Does one step.
struct Binder<'a> {
    plugin: &'a DynamicResources,
    handle: &'a Handle<'a>,
    pod: &'a Pod,
    node_name: &'a Str,
    data: &'a mut StateData,
}

impl Binder<'_> {
    fn go(&mut self, step: Step, outcome: Option<WriteResult>) -> Next {
        let outcome = outcome.unwrap_or_else(|| {
            let message = "no outcome".to_owned();
            Err(ApiFailure { reason: ApiFailureReason::Other, message })
        });
        match step {
            Step::Claim => self.begin(),
            Step::Created => match as_claim(outcome) {
                Ok(claim) => {
                    self.data.claims.set(self.data.binding.index, Arc::clone(&claim));
                    self.prepare(&claim, 1)
                }
                Err(failure) => {
                    let namespace = &self.pod.metadata.namespace;
                    self.give_up(format!("create claim for extended resources {namespace}/: {failure}"))
                }
            },
            Step::Finalized { attempt } => match as_claim(outcome) {
                Ok(claim) => self.reserve(ResourceClaim::clone(&claim), attempt),
                Err(failure) => self.failed(&failure, "add finalizer to claim", attempt),
            },
            Step::Reserved { attempt } => match as_claim(outcome) {
                Ok(claim) => self.reserved(claim),
                Err(failure) if self.allocation().is_some() => {
                    self.failed(&failure, "add allocation and reservation to claim", attempt)
                }
                Err(failure) => self.failed(&failure, "add reservation to claim", attempt),
            },
            Step::Retry { attempt, at } if self.handle.now < at => {
                Next::Wait(Step::Retry { attempt, at }, at)
            }
            Step::Retry { attempt, .. } => self.retry(attempt),
            Step::PodPatched { claim } => {
                let (namespace, name) = (&self.pod.metadata.namespace, &self.pod.metadata.name);
                let error = outcome.err().map(|failure| {
                    format!("update pod {namespace}/{name} ExtendedResourceClaimStatus: {failure}")
                });
                self.appear(claim, error)
            }
            Step::Visible { claim, until, next, error } => self.look_for(claim, until, next, error),
            Step::Claims => self.all_written(),
            Step::NodeAllocatable => match outcome {
                Ok(_) => self.begin_waiting(),
                Err(failure) => {
                    let (namespace, name) = (&self.pod.metadata.namespace, &self.pod.metadata.name);
                    let what = "NodeAllocatableResourceClaimStatuses";
                    Next::End(Status::error(format!("updating pod {namespace}/{name} {what}: {failure}")))
                }
            },
            Step::Conditions { until, next } => self.look_at_conditions(until, next),
        }
    }

    fn allocation(&self) -> Option<&AllocationResult> {
        let information = self.data.information.get(self.data.binding.index);
        information.and_then(|information| information.allocation.as_ref())
    }

    fn claim(&self) -> Option<Arc<ResourceClaim>> {
        self.data.claims.get(self.data.binding.index).cloned()
    }

    fn is_special(&self) -> bool {
        self.data.claims.is_special(self.data.binding.index)
    }

    /// Begins with the next claim that the pod may not use yet.
    fn begin(&mut self) -> Next {
        let Some(claim) = self.claim() else { return Next::Go(Step::Claims) };
        let is_served =
            self.is_special() && self.allocation().is_none() && claim.spec.devices.requests.is_empty();
        if is_served || is_reserved_for(self.pod, &claim) {
            return self.next_claim();
        }
        self.data.binding.uid = claim.metadata.uid.clone();
        if !self.is_special() || !is_in_memory(&claim) {
            return self.prepare(&claim, 1);
        }
        let found = self.data.nodes.get(self.node_name);
        let Some(special) = found.and_then(|found| found.special.clone()) else {
            return self.give_up(format!("extended resource claim not found for node {}", self.node_name));
        };
        let mut special = ResourceClaim::clone(&special);
        special.status.allocation = None;
        special.metadata.name = generate_name(self.pod);
        special.metadata.uid = Uid::from("");
        Next::Write(Step::Created, ApiWrite { verb: WriteVerb::Create, object: special.into() })
    }

    fn next_claim(&mut self) -> Next {
        self.data.binding.index += 1;
        Next::Go(Step::Claim)
    }

    /// The first write to a claim that exists.
    fn prepare(&mut self, claim: &Arc<ResourceClaim>, attempt: u32) -> Next {
        let key = claim.metadata.key();
        if claim.metadata.deletion_timestamp.is_some() {
            return self.give_up(format!("claim {key} got deleted in the meantime"));
        }
        if self.allocation().is_none() {
            return self.reserve(ResourceClaim::clone(claim), attempt);
        }
        if claim.status.allocation.is_some() {
            return self.give_up(format!("claim {key} got allocated elsewhere in the meantime"));
        }
        let mut claim = ResourceClaim::clone(claim);
        if !add_finalizer(&mut claim) {
            return self.reserve(claim, attempt);
        }
        let write = ApiWrite { verb: WriteVerb::Update, object: claim.into() };
        Next::Write(Step::Finalized { attempt }, write)
    }

    fn reserve(&mut self, mut claim: ResourceClaim, attempt: u32) -> Next {
        if let Some(allocation) = self.allocation() {
            claim.status.allocation = Some(allocation.clone());
        }
        claim.status.reserved_for.push(consumer(self.pod));
        if self.plugin.features.device_binding_and_status {
            let Some(allocation) = &mut claim.status.allocation else {
                let key = claim.metadata.key();
                return self.give_up(format!("claim {key} got deallocated elsewhere in the meantime"));
            };
            allocation.allocation_timestamp.get_or_insert(self.handle.now);
        }
        let write = ApiWrite { verb: WriteVerb::UpdateStatus, object: claim.into() };
        Next::Write(Step::Reserved { attempt }, write)
    }

    /// The claim is allocated, and the pod may use it.
    fn reserved(&mut self, claim: Arc<ResourceClaim>) -> Next {
        if !self.is_special() {
            let is_assumed = self.assume(&claim).is_ok();
            self.finish(claim, is_assumed);
            return self.next_claim();
        }
        self.data.claims.set(self.data.binding.index, Arc::clone(&claim));
        let found = self.data.nodes.get(self.node_name);
        let mappings = found.map(|found| found.mappings.clone()).unwrap_or_default();
        if mappings.is_empty() {
            let (namespace, name) = (&self.pod.metadata.namespace, &self.pod.metadata.name);
            let error = format!(
                "nil or empty request mappings, no update of pod {namespace}/{name} ExtendedResourceClaimStatus"
            );
            return self.appear(claim, Some(error));
        }
        let mut pod = latest_pod(self.handle, self.pod);
        pod.status.extended_resource_claim_status = Some(PodExtendedResourceClaimStatus {
            request_mappings: mappings,
            resource_claim_name: claim.metadata.name.clone(),
        });
        let write = ApiWrite { verb: WriteVerb::PatchStatus, object: pod.into() };
        Next::Write(Step::PodPatched { claim }, write)
    }

    /// Takes the claim for the present one until a watch reports it.
    fn assume(&self, claim: &Arc<ResourceClaim>) -> Result<(), AssumeError> {
        let handle = self.handle;
        let assumed = handle.change_state(|devices: &mut DeviceState| {
            devices.claims.assume(handle.objects, Arc::clone(claim))
        });
        if let Some(change) = assumed.transpose()?.flatten() {
            handle.request(HandleRequest::TellOf(change));
        }
        Ok(())
    }

    /// The work on a claim has ended: its allocation is not in flight any more, unless other pods share it.
    fn finish(&mut self, claim: Arc<ResourceClaim>, is_assumed: bool) {
        self.remove_in_flight(is_assumed);
        self.data.claims.set(self.data.binding.index, claim);
    }

    fn remove_in_flight(&self, is_assumed: bool) {
        if self.allocation().is_some() {
            let uid = &self.data.binding.uid;
            self.handle
                .change_state(|devices: &mut DeviceState| devices.claims.remove_in_flight(uid, is_assumed));
        }
    }

    /// A write has failed. A claim for extended resources that exists already is waited for before the end.
    fn give_up(&mut self, error: String) -> Next {
        match self.claim().filter(|claim| self.is_special() && !is_in_memory(claim)) {
            Some(claim) if claim.metadata.uid != self.data.binding.uid => self.appear(claim, Some(error)),
            _ => {
                self.remove_in_flight(false);
                Next::End(Status::error(error))
            }
        }
    }

    fn failed(&mut self, failure: &ApiFailure, what: &str, attempt: u32) -> Next {
        if failure.reason == ApiFailureReason::Conflict && attempt < MAX_ATTEMPTS {
            let at = self.handle.now.saturating_add(RETRY_AFTER);
            return Next::Wait(Step::Retry { attempt: attempt + 1, at }, at);
        }
        let key = self.claim().map(|claim| claim.metadata.key().to_string()).unwrap_or_default();
        self.give_up(format!("{what} {key}: {failure}"))
    }

    fn retry(&mut self, attempt: u32) -> Next {
        let Some(claim) = self.claim() else { return Next::Go(Step::Claims) };
        let key = claim.metadata.key();
        match self.handle.objects.resource_claims.get(&key) {
            Some(claim) => self.prepare(claim, attempt),
            None => {
                let name = &key.name;
                self.give_up(format!(
                    "get updated claim {key} after conflict: resourceclaims.resource.k8s.io {name:?} not found"
                ))
            }
        }
    }

    fn appear(&mut self, claim: Arc<ResourceClaim>, error: Option<String>) -> Next {
        let now = self.handle.now;
        Next::Go(Step::Visible { claim, until: now.saturating_add(VISIBLE_WITHIN), next: now, error })
    }

    /// Waits until a watch has reported the new claim, so that it can be assumed.
    fn look_for(
        &mut self,
        claim: Arc<ResourceClaim>,
        until: Time,
        next: Time,
        error: Option<String>,
    ) -> Next {
        let now = self.handle.now;
        if now < next {
            return Next::Wait(Step::Visible { claim, until, next, error }, next);
        }
        if self.assume(&claim) == Err(AssumeError::NotFound) && now < until {
            let next = now.saturating_add(VISIBLE_INTERVAL).min(until);
            return Next::Wait(Step::Visible { claim, until, next, error }, next);
        }
        self.finish(claim, false);
        match error {
            Some(error) => Next::End(Status::error(error)),
            None => self.next_claim(),
        }
    }

    fn all_written(&mut self) -> Next {
        let statuses = self.data.nodes.get(self.node_name).map(|found| found.statuses.clone());
        let statuses = statuses.unwrap_or_default();
        if !self.plugin.node_allocatable || statuses.is_empty() {
            return self.begin_waiting();
        }
        match node_allocatable::status_patch(self.handle, self.pod, statuses) {
            Ok(pod) => {
                let write = ApiWrite { verb: WriteVerb::PatchStatus, object: pod.into() };
                Next::Write(Step::NodeAllocatable, write)
            }
            Err(status) => Next::End(status),
        }
    }

    fn begin_waiting(&mut self) -> Next {
        let has_conditions =
            self.data.claims.all().iter().any(|claim| binding_conditions::has_conditions(claim));
        if !self.plugin.features.device_binding_and_status || !has_conditions {
            return Next::End(Status::SUCCESS);
        }
        self.handle.request(HandleRequest::Event {
            pod: self.pod.key(),
            reason: "BindingConditionsPending",
            action: "Scheduling",
            note: format!("waiting for binding conditions for device on node {}", self.node_name),
        });
        let now = self.handle.now;
        let until = now.saturating_add(self.plugin.binding_timeout);
        Next::Go(Step::Conditions { until, next: now })
    }

    /// Ends when all devices are ready, one will not be, or the time is over.
    fn look_at_conditions(&mut self, until: Time, next: Time) -> Next {
        let now = self.handle.now;
        if now >= until {
            let error = "device binding timeout: context deadline exceeded";
            return Next::End(Status::error(error));
        }
        if now < next {
            return Next::Wait(Step::Conditions { until, next }, next.min(until));
        }
        match self.are_ready() {
            Ok(true) => Next::End(Status::SUCCESS),
            Ok(false) => {
                let next = next.saturating_add(CONDITIONS_INTERVAL);
                Next::Wait(Step::Conditions { until, next }, next.min(until))
            }
            Err(error) => Next::End(Status::error(error)),
        }
    }

    /// Whether all claims are ready, as they are now (`isPodReadyForBinding`).
    fn are_ready(&mut self) -> Result<bool, String> {
        for (index, claim) in self.data.claims.all().to_vec().into_iter().enumerate() {
            let key = claim.metadata.key();
            let known = self
                .handle
                .state(|devices: &DeviceState| devices.claims.get(self.handle.objects, &key).cloned());
            let Some(claim) = known.flatten() else {
                return Err(format!("could not find ResourceClaim \"{}/{}\"", key.namespace, key.name));
            };
            self.data.claims.set(index, Arc::clone(&claim));
            if !binding_conditions::is_ready(&claim)? {
                if binding_conditions::has_timed_out(&claim, self.plugin.binding_timeout, self.handle.now) {
                    return Err(format!("device binding timeout: claim={}", key.name));
                }
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn as_claim(outcome: WriteResult) -> Result<Arc<ResourceClaim>, ApiFailure> {
    match outcome? {
        Object::ResourceClaim(claim) => Ok(claim),
        other => {
            let message = format!("expected a ResourceClaim, but got a {}", other.kind());
            Err(ApiFailure { reason: ApiFailureReason::Other, message })
        }
    }
}

/// The pod as it was last reported.
pub(super) fn latest_pod(handle: &Handle<'_>, pod: &Pod) -> Pod {
    let known = handle.objects.pods.get(&pod.key()).filter(|known| known.uid() == pod.uid());
    known.map_or_else(|| pod.clone(), |known| Pod::clone(known))
}
