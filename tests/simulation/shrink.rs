//! Makes a failing plan smaller, as long as it fails in the same way.

use schedscope::api::Duration;

use crate::support::world::START;

use super::checks::Violation;
use super::plan::{Op, Plan};
use super::world::World;

/// So many plans are tried at most.
const TRIES_MAX: usize = 1_500;

struct Shrinker<'a> {
    violation: &'a Violation,
    plan: Plan,
    /// Whether it fails when the trouble is over.
    is_at_end: bool,
    n_tries: usize,
}

/// The smallest plan that could be found which fails in the same way.
pub fn shrink(plan: &Plan, violation: &Violation) -> Plan {
    let lasts: Duration = plan.ops.iter().map(|op| op.after).sum();
    let is_at_end = violation.at > START + lasts + Duration::from_secs(1);
    let mut shrinker = Shrinker { violation, plan: plan.clone(), is_at_end, n_tries: 0 };
    shrinker.without_what_comes_later();
    loop {
        let before = shrinker.plan.clone();
        shrinker.without_parts();
        shrinker.settings();
        shrinker.simpler_deeds();
        shrinker.shorter_times();
        if shrinker.plan == before || shrinker.n_tries >= TRIES_MAX {
            return shrinker.plan;
        }
    }
}

impl Shrinker<'_> {
    /// Takes the plan if it fails, too.
    fn take(&mut self, plan: Plan) -> bool {
        if self.n_tries >= TRIES_MAX {
            return false;
        }
        self.n_tries += 1;
        let mut world = World::new(&plan);
        let mut played = world.play_deeds();
        if played.is_ok() && self.is_at_end {
            played = world.end();
        }
        let fails = played.is_err_and(|found| found.check == self.violation.check);
        if fails {
            self.plan = plan;
        }
        fails
    }

    fn with_ops(&self, ops: Vec<Op>) -> Plan {
        Plan { ops, ..self.plan.clone() }
    }

    /// What comes after the failure is not needed for it.
    fn without_what_comes_later(&mut self) {
        if self.is_at_end {
            return;
        }
        let mut now = START;
        let ops = self.plan.ops.iter().take_while(|op| {
            now += op.after;
            now <= self.violation.at
        });
        let ops = ops.cloned().collect();
        self.take(self.with_ops(ops));
    }

    /// Leaves out half of the deeds, a quarter, and so on down to single ones (delta debugging). The time of what is
    /// left out goes by all the same.
    fn without_parts(&mut self) {
        let mut size = (self.plan.ops.len() / 2).max(1);
        loop {
            let mut start = 0;
            while start < self.plan.ops.len() {
                let ops = &self.plan.ops;
                let end = (start + size).min(ops.len());
                let gone: Duration = ops[start..end].iter().map(|op| op.after).sum();
                let mut left = ops[..start].to_vec();
                left.extend_from_slice(&ops[end..]);
                if let Some(next) = left.get_mut(start) {
                    next.after += gone;
                }
                if !self.take(self.with_ops(left)) {
                    start = end;
                }
            }
            if size == 1 {
                return;
            }
            size /= 2;
        }
    }

    fn settings(&mut self) {
        for plan in [
            Plan { has_latency: false, ..self.plan.clone() },
            Plan { has_extender: false, ..self.plan.clone() },
            Plan { gates: "", ..self.plan.clone() },
        ] {
            let merged = Plan {
                has_latency: plan.has_latency && self.plan.has_latency,
                has_extender: plan.has_extender && self.plan.has_extender,
                gates: if plan.gates.is_empty() { "" } else { self.plan.gates },
                ..self.plan.clone()
            };
            if merged != self.plan {
                self.take(merged);
            }
        }
    }

    fn simpler_deeds(&mut self) {
        for index in 0..self.plan.ops.len() {
            let mut has_changed = true;
            while has_changed {
                has_changed = self.plan.ops[index].deed.simpler().into_iter().any(|deed| {
                    let mut ops = self.plan.ops.clone();
                    ops[index].deed = deed;
                    self.take(self.with_ops(ops))
                });
            }
        }
    }

    fn shorter_times(&mut self) {
        for index in 0..self.plan.ops.len() {
            let after = self.plan.ops[index].after;
            let whole = Duration::from_secs(after.as_secs());
            for shorter in [Duration::ZERO, Duration::from_secs(1), after / 10, after / 2, whole] {
                if shorter < self.plan.ops[index].after {
                    let mut ops = self.plan.ops.clone();
                    ops[index].after = shorter;
                    if self.take(self.with_ops(ops)) {
                        break;
                    }
                }
            }
        }
    }
}
