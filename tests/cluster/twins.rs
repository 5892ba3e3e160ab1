//! The same pods for the real scheduler and for this one: what is left of them is the same.
//!
//! Each has a node of its own, so that there is no choice. Compared are statuses, Events, volumes and claims, without
//! times, uids and the names that tell the twins apart.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{ControlPlane, Live, Options, is_skipped, wait_for};
use super::operate::{events_of, status_of};

const PATIENCE: Duration = Duration::from_secs(40);
const TWINS: [(&str, &str); 2] = [("real", "default-scheduler"), ("ours", "ours")];

/// A cluster with a node for each of two schedulers.
struct Twins {
    cluster: ControlPlane,
    live: Option<Live>,
    _config: tempfile::NamedTempFile,
}

impl Twins {
    fn start() -> Self {
        let cluster = ControlPlane::start(Options { has_scheduler: true, ..Options::default() });
        for (twin, _) in TWINS {
            cluster.create_node(&format!("n-{twin}"), "z0");
        }
        let config = tempfile::NamedTempFile::new().unwrap();
        let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                    leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: ours\n";
        std::fs::write(config.path(), text).unwrap();
        let arguments = ["--operate", "--config", config.path().to_str().unwrap()];
        let live = Live::start(&cluster.kubeconfig(), &arguments);
        Self { cluster, live: Some(live), _config: config }
    }

    /// Makes the pod for each; what is in it may depend on which.
    fn pods(&self, name: &str, cpu: &str, more: impl Fn(&str) -> Value) {
        for (twin, scheduler) in TWINS {
            let mut spec = json!({"nodeSelector": {"kubernetes.io/hostname": format!("n-{twin}")}});
            spec.as_object_mut().unwrap().extend(more(twin).as_object().unwrap().clone());
            self.cluster.create_pod_with(&format!("{name}-{twin}"), scheduler, cpu, spec);
        }
    }

    fn pod(&self, name: &str, twin: &str) -> Value {
        self.cluster.pod(&format!("{name}-{twin}")).unwrap_or_default()
    }

    #[track_caller]
    fn wait(&self, what: &str, name: &str, holds: impl Fn(&Value) -> bool) {
        for (twin, _) in TWINS {
            wait_for(&format!("{name}-{twin} {what}"), PATIENCE, || holds(&self.pod(name, twin)));
        }
    }

    #[track_caller]
    fn wait_bound(&self, name: &str) {
        self.wait("is bound", name, |pod| pod["spec"].get("nodeName").is_some());
    }

    /// Compares statuses now, and Events when each has as many as the other.
    #[track_caller]
    fn same(&self, name: &str) {
        let seen = |twin: &str| {
            let pod = self.pod(name, twin);
            let events = events_of(&self.cluster, &format!("{name}-{twin}"));
            (common(&status_of(&pod), twin), common(&json!(events), twin))
        };
        let end = std::time::Instant::now() + PATIENCE;
        while seen("real") != seen("ours") && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(300));
        }
        let (real, ours) = (seen("real"), seen("ours"));
        assert_eq!(ours.0, real.0, "{name}: status");
        assert_eq!(ours.1, real.1, "{name}: Events");
        assert_ne!(real.1, json!([]), "{name}: there are no Events");
    }

    fn end(mut self) {
        assert_eq!(self.live.take().unwrap().end(), Some(0));
    }
}

/// The value without what tells the twins apart.
fn common(value: &Value, twin: &str) -> Value {
    // A victim is told by whom.
    let text = value.to_string().replace(&format!("-{twin}"), "-TWIN");
    let text = text.replace("\"ours: ", "\"SCHEDULER: ").replace("\"default-scheduler: ", "\"SCHEDULER: ");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    strip(&mut value);
    value
}

/// Such as `8931dea5-0956-426d-bd31-d03429c06440`, in a text.
fn without_uids(text: &str) -> String {
    let is_uid = |word: &str| word.len() == 36 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    text.split(' ').map(|word| if is_uid(word) { "UID" } else { word }).collect::<Vec<_>>().join(" ")
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for field in
                ["uid", "resourceVersion", "creationTimestamp", "managedFields", "allocationTimestamp"]
            {
                fields.remove(field);
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::String(text) => *text = without_uids(text),
        _ => {}
    }
}

#[test]
fn preemption_leaves_the_same_nomination_victim_and_events() {
    if is_skipped() {
        return;
    }
    let twins = Twins::start();
    twins.cluster.create(
        "priorityclasses",
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "high"}, "value": 1000,
        }),
    );
    twins.pods("low", "3", |_| json!({}));
    twins.wait_bound("low");
    // A victim that takes its time.
    let hold = |finalizers: Value| {
        for (twin, _) in TWINS {
            let path = format!("/api/v1/namespaces/default/pods/low-{twin}");
            let patch = json!({"metadata": {"finalizers": finalizers}});
            twins.cluster.send("PATCH", &path, "application/merge-patch+json", &patch).unwrap();
        }
    };
    hold(json!(["example.com/hold"]));
    twins.pods("high", "3", |_| json!({"priorityClassName": "high"}));
    twins.wait("is nominated", "high", |pod| pod["status"].get("nominatedNodeName").is_some());
    twins.wait("is being deleted", "low", |pod| pod["metadata"].get("deletionTimestamp").is_some());
    twins.same("high");
    twins.same("low");
    assert_eq!(twins.pod("high", "ours")["status"]["nominatedNodeName"], "n-ours");
    hold(Value::Null);
    twins.wait_bound("high");
    // The victim that goes first wakes the other twin as well, which then may try once more before its own has gone.
    let status = |twin| common(&status_of(&twins.pod("high", twin)), twin);
    assert_eq!(status("ours"), status("real"));
    twins.end();
}

#[test]
fn volumes_are_bound_and_asked_for_the_same_way() {
    if is_skipped() {
        return;
    }
    let twins = Twins::start();
    let cluster = &twins.cluster;
    for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "example.com/made")] {
        cluster.create(
            "storageclasses",
            json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
            }),
        );
    }
    for (twin, _) in TWINS {
        cluster.create(
            "persistentvolumes",
            volume(&format!("local-{twin}"), "local", &format!("n-{twin}"), None),
        );
        cluster.make_available(&format!("local-{twin}"));
        for class in ["local", "made"] {
            cluster.create(
                "persistentvolumeclaims",
                json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "metadata": {"name": format!("{class}-{twin}"), "namespace": "default"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }),
            );
        }
    }
    for class in ["local", "made"] {
        twins.pods(class, "10m", |twin| {
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": format!("{class}-{twin}")}}]})
        });
    }
    twins.pods(
        "lacks",
        "10m",
        |_| json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nowhere"}}]}),
    );
    twins.wait("is told", "lacks", |pod| !pod["status"]["conditions"].is_null());
    twins.same("lacks");
    let volume_of = |name: &str| {
        let volumes = cluster.list("v1", "PersistentVolume", "persistentvolumes", None);
        volumes.into_iter().find(|volume| volume["metadata"]["name"] == name).unwrap()
    };
    let claim_of = |name: &str| {
        let claims = cluster.list("v1", "PersistentVolumeClaim", "persistentvolumeclaims", Some("default"));
        claims.into_iter().find(|claim| claim["metadata"]["name"] == name).unwrap()
    };
    for (twin, _) in TWINS {
        let name = format!("local-{twin}");
        wait_for("the volume is kept", PATIENCE, || volume_of(&name)["spec"].get("claimRef").is_some());
        let name = format!("made-{twin}");
        let key = "volume.kubernetes.io/selected-node";
        wait_for("the volume is asked for", PATIENCE, || {
            claim_of(&name)["metadata"]["annotations"].get(key).is_some()
        });
    }
    let left = |twin: &str| {
        let (local, made) = (format!("local-{twin}"), format!("made-{twin}"));
        common(&json!([volume_of(&local), claim_of(&local), claim_of(&made)]), twin)
    };
    assert_eq!(left("ours"), left("real"));
    // What the controller of volumes does then.
    for (twin, _) in TWINS {
        let claim = claim_of(&format!("made-{twin}"));
        cluster.create(
            "persistentvolumes",
            volume(&format!("made-{twin}"), "made", &format!("n-{twin}"), Some(&claim)),
        );
        for class in ["local", "made"] {
            let name = format!("{class}-{twin}");
            let mut claim = claim_of(&name);
            claim["spec"]["volumeName"] = json!(name);
            claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
            let path = format!("/api/v1/namespaces/default/persistentvolumeclaims/{name}");
            let mut claim = cluster.send("PUT", &path, "application/json", &claim).unwrap();
            claim["status"] = json!({
                "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            });
            cluster.send("PUT", &format!("{path}/status"), "application/json", &claim).unwrap();
        }
    }
    for class in ["local", "made"] {
        twins.wait_bound(class);
        twins.same(class);
    }
    assert_eq!(left("ours"), left("real"));
    twins.end();
}

fn volume(name: &str, class: &str, node: &str, claim: Option<&Value>) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
            ]}]}},
        },
    });
    if let Some(claim) = claim {
        let metadata = &claim["metadata"];
        volume["spec"]["claimRef"] = json!({
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": metadata["namespace"],
            "name": metadata["name"], "uid": metadata["uid"],
        });
    }
    volume
}

#[test]
fn devices_are_given_and_reserved_the_same_way() {
    if is_skipped() {
        return;
    }
    let twins = Twins::start();
    let cluster = &twins.cluster;
    for (twin, _) in TWINS {
        let (node, class) = (format!("n-{twin}"), format!("gpu-{twin}"));
        cluster.create(
            "resourceslices",
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
                "spec": {
                    "driver": "gpu.example.com", "nodeName": node,
                    "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": "d0"}, {"name": "d1"}],
                },
            }),
        );
        cluster.create(
            "deviceclasses",
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": class},
                "spec": {
                    "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
                    "extendedResourceName": format!("example.com/{class}"),
                },
            }),
        );
        for (name, count) in [("one", 1), ("many", 9)] {
            cluster.create(
                "resourceclaims",
                json!({
                    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                    "metadata": {"name": format!("{name}-{twin}"), "namespace": "default"},
                    "spec": {"devices": {"requests": [
                        {"name": "r", "exactly": {"deviceClassName": class, "count": count}},
                    ]}},
                }),
            );
        }
    }
    for name in ["one", "many"] {
        twins.pods(
            name,
            "10m",
            |twin| json!({"resourceClaims": [{"name": "r", "resourceClaimName": format!("{name}-{twin}")}]}),
        );
    }
    twins.pods("extended", "10m", |twin| {
        let device = json!({format!("example.com/gpu-{twin}"): "1"});
        json!({"containers": [{"name": "c", "image": "x", "resources": {"requests": device, "limits": device}}]})
    });
    for name in ["one", "extended"] {
        twins.wait_bound(name);
    }
    twins.wait("is told", "many", |pod| !pod["status"]["conditions"].is_null());
    for name in ["many", "one"] {
        twins.same(name);
    }
    let claims = |twin: &str| {
        let mut claims: Vec<Value> = cluster
            .list("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", Some("default"))
            .into_iter()
            .filter(|claim| claim["metadata"]["name"].as_str().unwrap().contains(&format!("-{twin}")))
            .map(|mut claim| {
                // The rest of a name that the server has made.
                if claim["metadata"].get("generateName").is_some() {
                    claim["metadata"]["name"] = Value::Null;
                }
                common(&claim, twin)
            })
            .collect();
        claims.sort_by_key(|claim| claim["metadata"]["name"].to_string());
        claims
    };
    let (ours, real) = (claims("ours"), claims("real"));
    assert_eq!(real.len(), 3, "a claim was made for the extended resource");
    // Which of two like devices it is, is no difference.
    let text = |claims: &[Value]| json!(claims).to_string().replace("\"d1\"", "\"d0\"");
    assert_eq!(text(&ours), text(&real));
    twins.end();
}
