//! Pods and nodes in a line. What there is no word for is said by `with`, as in a manifest.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::objects::{Node, Pod};

use super::must;

/// Puts a value at a path such as `spec.nodeName`; the objects on the way are made.
fn put(value: &mut Value, path: &str, new: Value) {
    let mut at = value;
    for part in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(part).or_insert(Value::Null);
    }
    *at = new;
}

/// Puts a value under a key that may hold dots.
fn put_key(value: &mut Value, path: &str, key: &str, new: Value) {
    let mut map = path.split('.').fold(&*value, |at, part| at.get(part).unwrap_or(&Value::Null)).clone();
    if !map.is_object() {
        map = json!({});
    }
    if let Some(fields) = map.as_object_mut() {
        fields.insert(key.to_owned(), new);
    }
    put(value, path, map);
}

fn push(value: &mut Value, path: &str, new: Value) {
    let mut list = path.split('.').fold(&*value, |at, part| at.get(part).unwrap_or(&Value::Null)).clone();
    if !list.is_array() {
        list = json!([]);
    }
    if let Some(items) = list.as_array_mut() {
        items.push(new);
    }
    put(value, path, list);
}

macro_rules! common {
    () => {
        /// A label.
        #[must_use]
        pub fn label(mut self, key: &str, value: &str) -> Self {
            put_key(&mut self.value, "metadata.labels", key, value.into());
            self
        }

        /// An annotation.
        #[must_use]
        pub fn annotation(mut self, key: &str, value: &str) -> Self {
            put_key(&mut self.value, "metadata.annotations", key, value.into());
            self
        }

        /// Anything else: a path such as `spec.hostNetwork`, and its value.
        #[must_use]
        pub fn with(mut self, path: &str, value: Value) -> Self {
            put(&mut self.value, path, value);
            self
        }

        /// As a manifest (JSON).
        pub fn manifest(&self) -> String {
            self.value.to_string()
        }
    };
}

/// A pod that is being put together.
#[derive(Clone, Debug)]
pub struct PodBuilder {
    value: Value,
}

/// A pod of that name in the namespace `default`, with one container that asks for nothing. Its uid is its name.
pub fn pod(name: &str) -> PodBuilder {
    PodBuilder {
        value: json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "main", "image": "app"}]},
        }),
    }
}

impl PodBuilder {
    common!();

    /// In another namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.with("metadata.namespace", namespace.into())
    }

    /// What its container asks for, such as `("500m", "1Gi")`.
    #[must_use]
    pub fn requests(self, cpu: &str, memory: &str) -> Self {
        let container = json!([{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]);
        self.with("spec.containers", container)
    }

    /// Its priority.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        self.with("spec.priority", priority.into())
    }

    /// On that node already.
    #[must_use]
    pub fn on(self, node: &str) -> Self {
        self.with("spec.nodeName", node.into())
    }

    /// The profile that is responsible for it.
    #[must_use]
    pub fn scheduler(self, name: &str) -> Self {
        self.with("spec.schedulerName", name.into())
    }

    /// The pod.
    ///
    /// # Panics
    /// If it is no pod.
    #[track_caller]
    pub fn build(&self) -> Arc<Pod> {
        Arc::new(must(serde_json::from_value(self.value.clone()), "a pod"))
    }
}

/// A node that is being put together.
#[derive(Clone, Debug)]
pub struct NodeBuilder {
    value: Value,
}

/// A node of that name with 4 CPUs, 16Gi of memory and room for 110 pods.
pub fn node(name: &str) -> NodeBuilder {
    NodeBuilder {
        value: json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {},
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
        }),
    }
}

impl NodeBuilder {
    common!();

    /// Other amounts of CPU and memory, such as `("8", "32Gi")`.
    #[must_use]
    pub fn allocatable(self, cpu: &str, memory: &str) -> Self {
        self.with("status.allocatable", json!({"cpu": cpu, "memory": memory, "pods": "110"}))
    }

    /// A taint.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        push(&mut self.value, "spec.taints", json!({"key": key, "value": value, "effect": effect}));
        self
    }

    /// Cordoned.
    #[must_use]
    pub fn cordoned(self) -> Self {
        self.with("spec.unschedulable", true.into())
    }

    /// The node.
    ///
    /// # Panics
    /// If it is no node.
    #[track_caller]
    pub fn build(&self) -> Arc<Node> {
        Arc::new(must(serde_json::from_value(self.value.clone()), "a node"))
    }
}
