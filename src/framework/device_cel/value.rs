//! Values of expressions at run time.
//!
//! Follows cel-go's `common/types` and the value types of `k8s.io/apiserver/pkg/cel`: their equality (which for some
//! types is an error rather than false), their order, and how they are written in errors. Lists and maps are shared;
//! what a device holds is read in place.

use core::net::IpAddr;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::device::{Inner, Prepared};
use super::map::Map;
use super::semver::Version;
use super::time::Timestamp;
use super::types;
use super::url::Url;
use crate::api::Quantity;

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// An error as a value: `&&` and `||` can swallow it.
    Error(Arc<str>),
    /// The end of the evaluation: nothing swallows this.
    Fatal(Fatal),
}

/// Why an evaluation ends at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fatal {
    /// The cost limit was reached.
    CostLimit,
    /// Upstream cannot look up a value of this type in a set, and panics.
    Unhashable(&'static str),
    /// Upstream takes a value of this type for a list when it counts a cost, and panics: the first method that the
    /// type lacks.
    NoList(&'static str, &'static str),
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CostLimit => f.write_str("operation cancelled: actual cost limit exceeded"),
            Self::Unhashable(of) => {
                write!(f, "internal error: runtime error: hash of unhashable type {of}")
            }
            Self::NoList(of, method) => {
                let what =
                    format!("interface conversion: {of} is not traits.Lister: missing method {method}");
                write!(f, "internal error: {what}")
            }
        }
    }
}

impl Fault {
    pub(super) fn new(text: impl Into<Arc<str>>) -> Self {
        Self::Error(text.into())
    }

    pub(super) fn no_overload() -> Self {
        Self::new("no such overload")
    }
}

pub(super) type Outcome = Result<Value, Fault>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(List),
    Map(Map),
    Optional(Option<Arc<Self>>),
    /// A type, by its name.
    Type(Arc<str>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    /// An amount. One that came from arithmetic does not count as equal to another as the right-hand side.
    Quantity {
        amount: Quantity,
        computed: bool,
    },
    Semver(Arc<Version>),
    Ip(IpAddr),
    Cidr {
        address: IpAddr,
        bits: u8,
    },
    Url(Arc<Url>),
    /// A named format, by the name of its constant.
    Format(&'static str),
}

/// A list: elements, or two lists one after the other.
#[derive(Clone, Debug)]
pub(super) struct List {
    parts: Parts,
    length: usize,
    /// How many values there are to go through in it, in lists and maps within it too.
    weight: u64,
}

#[derive(Clone, Debug)]
enum Parts {
    Items(Arc<Vec<Value>>),
    Joined(Arc<(List, List)>),
}

impl List {
    pub(super) fn new(items: Vec<Value>) -> Self {
        let weight = items.iter().map(Value::weight).fold(1, u64::saturating_add);
        Self { length: items.len(), weight, parts: Parts::Items(Arc::new(items)) }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether it was made of two lists.
    pub(super) fn is_joined(&self) -> bool {
        matches!(self.parts, Parts::Joined(_))
    }

    /// Adds elements, in place where nobody else has the list.
    pub(super) fn extend(mut self, added: &Self) -> Self {
        if let Parts::Items(items) = &mut self.parts {
            Arc::make_mut(items).extend(added.iter());
            self.length = self.length.saturating_add(added.length);
            self.weight = self.weight.saturating_add(added.weight);
            return self;
        }
        self.joined(added.clone())
    }

    pub(super) fn get(&self, index: usize) -> Option<Value> {
        let (mut list, mut index) = (self, index);
        loop {
            match &list.parts {
                Parts::Items(items) => return items.get(index).cloned(),
                Parts::Joined(parts) => {
                    let before = parts.0.len();
                    if index < before {
                        list = &parts.0;
                    } else {
                        index -= before;
                        list = &parts.1;
                    }
                }
            }
        }
    }

    /// The elements in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Value> {
        let mut pending = vec![self];
        let mut current: std::slice::Iter<'_, Value> = [].iter();
        std::iter::from_fn(move || {
            loop {
                if let Some(value) = current.next() {
                    return Some(value.clone());
                }
                match &pending.pop()?.parts {
                    Parts::Items(items) => current = items.iter(),
                    Parts::Joined(parts) => {
                        pending.push(&parts.1);
                        pending.push(&parts.0);
                    }
                }
            }
        })
    }

    /// The list followed by another one.
    pub(super) fn joined(self, other: Self) -> Self {
        if self.len() == 0 {
            return other;
        }
        if other.len() == 0 {
            return self;
        }
        let length = self.length.saturating_add(other.length);
        let weight = self.weight.saturating_add(other.weight);
        Self { parts: Parts::Joined(Arc::new((self, other))), length, weight }
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        self.iter().any(|element| value.equal(&element) == Ok(true))
    }
}

impl Value {
    pub(super) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(items))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(super) fn quantity(amount: Quantity) -> Self {
        Self::Quantity { amount, computed: false }
    }

    /// An attribute of a device.
    pub(super) fn attribute(prepared: &Prepared) -> Self {
        match prepared {
            Prepared::Int(value) => Self::Int(*value),
            Prepared::Bool(value) => Self::Bool(*value),
            Prepared::String(value) => Self::String(value.clone()),
            Prepared::Version(value) => Self::Semver(value.clone()),
            Prepared::Ints(values) => Self::list(values.iter().map(|v| Self::Int(*v)).collect()),
            Prepared::Bools(values) => Self::list(values.iter().map(|v| Self::Bool(*v)).collect()),
            Prepared::Strings(values) => Self::list(values.iter().map(|v| Self::String(v.clone())).collect()),
            Prepared::Versions(values) => {
                Self::list(values.iter().map(|v| Self::Semver(v.clone())).collect())
            }
        }
    }

    /// How many values there are to go through in it.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::List(list) => list.weight,
            Self::Map(map) => map.weight(),
            Self::Optional(Some(value)) => value.weight(),
            _ => 1,
        }
    }

    /// The variable `device`.
    pub(super) fn device(device: &Arc<Inner>) -> Self {
        Self::Map(Map::Device(device.clone()))
    }

    /// The name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => types::OPTIONAL,
            Self::Type(_) => "type",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Quantity { .. } => types::QUANTITY,
            Self::Semver(_) => types::SEMVER,
            Self::Ip(_) => types::IP,
            Self::Cidr { .. } => types::CIDR,
            Self::Url(_) => types::URL,
            Self::Format(_) => types::FORMAT,
        }
    }

    /// Whether this equals `other`. For some types it is an error to ask.
    pub(super) fn equal(&self, other: &Self) -> Result<bool, Fault> {
        if matches!(self, Self::Null) || matches!(other, Self::Null) {
            return Ok(matches!(self, Self::Null) && matches!(other, Self::Null));
        }
        Ok(match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (
                Self::Int(_) | Self::Uint(_) | Self::Double(_),
                Self::Int(_) | Self::Uint(_) | Self::Double(_),
            ) => self.compare_numbers(other) == Some(Ordering::Equal),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::List(a), Self::List(b)) => return equal_lists(a, b),
            (Self::Map(a), Self::Map(b)) => a.equal(b),
            (Self::Optional(Some(a)), Self::Optional(Some(b))) => return a.equal_method(b),
            (Self::Optional(a), Self::Optional(b)) => a.is_none() && b.is_none(),
            (Self::Quantity { amount: a, .. }, Self::Quantity { amount: b, computed: false }) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr { .. }, Self::Cidr { .. }) => {
                matches!((self, other), (Self::Cidr { address: a, bits: x }, Self::Cidr { address: b, bits: y })
                    if a == b && x == y)
            }
            (Self::Url(a), Self::Url(b)) => a.to_string() == b.to_string(),
            (Self::Format(a), Self::Format(b)) => a == b,
            (
                Self::Quantity { .. }
                | Self::Semver(_)
                | Self::Ip(_)
                | Self::Cidr { .. }
                | Self::Url(_)
                | Self::Format(_),
                _,
            ) => return Err(Fault::no_overload()),
            _ => false,
        })
    }

    /// Equality without the rule for null on the right-hand side.
    pub(super) fn equal_method(&self, other: &Self) -> Result<bool, Fault> {
        match (self, other) {
            (
                Self::Quantity { .. }
                | Self::Semver(_)
                | Self::Ip(_)
                | Self::Cidr { .. }
                | Self::Url(_)
                | Self::Format(_),
                Self::Null,
            ) => Err(Fault::no_overload()),
            _ => self.equal(other),
        }
    }

    /// The order of two numbers of any types; none for NaN and for what is no number.
    fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Uint(a), Self::Uint(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Uint(a), Self::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Double(a), Self::Int(b)) => {
                compare_double(*a, i64::MIN as f64, i64::MAX as f64, *b as f64)
            }
            (Self::Double(a), Self::Uint(b)) => compare_double(*a, 0.0, u64::MAX as f64, *b as f64),
            (Self::Int(_) | Self::Uint(_), Self::Double(_)) => {
                other.compare_numbers(self).map(Ordering::reverse)
            }
            _ => None,
        }
    }

    /// The order of two values that have one.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, Fault> {
        let number = |value: &Self| matches!(value, Self::Int(_) | Self::Uint(_) | Self::Double(_));
        let nan = |value: &Self| matches!(value, Self::Double(v) if v.is_nan());
        if number(self) {
            if nan(self) || nan(other) {
                return Err(Fault::new("NaN values cannot be ordered"));
            }
            return self.compare_numbers(other).ok_or_else(Fault::no_overload);
        }
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Ok(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Ok(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Ok(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Ok(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Ok(a.cmp(b)),
            _ => Err(Fault::no_overload()),
        }
    }

    /// What is in an optional when something is selected of it. Upstream passes the plain Go value on; for some types
    /// that is one that it cannot read back.
    pub(super) fn unwrapped(&self) -> Outcome {
        let plain = match self {
            Self::Optional(None) => return Ok(Self::Null),
            Self::Optional(Some(value)) => return value.unwrapped(),
            Self::Map(map) => return Ok(Self::Map(map.plain())),
            Self::Quantity { .. } => "*resource.Quantity",
            Self::Semver(_) => "semver.Version",
            Self::Ip(_) => "netip.Addr",
            Self::Cidr { .. } => "netip.Prefix",
            Self::Url(_) => "*url.URL",
            other => return Ok(other.clone()),
        };
        Err(Fault::new(format!("unsupported conversion to ref.Val: ({plain}){}", super::text::shown(self))))
    }

    /// Whether the type has an order.
    pub(super) fn is_comparable(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::Int(_)
                | Self::Uint(_)
                | Self::Double(_)
                | Self::String(_)
                | Self::Bytes(_)
                | Self::Duration(_)
                | Self::Timestamp(_)
        )
    }

    /// Whether `optional.ofNonZeroValue` makes nothing of it.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => value.abs() <= 0.0,
            Self::String(value) => value.is_empty(),
            Self::Bytes(value) => value.is_empty(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Duration(value) => *value == 0,
            Self::Timestamp(value) => value.is_go_zero(),
            _ => false,
        }
    }
}

fn compare_double(a: f64, lowest: f64, highest: f64, b: f64) -> Option<Ordering> {
    if a < lowest {
        Some(Ordering::Less)
    } else if a > highest {
        Some(Ordering::Greater)
    } else {
        a.partial_cmp(&b)
    }
}

/// Only in joined lists does an error of an element count.
fn equal_lists(a: &List, b: &List) -> Result<bool, Fault> {
    if a.len() != b.len() {
        return Ok(false);
    }
    let mut fault = None;
    for (x, y) in a.iter().zip(b.iter()) {
        match x.equal(&y) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    match fault.filter(|_| a.is_joined()) {
        Some(fault) => Err(fault),
        None => Ok(true),
    }
}
