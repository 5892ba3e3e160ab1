//! What would make a rejected pod worth another try, and why a plugin judged an event as it did.
//!
//! The sentences follow `EventsToRegister` and the hints of each plugin in kube-scheduler v1.36. A plugin that is not
//! known here is told of by the events that it registered.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::api::objects::Pod;
use crate::framework::{ActionType, ClusterEvent, EventResource};
use crate::scheduler::HintResult;
use crate::scheduler::view::{QueueRow, View};

use super::names;
use super::selectors::describe_term;

/// What a plugin that turned a pod down listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waker {
    /// The plugin.
    pub plugin: Str,
    /// In a few words; absent if nothing that it listens to can happen.
    pub words: Option<String>,
    /// The events that it registered, as upstream spells them, one entry for each kind of object.
    pub events: Vec<String>,
}

/// What could wake a pod, by the plugins that turned it down or hold it.
pub fn wakers(view: &View, row: &QueueRow) -> Vec<Waker> {
    let nothing = BTreeMap::new();
    let of_profile = view.listeners.get(&row.pod.spec.scheduler_name).unwrap_or(&nothing);
    let rejectors: Vec<&Str> = match &row.gated_by {
        Some(gate) => vec![gate],
        None => row.unschedulable_plugins.iter().chain(&row.pending_plugins).collect(),
    };
    let waker = |plugin: &Str| {
        let events = of_profile.get(plugin).map_or(&[][..], Vec::as_slice);
        // A view that was made by hand knows no listeners.
        let is_known = !view.listeners.is_empty();
        let events = by_resource(events);
        let words = match &**plugin {
            _ if is_known && events.is_empty() => None,
            names::NODE_AFFINITY => Some(wanted_labels(&row.pod)),
            _ => words(plugin, &events),
        };
        Waker { plugin: plugin.clone(), words, events }
    };
    rejectors.into_iter().map(waker).collect()
}

/// The events of each kind of object in one entry.
pub(super) fn by_resource(events: &[ClusterEvent]) -> Vec<String> {
    let mut all: Vec<(EventResource, ActionType)> = Vec::new();
    for event in events {
        match all.iter_mut().find(|(resource, _)| *resource == event.resource) {
            Some((_, actions)) => *actions = *actions | event.action_type,
            None => all.push((event.resource, event.action_type)),
        }
    }
    all.into_iter()
        .map(|(resource, actions)| format!("{} {}", kind_of(resource), actions_of(actions)))
        .collect()
}

/// The kind without its API group.
fn kind_of(resource: EventResource) -> &'static str {
    let name = resource.as_str();
    name.rsplit_once('/').map_or(name, |(_, kind)| kind)
}

/// The actions, with one word for all updates.
fn actions_of(actions: ActionType) -> String {
    if actions == ActionType::ALL || !actions.contains(ActionType::UPDATE) {
        return actions.to_string();
    }
    let others = [ActionType::ADD, ActionType::DELETE].into_iter().filter(|action| actions.contains(*action));
    let words: Vec<String> = others.chain([ActionType::UPDATE]).map(|action| action.to_string()).collect();
    words.join("|")
}

/// The labels that a pod wants of a node, where they are few enough to be said.
fn wanted_labels(pod: &Pod) -> String {
    const SAID: usize = 60;
    let mut wanted: Vec<String> =
        pod.spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let terms = affinity.and_then(|affinity| affinity.required.as_ref());
    let terms: Vec<String> =
        terms.into_iter().flat_map(|terms| &terms.node_selector_terms).map(describe_term).collect();
    if !terms.is_empty() {
        wanted.push(terms.join(" or "));
    }
    let all = wanted.join(" and ");
    if all.is_empty() || all.len() > SAID {
        return "a node with the labels that it wants".to_owned();
    }
    format!("a node with {all}")
}

fn words(plugin: &str, events: &[String]) -> Option<String> {
    let text = match plugin {
        "" => return None,
        names::FIT => "a pod that leaves a node, a node that comes or grows, a smaller request",
        names::TAINT_TOLERATION => "a node without the taint, a new toleration",
        names::NODE_NAME => "the node that it names",
        names::NODE_PORTS => "a pod that gives the port back, a new node",
        names::NODE_UNSCHEDULABLE => "a node that is uncordoned or comes, a new toleration",
        "PodTopologySpread" => "a pod or a node that evens out the spread",
        "InterPodAffinity" => "a pod or a node that its (anti-)affinity is about",
        names::SCHEDULING_GATES => "the end of its gates",
        names::DEFAULT_PREEMPTION => "the end of its victims",
        names::VOLUME_BINDING => "any PersistentVolume, its own claim, a node that comes or is relabelled",
        "VolumeZone" => {
            "a PersistentVolume in another zone, its own claim, a node that comes or is relabelled"
        }
        "VolumeRestrictions" => "a pod that gives its volume back, its own claim, a new node",
        "NodeVolumeLimits" => "a pod with volumes that goes, a volume that is detached, a higher limit",
        names::DYNAMIC_RESOURCES => {
            "a claim that gives its devices back, its own claim, a new slice or class"
        }
        "NodeDeclaredFeatures" => "a node that comes or declares more, a pod that needs less",
        "Extender" => "any change",
        _ if events.is_empty() => return Some(format!("an event that {plugin} listens to")),
        _ => return Some(format!("{} (for {plugin})", events.join(", "))),
    };
    Some(text.to_owned())
}

/// Why a plugin answered to an event as it did, as far as its rules tell from the answer.
pub fn hint_reason(plugin: &str, event: ClusterEvent, result: &HintResult) -> String {
    let helps = match result {
        HintResult::Queue => true,
        HintResult::Skip => false,
        HintResult::Error(error) => return format!("the judging failed, which counts as Queue: {error}"),
    };
    let is = |resource: EventResource| event.resource == resource;
    let has = |action: ActionType| event.action_type.intersects(action);
    let is_pod = matches!(
        event.resource,
        EventResource::Pod | EventResource::AssignedPod | EventResource::UnschedulablePod
    );
    let either = |queue: &'static str, skip: &'static str| if helps { queue } else { skip };
    let words = match plugin {
        names::FIT if is(EventResource::Node) && has(ActionType::ADD) => {
            either("the node is large enough when it is empty", "even empty the node is too small")
        }
        names::FIT if is(EventResource::Node) && has(ActionType::UPDATE_NODE_ALLOCATABLE) => either(
            "the node is large enough when it is empty, and has grown in what the pod requests",
            "even empty the node is too small, or it has not grown in what the pod requests",
        ),
        names::FIT if is_pod && has(ActionType::DELETE) => {
            either("a pod with a place is gone, and what it had is free", "the pod that is gone had no place")
        }
        names::FIT if is_pod => either(
            "the pod itself asks for less, or one with a place gives back what this one requests",
            "nothing that the pod requests is given back",
        ),
        names::FIT if is(EventResource::DeviceClass) => either(
            "the class stands behind a resource that the pod requests",
            "no resource that the pod requests is behind the class",
        ),
        names::TAINT_TOLERATION if is(EventResource::Node) && has(ActionType::ADD) => {
            either("the pod tolerates the taints of the node", "the node repels the pod")
        }
        names::TAINT_TOLERATION if is(EventResource::Node) => {
            either("the node no longer repels the pod", "the node repels the pod still, or did not before")
        }
        names::NODE_UNSCHEDULABLE if is(EventResource::Node) && has(ActionType::ADD) => {
            either("the node is open for pods", "the node is cordoned")
        }
        names::NODE_UNSCHEDULABLE if is(EventResource::Node) => {
            either("the node is open for pods now", "the node is cordoned, or was open before")
        }
        names::NODE_UNSCHEDULABLE => either(
            "the pod tolerates cordoned nodes now",
            "it is another pod, or it does not tolerate cordoned nodes",
        ),
        names::TAINT_TOLERATION | names::SCHEDULING_GATES => {
            either("it is the pod itself", "it is another pod")
        }
        names::NODE_AFFINITY if has(ActionType::ADD) => either(
            "the node has the labels that the pod wants",
            "the node has not the labels that the pod wants",
        ),
        names::NODE_AFFINITY if !has(ActionType::UPDATE_NODE_TAINT) => either(
            "the node has the labels that the pod wants",
            "the node has not the labels that the pod wants, or had them before",
        ),
        names::NODE_PORTS if is_pod => either(
            "the pod that is gone had a port that this one wants",
            "the pod that is gone had no port that this one wants",
        ),
        "VolumeRestrictions" if is_pod => either(
            "the pod that is gone had a volume that this one wants",
            "the pod that is gone had no volume that this one wants",
        ),
        names::VOLUME_BINDING | "VolumeZone" | "VolumeRestrictions" | "NodeVolumeLimits"
            if is(EventResource::PersistentVolumeClaim) =>
        {
            either("the claim is the pod's own", "the claim is not the pod's")
        }
        "VolumeZone" if is(EventResource::PersistentVolume) => {
            either("the volume is new, or is in another zone now", "the zone of the volume is as it was")
        }
        "VolumeZone" if is(EventResource::StorageClass) => {
            either("the class waits for the first consumer", "the class does not wait for the first consumer")
        }
        names::VOLUME_BINDING if is(EventResource::StorageClass) => either(
            "the class is new, or allows other places now",
            "the class allows the same places as before",
        ),
        names::VOLUME_BINDING if is(EventResource::CsiNode) => either(
            "the CSINode is new, or other volumes are migrated there now",
            "the migrated volumes of the CSINode are the same",
        ),
        names::VOLUME_BINDING if is(EventResource::CsiStorageCapacity) => {
            either("there is more space than before", "there is no more space than before")
        }
        names::VOLUME_BINDING if is(EventResource::CsiDriver) => either(
            "the driver no longer looks at capacity, and the pod uses it",
            "the driver still looks at capacity, or the pod does not use it",
        ),
        "NodeVolumeLimits" if is_pod => either(
            "a pod with volumes is gone from a node",
            "the pod that is gone had no place, or no volumes that count",
        ),
        "NodeVolumeLimits" if is(EventResource::VolumeAttachment) => either(
            "a volume is detached, and the pod has volumes that count",
            "the detached volume has a driver that the pod does not use",
        ),
        "NodeVolumeLimits" if is(EventResource::CsiNode) => either(
            "the limit of a driver is higher, or the CSINode is new",
            "no driver's limit is higher than before",
        ),
        "PodTopologySpread" if is_pod => either(
            "the pod counts in a constraint, or counts no longer",
            "the pod counts in none of the constraints, as before",
        ),
        "PodTopologySpread" if is(EventResource::Node) => either(
            "the node changes the domains of a constraint",
            "the node changes no domain of a constraint",
        ),
        "InterPodAffinity" if is_pod => either(
            "the pod is one that the affinity wants, or one that the anti-affinity shunned",
            "the pod has no place, or no (anti-)affinity is about it",
        ),
        "InterPodAffinity" if is(EventResource::Node) && !has(ActionType::UPDATE_NODE_TAINT) => either(
            "the node changes the domains of an (anti-)affinity",
            "the node changes no domain of an (anti-)affinity",
        ),
        names::DEFAULT_PREEMPTION => either(
            "it opens the gate",
            "it may open the gate; whether that is worth a try, the other plugins say",
        ),
        names::DYNAMIC_RESOURCES if is(EventResource::ResourceClaim) => either(
            "a claim has given its devices back, or the pod's own claim has changed",
            "the claim is not the pod's, or it is as it was, or another claim of the pod is missing",
        ),
        names::DYNAMIC_RESOURCES if is_pod => either(
            "the pod's claims are there now",
            "it is another pod, or one of its claims is still missing",
        ),
        "NodeDeclaredFeatures" => either(
            "what the node declares or the pod needs has changed",
            "neither what the node declares nor what the pod needs has changed",
        ),
        _ if helps && is(EventResource::Node) && has(ActionType::UPDATE_NODE_TAINT) => {
            "whoever listens to new nodes is told of changed taints, and tries again"
        }
        _ => either("to the plugin every such event is worth a try", "the plugin sees no help in it"),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(plugin: &str, resource: EventResource, action: ActionType, result: &HintResult) -> String {
        hint_reason(plugin, ClusterEvent::new(resource, action), result)
    }

    #[test]
    fn a_node_that_comes_is_judged_as_if_it_were_empty() {
        let add =
            |result: HintResult| reason("NodeResourcesFit", EventResource::Node, ActionType::ADD, &result);
        assert_eq!(add(HintResult::Skip), "even empty the node is too small");
        assert_eq!(add(HintResult::Queue), "the node is large enough when it is empty");
    }

    #[test]
    fn who_listens_to_new_nodes_tries_again_after_any_change_of_taints() {
        let text = reason(
            "NodeResourcesFit",
            EventResource::Node,
            ActionType::UPDATE_NODE_TAINT,
            &HintResult::Queue,
        );
        assert_eq!(text, "whoever listens to new nodes is told of changed taints, and tries again");
        // TaintToleration looks at the taints itself.
        let text =
            reason("TaintToleration", EventResource::Node, ActionType::UPDATE_NODE_TAINT, &HintResult::Skip);
        assert_eq!(text, "the node repels the pod still, or did not before");
    }

    #[test]
    fn a_volume_wakes_every_pod_that_volume_binding_turned_down() {
        let text =
            reason("VolumeBinding", EventResource::PersistentVolume, ActionType::ADD, &HintResult::Queue);
        assert_eq!(text, "to the plugin every such event is worth a try");
    }

    #[test]
    fn a_failed_judgement_is_told_with_its_error() {
        let error = HintResult::Error("expected a Pod, but got nothing".to_owned());
        let text = reason("NodePorts", EventResource::AssignedPod, ActionType::DELETE, &error);
        assert!(text.ends_with("counts as Queue: expected a Pod, but got nothing"), "{text}");
    }

    #[test]
    fn the_events_of_a_kind_stand_in_one_entry() {
        let node = |action| ClusterEvent::new(EventResource::Node, action);
        let events = [
            ClusterEvent::new(EventResource::Pod, ActionType::DELETE | ActionType::UPDATE_POD_SCALE_DOWN),
            node(ActionType::ADD | ActionType::UPDATE_NODE_ALLOCATABLE),
            node(ActionType::UPDATE_NODE_TAINT),
        ];
        assert_eq!(
            by_resource(&events),
            ["Pod Delete|UpdatePodScaleDown", "Node Add|UpdateNodeAllocatable|UpdateNodeTaint"]
        );
        let class = ClusterEvent::new(EventResource::DeviceClass, ActionType::ADD | ActionType::UPDATE);
        assert_eq!(by_resource(&[class]), ["DeviceClass Add|Update"]);
    }
}
