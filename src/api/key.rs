//! Names of objects.

use std::fmt;
use std::sync::Arc;

/// A shared immutable text: names occur in many places at once and are never changed.
pub type Str = Arc<str>;

/// `metadata.uid`: tells two objects apart that had the same name one after the other.
pub type Uid = Arc<str>;

/// Namespace and name of an object; the namespace is empty for objects of the cluster's scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// `metadata.namespace`.
    pub namespace: Str,
    /// `metadata.name`.
    pub name: Str,
}

impl NamespacedName {
    /// The key of an object in a namespace.
    pub fn new(namespace: impl Into<Str>, name: impl Into<Str>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object of the cluster's scope.
    pub fn cluster(name: impl Into<Str>) -> Self {
        Self { namespace: Str::from(""), name: name.into() }
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
