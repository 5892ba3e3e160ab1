//! What a person is told and asked about what this program does in the cluster: the ledger of its deeds.
//!
//! Each deed is described before it is sent and entered when its outcome is known: into the list on the screen, the
//! log, and the audit file. Nothing is decided here.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use crate::api::{ObjectStore, Time};
use crate::scheduler::effect::{Effect, EffectId, EffectKind};
use crate::scheduler::input::Input;

use super::audit::{Audit, Heading};
use super::connect::Target;
use super::deed::{Deed, DeedRow, Outcome};
use super::others::{Survey, Who};
use super::session::Leadership;

/// How many deeds are kept to be looked at.
const DEEDS_KEPT: usize = 200;

/// How a session is steered, beyond its mode.
#[derive(Debug, Default)]
pub struct Steering {
    /// The audit file that the person has named. Absent, [`Steering::audit_place`] is opened when writing starts.
    pub audit: Option<Audit>,
    /// Where the audit file is if nobody has named one.
    pub audit_place: Option<PathBuf>,
    /// Whether names are served that the holder of another lease serves.
    pub serves_anyway: bool,
    /// Whether nothing is listed before this instance leads (`delayCacheUntilActive`).
    pub delays_caches: bool,
    /// The person at the console, for the audit file.
    pub operator: String,
    /// `kubectl` with the flags that lead to this cluster, for hints.
    pub kubectl: String,
}

/// What a person sees of the steering.
#[derive(Clone, Debug)]
pub struct SteeringView {
    /// How far this instance is on the way to being the one that writes.
    pub leadership: Leadership,
    /// The lease that it is elected by, as `namespace/name`; absent without an election.
    pub lease: Option<String>,
    /// As whom it acts.
    pub who: Who,
    /// What was found out about others; absent before somebody has asked.
    pub survey: Option<Survey>,
    /// The last deeds, the newest first.
    pub deeds: Vec<Arc<DeedRow>>,
    /// How many deeds there were.
    pub n_deeds: u64,
    /// How many of them were binds that are done.
    pub n_bound: u64,
    /// The audit file, and why it cannot be written, if it cannot.
    pub audit: Option<(String, Option<String>)>,
}

/// Keeps what was done.
#[derive(Debug)]
pub(super) struct Ledger {
    steering: Steering,
    heading: Heading,
    user: String,
    deeds: VecDeque<Arc<DeedRow>>,
    n_deeds: u64,
    n_bound: u64,
    in_flight: BTreeMap<EffectId, Deed>,
    confirmed: BTreeMap<EffectId, String>,
    survey: Option<Survey>,
}

impl Ledger {
    pub(super) fn new(steering: Steering, target: &Target) -> Self {
        let heading = Heading {
            context: target.context.clone(),
            server: target.server.clone(),
            user: target.user.clone(),
        };
        Self {
            steering,
            heading,
            user: target.user.clone(),
            deeds: VecDeque::new(),
            n_deeds: 0,
            n_bound: 0,
            in_flight: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            survey: None,
        }
    }

    pub(super) const fn steering(&self) -> &Steering {
        &self.steering
    }

    /// Whether deeds that are not done are asked for as well.
    pub(super) const fn wants_withheld(&self) -> bool {
        self.steering.audit.is_some()
    }

    pub(super) fn surveyed(&mut self, survey: Survey) {
        if let Some(who) = &survey.who {
            self.heading.user.clone_from(who);
        }
        self.survey = Some(survey);
    }

    /// Opens the audit file, since something will be written from now on. The answer is what the person is to be told
    /// if there is none.
    pub(super) fn open_audit(&mut self) -> Option<String> {
        if self.steering.audit.is_some() {
            return None;
        }
        let Some(place) = &self.steering.audit_place else {
            return Some("there is no audit file: name one with --audit".to_owned());
        };
        match Audit::open(place) {
            Ok(audit) => self.steering.audit = Some(audit),
            Err(error) => return Some(format!("there is no audit file: {}: {error}", place.display())),
        }
        None
    }

    /// Enters what happened to the session itself.
    pub(super) fn session(&mut self, verb: &str, outcome: &str, detail: &str, now: Time) {
        let by = self.steering.operator.clone();
        if let Some(audit) = &mut self.steering.audit {
            audit.session(&self.heading, now, verb, &by, outcome, detail);
        }
    }

    /// A deed is sent. Call it just before.
    pub(super) fn sends(&mut self, effect: &Effect, objects: &ObjectStore, now: Time) {
        let Some(deed) = Deed::of(&effect.kind, objects, &self.steering.kubectl) else { return };
        if matches!(effect.kind, EffectKind::Event(_)) {
            self.enter(deed, Outcome::Sent, None, now);
        } else {
            self.in_flight.insert(effect.id, deed);
        }
    }

    /// The outcome of a deed has come. The answer tells a person about it, where there is something to take back or
    /// where it failed.
    pub(super) fn settles(&mut self, input: &Input, now: Time) -> Option<String> {
        let (id, outcome) = match input {
            Input::EffectDone { id, result } => {
                (id, result.as_ref().err().map(|failure| failure.message.clone()))
            }
            Input::Written { id, result } => {
                (id, result.as_ref().err().map(|failure| failure.message.clone()))
            }
            Input::ExtenderAnswered { id, .. } => (id, None),
            _ => return None,
        };
        let deed = self.in_flight.remove(id)?;
        let by = self.confirmed.remove(id);
        let told = match (&outcome, &deed.undo) {
            (Some(error), _) => {
                let told = format!("not done: {}: {error}", deed.what);
                tracing::warn!(target: "live", "{told}");
                Some(told)
            }
            (None, Some(undo)) => {
                let how = undo.command.as_ref().map_or_else(
                    || format!("it cannot be taken back: {}", undo.note),
                    |command| format!("to revert: {command}"),
                );
                let told = format!("done: {}; {how}", deed.what);
                tracing::info!(target: "live", "{told}");
                Some(told)
            }
            (None, None) => None,
        };
        self.enter(deed, outcome.map_or(Outcome::Done, Outcome::Failed), by.as_deref(), now);
        told
    }

    /// A deed was not done, since nothing is written now.
    pub(super) fn withheld(&mut self, effect: &Effect, objects: &ObjectStore, now: Time) {
        if let Some(deed) = Deed::of(&effect.kind, objects, &self.steering.kubectl)
            && let Some(audit) = &mut self.steering.audit
        {
            audit.deed(&self.heading, now, &deed, &Outcome::Withheld, None);
        }
    }

    /// A person has decided about a deed.
    pub(super) fn decided(&mut self, effect: &Effect, is_wanted: bool, objects: &ObjectStore, now: Time) {
        let by = self.steering.operator.clone();
        if is_wanted {
            self.confirmed.insert(effect.id, by);
        } else if let Some(deed) = Deed::of(&effect.kind, objects, &self.steering.kubectl) {
            self.enter(deed, Outcome::Declined, Some(&by), now);
        }
    }

    /// How many deeds have no outcome yet.
    pub(super) fn n_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Nobody waits any more for what is on its way.
    pub(super) fn give_up(&mut self, now: Time) {
        for (id, deed) in std::mem::take(&mut self.in_flight) {
            let by = self.confirmed.remove(&id);
            self.enter(deed, Outcome::Unknown, by.as_deref(), now);
        }
    }

    fn enter(&mut self, deed: Deed, outcome: Outcome, by: Option<&str>, now: Time) {
        if let Some(audit) = &mut self.steering.audit {
            audit.deed(&self.heading, now, &deed, &outcome, by);
            if let Some(failure) = audit.failure() {
                tracing::error!(target: "live", "the audit file cannot be written: {failure}");
            }
        }
        // Events and conditions are no deeds that anybody takes back; they would hide those that matter.
        if deed.undo.is_none() && !matches!(outcome, Outcome::Failed(_) | Outcome::Declined) {
            return;
        }
        self.n_deeds += 1;
        self.n_bound += u64::from(outcome == Outcome::Done && deed.resource == "pods/binding");
        if self.deeds.len() == DEEDS_KEPT {
            self.deeds.pop_front();
        }
        self.deeds.push_back(Arc::new(DeedRow { number: self.n_deeds, at: now, deed, outcome }));
    }

    pub(super) fn view(&self, leadership: &Leadership, lease: Option<String>) -> SteeringView {
        let told = self.survey.as_ref().and_then(|survey| survey.who.clone());
        SteeringView {
            leadership: leadership.clone(),
            lease,
            who: Who { is_told_by_server: told.is_some(), name: told.unwrap_or_else(|| self.user.clone()) },
            survey: self.survey.clone(),
            deeds: self.deeds.iter().rev().cloned().collect(),
            n_deeds: self.n_deeds,
            n_bound: self.n_bound,
            audit: self
                .steering
                .audit
                .as_ref()
                .map(|audit| (audit.path().display().to_string(), audit.failure().map(ToOwned::to_owned))),
        }
    }
}
