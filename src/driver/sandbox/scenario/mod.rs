//! Scenarios: what happens in a sandbox by itself, at its time.
//!
//! A [`Plan`] has steps (at time T do X, or expect X), arrivals (what comes at random or by the clock) and what is
//! expected in the end. A [`Scenario`] is a plan under way. It hangs in the [`Simulator`] as the controllers do: it says
//! when it has something to do next, does it when that time has come, and is copied with it, so that a sandbox with a
//! scenario can be taken back and does the same again. It reads no clock and no file.
//!
//! - [`plan`]: what is to happen and what is expected
//! - [`arrivals`]: the processes
//! - [`mod@file`]: scenario files, TOML or YAML
//! - [`bundled`]: scenarios that come with the program

pub mod arrivals;
pub mod bundled;
mod check;
pub mod file;
pub mod plan;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Object, Rng, Str, Time, Uid};

use super::api::WatchEvent;
use super::simulator::Simulator;
use crate::driver::session::Edit;
use arrivals::{Arrivals, Came};
use plan::{Deed, Expectation, Plan};

/// So many things that were said are kept.
const SAID_KEPT: usize = 1_000;

/// What came of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Simulated time since the start.
    pub at: Duration,
    /// The line of the file, from 1.
    pub line: usize,
    /// What was expected, if it was not so, and what was instead.
    pub differs: Option<(String, String)>,
}

/// Something that was done, or could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Simulated time since the start.
    pub at: Duration,
    /// What there is to say.
    pub text: Str,
    /// Whether it went wrong.
    pub is_error: bool,
}

/// A plan under way.
#[derive(Clone, Debug)]
pub struct Scenario {
    plan: Arc<Plan>,
    start: Time,
    next_step: usize,
    arrivals: Vec<Arrivals>,
    /// Pods that are taken away so long after they have got a node.
    waiting: BTreeMap<Uid, Duration>,
    /// When which pods are taken away.
    leaving: BTreeSet<(Time, NamespacedName, Uid)>,
    findings: Arc<Vec<Finding>>,
    n_failed: usize,
    said: VecDeque<Said>,
    /// Whether what is expected in the end has been looked at.
    is_judged: bool,
}

/// What is to be done now.
enum Due {
    Deed(Deed, usize),
    Came { name: Str, came: Came, lifetimes: Vec<Duration> },
    Leaves(NamespacedName, Uid),
}

impl Scenario {
    /// A plan that begins at `start`.
    pub fn new(plan: Arc<Plan>, start: Time) -> Self {
        let mut seeds = Rng::new(plan.seed);
        let arrivals =
            plan.arrivals.iter().map(|plan| Arrivals::new(Arc::clone(plan), seeds.next_u64(), start));
        let arrivals = arrivals.collect();
        Self {
            plan,
            start,
            next_step: 0,
            arrivals,
            waiting: BTreeMap::new(),
            leaving: BTreeSet::new(),
            findings: Arc::default(),
            n_failed: 0,
            said: VecDeque::new(),
            is_judged: false,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What came of each expectation so far.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many expectations were not met.
    pub const fn n_failed(&self) -> usize {
        self.n_failed
    }

    /// What was done lately, and what could not be.
    pub fn said(&self) -> impl Iterator<Item = &Said> {
        self.said.iter()
    }

    /// How often each process has brought something.
    pub fn arrived(&self) -> impl Iterator<Item = (&Str, u64)> {
        self.arrivals.iter().map(|arrivals| (&arrivals.plan.name, arrivals.n()))
    }

    /// When it does something next, and what.
    pub fn next_timeout(&self) -> Option<(Time, Str)> {
        let step = self.plan.steps.get(self.next_step);
        let step = step.map(|step| (self.start + step.at, Str::from("a step of the scenario")));
        let comes = self.arrivals.iter().filter_map(|arrivals| {
            Some((arrivals.next()?, Str::from(format!("{} comes", arrivals.plan.name))))
        });
        let leaves = self.leaving.first().map(|(at, pod, _)| (*at, Str::from(format!("{pod} ends"))));
        let end = self.start + self.plan.lasts;
        let ends = (!self.is_judged).then(|| (end, Str::from("the scenario ends")));
        // Of those at the same time a step is told of first, and the end last.
        step.into_iter().chain(comes).chain(leaves).chain(ends).min_by_key(|(at, _)| *at)
    }

    /// Whether more is to happen: a step, something that comes, its end.
    pub fn is_moving(&self) -> bool {
        self.next_step < self.plan.steps.len()
            || !self.is_judged
            || !self.leaving.is_empty()
            || self.arrivals.iter().any(|arrivals| arrivals.next().is_some())
    }

    /// Whether its time is over.
    pub const fn is_over(&self) -> bool {
        self.is_judged
    }

    /// A change was reported.
    pub(super) fn observe(&mut self, event: &WatchEvent, now: Time) {
        if self.waiting.is_empty() {
            return;
        }
        match event {
            WatchEvent::Added(Object::Pod(pod)) | WatchEvent::Modified { new: Object::Pod(pod), .. } => {
                self.has_node(pod, now);
            }
            WatchEvent::Deleted(Object::Pod(pod)) => _ = self.waiting.remove(&pod.metadata.uid),
            _ => {}
        }
    }

    fn has_node(&mut self, pod: &Pod, now: Time) {
        if pod.is_assigned()
            && let Some(lifetime) = self.waiting.remove(&pod.metadata.uid)
        {
            self.leaving.insert((now + lifetime, pod.key(), pod.metadata.uid.clone()));
        }
    }

    /// The next thing whose time has come. Steps come before what arrives, in the order of the file.
    fn next_due(&mut self, now: Time) -> Option<Due> {
        if let Some(step) = self.plan.steps.get(self.next_step).filter(|step| self.start + step.at <= now) {
            let due = Due::Deed(step.deed.clone(), step.line);
            self.next_step += 1;
            return Some(due);
        }
        if self.leaving.first().is_some_and(|(at, ..)| *at <= now) {
            let (_, pod, uid) = self.leaving.pop_first()?;
            return Some(Due::Leaves(pod, uid));
        }
        let next = self.arrivals.iter().enumerate().filter_map(|(index, it)| Some((it.next()?, index))).min();
        let (at, index) = next?;
        let arrivals = self.arrivals.get_mut(index).filter(|_| at <= now)?;
        let came = arrivals.arrive();
        let n = match &came {
            Came::Objects(objects) => objects.len(),
            Came::Manifest(_) => usize::try_from(arrivals.plan.copies).unwrap_or(1),
        };
        let lifetimes = (0..n).map_while(|_| arrivals.lifetime()).collect();
        Some(Due::Came { name: arrivals.plan.name.clone(), came, lifetimes })
    }

    fn say(&mut self, at: Duration, text: impl Into<Str>, is_error: bool) {
        if self.said.len() >= SAID_KEPT {
            self.said.pop_front();
        }
        self.said.push_back(Said { at, text: text.into(), is_error });
    }

    fn found(&mut self, at: Duration, line: usize, differs: Option<(String, String)>) {
        if let Some((wanted, found)) = &differs {
            self.n_failed += 1;
            let text = format!("line {line}: expected {wanted}, but {found}");
            self.say(at, text, true);
        }
        Arc::make_mut(&mut self.findings).push(Finding { at, line, differs });
    }
}

impl Simulator {
    /// The same with a scenario that begins now.
    #[must_use]
    pub fn with_scenario(mut self, plan: Arc<Plan>) -> Self {
        self.scenario = Some(Scenario::new(plan, self.now()));
        self.play_scenario();
        self
    }

    /// The scenario, if there is one.
    pub fn scenario(&self) -> Option<&Scenario> {
        self.scenario.as_ref()
    }

    /// Does what the scenario does at the present time.
    pub(super) fn play_scenario(&mut self) {
        while let Some(due) = self.scenario.as_mut().and_then(|scenario| scenario.next_due(self.now)) {
            self.do_due(due);
        }
        self.judge_in_the_end();
    }

    fn do_due(&mut self, due: Due) {
        let at = self.elapsed();
        match due {
            Due::Deed(Deed::Edit(edit), line) => {
                let said = self.edit(&edit);
                self.note_of_scenario(at, said.map_err(|error| format!("line {line}: {error}")));
            }
            Due::Deed(Deed::Mark(name), _) => {
                // A copy, and what is done again, leaves no mark.
                if self.is_recording() {
                    self.mark(&name);
                }
                self.note_of_scenario(at, Ok(name.to_string()));
            }
            Due::Deed(Deed::Note(text), _) => {
                if self.is_recording() {
                    self.note(&text);
                }
                self.note_of_scenario(at, Ok(text.to_string()));
            }
            Due::Deed(Deed::Expect(expectation), _) => self.judge(&expectation),
            Due::Came { name, came, lifetimes } => self.take_in(&name, came, &lifetimes),
            Due::Leaves(pod, uid) => {
                let is_it =
                    self.api().objects().pods.get(&pod).is_some_and(|found| found.metadata.uid == uid);
                if is_it {
                    // Its work is done: it is gone as one that has succeeded.
                    self.change(|api, _| api.take_away(crate::api::Kind::Pod, &pod));
                }
            }
        }
    }

    fn take_in(&mut self, name: &Str, came: Came, lifetimes: &[Duration]) {
        let at = self.elapsed();
        let before: BTreeSet<Uid> = match (&came, lifetimes) {
            (Came::Manifest(_), [_, ..]) => {
                self.api().objects().pods.values().map(|pod| pod.metadata.uid.clone()).collect()
            }
            _ => BTreeSet::new(),
        };
        let mut keys = Vec::new();
        let outcome = match came {
            Came::Manifest(text) => self.edit(&Edit::Apply { source: name.to_string(), text }),
            Came::Objects(objects) => {
                let mut outcome = Ok(String::new());
                for object in objects {
                    keys.push(object.key());
                    if let Err(error) = self.change(|api, now| api.apply(object, now)) {
                        outcome = Err(error.to_string());
                    }
                }
                outcome
            }
        };
        if let Err(error) = outcome {
            self.note_of_scenario(at, Err(format!("{name}: {error}")));
        }
        if lifetimes.is_empty() {
            return;
        }
        let pods = &self.api().objects().pods;
        let came: Vec<Arc<Pod>> = if keys.is_empty() {
            pods.values().filter(|pod| !before.contains(&pod.metadata.uid)).cloned().collect()
        } else {
            keys.iter().filter_map(|key| pods.get(key)).cloned().collect()
        };
        let now = self.now;
        let Some(scenario) = &mut self.scenario else { return };
        for (pod, lifetime) in came.iter().zip(lifetimes.iter().cycle()) {
            scenario.waiting.insert(pod.metadata.uid.clone(), *lifetime);
            scenario.has_node(pod, now);
        }
    }

    fn judge(&mut self, expectation: &Expectation) {
        let (at, line) = (self.elapsed(), expectation.line);
        let differs = check::check(self, &expectation.what).err();
        if let Some(scenario) = &mut self.scenario {
            scenario.found(at, line, differs);
        }
    }

    /// What is expected in the end is looked at when its time is over and nothing else is to happen.
    fn judge_in_the_end(&mut self) {
        let Some(scenario) = &mut self.scenario else { return };
        if scenario.is_judged || self.now < scenario.start + scenario.plan.lasts {
            return;
        }
        scenario.is_judged = true;
        let plan = Arc::clone(&scenario.plan);
        for expectation in &plan.finally {
            self.judge(expectation);
        }
    }

    fn note_of_scenario(&mut self, at: Duration, said: Result<String, String>) {
        let Some(scenario) = &mut self.scenario else { return };
        match said {
            Ok(text) => scenario.say(at, text, false),
            Err(text) => scenario.say(at, text, true),
        }
    }
}
