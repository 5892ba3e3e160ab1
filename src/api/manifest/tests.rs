//! What loads, what does not, and what the person is told.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;
use crate::api::objects::Pod;

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn read(text: &str) -> Loaded {
    match load(&[source("test.yaml", text)]) {
        Ok(loaded) => loaded,
        Err(errors) => {
            assert_eq!(errors.to_string(), "", "{text}");
            Loaded::default()
        }
    }
}

fn names(text: &str) -> Vec<String> {
    read(text).objects.iter().map(object_text).collect()
}

fn refused(text: &str) -> String {
    load(&[source("test.yaml", text)]).unwrap_err().to_string()
}

/// The first line of what is said about a text.
fn complaint(text: &str) -> String {
    refused(text).lines().next().unwrap_or_default().to_owned()
}

fn pod(text: &str) -> Pod {
    match read(text).objects.first() {
        Some(Object::Pod(pod)) => Pod::clone(pod),
        _ => Pod::default(),
    }
}

const TWO: [&str; 2] = ["Node n1", "Pod shop/web"];

#[test]
fn every_form_that_kubectl_writes_is_read() {
    for text in [
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n1\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: web, namespace: shop}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
        r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}},{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop"}}]}"#,
        r#"{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n1"}}]} {"apiVersion":"v1","items":[{"metadata":{"name":"web","namespace":"shop"}}],"kind":"PodList"}"#,
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: NodeList, items: [{metadata: {name: n1}}]}\n- apiVersion: v1\n  kind: PodList\n  items:\n  - metadata: {name: web, namespace: shop}\n",
        "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\"}}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: web, namespace: shop}\n",
        "{kind: Node, apiVersion: v1, metadata: {name: n1}}\n---\n{\"kind\": \"Pod\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"web\", \"namespace\": \"shop\",},}\n",
    ] {
        assert_eq!(names(text), TWO, "{text}");
        assert_eq!(names(&text.replace('\n', "\r\n")), TWO, "with CRLF: {text}");
        assert_eq!(names(&format!("\u{feff}{text}")), TWO, "with a byte order mark: {text}");
    }
}

#[test]
fn empty_documents_and_comments_are_nothing() {
    for text in [
        "",
        "\n",
        "---\n",
        "---\n---\n\n---",
        "# only a comment\n",
        "--- # x\n# y\n---\n",
        "null\n---\n~\n",
        "\u{feff}",
    ] {
        let loaded = read(text);
        assert_eq!((loaded.objects.len(), loaded.report.documents), (0, 0), "{text:?}");
    }
    let text = "# head\n---\n# more\nkind: Node\napiVersion: v1\nmetadata: {name: n1}\n...\n---\n# nothing\n...\n%YAML 1.1\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: web, namespace: shop}\n---\n";
    assert_eq!(names(text), TWO);
    assert!(names("apiVersion: v1\nkind: List\nitems: null\n").is_empty());
    assert!(names(r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#).is_empty());
}

#[test]
fn a_dash_line_inside_a_block_text_is_text() {
    let text = "kind: Node\napiVersion: v1\nmetadata:\n  name: n1\n  annotations:\n    script: |\n      a\n      ---\n      b\n";
    let loaded = read(text);
    let script = loaded.objects.first().unwrap().metadata().annotations.get("script").cloned();
    assert_eq!(script.as_deref(), Some("a\n---\nb\n"));
}

#[test]
fn null_is_the_empty_value_everywhere() {
    let found = pod("apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: null
  annotations: ~
  creationTimestamp: null
  ownerReferences:
spec:
  containers:
  - name: c
    image: null
    ports: null
    resources:
      limits: null
      requests: {cpu: null}
  tolerations: null
  affinity: null
  nodeSelector: {a: null}
  hostNetwork: null
  priority: null
status: null
");
    assert!(
        found.metadata.labels.is_empty() && found.spec.priority.is_none() && found.spec.affinity.is_none()
    );
    assert_eq!(found.spec.node_selector.get("a").map(|value| &**value), Some(""));
    let container = found.spec.containers.first().unwrap();
    assert!(container.resources.requests.get("cpu").unwrap().is_zero());
}

#[test]
fn unknown_fields_are_skipped_and_unknown_kinds_are_counted() {
    let loaded = read(
        "apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: a}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: b}
- apiVersion: example.com/v1
  kind: Node
  metadata: {name: not-ours}
  items: [1, 2]
- apiVersion: example.com/v1
  kind: AllowList
  spec: {on: on, 5: x}
- apiVersion: policy/v1beta1
  kind: PodDisruptionBudget
  metadata:
    name: pdb
    managedFields:
    - fieldsV1: {f:metadata: {f:labels: {.: {}, f:app: {}}}}
  surprise: [{}, [], !thing x]
",
    );
    let unknown: Vec<(&str, usize)> =
        loaded.report.unknown.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(
        unknown,
        [("apps/v1/Deployment", 2), ("example.com/v1/AllowList", 1), ("example.com/v1/Node", 1)]
    );
    assert_eq!(loaded.report.objects.get(&Kind::PodDisruptionBudget), Some(&1));
    assert_eq!(loaded.objects.first().unwrap().key().to_string(), "default/pdb");
}

#[test]
fn yaml_is_read_as_version_1_1() {
    let found = pod("apiVersion: v1
kind: Pod
metadata: {name: web, labels: {yes: 'yes', 1: \"1\"}}
spec:
  hostNetwork: on
  priority: 1_000
  terminationGracePeriodSeconds: 0x1E
  containers:
  - name: c
    resources:
      requests: {cpu: 0.5, memory: 12e6, example.com/gpu: 010, ephemeral-storage: 1Gi}
    ports: [{containerPort: 80.0}]
");
    assert!(found.spec.host_network);
    assert_eq!((found.spec.priority, found.spec.termination_grace_period_seconds), (Some(1000), Some(30)));
    assert_eq!(found.metadata.labels.keys().map(|key| &**key).collect::<Vec<_>>(), ["1", "true"]);
    let container = found.spec.containers.first().unwrap();
    let shown: Vec<String> =
        container.resources.requests.iter().map(|(name, amount)| format!("{name} {amount}")).collect();
    assert_eq!(shown, ["cpu 500m", "ephemeral-storage 1Gi", "example.com/gpu 8", "memory 12M"]);
    assert_eq!(container.ports.first().unwrap().container_port, 80);
}

#[test]
fn aliases_and_merges_are_resolved() {
    let found = pod("apiVersion: v1
kind: Pod
metadata: &meta {name: &name web, labels: &labels {app: *name, tier: x}}
spec:
  nodeSelector: {<<: [*labels, {zone: a, tier: z}], tier: own}
  containers: [&c {name: c, resources: {requests: &r {cpu: 1}, limits: *r}}, {<<: *c, name: d}]
");
    let selector: Vec<String> =
        found.spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(selector, ["app=web", "tier=own", "zone=a"]);
    let [first, second] = found.spec.containers.as_slice() else { unreachable!("two containers") };
    assert_eq!(first.resources.requests, first.resources.limits);
    assert_eq!((&*second.name, &second.resources), ("d", &first.resources));
}

#[test]
fn a_bad_field_is_shown_with_its_path_and_a_caret() {
    let text = "# two pods
apiVersion: v1
kind: Pod
metadata: {name: ok}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  containers:
  - name: c
    resources:
      requests:
        cpu: 12Qm
        example.com/gpu: x
";
    assert_eq!(
        refused(text),
        "test.yaml:16:14: document 2: Pod shop/web: spec.containers[0].resources.requests.cpu: \"12Qm\" is not a \
         quantity: it must be a number and a suffix, like 500m, 1.5Gi or 2e3
   |
16 |         cpu: 12Qm
   |              ^"
    );
    let json = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"4","example.com/gpu":"many"},"padding":"012345678901234567890123456789"}}"#;
    // Of a long line the part around the place is shown.
    assert_eq!(
        refused(json),
        "test.yaml:1:112: document 1: Node n1: status.allocatable[\"example.com/gpu\"]: \"many\" is not a quantity: \
         it must be a number and a suffix, like 500m, 1.5Gi or 2e3
  |
1 | \u{2026}atus\":{\"allocatable\":{\"cpu\":\"4\",\"example.com/gpu\":\"many\"},\"padding\":\"012345678901234567890123456789\"\u{2026}
  |                                                    ^"
    );
}

#[test]
fn what_does_not_fit_a_field_is_said_in_a_sentence() {
    let pod = |fields: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{fields}\n");
    for (text, expected) in [
        (
            pod("spec: {nodeSelector: {ssd: true}}"),
            "4:28: document 1: Pod web: spec.nodeSelector.ssd: text is expected here, and true without quotes is a boolean: write \"true\"",
        ),
        (
            pod("spec: {nodeSelector: {tier: 1}}"),
            "4:29: document 1: Pod web: spec.nodeSelector.tier: text is expected here, and 1 without quotes is a number: write \"1\"",
        ),
        (
            pod("spec: {priority: \"5\"}"),
            "4:18: document 1: Pod web: spec.priority: a whole number is expected here: write 5 without quotes",
        ),
        (
            pod("spec: {priority: 3000000000}"),
            "4:18: document 1: Pod web: spec.priority: 3000000000 is out of range, which is -2147483648 to 2147483647",
        ),
        (
            pod("spec: {priority: 1.5}"),
            "4:18: document 1: Pod web: spec.priority: a whole number is expected here, not the number 1.5",
        ),
        (
            pod("spec: {hostNetwork: \"true\"}"),
            "4:21: document 1: Pod web: spec.hostNetwork: true or false is expected here: write true without quotes",
        ),
        (
            pod("spec: {containers: {}}"),
            "4:20: document 1: Pod web: spec.containers: a list is expected here, not a mapping",
        ),
        (pod("spec: [x]"), "4:7: document 1: Pod web: spec: a mapping is expected here, not a list"),
        (
            pod("spec: {tolerations: [{}, {key: [a]}]}"),
            "4:32: document 1: Pod web: spec.tolerations[1].key: text is expected here, not a list",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {taints: [{key: a}]}\n".to_owned(),
            "4:17: document 1: Node n1: spec.taints[0]: the field \"effect\" is missing",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web, creationTimestamp: yesterday}".to_owned(),
            "3:42: document 1: Pod web: metadata.creationTimestamp: \"yesterday\" is not an RFC 3339 time like 2026-01-01T00:00:00Z",
        ),
        ("apiVersion: v1\nmetadata: {name: web}\n".to_owned(), "1:1: document 1: web: kind: it is missing"),
        (
            "kind: Pod\nmetadata: {name: web}\n".to_owned(),
            "1:1: document 1: Pod web: apiVersion: it is missing",
        ),
        (
            "kind: [Pod]\napiVersion: v1\n".to_owned(),
            "1:7: document 1: kind: a name is expected here, not a list",
        ),
        (
            "kind: Pod\napiVersion: v1\nmetadata: {namespace: a}\n".to_owned(),
            "3:11: document 1: Pod: metadata.name: it is missing",
        ),
        ("- a\n- b\n".to_owned(), "1:1: document 1: an object is expected here, not a list"),
        ("hello\n".to_owned(), "1:1: document 1: an object is expected here, not the text \"hello\""),
        (
            "kind: List\napiVersion: v1\nitems: [{apiVersion: v1, metadata: {}}, null]\n".to_owned(),
            "3:9: document 1: items[0]: kind: it is missing",
        ),
        (
            pod("spec: {nodeSelector: {a: b, c: d, a: e}}"),
            "4:35: document 1: Pod web: spec.nodeSelector: the key \"a\" is there twice in this mapping",
        ),
        (
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"},"kind":"Pod"}"#.to_owned(),
            "1:59: document 1: Pod web: the key \"kind\" is there twice in this mapping",
        ),
        (pod("spec: {1.5: x}"), "4:8: document 1: Pod web: spec: the key \"1.5\" must be in quotes"),
        (
            pod("spec: {? [a] : x}"),
            "4:10: document 1: Pod web: spec: a key must be text, not a mapping or a list",
        ),
        (
            pod("spec: {nodeSelector: {<<: 5}}"),
            "4:27: document 1: Pod web: spec.nodeSelector: << must be given an alias of a mapping, or a list of those",
        ),
    ] {
        assert_eq!(complaint(&text), format!("test.yaml:{expected}"), "{text}");
    }
}

#[test]
fn text_that_is_neither_yaml_nor_json_is_refused_at_its_place() {
    for (text, expected) in [
        (
            "{\"kind\": \"Pod\",\n \"apiVersion\" \"v1\"}",
            "2:15: document 1: a colon is expected here, not '\"'",
        ),
        (
            "{\"kind\": \"Pod\"",
            "1:15: document 1: the JSON ends where a comma or a closing brace is expected",
        ),
        (
            r#"{"kind":"List","apiVersion":"v1","items":[]} x"#,
            "1:46: document 2: a value is expected here, not 'x'",
        ),
    ] {
        assert_eq!(complaint(text), format!("test.yaml:{expected}"), "{text}");
    }
    for text in ["a: b: c", "a: [", "a: *nowhere", "\tx: y\n", "a: \"\n", "? ?", "a: &a [*a]"] {
        let told = complaint(&format!("kind: Node\napiVersion: v1\nmetadata: {{name: n1}}\n---\n{text}"));
        assert!(told.starts_with("test.yaml:") && told.contains(": document 2: "), "{text:?}: {told}");
    }
}

#[test]
fn all_errors_of_all_sources_are_told_at_most_twenty_in_full() {
    let bad = "kind: Pod\napiVersion: v1\n---\na: [\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: ok}\n---\nkind: Node\n";
    let errors = load(&[source("a.yaml", bad), source("b.yaml", bad)]).unwrap_err();
    let told: Vec<String> =
        errors.errors.iter().map(|error| format!("{} {}", error.source, error.document)).collect();
    assert_eq!(told, ["a.yaml 1", "a.yaml 2", "a.yaml 4", "b.yaml 1", "b.yaml 2", "b.yaml 4"]);
    let many = load(&[source("a.yaml", &"kind: Pod\n---\n".repeat(50))]).unwrap_err();
    assert_eq!((many.errors.len(), many.total), (20, 50));
    assert!(many.to_string().ends_with("\nand 30 more errors"));
}

#[test]
fn of_an_object_that_is_there_twice_the_later_counts() {
    let text = "kind: Node\napiVersion: v1\nmetadata: {name: n1}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: n1}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: n1, namespace: x, labels: {new: a}}\n";
    let loaded = read(text);
    assert_eq!(loaded.objects.iter().map(object_text).collect::<Vec<_>>(), ["Node n1", "Pod default/n1"]);
    assert_eq!(loaded.objects.first().unwrap().metadata().labels.len(), 1);
    assert_eq!(
        loaded.report.warnings,
        [
            "test.yaml: Node n1 is not in a namespace, its metadata.namespace is ignored",
            "test.yaml: document 3: Node n1 was there before, this one counts"
        ]
    );
    assert_eq!(loaded.report.objects.get(&Kind::Node), Some(&1));
}

#[test]
fn an_error_found_later_points_at_the_field_or_else_at_the_object() {
    let list = "---\nkind: List\napiVersion: v1\nitems:\n- kind: Node\n  apiVersion: v1\n  metadata: {name: n1}\n- kind: Pod\n  apiVersion: v1\n  metadata: {name: web}\n  spec:\n    priorityClassName: gold\n";
    let json = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"db"},"spec":{"containers":[{"name":"c"},{"name":"d"}]}}"#;
    let sources = [source("a.yaml", list), source("b.json", json)];
    let loaded = load(&sources).unwrap();
    let path =
        |keys: &[&str]| -> Vec<Segment> { keys.iter().map(|key| Segment::Key((*key).into())).collect() };
    let error = |index: usize, path: &[Segment], reason: &str| {
        let (object, origin) = (loaded.objects.get(index).unwrap(), loaded.origins.get(index).unwrap());
        origin.error(&sources, object.kind(), &object.key(), path, reason.to_owned())
    };
    let absent = error(1, &path(&["spec", "priority"]), "odd");
    assert_eq!(absent.place.map(|place| (place.line, place.column)), Some((8, 3)));
    let mut container = path(&["spec", "containers"]);
    container.push(Segment::Index(1));
    let found = error(2, &container, "odd");
    let column = 1 + json.find(r#"{"name":"d"}"#).unwrap();
    assert_eq!((found.path.as_str(), found.place.unwrap().column), ("spec.containers[1]", column));
    let error = error(1, &path(&["spec", "priorityClassName"]), "there is no such class");
    assert_eq!(
        error.to_string(),
        "a.yaml:12:24: document 1: Pod default/web: spec.priorityClassName: there is no such class\n   \
         |\n12 |     priorityClassName: gold\n   |                        ^"
    );
}

#[test]
fn the_report_says_what_was_left_out() {
    let loaded = read(
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nstatus: {phase: Succeeded}\n---\nkind: ConfigMap\napiVersion: v1\n---\nkind: ConfigMap\napiVersion: v1\n---\nkind: Deployment\napiVersion: apps/v1\n",
    );
    assert_eq!(
        loaded.report.notes(),
        [
            "not read, since no plugin looks at them: apps/v1/Deployment (1), v1/ConfigMap (2)",
            "left out, since they have ended: Pod (1)"
        ]
    );
}

#[test]
fn excerpts_hold_nothing_that_a_terminal_acts_on() {
    let text =
        "kind: Pod\napiVersion: v1\nmetadata: {name: \"\u{202e}x\u{1b}[31m\", labels: [\u{4f60}\u{597d}]}\n";
    let told = refused(text);
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told}");
    let wide = Place::find("\u{4f60}\u{597d}: x", "\u{4f60}\u{597d}: ".len());
    assert_eq!((wide.line, wide.column, wide.caret), (1, 5, 6));
    let long = Place::find(&"a".repeat(1000), 500);
    assert_eq!((long.column, long.caret, long.excerpt.chars().count()), (501, 51, 102));
}

#[test]
fn hostile_texts_are_refused_in_bounded_time_and_space() {
    let deep_json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_flow = format!("kind: Pod\nx: {}", "{a: ".repeat(100_000));
    let deep_block: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let names = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{names}]\n"));
    }
    let huge = format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: a}}\nspec: {{priority: {}}}",
        "9".repeat(100_000)
    );
    for text in [deep_json, deep_flow, deep_block, laughs, huge, "a\0b: \0".to_owned(), "[".repeat(1_000_000)]
    {
        let told = refused(&text);
        assert!(told.len() < 100_000 + 1_000, "{} bytes", told.len());
    }
    let anchors: String = (0..200).map(|level| format!("&a{level} [")).collect();
    let kept = format!("kind: Pod\nx: {anchors}{}{}", "y, ".repeat(10_000), "]".repeat(200));
    assert!(refused(&kept).contains("anchors keep more than 1000000 values"));
    let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {volumes: [{name: v, deep: ";
    let deep = format!("{pod}{}{}}}]}}", "[".repeat(250), "]".repeat(250));
    assert_eq!(names(&deep), ["Pod default/a"]);
    assert!(refused("kind: Pod\na0: &a [*a]\n").contains("inside the value that it refers to"));
}

/// Pieces of which manifests are made, for random texts that come close to them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "kind: Pod\n",
            "apiVersion: v1\n",
            "metadata: {name: a}\n",
            "spec:\n",
            "  containers:\n",
            "  - name: c\n",
            "---\n",
            "items:\n",
            "- ",
            "{",
            "}",
            "[",
            "]",
            "\"",
            ": ",
            "&a ",
            "*a",
            "<<: ",
            "? ",
            "|\n",
            "\t",
            "\r\n",
            "\u{feff}",
            "kind: List\n",
            "null",
            "%YAML 1.1\n",
            "!!str ",
            "1e999",
            "'",
            ", ",
            "{\"kind\":\"Pod\",",
            "\\ud800",
            "#",
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| text.chars().take(5).collect()),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        if let Err(errors) = load(&[source("x", &text)]) {
            prop_assert!(errors.total > 0 && !errors.to_string().is_empty());
        }
    }
}
