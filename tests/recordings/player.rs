//! A recording on the screen's side: gone through step by step, back, and to any place; left for a sandbox; and recorded
//! from within a session.

use std::sync::Arc;
use std::sync::mpsc::TryRecvError;

use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::breakpoints::{Condition, DebugCommand};
use schedscope::driver::desk::Desk;
use schedscope::driver::history::HistoryLimits;
use schedscope::driver::recorder::{RecorderOptions, RecordingTap};
use schedscope::driver::replay::scan::{News, Scan};
use schedscope::driver::replay::{Ending, RecordedSession};
use schedscope::driver::rewind::Rewind;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::seek::{SeekTo, Wanted};
use schedscope::driver::session::{Advance, BackTo, Edit, RecordTo, RunState, SessionCommand as Tell, Speed};
use schedscope::driver::stepper::Stepper;
use schedscope::driver::work::Work;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Compression, Record, Slim};

use super::session::{Session, recorded};
use super::{checked, header, records, rewritten};
use crate::support::world::{node, pod, sandbox};

/// A recording on a stepper, looked through as far as `is_scanned` says.
pub fn stepper_on(bytes: &[u8], is_scanned: bool) -> Stepper {
    let session = RecordedSession::read(bytes).unwrap();
    let registry = in_tree_registry();
    let mut rewind = Rewind::of_recording(&session, &registry, HistoryLimits::default()).unwrap();
    if is_scanned {
        let scan = scan_of(bytes);
        while let Some(news) = scan.next() {
            rewind.take_news(news);
        }
    }
    Stepper::on(rewind)
}

/// Begins to look through a recording.
fn scan_of(bytes: &[u8]) -> Scan {
    let session = RecordedSession::read(bytes).unwrap();
    let history = session.history(&in_tree_registry(), HistoryLimits::default()).unwrap();
    Scan::start(history.machine().clone(), session.ways).unwrap()
}

fn digest(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().digest()
}

fn said(stepper: &Stepper) -> String {
    stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

fn random_session(seed: u64, n_inputs: u64) -> Vec<u8> {
    let mut session = Session::new(seed, Compression::None);
    session.run(n_inputs);
    session.finish()
}

/// Two pods are bound, a third one is rejected, the first marked in between.
fn story() -> Vec<u8> {
    let nodes = node("a", "2") + &node("b", "2");
    let pods = pod("one", "2", "", "") + &pod("two", "2", "", "") + &pod("three", "2", "", "");
    let (simulator, recorder, memory) = recorded(&(nodes + &pods), RecorderOptions::default());
    let mut stepper = Stepper::new(simulator);
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Mark("one is there".to_owned()));
    stepper.command(Tell::Note("the second has the other node to itself".to_owned()));
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Advance(Advance::By(Duration::from_secs(10))));
    stepper.command(Tell::Mark("full".to_owned()));
    stepper.finish_recording("told");
    drop(stepper);
    recorder.finish().unwrap();
    memory.bytes()
}

#[test]
fn a_recording_opens_with_the_cluster_there_and_is_gone_through_to_its_end() {
    let mut stepper = stepper_on(&story(), false);
    let view = stepper.simulator().scheduler().view();
    assert_eq!((view.counts.nodes, view.counts.active, view.counts.cycles), (2, 3, 0));
    stepper.command(Tell::StepCycle);
    assert_eq!(said(&stepper), "one is there: the second has the other node to itself");
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::StepCycle);
    let counts = stepper.simulator().scheduler().counts();
    assert_eq!((counts.cycles, counts.bound, counts.failed), (3, 2, 1));
    stepper.command(Tell::ToEnd);
    stepper.command(Tell::StepCycle);
    assert_eq!(said(&stepper), "the recording ends here (told); :leave goes on as a sandbox");
    assert!(!stepper.moment().is_past());
}

#[test]
fn a_recorded_attempt_is_looked_at_phase_by_phase() {
    let mut stepper = stepper_on(&story(), false);
    let before = digest(&stepper);
    let mut phases = 0;
    while stepper.moment().position == 1 {
        stepper.command(Tell::StepPhase);
        phases += 1;
        assert!(phases < 40);
    }
    assert!(phases > 5, "{phases}");
    assert_eq!(stepper.simulator().scheduler().counts().bound, 1);
    let after = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Phase));
    assert!(stepper.moment().phases_inside > 0);
    stepper.command(Tell::StepCycle);
    assert_eq!(digest(&stepper), after);
    stepper.command(Tell::Back(BackTo::Cycle));
    assert_eq!(digest(&stepper), before);
}

#[test]
fn places_are_found_by_marker_failure_pod_text_and_time() {
    let mut stepper = stepper_on(&story(), true);
    let cycles = |stepper: &Stepper| stepper.simulator().scheduler().counts().cycles;
    stepper.command(Tell::Seek(SeekTo::Marker("FULL".to_owned())));
    assert_eq!((cycles(&stepper), stepper.simulator().elapsed().as_secs()), (3, 10));
    stepper.command(Tell::Seek(SeekTo::Previous(Wanted::Mark)));
    assert_eq!(cycles(&stepper), 1);
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Failure)));
    assert_eq!(cycles(&stepper), 3);
    assert!(
        said(&stepper).starts_with("cycle 3: default/two is unschedulable: 0/2 nodes"),
        "{}",
        said(&stepper)
    );
    stepper.command(Tell::Seek(SeekTo::Previous(Wanted::CycleOf(NamespacedName::new("default", "three")))));
    assert_eq!(cycles(&stepper), 2);
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Text("insufficient CPU".to_owned()))));
    assert_eq!(cycles(&stepper), 3);
    stepper.command(Tell::Back(BackTo::Start));
    assert_eq!(stepper.simulator().scheduler().objects().len(), 0, "the beginning is before everything");
    stepper.command(Tell::SeekAgain { is_back: false });
    assert_eq!(cycles(&stepper), 3);
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Preemption)));
    assert_eq!(said(&stepper), "there is no preemption after this moment");
    stepper.command(Tell::ToElapsed(Duration::ZERO));
    assert_eq!(stepper.simulator().elapsed(), Duration::ZERO);
}

#[test]
fn what_was_not_looked_through_yet_is_not_said_to_be_absent() {
    let mut stepper = stepper_on(&story(), false);
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Failure)));
    assert!(said(&stepper).contains("% that were looked through so far"), "{}", said(&stepper));
}

#[test]
fn what_is_looked_for_is_gone_to_when_the_recording_has_been_looked_through_so_far() {
    let bytes = story();
    let look_through = |stepper: &mut Stepper| {
        let scan = scan_of(&bytes);
        while stepper.take_news(&scan) != TryRecvError::Disconnected {}
    };
    let mut stepper = stepper_on(&bytes, false);
    let start = stepper.moment().position;
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Failure)));
    look_through(&mut stepper);
    assert!(stepper.moment().position > start);
    assert!(said(&stepper).starts_with("cycle 3: default/two is unschedulable"), "{}", said(&stepper));
    // Whoever has moved on meanwhile stays there.
    let mut stepper = stepper_on(&bytes, false);
    stepper.command(Tell::Seek(SeekTo::Next(Wanted::Failure)));
    stepper.command(Tell::Seek(SeekTo::Position(start + 1)));
    look_through(&mut stepper);
    assert_eq!(stepper.moment().position, start + 1);
}

#[test]
fn every_moment_of_a_random_session_is_the_same_from_both_sides() {
    for seed in [3, 4] {
        let mut stepper = stepper_on(&random_session(seed, 1_200), seed == 4);
        let end = stepper.moment().end;
        let mut digests = vec![];
        for position in 0..=end {
            stepper.command(Tell::Seek(SeekTo::Position(position)));
            assert_eq!(stepper.moment().position, position);
            digests.push(digest(&stepper));
        }
        // A step back and a step on from every point.
        for position in (1..=end).rev() {
            stepper.command(Tell::Seek(SeekTo::Position(position - 1)));
            assert_eq!(digest(&stepper), digests[position - 1]);
            stepper.command(Tell::Seek(SeekTo::Position(position)));
            assert_eq!(digest(&stepper), digests[position]);
            stepper.command(Tell::Seek(SeekTo::Position(position - 1)));
        }
        assert_eq!(stepper.replay_view().unwrap().divergence, None);
    }
}

#[test]
fn stepping_through_a_random_session_is_stepping_through_its_phases() {
    let bytes = random_session(9, 400);
    let mut by_phases = stepper_on(&bytes, false);
    while by_phases.moment().is_past() {
        by_phases.command(Tell::StepPhase);
    }
    let mut at_once = stepper_on(&bytes, false);
    at_once.command(Tell::ToEnd);
    assert_eq!(digest(&by_phases), digest(&at_once));
}

#[test]
fn a_session_that_went_back_is_a_tree() {
    let (simulator, recorder, memory) = recorded(
        &(node("a", "4") + &pod("one", "1", "", "") + &pod("two", "1", "", "")),
        RecorderOptions::default(),
    );
    let mut stepper = Stepper::new(simulator);
    stepper.command(Tell::StepCycle);
    let first = digest(&stepper);
    stepper.command(Tell::StepCycle);
    let straight = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Cycle));
    stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", "two"))));
    let other = digest(&stepper);
    stepper.finish_recording("done");
    drop(stepper);
    recorder.finish().unwrap();
    let mut stepper = stepper_on(&memory.bytes(), true);
    assert_eq!(stepper.moment().n_branches, 2);
    stepper.command(Tell::ToEnd);
    assert_eq!(digest(&stepper), other, "the last way is the one that counts");
    stepper.command(Tell::ToBranch(0));
    assert_eq!(digest(&stepper), straight);
    stepper.command(Tell::Back(BackTo::Cycle));
    assert_eq!(digest(&stepper), first);
}

#[test]
fn a_recording_that_is_left_goes_on_as_a_sandbox_and_stays_as_it_was() {
    let mut stepper = stepper_on(&story(), true);
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Leave);
    assert!(!stepper.moment().is_recorded && stepper.moment().branch == 1);
    stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", "two"))));
    stepper.command(Tell::StepCycle);
    let node_of_three = stepper
        .simulator()
        .api()
        .objects()
        .pods
        .values()
        .find_map(|pod| (&*pod.metadata.name == "three").then(|| pod.spec.node_name.to_string()));
    assert_eq!(node_of_three.as_deref().map(str::is_empty), Some(false), "there is room now");
    stepper.command(Tell::ToBranch(0));
    assert_eq!(stepper.simulator().scheduler().counts().failed, 1);
    assert!(stepper.moment().is_recorded);
}

#[test]
fn a_change_leaves_the_recording_by_itself() {
    let mut stepper = stepper_on(&story(), true);
    stepper.command(Tell::Edit(Edit::Cordon("a".into())));
    assert!(said(&stepper).contains("this is branch 1 now"), "{}", said(&stepper));
    stepper.command(Tell::StepCycle);
    assert_eq!(stepper.simulator().scheduler().counts().bound, 1);
}

#[test]
fn playing_takes_as_long_as_it_took() {
    let mut stepper = stepper_on(&story(), false);
    stepper.command(Tell::SetSpeed(Speed::Times(2)));
    stepper.command(Tell::Run);
    let cycles = |stepper: &Stepper| stepper.simulator().scheduler().counts().cycles;
    // Attempts that lay microseconds apart take a moment each, so that they can be followed.
    stepper.tick(Duration::from_millis(60), || false);
    assert_eq!(cycles(&stepper), 1);
    stepper.tick(Duration::from_millis(100), || false);
    assert_eq!(cycles(&stepper), 3);
    stepper.tick(Duration::from_secs(4), || false);
    assert!(stepper.moment().is_past());
    stepper.tick(Duration::from_secs(2), || false);
    assert_eq!((stepper.run_state(), stepper.moment().is_past()), (RunState::Paused, false));
    assert!(said(&stepper).starts_with("the recording ends here"), "{}", said(&stepper));
}

#[test]
fn a_difference_stops_the_replay_and_is_told() {
    let bytes = random_session(7, 300);
    let all = records(&bytes);
    let at = all.iter().rposition(|record| matches!(record, Record::Input { decided: Some(_), .. })).unwrap();
    let number = all[..=at].iter().filter(|record| matches!(record, Record::Input { .. })).count();
    let other = rewritten(&bytes, |records| {
        if let Record::Input { decided, .. } = &mut records[at] {
            *decided = decided.map(|check| check ^ 1);
        }
    });
    for is_scanned in [false, true] {
        let mut stepper = stepper_on(&other, is_scanned);
        stepper.command(Tell::ToEnd);
        let divergence = stepper.replay_view().unwrap().divergence.unwrap();
        assert_eq!(divergence.input(), number as u64);
        assert!(
            said(&stepper).starts_with(&format!("the replay differs: input {number} at ")),
            "{}",
            said(&stepper)
        );
        let there = stepper.moment();
        stepper.command(Tell::StepCycle);
        assert_eq!(stepper.moment(), there, "nothing goes on behind it");
        assert!(said(&stepper).contains("the replay differs"), "{}", said(&stepper));
        stepper.command(Tell::Back(BackTo::Cycle));
        assert_eq!(stepper.replay_view().unwrap().divergence, None);
    }
}

#[test]
fn a_recording_that_was_cut_or_damaged_is_played_up_to_there() {
    let bytes = random_session(8, 200);
    let cut = RecordedSession::read(&bytes[..bytes.len() / 2]).unwrap();
    assert!(
        matches!(&cut.ending, Ending::Cut(how) if how.contains("it was cut off at byte")),
        "{:?}",
        cut.ending
    );
    assert!(cut.n_inputs > 50);
    let stepper = stepper_on(&bytes[..bytes.len() / 2], false);
    assert!(said(&stepper).contains("is not whole: it was cut off"), "{}", said(&stepper));
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 4;
    let damaged = RecordedSession::read(&*damaged).unwrap();
    assert!(matches!(damaged.ending, Ending::Damaged(_)), "{:?}", damaged.ending);
}

#[test]
fn the_timeline_counts_what_happened_and_has_the_markers() {
    let mut stepper = stepper_on(&story(), true);
    let timeline = stepper.timeline();
    let attempts: u32 = timeline.by_order.iter().map(|bin| bin.attempts).sum();
    let failed: u32 = timeline.by_time.iter().map(|bin| bin.failed).sum();
    assert_eq!((attempts, failed, timeline.n_known), (3, 1, timeline.n));
    let marks: Vec<&str> = timeline.marks.iter().map(|mark| &*mark.text).collect();
    assert_eq!(marks, ["one is there", "the second has the other node to itself", "full"]);
    assert!(Arc::ptr_eq(&timeline, &stepper.timeline()), "it is made anew only when something is new");
}

/// A sandbox that keeps what happens, and can be recorded.
fn session_with_desk(manifest: &str) -> Stepper {
    let mut stepper = Stepper::new(super::session::with_tap(manifest, RecordingTap::in_memory()));
    stepper.set_desk(Desk::new(header(), Slim::default(), None));
    stepper
}

#[test]
fn a_recording_begun_in_the_middle_holds_the_session_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let manifest =
        node("a", "2") + &pod("one", "1", "", "") + &pod("two", "1", "", "") + &pod("three", "1", "", "");
    let mut stepper = session_with_desk(&manifest);
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::StepPhase);
    stepper.command(Tell::Back(BackTo::Phase));
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Record(RecordTo::File(path("mid.rec"))));
    assert!(said(&stepper).starts_with("recording to "), "{}", said(&stepper));
    assert!(stepper.recorder_view().is_some());
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Mark("here".to_owned()));
    let there = digest(&stepper);
    stepper.command(Tell::StopRecording);
    assert!(stepper.recorder_view().is_none());
    stepper.command(Tell::SaveLast(RecordTo::File(path("last.rec.zst"))));
    assert!(said(&stepper).starts_with("saved "), "{}", said(&stepper));
    stepper.command(Tell::SaveLast(RecordTo::File(path("last.rec.zst"))));
    assert!(said(&stepper).contains("it is there already"), "{}", said(&stepper));
    for name in ["mid.rec", "last.rec.zst"] {
        let bytes = std::fs::read(path(name)).unwrap();
        let (report, outcome) = checked(&bytes);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        assert!(report.digests > 0 && report.end.is_some(), "{report:?}");
        let mut replay = stepper_on(&bytes, false);
        replay.command(Tell::ToEnd);
        assert_eq!(digest(&replay), there, "{name}");
    }
    // After it was stopped another one can be begun.
    stepper.command(Tell::Record(RecordTo::File(path("again.rec"))));
    stepper.command(Tell::Back(BackTo::Cycle));
    stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", "three"))));
    let there = digest(&stepper);
    stepper.command(Tell::StopRecording);
    let bytes = std::fs::read(path("again.rec")).unwrap();
    assert!(checked(&bytes).1.is_ok());
    let mut replay = stepper_on(&bytes, false);
    replay.command(Tell::ToEnd);
    assert_eq!(digest(&replay), there);
}

/// Pods are bound, come and go until more has happened than is kept.
#[test]
fn whoever_calls_saving_off_has_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.rec");
    let manifest = node("a", "2") + &pod("one", "1", "", "");
    for tap in [RecordingTap::in_memory(), RecordingTap::in_memory_of(2)] {
        let mut stepper = Stepper::new(super::session::with_tap(&manifest, tap));
        stepper.set_desk(Desk::new(header(), Slim::default(), None));
        stepper.command(Tell::StepCycle);
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(60))));
        let work = Work::default();
        work.call_off(1);
        stepper.set_work(&work);
        stepper.command(Tell::SaveLast(RecordTo::File(path.clone())));
        let said = stepper.notice().unwrap().text.clone();
        assert!(said.starts_with("stopped: nothing is saved"), "{said}");
        assert!(!path.exists());
        stepper.set_work(&Work::default());
        stepper.command(Tell::SaveLast(RecordTo::File(path.clone())));
        assert!(path.exists(), "{:?}", stepper.notice());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn of_a_session_that_is_too_long_the_last_minutes_are_saved_as_a_run_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| RecordTo::File(folder.path().join(name));
    let manifest = node("a", "2") + &node("b", "1") + &pod("big", "9", "", "");
    let tap = RecordingTap::in_memory_of(40_000);
    let mut stepper = Stepper::new(super::session::with_tap(&manifest, tap));
    stepper.set_desk(Desk::new(header(), Slim::default(), None));
    for i in 0..30 {
        let name = format!("pod-{i}");
        let text = pod(&name, "1", "", "");
        stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text }));
        stepper.command(Tell::StepCycle);
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(60))));
        stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", &*name))));
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(31))));
    }
    let before = digest(&stepper);
    stepper.command(Tell::SaveLast(file("last.rec")));
    assert!(said(&stepper).starts_with("saved the last "), "{}", said(&stepper));
    assert!(said(&stepper).contains("attempts came out as they did then"), "{}", said(&stepper));
    assert_eq!(digest(&stepper), before, "the session is as it was");
    let bytes = std::fs::read(folder.path().join("last.rec")).unwrap();
    let (report, outcome) = checked(&bytes);
    assert!(outcome.is_ok() && report.end.is_some(), "{outcome:?} {report:?}");
    let mut replay = stepper_on(&bytes, true);
    let notes = replay.timeline().marks.iter().filter(|mark| mark.is_note).count();
    assert_eq!(notes, 2);
    replay.command(Tell::ToEnd);
    assert!(replay.simulator().scheduler().counts().bound > 0);
}

fn on(text: &str) -> Condition {
    Condition::parse(text).unwrap()
}

#[test]
fn a_recording_stops_at_breakpoints_and_is_run_to_and_back_to_them() {
    let mut stepper = stepper_on(&story(), true);
    let (condition, is_once, n_ignored) = (on("code == Unschedulable"), false, 0);
    stepper.command(Tell::Debug(DebugCommand::Break { condition, is_once, n_ignored }));
    stepper.command(Tell::Run);
    stepper.tick(Duration::from_secs(600), || false);
    assert_eq!(stepper.run_state(), RunState::Paused);
    assert!(said(&stepper).starts_with("stopped: breakpoint 1 at Filter of default/"), "{}", said(&stepper));
    stepper.command(Tell::Debug(DebugCommand::RunBackTo(on("chosen ~ \"*\""))));
    assert!(said(&stepper).starts_with("back: here at "), "{}", said(&stepper));
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::Debug(DebugCommand::DeleteAll));
    stepper.command(Tell::Debug(DebugCommand::RunTo(on("outcome == Unschedulable"))));
    stepper.tick(Duration::from_secs(1), || false);
    assert!(said(&stepper).contains("here at"), "{}", said(&stepper));
}

#[test]
fn a_change_of_a_recording_is_compared_with_its_own_way_and_one_that_fails_begins_none() {
    let mut stepper = stepper_on(&story(), true);
    stepper.command(Tell::Edit(Edit::Cordon("nowhere".into())));
    assert!(said(&stepper).contains("not found"), "{}", said(&stepper));
    assert_eq!(stepper.moment().n_branches, 1, "no branch was begun");
    assert!(stepper.moment().is_recorded);
    stepper.command(Tell::Edit(Edit::Cordon("a".into())));
    assert_eq!(stepper.moment().branch, 1);
    stepper.command(Tell::Compare(0, 1));
    let comparison = stepper.comparison().unwrap().1.clone();
    // Two pods were bound before; with one node for one pod there is one.
    assert_eq!((comparison.bound, comparison.differences.len(), comparison.n_equal), ([2, 1], 1, 2));
    assert!(comparison.differences.iter().all(|other| other.decided.iter().any(Option::is_some)));
    assert_eq!(stepper.branch_views()[0].change, "the recording");
}

#[test]
fn what_is_not_kept_cannot_be_recorded_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = RecordTo::File(folder.path().join("a.rec"));
    let mut stepper = Stepper::new(sandbox(&node("a", "2")));
    stepper.command(Tell::Record(file.clone()));
    assert!(
        said(&stepper).contains("is not recorded again") || said(&stepper).contains("cannot be recorded")
    );
    let mut replay = stepper_on(&story(), false);
    replay.command(Tell::Record(file));
    assert!(
        said(&replay).starts_with("a recording that is played is not recorded again"),
        "{}",
        said(&replay)
    );
}

#[test]
fn what_goes_on_from_a_recording_is_recorded_with_the_way_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| RecordTo::File(folder.path().join(name));
    let mut stepper = stepper_on(&story(), true);
    stepper.set_desk(Desk::new(header(), Slim::default(), None));
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Leave);
    let start = digest(&stepper);
    stepper.command(Tell::Record(file("left.rec")));
    assert!(said(&stepper).starts_with("recording to "), "{}", said(&stepper));
    stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text: node("c", "8") }));
    stepper.command(Tell::StepCycle);
    // Back to before it was left and on again: the recording goes the same way.
    stepper.command(Tell::Back(BackTo::Cycle));
    stepper.command(Tell::StepCycle);
    let there = digest(&stepper);
    assert_ne!(start, there);
    stepper.command(Tell::StopRecording);
    assert!(said(&stepper).starts_with("recorded "), "{}", said(&stepper));
    stepper.command(Tell::SaveLast(file("saved.rec")));
    for name in ["left.rec", "saved.rec"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let (report, outcome) = checked(&bytes);
        assert!(outcome.is_ok() && report.end.is_some(), "{name}: {outcome:?} {report:?}");
        let mut replay = stepper_on(&bytes, true);
        let marks: Vec<String> = replay.timeline().marks.iter().map(|mark| mark.text.to_string()).collect();
        assert!(marks.contains(&"one is there".to_owned()), "{marks:?}");
        replay.command(Tell::ToEnd);
        assert_eq!(digest(&replay), there, "{name}");
    }
}

#[test]
fn a_change_of_a_recording_is_recorded_without_leaving_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.rec");
    let mut stepper = stepper_on(&story(), true);
    stepper.set_desk(Desk::new(header(), Slim::default(), None));
    stepper.command(Tell::Edit(Edit::Cordon("a".into())));
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::SaveLast(RecordTo::File(path.clone())));
    assert!(said(&stepper).starts_with("saved "), "{}", said(&stepper));
    let bytes = std::fs::read(path).unwrap();
    assert!(checked(&bytes).1.is_ok());
    let mut replay = stepper_on(&bytes, false);
    replay.command(Tell::ToEnd);
    assert_eq!(digest(&replay), digest(&stepper));
}

/// Pods come and go until more has happened than is kept; the session goes on with a scheduler begun anew.
#[test]
fn a_session_that_is_too_long_is_recorded_from_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("anew.rec");
    let manifest = node("a", "2") + &node("b", "1") + &pod("big", "9", "", "");
    let tap = RecordingTap::in_memory_of(10_000);
    let mut stepper = Stepper::new(super::session::with_tap(&manifest, tap));
    stepper.set_desk(Desk::new(header(), Slim::default(), None));
    for i in 0..10 {
        let text = pod(&format!("pod-{i}"), "100m", "", "");
        stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text }));
        stepper.command(Tell::StepCycle);
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(60))));
    }
    let (before, elapsed) = (digest(&stepper), stepper.simulator().elapsed());
    stepper.command(Tell::Record(RecordTo::File(path.clone())));
    assert!(said(&stepper).contains("the scheduler was begun anew"), "{}", said(&stepper));
    assert!(stepper.recorder_view().is_some());
    assert!(stepper.simulator().elapsed() >= elapsed, "the clock goes on");
    let nodes_of = |stepper: &Stepper| stepper.simulator().api().objects().pods.len();
    let n_pods = nodes_of(&stepper);
    stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text: pod("last", "100m", "", "") }));
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::StepCycle);
    assert_eq!(nodes_of(&stepper), n_pods + 1);
    // Going back to before it and on again is going along the same way.
    let there = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Start));
    assert!(stepper.recorder_view().is_none(), "what lies before is not recorded");
    stepper.command(Tell::ToEnd);
    assert_eq!(digest(&stepper), there);
    stepper.command(Tell::StopRecording);
    let bytes = std::fs::read(path).unwrap();
    let (report, outcome) = checked(&bytes);
    assert!(outcome.is_ok() && report.end.is_some(), "{outcome:?} {report:?}");
    let replay_session = RecordedSession::read(&*bytes).unwrap();
    assert!(replay_session.header.source.ends_with("(begun anew)"), "{}", replay_session.header.source);
    let mut replay = stepper_on(&bytes, true);
    replay.command(Tell::ToEnd);
    assert_eq!(digest(&replay), there);
    // A step back undoes it.
    while stepper.moment().position > 0 && digest(&stepper) != before {
        stepper.command(Tell::Back(BackTo::Phase));
    }
    assert_eq!(digest(&stepper), before);
}

#[test]
fn a_session_without_names_is_not_saved_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut stepper = Stepper::new(super::session::with_tap(&node("a", "2"), RecordingTap::in_memory()));
    stepper.set_desk(Desk::new(header(), Slim::default(), None).nameless(true));
    for tell in [Tell::SaveLast, Tell::Record] {
        stepper.command(tell(RecordTo::File(folder.path().join("a.rec"))));
        assert!(said(&stepper).contains("--redact"), "{}", said(&stepper));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Every news of a scan of a recording with a difference ends with it.
#[test]
fn the_scan_finds_the_difference_ahead_of_the_person() {
    let bytes = random_session(7, 300);
    let other = rewritten(&bytes, |records| {
        let at = records
            .iter()
            .position(|record| matches!(record, Record::Input { decided: Some(_), .. }))
            .unwrap();
        if let Record::Input { decided, .. } = &mut records[at] {
            *decided = None;
        }
    });
    let session = RecordedSession::read(&*other).unwrap();
    let fresh: Simulator =
        session.history(&in_tree_registry(), HistoryLimits::default()).unwrap().machine().clone();
    let scan = Scan::start(fresh, session.ways).unwrap();
    let news: Vec<News> = std::iter::from_fn(|| scan.next()).collect();
    assert!(matches!(news.last(), Some(News::Diverged { .. })), "{:?}", news.last());
}
