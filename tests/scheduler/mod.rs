//! The core through its public interface: attempts, binding cycles, preemption, determinism.

mod attempts;
mod binding;
mod branches;
mod breakpoints;
mod controllers;
mod determinism;
mod devices;
mod extenders;
mod gang;
mod outlook;
mod preemption;
mod rewind;
mod scenarios;
mod stepper;
mod story;
mod turns;
mod waiting_binds;
mod work;
mod writes;
