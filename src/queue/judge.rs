//! Judging an event for a pod: whether any plugin that turned the pod down finds it worth a retry.
//!
//! Mirrors `isPodWorthRequeuing` of `pkg/scheduler/backend/queue/scheduling_queue.go`. Hints have to be pure: how
//! often and in which order they are asked is not promised.

use crate::api::{NamespacedName, Object, Str};
use crate::framework::meter::Measurement;
use crate::framework::runtime::QueueingHintFunction;
use crate::framework::{ClusterEvent, EventResource, Handle, QueuedPodInfo, QueueingHint};

use super::move_log::Answers;
use super::{HintAnswer, HintResult, QueueEnv, QueueingStrategy};

/// One event, ready to be judged for any number of pods.
pub(super) struct Judge<'a> {
    event: ClusterEvent,
    old: Option<&'a Object>,
    new: Option<&'a Object>,
    profiles: Vec<JudgeProfile<'a>>,
}

/// What a profile has to say to the event.
struct JudgeProfile<'a> {
    scheduler_name: &'a Str,
    handle: Handle<'a>,
    functions: Vec<&'a QueueingHintFunction>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        env: &QueueEnv<'a>,
        event: ClusterEvent,
        old: Option<&'a Object>,
        new: Option<&'a Object>,
    ) -> Self {
        let profiles = env
            .profiles
            .iter()
            .map(|(scheduler_name, profile)| JudgeProfile {
                scheduler_name,
                handle: Handle { framework: &profile.framework, ..env.handle },
                functions: profile.hints.matching(event).collect(),
            })
            .collect();
        Self { event, old, new, profiles }
    }

    /// The event.
    pub(super) fn event(&self) -> ClusterEvent {
        self.event
    }

    /// The object that it is about.
    pub(super) fn object(&self) -> Option<NamespacedName> {
        self.new.or(self.old).map(Object::key)
    }

    /// Whether it is an update of another waiting pod, which says nothing about this one.
    pub(super) fn is_update_of_other(&self, info: &QueuedPodInfo) -> bool {
        self.event.resource == EventResource::UnschedulablePod
            && self.old.is_some()
            && matches!(self.new, Some(Object::Pod(pod)) if pod.uid() != info.uid())
    }

    fn profile(&self, info: &QueuedPodInfo) -> Option<&JudgeProfile<'a>> {
        let name = &info.pod().spec.scheduler_name;
        self.profiles.iter().find(|profile| profile.scheduler_name == name)
    }

    /// What the event does to the pod.
    pub(super) fn strategy(&self, info: &QueuedPodInfo) -> QueueingStrategy {
        if !has_rejectors(info) {
            return QueueingStrategy::AfterBackoff;
        }
        if self.event.is_wildcard() {
            // With an object it is meant for that pod alone.
            let concerns = self.new.is_none_or(|new| match new {
                Object::Pod(pod) => pod.uid() == info.uid(),
                _ => false,
            });
            return if concerns { QueueingStrategy::AfterBackoff } else { QueueingStrategy::Skip };
        }
        let Some(profile) = self.profile(info) else { return QueueingStrategy::AfterBackoff };
        let mut strategy = QueueingStrategy::Skip;
        for function in &profile.functions {
            let is_pending = info.pending_plugins.contains(function.plugin);
            if !is_pending && !info.unschedulable_plugins.contains(function.plugin)
                || self.measure(profile, function, info) == HintResult::Skip
            {
                continue;
            }
            if is_pending {
                return QueueingStrategy::Immediately;
            }
            strategy = QueueingStrategy::AfterBackoff;
            // Only a pending plugin could still make more of it.
            if info.pending_plugins.is_empty() {
                break;
            }
        }
        strategy
    }

    /// What every plugin that turned the pod down answers, for a person; `None` if the event is nothing to any of
    /// them.
    pub(super) fn answers(&self, info: &QueuedPodInfo) -> Option<Vec<HintAnswer>> {
        if !has_rejectors(info) {
            return Some(Vec::new());
        }
        if self.event.is_wildcard() {
            return None;
        }
        let profile = self.profile(info)?;
        let mut answers = Answers::default();
        for function in &profile.functions {
            if info.rejector_plugins().any(|plugin| plugin.as_ref() == function.plugin) {
                answers.add(function.plugin, self.ask(profile, function, info));
            }
        }
        Some(answers.into_vec()).filter(|answers| !answers.is_empty())
    }

    /// Asks, and tells whoever measures how long it took.
    fn measure(
        &self,
        profile: &JudgeProfile<'_>,
        function: &QueueingHintFunction,
        info: &QueuedPodInfo,
    ) -> HintResult {
        let metering = &profile.handle.framework.metering;
        let since = metering.stamp();
        let result = self.ask(profile, function, info);
        if let Some(since) = since {
            let hint = match result {
                HintResult::Skip => "QueueSkip",
                HintResult::Queue => "Queue",
                HintResult::Error(_) => "Error",
            };
            let (plugin, event) = (function.plugin, self.event.label());
            metering.take(Measurement::Hint { plugin, event: &event, hint, since });
        }
        result
    }

    fn ask(
        &self,
        profile: &JudgeProfile<'_>,
        function: &QueueingHintFunction,
        info: &QueuedPodInfo,
    ) -> HintResult {
        let Some(hint) = &function.hint else { return HintResult::Queue };
        match hint(&profile.handle, info.pod(), self.old, self.new) {
            Ok(QueueingHint::QueueSkip) => HintResult::Skip,
            Ok(QueueingHint::Queue) => HintResult::Queue,
            Err(error) => HintResult::Error(error),
        }
    }
}

/// Whether any plugin turned the pod down.
pub(super) fn has_rejectors(info: &QueuedPodInfo) -> bool {
    !(info.unschedulable_plugins.is_empty() && info.pending_plugins.is_empty())
}
