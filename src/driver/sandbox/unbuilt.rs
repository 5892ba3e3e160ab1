//! Which waiting pods use what is not built yet, so that a person hears of it once and not from every pod.
//!
//! Decides nothing: it is the plugins that answer such pods with an error.

use std::collections::BTreeMap;

use crate::api::ObjectStore;
use crate::api::objects::Pod;
use crate::config::{FeatureGates, Gate};
use crate::plugins::helper::volumes::{EPHEMERAL, MIGRATED, PERSISTENT_VOLUME_CLAIM, has};

/// What is to be told about the waiting pods of a cluster, a sentence each; nothing if all that they use is built.
pub fn notes(objects: &ObjectStore, gates: &FeatureGates) -> Vec<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut pods, mut members) = (0, 0);
    for pod in objects.pods.values().filter(|pod| !pod.is_assigned() && !pod.is_terminal()) {
        let found = [("volumes", uses_volumes(pod))];
        for (what, _) in found.iter().filter(|(_, is_used)| *is_used) {
            *uses.entry(what).or_default() += 1;
        }
        pods += usize::from(found.iter().any(|(_, is_used)| *is_used));
        members += usize::from(pod.pod_group_name().is_some());
    }
    let mut notes = Vec::new();
    if pods > 0 {
        let uses: Vec<String> = uses.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        let (pods, verb) = counted(pods, "get", "gets");
        notes.push(format!(
            "{pods} to be scheduled {verb} an error from the plugins for what is not built yet: {}",
            uses.join(", ")
        ));
    }
    if members > 0 && gates.is_enabled(Gate::GenericWorkload) {
        let (members, verb) =
            counted(members, "belong to pod groups and are", "belongs to a pod group and is");
        notes.push(format!(
            "{members} {verb} scheduled one at a time: cycles for whole groups are not built yet"
        ));
    }
    notes
}

fn counted(pods: usize, many: &'static str, one: &'static str) -> (String, &'static str) {
    if pods == 1 { ("1 pod".to_owned(), one) } else { (format!("{pods} pods"), many) }
}

/// Whether VolumeBinding, VolumeZone, VolumeRestrictions or NodeVolumeLimits would have to look at a volume.
fn uses_volumes(pod: &Pod) -> bool {
    let kinds = || [PERSISTENT_VOLUME_CLAIM, EPHEMERAL].into_iter().chain(MIGRATED);
    pod.spec.volumes.iter().any(|volume| kinds().any(|kind| has(volume, kind)))
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

    const CLAIM: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}";

    #[test]
    fn pods_that_use_what_is_built_are_not_told_of() {
        let assigned = "{nodeName: a, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}";
        let empty_dir = "{volumes: [{name: v, emptyDir: {}}]}";
        assert_eq!(told(&["{}", assigned, empty_dir], ""), [""; 0]);
    }

    #[test]
    fn a_pod_counts_once_and_each_of_its_uses_too() {
        let other = "{volumes: [{name: v, ephemeral: {}}]}";
        assert_eq!(
            told(&[CLAIM, other], ""),
            ["2 pods to be scheduled get an error from the plugins for what is not built yet: volumes (2)"]
        );
        assert_eq!(
            told(&[CLAIM], ""),
            ["1 pod to be scheduled gets an error from the plugins for what is not built yet: volumes (1)"]
        );
    }

    #[test]
    fn groups_are_told_of_where_their_gate_is_open() {
        let member = "{schedulingGroup: {podGroupName: g}}";
        assert_eq!(told(&[member], ""), [""; 0]);
        assert_eq!(
            told(&[member, member], "GenericWorkload=true"),
            [
                "2 pods belong to pod groups and are scheduled one at a time: cycles for whole groups are not built yet"
            ]
        );
    }
}
