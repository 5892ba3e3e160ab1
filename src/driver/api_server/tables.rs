//! The columns of `kubectl get`, kind by kind.
//!
//! Titles, order and texts follow `pkg/printers/internalversion/printers.go` of Kubernetes v1.36. A kind without a table
//! of its own has its name and when it was made.

use serde_json::{Value, json};

use super::table::{Column, age, human};
use crate::api::Time;
use crate::driver::sandbox::resources::ResourceId;

const fn text(title: &'static str) -> Column {
    Column { title, type_: "string", is_wide: false }
}

const fn number(title: &'static str) -> Column {
    Column { title, type_: "integer", is_wide: false }
}

const fn wide(title: &'static str) -> Column {
    Column { title, type_: "string", is_wide: true }
}

const NAME: Column = text("Name");
const AGE: Column = text("Age");

/// The columns of a resource.
pub(super) fn columns(id: ResourceId) -> Vec<Column> {
    match id.get().kind {
        "Pod" => vec![
            NAME,
            text("Ready"),
            text("Status"),
            text("Restarts"),
            AGE,
            wide("IP"),
            wide("Node"),
            wide("Nominated Node"),
            wide("Readiness Gates"),
        ],
        "Node" => vec![
            NAME,
            text("Status"),
            text("Roles"),
            AGE,
            text("Version"),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ],
        "Namespace" => vec![NAME, text("Status"), AGE],
        "Deployment" => vec![
            NAME,
            text("Ready"),
            number("Up-to-date"),
            number("Available"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        "ReplicaSet" | "ReplicationController" => vec![
            NAME,
            number("Desired"),
            number("Current"),
            number("Ready"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        "StatefulSet" => vec![NAME, text("Ready"), AGE, wide("Containers"), wide("Images")],
        "DaemonSet" => vec![
            NAME,
            number("Desired"),
            number("Current"),
            number("Ready"),
            number("Up-to-date"),
            number("Available"),
            text("Node Selector"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        "Job" => vec![
            NAME,
            text("Status"),
            text("Completions"),
            text("Duration"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        "CronJob" => vec![
            NAME,
            text("Schedule"),
            text("Timezone"),
            Column { title: "Suspend", type_: "boolean", is_wide: false },
            number("Active"),
            text("Last Schedule"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        "PodDisruptionBudget" => {
            vec![NAME, text("Min Available"), text("Max Unavailable"), number("Allowed Disruptions"), AGE]
        }
        "PersistentVolume" => vec![
            NAME,
            text("Capacity"),
            text("Access Modes"),
            text("Reclaim Policy"),
            text("Status"),
            text("Claim"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            text("Reason"),
            AGE,
            wide("VolumeMode"),
        ],
        "PersistentVolumeClaim" => vec![
            NAME,
            text("Status"),
            text("Volume"),
            text("Capacity"),
            text("Access Modes"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode"),
        ],
        "StorageClass" => vec![
            NAME,
            text("Provisioner"),
            text("ReclaimPolicy"),
            text("VolumeBindingMode"),
            Column { title: "AllowVolumeExpansion", type_: "boolean", is_wide: false },
            AGE,
        ],
        "Service" => vec![
            NAME,
            text("Type"),
            text("Cluster-IP"),
            text("External-IP"),
            text("Port(s)"),
            AGE,
            wide("Selector"),
        ],
        "Event" => vec![
            text("Last Seen"),
            text("Type"),
            text("Reason"),
            text("Object"),
            wide("Subobject"),
            wide("Source"),
            text("Message"),
            wide("First Seen"),
            Column { title: "Count", type_: "integer", is_wide: true },
            Column { title: "Name", type_: "string", is_wide: true },
        ],
        "ConfigMap" => vec![NAME, number("Data"), AGE],
        "Secret" => vec![NAME, text("Type"), number("Data"), AGE],
        "ServiceAccount" => vec![NAME, number("Secrets"), AGE],
        "Lease" => vec![NAME, text("Holder"), AGE],
        "PriorityClass" => vec![
            NAME,
            number("Value"),
            Column { title: "Global-Default", type_: "boolean", is_wide: false },
            AGE,
            text("PreemptionPolicy"),
        ],
        "CSINode" => vec![NAME, number("Drivers"), AGE],
        "ResourceClaim" => vec![NAME, text("State"), AGE],
        "ResourceSlice" => vec![NAME, text("Node"), text("Driver"), text("Pool"), AGE],
        "ResourceClaimTemplate" | "DeviceClass" => vec![NAME, AGE],
        _ => vec![NAME, text("Created At")],
    }
}

/// A place in a document.
struct At<'a>(&'a Value);

impl At<'_> {
    fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    /// A text or a number as text; empty if there is none.
    fn text(&self, pointer: &str) -> String {
        plain(self.get(pointer)).unwrap_or_default()
    }

    /// The same with another text where there is none.
    fn or(&self, pointer: &str, absent: &str) -> String {
        plain(self.get(pointer)).filter(|text| !text.is_empty()).unwrap_or_else(|| absent.to_owned())
    }

    fn number(&self, pointer: &str) -> i64 {
        self.get(pointer).and_then(Value::as_i64).unwrap_or_default()
    }

    fn is(&self, pointer: &str) -> bool {
        self.get(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.get(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn n_fields(&self, pointer: &str) -> usize {
        self.get(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len)
    }
}

fn plain(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        value => Some(value.to_string()),
    }
}

/// The cells of a row.
pub(super) fn cells(id: ResourceId, document: &Value, now: Time) -> Vec<Value> {
    let at = At(document);
    let name = at.text("/metadata/name");
    let made = age(at.get("/metadata/creationTimestamp"), now);
    let cells = match id.get().kind {
        "Pod" => pod(&at, &name, &made),
        "Node" => node(&at, &name, &made),
        "Namespace" => json!([name, at.or("/status/phase", "Active"), made]),
        "Deployment" => {
            let ready = format!("{}/{}", at.number("/status/readyReplicas"), at.number("/spec/replicas"));
            let template = template(&at, "/spec/template");
            json!([
                name,
                ready,
                at.number("/status/updatedReplicas"),
                at.number("/status/availableReplicas"),
                made,
                template.0,
                template.1,
                selector(&at, "/spec/selector"),
            ])
        }
        "ReplicaSet" | "ReplicationController" => {
            let template = template(&at, "/spec/template");
            json!([
                name,
                at.number("/spec/replicas"),
                at.number("/status/replicas"),
                at.number("/status/readyReplicas"),
                made,
                template.0,
                template.1,
                selector(&at, "/spec/selector"),
            ])
        }
        "StatefulSet" => {
            let ready = format!("{}/{}", at.number("/status/readyReplicas"), at.number("/spec/replicas"));
            let template = template(&at, "/spec/template");
            json!([name, ready, made, template.0, template.1])
        }
        "DaemonSet" => {
            let template = template(&at, "/spec/template");
            json!([
                name,
                at.number("/status/desiredNumberScheduled"),
                at.number("/status/currentNumberScheduled"),
                at.number("/status/numberReady"),
                at.number("/status/updatedNumberScheduled"),
                at.number("/status/numberAvailable"),
                pairs(at.get("/spec/template/spec/nodeSelector")),
                made,
                template.0,
                template.1,
                selector(&at, "/spec/selector"),
            ])
        }
        "Job" => job(&at, &name, &made, now),
        "CronJob" => {
            let last = at.get("/status/lastScheduleTime");
            let last = if last.is_none() { "<none>".to_owned() } else { age(last, now) };
            let template = template(&at, "/spec/jobTemplate/spec/template");
            json!([
                name,
                at.text("/spec/schedule"),
                at.or("/spec/timeZone", "<none>"),
                at.is("/spec/suspend"),
                at.list("/status/active").len(),
                last,
                made,
                template.0,
                template.1,
                selector(&at, "/spec/jobTemplate/spec/selector"),
            ])
        }
        "PodDisruptionBudget" => json!([
            name,
            at.or("/spec/minAvailable", "N/A"),
            at.or("/spec/maxUnavailable", "N/A"),
            at.number("/status/disruptionsAllowed"),
            made,
        ]),
        "PersistentVolume" => {
            let claim = [at.text("/spec/claimRef/namespace"), at.text("/spec/claimRef/name")];
            let claim = if claim[1].is_empty() { String::new() } else { claim.join("/") };
            json!([
                name,
                at.text("/spec/capacity/storage"),
                modes(at.list("/spec/accessModes")),
                at.or("/spec/persistentVolumeReclaimPolicy", "Retain"),
                phase(&at, &at.or("/status/phase", "Available")),
                claim,
                at.text("/spec/storageClassName"),
                at.or("/spec/volumeAttributesClassName", "<unset>"),
                at.text("/status/reason"),
                made,
                at.or("/spec/volumeMode", "Filesystem"),
            ])
        }
        "PersistentVolumeClaim" => json!([
            name,
            phase(&at, &at.or("/status/phase", "Pending")),
            at.text("/spec/volumeName"),
            at.text("/status/capacity/storage"),
            modes(at.list("/status/accessModes")),
            at.text("/spec/storageClassName"),
            at.or("/spec/volumeAttributesClassName", "<unset>"),
            made,
            at.or("/spec/volumeMode", "Filesystem"),
        ]),
        "StorageClass" => {
            let annotations = at.get("/metadata/annotations");
            let is_default = annotations.is_some_and(|annotations| {
                annotations["storageclass.kubernetes.io/is-default-class"] == "true"
            });
            let name = if is_default { format!("{name} (default)") } else { name };
            json!([
                name,
                at.text("/provisioner"),
                at.or("/reclaimPolicy", "Delete"),
                at.or("/volumeBindingMode", "Immediate"),
                at.is("/allowVolumeExpansion"),
                made,
            ])
        }
        "Service" => service(&at, &name, &made),
        "Event" => event(&at, &name, now),
        "ConfigMap" => json!([name, at.n_fields("/data") + at.n_fields("/binaryData"), made]),
        "Secret" => json!([name, at.or("/type", "Opaque"), at.n_fields("/data"), made]),
        "ServiceAccount" => json!([name, at.list("/secrets").len(), made]),
        "Lease" => json!([name, at.text("/spec/holderIdentity"), made]),
        "PriorityClass" => json!([
            name,
            at.number("/value"),
            at.is("/globalDefault"),
            made,
            at.or("/preemptionPolicy", "PreemptLowerPriority"),
        ]),
        "CSINode" => json!([name, at.list("/spec/drivers").len(), made]),
        "ResourceClaim" => json!([name, claim_state(&at), made]),
        "ResourceSlice" => json!([
            name,
            at.or("/spec/nodeName", "<unset>"),
            at.text("/spec/driver"),
            at.text("/spec/pool/name"),
            made,
        ]),
        "ResourceClaimTemplate" | "DeviceClass" => json!([name, made]),
        _ => json!([name, at.text("/metadata/creationTimestamp")]),
    };
    match cells {
        Value::Array(cells) => cells,
        other => vec![other],
    }
}

fn pod(at: &At<'_>, name: &str, made: &str) -> Value {
    let statuses = at.list("/status/containerStatuses");
    let is_ready = at
        .list("/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let n_ready = if is_ready {
        // A kubelet of the sandbox says so of the pod as a whole.
        at.list("/spec/containers").len()
    } else {
        statuses.iter().filter(|status| status["ready"] == true).count()
    };
    let restarts: i64 = statuses.iter().filter_map(|status| status["restartCount"].as_i64()).sum();
    let gates = at.list("/spec/readinessGates");
    json!([
        name,
        format!("{n_ready}/{}", at.list("/spec/containers").len()),
        pod_status(at),
        restarts.to_string(),
        made,
        at.or("/status/podIP", "<none>"),
        at.or("/spec/nodeName", "<none>"),
        at.or("/status/nominatedNodeName", "<none>"),
        if gates.is_empty() { "<none>".to_owned() } else { format!("0/{}", gates.len()) },
    ])
}

/// The word for how a pod is doing.
fn pod_status(at: &At<'_>) -> String {
    if at.get("/metadata/deletionTimestamp").is_some() {
        return "Terminating".to_owned();
    }
    let phase = at.or("/status/phase", "Pending");
    let reason = at.or("/status/reason", &phase);
    let is_gated = at
        .list("/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
    if is_gated {
        return "SchedulingGated".to_owned();
    }
    let statuses = at.list("/status/containerStatuses").iter();
    let mut said = statuses.filter_map(|status| {
        let place = At(status);
        let waiting = place.text("/state/waiting/reason");
        let ended = place.text("/state/terminated/reason");
        [waiting, ended].into_iter().find(|reason| !reason.is_empty())
    });
    said.next().unwrap_or(reason)
}

fn node(at: &At<'_>, name: &str, made: &str) -> Value {
    let ready = at.list("/status/conditions").iter().find(|condition| condition["type"] == "Ready");
    let mut status = match ready.map(|condition| condition["status"] == "True") {
        Some(true) => "Ready".to_owned(),
        Some(false) => "NotReady".to_owned(),
        // Everything here takes a node that says nothing of itself to be well.
        None => "Ready".to_owned(),
    };
    if at.is("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles: Vec<String> = Vec::new();
    for (label, value) in at.get("/metadata/labels").and_then(Value::as_object).into_iter().flatten() {
        if let Some(role) = label.strip_prefix("node-role.kubernetes.io/").filter(|role| !role.is_empty()) {
            roles.push(role.to_owned());
        } else if label == "kubernetes.io/role"
            && let Some(role) = value.as_str().filter(|role| !role.is_empty())
        {
            roles.push(role.to_owned());
        }
    }
    roles.sort_unstable();
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") };
    let address = |type_: &str| {
        let addresses = at.list("/status/addresses").iter();
        let found =
            addresses.filter(|address| address["type"] == type_).find_map(|it| it["address"].as_str());
        found.unwrap_or("<none>").to_owned()
    };
    let info = |field: &str| at.or(&format!("/status/nodeInfo/{field}"), "<unknown>");
    json!([
        name,
        status,
        roles,
        made,
        at.text("/status/nodeInfo/kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ])
}

fn job(at: &At<'_>, name: &str, made: &str, now: Time) -> Value {
    let has = |type_: &str| {
        let conditions = at.list("/status/conditions").iter();
        conditions.into_iter().any(|condition| condition["type"] == type_ && condition["status"] == "True")
    };
    let status = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if at.get("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    let succeeded = at.number("/status/succeeded");
    let completions = match (at.get("/spec/completions"), at.number("/spec/parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let time = |pointer: &str| at.get(pointer).and_then(Value::as_str).and_then(Time::parse_rfc3339);
    let duration = time("/status/startTime").map_or_else(String::new, |start| {
        let end = time("/status/completionTime").unwrap_or(now);
        human(end.max(start) - start)
    });
    let template = template(at, "/spec/template");
    json!([name, status, completions, duration, made, template.0, template.1, selector(at, "/spec/selector")])
}

fn service(at: &At<'_>, name: &str, made: &str) -> Value {
    let ports: Vec<String> = at
        .list("/spec/ports")
        .iter()
        .map(|port| {
            let port = At(port);
            let node_port = plain(port.get("/nodePort")).map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{node_port}/{}", port.text("/port"), port.or("/protocol", "TCP"))
        })
        .collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    let type_ = at.or("/spec/type", "ClusterIP");
    let external = match type_.as_str() {
        "LoadBalancer" => "<pending>".to_owned(),
        "ExternalName" => at.or("/spec/externalName", "<none>"),
        _ => "<none>".to_owned(),
    };
    json!([
        name,
        type_,
        at.or("/spec/clusterIP", "<none>"),
        external,
        ports,
        made,
        pairs(at.get("/spec/selector")),
    ])
}

fn event(at: &At<'_>, name: &str, now: Time) -> Value {
    // Both forms of Events come here.
    let place = |core: &str, other: &str| at.get(core).or_else(|| at.get(other));
    let text = |core: &str, other: &str| plain(place(core, other)).unwrap_or_default();
    let first = at
        .get("/eventTime")
        .or_else(|| place("/firstTimestamp", "/deprecatedFirstTimestamp"))
        .or_else(|| at.get("/metadata/creationTimestamp"));
    let count = at.get("/series/count").or_else(|| place("/count", "/deprecatedCount"));
    let count = count.and_then(Value::as_i64).filter(|count| *count > 0).unwrap_or(1);
    let last = at
        .get("/series/lastObservedTime")
        .or_else(|| place("/lastTimestamp", "/deprecatedLastTimestamp"))
        .or(first);
    let last = if count > 1 {
        format!("{} (x{count} over {})", age(last, now), age(first, now))
    } else {
        age(last, now)
    };
    let kind = text("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let object = format!("{kind}/{}", text("/involvedObject/name", "/regarding/name"));
    let source = text("/reportingComponent", "/reportingController");
    let source =
        if source.is_empty() { text("/source/component", "/deprecatedSource/component") } else { source };
    json!([
        last,
        at.text("/type"),
        at.text("/reason"),
        object,
        text("/involvedObject/fieldPath", "/regarding/fieldPath"),
        source,
        text("/message", "/note").trim(),
        age(first, now),
        count,
        name,
    ])
}

fn claim_state(at: &At<'_>) -> String {
    let mut states = Vec::new();
    if at.get("/metadata/deletionTimestamp").is_some() {
        states.push("deleted");
    }
    if at.get("/status/allocation").is_none() {
        if states.is_empty() {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if !at.list("/status/reservedFor").is_empty() {
            states.push("reserved");
        }
    }
    states.join(",")
}

/// The names of containers and images of a template.
fn template(at: &At<'_>, pointer: &str) -> (String, String) {
    let containers = at.list(&format!("{pointer}/spec/containers"));
    let joined = |field: &str| {
        let texts: Vec<&str> = containers.iter().filter_map(|container| container[field].as_str()).collect();
        texts.join(",")
    };
    (joined("name"), joined("image"))
}

/// A selector as kubectl writes it.
fn selector(at: &At<'_>, pointer: &str) -> String {
    let Some(selector) = at.get(pointer) else { return "<none>".to_owned() };
    let has_parts = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    if !has_parts {
        return pairs(Some(selector));
    }
    let mut terms = Vec::new();
    if let Some(labels) = selector.get("matchLabels") {
        terms.push(pairs(Some(labels)));
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let texts = |field: &str| {
            let values = expression[field].as_array().into_iter().flatten().filter_map(Value::as_str);
            values.collect::<Vec<_>>().join(",")
        };
        let key = expression["key"].as_str().unwrap_or_default();
        terms.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", texts("values")),
            "NotIn" => format!("{key} notin ({})", texts("values")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    if terms.is_empty() { "<none>".to_owned() } else { terms.join(",") }
}

/// `a=b,c=d`, in the order of the keys.
fn pairs(map: Option<&Value>) -> String {
    let map = map.and_then(Value::as_object);
    let mut pairs: Vec<String> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort_unstable();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// Access modes in their short form.
fn modes(modes: &[Value]) -> String {
    let short = |mode: &Value| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO".to_owned(),
        "ReadOnlyMany" => "ROX".to_owned(),
        "ReadWriteMany" => "RWX".to_owned(),
        "ReadWriteOncePod" => "RWOP".to_owned(),
        other => other.to_owned(),
    };
    modes.iter().map(short).collect::<Vec<_>>().join(",")
}

fn phase(at: &At<'_>, phase: &str) -> String {
    if at.get("/metadata/deletionTimestamp").is_some() { "Terminating".to_owned() } else { phase.to_owned() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn row(group: &str, plural: &str, document: &Value) -> Vec<Value> {
        let now = Time::parse_rfc3339("2026-01-01T00:10:00Z").unwrap();
        let id = ResourceId::of(group, plural).unwrap();
        let cells = cells(id, document, now);
        assert_eq!(cells.len(), columns(id).len(), "{plural}");
        cells
    }

    #[test]
    fn every_row_has_as_many_cells_as_there_are_columns() {
        for id in ResourceId::all() {
            row(id.get().group, id.get().plural, &json!({"metadata": {"name": "x"}}));
        }
    }

    #[test]
    fn rows_are_those_of_kubectl() {
        let made = json!({"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"});
        let pod = json!({
            "metadata": made, "spec": {"nodeName": "n1", "containers": [{}, {}]},
            "status": {"phase": "Running", "containerStatuses": [{"ready": true, "restartCount": 2}]},
        });
        assert_eq!(
            row("", "pods", &pod),
            ["x", "1/2", "Running", "2", "10m", "<none>", "n1", "<none>", "<none>"].map(Value::from)
        );
        let node = json!({
            "metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/worker": ""}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        assert_eq!(row("", "nodes", &node)[1..3], ["Ready,SchedulingDisabled", "worker"].map(Value::from));
        let event = json!({
            "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Warning",
            "reason": "FailedScheduling", "involvedObject": {"kind": "Pod", "name": "x"}, "message": "0/1",
            "series": {"count": 3, "lastObservedTime": "2026-01-01T00:09:00.000000Z"},
        });
        let cells = row("", "events", &event);
        assert_eq!(cells[0], "60s (x3 over 10m)");
        assert_eq!(cells[3], "pod/x");
        let gated = json!({
            "metadata": made,
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        });
        assert_eq!(row("", "pods", &gated)[2], "SchedulingGated");
    }
}
