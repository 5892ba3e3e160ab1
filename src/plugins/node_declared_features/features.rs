//! The features that nodes declare and pods need.
//!
//! Follows `k8s.io/component-helpers/nodedeclaredfeatures`. Of the five features that v1.36 knows, two can be needed
//! for a pod to be scheduled; the others matter when a running pod changes.

use std::fmt;

use crate::api::objects::{Container, Pod};

/// The known features, sorted.
const KNOWN: [&str; 5] = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    RESTART_ALL_CONTAINERS,
    HOST_NETWORK_IN_USER_NAMESPACE,
];
const RESTART_ALL_CONTAINERS: &str = "RestartAllContainersOnContainerExits";
const HOST_NETWORK_IN_USER_NAMESPACE: &str = "UserNamespacesHostNetworkSupport";

/// A set of known features.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FeatureSet([bool; KNOWN.len()]);

impl FeatureSet {
    /// What the pod needs of its node (`InferForPodScheduling`).
    pub(super) fn needed_by(pod: &Pod) -> Self {
        let restarts_all = |container: &Container| {
            container.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers")
        };
        let spec = &pod.spec;
        Self(KNOWN.map(|feature| match feature {
            RESTART_ALL_CONTAINERS => spec.containers.iter().chain(&spec.init_containers).any(restarts_all),
            HOST_NETWORK_IN_USER_NAMESPACE => spec.host_network && spec.host_users == Some(false),
            _ => false,
        }))
    }

    /// What a node declares (`TryMap`). The list is taken to be sorted: a name that stands after a greater one is
    /// not seen.
    pub(super) fn declared_in(list: &[String]) -> Self {
        let mut set = Self::default();
        let mut rest = list.iter().peekable();
        for (is_in, feature) in set.0.iter_mut().zip(KNOWN) {
            while rest.next_if(|name| name.as_str() < feature).is_some() {}
            *is_in = rest.next_if(|name| *name == feature).is_some();
        }
        set
    }

    /// The names in it.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        KNOWN.into_iter().zip(self.0).filter(|(_, is_in)| *is_in).map(|(name, _)| name)
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Whether all of it is in the other.
    pub(super) fn is_subset(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| !own || other)
    }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            KNOWN.iter().zip(self.0).filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_ones_are_picked_out_of_a_sorted_list() {
        let declared = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            FeatureSet::declared_in(&names).to_string()
        };
        assert_eq!(declared(&["A", RESTART_ALL_CONTAINERS, "Sidecars", "Z"]), RESTART_ALL_CONTAINERS);
        assert_eq!(declared(&KNOWN), KNOWN.join(","));
        assert_eq!(declared(&["Z", RESTART_ALL_CONTAINERS]), "", "the list is not sorted");
        assert_eq!(declared(&[]), "");
    }
}
