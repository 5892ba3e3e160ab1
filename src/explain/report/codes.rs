//! Reason codes: a closed list that stays, whatever the words of a plugin become.
//!
//! A code belongs to a plugin and one of its reasons. `Custom` stands for plugins that are not in tree; `Other` for
//! words of an in-tree plugin that no entry knows.

/// How the words of a reason are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Exactly these.
    Are(&'static str),
    /// They begin so.
    Begin(&'static str),
    /// They hold this.
    Hold(&'static str),
    /// Whatever else the plugin says.
    Any,
}

impl Words {
    fn match_(self, reason: &str) -> bool {
        match self {
            Self::Are(text) => reason == text,
            Self::Begin(text) => reason.starts_with(text),
            Self::Hold(text) => reason.contains(text),
            Self::Any => true,
        }
    }
}

/// A code with what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonCode {
    /// The code.
    pub code: &'static str,
    /// The plugin that says it; empty for the framework and for plugins that are not in tree.
    pub plugin: &'static str,
    /// Its words.
    pub words: Words,
    /// What it means.
    pub meaning: &'static str,
}

const fn code(code: &'static str, plugin: &'static str, words: Words, meaning: &'static str) -> ReasonCode {
    ReasonCode { code, plugin, words, meaning }
}

/// A plugin that is not in tree said it.
pub const CUSTOM: &str = "Custom";
/// An extender said it, or left the node out without a word.
pub const EXTENDER: &str = "Extender";
/// PreFilter left the node out.
pub const EXCLUDED: &str = "ExcludedByPreFilter";

use Words::{Any, Are, Begin, Hold};

/// Every code. Of several that match, the first counts.
pub const CODES: &[ReasonCode] = &[
    code("InsufficientCpu", "NodeResourcesFit", Are("Insufficient cpu"), "the node has too little cpu left"),
    code(
        "InsufficientMemory",
        "NodeResourcesFit",
        Are("Insufficient memory"),
        "the node has too little memory left",
    ),
    code(
        "InsufficientEphemeralStorage",
        "NodeResourcesFit",
        Are("Insufficient ephemeral-storage"),
        "the node has too little ephemeral storage left",
    ),
    code("TooManyPods", "NodeResourcesFit", Are("Too many pods"), "the node takes no more pods"),
    code(
        "InsufficientExtendedResource",
        "NodeResourcesFit",
        Begin("Insufficient "),
        "the node has too little left of an extended resource or huge pages",
    ),
    code("ResourcesOther", "NodeResourcesFit", Any, "another word of NodeResourcesFit"),
    code("UntoleratedTaint", "TaintToleration", Any, "the node has a taint that the pod does not tolerate"),
    code("NodeCordoned", "NodeUnschedulable", Any, "the node is cordoned"),
    code("WrongNodeName", "NodeName", Any, "the pod names another node"),
    code("HostPortTaken", "NodePorts", Any, "a host port of the pod is taken on the node"),
    code(
        "AddedAffinityMismatch",
        "NodeAffinity",
        Are("node(s) didn't match scheduler-enforced node affinity"),
        "the node does not match what the profile requires",
    ),
    code(
        "AffinityConflict",
        "NodeAffinity",
        Are("pod affinity terms conflict"),
        "the pod's own terms exclude each other",
    ),
    code(
        "NodeAffinityMismatch",
        "NodeAffinity",
        Are("node(s) didn't match Pod's node affinity/selector"),
        "the node does not match the pod's node selector or required node affinity",
    ),
    code(
        "SpreadLabelMissing",
        "PodTopologySpread",
        Hold("missing required label"),
        "the node has no label for a topology key of the pod's spread constraints",
    ),
    code(
        "SpreadSkew",
        "PodTopologySpread",
        Begin("node(s) didn't match pod topology spread constraints"),
        "the pod would make the skew of a spread constraint too large",
    ),
    code("SpreadOther", "PodTopologySpread", Any, "another word of PodTopologySpread"),
    code(
        "ExistingPodsAntiAffinity",
        "InterPodAffinity",
        Hold("existing pods anti-affinity"),
        "a pod in the node's domain has anti-affinity to this one",
    ),
    code(
        "PodAntiAffinity",
        "InterPodAffinity",
        Hold("pod anti-affinity rules"),
        "the pod has anti-affinity to a pod in the node's domain",
    ),
    code(
        "PodAffinity",
        "InterPodAffinity",
        Hold("pod affinity rules"),
        "no pod in the node's domain matches the pod's affinity",
    ),
    code("InterPodAffinityOther", "InterPodAffinity", Any, "another word of InterPodAffinity"),
    code(
        "VolumeNodeConflict",
        "VolumeBinding",
        Are("node(s) didn't match PersistentVolume's node affinity"),
        "a bound volume cannot be used on the node",
    ),
    code(
        "NoVolumeToBind",
        "VolumeBinding",
        Are("node(s) didn't find available persistent volumes to bind"),
        "no volume can be bound or made for a claim on the node",
    ),
    code(
        "NotEnoughStorage",
        "VolumeBinding",
        Are("node(s) did not have enough free storage"),
        "the storage that the node reaches is too small",
    ),
    code(
        "VolumeMissing",
        "VolumeBinding",
        Hold("bound to non-existent pv(s)"),
        "a claim is bound to a volume that is not there",
    ),
    code(
        "ClaimUnboundImmediate",
        "VolumeBinding",
        Are("pod has unbound immediate PersistentVolumeClaims"),
        "a claim that binds immediately is not bound yet",
    ),
    code("VolumeClaimMissing", "VolumeBinding", Hold("not found"), "a claim of the pod is not there"),
    code("VolumeBindingOther", "VolumeBinding", Any, "another word of VolumeBinding"),
    code(
        "ReadWriteOncePodInUse",
        "VolumeRestrictions",
        Hold("ReadWriteOncePod"),
        "a claim of one pod only is in use by another pod",
    ),
    code(
        "DiskConflict",
        "VolumeRestrictions",
        Are("node(s) had no available disk"),
        "a disk is in use on the node by another pod",
    ),
    code("VolumeClaimMissing", "VolumeRestrictions", Hold("not found"), "a claim of the pod is not there"),
    code("VolumeRestrictionsOther", "VolumeRestrictions", Any, "another word of VolumeRestrictions"),
    code(
        "VolumeZoneConflict",
        "VolumeZone",
        Are("node(s) had no available volume zone"),
        "a bound volume is in another zone",
    ),
    code("VolumeZoneOther", "VolumeZone", Any, "another word of VolumeZone"),
    code(
        "TooManyVolumes",
        "NodeVolumeLimits",
        Are("node(s) exceed max volume count"),
        "the node takes no more volumes of a driver",
    ),
    code("VolumeLimitsOther", "NodeVolumeLimits", Any, "another word of NodeVolumeLimits"),
    code(
        "DevicesUnavailable",
        "DynamicResources",
        Are("cannot allocate all claims"),
        "the node has no free devices for the pod's claims",
    ),
    code(
        "DeviceClassMissing",
        "DynamicResources",
        Hold("device class"),
        "a device class that a claim asks for is not there",
    ),
    code(
        "InsufficientNodeAllocatableDevices",
        "DynamicResources",
        Begin("Insufficient "),
        "devices that count as node resources do not leave enough",
    ),
    code(
        "ResourceClaimNotReady",
        "DynamicResources",
        Hold("resourceclaim"),
        "a claim cannot be used as it is",
    ),
    code("ResourceClaimNotReady", "DynamicResources", Hold("claim"), "a claim cannot be used as it is"),
    code("DevicesOther", "DynamicResources", Any, "another word of DynamicResources"),
    code(
        "FeaturesMissing",
        "NodeDeclaredFeatures",
        Any,
        "the node does not declare a feature that the pod needs",
    ),
    code("SchedulingGate", "SchedulingGates", Any, "the pod has scheduling gates"),
    code("GangQuorum", "GangScheduling", Hold("minCount"), "the pod's group has fewer members than it needs"),
    code("GangOther", "GangScheduling", Any, "the pod's group holds it back"),
    code("PreemptionUnderWay", "DefaultPreemption", Any, "room is being made for the pod"),
    code(EXTENDER, "Extender", Any, "an extender refused the node, or left it out"),
    code(EXCLUDED, "", Begin("node(s) didn't satisfy plugin"), "a PreFilter plugin left the node out"),
    code(CUSTOM, "", Any, "a plugin that is not in tree refused the node"),
];

/// The code of a plugin's reason.
pub fn code_of(plugin: &str, reason: &str) -> &'static str {
    let excluded = CODES.iter().find(|code| code.code == EXCLUDED && code.words.match_(reason));
    let of_plugin = || CODES.iter().find(|code| code.plugin == plugin && code.words.match_(reason));
    excluded.or_else(of_plugin).map_or(CUSTOM, |code| code.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_kube_scheduler_have_their_codes() {
        for (plugin, reason, code) in [
            ("NodeResourcesFit", "Insufficient cpu", "InsufficientCpu"),
            ("NodeResourcesFit", "Insufficient nvidia.com/gpu", "InsufficientExtendedResource"),
            ("NodeResourcesFit", "Too many pods", "TooManyPods"),
            ("TaintToleration", "node(s) had untolerated taint(s)", "UntoleratedTaint"),
            ("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]", "ExcludedByPreFilter"),
            (
                "PodTopologySpread",
                "node(s) didn't match pod topology spread constraints (missing required label)",
                "SpreadLabelMissing",
            ),
            ("PodTopologySpread", "node(s) didn't match pod topology spread constraints", "SpreadSkew"),
            (
                "InterPodAffinity",
                "node(s) didn't satisfy existing pods anti-affinity rules",
                "ExistingPodsAntiAffinity",
            ),
            ("InterPodAffinity", "node(s) didn't match pod anti-affinity rules", "PodAntiAffinity"),
            ("InterPodAffinity", "node(s) didn't match pod affinity rules", "PodAffinity"),
            ("VolumeBinding", "persistentvolumeclaim \"data\" not found", "VolumeClaimMissing"),
            ("DynamicResources", "cannot allocate all claims", "DevicesUnavailable"),
            ("CheckLicense", "no seat left", "Custom"),
        ] {
            assert_eq!(code_of(plugin, reason), code, "{plugin}: {reason}");
        }
    }
}
