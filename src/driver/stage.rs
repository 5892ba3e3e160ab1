//! A session that is brought to a moment: a sandbox at its start, and what was done with it up to then.
//!
//! It is how a lesson begins, is begun again, and shows its answers. The operations are done as if a person had done them,
//! so that going back leads along them to the start.

use std::sync::{Arc, Mutex, PoisonError};

use super::rewind::Rewind;
use super::sandbox::ops::SimulatorOp;
use super::sandbox::simulator::Simulator;
use super::session::RunState;
use super::stepper::Stepper;

/// A moment of a sandbox.
#[derive(Clone, Debug)]
pub struct Stage {
    initial: Arc<Mutex<Simulator>>,
    ops: Arc<[SimulatorOp]>,
}

impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.initial, &other.initial) && self.ops == other.ops
    }
}

impl Eq for Stage {}

impl Stage {
    /// The moment behind these operations.
    pub fn new(initial: Simulator, ops: &[SimulatorOp]) -> Self {
        Self { initial: Arc::new(Mutex::new(initial)), ops: ops.into() }
    }
}

impl Stepper {
    /// Leaves everything, and stands at that moment.
    pub(super) fn take_stage(&mut self, stage: &Stage) {
        let simulator = stage.initial.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.rewind = Rewind::new(simulator);
        self.measure_again();
        for op in stage.ops.iter() {
            self.rewind.apply(op.clone());
        }
        self.run_state = RunState::Paused;
        self.next_cycle_at = self.simulator().now();
        self.credit = crate::api::Duration::ZERO;
        self.told_at = None;
        self.last_seek = None;
        self.awaited = None;
        self.forget_stop();
    }
}
