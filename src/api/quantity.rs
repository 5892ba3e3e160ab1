//! Resource quantities with the exact arithmetic of `k8s.io/apimachinery/pkg/api/resource`.

use std::fmt;
use std::str::FromStr;

/// An amount of a resource, kept as an exact number of billionths (upstream rounds up to those when it parses).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a quantity like 500m, 1.5Gi or 2e3")]
pub struct QuantityError {
    /// What was read.
    pub text: String,
}

impl Quantity {
    /// The quantity 0.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A whole number of units.
    pub const fn from_value(value: i64) -> Self {
        Self { nanos: value as i128 * 1_000_000_000 }
    }

    /// A number of thousandths.
    pub const fn from_milli(milli: i64) -> Self {
        Self { nanos: milli as i128 * 1_000_000 }
    }

    /// Whole units, rounded up (`Quantity.Value`).
    pub fn value(self) -> i64 {
        self.scaled(1_000_000_000)
    }

    /// Thousandths, rounded up (`Quantity.MilliValue`).
    pub fn milli_value(self) -> i64 {
        self.scaled(1_000_000)
    }

    /// Whether it is 0.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    fn scaled(self, unit: i128) -> i64 {
        let rounded = self.nanos.div_euclid(unit) + i128::from(self.nanos.rem_euclid(unit) != 0);
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<i64>().map(Self::from_value).map_err(|_| QuantityError { text: text.to_owned() })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
