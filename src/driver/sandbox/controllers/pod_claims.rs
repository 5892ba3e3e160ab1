//! Claims that are made for pods: of ephemeral volumes and of resource claim templates. They go with their pods.
//!
//! Follows `pkg/controller/volume/ephemeral`, the pods' part of `pkg/controller/resourceclaim`, and the garbage
//! collector for what pods own.

use std::sync::Arc;

use serde_json::Value;

use crate::api::objects::{
    ObjectMeta, OwnerReference, PersistentVolumeClaim, Pod, PodResourceClaim, PodResourceClaimStatus,
    ResourceClaim, ResourceClaimConsumerReference,
};
use crate::api::{Kind, NamespacedName, Str, Uid};
use crate::framework::{ApiWrite, WriteVerb};
use crate::plugins::helper::ephemeral;
use crate::plugins::helper::volumes::{EPHEMERAL, Volume, has, source};

use super::journal::Said;
use super::{Cx, in_namespace};

const EPHEMERAL_VOLUME: &str = "ephemeral-volume";
const RESOURCE_CLAIM: &str = "resourceclaim";
const GARBAGE_COLLECTOR: &str = "garbage-collector";

/// On a claim that was made for a pod: which of the pod's claims it is.
const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";
/// The longest name that leaves room for a hyphen and five characters.
const LONGEST_PREFIX: usize = 57;

/// The name of a pod's volume.
pub(super) fn volume_name(volume: &Volume) -> &str {
    volume.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Whether the pod may need claims of its own, or a reservation.
pub(super) fn needs_claims(pod: &Pod) -> bool {
    !pod.spec.resource_claims.is_empty() || pod.spec.volumes.iter().any(|volume| has(volume, EPHEMERAL))
}

/// Makes the claims that a pod is missing. False if a template is not there.
pub(super) fn sync_pod(cx: &mut Cx<'_>, key: &NamespacedName) -> bool {
    let Some(pod) = cx.api.objects().pods.get(key).cloned() else { return true };
    if pod.is_terminating() {
        return true;
    }
    for volume in pod.spec.volumes.iter().filter(|volume| has(volume, EPHEMERAL)) {
        make_volume_claim(cx, &pod, volume);
    }
    if pod.spec.resource_claims.is_empty() {
        return true;
    }
    let is_complete = make_resource_claims(cx, &pod);
    if pod.is_assigned() {
        reserve_claims(cx, key);
    }
    is_complete
}

fn owner(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.metadata.name.to_string(),
        uid: pod.uid().to_string(),
        controller: true,
    }
}

fn make_volume_claim(cx: &mut Cx<'_>, pod: &Pod, volume: &Volume) {
    let name = volume_name(volume);
    let key = NamespacedName::new(pod.metadata.namespace.clone(), ephemeral::claim_name(pod, name));
    if let Some(claim) = cx.api.objects().persistent_volume_claims.get(&key) {
        if let Err(reason) = ephemeral::check_is_for_pod(pod, claim) {
            let note = format!("ephemeral volume {name}: {reason}");
            cx.tell(EPHEMERAL_VOLUME, Kind::Pod, &pod.key(), Said::failed("FailedBinding", note));
        }
        return;
    }
    let template = source(volume, EPHEMERAL).and_then(|source| source.get("volumeClaimTemplate")).cloned();
    let template = template.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let mut claim: PersistentVolumeClaim = match serde_json::from_value(template) {
        Ok(claim) => claim,
        Err(error) => {
            let note = format!("ephemeral volume {name}: volumeClaimTemplate: {error}");
            cx.tell(EPHEMERAL_VOLUME, Kind::Pod, &pod.key(), Said::failed("FailedBinding", note));
            return;
        }
    };
    claim.metadata = ObjectMeta {
        name: key.name.clone(),
        namespace: key.namespace.clone(),
        labels: std::mem::take(&mut claim.metadata.labels),
        annotations: std::mem::take(&mut claim.metadata.annotations),
        owner_references: vec![owner(pod)],
        ..ObjectMeta::default()
    };
    let said = match cx.api.create(claim.into(), cx.now) {
        Ok(_) => Said::done("Created", format!("is made for the volume {name} of pod {}", pod.metadata.name)),
        Err(error) => Said::failed("FailedBinding", format!("create PVC {}: {error}", key.name)),
    };
    cx.tell(EPHEMERAL_VOLUME, Kind::PersistentVolumeClaim, &key, said);
}

/// Makes claims from templates and writes their names into the pod's status. False if a template is missing.
fn make_resource_claims(cx: &mut Cx<'_>, pod: &Pod) -> bool {
    let mut statuses = pod.status.resource_claim_statuses.clone();
    let mut is_complete = true;
    for wanted in &pod.spec.resource_claims {
        let Some(template) = &wanted.resource_claim_template_name else { continue };
        let status = statuses.iter().find(|status| status.name == wanted.name);
        match status.map(|status| status.resource_claim_name.as_deref()) {
            // None is needed.
            Some(None) => continue,
            Some(Some(name)) if is_there(cx, pod, name) => continue,
            Some(Some(_)) | None => {}
        }
        let Some(name) = find_or_make(cx, pod, wanted, template) else {
            is_complete = false;
            continue;
        };
        statuses.retain(|status| status.name != wanted.name);
        let resource_claim_name = Some(name);
        statuses.push(PodResourceClaimStatus { name: wanted.name.clone(), resource_claim_name });
    }
    if statuses != pod.status.resource_claim_statuses {
        let mut pod = pod.clone();
        pod.status.resource_claim_statuses = statuses;
        cx.api.store(pod.into());
    }
    is_complete
}

fn is_of(claim: &ResourceClaim, pod: &Pod) -> bool {
    claim.metadata.controller().is_some_and(|owner| owner.uid.as_str() == &**pod.uid())
}

fn is_there(cx: &Cx<'_>, pod: &Pod, name: &str) -> bool {
    let key = NamespacedName::new(pod.metadata.namespace.clone(), name);
    cx.api.objects().resource_claims.get(&key).is_some_and(|claim| is_of(claim, pod))
}

fn find_or_make(cx: &mut Cx<'_>, pod: &Pod, wanted: &PodResourceClaim, template: &str) -> Option<String> {
    let namespace = &pod.metadata.namespace;
    let mut claims = in_namespace(&cx.api.objects().resource_claims, namespace);
    let is_it = |claim: &&Arc<ResourceClaim>| {
        let name = claim.metadata.annotations.get(POD_CLAIM_NAME);
        name.is_some_and(|name| **name == *wanted.name) && is_of(claim, pod)
    };
    if let Some(claim) = claims.find(is_it) {
        return Some(claim.metadata.name.to_string());
    }
    drop(claims);
    let key = NamespacedName::new(namespace.clone(), template);
    let Some(template) = cx.api.objects().resource_claim_templates.get(&key).cloned() else {
        let note = format!(
            "PodResourceClaim {}: resource claim template {template:?}: \
             resourceclaimtemplate.resource.k8s.io {template:?} not found",
            wanted.name
        );
        cx.tell(RESOURCE_CLAIM, Kind::Pod, &pod.key(), Said::failed("FailedResourceClaimCreation", note));
        return None;
    };
    let mut annotations = template.spec.metadata.annotations.clone();
    annotations.insert(Str::from(POD_CLAIM_NAME), Str::from(wanted.name.as_str()));
    let claim = ResourceClaim {
        metadata: ObjectMeta {
            name: Str::from(name_prefix(&pod.metadata.name, &wanted.name)),
            namespace: namespace.clone(),
            labels: template.spec.metadata.labels.clone(),
            annotations,
            owner_references: vec![owner(pod)],
            ..ObjectMeta::default()
        },
        spec: template.spec.spec.clone(),
        ..ResourceClaim::default()
    };
    match cx.api.carry_out_write(&ApiWrite { verb: WriteVerb::Create, object: claim.into() }, cx.now) {
        Ok(claim) => {
            let name = claim.metadata().name.to_string();
            let note = format!("is made for pod {} from template {}", pod.metadata.name, key.name);
            cx.tell(RESOURCE_CLAIM, Kind::ResourceClaim, &claim.key(), Said::done("Created", note));
            Some(name)
        }
        Err(error) => {
            let note = format!("PodResourceClaim {}: create ResourceClaim : {error}", wanted.name);
            let said = Said::failed("FailedResourceClaimCreation", note);
            cx.tell(RESOURCE_CLAIM, Kind::Pod, &pod.key(), said);
            None
        }
    }
}

/// `pod-claim-`; of a long one pod and claim are cut in proportion.
fn name_prefix(pod: &str, claim: &str) -> String {
    let whole = format!("{pod}-{claim}-");
    if whole.len() <= LONGEST_PREFIX {
        return whole;
    }
    let cut = |text: &str| text.chars().take(text.len() * LONGEST_PREFIX / whole.len()).collect::<String>();
    format!("{}-{}-", cut(pod), cut(claim))
}

/// A pod that came with its node was seen by no scheduler: it may use claims that are allocated.
fn reserve_claims(cx: &mut Cx<'_>, key: &NamespacedName) {
    let Some(pod) = cx.api.objects().pods.get(key).cloned() else { return };
    for key in super::resource_claims::claims_of(&pod) {
        let Some(claim) = cx.api.objects().resource_claims.get(&key) else { continue };
        let is_reserved = claim.status.reserved_for.iter().any(|consumer| consumer.uid == *pod.uid());
        if claim.status.allocation.is_none() || is_reserved {
            continue;
        }
        let mut claim = ResourceClaim::clone(claim);
        claim.status.reserved_for.push(ResourceClaimConsumerReference {
            resource: Str::from("pods"),
            name: pod.metadata.name.clone(),
            uid: pod.uid().clone(),
            ..ResourceClaimConsumerReference::default()
        });
        cx.api.store(claim.into());
        let note = format!("is reserved for pod {}, which came with its node", pod.metadata.name);
        cx.tell(RESOURCE_CLAIM, Kind::ResourceClaim, &key, Said::done("Reserved", note));
    }
}

/// Deletes the claims that belonged to a pod that is gone.
pub(super) fn collect_orphans(cx: &mut Cx<'_>, namespace: &Str, uid: &Uid) {
    let is_orphan = |metadata: &ObjectMeta| {
        metadata.controller().is_some_and(|owner| owner.kind == "Pod" && owner.uid.as_str() == &**uid)
    };
    let objects = cx.api.objects();
    let volumes = in_namespace(&objects.persistent_volume_claims, namespace)
        .filter(|claim| is_orphan(&claim.metadata))
        .map(|claim| (Kind::PersistentVolumeClaim, claim.key()));
    let devices = in_namespace(&objects.resource_claims, namespace)
        .filter(|claim| is_orphan(&claim.metadata))
        .map(|claim| (Kind::ResourceClaim, claim.metadata.key()));
    let orphans: Vec<(Kind, NamespacedName)> = volumes.chain(devices).collect();
    for (kind, key) in orphans {
        // It was there a moment ago.
        if cx.api.delete_object(kind, &key, cx.now).is_ok() {
            cx.tell(GARBAGE_COLLECTOR, kind, &key, Said::done("Deleted", "is deleted with its pod"));
            cx.due.insert(match kind {
                Kind::ResourceClaim => super::Item::ResourceClaim(key),
                _ => super::Item::VolumeClaim(key),
            });
        }
    }
}
