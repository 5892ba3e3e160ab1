//! Reserve, Permit, PreBindPreFlight and PostBind: the points that change state.

use std::collections::BTreeMap;

use super::Framework;
use super::filter::PluginVerdict;
use crate::api::{Duration, Str};
use crate::framework::cycle_state::CycleState;
use crate::framework::handle::Handle;
use crate::framework::pod_info::PodInfo;
use crate::framework::status::{Code, Status};

/// The longest time that Permit may hold a pod (`maxTimeout`).
const PERMIT_TIMEOUT_MAX: Duration = Duration::from_secs(15 * 60);

impl Framework {
    /// Runs Reserve (`RunReservePluginsReserve`).
    pub fn run_reserve_plugins_reserve(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (Status, Vec<PluginVerdict>) {
        let since = self.metering.stamp();
        let outcome = self.ask_reserve_plugins(handle, state, pod, node_name);
        self.metering.point(&self.profile_name, "Reserve", outcome.0.code(), since);
        outcome
    }

    fn ask_reserve_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (Status, Vec<PluginVerdict>) {
        let mut verdicts = Vec::new();
        for plugin in &self.plugins.reserve {
            let Some(reserve) = plugin.as_reserve() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            let status = reserve.reserve(handle, state, pod, node_name);
            self.metering.plugin(name, "Reserve", status.code(), since);
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            if status.is_success() {
                continue;
            }
            let status = if status.is_rejected() {
                status.with_plugin(name)
            } else {
                Status::error(format!("running Reserve plugin {name:?}: {}", status.message()))
            };
            return (status, verdicts);
        }
        (Status::SUCCESS, verdicts)
    }

    /// Runs Unreserve on every Reserve plugin in reverse order, those that were never reached included.
    pub fn run_reserve_plugins_unreserve(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) {
        let since = self.metering.stamp();
        for plugin in self.plugins.reserve.iter().rev() {
            if let Some(reserve) = plugin.as_reserve() {
                let since = self.metering.stamp_if(state.is_sample);
                reserve.unreserve(handle, state, pod, node_name);
                self.metering.plugin(plugin.name(), "Unreserve", Code::Success, since);
            }
        }
        self.metering.point(&self.profile_name, "Unreserve", Code::Success, since);
    }

    /// Runs Permit (`RunPermitPlugins`); with Wait the map has the plugins that hold the pod.
    pub fn run_permit_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (BTreeMap<Str, Duration>, Status, Vec<PluginVerdict>) {
        let since = self.metering.stamp();
        let outcome = self.ask_permit_plugins(handle, state, pod, node_name);
        self.metering.point(&self.profile_name, "Permit", outcome.1.code(), since);
        outcome
    }

    fn ask_permit_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (BTreeMap<Str, Duration>, Status, Vec<PluginVerdict>) {
        let mut verdicts = Vec::new();
        let mut waits = BTreeMap::new();
        let mut wait_status = Status::SUCCESS;
        for plugin in &self.plugins.permit {
            let Some(permit) = plugin.as_permit() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            let (status, timeout) = permit.permit(handle, state, pod, node_name);
            self.metering.plugin(name, "Permit", status.code(), since);
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            match status.code() {
                Code::Success => {}
                Code::Wait => {
                    waits.insert(Str::from(name), timeout.min(PERMIT_TIMEOUT_MAX));
                    wait_status = status;
                }
                Code::Unschedulable | Code::UnschedulableAndUnresolvable | Code::Pending => {
                    return (BTreeMap::new(), status.with_plugin(name), verdicts);
                }
                Code::Error | Code::Skip => {
                    let text = format!("running Permit plugin {name:?}: {}", status.message());
                    return (BTreeMap::new(), Status::error(text).with_plugin(name), verdicts);
                }
            }
        }
        wait_status.append_reason("one or more plugins asked to wait and no plugin rejected pod");
        (waits, wait_status, verdicts)
    }

    /// Runs PreBindPreFlight (`RunPreBindPreFlights`): Success if any PreBind plugin has work, Skip if none has.
    pub fn run_pre_bind_pre_flights(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (Status, Vec<PluginVerdict>) {
        let since = self.metering.stamp();
        let outcome = self.ask_pre_bind_pre_flights(handle, state, pod, node_name);
        self.metering.point(&self.profile_name, "PreBindPreFlight", outcome.0.code(), since);
        outcome
    }

    fn ask_pre_bind_pre_flights(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (Status, Vec<PluginVerdict>) {
        let mut verdicts = Vec::new();
        let mut outcome = Status::skip();
        state.skip_pre_bind_plugins.clear();
        state.parallel_pre_bind_plugins.clear();
        for plugin in &self.plugins.pre_bind {
            let Some(pre_bind) = plugin.as_pre_bind() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            let (result, status) = pre_bind.pre_bind_pre_flight(handle, state, pod, node_name);
            self.metering.plugin(name, "PreBindPreFlight", status.code(), since);
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            if result.allow_parallel {
                state.parallel_pre_bind_plugins.insert(name);
            }
            match status.code() {
                Code::Success => outcome = Status::SUCCESS,
                Code::Skip => {
                    state.skip_pre_bind_plugins.insert(name);
                }
                Code::Error => {
                    let text = format!("running PreBindPreFlight {name:?}: {}", status.message());
                    return (Status::error(text), verdicts);
                }
                code @ (Code::Unschedulable
                | Code::UnschedulableAndUnresolvable
                | Code::Wait
                | Code::Pending) => {
                    let text = format!(
                        "PreBindPreFlight {name} returned {:?}, which is unsupported. It is supposed to return \
                         Success, Skip, or Error status",
                        code.as_str()
                    );
                    return (Status::error(text), verdicts);
                }
            }
        }
        (outcome, verdicts)
    }

    /// Runs PostBind.
    pub fn run_post_bind_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) {
        let since = self.metering.stamp();
        for plugin in &self.plugins.post_bind {
            if let Some(post_bind) = plugin.as_post_bind() {
                let since = self.metering.stamp_if(state.is_sample);
                post_bind.post_bind(handle, state, pod, node_name);
                self.metering.plugin(plugin.name(), "PostBind", Code::Success, since);
            }
        }
        self.metering.point(&self.profile_name, "PostBind", Code::Success, since);
    }
}
