//! The `schedscope` program.

fn main() {}
