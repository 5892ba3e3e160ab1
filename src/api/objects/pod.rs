//! Pods.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::meta::{Condition, LabelSelector, Labels, ObjectMeta, is_zero, nullable_str, str_is_empty};
use super::nullable;
use crate::api::{NamespacedName, Quantity, Str, Time, Uid};

/// Amounts by resource name, in the order of the names.
pub type ResourceList = BTreeMap<Str, Quantity>;

/// A pod.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Pod {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: PodStatus,
}

impl Pod {
    /// Namespace and name.
    pub fn key(&self) -> NamespacedName {
        self.metadata.key()
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &Uid {
        &self.metadata.uid
    }

    /// `spec.priority`, 0 where it is absent (`corev1helpers.PodPriority`).
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or(0)
    }

    /// Whether it is bound to a node.
    pub fn is_assigned(&self) -> bool {
        !self.spec.node_name.is_empty()
    }

    /// The names of the claims that its volumes refer to, one for each such volume. The claims of ephemeral volumes,
    /// which are made for the pod, are not among them.
    pub fn claim_names(&self) -> impl Iterator<Item = &str> {
        let claims = self.spec.volumes.iter().filter_map(|volume| volume.get("persistentVolumeClaim"));
        claims
            .filter(|claim| !claim.is_null())
            .map(|claim| claim.get("claimName").and_then(serde_json::Value::as_str).unwrap_or_default())
    }

    /// Whether it has ended: such a pod does not exist for the scheduler.
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether its deletion has begun.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether the scheduler evicts it, or has: its `DisruptionTarget` condition says so.
    pub fn is_preempted(&self) -> bool {
        self.condition("DisruptionTarget").is_some_and(|condition| {
            condition.status == "True" && condition.reason == "PreemptionByScheduler"
        })
    }

    /// The name of its group, if it has one.
    pub fn pod_group_name(&self) -> Option<&Str> {
        self.spec.scheduling_group.as_ref().map(|group| &group.pod_group_name)
    }

    /// The condition of that type, if the status has it.
    pub fn condition(&self, type_: &str) -> Option<&PodCondition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }
}

/// `spec` of a pod.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodSpec {
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub node_name: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub scheduler_name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub priority_class_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption_policy: Option<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: Labels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    #[serde(default, deserialize_with = "nullable")]
    pub containers: Vec<Container>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// What the runtime itself needs (from the RuntimeClass).
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub overhead: ResourceList,
    /// Resources of the pod as a whole (KEP-2837).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub scheduling_gates: Vec<PodSchedulingGate>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// False puts the pod into a user namespace of its own (KEP-127).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_users: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Absent for `Always`, which almost all pods have: only kubelets read it.
    #[serde(default, deserialize_with = "not_always", skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    /// The claims for devices that its containers may use (KEP-4381).
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// The group that it is scheduled with (KEP-4671).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling_group: Option<PodSchedulingGroup>,
    /// Volumes, kept as they came: the volume plugins read them, ImageLocality reads image volumes.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<IndexMap<String, serde_json::Value>>,
}

impl PodSpec {
    /// `spec.restartPolicy`.
    pub fn restart_policy(&self) -> &str {
        self.restart_policy.as_deref().unwrap_or("Always")
    }

    /// The first amount of a resource that is negative: its field, from the spec on, and what an API server says of it.
    pub fn negative_amount(&self) -> Option<(String, String)> {
        let in_list = |place: &str, list: &ResourceList| {
            let (name, amount) = list.iter().find(|(_, amount)| amount.signum() < 0)?;
            let reason = format!("Invalid value: \"{amount}\": must be greater than or equal to 0");
            Some((format!("{place}[{name}]"), reason))
        };
        let in_both = |place: &str, resources: &ResourceRequirements| {
            in_list(&format!("{place}resources.limits"), &resources.limits)
                .or_else(|| in_list(&format!("{place}resources.requests"), &resources.requests))
        };
        let in_containers = |field: &str, containers: &[Container]| {
            let mut places = containers.iter().enumerate();
            places.find_map(|(n, container)| in_both(&format!("{field}[{n}]."), &container.resources))
        };
        in_containers("containers", &self.containers)
            .or_else(|| in_containers("initContainers", &self.init_containers))
            .or_else(|| self.resources.as_ref().and_then(|resources| in_both("", resources)))
            .or_else(|| in_list("overhead", &self.overhead))
    }
}

fn not_always<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let policy = Option::<String>::deserialize(deserializer)?;
    Ok(policy.filter(|policy| !policy.is_empty() && policy != "Always"))
}

/// `status` of a pod.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodStatus {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub phase: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PodCondition>,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub nominated_node_name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub container_statuses: Vec<ContainerStatus>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Resources that the kubelet has set aside for the pod as a whole.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated_resources: ResourceList,
    /// Resources of the pod as a whole that are in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// The claims that were generated from templates.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub resource_claim_statuses: Vec<PodResourceClaimStatus>,
    /// The claim that stands for the extended resources of the pod (KEP-5004).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_resource_claim_status: Option<PodExtendedResourceClaimStatus>,
    /// What the pod's devices take from the node's own resources (KEP-5517).
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub node_allocatable_resource_claim_statuses: Vec<NodeAllocatableResourceClaimStatus>,
}

/// A condition of a pod.
pub type PodCondition = Condition;

/// A container, as far as scheduling depends on it.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Container {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub image: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "ResourceRequirements::is_empty")]
    pub resources: ResourceRequirements,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// `Always` on an init container makes it a sidecar (KEP-753).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
}

/// What happens when a container exits in a certain way (KEP-5307).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContainerRestartRule {
    /// `Restart` or `RestartAllContainers`.
    #[serde(default, deserialize_with = "nullable")]
    pub action: String,
}

/// Requests and limits.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceRequirements {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: ResourceList,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: ResourceList,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ContainerResourceClaim>,
}

impl ResourceRequirements {
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.limits.is_empty() && self.claims.is_empty()
    }
}

/// A claim of the pod that a container uses; only one request of it if that is named.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ContainerResourceClaim {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub request: Str,
}

/// A port of a container.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ContainerPort {
    #[serde(default, deserialize_with = "nullable")]
    pub container_port: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub host_port: i32,
    #[serde(
        rename = "hostIP",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub host_ip: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub protocol: String,
}

/// Status of a container: the scheduler reads the resources that an in-place resize has reached.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ContainerStatus {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated_resources: ResourceList,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
}

/// A gate that holds a pod in PreEnqueue.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PodSchedulingGate {
    /// The gate's name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
}

/// The group of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodSchedulingGroup {
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub pod_group_name: Str,
}

/// A claim for devices, by its name or by the template that it is made from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodResourceClaim {
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_template_name: Option<String>,
}

/// The claim that was made from a template; without a name none was needed.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodResourceClaimStatus {
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_name: Option<String>,
}

/// The claim for a pod's extended resources, and which of its requests serves which container.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodExtendedResourceClaimStatus {
    #[serde(default, deserialize_with = "nullable")]
    pub request_mappings: Vec<ContainerExtendedResourceRequest>,
    #[serde(default, deserialize_with = "nullable_str")]
    pub resource_claim_name: Str,
}

/// The request that serves an extended resource of a container.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ContainerExtendedResourceRequest {
    #[serde(default, deserialize_with = "nullable_str")]
    pub container_name: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub resource_name: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub request_name: Str,
}

/// What the devices of a claim take from the node's own resources.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeAllocatableResourceClaimStatus {
    #[serde(default, deserialize_with = "nullable_str")]
    pub resource_claim_name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Str>,
    #[serde(default, deserialize_with = "nullable")]
    pub resources: ResourceList,
}

/// A toleration. An empty operator means `Equal`; an empty effect tolerates all effects.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Toleration {
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub key: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub value: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub effect: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// Affinity of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Affinity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_affinity: Option<PodAffinity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// Which nodes a pod requires and prefers.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeAffinity {
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub preferred: Vec<PreferredSchedulingTerm>,
}

/// Any of the terms must match.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeSelector {
    #[serde(default, deserialize_with = "nullable")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// All expressions and fields must match; a term with neither matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeSelectorTerm {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// One requirement; `operator` is `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeSelectorRequirement {
    #[serde(default, deserialize_with = "nullable")]
    pub key: String,
    #[serde(default, deserialize_with = "nullable")]
    pub operator: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A preferred term with its weight, 1 to 100.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PreferredSchedulingTerm {
    #[serde(default, deserialize_with = "nullable")]
    pub weight: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub preference: NodeSelectorTerm,
}

/// Which pods a pod requires and prefers beside it, or away from it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodAffinity {
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub required: Vec<PodAffinityTerm>,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

/// A term of pod affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodAffinityTerm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    #[serde(default, deserialize_with = "nullable")]
    pub topology_key: String,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub mismatch_label_keys: Vec<String>,
}

/// A preferred term with its weight, 1 to 100.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct WeightedPodAffinityTerm {
    #[serde(default, deserialize_with = "nullable")]
    pub weight: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub pod_affinity_term: PodAffinityTerm,
}

/// How evenly matching pods are spread over a topology.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct TopologySpreadConstraint {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero_i32")]
    pub max_skew: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub topology_key: String,
    #[serde(default, deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<String>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_i32(value: &i32) -> bool {
    is_zero(&i64::from(*value))
}
