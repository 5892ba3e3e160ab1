//! What a scenario does, and what it expects.

use std::sync::Arc;

use super::arrivals::ArrivalPlan;
use crate::api::{Duration, Str};
use crate::driver::session::Edit;

/// A scenario as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What it is called.
    pub name: Str,
    /// What it is about, in a sentence.
    pub about: Str,
    /// What happens when, in order.
    pub steps: Vec<Step>,
    /// What comes by itself.
    pub arrivals: Vec<Arc<ArrivalPlan>>,
    /// What is expected when all is over.
    pub finally: Vec<Expectation>,
    /// How much simulated time an attempt of the scheduler takes, where nobody steps through it.
    pub attempt: Duration,
    /// It goes on for so long, although nothing more is to happen.
    pub lasts: Duration,
    /// Where its random numbers start.
    pub seed: u64,
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// So long after the start.
    pub at: Duration,
    /// What.
    pub deed: Deed,
    /// The line of the file, from 1.
    pub line: usize,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The cluster, the configuration or a weight changes.
    Edit(Edit),
    /// This moment is marked.
    Mark(Str),
    /// Something is said about this moment.
    Note(Str),
    /// Something is expected.
    Expect(Expectation),
}

/// Something that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What.
    pub what: Expect,
    /// The line of the file, from 1.
    pub line: usize,
}

/// What is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Of one pod.
    Pod {
        /// `namespace/name`; without a namespace, `default`.
        pod: Str,
        /// What.
        is: PodIs,
    },
    /// Of how many pods.
    Pods {
        /// Which.
        of: Of,
        /// How many are on a node.
        placed: Option<Count>,
        /// How many wait for one.
        pending: Option<Count>,
        /// How many there are.
        count: Option<Count>,
        /// The most on one node.
        per_node: Option<Count>,
    },
    /// Of the scheduler and the nodes.
    Totals {
        /// Pods that were evicted to make room.
        preempted: Option<Count>,
        /// Attempts.
        attempts: Option<Count>,
        /// Nodes.
        nodes: Option<Count>,
    },
}

/// What a pod is expected to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodIs {
    /// On that node, or on any.
    On(Option<Str>),
    /// On a node of that zone.
    InZone(Str),
    /// On a node with that label.
    OnLabel(Str, Str),
    /// Without a node, and its last message has that in it.
    Pending(Str),
    /// Not there.
    Gone,
}

/// Which pods are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Of {
    /// A pattern of `namespace/name`, with `*` for any letters.
    pub pattern: Option<Str>,
    /// Labels that they have.
    pub labels: Vec<(Str, Str)>,
    /// The zone of their node.
    pub zone: Option<Str>,
    /// Their node.
    pub node: Option<Str>,
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The fewest.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Count {
    /// Reads `3`, `>=3`, `>3`, `<=3`, `<3` or `3-5`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let number = |text: &str| text.trim().parse::<u64>().ok();
        if let Some(rest) = text.strip_prefix(">=") {
            return Some(Self { least: number(rest)?, most: u64::MAX });
        }
        if let Some(rest) = text.strip_prefix("<=") {
            return Some(Self { least: 0, most: number(rest)? });
        }
        if let Some(rest) = text.strip_prefix('>') {
            return Some(Self { least: number(rest)?.checked_add(1)?, most: u64::MAX });
        }
        if let Some(rest) = text.strip_prefix('<') {
            return Some(Self { least: 0, most: number(rest)?.checked_sub(1)? });
        }
        if let Some((least, most)) = text.split_once('-') {
            let (least, most) = (number(least)?, number(most)?);
            return (least <= most).then_some(Self { least, most });
        }
        let number = number(text)?;
        Some(Self { least: number, most: number })
    }

    /// Whether so many are as expected.
    pub const fn has(self, n: u64) -> bool {
        self.least <= n && n <= self.most
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{least}"),
            (least, u64::MAX) => write!(f, "at least {least}"),
            (0, most) => write!(f, "at most {most}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_in_six_ways() {
        let told = |text: &str| Count::parse(text).map(|count| count.to_string());
        for (text, count) in [
            ("3", "3"),
            (">=3", "at least 3"),
            ("> 3", "at least 4"),
            ("<=3", "at most 3"),
            ("<3", "at most 2"),
            ("3-5", "3 to 5"),
        ] {
            assert_eq!(told(text).as_deref(), Some(count));
        }
        for text in ["", "x", "5-3", "<0", "-1", "3.5"] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
