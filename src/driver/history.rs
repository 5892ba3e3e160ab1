//! What has happened to a machine, so that it can be taken back to any moment and on from there in another way.
//!
//! A machine moves by operations alone and is a value that can be copied. Its past is the list of its operations, with
//! copies of the machine (checkpoints) along the way: going to a moment is taking the nearest checkpoint before it and
//! doing what came after. An operation that differs from what was done next begins a branch; what was done then stays
//! where it was. Checkpoints are spaced by what it costs to do again what lies between them, and thinned as they age.

#![expect(
    clippy::disallowed_methods,
    reason = "what it costs to do something again is measured; only the spacing of checkpoints depends on it"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::time::{Duration as Elapsed, Instant};

/// What moves by operations alone.
pub trait Machine: Clone {
    /// What is done to it.
    type Op: Clone + PartialEq + Debug;
    /// What came from outside meanwhile, such as the answers of extenders; the same again makes the same of it.
    type Outside: Clone + Debug;
    /// What is kept about an operation so that it can be found again.
    type Fact: Clone + Debug;
    /// What the person who asked for it is told.
    type Said;

    /// Does an operation. With `outside` nobody outside is asked: these are the answers.
    fn apply(&mut self, op: &Self::Op, outside: Option<&Self::Outside>) -> Done<Self>;
}

/// What came of an operation.
pub struct Done<M: Machine> {
    /// What came from outside.
    pub outside: M::Outside,
    /// What is kept about it.
    pub fact: M::Fact,
    /// What the person is told.
    pub said: M::Said,
}

/// An operation that was done.
#[derive(Clone, Debug)]
pub struct Entry<M: Machine> {
    /// The operation.
    pub op: M::Op,
    /// What came from outside.
    outside: M::Outside,
    /// What is kept about it.
    pub fact: M::Fact,
}

/// Which branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub usize);

/// A way that was taken.
#[derive(Clone, Debug)]
struct Branch<M: Machine> {
    /// The branch that it left, and after how many operations.
    parent: Option<(BranchId, usize)>,
    /// The position of the first entry that is kept.
    first: usize,
    entries: VecDeque<Entry<M>>,
}

impl<M: Machine> Branch<M> {
    fn end(&self) -> usize {
        self.first + self.entries.len()
    }
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Copies of the machine at the most.
    pub checkpoints_max: usize,
    /// Operations at the most; the oldest ones are forgotten.
    pub entries_max: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { checkpoints_max: 64, entries_max: 1_000_000 }
    }
}

/// Less than this is not worth a checkpoint.
const CHECKPOINT_COST_MIN: Elapsed = Elapsed::from_millis(20);
/// A checkpoint is made when doing again what lies behind the last one costs so many times what the copy costs.
const COPY_COST_FACTOR: u32 = 4;

/// A machine with its past.
#[derive(Clone, Debug)]
pub struct History<M: Machine> {
    machine: M,
    branches: Vec<Branch<M>>,
    branch: BranchId,
    /// How many operations lie before the present moment.
    position: usize,
    checkpoints: BTreeMap<(BranchId, usize), M>,
    /// What has been done since the last checkpoint has cost so much.
    cost: Elapsed,
    copy_cost: Elapsed,
    limits: HistoryLimits,
}

impl<M: Machine> History<M> {
    /// A machine that has no past yet.
    pub fn new(machine: M, limits: HistoryLimits) -> Self {
        let root = Branch { parent: None, first: 0, entries: VecDeque::new() };
        let branch = BranchId(0);
        Self {
            checkpoints: BTreeMap::from([((branch, 0), machine.clone())]),
            machine,
            branches: vec![root],
            branch,
            position: 0,
            cost: Elapsed::ZERO,
            copy_cost: Elapsed::ZERO,
            limits,
        }
    }

    /// The machine at the present moment.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The same, for changes that have no influence on what operations do.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// How many operations lie before the present moment.
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many operations this branch has, those of its past included.
    pub fn end(&self) -> usize {
        self.branches.get(self.branch.0).map_or(0, Branch::end)
    }

    /// The first position that can still be gone to.
    pub fn start(&self) -> usize {
        self.branches.first().map_or(0, |root| root.first)
    }

    /// The branch of the present moment.
    pub fn branch(&self) -> BranchId {
        self.branch
    }

    /// Every branch with the branch that it left and after how many operations, and where it ends.
    pub fn branches(&self) -> impl Iterator<Item = (BranchId, Option<(BranchId, usize)>, usize)> + '_ {
        self.branches.iter().enumerate().map(|(index, branch)| (BranchId(index), branch.parent, branch.end()))
    }

    /// How many checkpoints there are.
    pub fn n_checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// The operation that leads from `position` to the next one.
    pub fn entry(&self, position: usize) -> Option<&Entry<M>> {
        self.entry_of(self.branch, position)
    }

    fn entry_of(&self, mut id: BranchId, position: usize) -> Option<&Entry<M>> {
        loop {
            let branch = self.branches.get(id.0)?;
            match branch.parent {
                Some((parent, at)) if position < at => id = parent,
                Some(_) | None => return branch.entries.get(position.checked_sub(branch.first)?),
            }
        }
    }

    /// The nearest position before `from` whose operation is such a one: the moment before it was done.
    pub fn find_back(&self, from: usize, mut is_it: impl FnMut(&Entry<M>) -> bool) -> Option<usize> {
        (self.start()..from).rev().find(|position| self.entry(*position).is_some_and(&mut is_it))
    }

    /// The nearest position at or after `from` whose operation is such a one: the moment after it was done.
    pub fn find_on(&self, from: usize, mut is_it: impl FnMut(&Entry<M>) -> bool) -> Option<usize> {
        let found = (from..self.end()).find(|position| self.entry(*position).is_some_and(&mut is_it))?;
        Some(found + 1)
    }

    /// Does an operation now. If it is what was done next at this moment, the machine goes on along the way that is
    /// known; if something else was done then, a branch begins.
    pub fn apply(&mut self, op: M::Op) -> M::Said {
        let known =
            self.entry(self.position).filter(|entry| entry.op == op).map(|entry| entry.outside.clone());
        let started = Instant::now();
        let done = self.machine.apply(&op, known.as_ref());
        self.cost += started.elapsed();
        if known.is_none() {
            self.begin_branch_if_needed();
            let entry = Entry { op, outside: done.outside, fact: done.fact };
            if let Some(branch) = self.branches.get_mut(self.branch.0) {
                branch.entries.push_back(entry);
            }
            self.forget_the_oldest();
        }
        self.position += 1;
        self.make_checkpoint_if_due();
        done.said
    }

    /// Takes the machine to a moment of this branch. False if that moment is not known.
    pub fn seek(&mut self, position: usize) -> bool {
        self.seek_in(self.branch, position)
    }

    /// Takes the machine to a moment of a branch. False if that moment is not known.
    pub fn seek_in(&mut self, branch: BranchId, position: usize) -> bool {
        let Some(end) = self.branches.get(branch.0).map(Branch::end) else { return false };
        if position > end || position < self.start() {
            return false;
        }
        let Some((from, copy)) = self.nearest_checkpoint(branch, position) else { return false };
        let is_ahead = branch == self.branch && (from..=position).contains(&self.position);
        if !is_ahead {
            self.machine = copy;
            self.position = from;
            self.cost = Elapsed::ZERO;
        }
        self.branch = branch;
        while self.position < position {
            let Some(entry) = self.entry(self.position) else { return false };
            let (op, outside) = (entry.op.clone(), entry.outside.clone());
            let started = Instant::now();
            self.machine.apply(&op, Some(&outside));
            self.cost += started.elapsed();
            self.position += 1;
            self.make_checkpoint_if_due();
        }
        true
    }

    /// The last checkpoint on the way to a moment, and a copy of it.
    fn nearest_checkpoint(&self, mut branch: BranchId, mut position: usize) -> Option<(usize, M)> {
        loop {
            let parent = self.branches.get(branch.0)?.parent;
            let begin = parent.map_or(0, |(_, at)| at);
            if begin <= position {
                let mut range = self.checkpoints.range((branch, begin)..=(branch, position));
                if let Some(((_, at), machine)) = range.next_back() {
                    return Some((*at, machine.clone()));
                }
            }
            let (left, at) = parent?;
            (branch, position) = (left, position.min(at));
        }
    }

    /// A copy of the machine at the last checkpoint at or before a moment of a branch, and where that is.
    pub fn copy_before(&self, branch: BranchId, position: usize) -> Option<(usize, M)> {
        if position < self.start() || position > self.branches.get(branch.0)?.end() {
            return None;
        }
        self.nearest_checkpoint(branch, position)
    }

    /// Does to a copy what was done at a moment of a branch. The entry that was done, if one is known.
    pub fn redo(&self, copy: &mut M, branch: BranchId, position: usize) -> Option<&Entry<M>> {
        let entry = self.entry_of(branch, position)?;
        copy.apply(&entry.op, Some(&entry.outside));
        Some(entry)
    }

    /// The operation that leads from a position of a branch to the next one.
    pub fn entry_in(&self, branch: BranchId, position: usize) -> Option<&Entry<M>> {
        self.entry_of(branch, position)
    }

    fn begin_branch_if_needed(&mut self) {
        if self.position < self.end() {
            let parent = Some((self.branch, self.position));
            let branch = BranchId(self.branches.len());
            self.branches.push(Branch { parent, first: self.position, entries: VecDeque::new() });
            self.branch = branch;
        }
    }

    fn make_checkpoint_if_due(&mut self) {
        if self.cost < CHECKPOINT_COST_MIN.max(self.copy_cost * COPY_COST_FACTOR) {
            return;
        }
        self.cost = Elapsed::ZERO;
        let started = Instant::now();
        self.checkpoints.entry((self.branch, self.position)).or_insert_with(|| self.machine.clone());
        self.copy_cost = started.elapsed();
        if self.checkpoints.len() > self.limits.checkpoints_max {
            self.thin_out();
        }
    }

    /// Drops the checkpoint whose loss is felt least: the gap that it leaves, seen from the present, is the smallest.
    fn thin_out(&mut self) {
        let start = self.start();
        let keys: Vec<(BranchId, usize)> = self.checkpoints.keys().copied().collect();
        let gaps = keys.windows(3).filter_map(|three| match three {
            [before, this, after] if this.1 != start => {
                let begin = if before.0 == this.0 { before.1 } else { this.1 };
                let end = if after.0 == this.0 { after.1 } else { this.1 };
                let age = self.position.abs_diff(this.1) + 1;
                // The gap in relation to the age, without fractions.
                Some(((end - begin) as u128 * u128::from(u32::MAX) / age as u128, *this))
            }
            _ => None,
        });
        if let Some((_, least)) = gaps.min() {
            self.checkpoints.remove(&least);
        }
    }

    /// Forgets operations of the beginning, up to a checkpoint, while there are too many and no branch needs them.
    fn forget_the_oldest(&mut self) {
        let Some(root) = self.branches.first() else { return };
        if root.entries.len() <= self.limits.entries_max {
            return;
        }
        let earliest_branch = self.branches.iter().filter_map(|branch| branch.parent).map(|(_, at)| at).min();
        let wanted = root.first + self.limits.entries_max / 10;
        let mut range = self.checkpoints.range((BranchId(0), wanted)..=(BranchId(0), self.position));
        let Some(first) = range.next().map(|((_, at), _)| *at) else { return };
        if earliest_branch.is_some_and(|at| at < first) {
            return;
        }
        self.checkpoints.retain(|(branch, at), _| branch.0 != 0 || *at >= first);
        if let Some(root) = self.branches.first_mut() {
            root.entries.drain(..first - root.first);
            root.first = first;
        }
    }
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Adds what it is told, and what somebody outside answers to zero.
    #[derive(Clone, Debug, PartialEq, Default)]
    struct Sum {
        total: u64,
        n_asked: u64,
    }

    impl Machine for Sum {
        type Op = u64;
        type Outside = Option<u64>;
        type Fact = u64;
        type Said = u64;

        fn apply(&mut self, op: &u64, outside: Option<&Option<u64>>) -> Done<Self> {
            let mut answer = None;
            if *op == 0 {
                // Outside answers differently each time.
                answer = outside.copied().flatten().or(Some(1000 + self.n_asked * 7));
                self.n_asked += u64::from(outside.is_none());
            }
            self.total = self.total.wrapping_mul(31) + op + answer.unwrap_or(0);
            Done { outside: answer, fact: self.total, said: self.total }
        }
    }

    fn history(limits: HistoryLimits) -> History<Sum> {
        History::new(Sum::default(), limits)
    }

    fn with_checkpoint_everywhere(history: &mut History<Sum>) {
        history.cost = CHECKPOINT_COST_MIN;
        history.copy_cost = Elapsed::ZERO;
    }

    #[test]
    fn the_same_operation_goes_on_along_the_known_way() {
        let mut history = history(HistoryLimits::default());
        for op in [1, 2, 3] {
            history.apply(op);
        }
        assert!(history.seek(1));
        history.apply(2);
        assert_eq!((history.position(), history.end(), history.branches().count()), (2, 3, 1));
    }

    #[test]
    fn another_operation_begins_a_branch_and_the_old_way_stays() {
        let mut history = history(HistoryLimits::default());
        for op in [1, 2, 3] {
            history.apply(op);
        }
        let old = history.machine().clone();
        history.seek(1);
        history.apply(9);
        assert_eq!(history.branch(), BranchId(1));
        assert_eq!((history.position(), history.end()), (2, 2));
        assert!(history.seek_in(BranchId(0), 3));
        assert_eq!(*history.machine(), old);
        assert!(history.seek_in(BranchId(1), 2));
        assert_eq!(history.entry(0).map(|entry| entry.op), Some(1));
        assert_eq!(history.entry(1).map(|entry| entry.op), Some(9));
    }

    #[test]
    fn what_came_from_outside_is_not_asked_for_again() {
        let mut history = history(HistoryLimits::default());
        history.apply(0);
        history.apply(0);
        let after = history.machine().total;
        history.seek(0);
        history.seek(2);
        assert_eq!(history.machine().total, after);
    }

    #[test]
    fn moments_that_are_not_known_cannot_be_gone_to() {
        let mut history = history(HistoryLimits::default());
        history.apply(1);
        assert!(!history.seek(2));
        assert!(!history.seek_in(BranchId(4), 0));
        assert_eq!(history.position(), 1);
    }

    #[test]
    fn the_oldest_operations_are_forgotten_up_to_a_checkpoint() {
        let mut history = history(HistoryLimits { checkpoints_max: 8, entries_max: 100 });
        for op in 0..250 {
            with_checkpoint_everywhere(&mut history);
            history.apply(op + 1);
        }
        assert!(history.end() - history.start() <= 100, "{}..{}", history.start(), history.end());
        assert!(history.seek(history.start()));
        assert!(!history.seek(0));
    }

    #[test]
    fn checkpoints_are_few_and_densest_near_the_present() {
        let mut history = history(HistoryLimits { checkpoints_max: 16, entries_max: 1_000_000 });
        for op in 0..5_000 {
            with_checkpoint_everywhere(&mut history);
            history.apply(op + 1);
        }
        assert!(history.n_checkpoints() <= 16);
        let positions: Vec<usize> = history.checkpoints.keys().map(|(_, at)| *at).collect();
        let gaps: Vec<usize> = positions.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.first() > gaps.last(), "{positions:?}");
        assert_eq!(positions.first(), Some(&0));
    }

    proptest! {
        #[test]
        fn every_moment_is_the_same_again(
            ops in proptest::collection::vec(0_u64..5, 1..60),
            jumps in proptest::collection::vec((0_usize..60, 0_u64..5), 0..20),
        ) {
            let mut history = history(HistoryLimits { checkpoints_max: 4, entries_max: 1000 });
            for op in ops {
                with_checkpoint_everywhere(&mut history);
                history.apply(op);
            }
            for (position, op) in jumps {
                if history.seek(position) && position > 0 {
                    let entry = history.entry(position - 1).expect("an entry");
                    prop_assert_eq!(history.machine().total, entry.fact);
                    history.apply(op);
                    let last = history.entry(history.position() - 1).expect("an entry");
                    prop_assert_eq!(history.machine().total, last.fact);
                }
            }
            let branches: Vec<_> = history.branches().collect();
            for (branch, _, end) in branches {
                for position in (1..=end).rev() {
                    prop_assert!(history.seek_in(branch, position));
                    let entry = history.entry(position - 1).expect("an entry");
                    prop_assert_eq!(history.machine().total, entry.fact);
                }
            }
        }
    }
}
