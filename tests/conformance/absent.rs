//! Stand-ins for the plugins of kube-scheduler that are not built: they hold a place at their extension points,
//! so that profiles can be built as a whole, and are taken out before anything runs.

use std::sync::Arc;

use schedscope::api::objects::Pod;
use schedscope::api::{Duration, Str};
use schedscope::config::ExtensionPoint::{
    self, Bind, Filter, Permit, PostBind, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort,
    Reserve, Score,
};
use schedscope::framework::runtime::Registry;
use schedscope::framework::{
    CycleState, FilterPlugin, Framework, Handle, NodeInfo, NodeToStatus, PermitPlugin, Plugin, PodInfo,
    PostFilterPlugin, PostFilterResult, PreBindPlugin, PreBindPreFlightResult, PreBindProgress,
    PreEnqueuePlugin, PreFilterPlugin, PreFilterResult, PreScorePlugin, ReservePlugin, ScorePlugin, Status,
};
use schedscope::plugins::registry::in_tree_registry;

/// Every plugin of v1.36 with its extension points, as far as it is not built.
const PLUGINS: &[(&str, &[ExtensionPoint])] = &[
    ("DynamicResources", &[PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind]),
    ("GangScheduling", &[PreEnqueue, Permit]),
    ("NodeVolumeLimits", &[PreFilter, Filter]),
    ("PodGroupPodsCount", &[]),
    ("TopologyPlacementGenerator", &[]),
    ("VolumeBinding", &[PreFilter, Filter, PreScore, Score, Reserve, PreBind]),
    ("VolumeRestrictions", &[PreFilter, Filter]),
    ("VolumeZone", &[PreFilter, Filter]),
];

/// A place that is held.
#[derive(Debug)]
struct Absent {
    name: &'static str,
    points: &'static [ExtensionPoint],
}

impl Absent {
    fn at(&self, point: ExtensionPoint) -> Option<&Self> {
        self.points.contains(&point).then_some(self)
    }
}

impl Plugin for Absent {
    fn name(&self) -> &'static str {
        self.name
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        self.at(PreEnqueue).map(|plugin| plugin as _)
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        self.at(PreFilter).map(|plugin| plugin as _)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        self.at(Filter).map(|plugin| plugin as _)
    }
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        self.at(PostFilter).map(|plugin| plugin as _)
    }
    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        self.at(PreScore).map(|plugin| plugin as _)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        self.at(Score).map(|plugin| plugin as _)
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        self.at(Reserve).map(|plugin| plugin as _)
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        self.at(Permit).map(|plugin| plugin as _)
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        self.at(PreBind).map(|plugin| plugin as _)
    }
}

const NEVER: &str = "a plugin that is not built is never called";

impl PreEnqueuePlugin for Absent {
    fn pre_enqueue(&self, _: &Handle<'_>, _: &Arc<Pod>) -> Status {
        unreachable!("{NEVER}")
    }
}

impl PreFilterPlugin for Absent {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        unreachable!("{NEVER}")
    }
}

impl FilterPlugin for Absent {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
        unreachable!("{NEVER}")
    }
}

impl PostFilterPlugin for Absent {
    fn post_filter(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        unreachable!("{NEVER}")
    }
}

impl PreScorePlugin for Absent {
    fn pre_score(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &[Arc<NodeInfo>]) -> Status {
        unreachable!("{NEVER}")
    }
}

impl ScorePlugin for Absent {
    fn score(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Result<i64, Status> {
        unreachable!("{NEVER}")
    }
}

impl ReservePlugin for Absent {
    fn reserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> Status {
        unreachable!("{NEVER}")
    }
    fn unreserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) {
        unreachable!("{NEVER}")
    }
}

impl PermitPlugin for Absent {
    fn permit(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> (Status, Duration) {
        unreachable!("{NEVER}")
    }
}

impl PreBindPlugin for Absent {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        unreachable!("{NEVER}")
    }
    fn pre_bind(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &Str,
        _: Option<&str>,
    ) -> PreBindProgress {
        unreachable!("{NEVER}")
    }
}

/// Whether the plugin is not built.
pub fn is_absent(name: &str) -> bool {
    PLUGINS.iter().any(|(absent, _)| *absent == name)
}

/// All plugins of v1.36: those that are built, and a stand-in for each of the others.
pub fn full_registry() -> Registry {
    let mut registry = in_tree_registry();
    for (name, points) in PLUGINS {
        let (name, points) = (*name, *points);
        registry
            .register(name, move |_, _| Ok(Arc::new(Absent { name, points })))
            .expect("a plugin that is built needs no stand-in");
    }
    registry
}

/// The plugins at a point, in order, each with its weight where it scores.
pub fn plugins_at(framework: &Framework, point: ExtensionPoint) -> Vec<(&'static str, i64)> {
    let points = &framework.plugins;
    let list = match point {
        PreEnqueue => &points.pre_enqueue,
        QueueSort => &points.queue_sort,
        PreFilter => &points.pre_filter,
        Filter => &points.filter,
        PostFilter => &points.post_filter,
        PreScore => &points.pre_score,
        Score => {
            let scored = points.score.iter();
            return scored.map(|weighted| (weighted.plugin.name(), weighted.weight)).collect();
        }
        Reserve => &points.reserve,
        Permit => &points.permit,
        PreBind => &points.pre_bind,
        Bind => &points.bind,
        PostBind => &points.post_bind,
        ExtensionPoint::PlacementGenerate | ExtensionPoint::PlacementScore => return Vec::new(),
    };
    list.iter().map(|plugin| (plugin.name(), 0)).collect()
}

/// The framework without the stand-ins.
pub fn without_absent(framework: &Framework) -> Framework {
    let mut framework = framework.clone();
    let points = &mut framework.plugins;
    for list in [
        &mut points.pre_enqueue,
        &mut points.pre_filter,
        &mut points.filter,
        &mut points.post_filter,
        &mut points.pre_score,
        &mut points.reserve,
        &mut points.permit,
        &mut points.pre_bind,
    ] {
        list.retain(|plugin| !is_absent(plugin.name()));
    }
    points.score.retain(|weighted| !is_absent(weighted.plugin.name()));
    framework.all.retain(|plugin| !is_absent(plugin.name()));
    framework
}
