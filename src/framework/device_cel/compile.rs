//! From the text of a selector to its plan.
//!
//! Follows `CompileCELExpression` of `k8s.io/dynamic-resource-allocation/cel`: which errors there are, in which words,
//! and which types the result may have.

use super::Features;
use super::checker::check;
use super::plan::{Plan, plan};
use super::syntax::parse;
use super::syntax::source::Source;
use super::types::Type;
use super::validators::validate;

/// Compiles an expression, or gives upstream's error text.
pub(super) fn compile(expression: &str, features: Features) -> Result<Plan, String> {
    let source = Source::new(expression);
    let failed = |issues| format!("compilation failed: {}", source.render(issues));
    let parsed = parse(&source).map_err(failed)?;
    let checked = check(&parsed.root, &parsed.places, features).map_err(failed)?;
    let issues = validate(&parsed.root, &checked, &parsed.places);
    if !issues.is_empty() {
        return Err(failed(issues));
    }
    let result = checked.types.get(parsed.root.id).cloned().unwrap_or(Type::Error);
    let unknown = result == Type::Any || features.list_type_attributes && result == Type::Dyn;
    if result != Type::Bool && !unknown {
        let name = result.full_name();
        return Err(format!("must evaluate to bool or the unknown type, not {name}"));
    }
    plan(&parsed.root, &checked).map_err(|error| format!("program instantiation failed: {error}"))
}
