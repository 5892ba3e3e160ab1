//! The resources that the sandbox keeps objects of, as discovery lists them.
//!
//! Names, groups and versions are those of kube-apiserver v1.36 with its default versions. Resources whose objects the
//! scheduler reads name the [`Kind`] of the slim object; of the others there are documents only.

use crate::api::Kind;

/// A resource: what stands in a URL, and the kind behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// What else kubectl understands.
    pub short_names: &'static [&'static str],
    /// Whether objects are in a namespace.
    pub is_namespaced: bool,
    /// Whether it is among those that `kubectl get all` shows.
    pub is_in_all: bool,
    /// Whether the status is written apart from the rest.
    pub has_status: bool,
    /// Whether it has a `scale`.
    pub has_scale: bool,
    /// The slim object that the scheduler reads, if it reads any.
    pub slim: Option<Kind>,
}

/// A resource's place in [`RESOURCES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(usize);

const fn resource(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Resource {
    Resource {
        group,
        version,
        kind,
        plural,
        short_names: &[],
        is_namespaced: true,
        is_in_all: false,
        has_status: false,
        has_scale: false,
        slim: None,
    }
}

const fn core(kind: &'static str, plural: &'static str) -> Resource {
    resource("", "v1", kind, plural)
}

impl Resource {
    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn of_cluster(mut self) -> Self {
        self.is_namespaced = false;
        self
    }

    const fn status(mut self) -> Self {
        self.has_status = true;
        self
    }

    const fn scale(mut self) -> Self {
        self.has_scale = true;
        self
    }

    const fn in_all(mut self) -> Self {
        self.is_in_all = true;
        self
    }

    const fn slim(mut self, kind: Kind) -> Self {
        self.slim = Some(kind);
        self
    }
}

const APPS: &str = "apps";
const STORAGE: &str = "storage.k8s.io";
const DEVICES: &str = "resource.k8s.io";
const SCHEDULING: &str = "scheduling.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

/// Every resource, group by group.
pub const RESOURCES: &[Resource] = &[
    core("Namespace", "namespaces").short(&["ns"]).of_cluster().status().slim(Kind::Namespace),
    core("Node", "nodes").short(&["no"]).of_cluster().status().slim(Kind::Node),
    core("Pod", "pods").short(&["po"]).status().in_all().slim(Kind::Pod),
    core("Service", "services").short(&["svc"]).status().in_all().slim(Kind::Service),
    core("ReplicationController", "replicationcontrollers")
        .short(&["rc"])
        .status()
        .scale()
        .in_all()
        .slim(Kind::ReplicationController),
    core("PersistentVolume", "persistentvolumes")
        .short(&["pv"])
        .of_cluster()
        .status()
        .slim(Kind::PersistentVolume),
    core("PersistentVolumeClaim", "persistentvolumeclaims")
        .short(&["pvc"])
        .status()
        .slim(Kind::PersistentVolumeClaim),
    core("ConfigMap", "configmaps").short(&["cm"]),
    core("Secret", "secrets"),
    core("ServiceAccount", "serviceaccounts").short(&["sa"]),
    core("Endpoints", "endpoints").short(&["ep"]),
    core("ResourceQuota", "resourcequotas").short(&["quota"]).status(),
    core("LimitRange", "limitranges").short(&["limits"]),
    core("PodTemplate", "podtemplates"),
    core("Event", "events").short(&["ev"]),
    resource(APPS, "v1", "Deployment", "deployments").short(&["deploy"]).status().scale().in_all(),
    resource(APPS, "v1", "ReplicaSet", "replicasets")
        .short(&["rs"])
        .status()
        .scale()
        .in_all()
        .slim(Kind::ReplicaSet),
    resource(APPS, "v1", "StatefulSet", "statefulsets")
        .short(&["sts"])
        .status()
        .scale()
        .in_all()
        .slim(Kind::StatefulSet),
    resource(APPS, "v1", "DaemonSet", "daemonsets").short(&["ds"]).status().in_all(),
    resource(APPS, "v1", "ControllerRevision", "controllerrevisions"),
    resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
        .short(&["hpa"])
        .status()
        .in_all(),
    resource("batch", "v1", "Job", "jobs").status().in_all(),
    resource("batch", "v1", "CronJob", "cronjobs").short(&["cj"]).status().in_all(),
    resource("coordination.k8s.io", "v1", "Lease", "leases"),
    resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    resource("events.k8s.io", "v1", "Event", "events").short(&["ev"]),
    resource(NETWORKING, "v1", "Ingress", "ingresses").short(&["ing"]).status(),
    resource(NETWORKING, "v1", "IngressClass", "ingressclasses").of_cluster(),
    resource(NETWORKING, "v1", "NetworkPolicy", "networkpolicies").short(&["netpol"]),
    resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses").of_cluster(),
    resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
        .short(&["pdb"])
        .status()
        .slim(Kind::PodDisruptionBudget),
    resource(RBAC, "v1", "ClusterRole", "clusterroles").of_cluster(),
    resource(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings").of_cluster(),
    resource(RBAC, "v1", "Role", "roles"),
    resource(RBAC, "v1", "RoleBinding", "rolebindings"),
    resource(DEVICES, "v1", "DeviceClass", "deviceclasses").of_cluster().slim(Kind::DeviceClass),
    resource(DEVICES, "v1", "ResourceClaim", "resourceclaims").status().slim(Kind::ResourceClaim),
    resource(DEVICES, "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
        .slim(Kind::ResourceClaimTemplate),
    resource(DEVICES, "v1", "ResourceSlice", "resourceslices").of_cluster().slim(Kind::ResourceSlice),
    resource(SCHEDULING, "v1", "PriorityClass", "priorityclasses")
        .short(&["pc"])
        .of_cluster()
        .slim(Kind::PriorityClass),
    resource(SCHEDULING, "v1alpha2", "PodGroup", "podgroups").status().slim(Kind::PodGroup),
    resource(STORAGE, "v1", "StorageClass", "storageclasses")
        .short(&["sc"])
        .of_cluster()
        .slim(Kind::StorageClass),
    resource(STORAGE, "v1", "CSIDriver", "csidrivers").of_cluster().slim(Kind::CSIDriver),
    resource(STORAGE, "v1", "CSINode", "csinodes").of_cluster().slim(Kind::CSINode),
    resource(STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities").slim(Kind::CSIStorageCapacity),
    resource(STORAGE, "v1", "VolumeAttachment", "volumeattachments")
        .of_cluster()
        .status()
        .slim(Kind::VolumeAttachment),
];

impl ResourceId {
    /// All of them, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..RESOURCES.len()).map(Self)
    }

    /// The resource of that name in a group.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        Self::all().find(|id| id.get().group == group && id.get().plural == plural)
    }

    /// The resource of a kind, by the `apiVersion` of its manifests.
    pub fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        Self::all().find(|id| id.get().kind == kind && id.get().api_version() == api_version)
    }

    /// The resource of a kind that the scheduler reads.
    pub fn of_slim(kind: Kind) -> Option<Self> {
        Self::all().find(|id| id.get().slim == Some(kind))
    }

    /// The resource.
    pub fn get(self) -> &'static Resource {
        const NONE: Resource = resource("", "", "", "");
        RESOURCES.get(self.0).unwrap_or(&NONE)
    }
}

impl Resource {
    /// Group and version, as manifests write them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods`, `deployments.apps`: as the server's answers name it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The kind, with its group if it is not of the core group.
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_the_scheduler_reads_is_a_resource() {
        for kind in Kind::ALL {
            let resource = ResourceId::of_slim(*kind).unwrap().get();
            assert_eq!(resource.api_version(), kind.api_version());
            assert_eq!(resource.plural, kind.resource());
            assert_eq!(resource.kind, kind.as_str());
            assert_eq!(resource.is_namespaced, kind.is_namespaced(), "{kind}");
        }
    }

    #[test]
    fn no_name_stands_for_two_resources() {
        for id in ResourceId::all() {
            let resource = id.get();
            assert_eq!(ResourceId::of(resource.group, resource.plural), Some(id));
            assert_eq!(ResourceId::of_kind(&resource.api_version(), resource.kind), Some(id));
        }
    }
}
