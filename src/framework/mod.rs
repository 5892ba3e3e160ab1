//! The Scheduling Framework: the contracts between the scheduler and its plugins.
//!
//! Mirrors `pkg/scheduler/framework` and `staging/src/k8s.io/kube-scheduler/framework`. Somebody who writes a
//! plugin of their own needs this module and [`crate::api`] only.

pub mod affinity_terms;
mod answers;
pub mod api_write;
mod cycle_state;
pub mod device_cel;
mod diagnosis;
mod events;
pub mod explained;
pub mod extender;
mod handle;
pub mod meter;
mod node_info;
mod plugin;
pub mod plugin_state;
pub mod pod_group;
mod pod_index;
mod pod_info;
pub mod pod_resources;
pub mod preemption;
pub mod resource;
pub mod runtime;
mod scheduling_properties;
mod snapshot;
mod status;
pub mod testing;
pub mod topology;

pub use affinity_terms::{AffinityTerm, PodAffinityTerms, WeightedAffinityTerm};
pub use answers::{Answer, Answers, Question};
pub use api_write::{ApiWrite, WriteResult, WriteVerb};
pub use cycle_state::{CycleState, StateData};
pub use diagnosis::{Diagnosis, FitError, NodeToStatus};
pub use events::{
    ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint, QueueingHintFn,
};
pub use explained::{About, Asked, ExplainPlugin, PluginWords};
pub use handle::{Handle, HandleRequest, NoNominations, PodNominator, TieBreak};
pub use node_info::{HostPort, HostPortInfo, ImageStateSummary, NodeInfo, host_ports};
pub use plugin::{
    BindAction, BindPlugin, EnqueueExtensions, FilterPlugin, MAX_NODE_SCORE, MIN_NODE_SCORE, NodeScore,
    NominatingInfo, PermitPlugin, PlacementGeneratePlugin, PlacementScoreExtensions, PlacementScorePlugin,
    Plugin, PostBindPlugin, PostFilterPlugin, PostFilterResult, PreBindPlugin, PreBindPreFlightResult,
    PreBindProgress, PreEnqueuePlugin, PreFilterExtensions, PreFilterPlugin, PreFilterResult, PreScorePlugin,
    QueueSortPlugin, ReservePlugin, ScoreExtensions, ScorePlugin, SignFragment, SignPlugin,
};
pub use plugin_state::{ObjectChange, PluginState, PluginStates, Told};
pub use pod_index::{PodClass, PodIndex};
pub use pod_info::{PodInfo, QueuedPodInfo};
pub use pod_resources::{PodResources, RequestOptions};
pub use resource::Resource;
pub use runtime::Framework;
pub use scheduling_properties::{node_scheduling_properties_change, pod_scheduling_properties_change};
pub use snapshot::Snapshot;
pub use status::{Code, Status};
