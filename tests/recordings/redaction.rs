//! Recordings without names decide the same.

use schedscope::driver::recorder::RecorderOptions;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Compression, RecordingReader, RedactReport, Replay, WHAT_REMAINS, redact};
use schedscope::scheduler::view::Counts;

use super::session::{Session, recorded};
use super::{Memory, checked, records};
use crate::conformance::archive::read_packed;
use crate::support::world::{node, pod, pod_of};

pub fn redacted(bytes: &[u8]) -> (Vec<u8>, RedactReport) {
    let result = std::cell::RefCell::new(Memory::default());
    let mut begin = || {
        *result.borrow_mut() = Memory::default();
        Ok(result.borrow().clone())
    };
    let report = redact(&mut || Ok(bytes), &mut begin, Compression::None, &in_tree_registry()).unwrap();
    (result.into_inner().bytes(), report)
}

/// Attempts, binds, evictions, failures at the end of a recording that does not go back.
fn counts(bytes: &[u8]) -> Counts {
    let header = RecordingReader::new(bytes).unwrap().header().clone();
    let mut replay = Replay::new(&header, &in_tree_registry(), false).unwrap();
    for record in records(bytes) {
        replay.take(record).unwrap();
    }
    replay.scheduler().counts()
}

#[test]
fn a_redacted_session_decides_the_same_and_has_no_names() {
    for seed in 20..24 {
        let mut session = Session::new(seed, Compression::None);
        session.run(1_000);
        let original = session.finish();
        let (result, report) = redacted(&original);
        assert!(report.inputs >= 1_000 && report.words > 50 && report.cut.is_none());
        assert!(checked(&result).1.is_ok());
        assert_eq!(counts(&result), counts(&original));
        let text = String::from_utf8(result).unwrap();
        assert!(text.contains("\"redacted\":true"));
        for word in [
            "pod-1",
            "node-1",
            "registry",
            "example",
            "disk",
            "\"z1\"",
            "dedicated",
            "a word about it",
            "default\"",
        ] {
            assert!(!text.contains(word), "{word} is still there");
        }
        assert!(text.contains("topology.kubernetes.io/zone") && text.contains("NoSchedule"));
    }
}

#[test]
fn what_is_redacted_while_it_is_recorded_is_what_is_redacted_later() {
    let manifest = schedscope::driver::sandbox::sample::source().text;
    let record = |redact_with| {
        let options = RecorderOptions { digest_interval_min: 10, redact_with, ..RecorderOptions::default() };
        let (mut simulator, recorder, memory) = recorded(&manifest, options);
        simulator.mark("secret place");
        schedscope::driver::runner::run_to_rest(&mut simulator);
        simulator.note("a word about it");
        simulator.finish_recording("at rest");
        recorder.finish().unwrap();
        memory.bytes()
    };
    let at_once = record(Some(in_tree_registry()));
    assert!(checked(&at_once).1.is_ok());
    let (later, _) = redacted(&record(None));
    assert!(at_once == later);
    assert!(!String::from_utf8(at_once).unwrap().contains("secret"));
}

#[test]
fn golden_clusters_are_redacted_without_a_change_of_any_decision() {
    let mut n_cases = 0;
    for (case, files) in read_packed("decide.tar.zst").into_iter().step_by(9) {
        let text = |name: &str| files.get(name).cloned().unwrap_or_default();
        let manifest = format!("{}\n---\n{}", text("cluster.yaml"), text("pending.yaml"));
        if !manifest.contains("kind: Pod") {
            continue;
        }
        let (mut simulator, recorder, memory) = recorded(&manifest, RecorderOptions::default());
        schedscope::driver::runner::run_to_rest(&mut simulator);
        simulator.finish_recording("at rest");
        recorder.finish().unwrap();
        let (result, _) = redacted(&memory.bytes());
        let outcome = checked(&result).1;
        assert!(outcome.is_ok(), "{case}: {outcome:?}");
        n_cases += 1;
    }
    assert!(n_cases > 5, "{n_cases} cases");
}

#[test]
fn a_condition_with_the_schedulers_own_words_is_known_again() {
    let run = |status: &str| {
        let pod = pod("web", "100", "", "").replace("---\n", status) + "---\n";
        let (mut simulator, recorder, memory) =
            recorded(&(node("n1", "4") + &pod), RecorderOptions::default());
        schedscope::driver::runner::run_to_rest(&mut simulator);
        simulator.finish_recording("at rest");
        recorder.finish().unwrap();
        (pod_of(&simulator, "web").unwrap(), memory.bytes())
    };
    let (first, _) = run("");
    let condition = first.condition("PodScheduled").unwrap();
    assert!(condition.message.starts_with("0/1 nodes are available"), "{condition:?}");
    let status = format!(
        "status: {{conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, message: '{}'}}]}}\n",
        condition.message
    );
    let (_, bytes) = run(&status);
    assert!(checked(&redacted(&bytes).0).1.is_ok());
}

#[test]
fn a_cut_recording_is_redacted_up_to_the_cut() {
    let mut session = Session::new(3, Compression::None);
    session.run(200);
    let original = session.finish();
    let (result, report) = redacted(&original[..original.len() / 2]);
    assert!(report.cut.is_some());
    let (checked_report, outcome) = checked(&result);
    assert!(outcome.is_ok() && checked_report.inputs == report.inputs);
}

#[test]
fn what_remains_is_described() {
    let docs = include_str!("../../docs/recording.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for what in WHAT_REMAINS {
        assert!(docs.contains(what), "docs/recording.md does not say: {what}");
    }
}
