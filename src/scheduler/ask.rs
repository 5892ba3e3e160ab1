//! Questions to plugins outside any attempt.

use std::sync::Arc;

use crate::framework::{Framework, Handle};

use super::Scheduler;

impl Scheduler {
    /// Lets somebody ask the plugins of a profile what they would say now, on the nodes as an attempt would see them.
    /// Nothing follows from it: what plugins ask for is dropped, and chance goes on as if nobody had asked. Absent if
    /// there is no such profile, or an attempt is under way.
    pub fn ask<R>(
        &mut self,
        scheduler_name: &str,
        question: impl FnOnce(&Handle<'_>, &Framework) -> R,
    ) -> Option<R> {
        if self.is_in_cycle() {
            return None;
        }
        let profiles = Arc::clone(&self.world.profiles);
        let framework = &profiles.get(scheduler_name)?.framework;
        self.cache.update_snapshot(&mut self.world.snapshot);
        let rng = self.world.rng.borrow().clone();
        let answer = question(&self.world.handle(framework), framework);
        self.world.rng.replace(rng);
        self.world.take_requests();
        self.world.answers.borrow_mut().clear();
        Some(answer)
    }
}
