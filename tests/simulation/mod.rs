//! Seeded random clusters in simulated time, with everything that goes wrong in a real one.
//!
//! A plan is made from a seed ([`plan`]): nodes, pods, volumes, devices and pod groups come, change and go; calls fail,
//! take long and end in any order; watches are late, lost and repeated. It is played against the scheduler through
//! [`Scheduler::handle`](schedscope::scheduler::Scheduler::handle) ([`world`]), and at every step it is looked whether
//! all is as it has to be ([`checks`]). In the end, when the trouble is over, a scheduler that is started anew on the
//! same cluster must find nothing to do. A plan that fails is made smaller as long as it fails ([`shrink`]) and printed
//! as a script for `schedscope conformance run` ([`script`]).
//!
//! The long version: `SIMULATION=1:700 cargo test --release --test integration simulation::long -- --ignored
//! --nocapture` plays the seeds 1 to 700 (the default is as many as make
//! 10,000 hours). One seed:
//! `SIMULATION=17:17`.

#![allow(clippy::print_stdout, reason = "a long run tells how far it is, and what it found")]

mod calls;
mod checks;
mod model;
mod objects;
mod plan;
mod script;
mod shrink;
mod watch;
mod world;

use std::time::Instant;

use schedscope::driver::conformance::run;

use plan::Plan;
use world::{Figures, World};

/// Deeds in a plan.
const DEEDS: usize = 240;

/// Plays the plans of these seeds. Of those that fail the first is shrunk and told in full.
fn play(seeds: std::ops::RangeInclusive<u64>) -> Figures {
    let mut figures = Figures::default();
    let mut failed = Vec::new();
    for seed in seeds {
        let plan = Plan::new(seed, DEEDS);
        let mut world = World::new(&plan);
        let played = world.play();
        figures.add(&world.figures);
        if seed % 10 == 0 {
            // For whoever waits for the end of a long one.
            println!("up to seed {seed}: {:.0} hours, {figures:?}", figures.simulated.as_secs_f64() / 3600.0);
        }
        if let Err(violation) = played {
            println!("seed {seed}: {violation:?}");
            failed.push((plan, violation));
        }
    }
    assert!(failed.len() < 2, "{} seeds failed; one alone is shrunk", failed.len());
    if let Some((plan, violation)) = failed.first() {
        let small = shrink::shrink(plan, violation);
        panic!("{} seeds failed; {violation:?}\n\n{}", failed.len(), script::print(&small));
    }
    figures
}

#[test]
fn short() {
    let figures = play(1..=4);
    assert!(figures.simulated.as_secs() > 50 * 3600, "{figures:?}");
    assert!(figures.binds > 80 && figures.evictions > 5 && figures.failed_calls > 10, "{figures:?}");
}

#[test]
#[ignore = "takes minutes; see the module's text"]
fn long() {
    let range = std::env::var_os("SIMULATION").and_then(|range| range.into_string().ok());
    let (first, last) = range
        .as_deref()
        .and_then(|range| range.split_once(':'))
        .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)))
        .unwrap_or((1, 700));
    #[expect(clippy::disallowed_methods, reason = "how long the test takes is no part of it")]
    let began = Instant::now();
    let figures = play(first..=last);
    // For whoever runs it, to be written down.
    println!(
        "seeds {first} to {last}: {:.0} hours simulated in {:.0} s, {figures:?}",
        figures.simulated.as_secs_f64() / 3600.0,
        began.elapsed().as_secs_f64()
    );
}

/// What is printed of a plan is understood by who plays scripts.
#[test]
fn a_plan_is_printed_as_a_script_that_can_be_played() {
    for seed in 201..=206 {
        let files = script::files(&Plan::new(seed, 60));
        let read_file =
            |name: &str| files.get(name).cloned().ok_or_else(|| "there is no such file".to_owned());
        let sources = crate::conformance::runs::sources(&files);
        let mut n_bound = 0;
        let mut count = |line: &str| n_bound += usize::from(line.contains("bind default/"));
        run::run(&sources, &files["script.txt"], &read_file, &mut count).unwrap();
        assert!(n_bound > 0, "seed {seed}");
    }
}

/// What was put into the scheduler makes another one the same, step by step.
#[test]
fn replay_gives_the_same_digests() {
    for seed in 101..=106 {
        let plan = Plan::new(seed, 60);
        let mut world = World::new(&plan);
        world.recorded = Some(Vec::new());
        world.play().expect("a plan without a violation");
        let mut other = world::scheduler(&plan, &crate::support::test_plugins::Calls::default());
        for (number, (now, input, digest)) in
            world.recorded.take().unwrap_or_default().into_iter().enumerate()
        {
            other.handle(now, input.clone());
            while other.poll_effect().is_some() {}
            assert_eq!(other.digest(), digest, "seed {seed}, input {number}: {input:?}");
        }
    }
}
