//! schedscope: a terminal console with a complete Kubernetes scheduler inside it.
//!
//! # Architecture
//!
//! ```text
//!             inputs                                        effects
//!  driver ───────────────────────────▶  scheduler core  ───────────────────▶ driver
//!  sandbox   objects, time, results,     queue, cache,     bind, patch,      sandbox API
//!            user commands               framework,        evict, event
//!                                        plugins
//!                                          │
//!                                          ▼  CycleTrace, View (read only)
//!                                      explain · tui · cli
//! ```
//!
//! The scheduler core is deterministic and sans-IO. A driver gives it one [`scheduler::input::Input`] at a time with
//! the time at which it came, carries out the [`scheduler::effect::Effect`]s that follow, and reports their
//! outcomes as further inputs. What people see is made from two outputs that nothing in the core reads back: the
//! [`scheduler::trace::CycleTrace`] of an attempt and the [`scheduler::view::View`] of the whole.
//!
//! ## Code map
//!
//! | Module | What it is |
//! |---|---|
//! | [`api`] | what the scheduler knows of Kubernetes objects: parsed once when they come in; manifests, quantities, selectors, time, random numbers, digest |
//! | [`config`] | `KubeSchedulerConfiguration`: profiles, default plugins, plugin arguments, feature gates |
//! | [`framework`] | the extension points as traits, `Status`, `CycleState`, `NodeInfo`, `Snapshot`, `Diagnosis`; `runtime` runs a profile's plugins |
//! | [`plugins`] | one file or folder per in-tree plugin, under its upstream name |
//! | [`queue`] | activeQ, backoffQ, unschedulablePods, pods in flight, the nominator |
//! | [`cache`] | the nodes with their pods, assumed pods, the incremental snapshot |
//! | [`scheduler`] | the core: inputs, effects, attempts phase by phase, cycles of pod groups, binding cycles, failures, preemption; for people the trace of an attempt, the log of a pod, the view |
//! | [`recording`] | sessions as files: the format, its writer and reader, replay with comparison |
//! | [`driver`] | clocks, threads and I/O around the core: the session with its stepper, history with checkpoints and branches, breakpoints, long work that can be called off, recordings that are made and played, also under another configuration; looks into the scheduler, what would fix a pod, how many more fit, what would be, how long plugins take |
//! | [`driver::sandbox`] | a cluster in memory: its API, the controllers of volumes and devices, what lives in it, scenarios, generated clusters, records of other programs; whole objects for clients |
//! | [`driver::api_server`] | the sandbox served to kubectl and other clients |
//! | [`driver::live`], [`driver::serve`], [`driver::metrics`] | the live cluster, its past and forks of it; a scheduler that serves, its endpoints and metrics |
//! | [`explain`] | sentences and arithmetic made from traces and views; a pod's explanation as a document with a published schema |
//! | [`lessons`] | lessons: their files, the engine's answers to their questions, the learner's way through them |
//! | [`testkit`] | for authors of plugins: pods and nodes in a line, tables for each extension point, a whole scheduler |
//! | [`tui`] | the console: panes, overlays, keymap, themes, the terminal, consoles at a distance; films, pictures and reports of recordings |
//! | [`cli`] | the command line, one file per subcommand |
//!
//! A module imports only what stands to its left:
//! `api ← config ← framework ← { plugins | queue | cache } ← scheduler ← recording ← { driver | explain } ← lessons ← tui ← cli`.
//!
//! ## Invariants
//!
//! Each names the test that keeps it.
//!
//! 1. The core reads no clock, file, socket, environment or thread, and iterates in defined orders only:
//!    `tidy::clocks_files_threads_and_screens_stay_in_their_modules`, clippy's `iter_over_hash_type` and
//!    `disallowed_methods`.
//! 2. Imports point one way: `tidy::a_module_imports_only_what_stands_to_its_left`.
//! 3. Equal inputs give equal effects and equal digests: `scheduler::determinism::equal_inputs_give_equal_digests`.
//! 4. Stepping through an attempt phase by phase decides the same as doing it at once:
//!    `scheduler::determinism::stepping_by_phases_decides_what_whole_cycles_decide`.
//! 5. The scheduler learns of the cluster from watch events alone, also of its own deeds:
//!    `scheduler::binding::a_bound_pod_stays_assumed_until_the_watch_reports_it`.
//! 6. A pod is in exactly one place: the property tests of [`queue`].
//! 7. A `NodeInfo` is the sum of its pods, and an incremental snapshot equals a rebuilt one: the property tests of
//!    [`cache`].
//! 8. Decisions are those of kube-scheduler v1.36: `conformance`; affinity, spread and preemption also follow a
//!    word-for-word reading of the rules: `brute_force`.
//! 9. Text from a cluster or a file reaches a terminal only through the sanitiser: `terminal::hostile`, and the tests of [`tui::widgets::text`].
//! 10. Layout and drawing never panic, whatever the size: the property tests in `tui`.
//! 11. A recording holds everything that decides: its replay is the session, decision by decision and state by state:
//!     `recordings::replay`. What was written is read as it was (`recordings::round_trip`), and what was damaged is
//!     found (`recordings::damage`). Every moment of a recording is the same again, from whichever side it is come to:
//!     `recordings::player::every_moment_of_a_random_session_is_the_same_from_both_sides`.
//! 12. Breakpoints and watches change no state: `scheduler::breakpoints::breakpoints_change_no_state`. A branch never
//!     changes the one that it left: `scheduler::branches::two_branches_are_told_apart_pod_by_pod_and_neither_changes`.
//! 13. What the scheduler does not read never reaches a recording: `recordings::privacy`. No name of a cluster is left
//!     in a redacted one, and it decides the same: `recordings::leaks`, `recordings::redaction`.
//! 14. What is done in the past of a live session, or in a fork of it, reaches neither the cluster nor the live scheduler:
//!     `recordings::live_past::a_fork_is_a_paused_sandbox_with_its_own_cluster`,
//!     `cluster::past::a_fork_of_a_live_cluster_is_edited_and_the_cluster_does_not_change`.
//! 15. While the console has the terminal no other program reads from it or writes on it:
//!     `cluster::credentials::a_plugin_asks_before_the_screen_opens_and_never_writes_on_it`.
//! 16. A metric of kube-scheduler is served under its name, kind, labels, buckets and text, or `docs/metrics.md` says why
//!     not: `driver::metrics::registry`, `cluster::metrics`.
//! 17. What is explained of a pod is what is decided for it: `explain::golden::explanations_agree_with_every_golden_decision`.
//!     A fix that is proposed holds: `explain::fix::applying_a_proposed_fix_to_a_fresh_copy_makes_the_pod_fit`.
//! 18. A cluster that lives goes the same way from equal seeds, and over again when it is taken back:
//!     `world::properties::equal_seeds_make_equal_worlds_and_others_do_not`,
//!     `world::properties::going_back_and_on_again_gives_the_same_world`.
//! 19. What clients write into a sandbox that is served is an operation of its session; who has seen what is taken back
//!     lists anew, and no resource version stands for two states:
//!     `api_server::past::who_watches_a_sandbox_that_is_taken_back_lists_anew`.
//! 20. Long work that a person calls off leaves everything as it was, and done later comes to the same:
//!     `scheduler::work`. Text on the screen is the same in every theme, and has enough contrast: `tui::themes`.
//! 21. The right answer to a question of a lesson is the engine's: `lessons::the_engine_answers_every_lesson_as_its_author_expects`.
//! 22. Plugins are put together in one place, and what is made of them carries the registry on:
//!     `tidy::plugins_are_put_together_in_one_place`.
//! 23. Asking what would be changes nothing, and no change changes nothing: `scheduler::outlook`. A scenario is a part of the
//!     sandbox: taken back and done again it is the same, and it does what the same edits by hand do:
//!     `scheduler::scenarios`.
//! 24. What the scheduler wants done about a pod is done in that order, however long an answer takes:
//!     `cluster::faults::what_is_said_of_a_pod_never_overtakes_its_bind`.

// What is written against this library from outside can be part of it, too.
extern crate self as schedscope;

pub mod api;
pub mod cache;
pub mod cli;
pub mod config;
pub mod driver;
pub mod explain;
pub mod framework;
pub mod lessons;
pub mod plugins;
pub mod queue;
pub mod recording;
pub mod scheduler;
pub mod testkit;
pub mod tui;

/// The guide for authors of plugins: its examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../docs/plugins.md")]
pub struct PluginGuide;
