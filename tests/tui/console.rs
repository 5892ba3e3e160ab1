//! The whole console with whatever keys, sizes and clicks: it never panics, and what it draws stays inside.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use schedscope::api::Str;
use schedscope::api::objects::{Node, ObjectMeta, Pod};
use schedscope::api::{NamespacedName, Time};
use schedscope::driver::session::{RunState, SessionView, Speed};
use schedscope::framework::NodeInfo;
use schedscope::scheduler::view::{Counts, QueueRow, View};
use schedscope::tui::keymap::key::{Code, parse_chord};
use schedscope::tui::keymap::{Key, load};
use schedscope::tui::shell::{Effect, Look, MouseDeed, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

/// A row of a queue whose pod has that name.
fn row(name: &str) -> QueueRow {
    let key = NamespacedName::new("shop", name);
    let metadata = ObjectMeta {
        name: key.name,
        namespace: key.namespace,
        uid: Str::from(name),
        ..ObjectMeta::default()
    };
    QueueRow {
        pod: Arc::new(Pod { metadata, ..Pod::default() }),
        attempts: 1,
        since: Time::from_secs(10),
        backoff_expiration: None,
        backoff_duration: None,
        is_error_backoff: false,
        consecutive_errors: 0,
        gated_by: None,
        unschedulable_plugins: vec![Str::from("NodeResourcesFit")],
        pending_plugins: Vec::new(),
        nominated_node: None,
        message: Some(Str::from("0/3 nodes are available: 3 Insufficient cpu.")),
        flush_at: None,
    }
}

/// A session with `n` pods in each queue and as many nodes.
pub fn session(n: usize) -> SessionView {
    // A name as nobody should give it: it turns the direction of reading and steers the terminal.
    let rows =
        |queue: &str| (0..n).map(|i| row(&format!("{queue}-{i}-\u{202e}\x1b[31m世界"))).collect::<Vec<_>>();
    let node = |i: usize| {
        let metadata = ObjectMeta { name: Str::from(format!("node-{i}")), ..ObjectMeta::default() };
        Arc::new(NodeInfo::with_node(Arc::new(Node { metadata, ..Node::default() })))
    };
    let view = View {
        now: Time::from_secs(20),
        counts: Counts { active: n, backoff: n, unschedulable: n, nodes: n, ..Counts::default() },
        active_q: rows("a"),
        backoff_q: rows("b"),
        unschedulable_pods: rows("u"),
        nodes: (0..n).map(node).collect(),
        ..View::default()
    };
    SessionView {
        known: Default::default(),
        moment: Default::default(),
        live: None,
        aside: None,
        source: Str::from("sample"),
        run_state: RunState::Paused,
        speed: Speed::Times(1),
        elapsed: Duration::from_secs(20),
        next_timeout: Some((Duration::from_secs(3), Str::from("flush"))),
        scheduler: Arc::new(view),
        notice: None,
        debug: Default::default(),
        branches: Default::default(),
        comparison: None,
        failure: None,
    }
}

/// Presses keys one after the other, as a keymap file writes them.
pub fn press(shell: &mut Shell, keys: &str) -> Vec<Effect> {
    parse_chord(keys).unwrap().into_iter().flat_map(|key| shell.on_key(key)).collect()
}

/// Types a command line and sends it off.
pub fn type_command(shell: &mut Shell, line: &str) -> Vec<Effect> {
    press(shell, ":");
    for c in line.chars() {
        shell.on_key(Key::plain(Code::Char(c)));
    }
    press(shell, "enter")
}

/// What is on a screen of that size, without the blanks at the ends of lines.
pub fn screen(shell: &mut Shell, (width, height): (u16, u16)) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    shell.draw(&mut buf);
    let rows = buf.content().chunks(usize::from(width).max(1));
    rows.map(|row| {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    })
    .collect()
}

/// Compares with the picture of that name.
pub fn snapshot(name: impl AsRef<str>, screen: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name.as_ref(), screen);
    });
}

/// A console on that session.
pub fn shell(view: SessionView, theme: Theme, is_ascii: bool) -> Shell {
    let look = Look { is_motion_reduced: false, ..Look::new(theme, is_ascii) };
    Shell::new(Arc::new(view), look, load::built_in())
}

#[derive(Clone, Debug)]
enum Step {
    Key(Key),
    Mouse(MouseDeed, u16, u16),
    Paste(String),
    View(usize),
    Wait(u16),
    Resize(u16, u16),
}

fn any_step() -> impl Strategy<Value = Step> {
    let bound: Vec<Key> =
        load::built_in().bindings().iter().flat_map(|binding| binding.keys.clone()).collect();
    let deed = prop_oneof![
        Just(MouseDeed::Click),
        Just(MouseDeed::ScrollUp),
        Just(MouseDeed::ScrollDown),
        Just(MouseDeed::ScrollLeft),
        Just(MouseDeed::ScrollRight),
    ];
    prop_oneof![
        8 => proptest::sample::select(bound).prop_map(Step::Key),
        3 => any::<char>().prop_map(|c| Step::Key(Key::plain(Code::Char(c)))),
        2 => (deed, 0u16..260, 0u16..90).prop_map(|(deed, x, y)| Step::Mouse(deed, x, y)),
        1 => ".{0,30}".prop_map(Step::Paste),
        1 => (0usize..60).prop_map(Step::View),
        1 => (0u16..2_000).prop_map(Step::Wait),
        2 => (0u16..=250, 0u16..=80).prop_map(|(width, height)| Step::Resize(width, height)),
    ]
}

fn assert_clean(buf: &Buffer) {
    for cell in buf.content() {
        assert!(cell.symbol().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{:?}", cell.symbol());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_sequence_of_keys_clicks_and_sizes_makes_it_panic(steps in proptest::collection::vec(any_step(), 1..30)) {
        let mut shell = shell(session(5), Theme::dark(ColorDepth::TrueColor), false);
        let (mut width, mut height, mut now) = (80, 24, Duration::ZERO);
        for step in steps {
            match step {
                Step::Key(key) => drop(shell.on_key(key)),
                Step::Mouse(deed, x, y) => drop(shell.on_mouse(deed, x, y)),
                Step::Paste(text) => drop(shell.on_paste(&text)),
                Step::View(n) => shell.on_view(Arc::new(session(n))),
                Step::Wait(millis) => {
                    now += Duration::from_millis(millis.into());
                    shell.set_now(now);
                }
                Step::Resize(w, h) => (width, height) = (w, h),
            }
            let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
            shell.draw(&mut buf);
            assert_clean(&buf);
        }
    }
}

#[test]
fn every_size_can_be_drawn() {
    let mut shell = shell(session(30), Theme::dark(ColorDepth::TrueColor), false);
    // All around the least size, and some of everything above: the layout itself is tested at all of them.
    let small = (0..=42).flat_map(|width| (0..=12).map(move |height| (width, height)));
    let large =
        (43..=250).step_by(23).flat_map(|width| (13..=80).step_by(12).map(move |height| (width, height)));
    for (width, height) in small.chain(large) {
        shell.draw(&mut Buffer::empty(Rect::new(0, 0, width, height)));
    }
}

#[test]
fn in_ascii_nothing_but_ascii_is_drawn_around_the_panes() {
    let mut shell = shell(session(0), Theme::mono(), true);
    let mut buf = Buffer::empty(Rect::new(0, 0, 120, 36));
    shell.draw(&mut buf);
    let foreign: Vec<_> =
        buf.content().iter().map(|cell| cell.symbol()).filter(|symbol| !symbol.is_ascii()).collect();
    assert_eq!(foreign, Vec::<&str>::new());
}
