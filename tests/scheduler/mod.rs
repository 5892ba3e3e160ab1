//! The core through its public interface: attempts, binding cycles, preemption, determinism.

mod attempts;
mod binding;
mod determinism;
mod extenders;
mod gang;
mod not_built;
mod preemption;
mod rewind;
mod stepper;
mod writes;
