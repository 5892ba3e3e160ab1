//! What an API server does to an object before a scheduler sees it.
//!
//! The defaults of `pkg/apis/core/v1/defaults.go` for the fields that a scheduler reads, and the Priority admission
//! plugin. Of validation only that amounts are not negative; no RuntimeClass overhead, no merging of `matchLabelKeys` into
//! selectors.
//! A pod with a `spec.priority` keeps it, as one from a dump must; the plugin itself would refuse a foreign value.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::{
    Container, Namespace, Node, Pod, PodCondition, PriorityClass, ResourceClaimSpec, ResourceList,
    ResourceRequirements, ResourceSlice,
};
use crate::api::{NamespacedName, Object, Quantity, Str, Time};

use super::api::ApiError;
use super::disk_defaults::default_pod_disks;
use super::storage_defaults::default_storage;

/// The scheduler that a pod gets which names none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Seconds that a pod without a wish of its own may take to end.
pub const DEFAULT_GRACE_PERIOD: i64 = 30;
/// What holds a pod with scheduling gates back, as its condition says.
const GATED_MESSAGE: &str = "Scheduling is blocked due to non-empty scheduling gates";
/// Thousandths: resource amounts are kept no finer.
const MILLI: i32 = -3;

/// Gives an object its defaults.
///
/// # Errors
/// A pod that names a priority class which is not there.
pub fn admit(object: Object, classes: &PriorityClasses<'_>, now: Time) -> Result<Object, ApiError> {
    let mut object = admit_spec(object, classes, now)?;
    if let Object::Pod(pod) = &mut object {
        default_status(Arc::make_mut(pod), now);
    }
    Ok(object)
}

/// The same without what a server writes into the status of a new pod.
///
/// # Errors
/// A pod that names a priority class which is not there.
pub fn admit_spec(object: Object, classes: &PriorityClasses<'_>, now: Time) -> Result<Object, ApiError> {
    match object {
        Object::Pod(pod) => {
            let mut pod = Arc::unwrap_or_clone(pod);
            check_amounts(&pod)?;
            default_pod(&mut pod);
            admit_priority(&mut pod, classes)?;
            Ok(pod.into())
        }
        Object::Node(node) => {
            let mut node = Arc::unwrap_or_clone(node);
            default_node(&mut node);
            Ok(node.into())
        }
        Object::Namespace(namespace) => {
            let mut namespace = Arc::unwrap_or_clone(namespace);
            default_namespace(&mut namespace);
            Ok(namespace.into())
        }
        Object::ResourceClaim(claim) => {
            let mut claim = Arc::unwrap_or_clone(claim);
            default_claim(&mut claim.spec);
            Ok(claim.into())
        }
        Object::ResourceClaimTemplate(template) => {
            let mut template = Arc::unwrap_or_clone(template);
            default_claim(&mut template.spec.spec);
            Ok(template.into())
        }
        Object::ResourceSlice(slice) => {
            let mut slice = Arc::unwrap_or_clone(slice);
            default_slice(&mut slice, now);
            Ok(slice.into())
        }
        other => Ok(default_storage(other)),
    }
}

/// A request for devices is for one, unless it says otherwise.
fn default_claim(spec: &mut ResourceClaimSpec) {
    fn default_request(mode: &mut Str, count: &mut i64) {
        if mode.is_empty() {
            *mode = Str::from("ExactCount");
        }
        if mode.as_ref() == "ExactCount" && *count == 0 {
            *count = 1;
        }
    }
    for request in &mut spec.devices.requests {
        if let Some(exactly) = &mut request.exactly {
            default_request(&mut exactly.allocation_mode, &mut exactly.count);
        }
        for alternative in &mut request.first_available {
            default_request(&mut alternative.allocation_mode, &mut alternative.count);
        }
    }
}

fn default_slice(slice: &mut ResourceSlice, now: Time) {
    for device in &mut slice.spec.devices {
        for taint in &mut device.taints {
            taint.time_added.get_or_insert(now.truncate_to_second());
        }
        for mapping in device.node_allocatable_resource_mappings.values_mut() {
            mapping.allocation_multiplier.get_or_insert(Quantity::from_value(1));
        }
    }
}

/// The priority classes of a cluster, with the two that every cluster has.
#[derive(Clone, Copy, Debug)]
pub struct PriorityClasses<'a> {
    stored: &'a BTreeMap<NamespacedName, Arc<PriorityClass>>,
}

impl<'a> PriorityClasses<'a> {
    /// The classes of a store.
    pub const fn new(stored: &'a BTreeMap<NamespacedName, Arc<PriorityClass>>) -> Self {
        Self { stored }
    }

    /// Value and preemption policy of a class.
    fn find(&self, name: &str) -> Option<(i32, Option<String>)> {
        match name {
            "system-cluster-critical" => Some((2_000_000_000, None)),
            "system-node-critical" => Some((2_000_001_000, None)),
            _ => {
                let class = self.stored.get(&NamespacedName::cluster(name))?;
                Some((class.value, class.preemption_policy.clone()))
            }
        }
    }

    /// The class of pods that name none: of several defaults the one with the lowest value.
    fn default(&self) -> Option<&'a PriorityClass> {
        self.stored
            .values()
            .filter(|class| class.global_default)
            .min_by_key(|class| class.value)
            .map(AsRef::as_ref)
    }
}

fn admit_priority(pod: &mut Pod, classes: &PriorityClasses<'_>) -> Result<(), ApiError> {
    if pod.spec.priority.is_some() {
        return Ok(());
    }
    let name = &pod.spec.priority_class_name;
    let (value, policy) = if name.is_empty() {
        match classes.default() {
            Some(class) => {
                pod.spec.priority_class_name = class.metadata.name.to_string();
                (class.value, class.preemption_policy.clone())
            }
            None => (0, None),
        }
    } else {
        classes.find(name).ok_or_else(|| ApiError::Invalid {
            kind: "Pod",
            name: pod.metadata.name.clone(),
            field: "spec.priorityClassName".to_owned(),
            reason: format!("no PriorityClass with name {name} was found"),
        })?
    };
    pod.spec.priority = Some(value);
    if pod.spec.preemption_policy.is_none() {
        pod.spec.preemption_policy = policy;
    }
    Ok(())
}

/// No amount is negative. Other rules of validation are left to whoever wrote the pod.
fn check_amounts(pod: &Pod) -> Result<(), ApiError> {
    pod.spec.negative_amount().map_or(Ok(()), |(field, reason)| {
        let field = format!("spec.{field}");
        Err(ApiError::Invalid { kind: "Pod", name: pod.metadata.name.clone(), field, reason })
    })
}

fn default_namespace(namespace: &mut Namespace) {
    let name = namespace.metadata.name.clone();
    namespace.metadata.labels.insert(Str::from("kubernetes.io/metadata.name"), name);
}

fn default_node(node: &mut Node) {
    let status = &mut node.status;
    if status.allocatable.is_empty() {
        status.allocatable = status.capacity.clone();
    }
    round_up(&mut status.capacity);
    round_up(&mut status.allocatable);
}

pub(super) fn default_pod(pod: &mut Pod) {
    let spec = &mut pod.spec;
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        default_requests(&mut container.resources);
    }
    if let Some(mut resources) = spec.resources.take() {
        default_pod_limits(&mut resources, &spec.containers, &spec.init_containers);
        default_pod_requests(&mut resources, &spec.containers, &spec.init_containers);
        spec.resources = Some(resources);
    }
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        for port in &mut container.ports {
            if spec.host_network && port.host_port == 0 {
                port.host_port = port.container_port;
            }
            if port.protocol.is_empty() {
                port.protocol.push_str("TCP");
            }
        }
    }
    spec.termination_grace_period_seconds.get_or_insert(DEFAULT_GRACE_PERIOD);
    if spec.scheduler_name.is_empty() {
        spec.scheduler_name = Str::from(DEFAULT_SCHEDULER);
    }
    default_pod_disks(pod);
    round_up_pod(pod);
}

/// A limit without a request is a request too.
fn default_requests(resources: &mut ResourceRequirements) {
    for (name, limit) in &resources.limits {
        if !resources.requests.contains_key(name) {
            resources.requests.insert(name.clone(), *limit);
        }
    }
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_pages(name)
}

/// The pod as a whole is limited to the huge pages of its containers, if it has resources but says nothing of those.
fn default_pod_limits(resources: &mut ResourceRequirements, containers: &[Container], init: &[Container]) {
    if resources.limits.is_empty() && resources.requests.is_empty() {
        return;
    }
    for (name, limit) in aggregate(containers, init, |resources| &resources.limits) {
        if is_huge_pages(&name) && !resources.requests.contains_key(&name) {
            resources.limits.entry(name).or_insert(limit);
        }
    }
}

/// The pod as a whole, if it has limits, requests what its containers do, or else its limits.
fn default_pod_requests(resources: &mut ResourceRequirements, containers: &[Container], init: &[Container]) {
    if resources.limits.is_empty() {
        return;
    }
    for (name, request) in aggregate(containers, init, |resources| &resources.requests) {
        if is_pod_level(&name) && !is_huge_pages(&name) {
            resources.requests.entry(name).or_insert(request);
        }
    }
    for (name, limit) in &resources.limits {
        if is_pod_level(name) && !resources.requests.contains_key(name) {
            resources.requests.insert(name.clone(), *limit);
        }
    }
}

/// What all containers need together (`AggregateContainerRequests`, KEP-753): the sum of those that run side by
/// side, or what a single init container needs beside the sidecars started before it, whichever is more.
fn aggregate(
    containers: &[Container],
    init: &[Container],
    amounts: impl Fn(&ResourceRequirements) -> &ResourceList,
) -> ResourceList {
    let mut total = ResourceList::new();
    for container in containers {
        add(&mut total, amounts(&container.resources));
    }
    let mut sidecars = ResourceList::new();
    let mut most = ResourceList::new();
    for container in init {
        let mut at_start = amounts(&container.resources).clone();
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut total, &at_start);
            add(&mut sidecars, &at_start);
            at_start = sidecars.clone();
        } else {
            add(&mut at_start, &sidecars);
        }
        raise(&mut most, at_start);
    }
    raise(&mut total, most);
    total
}

fn add(list: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        list.entry(name.clone()).and_modify(|sum| *sum += *amount).or_insert(*amount);
    }
}

fn raise(list: &mut ResourceList, to: ResourceList) {
    for (name, amount) in to {
        let known = list.entry(name).or_insert(amount);
        // Of equal amounts the one that was there keeps its spelling.
        if amount > *known {
            *known = amount;
        }
    }
}

/// Brings amounts to the scale in which the API keeps them.
pub(super) fn round_up(list: &mut ResourceList) {
    for amount in list.values_mut() {
        *amount = Quantity::round_up(*amount, MILLI);
    }
}

fn round_up_requirements(resources: &mut ResourceRequirements) {
    round_up(&mut resources.requests);
    round_up(&mut resources.limits);
}

fn round_up_pod(pod: &mut Pod) {
    for container in pod.spec.containers.iter_mut().chain(&mut pod.spec.init_containers) {
        round_up_requirements(&mut container.resources);
    }
    round_up(&mut pod.spec.overhead);
    let statuses = pod.status.container_statuses.iter_mut().chain(&mut pod.status.init_container_statuses);
    for status in statuses {
        round_up(&mut status.allocated_resources);
        if let Some(resources) = &mut status.resources {
            round_up_requirements(resources);
        }
    }
    round_up(&mut pod.status.allocated_resources);
    for resources in [&mut pod.spec.resources, &mut pod.status.resources].into_iter().flatten() {
        round_up_requirements(resources);
    }
}

/// The status of a pod that came without one: a pod with a node is taken to run there.
fn default_status(pod: &mut Pod, now: Time) {
    if pod.status.phase.is_empty() {
        pod.status.phase = if pod.is_assigned() { "Running" } else { "Pending" }.to_owned();
    }
    if !pod.spec.scheduling_gates.is_empty() && pod.condition("PodScheduled").is_none() {
        pod.status.conditions.push(PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: "SchedulingGated".to_owned(),
            message: GATED_MESSAGE.to_owned(),
            last_transition_time: Some(now),
            ..PodCondition::default()
        });
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::api::ObjectStore;
    use crate::api::manifest::{Source, load};

    fn objects(text: &str) -> Vec<Object> {
        load(&[Source { name: "test".to_owned(), text: text.to_owned() }]).unwrap().objects
    }

    /// Admits the pod that comes last, among the others.
    fn admit_last(text: &str) -> Result<Pod, ApiError> {
        let mut store = ObjectStore::default();
        let mut all = objects(text);
        let last = all.pop().unwrap();
        for object in all {
            store.insert(object);
        }
        match admit(last, &PriorityClasses::new(&store.priority_classes), Time::ZERO)? {
            Object::Pod(pod) => Ok(Pod::clone(&pod)),
            other => unreachable!("{other:?}"),
        }
    }

    fn pod(spec: &str) -> Pod {
        admit_last(&format!("kind: Pod\napiVersion: v1\nmetadata: {{name: web}}\nspec: {spec}\n")).unwrap()
    }

    fn amounts(list: &ResourceList) -> Vec<String> {
        list.iter().map(|(name, amount)| format!("{name}={amount}")).collect()
    }

    #[test]
    fn a_limit_without_a_request_is_a_request_too() {
        let found = pod(
            "{containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 100m}}}], initContainers: [{name: i, resources: {limits: {cpu: 2}}}]}",
        );
        assert_eq!(amounts(&found.spec.containers[0].resources.requests), ["cpu=100m", "memory=1Gi"]);
        assert_eq!(amounts(&found.spec.init_containers[0].resources.requests), ["cpu=2"]);
    }

    #[test]
    fn amounts_are_kept_in_thousandths_rounded_up() {
        let found = pod(
            "{overhead: {cpu: 1u}, containers: [{name: c, resources: {requests: {cpu: 250001u, memory: 1.1Ki}}}]}",
        );
        assert_eq!(amounts(&found.spec.containers[0].resources.requests), ["cpu=251m", "memory=1126400m"]);
        assert_eq!(amounts(&found.spec.overhead), ["cpu=1m"]);
    }

    #[test]
    fn ports_get_a_protocol_and_on_the_host_network_a_host_port() {
        let found = pod(
            "{hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}, {containerPort: 53, hostPort: 54, protocol: UDP}]}]}",
        );
        let ports: Vec<_> = found.spec.containers[0]
            .ports
            .iter()
            .map(|port| (port.host_port, port.protocol.as_str()))
            .collect();
        assert_eq!(ports, [(80, "TCP"), (54, "UDP")]);
    }

    #[test]
    fn a_pod_without_wishes_gets_the_usual_ones() {
        let found = pod("{containers: [{name: c}]}");
        assert_eq!(&*found.spec.scheduler_name, "default-scheduler");
        assert_eq!(found.spec.termination_grace_period_seconds, Some(30));
        assert_eq!((found.spec.priority, found.status.phase.as_str()), (Some(0), "Pending"));
        assert_eq!(pod("{nodeName: n1}").status.phase, "Running");
    }

    #[test]
    fn a_gated_pod_says_so_in_its_condition() {
        let found = pod("{schedulingGates: [{name: example.com/quota}]}");
        let condition = found.condition("PodScheduled").unwrap();
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "SchedulingGated"));
    }

    /// KEP-2837: requests of the pod as a whole come from its containers, or else from its limits.
    #[test]
    fn pod_level_requests_come_from_the_containers_or_the_limits() {
        let found = pod(
            "{resources: {limits: {cpu: 4, memory: 4Gi, hugepages-2Mi: 8Mi}}, containers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b, resources: {requests: {cpu: 500m, example.com/gpu: 1}}}], initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 250m}}}, {name: i, resources: {requests: {cpu: 2}}}]}",
        );
        let resources = found.spec.resources.unwrap();
        assert_eq!(amounts(&resources.requests), ["cpu=2250m", "hugepages-2Mi=8Mi", "memory=4Gi"]);
        let none = pod("{resources: {}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}");
        assert!(none.spec.resources.unwrap().requests.is_empty());
        let requests_only = pod(
            "{resources: {requests: {cpu: 3}}, containers: [{name: a, resources: {limits: {hugepages-2Mi: 4Mi, cpu: 1}}}]}",
        );
        let resources = requests_only.spec.resources.unwrap();
        assert_eq!(
            (amounts(&resources.requests), amounts(&resources.limits)),
            (vec!["cpu=3".to_owned(), "hugepages-2Mi=4Mi".to_owned()], vec!["hugepages-2Mi=4Mi".to_owned()])
        );
    }

    const CLASSES: &str = "kind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: gold}\nvalue: 1000\npreemptionPolicy: Never\n---\nkind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: usual}\nvalue: 10\nglobalDefault: true\n---\nkind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: late}\nvalue: 5\nglobalDefault: true\n---\n";

    #[test]
    fn priority_and_preemption_policy_come_from_the_class() {
        let with = |spec: &str| {
            admit_last(&format!(
                "{CLASSES}kind: Pod\napiVersion: v1\nmetadata: {{name: web}}\nspec: {spec}\n"
            ))
        };
        let found = with("{priorityClassName: gold}").unwrap().spec;
        assert_eq!((found.priority, found.preemption_policy.as_deref()), (Some(1000), Some("Never")));
        let found = with("{}").unwrap().spec;
        assert_eq!((found.priority, found.priority_class_name.as_str()), (Some(5), "late"));
        let found = with("{priorityClassName: system-node-critical}").unwrap().spec;
        assert_eq!(found.priority, Some(2_000_001_000));
        let found = with("{priorityClassName: system-cluster-critical}").unwrap().spec;
        assert_eq!(found.priority, Some(2_000_000_000));
        let found = with("{priorityClassName: lost, priority: 7}").unwrap().spec;
        assert_eq!(found.priority, Some(7));
        assert_eq!(
            with("{priorityClassName: lost}").unwrap_err().to_string(),
            "Pod \"web\" is invalid: spec.priorityClassName: no PriorityClass with name lost was found"
        );
    }

    #[test]
    fn a_node_can_give_what_it_has_unless_it_says_less() {
        let all = objects(
            "kind: Node\napiVersion: v1\nmetadata: {name: a}\nstatus: {capacity: {cpu: 4000001u}}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: b}\nstatus: {capacity: {cpu: 4}, allocatable: {cpu: 3}}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n",
        );
        let store = ObjectStore::default();
        let admitted: Vec<Object> = all
            .into_iter()
            .map(|object| admit(object, &PriorityClasses::new(&store.priority_classes), Time::ZERO).unwrap())
            .collect();
        let [Object::Node(a), Object::Node(b), Object::Namespace(shop)] = admitted.as_slice() else {
            unreachable!("three objects")
        };
        assert_eq!(amounts(&a.status.allocatable), ["cpu=4001m"]);
        assert_eq!(amounts(&b.status.allocatable), ["cpu=3"]);
        assert_eq!(shop.metadata.labels.get("kubernetes.io/metadata.name").map(|name| &**name), Some("shop"));
    }
}
