//! Going to things and coming back, layouts, borders, words that are explained, and the finder over many names.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use schedscope::api::objects::{Node, ObjectMeta};
use schedscope::api::{NamespacedName, Str};
use schedscope::framework::NodeInfo;
use schedscope::scheduler::trace::Phase;
use schedscope::scheduler::view::View;
use schedscope::tui::keymap::Key;
use schedscope::tui::keymap::key::Code;
use schedscope::tui::panes::{PaneId, Subject};
use schedscope::tui::shell::{Effect, MouseDeed, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{press, session, shell};
use super::fixture;

fn type_text(shell: &mut Shell, text: &str) {
    for c in text.chars() {
        shell.on_key(Key::plain(Code::Char(c)));
    }
}

fn screen(shell: &mut Shell, width: u16, height: u16) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    shell.draw(&mut buf);
    let rows = buf.content().chunks(usize::from(width));
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
}

/// A cluster of one node with a name that another page can speak of, and the console on it.
fn console() -> Shell {
    let mut shell = shell(session(3), Theme::dark(ColorDepth::TrueColor), false);
    screen(&mut shell, 120, 36);
    shell
}

#[test]
fn one_goes_back_and_forward_through_panes_and_things() {
    let mut shell = console();
    press(&mut shell, "5 j enter");
    let node = shell.selected().cloned();
    assert_eq!(shell.focused(), PaneId::Details);
    press(&mut shell, "7");
    assert_eq!(shell.focused(), PaneId::Log);
    press(&mut shell, "[");
    assert_eq!((shell.focused(), shell.selected().cloned()), (PaneId::Details, node.clone()));
    press(&mut shell, "[");
    assert_eq!((shell.focused(), shell.selected().cloned()), (PaneId::Nodes, node));
    press(&mut shell, "[");
    assert_eq!(shell.focused(), PaneId::Queues);
    press(&mut shell, "[");
    assert!(screen(&mut shell, 120, 36).contains("nothing to go back to"));
    press(&mut shell, "] ] ]");
    assert_eq!(shell.focused(), PaneId::Log);
    // Somewhere else, and there is no forward any more.
    press(&mut shell, "[ 1 ]");
    assert_eq!(shell.focused(), PaneId::Queues);
}

#[test]
fn esc_leaves_the_details_for_where_one_came_from() {
    let mut shell = console();
    press(&mut shell, "5 enter esc");
    assert_eq!(shell.focused(), PaneId::Nodes);
    press(&mut shell, "esc");
    assert_eq!(shell.focused(), PaneId::Nodes, "only the details are left by it");
}

#[test]
fn names_in_the_details_are_gone_to_and_come_back_from() {
    let mut shell = shell(
        fixture::session(fixture::scheduler(fixture::Stage::Filtered)),
        Theme::dark(ColorDepth::TrueColor),
        false,
    );
    screen(&mut shell, 120, 40);
    press(&mut shell, "5");
    screen(&mut shell, 120, 40);
    // The first row may be that of a zone.
    while shell.selected().and_then(Subject::node).is_none() || {
        let name = shell.selected().and_then(Subject::node).cloned().unwrap();
        shell.view().scheduler.nodes.iter().any(|node| *node.name() == name && node.pods().is_empty())
    } {
        let before = shell.selected().cloned();
        press(&mut shell, "j");
        screen(&mut shell, 120, 40);
        assert_ne!(shell.selected().cloned(), before, "no node has a pod");
    }
    let node = shell.selected().cloned();
    press(&mut shell, "enter z");
    screen(&mut shell, 120, 40);
    for _ in 0..60 {
        press(&mut shell, "l");
        screen(&mut shell, 120, 40);
    }
    press(&mut shell, "enter");
    screen(&mut shell, 120, 40);
    assert_ne!(shell.selected().cloned(), node, "the last name was gone to");
    press(&mut shell, "[");
    assert_eq!((shell.focused(), shell.selected().cloned()), (PaneId::Details, node));
}

#[test]
fn layouts_are_changed_and_kept() {
    let mut shell = console();
    press(&mut shell, "L");
    let teach = screen(&mut shell, 120, 36);
    assert!(teach.contains("cycle") && teach.contains("matrix") && !teach.contains("╭ activeQ"), "{teach}");
    press(&mut shell, "L");
    let debug = screen(&mut shell, 120, 36);
    assert!(debug.contains("details") && !debug.contains("╭ activeQ"), "{debug}");
    press(&mut shell, "alt-right");
    screen(&mut shell, 120, 36);
    press(&mut shell, ":");
    type_text(&mut shell, "layout save");
    let effects = press(&mut shell, "enter");
    let [Effect::SaveLayout(text)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text.contains("preset = \"debug\"") && text.contains("cycle = 4"), "{text}");
    press(&mut shell, "L");
    assert!(screen(&mut shell, 120, 36).contains("╭ activeQ"));
    press(&mut shell, ":");
    type_text(&mut shell, "layout own");
    press(&mut shell, "enter");
    assert!(!screen(&mut shell, 120, 36).contains("╭ activeQ"));
    press(&mut shell, ":");
    type_text(&mut shell, "layout teech");
    press(&mut shell, "enter");
    assert!(screen(&mut shell, 120, 36).contains("did you mean \"teach\"?"));
}

#[test]
fn a_border_is_dragged_by_the_mouse() {
    let mut shell = console();
    let corner = |shell: &mut Shell| {
        screen(shell, 120, 36).lines().nth(1).unwrap().chars().position(|c| c == '╮').unwrap()
    };
    let before = corner(&mut shell);
    let x = u16::try_from(before).unwrap();
    shell.on_mouse(MouseDeed::Click, x, 10);
    shell.on_mouse(MouseDeed::Drag, x + 12, 10);
    shell.on_mouse(MouseDeed::Release, x + 12, 10);
    let after = corner(&mut shell);
    assert!((11..=13).contains(&(after - before)), "{before} {after}");
    // It is let go: the mouse moves nothing any more.
    shell.on_mouse(MouseDeed::Drag, x, 10);
    assert_eq!(corner(&mut shell), after);
}

#[test]
fn words_are_explained_with_where_there_is_more() {
    let mut shell = console();
    press(&mut shell, ":");
    type_text(&mut shell, "explain podtopologyspread");
    press(&mut shell, "enter");
    let said = screen(&mut shell, 120, 36);
    assert!(said.contains("PodTopologySpread: plugin") && said.contains("KEP-3022"), "{said}");
    press(&mut shell, "esc :");
    type_text(&mut shell, "explain NodeResourceFit");
    press(&mut shell, "enter");
    assert!(screen(&mut shell, 120, 36).contains("did you mean \"NodeResourcesFit\"?"));
}

#[test]
fn help_on_a_selected_plugin_begins_with_what_it_is() {
    let mut shell = console();
    let plugin = Subject::Plugin { plugin: Str::from("TaintToleration"), phase: Phase::Filter };
    press(&mut shell, "6");
    shell.select(plugin);
    press(&mut shell, "?");
    let said = screen(&mut shell, 120, 50);
    assert!(said.contains("TaintToleration") && said.contains("Taints and Tolerations"), "{said}");
    type_text(&mut shell, "backoffq");
    let said = screen(&mut shell, 120, 50);
    assert!(said.contains("podInitialBackoffSeconds"), "{said}");
}

#[test]
fn anything_is_found_by_a_part_of_its_name() {
    let mut shell = console();
    press(&mut shell, "ctrl-p");
    type_text(&mut shell, "node-2");
    press(&mut shell, "enter");
    assert_eq!(shell.focused(), PaneId::Details);
    assert_eq!(shell.selected(), Some(&Subject::Node(Str::from("node-2"))));
    press(&mut shell, "ctrl-p");
    type_text(&mut shell, "themelight");
    press(&mut shell, "enter");
    assert!(!shell.has_overlay());
    press(&mut shell, "ctrl-p");
    type_text(&mut shell, "cordon");
    assert!(screen(&mut shell, 120, 36).contains("toggle-cordon"));
    type_text(&mut shell, "zzzzqqq");
    assert!(screen(&mut shell, 120, 36).contains("take some away"));
    press(&mut shell, "esc");
    assert!(!shell.has_overlay());
}

#[expect(clippy::disallowed_methods, reason = "it is about time")]
#[test]
fn a_hundred_thousand_names_are_looked_through_while_one_types() {
    let pods = 100_000;
    let base = session(1);
    let row = base.scheduler.active_q[0].clone();
    let rows = (0..pods).map(|i| {
        let metadata = ObjectMeta {
            name: Str::from(format!("checkout-{i}")),
            namespace: Str::from("shop"),
            ..ObjectMeta::default()
        };
        let pod = schedscope::api::objects::Pod { metadata, ..Default::default() };
        schedscope::scheduler::view::QueueRow { pod: Arc::new(pod), ..row.clone() }
    });
    let node = |i: usize| {
        let metadata = ObjectMeta { name: Str::from(format!("node-{i:04}")), ..ObjectMeta::default() };
        Arc::new(NodeInfo::with_node(Arc::new(Node { metadata, ..Node::default() })))
    };
    let view = View { active_q: rows.collect(), nodes: (0..5_000).map(node).collect(), ..View::default() };
    let mut shell = shell(fixture::session(view), Theme::dark(ColorDepth::TrueColor), false);
    let begun = std::time::Instant::now();
    press(&mut shell, "ctrl-p");
    let opened = begun.elapsed();
    type_text(&mut shell, "shopcheck99999");
    let per_key = (begun.elapsed() - opened) / 14;
    // Without optimization, on a machine that may do other things.
    assert!(per_key.as_secs() < 3 && opened.as_secs() < 10, "{opened:?} to open, {per_key:?} for a key");
    if std::env::var_os("SCHEDSCOPE_MEASURE").is_some() {
        use std::io::Write as _;
        writeln!(std::io::stderr(), "finder: {opened:?} to open, {per_key:?} for a key").unwrap();
    }
    let found = screen(&mut shell, 120, 36);
    assert!(found.contains("shop/checkout-99999"), "{found}");
    press(&mut shell, "enter");
    let wanted = Subject::Pod(NamespacedName::new("shop", "checkout-99999"));
    assert_eq!(shell.selected(), Some(&wanted));
    // Where it waits, it is selected, too.
    press(&mut shell, "1");
    assert_eq!(shell.selected(), Some(&wanted));
}
