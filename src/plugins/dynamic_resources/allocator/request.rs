//! One view of the two kinds of requests: `exactly`, and an alternative of `firstAvailable`.

use crate::api::Str;
use crate::api::objects::{
    CapacityRequirements, DeviceRequest, DeviceSelector, DeviceSubRequest, DeviceToleration,
    ExactDeviceRequest,
};

/// The mode that asks for a number of devices.
pub const EXACT_COUNT: &str = "ExactCount";
/// The mode that asks for every device there is.
pub const ALL: &str = "All";

/// A request or an alternative of one.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its own name.
    pub name: &'a Str,
    /// The name of the request that it is an alternative of.
    pub parent: Option<&'a Str>,
    /// The class of the devices.
    pub class: &'a Str,
    /// Conditions beside those of the class.
    pub selectors: &'a [DeviceSelector],
    /// [`EXACT_COUNT`] or [`ALL`].
    pub mode: &'a str,
    /// How many devices.
    pub count: i64,
    /// Whether admin access is spoken of, and asked for.
    pub admin_access: Option<bool>,
    /// Taints that do not matter.
    pub tolerations: &'a [DeviceToleration],
    /// How much of each device.
    pub capacity: Option<&'a CapacityRequirements>,
}

impl<'a> Request<'a> {
    /// The alternatives of a request in the order in which they are tried; one if it is exact, none if it is neither.
    pub fn alternatives(request: &'a DeviceRequest) -> impl Iterator<Item = Self> {
        let exactly = request.exactly.as_ref().filter(|_| request.first_available.is_empty());
        let exactly = exactly.map(|exactly| Self::exactly(request, exactly));
        exactly.into_iter().chain(request.first_available.iter().map(|sub| Self::alternative(request, sub)))
    }

    fn exactly(request: &'a DeviceRequest, exactly: &'a ExactDeviceRequest) -> Self {
        Self {
            name: &request.name,
            parent: None,
            class: &exactly.device_class_name,
            selectors: &exactly.selectors,
            mode: &exactly.allocation_mode,
            count: exactly.count,
            admin_access: exactly.admin_access,
            tolerations: &exactly.tolerations,
            capacity: exactly.capacity.as_ref(),
        }
    }

    fn alternative(request: &'a DeviceRequest, sub: &'a DeviceSubRequest) -> Self {
        Self {
            name: &sub.name,
            parent: Some(&request.name),
            class: &sub.device_class_name,
            selectors: &sub.selectors,
            mode: &sub.allocation_mode,
            count: sub.count,
            admin_access: None,
            tolerations: &sub.tolerations,
            capacity: sub.capacity.as_ref(),
        }
    }

    /// Whether admin access is asked for.
    pub fn is_admin(&self) -> bool {
        self.admin_access == Some(true)
    }

    /// Whether every device is asked for.
    pub fn is_for_all(&self) -> bool {
        self.mode == ALL
    }

    /// The name of the request in the claim.
    pub fn base_name(&self) -> &'a str {
        self.parent.unwrap_or(self.name)
    }

    /// The name in allocation results: `request` or `request/alternative`.
    pub fn full_name(&self) -> Str {
        match self.parent {
            Some(parent) => Str::from(format!("{parent}/{}", self.name)),
            None => self.name.clone(),
        }
    }
}
