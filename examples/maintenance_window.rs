//! A plugin of one's own, outside the tree: it keeps pods off nodes whose maintenance begins before they are done.
//!
//! A node says when its maintenance begins (`example.com/maintenance-at`, an RFC 3339 time), a pod how long it runs
//! (`example.com/runs-for`, seconds). Filter rejects nodes on which the time would not do, Score prefers those with
//! the most time left over, and a changed annotation wakes the pods that were rejected. Run it with
//! `cargo run --example maintenance_window`.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::{Node, Pod};
use schedscope::api::{Object, Time};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::runner::{RunSummary, run_to_rest};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::framework::runtime::{Registry, build_profiles};
use schedscope::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, MAX_NODE_SCORE, NodeInfo, Plugin, PodInfo, QueueingHint, ScorePlugin, Status,
};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;

const NAME: &str = "MaintenanceWindow";
const MAINTENANCE_AT: &str = "example.com/maintenance-at";
const RUNS_FOR: &str = "example.com/runs-for";
/// Time left over from which on a node is as good as one without maintenance, in seconds.
const AMPLE_SECS: i64 = 24 * 3600;

/// The plugin. It remembers nothing: what it must know comes with each call.
#[derive(Clone, Copy, Debug)]
struct MaintenanceWindow {
    /// How long before the maintenance a pod must be done, in seconds; from the plugin's arguments.
    margin_secs: i64,
}

impl MaintenanceWindow {
    /// Makes the plugin from the `args` of the configuration.
    fn from_args(args: Option<&serde_json::Value>) -> Result<Self, String> {
        let margin = args.and_then(|args| args.get("marginSeconds"));
        let margin_secs = match margin {
            None => 300,
            Some(value) => {
                value.as_i64().ok_or_else(|| format!("marginSeconds: {value} is no whole number"))?
            }
        };
        Ok(Self { margin_secs })
    }

    /// Seconds that are left over between the pod's end and the node's maintenance, below 0 if they do not do.
    /// `None` if the node has none ahead.
    fn spare_secs(self, now: Time, pod: &Pod, node: &Node) -> Option<i64> {
        let begins = Time::parse_rfc3339(node.metadata.annotations.get(MAINTENANCE_AT)?)?;
        let left = i64::try_from(begins.saturating_since(now).as_secs()).unwrap_or(i64::MAX);
        let runs_for = pod.metadata.annotations.get(RUNS_FOR).and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(left.saturating_sub(runs_for).saturating_sub(self.margin_secs))
    }
}

impl Plugin for MaintenanceWindow {
    fn name(&self) -> &'static str {
        NAME
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for MaintenanceWindow {
    fn filter(&self, handle: &Handle<'_>, _: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let spare = node.node().and_then(|node| self.spare_secs(handle.now, &pod.pod, node));
        if spare.is_some_and(|spare| spare < 0) {
            // No eviction gives more time, so preemption need not try.
            return Status::unresolvable("node(s) had maintenance before the pod would be done");
        }
        Status::SUCCESS
    }
}

impl ScorePlugin for MaintenanceWindow {
    fn score(
        &self,
        handle: &Handle<'_>,
        _: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let spare = node.node().and_then(|node| self.spare_secs(handle.now, &pod.pod, node));
        Ok(spare.map_or(MAX_NODE_SCORE, |spare| spare.clamp(0, AMPLE_SECS) * MAX_NODE_SCORE / AMPLE_SECS))
    }
}

impl EnqueueExtensions for MaintenanceWindow {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let plugin = *self;
        let changes = ActionType::ADD | ActionType::UPDATE_NODE_ANNOTATION;
        let event = ClusterEvent::new(EventResource::Node, changes);
        vec![ClusterEventWithHint::hinted(event, move |handle, pod, _, new| {
            let Some(Object::Node(node)) = new else { return Err("expected a Node".to_owned()) };
            let has_time = plugin.spare_secs(handle.now, pod, node).is_none_or(|spare| spare >= 0);
            Ok(if has_time { QueueingHint::Queue } else { QueueingHint::QueueSkip })
        })]
    }
}

/// The in-tree plugins and this one.
fn registry() -> Result<Registry, Box<dyn Error>> {
    let mut registry = in_tree_registry();
    registry.register(NAME, |args, _| Ok(Arc::new(MaintenanceWindow::from_args(args)?)))?;
    Ok(registry)
}

/// The plugin joins the default ones at every point that it has; its score counts five times.
const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: MaintenanceWindow, weight: 5}]
  pluginConfig:
  - name: MaintenanceWindow
    args: {marginSeconds: 600}
";

/// Three nodes: a small one without maintenance, one with it soon, one later; and four pods.
const CLUSTER: &str = "
apiVersion: v1
kind: Node
metadata: {name: free}
status: {allocatable: {cpu: '1', memory: 4Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: soon, annotations: {example.com/maintenance-at: '2026-01-01T01:00:00Z'}}
status: {allocatable: {cpu: '4', memory: 4Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: later, annotations: {example.com/maintenance-at: '2026-01-01T12:00:00Z'}}
status: {allocatable: {cpu: '6', memory: 4Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: a-service}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: '1'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b-half-an-hour, annotations: {example.com/runs-for: '1800'}}
spec: {containers: [{name: main, image: job, resources: {requests: {cpu: '3'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: c-six-hours, annotations: {example.com/runs-for: '21600'}}
spec: {containers: [{name: main, image: job, resources: {requests: {cpu: '2'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: d-one-day, annotations: {example.com/runs-for: '86400'}}
spec: {containers: [{name: main, image: job, resources: {requests: {cpu: '2'}}}]}
";

/// Schedules the pods of [`CLUSTER`] until nothing moves.
fn schedule() -> Result<RunSummary, Box<dyn Error>> {
    let start = Time::parse_rfc3339("2026-01-01T00:00:00Z").ok_or("a start")?;
    let (registry, gates) = (registry()?, FeatureGates::default());
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let configuration = SchedulerConfig::load(CONFIGURATION, options)?;
    let profiles = build_profiles(&configuration.profiles, &registry, &gates)?;
    let sources = [Source { name: "cluster".to_owned(), text: CLUSTER.to_owned() }];
    let (api, _) = SandboxApi::from_manifests(load(&sources)?, &sources, start)?;
    let profiles = profiles.into_values().collect();
    let mut simulator = Simulator::new(profiles, SchedulerOptions::default(), api, start)?;
    Ok(run_to_rest(&mut simulator))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for pod in schedule()?.pods {
        let node = pod.node.as_deref().unwrap_or("-");
        writeln!(out, "{:<24} {node:<8} {}", pod.pod.to_string(), pod.message)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn pods_go_where_their_time_does() {
        let summary = schedule().unwrap();
        let places: Vec<(&str, Option<&str>)> =
            summary.pods.iter().map(|pod| (pod.pod.name.as_ref(), pod.node.as_deref())).collect();
        assert_eq!(
            places,
            [
                ("a-service", Some("free")),
                ("b-half-an-hour", Some("later")),
                ("c-six-hours", Some("later")),
                ("d-one-day", None)
            ]
        );
    }

    #[test]
    fn arguments_are_checked() {
        assert!(MaintenanceWindow::from_args(Some(&serde_json::json!({"marginSeconds": "x"}))).is_err());
        assert_eq!(MaintenanceWindow::from_args(None).map(|plugin| plugin.margin_secs), Ok(300));
    }
}
