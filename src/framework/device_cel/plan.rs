//! From a checked tree to what is evaluated.
//!
//! Follows cel-go's `interpreter/planner.go` with the optimizations that Kubernetes switches on: constant lists, maps
//! and conversions are computed once, `in` with a constant list is a look-up, constant regular expressions are
//! compiled. They matter beyond speed: they change what an evaluation costs, and constant errors are found here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checker::{Checked, Reference};
use super::declarations::{FUNCTIONS, Overload};
use super::deep::deep;
use super::functions::{self, Native};
use super::map::{Entries, Map};
use super::regex::Regex;
use super::syntax::ast::{Comprehension, Expr, ExprKind, Literal, operator};
use super::text::go_type;
use super::types::Type;
use super::value::{Fault, Value};

/// A place for a variable during evaluation.
pub(super) type Slot = usize;

/// What is evaluated.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) root: Node,
    /// By slot: the initial value of an accumulator, which is computed when it is first asked for.
    pub(super) inits: Vec<Option<Node>>,
}

/// A step of an evaluation.
#[derive(Debug)]
pub(super) enum Node {
    Constant(Value),
    Attribute(Box<Attribute>),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    Call(Box<Call>),
    /// `value in [constants]`.
    Among(Box<Self>, Value),
    List(Vec<(Self, bool)>),
    Map(Vec<(Self, Self, bool)>),
    Fold(Box<Fold>),
    /// `a.or(b)` of optionals.
    OptionalOr(Box<[Self; 2]>),
    /// `a.orValue(b)`.
    OptionalOrValue(Box<[Self; 2]>),
    /// `accumulator + list` where nobody else sees the accumulator.
    Append(Slot, Box<Self>),
    /// `cel.@mapInsert(accumulator, ..)` where nobody else sees the accumulator.
    Insert(Slot, Vec<Self>),
}

/// A variable or other value with what is selected of it.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) base: Base,
    pub(super) qualifiers: Vec<Qualifier>,
    /// `has(..)`.
    pub(super) test_only: bool,
}

/// What is selected from.
#[derive(Debug)]
pub(super) enum Base {
    Device,
    Variable(Slot),
    Value(Node),
    Conditional(Box<Conditional>),
}

/// `condition ? yes : no`. What is selected of it is selected of both.
#[derive(Debug)]
pub(super) struct Conditional {
    pub(super) condition: Node,
    pub(super) yes: Attribute,
    pub(super) no: Attribute,
}

/// A field or an index.
#[derive(Clone, Debug)]
pub(super) struct Qualifier {
    pub(super) key: QualifierKey,
    pub(super) optional: bool,
    pub(super) test_only: bool,
}

/// By what is selected. Shared, because both sides of a conditional have the same.
#[derive(Clone, Debug)]
pub(super) enum QualifierKey {
    Constant(Value),
    Attribute(Arc<Attribute>),
    Value(Arc<Node>),
}

/// A call of a function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: String,
    /// The overload, where only one can be meant.
    pub(super) overload: Option<&'static str>,
    pub(super) args: Vec<Node>,
    pub(super) dispatch: Dispatch,
    /// Whether the first argument that fails ends the call; else the others are evaluated still.
    pub(super) stops_early: bool,
}

/// How the implementation of a function is found.
#[derive(Debug)]
pub(super) enum Dispatch {
    /// One implementation that looks at its arguments itself.
    Singleton(Native),
    /// One overload; the arguments are compared with its types unless `guards` is off.
    One {
        overload: &'static Overload,
        native: Option<Native>,
        guards: bool,
    },
    /// Any overload that fits.
    Any(&'static [Overload]),
    NotStrictlyFalse,
    /// `matches`, `find` and `findAll` with a constant pattern.
    Regex(Regex),
}

/// A fold.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) range: Node,
    pub(super) accumulator: Slot,
    pub(super) variable: Slot,
    pub(super) second_variable: Option<Slot>,
    pub(super) condition: Node,
    pub(super) step: Node,
    pub(super) result: Node,
}

/// Makes the plan of an expression, or says why it cannot be made.
pub(super) fn plan(root: &Expr, checked: &Checked) -> Result<Plan, String> {
    let mut planner = Planner { checked, scopes: Vec::new(), inits: Vec::new(), owned: BTreeMap::new() };
    let root = planner.node(root)?;
    Ok(Plan { root, inits: planner.inits })
}

struct Planner<'a> {
    checked: &'a Checked,
    scopes: Vec<(String, Slot)>,
    inits: Vec<Option<Node>>,
    /// Accumulators that begin as an empty list or map: only their fold sees them.
    owned: BTreeMap<Slot, ()>,
}

type Planned = Result<Node, String>;

impl Attribute {
    fn new(base: Base) -> Self {
        Self { base, qualifiers: Vec::new(), test_only: false }
    }

    fn of(node: Node) -> Self {
        match node {
            Node::Attribute(attribute) => *attribute,
            other => Self::new(Base::Value(other)),
        }
    }

    fn qualify(&mut self, qualifier: Qualifier) {
        match &mut self.base {
            Base::Conditional(conditional) => {
                conditional.yes.qualify(qualifier.clone());
                conditional.no.qualify(qualifier);
            }
            _ => self.qualifiers.push(qualifier),
        }
    }
}

impl Planner<'_> {
    fn node(&mut self, expr: &Expr) -> Planned {
        deep(|| self.kind(expr))
    }

    fn kind(&mut self, expr: &Expr) -> Planned {
        match &expr.kind {
            ExprKind::Broken => Err("unsupported expr".to_owned()),
            ExprKind::Literal(literal) => Ok(Node::Constant(constant(literal))),
            ExprKind::Ident(_) => self.reference(expr).unwrap_or_else(|| Err("unresolved name".to_owned())),
            ExprKind::Select { operand, field, test_only } => self.select(expr, operand, field, *test_only),
            ExprKind::Call { target, args, .. } => self.call(expr, target.as_deref(), args),
            ExprKind::List(elements) => {
                let planned: Result<Vec<(Node, bool)>, String> =
                    elements.iter().map(|e| Ok((self.node(&e.value)?, e.optional))).collect();
                Ok(fold_list(planned?))
            }
            ExprKind::Map(entries) => {
                let planned: Result<Vec<(Node, Node, bool)>, String> = entries
                    .iter()
                    .map(|e| Ok((self.node(&e.key)?, self.node(&e.value)?, e.optional)))
                    .collect();
                Ok(fold_map(planned?))
            }
            ExprKind::Struct { name, .. } => Err(format!("unknown type: {name}")),
            ExprKind::Comprehension(fold) => self.fold(fold),
        }
    }

    /// What a name means, if the checker found that the node is one.
    fn reference(&self, expr: &Expr) -> Option<Planned> {
        match self.checked.references.get(expr.id)?.as_ref()? {
            Reference::Variable(name) if matches!(self.checked.types.get(expr.id), Some(Type::Type(_))) => {
                // Upstream takes a variable that holds a type for the name of one.
                Some(Err(format!("reference to undefined type: {name}")))
            }
            Reference::Variable(name) => {
                let slot = self.scopes.iter().rev().find(|(known, _)| known == name).map(|(_, slot)| *slot);
                let base = slot.map_or(Base::Device, Base::Variable);
                Some(Ok(Node::Attribute(Box::new(Attribute::new(base)))))
            }
            Reference::TypeName(name) => Some(Ok(Node::Constant(Value::Type(name.as_str().into())))),
            Reference::Function { .. } => None,
        }
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, test_only: bool) -> Planned {
        if let Some(reference) = self.reference(expr) {
            return reference;
        }
        let mut attribute = Attribute::of(self.node(operand)?);
        let key = QualifierKey::Constant(Value::string(field));
        attribute.qualify(Qualifier { key, optional: false, test_only });
        attribute.test_only |= test_only;
        Ok(Node::Attribute(Box::new(attribute)))
    }

    fn index(&mut self, operand: &Expr, index: &Expr, optional: bool) -> Planned {
        let mut attribute = Attribute::of(self.node(operand)?);
        let key = match self.node(index)? {
            Node::Constant(value) => {
                if !can_select(&value) {
                    return Err(format!("invalid qualifier type: {}", go_type(&value)));
                }
                QualifierKey::Constant(value)
            }
            Node::Attribute(index) => QualifierKey::Attribute(Arc::from(index)),
            other => QualifierKey::Value(Arc::new(other)),
        };
        attribute.qualify(Qualifier { key, optional, test_only: false });
        Ok(Node::Attribute(Box::new(attribute)))
    }

    fn pair(&mut self, args: &[Expr]) -> Result<Box<[Node; 2]>, String> {
        match args {
            [a, b] => Ok(Box::new([self.node(a)?, self.node(b)?])),
            _ => Err("wrong number of arguments".to_owned()),
        }
    }

    fn call(&mut self, expr: &Expr, target: Option<&Expr>, args: &[Expr]) -> Planned {
        let Some(Some(Reference::Function { name, overloads, qualified })) =
            self.checked.references.get(expr.id)
        else {
            return Err("unresolved function".to_owned());
        };
        let (name, overloads, qualified) = (name.clone(), overloads.clone(), *qualified);
        match (name.as_str(), args) {
            (operator::AND, _) => return Ok(Node::And(self.pair(args)?)),
            (operator::OR, _) => return Ok(Node::Or(self.pair(args)?)),
            (operator::CONDITIONAL, [condition, yes, no]) => {
                let condition = self.node(condition)?;
                let yes = Attribute::of(self.node(yes)?);
                let no = Attribute::of(self.node(no)?);
                let base = Base::Conditional(Box::new(Conditional { condition, yes, no }));
                return Ok(Node::Attribute(Box::new(Attribute::new(base))));
            }
            (operator::INDEX, [operand, index]) => return self.index(operand, index, false),
            (operator::OPTIONAL_INDEX | operator::OPTIONAL_SELECT, [operand, index]) => {
                return self.index(operand, index, true);
            }
            _ => {}
        }
        let target = target.filter(|_| !qualified);
        let nodes: Result<Vec<Node>, String> =
            target.into_iter().chain(args).map(|arg| self.node(arg)).collect();
        let nodes = nodes?;
        let overload = match overloads.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        self.planned_call(name, overload, nodes)
    }

    fn planned_call(&mut self, name: String, overload: Option<&'static str>, args: Vec<Node>) -> Planned {
        match (name.as_str(), overload) {
            ("or", None | Some("optional_or_optional")) if args.len() == 2 => {
                return Ok(Node::OptionalOr(exactly_two(args)?));
            }
            ("orValue", None | Some("optional_orValue_value")) if args.len() == 2 => {
                return Ok(Node::OptionalOrValue(exactly_two(args)?));
            }
            (operator::IN, Some("in_list")) => {
                if let Some(Node::Constant(Value::List(list))) = args.last() {
                    if list.len() == 0 {
                        return Ok(Node::Constant(Value::Bool(false)));
                    }
                    if list.iter().all(|element| is_set_member(&element)) {
                        let [value, Node::Constant(list)] = *exactly_two(args)? else {
                            return Err("unexpected list".to_owned());
                        };
                        return Ok(Node::Among(Box::new(value), list));
                    }
                }
            }
            (operator::ADD | operator::MAP_INSERT, _) => {
                if let Some(slot) = args.first().and_then(|arg| self.owned_slot(arg)) {
                    let mut rest = args.into_iter().skip(1);
                    if name == operator::MAP_INSERT {
                        return Ok(Node::Insert(slot, rest.collect()));
                    }
                    return match rest.next() {
                        Some(added) => Ok(Node::Append(slot, Box::new(added))),
                        None => Err("wrong number of arguments".to_owned()),
                    };
                }
            }
            _ => {}
        }
        self.plain_call(name, overload, args)
    }

    fn plain_call(&self, name: String, overload: Option<&'static str>, args: Vec<Node>) -> Planned {
        if matches!(name.as_str(), "matches" | "find" | "findAll")
            && let Some(Node::Constant(Value::String(pattern))) = args.get(1)
        {
            let regex = Regex::new(pattern)?;
            let call =
                Call { function: name, overload, args, dispatch: Dispatch::Regex(regex), stops_early: true };
            return Ok(Node::Call(Box::new(call)));
        }
        let overloads: &'static [Overload] =
            FUNCTIONS.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let one = overload.and_then(|id| overloads.iter().find(|o| o.id == id));
        let (dispatch, stops_early) = if name == operator::NOT_STRICTLY_FALSE {
            (Dispatch::NotStrictlyFalse, false)
        } else if let Some(native) = functions::singleton(&name) {
            (Dispatch::Singleton(native), args.len() > 2)
        } else if let Some(overload) = one.or(overloads.first().filter(|_| overloads.len() == 1)) {
            let native = functions::native(overload.id);
            let guards = !matches!(name.as_str(), "contains" | "startsWith" | "endsWith" | "flatten");
            let early = args.len() > 2 || matches!(name.as_str(), "format" | operator::MAP_INSERT);
            (Dispatch::One { overload, native, guards }, early)
        } else {
            (Dispatch::Any(overloads), true)
        };
        let call = Call { function: name, overload, args, dispatch, stops_early };
        if is_conversion(&call.function)
            && let [Node::Constant(arg)] = call.args.as_slice()
        {
            return match invoke(&call, std::slice::from_ref(arg)) {
                Ok(value) => Ok(Node::Constant(value)),
                Err(Fault::Error(text)) => Err(text.to_string()),
                Err(Fault::Fatal(fatal)) => Err(fatal.to_string()),
            };
        }
        Ok(Node::Call(Box::new(call)))
    }

    /// The slot of an accumulator that may be changed in place, if the node is one.
    fn owned_slot(&self, node: &Node) -> Option<Slot> {
        match node {
            Node::Attribute(attribute) if attribute.qualifiers.is_empty() => match attribute.base {
                Base::Variable(slot) => self.owned.contains_key(&slot).then_some(slot),
                _ => None,
            },
            _ => None,
        }
    }

    fn slot(&mut self) -> Slot {
        self.inits.push(None);
        self.inits.len() - 1
    }

    fn fold(&mut self, fold: &Comprehension) -> Planned {
        let init = self.node(&fold.init)?;
        let range = self.node(&fold.range)?;
        let accumulator = self.slot();
        let variable = self.slot();
        let second_variable = fold.second_variable.as_ref().map(|_| self.slot());
        let hidden = fold.accumulator.starts_with('@');
        let empty = matches!(&init, Node::Constant(Value::List(list)) if list.len() == 0)
            || matches!(&init, Node::Constant(Value::Map(map)) if map.len() == 0);
        if let Some(slot) = self.inits.get_mut(accumulator) {
            *slot = Some(init);
        }
        if hidden && empty {
            self.owned.insert(accumulator, ());
        }
        let outer = self.scopes.len();
        self.scopes.push((fold.accumulator.clone(), accumulator));
        self.scopes.push((fold.variable.clone(), variable));
        if let (Some(name), Some(slot)) = (&fold.second_variable, second_variable) {
            self.scopes.push((name.clone(), slot));
        }
        let condition = self.node(&fold.condition)?;
        let step = self.node(&fold.step)?;
        self.scopes.truncate(outer + 1);
        let result = self.node(&fold.result)?;
        self.scopes.truncate(outer);
        let fold = Fold { range, accumulator, variable, second_variable, condition, step, result };
        Ok(Node::Fold(Box::new(fold)))
    }
}

fn exactly_two(args: Vec<Node>) -> Result<Box<[Node; 2]>, String> {
    <[Node; 2]>::try_from(args).map(Box::new).map_err(|_| "wrong number of arguments".to_owned())
}

/// The value of a literal.
pub(super) fn constant(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Uint(value) => Value::Uint(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(value) => Value::String(value.clone()),
        Literal::Bytes(value) => Value::Bytes(value.clone()),
    }
}

fn fold_list(elements: Vec<(Node, bool)>) -> Node {
    let constants: Option<Vec<Value>> = elements
        .iter()
        .map(|(node, optional)| match node {
            Node::Constant(value) if !optional => Some(value.clone()),
            _ => None,
        })
        .collect();
    constants.map_or(Node::List(elements), |values| Node::Constant(Value::list(values)))
}

fn fold_map(entries: Vec<(Node, Node, bool)>) -> Node {
    let mut folded = Entries::default();
    for (key, value, optional) in &entries {
        match (key, value) {
            (Node::Constant(key), Node::Constant(value)) if !optional => {
                folded.put(key.clone(), value.clone())
            }
            _ => return Node::Map(entries),
        }
    }
    Node::Constant(Value::Map(Map::new(folded)))
}

/// Whether a constant list of such values is looked up as a set.
fn is_set_member(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
}

/// Whether a value can be a key or an index.
pub(super) fn can_select(key: &Value) -> bool {
    matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
}

fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}

/// Calls a function with values.
pub(super) fn invoke(call: &Call, args: &[Value]) -> Result<Value, Fault> {
    match &call.dispatch {
        Dispatch::Singleton(native) => native(args),
        Dispatch::NotStrictlyFalse => Ok(match args {
            [Value::Bool(value)] => Value::Bool(*value),
            _ => Value::Bool(true),
        }),
        Dispatch::Regex(regex) => functions::with_regex(&call.function, regex, args),
        Dispatch::One { overload, native, guards } => match native {
            Some(native) if !guards || functions::fits(overload, args) => native(args),
            _ => Err(no_such_overload(&call.function, args)),
        },
        Dispatch::Any(overloads) => {
            let fitting = overloads.iter().filter(|overload| functions::fits(overload, args));
            match fitting.filter_map(|overload| functions::native(overload.id)).next() {
                Some(native) => native(args),
                None => Err(no_such_overload(&call.function, args)),
            }
        }
    }
}

fn no_such_overload(function: &str, args: &[Value]) -> Fault {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    Fault::new(format!("no such overload: {function}({})", types.join(", ")))
}
