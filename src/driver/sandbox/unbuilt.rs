//! Which waiting pods use what is not built yet, so that a person hears of it.
//!
//! Decides nothing.

use crate::api::ObjectStore;
use crate::config::{FeatureGates, Gate};

/// What is to be told about the waiting pods of a cluster, a sentence each; nothing if all that they use is built.
pub fn notes(objects: &ObjectStore, gates: &FeatureGates) -> Vec<String> {
    if !gates.is_enabled(Gate::GenericWorkload) {
        return Vec::new();
    }
    let waiting = objects.pods.values().filter(|pod| !pod.is_assigned() && !pod.is_terminal());
    let told = match waiting.filter(|pod| pod.pod_group_name().is_some()).count() {
        0 => return Vec::new(),
        1 => "1 pod belongs to a pod group and is".to_owned(),
        members => format!("{members} pods belong to pod groups and are"),
    };
    vec![format!("{told} scheduled one at a time: cycles for whole groups are not built yet")]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::manifest::{Source, load};

    fn told(pods: &[&str], gates: &str) -> Vec<String> {
        let mut objects = ObjectStore::default();
        for (i, spec) in pods.iter().enumerate() {
            let text = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p{i}}}, spec: {spec}}}");
            let loaded = load(&[Source { name: "pods".to_owned(), text }]).unwrap();
            for object in loaded.objects {
                objects.insert(object);
            }
        }
        notes(&objects, &FeatureGates::parse(gates).unwrap())
    }

    #[test]
    fn groups_are_told_of_where_their_gate_is_open() {
        let member = "{schedulingGroup: {podGroupName: g}}";
        assert_eq!(told(&[member], ""), [""; 0]);
        assert_eq!(told(&["{}"], "GenericWorkload=true"), [""; 0]);
        assert_eq!(
            told(&[member, member], "GenericWorkload=true"),
            [
                "2 pods belong to pod groups and are scheduled one at a time: cycles for whole groups are not built yet"
            ]
        );
    }
}
