//! The stories of three people, each from its beginning to its end: an operator at 3 a.m., a teacher on a projector, and an
//! author of a plugin with a breakpoint.
#![expect(clippy::disallowed_methods, reason = "the second process is told by its environment what to be")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use vt100::Color;

use schedscope::cli::Main;
use schedscope::framework::{
    CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, Status,
};

use crate::support::pty::{Stage, Terminal, program};

/// Says to the second process what its command line is, a word a line.
const WORDS: &str = "SCHEDSCOPE_TEST_WORDS";

const PENDING: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: checkout-0, namespace: shop}\nspec: {nodeSelector: \
                       {disk: nvme}, containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}\n";

fn text(base64: &str) -> String {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<usize> = base64.chars().filter_map(|c| digits.find(c)).collect();
    let bytes = bits.chunks(4).flat_map(|four| {
        let all = four.iter().fold(0, |all, six| all << 6 | six) << (6 * (4 - four.len()));
        [all >> 16, all >> 8, all].into_iter().take(four.len() - 1).map(|byte| (byte & 0xff) as u8)
    });
    String::from_utf8(bytes.collect()).unwrap()
}

/// A cluster as `schedscope generate` makes it, with one more pod, which is pending.
fn generated(folder: &Path, n_nodes: usize) -> String {
    let cluster = folder.join("cluster");
    let (nodes, path) = (n_nodes.to_string(), cluster.display().to_string());
    let flags = ["--nodes", &nodes, "--pods", "600", "--pending", "0", "-o", &path];
    assert!(Command::new(program()).arg("generate").args(flags).output().unwrap().status.success());
    std::fs::write(cluster.join("zz-pending.yaml"), PENDING).unwrap();
    path
}

#[test]
fn an_operator_finds_why_a_pod_is_pending_and_what_would_fix_it() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = generated(folder.path(), 5_000);
    let mut terminal = Stage::new(&["sandbox", "-f", &cluster]).start();
    terminal.wait_console().wait_text("checkout-0");
    // Three keys: it is tried, gone to, and every plugin is asked about every node.
    terminal.send("n").wait_text("cycle 1");
    terminal.send("\r").wait_text("0/5000 nodes are available");
    terminal.wait_text("didn't match Pod's node affinity/selector");
    terminal.send("\r").wait_text("None of 5000 nodes fits").wait_text(" more like it: ");
    // What would fix it, and its command.
    terminal.send("i").wait_text("what lets shop/checkout-0 run").wait_text("disk=nvme");
    terminal.wait_text("kubectl label node");
    terminal.send("y").wait_text("copied kubectl label node").wait_until_copied();
    let copied = text(terminal.deeds().copied.last().unwrap());
    assert!(
        copied.starts_with("kubectl label node ") && copied.ends_with(" disk=nvme --overwrite"),
        "{copied}"
    );
    // It is done in the sandbox, where the pod is placed.
    terminal.send("\r").wait_gone("what lets").wait_text("bound 1");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

/// How light the ground of the screen is, from 0 to 255.
fn ground(terminal: &Terminal) -> u8 {
    let screen = terminal.screen();
    match screen.cell(12, 40).map(|cell| cell.bgcolor()) {
        Some(Color::Rgb(r, g, b)) => r.min(g).min(b),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_teacher_shows_an_attempt_phase_by_phase_and_a_lesson() {
    for (theme, grounds) in [("high-contrast", 0..=0), ("light", 220..=255)] {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().display().to_string();
        let flags = ["--theme", theme, "--settings", &settings];
        let mut terminal = Stage::new(&flags).size(80, 24).env("COLORTERM", "truecolor").start();
        terminal.wait_console();
        assert!(grounds.contains(&ground(&terminal)), "{theme}: {}", ground(&terminal));
        terminal.send(":layout teach\r").wait_text("2 cycle").wait_text("matrix").wait_gone("backoffQ");
        // One key a phase, and back again: the same screen as before.
        terminal.send("s").wait_text("next: PreFilter");
        terminal.send("s").wait_text("next: Filter");
        terminal.send("s").wait_text("1 of 12 fits");
        terminal.send("\x7f").wait_text("next: Filter").wait_gone("1 of 12 fits");
        terminal.send("s").wait_text("1 of 12 fits");
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0);

        let words = ["learn", "filter", "--theme", theme, "--settings", &settings];
        let mut terminal = Stage::new(&words).size(80, 24).env("COLORTERM", "truecolor").start();
        terminal.wait_text("Is there room?").wait_text("On how many nodes can it run?");
        assert!(grounds.contains(&ground(&terminal)), "{theme}: {}", ground(&terminal));
        terminal.send("Q").wait_text("answer");
        terminal.send("3\r").wait_text("Not 3.").wait_text("pending 1");
        terminal.send("Q1\r").wait_text("Right: 1.").wait_text("1 of 4 fits").wait_gone("3 is not it");
        // What was just seen is stepped through backwards, while the lesson stays.
        terminal.send("\x7f").wait_text("lesson 4/").wait_text("past");
        terminal.send("Q").wait_text("2/2");
        terminal.send("El").wait_text("The same port twice");
        terminal.escape().wait_gone("The same port twice");
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0);
        terminal.assert_restored();
    }
}

/// Turns down nodes whose number is odd, and counts the nodes beforehand.
#[derive(Debug)]
struct EvenNumbers;

/// What is remembered of an attempt.
#[derive(Debug)]
#[expect(dead_code, reason = "it is there to be looked at")]
struct Seen {
    n_nodes: usize,
}

impl Plugin for EvenNumbers {
    fn name(&self) -> &'static str {
        "EvenNumbers"
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for EvenNumbers {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        state.write(self.name(), Seen { n_nodes: nodes.len() });
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for EvenNumbers {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        match node.name().ends_with(['1', '3', '5', '7', '9']) {
            true => Status::unresolvable("node(s) had an odd number"),
            false => Status::SUCCESS,
        }
    }
}

const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: EvenNumbers}]}}
";

/// The author's program. Does nothing unless it was started by the test below.
#[test]
fn second_process() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let program = Main::new().with_plugin("EvenNumbers", |_args, _context| Ok(EvenNumbers));
    let code = program.with_configuration(CONFIGURATION).run_from(words.lines());
    assert_eq!(code, ExitCode::SUCCESS);
}

fn own_program(words: &[&str]) -> Terminal {
    let this = std::env::current_exe().unwrap();
    let args = ["--exact", "terminal::people::second_process", "--nocapture", "--test-threads=1"];
    let words = [&["my-scheduler"], words].concat().join("\n");
    let terminal = Stage::of(&this, &args).env(WORDS, &words).start();
    terminal.wait_console();
    terminal
}

#[test]
fn an_author_stops_where_the_plugin_turns_a_node_down_and_replays_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (cluster, recording) = (file("cluster.yaml"), file("made.rec"));
    let node = |n: usize| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: node-{n}}}\nstatus: {{allocatable: {{cpu: '4', memory: 8Gi, pods: \
             '9'}}}}\n---\n"
        )
    };
    let pod = |name: &str, node: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{{node}containers: [{{name: c, image: i, \
             resources: {{requests: {{cpu: '1'}}}}}}]}}\n---\n"
        )
    };
    let pinned = pod("odd-0", "nodeSelector: {kubernetes.io/hostname: node-1}, ");
    let nodes: String = (0..4).map(node).collect();
    let nodes = nodes.replace("name: node-1}", "name: node-1, labels: {kubernetes.io/hostname: node-1}}");
    std::fs::write(&cluster, nodes + &pod("even-0", "") + &pinned).unwrap();

    let mut terminal = own_program(&["sandbox", "-f", &cluster]);
    terminal.send(&*format!(":record {recording}\r")).wait_text("rec ");
    // It runs until the plugin turns a node down: in Filter, with its neighbours of that phase.
    terminal.send(":break plugin == EvenNumbers && code == UnschedulableAndUnresolvable\r");
    terminal.wait_text("breakpoint 1: plugin");
    terminal
        .send("r")
        .wait_text("stopped: breakpoint 1 at Filter")
        .wait_text("paused")
        .wait_text("2 of 4 fit");
    // What the plugin has kept of this attempt.
    terminal.send(":internals\r").wait_text("internals");
    terminal.send("/n_nodes\r").wait_text("n_nodes: 4");
    terminal.escape().wait_text("cache, snapshot, API");
    // Point by point: back to before Filter, and on through it.
    terminal.send("\x7f").wait_text("next: Filter");
    terminal.send("s").wait_text("2 of 4 fit");
    terminal.send("s").wait_text("next: Score");
    // Its own words in a cell of the matrix.
    terminal.send("3j\r").wait_text("node(s) had an odd number");
    terminal.send(":plugin EvenNumbers\r").wait_text("EvenNumbers at Filter").wait_text("n_nodes: 4");
    terminal.send("\x02").wait_text("EvenNumbers && code");
    terminal.escape().wait_gone("EvenNumbers && code");
    // The other pod, too, is turned down by it.
    terminal.send("n").wait_text("cycle 1").wait_quiet();
    terminal.send("n").wait_text("cycle 2").wait_text("odd number");
    terminal.send("n").wait_text("backoffQ 1");
    terminal.send("R").wait_text("recorded ");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);

    let mut terminal = own_program(&["replay", &recording]);
    // The recording is looked through meanwhile; what is asked for before that is done is not found.
    for _ in 0..10 {
        if terminal.send(">").seen_soon("cycle 2") {
            break;
        }
    }
    terminal.wait_text("cycle 2").wait_text("odd number");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}
