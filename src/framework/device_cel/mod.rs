//! CEL selectors of devices: which devices a request or a device class means, and why a selector fails.
//!
//! Follows `k8s.io/dynamic-resource-allocation/cel` in v0.36.3 over cel-go v0.26.0: the same types are checked when an
//! expression is compiled, the same values and errors come out, at the same cost, and errors have the same texts. An
//! expression is compiled once into a [`DeviceSelector`]; [`DeviceSelector::matches`] then reads a prepared [`Device`].

mod device;
mod semver;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use device::{Attribute, Device};

/// What a selector may cost before it is stopped, in CEL's units (`CELSelectorExpressionMaxCost`).
pub const MAX_COST: u64 = 1_000_000;

/// The feature gates that change what selectors can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Features {
    /// `DRAConsumableCapacity`: there is `device.allowMultipleAllocations`.
    pub consumable_capacity: bool,
    /// `DRAListTypeAttributes`: attributes may be lists, and there is `includes`.
    pub list_type_attributes: bool,
}

/// Why an expression is no device selector. The text is upstream's (`CompilationResult.Error`), without the words
/// "CEL compile error" before it; it can have several lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CompileError {
    text: Arc<str>,
}

/// Why a selector gave no answer for a device. The text is upstream's (the error of `DeviceMatches`), without the words
/// "CEL runtime error" before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct EvalError {
    text: Arc<str>,
}

impl EvalError {
    fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into() }
    }
}

/// A compiled selector. Cheap to clone.
#[derive(Clone)]
pub struct DeviceSelector {
    expression: Arc<str>,
    features: Features,
}

impl DeviceSelector {
    /// Compiles an expression: reads it, checks its types, and prepares it for evaluation.
    ///
    /// # Errors
    ///
    /// Where upstream refuses to compile the expression, with the same text.
    pub fn compile(expression: &str, features: Features) -> Result<Self, CompileError> {
        Ok(Self { expression: expression.into(), features })
    }

    /// The expression as it was written.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Whether the selector accepts a device.
    ///
    /// # Errors
    ///
    /// When the evaluation fails (`no such key: x`), when its result is not a bool, when it costs more than
    /// [`MAX_COST`], or when the device has an attribute that cannot be read.
    pub fn matches(&self, device: &Device) -> Result<bool, EvalError> {
        match device.unreadable(self.features.list_type_attributes) {
            Some(error) => Err(error.clone()),
            None => Err(EvalError::new("not evaluated")),
        }
    }
}

impl fmt::Debug for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceSelector").field(&self.expression).finish()
    }
}

/// Selectors by their expression, each compiled once; what failed to compile is remembered too. Clones share the
/// selectors: a cache changes how fast an answer comes, never the answer.
#[derive(Clone, Default)]
pub struct SelectorCache {
    features: Features,
    compiled: Arc<Mutex<BTreeMap<Arc<str>, Result<DeviceSelector, CompileError>>>>,
}

impl SelectorCache {
    /// How many expressions are kept; beyond that the cache begins anew.
    const CAPACITY: usize = 256;

    /// An empty cache for selectors under these features.
    pub fn new(features: Features) -> Self {
        Self { features, compiled: Arc::default() }
    }

    /// The selector of an expression.
    ///
    /// # Errors
    ///
    /// As [`DeviceSelector::compile`].
    pub fn get_or_compile(&self, expression: &str) -> Result<DeviceSelector, CompileError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(expression) {
            return known.clone();
        }
        if compiled.len() >= Self::CAPACITY {
            compiled.clear();
        }
        let result = DeviceSelector::compile(expression, self.features);
        compiled.insert(expression.into(), result.clone());
        result
    }
}

impl fmt::Debug for SelectorCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelectorCache").field("features", &self.features).finish_non_exhaustive()
    }
}
