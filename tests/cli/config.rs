//! KubeSchedulerConfiguration on the command line. What is right and what is wrong with one is tested elsewhere.

use super::{Stage, dumps, placements, shop};

fn stage() -> Stage {
    let configuration = std::fs::read_to_string(dumps().join("scheduler.yaml")).unwrap();
    Stage::with(&[("scheduler.yaml", &configuration), ("dump.yaml", &shop()), ("broken.yaml", "kind: [")])
}

#[test]
fn its_profiles_schedule() {
    let stage = stage();
    // In the dump one pod waits for a scheduler called volcano, which this configuration has.
    let gang = |report: &serde_json::Value| placements(report)[0].1.to_owned();
    assert_eq!(gang(&stage.json(&["-f", "dump.yaml"])), "ignored");
    assert_eq!(gang(&stage.json(&["--config", "scheduler.yaml", "-f", "dump.yaml"])), "bound");
}

#[test]
fn what_is_wrong_with_it_ends_every_command_before_it_begins() {
    let stage = stage();
    for args in [
        &["run", "--config", "broken.yaml"][..],
        &["run", "--feature-gates", "NoSuchGate=true"],
        &["run", "--config", "nowhere.yaml"],
        &["sandbox", "--config", "broken.yaml"],
        &["config", "view", "broken.yaml"],
        &["config", "diff", "broken.yaml"],
        &["config", "validate", "broken.yaml"],
        &["config", "validate", "nowhere.yaml"],
        &["run", "--config", "-", "-f", "-"],
    ] {
        let done = stage.run(args);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}: {done:?}");
        assert!(!done.said.is_empty() && !done.said.contains("panicked"), "{args:?}: {done:?}");
    }
}

#[test]
fn what_is_printed_can_be_read_again() {
    let stage = stage();
    let printed = stage.run(&["config", "view", "-o", "yaml", "scheduler.yaml"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    // The second document, which plugins run, is no configuration.
    let configuration = printed.out.split("\n---\n").next().unwrap();
    stage.write("again.yaml", configuration);
    let again = stage.run(&["config", "view", "-o", "yaml", "again.yaml"]);
    assert_eq!((again.code, again.out), (0, printed.out));
}

#[test]
fn its_text_never_acts_on_the_terminal() {
    let evil = "\\e]2;pwned\\a\\u202e\\u009b31m";
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let stage = Stage::with(&[
        ("name.yaml", &format!("{head}profiles: [{{schedulerName: \"x{evil}\"}}]\n")),
        ("field.yaml", &format!("{head}\"x{evil}\": 1\n")),
        (
            "plugin.yaml",
            &format!("{head}profiles: [{{plugins: {{filter: {{enabled: [{{name: \"x{evil}\"}}]}}}}}}]\n"),
        ),
    ]);
    for file in ["name.yaml", "field.yaml", "plugin.yaml"] {
        for args in [
            &["config", "view", file][..],
            &["config", "view", "-o", "yaml", file],
            &["config", "diff", file],
            &["config", "validate", file],
            &["run", "--config", file],
        ] {
            let done = stage.run(args);
            let text = done.out + &done.said;
            let hidden = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(hidden, None, "{args:?}: {text:?}");
        }
    }
}
