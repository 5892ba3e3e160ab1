//! What command lines come to.

use std::sync::Arc;

use super::*;
use crate::api::objects::{Node, ObjectMeta, Pod};
use crate::driver::session::RunState;
use crate::framework::NodeInfo;
use crate::scheduler::view::View;

fn view() -> SessionView {
    let nodes = ["a-1", "a-2", "b-1"].map(|name| {
        let metadata = ObjectMeta { name: Str::from(name), ..ObjectMeta::default() };
        Arc::new(NodeInfo::with_node(Arc::new(Node { metadata, ..Node::default() })))
    });
    let metadata = ObjectMeta { namespace: "shop".into(), name: "web".into(), ..ObjectMeta::default() };
    let in_flight = vec![Arc::new(Pod { metadata, ..Pod::default() })];
    SessionView {
        known: Default::default(),
        moment: Default::default(),
        live: None,
        aside: None,
        source: Str::from("sample"),
        run_state: RunState::Paused,
        speed: Speed::Times(1),
        elapsed: Duration::ZERO,
        next_timeout: None,
        scheduler: Arc::new(View { nodes: nodes.to_vec(), in_flight, ..View::default() }),
        notice: None,
        debug: Default::default(),
        branches: Default::default(),
        comparison: None,
        failure: None,
    }
}

fn read(line: &str, selected: Option<&Subject>) -> Result<Deed, String> {
    parse(line, &CommandCx { view: &view(), selected, themes: &Themes::default() })
}

fn edit(line: &str) -> Edit {
    let node = Subject::Node(Str::from("a-1"));
    match read(line, Some(&node)).unwrap() {
        Deed::Session(SessionCommand::Edit(edit))
        | Deed::Confirm { command: SessionCommand::Edit(edit), .. } => edit,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn durations_read_like_those_of_kubectl() {
    let millis = |text: &str| parse_duration(text).map(|duration| duration.as_millis());
    assert_eq!(millis("10s"), Ok(10_000));
    assert_eq!(millis("1m30s"), Ok(90_000));
    assert_eq!(millis("500ms"), Ok(500));
    assert_eq!(millis("2h"), Ok(7_200_000));
    assert_eq!(millis("7"), Ok(7_000));
    for wrong in ["", "s", "10x", "1m30", "-1s", "1.5s"] {
        assert!(parse_duration(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_selected_need_not_be_named() {
    let a = || Str::from("a-1");
    assert_eq!(edit("cordon"), Edit::Cordon(a()));
    assert_eq!(edit("uncordon b-1"), Edit::Uncordon(Str::from("b-1")));
    let taint = |node: &str| Edit::Taint { node: Str::from(node), taint: "gpu=yes:NoSchedule".to_owned() };
    assert_eq!(edit("taint gpu=yes:NoSchedule"), taint("a-1"));
    assert_eq!(edit("taint b-1 gpu=yes:NoSchedule"), taint("b-1"));
    assert_eq!(edit("label b-1 disk-"), Edit::Label { node: Str::from("b-1"), label: "disk-".to_owned() });
    assert_eq!(edit("delete"), Edit::DeleteNode(a()));
    assert_eq!(edit("delete pod shop/web"), Edit::DeletePod(NamespacedName::new("shop", "web")));
    assert_eq!(read("cordon", None), Err("no node is selected: name it".to_owned()));
}

#[test]
fn deletions_are_asked_for() {
    let deed = read("delete node a-1", None).unwrap();
    assert!(matches!(deed, Deed::Confirm { question, .. } if question == "Delete node a-1?"));
    let key = NamespacedName::new("shop", "data");
    assert_eq!(edit("delete pvc shop/data"), Edit::Delete { kind: Kind::PersistentVolumeClaim, key });
    let key = NamespacedName::cluster("fast");
    assert_eq!(edit("delete storageclass fast"), Edit::Delete { kind: Kind::StorageClass, key });
    assert!(read("delete thing x", None).is_err());
    assert_eq!(read("delete pod shop/nope", None), Err("there is no pod shop/nope".to_owned()));
    assert_eq!(read("delete node z-1", None), Err("there is no node z-1".to_owned()));
}

#[test]
fn add_pod_knows_a_file_from_a_name() {
    assert_eq!(read("add-pod web.yaml", None), Ok(Deed::ApplyFile("web.yaml".to_owned())));
    assert_eq!(read("add-pod", None), Ok(Deed::Action(Action::AddPod)));
    let Edit::Apply { source, text } = edit("add-pod shop/web cpu=1") else { unreachable!() };
    assert_eq!(source, "add-pod shop/web");
    assert!(text.contains("\"namespace\":\"shop\""), "{text}");
}

#[test]
fn every_action_that_works_in_a_pane_is_a_command() {
    assert_eq!(read("select-last", None), Ok(Deed::Action(Action::SelectLast)));
    assert!(complete_name("").iter().all(|candidate| candidate.line != "delete-backward"));
    for info in Action::TABLE.iter().filter(|info| works_from_the_palette(info.action)) {
        assert!(complete_name("").iter().any(|candidate| candidate.line == info.name), "{}", info.name);
    }
}

#[test]
fn completion_offers_commands_then_their_words() {
    let view = view();
    let lines = |line: &str| -> Vec<String> {
        let themes = Themes::default();
        let cx = CommandCx { view: &view, selected: None, themes: &themes };
        complete(line, &cx).into_iter().map(|candidate| candidate.line).collect()
    };
    assert_eq!(lines("unc")[0], "uncordon");
    assert_eq!(lines("q")[0], "quit");
    assert_eq!(lines("cordon a"), ["cordon a-1", "cordon a-2"]);
    assert_eq!(lines("delete ")[..2], ["delete pod", "delete node"]);
    assert!(lines("delete p").contains(&"delete persistentvolumeclaim".to_owned()));
    assert_eq!(lines("changed "), ["changed pod", "changed node"]);
    assert_eq!(lines("advance ").len(), 5);
    assert_eq!(lines("add-node n cpu=4 m"), ["add-node n cpu=4 memory="]);
    assert!(!lines("add-pod web cpu=1 ").contains(&"add-pod web cpu=1 cpu=".to_owned()));
    assert_eq!(lines("delete node b"), ["delete node b-1"]);
    assert_eq!(lines("taint a-1 ").len(), 3);
    assert_eq!(lines("theme lig"), ["theme light"]);
    assert_eq!(lines("run x"), [""; 0]);
}
