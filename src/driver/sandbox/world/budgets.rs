//! The disruption controller keeps the status of disruption budgets, and the eviction that heeds them.
//!
//! Follows `pkg/controller/disruption/disruption.go` and `pkg/registry/core/pod/storage/eviction.go`. A granted eviction
//! is done at once, so `disruptedPods` are kept only until the controller counts anew. Scales come from the workloads of
//! the sandbox and, for owners that are not there, from nothing: such a budget allows none, as upstream.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Wx;
use super::pods::counts_as_ready;
use super::workloads::Workloads;
use crate::api::objects::{Labels, Pod, PodDisruptionBudget, PodDisruptionBudgetStatus};
use crate::api::{Duration, Kind, NamespacedName, Selector, Str, Time, Uid};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Said;

const NAME: &str = "disruption-controller";

/// Why a pod is not evicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvictionError {
    /// There is no such pod.
    #[error("pods {0:?} not found")]
    NotFound(Str),
    /// A budget allows no disruption now (`429 TooManyRequests`).
    #[error(
        "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget {budget} needs \
         {desired} healthy pods and has {healthy} currently"
    )]
    Budget {
        /// The budget.
        budget: Str,
        /// What it needs.
        desired: i32,
        /// What it has.
        healthy: i32,
    },
    /// More than one budget covers the pod.
    #[error(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )]
    Several,
}

/// Which pods a budget covers: without a selector none, with an empty one all of its namespace.
pub fn covers(budget: &PodDisruptionBudget) -> impl Fn(&Pod) -> bool + '_ {
    let selector = selector(budget);
    move |pod| {
        pod.metadata.namespace == budget.metadata.namespace
            && selector.as_ref().is_some_and(|selector| selector.matches(&pod.metadata.labels))
    }
}

fn selector(budget: &PodDisruptionBudget) -> Option<Selector> {
    let selector = budget.spec.selector.as_ref();
    selector.and_then(|selector| Selector::from_label_selector(Some(selector)).ok())
}

impl EvictionError {
    /// What stands before it, in a sentence.
    pub fn cause(&self) -> String {
        match self {
            Self::Budget { budget, desired, healthy } => format!(
                "The disruption budget {budget} needs {desired} healthy pods and has {healthy} currently"
            ),
            Self::NotFound(_) | Self::Several => self.to_string(),
        }
    }
}

/// How many of the pods of a budget are healthy.
pub(in crate::driver::sandbox) fn healthy_pods(api: &SandboxApi, budget: &PodDisruptionBudget) -> i32 {
    let is_healthy = |pod: &&Arc<Pod>| !pod.is_terminating() && counts_as_ready(api, pod);
    i32::try_from(covered(api, budget).filter(is_healthy).count()).unwrap_or(i32::MAX)
}

/// The status of a budget; where nobody has written one, with the pods that are there as those that are wanted.
pub(in crate::driver) fn counted_status(
    api: &SandboxApi,
    budget: &PodDisruptionBudget,
) -> PodDisruptionBudgetStatus {
    if budget.status != PodDisruptionBudgetStatus::default() {
        return budget.status.clone();
    }
    let expected = covered(api, budget).filter(|pod| !pod.is_terminal()).count();
    let expected = i32::try_from(expected).unwrap_or(i32::MAX);
    let healthy = healthy_pods(api, budget);
    let desired = match (&budget.spec.min_available, &budget.spec.max_unavailable) {
        (Some(least), _) => least.scaled(expected, true),
        (None, Some(away)) => away.scaled(expected, true).map(|away| (expected - away).max(0)),
        (None, None) => Some(expected),
    };
    PodDisruptionBudgetStatus {
        // What is neither a number nor a percentage allows nothing.
        disruptions_allowed: desired.map_or(0, |desired| (healthy - desired).max(0)),
        current_healthy: healthy,
        desired_healthy: desired.unwrap_or(expected),
        expected_pods: expected,
        disrupted_pods: BTreeMap::new(),
    }
}

/// The pods that a budget covers.
fn covered<'a>(
    api: &'a SandboxApi,
    budget: &'a PodDisruptionBudget,
) -> impl Iterator<Item = &'a Arc<Pod>> + 'a {
    let first = NamespacedName::new(budget.metadata.namespace.clone(), "");
    let pods = api.objects().pods.range(first..);
    let pods = pods.take_while(|(key, _)| key.namespace == budget.metadata.namespace);
    let is_its = covers(budget);
    pods.map(|(_, pod)| pod).filter(move |pod| is_its(pod))
}

/// The budgets that cover a pod of that namespace with those labels.
pub(super) fn covering<'a>(
    api: &'a SandboxApi,
    namespace: &'a Str,
    labels: &'a Labels,
) -> impl Iterator<Item = &'a Arc<PodDisruptionBudget>> + 'a {
    let first = NamespacedName::new(namespace.clone(), "");
    let budgets = api.objects().pod_disruption_budgets.range(first..);
    let budgets = budgets.take_while(move |(key, _)| key.namespace == *namespace).map(|(_, budget)| budget);
    budgets.filter(|budget| selector(budget).is_some_and(|selector| selector.matches(labels)))
}

/// Counts the pods of a budget and writes what it allows.
pub(super) fn sync(wx: &mut Wx<'_>, workloads: &Workloads, key: &NamespacedName) {
    let Some(old) = wx.api.objects().pod_disruption_budgets.get(key).cloned() else { return };
    let pods: Vec<Arc<Pod>> = covered(wx.api, &old).filter(|pod| !pod.is_terminal()).cloned().collect();
    let mut budget = PodDisruptionBudget::clone(&old);
    match expected(wx.api, workloads, &old, &pods) {
        Ok((expected, desired)) => {
            let healthy = healthy_pods(wx.api, &old);
            let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
            budget.status = PodDisruptionBudgetStatus {
                disruptions_allowed: allowed,
                current_healthy: healthy,
                desired_healthy: desired,
                expected_pods: expected,
                disrupted_pods: BTreeMap::new(),
            };
        }
        Err(error) => {
            budget.status.disruptions_allowed = 0;
            let note = format!("Failed to calculate the number of expected pods: {error}");
            wx.tell(
                NAME,
                Kind::PodDisruptionBudget.as_str(),
                key,
                Said::failed("CalculateExpectedPodCountFailed", note),
            );
        }
    }
    if budget.status != old.status {
        wx.api.write(budget.into());
    }
}

/// How many pods there should be, and how many of them healthy.
fn expected(
    api: &SandboxApi,
    workloads: &Workloads,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
) -> Result<(i32, i32), String> {
    let scale = || expected_scale(api, workloads, pods);
    let wrong = |what: &str| format!("{what} is neither a number nor a percentage");
    if let Some(most) = &budget.spec.max_unavailable {
        let expected = scale()?;
        let most = most.scaled(expected, true).ok_or_else(|| wrong("maxUnavailable"))?;
        return Ok((expected, (expected - most).max(0)));
    }
    match &budget.spec.min_available {
        None => Ok((0, 0)),
        Some(crate::api::objects::IntOrString::Int(least)) => {
            let expected = i32::try_from(pods.len()).unwrap_or(i32::MAX);
            Ok((expected, i32::try_from(*least).unwrap_or(i32::MAX)))
        }
        Some(least) => {
            let expected = scale()?;
            Ok((expected, least.scaled(expected, true).ok_or_else(|| wrong("minAvailable"))?))
        }
    }
}

/// What the controllers of the pods want together. Pods without one do not count.
fn expected_scale(api: &SandboxApi, workloads: &Workloads, pods: &[Arc<Pod>]) -> Result<i32, String> {
    let mut scales: BTreeMap<Uid, i32> = BTreeMap::new();
    for pod in pods {
        let Some(owner) = pod.metadata.controller() else { continue };
        let (uid, scale) = workloads
            .scale_of(api, &pod.metadata.namespace, owner)
            .ok_or_else(|| format!("found no controllers for pod {:?}", &*pod.metadata.name))?;
        scales.insert(uid, scale);
    }
    Ok(scales.values().sum())
}

/// Evicts a pod as the eviction subresource does, within so many seconds if they are given.
///
/// # Errors
/// If there is no such pod, or its budget does not allow it.
pub fn evict(
    api: &mut SandboxApi,
    key: &NamespacedName,
    grace_seconds: Option<u64>,
    now: Time,
) -> Result<(), EvictionError> {
    let lost = || EvictionError::NotFound(key.name.clone());
    let pod = api.objects().pods.get(key).cloned().ok_or_else(lost)?;
    let budget = if is_free(api, &pod) { None } else { budget_to_ask(api, &pod)? };
    if let Some(budget) = budget {
        let mut budget = PodDisruptionBudget::clone(&budget);
        budget.status.disruptions_allowed -= 1;
        let at = serde_json::Value::from(now.truncate_to_second().to_rfc3339());
        budget.status.disrupted_pods.insert(pod.metadata.name.to_string(), at);
        api.write(budget.into());
    }
    let deleted = match grace_seconds {
        Some(seconds) => api.delete_pod_within(key, Duration::from_secs(seconds), now),
        None => api.delete_pod(key, now),
    };
    deleted.map_err(|_| lost())
}

/// Why a pod would not be evicted now, if it would not.
pub(in crate::driver) fn refusal(api: &SandboxApi, pod: &Pod) -> Option<EvictionError> {
    if is_free(api, pod) { None } else { budget_to_ask(api, pod).err() }
}

/// Whether no budget is asked.
fn is_free(api: &SandboxApi, pod: &Pod) -> bool {
    // Where there are no kubelets a pod on a node stays Pending, and counts.
    let is_pending = pod.status.phase == "Pending" && (api.has_kubelets() || !pod.is_assigned());
    is_pending || pod.is_terminal() || pod.is_terminating()
}

/// The budget from which an eviction takes, if any (`checkAndDecrement`).
fn budget_to_ask(api: &SandboxApi, pod: &Pod) -> Result<Option<Arc<PodDisruptionBudget>>, EvictionError> {
    let budgets: Vec<_> = covering(api, &pod.metadata.namespace, &pod.metadata.labels).collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(None),
        [budget] => budget,
        _ => return Err(EvictionError::Several),
    };
    let status = &budget.status;
    let is_healthy = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    let always = budget.spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow");
    if !counts_as_ready(api, pod) && (always || is_healthy) {
        return Ok(None);
    }
    if status.disruptions_allowed <= 0 {
        return Err(EvictionError::Budget {
            budget: budget.metadata.name.clone(),
            desired: status.desired_healthy,
            healthy: status.current_healthy,
        });
    }
    Ok(Some(Arc::clone(budget)))
}
