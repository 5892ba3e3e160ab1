//! A plugin of one's own at Permit: pods of a gang start together, or none of them does.
//!
//! A pod names its gang by the label `example.com/gang` and how many pods must have a place by
//! `example.com/gang-size`. Permit holds each of them on the node that was chosen for it until so many have one, and then
//! lets all go. If one of them gives up, Unreserve turns the others down, so that they hold nothing for nobody. Try it with
//! `cargo run --example label_gang -- sandbox`.

use std::process::ExitCode;

use schedscope::api::objects::Pod;
use schedscope::api::{Duration, Object, Str};
use schedscope::cli::Main;
use schedscope::framework::{
    About, ActionType, ClusterEvent, ClusterEventWithHint, Code, CycleState, EnqueueExtensions,
    EventResource, ExplainPlugin, Handle, HandleRequest, PermitPlugin, Plugin, PodInfo, QueueingHint,
    ReservePlugin, Status,
};

const NAME: &str = "LabelGang";
const GANG: &str = "example.com/gang";
const GANG_SIZE: &str = "example.com/gang-size";

/// The plugin.
#[derive(Clone, Copy, Debug)]
struct LabelGang {
    /// So long a pod is held for the others.
    patience: Duration,
}

impl LabelGang {
    fn from_args(args: Option<&serde_json::Value>) -> Result<Self, String> {
        let seconds = match args.and_then(|args| args.get("patienceSeconds")) {
            None => 60,
            Some(value) => {
                value.as_u64().ok_or_else(|| format!("patienceSeconds: {value} is no whole number"))?
            }
        };
        Ok(Self { patience: Duration::from_secs(seconds) })
    }
}

/// The gang of a pod and its size; none if it is in none, or its size is not a number.
fn gang(pod: &Pod) -> Option<(&Str, usize)> {
    let size = pod.metadata.labels.get(GANG_SIZE)?.parse().ok()?;
    Some((pod.metadata.labels.get(GANG)?, size))
}

/// Whether two pods belong to one gang.
fn are_together(a: &Pod, b: &Pod) -> bool {
    a.metadata.namespace == b.metadata.namespace && a.metadata.labels.get(GANG) == b.metadata.labels.get(GANG)
}

impl Plugin for LabelGang {
    fn name(&self) -> &'static str {
        NAME
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_explain(&self) -> Option<&dyn ExplainPlugin> {
        Some(self)
    }
}

impl PermitPlugin for LabelGang {
    fn permit(&self, handle: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, _: &Str) -> (Status, Duration) {
        let Some((name, size)) = gang(&pod.pod) else { return (Status::SUCCESS, Duration::ZERO) };
        let waiting: Vec<_> = handle
            .waiting_pods
            .iter()
            .filter(|waiting| {
                are_together(&waiting.pod_info.pod, &pod.pod) && waiting.pod_info.uid() != pod.uid()
            })
            .collect();
        let bound = handle.objects.pods.values();
        let n_bound = bound.filter(|other| other.is_assigned() && are_together(other, &pod.pod)).count();
        let n_placed = n_bound + waiting.len() + 1;
        if n_placed < size {
            let text = format!("gang {name}: {n_placed} of {size} pods have a place");
            return (Status::new(Code::Wait, text), self.patience);
        }
        for other in waiting {
            let uid = other.pod_info.uid().clone();
            handle.request(HandleRequest::AllowWaitingPod { uid, plugin: Str::from(NAME) });
        }
        (Status::SUCCESS, Duration::ZERO)
    }
}

impl ReservePlugin for LabelGang {
    fn reserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> Status {
        Status::SUCCESS
    }

    fn unreserve(&self, handle: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, _: &Str) {
        if gang(&pod.pod).is_none() {
            return;
        }
        for other in handle.waiting_pods.iter() {
            if other.pod_info.uid() != pod.uid() && are_together(&other.pod_info.pod, &pod.pod) {
                handle.request(HandleRequest::RejectWaitingPod {
                    uid: other.pod_info.uid().clone(),
                    plugin: Str::from(NAME),
                    message: format!("pod {} of the gang has given up its place", pod.pod.metadata.name),
                });
            }
        }
    }
}

impl EnqueueExtensions for LabelGang {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let event = ClusterEvent::new(EventResource::Pod, ActionType::ADD);
        vec![ClusterEventWithHint::hinted(event, |_, pod, _, new| {
            let comes = matches!(new, Some(Object::Pod(new)) if are_together(new, pod));
            Ok(if comes { QueueingHint::Queue } else { QueueingHint::QueueSkip })
        })]
    }
}

impl ExplainPlugin for LabelGang {
    fn about(&self) -> About {
        About {
            text: "It holds the pods of a gang at Permit until as many have a place as the gang needs. If one gives up, \
                   the others give up, too.",
            see: "examples/label_gang.rs",
        }
    }
}

const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: LabelGang}]}
  pluginConfig:
  - {name: LabelGang, args: {patienceSeconds: 30}}
";

fn main() -> ExitCode {
    Main::new()
        .with_plugin(NAME, |args, _| LabelGang::from_args(args))
        .with_configuration(CONFIGURATION)
        .run()
}

#[cfg(test)]
mod tests {
    use schedscope::framework::runtime::PluginDefinition;
    use schedscope::testkit::{PodBuilder, Rig, World, node, pod};

    use super::*;

    fn member(name: &str) -> PodBuilder {
        pod(name).label(GANG, "ring").label(GANG_SIZE, "3").requests("1", "1Gi")
    }

    fn rig() -> Rig {
        let plugin = PluginDefinition::new(NAME, |args, _| LabelGang::from_args(args));
        Rig::with_plugins([plugin], CONFIGURATION)
    }

    #[test]
    fn a_pod_waits_unless_it_is_the_last_one_that_is_needed() {
        let plugin = LabelGang { patience: Duration::from_secs(30) };
        let wait = |text: &str| (format!("Wait: {text}"), Duration::from_secs(30));
        let at_once = (String::new(), Duration::ZERO);
        assert_eq!(World::new().permit(&plugin, &pod("web"), "a"), at_once);
        let alone = World::new().node(node("a"), &[]);
        assert_eq!(alone.permit(&plugin, &member("m-0"), "a"), wait("gang ring: 1 of 3 pods have a place"));
        let two_run = World::new().node(node("a"), &[member("m-1"), member("m-2")]);
        assert_eq!(two_run.permit(&plugin, &member("m-0"), "a"), at_once);
    }

    #[test]
    fn a_gang_is_bound_when_its_last_pod_has_a_place() {
        let mut rig = rig();
        rig.add_node(node("a")).add_pod(member("m-0")).add_pod(member("m-1")).settle();
        assert_eq!(rig.waiting(), ["m-0", "m-1"]);
        rig.add_pod(member("m-2")).run();
        let places = ["m-0", "m-1", "m-2"].map(|pod| rig.node_of(pod));
        assert_eq!(places, ["a", "a", "a"].map(|node| Some(node.to_owned())));
    }

    #[test]
    fn when_one_gives_up_all_do_and_the_room_is_free() {
        let mut rig = rig();
        rig.add_node(node("a").allocatable("2", "4Gi"))
            .add_pod(member("m-0"))
            .add_pod(member("m-1"))
            .settle();
        assert_eq!(rig.waiting().len(), 2);
        rig.wait(Duration::from_secs(31));
        assert!(rig.waiting().is_empty());
        rig.add_pod(pod("web").requests("2", "1Gi")).settle();
        assert_eq!(rig.node_of("web").as_deref(), Some("a"));
    }

    #[test]
    fn arguments_are_checked() {
        assert!(LabelGang::from_args(Some(&serde_json::json!({"patienceSeconds": -1}))).is_err());
    }
}
