//! Changes to objects that plugins want at the API server.
//!
//! Upstream's plugins call the client themselves, in PreBind and in PostFilter. Here a write is an effect of the
//! core, done by the driver, and its outcome comes back as an input.

use crate::api::Object;

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteVerb {
    /// POST of a new object. A name that ends with `-` is a prefix (`generateName`).
    Create,
    /// PUT of the whole object; a resourceVersion in it is a precondition.
    Update,
    /// PUT of the status; a resourceVersion in it is a precondition.
    UpdateStatus,
    /// PATCH of the fields of the status that the object has set.
    PatchStatus,
    /// DELETE of the object; a uid in it is a precondition.
    Delete,
}

impl WriteVerb {
    /// The verb as audit logs and RBAC rules spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update | Self::UpdateStatus => "update",
            Self::PatchStatus => "patch",
            Self::Delete => "delete",
        }
    }
}

/// A change to one object.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiWrite {
    /// How it is written.
    pub verb: WriteVerb,
    /// The object as it is to be.
    pub object: Object,
}

/// Why a deed failed, as far as the scheduler acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApiFailureReason {
    /// The object is not there (any more).
    NotFound,
    /// The object has changed, or is bound already.
    Conflict,
    /// Anything else.
    Other,
}

/// The answer of the API to a deed that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiFailure {
    /// What the scheduler acts on.
    pub reason: ApiFailureReason,
    /// The server's words.
    pub message: String,
}

/// What came of a write: the object as the server has it now (as it was last, if it was deleted).
pub type WriteResult = Result<Object, ApiFailure>;
