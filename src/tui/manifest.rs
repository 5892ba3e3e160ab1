//! Manifests of pods and nodes from a few words, for `:add-pod` and `:add-node`.
//!
//! Whether a quantity or a name is right is not decided here: the session reads the manifest and answers.

use serde_json::{Map, Value, json};

use crate::api::NamespacedName;

use super::suggest::nearest;

/// How many pods one command adds at most.
const MAX_COUNT: u32 = 1_000;

/// Pods from settings such as `cpu=500m`, `memory=1Gi`, `priority=100`, `count=3`, `image=nginx`,
/// `example.com/gpu=1`, `label:app=web` and `select:disk=ssd`.
pub fn pods(key: &NamespacedName, settings: &[&str]) -> Result<String, String> {
    let mut requests = Map::new();
    let mut labels = Map::new();
    let mut selector = Map::new();
    let mut image = "registry.k8s.io/pause:3.10";
    let mut priority = None;
    let mut count = 1;
    for setting in settings {
        let (name, value) = split(setting)?;
        match name.split_once(':') {
            Some(("label", label)) => drop(labels.insert(label.to_owned(), value.into())),
            Some(("select", label)) => drop(selector.insert(label.to_owned(), value.into())),
            _ => match name {
                "cpu" | "memory" | "ephemeral-storage" => {
                    drop(requests.insert(name.to_owned(), value.into()))
                }
                "priority" => priority = Some(number::<i32>(name, value)?),
                "image" => image = value,
                "count" => count = number::<u32>(name, value)?,
                name if name.contains('/') => drop(requests.insert(name.to_owned(), value.into())),
                name => {
                    let known = [
                        "cpu",
                        "memory",
                        "ephemeral-storage",
                        "priority",
                        "image",
                        "count",
                        "label:",
                        "select:",
                    ];
                    return Err(format!("unknown setting {name:?}{}", nearest(name, known)));
                }
            },
        }
    }
    if !(1..=MAX_COUNT).contains(&count) {
        return Err(format!("count is from 1 to {MAX_COUNT}"));
    }
    let pod = |name: String| {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": name, "namespace": &*key.namespace, "labels": labels },
            "spec": { "containers": [{ "name": "main", "image": image, "resources": { "requests": requests } }] },
        });
        if let Some(priority) = priority {
            pod["spec"]["priority"] = priority.into();
        }
        if !selector.is_empty() {
            pod["spec"]["nodeSelector"] = selector.clone().into();
        }
        pod
    };
    let items: Vec<Value> = match count {
        1 => vec![pod(key.name.to_string())],
        n => (0..n).map(|index| pod(format!("{}-{index}", key.name))).collect(),
    };
    Ok(list(&items))
}

/// A node from settings such as `cpu=8`, `memory=32Gi`, `pods=110`, `zone=a`, `example.com/gpu=4` and
/// `label:disk=ssd`.
pub fn node(name: &str, settings: &[&str]) -> Result<String, String> {
    let mut amounts = Map::new();
    for (resource, amount) in [("cpu", "4"), ("memory", "16Gi"), ("pods", "110")] {
        amounts.insert(resource.to_owned(), amount.into());
    }
    let mut labels = Map::new();
    labels.insert("kubernetes.io/hostname".to_owned(), name.into());
    for setting in settings {
        let (name, value) = split(setting)?;
        match name.split_once(':') {
            Some(("label", label)) => drop(labels.insert(label.to_owned(), value.into())),
            _ => match name {
                "cpu" | "memory" | "ephemeral-storage" | "pods" => {
                    drop(amounts.insert(name.to_owned(), value.into()))
                }
                "zone" => drop(labels.insert("topology.kubernetes.io/zone".to_owned(), value.into())),
                name if name.contains('/') => drop(amounts.insert(name.to_owned(), value.into())),
                name => {
                    let known = ["cpu", "memory", "ephemeral-storage", "pods", "zone", "label:"];
                    return Err(format!("unknown setting {name:?}{}", nearest(name, known)));
                }
            },
        }
    }
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "labels": labels },
        "status": { "capacity": amounts, "allocatable": amounts },
    });
    Ok(list(&[node]))
}

fn list(items: &[Value]) -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

fn split(setting: &str) -> Result<(&str, &str), String> {
    match setting.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name, value)),
        _ => Err(format!("{setting:?} is not of the form NAME=VALUE")),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} is a whole number, not {value:?}"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a manifest that is not JSON is a failure of the test")]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Value> {
        let list: Value = serde_json::from_str(text).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    #[test]
    fn a_pod_says_what_was_typed() {
        let key = NamespacedName::new("shop", "web");
        let text = pods(&key, &["cpu=500m", "example.com/gpu=1", "priority=-5", "select:disk=ssd"]).unwrap();
        let [pod] = items(&text).try_into().unwrap();
        assert_eq!(pod["metadata"]["namespace"], "shop");
        assert_eq!(pod["spec"]["priority"], -5);
        assert_eq!(pod["spec"]["nodeSelector"]["disk"], "ssd");
        let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
        assert_eq!(requests, &json!({ "cpu": "500m", "example.com/gpu": "1" }));
    }

    #[test]
    fn several_pods_are_numbered() {
        let text = pods(&NamespacedName::new("default", "web"), &["count=3"]).unwrap();
        let names: Vec<_> = items(&text).iter().map(|pod| pod["metadata"]["name"].clone()).collect();
        assert_eq!(names, ["web-0", "web-1", "web-2"]);
    }

    #[test]
    fn a_node_has_a_zone_and_room() {
        let [node] = items(&node("n-1", &["cpu=8", "zone=b"]).unwrap()).try_into().unwrap();
        assert_eq!(node["status"]["allocatable"]["cpu"], "8");
        assert_eq!(node["status"]["allocatable"]["pods"], "110");
        assert_eq!(node["metadata"]["labels"]["topology.kubernetes.io/zone"], "b");
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let key = NamespacedName::new("default", "web");
        assert_eq!(
            pods(&key, &["memmory=1Gi"]).unwrap_err(),
            "unknown setting \"memmory\"; did you mean \"memory\"?"
        );
        assert_eq!(pods(&key, &["cpu"]).unwrap_err(), "\"cpu\" is not of the form NAME=VALUE");
        assert_eq!(pods(&key, &["priority=high"]).unwrap_err(), "priority is a whole number, not \"high\"");
        assert!(pods(&key, &["count=0"]).is_err());
    }
}
