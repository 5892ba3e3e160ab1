//! A kit to test plugins with: pods and nodes in a line, tables for each extension point, and a whole scheduler.
//!
//! A test of a plugin has two halves. The first asks the plugin itself, point by point, with a [`World`] around it:
//!
//! ```
//! use schedscope::framework::{CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, Status};
//! use schedscope::testkit::{World, node, pod};
//!
//! #[derive(Debug)]
//! struct EvenNames;
//!
//! impl Plugin for EvenNames {
//!     fn name(&self) -> &'static str {
//!         "EvenNames"
//!     }
//!     fn as_filter(&self) -> Option<&dyn FilterPlugin> {
//!         Some(self)
//!     }
//! }
//!
//! impl FilterPlugin for EvenNames {
//!     fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
//!         if node.name().len() % 2 == 0 { Status::SUCCESS } else { Status::unresolvable("node name is odd") }
//!     }
//! }
//!
//! let world = World::new().node(node("ab"), &[]).node(node("abc"), &[]);
//! assert_eq!(world.filter(&EvenNames, &pod("web")), [("ab", ""), ("abc", "UnschedulableAndUnresolvable: node name is odd")]);
//! ```
//!
//! The second lets a whole scheduler run with it, with kube-scheduler's own plugins beside it: [`Rig`].
//!
//! Everything here fails loudly, by a panic that says what is wrong: it is for tests. Nothing reads a clock; time is what
//! the test says.

#![expect(clippy::panic, reason = "a test kit fails as a test does")]

mod objects;
mod rig;

use std::fmt::Display;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, Object, Str, Time};
use crate::framework::testing::TestWorld;
use crate::framework::{
    ClusterEvent, CycleState, NodeInfo, NodeScore, Plugin, PodInfo, PreFilterResult, QueueingHint, Snapshot,
    Status,
};

pub use objects::{NodeBuilder, PodBuilder, node, pod};
pub use rig::Rig;

/// What is there, or the failure of the test.
#[track_caller]
fn must<T, E: Display>(result: Result<T, E>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// A point that the plugin must have.
#[track_caller]
fn point<'a, T: ?Sized>(point: Option<&'a T>, plugin: &dyn Plugin, name: &str) -> &'a T {
    match point {
        Some(point) => point,
        None => panic!("{} is not at {name}: does it override the accessor?", plugin.name()),
    }
}

/// `Success` as nothing, and any other status as `Code: reasons`.
fn told(status: &Status) -> String {
    match (status.is_success(), status.message()) {
        (true, _) => String::new(),
        (false, message) if message.is_empty() => status.code().as_str().to_owned(),
        (false, message) => format!("{}: {message}", status.code().as_str()),
    }
}

/// What was said of each node, in the order of the nodes. It can be compared with an array of pairs.
#[derive(Clone, PartialEq, Eq)]
pub struct Table<T>(pub Vec<(String, T)>);

impl<T: std::fmt::Debug> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<const N: usize> PartialEq<[(&str, &str); N]> for Table<String> {
    fn eq(&self, other: &[(&str, &str); N]) -> bool {
        self.0.iter().map(|(node, said)| (node.as_str(), said.as_str())).eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[(&str, i64); N]> for Table<i64> {
    fn eq(&self, other: &[(&str, i64); N]) -> bool {
        self.0.iter().map(|(node, score)| (node.as_str(), *score)).eq(other.iter().copied())
    }
}

/// Nodes, pods and other objects around a plugin that is asked point by point.
#[derive(Default)]
pub struct World {
    world: TestWorld,
    nodes: Vec<Arc<NodeInfo>>,
}

impl World {
    /// An empty one, at the beginning of 2026.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same at another time, such as `2026-05-01T12:00:00Z`.
    #[must_use]
    pub fn at(mut self, time: &str) -> Self {
        self.world.now = must(Time::parse_rfc3339(time).ok_or("it is no time"), time);
        self
    }

    /// The same with a node and the pods on it.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a builder is written where it is used up")]
    pub fn node(mut self, node: NodeBuilder, pods: &[PodBuilder]) -> Self {
        let node = node.build();
        self.world.put(Object::Node(Arc::clone(&node)));
        let mut info = NodeInfo::with_node(Arc::clone(&node));
        for pod in pods {
            let pod = pod.clone().on(&node.metadata.name).build();
            self.world.put(Object::Pod(Arc::clone(&pod)));
            info.add_pod(Arc::new(PodInfo::new(pod)));
        }
        self.nodes.push(Arc::new(info));
        self.world.snapshot = Snapshot::new(self.nodes.clone());
        self
    }

    /// The same with another object that watches have reported.
    #[must_use]
    pub fn object(mut self, object: impl Into<Object>) -> Self {
        self.world.put(object);
        self
    }

    /// The same with what the plugin remembers between attempts.
    #[must_use]
    pub fn states_of(mut self, plugin: &dyn Plugin) -> Self {
        plugin.add_states(&mut self.world.states);
        self
    }

    /// What is inside, for what this kit has no word for.
    pub fn inside(&self) -> &TestWorld {
        &self.world
    }

    /// What PreEnqueue says; nothing is success.
    #[track_caller]
    pub fn pre_enqueue(&self, plugin: &dyn Plugin, pod: &PodBuilder) -> String {
        let at = point(plugin.as_pre_enqueue(), plugin, "PreEnqueue");
        told(&at.pre_enqueue(&self.world.handle(), &pod.build()))
    }

    /// What PreFilter says, with the state that it leaves.
    #[track_caller]
    pub fn pre_filter(
        &self,
        plugin: &dyn Plugin,
        pod: &PodBuilder,
    ) -> (Option<PreFilterResult>, Status, CycleState) {
        let mut state = CycleState::new();
        let at = point(plugin.as_pre_filter(), plugin, "PreFilter");
        let info = PodInfo::new(pod.build());
        let (result, status) = at.pre_filter(&self.world.handle(), &mut state, &info, &self.nodes);
        (result, status, state)
    }

    /// PreFilter if the plugin has it, then what Filter says of each node; nothing is success.
    #[track_caller]
    pub fn filter(&self, plugin: &dyn Plugin, pod: &PodBuilder) -> Table<String> {
        let at = point(plugin.as_filter(), plugin, "Filter");
        let (handle, info) = (self.world.handle(), PodInfo::new(pod.build()));
        let state = match plugin.as_pre_filter() {
            None => CycleState::new(),
            Some(_) => {
                let (_, status, state) = self.pre_filter(plugin, pod);
                if !status.is_success() {
                    return Table(
                        self.nodes.iter().map(|node| (node.name().to_string(), told(&status))).collect(),
                    );
                }
                state
            }
        };
        let row =
            |node: &Arc<NodeInfo>| (node.name().to_string(), told(&at.filter(&handle, &state, &info, node)));
        Table(self.nodes.iter().map(row).collect())
    }

    /// The raw score of each node, PreFilter and PreScore done before if the plugin has them.
    #[track_caller]
    pub fn raw_scores(&self, plugin: &dyn Plugin, pod: &PodBuilder) -> Table<i64> {
        Table(
            self.scored(plugin, pod)
                .0
                .into_iter()
                .map(|score| (score.name.to_string(), score.score))
                .collect(),
        )
    }

    /// The score of each node after normalization.
    #[track_caller]
    pub fn scores(&self, plugin: &dyn Plugin, pod: &PodBuilder) -> Table<i64> {
        let (mut scores, state, info) = self.scored(plugin, pod);
        let at = point(plugin.as_score(), plugin, "Score");
        if let Some(extensions) = at.score_extensions() {
            let status = extensions.normalize_score(&self.world.handle(), &state, &info, &mut scores);
            if !status.is_success() {
                panic!("{}: NormalizeScore: {}", plugin.name(), told(&status));
            }
        }
        if let Some(wrong) = scores.iter().find(|score| !(0..=100).contains(&score.score)) {
            panic!(
                "{}: node {} has the score {}, which is not from 0 to 100",
                plugin.name(),
                wrong.name,
                wrong.score
            );
        }
        Table(scores.into_iter().map(|score| (score.name.to_string(), score.score)).collect())
    }

    #[track_caller]
    fn scored(&self, plugin: &dyn Plugin, pod: &PodBuilder) -> (Vec<NodeScore>, CycleState, PodInfo) {
        let at = point(plugin.as_score(), plugin, "Score");
        let (handle, info) = (self.world.handle(), PodInfo::new(pod.build()));
        let mut state = match plugin.as_pre_filter() {
            None => CycleState::new(),
            Some(_) => self.pre_filter(plugin, pod).2,
        };
        if let Some(pre_score) = plugin.as_pre_score() {
            let status = pre_score.pre_score(&handle, &mut state, &info, &self.nodes);
            if !status.is_success() && !status.is_skip() {
                panic!("{}: PreScore: {}", plugin.name(), told(&status));
            }
        }
        let score = |node: &Arc<NodeInfo>| match at.score(&handle, &state, &info, node) {
            Ok(score) => NodeScore { name: node.name().clone(), score },
            Err(status) => panic!("{}: Score of {}: {}", plugin.name(), node.name(), told(&status)),
        };
        (self.nodes.iter().map(score).collect(), state, info)
    }

    /// What Reserve says; nothing is success.
    #[track_caller]
    pub fn reserve(&self, plugin: &dyn Plugin, pod: &PodBuilder, node: &str) -> String {
        let at = point(plugin.as_reserve(), plugin, "Reserve");
        let info = PodInfo::new(pod.build());
        told(&at.reserve(&self.world.handle(), &mut CycleState::new(), &info, &Str::from(node)))
    }

    /// What Permit says, and for how long it holds the pod at the most.
    #[track_caller]
    pub fn permit(&self, plugin: &dyn Plugin, pod: &PodBuilder, node: &str) -> (String, Duration) {
        let at = point(plugin.as_permit(), plugin, "Permit");
        let info = PodInfo::new(pod.build());
        let (status, timeout) =
            at.permit(&self.world.handle(), &mut CycleState::new(), &info, &Str::from(node));
        (told(&status), timeout)
    }

    /// What the plugin's hint says of an event for a pod that it has turned down. Absent if it does not listen to it.
    #[track_caller]
    pub fn hint(
        &self,
        plugin: &dyn Plugin,
        event: ClusterEvent,
        pod: &Arc<Pod>,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Option<QueueingHint> {
        let at = point(plugin.as_enqueue_extensions(), plugin, "EnqueueExtensions");
        let registered = at.events_to_register().into_iter().find(|known| known.event.matches(&event))?;
        let Some(hint) = &registered.queueing_hint_fn else { return Some(QueueingHint::Queue) };
        Some(must(hint(&self.world.handle(), pod, old, new), &format!("the hint of {}", plugin.name())))
    }
}
