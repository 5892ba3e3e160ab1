//! Who leads: the rules of leader election by a Lease, as `client-go/tools/leaderelection` has them.
//!
//! No network and no clock: what was read of the Lease and the time go in, what is to be written comes out. Clocks of
//! instances are never compared. An instance counts how long a record has not changed by its own clock, and takes the
//! lease over when that is longer than the record says.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::Time;

/// How an election is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionOptions {
    /// This instance.
    pub identity: String,
    /// How long others wait before they take a lease over that is not renewed.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// How long is waited between two tries.
    pub retry_period: Duration,
}

/// What a Lease says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LeaseRecord {
    /// Who leads; nobody, if empty.
    pub holder: String,
    /// How long the lease is good for, in seconds.
    pub duration_secs: i32,
    /// Since when the holder leads.
    pub acquired: Option<Time>,
    /// When it last said so.
    pub renewed: Option<Time>,
    /// How often the leader has changed.
    pub transitions: i32,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// The Lease is not there: create it.
    Create(LeaseRecord),
    /// Write the Lease, if it is still as it was read.
    Update(LeaseRecord),
    /// Somebody else leads.
    Held {
        /// Who.
        by: String,
    },
}

/// A leader that has not renewed its lease this long after it has run out is not well.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Sees whether a leader renews its lease (`leaderelection.HealthzAdaptor`). Who cannot renew it gives up long before;
/// one that does neither hangs.
#[derive(Debug, Default)]
pub struct Watchdog(Mutex<Option<Time>>);

impl Watchdog {
    /// The election has taken a step.
    pub fn saw(&self, election: &Election) {
        let good_until = election.is_leader().then(|| {
            let options = election.options();
            election.observed_at + options.lease_duration + TOLERANCE
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = good_until;
    }

    /// Whether all is well; an instance that does not lead is.
    pub fn is_well(&self, now: Time) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|good_until| now <= good_until)
    }
}

/// An instance in an election.
#[derive(Clone, Debug)]
pub struct Election {
    options: ElectionOptions,
    observed: LeaseRecord,
    /// When the record was first seen as it is.
    observed_at: Time,
}

impl Election {
    /// An instance that has seen nothing yet.
    pub fn new(options: ElectionOptions) -> Self {
        Self { options, observed: LeaseRecord::default(), observed_at: Time::ZERO }
    }

    /// How the election is held.
    pub fn options(&self) -> &ElectionOptions {
        &self.options
    }

    /// Who leads, as far as is known.
    pub fn leader(&self) -> &str {
        &self.observed.holder
    }

    /// Whether this instance leads, as far as is known.
    pub fn is_leader(&self) -> bool {
        self.observed.holder == self.options.identity
    }

    /// Until when a leader may act without another renewal.
    pub fn leads_until(&self) -> Option<Time> {
        self.is_leader().then(|| self.observed_at + self.options.renew_deadline)
    }

    /// What is to be done, now that the Lease was read; `seen` is absent if it is not there.
    pub fn step(&mut self, seen: Option<&LeaseRecord>, now: Time) -> LeaseStep {
        let duration_secs = i32::try_from(self.options.lease_duration.as_secs()).unwrap_or(i32::MAX);
        let mut record = LeaseRecord {
            holder: self.options.identity.clone(),
            duration_secs,
            acquired: Some(now),
            renewed: Some(now),
            transitions: 0,
        };
        let Some(seen) = seen else { return LeaseStep::Create(record) };
        if *seen != self.observed {
            self.observed = seen.clone();
            self.observed_at = now;
        }
        let good_for = Duration::from_secs(u64::try_from(self.observed.duration_secs).unwrap_or_default());
        let is_valid = self.observed_at + good_for > now;
        if !self.observed.holder.is_empty() && is_valid && !self.is_leader() {
            return LeaseStep::Held { by: self.observed.holder.clone() };
        }
        if self.is_leader() {
            record.acquired = seen.acquired;
            record.transitions = seen.transitions;
        } else {
            record.transitions = seen.transitions.saturating_add(1);
        }
        LeaseStep::Update(record)
    }

    /// The server has taken what this instance wrote.
    pub fn written(&mut self, record: LeaseRecord, now: Time) {
        self.observed = record;
        self.observed_at = now;
    }

    /// What a leader writes when it leaves, so that nobody has to wait. Absent if it does not lead.
    pub fn release(&self, seen: &LeaseRecord, now: Time) -> Option<LeaseRecord> {
        self.is_leader().then(|| LeaseRecord {
            holder: String::new(),
            duration_secs: 1,
            acquired: Some(now),
            renewed: Some(now),
            transitions: seen.transitions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn election(identity: &str) -> Election {
        Election::new(ElectionOptions {
            identity: identity.to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        })
    }

    fn at(secs: u64) -> Time {
        Time::from_secs(1_000_000 + secs)
    }

    /// Lets an instance act on a lease that is kept in `lease`.
    fn act(election: &mut Election, lease: &mut Option<LeaseRecord>, now: Time) -> bool {
        match election.step(lease.as_ref(), now) {
            LeaseStep::Create(record) | LeaseStep::Update(record) => {
                *lease = Some(record.clone());
                election.written(record, now);
                true
            }
            LeaseStep::Held { .. } => false,
        }
    }

    #[test]
    fn the_first_one_leads_and_the_others_wait_as_long_as_it_renews() {
        let (mut a, mut b, mut lease) = (election("a"), election("b"), None);
        assert!(act(&mut a, &mut lease, at(0)));
        for second in 1..60 {
            assert!(act(&mut a, &mut lease, at(second)));
            assert!(!act(&mut b, &mut lease, at(second)), "second {second}");
        }
        assert_eq!((b.leader(), lease.map(|lease| lease.transitions)), ("a", Some(0)));
    }

    #[test]
    fn a_lease_is_taken_over_when_it_has_not_changed_for_its_duration_by_the_own_clock() {
        let (mut a, mut b, mut lease) = (election("a"), election("b"), None);
        act(&mut a, &mut lease, at(0));
        // The clock of b is an hour ahead; only how long it has watched counts.
        assert!(!act(&mut b, &mut lease, at(3_600)));
        assert!(!act(&mut b, &mut lease, at(3_614)));
        assert!(act(&mut b, &mut lease, at(3_615)));
        let lease_now = lease.clone().unwrap_or_default();
        assert_eq!((lease_now.holder.as_str(), lease_now.transitions), ("b", 1));
        assert!(!act(&mut a, &mut lease, at(16)), "the old leader sees that it was replaced");
        assert!(!a.is_leader());
    }

    #[test]
    fn a_renewal_keeps_since_when_it_leads() {
        let (mut a, mut lease) = (election("a"), None);
        act(&mut a, &mut lease, at(0));
        act(&mut a, &mut lease, at(2));
        let lease = lease.unwrap_or_default();
        assert_eq!((lease.acquired, lease.renewed), (Some(at(0)), Some(at(2))));
        assert_eq!(a.leads_until(), Some(at(12)));
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let (mut a, mut b, mut lease) = (election("a"), election("b"), None);
        act(&mut a, &mut lease, at(0));
        assert!(!act(&mut b, &mut lease, at(1)));
        let released = lease.as_ref().and_then(|seen| a.release(seen, at(2)));
        assert_eq!(released.as_ref().map(|record| record.duration_secs), Some(1));
        lease = released;
        assert!(act(&mut b, &mut lease, at(2)));
        assert_eq!(
            a.release(&LeaseRecord::default(), at(3)).map(|record| record.holder),
            Some(String::new())
        );
    }

    #[test]
    fn a_leader_is_not_well_when_it_has_not_renewed_for_the_duration_and_twenty_seconds_more() {
        let (mut a, mut b, mut lease) = (election("a"), election("b"), None);
        let watchdog = Watchdog::default();
        assert!(watchdog.is_well(at(0)));
        act(&mut a, &mut lease, at(0));
        watchdog.saw(&a);
        assert!(watchdog.is_well(at(35)) && !watchdog.is_well(at(36)));
        act(&mut a, &mut lease, at(10));
        watchdog.saw(&a);
        assert!(watchdog.is_well(at(45)) && !watchdog.is_well(at(46)));
        // Who stands by is well however long nobody renews.
        act(&mut b, &mut lease, at(11));
        watchdog.saw(&b);
        assert!(watchdog.is_well(at(10_000)));
    }
}
