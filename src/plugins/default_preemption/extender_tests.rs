//! What extenders do to the candidates. The values are kube-scheduler's own answers for this cluster: without
//! extenders the victims are a2 on node a and b1 on node b, and a is taken.

#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::tests::{cluster, pending, post_filter};
use crate::framework::extender::{Extender, ExtenderAnswer};
use crate::framework::{Answer, Code, HandleRequest, Question, Status};

fn extender(name: &str, node_cache_capable: bool, ignorable: bool) -> Extender {
    Extender {
        url_prefix: format!("http://{name}.example.com/x/"),
        preempt_verb: "preempt".to_owned(),
        node_cache_capable,
        ignorable,
        ..Extender::default()
    }
}

fn said(candidates: &Value) -> ExtenderAnswer {
    ExtenderAnswer::Http { status: 200, body: json!({ "NodeNameToMetaVictims": candidates }).to_string() }
}

fn victims(uids: &[&str]) -> Value {
    json!({ "Pods": uids.iter().map(|uid| json!({ "UID": uid })).collect::<Vec<_>>(), "NumPDBViolations": 0 })
}

/// The node that was taken, and the victims on it.
type Taken = (String, Vec<String>);

/// What came of an attempt.
struct Outcome {
    status: Status,
    taken: Option<Taken>,
    /// What was sent to the extenders.
    sent: Vec<Value>,
}

/// Runs PostFilter with these extenders, whose calls get these answers one after the other.
fn attempt(extenders: Vec<Extender>, answers: &[ExtenderAnswer]) -> Outcome {
    let mut world = cluster();
    world.extenders = extenders;
    let mut sent: Vec<Value> = Vec::new();
    loop {
        world.answers.borrow_mut().rewind();
        world.requests.borrow_mut().clear();
        let (_, status) = post_filter(&mut world, &pending(1000, 2, ""));
        let missing = world.answers.borrow_mut().take_missing();
        if missing.is_empty() {
            let taken = world.requests.borrow().first().map(|request| {
                let HandleRequest::Preempt { candidate, .. } = request else { unreachable!("{request:?}") };
                let names = candidate.victims.pods.iter().map(|victim| victim.pod.metadata.name.to_string());
                (candidate.node_name.to_string(), names.collect())
            });
            return Outcome { status, taken, sent };
        }
        for question in missing {
            let Question::Extender(call) = &question else { unreachable!("{question:?}") };
            let answer = answers[sent.len()].clone();
            sent.push(serde_json::from_str(&call.body).unwrap());
            world.answers.borrow_mut().add([(question, Answer::Extender(answer))]);
        }
    }
}

fn taken(node: &str, victims: &[&str]) -> Option<Taken> {
    Some((node.to_owned(), victims.iter().map(|victim| (*victim).to_owned()).collect()))
}

/// The attempt with one extender and this answer: what is taken, or else the message.
fn with(ignorable: bool, answer: ExtenderAnswer) -> Result<Option<Taken>, (Code, String)> {
    let outcome = attempt(vec![extender("one", false, ignorable)], &[answer]);
    if outcome.status.is_success() {
        return Ok(outcome.taken);
    }
    assert_eq!(outcome.taken, None);
    Err((outcome.status.code(), message(&outcome.status)))
}

/// The message without what other PostFilter plugins say.
fn message(status: &Status) -> String {
    status.reasons().last().cloned().unwrap_or_default()
}

#[test]
fn each_extender_chooses_among_what_the_one_before_it_left() {
    let answers = [said(&json!({ "b": victims(&["b1"]) })), said(&json!({ "b": victims(&["b1"]) }))];
    let outcome = attempt(vec![extender("one", false, false), extender("two", true, false)], &answers);
    assert_eq!(outcome.taken, taken("b", &["b1"]));
    let [first, second] = outcome.sent.as_slice() else { unreachable!("{:?}", outcome.sent) };
    assert_eq!(first["Pod"]["metadata"]["name"], "new");
    assert_eq!(first["NodeNameToMetaVictims"], Value::Null);
    assert_eq!(first["NodeNameToVictims"]["a"]["Pods"][0]["metadata"]["name"], "a2");
    assert_eq!(first["NodeNameToVictims"]["b"]["Pods"][0]["spec"]["nodeName"], "b");
    assert_eq!(second["NodeNameToVictims"], Value::Null);
    assert_eq!(second["NodeNameToMetaVictims"], json!({ "b": victims(&["b1"]) }));
}

#[test]
fn the_victims_are_those_that_the_extender_names_in_its_order() {
    let more = said(&json!({ "a": victims(&["a1", "a2"]), "b": victims(&["b1"]) }));
    assert_eq!(with(false, more), Ok(taken("a", &["a1", "a2"])));
}

#[test]
fn an_extender_may_leave_no_candidate_and_then_no_other_is_asked() {
    let outcome =
        attempt(vec![extender("one", false, false), extender("two", false, false)], &[said(&json!({}))]);
    assert_eq!(outcome.status.code(), Code::Unschedulable);
    assert_eq!(message(&outcome.status), "preemption: no candidate node for preemption");
    assert_eq!(outcome.sent.len(), 1);
}

#[test]
fn what_an_extender_gets_wrong_is_an_error() {
    let failed = ExtenderAnswer::Failed("Post \"http://one.example.com/x/preempt\": EOF".to_owned());
    for (answer, text) in [
        (
            said(&json!({ "a": victims(&["a2"]), "b": victims(&["a1"]) })),
            "extender: http://one.example.com/x/ claims to preempt pod (UID: &{a1}) on node: b, but the pod is not \
             found on that node",
        ),
        (
            said(&json!({ "a": victims(&["a2"]), "x": victims(&["a1"]) })),
            "nodeinfo not found for node name \"x\"",
        ),
        (
            said(&json!({ "a": victims(&[]), "b": victims(&["b1"]) })),
            "expected at least one victim pod on node \"a\"",
        ),
        (said(&json!({ "c": victims(&[]) })), "expected at least one victim pod on node \"c\""),
        (said(&json!({ "b": null })), "expected at least one victim pod on node \"b\""),
        (
            ExtenderAnswer::Http { status: 500, body: String::new() },
            "failed preempt with extender at URL http://one.example.com/x/preempt, code 500",
        ),
        (failed, "Post \"http://one.example.com/x/preempt\": EOF"),
    ] {
        assert_eq!(with(false, answer), Err((Code::Error, format!("preemption: {text}"))));
    }
}

#[test]
fn an_ignorable_extender_that_fails_has_no_say() {
    for answer in [
        said(&json!({ "a": victims(&["a2"]), "b": victims(&["a1"]) })),
        said(&json!({ "a": victims(&["a2"]), "x": victims(&["a1"]) })),
        ExtenderAnswer::Http { status: 500, body: String::new() },
    ] {
        assert_eq!(with(true, answer), Ok(taken("a", &["a2"])));
    }
}

#[test]
fn nodes_for_which_an_ignorable_extender_names_no_victims_are_left_out() {
    let without_a = said(&json!({ "a": victims(&[]), "b": victims(&["b1"]) }));
    assert_eq!(with(true, without_a), Ok(taken("b", &["b1"])));
    let text = "preemption: no candidate node for preemption".to_owned();
    assert_eq!(with(true, said(&json!({ "c": victims(&[]) }))), Err((Code::Unschedulable, text)));
}

#[test]
fn extenders_without_the_verb_or_without_interest_are_not_asked() {
    let silent = Extender { preempt_verb: String::new(), ..extender("one", false, false) };
    let managed = ["example.com/gpu".into()].into();
    let elsewhere = Extender { managed_resources: managed, ..extender("two", false, false) };
    let outcome = attempt(vec![silent, elsewhere], &[]);
    assert_eq!(outcome.taken, taken("a", &["a2"]));
}
