//! What a pod asks for: containers, init containers and sidecars, overhead, pod-level resources, resize in place.
//!
//! Follows `k8s.io/component-helpers/resource` (`PodRequests`), `PodInfo.CalculateResource`, and the KEPs 753
//! (sidecars), 1287 (resize in place) and 2837 (pod-level resources). Limits are not computed: no scheduling
//! decision depends on them.

use crate::api::objects::{Container, ContainerStatus, Pod, ResourceList};
use crate::api::{Quantity, Str};
use crate::config::{FeatureGates, Gate};

use super::resource::{DEFAULT_MEMORY_REQUEST, DEFAULT_MILLI_CPU_REQUEST, Resource, names};

/// Which parts of a pod count as its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// What the kubelet has set aside and put in force counts where it is more than the spec (KEP-1287).
    pub use_status: bool,
    /// Requests of the pod as a whole take the place of the sum over its containers (KEP-2837).
    pub pod_level: bool,
    /// With `use_status`: the same for the pod's own requests.
    pub pod_level_status: bool,
    /// What the pod's devices take from the node's own resources counts, as its status has it (KEP-5517).
    pub device_claims: bool,
}

impl RequestOptions {
    /// How a pod counts on its node under these gates.
    pub const fn from_gates(gates: &FeatureGates) -> Self {
        Self {
            use_status: true,
            pod_level: gates.is_enabled(Gate::PodLevelResources),
            pod_level_status: gates.is_enabled(Gate::InPlacePodLevelResourcesVerticalScaling),
            device_claims: gates.is_enabled(Gate::DRANodeAllocatableResources),
        }
    }

    /// The same, by the spec alone: how a pod counts that is not on a node yet.
    #[must_use]
    pub const fn of_spec(self) -> Self {
        Self { use_status: false, pod_level_status: false, device_claims: false, ..self }
    }
}

impl Default for RequestOptions {
    /// How a pod counts on its node under the default gates.
    fn default() -> Self {
        Self::from_gates(&FeatureGates::default())
    }
}

/// What a pod asks for, as NodeInfo counts it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PodResources {
    /// The requests.
    pub requests: Resource,
    /// CPU with the default for containers that request none, in thousandths of a core.
    pub non_zero_milli_cpu: i64,
    /// Memory with the default for containers that request none, in bytes.
    pub non_zero_memory: i64,
}

impl PodResources {
    /// Computes them under the default gates.
    pub fn of(pod: &Pod) -> Self {
        Self::with_options(pod, RequestOptions::default())
    }

    /// Computes them.
    pub fn with_options(pod: &Pod, options: RequestOptions) -> Self {
        let requests = pod_requests(pod, options, None);
        let mut defaults = non_zero_defaults();
        if options.pod_level && has_pod_level_requests(pod) {
            // The API server has carried what the containers ask for over to the pod, so only what nobody asks
            // for needs a default.
            defaults.retain(|name, _| !requests.contains_key(name));
        }
        let non_zero = (!defaults.is_empty()).then(|| pod_requests(pod, options, Some(&defaults)));
        let non_zero = non_zero.as_ref().unwrap_or(&requests);
        Self {
            non_zero_milli_cpu: non_zero.get(names::CPU).map_or(0, |quantity| quantity.milli_value()),
            non_zero_memory: non_zero.get(names::MEMORY).map_or(0, |quantity| quantity.value()),
            requests: Resource::from_list(&requests),
        }
    }
}

/// What scoring assumes of a container that requests no CPU or no memory.
pub fn non_zero_defaults() -> ResourceList {
    ResourceList::from([
        (Str::from(names::CPU), Quantity::from_milli(DEFAULT_MILLI_CPU_REQUEST)),
        (Str::from(names::MEMORY), Quantity::from_value(DEFAULT_MEMORY_REQUEST)),
    ])
}

/// The requests of a pod (`PodRequests`). `defaults` are the requests of containers that have none for that
/// resource; a request of 0 is one.
pub fn pod_requests(pod: &Pod, options: RequestOptions, defaults: Option<&ResourceList>) -> ResourceList {
    let mut total = container_requests(pod, options, defaults);
    let pod_level = pod.spec.resources.as_ref().filter(|_| options.pod_level && has_pod_level_requests(pod));
    if let Some(resources) = pod_level {
        let in_force =
            pod.status.resources.as_ref().filter(|_| options.use_status && options.pod_level_status);
        let effective = in_force.map(|in_force| {
            effective_requests(pod, &resources.requests, &in_force.requests, &pod.status.allocated_resources)
        });
        for (name, quantity) in &resources.requests {
            if is_supported_pod_level_resource(name) {
                let quantity = match &effective {
                    Some(effective) => effective.get(name).copied().unwrap_or(Quantity::ZERO),
                    None => *quantity,
                };
                total.insert(name.clone(), quantity);
            }
        }
    }
    // DIVERGES: kube-scheduler adds the overhead to pod-level requests such as 1.5Gi once more at each look. Its
    // `Quantity` keeps these as big decimals, which copies share, so that adding to a copy changes the pod itself.
    add(&mut total, &pod.spec.overhead);
    total
}

/// The requests of all containers (`AggregateContainerRequests`): those that run beside each other add up; an
/// init container needs its own request and that of the sidecars that were started before it.
fn container_requests(pod: &Pod, options: RequestOptions, defaults: Option<&ResourceList>) -> ResourceList {
    let request_of = |container: &Container, may_resize: bool| {
        let status = if may_resize { status_of(pod, &container.name) } else { None };
        let in_force = status.and_then(|status| Some((status, status.resources.as_ref()?)));
        let spec = &container.resources.requests;
        let mut request = match in_force {
            Some((status, resources)) => {
                effective_requests(pod, spec, &resources.requests, &status.allocated_resources)
            }
            None => spec.clone(),
        };
        for (name, quantity) in defaults.into_iter().flatten() {
            request.entry(name.clone()).or_insert(*quantity);
        }
        request
    };
    let mut total = ResourceList::new();
    for container in &pod.spec.containers {
        add(&mut total, &request_of(container, options.use_status));
    }
    let mut sidecars = ResourceList::new();
    let mut init_peak = ResourceList::new();
    for container in &pod.spec.init_containers {
        let is_sidecar = container.restart_policy.as_deref() == Some("Always");
        let request = request_of(container, options.use_status && is_sidecar);
        if is_sidecar {
            add(&mut total, &request);
            add(&mut sidecars, &request);
            raise(&mut init_peak, &sidecars);
        } else {
            let mut beside_sidecars = request;
            add(&mut beside_sidecars, &sidecars);
            raise(&mut init_peak, &beside_sidecars);
        }
    }
    raise(&mut total, &init_peak);
    if options.device_claims {
        for status in &pod.status.node_allocatable_resource_claim_statuses {
            add(&mut total, &status.resources);
        }
    }
    total
}

/// The container's status; of two with one name the later counts, and init containers come later.
fn status_of<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let statuses = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    statuses.rev().find(|status| status.name.as_ref() == name)
}

/// The most of what is asked for, in force and set aside; what is asked for does not count once the kubelet has
/// found that it can never be had.
fn effective_requests(
    pod: &Pod,
    spec: &ResourceList,
    actuated: &ResourceList,
    allocated: &ResourceList,
) -> ResourceList {
    let mut most = actuated.clone();
    raise(&mut most, allocated);
    if !is_resize_infeasible(pod) {
        raise(&mut most, spec);
    }
    most
}

fn is_resize_infeasible(pod: &Pod) -> bool {
    pod.condition("PodResizePending").is_some_and(|condition| condition.reason == "Infeasible")
}

/// Whether the pod as a whole requests a resource for which it may (`IsPodLevelRequestsSet`).
pub fn has_pod_level_requests(pod: &Pod) -> bool {
    let requests = pod.spec.resources.as_ref().map(|resources| &resources.requests);
    requests.is_some_and(|requests| requests.keys().any(|name| is_supported_pod_level_resource(name)))
}

fn is_supported_pod_level_resource(name: &str) -> bool {
    matches!(name, names::CPU | names::MEMORY) || name.starts_with(names::HUGEPAGES_PREFIX)
}

fn add(list: &mut ResourceList, other: &ResourceList) {
    for (name, quantity) in other {
        *list.entry(name.clone()).or_insert(Quantity::ZERO) += *quantity;
    }
}

/// Raises each amount to that of `other`.
fn raise(list: &mut ResourceList, other: &ResourceList) {
    for (name, quantity) in other {
        let most = list.entry(name.clone()).or_insert(*quantity);
        *most = (*most).max(*quantity);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::objects::{PodCondition, ResourceRequirements};

    fn list(pairs: &[(&str, &str)]) -> ResourceList {
        pairs.iter().map(|(name, text)| (Str::from(*name), text.parse().unwrap())).collect()
    }

    fn requirements(pairs: &[(&str, &str)]) -> ResourceRequirements {
        ResourceRequirements { requests: list(pairs), ..ResourceRequirements::default() }
    }

    fn container(name: &str, requests: &[(&str, &str)]) -> Container {
        Container { name: Str::from(name), resources: requirements(requests), ..Container::default() }
    }

    fn sidecar(name: &str, requests: &[(&str, &str)]) -> Container {
        Container { restart_policy: Some("Always".into()), ..container(name, requests) }
    }

    fn pod(containers: Vec<Container>, init_containers: Vec<Container>) -> Pod {
        let mut pod = Pod::default();
        pod.spec.containers = containers;
        pod.spec.init_containers = init_containers;
        pod
    }

    fn status(name: &str, allocated: &[(&str, &str)], actuated: &[(&str, &str)]) -> ContainerStatus {
        ContainerStatus {
            name: Str::from(name),
            allocated_resources: list(allocated),
            resources: Some(requirements(actuated)),
        }
    }

    #[test]
    fn containers_add_up_and_the_largest_init_container_is_the_least() {
        let pod = pod(
            vec![
                container("a", &[("cpu", "2"), ("memory", "1G")]),
                container("b", &[("cpu", "1"), ("memory", "1G")]),
            ],
            vec![
                container("i", &[("cpu", "2"), ("memory", "1G")]),
                container("j", &[("cpu", "2"), ("memory", "3G")]),
            ],
        );
        let requests = PodResources::of(&pod).requests;
        assert_eq!((requests.milli_cpu, requests.memory), (3000, 3_000_000_000));
    }

    #[test]
    fn an_init_container_runs_beside_the_sidecars_before_it() {
        // Upstream's own table: the order of init containers and sidecars decides.
        let cpu = |init_containers| {
            PodResources::of(&pod(vec![container("c", &[("cpu", "1")])], init_containers)).requests.milli_cpu
        };
        let big_init = || container("init", &[("cpu", "4")]);
        let helper = || sidecar("side", &[("cpu", "2")]);
        assert_eq!(cpu(vec![big_init(), helper()]), 4000);
        assert_eq!(cpu(vec![helper(), big_init()]), 6000);
        assert_eq!(cpu(vec![helper(), helper(), container("init", &[("cpu", "1")])]), 5000);
    }

    #[test]
    fn overhead_is_added_at_the_end() {
        let mut pod = pod(vec![container("c", &[("cpu", "1")])], vec![container("i", &[("cpu", "2")])]);
        pod.spec.overhead = list(&[("cpu", "250m"), ("memory", "64Mi")]);
        let requests = PodResources::of(&pod).requests;
        assert_eq!((requests.milli_cpu, requests.memory), (2250, 64 << 20));
    }

    #[test]
    fn defaults_stand_in_for_absent_requests_and_not_for_zero_ones() {
        let resources = PodResources::of(&pod(
            vec![container("none", &[]), container("zero", &[("cpu", "0"), ("memory", "0")])],
            vec![],
        ));
        assert_eq!(resources.requests, Resource::default());
        assert_eq!((resources.non_zero_milli_cpu, resources.non_zero_memory), (100, 200 << 20));
    }

    #[test]
    fn parts_of_a_unit_are_added_before_they_are_rounded_up() {
        let half = || container("c", &[("cpu", "500u"), ("memory", "0.5")]);
        let requests = PodResources::of(&pod(vec![half(), half()], vec![])).requests;
        assert_eq!((requests.milli_cpu, requests.memory), (1, 1));
    }

    #[test]
    fn pod_level_requests_take_the_place_of_the_sum() {
        let mut pod = pod(vec![container("c", &[("cpu", "1"), ("example.com/gpu", "1")])], vec![]);
        pod.spec.resources = Some(requirements(&[("cpu", "3"), ("example.com/gpu", "9")]));
        let resources = PodResources::of(&pod);
        assert_eq!(resources.requests.milli_cpu, 3000);
        // Only cpu, memory and huge pages can be requested for the pod as a whole.
        assert_eq!(resources.requests.scalar_resources.get("example.com/gpu"), Some(&1));
        // Nobody requests memory, so every container gets the default.
        assert_eq!((resources.non_zero_milli_cpu, resources.non_zero_memory), (3000, 200 << 20));

        let options = RequestOptions { pod_level: false, ..RequestOptions::default() };
        assert_eq!(PodResources::with_options(&pod, options).requests.milli_cpu, 1000);
    }

    #[test]
    fn during_a_resize_the_most_of_spec_allocated_and_actual_counts() {
        let mut pod = pod(vec![container("c", &[("cpu", "1"), ("memory", "1Gi")])], vec![]);
        pod.status.container_statuses =
            vec![status("c", &[("cpu", "2"), ("memory", "1Gi")], &[("cpu", "3"), ("memory", "512Mi")])];
        let cpu = |pod: &Pod, options| PodResources::with_options(pod, options).requests.milli_cpu;
        assert_eq!(cpu(&pod, RequestOptions::default()), 3000);
        assert_eq!(cpu(&pod, RequestOptions::default().of_spec()), 1000);

        pod.spec.containers = vec![container("c", &[("cpu", "8")])];
        assert_eq!(cpu(&pod, RequestOptions::default()), 8000);
        pod.status.conditions = vec![PodCondition {
            type_: "PodResizePending".into(),
            status: "True".into(),
            reason: "Infeasible".into(),
            ..PodCondition::default()
        }];
        assert_eq!(cpu(&pod, RequestOptions::default()), 3000);
    }

    #[test]
    fn an_init_container_is_never_resized_but_a_sidecar_is() {
        let mut pod = pod(vec![container("c", &[])], vec![container("i", &[("cpu", "1")])]);
        pod.status.init_container_statuses = vec![status("i", &[], &[("cpu", "4")])];
        assert_eq!(PodResources::of(&pod).requests.milli_cpu, 1000);
        pod.spec.init_containers = vec![sidecar("i", &[("cpu", "1")])];
        assert_eq!(PodResources::of(&pod).requests.milli_cpu, 4000);
    }

    #[test]
    fn a_resize_of_the_pod_as_a_whole_needs_its_gate() {
        let mut pod = pod(vec![container("c", &[])], vec![]);
        pod.spec.resources = Some(requirements(&[("cpu", "1"), ("memory", "1Gi")]));
        pod.status.resources = Some(requirements(&[("cpu", "2")]));
        pod.status.allocated_resources = list(&[("cpu", "1")]);
        let cpu = |options| PodResources::with_options(&pod, options).requests.milli_cpu;
        assert_eq!(cpu(RequestOptions::default()), 2000);
        assert_eq!(cpu(RequestOptions { pod_level_status: false, ..RequestOptions::default() }), 1000);
    }
}
