//! From the text of an expression to its tree.
//!
//! Follows cel-go's `parser` package and its `CEL.g4`: the same language with the optional syntax, the same macros, the
//! same limits, and for broken text the messages of the ANTLR parser that cel-go is built on.

pub(super) mod ast;
mod escape;
mod lexer;
mod macros;
mod parser;
mod recovery;
pub(super) mod source;

pub(super) use parser::parse;
