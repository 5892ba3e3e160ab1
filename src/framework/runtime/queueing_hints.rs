//! Which plugin of a profile wants to hear of which cluster event, and how it judges it.
//!
//! Mirrors `buildQueueingHintMap` of `pkg/scheduler/scheduler.go` and `fillEnqueueExtensions` of
//! `pkg/scheduler/framework/runtime/framework.go`. What an answer does to a pod is the scheduling queue's affair.

use std::fmt;

use crate::framework::events::{
    ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHintFn,
};
use crate::framework::plugin::Plugin;

use super::Framework;

/// A plugin's way of judging the events of one entry (`QueueingHintFunction`).
#[derive(Clone)]
pub struct QueueingHintFunction {
    /// The plugin.
    pub plugin: &'static str,
    /// How it judges them; without a function the answer is always Queue.
    pub hint: Option<QueueingHintFn>,
}

impl fmt::Debug for QueueingHintFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.plugin, if self.hint.is_some() { " (hinted)" } else { "" })
    }
}

/// The events that a profile's plugins registered, each with the plugins that did, in the order of registration.
#[derive(Clone, Debug, Default)]
pub struct QueueingHintMap {
    entries: Vec<(ClusterEvent, Vec<QueueingHintFunction>)>,
}

/// The resources that a plugin hears everything of if it does not say what it wants (`UnrollWildCardResource`).
/// `PodGroup` events only ever come with pod groups switched on.
const UNROLLED_RESOURCES: [EventResource; 11] = [
    EventResource::Pod,
    EventResource::Node,
    EventResource::PersistentVolume,
    EventResource::PersistentVolumeClaim,
    EventResource::CsiNode,
    EventResource::CsiDriver,
    EventResource::CsiStorageCapacity,
    EventResource::StorageClass,
    EventResource::ResourceClaim,
    EventResource::DeviceClass,
    EventResource::PodGroup,
];

const NODE_TAINT_UPDATE: ClusterEvent = ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_TAINT);

impl QueueingHintMap {
    /// Asks every plugin of the profile that can turn a pod down for good which events it listens to.
    pub fn new(framework: &Framework) -> Self {
        let mut map = Self::default();
        for plugin in framework.all.iter().filter(|plugin| can_reject(plugin.as_ref())) {
            match plugin.as_enqueue_extensions() {
                Some(extensions) => map.register(plugin.name(), extensions.events_to_register()),
                None => map.register_every_event(plugin.name()),
            }
        }
        map
    }

    /// Registers everything that can happen, always worth a retry: for plugins that do not say what they want,
    /// and for the extenders under their common name.
    pub fn register_every_event(&mut self, plugin: &'static str) {
        let events = UNROLLED_RESOURCES
            .map(|resource| ClusterEventWithHint::always(ClusterEvent::new(resource, ActionType::ALL)));
        self.register(plugin, events);
    }

    fn register(&mut self, plugin: &'static str, events: impl IntoIterator<Item = ClusterEventWithHint>) {
        let mut node_actions = ActionType::NONE;
        for ClusterEventWithHint { event, queueing_hint_fn: hint } in events {
            if event.resource == EventResource::Node {
                node_actions = node_actions | event.action_type;
            }
            self.insert(event, QueueingHintFunction { plugin, hint });
        }
        // A node that repels the pod when it is added is kept from the plugin by the queue's pre-check. Its taints
        // may go later, so whoever wants to know of new nodes is told of that as well.
        if node_actions.intersects(ActionType::ADD) && !node_actions.intersects(ActionType::UPDATE_NODE_TAINT)
        {
            self.insert(NODE_TAINT_UPDATE, QueueingHintFunction { plugin, hint: None });
        }
    }

    fn insert(&mut self, event: ClusterEvent, function: QueueingHintFunction) {
        match self.entries.iter_mut().find(|(registered, _)| *registered == event) {
            Some((_, functions)) => functions.push(function),
            None => self.entries.push((event, vec![function])),
        }
    }

    /// Whether any plugin listens to the event.
    pub fn is_of_interest(&self, event: &ClusterEvent) -> bool {
        self.entries.iter().any(|(registered, _)| registered.matches(event))
    }

    /// The functions that judge the event.
    pub fn matching(&self, event: ClusterEvent) -> impl Iterator<Item = &QueueingHintFunction> {
        self.entries
            .iter()
            .filter(move |(registered, _)| registered.matches(&event))
            .flat_map(|(_, functions)| functions)
    }

    /// The events that a plugin listens to.
    pub fn events_of<'a>(&'a self, plugin: &'a str) -> impl Iterator<Item = ClusterEvent> + 'a {
        self.entries
            .iter()
            .filter(move |(_, functions)| functions.iter().any(|function| function.plugin == plugin))
            .map(|(event, _)| *event)
    }

    /// Every event that some plugin listens to.
    pub fn events(&self) -> impl Iterator<Item = &ClusterEvent> {
        self.entries.iter().map(|(event, _)| event)
    }
}

/// Whether a pod can be filed under the plugin, so that its events matter.
fn can_reject(plugin: &dyn Plugin) -> bool {
    plugin.as_pre_enqueue().is_some()
        || plugin.as_pre_filter().is_some()
        || plugin.as_filter().is_some()
        || plugin.as_reserve().is_some()
        || plugin.as_permit().is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::framework::plugin::{EnqueueExtensions, PreEnqueuePlugin, ScorePlugin};
    use crate::framework::{CycleState, Handle, NodeInfo, PodInfo, Status};

    /// A plugin at PreEnqueue with these events, or at Score only.
    #[derive(Debug)]
    struct Fake {
        name: &'static str,
        events: Option<Vec<ClusterEvent>>,
        only_scores: bool,
    }

    impl Plugin for Fake {
        fn name(&self) -> &'static str {
            self.name
        }
        fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
            (!self.only_scores).then_some(self as _)
        }
        fn as_score(&self) -> Option<&dyn ScorePlugin> {
            self.only_scores.then_some(self as _)
        }
        fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
            self.events.as_ref().map(|_| self as _)
        }
    }

    impl PreEnqueuePlugin for Fake {
        fn pre_enqueue(&self, _: &Handle<'_>, _: &Arc<crate::api::objects::Pod>) -> Status {
            Status::SUCCESS
        }
    }

    impl ScorePlugin for Fake {
        fn score(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Result<i64, Status> {
            Ok(0)
        }
    }

    impl EnqueueExtensions for Fake {
        fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
            self.events.iter().flatten().map(|event| ClusterEventWithHint::always(*event)).collect()
        }
    }

    fn map_of(plugins: Vec<Fake>) -> QueueingHintMap {
        let all = plugins.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Plugin>).collect();
        QueueingHintMap::new(&Framework { all, ..Framework::default() })
    }

    fn fake(name: &'static str, events: &[ClusterEvent]) -> Fake {
        Fake { name, events: Some(events.to_vec()), only_scores: false }
    }

    fn listeners(map: &QueueingHintMap, resource: EventResource, action: ActionType) -> Vec<&'static str> {
        map.matching(ClusterEvent::new(resource, action)).map(|function| function.plugin).collect()
    }

    #[test]
    fn who_wants_new_nodes_is_told_of_taints_too() {
        let relabelled = ClusterEvent::new(EventResource::Node, ActionType::UPDATE_NODE_LABEL);
        let map = map_of(vec![
            fake("Adds", &[ClusterEvent::NODE_ADD]),
            fake("Labels", &[relabelled]),
            fake("Both", &[ClusterEvent::NODE_ADD, NODE_TAINT_UPDATE]),
        ]);
        assert_eq!(listeners(&map, EventResource::Node, ActionType::UPDATE_NODE_TAINT), ["Adds", "Both"]);
        assert_eq!(map.events_of("Adds").collect::<Vec<_>>(), [ClusterEvent::NODE_ADD, NODE_TAINT_UPDATE]);
    }

    #[test]
    fn a_plugin_that_says_nothing_gets_everything_that_is_unrolled() {
        let map = map_of(vec![Fake { name: "Silent", events: None, only_scores: false }]);
        assert_eq!(listeners(&map, EventResource::AssignedPod, ActionType::DELETE), ["Silent"]);
        assert_eq!(listeners(&map, EventResource::CsiDriver, ActionType::UPDATE), ["Silent"]);
        assert!(listeners(&map, EventResource::VolumeAttachment, ActionType::DELETE).is_empty());
        assert!(listeners(&map, EventResource::ResourceSlice, ActionType::ADD).is_empty());
    }

    #[test]
    fn a_plugin_that_wants_nothing_gets_nothing() {
        let map = map_of(vec![fake("Deaf", &[])]);
        assert_eq!(map.events().count(), 0);
        assert!(!map.is_of_interest(&ClusterEvent::NODE_ADD));
    }

    #[test]
    fn a_plugin_that_only_scores_is_not_asked() {
        let map = map_of(vec![Fake { name: "Scorer", events: None, only_scores: true }]);
        assert_eq!(map.events().count(), 0);
    }

    #[test]
    fn a_listener_for_one_update_does_not_hear_of_the_general_one() {
        let labels = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_LABEL);
        let updates = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE);
        let map = map_of(vec![fake("Labels", &[labels]), fake("Updates", &[updates])]);
        assert_eq!(listeners(&map, EventResource::UnschedulablePod, ActionType::UPDATE), ["Updates"]);
        assert_eq!(
            listeners(&map, EventResource::UnschedulablePod, ActionType::UPDATE_POD_LABEL),
            ["Labels", "Updates"]
        );
    }

    #[test]
    fn extenders_listen_to_everything_under_one_name() {
        let mut map = QueueingHintMap::default();
        map.register_every_event("Extender");
        assert_eq!(listeners(&map, EventResource::Node, ActionType::ADD), ["Extender"]);
    }
}
