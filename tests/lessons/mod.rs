//! Lessons: the engine answers every question as its author expects, and a learner finds the way through.

mod console;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use schedscope::framework::runtime::Registry;
use schedscope::lessons::functions::FUNCTIONS;
use schedscope::lessons::script::{DEEDS, UNTIL};
use schedscope::lessons::{Block, Course, Lesson, Progress, ProgressStore, bundled, check};
use schedscope::plugins::registry::in_tree_registry;

fn course() -> Vec<Lesson> {
    bundled::course().unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn read(text: &str) -> Lesson {
    let no_file = |name: &str| Err(format!("{name}: no such file"));
    Lesson::read("lesson.toml", "lesson", text, &no_file).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

#[test]
fn the_engine_answers_every_lesson_as_its_author_expects() {
    let registry = in_tree_registry();
    let mut problems = Vec::new();
    for lesson in course() {
        if let Err(found) = check(&lesson, &registry) {
            problems.extend(found.iter().map(ToString::to_string));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_lesson_in_the_folder_is_part_of_the_course() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/lessons");
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let lessons: BTreeSet<String> = course().into_iter().map(|lesson| lesson.id).collect();
    assert_eq!(files, lessons);
}

#[test]
fn lessons_are_short_and_explain_every_answer() {
    for lesson in course() {
        assert!(lesson.title.chars().count() <= 40, "{}: {}", lesson.id, lesson.title);
        assert!(
            lesson.text.chars().count() <= 480,
            "{}: {} characters",
            lesson.id,
            lesson.text.chars().count()
        );
        assert!((1..=3).contains(&lesson.questions.len()), "{}", lesson.id);
        for question in &lesson.questions {
            assert!(!question.because.is_empty(), "{}: {}", lesson.id, question.ask);
            assert!(question.because.chars().count() <= 330, "{}: {}", lesson.id, question.because);
            assert!(question.ask.ends_with(['?', '.']), "{}: {}", lesson.id, question.ask);
        }
    }
}

/// The blocks of that language in the documentation.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(begin.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_documentation_describes_what_there_is() {
    let text = include_str!("../../docs/lessons.md");
    for function in FUNCTIONS {
        assert!(text.contains(&format!("`{}`", function.usage())), "{}", function.usage());
        assert!(text.contains(function.about), "{}", function.about);
    }
    for words in [UNTIL, DEEDS] {
        for word in words.split('`').skip(1).step_by(2) {
            assert!(text.contains(word), "{word}");
        }
    }
    let examples = blocks(text, "toml");
    let whole = examples.iter().find(|example| example.contains("[[question]]")).unwrap();
    check(&read(whole), &in_tree_registry()).unwrap_or_else(|problems| panic!("{problems:#?}"));
}

const SMALL: &str = r#"
title = "Two nodes"
topic = "Filter"
text = "A small one."
cluster = """
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
status: {allocatable: {cpu: "4", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: app, resources: {requests: {cpu: "2"}}}]}
"""

[[question]]
ask = "Where does web go?"
answer = "chosen(web)"
expect = "large"
choices = ["small", "large"]
hints = ["Count."]
because = "There is room."

[[question]]
ask = "How many?"
answer = "feasible(web)"
until = "now"
expect = 1
"#;

#[test]
fn an_author_who_is_wrong_is_told_what_the_engine_says_and_where() {
    let wrong = SMALL.replace("expect = \"large\"", "expect = \"small\"").replace("expect = 1", "expect = 2");
    let problems = check(&read(&wrong), &in_tree_registry()).unwrap_err();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "lesson.toml:25:10: question 1, expect: the author expects \"small\", the engine says chosen(web) = large",
            "lesson.toml:34:10: question 2, expect: the author expects \"2\", the engine says feasible(web) = 1",
        ]
    );
}

#[test]
fn choices_have_exactly_one_right_answer() {
    let problem = |choices: &str| {
        let text = SMALL.replace("[\"small\", \"large\"]", choices);
        let problems = check(&read(&text), &in_tree_registry()).unwrap_err();
        problems[0].to_string()
    };
    assert!(problem("['small', 'none']").ends_with("none of them is the engine's answer, large"));
    assert!(
        problem("['large', 'default/large']")
            .ends_with("more than one of them is the engine's answer, large")
    );
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Progress>>);

impl ProgressStore for Kept {
    fn keep(&self, progress: &Progress) -> Result<(), String> {
        self.0.lock().unwrap().push(progress.clone());
        Ok(())
    }
}

fn open(text: &str) -> (Course, Arc<Kept>) {
    open_with(text, in_tree_registry())
}

fn open_with(text: &str, registry: Registry) -> (Course, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let store: Arc<dyn ProgressStore> = Arc::<Kept>::clone(&kept);
    let lessons: Arc<[Lesson]> = vec![read(text)].into();
    (Course::open(lessons, 0, registry, Progress::default(), Some(store)).unwrap(), kept)
}

#[test]
fn a_wrong_answer_is_explained_by_the_trace_and_can_be_tried_again() {
    let (mut course, kept) = open(SMALL);
    let step = course.answer("a").unwrap();
    assert_eq!(step.stage, None, "the session stays where the learner is");
    let wrong = course.blocks().into_iter().find_map(|block| match block {
        Block::Wrong(typed, against) => Some((typed, against)),
        _ => None,
    });
    let (typed, against) = wrong.unwrap();
    assert_eq!(typed, "small");
    assert!(
        against[0].starts_with("NodeResourcesFit turns small down. cpu 2000m requested, 1000m free"),
        "{against:?}"
    );
    assert!(course.answer("c").unwrap_err().contains("a letter from a to b"));
    let step = course.answer("LARGE").unwrap();
    assert!(step.stage.is_some() && step.pod.is_some());
    assert!(course.is_told() && !course.is_done());
    course.go_on().unwrap();
    assert!(course.answer("many").unwrap_err().contains("not a whole number"));
    course.answer("1").unwrap();
    assert!(course.is_done());
    assert!(course.blocks().contains(&Block::Done(1, 2)));
    let kept = kept.0.lock().unwrap();
    assert_eq!(
        kept.last().and_then(|progress| progress.of("lesson")).map(|done| (done.right, done.of)),
        Some((1, 2))
    );
}

#[test]
fn hints_come_one_by_one_and_the_answer_can_be_told() {
    let (mut course, _) = open(SMALL);
    course.hint().unwrap();
    assert!(course.blocks().contains(&Block::Hint("Count.".to_owned())));
    assert!(course.hint().unwrap_err().contains("last hint"));
    assert!(course.go_on().unwrap_err().contains("answer the question first"));
    course.reveal().unwrap();
    assert!(
        course
            .blocks()
            .iter()
            .any(|block| matches!(block, Block::Right(answer, false, _) if answer == "large"))
    );
    course.again();
    assert!(!course.is_told());
    assert!(course.next_lesson().unwrap_err().contains("the last lesson"));
    assert!(course.previous_lesson().unwrap_err().contains("the first lesson"));
}

#[test]
fn what_has_no_answer_in_the_run_is_told() {
    let text = SMALL.replace("chosen(web)", "chosen(nobody)");
    let problems = check(&read(&text), &in_tree_registry()).unwrap_err();
    assert_eq!(problems[0].to_string(), "lesson.toml:24:10: question 1, answer: pod nobody was not tried");
    let text = SMALL.replace("until = \"now\"", "do = ['cordon nowhere']");
    let problems = check(&read(&text), &in_tree_registry()).unwrap_err();
    assert!(problems[0].to_string().contains("question 2, do: "), "{problems:?}");
}
