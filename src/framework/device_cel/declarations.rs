//! The functions that a selector may call, with the types they take and give.
//!
//! What cel-go's standard library and the libraries of Kubernetes' CEL environment of 1.36 declare, in their order:
//! where several overloads fit, the order decides.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::{self, Type};

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) id: &'static str,
    /// Called on its first argument: `a.f(b)`.
    pub(super) member: bool,
    pub(super) args: Vec<Type>,
    pub(super) result: Type,
    /// The letters of the type parameters.
    pub(super) parameters: Vec<char>,
}

/// Functions by name, with their overloads in order.
pub(super) type Functions = BTreeMap<&'static str, Vec<Overload>>;

/// All functions. `includes` and `allowMultipleAllocations` are there whatever the gates say: upstream's environment
/// for stored expressions does not ask them.
pub(super) static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let mut functions = Functions::new();
    for (name, overload) in DECLARATIONS.lines().filter_map(declaration) {
        functions.entry(name).or_default().push(overload);
    }
    functions
});

/// Reads `name id target.(args) -> result` or `name id (args) -> result`.
fn declaration(line: &'static str) -> Option<(&'static str, Overload)> {
    let mut words = line.splitn(3, ' ');
    let (name, id, signature) = (words.next()?, words.next()?, words.next()?);
    let (call, result) = signature.rsplit_once(" -> ")?;
    let (target, args) = if call.starts_with('(') {
        (None, call)
    } else {
        call.split_once(".(").map(|(t, a)| (Some(t), a))?
    };
    let args = args.trim_start_matches('(').strip_suffix(')')?;
    let mut types = Vec::new();
    if let Some(target) = target {
        types.push(parse_type(target)?);
    }
    for arg in split(args) {
        types.push(parse_type(arg)?);
    }
    let parameters: std::collections::BTreeSet<char> =
        signature.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(parameter).collect();
    let overload = Overload {
        id,
        member: target.is_some(),
        args: types,
        result: parse_type(result)?,
        parameters: parameters.into_iter().collect(),
    };
    Some((name, overload))
}

fn parameter(word: &str) -> Option<char> {
    let mut chars = word.chars();
    chars.next().filter(|c| c.is_ascii_uppercase() && chars.next().is_none())
}

/// The parts between commas that are in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = text.split(move |c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_type(text: &str) -> Option<Type> {
    if let Some((name, rest)) = text.split_once('(') {
        let parameters: Option<Vec<Type>> =
            split(rest.strip_suffix(')')?).into_iter().map(parse_type).collect();
        let mut parameters = parameters?.into_iter();
        let first = parameters.next()?;
        return Some(match name {
            "list" => Type::list(first),
            "map" => Type::map(first, parameters.next()?),
            "optional" => Type::optional(first),
            "type" => Type::Type(Some(first.into())),
            _ => return None,
        });
    }
    if let Some(letter) = parameter(text) {
        return Some(Type::Param(letter));
    }
    Some(match text {
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "quantity" => Type::Struct(types::QUANTITY),
        "semver" => Type::Struct(types::SEMVER),
        "url" => Type::Struct(types::URL),
        "format" => Type::Struct(types::FORMAT),
        "ip" => Type::Opaque(types::IP, [].into()),
        "cidr" => Type::Opaque(types::CIDR, [].into()),
        "authorizer" => Type::Struct("kubernetes.authorization.Authorizer"),
        "path_check" => Type::Struct("kubernetes.authorization.PathCheck"),
        "group_check" => Type::Struct("kubernetes.authorization.GroupCheck"),
        "resource_check" => Type::Struct("kubernetes.authorization.ResourceCheck"),
        "decision" => Type::Struct("kubernetes.authorization.Decision"),
        _ => return None,
    })
}

const DECLARATIONS: &str = include_str!("declarations.txt");
