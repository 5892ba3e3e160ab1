//! GangScheduling: of a group of pods that run all or none, none is tried before enough of them are there, and none is
//! bound before enough of them have found a place (KEP-4671). Behind the gate of that name, off by default.
//!
//! Follows `plugins/gangscheduling/gangscheduling.go`. The places of a whole group are found in one scheduling cycle;
//! Permit says in the trial whether they are enough, and holds each pod afterwards until all others have theirs.

use std::sync::Arc;

use super::helper::objects::{changed_pod, changed_pod_group};
use super::names;
use crate::api::objects::{Pod, PodGroup};
use crate::api::{Duration, NamespacedName, Object, Str};
use crate::framework::pod_group::PodGroupStage;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, Code, CycleState, EnqueueExtensions, EventResource,
    Handle, HandleRequest, PermitPlugin, Plugin, PodInfo, PreEnqueuePlugin, QueueingHint, Status,
};

/// How long a pod waits at Permit for the rest of its group.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        names::GANG_SCHEDULING
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

fn pod_group<'a>(handle: &Handle<'a>, pod: &Pod, name: &Str) -> Option<&'a Arc<PodGroup>> {
    let key = NamespacedName { namespace: pod.metadata.namespace.clone(), name: name.clone() };
    handle.objects.pod_groups.get(&key)
}

fn reaches(count: usize, min_count: i32) -> bool {
    i64::try_from(count).is_ok_and(|count| count >= i64::from(min_count))
}

impl PreEnqueuePlugin for GangScheduling {
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        let Some(name) = pod.pod_group_name() else { return Status::SUCCESS };
        let Some(group) = pod_group(handle, pod, name) else {
            return Status::unresolvable(format!(
                "waiting for pods's pod group {name:?} to appear in scheduling queue"
            ));
        };
        let Some(min_count) = group.gang_min_count() else { return Status::SUCCESS };
        match handle.pod_groups.get(&pod.metadata.namespace, name) {
            Err(error) => Status::error(error),
            Ok(state) if reaches(state.all_pods_count(), min_count) => Status::SUCCESS,
            Ok(_) => {
                Status::unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
            }
        }
    }
}

impl PermitPlugin for GangScheduling {
    fn permit(
        &self,
        handle: &Handle<'_>,
        cycle_state: &mut CycleState,
        pod: &PodInfo,
        _: &Str,
    ) -> (Status, Duration) {
        let at_once = |status| (status, Duration::ZERO);
        let Some(name) = pod.pod.pod_group_name() else { return at_once(Status::SUCCESS) };
        let namespace = &pod.pod.metadata.namespace;
        let Some(group) = pod_group(handle, &pod.pod, name) else {
            return at_once(Status::error(format!(
                "failed to get podGroup {namespace}/{name}: podgroup.scheduling.k8s.io {name:?} not found"
            )));
        };
        let Some(min_count) = group.gang_min_count() else { return at_once(Status::SUCCESS) };
        let state = match handle.pod_groups_in(cycle_state).get(namespace, name) {
            Ok(state) => state,
            Err(error) => return at_once(Status::error(error)),
        };
        if !reaches(state.scheduled_pods_count(), min_count) {
            // The others may have waited for this one.
            let unscheduled = state.pods_at(PodGroupStage::Unscheduled).cloned().collect();
            handle.request(HandleRequest::Activate(unscheduled));
            let text = "waiting for minCount pods from a gang to be scheduled";
            return (Status::new(Code::Wait, text), PERMIT_TIMEOUT);
        }
        for assumed in state.pods_at(PodGroupStage::Assumed) {
            if handle.waiting_pods.get(assumed.uid()).is_some() {
                let plugin = Str::from(self.name());
                handle.request(HandleRequest::AllowWaitingPod { uid: assumed.uid().clone(), plugin });
            }
        }
        at_once(Status::SUCCESS)
    }
}

impl EnqueueExtensions for GangScheduling {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ClusterEvent::new(EventResource::Pod, ActionType::ADD);
        let group = ClusterEvent::new(EventResource::PodGroup, ActionType::ADD);
        vec![
            ClusterEventWithHint::hinted(pod, |_, pod, old, new| {
                is_schedulable_after_pod_added(pod, old, new)
            }),
            ClusterEventWithHint::hinted(group, |_, pod, old, new| {
                is_schedulable_after_pod_group_added(pod, old, new)
            }),
        ]
    }
}

fn is_schedulable_after_pod_added(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let added = changed_pod(old, new)?;
    let is_member = pod.metadata.namespace == added.metadata.namespace
        && pod.pod_group_name().is_some()
        && pod.pod_group_name() == added.pod_group_name();
    Ok(if is_member { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

fn is_schedulable_after_pod_group_added(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let added = changed_pod_group(old, new)?;
    let is_its_own = pod.metadata.namespace == added.metadata.namespace
        && pod.pod_group_name() == Some(&added.metadata.name);
    Ok(if is_its_own { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::framework::runtime::waiting_pods::WaitingPod;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{hint, pod};

    fn member(name: &str, group: &str, node: &str) -> Arc<Pod> {
        pod(&format!(
            "{{metadata: {{name: {name}, namespace: default}}, spec: {{nodeName: '{node}', schedulingGroup: \
             {{podGroupName: {group}}}}}}}"
        ))
    }

    fn group(name: &str, policy: &str) -> Object {
        let group: PodGroup = serde_saphyr::from_str(&format!(
            "{{metadata: {{name: {name}, namespace: default}}, spec: {{schedulingPolicy: {policy}}}}}"
        ))
        .unwrap();
        Object::from(group)
    }

    /// A world with a gang of two, a gang of three and a group that is none, and these pods.
    fn world(pods: &[&Arc<Pod>]) -> TestWorld {
        let mut world = TestWorld::default();
        world.objects.insert(group("pair", "{gang: {minCount: 2}}"));
        world.objects.insert(group("trio", "{gang: {minCount: 3}}"));
        world.objects.insert(group("loose", "{basic: {}}"));
        for pod in pods {
            world.pod_groups.put(pod);
        }
        world
    }

    fn answer(status: &Status) -> (Code, String) {
        (status.code(), status.message())
    }

    #[test]
    fn a_pod_waits_outside_for_its_group_and_for_enough_of_it() {
        let pods = [
            member("a", "pair", ""),
            member("b", "pair", "n"),
            member("c", "trio", ""),
            member("d", "trio", ""),
            member("e", "loose", ""),
            member("f", "absent", ""),
        ];
        let world = world(&pods.iter().collect::<Vec<_>>());
        let ask = |pod: &Arc<Pod>| answer(&GangScheduling.pre_enqueue(&world.handle(), pod));
        let passes = (Code::Success, String::new());
        assert_eq!(ask(&pods[0]), passes, "pods on nodes count");
        let too_few = "waiting for minCount pods from a gang to appear in scheduling queue";
        assert_eq!(ask(&pods[2]), (Code::UnschedulableAndUnresolvable, too_few.to_owned()));
        assert_eq!(ask(&pods[4]), passes, "only gangs are counted");
        assert_eq!(
            ask(&pods[5]),
            (
                Code::UnschedulableAndUnresolvable,
                "waiting for pods's pod group \"absent\" to appear in scheduling queue".to_owned()
            )
        );
        assert_eq!(ask(&pod("{metadata: {name: single}}")), passes);
    }

    #[test]
    fn the_first_of_a_gang_waits_and_the_last_lets_all_go() {
        let (first, second) = (member("a", "pair", ""), member("b", "pair", ""));
        let mut world = world(&[&first, &second]);
        let permit = |world: &TestWorld, pod: &Arc<Pod>| {
            let info = PodInfo::new(Arc::clone(pod));
            GangScheduling.permit(&world.handle(), &mut CycleState::new(), &info, &"n".into())
        };
        let on_node = member("a", "pair", "n");
        world.pod_groups.assume(&on_node);
        let (status, timeout) = permit(&world, &on_node);
        assert_eq!(
            answer(&status),
            (Code::Wait, "waiting for minCount pods from a gang to be scheduled".to_owned())
        );
        assert_eq!(timeout, Duration::from_secs(300));
        assert_eq!(world.requests.take(), [HandleRequest::Activate(vec![Arc::clone(&second)])]);

        world.waiting_pods.add(WaitingPod {
            pod_info: Arc::new(PodInfo::new(Arc::clone(&on_node))),
            node_name: "n".into(),
            since: world.now,
            pending_plugins: [(Str::from(GangScheduling.name()), timeout)].into(),
            signal: None,
        });
        let last = member("b", "pair", "n");
        world.pod_groups.assume(&last);
        let (status, _) = permit(&world, &last);
        assert!(status.is_success());
        let allowed = HandleRequest::AllowWaitingPod { uid: "a".into(), plugin: "GangScheduling".into() };
        assert_eq!(world.requests.take(), [allowed]);
    }

    #[test]
    fn a_group_that_is_gone_is_an_error_at_permit() {
        let gone = member("a", "absent", "n");
        let world = world(&[&gone]);
        let info = PodInfo::new(gone);
        let (status, _) = GangScheduling.permit(&world.handle(), &mut CycleState::new(), &info, &"n".into());
        assert_eq!(
            answer(&status),
            (
                Code::Error,
                "failed to get podGroup default/absent: podgroup.scheduling.k8s.io \"absent\" not found"
                    .to_owned()
            )
        );
    }

    #[test]
    fn members_and_the_group_itself_are_worth_a_retry() {
        let own = member("a", "pair", "");
        let added = |index: usize, object: &Object| hint(&GangScheduling, index, &own, None, Some(object));
        assert_eq!(added(0, &Object::Pod(member("b", "pair", ""))), Ok(QueueingHint::Queue));
        assert_eq!(added(0, &Object::Pod(member("b", "trio", ""))), Ok(QueueingHint::QueueSkip));
        assert_eq!(
            added(0, &Object::Pod(pod("{metadata: {namespace: default}}"))),
            Ok(QueueingHint::QueueSkip)
        );
        assert_eq!(added(1, &group("pair", "{gang: {minCount: 2}}")), Ok(QueueingHint::Queue));
        assert_eq!(added(1, &group("trio", "{gang: {minCount: 2}}")), Ok(QueueingHint::QueueSkip));
    }
}
