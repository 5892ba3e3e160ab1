//! A way that is given and still grows, as that of a live cluster: it is added to at its end while somebody may stand
//! anywhere in it, and forgotten at its beginning.

use super::{BranchId, Entry, History, Machine};

impl<M: Machine> History<M> {
    /// Adds what has happened to the end of a way that is given. Whoever stands somewhere stays there.
    pub fn grow(&mut self, branch: BranchId, entry: Entry<M>) {
        if let Some(branch) = self.branches.get_mut(branch.0).filter(|branch| branch.is_given) {
            branch.entries.push_back(entry);
        }
    }

    /// Where a branch ends.
    pub fn end_of(&self, branch: BranchId) -> usize {
        self.branches.get(branch.0).map_or(0, super::Branch::end)
    }

    /// The first moment of a branch of its own that is kept.
    pub fn first_of(&self, branch: BranchId) -> usize {
        self.branches.get(branch.0).map_or(0, |branch| branch.first)
    }

    /// Forgets the beginning of a given way, up to its first checkpoint at or behind `wanted`; where there is none, one is
    /// made there. Branches that left it before stay, and begin where they left it. Whoever stands before that moment
    /// stands there then; the answer is whether somebody did.
    pub fn forget_before(&mut self, given: BranchId, wanted: usize) -> bool {
        let (first, end) = (self.first_of(given), self.end_of(given));
        let wanted = wanted.clamp(first, end);
        let known = self.checkpoints.range((given, wanted)..=(given, end)).next().map(|((_, at), _)| *at);
        if known.is_none() {
            self.keep_copy(given, given, wanted);
        }
        let cut = known.unwrap_or(wanted);
        if !self.checkpoints.contains_key(&(given, cut)) {
            // There was no room for it: the next one will do.
            return false;
        }
        // The way to where they left is gone with it, so each gets the machine of that moment.
        let left: Vec<(BranchId, usize)> = self
            .branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| !branch.is_forgotten)
            .filter_map(|(index, branch)| Some((BranchId(index), branch.parent?)))
            .filter(|(_, (parent, at))| *parent == given && *at < cut)
            .map(|(id, (_, at))| (id, at))
            .collect();
        for (id, at) in left {
            self.keep_copy(given, id, at);
        }
        let was_there = self.branch == given && self.position < cut;
        if was_there {
            self.seek_surely(cut);
        }
        if let Some(branch) = self.branches.get_mut(given.0) {
            branch.entries.drain(..(cut - first).min(branch.entries.len()));
            branch.first = cut;
        }
        let before: Vec<_> = self.checkpoints.range((given, 0)..(given, cut)).map(|(key, _)| *key).collect();
        for key in before {
            self.drop_checkpoint(key);
        }
        was_there
    }

    /// Keeps a copy of the machine at a moment of a way, for a branch that begins there.
    fn keep_copy(&mut self, way: BranchId, branch: BranchId, at: usize) {
        let Some((mut position, mut copy)) = self.copy_before(way, at) else { return };
        while position < at && self.redo(&mut copy, way, position).is_some() {
            position += 1;
        }
        if branch != way
            && let Some(branch) = self.branches.get_mut(branch.0)
        {
            branch.parent = None;
        }
        self.keep(branch, at, copy, std::time::Duration::ZERO);
    }

    /// Whether nothing leads to a checkpoint but itself.
    pub(super) fn is_beginning(&self, id: BranchId, at: usize) -> bool {
        self.branches.get(id.0).is_some_and(|branch| branch.parent.is_none() && branch.first == at)
    }
}
