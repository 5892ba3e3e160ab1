//! What has happened to a machine, so that it can be taken back to any moment and on from there in another way.
//!
//! A machine moves by operations alone and is a value that can be copied. Its past is the list of its operations, with
//! copies of the machine (checkpoints) along the way: going to a moment is taking the nearest checkpoint before it and
//! doing what came after. An operation that differs from what was done next begins a branch; what was done then stays
//! where it was. What will be done can be known from the beginning, as in a recording: such a way is never changed.
//!
//! Checkpoints are spaced by what it costs to do again what lies between them. Together they take no more than so many
//! bytes, as the machine estimates them; beyond that the one whose loss is felt least goes, which thins out the old ones
//! first.

#![expect(
    clippy::disallowed_methods,
    reason = "what it costs to do something again is measured; only the spacing of checkpoints depends on it"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::time::{Duration as Elapsed, Instant};

use super::work::Work;

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

    /// About how many bytes a copy keeps for itself once the machine has gone on.
    fn estimated_bytes(&self) -> usize;

    /// Whether what a person wants to see of the next operations is left out, so that they are done faster. Has no
    /// influence on what they do.
    fn set_lean(&mut self, _is_lean: bool) {}

    /// Whether a person who looks at the machine later sees what was done by this operation.
    fn is_seen(_op: &Self::Op) -> bool {
        false
    }
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
    pub outside: M::Outside,
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
    /// Whether it was known from the beginning. Nothing is added to it.
    is_given: bool,
    /// Whether it is forgotten. Its number is not used again.
    is_forgotten: bool,
}

impl<M: Machine> Branch<M> {
    fn end(&self) -> usize {
        self.first + self.entries.len()
    }
}

/// A copy of the machine.
#[derive(Clone, Debug)]
struct Checkpoint<M> {
    machine: M,
    bytes: usize,
    /// What it has cost to come here from the checkpoint before.
    cost: Elapsed,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Copies of the machine at the most.
    pub checkpoints_max: usize,
    /// Bytes of all of them at the most, as the machine estimates them; but never fewer than two copies.
    pub checkpoint_bytes_max: usize,
    /// Operations at the most, over all branches; those are forgotten first that were left, then the oldest ones.
    pub entries_max: usize,
}

/// The memory that checkpoints may take: 256 MiB.
pub const CHECKPOINT_BYTES_MAX: usize = 256 << 20;

/// Branches that are kept at the most.
const BRANCHES_MAX: usize = 256;

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { checkpoints_max: 512, checkpoint_bytes_max: CHECKPOINT_BYTES_MAX, entries_max: 1_000_000 }
    }
}

/// Less than this is not worth a checkpoint.
pub const CHECKPOINT_COST_MIN: Elapsed = Elapsed::from_millis(20);
/// A checkpoint is made when doing again what lies behind the last one costs so many times what the copy costs.
pub const COPY_COST_FACTOR: u32 = 4;

/// So many operations before the last one that a person sees are done in full: it may have begun with them.
const SEEN_OPS: usize = 24;
/// The last operation that a person sees is looked for among so many.
const SEEN_OPS_MAX: usize = 4_096;

/// A machine with its past.
#[derive(Clone, Debug)]
pub struct History<M: Machine> {
    machine: M,
    branches: Vec<Branch<M>>,
    branch: BranchId,
    /// How many operations lie before the present moment.
    position: usize,
    checkpoints: BTreeMap<(BranchId, usize), Checkpoint<M>>,
    checkpoint_bytes: usize,
    /// What has been done since the last checkpoint has cost so much.
    cost: Elapsed,
    copy_cost: Elapsed,
    limits: HistoryLimits,
    work: Work,
    /// How often another copy has taken the machine's place.
    n_jumps: u64,
}

impl<M: Machine> History<M> {
    /// A machine that has no past yet.
    pub fn new(machine: M, limits: HistoryLimits) -> Self {
        let root =
            Branch { parent: None, first: 0, entries: VecDeque::new(), is_given: false, is_forgotten: false };
        let branch = BranchId(0);
        let mut history = Self {
            machine,
            branches: vec![root],
            branch,
            position: 0,
            checkpoints: BTreeMap::new(),
            checkpoint_bytes: 0,
            cost: Elapsed::ZERO,
            copy_cost: Elapsed::ZERO,
            limits,
            work: Work::default(),
            n_jumps: 0,
        };
        history.keep(branch, 0, history.machine.clone(), Elapsed::ZERO);
        history
    }

    /// Adds a branch that is known from the beginning, and that nothing is added to. The first one has no parent.
    pub fn give(
        &mut self,
        parent: Option<(BranchId, usize)>,
        entries: impl IntoIterator<Item = Entry<M>>,
    ) -> BranchId {
        let first = parent.map_or(0, |(_, at)| at);
        let entries = entries.into_iter().collect();
        let branch = Branch { parent, first, entries, is_given: true, is_forgotten: false };
        match self.branches.first_mut() {
            Some(root) if parent.is_none() => {
                *root = branch;
                BranchId(0)
            }
            _ => {
                self.branches.push(branch);
                BranchId(self.branches.len() - 1)
            }
        }
    }

    /// Long work is told of there, and asks there whether it is still wanted.
    pub fn set_work(&mut self, work: Work) {
        self.work = work;
    }

    /// The machine at the present moment.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// How often the machine was set to another moment than the one behind its last operation.
    pub const fn n_jumps(&self) -> u64 {
        self.n_jumps
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
        self.start_of(self.branch)
    }

    /// The same on the way to another branch.
    fn start_of(&self, branch: BranchId) -> usize {
        let root = self.owner(branch, 0).and_then(|root| self.branches.get(root.0));
        root.map_or(0, |root| root.first)
    }

    /// The branch of the present moment.
    pub fn branch(&self) -> BranchId {
        self.branch
    }

    /// Whether this branch was known from the beginning.
    pub fn is_given(&self) -> bool {
        self.is_given_branch(self.branch)
    }

    /// Whether a branch was known from the beginning.
    pub fn is_given_branch(&self, id: BranchId) -> bool {
        self.branches.get(id.0).is_some_and(|branch| branch.is_given)
    }

    /// Every branch with the branch that it left and after how many operations, and where it ends. Those that are
    /// forgotten are left out.
    pub fn branches(&self) -> impl Iterator<Item = (BranchId, Option<(BranchId, usize)>, usize)> + '_ {
        let kept = self.branches.iter().enumerate().filter(|(_, branch)| !branch.is_forgotten);
        kept.map(|(index, branch)| (BranchId(index), branch.parent, branch.end()))
    }

    /// How many branches there have been.
    pub fn n_branches(&self) -> usize {
        self.branches.len()
    }

    /// How many checkpoints there are.
    pub fn n_checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// About how many bytes they take.
    pub fn checkpoint_bytes(&self) -> usize {
        self.checkpoint_bytes
    }

    /// The operation that leads from `position` to the next one.
    pub fn entry(&self, position: usize) -> Option<&Entry<M>> {
        self.entry_of(self.branch, position)
    }

    /// The same on another branch.
    pub fn entry_of(&self, branch: BranchId, position: usize) -> Option<&Entry<M>> {
        let branch = self.branches.get(self.owner(branch, position)?.0)?;
        branch.entries.get(position.checked_sub(branch.first)?)
    }

    fn entry_mut(&mut self, branch: BranchId, position: usize) -> Option<&mut Entry<M>> {
        let owner = self.owner(branch, position)?;
        let branch = self.branches.get_mut(owner.0)?;
        branch.entries.get_mut(position.checked_sub(branch.first)?)
    }

    /// The branch on the way of `id` that has the entry at `position`.
    fn owner(&self, mut id: BranchId, position: usize) -> Option<BranchId> {
        loop {
            match self.branches.get(id.0)?.parent {
                Some((parent, at)) if position < at => id = parent,
                Some(_) | None => return Some(id),
            }
        }
    }

    /// Whether a position of a branch is one of the present way, too.
    pub fn is_on_way(&self, branch: BranchId, position: usize) -> bool {
        // At the place where a branch is left both are the same moment.
        let at = position.saturating_sub(1).max(self.start());
        match position {
            0 => self.owner(self.branch, 0) == self.owner(branch, 0),
            _ => {
                self.owner(self.branch, at).is_some() && self.owner(self.branch, at) == self.owner(branch, at)
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
            self.position += 1;
            self.forget_the_oldest();
        } else {
            self.position += 1;
        }
        self.make_checkpoint_if_due();
        done.said
    }

    /// Takes the machine to a moment of this branch. False if that moment is not known.
    pub fn seek(&mut self, position: usize) -> bool {
        self.seek_in(self.branch, position)
    }

    /// The same, also while work is called off.
    pub fn seek_surely(&mut self, position: usize) -> bool {
        let work = std::mem::take(&mut self.work);
        let has_moved = self.seek(position);
        self.work = work;
        has_moved
    }

    /// Takes the machine to a moment of a branch. False if that moment is not known, or if the work was called off; the
    /// machine is then where it was.
    pub fn seek_in(&mut self, branch: BranchId, position: usize) -> bool {
        let Some(found) = self.branches.get(branch.0).filter(|branch| !branch.is_forgotten) else {
            return false;
        };
        if position > found.end() || position < self.start_of(branch) || self.work.is_called_off() {
            return false;
        }
        let lean_to = self.lean_to(branch, position);
        let Some((owner, from)) = self.nearest_checkpoint(branch, lean_to) else { return false };
        let is_ahead = branch == self.branch && (from..=position).contains(&self.position);
        let here =
            self.work.is_under_way().then(|| (self.machine.clone(), self.position, self.branch, self.cost));
        if !is_ahead {
            let Some(checkpoint) = self.checkpoints.get(&(owner, from)) else { return false };
            self.machine = checkpoint.machine.clone();
            self.n_jumps += 1;
            self.position = from;
            self.cost = Elapsed::ZERO;
        }
        self.branch = branch;
        let first = self.position;
        while self.position < position {
            if !self.work.goes_on(self.position - first, position - first)
                && let Some(here) = here
            {
                (self.machine, self.position, self.branch, self.cost) = here;
                return false;
            }
            let is_lean = self.position < lean_to;
            self.machine.set_lean(is_lean);
            let Some(entry) = self.entry(self.position) else { break };
            let (op, outside) = (entry.op.clone(), entry.outside.clone());
            let started = Instant::now();
            let done = self.machine.apply(&op, Some(&outside));
            self.cost += started.elapsed();
            // Of a way that is given, what its operations come to is learned by doing them.
            self.learn(branch, self.position, done.fact);
            self.position += 1;
            self.make_checkpoint_if_due();
        }
        self.machine.set_lean(false);
        self.position == position
    }

    /// The position from which on operations are done in full, so that a person sees at `position` what there is to see.
    fn lean_to(&self, branch: BranchId, position: usize) -> usize {
        let start = self.start_of(branch);
        let first = position.saturating_sub(SEEN_OPS_MAX).max(start);
        let is_seen = |at: &usize| self.entry_of(branch, *at).is_some_and(|entry| M::is_seen(&entry.op));
        let seen = (first..position).rev().find(is_seen).unwrap_or(position);
        seen.saturating_sub(SEEN_OPS).max(start)
    }

    /// What is kept about an operation of a way that is given was found out.
    pub fn learn(&mut self, branch: BranchId, position: usize, fact: M::Fact) {
        if let Some(entry) = self.entry_mut(branch, position) {
            entry.fact = fact;
        }
    }

    /// Takes over a copy of the machine at a moment of a way that is given, and what it has cost to come there from
    /// the copy before.
    pub fn take_checkpoint(&mut self, branch: BranchId, position: usize, machine: M, cost: Elapsed) {
        let is_kept = self.branches.get(branch.0).is_some_and(|branch| !branch.is_forgotten);
        if is_kept && position >= self.start_of(branch) {
            self.keep(branch, position, machine, cost);
        }
    }

    /// The way that is given ends at this position: nothing behind it has any meaning.
    pub fn end_branch_at(&mut self, branch: BranchId, position: usize) {
        if let Some(branch) = self.branches.get_mut(branch.0) {
            branch.entries.truncate(position.saturating_sub(branch.first));
        }
        let end = self.branches.get(branch.0).map_or(0, Branch::end);
        let behind = (branch, end + 1)..=(branch, usize::MAX);
        let gone: Vec<_> = self.checkpoints.range(behind).map(|(key, _)| *key).collect();
        for key in gone {
            self.drop_checkpoint(key);
        }
    }

    /// The last checkpoint on the way to a moment.
    fn nearest_checkpoint(&self, mut branch: BranchId, mut position: usize) -> Option<(BranchId, usize)> {
        loop {
            let parent = self.branches.get(branch.0)?.parent;
            let begin = parent.map_or(0, |(_, at)| at);
            if begin <= position {
                let mut range = self.checkpoints.range((branch, begin)..=(branch, position));
                if let Some((key, _)) = range.next_back() {
                    return Some(*key);
                }
            }
            let (left, at) = parent?;
            (branch, position) = (left, position.min(at));
        }
    }

    /// A copy of the machine at the last checkpoint at or before a moment of a branch, and where that is.
    pub fn copy_before(&self, branch: BranchId, position: usize) -> Option<(usize, M)> {
        if position < self.start_of(branch) || position > self.branches.get(branch.0)?.end() {
            return None;
        }
        let (owner, from) = self.nearest_checkpoint(branch, position)?;
        Some((from, self.checkpoints.get(&(owner, from))?.machine.clone()))
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
        if self.position < self.end() || self.is_given() {
            self.begin_branch();
        }
    }

    /// What is done from now on is a branch of its own, also at the end of the present one.
    pub fn begin_branch(&mut self) {
        // Where one branch was left for this one at this very moment, it is that one that is left again.
        let mut left = self.branch;
        while let Some((parent, at)) = self.branches.get(left.0).and_then(|branch| branch.parent)
            && at >= self.position
        {
            left = parent;
        }
        let parent = Some((left, self.position));
        let first = self.position;
        let entries = VecDeque::new();
        self.branches.push(Branch { parent, first, entries, is_given: false, is_forgotten: false });
        self.branch = BranchId(self.branches.len() - 1);
    }

    fn make_checkpoint_if_due(&mut self) {
        if self.cost < CHECKPOINT_COST_MIN.max(self.copy_cost * COPY_COST_FACTOR) {
            return;
        }
        let cost = std::mem::take(&mut self.cost);
        if self.checkpoints.contains_key(&(self.branch, self.position)) {
            return;
        }
        let started = Instant::now();
        let copy = self.machine.clone();
        self.copy_cost = started.elapsed();
        self.keep(self.branch, self.position, copy, cost);
    }

    /// Keeps a copy, and drops others where there is no room.
    fn keep(&mut self, branch: BranchId, position: usize, machine: M, cost: Elapsed) {
        let bytes = machine.estimated_bytes();
        self.drop_checkpoint((branch, position));
        self.checkpoint_bytes += bytes;
        self.checkpoints.insert((branch, position), Checkpoint { machine, bytes, cost });
        while self.checkpoints.len() > 2
            && (self.checkpoints.len() > self.limits.checkpoints_max
                || self.checkpoint_bytes > self.limits.checkpoint_bytes_max)
        {
            if !self.thin_out() {
                break;
            }
        }
    }

    /// Drops a checkpoint. The way to the next one becomes as much longer.
    fn drop_checkpoint(&mut self, key: (BranchId, usize)) {
        let Some(dropped) = self.checkpoints.remove(&key) else { return };
        self.checkpoint_bytes -= dropped.bytes;
        let mut behind = self.checkpoints.range_mut((key.0, key.1 + 1)..=(key.0, usize::MAX));
        if let Some((_, next)) = behind.next() {
            next.cost += dropped.cost;
        }
    }

    /// Drops the checkpoint whose loss is felt least: the way that it leaves is the shortest. Where the past grows,
    /// that is seen from the present; on a way that is given, every moment counts the same. False if there is none to
    /// drop.
    fn thin_out(&mut self) -> bool {
        let keys: Vec<(BranchId, usize, Elapsed)> =
            self.checkpoints.iter().map(|((branch, at), copy)| (*branch, *at, copy.cost)).collect();
        let ways = keys.iter().enumerate().filter(|(_, (id, at, _))| !self.is_beginning(*id, *at)).map(
            |(i, this)| {
                let next = keys.get(i + 1).filter(|next| next.0 == this.0);
                // Behind the last one nothing was measured; its own way tells enough.
                let cost = this.2 + next.map_or(this.2, |next| next.2);
                let is_given = self.branches.get(this.0.0).is_some_and(|branch| branch.is_given);
                let way = if is_given {
                    // Operations are counted, so that a machine that is busy elsewhere does not tear holes.
                    let before =
                        i.checked_sub(1).and_then(|i| keys.get(i)).filter(|before| before.0 == this.0);
                    let before = before.map_or(0, |before| before.1);
                    (next.map_or(this.1 * 2 - before, |next| next.1) - before) as u128
                } else {
                    let age = self.position.abs_diff(this.1) + 1;
                    cost.as_nanos() * u128::from(u32::MAX) / age as u128
                };
                (way, (this.0, this.1))
            },
        );
        let Some((_, least)) = ways.min() else { return false };
        self.drop_checkpoint(least);
        true
    }

    /// Forgets what was done where it is too much: the branches that were left, the oldest first, and then the
    /// beginning of the present way, up to a checkpoint. A way that is given stays.
    fn forget_the_oldest(&mut self) {
        let total: usize = self.branches.iter().map(|branch| branch.entries.len()).sum();
        let is_given = self.branches.iter().any(|branch| branch.is_given);
        let n_kept = self.branches.iter().filter(|branch| !branch.is_forgotten).count();
        if total <= self.limits.entries_max && n_kept <= BRANCHES_MAX {
            return;
        }
        let way = self.way();
        let left = (0..self.branches.len()).map(BranchId).find(|id| {
            let branch = self.branches.get(id.0);
            !way.contains(id) && branch.is_some_and(|branch| !branch.is_forgotten && !branch.is_given)
        });
        if let Some(left) = left {
            self.forget_branch(left);
        } else if !is_given && total > self.limits.entries_max {
            self.forget_the_beginning();
        }
    }

    /// The branches that lead to the present moment, the present one first.
    fn way(&self) -> Vec<BranchId> {
        let mut way = vec![self.branch];
        let parent = |id: BranchId| self.branches.get(id.0).and_then(|branch| branch.parent);
        while let Some((parent, _)) = way.last().and_then(|id| parent(*id)) {
            way.push(parent);
        }
        way
    }

    /// Forgets a branch and those that left it.
    fn forget_branch(&mut self, id: BranchId) {
        let mut gone = vec![id];
        while let Some(id) = gone.pop() {
            self.forget_only(id);
            let left = |branch: &Branch<M>| branch.parent.is_some_and(|(parent, _)| parent == id);
            let children =
                (0..self.branches.len()).filter(|index| self.branches.get(*index).is_some_and(left));
            gone.extend(children.map(BranchId));
        }
    }

    /// Forgets a tenth of what may be kept from the beginning of the present way, up to a checkpoint, and what left
    /// the way there.
    fn forget_the_beginning(&mut self) {
        let wanted = self.start() + self.limits.entries_max / 10;
        let way = self.way();
        let is_on_way = |(id, at): &(BranchId, usize)| {
            // Positions behind where the way leaves a branch are not on it.
            way.contains(id) && self.owner(self.branch, at.saturating_sub(1)) == Some(*id)
        };
        let first = self
            .checkpoints
            .keys()
            .filter(|key| (wanted..=self.position).contains(&key.1) && is_on_way(key))
            .map(|(_, at)| *at)
            .min();
        let Some(first) = first else { return };
        let cut = self.owner(self.branch, first.saturating_sub(1)).unwrap_or(self.branch);
        // Those that were left are forgotten already: what else there is leads here.
        for id in way.into_iter().filter(|id| *id < cut) {
            self.forget_only(id);
        }
        if let Some(branch) = self.branches.get_mut(cut.0) {
            branch.entries.drain(..(first - branch.first).min(branch.entries.len()));
            branch.first = first;
            branch.parent = None;
        }
        let before: Vec<_> = self.checkpoints.keys().filter(|(_, at)| *at < first).copied().collect();
        for key in before {
            self.drop_checkpoint(key);
        }
    }

    /// Forgets a branch, but not those that left it.
    fn forget_only(&mut self, id: BranchId) {
        if let Some(branch) = self.branches.get_mut(id.0) {
            branch.entries = VecDeque::new();
            branch.is_forgotten = true;
            branch.parent = None;
        }
        let keys: Vec<_> = self.checkpoints.range((id, 0)..=(id, usize::MAX)).map(|(key, _)| *key).collect();
        for key in keys {
            self.drop_checkpoint(key);
        }
    }
}

mod growing;
#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
mod tests;
