//! A replay is the session that was recorded, and says where it is not.

use proptest::prelude::*;
use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::session::{BackTo, Edit, SessionCommand};
use schedscope::driver::stepper::Stepper;
use schedscope::recording::{Compression, Divergence, Record, ReplayError};

use super::session::{Session, recorded};
use super::{checked, records, rewritten};
use crate::support::world::{node, pod};

fn session(seed: u64, n_inputs: u64, compression: Compression) -> Vec<u8> {
    let mut session = Session::new(seed, compression);
    session.run(n_inputs);
    session.finish()
}

/// The replay must be equal.
fn holds(bytes: &[u8]) -> u64 {
    let (report, outcome) = checked(bytes);
    assert!(outcome.is_ok(), "{} after {report:?}", outcome.unwrap_err());
    assert_eq!(report.end.as_deref(), Some("the test is over"));
    assert!(report.compares_digests && report.digests > 0);
    report.inputs
}

#[test]
fn random_sessions_are_replayed_as_they_were() {
    for (seed, compression) in [(1, Compression::None), (2, Compression::Zstd)] {
        assert!(holds(&session(seed, 2_500, compression)) >= 2_500);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn short_random_sessions_are_replayed_as_they_were(seed: u64) {
        holds(&session(seed, 300, Compression::None));
    }
}

/// Takes minutes without optimisation.
#[test]
#[ignore = "takes minutes"]
fn long_random_sessions_are_replayed_as_they_were() {
    for seed in 100..104 {
        assert!(holds(&session(seed, 100_000, Compression::Zstd)) >= 100_000);
    }
}

#[test]
fn equal_sessions_give_equal_bytes() {
    // When a compressed recording is flushed, which is in its bytes, depends on how fast the machine is.
    let text = |compression| {
        let bytes = session(5, 400, compression);
        if compression == Compression::None { bytes } else { zstd::stream::decode_all(&*bytes).unwrap() }
    };
    for compression in [Compression::None, Compression::Zstd] {
        assert!(text(compression) == text(compression), "{compression:?}");
    }
}

/// The first record of a session for which `is_wanted` holds, with the number of inputs up to it.
fn find(records: &[Record], is_wanted: impl Fn(&Record) -> bool) -> (usize, u64) {
    let at = records.iter().position(is_wanted).unwrap();
    let inputs = records[..=at].iter().filter(|record| matches!(record, Record::Input { .. })).count();
    (at, inputs as u64)
}

#[test]
fn another_decision_is_found_at_its_input() {
    let bytes = session(7, 300, Compression::None);
    let (at, number) =
        find(&records(&bytes), |record| matches!(record, Record::Input { decided: Some(_), .. }));
    let other = rewritten(&bytes, |records| {
        if let Record::Input { decided, .. } = &mut records[at] {
            *decided = decided.map(|check| check ^ 1);
        }
    });
    let (report, outcome) = checked(&other);
    assert_eq!(report.inputs, number);
    let Err(ReplayError::Diverged(Divergence::Decision { input, recorded, found_check, .. })) = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(input, number);
    assert_ne!(recorded, found_check);
}

#[test]
fn another_state_is_found_and_its_component_named() {
    let bytes = session(7, 300, Compression::None);
    let list = records(&bytes);
    let digests: Vec<(usize, u64)> = (0..list.len())
        .filter_map(|at| match &list[at] {
            Record::Digest { inputs, .. } => Some((at, *inputs)),
            _ => None,
        })
        .collect();
    let [(_, before), (at, number), ..] = digests[..] else { panic!("there are too few digests") };
    let other = rewritten(&bytes, |records| {
        if let Record::Digest { parts, .. } = &mut records[at] {
            *parts.get_mut("nominator").unwrap() ^= 1;
        }
    });
    let (_, outcome) = checked(&other);
    let Err(ReplayError::Diverged(Divergence::Component { input, component, since, .. })) = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((*input, component.as_str(), *since), (number, "nominator", before));
    let text = outcome.unwrap_err().to_string();
    assert!(
        text.contains("nominator differs") && text.contains(&format!("equal after input {before}")),
        "{text}"
    );
}

#[test]
fn an_input_that_was_left_out_is_noticed() {
    let bytes = session(7, 300, Compression::None);
    let (at, _) = find(
        &records(&bytes),
        |record| matches!(record, Record::Input { input, decided: Some(_), .. } if matches!(**input, schedscope::scheduler::input::Input::Command(_))),
    );
    let other = rewritten(&bytes, |records| _ = records.remove(at));
    let (_, outcome) = checked(&other);
    assert!(matches!(outcome, Err(ReplayError::Diverged(_))), "{outcome:?}");
}

#[test]
fn a_session_that_goes_back_and_on_another_way_is_one_recording() {
    let manifest = node("n1", "4") + &node("n2", "4") + &pod("a", "1", "", "") + &pod("b", "1", "", "");
    let options = RecorderOptions { digest_interval_min: 1, ..RecorderOptions::default() };
    let (simulator, recorder, memory) = recorded(&manifest, options);
    let mut stepper = Stepper::new(simulator);
    let mut tell = |command| assert!(stepper.command(command));
    for command in [
        SessionCommand::StepCycle,
        SessionCommand::StepCycle,
        // Going back and the same way again leaves no trace.
        SessionCommand::Back(BackTo::Start),
        SessionCommand::StepCycle,
        SessionCommand::Back(BackTo::Phase),
        // From inside an attempt, on another way.
        SessionCommand::Edit(Edit::Cordon("n1".into())),
        SessionCommand::StepCycle,
        SessionCommand::StepCycle,
        SessionCommand::Back(BackTo::Start),
        SessionCommand::Edit(Edit::Cordon("n2".into())),
        SessionCommand::StepCycle,
        SessionCommand::Back(BackTo::Start),
        SessionCommand::Edit(Edit::Label { node: "n2".into(), label: "a=b".to_owned() }),
        SessionCommand::Back(BackTo::Start),
        SessionCommand::Edit(Edit::Label { node: "n2".into(), label: "a=c".to_owned() }),
        SessionCommand::StepCycle,
        SessionCommand::Back(BackTo::Phase),
    ] {
        tell(command);
    }
    stepper.finish_recording("the test is over");
    recorder.finish().unwrap();
    let bytes = memory.bytes();
    holds(&bytes);
    let (report, _) = checked(&bytes);
    assert!(report.rewinds >= 4, "{report:?}");
    let ahead = rewritten(&bytes, |records| {
        let (at, _) = find(records, |record| matches!(record, Record::Rewind { .. }));
        records[at] = Record::Rewind { input: 999 };
    });
    assert!(matches!(checked(&ahead).1, Err(ReplayError::RewindAhead { to: 999, .. })));
}
