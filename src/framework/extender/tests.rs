//! What is sent, and what is made of the answers.

#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;
use crate::framework::pod_info::PodInfo;

fn pod(value: Value) -> Pod {
    serde_json::from_value(value).unwrap()
}

fn web() -> Pod {
    pod(json!({"metadata": {"namespace": "default", "name": "web", "uid": "u-web"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}}))
}

fn node(name: &str) -> Arc<NodeInfo> {
    let node = json!({"metadata": {"name": name, "labels": {"disk": "ssd"}}, "status": {"allocatable": {"cpu": "4"}}});
    Arc::new(NodeInfo::with_node(Arc::new(serde_json::from_value(node).unwrap())))
}

/// Node a with the pod a1, node b without pods.
fn snapshot() -> Snapshot {
    let mut a = node("a").as_ref().clone();
    let a1 =
        json!({"metadata": {"namespace": "default", "name": "a1", "uid": "u-a1"}, "spec": {"nodeName": "a"}});
    a.add_pod(Arc::new(PodInfo::new(Arc::new(pod(a1)))));
    Snapshot::new(vec![Arc::new(a), node("b")])
}

fn extender() -> Extender {
    Extender {
        url_prefix: "http://127.0.0.1:8888/ext//".to_owned(),
        filter_verb: "filter".to_owned(),
        prioritize_verb: "rate/all".to_owned(),
        preempt_verb: "preempt".to_owned(),
        bind_verb: "bind".to_owned(),
        weight: 2,
        ..Extender::default()
    }
}

fn by_name() -> Extender {
    Extender { node_cache_capable: true, ..extender() }
}

fn ok(body: &str) -> ExtenderAnswer {
    ExtenderAnswer::Http { status: 200, body: body.to_owned() }
}

fn body(call: &ExtenderCall) -> Value {
    serde_json::from_str(&call.body).unwrap()
}

fn names(nodes: &[Arc<NodeInfo>]) -> Vec<&str> {
    nodes.iter().map(|node| node.name().as_ref()).collect()
}

#[test]
fn a_call_goes_to_the_prefix_without_its_slashes_and_the_verb() {
    let call = extender().prioritize_call(3, &web(), &[node("a")]);
    assert_eq!(call.url, "http://127.0.0.1:8888/ext/rate/all");
    assert_eq!(
        (call.extender, call.verb, call.timeout),
        (3, ExtenderVerb::Prioritize, Duration::from_secs(5))
    );
}

#[test]
fn nodes_are_sent_whole_or_by_name() {
    let nodes = [node("b"), node("a")];
    let whole = body(&extender().filter_call(0, &web(), &nodes));
    assert_eq!(whole["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "100m");
    assert_eq!(whole["NodeNames"], Value::Null);
    assert_eq!(whole["Nodes"]["metadata"], json!({}));
    let first = json!({"metadata": {"name": "b", "labels": {"disk": "ssd"}}, "spec": {}, "status": {"allocatable": {"cpu": "4"}}});
    assert_eq!(whole["Nodes"]["items"][0], first);
    let named = body(&by_name().filter_call(0, &web(), &nodes));
    assert_eq!((&named["Nodes"], &named["NodeNames"]), (&Value::Null, &json!(["b", "a"])));
}

#[test]
fn a_binding_is_asked_for_by_names() {
    let call = extender().bind_call(0, &web(), &"a".into());
    assert_eq!(call.body, r#"{"PodName":"web","PodNamespace":"default","PodUID":"u-web","Node":"a"}"#);
}

#[test]
fn which_pods_interest_an_extender() {
    let gpu = Extender { managed_resources: BTreeSet::from(["example.com/gpu".into()]), ..extender() };
    let with = |spec: Value| gpu.is_interested(&pod(json!({ "spec": spec })));
    assert!(extender().is_interested(&web()));
    assert!(!gpu.is_interested(&web()));
    assert!(with(json!({"containers": [{}, {"resources": {"requests": {"example.com/gpu": "0"}}}]})));
    assert!(with(json!({"containers": [{"resources": {"limits": {"example.com/gpu": "1"}}}]})));
    assert!(with(
        json!({"containers": [], "initContainers": [{"resources": {"limits": {"example.com/gpu": "1"}}}]})
    ));
    assert!(!with(json!({"containers": [], "overhead": {"example.com/gpu": "1"}})));
}

#[test]
fn names_that_pass_are_the_nodes_that_were_sent() {
    let snapshot = snapshot();
    let filter = |extender: &Extender, text: &str| extender.filter_answer(&ok(text), snapshot.list());
    let passed = filter(&by_name(), r#"{"NodeNames":["b","a","b"],"FailedNodes":{"c":"full"}}"#).unwrap();
    assert_eq!(names(&passed.nodes), ["b", "a", "b"]);
    assert_eq!(passed.nodes[1].pods().len(), 1);
    assert_eq!(passed.failed, BTreeMap::from([("c".into(), "full".to_owned())]));
    assert_eq!(
        filter(&by_name(), r#"{"NodeNames":["x"]}"#),
        Err("extender \"http://127.0.0.1:8888/ext//\" claims a filtered node \"x\" which is not found in the input \
             node list"
            .to_owned())
    );
    // Names are read only where names were sent.
    assert_eq!(filter(&extender(), r#"{"NodeNames":["a"]}"#), Ok(ExtenderFilterResult::default()));
}

#[test]
fn whole_nodes_that_pass_are_taken_as_they_come_without_pods() {
    let snapshot = snapshot();
    let text = r#"{"Nodes":{"items":[{"metadata":{"name":"a","labels":{"disk":"hdd"}}},
        {"metadata":{"name":"made-up"},"spec":{"taints":[{"value":"x"}]},"status":{"allocatable":{"cpu":"64"}}}]},
        "FailedAndUnresolvableNodes":{"b":"broken"}}"#;
    for extender in [extender(), by_name()] {
        let passed = extender.filter_answer(&ok(text), snapshot.list()).unwrap();
        let [a, made_up] = passed.nodes.as_slice() else { unreachable!("{passed:?}") };
        assert_eq!(
            (a.pods().len(), a.node().unwrap().label("disk"), a.allocatable().milli_cpu),
            (0, Some("hdd"), 0)
        );
        assert_eq!((made_up.name().as_ref(), made_up.allocatable().milli_cpu), ("made-up", 64_000));
        assert_eq!(made_up.node().unwrap().spec.taints[0].to_string(), "=x:");
        assert_eq!(passed.failed_and_unresolvable, BTreeMap::from([("b".into(), "broken".to_owned())]));
    }
    // Of both, the names count where names were sent.
    let both = text.replacen('{', r#"{"NodeNames":["b"],"#, 1);
    assert_eq!(names(&by_name().filter_answer(&ok(&both), snapshot.list()).unwrap().nodes), ["b"]);
    assert_eq!(
        names(&extender().filter_answer(&ok(&both), snapshot.list()).unwrap().nodes),
        ["a", "made-up"]
    );
}

#[test]
fn an_answer_in_which_nothing_is_set_lets_no_node_pass() {
    for text in ["null", "{}", r#"{"Nodes":null,"NodeNames":null}"#, r#"{"Nodes":{}}"#] {
        assert_eq!(
            by_name().filter_answer(&ok(text), &[node("a")]),
            Ok(ExtenderFilterResult::default()),
            "{text}"
        );
    }
}

#[test]
fn scores_come_as_they_are() {
    let scores = |text: &str| extender().prioritize_answer(&ok(text));
    assert_eq!(
        scores(r#"[{"Host":"a","Score":11},{"host":"x","score":-1},{"Host":"a","Score":3}]"#),
        Ok(vec![("a".into(), 11), ("x".into(), -1), ("a".into(), 3)])
    );
    assert_eq!(scores("null"), Ok(Vec::new()));
    assert_eq!(
        scores("{}"),
        Err("json: cannot unmarshal object into Go value of type v1.HostPriorityList".to_owned())
    );
}

#[test]
fn victims_are_sent_whole_or_by_uid() {
    let snapshot = snapshot();
    let victims =
        Victims { pods: snapshot.list()[0].pods().to_vec(), num_pdb_violations: 1, ..Victims::default() };
    let victims = BTreeMap::from([("a".into(), victims)]);
    let whole = body(&extender().preempt_call(0, &web(), &victims));
    assert_eq!(whole["NodeNameToMetaVictims"], Value::Null);
    assert_eq!(whole["NodeNameToVictims"]["a"]["Pods"][0]["metadata"]["name"], "a1");
    let meta = body(&by_name().preempt_call(0, &web(), &victims));
    assert_eq!(meta["NodeNameToVictims"], Value::Null);
    assert_eq!(
        meta["NodeNameToMetaVictims"],
        json!({"a": {"Pods": [{"UID": "u-a1"}], "NumPDBViolations": 1}})
    );
    // What was sent can be read back.
    let back = json!({"NodeNameToMetaVictims": meta["NodeNameToMetaVictims"]}).to_string();
    assert_eq!(extender().preempt_answer(&ok(&back), &snapshot), Ok(victims));
}

#[test]
fn a_victim_that_is_null_is_not_found() {
    let text = r#"{"NodeNameToMetaVictims":{"a":{"Pods":[null]}}}"#;
    assert_eq!(
        extender().preempt_answer(&ok(text), &snapshot()),
        Err("extender: http://127.0.0.1:8888/ext// claims to preempt pod (UID: <nil>) on node: a, but the pod is not \
             found on that node"
            .to_owned())
    );
}

#[test]
fn anything_but_a_complete_answer_of_status_200_is_an_error() {
    let told = |answer: &ExtenderAnswer| extender().bind_answer(answer).unwrap_err();
    for status in [201, 204, 404, 500] {
        let answer = ExtenderAnswer::Http { status, body: "{}".to_owned() };
        let text = format!("failed bind with extender at URL http://127.0.0.1:8888/ext/bind, code {status}");
        assert_eq!(told(&answer), text);
    }
    assert_eq!(told(&ExtenderAnswer::Failed("Post \"x\": EOF".to_owned())), "Post \"x\": EOF");
    assert_eq!(told(&ok("")), "EOF");
    assert_eq!(told(&ok("{")), "unexpected EOF");
    assert_eq!(told(&ok(r#"{"error":"no room"}"#)), "no room");
    assert_eq!(extender().bind_answer(&ok("{} trailing")), Ok(()));
    let filter = extender().filter_answer(&ok(r#"{"Error":"no room","Nodes":{}}"#), &[]);
    assert_eq!(filter, Err("no room".to_owned()));
}
