//! What a device selector sees of a device: its driver, attributes and capacities, prepared once for many selectors.
//!
//! Follows `Device` and `getAttributeValue` of `k8s.io/dynamic-resource-allocation/cel`. A name without a domain
//! belongs to the domain of the driver.

use std::sync::Arc;

use super::EvalError;
use super::semver::Version;
use crate::api::{Quantity, Str};

/// One attribute of a device, as the API has it. Where an API object sets several values at once, the caller picks
/// the first that is set in the order of the variants here, lists before single values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `ints` (gate `DRAListTypeAttributes`).
    Ints(Vec<i64>),
    /// `bools` (gate `DRAListTypeAttributes`).
    Bools(Vec<bool>),
    /// `strings` (gate `DRAListTypeAttributes`).
    Strings(Vec<Str>),
    /// `versions` (gate `DRAListTypeAttributes`), not parsed yet.
    Versions(Vec<Str>),
    /// `int`.
    Int(i64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    String(Str),
    /// `version`, not parsed yet.
    Version(Str),
    /// No value that this version knows: every selector fails on such a device.
    Unset,
}

/// An attribute as selectors see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Prepared {
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Strings(Vec<Str>),
    Versions(Vec<Arc<Version>>),
    Int(i64),
    Bool(bool),
    String(Str),
    Version(Arc<Version>),
}

/// Values by name within one domain, sorted by name.
pub(super) type Domain<T> = Vec<(Str, T)>;
/// Domains by their name, sorted.
pub(super) type Domains<T> = Vec<(Str, Domain<T>)>;

/// A device, prepared for selectors: names are split into domain and name, versions are parsed. Make it once per
/// device and keep it; a selector then reads it without making anything of its own.
#[derive(Clone, Debug)]
pub struct Device(Arc<Inner>);

/// What a device holds.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) driver: Str,
    pub(super) allow_multiple_allocations: bool,
    pub(super) attributes: Domains<Prepared>,
    pub(super) capacity: Domains<Quantity>,
    /// The first attribute that no selector can read.
    pub(super) broken: Option<(Str, EvalError)>,
    /// The first attribute with a list, which a selector without the list feature cannot read.
    pub(super) first_list: Option<(Str, EvalError)>,
}

impl Device {
    /// Prepares a device of `driver`. Names are `domain/name` or `name`; of two values for the same name the last one
    /// counts. `allow_multiple_allocations` is false where the API object does not set it.
    pub fn new<'a>(
        driver: impl Into<Str>,
        attributes: impl IntoIterator<Item = (&'a str, Attribute)>,
        capacity: impl IntoIterator<Item = (&'a str, Quantity)>,
        allow_multiple_allocations: Option<bool>,
    ) -> Self {
        let driver = driver.into();
        let mut broken: Option<(Str, EvalError)> = None;
        let mut first_list: Option<(Str, EvalError)> = None;
        let mut prepared = Vec::new();
        for (name, attribute) in attributes {
            if matches!(
                attribute,
                Attribute::Ints(_) | Attribute::Bools(_) | Attribute::Strings(_) | Attribute::Versions(_)
            ) {
                note(&mut first_list, name, UNSUPPORTED);
            }
            match prepare(attribute) {
                Ok(value) => {
                    let (domain, id) = split_name(name, &driver);
                    prepared.push((domain, id, value));
                }
                Err(reason) => note(&mut broken, name, &reason),
            }
        }
        let capacity = capacity.into_iter().map(|(name, quantity)| {
            let (domain, id) = split_name(name, &driver);
            (domain, id, quantity)
        });
        let capacity = by_domain(capacity.collect());
        Self(Arc::new(Inner {
            driver,
            allow_multiple_allocations: allow_multiple_allocations.unwrap_or(false),
            attributes: by_domain(prepared),
            capacity,
            broken,
            first_list,
        }))
    }

    /// The name of the driver.
    pub fn driver(&self) -> &str {
        &self.0.driver
    }

    /// What the device holds.
    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    /// Why no selector can read this device, if so. Upstream goes through the attributes in a random order; here the
    /// first by name is told.
    pub(super) fn unreadable(&self, lists: bool) -> Option<&EvalError> {
        let list = self.0.first_list.as_ref().filter(|_| !lists);
        match (&self.0.broken, list) {
            (Some(broken), Some(list)) => Some(if broken.0 <= list.0 { &broken.1 } else { &list.1 }),
            (broken, list) => broken.as_ref().or(list).map(|(_, error)| error),
        }
    }
}

const UNSUPPORTED: &str = "unsupported attribute value";

fn note(first: &mut Option<(Str, EvalError)>, name: &str, reason: &str) {
    if first.as_ref().is_none_or(|(known, _)| name < &**known) {
        *first = Some((name.into(), EvalError::new(format!("attribute {name}: {reason}"))));
    }
}

fn prepare(attribute: Attribute) -> Result<Prepared, String> {
    let version = |text: &str| {
        Version::parse(text).map(Arc::new).map_err(|error| format!("parse semantic version: {error}"))
    };
    Ok(match attribute {
        Attribute::Ints(values) => Prepared::Ints(values),
        Attribute::Bools(values) => Prepared::Bools(values),
        Attribute::Strings(values) => Prepared::Strings(values),
        Attribute::Versions(values) => {
            Prepared::Versions(values.iter().map(|text| version(text)).collect::<Result<_, _>>()?)
        }
        Attribute::Int(value) => Prepared::Int(value),
        Attribute::Bool(value) => Prepared::Bool(value),
        Attribute::String(value) => Prepared::String(value),
        Attribute::Version(text) => Prepared::Version(version(&text)?),
        Attribute::Unset => return Err(UNSUPPORTED.to_owned()),
    })
}

fn split_name(name: &str, driver: &Str) -> (Str, Str) {
    match name.split_once('/') {
        Some((domain, id)) => (domain.into(), id.into()),
        None => (driver.clone(), name.into()),
    }
}

fn by_domain<T>(mut values: Vec<(Str, Str, T)>) -> Domains<T> {
    // A stable sort, so that of equal names the last one stays last and replaces the others.
    values.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut domains: Domains<T> = Vec::new();
    for (domain, id, value) in values {
        if domains.last().is_none_or(|(last, _)| *last != domain) {
            domains.push((domain, Vec::new()));
        }
        if let Some((_, entries)) = domains.last_mut() {
            match entries.last_mut() {
                Some(last) if last.0 == id => last.1 = value,
                _ => entries.push((id, value)),
            }
        }
    }
    domains
}
