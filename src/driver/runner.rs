//! Schedules a sandbox until nothing moves, without a screen: what `schedscope run` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Str, Uid};

use super::sandbox::controllers::Journal;
use super::sandbox::ops::SimulatorOp;
use super::sandbox::scenario::Scenario;
use super::sandbox::simulator::Simulator;

/// How one pod ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodResult {
    /// The pod.
    pub pod: NamespacedName,
    /// The node that it was bound to.
    pub node: Option<Str>,
    /// What became of it.
    pub state: PodState,
    /// Why it is pending, in the words of the FailedScheduling event; empty if it is bound.
    pub message: String,
    /// The node that it is nominated to.
    pub nominated_node: Option<Str>,
    /// Its priority.
    pub priority: i32,
    /// The uid of its controller, or what stands for it.
    pub owner: Option<Str>,
}

/// What became of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodState {
    /// It is on a node.
    Bound,
    /// It fits nowhere, or fails.
    Pending,
    /// A PreEnqueue plugin holds it.
    Gated,
    /// It was deleted meanwhile.
    Gone,
    /// No profile has its `schedulerName`.
    Ignored,
}

impl PodState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Pending => "pending",
            Self::Gated => "gated",
            Self::Gone => "gone",
            Self::Ignored => "ignored",
        }
    }

    /// Whether the pod still waits for a node.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Pending | Self::Gated | Self::Ignored)
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RunSummary {
    /// Every pod that waited at the start, by name; where the cluster lives also those that were made later and are there.
    pub pods: Vec<PodResult>,
    /// Pods that were evicted to make room, by name; none are named where the cluster lives.
    pub evicted: Vec<NamespacedName>,
    /// Attempts.
    pub cycles: u64,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
}

/// Makes attempts and moves time until nothing moves: no pod is on its way in or out, and since the last bind or
/// departure every pod that can be tried has had two chances more.
pub fn run_to_rest(simulator: &mut Simulator) -> RunSummary {
    run_and_see(simulator, Duration::ZERO, &mut |_, _| true)
}

/// The same with so much simulated time for each attempt. `see` is shown the sandbox after each operation.
pub fn run_and_see(
    simulator: &mut Simulator,
    attempt: Duration,
    see: &mut dyn FnMut(&Simulator, &SimulatorOp) -> bool,
) -> RunSummary {
    let before = simulator.api().objects().pods.clone();
    run_watched(simulator, attempt, see);
    summary(simulator, &before)
}

/// Makes attempts and moves time until nothing moves. `see` is shown the sandbox after each operation, and ends the run by
/// answering false. Whether it came to its end.
pub fn run_watched(
    simulator: &mut Simulator,
    attempt: Duration,
    see: &mut dyn FnMut(&Simulator, &SimulatorOp) -> bool,
) -> bool {
    let mut last = Movement::of(simulator);
    let mut n_idle = 0;
    let mut goes_on = true;
    let mut apply = |simulator: &mut Simulator, op: SimulatorOp| {
        let has_moved = simulator.noting(|simulator| match &op {
            SimulatorOp::StepCycle => simulator.step_cycle(),
            SimulatorOp::NextTimeout => simulator.go_to_next_timeout(),
            SimulatorOp::TimeTo(to) => {
                simulator.let_time_go_to(*to);
                true
            }
            _ => false,
        });
        goes_on = goes_on && see(simulator, &op);
        goes_on && has_moved
    };
    loop {
        let can_try = simulator.can_step();
        let has_tried = can_try && apply(simulator, SimulatorOp::StepCycle);
        if can_try && !has_tried {
            return false;
        }
        let is_told_by_scenario = simulator.scenario().is_some_and(Scenario::is_moving);
        let now = Movement::of(simulator);
        if now != last || is_told_by_scenario {
            last = now;
            n_idle = 0;
        } else if has_tried {
            n_idle += 1;
        }
        if n_idle > 2 * simulator.scheduler().n_pending() + 2 {
            return true;
        }
        let to = if has_tried {
            if attempt.is_zero() && !is_told_by_scenario {
                continue;
            }
            simulator.now() + attempt
        } else {
            // The flush of pods that waited too long changes nothing by itself, so it is not waited for.
            if simulator.is_at_rest() {
                return true;
            }
            let Some((at, _)) = simulator.next_timeout() else { return true };
            at
        };
        while simulator.next_timeout().is_some_and(|(at, _)| at <= to) {
            if !apply(simulator, SimulatorOp::NextTimeout) {
                return false;
            }
        }
        if to > simulator.now() && !apply(simulator, SimulatorOp::TimeTo(to)) {
            return false;
        }
    }
}

fn summary(simulator: &Simulator, before: &BTreeMap<NamespacedName, Arc<Pod>>) -> RunSummary {
    let mut waited: BTreeMap<&NamespacedName, &Uid> = before
        .iter()
        .filter(|(_, pod)| !pod.is_assigned() && !pod.is_terminal())
        .map(|(key, pod)| (key, pod.uid()))
        .collect();
    let pods_now = &simulator.api().objects().pods;
    // In a cluster that lives, or in a scenario, others have come meanwhile, and pods go for many reasons.
    let lives = simulator.world_view().is_some() || simulator.scenario().is_some();
    if lives {
        let is_new = |(key, _): &(&NamespacedName, &Arc<Pod>)| !before.contains_key(*key);
        waited.extend(pods_now.iter().filter(is_new).map(|(key, pod)| (key, pod.uid())));
    }
    let results = waited.iter().map(|(key, uid)| pod_result(simulator, key, uid)).collect();
    // Nobody but the scheduler deletes pods here; those that were on their way out before go by themselves.
    let evicted = before
        .iter()
        .filter(|(_, pod)| !lives && pod.is_assigned() && !pod.is_terminating())
        .filter(|(key, pod)| pods_now.get(key).is_none_or(|now| now.uid() != pod.uid()))
        .map(|(key, _)| key.clone())
        .collect();
    RunSummary {
        pods: results,
        evicted,
        cycles: simulator.scheduler().counts().cycles,
        simulated_ms: u64::try_from(simulator.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// How a pod stands now.
pub(super) fn pod_result(simulator: &Simulator, key: &NamespacedName, uid: &Uid) -> PodResult {
    let scheduler = simulator.scheduler();
    let pod = simulator.api().objects().pods.get(key).filter(|pod| pod.uid() == uid);
    let Some(pod) = pod else {
        return PodResult {
            pod: key.clone(),
            node: None,
            state: PodState::Gone,
            message: "deleted".to_owned(),
            nominated_node: None,
            priority: 0,
            owner: None,
        };
    };
    let node = Some(&pod.spec.node_name).filter(|name| !name.is_empty()).cloned();
    let gate = scheduler.gating_plugin(uid);
    let (state, message) = if node.is_some() {
        (PodState::Bound, String::new())
    } else if !scheduler.has_profile(&pod.spec.scheduler_name) {
        let name = &pod.spec.scheduler_name;
        (PodState::Ignored, format!("no profile has the schedulerName {name:?}"))
    } else if let Some(plugin) = gate {
        let said = scheduler.last_message(uid).map(|said| format!(" {said}")).unwrap_or_default();
        (PodState::Gated, format!("gated by {plugin}.{said}"))
    } else {
        (PodState::Pending, scheduler.last_message(uid).map(ToString::to_string).unwrap_or_default())
    };
    let nominated_node = Some(&pod.status.nominated_node_name).filter(|name| !name.is_empty()).cloned();
    let owner = pod.metadata.controller().map(|owner| match owner.uid.as_str() {
        "" => Str::from(format!("{}/{}/{}", owner.kind, key.namespace, owner.name)),
        uid => Str::from(uid),
    });
    PodResult { pod: key.clone(), node, state, message, nominated_node, priority: pod.priority(), owner }
}

/// What counts as movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Movement {
    bound: u64,
    preempted: u64,
    n_pods: usize,
    /// What controllers have brought forward.
    n_progress: u64,
}

impl Movement {
    fn of(simulator: &Simulator) -> Self {
        let counts = simulator.scheduler().counts();
        Self {
            bound: counts.bound,
            preempted: counts.preempted,
            n_pods: simulator.api().objects().pods.len(),
            n_progress: simulator.controllers().map_or(0, Journal::n_progress),
        }
    }
}
