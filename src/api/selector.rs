//! Label and node selectors, parsed once and matched often.
//!
//! Follows `k8s.io/apimachinery/pkg/labels` and `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.

use super::objects::{LabelSelector, Labels};

/// A parsed label selector.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selector {
    raw: LabelSelector,
}

impl Selector {
    /// Whether the labels satisfy the selector.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.raw.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}
