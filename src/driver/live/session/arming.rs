//! Arming and disarming, confirmations, and what the election comes to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::api::Str;
use crate::driver::live::elect::{Elected, elect};
use crate::driver::live::engine::{Mode, ToConfirm};
use crate::driver::live::feed::feed;
use crate::driver::live::others::{Survey, survey};
use crate::driver::live::steering::SteeringView;
use crate::driver::session::{NoticeLevel, RunState};
use crate::scheduler::effect::{Effect, EffectId, EffectKind};
use crate::scheduler::input::Input;
use crate::scheduler::view::View;

use super::{Leadership, Live, Purpose, now};

/// So long a session that ends waits for the outcome of what it has sent.
const FAREWELL: Duration = Duration::from_secs(3);

impl Live {
    /// Lists and watches from now on.
    pub(super) fn start_feeds(&mut self) {
        let Some((reports, kinds)) = self.feeds.take() else { return };
        for kind in kinds {
            self.runtime.spawn(feed(self.client.clone(), kind, reports.clone()));
        }
    }

    /// Enters the outcome of a deed, and tells of it where a person is looking at each.
    pub(super) fn settle(&mut self, outcome: &Input) {
        let told = self.ledger.settles(outcome, now());
        let is_watched = self.run_state == RunState::Paused || self.engine.is_confirming();
        if let (Some(text), true) = (told, is_watched) {
            self.say(NoticeLevel::Info, text);
        }
    }

    /// Waits for the outcome of what was sent, so that it is known what was done.
    pub(super) async fn finish(&mut self, outcomes: &mut UnboundedReceiver<Input>) {
        let all = async {
            while self.ledger.n_in_flight() > 0 {
                let Some(outcome) = outcomes.recv().await else { return };
                self.ledger.settles(&outcome, now());
            }
        };
        // What is not answered in time is entered as unknown.
        let _ = tokio::time::timeout(FAREWELL, all).await;
        self.ledger.give_up(now());
        if self.engine.mode() == Mode::Operate {
            self.ledger.session("disarm", "done", "the session has ended", now());
        }
        self.writer.set_open(false);
    }

    /// A person has decided about a bind. False if it does not wait any more.
    pub(super) fn confirm(&mut self, id: EffectId, is_wanted: bool) -> bool {
        let Some(bind) = self.engine.to_confirm().find(|bind| bind.id == id).cloned() else { return false };
        let ToConfirm { pod, uid, node, .. } = bind;
        let effect = Effect { id, kind: EffectKind::Bind { pod, uid, node } };
        self.ledger.decided(&effect, is_wanted, self.engine.informers().objects(), now());
        self.engine.confirm(id, is_wanted, now())
    }

    /// Finds out who else serves the names, and goes on with that.
    pub(super) fn survey(&mut self, purpose: Purpose) {
        let names: Vec<Str> =
            self.engine.scheduler().profiles().map(|profile| profile.profile_name.clone()).collect();
        let own = self.election.as_ref().map(|(lease, _)| lease.clone());
        let (client, surveys) = (self.client.clone(), self.surveys.clone());
        self.runtime.spawn(async move {
            let survey = survey(&client, &names, own.as_ref()).await;
            // Nobody waits for it if the session has ended.
            let _ = surveys.send((survey, purpose));
        });
    }

    /// Writes as soon as no other instance does.
    pub(super) fn arm(&mut self, anyway: bool) {
        if self.engine.mode() == Mode::Operate || matches!(self.leadership, Leadership::Waiting { .. }) {
            return self.say(NoticeLevel::Info, "it is armed already");
        }
        let anyway = anyway || self.ledger.steering().serves_anyway;
        self.survey(Purpose::Arm { anyway });
    }

    pub(super) fn surveyed(&mut self, survey: Survey, purpose: Purpose) {
        let refusal = survey.refusal();
        let unread = survey.unread.first().map(|(lease, error)| {
            format!("whether somebody else serves the same pods is not known: the lease {lease}: {error}")
        });
        self.ledger.surveyed(survey);
        let Purpose::Arm { anyway } = purpose else { return };
        if let Some(text) = unread {
            tracing::warn!(target: "live", "{text}");
        }
        match refusal {
            Some(text) if !anyway => {
                tracing::warn!(target: "live", "not armed: {text}");
                self.ledger.session("arm", "refused", &text, now());
                if let Some(told) = &self.told_of_leadership {
                    told.send_replace(Leadership::Refused { why: text.clone() });
                }
                self.say(NoticeLevel::Error, format!("not armed: {text}"));
            }
            _ => self.take_the_lead(),
        }
    }

    /// Nobody else serves the names, as far as is known: takes part in the election, or starts.
    fn take_the_lead(&mut self) {
        match self.leadership {
            Leadership::Waiting { .. } => return,
            Leadership::Leading => return self.begin_to_write(),
            Leadership::None | Leadership::Unguarded | Leadership::Refused { .. } => {}
        }
        let Some((lease, options)) = self.election.clone() else {
            self.leadership = Leadership::Unguarded;
            self.tell_leadership();
            return self.begin_to_write();
        };
        self.leadership = Leadership::Waiting { holder: String::new() };
        self.say(NoticeLevel::Info, format!("waiting for the lease {}/{}", lease.namespace, lease.name));
        let (told, elections) = mpsc::unbounded_channel();
        self.elections = Some(elections);
        let election = elect(self.client.clone(), lease, options, told, Arc::clone(&self.watchdog));
        self.election_task = Some(self.runtime.spawn(election));
    }

    fn begin_to_write(&mut self) {
        self.start_feeds();
        if let Some(text) = self.ledger.open_audit() {
            tracing::warn!(target: "live", "{text}");
        }
        self.writer.set_open(true);
        self.engine.set_mode(Mode::Operate, now());
        let profiles: Vec<Str> =
            self.engine.scheduler().profiles().map(|profile| profile.profile_name.clone()).collect();
        let text = format!("ARMED: pods of {} are bound from now on", profiles.join(", "));
        tracing::info!(target: "live", "{text}");
        self.ledger.session("arm", "done", &text, now());
        self.say(NoticeLevel::Warning, text);
    }

    pub(super) fn disarm(&mut self) {
        let was_waiting = matches!(self.leadership, Leadership::Waiting { .. });
        self.stop_writing("disarmed by the operator");
        // A lease that is held stays: nobody is to write while a person looks. One that is not is waited for no more.
        if was_waiting && let Some(election) = self.election_task.take() {
            election.abort();
            self.elections = None;
        }
        if was_waiting || self.leadership == Leadership::Unguarded {
            self.leadership = Leadership::None;
        }
        self.say(NoticeLevel::Info, "nothing is written any more");
    }

    /// Nothing goes out any more, not even what waits for its turn.
    fn stop_writing(&mut self, why: &str) {
        self.writer.set_open(false);
        if self.engine.mode() == Mode::Operate {
            for bind in self.engine.to_confirm() {
                let ToConfirm { id, pod, uid, node, .. } = bind.clone();
                let effect = Effect { id, kind: EffectKind::Bind { pod, uid, node } };
                self.ledger.withheld(&effect, self.engine.informers().objects(), now());
            }
            tracing::warn!(target: "live", "Nothing is written any more: {why}");
            self.ledger.session("disarm", "done", why, now());
        }
        self.engine.set_mode(Mode::Observe, now());
    }

    pub(super) fn elected(&mut self, elected: Elected) {
        match elected {
            Elected::Leading => {
                self.leadership = Leadership::Leading;
                self.begin_to_write();
            }
            Elected::Lost { why } => {
                let was_leading = self.leadership == Leadership::Leading;
                self.stop_writing("the lease is lost");
                self.leadership = Leadership::None;
                self.election_task = None;
                if was_leading {
                    let text = format!("the lease is lost ({why}): nothing is written any more");
                    tracing::error!(target: "live", "{text}");
                    self.say(NoticeLevel::Error, text);
                }
            }
            Elected::Other { holder } => {
                if let Leadership::Waiting { holder: known } = &mut self.leadership {
                    known.clone_from(&holder);
                    self.say(NoticeLevel::Info, format!("standing by: {holder} holds the lease"));
                }
            }
            Elected::Failing { error } => {
                tracing::warn!(target: "live", err = error, "Error retrieving or updating the lease");
                self.say(NoticeLevel::Warning, format!("the lease: {error}"));
            }
        }
        self.tell_leadership();
    }

    pub(super) fn steering_view(&self) -> SteeringView {
        let lease = self.election.as_ref().map(|(lease, _)| format!("{}/{}", lease.namespace, lease.name));
        self.ledger.view(&self.leadership, lease)
    }

    /// The scheduler, with the attempt in view that a person is asked about, unless he steps through another one.
    pub(super) fn scheduler_view(&self) -> View {
        let scheduler = self.engine.scheduler();
        let mut view = scheduler.view();
        let is_stepping = self.run_state == RunState::Paused
            && (scheduler.is_in_cycle() || scheduler.has_stepped_binding_cycle());
        if !is_stepping
            && let Some(trace) = self.engine.to_confirm().next().and_then(|bind| bind.trace.clone())
        {
            view.cycle = Some(trace);
        }
        view
    }
}
