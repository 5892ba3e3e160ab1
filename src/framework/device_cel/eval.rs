//! The evaluation of a plan for one device.
//!
//! Follows cel-go's `interpreter/interpretable.go` and `interpreter/attributes.go`, and counts the cost of every step
//! as `interpreter/runtimecost.go` does.

use std::sync::Arc;

use super::cost;
use super::deep::deep;
use super::device::Inner;
use super::map::{Entries, Map};
use super::plan::{
    Attribute, Base, Call, Fold, Node, Plan, Qualifier, QualifierKey, Slot, can_select, invoke,
};
use super::text::shown;
use super::value::{Fatal, Fault, Outcome, Value};

/// Evaluates a plan; gives the result and what it cost.
pub(super) fn evaluate(plan: &Plan, device: &Arc<Inner>, limit: u64) -> (Outcome, u64) {
    let mut run = Run { plan, device, slots: vec![None; plan.inits.len()], cost: 0, limit };
    let outcome = run.eval(&plan.root);
    (outcome, run.cost)
}

struct Run<'p> {
    plan: &'p Plan,
    device: &'p Arc<Inner>,
    slots: Vec<Option<Outcome>>,
    cost: u64,
    limit: u64,
}

impl Run<'_> {
    fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::Fatal(Fatal::CostLimit)) } else { Ok(()) }
    }

    fn eval(&mut self, node: &Node) -> Outcome {
        if let Node::Constant(value) = node {
            return Ok(value.clone());
        }
        deep(|| self.step_of(node))
    }

    fn step_of(&mut self, node: &Node) -> Outcome {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Call(call) => self.call(call),
            Node::Among(value, list) => self.among(value, list),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::OptionalOr(terms) => self.optional_or(terms, false),
            Node::OptionalOrValue(terms) => self.optional_or(terms, true),
            Node::Append(slot, added) => self.append(*slot, added),
            Node::Insert(slot, args) => self.insert(*slot, args),
        }
    }

    /// `&&` (`decisive` false) and `||` (`decisive` true): a term that decides wins over errors of the others.
    fn logical(&mut self, terms: &[Node; 2], decisive: bool) -> Outcome {
        let mut fault = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => fault = fault.or_else(|| Some(Fault::no_overload())),
                Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn optional_or(&mut self, terms: &[Node; 2], unwrap: bool) -> Outcome {
        let [first, second] = terms;
        match self.eval(first)? {
            Value::Optional(None) => self.eval(second),
            Value::Optional(Some(value)) if unwrap => Ok((*value).clone()),
            other => Ok(other),
        }
    }

    fn among(&mut self, value: &Node, list: &Value) -> Outcome {
        let value = self.eval(value)?;
        if matches!(value, Value::Semver(_) | Value::Bytes(_) | Value::Format(_)) {
            return Err(Fault::Fatal(Fatal::Unhashable(super::text::go_type(&value))));
        }
        let found = match list {
            Value::List(list) => list.contains(&value),
            _ => false,
        };
        Ok(Value::Bool(found))
    }

    fn list(&mut self, elements: &[(Node, bool)]) -> Outcome {
        let mut fault = None;
        let mut values = Vec::with_capacity(elements.len());
        for (node, optional) in elements {
            match self.eval(node) {
                Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
                Err(error) => fault = Some(error),
                Ok(Value::Optional(value)) if *optional => values.extend(value.map(|v| (*v).clone())),
                Ok(value) if *optional => {
                    let text = shown(&value);
                    fault = Some(Fault::new(format!(
                        "cannot initialize optional list element from non-optional value {text}"
                    )));
                }
                Ok(value) => values.push(value),
            }
            if fault.is_some() {
                break;
            }
        }
        self.charge(cost::LIST_CREATE)?;
        fault.map_or(Ok(Value::list(values)), Err)
    }

    fn map(&mut self, entries: &[(Node, Node, bool)]) -> Outcome {
        let mut made = Entries::default();
        let mut fault = None;
        for (key, value, optional) in entries {
            match self.entry(&mut made, key, value, *optional) {
                Ok(()) => {}
                Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
        self.charge(cost::MAP_CREATE)?;
        fault.map_or_else(|| Ok(Value::Map(Map::new(made))), Err)
    }

    fn entry(&mut self, made: &mut Entries, key: &Node, value: &Node, optional: bool) -> Result<(), Fault> {
        let key = self.eval(key)?;
        let value = self.eval(value)?;
        match value {
            Value::Optional(Some(value)) if optional => made.put(key, (*value).clone()),
            Value::Optional(None) if optional => made.remove(&key),
            value if optional => {
                let (key, value) = (shown(&key), shown(&value));
                return Err(Fault::new(format!(
                    "cannot initialize optional entry '{key}' from non-optional value {value}"
                )));
            }
            value => made.put(key, value),
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Outcome {
        let mut args = Vec::with_capacity(call.args.len());
        let mut fault = None;
        let strict = !matches!(call.dispatch, super::plan::Dispatch::NotStrictlyFalse);
        for (index, arg) in call.args.iter().enumerate() {
            match self.eval(arg) {
                Ok(value) => args.push(value),
                Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
                Err(error) => {
                    if strict {
                        // A call whose arguments were not all evaluated costs nothing.
                        if call.stops_early && index + 1 < call.args.len() {
                            return Err(error);
                        }
                        fault = fault.or(Some(error));
                    }
                    // What stands for the error has the size that an error has.
                    args.push(Value::Null);
                }
            }
        }
        if call.overload == Some("list_distinct") {
            self.needs_list(&args, fault.is_some())?;
        }
        let outcome = match fault {
            Some(fault) => Err(fault),
            None if cost::too_heavy(&call.function, &args) => return Err(Fault::Fatal(Fatal::CostLimit)),
            None => invoke(call, &args),
        };
        self.charge(cost::of_call(&call.function, call.overload, &args, &outcome))?;
        outcome
    }

    /// Ends the evaluation where upstream's cost counter takes something else for a list.
    fn needs_list(&self, args: &[Value], failed: bool) -> Result<(), Fault> {
        let no_list = |of, method| Err(Fault::Fatal(Fatal::NoList(of, method)));
        match args.first() {
            _ if failed => no_list("*types.Err", "Add"),
            Some(Value::List(_)) | None => Ok(()),
            Some(value) => {
                let adds = matches!(
                    value,
                    Value::Int(_)
                        | Value::Uint(_)
                        | Value::Double(_)
                        | Value::String(_)
                        | Value::Bytes(_)
                        | Value::Duration(_)
                        | Value::Timestamp(_)
                );
                no_list(super::text::go_type(value), if adds { "Contains" } else { "Add" })
            }
        }
    }

    /// The value of a variable.
    fn read(&mut self, slot: Slot) -> Outcome {
        if let Some(Some(outcome)) = self.slots.get(slot) {
            return outcome.clone();
        }
        let outcome = match self.plan.inits.get(slot) {
            Some(Some(init)) => self.eval(init),
            _ => Err(Fault::new("no such attribute(s)")),
        };
        if matches!(outcome, Err(Fault::Fatal(_))) {
            return outcome;
        }
        self.write(slot, Some(outcome.clone()));
        outcome
    }

    fn write(&mut self, slot: Slot, outcome: Option<Outcome>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = outcome;
        }
    }

    fn take(&mut self, slot: Slot) -> Outcome {
        // Makes sure that there is something to take.
        self.read(slot)?;
        self.slots.get_mut(slot).and_then(Option::take).unwrap_or_else(|| Err(Fault::no_overload()))
    }

    fn append(&mut self, slot: Slot, added: &Node) -> Outcome {
        let known = self.read(slot).map(|_| ());
        self.charge(1)?;
        let added = self.eval(added);
        if matches!(added, Err(Fault::Fatal(_))) {
            return added;
        }
        self.charge(1)?;
        known?;
        match (added?, self.take(slot)?) {
            (Value::List(added), Value::List(list)) => {
                if list.len().saturating_add(added.len()) > cost::MAX_ELEMENTS {
                    return Err(Fault::Fatal(Fatal::CostLimit));
                }
                Ok(Value::List(list.extend(&added)))
            }
            _ => Err(Fault::no_overload()),
        }
    }

    fn insert(&mut self, slot: Slot, args: &[Node]) -> Outcome {
        let known = self.read(slot).map(|_| ());
        self.charge(1)?;
        let stops_early = args.len() > 1;
        if stops_early {
            known.clone()?;
        }
        let mut values = Vec::with_capacity(args.len());
        let mut fault = None;
        for arg in args {
            match self.eval(arg) {
                Ok(value) => values.push(value),
                Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
                Err(error) if stops_early => return Err(error),
                Err(error) => fault = Some(error),
            }
        }
        self.charge(1)?;
        known?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let Value::Map(mut map) = self.take(slot)? else { return Err(Fault::no_overload()) };
        let added = match values.as_slice() {
            [Value::Map(added)] => added.entries(),
            [key, value] => vec![(key.clone(), value.clone())],
            _ => return Err(Fault::no_overload()),
        };
        for (key, value) in added {
            let name = shown(&key);
            map = map
                .inserted(key, value)
                .ok_or_else(|| Fault::new(format!("insert failed: key {name} already exists")))?;
        }
        Ok(Value::Map(map))
    }

    fn fold(&mut self, fold: &Fold) -> Outcome {
        let range = self.eval(&fold.range)?;
        self.write(fold.accumulator, None);
        match (&range, fold.second_variable) {
            (Value::List(list), second) => {
                for (index, value) in list.iter().enumerate() {
                    match second {
                        Some(second) => {
                            let index = i64::try_from(index).unwrap_or(i64::MAX);
                            self.write(fold.variable, Some(Ok(Value::Int(index))));
                            self.write(second, Some(Ok(value)));
                        }
                        None => self.write(fold.variable, Some(Ok(value))),
                    }
                    if !self.step(fold)? {
                        break;
                    }
                }
            }
            (Value::Map(map), second) => {
                for key in map.keys() {
                    if let Some(second) = second {
                        self.write(second, map.find(&key).map(Ok));
                    }
                    self.write(fold.variable, Some(Ok(key)));
                    if !self.step(fold)? {
                        break;
                    }
                }
            }
            (other, Some(_)) => {
                let of = super::text::go_type(other);
                return Err(Fault::new(format!("unsupported comprehension range type: {of}")));
            }
            (other, None) => {
                let of = super::text::go_type(other);
                return Err(Fault::new(format!("got '{of}', expected iterable type")));
            }
        }
        self.eval(&fold.result)
    }

    /// One step of a fold; false when its condition ends it.
    fn step(&mut self, fold: &Fold) -> Result<bool, Fault> {
        match self.eval(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(fatal @ Fault::Fatal(_)) => return Err(fatal),
            _ => {}
        }
        let outcome = self.eval(&fold.step);
        if let Err(fatal @ Fault::Fatal(_)) = outcome {
            return Err(fatal);
        }
        self.write(fold.accumulator, Some(outcome));
        Ok(true)
    }

    fn attribute(&mut self, attribute: &Attribute) -> Outcome {
        let outcome = self.resolve(attribute);
        if matches!(outcome, Err(Fault::Fatal(_))) {
            return outcome;
        }
        let conditional = matches!(attribute.base, Base::Conditional(_));
        match (conditional, attribute.test_only) {
            (false, false) => self.charge(1)?,
            (true, true) => self.cost = self.cost.saturating_sub(1),
            _ => {}
        }
        match outcome? {
            Value::Optional(value) if attribute.test_only => Ok(Value::Bool(value.is_some())),
            value => Ok(value),
        }
    }

    /// The value of an attribute without the cost of naming it.
    fn resolve(&mut self, attribute: &Attribute) -> Outcome {
        let base = match &attribute.base {
            Base::Device => Value::device(self.device),
            Base::Variable(slot) => self.read(*slot)?,
            Base::Value(node) => self.eval(node)?,
            Base::Conditional(conditional) => {
                return match self.eval(&conditional.condition)? {
                    Value::Bool(true) => deep(|| self.resolve(&conditional.yes)),
                    Value::Bool(false) => deep(|| self.resolve(&conditional.no)),
                    _ => Err(Fault::no_overload()),
                };
            }
        };
        if attribute.qualifiers.is_empty() {
            return Ok(base);
        }
        let (mut value, mut optional) = match base {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => (value.unwrapped(), true),
            other => (Ok(other), false),
        };
        for qualifier in &attribute.qualifiers {
            optional |= qualifier.optional;
            match self.qualify(qualifier, &value, optional)? {
                Some(found) => value = Ok(found),
                None => return Ok(Value::Optional(None)),
            }
        }
        if optional { value.map(Value::some) } else { value }
    }

    /// What a qualifier selects; nothing where that is missing and may be.
    fn qualify(
        &mut self,
        qualifier: &Qualifier,
        of: &Outcome,
        optional: bool,
    ) -> Result<Option<Value>, Fault> {
        let found = match &qualifier.key {
            QualifierKey::Constant(key) if qualifier.test_only => {
                let found = lookup(of, key, true);
                match found {
                    Ok(found) if optional => Ok(found.map(|_| Value::Bool(true))),
                    Ok(found) => Ok(Some(Value::Bool(found.is_some()))),
                    Err(error) => Err(error),
                }
            }
            QualifierKey::Constant(key) => lookup(of, key, optional),
            QualifierKey::Attribute(key) => {
                self.resolve(key).and_then(|key| usable(&key).and_then(|()| lookup(of, &key, optional)))
            }
            QualifierKey::Value(key) => {
                self.eval(key).and_then(|key| usable(&key).and_then(|()| lookup(of, &key, optional)))
            }
        };
        if matches!(found, Err(Fault::Fatal(_))) {
            return found;
        }
        if !optional || matches!(found, Ok(Some(_))) {
            self.charge(1)?;
        }
        found
    }
}

/// Whether a value may select.
fn usable(key: &Value) -> Result<(), Fault> {
    if can_select(key) {
        return Ok(());
    }
    Err(Fault::new(format!("invalid qualifier type: {}", super::text::go_type(key))))
}

/// The value of a key or index.
fn lookup(of: &Outcome, key: &Value, missing_is_good: bool) -> Result<Option<Value>, Fault> {
    let missing = |what: &str| {
        if missing_is_good { Ok(None) } else { Err(Fault::new(format!("{what}: {}", shown(key)))) }
    };
    match of.as_ref().map_err(Clone::clone)? {
        Value::Map(map) => map.find(key).map_or_else(|| missing("no such key"), |value| Ok(Some(value))),
        Value::List(list) => {
            let index = super::functions::index_of(key)?;
            let found = usize::try_from(index).ok().and_then(|index| list.get(index));
            found.map_or_else(|| missing("index out of bounds"), |value| Ok(Some(value)))
        }
        _ => missing("no such key"),
    }
}
