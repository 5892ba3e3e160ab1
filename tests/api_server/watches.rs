//! Watches, with the kube crate and by hand.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use super::harness::{CLUSTER, Served, pod};

#[test]
fn watchers_see_what_happens_in_both_protocols() {
    let served = Served::start(CLUSTER, &["--speed", "10"]);
    served.create_pod("first", "1");
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
        let name = if config.initial_list_strategy == watcher::InitialListStrategy::StreamingList {
            "b"
        } else {
            "a"
        };
        let told = served.runtime.block_on(async {
            let mut stream = watcher(pods.clone(), config).boxed();
            let mut told = Vec::new();
            let mut is_made = false;
            let deadline = tokio::time::timeout(Duration::from_secs(30), async {
                while let Some(event) = stream.try_next().await.unwrap() {
                    match event {
                        watcher::Event::Init => told.push("init".to_owned()),
                        watcher::Event::InitApply(_) => told.push("init apply".to_owned()),
                        watcher::Event::InitDone => {
                            told.push("init done".to_owned());
                            assert!(!is_made);
                            is_made = true;
                            let new = serde_json::from_value(pod(name, "1")).unwrap();
                            pods.create(&Default::default(), &new).await.unwrap();
                        }
                        watcher::Event::Apply(pod) if pod.metadata.name.as_deref() == Some(name) => {
                            if pod.metadata.deletion_timestamp.is_some() {
                                told.push("terminating".to_owned());
                            } else if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
                                if !told.contains(&"bound".to_owned()) {
                                    told.push("bound".to_owned());
                                    pods.delete(name, &Default::default()).await.unwrap();
                                }
                            } else if !told.contains(&"made".to_owned()) {
                                told.push("made".to_owned());
                            }
                        }
                        watcher::Event::Apply(_) => {}
                        watcher::Event::Delete(_) => {
                            told.push("deleted".to_owned());
                            break;
                        }
                    }
                }
            });
            deadline.await.unwrap();
            told
        });
        assert_eq!(told, ["init", "init apply", "init done", "made", "bound", "terminating", "deleted"]);
    }
}

#[test]
fn a_pod_that_fits_nowhere_has_events_that_say_so() {
    let served = Served::start(CLUSTER, &[]);
    served.create_pod("big", "64");
    let events: Api<Event> = Api::namespaced(served.client.clone(), "shop");
    let selected = ListParams::default().fields("involvedObject.name=big,reason=FailedScheduling");
    let find = || served.runtime.block_on(events.list(&selected)).unwrap().items;
    served.until("an event", || !find().is_empty());
    let event = find().remove(0);
    let message = event.message.unwrap();
    assert!(message.starts_with("0/2 nodes are available: 2 Insufficient cpu."), "{message}");
    assert_eq!(event.reporting_component.as_deref(), Some("default-scheduler"));
    let (code, list) = served.get("/apis/events.k8s.io/v1/namespaces/shop/events");
    assert_eq!((code, list["items"][0]["note"].as_str()), (200, Some(message.as_str())));
}

#[test]
fn a_watch_begins_where_it_is_told_and_selects() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
    served.create_pod("a", "1");
    let version = served.runtime.block_on(pods.list(&ListParams::default())).unwrap();
    let version = version.metadata.resource_version.unwrap();
    served.create_pod("b", "1");
    let bind = json!({"target": {"kind": "Node", "name": "node-1"}});
    for name in ["a", "b"] {
        let path = format!("/api/v1/namespaces/shop/pods/{name}/binding");
        served.call("POST", &path, "application/json", &bind);
    }
    let told = |fields: &str| -> Vec<String> {
        let params = WatchParams::default().fields(fields).timeout(1);
        served.runtime.block_on(async {
            let stream = pods.watch(&params, &version).await.unwrap();
            let events: Vec<WatchEvent<Pod>> = stream.try_collect().await.unwrap();
            let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
            events
                .iter()
                .filter_map(|event| match event {
                    WatchEvent::Added(pod) => Some(format!("+{}", name(pod))),
                    WatchEvent::Modified(pod) => Some(format!("*{}", name(pod))),
                    WatchEvent::Deleted(pod) => Some(format!("-{}", name(pod))),
                    WatchEvent::Bookmark(_) => None,
                    WatchEvent::Error(error) => panic!("{error:?}"),
                })
                .collect()
        })
    };
    assert_eq!(told(""), ["+b", "*a", "*b"]);
    assert_eq!(
        told("spec.nodeName="),
        ["+b", "-a", "-b"],
        "what leaves the selection is gone for the watcher"
    );
    assert_eq!(told("spec.nodeName=node-1"), ["+a", "+b"]);
}

#[test]
fn a_version_from_long_ago_is_too_old_and_one_to_come_too_large() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let (code, text) = served.send("GET", "/api/v1/pods?watch=true&resourceVersion=5", &[], b"");
    let event: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        (code, event["type"].as_str(), event["object"]["code"].as_i64()),
        (200, Some("ERROR"), Some(410))
    );
    let large = format!("/api/v1/pods?resourceVersion={}", u64::MAX);
    assert_eq!(served.get(&large).0, 504);
}

#[test]
fn a_bookmark_says_where_the_first_objects_end() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let path = "/api/v1/nodes?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&\
                allowWatchBookmarks=true&timeoutSeconds=1";
    let (_, text) = served.send("GET", path, &[], b"");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ADDED", "ADDED", "BOOKMARK", "BOOKMARK"]);
    assert_eq!(events[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let refused = served.get("/api/v1/nodes?watch=true&sendInitialEvents=true");
    assert_eq!(refused.0, 422);
}
