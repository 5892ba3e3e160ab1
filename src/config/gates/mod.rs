//! Feature gates and `--feature-gates`.
//!
//! Follows `k8s.io/component-base/featuregate`, without emulated versions.

mod table;

use std::fmt;

use super::go_text::quoted;
pub use table::Gate;

/// How mature a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// May change or go.
    Alpha,
    /// Complete, may change in its details.
    Beta,
    /// Generally available.
    Ga,
    /// Will go.
    Deprecated,
}

impl Stage {
    /// The stage as kube-scheduler's help writes it; GA has no mark there.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "GA",
            Self::Deprecated => "DEPRECATED",
        }
    }
}

/// Why a list of feature gates is refused. The texts are kube-scheduler's.
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
    #[error(
        "invalid value of {name}={value}, err: strconv.ParseBool: parsing {}: invalid syntax",
        quoted(value)
    )]
    InvalidValue {
        /// The gate.
        name: String,
        /// What stands there.
        value: String,
    },
    /// A gate is on and gates that it needs are off.
    #[error("{gate} is enabled, but depends on features that are disabled: [{}]", needs.join(" "))]
    Dependency {
        /// The gate that is on.
        gate: &'static str,
        /// The gates that are off.
        needs: Vec<&'static str>,
    },
}

/// All that is wrong with a list of feature gates; several are shown as `[one, two]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateErrors(pub Vec<GateError>);

impl std::error::Error for GateErrors {}

impl From<GateError> for GateErrors {
    fn from(error: GateError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for GateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            several => {
                let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
        }
    }
}

impl Gate {
    /// The gate of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .binary_search_by(|gate| gate.as_str().cmp(name))
            .ok()
            .and_then(|i| Self::ALL.get(i))
            .copied()
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many words hold a bit for every gate.
const WORDS: usize = Gate::ALL.len().div_ceil(64);

/// Which gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// A bit per gate.
    enabled: [u64; WORDS],
}

impl Default for FeatureGates {
    fn default() -> Self {
        let mut gates = Self { enabled: [0; WORDS] };
        for gate in Gate::ALL {
            gates.put(*gate, gate.default_value());
        }
        gates
    }
}

/// Groups of gates that are set together.
const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

impl FeatureGates {
    /// Whether the gate is on.
    pub const fn is_enabled(&self, gate: Gate) -> bool {
        self.enabled[gate as usize / 64] & (1 << (gate as usize % 64)) != 0
    }

    /// The same gates with one changed.
    ///
    /// # Errors
    /// The gate is locked, or one that is on then lacks one that it needs.
    pub fn with(mut self, gate: Gate, value: bool) -> Result<Self, GateErrors> {
        check_lock(gate, value)?;
        self.put(gate, value);
        self.check_dependencies()?;
        Ok(self)
    }

    /// Reads a list such as `A=true,B=false`, as `--feature-gates` takes it, over the defaults. Of several values
    /// for one gate the last one counts; `AllAlpha` and `AllBeta` set all gates of a stage that the list does not
    /// name.
    ///
    /// # Errors
    /// The list has a gate that is not known or that is locked, a value that is none, or leaves a gate on that
    /// needs one that is off.
    pub fn parse(text: &str) -> Result<Self, GateErrors> {
        let mut values: Vec<(&str, bool)> = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), value.trim()),
                None => return Err(GateError::MissingValue(part.trim().to_owned()).into()),
            };
            let on = match value {
                "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
                "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
                _ => {
                    let (name, value) = (name.to_owned(), value.to_owned());
                    return Err(GateError::InvalidValue { name, value }.into());
                }
            };
            values.retain(|(earlier, _)| *earlier != name);
            values.push((name, on));
        }
        let mut gates = Self::default();
        let mut errors = Vec::new();
        for (stage, name) in [(Stage::Alpha, ALL_ALPHA), (Stage::Beta, ALL_BETA)] {
            let Some((_, on)) = values.iter().find(|(own, _)| *own == name) else { continue };
            for gate in Gate::ALL.iter().filter(|gate| gate.stage() == stage) {
                gates.put(*gate, *on);
            }
        }
        for (name, on) in values.into_iter().filter(|(name, _)| *name != ALL_ALPHA && *name != ALL_BETA) {
            match Gate::from_name(name).map(|gate| (gate, check_lock(gate, on))) {
                None => errors.push(GateError::Unknown(name.to_owned())),
                Some((_, Err(error))) => errors.push(error),
                Some((gate, Ok(()))) => gates.put(gate, on),
            }
        }
        if !errors.is_empty() {
            return Err(GateErrors(errors));
        }
        gates.check_dependencies()?;
        Ok(gates)
    }

    /// The gates that differ from their default, by name, with their values.
    pub fn changed(&self) -> impl Iterator<Item = (Gate, bool)> + '_ {
        let gates = Gate::ALL.iter().map(|gate| (*gate, self.is_enabled(*gate)));
        gates.filter(|(gate, on)| *on != gate.default_value())
    }

    const fn put(&mut self, gate: Gate, value: bool) {
        let bit = 1 << (gate as usize % 64);
        let word = &mut self.enabled[gate as usize / 64];
        *word = if value { *word | bit } else { *word & !bit };
    }

    fn check_dependencies(&self) -> Result<(), GateErrors> {
        let mut errors = Vec::new();
        for gate in Gate::ALL.iter().filter(|gate| self.is_enabled(**gate)) {
            let is_off = |needs: &&Gate| !self.is_enabled(**needs);
            let needs: Vec<_> = gate.dependencies().iter().filter(is_off).map(|gate| gate.as_str()).collect();
            if !needs.is_empty() {
                errors.push(GateError::Dependency { gate: gate.as_str(), needs });
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(GateErrors(errors)) }
    }
}

fn check_lock(gate: Gate, value: bool) -> Result<(), GateError> {
    if gate.is_locked() && value != gate.default_value() {
        return Err(GateError::Locked { name: gate.as_str(), value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_sorted_by_name() {
        assert!(Gate::ALL.is_sorted_by_key(|gate| gate.as_str()));
        assert_eq!(Gate::from_name("PodLevelResources"), Some(Gate::PodLevelResources));
        assert_eq!(Gate::from_name("AllAlpha"), None);
    }

    #[test]
    fn defaults_are_those_of_v1_36() {
        let gates = FeatureGates::default();
        assert!(gates.is_enabled(Gate::PodLevelResources));
        assert!(gates.is_enabled(Gate::InPlacePodLevelResourcesVerticalScaling));
        assert!(gates.is_enabled(Gate::SchedulerAsyncPreemption));
        assert!(!gates.is_enabled(Gate::TaintTolerationComparisonOperators));
        assert!(!gates.is_enabled(Gate::GangScheduling));
        assert_eq!(FeatureGates::parse(""), Ok(gates));
        assert_eq!(Gate::GangScheduling.stage(), Stage::Alpha);
        assert_eq!(gates.changed().count(), 0);
    }

    #[test]
    fn a_list_changes_the_defaults_and_its_last_word_counts() {
        let gates =
            FeatureGates::parse("TaintTolerationComparisonOperators=true, SchedulerAsyncPreemption=0,,").ok();
        let changed: Vec<_> = gates.iter().flat_map(FeatureGates::changed).collect();
        let expected =
            [(Gate::SchedulerAsyncPreemption, false), (Gate::TaintTolerationComparisonOperators, true)];
        assert_eq!(changed, expected);
        let gates = FeatureGates::parse("GenericWorkload=true,GenericWorkload=false");
        assert_eq!(gates, Ok(FeatureGates::default()));
    }

    #[test]
    fn stages_are_set_together_except_for_what_is_named() {
        let gates = FeatureGates::parse("StorageCapacityScoring=false,AllAlpha=true");
        assert!(gates.is_ok_and(|gates| {
            gates.is_enabled(Gate::GangScheduling) && !gates.is_enabled(Gate::StorageCapacityScoring)
        }));
        let gates = FeatureGates::parse("AllBeta=false");
        assert!(gates.is_ok_and(|gates| {
            !gates.is_enabled(Gate::NodeDeclaredFeatures) && gates.is_enabled(Gate::SidecarContainers)
        }));
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
            error("PodLevelResources=maybe").as_deref(),
            Some(
                "invalid value of PodLevelResources=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax"
            )
        );
        assert_eq!(
            error("PodLevelResources=false").as_deref(),
            Some(
                "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: \
                 [PodLevelResources]"
            )
        );
        assert_eq!(
            error("SidecarContainers=false,Nope=1").as_deref(),
            Some(
                "[cannot set feature gate SidecarContainers to false, feature is locked to true, unrecognized \
                 feature gate: Nope]"
            )
        );
    }
}
