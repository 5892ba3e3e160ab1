//! Plugins that do what the annotations of a pod say: wait, fail, be slow.
//!
//! Written against the public plugin interface, as somebody outside would. Annotations begin with
//! `test.schedscope.dev/`; a value may be a list `a,b,c`, of which the first call takes the first, the second the
//! second, and all later ones the last. What takes time is due at a whole millisecond.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schedscope::api::objects::Pod;
use schedscope::api::{Duration, Object, Str, Time};
use schedscope::framework::runtime::{Registry, RegistryError};
use schedscope::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, Code, CycleState, EnqueueExtensions, EventResource,
    Handle, PermitPlugin, Plugin, PodInfo, PostBindPlugin, PreBindPlugin, PreBindPreFlightResult,
    PreBindProgress, QueueingHint, ReservePlugin, Status,
};

const PREFIX: &str = "test.schedscope.dev/";

/// How often each annotation of each pod has been read. A real plugin would keep nothing outside the cycle; these
/// count calls over the attempts of a pod, which nothing in the scheduler does for them.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    counts: Arc<Mutex<BTreeMap<(String, String), usize>>>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Calls {
    /// The value that this call takes.
    fn next(&self, pod: &Pod, annotation: &str) -> Option<String> {
        let values = pod.metadata.annotations.get(format!("{PREFIX}{annotation}").as_str())?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((pod.uid().to_string(), annotation.to_owned())).or_default();
        let values: Vec<&str> = values.split(',').collect();
        let value = values.get(*count).or(values.last()).map(|value| (*value).to_owned());
        *count += 1;
        value
    }

    fn tell(&self, pod: &Pod, point: &str, plugin: &str, node: &str, result: Option<&str>) {
        if pod.metadata.annotations.keys().any(|key| key.starts_with(PREFIX)) {
            let result = result.map(|result| format!(": {result}")).unwrap_or_default();
            let line = format!("plugin {} {point} {plugin} {node}{result}", pod.key());
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// How the calls stand, on their own.
    #[must_use]
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        copy.restore(self);
        copy
    }

    /// Puts the calls back to where they stood.
    pub fn restore(&self, copy: &Self) {
        let counts = copy.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines = copy.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = counts;
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// The calls since the last time somebody asked, as lines.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds the test plugins to a registry.
///
/// # Errors
/// If a plugin of one of their names is there already.
pub fn register(registry: &mut Registry, calls: &Calls) -> Result<(), RegistryError> {
    for name in ["TestReserveA", "TestReserveB"] {
        let calls = calls.clone();
        registry.register(name, move |_, _| Ok(Arc::new(TestReserve { name, calls: calls.clone() })))?;
    }
    for name in ["TestPermitA", "TestPermitB"] {
        let calls = calls.clone();
        registry.register(name, move |_, _| Ok(Arc::new(TestPermit { name, calls: calls.clone() })))?;
    }
    let pre_bind = calls.clone();
    registry.register("TestPreBind", move |_, _| Ok(Arc::new(TestPreBind { calls: pre_bind.clone() })))?;
    let post_bind = calls.clone();
    registry.register("TestPostBind", move |_, _| Ok(Arc::new(TestPostBind { calls: post_bind.clone() })))
}

fn status(plugin: &str, value: &str) -> Status {
    let code = match value {
        "unschedulable" => Code::Unschedulable,
        "unresolvable" => Code::UnschedulableAndUnresolvable,
        "pending" => Code::Pending,
        "error" => Code::Error,
        "skip" => Code::Skip,
        _ => return Status::SUCCESS,
    };
    Status::new(code, format!("{plugin} says {value}"))
}

/// A duration as Go writes it, in whole milliseconds, seconds or minutes.
pub fn parse_duration(text: &str) -> Duration {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().unwrap_or(0.0);
    match unit {
        "ms" => Duration::from_secs_f64(number / 1000.0),
        "m" => Duration::from_secs_f64(number * 60.0),
        "h" => Duration::from_secs_f64(number * 3600.0),
        _ => Duration::from_secs_f64(number),
    }
}

#[derive(Debug)]
struct TestReserve {
    name: &'static str,
    calls: Calls,
}

impl Plugin for TestReserve {
    fn name(&self) -> &'static str {
        self.name
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        // TestReserveB does not say what it listens to, which means everything.
        (self.name == "TestReserveA").then_some(self)
    }
}

impl EnqueueExtensions for TestReserve {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::always(ClusterEvent::new(EventResource::Pod, ActionType::DELETE))]
    }
}

impl ReservePlugin for TestReserve {
    fn reserve(&self, _: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, node: &Str) -> Status {
        let annotation = if self.name == "TestReserveA" { "reserve-a" } else { "reserve-b" };
        let value = self.calls.next(&pod.pod, annotation).unwrap_or_else(|| "success".to_owned());
        self.calls.tell(&pod.pod, "Reserve", self.name, node, Some(&value));
        status(self.name, &value)
    }
    fn unreserve(&self, _: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, node: &Str) {
        self.calls.tell(&pod.pod, "Unreserve", self.name, node, None);
    }
}

#[derive(Debug)]
struct TestPermit {
    name: &'static str,
    calls: Calls,
}

impl Plugin for TestPermit {
    fn name(&self) -> &'static str {
        self.name
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl EnqueueExtensions for TestPermit {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        if self.name == "TestPermitA" {
            let event = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_LABEL);
            return vec![ClusterEventWithHint::hinted(event, |_, pod, old, new| {
                let label = |object: Option<&Object>| match object {
                    Some(Object::Pod(other)) if other.uid() == pod.uid() => {
                        other.metadata.labels.get("test.schedscope.dev/go").cloned()
                    }
                    _ => None,
                };
                let is_own = matches!(new, Some(Object::Pod(other)) if other.uid() == pod.uid());
                Ok(if is_own && label(old) != label(new) {
                    QueueingHint::Queue
                } else {
                    QueueingHint::QueueSkip
                })
            })];
        }
        let event = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL);
        vec![ClusterEventWithHint::hinted(event, |_, _, _, new| {
            let has_room = matches!(new, Some(Object::Node(node)) if node.label("test.schedscope.dev/room") == Some("yes"));
            Ok(if has_room { QueueingHint::Queue } else { QueueingHint::QueueSkip })
        })]
    }
}

impl PermitPlugin for TestPermit {
    fn permit(&self, _: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, node: &Str) -> (Status, Duration) {
        let annotation = if self.name == "TestPermitA" { "permit-a" } else { "permit-b" };
        let value = self.calls.next(&pod.pod, annotation).unwrap_or_else(|| "success".to_owned());
        self.calls.tell(&pod.pod, "Permit", self.name, node, Some(&value));
        match value.strip_prefix("wait=") {
            Some(timeout) => (Status::bare(Code::Wait), parse_duration(timeout)),
            None => (status(self.name, &value), Duration::ZERO),
        }
    }
}

#[derive(Debug)]
struct TestPreBind {
    calls: Calls,
}

/// When a slow PreBind ends, and how.
#[derive(Clone, Debug)]
struct SlowPreBind {
    until: Time,
    value: String,
}

impl TestPreBind {
    const NAME: &'static str = "TestPreBind";

    fn end(&self, pod: &PodInfo, node: &str, value: &str, result: &str, status: Status) -> PreBindProgress {
        let result = if value.contains('=') { result } else { value };
        self.calls.tell(&pod.pod, "PreBind", Self::NAME, node, Some(result));
        PreBindProgress::Done(status)
    }
}

impl Plugin for TestPreBind {
    fn name(&self) -> &'static str {
        Self::NAME
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }
}

impl PreBindPlugin for TestPreBind {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        pod: &PodInfo,
        node: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let has_work = pod.pod.metadata.annotations.contains_key("test.schedscope.dev/prebind");
        let value = self.calls.next(&pod.pod, "preflight");
        let value = value.unwrap_or_else(|| if has_work { "success" } else { "skip" }.to_owned());
        self.calls.tell(&pod.pod, "PreBindPreFlight", Self::NAME, node, Some(&value));
        (PreBindPreFlightResult::default(), status(Self::NAME, &value))
    }

    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &Str,
        cancelled: Option<&str>,
    ) -> PreBindProgress {
        let slow = match state.read::<SlowPreBind>() {
            Some(slow) => slow.clone(),
            None => {
                let value = self.calls.next(&pod.pod, "prebind").unwrap_or_else(|| "success".to_owned());
                let Some((_, duration)) = value.split_once('=') else {
                    return self.end(pod, node, &value, &value, status(Self::NAME, &value));
                };
                self.calls.tell(&pod.pod, "PreBind", Self::NAME, node, Some(&value));
                let now = Time::from_nanos(handle.now.as_nanos() / 1_000_000 * 1_000_000);
                let slow = SlowPreBind { until: now + parse_duration(duration), value };
                state.write(Self::NAME, slow.clone());
                slow
            }
        };
        let is_stubborn = slow.value.starts_with("stubborn");
        if let Some(reason) = cancelled.filter(|_| !is_stubborn) {
            return self.end(pod, node, &slow.value, "canceled", Status::error(reason));
        }
        if handle.now < slow.until {
            return PreBindProgress::Pending { wake_at: Some(slow.until) };
        }
        if slow.value.starts_with("slow-error") {
            return self.end(pod, node, &slow.value, "error", status(Self::NAME, "error"));
        }
        self.end(pod, node, &slow.value, "success", Status::SUCCESS)
    }
}

#[derive(Debug)]
struct TestPostBind {
    calls: Calls,
}

impl Plugin for TestPostBind {
    fn name(&self) -> &'static str {
        "TestPostBind"
    }
    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }
}

impl PostBindPlugin for TestPostBind {
    fn post_bind(&self, _: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, node: &Str) {
        self.calls.tell(&pod.pod, "PostBind", "TestPostBind", node, None);
    }
}
