//! Objects beside pods and nodes in sentences: claims, volumes, classes, slices, budgets, groups.
//!
//! What is told of one comes from a store that holds it with what it has to do with. The first sentence says what the
//! object means for scheduling now; below stand its values, and the objects that it names and that name it.

use crate::api::objects::{
    CSIDriver, CSINode, DeviceClass, IntOrString, LabelSelector, NodeSelector, PersistentVolume,
    PersistentVolumeClaim, PodDisruptionBudget, PodGroup, ResourceClaim, ResourceSlice, StorageClass,
};
use crate::api::store::{Kind, Object, ObjectStore};
use crate::api::{NamespacedName, Quantity, Str};

use super::counted;
use super::selectors::describe_term;

/// What the annotation of a claim says that a node was chosen for it.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Another object that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What it is to this one, such as `used by`.
    pub label: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Which one.
    pub key: NamespacedName,
    /// What is to say about it here.
    pub note: String,
    /// Whether it is there.
    pub exists: bool,
}

/// What there is to tell of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectStory {
    /// What it means for scheduling now.
    pub headline: String,
    /// Its values.
    pub facts: Vec<(&'static str, String)>,
    /// The objects that it names and that name it.
    pub named: Vec<Named>,
}

/// The object of that kind and name in a store that has what it has to do with.
pub fn object_story(store: &ObjectStore, kind: Kind, key: &NamespacedName) -> Option<ObjectStory> {
    let teller = Teller { store };
    Some(match store.get(kind, key)? {
        Object::PersistentVolumeClaim(claim) => teller.claim(&claim),
        Object::PersistentVolume(volume) => teller.volume(&volume),
        Object::StorageClass(class) => teller.class(&class),
        Object::PodDisruptionBudget(budget) => teller.budget(&budget),
        Object::PodGroup(group) => teller.group(&group),
        Object::ResourceClaim(claim) => teller.device_claim(&claim),
        Object::ResourceSlice(slice) => teller.slice(&slice),
        Object::DeviceClass(class) => teller.device_class(&class),
        Object::CSIDriver(driver) => teller.driver(&driver),
        Object::CSINode(node) => teller.csi_node(&node),
        other => ObjectStory {
            headline: format!("{} is one of the objects that the scheduler reads.", other.kind()),
            named: teller.pods("used by"),
            ..ObjectStory::default()
        },
    })
}

/// A kind as a person says it.
pub const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::PersistentVolumeClaim => "claim",
        Kind::PersistentVolume => "volume",
        Kind::StorageClass => "storage class",
        Kind::ResourceClaim => "device claim",
        Kind::ResourceSlice => "slice",
        Kind::DeviceClass => "device class",
        Kind::PodDisruptionBudget => "budget",
        Kind::PodGroup => "group",
        Kind::PriorityClass => "priority class",
        Kind::Pod => "pod",
        Kind::Node => "node",
        other => other.as_str(),
    }
}

struct Teller<'a> {
    store: &'a ObjectStore,
}

impl Teller<'_> {
    fn named(&self, label: &'static str, kind: Kind, key: NamespacedName, note: impl Into<String>) -> Named {
        // Nodes are not among what comes along; that they are there is seen on their own page.
        let exists = kind == Kind::Node || self.store.get(kind, &key).is_some();
        Named { label, kind, key, note: note.into(), exists }
    }

    fn pods(&self, label: &'static str) -> Vec<Named> {
        let place = |node: &Str| if node.is_empty() { "pending".to_owned() } else { format!("on {node}") };
        let pods = self.store.pods.values();
        pods.map(|pod| self.named(label, Kind::Pod, pod.key(), place(&pod.spec.node_name))).collect()
    }

    fn claim(&self, claim: &PersistentVolumeClaim) -> ObjectStory {
        let volume = &claim.spec.volume_name;
        let class = claim.class();
        let mode = self.store.storage_classes.get(&NamespacedName::cluster(class));
        let waits = mode.is_some_and(|class| waits_for_consumer(class));
        let headline = match (claim.metadata.deletion_timestamp.is_some(), volume.is_empty(), waits) {
            (true, ..) => "It is being deleted: pods that use it are turned down by VolumeBinding.".to_owned(),
            (false, false, _) => format!("It is bound to volume {volume}: its pods go where that volume can be."),
            (false, true, true) => match claim.metadata.annotations.get(SELECTED_NODE) {
                Some(node) => format!("A node was chosen for it, {node}, and its volume is being made there."),
                None => "It has no volume yet and gets one with its first pod: VolumeBinding looks for one that can \
                         be on the pod's node, or for room to make one."
                    .to_owned(),
            },
            (false, true, false) if class.is_empty() => {
                "It has no volume and no class: somebody has to make a volume for it by hand.".to_owned()
            }
            (false, true, false) if mode.is_none() => {
                format!("It has no volume, and there is no storage class {class}: its pods are turned down.")
            }
            (false, true, false) => {
                "It has no volume yet, and its class binds at once: until then its pods are turned down.".to_owned()
            }
        };
        let mut named = Vec::new();
        if !volume.is_empty() {
            named.push(self.named(
                "volume",
                Kind::PersistentVolume,
                NamespacedName::cluster(volume.clone()),
                "",
            ));
        }
        if !class.is_empty() {
            let note = mode.map(|class| binding_mode(class).to_owned()).unwrap_or_default();
            named.push(self.named("class", Kind::StorageClass, NamespacedName::cluster(class), note));
        }
        named.extend(self.pods("used by"));
        let facts = vec![
            ("phase", claim.status.phase.clone()),
            ("asks for", claim.request().map(|size| size.to_string()).unwrap_or_default()),
            ("access", claim.spec.access_modes.join(", ")),
            ("mode", claim.spec.volume_mode.clone().unwrap_or_default()),
            (
                "node",
                claim.metadata.annotations.get(SELECTED_NODE).map(ToString::to_string).unwrap_or_default(),
            ),
        ];
        ObjectStory { headline, facts, named }
    }

    fn volume(&self, volume: &PersistentVolume) -> ObjectStory {
        let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let place = required.map(describe_node_selector);
        let headline = match (&volume.spec.claim_ref, &place) {
            (Some(claim), Some(place)) => {
                format!("It belongs to claim {}, whose pods go where {place}.", claim.key())
            }
            (Some(claim), None) => format!("It belongs to claim {} and can be on any node.", claim.key()),
            (None, Some(place)) => {
                format!("It is free for a claim that asks for no more; it can be where {place}.")
            }
            (None, None) => "It is free for a claim that asks for no more, on any node.".to_owned(),
        };
        let mut named = Vec::new();
        if let Some(claim) = &volume.spec.claim_ref {
            named.push(self.named("claim", Kind::PersistentVolumeClaim, claim.key(), ""));
        }
        if !volume.class().is_empty() {
            let class = NamespacedName::cluster(volume.class().clone());
            named.push(self.named("class", Kind::StorageClass, class, ""));
        }
        if let Some(csi) = &volume.spec.csi {
            named.push(Named {
                exists: true,
                ..self.named("driver", Kind::CSIDriver, NamespacedName::cluster(csi.driver.clone()), "")
            });
        }
        let facts = vec![
            ("phase", volume.status.phase.clone()),
            ("size", volume.size().map(|size: Quantity| size.to_string()).unwrap_or_default()),
            ("access", volume.spec.access_modes.join(", ")),
            ("where", place.unwrap_or_else(|| "any node".to_owned())),
            ("reclaim", volume.spec.persistent_volume_reclaim_policy.clone()),
        ];
        ObjectStory { headline, facts, named }
    }

    fn class(&self, class: &StorageClass) -> ObjectStory {
        let headline = if waits_for_consumer(class) {
            "Its volumes are bound when a pod is scheduled: the scheduler chooses the node first."
        } else {
            "Its volumes are bound at once: pods wait until that is done, and go where the volume is."
        };
        let facts = vec![
            ("binding", binding_mode(class).to_owned()),
            ("reclaim", class.reclaim_policy.clone().unwrap_or_default()),
            ("topologies", counted_or_none(class.allowed_topologies.len(), "term")),
            ("capacity", counted_or_none(self.store.csi_storage_capacities.len(), "report")),
        ];
        let driver = NamespacedName::cluster(class.provisioner.clone());
        let mut named = vec![self.named("made by", Kind::CSIDriver, driver, "")];
        let claims = self.store.persistent_volume_claims.values();
        named.extend(claims.map(|claim| {
            self.named("claim", Kind::PersistentVolumeClaim, claim.key(), claim.status.phase.clone())
        }));
        let volumes = self.store.persistent_volumes.values();
        named.extend(volumes.map(|volume| {
            let key = NamespacedName::cluster(volume.name().clone());
            self.named("volume", Kind::PersistentVolume, key, volume.status.phase.clone())
        }));
        ObjectStory { headline: headline.to_owned(), facts, named }
    }

    fn budget(&self, budget: &PodDisruptionBudget) -> ObjectStory {
        let allowed = budget.status.disruptions_allowed;
        let n = self.store.pods.len();
        let headline = if allowed > 0 {
            let pods = counted(usize::try_from(allowed).unwrap_or_default(), "pod");
            format!("Preemption may evict {pods} of its {n} without violating it.")
        } else {
            format!(
                "No pod of its {n} may be evicted now: preemption takes them last, and violates it if it must."
            )
        };
        let of = |value: &Option<IntOrString>| {
            value.as_ref().map(|value| match value {
                IntOrString::Int(n) => n.to_string(),
                IntOrString::String(text) => text.clone(),
            })
        };
        let facts = vec![
            ("allowed", counted(usize::try_from(allowed).unwrap_or_default(), "disruption")),
            (
                "available",
                of(&budget.spec.min_available).map(|n| format!("at least {n}")).unwrap_or_default(),
            ),
            (
                "unavailable",
                of(&budget.spec.max_unavailable).map(|n| format!("at most {n}")).unwrap_or_default(),
            ),
            ("selects", budget.spec.selector.as_ref().map(describe_selector).unwrap_or_default()),
            ("going", counted_or_none(budget.status.disrupted_pods.len(), "pod")),
        ];
        ObjectStory { headline, facts, named: self.pods("covers") }
    }

    fn group(&self, group: &PodGroup) -> ObjectStory {
        let n = self.store.pods.len();
        let n_placed = self.store.pods.values().filter(|pod| pod.is_assigned()).count();
        let headline = match group.gang_min_count() {
            Some(min) => format!(
                "A gang: {min} of its pods must find a place before any is bound; it has {n}, of which {n_placed} are on nodes."
            ),
            None => format!(
                "A group without a quorum: its {n} pods are bound one by one; {n_placed} are on nodes."
            ),
        };
        let conditions: Vec<String> = group
            .status
            .conditions
            .iter()
            .map(|condition| format!("{}={} {}", condition.type_, condition.status, condition.reason))
            .collect();
        let facts = vec![
            ("priority", group.priority().to_string()),
            ("topology", group.topology_key().map(ToString::to_string).unwrap_or_default()),
            ("disrupted", if group.is_disrupted_as_one() { "as one" } else { "pod by pod" }.to_owned()),
            ("conditions", conditions.join(", ")),
        ];
        ObjectStory { headline, facts, named: self.pods("member") }
    }

    fn device_claim(&self, claim: &ResourceClaim) -> ObjectStory {
        let results: Vec<_> =
            claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results).collect();
        let headline = match (&claim.status.allocation, claim.status.reserved_for.len()) {
            (None, _) => {
                "No device is allocated: DynamicResources looks for devices on each node for its pod."
                    .to_owned()
            }
            (Some(_), 0) => format!(
                "It has {} and nobody uses them: DynamicResources may take them away for a pod that fits nowhere else.",
                counted(results.len(), "device")
            ),
            (Some(_), n) => {
                format!("It has {}, reserved for {}.", counted(results.len(), "device"), counted(n, "pod"))
            }
        };
        let mut facts: Vec<(&'static str, String)> = Vec::new();
        for request in &claim.spec.devices.requests {
            let wants = match &request.exactly {
                Some(exactly) if &*exactly.allocation_mode == "All" => {
                    format!("all of class {}", exactly.device_class_name)
                }
                Some(exactly) => format!("{} of class {}", exactly.count.max(1), exactly.device_class_name),
                None => {
                    let first: Vec<String> = request
                        .first_available
                        .iter()
                        .map(|sub| format!("{} of class {}", sub.count.max(1), sub.device_class_name))
                        .collect();
                    format!("the first that there is of {}", first.join(", "))
                }
            };
            facts.push(("asks for", format!("{}: {wants}", request.name)));
        }
        for device in &results {
            facts.push((
                "has",
                format!(
                    "{} of pool {}, driver {}, for {}",
                    device.device, device.pool, device.driver, device.request
                ),
            ));
        }
        let place = claim.status.allocation.as_ref().and_then(|allocation| allocation.node_selector.as_ref());
        facts.push(("where", place.map(describe_node_selector).unwrap_or_default()));
        let mut named: Vec<Named> = Vec::new();
        let classes = self.store.device_classes.keys();
        named.extend(classes.map(|key| self.named("class", Kind::DeviceClass, key.clone(), "")));
        let slices = self.store.resource_slices.values();
        named.extend(slices.map(|slice| {
            let node = slice.spec.node_name.as_ref().map(|node| format!("on {node}")).unwrap_or_default();
            self.named("slice", Kind::ResourceSlice, slice.metadata.key(), node)
        }));
        named.extend(self.pods("used by"));
        ObjectStory { headline, facts, named }
    }

    fn slice(&self, slice: &ResourceSlice) -> ObjectStory {
        let spec = &slice.spec;
        let is_taken = |device: &Str| {
            self.store.resource_claims.values().any(|claim| {
                let results =
                    claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
                results.into_iter().any(|it| it.device == *device && it.pool == spec.pool.name)
            })
        };
        let n_taken = spec.devices.iter().filter(|device| is_taken(&device.name)).count();
        let headline = format!(
            "{} of pool {}, {n_taken} of them allocated to claims.",
            counted(spec.devices.len(), "device"),
            spec.pool.name
        );
        let place = match (&spec.node_name, &spec.node_selector, spec.all_nodes) {
            (Some(node), ..) => format!("node {node}"),
            (None, Some(selector), _) => describe_node_selector(selector),
            (None, None, Some(true)) => "every node".to_owned(),
            (None, None, _) => "each device says so itself".to_owned(),
        };
        let devices: Vec<String> = spec
            .devices
            .iter()
            .take(40)
            .map(|device| {
                if is_taken(&device.name) {
                    format!("{} (taken)", device.name)
                } else {
                    device.name.to_string()
                }
            })
            .collect();
        let facts = vec![
            ("driver", spec.driver.to_string()),
            (
                "pool",
                format!(
                    "{}, generation {}, {} in all",
                    spec.pool.name,
                    spec.pool.generation,
                    counted(usize::try_from(spec.pool.resource_slice_count).unwrap_or_default(), "slice")
                ),
            ),
            ("where", place),
            ("devices", devices.join(", ")),
        ];
        let mut named = Vec::new();
        if let Some(node) = &spec.node_name {
            named.push(self.named("node", Kind::Node, NamespacedName::cluster(node.clone()), ""));
        }
        let claims = self.store.resource_claims.keys();
        named.extend(claims.map(|key| self.named("given to", Kind::ResourceClaim, key.clone(), "")));
        ObjectStory { headline, facts, named }
    }

    fn device_class(&self, class: &DeviceClass) -> ObjectStory {
        let selectors: Vec<String> = class
            .spec
            .selectors
            .iter()
            .filter_map(|selector| selector.cel.as_ref())
            .map(|cel| cel.expression.to_string())
            .collect();
        let headline = if selectors.is_empty() {
            "Any device is of this class.".to_owned()
        } else {
            format!(
                "Devices for which {} are of this class.",
                if selectors.len() == 1 { "this is true" } else { "all of these are true" }
            )
        };
        let mut facts: Vec<(&'static str, String)> =
            selectors.into_iter().map(|expression| ("selects", expression)).collect();
        facts.push(("stands for", class.spec.extended_resource_name.clone().unwrap_or_default()));
        let claims = self.store.resource_claims.keys();
        let named =
            claims.map(|key| self.named("asked for by", Kind::ResourceClaim, key.clone(), "")).collect();
        ObjectStory { headline, facts, named }
    }

    fn driver(&self, driver: &CSIDriver) -> ObjectStory {
        let yes = |value: Option<bool>| value.map(|value| if value { "yes" } else { "no" }.to_owned());
        let headline = match driver.spec.storage_capacity {
            Some(true) => {
                "It tells how much room it has, and VolumeBinding asks for room where it makes volumes."
            }
            _ => "It does not tell how much room it has: VolumeBinding takes it that there is enough.",
        };
        let facts = vec![
            ("attaches", yes(driver.spec.attach_required).unwrap_or_default()),
            ("tells room", yes(driver.spec.storage_capacity).unwrap_or_default()),
        ];
        let classes = self.store.storage_classes.keys();
        let named = classes.map(|key| self.named("class", Kind::StorageClass, key.clone(), "")).collect();
        ObjectStory { headline: headline.to_owned(), facts, named }
    }

    fn csi_node(&self, node: &CSINode) -> ObjectStory {
        let drivers = &node.spec.drivers;
        let headline = format!("The CSI drivers of the node of that name: {}.", drivers.len());
        let facts = drivers
            .iter()
            .map(|driver| {
                let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
                let limit = count.map_or_else(|| "no limit".to_owned(), |n| format!("at most {n} volumes"));
                ("driver", format!("{}: {limit}", driver.name))
            })
            .collect();
        let key = NamespacedName::cluster(node.metadata.name.clone());
        let named = vec![self.named("node", Kind::Node, key, "")];
        ObjectStory { headline, facts, named }
    }
}

fn describe_node_selector(selector: &NodeSelector) -> String {
    let terms: Vec<String> = selector.node_selector_terms.iter().map(describe_term).collect();
    terms.join(" or ")
}

fn describe_selector(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().map(|it| {
        let values = it.values.join(", ");
        if values.is_empty() {
            format!("{} {}", it.key, it.operator)
        } else {
            format!("{} {} ({values})", it.key, it.operator)
        }
    });
    let all: Vec<String> = labels.chain(expressions).collect();
    if all.is_empty() { "every pod of its namespace".to_owned() } else { all.join(", ") }
}

fn counted_or_none(n: usize, what: &str) -> String {
    if n == 0 { String::new() } else { counted(n, what) }
}

fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

fn binding_mode(class: &StorageClass) -> &str {
    class.volume_binding_mode.as_deref().unwrap_or("Immediate")
}
