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
