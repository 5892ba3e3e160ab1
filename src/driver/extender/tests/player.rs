//! What the player answers. The answers in words are those that the golden decisions have for these rules.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::objects::{Node, Pod};
use crate::api::{Duration, Object, ObjectStore};
use crate::driver::extender::{PlayedAnswer, Player, PlayerError};
use crate::framework::extender::{Extender, ExtenderAnswer};
use crate::framework::preemption::Victims;
use crate::framework::{NodeInfo, PodInfo};

fn extender(node_cache_capable: bool) -> Extender {
    Extender {
        url_prefix: "http://alpha.example.com/ext/".to_owned(),
        filter_verb: "filter".to_owned(),
        prioritize_verb: "prioritize".to_owned(),
        preempt_verb: "preempt".to_owned(),
        bind_verb: "bind".to_owned(),
        node_cache_capable,
        ..Extender::default()
    }
}

fn player(rules: &str) -> Player {
    let text = format!("extenders:\n- name: alpha\n  urlPrefix: http://alpha.example.com/ext/\n  {rules}\n");
    Player::parse(&text, &[extender(false)]).unwrap()
}

fn node_object(name: &str, disk: &str) -> Node {
    let value = json!({"metadata": {"name": name, "labels": {"disk": disk}}, "status": {"allocatable": {"cpu": "4"}}});
    serde_json::from_value(value).unwrap()
}

fn pod_object(name: &str, app: &str) -> Pod {
    let value = json!({"metadata": {"namespace": "default", "name": name, "uid": format!("u-{name}"), "labels": {"app": app}}});
    serde_json::from_value(value).unwrap()
}

/// Nodes n1 and n3 with disk ssd, n2 with hdd; pods web and db.
fn api() -> ObjectStore {
    let mut api = ObjectStore::default();
    for (name, disk) in [("n1", "ssd"), ("n2", "hdd"), ("n3", "ssd")] {
        api.insert(Object::from(node_object(name, disk)));
    }
    for name in ["web", "db"] {
        api.insert(Object::from(pod_object(name, name)));
    }
    api
}

fn infos() -> Vec<Arc<NodeInfo>> {
    api().nodes.values().map(|node| Arc::new(NodeInfo::with_node(Arc::clone(node)))).collect()
}

fn filter_of(player: &mut Player, extender: &Extender, pod: &str) -> PlayedAnswer {
    let call = extender.filter_call(0, &pod_object(pod, pod), &infos());
    player.answer(extender, &call, &api()).unwrap()
}

/// The answer of the rules to a call to filter, in words and in JSON.
fn filtered(rules: &str, node_cache_capable: bool) -> (String, Value) {
    let played = filter_of(&mut player(rules), &extender(node_cache_capable), "web");
    let ExtenderAnswer::Http { status: 200, body } = &played.answer else { unreachable!("{played:?}") };
    (played.text, serde_json::from_str(body).unwrap())
}

fn prioritized(rules: &str) -> String {
    let call = extender(true).prioritize_call(0, &pod_object("web", "web"), &infos());
    player(rules).answer(&extender(true), &call, &api()).unwrap().text
}

fn preempted(rules: &str, node_cache_capable: bool) -> PlayedAnswer {
    let victims = |names: &[&str], violations| Victims {
        pods: names.iter().map(|name| Arc::new(PodInfo::new(Arc::new(pod_object(name, name))))).collect(),
        num_pdb_violations: violations,
        tried: Vec::new(),
    };
    let candidates =
        BTreeMap::from([("n2".into(), victims(&["db"], 0)), ("n1".into(), victims(&["web", "db"], 2))]);
    let extender = extender(node_cache_capable);
    let call = extender.preempt_call(0, &pod_object("new", "new"), &candidates);
    player(rules).answer(&extender, &call, &api()).unwrap()
}

fn bound(rules: &str) -> PlayedAnswer {
    let call = extender(true).bind_call(0, &pod_object("web", "web"), &"n1".into());
    player(rules).answer(&extender(true), &call, &api()).unwrap()
}

#[test]
fn without_rules_everything_passes() {
    let (text, body) = filtered("filter: []", false);
    assert_eq!(text, "nodes n1,n2,n3");
    assert_eq!(body["Nodes"]["items"][1]["metadata"]["labels"], json!({"disk": "hdd"}));
    assert_eq!(
        (&body["NodeNames"], &body["FailedNodes"], &body["Error"]),
        (&Value::Null, &json!({}), &json!(""))
    );
    assert_eq!(filtered("filter: []", true).0, "nodeNames n1,n2,n3");
    assert_eq!(prioritized("prioritize: []"), "-");
    assert_eq!(preempted("preempt: []", false).text, "n1[default/web default/db]!2,n2[default/db]");
    let binding = bound("bind: []");
    assert_eq!((binding.text.as_str(), binding.bind.unwrap().binds_to), ("ok", Some("n1".into())));
}

#[test]
fn the_first_rule_that_is_for_the_pod_and_not_used_up_answers() {
    let mut player = player(
        "filter:\n  - {pods: {labels: {app: db}}, status: 500}\n  - {pods: {names: [default/web]}, times: 2, fail: refused}\n  - {body: 'null'}",
    );
    let extender = extender(false);
    let ask = |player: &mut Player, pod: &str| filter_of(player, &extender, pod).text;
    assert_eq!(ask(&mut player, "db"), "status 500");
    assert_eq!(ask(&mut player, "web"), "refused");
    let mut copy = player.clone();
    assert_eq!(ask(&mut player, "web"), "refused");
    assert_eq!(ask(&mut player, "web"), "body \"null\"");
    assert_eq!(ask(&mut copy, "web"), "refused");
    player.restart();
    assert_eq!(ask(&mut player, "web"), "refused");
}

#[test]
fn what_is_sent_is_told() {
    let mut player = player("filter: []");
    let played = filter_of(&mut player, &extender(true), "web");
    assert_eq!(played.line(), "extender alpha filter default/web nodeNames: n1,n2,n3 => nodeNames n1,n2,n3");
    assert_eq!(
        (played.sent, played.nodes),
        ("nodeNames", vec!["n1".to_owned(), "n2".to_owned(), "n3".to_owned()])
    );
    assert_eq!(filter_of(&mut player, &extender(false), "web").sent, "nodes");
    assert_eq!(preempted("preempt: []", true).sent, "metaVictims");
    let played = preempted("preempt: [{drop: {}}]", false);
    assert_eq!(
        played.line(),
        "extender alpha preempt default/new victims: n1[default/web default/db]!2,n2[default/db] => -"
    );
}

#[test]
fn no_proper_answer() {
    let answer = |rule: &str| filter_of(&mut player(&format!("filter: [{rule}]")), &extender(false), "web");
    let url = "http://alpha.example.com/ext/filter";
    let timeout =
        format!("Post \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
    assert_eq!(answer("{fail: timeout}").answer, ExtenderAnswer::Failed(timeout));
    let refused = format!("Post \"{url}\": dial tcp 192.0.2.1:80: connect: connection refused");
    assert_eq!(answer("{fail: refused}").answer, ExtenderAnswer::Failed(refused));
    let status = ExtenderAnswer::Http { status: 204, body: String::new() };
    assert_eq!(answer("{status: 204}").answer, status);
    let played = answer("{body: '{\"a\":'}");
    assert_eq!(played.text, "body \"{\\\"a\\\":\"");
    assert_eq!(played.answer, ExtenderAnswer::Http { status: 200, body: "{\"a\":".to_owned() });
}

#[test]
fn an_error_goes_with_the_answer_where_it_has_a_field_for_it() {
    let (text, body) = filtered("filter: [{error: no room, keys: lower}]", true);
    assert_eq!(
        (text.as_str(), &body["error"], &body["nodeNames"][0]),
        ("error \"no room\"", &json!("no room"), &json!("n1"))
    );
    assert_eq!(prioritized("prioritize: [{error: no room, default: 1}]"), "n1=1,n2=1,n3=1");
    assert_eq!(preempted("preempt: [{error: no room, drop: {names: [n1]}}]", false).text, "n2[default/db]");
}

#[test]
fn nodes_are_rejected_in_many_ways() {
    let rules = "filter:\n  - reject:\n    - {names: [n1], reason: one, as: RULE}\n    - {labels: {disk: ssd}, reason: two}";
    for (kind, text) in [
        ("failed", "nodes n2; failed n1: one; failed n3: two"),
        ("unresolvable", "nodes n2; failed n3: two; unresolvable n1: one"),
        ("both", "nodes n2; failed n1: one; failed n3: two; unresolvable n1: one"),
        ("silent", "nodes n2; failed n3: two"),
        ("listed", "nodes n1,n2; failed n1: one; failed n3: two"),
    ] {
        assert_eq!(filtered(&rules.replace("RULE", kind), false).0, text);
    }
}

#[test]
fn nodes_can_be_added_rewritten_and_made_up() {
    let rules = "filter:\n  - add: [n1, x]\n    addFailed: {n2: why}\n    rewrite: {n1: {labels: {disk: nvme}, allocatable: {cpu: '32'}}}\n    answer: both";
    let (text, body) = filtered(rules, false);
    assert_eq!(text, "both n1,n1,n2,n3,x; failed n2: why");
    assert_eq!(body["NodeNames"], json!(["n1", "n1", "n2", "n3", "x"]));
    let item = |index: usize| body["Nodes"]["items"][index].clone();
    assert_eq!(item(0)["metadata"]["labels"], json!({"disk": "nvme"}));
    assert_eq!(item(3)["status"]["allocatable"], json!({"cpu": "32"}));
    assert_eq!(item(4)["metadata"]["labels"], json!({"kubernetes.io/hostname": "x"}));
    assert_eq!(item(4)["status"]["allocatable"], json!({"cpu": "64", "memory": "256Gi", "pods": "110"}));
    assert_eq!(filtered("filter: [{answer: none}]", false).0, "none n1,n2,n3");
    assert_eq!(filtered("filter: [{answer: nodes}]", true).0, "nodes n1,n2,n3");
}

#[test]
fn scores_come_from_names_then_labels_then_the_default() {
    let rules = "prioritize: [{scores: {n1: -3}, byLabel: {a: {b: 1}, disk: {ssd: 20}}, extra: [{host: n1, score: 5}]}]";
    assert_eq!(prioritized(rules), "n1=-3,n1=5,n3=20");
    assert_eq!(prioritized("prioritize: [{byLabel: {disk: {ssd: 2}}, default: 0}]"), "n1=2,n2=0,n3=2");
}

#[test]
fn candidates_are_dropped_and_named() {
    let rules = "preempt: [{drop: {labels: {disk: hdd}}, victims: {n3: {pods: [default/web, default/gone], pdbViolations: 1}}, keys: lower}]";
    let played = preempted(rules, false);
    assert_eq!(played.text, "n1[default/web default/db]!2,n3[default/web none/default/gone]!1");
    let ExtenderAnswer::Http { body, .. } = &played.answer else { unreachable!() };
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        body["nodeNameToMetaVictims"]["n3"],
        json!({"pods": [{"uID": "u-web"}, {"uID": "none/default/gone"}], "numPDBViolations": 1})
    );
}

#[test]
fn a_binding_may_take_time_and_go_elsewhere() {
    let played = bound("bind: [{takes: 1m1.5s, node: n2}]");
    assert_eq!(played.first_lines(), ["extender alpha bind default/web -> n1 begins"]);
    assert_eq!(played.line(), "extender alpha bind default/web -> n1: binds to n2, ok");
    let bind = played.bind.unwrap();
    assert_eq!((bind.takes, bind.is_timeout), (Duration::from_millis(61_500), false));

    let played = bound("bind: [{status: 503}]");
    assert_eq!(played.line(), "extender alpha bind default/web -> n1: binds nothing, status 503");
    let played = bound("bind: [{error: no, binds: true}]");
    assert_eq!(played.line(), "extender alpha bind default/web -> n1: binds to n1, error \"no\"");

    let mut played = bound("bind: [{}]");
    played.could_not_bind(false);
    assert_eq!(played.line(), "extender alpha bind default/web -> n1: binds nothing, status 409");
    assert_eq!(played.answer, ExtenderAnswer::Http { status: 409, body: String::new() });
}

#[test]
fn a_binding_that_is_not_answered_in_time_may_still_be_made_at_once() {
    let played = bound("bind: [{fail: timeout, binds: true, takes: 1s}]");
    assert_eq!(played.bind.as_ref().unwrap().takes, Duration::from_secs(5));
    assert_eq!(
        played.first_lines(),
        [
            "extender alpha bind default/web -> n1 begins",
            "extender alpha bind default/web -> n1: binds to n1"
        ]
    );
    assert_eq!(played.line(), "extender alpha bind default/web -> n1: over, timeout");
}

#[test]
fn rules_must_be_about_the_extenders_of_the_configuration() {
    let parse = |text: &str| Player::parse(text, &[extender(false)]).unwrap_err();
    let text = "extenders: [{name: beta, urlPrefix: 'http://beta'}]";
    assert_eq!(parse(text).to_string(), "the configuration has no extender \"http://beta\"");
    assert_eq!(
        parse("extenders: []").to_string(),
        "the extender \"http://alpha.example.com/ext/\" has no name here"
    );
    for wrong in [
        "extenders: [{name: a, urlPrefix: b, filter: [{rejects: []}]}]",
        "extenders: [{name: a, urlPrefix: b, filter: [{fail: late}]}]",
        "extenders: [{name: a, urlPrefix: b, bind: [{takes: 5}]}]",
        "extenders: [{name: a, urlPrefix: b, bind: [{takes: 5 days}]}]",
    ] {
        assert!(matches!(parse(wrong), PlayerError::Form(_)), "{wrong}");
    }
}
