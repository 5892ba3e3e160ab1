//! What is particular to pods in requests of clients: which updates are allowed, and evictions.
//!
//! Follows `ValidatePodUpdate` of `pkg/apis/core/validation`; what a budget says to an eviction is the world's.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Deletion, Refusal, check_deletion};
use crate::api::{Kind, NamespacedName, Time};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::resources::ResourceId;
use crate::driver::sandbox::world::budgets::{EvictionError, evict};

/// What the server fills in where a client leaves it out.
const FILLED_IN: [&str; 12] = [
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "schedulerName",
    "terminationGracePeriodSeconds",
    "restartPolicy",
    "dnsPolicy",
    "enableServiceLinks",
    "securityContext",
    "serviceAccountName",
    "serviceAccount",
    "nodeName",
];

const MAY_CHANGE: &str = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                          `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
                          additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set \
                          to 1 if it was previously negative)";

/// Whether a new pod has what every pod must have.
pub(super) fn check_new(resource: ResourceId, key: &NamespacedName, document: &Value) -> Result<(), Refusal> {
    let containers = document.pointer("/spec/containers").and_then(Value::as_array);
    let Some(containers) = containers.filter(|containers| !containers.is_empty()) else {
        return Err(Refusal::invalid(resource, &key.name, "spec.containers", "Required value"));
    };
    for (n, container) in containers.iter().enumerate() {
        for field in ["name", "image"] {
            if container.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
                let field = format!("spec.containers[{n}].{field}");
                return Err(Refusal::invalid(resource, &key.name, &field, "Required value"));
            }
        }
    }
    Ok(())
}

/// Whether a pod may be changed in that way. What the server filled in is filled in again.
pub(super) fn check_update(
    resource: ResourceId,
    key: &NamespacedName,
    old: &Value,
    new: &mut Value,
) -> Result<(), Refusal> {
    let Some(old_spec) = old.get("spec").and_then(Value::as_object) else { return Ok(()) };
    let Some(new_spec) = new.get_mut("spec").and_then(Value::as_object_mut) else {
        return Err(Refusal::invalid(resource, &key.name, "spec", MAY_CHANGE));
    };
    for field in FILLED_IN {
        if let Some(value) = old_spec.get(field)
            && !new_spec.contains_key(field)
        {
            new_spec.insert(field.to_owned(), value.clone());
        }
    }
    let gates = |spec: &serde_json::Map<String, Value>| {
        spec.get("schedulingGates").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (old_gates, new_gates) = (gates(old_spec), gates(new_spec));
    if let Some(added) = new_gates.iter().find(|gate| !old_gates.contains(gate)) {
        let name = added.get("name").and_then(Value::as_str).unwrap_or_default();
        let reason = format!("Forbidden: only deletion is allowed, but found new scheduling gate '{name}'");
        return Err(Refusal::invalid(resource, &key.name, "spec.schedulingGates", &reason));
    }
    let is_gated = !old_gates.is_empty();
    let list = |spec: &serde_json::Map<String, Value>, field: &str| {
        spec.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let tolerations = list(new_spec, "tolerations");
    if list(old_spec, "tolerations").iter().any(|toleration| !tolerations.contains(toleration)) {
        return Err(Refusal::invalid(resource, &key.name, "spec", MAY_CHANGE));
    }
    let rest = |spec: &serde_json::Map<String, Value>| {
        let mut rest = spec.clone();
        let mut free = vec!["tolerations", "schedulingGates", "activeDeadlineSeconds"];
        if is_gated {
            // Directives of scheduling may become narrower while a pod is gated; how much is not looked at.
            free.extend(["nodeSelector", "affinity"]);
        }
        for field in free {
            rest.shift_remove(field);
        }
        for field in ["containers", "initContainers"] {
            for container in rest.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(container) = container.as_object_mut() {
                    container.shift_remove("image");
                    container.shift_remove("imagePullPolicy");
                }
            }
        }
        rest
    };
    if rest(old_spec) == rest(new_spec) {
        Ok(())
    } else {
        Err(Refusal::invalid(resource, &key.name, "spec", MAY_CHANGE))
    }
}

impl SandboxApi {
    /// Deletes a pod unless a disruption budget is in the way.
    pub(super) fn evict_for_client(
        &mut self,
        key: &NamespacedName,
        deletion: &Deletion,
        now: Time,
    ) -> Result<Arc<Value>, Refusal> {
        let resource = ResourceId::of_slim(Kind::Pod).ok_or_else(|| Refusal::bad_request("no pods"))?;
        let old = self.found(resource, key)?;
        check_deletion(resource, key, &old, deletion)?;
        if self.objects().pods.contains_key(key) {
            evict(self, key, deletion.grace_seconds, now)?;
        } else {
            // One that has ended disrupts nothing.
            self.delete_document(resource, key, None, now)?;
        }
        Ok(old)
    }
}

impl From<EvictionError> for Refusal {
    fn from(error: EvictionError) -> Self {
        let message = error.to_string();
        match error {
            EvictionError::NotFound(_) => Self::new(404, "NotFound", message),
            EvictionError::Several => Self::new(500, "InternalError", message),
            EvictionError::Budget { .. } => Self {
                causes: vec![json!({"reason": "DisruptionBudget", "message": error.cause()})],
                ..Self::new(
                    429,
                    "TooManyRequests",
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                )
            },
        }
    }
}
