//! A plugin of one's own at PreEnqueue: some pods wait until a person has approved them.
//!
//! A pod with the label `example.com/needs-approval` is kept out of activeQ, so that it costs no attempts, until somebody
//! sets the label `example.com/approved-by`. The change of the pod itself lets it in. Try it with
//! `cargo run --example approval_gate -- sandbox`, and add such a pod with `:add-pod web label:example.com/needs-approval=yes`.

use std::process::ExitCode;
use std::sync::Arc;

use schedscope::api::Object;
use schedscope::api::objects::Pod;
use schedscope::cli::Main;
use schedscope::framework::{
    About, ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, ExplainPlugin,
    Handle, Plugin, PreEnqueuePlugin, QueueingHint, Status,
};

const NAME: &str = "ApprovalGate";
const NEEDS_APPROVAL: &str = "example.com/needs-approval";
const APPROVED_BY: &str = "example.com/approved-by";

/// The plugin.
#[derive(Clone, Copy, Debug)]
struct ApprovalGate;

fn is_free(pod: &Pod) -> bool {
    let labels = &pod.metadata.labels;
    !labels.contains_key(NEEDS_APPROVAL) || labels.get(APPROVED_BY).is_some_and(|name| !name.is_empty())
}

impl Plugin for ApprovalGate {
    fn name(&self) -> &'static str {
        NAME
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_explain(&self) -> Option<&dyn ExplainPlugin> {
        Some(self)
    }
}

impl PreEnqueuePlugin for ApprovalGate {
    fn pre_enqueue(&self, _: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        if is_free(pod) {
            Status::SUCCESS
        } else {
            Status::unresolvable(format!("waiting for the label {APPROVED_BY}"))
        }
    }
}

impl EnqueueExtensions for ApprovalGate {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let event = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_LABEL);
        vec![ClusterEventWithHint::hinted(event, |_, pod, _, new| {
            let is_approved = matches!(new, Some(Object::Pod(new)) if new.uid() == pod.uid() && is_free(new));
            Ok(if is_approved { QueueingHint::Queue } else { QueueingHint::QueueSkip })
        })]
    }
}

impl ExplainPlugin for ApprovalGate {
    fn about(&self) -> About {
        About {
            text: "It keeps pods out of activeQ that need an approval, until a person is named in a label. A pod that \
                   waits for it costs no attempts.",
            see: "examples/approval_gate.rs",
        }
    }
}

const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: ApprovalGate}]}
";

fn main() -> ExitCode {
    Main::new().with_plugin(NAME, |_, _| Ok(ApprovalGate)).with_configuration(CONFIGURATION).run()
}

#[cfg(test)]
mod tests {
    use schedscope::framework::runtime::PluginDefinition;
    use schedscope::testkit::{Rig, World, node, pod};

    use super::*;

    #[test]
    fn only_pods_that_need_an_approval_wait_for_it() {
        let needs = pod("web").label(NEEDS_APPROVAL, "yes");
        let table = [
            (pod("web"), ""),
            (needs.clone().label(APPROVED_BY, "ada"), ""),
            (needs, "UnschedulableAndUnresolvable: waiting for the label example.com/approved-by"),
        ];
        for (pod, expected) in table {
            assert_eq!(World::new().pre_enqueue(&ApprovalGate, &pod), expected);
        }
    }

    #[test]
    fn an_approval_lets_the_pod_in_and_no_attempt_was_made_before() {
        let mut rig =
            Rig::with_plugins([PluginDefinition::new(NAME, |_, _| Ok(ApprovalGate))], CONFIGURATION);
        let needs = pod("web").label(NEEDS_APPROVAL, "yes");
        rig.add_node(node("a")).add_pod(needs.clone()).run();
        assert_eq!((rig.gate_of("web").as_deref(), rig.view().counts.cycles), (Some(NAME), 0));
        rig.add_pod(needs.label(APPROVED_BY, "ada")).run();
        assert_eq!(rig.node_of("web").as_deref(), Some("a"));
    }
}
