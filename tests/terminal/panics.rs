//! A panic gives the terminal back first, or is shown in it.
//!
//! The program itself has no way to be made to panic. So this test binary starts itself again in a terminal, as a
//! console with a faulty part: a pane whose drawing panics, or a plugin that panics in the session's thread.
#![expect(clippy::disallowed_methods, reason = "the second process is told by its environment what to be")]

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use schedscope::api::Str;
use schedscope::api::manifest::load;
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::sample;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::{SessionHandle, spawn_sandbox};
use schedscope::framework::{CycleState, Framework, Handle, Plugin, PodInfo, PostBindPlugin};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;
use schedscope::tui::action::{Action, Context};
use schedscope::tui::panes::{Cx, Outcome, Pane, PaneId, Subject, set};
use schedscope::tui::shell::{Look, Shell};
use schedscope::tui::theme::ColorDepth;
use schedscope::tui::{TuiOptions, event_loop, keymap};

use crate::support::pty::{self, Stage};
use crate::support::world::START;

/// Says to the second process which part is faulty.
const FAULT: &str = "SCHEDSCOPE_TEST_FAULT";

/// The whole text of both panics.
const TEXT: &str = "a fault on purpose";

#[derive(Debug)]
struct FaultyPlugin;

impl Plugin for FaultyPlugin {
    fn name(&self) -> &'static str {
        "Faulty"
    }
    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }
}

impl PostBindPlugin for FaultyPlugin {
    fn post_bind(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) {
        panic!("{TEXT}");
    }
}

const CONFIG: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {postBind: {enabled: [{name: Faulty}]}}
";

/// Shows nothing, and panics once a pod is bound.
struct FaultyPane;

impl Pane for FaultyPane {
    fn id(&self) -> PaneId {
        PaneId::Log
    }
    fn title(&self, _: &Cx<'_>) -> Line<'static> {
        Line::from("faulty")
    }
    fn contexts(&self) -> &'static [Context] {
        &[Context::List]
    }
    fn handle(&mut self, _: Action, _: &Cx<'_>) -> Outcome {
        Outcome::Ignored
    }
    fn render(&mut self, _: Rect, _: &mut Buffer, _: &Cx<'_>) {
        panic!("{TEXT}");
    }
    fn hit(&mut self, _: Position, _: &Cx<'_>) -> Outcome {
        Outcome::Ignored
    }
    fn set_filter(&mut self, _: Option<&str>) {}
    fn selected(&self, _: &Cx<'_>) -> Option<Subject> {
        None
    }
}

fn session(config: Option<&str>) -> SessionHandle {
    let sources = [sample::source()];
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
    let mut registry = in_tree_registry();
    registry.register("Faulty", |_, _| Ok(Arc::new(FaultyPlugin))).unwrap();
    let gates = FeatureGates::default();
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = match config {
        Some(text) => SchedulerConfig::load(text, options).unwrap(),
        None => SchedulerConfig::with_defaults(options),
    };
    let profiles: Vec<Framework> =
        config.profiles.iter().map(|profile| Framework::new(profile, &registry, &gates).unwrap()).collect();
    let options = SchedulerOptions { is_tracing: true, ..SchedulerOptions::default() };
    spawn_sandbox(Simulator::new(profiles, options, api, START).unwrap(), Str::from("faulty"), None).unwrap()
}

/// The faulty consoles. Does nothing unless it was started by one of the tests below.
#[test]
fn second_process() {
    let options = TuiOptions::new(ColorDepth::Ansi256);
    match std::env::var(FAULT).as_deref() {
        Ok("plugin") => {
            schedscope::tui::run(session(Some(CONFIG)), options).unwrap();
        }
        Ok("pane") => {
            let session = session(None);
            let look = Look::new(options.appearance.theme, false);
            let mut panes = set::all();
            panes[PaneId::Log.index()] = Box::new(FaultyPane);
            let shell = Shell::with_panes(panes, session.view(), look, keymap::load::built_in());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(event_loop::run(shell, true, session, options.log, None)).unwrap();
        }
        _ => {}
    }
}

fn start(fault: &str) -> pty::Terminal {
    let this = std::env::current_exe().unwrap();
    let args = ["--exact", "terminal::panics::second_process", "--nocapture", "--test-threads=1"];
    let terminal = Stage::of(&this, &args).env(FAULT, fault).start();
    terminal.wait_console();
    terminal.assert_taken();
    terminal
}

#[test]
fn a_panic_while_drawing_is_reported_on_a_terminal_that_is_given_back() {
    let mut terminal = start("pane");
    // The pane with the fault is drawn once it has the focus.
    terminal.send("7");
    // The test harness, which stands in for the program, ends with 101 like a program that panics.
    assert_eq!(terminal.wait_exit(), 101);
    terminal.wait_text(TEXT).wait_text("panics.rs");
    terminal.assert_restored();
}

#[test]
fn a_panic_of_the_session_is_shown_and_the_console_lives_on() {
    let mut terminal = start("plugin");
    terminal.send("n").wait_text(TEXT);
    terminal.wait_text("the session has ended").assert_taken();
    // The last screen can still be looked at.
    terminal.send("\x1b").wait_gone(TEXT);
    terminal.send("5").wait_text("nodes");
    terminal.send("n").wait_quiet();
    terminal.assert_taken();
    terminal.send("q").wait_text("<exit");
    terminal.assert_restored();
}
