//! The calls that the scheduler makes, under way: they take time, fail, and end in any order.
//!
//! Calls about one object are done in the order in which they were made. What a call does and what comes back are two
//! moments; the answer may be another one than what was done.

use std::collections::BTreeMap;

use schedscope::api::{Duration, NamespacedName, Rng, Str, Time};
use schedscope::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectKind};
use schedscope::scheduler::input::Input;

use super::plan::{Verb, Why};

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Call {
    pub effect: Effect,
    /// When it is done.
    pub at: Time,
    /// How long its answer takes after that.
    pub answer_takes: Duration,
    /// Whether its answer comes before the watch tells of what it did.
    pub is_answer_first: bool,
}

/// The calls under way.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    under_way: Vec<Call>,
    answers: Vec<(Time, Input)>,
    last: BTreeMap<NamespacedName, Time>,
    n_made: BTreeMap<NamespacedName, u64>,
    faults: BTreeMap<(Verb, String), (u32, Why)>,
    slow: BTreeMap<(Verb, String), Duration>,
}

/// What a call is to the plan.
pub fn verb_of(kind: &EffectKind) -> Option<(Verb, NamespacedName)> {
    Some(match kind {
        EffectKind::Bind { pod, .. } => (Verb::Bind, pod.clone()),
        EffectKind::DeletePod { pod, .. } => (Verb::Delete, pod.clone()),
        EffectKind::PatchPodStatus { pod, .. } => (Verb::Patch, pod.clone()),
        EffectKind::PatchPodGroupStatus { pod_group, .. } => (Verb::Patch, pod_group.clone()),
        EffectKind::Write(write) => (Verb::Write, write.object.key()),
        EffectKind::CallExtender(_) | EffectKind::Event(_) => return None,
    })
}

/// A number that stands for a text.
fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Calls {
    /// The scheduler makes a call. How long it takes depends on the seed, the object and how many calls about it there
    /// were, so that it stays the same when something else is left out.
    pub fn make(&mut self, effect: Effect, now: Time, latency: Option<u64>) {
        let named = verb_of(&effect.kind);
        let key = match &named {
            Some((_, key)) => key.clone(),
            None => NamespacedName::cluster("extender"),
        };
        let n_made = self.n_made.entry(key.clone()).or_default();
        *n_made += 1;
        let mut takes = Duration::ZERO;
        let mut answer_takes = Duration::ZERO;
        let mut is_answer_first = false;
        if let Some(seed) = latency {
            let rng = &mut Rng::new(seed ^ number(&key.to_string()) ^ (*n_made << 32));
            let mut time = || match rng.below(20) {
                0..10 => Duration::ZERO,
                10..17 => Duration::from_micros(rng.below(20_000) as u64),
                17..19 => Duration::from_millis(rng.below(2_000) as u64),
                _ => Duration::from_millis(rng.below(15_000) as u64),
            };
            (takes, answer_takes) = (time(), time());
            is_answer_first = rng.below(2) == 0;
        }
        if let Some((verb, key)) = &named {
            for name in [key.name.to_string(), "*".to_owned()] {
                takes += self.slow.remove(&(*verb, name)).unwrap_or_default();
            }
        }
        let at = (now + takes).max(self.last.get(&key).copied().unwrap_or_default());
        self.last.insert(key, at);
        self.under_way.push(Call { effect, at, answer_takes, is_answer_first });
    }

    pub fn fail(&mut self, verb: Verb, name: &str, times: u32, why: Why) {
        self.faults.insert((verb, name.to_owned()), (times, why));
    }

    pub fn slow(&mut self, verb: Verb, name: &str, takes: Duration) {
        self.slow.insert((verb, name.to_owned()), takes);
    }

    /// No call fails from now on.
    pub fn heal(&mut self) {
        self.faults.clear();
        self.slow.clear();
    }

    /// How the call is to fail, if it is.
    pub fn fault(&mut self, verb: Verb, name: &Str) -> Option<Why> {
        let by_name = (verb, name.to_string());
        let which = if self.faults.contains_key(&by_name) { by_name } else { (verb, "*".to_owned()) };
        let (times, why) = self.faults.get_mut(&which)?;
        let why = *why;
        *times -= 1;
        if *times == 0 {
            self.faults.remove(&which);
        }
        // Of a pod that is there no API server says that it is not. A preemptor that is told so of its victim waits for
        // the victim's end, in kube-scheduler as here.
        let is_lie = why == Why::NotFound && matches!(verb, Verb::Delete | Verb::Patch);
        Some(if is_lie { Why::Error } else { why })
    }

    /// When a call is done or an answer comes.
    pub fn next(&self) -> Option<Time> {
        let calls = self.under_way.iter().map(|call| call.at);
        calls.chain(self.answers.iter().map(|(at, _)| *at)).min()
    }

    /// The next call whose time has come.
    pub fn take_call(&mut self, now: Time) -> Option<Call> {
        let due = self.under_way.iter().enumerate().filter(|(_, call)| call.at <= now);
        let (index, _) = due.min_by_key(|(_, call)| (call.at, call.effect.id))?;
        Some(self.under_way.remove(index))
    }

    pub fn answer_at(&mut self, at: Time, answer: Input) {
        self.answers.push((at, answer));
    }

    /// The next answer whose time has come.
    pub fn take_answer(&mut self, now: Time) -> Option<Input> {
        let due = self.answers.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (index, _) = due.min_by_key(|(index, (at, _))| (*at, *index))?;
        Some(self.answers.remove(index).1)
    }
}

/// What the API says of a call that is to fail.
pub fn failure(why: Why, name: &str) -> ApiFailure {
    let (reason, message) = match why {
        Why::Error => (ApiFailureReason::Other, "Internal error occurred: injected".to_owned()),
        Why::AnswerLost => (ApiFailureReason::Other, "context deadline exceeded".to_owned()),
        Why::Conflict => {
            (ApiFailureReason::Conflict, format!("Operation cannot be fulfilled on pods {name:?}: injected"))
        }
        Why::NotFound => (ApiFailureReason::NotFound, format!("pods {name:?} not found")),
        Why::Forbidden => (ApiFailureReason::Other, format!("pods {name:?} is forbidden: injected")),
    };
    ApiFailure { reason, message }
}
