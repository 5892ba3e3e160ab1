//! Leader election over the network.
//!
//! Tries for the Lease, renews it, and says what came of it. The deadline is kept here as well: a leader that could not
//! renew in time says that it has lost before anybody else can have taken over.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use crate::api::Time;

use super::connect::words;
use super::lease::{Election, ElectionOptions, LeaseRecord, LeaseStep, Watchdog};
use super::session::now;

/// Waits between tries for the Lease are up to this much longer (`JitterFactor`), in percent.
const JITTER_PERCENT: u32 = 120;

/// The Lease that is elected by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// `resourceNamespace`.
    pub namespace: String,
    /// `resourceName`.
    pub name: String,
}

/// What came of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elected {
    /// This instance leads from now on.
    Leading,
    /// It does not lead any more, and must not act.
    Lost {
        /// Why.
        why: String,
    },
    /// Somebody else leads.
    Other {
        /// Who.
        holder: String,
    },
    /// The Lease cannot be read or written.
    Failing {
        /// Why.
        error: String,
    },
}

/// Takes part in the election until nobody listens any more, or the lease was lost after it was held.
pub async fn elect(
    client: Client,
    lease: LeaseName,
    options: ElectionOptions,
    told: UnboundedSender<Elected>,
    watchdog: Arc<Watchdog>,
) {
    let api = Api::namespaced(client, &lease.namespace);
    let mut elector = Elector { api, lease, election: Election::new(options), watchdog };
    let mut last_leader = String::new();
    loop {
        match elector.try_once().await {
            Ok(true) => break,
            Ok(false) => {
                let holder = elector.election.leader().to_owned();
                if holder != last_leader && told.send(Elected::Other { holder: holder.clone() }).is_err() {
                    return;
                }
                last_leader = holder;
            }
            Err(error) => {
                if told.send(Elected::Failing { error }).is_err() {
                    return;
                }
            }
        }
        sleep(jittered(elector.election.options().retry_period)).await;
    }
    if told.send(Elected::Leading).is_err() {
        elector.release().await;
        return;
    }
    let why = elector.lead(&told).await;
    // Nobody may listen by now.
    let _ = told.send(Elected::Lost { why });
}

struct Elector {
    api: Api<Lease>,
    lease: LeaseName,
    election: Election,
    watchdog: Arc<Watchdog>,
}

impl Elector {
    /// Renews until that fails for too long, or nobody listens. The answer is why.
    async fn lead(&mut self, told: &UnboundedSender<Elected>) -> String {
        let period = self.election.options().retry_period;
        loop {
            tokio::select! {
                () = sleep(period) => {}
                () = told.closed() => {
                    self.release().await;
                    return "the session has ended".to_owned();
                }
            }
            let deadline = self.election.options().renew_deadline;
            let mut last_error = "the API server did not answer in time".to_owned();
            let renewed = timeout(deadline, async {
                loop {
                    match self.try_once().await {
                        Ok(true) => return true,
                        Ok(false) => return false,
                        Err(error) => last_error = error,
                    }
                    sleep(period).await;
                }
            });
            match renewed.await {
                Ok(true) => {}
                Ok(false) => return format!("{} leads now", self.election.leader()),
                Err(_) => return last_error,
            }
        }
    }

    /// Whether this instance leads, after one look and one write.
    async fn try_once(&mut self) -> Result<bool, String> {
        let result = self.look_and_write().await;
        self.watchdog.saw(&self.election);
        result
    }

    async fn look_and_write(&mut self) -> Result<bool, String> {
        let found = self.api.get_opt(&self.lease.name).await.map_err(|error| words(&error))?;
        let seen = found.as_ref().map(record_of);
        let written = match self.election.step(seen.as_ref(), now()) {
            LeaseStep::Held { .. } => return Ok(false),
            LeaseStep::Create(record) => {
                let lease = self.written_as(Lease::default(), &record);
                self.api.create(&PostParams::default(), &lease).await.map(|_| record)
            }
            LeaseStep::Update(record) => {
                let lease = self.written_as(found.unwrap_or_default(), &record);
                self.api.replace(&self.lease.name, &PostParams::default(), &lease).await.map(|_| record)
            }
        };
        match written {
            Ok(record) => {
                self.election.written(record, now());
                Ok(true)
            }
            Err(error) => Err(words(&error)),
        }
    }

    /// Gives the Lease back, so that nobody has to wait.
    async fn release(&self) {
        let released = timeout(self.election.options().renew_deadline, async {
            let found = self.api.get(&self.lease.name).await?;
            if let Some(record) = self.election.release(&record_of(&found), now()) {
                let lease = self.written_as(found, &record);
                self.api.replace(&self.lease.name, &PostParams::default(), &lease).await?;
            }
            Ok::<_, kube::Error>(())
        });
        match released.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(target: "live", "the lease was not given back: {}", words(&error))
            }
            Err(_) => tracing::warn!(target: "live", "the lease was not given back in time"),
        }
    }

    /// The Lease with what the record says.
    fn written_as(&self, mut lease: Lease, record: &LeaseRecord) -> Lease {
        lease.metadata.namespace = Some(self.lease.namespace.clone());
        lease.metadata.name = Some(self.lease.name.clone());
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = Some(record.holder.clone());
        spec.lease_duration_seconds = Some(record.duration_secs);
        spec.acquire_time = record.acquired.and_then(micro_time);
        spec.renew_time = record.renewed.and_then(micro_time);
        spec.lease_transitions = Some(record.transitions);
        lease
    }
}

pub(super) fn record_of(lease: &Lease) -> LeaseRecord {
    let spec = lease.spec.clone().unwrap_or_default();
    let time = |at: Option<MicroTime>| u64::try_from(at?.0.as_nanosecond()).ok().map(Time::from_nanos);
    LeaseRecord {
        holder: spec.holder_identity.unwrap_or_default(),
        duration_secs: spec.lease_duration_seconds.unwrap_or_default(),
        acquired: time(spec.acquire_time),
        renewed: time(spec.renew_time),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

/// The time as the API keeps it: whole microseconds.
fn micro_time(at: Time) -> Option<MicroTime> {
    let micros = i64::try_from(at.as_nanos() / 1_000).ok()?;
    Timestamp::from_microsecond(micros).ok().map(MicroTime)
}

/// The wait with a chance of its own added, so that instances do not all try at once.
fn jittered(period: Duration) -> Duration {
    let nanos = u32::try_from(now().as_nanos() % 1_000_000_000).unwrap_or_default();
    period + period * JITTER_PERCENT / 100 * (nanos / 1_000_000) / 1_000
}
