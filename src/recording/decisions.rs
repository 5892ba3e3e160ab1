//! A checksum of what the scheduler decided upon one input.
//!
//! Covers what is decided and not how it is worded: which pod goes where, who makes room, what becomes of a condition
//! or a nomination, who is asked. So it stays the same when a message or the body of a request is put in other words.

use crc32fast::Hasher;

use crate::scheduler::effect::{Effect, EffectKind};

/// The checksum of the deeds that followed an input; absent if there were none. Events count as no deed.
pub fn decisions_check<'a>(effects: impl IntoIterator<Item = &'a Effect>) -> Option<u32> {
    let mut hasher = Hasher::new();
    let mut is_empty = true;
    for effect in effects {
        if matches!(effect.kind, EffectKind::Event(_)) {
            continue;
        }
        is_empty = false;
        hasher.update(&effect.id.0.to_le_bytes());
        let mut text = |parts: &[&str]| {
            for part in parts {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        };
        match &effect.kind {
            EffectKind::Bind { pod, uid, node } => text(&["bind", &pod.namespace, &pod.name, uid, node]),
            EffectKind::PatchPodStatus { pod, uid, condition, nominated_node_name, .. } => {
                text(&["patch", &pod.namespace, &pod.name, uid]);
                match condition {
                    Some(condition) => text(&[&condition.type_, &condition.status, &condition.reason]),
                    None => text(&["no condition"]),
                }
                match nominated_node_name {
                    Some(node) => text(&["nominated", node]),
                    None => text(&["as before"]),
                }
            }
            EffectKind::PatchPodGroupStatus { pod_group, condition, .. } => {
                text(&["patch group", &pod_group.namespace, &pod_group.name]);
                text(&[&condition.type_, &condition.status, &condition.reason]);
            }
            EffectKind::DeletePod { pod, uid } => text(&["delete", &pod.namespace, &pod.name, uid]),
            EffectKind::CallExtender(call) => {
                text(&["call", call.verb.as_str()]);
                hasher.update(&(call.extender as u64).to_le_bytes());
            }
            EffectKind::Write(write) => {
                let metadata = write.object.metadata();
                let kind = write.object.kind().as_str();
                text(&["write", write.verb.as_str(), kind, &metadata.namespace, &metadata.name]);
            }
            EffectKind::Event(_) => {}
        }
    }
    (!is_empty).then(|| hasher.finalize())
}

/// A deed in a person's words; absent for what is no decision.
pub(super) fn describe(effect: &Effect) -> Option<String> {
    Some(match &effect.kind {
        EffectKind::Bind { pod, node, .. } => format!("{pod} is bound to {node}"),
        EffectKind::PatchPodStatus { pod, condition, nominated_node_name, .. } => {
            let condition = condition
                .as_ref()
                .map(|condition| format!(" {}={} ({})", condition.type_, condition.status, condition.reason));
            let nominated = nominated_node_name.as_ref().map(|node| match &**node {
                "" => " no longer nominated".to_owned(),
                node => format!(" nominated to {node}"),
            });
            format!("{pod} is patched:{}{}", condition.unwrap_or_default(), nominated.unwrap_or_default())
        }
        EffectKind::PatchPodGroupStatus { pod_group, condition, .. } => {
            let (type_, status, reason) = (&condition.type_, &condition.status, &condition.reason);
            format!("pod group {pod_group} is patched: {type_}={status} ({reason})")
        }
        EffectKind::DeletePod { pod, .. } => format!("{pod} is deleted"),
        EffectKind::CallExtender(call) => {
            format!("extender {} is asked to {}", call.extender, call.verb.as_str())
        }
        EffectKind::Write(write) => {
            let (verb, kind) = (write.verb.as_str(), write.object.kind());
            format!("{verb} of {kind} {}", write.object.key())
        }
        EffectKind::Event(_) => return None,
    })
}
