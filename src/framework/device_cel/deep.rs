//! Room on the stack for expressions that are nested deeply.
//!
//! Expressions may be nested 250 times and more in their macros, which is more than a thread's stack is sure to hold.

/// What has to be left of the stack before a level of nesting is entered, in bytes.
const MARGIN: usize = 192 << 10;
/// How much is added where less is left, in bytes.
const ADDED: usize = 2 << 20;

/// Runs one level of a recursion, on a new piece of stack where little is left.
pub(super) fn deep<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(MARGIN, ADDED, level)
}
