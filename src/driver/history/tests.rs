//! A past that is gone through, branched, thinned out and forgotten.

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

    fn estimated_bytes(&self) -> usize {
        100
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
    let mut history =
        history(HistoryLimits { checkpoints_max: 8, entries_max: 100, ..HistoryLimits::default() });
    for op in 0..250 {
        with_checkpoint_everywhere(&mut history);
        history.apply(op + 1);
    }
    assert!(history.end() - history.start() <= 100, "{}..{}", history.start(), history.end());
    assert!(history.seek(history.start()));
    assert!(!history.seek(0));
}

#[test]
fn a_past_with_early_branches_does_not_grow_without_bound() {
    let mut history =
        history(HistoryLimits { checkpoints_max: 8, entries_max: 100, ..HistoryLimits::default() });
    for op in 0..400_u64 {
        with_checkpoint_everywhere(&mut history);
        history.apply(op + 1);
        if op % 50 == 20 {
            // Something else is tried early on, again and again.
            let early = history.start() + 3;
            assert!(history.seek(early));
            history.apply(1_000_000 + op);
        }
    }
    let total: usize = history.branches.iter().map(|branch| branch.entries.len()).sum();
    assert!(total <= 200, "{total}");
    let (start, end) = (history.start(), history.end());
    for position in [end, start, (start + end) / 2, start + 1] {
        assert!(history.seek(position), "{position} of {start}..{end}");
        if position > start {
            let entry = history.entry(position - 1).expect("an entry");
            assert_eq!(history.machine().total, entry.fact);
        }
    }
}

#[test]
fn branches_that_were_left_are_forgotten_when_there_are_too_many() {
    let mut history = history(HistoryLimits::default());
    history.apply(1);
    for op in 0..1_000_u64 {
        history.seek(1);
        history.apply(op + 2);
    }
    assert!(history.branches().count() <= BRANCHES_MAX + 1);
    assert!(!history.seek_in(BranchId(5), 2), "it is forgotten");
    assert!(history.seek_in(BranchId(999), 2));
}

#[test]
fn checkpoints_stay_within_their_bytes() {
    let limits = HistoryLimits { checkpoint_bytes_max: 1_000, ..HistoryLimits::default() };
    let mut history = history(limits);
    for op in 0..500 {
        with_checkpoint_everywhere(&mut history);
        history.apply(op + 1);
    }
    assert_eq!((history.n_checkpoints(), history.checkpoint_bytes()), (10, 1_000));
}

#[test]
fn a_way_that_is_given_is_followed_and_never_changed() {
    let entry = |op| Entry { op, outside: None, fact: 0 };
    let mut history = history(HistoryLimits::default());
    history.give(None, [1, 2, 3].map(entry));
    assert!(history.seek(3));
    let there = history.machine().total;
    assert_eq!(history.entry(2).map(|entry| entry.fact), Some(there), "what it came to was learned");
    history.apply(9);
    assert_eq!((history.branch(), history.position()), (BranchId(1), 4));
    assert!(history.seek_in(BranchId(0), 3));
    assert_eq!((history.end(), history.machine().total), (3, there));
    history.end_branch_at(BranchId(0), 2);
    assert!(!history.seek(3));
}

#[test]
fn checkpoints_are_few_and_densest_near_the_present() {
    let mut history = history(HistoryLimits { checkpoints_max: 16, ..HistoryLimits::default() });
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
        let mut history = history(HistoryLimits { checkpoints_max: 4, entries_max: 1000, ..HistoryLimits::default() });
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

fn entry(op: u64) -> Entry<Sum> {
    let mut machine = Sum::default();
    let done = machine.apply(&op, None);
    Entry { op, outside: done.outside, fact: done.fact }
}

#[test]
fn a_way_that_grows_is_forgotten_at_its_beginning_and_its_branches_stay() {
    let mut history = history(HistoryLimits::default());
    let live = history.give(None, []);
    for op in 1..=100 {
        history.grow(live, entry(op));
    }
    assert_eq!((history.position(), history.end()), (0, 100), "who stands somewhere stays there");
    assert!(history.seek(10));
    let at_ten = history.machine().total;
    history.apply(7_777);
    let fork = history.branch();
    let forked = history.machine().total;
    assert!(history.seek_in(live, 20));
    assert!(history.forget_before(live, 50), "twenty is gone, so fifty is gone to");
    assert_eq!((history.start(), history.position(), history.end()), (50, 50, 100));
    let at_fifty = history.machine().total;
    assert!(!history.seek_in(live, 49));
    assert!(history.seek_in(fork, 11));
    assert_eq!((history.machine().total, history.start()), (forked, 10));
    assert!(history.seek(10));
    assert_eq!(history.machine().total, at_ten);
    assert!(history.seek_in(live, 100) && history.seek_in(live, 50));
    assert_eq!(history.machine().total, at_fifty, "what is kept is what it was");
    history.grow(live, entry(101));
    assert_eq!(history.end_of(live), 101);
}

#[test]
fn a_way_that_grows_and_is_forgotten_again_and_again_takes_no_more_room() {
    let limits = HistoryLimits { checkpoints_max: 8, ..HistoryLimits::default() };
    let mut history = history(limits);
    let live = history.give(None, []);
    for op in 0..2_000 {
        history.grow(live, entry(op % 5 + 1));
        if history.end_of(live) - history.first_of(live) > 100 {
            let first = history.first_of(live);
            history.forget_before(live, first + 10);
        }
    }
    assert!(history.end_of(live) - history.first_of(live) <= 101);
    assert!(history.n_checkpoints() <= 9, "{}", history.n_checkpoints());
}
