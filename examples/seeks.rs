//! How long it takes to go anywhere in a recording.
//!
//!     cargo run --release --example seeks -- a.rec.zst [SEEKS]
//!
//! Looks through the recording as the console does, then goes to random moments, and prints how long that took, how many
//! checkpoints there are, how many bytes they are estimated at, and what the process takes.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use schedscope::api::Rng;
use schedscope::driver::history::HistoryLimits;
use schedscope::driver::replay::RecordedSession;
use schedscope::driver::replay::scan::{News, Scan};
use schedscope::driver::rewind::Rewind;
use schedscope::driver::seek::SeekTo;
use schedscope::plugins::registry::in_tree_registry;

/// What the process takes, in kibibytes, where the system tells.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which recording?")?;
    let n: usize = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let started = Instant::now();
    let recorded = RecordedSession::read(BufReader::new(File::open(&file)?))?;
    println!("read: {} inputs in {:?}", recorded.n_inputs, started.elapsed());
    let registry = in_tree_registry();
    let mut rewind = Rewind::of_recording(&recorded, &registry, HistoryLimits::default())?;
    println!("opened after {:?}, {} MiB", started.elapsed(), memory("VmRSS:") >> 10);
    let fresh = recorded.history(&registry, HistoryLimits::default())?.machine().clone();
    let scan = Scan::start(fresh, recorded.ways)?;
    let mut n_diverged = 0;
    while let Some(news) = scan.next() {
        n_diverged += usize::from(matches!(news, News::Diverged { .. }));
        rewind.take_news(news);
    }
    println!("looked through after {:?}, {} MiB", started.elapsed(), memory("VmRSS:") >> 10);
    let (checkpoints, bytes) = rewind.checkpoints();
    println!("{checkpoints} checkpoints, estimated at {} MiB; {n_diverged} differences", bytes >> 20);
    let last = rewind.end();
    let mut rng = Rng::new(7);
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..n {
        let to = rng.below(last + 1);
        let started = Instant::now();
        rewind.seek_to(&SeekTo::Position(to));
        let view = rewind.simulator().scheduler().view();
        took.push(started.elapsed());
        drop(view);
    }
    took.sort_unstable();
    let at = |percent: usize| took.get((took.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    println!(
        "{n} seeks over {last} steps: median {:?}, 95 of 100 {:?}, longest {:?}",
        at(50),
        at(95),
        at(100)
    );
    println!("{} MiB now, {} MiB at most", memory("VmRSS:") >> 10, memory("VmHWM:") >> 10);
    Ok(())
}
