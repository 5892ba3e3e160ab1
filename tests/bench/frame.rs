//! What a frame costs on a large cluster: 5,000 nodes and 100,000 pods, every node filtered and scored.
//!
//!     cargo bench --bench frame [-- TEXT]
//!
//! Each line is a scene (those whose names contain TEXT): a key or a newer view, then a frame. Told are the time until
//! the frame stands in its buffer, and apart from that the time and the bytes that it takes to bring a terminal from
//! the frame before to this one. Without `--bench`, as when tests are run, the cluster is small and each scene short.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark may end at once")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use schedscope::api::Time;
use schedscope::api::manifest::{Source, load};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::{RunState, SessionView, Speed};
use schedscope::framework::runtime::Framework;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;
use schedscope::tui::keymap::{Key, load as keymap};
use schedscope::tui::shell::{Look, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

const START: Time = Time::from_secs(1_767_225_600);
/// What a frame may take at the 99th percentile.
const TARGET: Duration = Duration::from_millis(4);

/// How large everything is.
#[derive(Clone, Copy)]
struct Scale {
    n_nodes: usize,
    n_running: usize,
    n_gated: usize,
    n_pending: usize,
    n_views: usize,
    n_frames: usize,
}

const LARGE: Scale = Scale {
    n_nodes: 5_000,
    n_running: 60_000,
    n_gated: 20_000,
    n_pending: 20_000,
    n_views: 10,
    n_frames: 400,
};
const SMALL: Scale =
    Scale { n_nodes: 50, n_running: 200, n_gated: 50, n_pending: 50, n_views: 4, n_frames: 4 };

/// Nodes of four kinds in ten zones, pods on all of them, pods that are held by a gate, and pods that wait: most fit,
/// every fourth fits nowhere.
fn manifest(scale: Scale) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for i in 0..scale.n_nodes {
        let cpu = [16, 32, 64, 8][i % 4];
        let taint = if i % 7 == 0 {
            ", \"spec\": {\"taints\": [{\"key\": \"dedicated\", \"value\": \"batch\", \"effect\": \"NoSchedule\"}]}"
        } else {
            ""
        };
        writeln!(
            text,
            "{{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {{\"name\": \"node-{i:05}\", \"labels\": \
             {{\"kubernetes.io/hostname\": \"node-{i:05}\", \"topology.kubernetes.io/zone\": \"zone-{}\", \
             \"disk\": \"{}\"}}}}{taint}, \"status\": {{\"allocatable\": {{\"cpu\": \"{cpu}\", \"memory\": \
             \"64Gi\", \"pods\": \"110\"}}}}}}\n---",
            i % 10,
            if i % 3 == 0 { "ssd" } else { "hdd" },
        )
        .unwrap();
    }
    let mut pod = |name: String, app: usize, spec: String| {
        writeln!(
            text,
            "{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {{\"name\": \"{name}\", \"labels\": \
             {{\"app\": \"app-{app}\"}}}}, \"spec\": {{{spec}}}}}\n---",
        )
        .unwrap();
    };
    let container = |cpu: usize| {
        format!(
            "\"containers\": [{{\"name\": \"c\", \"image\": \"registry.example.com/app:1\", \"resources\": \
             {{\"requests\": {{\"cpu\": \"{cpu}m\", \"memory\": \"128Mi\"}}}}}}]"
        )
    };
    for i in 0..scale.n_running {
        let node = i % scale.n_nodes;
        pod(
            format!("running-{i:06}"),
            i % 200,
            format!("\"nodeName\": \"node-{node:05}\", {}", container(100 + i % 5 * 50)),
        );
    }
    for i in 0..scale.n_gated {
        let gate = "\"schedulingGates\": [{\"name\": \"example.com/quota\"}]";
        pod(format!("gated-{i:06}"), i % 200, format!("{gate}, {}", container(100)));
    }
    let spread = "\"topologySpreadConstraints\": [{\"maxSkew\": 2, \"topologyKey\": \"topology.kubernetes.io/zone\", \
                  \"whenUnsatisfiable\": \"ScheduleAnyway\", \"labelSelector\": {\"matchLabels\": {\"app\": \
                  \"app-1\"}}}]";
    let prefers = "\"affinity\": {\"nodeAffinity\": {\"preferredDuringSchedulingIgnoredDuringExecution\": \
                   [{\"weight\": 10, \"preference\": {\"matchExpressions\": [{\"key\": \"disk\", \"operator\": \
                   \"In\", \"values\": [\"ssd\"]}]}}]}}";
    for i in 0..scale.n_pending {
        let cpu = if i % 4 == 3 { 128_000 } else { 500 };
        pod(format!("pending-{i:06}"), 1, format!("{spread}, {prefers}, {}", container(cpu)));
    }
    text
}

fn session(simulator: &Simulator) -> Arc<SessionView> {
    Arc::new(SessionView {
        known: Default::default(),
        moment: Default::default(),
        live: None,
        aside: None,
        source: "large".into(),
        run_state: RunState::Paused,
        speed: Speed::Times(1),
        elapsed: simulator.elapsed(),
        next_timeout: None,
        scheduler: Arc::new(simulator.scheduler().view()),
        notice: None,
        debug: Default::default(),
        branches: Default::default(),
        comparison: None,
        failure: None,
    })
}

/// The views of attempts that follow each other; the first is of a pod that fits and is scored.
fn views(scale: Scale) -> Vec<Arc<SessionView>> {
    let sources = [Source { name: "large".to_owned(), text: manifest(scale) }];
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
    let gates = FeatureGates::default();
    let registry = in_tree_registry();
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let profiles = SchedulerConfig::with_defaults(options).profiles;
    let profiles: Vec<Framework> =
        profiles.iter().map(|profile| Framework::new(profile, &registry, &gates).unwrap()).collect();
    let options = SchedulerOptions { percentage_of_nodes_to_score: 100, ..SchedulerOptions::default() };
    let mut simulator = Simulator::new(profiles, options, api, START).unwrap();
    (0..scale.n_views)
        .map(|_| {
            simulator.step_cycle();
            session(&simulator)
        })
        .collect()
}

/// What the process takes, in bytes, where the system tells.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// What was measured of one scene.
#[derive(Default)]
struct Measured {
    frame: Vec<Duration>,
    terminal: Vec<Duration>,
    bytes: Vec<usize>,
}

fn percentile<T: Copy + Ord>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100).saturating_sub(1)]
}

/// A console with the frame before and the one that is drawn.
struct Stage {
    shell: Shell,
    drawn: Buffer,
    next: Buffer,
    out: Vec<u8>,
}

impl Stage {
    fn new(view: &Arc<SessionView>, (width, height): (u16, u16)) -> Self {
        let theme = Theme::dark(ColorDepth::TrueColor);
        // What a step has changed is found and lit, too.
        let look = Look { is_motion_reduced: false, ..Look::new(theme, false) };
        let shell = Shell::new(Arc::clone(view), look, keymap::built_in());
        let area = Rect::new(0, 0, width, height);
        Self { shell, drawn: Buffer::empty(area), next: Buffer::empty(area), out: Vec::new() }
    }

    fn keys(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            self.shell.on_key(Key::parse(key).unwrap());
        }
    }

    fn frame(&mut self, deed: impl FnOnce(&mut Shell), measured: &mut Measured) {
        let started = Instant::now();
        deed(&mut self.shell);
        self.shell.draw(&mut self.next);
        measured.frame.push(started.elapsed());
        self.out.clear();
        let started = Instant::now();
        let mut backend = CrosstermBackend::new(&mut self.out);
        backend.draw(self.drawn.diff(&self.next).into_iter()).unwrap();
        Backend::flush(&mut backend).unwrap();
        measured.terminal.push(started.elapsed());
        measured.bytes.push(self.out.len());
        std::mem::swap(&mut self.drawn, &mut self.next);
    }
}

/// A scene: keys that lead to it, and what happens before each frame.
struct Scene {
    name: String,
    keys: &'static str,
    each: Each,
}

enum Each {
    /// Nothing: the frame is drawn again.
    Nothing,
    /// These keys, one for each frame.
    Keys(&'static [&'static str]),
    /// A newer view.
    View,
}

fn scenes() -> Vec<Scene> {
    const DOWN: Each = Each::Keys(&["j", "j", "pgdn", "j", "k"]);
    let scene = |name: &str, keys, each| Scene { name: name.to_owned(), keys, each };
    let mut scenes = vec![
        scene("queues, still", "", Each::Nothing),
        scene("queues, newer views", "", Each::View),
        scene("queues, filtered, moving", "/ 9 enter", DOWN),
        scene(
            "queues, typing a filter",
            "/",
            Each::Keys(&["p", "e", "n", "backspace", "backspace", "backspace"]),
        ),
        scene("matrix, still", "3", Each::Nothing),
        scene("matrix, newer views", "3", Each::View),
        scene("matrix, all rows, moving", "3 }", DOWN),
        scene("matrix, filtered, moving", "3 / z o n e : z o n e - 3 enter", DOWN),
        scene("matrix, columns", "3", Each::Keys(&["right", "right", "left"])),
        scene("matrix, sorting", "3", Each::Keys(&["S", "O", "I"])),
        scene("matrix verdicts, moving", "3 m m m }", DOWN),
        scene("matrix verdicts, newer views", "3 m m m", Each::View),
        scene("nodes, newer views", "5", Each::View),
        scene("nodes, filtered, moving", "5 / 7 enter", DOWN),
        scene(
            "nodes, typing a filter",
            "5 /",
            Each::Keys(&["z", "o", "n", "backspace", "backspace", "backspace"]),
        ),
        scene("nodes packed, newer views", "5 m m", Each::View),
        scene("details of a cell, still", "3 enter", Each::Nothing),
        scene("details of a node, newer views", "5 j j enter", Each::View),
    ];
    let panes = [
        ("queues", "1"),
        ("cycle", "2"),
        ("matrix", "3"),
        ("waiting", "4"),
        ("nodes", "5"),
        ("log", "7"),
        ("timeline", "8"),
    ];
    scenes.extend(panes.map(|(pane, key)| scene(&format!("{pane}, moving"), key, DOWN)));
    scenes
}

fn measure(scene: &Scene, views: &[Arc<SessionView>], size: (u16, u16), n_frames: usize) -> Measured {
    let mut stage = Stage::new(&views[0], size);
    stage.frame(|_| {}, &mut Measured::default());
    stage.keys(scene.keys);
    stage.frame(|_| {}, &mut Measured::default());
    let mut measured = Measured::default();
    for i in 0..n_frames {
        match scene.each {
            Each::Nothing => stage.frame(|_| {}, &mut measured),
            Each::Keys(keys) => {
                let key = Key::parse(keys[i % keys.len()]).unwrap();
                stage.frame(|shell| drop(shell.on_key(key)), &mut measured);
            }
            Each::View => {
                let view = Arc::clone(&views[(i + 1) % views.len()]);
                stage.frame(|shell| shell.on_view(view), &mut measured);
            }
        }
    }
    measured
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scale = if arguments.iter().any(|argument| argument == "--bench") { LARGE } else { SMALL };
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
    let views = views(scale);
    let before = resident();
    println!(
        "{} nodes, {} pods; all times in microseconds, the target is {} at the 99th percentile",
        scale.n_nodes,
        scale.n_running + scale.n_gated + scale.n_pending,
        TARGET.as_micros()
    );
    println!(
        "{:<34} {:>8}  {:>7} {:>7} {:>7}  {:>8} {:>7} {:>7}",
        "scene", "size", "p50", "p99", "most", "term p99", "B p50", "B most"
    );
    let mut n_slow = 0;
    for scene in scenes().iter().filter(|scene| wanted.is_none_or(|wanted| scene.name.contains(wanted))) {
        for size in [(120, 36), (200, 60)] {
            let Measured { mut frame, mut terminal, mut bytes } =
                measure(scene, &views, size, scale.n_frames);
            let p99 = percentile(&mut frame, 99);
            n_slow += usize::from(p99 > TARGET);
            println!(
                "{:<34} {:>8}  {:>7} {:>7} {:>7}  {:>8} {:>7} {:>7}{}",
                scene.name,
                format!("{}x{}", size.0, size.1),
                percentile(&mut frame, 50).as_micros(),
                p99.as_micros(),
                percentile(&mut frame, 100).as_micros(),
                percentile(&mut terminal, 99).as_micros(),
                percentile(&mut bytes, 50),
                percentile(&mut bytes, 100),
                if p99 > TARGET { "  slow" } else { "" },
            );
        }
    }
    println!("{n_slow} scenes above the target");
    println!("the screens took {} KiB beyond the views", resident().saturating_sub(before) >> 10);
}
