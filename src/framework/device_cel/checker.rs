//! The type check of an expression.
//!
//! Follows cel-go's `checker/checker.go` for the environment of device selectors: one variable `device`, literals of
//! numbers of different types comparable. It finds for every node its type,
//! and for every call the overloads that can be meant.

use super::Features;
use super::declarations::{FUNCTIONS, Overload};
use super::deep::deep;
use super::syntax::ast::{Comprehension, Element, Entry, Expr, ExprKind, Field, Id, Literal, operator};
use super::syntax::source::{Issue, Place};
use super::types::{self, Inference, Type, most_general};

/// What a node refers to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reference {
    /// A variable by its full name.
    Variable(String),
    /// A type as a value.
    TypeName(String),
    /// A function by its full name, with the overloads that may be meant; whether the target of the call is part of
    /// the function's name.
    Function { name: String, overloads: Vec<&'static str>, qualified: bool },
}

/// What the check found out, by node.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) types: Vec<Type>,
    pub(super) references: Vec<Option<Reference>>,
}

/// Checks an expression with these places of nodes.
pub(super) fn check(root: &Expr, places: &[Place], features: Features) -> Result<Checked, Vec<Issue>> {
    let mut checker = Checker {
        places,
        features,
        types: vec![Type::Error; places.len()],
        references: vec![None; places.len()],
        scopes: Vec::new(),
        inference: Inference::default(),
        issues: Vec::new(),
    };
    checker.check(root);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let types = checker.types.iter().map(|t| checker.inference.substitute(t, true)).collect();
    Ok(Checked { types, references: checker.references })
}

struct Checker<'a> {
    places: &'a [Place],
    features: Features,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    scopes: Vec<(String, Type)>,
    inference: Inference,
    issues: Vec<Issue>,
}

/// A name with dots, if the expression is one.
pub(super) fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Ident(name) => Some(name.clone()),
        ExprKind::Select { operand, field, test_only: false } => {
            Some(format!("{}.{field}", qualified_name(operand)?))
        }
        _ => None,
    }
}

impl Checker<'_> {
    fn report(&mut self, id: Id, message: String) {
        let place = self.places.get(id).copied().flatten();
        self.issues.push(Issue { place, message });
    }

    fn undeclared(&mut self, id: Id, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
    }

    fn mismatch(&mut self, id: Id, expected: &Type, actual: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{actual}'"));
    }

    fn set(&mut self, id: Id, of: Type) {
        if let Some(slot) = self.types.get_mut(id) {
            *slot = of;
        }
    }

    fn refer(&mut self, id: Id, reference: Reference) {
        if let Some(slot) = self.references.get_mut(id) {
            *slot = Some(reference);
        }
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types.get(expr.id).cloned().unwrap_or(Type::Error)
    }

    fn check(&mut self, expr: &Expr) {
        deep(|| self.check_node(expr));
    }

    fn check_node(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Broken => {}
            ExprKind::Literal(literal) => self.set(expr.id, literal_type(literal)),
            ExprKind::Ident(name) => {
                if !self.resolve(expr.id, name) {
                    self.set(expr.id, Type::Error);
                    self.undeclared(expr.id, name);
                }
            }
            ExprKind::Select { operand, field, test_only } => {
                self.check_select(expr, operand, field, *test_only);
            }
            ExprKind::Call { target, function, args } => {
                self.check_call(expr, target.as_deref(), function, args);
            }
            ExprKind::List(elements) => self.check_list(expr.id, elements),
            ExprKind::Map(entries) => self.check_map(expr.id, entries),
            ExprKind::Struct { name, fields } => self.check_struct(expr.id, name, fields),
            ExprKind::Comprehension(fold) => self.check_fold(expr.id, fold),
        }
    }

    /// Notes what variable or type a name means; false if none.
    fn resolve(&mut self, id: Id, name: &str) -> bool {
        let name = name.strip_prefix('.').unwrap_or(name);
        let local = self.scopes.iter().rev().find(|(known, _)| known == name);
        if let Some((_, of)) = local {
            let of = of.clone();
            self.set(id, of);
            self.refer(id, Reference::Variable(name.to_owned()));
            return true;
        }
        if name == "device" {
            self.set(id, Type::Struct(types::DEVICE));
            self.refer(id, Reference::Variable(name.to_owned()));
            return true;
        }
        let Some(of) = self.named_type(name) else { return false };
        self.set(id, Type::Type(Some(of.into())));
        self.refer(id, Reference::TypeName(name.to_owned()));
        true
    }

    /// The type that a name means as a value.
    fn named_type(&mut self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "google.protobuf.Any" => Type::Any,
            "int" => Type::Int,
            "list" => Type::list(Type::Param('A')),
            "map" => Type::map(Type::Param('A'), Type::Param('B')),
            "null_type" => Type::Null,
            "string" => Type::String,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            types::OPTIONAL => Type::Opaque(types::OPTIONAL, [].into()),
            types::IP => Type::Opaque(types::IP, [].into()),
            types::CIDR => Type::Opaque(types::CIDR, [].into()),
            types::DEVICE => Type::Struct(types::DEVICE),
            _ => return None,
        })
    }

    fn check_select(&mut self, expr: &Expr, operand: &Expr, field: &str, test_only: bool) {
        if let Some(name) = qualified_name(expr)
            && self.resolve(expr.id, &name)
        {
            return;
        }
        let result = self.check_field(expr.id, operand, field, false);
        let result = if test_only { Type::Bool } else { result };
        let result = self.inference.substitute(&result, false);
        self.set(expr.id, result);
    }

    fn check_field(&mut self, id: Id, operand: &Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.inference.substitute(&self.type_of(operand), false);
        let (target, is_optional) = operand_type.unwrap_optional();
        let result = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Struct(name) => self.field_type(id, name, field).unwrap_or(Type::Error),
            Type::Var(_) => {
                self.inference.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            _ => {
                if !target.is_dyn_or_error() {
                    self.report(id, format!("type '{target}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if is_optional || optional { Type::optional(result) } else { result }
    }

    fn field_type(&mut self, id: Id, object: &str, field: &str) -> Option<Type> {
        if object != types::DEVICE {
            let known = self.named_type(object).is_some();
            self.report(
                id,
                match known {
                    true => format!("undefined field '{field}'"),
                    false => format!("unexpected failed resolution of '{object}'"),
                },
            );
            return None;
        }
        let attribute = if self.features.list_type_attributes { Type::Dyn } else { Type::Any };
        let by_name = |value| Type::map(Type::String, Type::map(Type::String, value));
        match field {
            "driver" => Some(Type::String),
            "attributes" => Some(by_name(attribute)),
            "capacity" => Some(by_name(Type::Struct(types::QUANTITY))),
            "allowMultipleAllocations" => Some(Type::Bool),
            _ => {
                self.report(id, format!("undefined field '{field}'"));
                None
            }
        }
    }

    fn check_call(&mut self, expr: &Expr, target: Option<&Expr>, function: &str, args: &[Expr]) {
        if function == operator::OPTIONAL_SELECT
            && target.is_none()
            && let [operand, field] = args
            && let ExprKind::Literal(Literal::String(name)) = &field.kind
        {
            let result = self.check_field(expr.id, operand, name, true);
            let result = self.inference.substitute(&result, false);
            self.set(expr.id, result);
            let overloads = vec!["select_optional_field"];
            let name = function.to_owned();
            self.refer(expr.id, Reference::Function { name, overloads, qualified: false });
            return;
        }
        for arg in args {
            self.check(arg);
        }
        let Some(target) = target else {
            let name = function.strip_prefix('.').unwrap_or(function);
            match overloads_of(name) {
                Some(overloads) => self.resolve_overload(expr.id, name, overloads, None, args, false),
                None => {
                    self.undeclared(expr.id, function);
                    self.set(expr.id, Type::Error);
                }
            }
            return;
        };
        if let Some(prefix) = qualified_name(target) {
            let full = format!("{prefix}.{function}");
            let name = full.strip_prefix('.').unwrap_or(&full);
            if let Some(overloads) = overloads_of(name) {
                self.resolve_overload(expr.id, name, overloads, None, args, true);
                return;
            }
        }
        self.check(target);
        match overloads_of(function) {
            Some(overloads) => {
                self.resolve_overload(expr.id, function, overloads, Some(target), args, false);
            }
            None => {
                self.set(expr.id, Type::Error);
                self.undeclared(expr.id, function);
            }
        }
    }

    fn resolve_overload(
        &mut self,
        id: Id,
        name: &str,
        overloads: &'static [Overload],
        target: Option<&Expr>,
        args: &[Expr],
        qualified: bool,
    ) {
        let arg_types: Vec<Type> = target.into_iter().chain(args).map(|arg| self.type_of(arg)).collect();
        if matches!(name, operator::AND | operator::OR) {
            let mut good = true;
            for (arg, of) in args.iter().zip(&arg_types) {
                if !self.inference.assign(of, &Type::Bool) {
                    self.mismatch(arg.id, &Type::Bool, of);
                    good = false;
                }
            }
            let overloads = overloads.iter().map(|overload| overload.id).collect();
            let name = name.to_owned();
            self.refer(id, Reference::Function { name, overloads, qualified });
            self.set(id, if good { Type::Bool } else { Type::Error });
            return;
        }
        let mut result: Option<Type> = None;
        let mut found = Vec::new();
        for overload in overloads.iter().filter(|overload| overload.member == target.is_some()) {
            let fresh: Vec<(char, Type)> =
                overload.parameters.iter().map(|letter| (*letter, self.inference.fresh())).collect();
            let candidates: Vec<Type> = overload.args.iter().map(|arg| instantiate(arg, &fresh)).collect();
            if !self.inference.assign_all(&arg_types, &candidates) {
                continue;
            }
            found.push(overload.id);
            let of = self.inference.substitute(&instantiate(&overload.result, &fresh), false);
            result = Some(match result {
                None => of,
                Some(first) if first.is_dyn() || first == of => first,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let shown: Vec<String> =
                arg_types.iter().map(|t| self.inference.substitute(t, true).to_string()).collect();
            let signature = match (target, shown.split_first()) {
                (Some(_), Some((target, args))) => format!("{target}.({})", args.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            self.report(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
            self.set(id, Type::Error);
            return;
        };
        self.set(id, result);
        let name = name.to_owned();
        self.refer(id, Reference::Function { name, overloads: found, qualified });
    }

    /// The type of a value that may be left out: what is in the optional.
    fn optional_value(&mut self, value: &Expr) -> Type {
        let (of, is_optional) = self.type_of(value).unwrap_optional();
        if !is_optional && !of.is_dyn() {
            self.mismatch(value.id, &Type::optional(of.clone()), &of);
        }
        of
    }

    /// The type of elements of both types. Mixed literals are refused later, by the validators.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        match previous {
            None => current,
            Some(previous) if self.inference.assign(&previous, &current) => most_general(&previous, &current),
            Some(_) => Type::Dyn,
        }
    }

    fn check_list(&mut self, id: Id, elements: &[Element]) {
        let mut of: Option<Type> = None;
        for element in elements {
            self.check(&element.value);
            let current = if element.optional {
                self.optional_value(&element.value)
            } else {
                self.type_of(&element.value)
            };
            of = Some(self.join(of, current));
        }
        let of = of.unwrap_or_else(|| self.inference.fresh());
        self.set(id, Type::list(of));
    }

    fn check_map(&mut self, id: Id, entries: &[Entry]) {
        let (mut key, mut value): (Option<Type>, Option<Type>) = (None, None);
        for entry in entries {
            self.check(&entry.key);
            key = Some(self.join(key, self.type_of(&entry.key)));
            self.check(&entry.value);
            let current =
                if entry.optional { self.optional_value(&entry.value) } else { self.type_of(&entry.value) };
            value = Some(self.join(value, current));
        }
        let key = key.unwrap_or_else(|| self.inference.fresh());
        let value = value.unwrap_or_else(|| self.inference.fresh());
        self.set(id, Type::map(key, value));
    }

    fn check_struct(&mut self, id: Id, name: &str, fields: &[Field]) {
        let name = name.strip_prefix('.').unwrap_or(name);
        let resolved = self.named_type(name);
        let of = match &resolved {
            None => {
                self.undeclared(id, name);
                self.set(id, Type::Error);
                return;
            }
            Some(Type::Struct(_)) => resolved.clone(),
            Some(other) => {
                self.report(id, format!("'{}' is not a message type", other.name()));
                None
            }
        };
        self.set(id, of.unwrap_or(Type::Error));
        for field in fields {
            self.check(&field.value);
            let declared = self.field_type(field.id, name, &field.name).unwrap_or(Type::Error);
            let value =
                if field.optional { self.optional_value(&field.value) } else { self.type_of(&field.value) };
            if !self.inference.assign(&declared, &value) {
                let message = format!(
                    "expected type of field '{}' is '{declared}' but provided type is '{value}'",
                    field.name
                );
                self.report(field.id, message);
            }
        }
    }

    fn check_fold(&mut self, id: Id, fold: &Comprehension) {
        self.check(&fold.range);
        self.check(&fold.init);
        let range = self.inference.substitute(&self.type_of(&fold.range), false);
        let accumulator = self.type_of(&fold.init);
        let outer = self.scopes.len();
        self.scopes.push((fold.accumulator.clone(), accumulator.clone()));
        let (first, second) = match &range {
            Type::List(of) if fold.second_variable.is_some() => (Type::Int, (**of).clone()),
            Type::List(of) => ((**of).clone(), Type::Error),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.inference.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(fold.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second_variable {
            self.scopes.push((name.clone(), second));
        }
        self.check(&fold.condition);
        self.assert(&fold.condition, &Type::Bool);
        self.check(&fold.step);
        self.assert(&fold.step, &accumulator);
        self.scopes.truncate(outer + 1);
        self.check(&fold.result);
        self.scopes.truncate(outer);
        let result = self.inference.substitute(&self.type_of(&fold.result), false);
        self.set(id, result);
    }

    fn assert(&mut self, expr: &Expr, expected: &Type) {
        let actual = self.type_of(expr);
        if !self.inference.assign(expected, &actual) {
            self.mismatch(expr.id, expected, &actual);
        }
    }
}

fn overloads_of(name: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(name).map(Vec::as_slice)
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The type with parameters put in.
fn instantiate(of: &Type, parameters: &[(char, Type)]) -> Type {
    match of {
        Type::Param(letter) => {
            let known = parameters.iter().find(|(name, _)| name == letter);
            known.map_or_else(|| of.clone(), |(_, to)| to.clone())
        }
        Type::List(element) => Type::list(instantiate(element, parameters)),
        Type::Map(key, value) => Type::map(instantiate(key, parameters), instantiate(value, parameters)),
        Type::Type(Some(of)) => Type::Type(Some(instantiate(of, parameters).into())),
        Type::Opaque(name, of) => Type::Opaque(name, of.iter().map(|t| instantiate(t, parameters)).collect()),
        other => other.clone(),
    }
}
