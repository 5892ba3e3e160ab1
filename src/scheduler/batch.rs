//! Opportunistic batching: the ranking of one attempt serves the next pods that are just like it.
//!
//! Mirrors `pkg/scheduler/framework/runtime/batch.go` (KEP-5598). It helps only pods that follow each other at once,
//! have equal signatures and fill their nodes: the node taken last must not fit the next pod, or its new score
//! would have to be known.

use crate::api::{Digest, Digestible, Duration, Str, Time};
use crate::framework::{CycleState, Framework, PodInfo};

use super::world::World;

/// How old a ranking may be (`maxBatchAge`).
const BATCH_AGE_MAX: Duration = Duration::from_millis(500);

/// What a profile remembers of its last attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    ranking: Option<Ranking>,
    last: Option<LastCycle>,
}

#[derive(Clone, Debug, PartialEq)]
struct Ranking {
    signature: Str,
    /// The nodes that were not taken; once somebody has asked for one, the best last.
    nodes: Vec<RankedNode>,
    is_sorted: bool,
    created: Time,
}

/// A node that was scored and not taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedNode {
    /// Its weighted sum.
    pub total: i64,
    /// Decides among equals: the lower the better.
    pub randomizer: u64,
    /// The node.
    pub name: Str,
}

impl Ranking {
    /// Takes the best node out. Most rankings are never asked for one, so they are sorted no earlier.
    fn take_best(&mut self) -> Option<Str> {
        if !self.is_sorted {
            self.is_sorted = true;
            self.nodes.sort_unstable_by(|a, b| {
                a.total.cmp(&b.total).then_with(|| (b.randomizer, &b.name).cmp(&(a.randomizer, &a.name)))
            });
        }
        self.nodes.pop().map(|node| node.name)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct LastCycle {
    number: u64,
    chosen: Str,
}

impl Batch {
    /// The node that the ranking proposes for this pod (`GetNodeHint`); it is used up by that. Where it proposes none
    /// although it is there, the error is why, in upstream's words.
    pub fn node_hint(
        &mut self,
        world: &World,
        framework: &Framework,
        state: &CycleState,
        pod: &PodInfo,
        signature: Option<&Str>,
        cycle_number: u64,
    ) -> Result<Str, Option<&'static str>> {
        let ranking = self.ranking.as_mut().filter(|ranking| !ranking.nodes.is_empty()).ok_or(None)?;
        let last =
            self.last.as_ref().filter(|last| last.number + 1 == cycle_number).ok_or(Some("pod_skipped"))?;
        if signature != Some(&ranking.signature) {
            return Err(Some("pod_incompatible"));
        }
        if world.now > ranking.created + BATCH_AGE_MAX {
            return Err(Some("expired"));
        }
        let last_node = world.snapshot.get(&last.chosen).ok_or(Some("node_missing"))?;
        let status = framework.run_filter_plugins(&world.handle(framework), state, pod, last_node);
        if status.is_rejected() { ranking.take_best().ok_or(None) } else { Err(Some("node_not_full")) }
    }

    /// What an attempt came to (`StoreScheduleResults`). `others` are the nodes that were scored and not taken, in any
    /// order.
    pub fn store(
        &mut self,
        now: Time,
        signature: Option<&Str>,
        hint: Option<&Str>,
        chosen: &Str,
        others: Vec<RankedNode>,
        cycle_number: u64,
    ) {
        self.last = Some(LastCycle { number: cycle_number, chosen: chosen.clone() });
        if hint == Some(chosen) {
            return;
        }
        self.ranking = match signature {
            Some(signature) if !others.is_empty() => {
                Some(Ranking { signature: signature.clone(), nodes: others, is_sorted: false, created: now })
            }
            Some(_) | None => None,
        };
    }
}

impl Digestible for Batch {
    fn digest(&self, digest: &mut Digest) {
        digest.bool(self.ranking.is_some());
        if let Some(ranking) = &self.ranking {
            digest.str(&ranking.signature).u64(ranking.created.as_nanos()).len(ranking.nodes.len());
        }
        if let Some(last) = &self.last {
            digest.u64(last.number).str(&last.chosen);
        }
    }
}
