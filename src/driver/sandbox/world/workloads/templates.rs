//! Pods from templates, with owners, labels and names.
//!
//! Names end in five characters of the alphabet that upstream uses (`k8s.io/apimachinery/pkg/util/rand`). The hash of a
//! template is of the same alphabet, but not the number that upstream comes to: that depends on how Go prints structs.

use super::Managed;
use crate::api::objects::{ObjectMeta, OwnerReference, Pod};
use crate::api::workloads::{PodTemplate, Workload, WorkloadKind};
use crate::api::{Rng, Str};
use crate::driver::sandbox::admission::default_pod;
use crate::driver::sandbox::names::{ALPHABET, name_end};

/// The longest prefix of a generated name (`maxGeneratedNameLength`).
const PREFIX_MAX: usize = 58;

/// A name from a prefix and five characters.
pub(in super::super) fn generated_name(rng: &mut Rng, prefix: &str) -> Str {
    let prefix = prefix.get(..PREFIX_MAX.min(prefix.len())).unwrap_or(prefix);
    Str::from(format!("{prefix}{}", name_end(rng)))
}

/// What the labels of pods of this template say.
pub(super) fn revision(workload: &Workload) -> Str {
    let hash = hash(workload.template());
    match workload.kind() {
        WorkloadKind::StatefulSet => Str::from(format!("{}-{hash}", workload.metadata.name)),
        _ => Str::from(hash),
    }
}

fn hash(template: &PodTemplate) -> String {
    let text = serde_json::to_string(template).unwrap_or_default();
    let mut number =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut name = String::new();
    let base = u32::try_from(ALPHABET.len()).unwrap_or(27);
    while number > 0 {
        let digit = usize::try_from(number % base).unwrap_or(0);
        name.push(ALPHABET.get(digit).copied().map_or('x', char::from));
        number /= base;
    }
    name
}

/// Gives a template the defaults that its pods would get, so that equal ones are equal.
pub(super) fn default_template(template: &mut PodTemplate) {
    let spec = std::mem::take(&mut template.spec);
    let mut pod = Pod { spec, ..Pod::default() };
    default_pod(&mut pod);
    template.spec = pod.spec;
}

/// How an object names the workload that controls it.
pub(super) fn owner_reference(workload: &Workload) -> OwnerReference {
    OwnerReference {
        api_version: workload.kind().api_version().to_owned(),
        kind: workload.kind().as_str().to_owned(),
        name: workload.metadata.name.to_string(),
        uid: workload.metadata.uid.to_string(),
        controller: true,
    }
}

/// A pod of a workload.
pub(super) fn pod(item: &Managed, name: Str) -> Pod {
    let template = item.workload.template();
    Pod {
        metadata: ObjectMeta {
            name,
            namespace: item.workload.metadata.namespace.clone(),
            labels: template.metadata.labels.clone(),
            annotations: template.metadata.annotations.clone(),
            finalizers: template.metadata.finalizers.clone(),
            owner_references: vec![owner_reference(&item.workload)],
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        ..Pod::default()
    }
}

/// The first of a label's name and value.
pub(super) fn set_label(pod: &mut Pod, name: &str, value: impl Into<Str>) {
    pod.metadata.labels.insert(Str::from(name), value.into());
}
