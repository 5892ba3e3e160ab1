//! Which permission each kind needs, and what is lost without it.
//!
//! The rules are those for watching; `deploy/` has them all, and those for writing.

use crate::api::Kind;

/// The RBAC rule that is missing, as it stands in a ClusterRole.
pub fn rule(kind: Kind) -> String {
    let group = kind.api_version().split_once('/').map_or("", |(group, _)| group);
    format!(
        "- apiGroups: [\"{group}\"]\n  resources: [\"{}\"]\n  verbs: [\"get\", \"list\", \"watch\"]",
        kind.resource()
    )
}

/// What a scheduler cannot do that does not see this kind.
pub const fn lost_without(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod => "No pod is known: nothing can be predicted or scheduled.",
        Kind::Node => "No node is known: every pod is unschedulable.",
        Kind::Namespace => {
            "Namespace selectors of pod affinity match no namespace; terms that name namespaces still work."
        }
        Kind::PriorityClass => "Nothing: pods bring their priority along.",
        Kind::PodDisruptionBudget => "Preemption does not know which victims a budget protects.",
        Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
            "Default spreading of pods does not know which pods belong together by this kind."
        }
        Kind::StorageClass => "Pods whose claims have no volume yet cannot be placed.",
        Kind::CSIDriver => {
            "Free space of drivers is not looked at, and volumes that migrate to CSI are not told."
        }
        Kind::CSINode => "How many volumes a node takes is not known: limits are not kept.",
        Kind::CSIStorageCapacity => "Where a driver has room for a new volume is not known.",
        Kind::PersistentVolume => {
            "Pods with claims cannot be placed: the volumes behind the claims are not known."
        }
        Kind::PersistentVolumeClaim => "Pods with claims cannot be placed: each claim is missing.",
        Kind::VolumeAttachment => {
            "Volumes that are attached without a pod are not counted against the limits."
        }
        Kind::DeviceClass | Kind::ResourceClaim | Kind::ResourceSlice => {
            "Pods that claim devices cannot be placed, or not as the cluster would."
        }
        Kind::ResourceClaimTemplate => "Nothing: claims are made of templates before a pod is placed.",
        Kind::PodGroup => "Groups of pods that are to be placed together are not known.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_group_and_resource_and_no_verb_that_writes() {
        assert_eq!(
            rule(Kind::CSINode),
            "- apiGroups: [\"storage.k8s.io\"]\n  resources: [\"csinodes\"]\n  verbs: [\"get\", \"list\", \"watch\"]"
        );
        assert!(rule(Kind::Pod).starts_with("- apiGroups: [\"\"]\n"));
    }
}
