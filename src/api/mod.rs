//! What the scheduler knows of Kubernetes objects, and the small value types that everything else is made of.
//!
//! Objects are slim: only the fields that a scheduler reads are kept, quantities and times are parsed once when
//! an object comes in, and an object that is in the program is immutable behind an `Arc`. No I/O happens here.

pub mod digest;
pub mod field;
pub mod hidden;
pub mod key;
pub mod label;
pub mod manifest;
pub mod node_selector;
pub mod objects;
pub mod quantity;
pub mod rng;
pub mod selector;
pub mod store;
pub mod time;
pub mod workloads;

pub use digest::{Digest, Digestible};
pub use key::{NamespacedName, Str, Uid};
pub use quantity::Quantity;
pub use rng::Rng;
pub use selector::Selector;
pub use store::{Kind, Object, ObjectStore, OfKind};
pub use time::{Duration, Time};
