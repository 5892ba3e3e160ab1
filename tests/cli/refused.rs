//! Input that is wrong: what is said about it, where it is pointed at, and that nothing else happens.

use super::{FITS, NODE, Stage};

/// The whole text on standard error for a file `broken.yaml`, which `run` and `sandbox` refuse alike.
#[track_caller]
fn refused(text: &str) -> String {
    let stage = Stage::with(&[("broken.yaml", text)]);
    let done = stage.run(&["run", "-f", "broken.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (2, ""), "{done:?}");
    let console = stage.run(&["sandbox", "-f", "broken.yaml"]);
    assert_eq!((console.code, console.out.as_str()), (2, ""), "{console:?}");
    assert_eq!(console.said, done.said, "`run` and `sandbox` disagree");
    done.said
}

#[test]
fn file_document_object_field_and_place_are_named() {
    let text = format!("{NODE}---\n{}", FITS.replace("cpu: '1'", "cpu: 1x"));
    assert_eq!(
        refused(&text),
        "schedscope: broken.yaml:9:69: document 2: Pod shop/web: spec.containers[0].resources.requests.cpu: \"1x\" is \
         not a quantity: it must be a number and a suffix, like 500m, 1.5Gi or 2e3\n\
         \u{20} |\n\
         9 | … [{name: c, image: i, resources: {requests: {cpu: 1x}}}]}\n\
         \u{20} |                                                    ^\n"
    );
}

#[test]
fn the_caret_stands_under_the_first_character_of_what_is_wrong() {
    for (text, at) in [
        (FITS.replace("cpu: '1'", "cpu: 1x"), "1x"),
        (FITS.replace("containers: [", "priority: soon, containers: ["), "soon"),
        (FITS.replace("containers: [", "nodeName: [n1], containers: ["), "[n1]"),
        (NODE.replace("cpu: '4'", "cpu: '4 cores'"), "'4 cores'"),
        (NODE.replace("metadata: {name: n1}", "metadata: {name: n1, labels: {a: [b]}}"), "[b]"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n".to_owned(), "name: x"),
    ] {
        let said = refused(&text);
        let lines: Vec<&str> = said.lines().collect();
        let caret = lines
            .iter()
            .position(|line| line.trim_end().ends_with('^'))
            .unwrap_or_else(|| panic!("no caret:\n{said}"));
        let column = lines[caret].chars().position(|c| c == '^').unwrap();
        let pointed: String = lines[caret - 1].chars().skip(column).collect();
        assert!(pointed.starts_with(at), "{pointed:?} is pointed at, not {at:?}:\n{said}");
    }
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = format!(
        "{}---\n{}---\n{}",
        NODE.replace("cpu: '4'", "cpu: four"),
        FITS.replace("cpu: '1'", "cpu: 1x"),
        FITS.replace("name: web", "name: ''")
    );
    let said = refused(&text);
    for part in [
        "document 1: Node n1: status.allocatable.cpu",
        "document 2: Pod shop/web: spec.containers[0]",
        "document 3: Pod",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn what_admission_would_refuse_is_refused() {
    for (text, words) in [
        (FITS.replace("containers: [", "priorityClassName: lost, containers: ["), &["shop/web", "lost"][..]),
        (
            FITS.replace("cpu: '1'", "cpu: '-2'"),
            &[
                "broken.yaml:4:",
                "Pod shop/web: spec.containers[0].resources.requests.cpu: Invalid value: \"-2\": must be greater \
                     than or equal to 0",
            ][..],
        ),
    ] {
        let said = refused(&text);
        for word in words {
            assert!(said.contains(word), "{word} is not in\n{said}");
        }
    }
}

#[test]
fn text_that_is_no_manifest_is_refused_in_words() {
    for (text, word) in [
        ("hello, world\n", "document 1"),
        ("- a\n- b\n", "document 1"),
        ("{\"kind\": \"Pod\"", "broken.yaml:1"),
        ("<html><body>502 Bad Gateway</body></html>\n", "document 1"),
        ("kind: Pod\nkind: Node\n", "kind"),
        ("a: &a [*a]\n", "broken.yaml:1"),
        ("a: *nowhere\n", "broken.yaml:1"),
        ("apiVersion: v1\nkind: Pod\n", "metadata"),
        ("apiVersion: v1\nkind: List\nitems: {}\n", "items"),
        ("kind: Pod\nmetadata: {name: x}\n", "apiVersion"),
        ("error: the server doesn't have a resource type \"podz\"\n", "document 1"),
        ("%YAML 9.9\n---\n\u{0}\n", "broken.yaml"),
    ] {
        let said = refused(text);
        assert!(said.starts_with("schedscope: broken.yaml"), "{said}");
        assert!(said.contains(word), "{word} is not in\n{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn text_that_is_made_to_hurt_is_refused_quickly() {
    let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_json = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let mut laughs = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for i in 1..40 {
        laughs.push_str(&format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(",")));
    }
    for text in [deep, deep_json, laughs] {
        let said = refused(&text);
        assert!(said.len() < 3000 && !said.contains("panicked"), "{} bytes: {}", said.len(), &said[..300]);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let stage = Stage::with(&[("folder/inner/x.yaml", NODE)]);
    std::fs::create_dir(stage.path().join("empty")).unwrap();
    stage.write("latin1.yaml", b"kind: Pod # caf\xe9\n");
    for (file, words) in [
        ("nowhere.yaml", &["nowhere.yaml", "no such file"][..]),
        ("empty", &["empty", "*.yaml"]),
        ("folder", &["folder", "inner"]),
        ("latin1.yaml", &["latin1.yaml", "UTF-8"]),
    ] {
        let done = stage.run(&["run", "-f", file]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{file}: {done:?}");
        for word in words {
            assert!(done.said.contains(word), "{file}: {word} is not in\n{}", done.said);
        }
    }
    let done = stage.run(&["run", "-f", "-", "-f", "-"]);
    assert!(done.code == 2 && done.said.contains("twice"), "{done:?}");
}

#[test]
fn one_wrong_file_among_right_ones_is_enough() {
    let stage = Stage::with(&[("a.yaml", NODE), ("b.yaml", &FITS.replace("name: c", "name: [c]"))]);
    let done = stage.run(&["run", "-f", "a.yaml", "-f", "b.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (2, ""));
    assert!(done.said.starts_with("schedscope: b.yaml:4:"), "{}", done.said);
}
