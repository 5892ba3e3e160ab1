//! What happens in a simulation: a list of deeds with times, made from a seed.
//!
//! Everything that decides is in the plan, so that any part of it can be left out and the rest still means the same:
//! that is what lets a failing plan shrink.

use std::collections::BTreeMap;

use schedscope::api::{Duration, Kind, Rng};

use super::objects::{Feature, NodePlan, PodPlan, cluster_objects, pod_plan};

/// How many names of pods there are; a name is used again when its pod is gone.
const POD_NAMES: usize = 18;
const NODE_NAMES: usize = 5;

/// A simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where it came from.
    pub seed: u64,
    /// Feature gates that differ from the default.
    pub gates: &'static str,
    /// Whether an ignorable extender is configured that is never there.
    pub has_extender: bool,
    /// Whether calls and watches take time by themselves.
    pub has_latency: bool,
    /// What happens.
    pub ops: Vec<Op>,
}

/// Something that happens some time after what comes before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub after: Duration,
    pub deed: Deed,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// A node is created or changed.
    Node(NodePlan),
    /// A pod is created, or what can be changed of it is.
    Pod(PodPlan),
    /// Another object is created or replaced.
    Object { kind: Kind, name: String, yaml: String },
    /// An object is deleted, a pod in its own time.
    Delete { kind: Kind, name: String },
    /// A pod is gone at once: it has ended.
    End { pod: String },
    /// Somebody else binds a pod.
    BindElsewhere { pod: String, node: String },
    /// The next calls of that verb for that object fail; `*` is any object.
    Fail { verb: Verb, name: String, times: u32, why: Why },
    /// The next call of that verb for that object takes so long.
    Slow { verb: Verb, name: String, takes: Duration },
    /// What watches of the kind tell from now on is late by that.
    Lag { kind: Kind, by: Duration },
    /// The watch of the kind is lost; after that time it lists again.
    Lose { kind: Kind, time: Duration },
    /// The watch of the kind tells of every object once more.
    Repeat { kind: Kind },
    /// A Permit plugin lets a waiting pod go.
    Allow { pod: String, plugin: &'static str },
    /// A Permit plugin turns a waiting pod down, or an event handler does.
    Reject { pod: String, plugin: Option<&'static str> },
    /// A pod is to be tried at once.
    Activate { pod: String },
}

/// A call to the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Bind,
    Delete,
    Patch,
    Write,
}

impl Verb {
    const ALL: [Self; 4] = [Self::Bind, Self::Delete, Self::Patch, Self::Write];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Delete => "delete",
            Self::Patch => "patch",
            Self::Write => "write",
        }
    }
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Error,
    Conflict,
    NotFound,
    Forbidden,
    /// It is done, and the answer says that it failed.
    AnswerLost,
}

impl Why {
    const ALL: [Self; 5] = [Self::Error, Self::Conflict, Self::NotFound, Self::Forbidden, Self::AnswerLost];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error | Self::AnswerLost => "error",
            Self::Conflict => "conflict",
            Self::NotFound => "notfound",
            Self::Forbidden => "forbidden",
        }
    }
}

const GROUPS: &str = "GenericWorkload=true,GangScheduling=true";
/// One of them is taken.
const GATES: [&str; 10] = [
    "",
    "",
    "",
    "",
    "SchedulerAsyncPreemption=false",
    "SchedulerPopFromBackoffQ=false",
    "NominatedNodeNameForExpectation=false",
    GROUPS,
    GROUPS,
    "GenericWorkload=true,GangScheduling=true,SchedulerPopFromBackoffQ=false,TopologyAwareWorkloadScheduling=true,\
     WorkloadAwarePreemption=true",
];

/// The kinds whose watches have trouble.
const WATCHED: [Kind; 7] = [
    Kind::Pod,
    Kind::Pod,
    Kind::Node,
    Kind::PersistentVolumeClaim,
    Kind::PersistentVolume,
    Kind::ResourceClaim,
    Kind::PodDisruptionBudget,
];

/// One of several.
pub fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len())]
}

/// Whether something happens that does in one of `n` cases.
pub fn one_in(rng: &mut Rng, n: usize) -> bool {
    rng.below(n) == 0
}

impl Plan {
    /// The plan of a seed, with so many deeds after the start.
    pub fn new(seed: u64, n_deeds: usize) -> Self {
        let rng = &mut Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51ed);
        let gates = pick(rng, &GATES);
        let has_groups = gates.contains("GangScheduling");
        let mut ops: Vec<Op> = Vec::new();
        let now = |deed| Op { after: Duration::ZERO, deed };
        for (kind, name, yaml) in cluster_objects(has_groups) {
            ops.push(now(Deed::Object { kind, name, yaml }));
        }
        for index in 0..2 + rng.below(NODE_NAMES - 1) {
            ops.push(now(Deed::Node(NodePlan::new(index, rng))));
        }
        // What pods have been made of, so that a change of a pod is a change of that pod.
        let mut pods: BTreeMap<String, PodPlan> = BTreeMap::new();
        for _ in 0..n_deeds {
            let after = gap(rng);
            let deed = deed(rng, has_groups, &mut pods);
            ops.push(Op { after, deed });
        }
        Self { seed, gates, has_extender: one_in(rng, 8), has_latency: !one_in(rng, 4), ops }
    }
}

/// The time to the next deed: bursts, and long silence between them.
fn gap(rng: &mut Rng) -> Duration {
    match rng.below(100) {
        0..40 => Duration::from_millis(rng.below(1_000) as u64),
        40..75 => Duration::from_millis(1_000 + rng.below(30_000) as u64),
        75..93 => Duration::from_secs(30 + rng.below(300) as u64),
        _ => Duration::from_secs(300 + rng.below(5_000) as u64),
    }
}

fn deed(rng: &mut Rng, has_groups: bool, pods: &mut BTreeMap<String, PodPlan>) -> Deed {
    let pod = format!("p{}", rng.below(POD_NAMES));
    match rng.below(100) {
        0..40 => {
            if let Some(plan) = pods.get_mut(&pod)
                && one_in(rng, 3)
            {
                plan.change(rng);
                return Deed::Pod(plan.clone());
            }
            let plan = pod_plan(&pod, rng, has_groups);
            pods.insert(pod, plan.clone());
            Deed::Pod(plan)
        }
        40..48 => Deed::Delete { kind: Kind::Pod, name: pod },
        48..58 => Deed::End { pod },
        58..60 => Deed::BindElsewhere { pod, node: format!("n{}", rng.below(NODE_NAMES)) },
        60..67 => Deed::Node(NodePlan::new(rng.below(NODE_NAMES), rng)),
        67..70 => Deed::Delete { kind: Kind::Node, name: format!("n{}", rng.below(NODE_NAMES)) },
        70..74 => {
            let mut objects = cluster_objects(has_groups);
            let (kind, name, yaml) = objects.swap_remove(rng.below(objects.len()));
            if one_in(rng, 3) { Deed::Delete { kind, name } } else { Deed::Object { kind, name, yaml } }
        }
        74..84 => {
            let verb = pick(rng, &Verb::ALL);
            let name = if one_in(rng, 2) { "*".to_owned() } else { pod };
            Deed::Fail { verb, name, times: 1 + rng.below(3) as u32, why: pick(rng, &Why::ALL) }
        }
        84..88 => {
            let takes = Duration::from_millis(10 + rng.below(20_000) as u64);
            let name = if one_in(rng, 2) { "*".to_owned() } else { pod };
            Deed::Slow { verb: pick(rng, &Verb::ALL), name, takes }
        }
        88..92 => {
            let by = [0, 0, 10, 500, 4_000][rng.below(5)];
            Deed::Lag { kind: pick(rng, &WATCHED), by: Duration::from_millis(by) }
        }
        92..94 => {
            let time = Duration::from_millis(100 + rng.below(60_000) as u64);
            Deed::Lose { kind: pick(rng, &WATCHED), time }
        }
        94..95 => Deed::Repeat { kind: pick(rng, &WATCHED) },
        95..97 => Deed::Allow { pod, plugin: pick(rng, &["TestPermitA", "TestPermitB"]) },
        97..99 => Deed::Reject { pod, plugin: pick(rng, &[None, Some("TestPermitA"), Some("TestPermitB")]) },
        _ => Deed::Activate { pod },
    }
}

impl Deed {
    /// Whether it makes trouble rather than a change that people make.
    pub const fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Fail { .. }
                | Self::Slow { .. }
                | Self::Lag { .. }
                | Self::Lose { .. }
                | Self::Repeat { .. }
        )
    }

    /// The same with one thing less to it, in every way that there is.
    pub fn simpler(&self) -> Vec<Self> {
        match self {
            Self::Pod(plan) => plan.simpler().into_iter().map(Self::Pod).collect(),
            Self::Node(plan) => plan.simpler().into_iter().map(Self::Node).collect(),
            Self::Fail { verb, name, times, why } if *times > 1 => {
                vec![Self::Fail { verb: *verb, name: name.clone(), times: times - 1, why: *why }]
            }
            _ => Vec::new(),
        }
    }
}

impl PodPlan {
    /// Changes what can be changed of a pod.
    fn change(&mut self, rng: &mut Rng) {
        match rng.below(4) {
            0 => self.features.retain(|feature| *feature != Feature::Gated),
            1 => self.tolerates = true,
            2 => self.go += 1,
            _ => self.is_labelled = !self.is_labelled,
        }
    }
}
