//! VolumeZone: a volume that lives in a zone keeps its pod in that zone.
//!
//! Follows `plugins/volumezone/volume_zone.go`. Only claims that are bound are looked at, and only the labels of their
//! volumes; what a volume's node affinity says is for VolumeBinding.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::helper::objects::changed;
use super::helper::{listers, signers};
use super::names;
use crate::api::objects::{Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use crate::api::{NamespacedName, Object, ObjectStore, Str};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, QueueingHint,
    SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) had no available volume zone";

const WAIT_FOR_FIRST_CONSUMER: &str = "WaitForFirstConsumer";

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// The labels that tell where a volume or a node is.
const LABELS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumeZone;

/// A label that the node must have with one of these values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Topology {
    key: &'static str,
    values: BTreeSet<String>,
}

impl Topology {
    /// What the node has for it, with the label. A node with the new name of an old label is as good.
    fn found_on<'a>(&self, node: &'a Node) -> Option<(&'static str, &'a str)> {
        let new_key = match self.key {
            BETA_ZONE => ZONE,
            BETA_REGION => REGION,
            key => key,
        };
        [self.key, new_key].into_iter().find_map(|key| Some((key, node.label(key)?)))
    }

    fn admits(&self, node: &Node) -> bool {
        self.found_on(node).is_some_and(|(_, value)| self.values.contains(value))
    }
}

/// A label of a volume, and the claim that is bound to it.
#[derive(Clone, Debug)]
struct Place {
    claim: NamespacedName,
    volume: Str,
    topology: Topology,
}

/// What PreFilter has found.
#[derive(Clone, Debug)]
struct Found {
    places: Arc<[Place]>,
}

/// A label of a volume against a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneTried {
    /// The claim of the pod.
    pub claim: NamespacedName,
    /// The volume that it is bound to.
    pub volume: Str,
    /// The volume's label.
    pub key: &'static str,
    /// The values that the node may have.
    pub wanted: Vec<String>,
    /// The label and the value that the node has instead, if it has one.
    pub found: Option<(&'static str, String)>,
    /// Whether that will do.
    pub is_admitted: bool,
}

/// What the attempt held of each label of the pod's volumes on a node, volume by volume; absent if PreFilter has not got
/// to it. None where the node has no label that tells where it is, since any volume will do there.
pub fn explain_zones(state: &CycleState, node: &Node) -> Option<Vec<ZoneTried>> {
    let places = &state.read::<Found>()?.places;
    if !is_placed(node) {
        return Some(Vec::new());
    }
    let explain = |place: &Place| ZoneTried {
        claim: place.claim.clone(),
        volume: place.volume.clone(),
        key: place.topology.key,
        wanted: place.topology.values.iter().cloned().collect(),
        found: place.topology.found_on(node).map(|(key, value)| (key, value.to_owned())),
        is_admitted: place.topology.admits(node),
    };
    Some(places.iter().map(explain).collect())
}

/// Whether a label tells where the node is. A cluster of one zone may have no such labels at all.
fn is_placed(node: &Node) -> bool {
    LABELS.iter().any(|label| node.label(label).is_some())
}

/// Where a volume is, by its labels. A label with an empty zone in its list does not count.
fn topologies_of(volume: &PersistentVolume) -> Vec<Topology> {
    let topology = |key: &'static str| {
        let zones = volume.metadata.labels.get(&Str::from(key))?;
        let values: BTreeSet<String> = zones.split("__").map(|zone| zone.trim().to_owned()).collect();
        (!values.contains("")).then_some(Topology { key, values })
    };
    LABELS.into_iter().filter_map(topology).collect()
}

/// Where the volumes of a pod are.
fn places_for(pod: &Pod, objects: &ObjectStore) -> Result<Vec<Place>, Status> {
    let mut places = Vec::new();
    for name in pod.claim_names() {
        if name.is_empty() {
            return Err(Status::unresolvable("PersistentVolumeClaim had no name"));
        }
        let claim = listers::claim(objects, &pod.metadata.namespace, name).map_err(Status::unresolvable)?;
        if claim.spec.volume_name.is_empty() {
            check_unbound(claim, objects)?;
            continue;
        }
        let volume = listers::volume(objects, &claim.spec.volume_name).map_err(Status::unresolvable)?;
        places.extend(topologies_of(volume).into_iter().map(|topology| Place {
            claim: claim.metadata.key(),
            volume: volume.name().clone(),
            topology,
        }));
    }
    Ok(places)
}

/// Only a claim that waits for its pod may be without a volume.
fn check_unbound(claim: &PersistentVolumeClaim, objects: &ObjectStore) -> Result<(), Status> {
    let name = claim.class();
    if name.is_empty() {
        return Err(Status::unresolvable("PersistentVolumeClaim had no pv name and storageClass name"));
    }
    let class = listers::class(objects, name).map_err(Status::unresolvable)?;
    match class.volume_binding_mode.as_deref() {
        None => Err(Status::unresolvable(format!("VolumeBindingMode not set for StorageClass {name:?}"))),
        Some(WAIT_FOR_FIRST_CONSUMER) => Ok(()),
        Some(_) => Err(Status::unresolvable("PersistentVolume had no name")),
    }
}

fn queue_if(is_worth: bool) -> QueueingHint {
    if is_worth { QueueingHint::Queue } else { QueueingHint::QueueSkip }
}

fn is_schedulable_after_class_added(new: Option<&Object>) -> Result<QueueingHint, String> {
    let (_, class) = changed::<StorageClass>(None, new)?;
    Ok(queue_if(class.volume_binding_mode.as_deref() == Some(WAIT_FOR_FIRST_CONSUMER)))
}

fn is_schedulable_after_claim_changed(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (_, claim) = changed::<PersistentVolumeClaim>(old, new)?;
    let is_own = claim.metadata.namespace == pod.metadata.namespace
        && pod.claim_names().any(|name| *name == *claim.metadata.name);
    Ok(queue_if(is_own))
}

fn is_schedulable_after_volume_changed(
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (old, new) = changed::<PersistentVolume>(old, new)?;
    Ok(queue_if(old.is_none_or(|old| topologies_of(old) != topologies_of(new))))
}

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        names::VOLUME_ZONE
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for VolumeZone {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        match places_for(&pod.pod, handle.objects) {
            Err(status) => (None, status),
            Ok(places) if places.is_empty() => (None, Status::skip()),
            Ok(places) => {
                state.write(self.name(), Found { places: places.into() });
                (None, Status::SUCCESS)
            }
        }
    }
}

impl FilterPlugin for VolumeZone {
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        if pod.pod.spec.volumes.is_empty() {
            return Status::SUCCESS;
        }
        let places = match state.read::<Found>() {
            Some(found) => Arc::clone(&found.places),
            // A profile may have the plugin here and not at PreFilter.
            None => match places_for(&pod.pod, handle.objects) {
                Ok(places) => places.into(),
                Err(status) => return status,
            },
        };
        let Some(node) = node.node() else { return Status::SUCCESS };
        if !is_placed(node) || places.iter().all(|place| place.topology.admits(node)) {
            Status::SUCCESS
        } else {
            Status::unresolvable(REASON)
        }
    }
}

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let event = ClusterEvent::new;
        let changed = ActionType::ADD | ActionType::UPDATE;
        vec![
            ClusterEventWithHint::hinted(
                event(EventResource::StorageClass, ActionType::ADD),
                |_, _, _, new| is_schedulable_after_class_added(new),
            ),
            ClusterEventWithHint::always(event(
                EventResource::Node,
                ActionType::ADD | ActionType::UPDATE_NODE_LABEL,
            )),
            ClusterEventWithHint::hinted(
                event(EventResource::PersistentVolumeClaim, changed),
                |_, pod, old, new| is_schedulable_after_claim_changed(pod, old, new),
            ),
            ClusterEventWithHint::hinted(
                event(EventResource::PersistentVolume, changed),
                |_, _, old, new| is_schedulable_after_volume_changed(old, new),
            ),
        ]
    }
}

impl SignPlugin for VolumeZone {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Code;
    use crate::plugins::fixtures::{filter_in, hint, object, pod};

    const POD: &str = "{metadata: {name: p, namespace: shop}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}";

    fn volume(labels: &str) -> String {
        format!("{{kind: PersistentVolume, apiVersion: v1, metadata: {{name: pv, labels: {{{labels}}}}}}}")
    }

    fn claim(spec: &str) -> String {
        format!(
            "{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: data, namespace: shop}}, spec: {{{spec}}}}}"
        )
    }

    fn class(mode: &str) -> String {
        format!(
            "{{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {{name: fast}}, provisioner: p{mode}}}"
        )
    }

    fn answers(objects: &[String]) -> Result<Vec<(Code, String)>, (Code, String)> {
        let read = |status: Status| (status.code(), status.message());
        match filter_in(&VolumeZone, &objects.join("\n---\n"), POD) {
            Ok(statuses) => Ok(statuses.into_iter().map(read).collect()),
            Err(status) => Err(read(status)),
        }
    }

    /// What a node with these labels answers to a bound claim whose volume has those.
    fn on_node(node: &str, of_volume: &str) -> Result<Vec<(Code, String)>, (Code, String)> {
        let node = format!("{{kind: Node, apiVersion: v1, metadata: {{name: n1, labels: {{{node}}}}}}}");
        answers(&[node, volume(of_volume), claim("volumeName: pv")])
    }

    #[test]
    fn a_node_must_be_where_the_volume_is() {
        let fits = Ok(vec![(Code::Success, String::new())]);
        let elsewhere =
            Ok(vec![(Code::UnschedulableAndUnresolvable, "node(s) had no available volume zone".to_owned())]);
        let zone = |zone: &str| format!("topology.kubernetes.io/zone: '{zone}'");
        let old = |zone: &str| format!("failure-domain.beta.kubernetes.io/zone: '{zone}'");
        assert_eq!(on_node(&zone("a"), &zone("a")), fits);
        assert_eq!(on_node(&zone("b"), &zone("a")), elsewhere);
        assert_eq!(on_node(&zone("b"), &zone("a__ b ")), fits, "a list of zones");
        assert_eq!(on_node(&zone("a"), &old("a")), fits, "an old label of the volume");
        assert_eq!(on_node(&old("a"), &zone("a")), elsewhere, "an old label of the node alone");
        assert_eq!(on_node("", &zone("a")), fits, "a node without any such label");
        assert_eq!(on_node("topology.kubernetes.io/region: r", &zone("a")), elsewhere);
        let both = format!("{}, {}", zone("a"), old("b"));
        assert_eq!(on_node(&both, &both), fits);
        assert_eq!(on_node(&zone("b"), &both), elsewhere);
    }

    #[test]
    fn volumes_without_a_zone_skip_the_plugin() {
        let skip = Err((Code::Skip, String::new()));
        assert_eq!(on_node("topology.kubernetes.io/zone: a", "disk: ssd"), skip);
        assert_eq!(on_node("topology.kubernetes.io/zone: a", "topology.kubernetes.io/zone: a____b"), skip);
        assert_eq!(
            answers(&[claim("storageClassName: fast"), class(", volumeBindingMode: WaitForFirstConsumer")]),
            skip
        );
        let pod = POD.replace("persistentVolumeClaim: {claimName: data}", "ephemeral: {}");
        let status = filter_in(&VolumeZone, &claim(""), &pod).err().unwrap_or_default();
        assert_eq!(status.code(), Code::Skip, "claims that are made for the pod are not looked at");
    }

    #[test]
    fn a_claim_that_does_not_wait_must_have_its_volume() {
        let refused = |objects: &[String]| match answers(objects) {
            Err((Code::UnschedulableAndUnresolvable, text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(refused(&[class("")]), "persistentvolumeclaim \"data\" not found");
        assert_eq!(refused(&[claim("volumeName: pv")]), "persistentvolume \"pv\" not found");
        assert_eq!(refused(&[claim("")]), "PersistentVolumeClaim had no pv name and storageClass name");
        let waiting = claim("storageClassName: fast");
        assert_eq!(refused(std::slice::from_ref(&waiting)), "storageclass.storage.k8s.io \"fast\" not found");
        assert_eq!(
            refused(&[waiting.clone(), class("")]),
            "VolumeBindingMode not set for StorageClass \"fast\""
        );
        let immediate = class(", volumeBindingMode: Immediate");
        assert_eq!(refused(&[waiting, immediate]), "PersistentVolume had no name");
        let unnamed = POD.replace("claimName: data", "");
        let status = filter_in(&VolumeZone, &claim(""), &unnamed).err().unwrap_or_default();
        assert_eq!(status.message(), "PersistentVolumeClaim had no name");
    }

    #[test]
    fn changes_of_zones_own_claims_and_waiting_classes_are_worth_a_retry() {
        let own = pod(POD);
        let hint = |index, old: Option<&str>, new: &str| {
            let (old, new) = (old.map(object), object(new));
            hint(&VolumeZone, index, &own, old.as_ref(), Some(&new))
        };
        let (queue, skip) = (Ok(QueueingHint::Queue), Ok(QueueingHint::QueueSkip));
        assert_eq!(hint(0, None, &class(", volumeBindingMode: WaitForFirstConsumer")), queue);
        assert_eq!(hint(0, None, &class("")), skip);
        assert_eq!(hint(2, None, &claim("")), queue);
        assert_eq!(hint(2, None, &claim("").replace("namespace: shop", "namespace: other")), skip);
        assert_eq!(hint(2, None, &claim("").replace("name: data", "name: logs")), skip);
        let (a, b) = (volume("topology.kubernetes.io/zone: a"), volume("topology.kubernetes.io/zone: b"));
        assert_eq!(hint(3, None, &a), queue, "any new volume");
        assert_eq!(hint(3, Some(&a), &b), queue);
        assert_eq!(hint(3, Some(&a), &a.replace("labels: {", "labels: {disk: ssd, ")), skip);
    }
}
