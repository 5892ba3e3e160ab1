//! What a recorded session came to, in the numbers by which outcomes are compared.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::measures::{Waits, measure};
use super::what_if::Totals;
use crate::api::{Duration, Object, Time, Uid};
use crate::driver::sandbox::returns::fresh_copy;
use crate::framework::runtime::Registry;
use crate::recording::{Open, ReadError, Record, RecordingReader, Replay, ReplayError, last_way};
use crate::scheduler::input::Input;

/// Plays a recording to its end, without a look at whether it replays as it was.
///
/// # Errors
/// If it cannot be read, or this build can make no scheduler of it.
pub fn totals_of<R: BufRead>(open: Open<'_, R>, registry: &Registry) -> Result<Totals, ReplayError> {
    let way = last_way(open()?)?;
    let mut reader = RecordingReader::new(open()?)?;
    let mut replay = Replay::new(reader.header(), registry, false)?;
    let start = reader.header().start;
    let mut last = start;
    let mut waiting: BTreeMap<Uid, Time> = BTreeMap::new();
    let mut waits: Vec<Duration> = Vec::new();
    let mut number = 0;
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                let Record::Input { at, input, .. } = entry.record else { continue };
                number += 1;
                if !way.iter().any(|leg| leg.contains(&number)) {
                    continue;
                }
                last = last.max(at);
                see(&input, at, &mut waiting, &mut waits);
                replay.input(at, *input);
            }
            Ok(None) | Err(ReadError::Cut { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let scheduler = replay.scheduler();
    let view = scheduler.view();
    let pods = scheduler.objects().pods.values().filter(|pod| !pod.is_terminal());
    let (placed, pending): (Vec<_>, Vec<_>) = pods.partition(|pod| pod.is_assigned());
    let counts = scheduler.counts();
    Ok(Totals {
        placed: placed.len(),
        pending: pending.len(),
        preempted: usize::try_from(counts.preempted).unwrap_or(usize::MAX),
        attempts: (counts.cycles, counts.failed),
        waits: Waits::of(waits),
        measures: measure(&view.nodes),
        simulated: last - start,
    })
}

fn see(input: &Input, at: Time, waiting: &mut BTreeMap<Uid, Time>, waits: &mut Vec<Duration>) {
    match input {
        Input::Added(Object::Pod(pod)) if !pod.is_assigned() => {
            waiting.insert(pod.metadata.uid.clone(), at);
        }
        Input::Updated { new: Object::Pod(pod), .. } if pod.is_assigned() => {
            waits.extend(waiting.remove(&pod.metadata.uid).map(|since| at - since));
        }
        Input::Deleted(Object::Pod(pod)) => _ = waiting.remove(&pod.metadata.uid),
        _ => {}
    }
}

/// The pods that came in a recording, as they came, with how long after its beginning: for a scenario's arrivals. Those
/// that were there at the beginning are left out.
///
/// # Errors
/// If it cannot be read.
pub fn arrivals_of<R: BufRead>(open: Open<'_, R>) -> Result<Vec<(Duration, Object)>, ReadError> {
    let way = last_way(open()?)?;
    let mut reader = RecordingReader::new(open()?)?;
    let start = reader.header().start;
    let mut pods = Vec::new();
    let mut has_begun = false;
    let mut number = 0;
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                let Record::Input { at, input, .. } = entry.record else { continue };
                number += 1;
                if !way.iter().any(|leg| leg.contains(&number)) {
                    continue;
                }
                match *input {
                    Input::Added(Object::Pod(pod)) if has_begun && !pod.is_assigned() => {
                        let name = pod.metadata.name.clone();
                        pods.push((at - start, fresh_copy(&pod, name).into()));
                    }
                    Input::Command(_) => has_begun = true,
                    _ => {}
                }
            }
            Ok(None) | Err(ReadError::Cut { .. }) => return Ok(pods),
            Err(error) => return Err(error),
        }
    }
}
