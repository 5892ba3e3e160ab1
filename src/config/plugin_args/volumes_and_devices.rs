//! The arguments of VolumeBinding and DynamicResources, whose defaults depend on feature gates.

use serde_json::Value;

use super::{ArgsError, UtilizationShapePoint, read};
use crate::api::Duration;
use crate::config::gates::FeatureGates;
use crate::config::v1;

/// The arguments of VolumeBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeBindingArgs {
    /// How long binding may take.
    pub bind_timeout: Duration,
    /// The function from the use of storage to score, in the order of utilization; empty unless the gate
    /// StorageCapacityScoring is on.
    pub shape: Vec<UtilizationShapePoint>,
}

impl VolumeBindingArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed under these gates.
    pub fn from_value(args: Option<&Value>, path: &str, gates: &FeatureGates) -> Result<Self, ArgsError> {
        let args: v1::VolumeBindingArgs = read(args, path, gates)?;
        let seconds = args.bind_timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Ok(Self {
            bind_timeout: Duration::from_secs(seconds.unwrap_or(0)),
            shape: args.shape.items().to_vec(),
        })
    }
}

/// The arguments of DynamicResources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicResourcesArgs {
    /// How long Filter may take on one node; 0 means for ever.
    pub filter_timeout: Duration,
    /// How long PreBind waits for the conditions of devices.
    pub binding_timeout: Duration,
}

impl DynamicResourcesArgs {
    /// Reads, fills in defaults and checks; `path` is where the arguments stand.
    ///
    /// # Errors
    /// The arguments have another form, or a value that is not allowed under these gates.
    pub fn from_value(args: Option<&Value>, path: &str, gates: &FeatureGates) -> Result<Self, ArgsError> {
        let args: v1::DynamicResourcesArgs = read(args, path, gates)?;
        Ok(Self {
            filter_timeout: args.filter_timeout.unwrap_or_default().to_std(),
            // Without the gates it is not set, and the default holds although nothing asks for it.
            binding_timeout: args
                .binding_timeout
                .map_or(Duration::from_secs(600), crate::config::GoDuration::to_std),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    fn gates(text: &str) -> FeatureGates {
        FeatureGates::parse(text).unwrap()
    }

    #[test]
    fn a_volume_has_ten_minutes_to_be_bound_and_a_score_only_behind_its_gate() {
        let args = VolumeBindingArgs::from_value(None, "", &FeatureGates::default()).unwrap();
        assert_eq!(args, VolumeBindingArgs { bind_timeout: Duration::from_secs(600), shape: Vec::new() });
        let gates = gates("StorageCapacityScoring=true");
        let args = VolumeBindingArgs::from_value(None, "", &gates).unwrap();
        let points: Vec<_> = args.shape.iter().map(|point| (point.utilization, point.score)).collect();
        assert_eq!(points, [(0, 10), (100, 0)]);
    }

    #[test]
    fn time_limits_of_devices_depend_on_gates() {
        let read =
            |args: Value, gates: &FeatureGates| DynamicResourcesArgs::from_value(Some(&args), "", gates);
        let defaults = FeatureGates::default();
        let args = read(json!({}), &defaults).unwrap();
        assert_eq!(args.filter_timeout, Duration::from_secs(10));
        assert_eq!(args.binding_timeout, Duration::from_secs(600));
        let off = gates("DRASchedulerFilterTimeout=false,DRADeviceBindingConditions=false");
        assert_eq!(read(json!({}), &off).unwrap().filter_timeout, Duration::ZERO);
        assert_eq!(
            read(json!({"filterTimeout": "1s", "bindingTimeout": "1s"}), &off).unwrap_err().to_string(),
            "[filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled, bindingTimeout: \
             Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled]"
        );
        assert_eq!(
            read(json!({"filterTimeout": "-1s", "bindingTimeout": "999ms"}), &defaults)
                .unwrap_err()
                .to_string(),
            "[filterTimeout: Invalid value: \"-1s\": must be zero or positive, bindingTimeout: Invalid value: \
             \"999ms\": must be at least 1 second]"
        );
    }
}
