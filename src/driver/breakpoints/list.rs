//! The breakpoints and watches of a session, and what is told of them.

use std::sync::Arc;

use super::look::{Before, Found, places, scenes_now};
use super::{Condition, Hit, ParseError, Watched};
use crate::driver::sandbox::api::WatchEvent;
use crate::scheduler::Scheduler;

/// What a person asks of breakpoints and watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugCommand {
    /// Sets a breakpoint.
    Break {
        /// Where it stops.
        condition: Condition,
        /// Whether it goes after it has stopped once.
        is_once: bool,
        /// How many hits go by before it stops.
        n_ignored: u64,
    },
    /// Shows the value of something as it changes.
    Watch(Watched),
    /// Lets a breakpoint stop, or not.
    Enable(u32, bool),
    /// Lets it stop if it did not, and the other way round.
    Toggle(u32),
    /// Takes a breakpoint or a watch away.
    Delete(u32),
    /// Takes all away.
    DeleteAll,
    /// Goes on until a condition is true.
    RunTo(Condition),
    /// Goes back to the last moment before this one at which a condition was true.
    RunBackTo(Condition),
}

/// A breakpoint.
#[derive(Clone, Debug)]
struct Breakpoint {
    number: u32,
    condition: Condition,
    is_enabled: bool,
    is_once: bool,
    n_ignored: u64,
    n_hits: u64,
    last_hit: Option<Hit>,
}

#[derive(Clone, Debug)]
struct Watch {
    number: u32,
    watched: Watched,
    value: String,
    before: Option<String>,
    changed_in: u64,
}

/// A breakpoint as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakView {
    /// Its number.
    pub number: u32,
    /// Its condition.
    pub condition: String,
    /// Whether it stops.
    pub is_enabled: bool,
    /// Whether it goes after it has stopped once.
    pub is_once: bool,
    /// How many hits go by before it stops.
    pub n_ignored: u64,
    /// How often it was true.
    pub n_hits: u64,
    /// Where it was true last, and with which values.
    pub last_hit: Option<String>,
}

/// A watch as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchView {
    /// Its number; watches and breakpoints are numbered together.
    pub number: u32,
    /// What is watched.
    pub what: String,
    /// Its value.
    pub value: String,
    /// The value before that.
    pub before: Option<String>,
    /// The attempt in which it has changed last.
    pub changed_in: u64,
}

/// What a session tells of breakpoints and watches.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DebugView {
    /// The breakpoints by number.
    pub breaks: Vec<BreakView>,
    /// The watches by number.
    pub watches: Vec<WatchView>,
    /// Where the session has stopped last, while it stands there.
    pub stopped: Option<String>,
}

/// Why and where a session stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The breakpoint; absent for `run to`.
    pub number: Option<u32>,
    /// Its condition.
    pub condition: String,
    /// The moment, and the values.
    pub hit: Hit,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            Some(number) => write!(f, "breakpoint {number} at {}", self.hit),
            None => write!(f, "here at {}", self.hit),
        }
    }
}

/// The breakpoints and watches of a session.
#[derive(Clone, Debug, Default)]
pub struct Breaks {
    breaks: Vec<Breakpoint>,
    watches: Vec<Watch>,
    n_made: u32,
    run_to: Option<Condition>,
}

impl Breaks {
    /// Whether nothing can stop the session.
    pub fn is_idle(&self) -> bool {
        self.run_to.is_none() && self.breaks.iter().all(|known| !known.is_enabled)
    }

    /// Sets a breakpoint and answers with its number.
    pub fn add(&mut self, condition: Condition, is_once: bool, n_ignored: u64) -> u32 {
        self.n_made += 1;
        let number = self.n_made;
        self.breaks.push(Breakpoint {
            number,
            condition,
            is_enabled: true,
            is_once,
            n_ignored,
            n_hits: 0,
            last_hit: None,
        });
        number
    }

    /// Sets a breakpoint from a text.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn add_text(&mut self, text: &str) -> Result<u32, ParseError> {
        Ok(self.add(Condition::parse(text)?, false, 0))
    }

    /// Watches something and answers with its number.
    pub fn watch(&mut self, watched: Watched) -> u32 {
        self.n_made += 1;
        let (number, value) = (self.n_made, String::new());
        self.watches.push(Watch { number, watched, value, before: None, changed_in: 0 });
        number
    }

    /// Lets a breakpoint stop or not; `None` changes it. Its new state; absent if there is none of that number.
    pub fn enable(&mut self, number: u32, on: Option<bool>) -> Option<bool> {
        let known = self.breaks.iter_mut().find(|known| known.number == number)?;
        known.is_enabled = on.unwrap_or(!known.is_enabled);
        Some(known.is_enabled)
    }

    /// Takes a breakpoint or a watch away. False if there is none of that number.
    pub fn delete(&mut self, number: u32) -> bool {
        let n = self.breaks.len() + self.watches.len();
        self.breaks.retain(|known| known.number != number);
        self.watches.retain(|known| known.number != number);
        self.breaks.len() + self.watches.len() < n
    }

    /// Takes all away and answers how many there were.
    pub fn delete_all(&mut self) -> usize {
        let n = self.breaks.len() + self.watches.len();
        self.breaks.clear();
        self.watches.clear();
        n
    }

    /// Stops once where that is true, besides the breakpoints; nothing is run to any more with `None`.
    pub fn run_to(&mut self, condition: Option<Condition>) {
        self.run_to = condition;
    }

    /// Whether it goes on to where a condition is true.
    pub const fn is_running_to(&self) -> bool {
        self.run_to.is_some()
    }

    /// Sets, switches or deletes breakpoints and watches of a session with this scheduler, and says what was done. What
    /// moves the session is not done here.
    ///
    /// # Errors
    /// One sentence, where there is none of that number.
    pub fn change(&mut self, command: DebugCommand, scheduler: &Scheduler) -> Result<String, String> {
        let switched = |number: u32, on: Option<bool>| match on {
            Some(on) => Ok(format!("breakpoint {number} is {}", if on { "on" } else { "off" })),
            None => Err(format!("there is no breakpoint {number}")),
        };
        match command {
            DebugCommand::Break { condition, is_once, n_ignored } => {
                let text = condition.text().to_owned() + &unknown_plugins(&condition.plugins(), scheduler);
                let number = self.add(condition, is_once, n_ignored);
                let once = if is_once { ", once" } else { "" };
                Ok(format!("breakpoint {number}{once}: {text}"))
            }
            DebugCommand::Watch(watched) => {
                let text = watched.text().to_owned() + &unknown_plugins(&watched.plugins(), scheduler);
                Ok(format!("watch {}: {text}", self.watch(watched)))
            }
            DebugCommand::Enable(number, on) => switched(number, self.enable(number, Some(on))),
            DebugCommand::Toggle(number) => switched(number, self.enable(number, None)),
            DebugCommand::Delete(number) if self.delete(number) => Ok(format!("{number} is gone")),
            DebugCommand::Delete(number) => Err(format!("there is no breakpoint or watch {number}")),
            DebugCommand::DeleteAll => Ok(format!("{} breakpoints and watches are gone", self.delete_all())),
            DebugCommand::RunTo(_) | DebugCommand::RunBackTo(_) => Ok(String::new()),
        }
    }

    /// Where since `before` conditions are true at which it may stop, in order. Hits are not counted here.
    pub(in crate::driver) fn look(
        &self,
        before: &Before,
        scheduler: &Scheduler,
        events: &[WatchEvent],
    ) -> Vec<Found> {
        let enabled = self.breaks.iter().filter(|known| known.is_enabled).map(|known| &known.condition);
        let conditions: Vec<&Condition> = enabled.chain(&self.run_to).collect();
        places(&conditions, before, scheduler, events)
    }

    /// Counts the hits of a place. The stop that follows, if no breakpoint lets it go by.
    pub(in crate::driver) fn count(&mut self, found: &Found) -> Option<Stop> {
        let mut stop = None;
        for known in self.breaks.iter_mut().filter(|known| known.is_enabled) {
            let Some(hit) = found.hit_of(&known.condition) else { continue };
            known.n_hits += 1;
            known.last_hit = Some(hit.clone());
            if known.n_hits <= known.n_ignored {
                continue;
            }
            known.is_enabled = !known.is_once;
            let (number, condition) = (Some(known.number), known.condition.text().to_owned());
            stop.get_or_insert(Stop { number, condition, hit: hit.clone() });
        }
        if let Some(condition) = &self.run_to
            && let Some(hit) = found.hit_of(condition)
        {
            let condition = condition.text().to_owned();
            stop = Some(Stop { number: None, condition, hit: hit.clone() });
        }
        if stop.is_some() {
            self.run_to = None;
        }
        stop
    }

    /// Looks at what is watched.
    pub fn update_watches(&mut self, scheduler: &Scheduler) {
        if self.watches.is_empty() {
            return;
        }
        let scenes = scenes_now(scheduler);
        let cycle = scheduler.counts().cycles;
        for watch in &mut self.watches {
            let value = watch.watched.value(&scenes);
            if value != watch.value {
                let old = std::mem::replace(&mut watch.value, value);
                watch.before = Some(old).filter(|old| !old.is_empty());
                watch.changed_in = cycle;
            }
        }
    }

    /// What is told of them.
    pub fn view(&self, stopped: Option<&Stop>) -> Arc<DebugView> {
        let breaks = self.breaks.iter().map(|known| BreakView {
            number: known.number,
            condition: known.condition.text().to_owned(),
            is_enabled: known.is_enabled,
            is_once: known.is_once,
            n_ignored: known.n_ignored,
            n_hits: known.n_hits,
            last_hit: known.last_hit.as_ref().map(ToString::to_string),
        });
        let watches = self.watches.iter().map(|watch| WatchView {
            number: watch.number,
            what: watch.watched.text().to_owned(),
            value: watch.value.clone(),
            before: watch.before.clone(),
            changed_in: watch.changed_in,
        });
        Arc::new(DebugView {
            breaks: breaks.collect(),
            watches: watches.collect(),
            stopped: stopped.map(ToString::to_string),
        })
    }
}

/// What is to be said of plugins that no profile runs; nothing, if each is known.
fn unknown_plugins(names: &[&str], scheduler: &Scheduler) -> String {
    let is_known = |name: &str| {
        let mut plugins = scheduler.profiles().flat_map(|profile| &profile.all);
        plugins.any(|plugin| plugin.name() == name)
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => format!(" (no profile runs a plugin {name}, so this may never be true)"),
        None => String::new(),
    }
}
