//! What a person asks a session to work out in copies: what would fix a pod, how many more like one fit.
//!
//! It is long work of the session ([`Work`](super::work::Work)): how far it has come is told, and it can be called off.
//! The session itself stays as it is, until a person takes one of the fixes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crate::api::{Duration, NamespacedName};

use super::capacity::{CapacityQuestion, CapacityReport, capacity};
use super::fix::{FixQuestion, FixReport, find};
use super::sandbox::ops::SimulatorOp;
use super::session::NoticeLevel;
use super::stepper::Stepper;

/// How many copies are tried at most.
const N_COPIES: usize = 10_000;
/// How many attempts are made at most until the pod that a fix is for has its node.
const N_ATTEMPTS: usize = 500;
/// How much simulated time may go by meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long somebody waits, by the clock on the wall.
#[derive(Clone, Copy, Debug)]
pub struct WallPatience {
    end: Option<Instant>,
}

impl WallPatience {
    /// From now on that long; without a length for ever.
    #[expect(clippy::disallowed_methods, reason = "a person waits by the clock on the wall")]
    pub fn from_now(length: Option<Duration>) -> Self {
        Self { end: length.and_then(|length| Instant::now().checked_add(length)) }
    }

    /// Whether it is over.
    #[expect(clippy::disallowed_methods, reason = "a person waits by the clock on the wall")]
    pub fn goes_on(&self) -> ControlFlow<()> {
        match self.end {
            Some(end) if Instant::now() >= end => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdviceQuestion {
    /// What would let a pod run.
    Fix(FixQuestion),
    /// How many more pods like one fit.
    Capacity {
        /// The pod.
        pod: NamespacedName,
        /// Whether copies may preempt.
        may_preempt: bool,
    },
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Fixes, or that there are none.
    Fix(FixReport),
    /// How many fit.
    Capacity(CapacityReport),
}

/// An answer with its number: the first has 1.
pub type Numbered = (u64, Arc<Advice>);

/// The answer in a sentence.
fn said(advice: &Advice) -> String {
    match advice {
        Advice::Capacity(report) => report.text().lines().next().unwrap_or_default().to_owned(),
        Advice::Fix(report) => {
            let pod = &report.question.pod;
            match (&report.is_fine_on, report.fixes.as_slice()) {
                (Some(node), _) => format!("nothing needs to change: pod {pod} gets to {node} by itself"),
                (None, []) => format!("no fix for {pod} was found"),
                (None, [only]) => format!("1 fix for {pod}: {} (:try-fix 1 does it)", only.title()),
                (None, [first, ..]) => format!(
                    "{} fixes for {pod}, the cheapest: {} (:try-fix 1 does it)",
                    report.fixes.len(),
                    first.title()
                ),
            }
        }
    }
}

impl Stepper {
    /// The last answer.
    pub fn advice(&self) -> Option<&Numbered> {
        self.advice.as_ref()
    }

    pub(super) fn advise(&mut self, question: &AdviceQuestion) {
        let (simulator, work) = (self.rewind.simulator(), &self.work);
        let goes_on = |done: usize, total: usize| match work.goes_on(done, total) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let advice = match question {
            AdviceQuestion::Fix(question) => {
                let found = find(simulator, question, &mut |progress| {
                    goes_on(progress.n_asked, progress.n_candidates)
                });
                found.map(Advice::Fix).map_err(|error| error.to_string())
            }
            AdviceQuestion::Capacity { pod, may_preempt } => {
                match simulator.scheduler().objects().pods.get(pod) {
                    None => Err(format!("there is no pod {pod}")),
                    Some(object) => {
                        let (pod, may_preempt) = (Arc::clone(object), *may_preempt);
                        let question = CapacityQuestion { pod, may_preempt, n_max: N_COPIES };
                        let counted = capacity(simulator, &question, &mut |n| goes_on(n, 0));
                        counted.map(Advice::Capacity).map_err(|error| error.to_string())
                    }
                }
            }
        };
        match advice {
            // What was proven by then is an answer; nothing at all is not.
            Ok(Advice::Fix(report)) if report.fixes.is_empty() && self.work.has_stopped() => {}
            Ok(advice) => {
                self.say(NoticeLevel::Info, said(&advice));
                let number = self.advice.as_ref().map_or(0, |(number, _)| *number) + 1;
                self.advice = Some((number, Arc::new(advice)));
            }
            Err(text) => self.say(NoticeLevel::Error, text),
        }
    }

    /// Does one of the fixes that were found last, on a branch where there is something to leave, and lets attempts be
    /// made until the pod has its node.
    pub(super) fn try_fix(&mut self, index: usize) {
        let Some(Advice::Fix(report)) =
            self.advice.as_ref().map(|(_, advice)| Arc::clone(advice)).as_deref().cloned()
        else {
            return self.say(NoticeLevel::Error, "no fix was looked for yet: write :fix");
        };
        let Some(fix) = report.fixes.get(index) else {
            return self.say(NoticeLevel::Error, format!("there is no fix {}", index + 1));
        };
        if self.rewind.moment().is_recorded || self.rewind.is_past() {
            self.fork();
        }
        self.edit(fix.edit());
        if self.notice().is_some_and(|notice| notice.level == NoticeLevel::Error) {
            return;
        }
        let pod = &report.question.pod;
        let until = self.simulator().now() + PATIENCE;
        for _ in 0..N_ATTEMPTS {
            if self.is_assigned(pod) {
                break;
            }
            let next = self.simulator().next_timeout().filter(|(at, _)| *at <= until);
            if !self.rewind.step_cycle() {
                if next.is_none() {
                    break;
                }
                self.rewind.apply(SimulatorOp::NextTimeout);
            }
        }
        let branch = self.moment().branch;
        let said = match self.is_assigned(pod) {
            true => format!("done, on branch {branch}: {}; {pod} is on {}", fix.title(), fix.node),
            false => format!("done, on branch {branch}: {}; go on until {pod} has its node", fix.title()),
        };
        self.say(NoticeLevel::Info, said);
    }

    fn is_assigned(&self, pod: &NamespacedName) -> bool {
        self.simulator().api().objects().pods.get(pod).is_some_and(|pod| pod.is_assigned())
    }
}
