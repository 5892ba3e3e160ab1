//! Workloads that clients of the API write: checked before they are taken, and the reason for a cluster to live.
//!
//! What a written workload leads to, and how its document follows, is the world's own business
//! ([`world`](super::world)).

use super::controllers::Controllers;
use super::requests::{ClientRequest, ClientVerb, Refusal};
use super::resources::ResourceId;
use super::simulator::Simulator;
use crate::api::workloads::{Living, LivingKind, WorkloadKind};

/// The kind of a resource whose objects the world looks after.
fn workload_kind(id: ResourceId) -> Option<WorkloadKind> {
    WorkloadKind::find(&id.get().api_version(), id.get().kind)
}

impl Simulator {
    /// Whether a new workload is one that can be looked after.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check_workload(&self, request: &ClientRequest) -> Result<(), Refusal> {
        let (Some(kind), ClientVerb::Create(document)) = (workload_kind(request.resource), &request.verb)
        else {
            return Ok(());
        };
        if self.controllers.is_none() {
            return Ok(());
        }
        let name = &*request.key.name;
        let living = Living::deserialize_kind(LivingKind::Workload(kind), &**document)
            .map_err(|error| Refusal::bad_request(format!("{kind} {name:?}: {error}")))?;
        living.check().map_err(|problem| {
            let group = request.resource.get().group;
            let message = format!("{kind}.{group} {name:?} is invalid: {}: {}", problem.path, problem.reason);
            Refusal::new(422, "Invalid", message)
        })
    }

    /// With the first workload that a client has written the cluster begins to live.
    pub(super) fn live_for(&mut self, request: &ClientRequest) {
        let is_written =
            matches!(request.verb, ClientVerb::Create(_) | ClientVerb::Update(..) | ClientVerb::Patch { .. });
        let Some(controllers) = &mut self.controllers else { return };
        let lives = Controllers::world(controllers).is_some();
        if is_written && !lives && workload_kind(request.resource).is_some() {
            controllers.apply_living(&mut self.api, self.now, Vec::new());
        }
    }
}
