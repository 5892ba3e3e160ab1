//! Feature gates: those that kube-scheduler v1.36 reads, with its defaults.
//!
//! Follows `pkg/features/kube_features.go` and `component-base/featuregate`. Gates that are locked to their
//! default are known by name, so that a command line that sets them is understood; nothing here asks for them.

use std::fmt;

/// Why a list of feature gates is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// No gate of that name is known.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// The gate cannot be changed any more.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {}", !value)]
    Locked {
        /// The gate.
        name: &'static str,
        /// What was asked for.
        value: bool,
    },
    /// There is a name without a value.
    #[error("missing bool value for {0}")]
    MissingValue(String),
    /// The value is neither true nor false.
    #[error("invalid value of {name}={value}: true or false is needed")]
    InvalidValue {
        /// The gate.
        name: String,
        /// What stands there.
        value: String,
    },
    /// A gate is on and one that it needs is off.
    #[error("{gate} is enabled, but depends on features that are disabled: [{needs}]")]
    Dependency {
        /// The gate that is on.
        gate: &'static str,
        /// The gate that is off.
        needs: &'static str,
    },
}

macro_rules! gates {
    ($($name:ident = $default:ident $([$locked:ident])? $(needs $($needs:ident)+)?;)+) => {
        /// A feature gate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are Kubernetes feature gates")]
        pub enum Gate { $($name),+ }

        impl Gate {
            /// Every gate, by name.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The gate's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// Whether it is on in v1.36 unless it is set.
            pub const fn default_value(self) -> bool {
                match self { $(Self::$name => $default),+ }
            }

            /// Whether it cannot be changed any more.
            pub const fn is_locked(self) -> bool {
                match self { $(Self::$name => false $(|| gates!(@$locked))?),+ }
            }

            /// The gates without which it cannot be on.
            pub const fn dependencies(self) -> &'static [Self] {
                match self { $(Self::$name => &[$($(Self::$needs),+)?]),+ }
            }
        }
    };
    (@locked) => { true };
}

gates! {
    DRAAdminAccess = true [locked];
    DRAConsumableCapacity = true;
    DRADeviceBindingConditions = true needs DRAResourceClaimDeviceStatus;
    DRADeviceTaintRules = false needs DRADeviceTaints;
    DRADeviceTaints = true;
    DRAExtendedResource = true;
    DRAListTypeAttributes = false;
    DRANodeAllocatableResources = false;
    DRAPartitionableDevices = true;
    DRAPrioritizedList = true;
    DRAResourceClaimDeviceStatus = true;
    DRASchedulerFilterTimeout = true;
    DRAWorkloadResourceClaims = false needs GenericWorkload;
    DynamicResourceAllocation = true [locked];
    GangScheduling = false needs GenericWorkload;
    GenericWorkload = false;
    InPlacePodLevelResourcesVerticalScaling = true needs PodLevelResources NodeDeclaredFeatures;
    InPlacePodVerticalScaling = true [locked];
    MatchLabelKeysInPodTopologySpread = true;
    MatchLabelKeysInPodTopologySpreadSelectorMerge = true needs MatchLabelKeysInPodTopologySpread;
    NodeDeclaredFeatures = true;
    NodeInclusionPolicyInPodTopologySpread = true [locked];
    NominatedNodeNameForExpectation = true;
    OpportunisticBatching = true;
    PodLevelResources = true;
    SchedulerAsyncAPICalls = false;
    SchedulerAsyncPreemption = true;
    SchedulerPopFromBackoffQ = true;
    SchedulerQueueingHints = true [locked];
    SidecarContainers = true [locked];
    StorageCapacityScoring = false;
    TaintTolerationComparisonOperators = false;
    TopologyAwareWorkloadScheduling = false needs GenericWorkload;
    VolumeAttributesClass = true [locked];
    VolumeLimitScaling = false;
    WorkloadAwarePreemption = false needs GangScheduling;
}

impl Gate {
    /// The gate of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|gate| gate.as_str() == name)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// A bit per gate.
    enabled: u64,
}

impl Default for FeatureGates {
    fn default() -> Self {
        let mut gates = Self { enabled: 0 };
        for gate in Gate::ALL {
            gates.put(*gate, gate.default_value());
        }
        gates
    }
}

impl FeatureGates {
    /// Whether the gate is on.
    pub const fn is_enabled(&self, gate: Gate) -> bool {
        self.enabled & (1 << gate as u32) != 0
    }

    /// The same gates with one changed.
    ///
    /// # Errors
    /// The gate is locked, or one that is on then lacks one that it needs.
    pub fn with(mut self, gate: Gate, value: bool) -> Result<Self, GateError> {
        self.set(gate, value)?;
        self.check_dependencies()?;
        Ok(self)
    }

    /// Reads a list such as `A=true,B=false`, as `--feature-gates` takes it, over the defaults.
    ///
    /// # Errors
    /// The list has a gate that is not known or that is locked, a value that is none, or leaves a gate on that
    /// needs one that is off.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let mut gates = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| GateError::MissingValue(part.to_owned()))?;
            let (name, value) = (name.trim(), value.trim());
            let on = match value {
                "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
                "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
                _ => {
                    return Err(GateError::InvalidValue { name: name.to_owned(), value: value.to_owned() });
                }
            };
            let gate = Gate::from_name(name).ok_or_else(|| GateError::Unknown(name.to_owned()))?;
            gates.set(gate, on)?;
        }
        gates.check_dependencies()?;
        Ok(gates)
    }

    fn set(&mut self, gate: Gate, value: bool) -> Result<(), GateError> {
        if gate.is_locked() && value != gate.default_value() {
            return Err(GateError::Locked { name: gate.as_str(), value });
        }
        self.put(gate, value);
        Ok(())
    }

    const fn put(&mut self, gate: Gate, value: bool) {
        let bit = 1 << gate as u32;
        self.enabled = if value { self.enabled | bit } else { self.enabled & !bit };
    }

    fn check_dependencies(self) -> Result<(), GateError> {
        for gate in Gate::ALL.iter().filter(|gate| self.is_enabled(**gate)) {
            if let Some(needs) = gate.dependencies().iter().find(|needs| !self.is_enabled(**needs)) {
                return Err(GateError::Dependency { gate: gate.as_str(), needs: needs.as_str() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_v1_36() {
        let gates = FeatureGates::default();
        assert!(gates.is_enabled(Gate::PodLevelResources));
        assert!(gates.is_enabled(Gate::InPlacePodLevelResourcesVerticalScaling));
        assert!(gates.is_enabled(Gate::SchedulerAsyncPreemption));
        assert!(!gates.is_enabled(Gate::TaintTolerationComparisonOperators));
        assert!(!gates.is_enabled(Gate::GangScheduling));
        assert_eq!(FeatureGates::parse(""), Ok(gates));
    }

    #[test]
    fn a_list_changes_the_defaults() {
        let gates =
            FeatureGates::parse("TaintTolerationComparisonOperators=true, SchedulerAsyncPreemption=false");
        assert!(gates.is_ok_and(|gates| gates.is_enabled(Gate::TaintTolerationComparisonOperators)
            && !gates.is_enabled(Gate::SchedulerAsyncPreemption)));
    }

    #[test]
    fn what_cannot_be_set_is_refused_in_upstreams_words() {
        let error = |text| FeatureGates::parse(text).err().map(|error| error.to_string());
        assert_eq!(error("Nope=true").as_deref(), Some("unrecognized feature gate: Nope"));
        assert_eq!(
            error("SidecarContainers=false").as_deref(),
            Some("cannot set feature gate SidecarContainers to false, feature is locked to true")
        );
        assert_eq!(error("SidecarContainers=true"), None);
        assert_eq!(error("PodLevelResources").as_deref(), Some("missing bool value for PodLevelResources"));
        assert_eq!(
            error("PodLevelResources=false").as_deref(),
            Some(
                "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: \
                 [PodLevelResources]"
            )
        );
    }
}
