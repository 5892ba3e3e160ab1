//! Sorting with the result of Go's `sort.Slice`, the order of equal elements included.
//!
//! kube-scheduler sorts victims with `sort.Slice`, which is not stable, and the order of equal ones decides who is
//! evicted. That order is no chance: Go's sort is a pattern-defeating quicksort (Orson Peters) whose choices depend
//! on the elements alone. This is that algorithm with Go's parameters.

/// Shorter ranges are sorted by insertion.
const INSERTION_MAX: usize = 12;
/// From this length on the pivot is a median of medians.
const NINTHER_MIN: usize = 50;
/// From this length on a nearly sorted range is repaired by shifting.
const SHIFTING_MIN: usize = 50;
/// How many elements out of order are repaired at the most.
const REPAIRS_MAX: usize = 5;
/// As many swaps among the samples mean that the range is in falling order.
const SWAPS_IF_FALLING: usize = 12;

/// Sorts by `less`, which tells whether the first element belongs before the second.
pub fn sort_slice<T>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    let length = items.len();
    // As many bad pivots are borne before heapsort takes over.
    let bad_pivots = (usize::BITS - length.leading_zeros()) as usize;
    Sorter { items, less }.quicksort(0, length, bad_pivots);
}

struct Sorter<'a, T, F> {
    items: &'a mut [T],
    less: F,
}

/// What the samples for the pivot say of the order of a range.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Rising,
    Falling,
    Unknown,
}

/// Ranges are `begin..end` over the whole slice.
impl<T, F: Fn(&T, &T) -> bool> Sorter<'_, T, F> {
    fn less(&self, i: usize, j: usize) -> bool {
        (self.less)(&self.items[i], &self.items[j])
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.items.swap(i, j);
    }

    fn quicksort(&mut self, mut begin: usize, mut end: usize, mut bad_pivots: usize) {
        let (mut was_balanced, mut was_partitioned) = (true, true);
        while end - begin > INSERTION_MAX {
            let length = end - begin;
            if bad_pivots == 0 {
                return self.heapsort(begin, end);
            }
            if !was_balanced {
                self.scatter(begin, end);
                bad_pivots -= 1;
            }
            let (mut pivot, mut order) = self.choose_pivot(begin, end);
            if order == Order::Falling {
                self.items[begin..end].reverse();
                pivot = (end - 1) - (pivot - begin);
                order = Order::Rising;
            }
            if was_balanced && was_partitioned && order == Order::Rising && self.repair(begin, end) {
                return;
            }
            // What stands before the range is not less than anything in it; if the pivot is no greater, it is one
            // of many equals.
            if begin > 0 && !self.less(begin - 1, pivot) {
                begin = self.partition_equals(begin, end, pivot);
                continue;
            }
            let (middle, is_partitioned) = self.partition(begin, end, pivot);
            was_partitioned = is_partitioned;
            let (left, right) = (middle - begin, end - middle);
            was_balanced = left.min(right) >= length / 8;
            // The shorter side is sorted by recursion, the longer one by going on.
            if left < right {
                self.quicksort(begin, middle, bad_pivots);
                begin = middle + 1;
            } else {
                self.quicksort(middle + 1, end, bad_pivots);
                end = middle;
            }
        }
        self.insertion_sort(begin, end);
    }

    fn insertion_sort(&mut self, begin: usize, end: usize) {
        for i in begin + 1..end {
            let mut j = i;
            while j > begin && self.less(j, j - 1) {
                self.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    fn heapsort(&mut self, begin: usize, end: usize) {
        let length = end - begin;
        for root in (0..=(length - 1) / 2).rev() {
            self.sift_down(begin, root, length);
        }
        for last in (0..length).rev() {
            self.swap(begin, begin + last);
            self.sift_down(begin, 0, last);
        }
    }

    fn sift_down(&mut self, begin: usize, mut root: usize, length: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= length {
                return;
            }
            if child + 1 < length && self.less(begin + child, begin + child + 1) {
                child += 1;
            }
            if !self.less(begin + root, begin + child) {
                return;
            }
            self.swap(begin + root, begin + child);
            root = child;
        }
    }

    /// Puts what is less than the pivot before it. Tells where the pivot is then, and whether all was in place.
    fn partition(&mut self, begin: usize, end: usize, pivot: usize) -> (usize, bool) {
        self.swap(begin, pivot);
        let (mut i, mut j) = (begin + 1, end - 1);
        let mut was_partitioned = true;
        loop {
            while i <= j && self.less(i, begin) {
                i += 1;
            }
            while i <= j && !self.less(j, begin) {
                j -= 1;
            }
            if i > j {
                break;
            }
            was_partitioned = false;
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
        self.swap(j, begin);
        (j, was_partitioned)
    }

    /// Puts what equals the pivot before what is greater; nothing is less. Tells where the greater begin.
    fn partition_equals(&mut self, begin: usize, end: usize, pivot: usize) -> usize {
        self.swap(begin, pivot);
        let (mut i, mut j) = (begin + 1, end - 1);
        loop {
            while i <= j && !self.less(begin, i) {
                i += 1;
            }
            while i <= j && self.less(begin, j) {
                j -= 1;
            }
            if i > j {
                return i;
            }
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
    }

    /// Sorts a range that is nearly in order; false if it is not.
    fn repair(&mut self, begin: usize, end: usize) -> bool {
        let mut i = begin + 1;
        for _ in 0..REPAIRS_MAX {
            while i < end && !self.less(i, i - 1) {
                i += 1;
            }
            if i == end {
                return true;
            }
            if end - begin < SHIFTING_MIN {
                return false;
            }
            self.swap(i, i - 1);
            if i - begin >= 2 {
                let mut j = i - 1;
                // Go does not stop at the range's begin here.
                while j >= 1 && self.less(j, j - 1) {
                    self.swap(j, j - 1);
                    j -= 1;
                }
            }
            if end - i >= 2 {
                let mut j = i + 1;
                while j < end && self.less(j, j - 1) {
                    self.swap(j, j - 1);
                    j += 1;
                }
            }
        }
        false
    }

    /// Breaks a pattern that makes for bad pivots: three elements in the middle change places with others.
    fn scatter(&mut self, begin: usize, end: usize) {
        let length = end - begin;
        let mut random = length as u64;
        let modulus = 1_u64 << (usize::BITS - length.leading_zeros());
        let middle = begin + length / 4 * 2;
        for position in middle - 1..=middle + 1 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let other = (random & (modulus - 1)) as usize;
            self.swap(position, begin + if other >= length { other - length } else { other });
        }
    }

    fn choose_pivot(&self, begin: usize, end: usize) -> (usize, Order) {
        let length = end - begin;
        let quarter = length / 4;
        let mut swaps = 0;
        let mut samples = [begin + quarter, begin + quarter * 2, begin + quarter * 3];
        if length >= NINTHER_MIN {
            samples = samples.map(|at| self.median([at - 1, at, at + 1], &mut swaps));
        }
        let pivot = self.median(samples, &mut swaps);
        let order = match swaps {
            0 => Order::Rising,
            SWAPS_IF_FALLING => Order::Falling,
            _ => Order::Unknown,
        };
        (pivot, order)
    }

    /// Which of three elements is between the others.
    fn median(&self, [mut a, mut b, mut c]: [usize; 3], swaps: &mut usize) -> usize {
        let mut order = |first: &mut usize, second: &mut usize| {
            if self.less(*second, *first) {
                *swaps += 1;
                std::mem::swap(first, second);
            }
        };
        order(&mut a, &mut b);
        order(&mut b, &mut c);
        order(&mut a, &mut b);
        b
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts(mut numbers in proptest::collection::vec(0_u8..20, 0..300)) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort_slice(&mut numbers, |a, b| a < b);
            prop_assert_eq!(numbers, expected);
        }
    }

    /// The keys of a list of `length` elements that is made up in one of several ways.
    fn keys(pattern: &str, length: usize) -> Vec<usize> {
        let key = |i: usize| match pattern {
            "mixed" => (i * 7 + i * i / 3) % 5,
            "rising" => i / 3,
            "falling" => (length - i) / 3,
            "pipe" => i.min(length - i) / 2,
            "nearly" => i / 2 - if i % 40 == 39 { 9 } else { 0 },
            "wide" => i * 7919 % (length / 2 + 1),
            _ => i % 4 * 100 + i / 50,
        };
        (0..length).map(key).collect()
    }

    /// Where the elements come from, once they are sorted by their keys.
    fn positions(pattern: &str, length: usize) -> Vec<usize> {
        let mut items: Vec<(usize, usize)> = keys(pattern, length).into_iter().zip(0..).collect();
        sort_slice(&mut items, |a, b| a.0 < b.0);
        items.into_iter().map(|(_, position)| position).collect()
    }

    /// The expected values are what Go 1.26 prints for the same lists.
    #[test]
    fn equal_elements_come_in_gos_order() {
        assert_eq!(positions("mixed", 12), [0, 2, 7, 9, 1, 8, 11, 4, 5, 10, 3, 6]);
        assert_eq!(
            positions("mixed", 20),
            [2, 17, 0, 15, 7, 9, 12, 1, 16, 8, 13, 11, 5, 10, 14, 4, 19, 6, 3, 18]
        );
        let digest = |positions: Vec<usize>| {
            positions
                .iter()
                .fold(17, |sum: u64, position| sum.wrapping_mul(31).wrapping_add(*position as u64))
        };
        for (pattern, expected) in GO_DIGESTS {
            let digests = [13, 49, 60, 110, 1000].map(|length| digest(positions(pattern, length)));
            assert_eq!(digests, expected, "{pattern}");
        }
    }

    #[rustfmt::skip]
    const GO_DIGESTS: [(&str, [u64; 5]); 7] = [
        ("mixed", [0x96974e2bd51495a9, 0xc00d9451b3bce56d, 0x9af226ed67712beb, 0xd7fc6041c8bfdc90, 0x45f627feee36d9a7]),
        ("rising", [0x8105bfefb055a855, 0x64b4e65d28b1bb27, 0x67a52f194afa74af, 0x1686629b066db688, 0x43df41f16efc9d05]),
        ("falling", [0x7caab25d5415eb7, 0x19afea97222a7e67, 0xe0894eabb0f1d5f7, 0xe546f390a9e0bfe, 0x29a70a60a8b151a1]),
        ("pipe", [0x8122c5be3efe86b7, 0x3df20fcb804ca98d, 0x4389932b7facdde9, 0x645211e403b04184, 0xeb7d0fb471939203]),
        ("nearly", [0x8105bfefb055a855, 0xb7d3c43eaa6f4af7, 0xb4646ae8c72c66bd, 0x8ee4cd7c708801a4, 0xc83547951c0ca645]),
        ("wide", [0x833da803c3509227, 0x3d792f7384d675a7, 0xecec9322e545b96b, 0xd59e1feb0f478822, 0x6fdd1bf8ed142193]),
        ("teeth", [0xdc5ef71e7232505d, 0xc6fa0b5e89642b57, 0xfeb8ce33a8ec7a83, 0x17e20fab8eda3f32, 0x82f5032b65771e81]),
    ];
}
