//! What a plugin answers: a code, the reasons, and which plugin said it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The result codes of the Scheduling Framework, in upstream's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Code {
    /// The plugin ran and has no objection.
    #[default]
    Success,
    /// An internal failure: the attempt ends, the pod is retried after the error backoff.
    Error,
    /// The pod cannot run here now; preemption may help.
    Unschedulable,
    /// The pod cannot run here and preemption would not change that.
    UnschedulableAndUnresolvable,
    /// Permit: the pod waits.
    Wait,
    /// The plugin has nothing to do for this pod; its later points are not called.
    Skip,
    /// The pod waits for something outside and is filed under `PendingPlugins`.
    Pending,
}

impl Code {
    /// The code's name as upstream prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Wait => "Wait",
            Self::Skip => "Skip",
            Self::Pending => "Pending",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The answer of a plugin. Success costs nothing: it is a null pointer, as `nil` is upstream. A copy of any other
/// shares its text, so a plugin that gives the same answer for many nodes had better make it once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status(Option<Arc<Inner>>);

#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Inner {
    code: Code,
    reasons: Vec<String>,
    plugin: Cow<'static, str>,
}

impl Status {
    /// No objection.
    pub const SUCCESS: Self = Self(None);

    /// A status with one reason.
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self::with_reasons(code, vec![reason.into()])
    }

    /// A status with any number of reasons.
    pub fn with_reasons(code: Code, reasons: Vec<String>) -> Self {
        Self(Some(Arc::new(Inner { code, reasons, plugin: Cow::Borrowed("") })))
    }

    /// A status without a reason.
    pub fn bare(code: Code) -> Self {
        if code == Code::Success { Self::SUCCESS } else { Self::with_reasons(code, Vec::new()) }
    }

    /// [`Code::Unschedulable`] with one reason.
    pub fn unschedulable(reason: impl Into<String>) -> Self {
        Self::new(Code::Unschedulable, reason)
    }

    /// [`Code::UnschedulableAndUnresolvable`] with one reason.
    pub fn unresolvable(reason: impl Into<String>) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, reason)
    }

    /// [`Code::Error`] with its text (`AsStatus`).
    pub fn error(reason: impl fmt::Display) -> Self {
        Self::new(Code::Error, reason.to_string())
    }

    /// [`Code::Skip`].
    pub fn skip() -> Self {
        Self::bare(Code::Skip)
    }

    /// The same status, said by `plugin`.
    #[must_use]
    pub fn with_plugin(mut self, plugin: impl Into<Cow<'static, str>>) -> Self {
        if let Some(inner) = &mut self.0 {
            let plugin = plugin.into();
            if inner.plugin != plugin {
                Arc::make_mut(inner).plugin = plugin;
            }
        }
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.as_ref().map_or(Code::Success, |inner| inner.code)
    }

    /// The reasons, in the plugin's order.
    pub fn reasons(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |inner| &inner.reasons)
    }

    /// The plugin that said it; empty if nobody has put a name to it.
    pub fn plugin(&self) -> &str {
        self.0.as_ref().map_or("", |inner| &inner.plugin)
    }

    /// The reasons in one text (`Status.Message`).
    pub fn message(&self) -> String {
        self.reasons().join(", ")
    }

    /// Whether the two share their text, or are both successes. Never true for different statuses; equal ones that
    /// were made one by one do not share it.
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Whether the code is [`Code::Success`].
    pub fn is_success(&self) -> bool {
        self.code() == Code::Success
    }

    /// Whether the code is [`Code::Wait`].
    pub fn is_wait(&self) -> bool {
        self.code() == Code::Wait
    }

    /// Whether the code is [`Code::Skip`].
    pub fn is_skip(&self) -> bool {
        self.code() == Code::Skip
    }

    /// Whether the code is [`Code::Error`].
    pub fn is_error(&self) -> bool {
        self.code() == Code::Error
    }

    /// Whether the pod was turned down, which files it under the plugin (`Status.IsRejected`).
    pub fn is_rejected(&self) -> bool {
        matches!(self.code(), Code::Unschedulable | Code::UnschedulableAndUnresolvable | Code::Pending)
    }

    /// Adds a reason; turns a success into nothing else.
    pub fn append_reason(&mut self, reason: impl Into<String>) {
        if let Some(inner) = &mut self.0 {
            Arc::make_mut(inner).reasons.push(reason.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_the_default_and_costs_a_null_pointer() {
        assert!(Status::default().is_success());
        assert_eq!(Status::default(), Status::SUCCESS);
        assert_eq!(size_of::<Status>(), size_of::<usize>());
    }

    #[test]
    fn pending_counts_as_a_rejection_and_error_does_not() {
        assert!(Status::bare(Code::Pending).is_rejected());
        assert!(!Status::error("boom").is_rejected());
    }

    #[test]
    fn message_joins_the_reasons() {
        let status = Status::with_reasons(Code::Unschedulable, vec!["a".into(), "b".into()]).with_plugin("P");
        assert_eq!(status.message(), "a, b");
        assert_eq!(status.plugin(), "P");
    }
}
