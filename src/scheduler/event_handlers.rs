//! What the scheduler does when a watched object comes, changes or goes.
//!
//! Mirrors `pkg/scheduler/eventhandlers.go`. Pods that have ended do not exist here: the watch of the real
//! scheduler leaves them out, so an update that ends a pod arrives as its deletion.

use std::sync::Arc;

use crate::api::objects::{Node, Pod};
use crate::api::{Kind, Object};
use crate::config::Gate;
use crate::framework::meter::{Measurement, Stamp};
use crate::framework::{
    ActionType, ClusterEvent, EventResource, PodInfo, Told, node_scheduling_properties_change,
    pod_scheduling_properties_change,
};

use super::Scheduler;

impl Scheduler {
    /// An object came.
    pub(super) fn object_added(&mut self, object: Object) {
        if let Object::Pod(pod) = &object
            && pod.is_terminal()
        {
            return;
        }
        self.world.objects.insert(object.clone());
        match object {
            Object::Node(node) => self.add_node_to_cache(&node),
            Object::Pod(pod) => self.add_pod(pod),
            other => self.object_changed(None, Some(&other)),
        }
    }

    /// An object changed.
    pub(super) fn object_updated(&mut self, old: Object, new: Object) {
        match (&old, &new) {
            (Object::Pod(old_pod), Object::Pod(new_pod)) => {
                match (old_pod.is_terminal(), new_pod.is_terminal()) {
                    (true, true) => return,
                    (false, true) => return self.object_deleted(old),
                    (true, false) => return self.object_added(new),
                    (false, false) if old_pod.uid() != new_pod.uid() => {
                        // A watch that missed the deletion in between reports a replacement as an update.
                        self.object_deleted(old);
                        return self.object_added(new);
                    }
                    (false, false) => {}
                }
                self.world.objects.insert(new.clone());
                self.update_pod(old_pod, Arc::clone(new_pod));
            }
            (Object::Node(old_node), Object::Node(new_node)) => {
                self.world.objects.insert(new.clone());
                self.update_node_in_cache(old_node, new_node);
            }
            _ => {
                self.world.objects.insert(new.clone());
                self.object_changed(Some(&old), Some(&new));
            }
        }
    }

    /// An object is gone.
    pub(super) fn object_deleted(&mut self, object: Object) {
        if self.world.objects.remove(object.kind(), &object.key()).is_none() && object.kind() == Kind::Pod {
            // The end of a pod had been reported already.
            return;
        }
        match object {
            Object::Node(node) => self.delete_node_from_cache(&node),
            Object::Pod(pod) => self.delete_pod(&pod),
            other => self.object_changed(Some(&other), None),
        }
    }

    /// An object that is neither a node nor a pod came, changed or is gone.
    fn object_changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        match self.world.states.object_changed(&self.world.objects, old, new) {
            Told::AsReported => self.tell_of(old, new),
            Told::Instead(changes) => {
                for (old, new) in changes {
                    self.tell_of(old.as_ref(), new.as_ref());
                }
            }
        }
    }

    /// Lets rejected pods judge a change of an object that is neither a node nor a pod, if some plugin has registered
    /// for it. Most kinds are events to nobody: plugins look them up when they need them.
    pub(super) fn tell_of(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let action = match (old, new) {
            (None, _) => ActionType::ADD,
            (Some(_), Some(_)) => ActionType::UPDATE,
            (Some(_), None) => ActionType::DELETE,
        };
        let resource = match old.or(new).map(Object::kind) {
            Some(Kind::PersistentVolume) => EventResource::PersistentVolume,
            Some(Kind::PersistentVolumeClaim) => EventResource::PersistentVolumeClaim,
            Some(Kind::StorageClass) => EventResource::StorageClass,
            Some(Kind::CSINode) => EventResource::CsiNode,
            Some(Kind::CSIDriver) => EventResource::CsiDriver,
            Some(Kind::CSIStorageCapacity) => EventResource::CsiStorageCapacity,
            Some(Kind::VolumeAttachment) => EventResource::VolumeAttachment,
            Some(Kind::DeviceClass) => EventResource::DeviceClass,
            Some(Kind::ResourceClaim) => EventResource::ResourceClaim,
            Some(Kind::ResourceSlice) => EventResource::ResourceSlice,
            Some(Kind::PodGroup) if self.options.gates.is_enabled(Gate::GenericWorkload) => {
                EventResource::PodGroup
            }
            _ => return,
        };
        let event = ClusterEvent::new(resource, action);
        if self.world.profiles.values().any(|profile| profile.hints.is_of_interest(&event)) {
            self.tell_event(event, old, new, None);
        }
    }

    /// Lets every rejected pod judge what a watch has reported.
    fn tell_event(
        &mut self,
        event: ClusterEvent,
        old: Option<&Object>,
        new: Option<&Object>,
        pre_check: Option<&dyn Fn(&Pod) -> bool>,
    ) {
        let since = self.world.metering().stamp();
        self.move_all(event, old, new, pre_check);
        if let Some(since) = since {
            let event = event.label();
            self.world.metering().take(Measurement::EventHandled { event: &event, since });
        }
    }

    /// The queue has heard of a pod without a node.
    fn told_of_queue(&self, event: &'static str, since: Option<Stamp>) {
        if let Some(since) = since {
            self.world.metering().take(Measurement::EventHandled { event, since });
        }
    }

    /// Lets every rejected pod judge an event.
    pub(super) fn move_all(
        &mut self,
        event: ClusterEvent,
        old: Option<&Object>,
        new: Option<&Object>,
        pre_check: Option<&dyn Fn(&Pod) -> bool>,
    ) {
        let env = self.world.queue_env();
        let changes = self.queue.move_all_to_active_or_backoff_queue(&env, event, old, new, pre_check);
        if !changes.is_empty() {
            self.world.nominator.apply(&self.world.objects, changes);
        }
    }

    fn add_node_to_cache(&mut self, node: &Arc<Node>) {
        self.cache.add_node(Arc::clone(node));
        self.tell_event(ClusterEvent::NODE_ADD, None, Some(&Object::Node(Arc::clone(node))), None);
    }

    fn update_node_in_cache(&mut self, old: &Arc<Node>, new: &Arc<Node>) {
        self.cache.update_node(Arc::clone(new));
        let (old_object, new_object) = (Object::Node(Arc::clone(old)), Object::Node(Arc::clone(new)));
        for event in node_scheduling_properties_change(new, old) {
            self.tell_event(event, Some(&old_object), Some(&new_object), None);
        }
    }

    fn delete_node_from_cache(&mut self, node: &Arc<Node>) {
        let object = Object::Node(Arc::clone(node));
        self.tell_event(ClusterEvent::NODE_DELETE, Some(&object), None, None);
        let removed = self.cache.remove_node(node);
        self.note_cache_error(removed);
    }

    fn add_pod(&mut self, pod: Arc<Pod>) {
        if pod.is_assigned() {
            self.add_assigned_pod_to_cache(pod);
        } else if self.is_responsible_for(&pod) {
            self.add_pod_to_scheduling_queue(pod);
        }
    }

    fn update_pod(&mut self, old: &Arc<Pod>, new: Arc<Pod>) {
        if old.is_assigned() {
            self.update_assigned_pod_in_cache(old, new);
        } else if new.is_assigned() {
            self.add_assigned_pod_to_cache(new);
            if self.is_responsible_for(old) {
                self.remove_from_queue_and_nominator(old);
            }
        } else if self.is_responsible_for(old) {
            self.update_pod_in_scheduling_queue(old, &new);
        }
    }

    fn delete_pod(&mut self, pod: &Arc<Pod>) {
        self.journal.pods.forget(&pod.key());
        if pod.is_assigned() {
            self.delete_assigned_pod_from_cache(pod);
        } else if self.is_responsible_for(pod) {
            self.delete_pod_from_scheduling_queue(pod);
        }
    }

    /// Whether a profile has the pod's `schedulerName`.
    fn is_responsible_for(&self, pod: &Pod) -> bool {
        self.world.profile(&pod.spec.scheduler_name).is_some()
    }

    fn add_pod_to_scheduling_queue(&mut self, pod: Arc<Pod>) {
        self.put_pod_group_member(&pod);
        let pod_info = Arc::new(PodInfo::with_options(Arc::clone(&pod), self.world.request_options));
        let since = self.world.metering().stamp();
        let changes = self.queue.add(&self.world.queue_env(), pod_info);
        self.world.nominator.apply(&self.world.objects, changes);
        self.told_of_queue("UnschedulablePodAdd", since);
        if self.options.gates.is_enabled(Gate::GangScheduling) {
            self.tell_event(ClusterEvent::UNSCHEDULED_POD_ADD, None, Some(&Object::Pod(pod)), None);
        }
    }

    fn update_pod_in_scheduling_queue(&mut self, old: &Arc<Pod>, new: &Arc<Pod>) {
        let (old_version, new_version) = (&old.metadata.resource_version, &new.metadata.resource_version);
        if old_version == new_version && !new_version.is_empty() {
            return;
        }
        self.put_pod_group_member(new);
        if self.cache.is_assumed_pod(new) {
            if new.is_terminating() && !old.is_terminating() {
                self.handle_assumed_pod_deletion(new);
            }
            return;
        }
        let pod_info = Arc::new(PodInfo::with_options(Arc::clone(new), self.world.request_options));
        let since = self.world.metering().stamp();
        let changes = self.queue.update(&self.world.queue_env(), Some(old), pod_info);
        self.world.nominator.apply(&self.world.objects, changes);
        self.told_of_queue("UnschedulablePodUpdate", since);
        let nominated = &old.status.nominated_node_name;
        if !nominated.is_empty() && *nominated != new.status.nominated_node_name {
            self.give_up_nomination(old);
        }
    }

    /// A pod that was nominated counts as being on its node for pods of lower or equal priority: to them the end
    /// of the nomination is the deletion of an assigned pod.
    fn give_up_nomination(&mut self, pod: &Arc<Pod>) {
        let priority = pod.priority();
        let object = Object::Pod(Arc::clone(pod));
        let is_lower_or_equal = move |other: &Pod| other.priority() <= priority;
        self.tell_event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&object), None, Some(&is_lower_or_equal));
    }

    fn remove_from_queue_and_nominator(&mut self, pod: &Arc<Pod>) {
        let since = self.world.metering().stamp();
        let changes = self.queue.delete(pod);
        self.world.nominator.apply(&self.world.objects, changes);
        self.told_of_queue("UnschedulablePodDelete", since);
        self.last_messages.remove(pod.uid());
    }

    fn delete_pod_from_scheduling_queue(&mut self, pod: &Arc<Pod>) {
        self.remove_from_queue_and_nominator(pod);
        self.world.pod_groups.remove(pod);
        if self.cache.is_assumed_pod(pod) {
            self.handle_assumed_pod_deletion(pod);
        } else if !pod.status.nominated_node_name.is_empty() {
            self.give_up_nomination(pod);
        }
    }

    /// A pod is deleted between Assume and the end of its binding: what it would have used is free again.
    fn handle_assumed_pod_deletion(&mut self, pod: &Pod) {
        let Ok(assumed) = self.cache.get_pod(pod) else { return };
        let assumed = Arc::clone(assumed);
        let uid = assumed.uid().clone();
        let is_waiting = self.world.waiting_pods.reject(&uid, "", "removed");
        if is_waiting != Some(true) {
            let forgotten = self.cache.forget_pod(&assumed.pod);
            self.note_cache_error(forgotten);
            self.forget_pod_group_member(&assumed.pod);
        }
        let object = Object::Pod(Arc::clone(&assumed.pod));
        self.tell_event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&object), None, None);
    }

    /// Pod groups hear of a pod that came or changed.
    fn put_pod_group_member(&mut self, pod: &Arc<Pod>) {
        if self.options.gates.is_enabled(Gate::GenericWorkload) {
            self.world.pod_groups.put(pod);
        }
    }

    /// Pod groups hear of a pod whose node was given up.
    pub(super) fn forget_pod_group_member(&mut self, assumed: &Pod) {
        if let Some(known) = self.world.objects.pods.get(&assumed.key()) {
            self.world.pod_groups.forget(known);
        }
    }

    fn add_assigned_pod_to_cache(&mut self, pod: Arc<Pod>) {
        self.put_pod_group_member(&pod);
        let added =
            self.cache.add_pod(Arc::new(PodInfo::with_options(Arc::clone(&pod), self.world.request_options)));
        self.note_cache_error(added);
        self.tell_event(ClusterEvent::ASSIGNED_POD_ADD, None, Some(&Object::Pod(pod)), None);
    }

    fn update_assigned_pod_in_cache(&mut self, old: &Arc<Pod>, new: Arc<Pod>) {
        self.put_pod_group_member(&new);
        let updated = self
            .cache
            .update_pod(old, Arc::new(PodInfo::with_options(Arc::clone(&new), self.world.request_options)));
        self.note_cache_error(updated);
        let events = pod_scheduling_properties_change(&new, old);
        let (old_object, new_object) = (Object::Pod(Arc::clone(old)), Object::Pod(new));
        for event in events {
            self.tell_event(event, Some(&old_object), Some(&new_object), None);
        }
    }

    fn delete_assigned_pod_from_cache(&mut self, pod: &Arc<Pod>) {
        self.world.pod_groups.remove(pod);
        let removed = self.cache.remove_pod(pod);
        self.note_cache_error(removed);
        let object = Object::Pod(Arc::clone(pod));
        self.tell_event(ClusterEvent::ASSIGNED_POD_DELETE, Some(&object), None, None);
    }
}
