//! Whose turn it is: what goes on beside the attempts, and who decides when it does.
//!
//! What upstream runs in goroutines of their own, binding cycles, preemptions, the two flushes of the queue, goes on
//! here as soon as it can, or only when a driver says so: then every order in which it may happen can be tried.

use crate::api::{Time, Uid};

use super::Scheduler;
use super::cycle::BindingStage;

/// Who decides when things go on that run beside the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Turns {
    /// Nobody: each goes on as soon as it can.
    #[default]
    AtOnce,
    /// The driver, by [`Command::GoOn`](super::input::Command::GoOn). What runs beside the attempts has a clock of its
    /// own then, which waits are counted by: it goes by [`Input::Timeout`](super::input::Input::Timeout) alone, and the
    /// other one, which the queue is run by, does not.
    OnCommand,
}

/// Something that runs beside the attempts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strand {
    /// The preemption for that pod: the next victim is dealt with.
    Preemption(Uid),
    /// The binding cycle of that pod.
    Binding(Uid),
    /// Pods whose backoff is over leave backoffQ.
    BackoffFlush,
    /// Pods that have been unschedulable for too long are moved.
    LeftoverFlush,
}

/// Something that could go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What.
    pub strand: Strand,
    /// Since when.
    pub since: Time,
    /// Whether it had to wait for something before that.
    pub has_waited: bool,
    /// The PreBind plugin that it has waited in last, if any.
    pub waited_in: Option<&'static str>,
}

impl Scheduler {
    /// The time by which waits at Permit and in PreBind are counted.
    pub(super) fn time_of_waits(&self) -> Time {
        match self.options.turns {
            Turns::AtOnce => self.world.now,
            Turns::OnCommand => self.timeouts_seen,
        }
    }

    /// When a wait at Permit ends by time, or one in PreBind may, next.
    pub fn next_end_of_wait(&self) -> Option<Time> {
        // During the cycle of a pod group nothing goes on beside it: what is due then goes on when it ends.
        let pre_bind = self.binding_cycles.next_wake_up().filter(|_| self.group.is_none());
        self.world.waiting_pods.next_deadline().into_iter().chain(pre_bind).min()
    }

    /// What could go on: the binding cycle that has its turn, preemptions, then other binding cycles, in the order in which each became ready; among equals the
    /// one whose attempt was first. Nothing goes on during an attempt. The flushes are not told: their times are
    /// known.
    pub fn turns(&self) -> Vec<Turn> {
        if self.is_in_cycle() {
            return Vec::new();
        }
        let mut preemptions: Vec<Turn> = self
            .preemption_runs
            .iter()
            .filter_map(|run| {
                let strand = Strand::Preemption(run.preemptor.uid().clone());
                Some(Turn { strand, since: run.ready_since?, has_waited: false, waited_in: None })
            })
            .collect();
        let mut bindings: Vec<Turn> = self
            .binding_cycles
            .iter()
            .filter_map(|binding| {
                let strand = Strand::Binding(binding.cycle.queued.uid().clone());
                let has_waited = binding.has_waited && !binding.goes_on;
                let waited_in = binding.waited_in;
                Some(Turn { strand, since: binding.ready_since?, has_waited, waited_in })
            })
            .collect();
        preemptions.sort_by_key(|turn| turn.since);
        bindings.sort_by_key(|turn| turn.since);
        let goes_on = self.binding_cycles.iter().find(|binding| binding.goes_on);
        let goes_on = goes_on.map(|binding| Strand::Binding(binding.cycle.queued.uid().clone()));
        let (mut turns, others): (Vec<Turn>, Vec<Turn>) =
            bindings.into_iter().partition(|turn| Some(&turn.strand) == goes_on.as_ref());
        turns.append(&mut preemptions);
        turns.extend(others);
        turns
    }

    /// Lets one of them go on.
    pub(super) fn go_on(&mut self, strand: &Strand) {
        match strand {
            Strand::Preemption(preemptor) => self.preempt_in_turn(preemptor),
            Strand::Binding(uid) => {
                if let Some(binding) = self.binding_cycles.get_mut(uid) {
                    binding.ready_since = None;
                    binding.goes_on = false;
                    self.go_on_binding(uid);
                }
            }
            Strand::BackoffFlush => {
                let env = self.world.queue_env();
                self.queue.flush_backoff_q_completed(&env);
            }
            Strand::LeftoverFlush => {
                let env = self.world.queue_env();
                self.queue.flush_unschedulable_pods_leftover(&env);
            }
        }
    }

    /// Takes note of the binding cycles whose turn has come.
    pub(super) fn note_turns(&mut self) {
        self.ask_pre_bind_plugins();
        let now = self.time_of_waits();
        let waiting_pods = &self.world.waiting_pods;
        let is_ready = |uid: &Uid| waiting_pods.get(uid).is_none_or(|waiting| waiting.signal.is_some());
        for binding in self.binding_cycles.iter_mut() {
            if binding.stage == BindingStage::WaitOnPermit
                && binding.ready_since.is_none()
                && is_ready(binding.cycle.queued.uid())
            {
                binding.ready_since = Some(now);
            }
        }
    }
}
