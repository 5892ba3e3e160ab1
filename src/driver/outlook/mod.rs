//! What would be: a sandbox run on until nothing moves, as it is and with changes, and the two side by side; or under
//! several configurations.
//!
//! Everything runs on copies with the real scheduler, so what is asked about stays as it is. Nothing here reads a clock
//! or a file.
//!
//! - [`run`]: a copy run to rest, what happened on the way
//! - [`measures`]: balance, fragmentation, waiting: numbers by which outcomes are compared
//! - [`what_if`]: with and without changes: who no longer fits, who moved, who was evicted, which budgets stood before it
//! - [`recorded`]: the same numbers of a recorded session, and what came in it
//! - [`task`], [`asking`]: the same beside a session, with progress, to be cancelled

pub mod asking;
pub mod budgets;
pub mod measures;
pub mod recorded;
pub mod run;
pub mod task;
pub mod what_if;
