//! PreBind of a binding cycle: plugins that run beside each other, wait, fail and are cancelled.
//!
//! Mirrors `RunPreBindPlugins` and `getPreBindPluginGroups` of `pkg/scheduler/framework/runtime/framework.go`.
//! Upstream's plugins block; here one that waits is asked again when something has happened that it can depend on.

use std::sync::Arc;

use crate::framework::runtime::PluginVerdict;
use crate::framework::{Code, Framework, Handle, PreBindProgress, Status};

use super::Scheduler;
use super::binding_cycle::{Progress, assumed};
use super::cycle::{BindingCycle, BindingStage, Failure, framework_of};
use super::trace::Phase;

/// Why the plugins that run beside one that has failed are cancelled.
const ANOTHER_FAILED: &str = "some other PreBind operation failed";

impl Scheduler {
    /// Runs the PreBind plugins group by group: those that allow it beside each other, the others alone.
    pub(super) fn pre_bind(&mut self, binding: &mut BindingCycle, framework: &Framework) -> Progress {
        let outcome = binding.pre_bind_outcome.take().or_else(|| self.ask_pre_bind(binding, framework));
        if let Some(outcome) = &outcome {
            let code =
                if outcome.is_ok() && binding.cancelled.is_none() { Code::Success } else { Code::Error };
            let since = binding.stage_stamp.take();
            framework.metering.point(&framework.profile_name, "PreBind", code, since);
        }
        match (outcome, &binding.cancelled) {
            (None, _) => Progress::Blocked,
            (Some(Err(failure)), _) => Progress::Failed(failure),
            // Preempted after all plugins had ended well.
            (Some(Ok(())), Some(reason)) => Progress::Failed(Failure::Status(Status::error(reason))),
            (Some(Ok(())), None) => {
                binding.cycle.note(|trace| trace.phase = Phase::PreBind);
                binding.stage = BindingStage::Bind;
                Progress::Advanced
            }
        }
    }

    /// Asks those that are not done yet; `None` while one of them is not.
    fn ask_pre_bind(
        &mut self,
        binding: &mut BindingCycle,
        framework: &Framework,
    ) -> Option<Result<(), Failure>> {
        binding.wake_at = None;
        binding.watched.clear();
        binding.cycle.note(|trace| _ = trace.pre_bind.get_or_insert_with(Vec::new));
        if !binding.has_pre_bind_work {
            return Some(Ok(()));
        }
        let had_failed = binding.pre_bind_failure.is_some();
        let mut is_pending = self.ask_pre_bind_group(binding, framework);
        if is_pending && !had_failed && binding.pre_bind_failure.is_some() {
            is_pending = self.ask_pre_bind_group(binding, framework);
        }
        self.carry_out_requests();
        if is_pending {
            return None;
        }
        Some(match binding.pre_bind_failure.take() {
            Some(status) => Err(Failure::Status(status)),
            None => Ok(()),
        })
    }

    /// Asks plugin after plugin until one has to wait that the next ones must not run beside, or as many wait as may run
    /// beside each other. Whether any waits.
    fn ask_pre_bind_group(&mut self, binding: &mut BindingCycle, framework: &Framework) -> bool {
        let assumed = assumed(&binding.cycle);
        binding.wake_at = None;
        binding.watched.clear();
        let mut n_pending = 0;
        let mut previous_is_parallel = true;
        for plugin in &framework.plugins.pre_bind {
            let name = plugin.name();
            let Some(pre_bind) = plugin.as_pre_bind() else { continue };
            let is_parallel = binding.cycle.state.parallel_pre_bind_plugins.contains(name);
            let is_beside = is_parallel && previous_is_parallel;
            previous_is_parallel = is_parallel;
            if binding.cycle.state.skip_pre_bind_plugins.contains(name) {
                continue;
            }
            if n_pending > 0 && !is_beside || n_pending >= self.options.parallelism.max(1) {
                break;
            }
            let has_failed = binding.pre_bind_failure.is_some();
            if has_failed && !binding.pre_bind_begun.contains(&name) {
                // Nothing new begins.
                continue;
            }
            if !binding.pre_bind_begun.contains(&name) {
                binding.pre_bind_begun.push(name);
            }
            let cancelled = binding.cancelled.as_deref().or(has_failed.then_some(ANOTHER_FAILED));
            let handle = Handle { now: self.time_of_waits(), ..self.world.handle(framework) };
            let since = framework.metering.stamp_if(binding.cycle.state.is_sample);
            let progress =
                pre_bind.pre_bind(&handle, &mut binding.cycle.state, &assumed, &binding.host, cancelled);
            match progress {
                PreBindProgress::Pending { wake_at } => {
                    n_pending += 1;
                    binding.waited_in = Some(name);
                    // Of several plugins the one that wants to be asked first decides.
                    binding.wake_at = wake_at.into_iter().chain(binding.wake_at).min();
                    binding.watched.extend(pre_bind.watched_kinds());
                }
                PreBindProgress::Done(status) => {
                    framework.metering.plugin(name, "PreBind", status.code(), since);
                    binding.cycle.state.skip_pre_bind_plugins.insert(name);
                    let verdict = PluginVerdict { plugin: name, status: status.clone(), node_names: None };
                    binding.cycle.note(|trace| trace.pre_bind.get_or_insert_with(Vec::new).push(verdict));
                    // The first failure counts.
                    if !status.is_success() && !has_failed {
                        binding.pre_bind_failure = Some(failure_of(name, status));
                    }
                }
            }
        }
        n_pending > 0
    }

    /// Asks the PreBind plugins that are not done yet, if something has happened that they can depend on. What they
    /// come to is kept until the cycle has its turn.
    pub(super) fn ask_pre_bind_plugins(&mut self) {
        self.wake_signalled();
        let now = self.time_of_waits();
        self.binding_cycles.wake_late(now);
        let profiles = Arc::clone(&self.world.profiles);
        for uid in self.binding_cycles.take_ready() {
            let is_asked = self.binding_cycles.get(&uid).is_some_and(|binding| {
                binding.stage == BindingStage::PreBind
                    && binding.has_waited
                    && binding.pre_bind_outcome.is_none()
            });
            if !is_asked {
                continue;
            }
            let Some((number, mut binding)) = self.binding_cycles.take(&uid) else { continue };
            if let Some(framework) = framework_of(&profiles, &binding.cycle.profile_name) {
                let due = binding.wake_at.unwrap_or(now);
                binding.pre_bind_outcome = self.ask_pre_bind(&mut binding, framework);
                if binding.pre_bind_outcome.is_some() {
                    binding.ready_since = Some(due.min(now));
                }
            }
            self.binding_cycles.put_back(number, binding);
        }
    }
}

/// How a failed PreBind is reported.
fn failure_of(plugin: &'static str, status: Status) -> Status {
    if status.is_rejected() {
        return status.with_plugin(plugin);
    }
    Status::error(format!("running PreBind plugin {plugin:?}: {}", status.message()))
}
