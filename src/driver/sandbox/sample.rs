//! The embedded sample cluster.

use crate::api::manifest::Source;

/// The sample as a manifest.
pub fn source() -> Source {
    Source { name: "sample".to_owned(), text: include_str!("sample.yaml").to_owned() }
}
