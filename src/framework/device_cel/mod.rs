//! CEL selectors of devices: which devices a request or a device class means, and why a selector fails.
//!
//! Follows `k8s.io/dynamic-resource-allocation/cel` in v0.36.3 over cel-go v0.26.0: the same types are checked when an
//! expression is compiled, the same values and errors come out, at the same cost, and errors have the same texts. An
//! expression is compiled once into a [`DeviceSelector`]; [`DeviceSelector::matches`] then reads a prepared [`Device`].

mod checker;
mod compile;
mod cost;
mod declarations;
mod deep;
mod device;
mod eval;
mod functions;
mod map;
mod plan;
mod regex;
mod semver;
mod syntax;
mod text;
mod time;
mod types;
mod url;
mod validators;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use device::{Attribute, Device};
use value::{Fault, Value};

/// What a selector may cost before it is stopped, in CEL's units (`CELSelectorExpressionMaxCost`).
pub const MAX_COST: u64 = 1_000_000;

/// The feature gates for which upstream compiles selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Features {
    /// `DRAConsumableCapacity`. Upstream compiles stored expressions with everything that any gate brings, so
    /// `device.allowMultipleAllocations` and `includes` are there in any case and this changes nothing.
    pub consumable_capacity: bool,
    /// `DRAListTypeAttributes`: attributes may be lists.
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
    plan: Arc<plan::Plan>,
}

impl DeviceSelector {
    /// Compiles an expression: reads it, checks its types, and prepares it for evaluation.
    ///
    /// # Errors
    ///
    /// Where upstream refuses to compile the expression, with the same text.
    pub fn compile(expression: &str, features: Features) -> Result<Self, CompileError> {
        let plan =
            compile::compile(expression, features).map_err(|text| CompileError { text: text.into() })?;
        Ok(Self { expression: expression.into(), features, plan: Arc::new(plan) })
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
        self.evaluate(device).0
    }

    /// As [`Self::matches`], and what the evaluation cost.
    fn evaluate(&self, device: &Device) -> (Result<bool, EvalError>, u64) {
        if let Some(error) = device.unreadable(self.features.list_type_attributes) {
            return (Err(error.clone()), 0);
        }
        let (outcome, cost) = eval::evaluate(&self.plan, device.inner(), MAX_COST);
        let result = match outcome {
            Ok(Value::Bool(matches)) => Ok(matches),
            Ok(other) => Err(EvalError::new(text::not_a_bool(&other))),
            Err(Fault::Error(text)) => Err(EvalError::new(text)),
            Err(Fault::Fatal(fatal)) => Err(EvalError::new(fatal.to_string())),
        };
        (result, cost)
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
    compiled: Arc<Mutex<Compiled>>,
}

/// What became of expressions.
type Compiled = BTreeMap<Arc<str>, Result<DeviceSelector, CompileError>>;

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
