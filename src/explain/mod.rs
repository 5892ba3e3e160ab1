//! Explanations: the evidence of the scheduler turned into sentences with the live numbers.
//!
//! Pure functions over [`CycleTrace`](crate::scheduler::trace::CycleTrace) and
//! [`View`](crate::scheduler::view::View): they decide nothing and ask no plugin again. Where a number is derived
//! (a formula, a comparison with a label), it is shown only if it leads to the answer that the plugin gave;
//! otherwise the plugin's own words stand alone.

pub mod amount;
mod attempts;
mod budgets;
mod cell;
mod criteria;
mod cycle;
mod devices;
mod filter;
mod gang;
pub mod glossary;
mod group;
mod node;
mod node_refusals;
mod objects;
mod packing;
mod placement;
mod reading;
pub mod report;
mod rules;
mod score;
mod selectors;
mod spread;
mod story;
mod to_win;
mod volumes;
mod wakers;

pub use attempts::{
    AttemptStory, EventLine, Flip, VerdictDiff, attempt_of, attempt_story, compare_verdicts, differences,
    since_last_attempt, verdict, verdict_counts, woken_by,
};
pub use budgets::{CandidateNumbers, Evictable, budgets_of, candidate_numbers, evictable};
pub use cell::{CellExplanation, CellPoint, cell, no_filter, skip_reason};
pub use criteria::{ReprieveLine, RuleStanding, RuleStory, reprieves, rule_stories};
pub use cycle::{leader, margins, next_phase, preemption, selection, short_reason, verdict_so_far, victims};
pub use devices::{ClaimStory, DeviceStory, RequestStory, devices, is_about_devices};
pub use filter::requests;
pub use gang::{Gang, GangMember, MemberPlace, gang, gang_headline};
pub use group::{group_so_far, member_verdict, placement_verdict};
pub use node::{NodeSummary, ResourceUse, main_uses, node, resource_uses};
pub use node_refusals::{NodeRefusals, PluginNow, node_refusals, plugin_now};
pub use objects::{Named, ObjectStory, kind_word, object_story};
pub use packing::{Packing, Room, Usage, packing, stranded};
pub use reading::{
    OneChange, PluginSays, RefusalCount, nodes_by_refusals, one_change_away, pair, pair_headline,
    pair_points, reading_headline, refusal_counts,
};
pub use rules::{Rule, rules};
pub use score::no_scores;
pub use spread::{AffinityView, DomainRow, SpreadView, affinities, spreads};
pub use story::{PodPlace, PodStory, first_in_queue, is_on_node, place_of, pod_story};
pub use to_win::{Behind, Gap, ToWin, to_win};
pub use wakers::{Waker, hint_reason, wakers};

/// Names of the plugins whose answers are explained in detail, as upstream's `names.go` has them.
mod names {
    pub(super) const BALANCED_ALLOCATION: &str = "NodeResourcesBalancedAllocation";
    pub(super) const DEFAULT_PREEMPTION: &str = "DefaultPreemption";
    pub(super) const FIT: &str = "NodeResourcesFit";
    pub(super) const IMAGE_LOCALITY: &str = "ImageLocality";
    pub(super) const NODE_AFFINITY: &str = "NodeAffinity";
    pub(super) const NODE_NAME: &str = "NodeName";
    pub(super) const NODE_PORTS: &str = "NodePorts";
    pub(super) const NODE_UNSCHEDULABLE: &str = "NodeUnschedulable";
    pub(super) const SCHEDULING_GATES: &str = "SchedulingGates";
    pub(super) const TAINT_TOLERATION: &str = "TaintToleration";
    pub(super) const INTER_POD_AFFINITY: &str = "InterPodAffinity";
    pub(super) const NODE_DECLARED_FEATURES: &str = "NodeDeclaredFeatures";
    pub(super) const POD_TOPOLOGY_SPREAD: &str = "PodTopologySpread";
    pub(super) const DYNAMIC_RESOURCES: &str = "DynamicResources";
    pub(super) const NODE_VOLUME_LIMITS: &str = "NodeVolumeLimits";
    pub(super) const VOLUME_BINDING: &str = "VolumeBinding";
    pub(super) const VOLUME_RESTRICTIONS: &str = "VolumeRestrictions";
    pub(super) const VOLUME_ZONE: &str = "VolumeZone";
}

/// `1 pod`, `2 pods`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `a`, `a and b`, `a, b and c`; with more than `max` of them the rest is counted.
pub(crate) fn listed<S: AsRef<str>>(items: &[S], max: usize) -> String {
    let n_shown = if items.len() > max { max.max(1) } else { items.len() };
    let mut text = String::new();
    for (i, item) in items.iter().take(n_shown).enumerate() {
        let is_last = i + 1 == items.len();
        text.push_str(match i {
            0 => "",
            _ if is_last => " and ",
            _ => ", ",
        });
        text.push_str(item.as_ref());
    }
    let rest = items.len() - n_shown;
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    text
}
