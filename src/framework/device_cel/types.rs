//! Types of expressions: how they are written in messages, and which ones go together.
//!
//! Follows cel-go's `common/types/types.go` and `checker/types.go`.

use std::fmt;
use std::sync::Arc;

/// A type as the checker knows it.
#[expect(clippy::enum_variant_names, reason = "the type of types is called so")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Dyn,
    Any,
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Self>),
    Map(Arc<Self>, Arc<Self>),
    /// The type of types.
    Type(Option<Arc<Self>>),
    /// A named type with parameters.
    Opaque(&'static str, Arc<[Self]>),
    /// An object with fields or functions of its own.
    Struct(&'static str),
    /// A parameter of a declaration, by its letter.
    Param(char),
    /// A type to be found out.
    Var(usize),
}

pub(super) const OPTIONAL: &str = "optional_type";
pub(super) const DEVICE: &str = "kubernetes.DRADevice";
pub(super) const QUANTITY: &str = "kubernetes.Quantity";
pub(super) const SEMVER: &str = "kubernetes.Semver";
pub(super) const URL: &str = "kubernetes.URL";
pub(super) const FORMAT: &str = "kubernetes.NamedFormat";
pub(super) const IP: &str = "net.IP";
pub(super) const CIDR: &str = "net.CIDR";

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(super) fn optional(value: Self) -> Self {
        Self::Opaque(OPTIONAL, Arc::new([value]))
    }

    /// The parameters in order.
    fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(element) => vec![element],
            Self::Map(key, value) => vec![key, value],
            Self::Type(of) => of.as_deref().into_iter().collect(),
            Self::Opaque(_, parameters) => parameters.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The name at run time, without parameters.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Dyn => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Type(_) => "type",
            Self::Opaque(name, _) | Self::Struct(name) => name,
            Self::Param(letter) => return letter.to_string(),
            Self::Var(number) => return format!("_var{number}"),
        }
        .to_owned()
    }

    /// The name with parameters, of run-time names.
    pub(super) fn full_name(&self) -> String {
        let parameters = self.parameters();
        match self {
            Self::Param(_) | Self::Var(_) => format!("<{}>", self.name()),
            _ if parameters.is_empty() => self.name(),
            _ => {
                let parameters: Vec<String> = parameters.into_iter().map(Self::full_name).collect();
                format!("{}({})", self.name(), parameters.join(", "))
            }
        }
    }

    pub(super) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    pub(super) fn is_dyn_or_error(&self) -> bool {
        self.is_dyn() || *self == Self::Error
    }

    /// The type in an optional type, and whether this was one.
    pub(super) fn unwrap_optional(&self) -> (Self, bool) {
        match self {
            Self::Opaque(OPTIONAL, parameters) => (parameters.first().cloned().unwrap_or(Self::Dyn), true),
            other => (other.clone(), false),
        }
    }

    /// Whether the types are the same but for the names of type parameters.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let same_kind = match (self, other) {
            (Self::Param(_) | Self::Var(_), Self::Param(_) | Self::Var(_)) => return true,
            (Self::Opaque(a, _), Self::Opaque(b, _)) => a == b,
            (Self::Struct(_), Self::Struct(_)) => return self == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        };
        let (a, b) = (self.parameters(), other.parameters());
        same_kind && a.len() == b.len() && a.into_iter().zip(b).all(|(a, b)| a.is_equivalent(b))
    }
}

/// As messages of the checker write types.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Any => "any".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Error => "!error!".to_owned(),
            Self::Null => "null".to_owned(),
            _ => self.name(),
        };
        f.write_str(&name)?;
        let parameters = self.parameters();
        for (i, parameter) in parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if i == 0 { "(" } else { ", " })?;
        }
        if parameters.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// What is known so far of the types that have to be found out.
#[derive(Default)]
pub(super) struct Inference {
    known: Vec<Option<Type>>,
    /// What was set since when, to take it back: number and what was known before.
    log: Vec<(usize, Option<Type>)>,
}

impl Inference {
    /// A type to be found out.
    pub(super) fn fresh(&mut self) -> Type {
        self.known.push(None);
        Type::Var(self.known.len() - 1)
    }

    fn find(&self, of: &Type) -> Option<&Type> {
        match of {
            Type::Var(number) => self.known.get(*number).and_then(Option::as_ref),
            _ => None,
        }
    }

    fn set(&mut self, of: &Type, to: Type) {
        if let Type::Var(number) = of
            && let Some(slot) = self.known.get_mut(*number)
        {
            self.log.push((*number, slot.replace(to)));
        }
    }

    /// Whether all of `to` may take what `from` gives; only then is anything learnt.
    pub(super) fn assign_all(&mut self, to: &[Type], from: &[Type]) -> bool {
        self.log.clear();
        if self.agree_all(to, from) {
            return true;
        }
        while let Some((number, before)) = self.log.pop() {
            if let Some(slot) = self.known.get_mut(number) {
                *slot = before;
            }
        }
        false
    }

    /// As [`Self::assign_all`] for one type.
    pub(super) fn assign(&mut self, to: &Type, from: &Type) -> bool {
        self.assign_all(std::slice::from_ref(to), std::slice::from_ref(from))
    }

    fn agree_all(&mut self, a: &[Type], b: &[Type]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.agree(a, b))
    }

    fn agree(&mut self, a: &Type, b: &Type) -> bool {
        if matches!(b, Type::Var(_)) {
            let (valid, known) = self.substitutes(a, b);
            if valid || known {
                return valid;
            }
        }
        if matches!(a, Type::Var(_)) {
            return self.substitutes(b, a).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null | Type::Opaque(..) | Type::Struct(_) | Type::Duration | Type::Timestamp
            ),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) => self.agree(a, b),
            (Type::Map(a_key, a_value), Type::Map(b_key, b_value)) => {
                self.agree(a_key, b_key) && self.agree(a_value, b_value)
            }
            (Type::Opaque(a_name, a), Type::Opaque(b_name, b)) => a_name == b_name && self.agree_all(a, b),
            _ => a == b,
        }
    }

    /// Whether `var` may stand for `a`, and whether something was known of it.
    fn substitutes(&mut self, a: &Type, var: &Type) -> (bool, bool) {
        if a == var {
            return (true, true);
        }
        if let Some(known) = self.find(var).cloned() {
            if *a == known {
                return (true, true);
            }
            if self.agree(a, &known) {
                let general = most_general(a, &known);
                if self.not_within(var, &general) {
                    self.set(var, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.not_within(var, a) {
            self.set(var, a.clone());
            return (true, false);
        }
        (false, false)
    }

    fn not_within(&self, var: &Type, within: &Type) -> bool {
        if var == within {
            return false;
        }
        match within {
            Type::Var(_) => self.find(within).is_none_or(|known| self.not_within(var, known)),
            _ => within.parameters().into_iter().all(|parameter| self.not_within(var, parameter)),
        }
    }

    /// The type with all that is known put in. What stays unknown becomes `dyn` if that is wanted.
    pub(super) fn substitute(&self, of: &Type, to_dyn: bool) -> Type {
        if let Some(known) = self.find(of) {
            return self.substitute(known, to_dyn);
        }
        match of {
            Type::Var(_) | Type::Param(_) if to_dyn => Type::Dyn,
            Type::List(element) => Type::list(self.substitute(element, to_dyn)),
            Type::Map(key, value) => Type::map(self.substitute(key, to_dyn), self.substitute(value, to_dyn)),
            Type::Type(Some(of)) => Type::Type(Some(Arc::new(self.substitute(of, to_dyn)))),
            Type::Opaque(name, parameters) => {
                Type::Opaque(name, parameters.iter().map(|p| self.substitute(p, to_dyn)).collect())
            }
            other => other.clone(),
        }
    }
}

/// The more general of two types that go together.
pub(super) fn most_general(a: &Type, b: &Type) -> Type {
    if is_equal_or_less_specific(a, b) { a.clone() } else { b.clone() }
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    if a.is_dyn() || matches!(a, Type::Var(_) | Type::Param(_)) {
        return true;
    }
    if b.is_dyn() || matches!(b, Type::Var(_) | Type::Param(_)) {
        return false;
    }
    match (a, b) {
        (Type::List(a), Type::List(b)) => is_equal_or_less_specific(a, b),
        (Type::Map(a_key, a_value), Type::Map(b_key, b_value)) => {
            is_equal_or_less_specific(a_key, b_key) && is_equal_or_less_specific(a_value, b_value)
        }
        (Type::Opaque(a_name, a), Type::Opaque(b_name, b)) => {
            a_name == b_name
                && a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(a, b)| is_equal_or_less_specific(a, b))
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => a == b,
    }
}
