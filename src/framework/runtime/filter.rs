//! PreFilter, Filter (with nominated pods) and PostFilter.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Framework;
use crate::api::Str;
use crate::framework::cycle_state::CycleState;
use crate::framework::diagnosis::NodeToStatus;
use crate::framework::handle::Handle;
use crate::framework::meter::{Measurement, Stamp};
use crate::framework::node_info::NodeInfo;
use crate::framework::plugin::{NominatingInfo, PostFilterResult, PreFilterResult};
use crate::framework::pod_info::PodInfo;
use crate::framework::status::{Code, Status};

/// What one plugin answered at one point, for the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginVerdict {
    /// The plugin.
    pub plugin: &'static str,
    /// What it answered.
    pub status: Status,
    /// The nodes to which it narrowed the search, if it did (PreFilter only).
    pub node_names: Option<BTreeSet<Str>>,
}

/// What PreFilter came to.
#[derive(Clone, Debug, Default)]
pub struct PreFilterOutcome {
    /// The nodes to look at; absent means all.
    pub result: Option<PreFilterResult>,
    /// Success, or why no node needs a look.
    pub status: Status,
    /// The plugins that narrowed the search.
    pub plugins_with_nodes: BTreeSet<Str>,
    /// What each plugin answered, in order.
    pub verdicts: Vec<PluginVerdict>,
}

impl Framework {
    /// Runs PreFilter (`RunPreFilterPlugins`) and notes in `state` which Filter plugins to leave out.
    pub fn run_pre_filter_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
    ) -> PreFilterOutcome {
        let since = self.metering.stamp();
        let outcome = self.ask_pre_filter_plugins(handle, state, pod);
        self.metering.point(&self.profile_name, "PreFilter", outcome.status.code(), since);
        self.metering.tell(|meter| {
            for verdict in outcome.verdicts.iter().filter(|verdict| !verdict.status.is_skip()) {
                let (profile, plugin) = (&*self.profile_name, verdict.plugin);
                meter.take(Measurement::Evaluated { profile, plugin, point: "PreFilter", n: 1 });
            }
        });
        let filters = self.plugins.filter.iter().take(64).enumerate();
        let skipped = filters.filter(|(_, plugin)| state.skip_filter_plugins.contains(plugin.name()));
        state.skip_filter_bits = skipped.fold(0, |bits, (i, _)| bits | 1 << i);
        outcome
    }

    fn ask_pre_filter_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
    ) -> PreFilterOutcome {
        let nodes = handle.snapshot.list();
        let mut outcome = PreFilterOutcome::default();
        let mut rejection = Status::SUCCESS;
        state.skip_filter_plugins.clear();
        for plugin in &self.plugins.pre_filter {
            let Some(pre_filter) = plugin.as_pre_filter() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            let (result, status) = pre_filter.pre_filter(handle, state, pod, nodes);
            self.metering.plugin(name, "PreFilter", status.code(), since);
            outcome.verdicts.push(PluginVerdict {
                plugin: name,
                status: status.clone(),
                node_names: result.as_ref().map(|result| result.node_names.clone()),
            });
            match status.code() {
                Code::Success => {}
                Code::Skip => {
                    state.skip_filter_plugins.insert(name);
                    continue;
                }
                // Preemption cannot help, so the other plugins need not be asked.
                Code::UnschedulableAndUnresolvable => {
                    return outcome.ended(status.with_plugin(name));
                }
                // Preemption may help and needs the state of every plugin.
                Code::Unschedulable => {
                    rejection = status.with_plugin(name);
                    continue;
                }
                Code::Error | Code::Wait | Code::Pending => {
                    let text = format!("running PreFilter plugin {name:?}: {}", status.message());
                    return outcome.ended(Status::error(text).with_plugin(name));
                }
            }
            let Some(result) = result else { continue };
            outcome.plugins_with_nodes.insert(Str::from(name));
            let merged = match outcome.result.take() {
                None => result,
                Some(before) => PreFilterResult {
                    node_names: before.node_names.intersection(&result.node_names).cloned().collect(),
                },
            };
            let is_empty = merged.node_names.is_empty();
            outcome.result = Some(merged);
            if is_empty {
                let names: Vec<&str> = outcome.plugins_with_nodes.iter().map(AsRef::as_ref).collect();
                let text = match names.as_slice() {
                    [only] => format!("node(s) didn't satisfy plugin {only}"),
                    several => {
                        format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" "))
                    }
                };
                outcome.status = Status::unresolvable(text);
                return outcome;
            }
        }
        outcome.status = rejection;
        outcome
    }

    /// Runs Filter for one node (`RunFilterPlugins`): the first plugin that fails decides.
    pub fn run_filter_plugins(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let mut last = None;
        let mut outcome = Status::SUCCESS;
        for (i, plugin) in self.plugins.filter.iter().enumerate() {
            let is_skipped = match u32::try_from(i).ok().and_then(|i| 1_u64.checked_shl(i)) {
                Some(bit) => state.skip_filter_bits & bit != 0,
                None => state.skip_filter_plugins.contains(plugin.name()),
            };
            if is_skipped {
                continue;
            }
            let Some(filter) = plugin.as_filter() else { continue };
            last = Some(i);
            let since = self.metering.stamp_if(state.is_sample);
            let status = filter.filter(handle, state, pod, node);
            self.metering.plugin(plugin.name(), "Filter", status.code(), since);
            if status.is_success() {
                continue;
            }
            let name = plugin.name();
            outcome = if status.is_rejected() {
                status.with_plugin(name)
            } else {
                let text = format!("running {name:?} filter plugin: {}", status.message());
                Status::error(text).with_plugin(name)
            };
            break;
        }
        if let Some(last) = last {
            self.metering.filtered(last);
        }
        outcome
    }

    /// Tells how long the search took, and how often Filter plugins were asked.
    pub fn told_of_filter(&self, state: &CycleState, error: Option<&Status>, since: Option<Stamp>) {
        let code = error.map_or(Code::Success, Status::code);
        self.metering.point(&self.profile_name, "Filter", code, since);
        self.tell_filtered(state);
    }

    /// Tells how often Filter plugins were asked for the pod of this state, if anybody measures that.
    pub fn tell_filtered(&self, state: &CycleState) {
        let names = self.plugins.filter.iter().map(|plugin| plugin.name());
        let is_skipped = |plugin: &str| state.skip_filter_plugins.contains(plugin);
        self.metering.tell_filtered(&self.profile_name, names, is_skipped);
    }

    /// Lets the Filter plugins put into `state` what their answers for the nodes of the snapshot came from.
    pub fn keep_filter_evidence(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo) {
        for plugin in &self.plugins.filter {
            if let Some(filter) = plugin.as_filter() {
                filter.keep_evidence(handle, state, pod, handle.snapshot.list());
            }
        }
    }

    /// Runs Filter for one node with the pods that are nominated to it taken into account
    /// (`RunFilterPluginsWithNominatedPods`): once with the more important ones put there in thought, and, if that
    /// passes, once more without them, since affinity may need them absent.
    pub fn run_filter_plugins_with_nominated_pods(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        let nominated = handle.nominator.nominated_pods_for_node(node.name());
        let ahead =
            |other: &&Arc<PodInfo>| other.pod.priority() >= pod.pod.priority() && other.uid() != pod.uid();
        if nominated.iter().any(|other| ahead(&other)) {
            let mut state_with = state.clone();
            let mut node_with = node.clone();
            for other in nominated.iter().filter(ahead) {
                node_with.add_pod(Arc::clone(other));
                let status =
                    self.run_pre_filter_extension_add_pod(handle, &mut state_with, pod, other, &node_with);
                if !status.is_success() {
                    return Status::error(status.message());
                }
            }
            let status = self.run_filter_plugins(handle, &state_with, pod, &node_with);
            if !status.is_success() {
                return status;
            }
        }
        self.run_filter_plugins(handle, state, pod, node)
    }

    /// Tells every PreFilter state that `pod_to_add` is put onto the node in thought.
    pub fn run_pre_filter_extension_add_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_add: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        for plugin in &self.plugins.pre_filter {
            let Some(extensions) = plugin.as_pre_filter().and_then(|p| p.pre_filter_extensions()) else {
                continue;
            };
            if state.skip_filter_plugins.contains(plugin.name()) {
                continue;
            }
            let status = extensions.add_pod(handle, state, pod_to_schedule, pod_to_add, node);
            if !status.is_success() {
                let text = format!("running AddPod on plugin {:?}: {}", plugin.name(), status.message());
                return Status::error(text);
            }
        }
        Status::SUCCESS
    }

    /// Tells every PreFilter state that `pod_to_remove` is taken off the node in thought.
    pub fn run_pre_filter_extension_remove_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_remove: &PodInfo,
        node: &NodeInfo,
    ) -> Status {
        for plugin in &self.plugins.pre_filter {
            let Some(extensions) = plugin.as_pre_filter().and_then(|p| p.pre_filter_extensions()) else {
                continue;
            };
            if state.skip_filter_plugins.contains(plugin.name()) {
                continue;
            }
            let status = extensions.remove_pod(handle, state, pod_to_schedule, pod_to_remove, node);
            if !status.is_success() {
                let text = format!("running RemovePod on plugin {:?}: {}", plugin.name(), status.message());
                return Status::error(text);
            }
        }
        Status::SUCCESS
    }

    /// Runs PostFilter (`RunPostFilterPlugins`): the first success ends it, rejections add up.
    pub fn run_post_filter_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status, Vec<PluginVerdict>) {
        let since = self.metering.stamp();
        let outcome = self.ask_post_filter_plugins(handle, state, pod, node_to_status);
        self.metering.point(&self.profile_name, "PostFilter", outcome.1.code(), since);
        self.tell_filtered(state);
        outcome
    }

    fn ask_post_filter_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status, Vec<PluginVerdict>) {
        if state.skip_all_post_filter_plugins {
            return (None, Status::unschedulable("All PostFilter plugins are skipped"), Vec::new());
        }
        let mut meaningful = None;
        let mut reasons = Vec::new();
        let mut rejector = "";
        let mut verdicts = Vec::new();
        for plugin in &self.plugins.post_filter {
            let Some(post_filter) = plugin.as_post_filter() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            if name == "DefaultPreemption" {
                self.metering.take(Measurement::PreemptionTried);
            }
            let (result, status) = post_filter.post_filter(handle, state, pod, node_to_status);
            self.metering.plugin(name, "PostFilter", status.code(), since);
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            match status.code() {
                Code::Success => return (result, status, verdicts),
                Code::UnschedulableAndUnresolvable => return (result, status.with_plugin(name), verdicts),
                Code::Unschedulable | Code::Pending => {
                    if result
                        .as_ref()
                        .is_some_and(|r| r.nominating_info != NominatingInfo::Noop || r.evidence.is_some())
                    {
                        meaningful = result;
                    }
                }
                Code::Error | Code::Wait | Code::Skip => {
                    return (None, Status::error(status.message()).with_plugin(name), verdicts);
                }
            }
            reasons.extend(status.reasons().iter().cloned());
            if rejector.is_empty() {
                rejector = name;
            }
        }
        (meaningful, Status::with_reasons(Code::Unschedulable, reasons).with_plugin(rejector), verdicts)
    }
}

impl PreFilterOutcome {
    fn ended(mut self, status: Status) -> Self {
        self.result = None;
        self.plugins_with_nodes.clear();
        self.status = status;
        self
    }
}
