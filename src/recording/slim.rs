//! What of an object never reaches a recording although it is in memory.
//!
//! Fields that no scheduler reads (managedFields, env, args, data) are gone when an object comes in. What is left and
//! may hold anything is the text of annotations and of the options of volumes. Plugins read a few annotations; of
//! every other one a digest takes the place of the text, so that a change still shows as a change, which is all that
//! the scheduler looks at there.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api::objects::{Labels, ObjectMeta, OpaqueDeviceConfiguration, Pod};
use crate::api::{Digest, Object, Str};

/// Annotations that plugins of kube-scheduler read.
pub const READ_ANNOTATIONS: &[&str] = &[
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "pv.kubernetes.io/migrated-to",
    "pv.kubernetes.io/provisioned-by",
    "resource.kubernetes.io/extended-resource-claim",
    "resource.kubernetes.io/pod-claim-name",
    "storage.alpha.kubernetes.io/migrated-plugins",
    "volume.beta.kubernetes.io/storage-class",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
];

/// What a hidden text begins with; the digest follows.
const HIDDEN: &str = "hidden:";

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slim {
    /// Annotations that are kept beside [`READ_ANNOTATIONS`], for plugins of one's own.
    pub kept_annotations: BTreeSet<String>,
}

impl Slim {
    /// The object as it is recorded.
    pub fn object<'a>(&self, object: &'a Object) -> Cow<'a, Object> {
        let hides_annotations = self.hides_any(&object.metadata().annotations);
        let hides_volumes = matches!(object, Object::Pod(pod) if has_hidden_options(pod));
        let hides_parameters = has_hidden_parameters(object);
        // The metadata that a template gives to its claims.
        let hides_template = matches!(object, Object::ResourceClaimTemplate(template)
            if self.hides_any(&template.spec.metadata.annotations));
        let hides_life = is_read_by_others(object);
        if !hides_annotations && !hides_volumes && !hides_parameters && !hides_template && !hides_life {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        if hides_annotations {
            self.hide_annotations(object.metadata_mut());
        }
        if hides_volumes && let Object::Pod(pod) = &mut object {
            hide_options(Arc::make_mut(pod));
        }
        if hides_parameters {
            hide_parameters(&mut object);
        }
        if hides_life {
            hide_life(&mut object);
        }
        if hides_template && let Object::ResourceClaimTemplate(template) = &mut object {
            self.hide_annotations(&mut Arc::make_mut(template).spec.metadata);
        }
        Cow::Owned(object)
    }

    fn keeps(&self, key: &str) -> bool {
        READ_ANNOTATIONS.contains(&key) || self.kept_annotations.contains(key)
    }

    fn hides_any(&self, annotations: &Labels) -> bool {
        annotations.iter().any(|(key, text)| !self.keeps(key) && !is_hidden(text))
    }

    fn hide_annotations(&self, metadata: &mut ObjectMeta) {
        for (key, text) in &mut metadata.annotations {
            if !self.keeps(key) && !is_hidden(text) {
                *text = Str::from(hidden(text));
            }
        }
    }
}

/// Whether an object has fields that kubelets and controllers read and no scheduler does.
fn is_read_by_others(object: &Object) -> bool {
    match object {
        Object::Pod(pod) => pod.spec.restart_policy.is_some(),
        Object::PodDisruptionBudget(budget) => {
            let status = &budget.status;
            budget.spec.unhealthy_pod_eviction_policy.is_some()
                || [status.current_healthy, status.desired_healthy, status.expected_pods] != [0; 3]
        }
        _ => false,
    }
}

fn hide_life(object: &mut Object) {
    match object {
        Object::Pod(pod) => Arc::make_mut(pod).spec.restart_policy = None,
        Object::PodDisruptionBudget(budget) => {
            let budget = Arc::make_mut(budget);
            budget.spec.unhealthy_pod_eviction_policy = None;
            budget.status.current_healthy = 0;
            budget.status.desired_healthy = 0;
            budget.status.expected_pods = 0;
        }
        _ => {}
    }
}

/// Whether a text stands for one that was hidden.
fn is_hidden(text: &str) -> bool {
    text.strip_prefix(HIDDEN)
        .is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn hidden(text: &str) -> String {
    format!("{HIDDEN}{:016x}", Digest::new().str(text).finish())
}

/// Sources of volumes with a map of options that belong to a driver.
const OPTIONS: &[(&str, &str)] = &[("csi", "volumeAttributes"), ("flexVolume", "options")];

fn has_hidden_options(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|volume| {
        OPTIONS.iter().any(|(source, options)| {
            let options = volume.get(*source).and_then(|source| source.get(*options));
            options.and_then(Value::as_object).is_some_and(hides_any_of)
        }) || volume
            .get("ephemeral")
            .and_then(|source| source.pointer(TEMPLATE_ANNOTATIONS))
            .and_then(Value::as_object)
            .is_some_and(hides_any_of)
    })
}

/// Where the annotations of an ephemeral volume's claim are.
const TEMPLATE_ANNOTATIONS: &str = "/volumeClaimTemplate/metadata/annotations";

fn hides_any_of(options: &Map<String, Value>) -> bool {
    options.values().any(|value| !value.as_str().is_some_and(is_hidden))
}

fn hide_options(pod: &mut Pod) {
    for volume in &mut pod.spec.volumes {
        for (source, options) in OPTIONS {
            hide_all(volume.get_mut(*source).and_then(|source| source.get_mut(*options)));
        }
        hide_all(volume.get_mut("ephemeral").and_then(|source| source.pointer_mut(TEMPLATE_ANNOTATIONS)));
    }
}

fn hide_all(options: Option<&mut Value>) {
    let Some(options) = options.and_then(Value::as_object_mut) else { return };
    for value in options.values_mut().filter(|value| !value.as_str().is_some_and(is_hidden)) {
        *value = Value::String(match &*value {
            Value::String(text) => hidden(text),
            other => hidden(&other.to_string()),
        });
    }
}

/// What drivers are told about devices may hold anything, and the scheduler only carries it from one place to another.
fn has_hidden_parameters(object: &Object) -> bool {
    let is_open = |opaque: &Option<OpaqueDeviceConfiguration>| {
        let parameters = opaque.as_ref().map(|opaque| &opaque.parameters);
        parameters
            .is_some_and(|parameters| !parameters.is_null() && !parameters.as_str().is_some_and(is_hidden))
    };
    match object {
        Object::DeviceClass(class) => class.spec.config.iter().any(|config| is_open(&config.opaque)),
        Object::ResourceClaim(claim) => {
            let allocation = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.config);
            claim.spec.devices.config.iter().any(|config| is_open(&config.opaque))
                || allocation.into_iter().any(|config| is_open(&config.opaque))
        }
        Object::ResourceClaimTemplate(template) => {
            template.spec.spec.devices.config.iter().any(|config| is_open(&config.opaque))
        }
        _ => false,
    }
}

fn hide_parameters(object: &mut Object) {
    let hide = |opaque: &mut Option<OpaqueDeviceConfiguration>| {
        let Some(opaque) = opaque else { return };
        if !opaque.parameters.is_null() && !opaque.parameters.as_str().is_some_and(is_hidden) {
            opaque.parameters = Value::String(hidden(&opaque.parameters.to_string()));
        }
    };
    match object {
        Object::DeviceClass(class) => {
            Arc::make_mut(class).spec.config.iter_mut().for_each(|config| hide(&mut config.opaque));
        }
        Object::ResourceClaim(claim) => {
            let claim = Arc::make_mut(claim);
            claim.spec.devices.config.iter_mut().for_each(|config| hide(&mut config.opaque));
            if let Some(allocation) = &mut claim.status.allocation {
                allocation.devices.config.iter_mut().for_each(|config| hide(&mut config.opaque));
            }
        }
        Object::ResourceClaimTemplate(template) => {
            let devices = &mut Arc::make_mut(template).spec.spec.devices;
            devices.config.iter_mut().for_each(|config| hide(&mut config.opaque));
        }
        _ => {}
    }
}
