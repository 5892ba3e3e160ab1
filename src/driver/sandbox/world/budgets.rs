//! The disruption controller keeps the status of disruption budgets, and the eviction that heeds them.
//!
//! Follows `pkg/controller/disruption/disruption.go` and `pkg/registry/core/pod/storage/eviction.go`. A granted eviction
//! is done at once, so no `disruptedPods` are kept. Scales come from the workloads of the sandbox and, for owners that
//! are not there, from nothing: such a budget allows none, as upstream.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Wx;
use super::pods::is_ready;
use super::workloads::Workloads;
use crate::api::objects::{Labels, Pod, PodDisruptionBudget, PodDisruptionBudgetStatus};
use crate::api::{Kind, NamespacedName, Selector, Str, Time, Uid};
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

/// Which pods of its namespace a budget covers; a selector that is absent covers none, an empty one all.
fn selector(budget: &PodDisruptionBudget) -> Option<Selector> {
    let selector = budget.spec.selector.as_ref();
    selector.and_then(|selector| Selector::from_label_selector(Some(selector)).ok())
}

/// The pods that a budget covers.
fn covered<'a>(
    api: &'a SandboxApi,
    budget: &'a PodDisruptionBudget,
) -> impl Iterator<Item = &'a Arc<Pod>> + 'a {
    let selector = selector(budget);
    let first = NamespacedName::new(budget.metadata.namespace.clone(), "");
    let namespace = budget.metadata.namespace.clone();
    let pods = api.objects().pods.range(first..).take_while(move |(key, _)| key.namespace == namespace);
    pods.map(|(_, pod)| pod)
        .filter(move |pod| selector.as_ref().is_some_and(|selector| selector.matches(&pod.metadata.labels)))
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
            let healthy = pods.iter().filter(|pod| !pod.is_terminating() && wx.is_ready(pod)).count();
            let healthy = i32::try_from(healthy).unwrap_or(i32::MAX);
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

/// Evicts a pod as the eviction subresource does.
///
/// # Errors
/// If there is no such pod, or its budget does not allow it.
pub fn evict(api: &mut SandboxApi, key: &NamespacedName, now: Time) -> Result<(), EvictionError> {
    let pod = api.objects().pods.get(key).cloned();
    let pod = pod.ok_or_else(|| EvictionError::NotFound(key.name.clone()))?;
    let is_free = pod.is_terminal() || pod.status.phase == "Pending" || pod.is_terminating();
    let budget = if is_free {
        None
    } else {
        let mut own = covering(api, &key.namespace, &pod.metadata.labels).cloned();
        let budget = own.next();
        if own.next().is_some() {
            return Err(EvictionError::Several);
        }
        budget
    };
    if let Some(old) = budget {
        let status = &old.status;
        let policy = old.spec.unhealthy_pod_eviction_policy.as_deref();
        let is_unhealthy_free = !is_ready(&pod)
            && (policy == Some("AlwaysAllow")
                || (status.current_healthy >= status.desired_healthy && status.desired_healthy > 0));
        if !is_unhealthy_free {
            if status.disruptions_allowed <= 0 {
                return Err(EvictionError::Budget {
                    budget: old.metadata.name.clone(),
                    desired: status.desired_healthy,
                    healthy: status.current_healthy,
                });
            }
            let mut budget = PodDisruptionBudget::clone(&old);
            budget.status.disruptions_allowed -= 1;
            api.write(budget.into());
        }
    }
    api.delete_pod(key, now).map_err(|_| EvictionError::NotFound(key.name.clone()))
}
