//! Goes through a recording ahead of the person who looks at it, on a thread of its own: what each stretch came to,
//! whether everything is as recorded, and copies of the scheduler along the way.

#![expect(clippy::disallowed_methods, reason = "what it costs to do a stretch again is measured")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration as Elapsed, Instant};

use crate::driver::history::{BranchId, CHECKPOINT_COST_MIN, COPY_COST_FACTOR, Machine as _};
use crate::driver::sandbox::ops::{SimulatorFact, SimulatorOp, SimulatorOutside};
use crate::driver::sandbox::simulator::Simulator;

use super::Way;

/// News that wait to be taken, at the most.
const QUEUE_LEN: usize = 16;
/// Facts are told in bundles, at least so often.
const BUNDLE_TIME: Elapsed = Elapsed::from_millis(50);

/// What was found out.
#[derive(Debug)]
pub enum News {
    /// What the operations from a position on came to.
    Facts {
        /// The branch.
        branch: BranchId,
        /// The position before the first of them.
        from: usize,
        /// What they came to.
        facts: Vec<SimulatorFact>,
    },
    /// A copy of the scheduler.
    Checkpoint {
        /// The branch.
        branch: BranchId,
        /// Behind so many operations.
        position: usize,
        /// The copy.
        simulator: Box<Simulator>,
        /// What it has cost to come there from the copy before.
        cost: Elapsed,
    },
    /// The replay differs from the recording in the operation before this position; the branch is not looked through
    /// further.
    Diverged {
        /// The branch.
        branch: BranchId,
        /// The position behind it.
        position: usize,
    },
}

/// A recording that is being gone through.
#[derive(Debug)]
pub struct Scan {
    news: Receiver<News>,
}

impl Scan {
    /// Begins with a scheduler before the first input.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(simulator: Simulator, ways: Vec<Way>) -> std::io::Result<Self> {
        let (sender, news) = sync_channel(QUEUE_LEN);
        std::thread::Builder::new().name("scan".to_owned()).spawn(move || {
            // Nobody listens any more when the session has ended.
            let _ = Scanner { sender, ways, copies: BTreeMap::new() }.run(simulator);
        })?;
        Ok(Self { news })
    }

    /// The next thing that was found out; an error when there is nothing now, or when everything was.
    ///
    /// # Errors
    /// `Empty` or `Disconnected`.
    pub fn try_next(&self) -> Result<News, TryRecvError> {
        self.news.try_recv()
    }

    /// Waits for the next thing that was found out; `None` when everything was.
    pub fn next(&self) -> Option<News> {
        self.news.recv().ok()
    }
}

struct Scanner {
    sender: SyncSender<News>,
    ways: Vec<Way>,
    /// The scheduler where ways leave others.
    copies: BTreeMap<(usize, usize), Simulator>,
}

/// The session has ended.
struct NobodyListens;

impl Scanner {
    fn run(&mut self, simulator: Simulator) -> Result<(), NobodyListens> {
        let left: BTreeSet<(usize, usize)> = self.ways.iter().filter_map(|way| way.parent).collect();
        self.copies.insert((0, 0), simulator);
        for (index, way) in std::mem::take(&mut self.ways).into_iter().enumerate() {
            let from = way.parent.unwrap_or((0, 0));
            // Where the way that it leaves has differed, there is nothing to go on from.
            let Some(simulator) = self.copies.get(&from).cloned() else { continue };
            self.go(index, &way, simulator, from.1, &left)?;
        }
        Ok(())
    }

    fn go(
        &mut self,
        index: usize,
        way: &Way,
        mut simulator: Simulator,
        begin: usize,
        left: &BTreeSet<(usize, usize)>,
    ) -> Result<(), NobodyListens> {
        let branch = BranchId(index);
        let (mut cost, mut copy_cost) = (Elapsed::ZERO, Elapsed::ZERO);
        let (mut facts, mut from, mut told) = (Vec::new(), begin, Instant::now());
        // Whoever goes to a moment does the last operations again, and sees all of them.
        simulator.scheduler_mut().set_lean(true);
        for (i, chunk) in way.chunks.iter().enumerate() {
            let position = begin + i + 1;
            let started = Instant::now();
            let op = SimulatorOp::Recorded(Arc::clone(chunk));
            let done = simulator.apply(&op, Some(&SimulatorOutside::default()));
            // Nobody asks the copies about problems; the one on the screen tells of its own.
            simulator.scheduler_mut().take_problems();
            cost += started.elapsed();
            facts.push(done.fact);
            if left.contains(&(index, position)) {
                self.copies.insert((index, position), simulator.clone());
            }
            let has_diverged = simulator.divergence().is_some();
            // The first one makes the beginning near, with the whole cluster there.
            let is_due = cost >= CHECKPOINT_COST_MIN.max(copy_cost * COPY_COST_FACTOR);
            if is_due || has_diverged || told.elapsed() >= BUNDLE_TIME {
                told = Instant::now();
                let facts = std::mem::take(&mut facts);
                self.tell(News::Facts { branch, from, facts })?;
                from = position;
            }
            if is_due {
                let started = Instant::now();
                let copy = Box::new(simulator.clone());
                copy_cost = started.elapsed();
                let cost = std::mem::take(&mut cost);
                self.tell(News::Checkpoint { branch, position, simulator: copy, cost })?;
            }
            if has_diverged {
                return self.tell(News::Diverged { branch, position });
            }
        }
        self.tell(News::Facts { branch, from, facts })
    }

    fn tell(&self, news: News) -> Result<(), NobodyListens> {
        self.sender.send(news).map_err(|_| NobodyListens)
    }
}
