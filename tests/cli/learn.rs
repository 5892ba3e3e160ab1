//! `schedscope learn`: the check of lessons, the list, and a lesson without a screen.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{Done, Stage, done};

impl Stage {
    /// Learns with progress kept in the folder.
    fn learn(&self, args: &[&str], stdin: &str) -> Done {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .arg("learn")
            .args(args)
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        done(child.wait_with_output().unwrap())
    }
}

const LESSON: &str = "title = 'T'\ntopic = 'x'\ntext = 'A node.'\nfiles = ['c.yaml']\n\
                      [[question]]\nask = 'Where?'\nanswer = 'chosen(web)'\nexpect = 'a'\n";
const CLUSTER: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n\
                       status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n\
                       apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: app}]}\n";

#[test]
fn lessons_of_ones_own_are_checked_with_exit_codes() {
    let stage = Stage::with(&[("mine/one/lesson.toml", LESSON), ("mine/one/c.yaml", CLUSTER)]);
    let done = stage.learn(&["--check", "mine"], "");
    assert_eq!((done.code, done.said.as_str()), (0, ""));
    assert_eq!(done.out, "one: a\n1 lesson, 1 question: the engine answers as expected\n");
    stage.write("mine/two.toml", LESSON.replace("'a'", "'b'").replace("c.yaml", "one/c.yaml"));
    let done = stage.learn(&["--check", "mine"], "");
    assert_eq!(done.code, 1);
    assert!(
        done.out.contains("mine/two.toml:8:10: question 1, expect: the author expects \"b\", the engine says chosen(web) = a"),
        "{}",
        done.out
    );
    stage.write("mine/two.toml", LESSON.replace("chosen(web)", "winner(web)"));
    let done = stage.learn(&["--check", "mine"], "");
    assert_eq!(done.code, 2);
    assert!(
        done.said.contains("mine/two.toml:7:10: question 1, answer: there is no function"),
        "{}",
        done.said
    );
    assert_eq!(stage.learn(&["--check", "nothing"], "").code, 2);
}

#[test]
fn a_lesson_is_learnt_line_by_line_and_kept() {
    let stage = Stage::new();
    let done = stage.learn(&["--plain", "filter"], "answer 3\nanswer 1\nanswer\nanswer no\nquit\n");
    assert_eq!(done.code, 0, "{}", done.said);
    for words in
        ["Is there room?", "Not 3.", "Right: 1.", "Could preemption help", "1 of 2 right at the first try"]
    {
        assert!(done.out.contains(words), "{words:?} is not in\n{}", done.out);
    }
    let n = schedscope::lessons::bundled::course().unwrap().len();
    let list = stage.learn(&["--list"], "").out;
    assert!(list.contains("done 1/2") && list.contains(&format!("1 of {n} lessons are done")), "{list}");
    assert_eq!(stage.learn(&["--forget"], "").code, 0);
    assert!(stage.learn(&["--list"], "").out.contains(&format!("0 of {n} lessons are done")));
}

#[test]
fn without_a_terminal_it_says_what_works() {
    let done = Stage::new().learn(&[], "");
    assert_eq!(done.code, 2);
    assert!(done.said.contains("--plain"), "{}", done.said);
}
