//! A plugin of one's own, outside the tree: it keeps pods off nodes whose maintenance begins before they are done.
//!
//! A node says when its maintenance begins (`example.com/maintenance-at`, an RFC 3339 time), a pod how long it runs
//! (`example.com/runs-for`, seconds). Filter rejects nodes on which the time would not do, Score prefers those with
//! the most time left over, and a changed annotation wakes the pods that were rejected. The program is schedscope with
//! that plugin: `cargo run --example maintenance_window -- sandbox -f examples/maintenance_window.yaml` opens the console,
//! `... run -f ...` prints where the pods go.

use std::process::ExitCode;

use schedscope::api::objects::{Node, Pod};
use schedscope::api::time::human_duration;
use schedscope::api::{Duration, Object, Time};
use schedscope::cli::Main;
use schedscope::framework::runtime::PluginDefinition;
use schedscope::framework::{
    About, ActionType, Asked, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions,
    EventResource, ExplainPlugin, FilterPlugin, Handle, MAX_NODE_SCORE, NodeInfo, Plugin, PluginWords,
    PodInfo, QueueingHint, ScorePlugin, Status,
};

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
    fn as_explain(&self) -> Option<&dyn ExplainPlugin> {
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

impl ExplainPlugin for MaintenanceWindow {
    fn about(&self) -> About {
        About {
            text: "It turns down nodes whose maintenance begins before the pod would be done, as both say in their \
                   annotations. Among the others it prefers those with the most time left over.",
            see: "examples/maintenance_window.rs",
        }
    }

    fn explain_filter(&self, asked: &Asked<'_>, refusal: Option<&Status>) -> Option<PluginWords> {
        let node = asked.node.node()?;
        let Some(spare) = self.spare_secs(asked.now, &asked.pod.pod, node) else {
            let sentence = "The node has no maintenance ahead.".to_owned();
            return Some(PluginWords { sentence, ..PluginWords::default() });
        };
        let time = human_duration(Duration::from_secs(spare.unsigned_abs()));
        Some(PluginWords {
            sentence: match refusal {
                Some(_) => format!("The pod would be done {time} too late."),
                None => format!("There are {time} to spare before the maintenance."),
            },
            arithmetic: vec![format!("until maintenance - running time - {}s = {spare}s", self.margin_secs)],
            hint: refusal.map(|_| "Only another time of maintenance helps.".to_owned()),
        })
    }

    fn explain_score(&self, asked: &Asked<'_>, raw: i64) -> Vec<String> {
        let spare = asked.node.node().and_then(|node| self.spare_secs(asked.now, &asked.pod.pod, node));
        spare.map(|spare| format!("{spare}s to spare of {AMPLE_SECS}s: {raw}")).into_iter().collect()
    }
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

/// The plugin as programs add it. Recordings keep the two annotations that it reads.
fn plugin() -> PluginDefinition {
    PluginDefinition::new(NAME, |args, _| MaintenanceWindow::from_args(args))
        .reads_annotation(MAINTENANCE_AT)
        .reads_annotation(RUNS_FOR)
}

fn main() -> ExitCode {
    Main::new().with(plugin()).with_configuration(CONFIGURATION).run()
}

#[cfg(test)]
mod tests {
    use schedscope::testkit::{PodBuilder, Rig, World, node, pod};

    use super::*;

    const PLUGIN: MaintenanceWindow = MaintenanceWindow { margin_secs: 600 };

    fn runs_for(name: &str, secs: &str) -> PodBuilder {
        pod(name).annotation(RUNS_FOR, secs)
    }

    fn world() -> World {
        let begins = |name: &str, at: &str| node(name).annotation(MAINTENANCE_AT, at);
        World::new()
            .at("2026-01-01T00:00:00Z")
            .node(node("free"), &[])
            .node(begins("soon", "2026-01-01T01:00:00Z"), &[])
            .node(begins("later", "2026-01-01T12:10:00Z"), &[])
    }

    #[test]
    fn a_pod_that_would_not_be_done_in_time_is_turned_down() {
        let late = "UnschedulableAndUnresolvable: node(s) had maintenance before the pod would be done";
        let (world, an_hour) = (world(), runs_for("job", "3600"));
        assert_eq!(world.filter(&PLUGIN, &an_hour), [("free", ""), ("soon", late), ("later", "")]);
        assert_eq!(world.filter(&PLUGIN, &pod("service")), [("free", ""), ("soon", ""), ("later", "")]);
    }

    #[test]
    fn more_time_is_better_up_to_a_day() {
        assert_eq!(world().scores(&PLUGIN, &pod("service")), [("free", 100), ("soon", 3), ("later", 50)]);
    }

    #[test]
    fn a_new_time_of_maintenance_wakes_those_that_it_helps() {
        let event = ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_ANNOTATION);
        let job = runs_for("job", "3600").build();
        let at = |time: &str| Object::Node(node("soon").annotation(MAINTENANCE_AT, time).build());
        let hint = |time: &str| world().hint(&PLUGIN, event, &job, None, Some(&at(time)));
        assert_eq!(hint("2026-01-01T02:00:00Z"), Some(QueueingHint::Queue));
        assert_eq!(hint("2026-01-01T01:00:00Z"), Some(QueueingHint::QueueSkip));
    }

    #[test]
    fn arguments_are_checked() {
        assert!(MaintenanceWindow::from_args(Some(&serde_json::json!({"marginSeconds": "x"}))).is_err());
        assert_eq!(MaintenanceWindow::from_args(None).map(|plugin| plugin.margin_secs), Ok(300));
    }

    #[test]
    fn pods_go_where_their_time_does() {
        let mut rig = Rig::with_plugins([plugin()], CONFIGURATION);
        rig.apply(include_str!("maintenance_window.yaml")).run();
        let places = ["a-service", "b-half-an-hour", "c-six-hours", "d-one-day"].map(|pod| rig.node_of(pod));
        let expected = [Some("free"), Some("later"), Some("later"), None];
        assert_eq!(places, expected.map(|node| node.map(str::to_owned)));
        assert!(
            rig.message_of("d-one-day").contains("1 node(s) had maintenance"),
            "{}",
            rig.message_of("d-one-day")
        );
    }

    #[test]
    fn it_is_explained_like_the_others() {
        let mut rig = Rig::with_plugins([plugin()], CONFIGURATION);
        // The clock of a rig has begun to go when the pod is tried.
        rig.add_node(node("soon").annotation(MAINTENANCE_AT, "2026-01-01T01:00:01Z"));
        rig.add_pod(runs_for("job", "3600"));
        let trace = rig.attempt();
        let cell = trace.map(|trace| {
            schedscope::explain::cell(&trace, schedscope::explain::CellPoint::Filter, "soon", NAME).text()
        });
        assert_eq!(
            cell.as_deref(),
            Some("The pod would be done 10m00s too late. Only another time of maintenance helps.")
        );
        assert!(rig.view().own_plugins.iter().any(|own| own.name == NAME && own.about.is_some()));
    }
}
