//! Which pods belong together where nobody has said so: those of the same services and the same controller.
//!
//! Follows `helper/spread.go`.

use crate::api::objects::{LabelSelector, Labels, Pod, Service};
use crate::api::selector::Requirement;
use crate::api::{NamespacedName, ObjectStore, Selector, Str};

/// Matches the pods of the services and of the controller that the pod belongs to (`DefaultSelector`); empty if it
/// belongs to none.
pub fn default_selector(pod: &Pod, objects: &ObjectStore) -> Selector {
    let mut labels = Labels::new();
    for service in services_of(pod, objects) {
        labels.extend(service.spec.selector.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    let Some(owner) = pod.metadata.controller() else { return Selector::from_labels(&labels) };
    let key = NamespacedName::new(pod.metadata.namespace.clone(), owner.name.as_str());
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
    match (group, version, owner.kind.as_str()) {
        ("", "v1", "ReplicationController") => {
            if let Some(controller) = objects.replication_controllers.get(&key) {
                let selector = &controller.spec.selector;
                labels.extend(selector.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            Selector::from_labels(&labels)
        }
        ("apps", "v1", "ReplicaSet") => {
            let owner = objects.replica_sets.get(&key);
            narrowed(&labels, owner.and_then(|owner| owner.spec.selector.as_ref()))
        }
        ("apps", "v1", "StatefulSet") => {
            let owner = objects.stateful_sets.get(&key);
            narrowed(&labels, owner.and_then(|owner| owner.spec.selector.as_ref()))
        }
        _ => Selector::from_labels(&labels),
    }
}

/// The labels and, if it can be parsed, what the selector requires.
fn narrowed(labels: &Labels, selector: Option<&LabelSelector>) -> Selector {
    let own = Selector::from_labels(labels);
    match Selector::from_label_selector(selector) {
        Ok(other) => merged(&own, &other),
        Err(_) => own,
    }
}

/// Requires what both selectors require; one that matches nothing requires nothing.
pub fn merged(one: &Selector, other: &Selector) -> Selector {
    let requirements: Vec<Requirement> =
        one.requirements().iter().chain(other.requirements()).cloned().collect();
    Selector::new(requirements)
}

/// The services of the pod's namespace that select it (`GetPodServices`).
fn services_of<'a>(pod: &'a Pod, objects: &'a ObjectStore) -> impl Iterator<Item = &'a Service> {
    let namespace = &pod.metadata.namespace;
    let first = NamespacedName { namespace: namespace.clone(), name: Str::from("") };
    let services = objects.services.range(first..).take_while(move |(key, _)| key.namespace == *namespace);
    let selects =
        |service: &Service| service.spec.selector.iter().all(|(k, v)| pod.metadata.labels.get(k) == Some(v));
    services.map(|(_, service)| service.as_ref()).filter(move |service| selects(service))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::Object;
    use crate::plugins::fixtures::pod;
    use std::sync::Arc;

    fn object<T: serde::de::DeserializeOwned>(yaml: &str) -> Object
    where
        Object: From<Arc<T>>,
    {
        Object::from(Arc::new(serde_saphyr::from_str::<T>(yaml).unwrap()))
    }

    fn selector(owner: &str, objects: &[Object]) -> String {
        let mut store = ObjectStore::default();
        for object in objects {
            store.insert(object.clone());
        }
        let pod = pod(&format!(
            "{{metadata: {{name: p, namespace: ns, labels: {{app: web, tier: front}}, ownerReferences: [{owner}]}}}}"
        ));
        default_selector(&pod, &store).to_string()
    }

    fn owner(api_version: &str, kind: &str) -> String {
        format!("{{apiVersion: {api_version}, kind: {kind}, name: own, uid: u, controller: true}}")
    }

    #[test]
    fn services_of_the_namespace_that_select_the_pod_join_their_labels() {
        let service = |name: &str, namespace: &str, selector: &str| {
            object::<Service>(&format!(
                "{{metadata: {{name: {name}, namespace: {namespace}}}, spec: {{selector: {selector}}}}}"
            ))
        };
        let services = [
            service("a", "ns", "{app: web}"),
            service("b", "ns", "{tier: front}"),
            service("c", "ns", "{tier: back}"),
            service("d", "other", "{app: web, tier: front}"),
            service("e", "ns", "{}"),
        ];
        assert_eq!(selector("", &services), "app in (web),tier in (front)");
        assert_eq!(selector("", &services[2..]), "");
    }

    #[test]
    fn the_controller_of_the_pod_adds_its_selector() {
        let controllers = [
            object::<crate::api::objects::ReplicationController>(
                "{metadata: {name: own, namespace: ns}, spec: {selector: {rc: x}}}",
            ),
            object::<crate::api::objects::ReplicaSet>(
                "{metadata: {name: own, namespace: ns}, spec: {selector: {matchLabels: {rs: x}}}}",
            ),
            object::<crate::api::objects::StatefulSet>(
                "{metadata: {name: own, namespace: ns}, spec: {selector: {matchExpressions: [
                   {key: ss, operator: Exists}]}}}",
            ),
        ];
        assert_eq!(selector(&owner("v1", "ReplicationController"), &controllers), "rc in (x)");
        assert_eq!(selector(&owner("apps/v1", "ReplicaSet"), &controllers), "rs in (x)");
        assert_eq!(selector(&owner("apps/v1", "StatefulSet"), &controllers), "ss");
        assert_eq!(selector(&owner("apps/v1beta1", "ReplicaSet"), &controllers), "", "another version");
        assert_eq!(selector(&owner("batch/v1", "Job"), &controllers), "", "another kind");
        let not_controlling = owner("apps/v1", "ReplicaSet").replace("controller: true", "controller: false");
        assert_eq!(selector(&not_controlling, &controllers), "");
    }
}
