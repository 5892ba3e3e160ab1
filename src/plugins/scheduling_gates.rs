//! SchedulingGates: a pod stays out of the queue until its last gate is taken away (KEP-3521).
//!
//! Follows `plugins/schedulinggates/scheduling_gates.go`.

use std::sync::Arc;

use super::helper::objects::changed_pod;
use super::names;
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, Handle, Plugin,
    PreEnqueuePlugin, QueueingHint, Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        names::SCHEDULING_GATES
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for SchedulingGates {
    fn pre_enqueue(&self, _: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        if pod.spec.scheduling_gates.is_empty() {
            return Status::SUCCESS;
        }
        let gates: Vec<&str> = pod.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
        Status::unresolvable(format!("waiting for scheduling gates: [{}]", gates.join(" ")))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let event = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED);
        vec![ClusterEventWithHint::hinted(event, |_, pod, old, new| {
            is_schedulable_after_gates_eliminated(pod, old, new)
        })]
    }
}

fn is_schedulable_after_gates_eliminated(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let changed = changed_pod(old, new)?;
    Ok(if changed.uid() == pod.uid() { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{hint, pod};

    #[test]
    fn gates_hold_a_pod_and_are_named_in_order() {
        let world = TestWorld::default();
        let gated = pod("{spec: {schedulingGates: [{name: foo}, {name: bar}]}}");
        assert_eq!(
            SchedulingGates.pre_enqueue(&world.handle(), &gated),
            Status::unresolvable("waiting for scheduling gates: [foo bar]")
        );
        assert_eq!(SchedulingGates.pre_enqueue(&world.handle(), &pod("{}")), Status::SUCCESS);
    }

    #[test]
    fn only_the_pod_itself_is_woken() {
        let waiting = pod("{metadata: {name: a, uid: a}}");
        let other = pod("{metadata: {name: b, uid: b}}");
        let ask = |changed: &Arc<Pod>| {
            let changed = Object::Pod(Arc::clone(changed));
            hint(&SchedulingGates, 0, &waiting, Some(&changed), Some(&changed))
        };
        assert_eq!(ask(&waiting), Ok(QueueingHint::Queue));
        assert_eq!(ask(&other), Ok(QueueingHint::QueueSkip));
    }
}
