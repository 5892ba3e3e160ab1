//! What is refused of an expression whose types are right.
//!
//! The validators of Kubernetes' CEL environment: literals of durations, times and regular expressions that cannot be
//! read, lists and maps of mixed types, and `format` with arguments that do not fit its text.

use super::checker::Checked;
use super::declarations::FUNCTIONS;
use super::deep::deep;
use super::functions::{check_format, fits, native};
use super::plan::constant;
use super::regex::Regex;
use super::syntax::ast::{Expr, ExprKind, Id, Literal};
use super::syntax::source::{Issue, Place};
use super::types::Type;
use super::value::Value;

/// Everything that is refused.
pub(super) fn validate(root: &Expr, checked: &Checked, places: &[Place]) -> Vec<Issue> {
    let mut validator = Validator { checked, places, issues: Vec::new() };
    let mut nodes = Vec::new();
    collect(root, false, &mut nodes);
    for function in ["duration", "timestamp", "matches"] {
        for (expr, _) in &nodes {
            validator.literal_argument(expr, function);
        }
    }
    for (expr, in_format) in &nodes {
        if !in_format {
            validator.list(expr);
        }
    }
    for (expr, in_format) in &nodes {
        if !in_format {
            validator.map(expr);
        }
    }
    for (expr, _) in &nodes {
        validator.format(expr);
    }
    validator.issues
}

/// All nodes, and whether they stand in a call of `format`.
fn collect<'a>(expr: &'a Expr, in_format: bool, nodes: &mut Vec<(&'a Expr, bool)>) {
    nodes.push((expr, in_format));
    let in_format =
        in_format || matches!(&expr.kind, ExprKind::Call { function, .. } if function == "format");
    for child in expr.children() {
        deep(|| collect(child, in_format, nodes));
    }
}

/// Whether a conversion takes a value.
fn converts(function: &str, arg: Value) -> bool {
    let args = [arg];
    let mut fitting = FUNCTIONS.get(function).into_iter().flatten().filter(|overload| fits(overload, &args));
    fitting.next().and_then(|overload| native(overload.id)).is_some_and(|convert| convert(&args).is_ok())
}

struct Validator<'a> {
    checked: &'a Checked,
    places: &'a [Place],
    issues: Vec<Issue>,
}

impl Validator<'_> {
    fn report(&mut self, id: Id, message: String) {
        let place = self.places.get(id).copied().flatten();
        self.issues.push(Issue { place, message });
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.checked.types.get(expr.id).cloned().unwrap_or(Type::Dyn)
    }

    fn literal_argument(&mut self, expr: &Expr, wanted: &str) {
        let ExprKind::Call { function, args, .. } = &expr.kind else { return };
        let Some(arg) = args.first().filter(|_| function == wanted) else { return };
        let ExprKind::Literal(literal) = &arg.kind else { return };
        let good = match (wanted, literal) {
            ("matches", Literal::String(pattern)) => Regex::new(pattern).is_ok(),
            ("matches", _) => true,
            _ => converts(wanted, constant(literal)),
        };
        if !good {
            self.report(arg.id, format!("invalid {wanted} argument"));
        }
    }

    fn compare(&mut self, id: Id, expected: &Type, actual: &Type) -> bool {
        let same = expected.is_equivalent(actual);
        if !same {
            self.report(id, format!("expected type '{expected}' but found '{actual}'"));
        }
        same
    }

    fn list(&mut self, expr: &Expr) {
        let ExprKind::List(elements) = &expr.kind else { return };
        let mut expected: Option<Type> = None;
        for element in elements {
            let of = self.type_of(&element.value);
            let of = if element.optional { of.unwrap_optional().0 } else { of };
            match &expected {
                None => expected = Some(of),
                Some(expected) => {
                    if !self.compare(element.value.id, &expected.clone(), &of) {
                        break;
                    }
                }
            }
        }
    }

    fn map(&mut self, expr: &Expr) {
        let ExprKind::Map(entries) = &expr.kind else { return };
        let mut expected: Option<(Type, Type)> = None;
        for entry in entries {
            let key = self.type_of(&entry.key);
            let value = self.type_of(&entry.value);
            let value = if entry.optional { value.unwrap_optional().0 } else { value };
            match expected.clone() {
                None => expected = Some((key, value)),
                Some((expected_key, expected_value)) => {
                    self.compare(entry.key.id, &expected_key, &key);
                    self.compare(entry.value.id, &expected_value, &value);
                }
            }
        }
    }

    fn format(&mut self, expr: &Expr) {
        let ExprKind::Call { target: Some(target), function, args } = &expr.kind else { return };
        let [list] = args.as_slice() else { return };
        if let (ExprKind::Literal(Literal::String(pattern)), ExprKind::List(elements), "format") =
            (&target.kind, &list.kind, function.as_str())
        {
            let args: Vec<&Expr> = elements.iter().map(|element| &element.value).collect();
            if let Some((id, message)) = check_format(expr.id, pattern, &args, self.checked) {
                self.report(id, message);
            }
        }
    }
}
