//! Macros: calls that stand for folds and tests.
//!
//! Those of cel-go's standard (`has`, `all`, `exists`, `exists_one`, `map`, `filter`), of optional values (`optMap`,
//! `optFlatMap`), of two-variable comprehensions, `sortBy`, and `cel.bind`.

use super::super::deep::deep;
use super::ast::{Comprehension, Element, Entry, Expr, ExprKind, Field, Id, Literal, operator};
use super::parser::Parser;
use super::source::Issue;

/// The name of the hidden accumulator, which no expression can use.
const ACCUMULATOR: &str = "@result";
/// What it was called in older versions; still not allowed for variables.
const OLD_ACCUMULATOR: &str = "__result__";
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// How many nodes an expression may have once its macros are expanded. `optMap` doubles what it is called on.
// DIVERGES: kube-scheduler expands macros of device selectors until memory is used up. Here there is a limit.
const MAX_NODES: usize = 200_000;

/// How many nodes there are.
fn size(expr: &Expr) -> usize {
    1 + expr.children().into_iter().map(|child| deep(|| size(child))).sum::<usize>()
}

type Expanded = Result<Expr, Issue>;

/// Makes nodes at the place of the call that is expanded.
struct Maker<'p, 'a> {
    parser: &'p mut Parser<'a>,
    call: Id,
}

impl Parser<'_> {
    /// The call, or what the macro of this name and shape makes of it.
    pub(super) fn expand(
        &mut self,
        id: Id,
        function: String,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Expanded {
        let mut maker = Maker { parser: self, call: id };
        match (function.as_str(), target, args.len()) {
            ("has", None, 1) => maker.has(args),
            ("all" | "exists" | "exists_one", Some(target), 2) => maker.quantifier(&function, target, args),
            ("all" | "exists" | "exists_one" | "existsOne", Some(target), 3) => {
                maker.quantifier_two(&function, target, args)
            }
            ("map", Some(target), 2 | 3) => maker.map(target, args),
            ("filter", Some(target), 2) => maker.filter(target, args),
            ("optMap" | "optFlatMap", Some(target), 2) => maker.optional_map(&function, target, args),
            ("transformList" | "transformMap" | "transformMapEntry", Some(target), 3 | 4) => {
                maker.transform(&function, target, args)
            }
            ("sortBy", Some(target), 2) => maker.sort_by(target, args),
            ("bind", Some(target), 3) if matches!(&target.kind, ExprKind::Ident(name) if name == "cel") => {
                maker.bind(args)
            }
            (_, target, _) => {
                let target = target.map(Box::new);
                Ok(Expr { id, kind: ExprKind::Call { target, function, args } })
            }
        }
    }
}

impl Maker<'_, '_> {
    fn make(&mut self, kind: ExprKind) -> Expr {
        let place = self.parser.place(self.call);
        Expr { id: self.parser.new_id(place), kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.make(ExprKind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.make(ExprKind::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.make(ExprKind::Call { target: None, function: function.to_owned(), args })
    }

    fn member(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let target = Some(Box::new(target));
        self.make(ExprKind::Call { target, function: function.to_owned(), args })
    }

    fn list(&mut self, value: Option<Expr>) -> Expr {
        let elements = value.into_iter().map(|value| Element { value, optional: false }).collect();
        self.make(ExprKind::List(elements))
    }

    fn fold(&mut self, fold: Comprehension) -> Expr {
        self.make(ExprKind::Comprehension(Box::new(fold)))
    }

    fn issue(&self, id: Id, message: impl Into<String>) -> Issue {
        Issue { place: self.parser.place(id), message: message.into() }
    }

    /// The name of a variable that a macro declares.
    fn variable(&self, expr: &Expr, not_a_name: &str) -> Result<String, Issue> {
        match &expr.kind {
            ExprKind::Ident(name) if name == ACCUMULATOR || name == OLD_ACCUMULATOR => {
                Err(self.issue(expr.id, "iteration variable overwrites accumulator variable"))
            }
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err(self.issue(expr.id, not_a_name)),
        }
    }

    fn simple_name(&self, expr: &Expr, not_a_name: &str) -> Result<String, Issue> {
        match &expr.kind {
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err(self.issue(expr.id, not_a_name)),
        }
    }

    fn has(&mut self, args: Vec<Expr>) -> Expanded {
        let id = args.first().map_or(self.call, |arg| arg.id);
        match args.into_iter().next().map(|arg| arg.kind) {
            Some(ExprKind::Select { operand, field, .. }) => {
                Ok(self.make(ExprKind::Select { operand, field, test_only: true }))
            }
            _ => Err(self.issue(id, "invalid argument to has() macro")),
        }
    }

    fn quantifier(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, predicate] = self.take(args)?;
        let variable = self.variable(&variable, "argument must be a simple name")?;
        Ok(self.quantified(function, range, variable, None, predicate))
    }

    fn quantifier_two(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Expanded {
        let [first, second, predicate] = self.take(args)?;
        let (first, second) = self.two_variables(&first, &second)?;
        Ok(self.quantified(function, range, first, Some(second), predicate))
    }

    fn two_variables(&self, first: &Expr, second: &Expr) -> Result<(String, String), Issue> {
        const NO_NAME: &str = "argument must be a simple name";
        let first_name = self.simple_name(first, NO_NAME)?;
        let second_name = self.simple_name(second, NO_NAME)?;
        if first_name == second_name {
            return Err(self.issue(second.id, format!("duplicate variable name: {first_name}")));
        }
        self.variable(first, NO_NAME)?;
        self.variable(second, NO_NAME)?;
        Ok((first_name, second_name))
    }

    fn quantified(
        &mut self,
        function: &str,
        range: Expr,
        variable: String,
        second_variable: Option<String>,
        predicate: Expr,
    ) -> Expr {
        let (init, condition, step, result);
        match function {
            "all" => {
                init = self.literal(Literal::Bool(true));
                let so_far = self.accumulator();
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![so_far]);
                let so_far = self.accumulator();
                step = self.call(operator::AND, vec![so_far, predicate]);
                result = self.accumulator();
            }
            "exists" => {
                init = self.literal(Literal::Bool(false));
                let so_far = self.accumulator();
                let not = self.call(operator::NOT, vec![so_far]);
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![not]);
                let so_far = self.accumulator();
                step = self.call(operator::OR, vec![so_far, predicate]);
                result = self.accumulator();
            }
            _ => {
                init = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (so_far, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let more = self.call(operator::ADD, vec![so_far, one]);
                let so_far = self.accumulator();
                step = self.call(operator::CONDITIONAL, vec![predicate, more, so_far]);
                let (so_far, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call(operator::EQUALS, vec![so_far, one]);
            }
        }
        let accumulator = ACCUMULATOR.to_owned();
        self.fold(Comprehension {
            range,
            variable,
            second_variable,
            accumulator,
            init,
            condition,
            step,
            result,
        })
    }

    fn map(&mut self, range: Expr, args: Vec<Expr>) -> Expanded {
        let mut args = args.into_iter();
        let (Some(variable), Some(second), third) = (args.next(), args.next(), args.next()) else {
            return Err(self.issue(self.call, "argument is not an identifier"));
        };
        let variable = self.variable(&variable, "argument is not an identifier")?;
        let (filter, value) = match third {
            Some(value) => (Some(second), value),
            None => (None, second),
        };
        let init = self.list(None);
        let condition = self.literal(Literal::Bool(true));
        let (so_far, element) = (self.accumulator(), self.list(Some(value)));
        let step = self.call(operator::ADD, vec![so_far, element]);
        Ok(self.filtered(range, (variable, None), init, condition, step, filter))
    }

    fn filter(&mut self, range: Expr, args: Vec<Expr>) -> Expanded {
        let [element, predicate] = self.take(args)?;
        let variable = self.variable(&element, "argument is not an identifier")?;
        let init = self.list(None);
        let condition = self.literal(Literal::Bool(true));
        let (so_far, element) = (self.accumulator(), self.list(Some(element)));
        let step = self.call(operator::ADD, vec![so_far, element]);
        Ok(self.filtered(range, (variable, None), init, condition, step, Some(predicate)))
    }

    /// A fold that takes a step where the filter, if there is one, holds.
    fn filtered(
        &mut self,
        range: Expr,
        (variable, second_variable): (String, Option<String>),
        init: Expr,
        condition: Expr,
        step: Expr,
        filter: Option<Expr>,
    ) -> Expr {
        let step = match filter {
            Some(filter) => {
                let so_far = self.accumulator();
                self.call(operator::CONDITIONAL, vec![filter, step, so_far])
            }
            None => step,
        };
        let result = self.accumulator();
        let accumulator = ACCUMULATOR.to_owned();
        self.fold(Comprehension {
            range,
            variable,
            second_variable,
            accumulator,
            init,
            condition,
            step,
            result,
        })
    }

    fn transform(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Expanded {
        let mut args = args.into_iter();
        let (Some(first), Some(second), Some(third), fourth) =
            (args.next(), args.next(), args.next(), args.next())
        else {
            return Err(self.issue(self.call, "argument must be a simple name"));
        };
        let (first, second) = self.two_variables(&first, &second)?;
        let (filter, value) = match fourth {
            Some(value) => (Some(third), value),
            None => (None, third),
        };
        let (init, step);
        match function {
            "transformList" => {
                let (so_far, element) = (self.accumulator(), self.list(Some(value)));
                step = self.call(operator::ADD, vec![so_far, element]);
                init = self.list(None);
            }
            "transformMap" => {
                let (so_far, key) = (self.accumulator(), self.ident(&first));
                step = self.call(operator::MAP_INSERT, vec![so_far, key, value]);
                init = self.make(ExprKind::Map(Vec::new()));
            }
            _ => {
                let so_far = self.accumulator();
                step = self.call(operator::MAP_INSERT, vec![so_far, value]);
                init = self.make(ExprKind::Map(Vec::new()));
            }
        }
        let condition = self.literal(Literal::Bool(true));
        Ok(self.filtered(range, (first, Some(second)), init, condition, step, filter))
    }

    fn optional_map(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, value] = self.take(args)?;
        let message = format!("{function}() variable name must be a simple identifier");
        let variable = self.simple_name(&variable, &message)?;
        if self.parser.places.len() + size(&target) > MAX_NODES {
            return Err(self.issue(self.call, "expression expands to too many nodes"));
        }
        let copy = self.copy(&target);
        let present = self.member("hasValue", target, Vec::new());
        let init = self.member("value", copy, Vec::new());
        let mut mapped = self.bound(variable, init, value);
        if function == "optMap" {
            mapped = self.call("optional.of", vec![mapped]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call(operator::CONDITIONAL, vec![present, mapped, none]))
    }

    fn bind(&mut self, args: Vec<Expr>) -> Expanded {
        let [variable, init, result] = self.take(args)?;
        let name = self.simple_name(&variable, "cel.bind() variable names must be simple identifiers")?;
        Ok(self.bound(name, init, result))
    }

    /// `result` with a variable: a fold over nothing.
    fn bound(&mut self, variable: String, init: Expr, result: Expr) -> Expr {
        let range = self.list(None);
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&variable);
        self.fold(Comprehension {
            range,
            variable: UNUSED.to_owned(),
            second_variable: None,
            accumulator: variable,
            init,
            condition,
            step,
            result,
        })
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expanded {
        if matches!(
            target.kind,
            ExprKind::Literal(_) | ExprKind::Map(_) | ExprKind::Struct { .. } | ExprKind::Broken
        ) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(self.issue(target.id, message));
        }
        let range = self.ident(SORT_INPUT);
        let keys = self.map(range, args)?;
        let input = self.ident(SORT_INPUT);
        let sorted = self.member(operator::SORT_BY_KEYS, input, vec![keys]);
        Ok(self.bound(SORT_INPUT.to_owned(), target, sorted))
    }

    /// Exactly as many arguments as the macro has.
    fn take<const N: usize>(&self, args: Vec<Expr>) -> Result<[Expr; N], Issue> {
        <[Expr; N]>::try_from(args).map_err(|_| self.issue(self.call, "wrong number of arguments"))
    }

    /// The same expression with ids of its own.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let place = self.parser.place(expr.id);
        let id = self.parser.new_id(place);
        let kind = deep(|| self.copy_kind(&expr.kind));
        Expr { id, kind }
    }

    fn copy_kind(&mut self, kind: &ExprKind) -> ExprKind {
        match kind {
            ExprKind::Broken | ExprKind::Literal(_) | ExprKind::Ident(_) => kind.clone(),
            ExprKind::Select { operand, field, test_only } => ExprKind::Select {
                operand: Box::new(self.copy(operand)),
                field: field.clone(),
                test_only: *test_only,
            },
            ExprKind::Call { target, function, args } => ExprKind::Call {
                target: target.as_ref().map(|target| Box::new(self.copy(target))),
                function: function.clone(),
                args: args.iter().map(|arg| self.copy(arg)).collect(),
            },
            ExprKind::List(elements) => {
                let copy = |element: &Element| Element {
                    value: self.copy(&element.value),
                    optional: element.optional,
                };
                ExprKind::List(elements.iter().map(copy).collect())
            }
            ExprKind::Map(entries) => {
                let copy = |entry: &Entry| Entry {
                    key: self.copy(&entry.key),
                    value: self.copy(&entry.value),
                    optional: entry.optional,
                };
                ExprKind::Map(entries.iter().map(copy).collect())
            }
            ExprKind::Struct { name, fields } => {
                let place = self.parser.place(self.call);
                let copy = |field: &Field| Field {
                    id: self.parser.new_id(place),
                    name: field.name.clone(),
                    value: self.copy(&field.value),
                    optional: field.optional,
                };
                ExprKind::Struct { name: name.clone(), fields: fields.iter().map(copy).collect() }
            }
            ExprKind::Comprehension(fold) => ExprKind::Comprehension(Box::new(Comprehension {
                range: self.copy(&fold.range),
                variable: fold.variable.clone(),
                second_variable: fold.second_variable.clone(),
                accumulator: fold.accumulator.clone(),
                init: self.copy(&fold.init),
                condition: self.copy(&fold.condition),
                step: self.copy(&fold.step),
                result: self.copy(&fold.result),
            })),
        }
    }
}
