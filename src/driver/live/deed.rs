//! What was done in the cluster, in a person's words, and how to take it back.
//!
//! A scheduler's deeds are few: bindings, evictions, nominations and conditions, what volumes and claims need, Events.
//! Each is described once, before it is sent, for the log, the list of deeds and the audit file. What cannot be taken
//! back says so: a pod that is bound stays where it is as long as it lives.

use serde_json::{Value, json};

use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Object, ObjectStore, Str, Time};
use crate::framework::WriteVerb;
use crate::framework::extender::ExtenderVerb;
use crate::scheduler::effect::EffectKind;

/// How to take a deed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// The command that does it, if there is one.
    pub command: Option<String>,
    /// What there is to know about that.
    pub note: String,
}

/// A deed before it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    /// The verb of the API, such as `create` or `patch`.
    pub verb: &'static str,
    /// The resource with its subresource, such as `pods/binding`.
    pub resource: String,
    /// The object.
    pub object: NamespacedName,
    /// Its uid, where it is known.
    pub uid: Str,
    /// What of the body matters.
    pub essence: Value,
    /// In a person's words, such as `bind shop/cart-5 to a-1`.
    pub what: String,
    /// How to take it back; absent where that means nothing, as for an Event.
    pub undo: Option<Undo>,
}

/// What became of a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was handed to the server, which answers nobody.
    Sent,
    /// The server has refused it, or did not answer.
    Failed(String),
    /// It was not done, since nothing is written now.
    Withheld,
    /// A person has turned it down.
    Declined,
    /// The session has ended before there was an answer.
    Unknown,
}

impl Outcome {
    /// In one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Sent => "sent",
            Self::Failed(_) => "failed",
            Self::Withheld => "withheld",
            Self::Declined => "declined",
            Self::Unknown => "unknown",
        }
    }
}

/// A deed with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeedRow {
    /// Deeds are numbered from 1.
    pub number: u64,
    /// When that was known.
    pub at: Time,
    /// The deed.
    pub deed: Deed,
    /// What became of it.
    pub outcome: Outcome,
}

impl Deed {
    /// Describes an effect. `kubectl` is that command with the flags that lead to this cluster. Absent for what is no
    /// deed in the cluster: to ask an extender what it thinks.
    pub fn of(effect: &EffectKind, objects: &ObjectStore, kubectl: &str) -> Option<Self> {
        Some(match effect {
            EffectKind::Bind { pod, uid, node } => Self {
                verb: "create",
                resource: "pods/binding".to_owned(),
                object: pod.clone(),
                uid: (**uid).into(),
                essence: json!({"node": &**node}),
                what: format!("bind {pod} to {node}"),
                undo: Some(undo_bind(pod, objects.pods.get(pod).map(AsRef::as_ref), kubectl)),
            },
            EffectKind::DeletePod { pod, uid } => Self {
                verb: "delete",
                resource: "pods".to_owned(),
                object: pod.clone(),
                uid: (**uid).into(),
                essence: json!({"reason": "preemption"}),
                what: format!("evict {pod}"),
                undo: Some(undo_eviction(objects.pods.get(pod).map(AsRef::as_ref))),
            },
            EffectKind::PatchPodStatus { pod, uid, condition, nominated_node_name, base } => {
                let nominated =
                    nominated_node_name.as_ref().filter(|node| ***node != *base.status.nominated_node_name);
                let condition = condition.as_ref().map(|condition| {
                    json!({
                        "type": condition.type_, "status": condition.status,
                        "reason": condition.reason, "message": condition.message,
                    })
                });
                Self {
                    verb: "patch",
                    resource: "pods/status".to_owned(),
                    object: pod.clone(),
                    uid: (**uid).into(),
                    essence: json!({"condition": condition, "nominatedNodeName": nominated.map(|node| &**node)}),
                    what: match nominated {
                        Some(node) if node.is_empty() => format!("take the nomination from {pod}"),
                        Some(node) => format!("nominate {pod} for {node}"),
                        None => format!("say in the status of {pod} why it cannot be placed"),
                    },
                    undo: nominated.filter(|node| !node.is_empty()).map(|_| undo_nomination(pod, kubectl)),
                }
            }
            EffectKind::PatchPodGroupStatus { pod_group, condition, .. } => Self {
                verb: "patch",
                resource: "podgroups/status".to_owned(),
                object: pod_group.clone(),
                uid: Str::from(""),
                essence: json!({"condition": {
                    "type": condition.type_, "status": condition.status, "reason": condition.reason,
                }}),
                what: format!("say in the status of the pod group {pod_group} how it stands"),
                undo: None,
            },
            EffectKind::CallExtender(call) if call.verb == ExtenderVerb::Bind => Self {
                verb: "bind",
                resource: "extender".to_owned(),
                object: NamespacedName::cluster(""),
                uid: Str::from(""),
                essence: Value::Null,
                what: "let an extender bind a pod".to_owned(),
                undo: None,
            },
            EffectKind::CallExtender(_) => return None,
            EffectKind::Write(write) => of_write(write.verb, &write.object, objects, kubectl),
            EffectKind::Event(event) => Self {
                verb: "create",
                resource: "events".to_owned(),
                object: event.regarding.clone(),
                uid: Str::from(""),
                essence: json!({"reason": event.reason, "note": event.note}),
                what: format!("say {} about {}", event.reason, event.regarding),
                undo: None,
            },
        })
    }
}

fn of_write(verb: WriteVerb, object: &Object, objects: &ObjectStore, kubectl: &str) -> Deed {
    let (kind, key) = (object.kind(), object.key());
    let (verb_word, subresource) = match verb {
        WriteVerb::Create => ("create", ""),
        WriteVerb::Delete => ("delete", ""),
        WriteVerb::Update => ("update", ""),
        WriteVerb::UpdateStatus => ("update", "/status"),
        WriteVerb::PatchStatus => ("patch", "/status"),
    };
    let known = objects.get(kind, &key);
    let (essence, undo) = match object {
        Object::PersistentVolume(volume) => {
            let claim =
                volume.spec.claim_ref.as_ref().map(|claim| format!("{}/{}", claim.namespace, claim.name));
            let note = match &claim {
                Some(claim) => {
                    format!("takes the volume from the claim {claim} again, as long as it is not bound yet")
                }
                None => "nothing was tied to it".to_owned(),
            };
            let patch = r#"[{"op":"remove","path":"/spec/claimRef"}]"#;
            let command =
                format!("{kubectl} patch persistentvolume {} --type=json -p '{patch}'", quote(&key.name));
            (json!({"claimRef": claim}), Undo { command: claim.is_some().then_some(command), note })
        }
        Object::PersistentVolumeClaim(claim) => {
            const SELECTED: &str = "volume.kubernetes.io/selected-node";
            let node = claim.metadata.annotations.get(SELECTED).map(|node| node.to_string());
            let command = format!(
                "{kubectl} -n {} annotate persistentvolumeclaim {} {SELECTED}-",
                quote(&key.namespace),
                quote(&key.name)
            );
            let note =
                "stops the making of a volume for that node, as long as it was not made yet".to_owned();
            (json!({"selectedNode": node}), Undo { command: node.is_some().then_some(command), note })
        }
        Object::ResourceClaim(_) => undo_claim(verb, &key, known.is_some(), kubectl),
        _ => (Value::Null, Undo { command: None, note: "there is no command that takes it back".to_owned() }),
    };
    Deed {
        verb: verb_word,
        resource: format!("{}{subresource}", kind.resource()),
        what: format!("{verb_word} {} {key}", kind_word(kind, subresource)),
        uid: (*object.metadata().uid).into(),
        object: key,
        essence,
        undo: Some(undo),
    }
}

fn kind_word(kind: Kind, subresource: &str) -> String {
    let word = kind.as_str();
    if subresource.is_empty() { format!("the {word}") } else { format!("the status of the {word}") }
}

fn undo_claim(verb: WriteVerb, key: &NamespacedName, is_known: bool, kubectl: &str) -> (Value, Undo) {
    let (namespace, name) = (quote(&key.namespace), quote(&key.name));
    let undo = match verb {
        WriteVerb::Create => Undo {
            // The server may have made the name.
            command: is_known.then(|| format!("{kubectl} -n {namespace} delete resourceclaim {name}")),
            note: "the claim was made for the pod; it goes with the pod as well".to_owned(),
        },
        WriteVerb::Delete => {
            Undo { command: None, note: "a claim that is deleted does not come back".to_owned() }
        }
        WriteVerb::Update => Undo {
            command: None,
            note: "the finalizer goes with the allocation, which is taken back by itself".to_owned(),
        },
        WriteVerb::UpdateStatus | WriteVerb::PatchStatus => Undo {
            command: Some(format!(
                "{kubectl} -n {namespace} patch resourceclaim {name} --subresource=status --type=merge -p \
                 '{{\"status\":{{\"allocation\":null,\"reservedFor\":null}}}}'"
            )),
            note: "gives the devices back; not while a pod runs with them".to_owned(),
        },
    };
    (Value::Null, undo)
}

fn undo_bind(key: &NamespacedName, pod: Option<&Pod>, kubectl: &str) -> Undo {
    let controller = pod.and_then(|pod| pod.metadata.controller());
    let note = match controller {
        Some(owner) => format!(
            "a bound pod stays on its node; {} {} makes another one, which is scheduled anew",
            owner.kind, owner.name
        ),
        None => {
            "a bound pod stays on its node, and no controller makes another one: keep its manifest first \
                 (get -o yaml)"
                .to_owned()
        }
    };
    let command = format!("{kubectl} -n {} delete pod {}", quote(&key.namespace), quote(&key.name));
    Undo { command: Some(command), note }
}

fn undo_eviction(pod: Option<&Pod>) -> Undo {
    let note = match pod.and_then(|pod| pod.metadata.controller()) {
        Some(owner) => format!("{} {} makes another one by itself", owner.kind, owner.name),
        None => "a deleted pod does not come back, and no controller makes another one".to_owned(),
    };
    Undo { command: None, note }
}

fn undo_nomination(key: &NamespacedName, kubectl: &str) -> Undo {
    Undo {
        command: Some(format!(
            "{kubectl} -n {} patch pod {} --subresource=status --type=merge -p \
             '{{\"status\":{{\"nominatedNodeName\":null}}}}'",
            quote(&key.namespace),
            quote(&key.name)
        )),
        note: "the room on the node is kept for it no more".to_owned(),
    }
}

/// A word for a shell.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::Uid;

    fn bind() -> EffectKind {
        EffectKind::Bind { pod: NamespacedName::new("shop", "a"), uid: Uid::from("u"), node: "n1".into() }
    }

    fn command(deed: Option<Deed>) -> Option<String> {
        deed.and_then(|deed| deed.undo).and_then(|undo| undo.command)
    }

    #[test]
    fn a_binding_is_taken_back_by_deleting_the_pod_in_that_very_cluster() {
        let deed = Deed::of(&bind(), &ObjectStore::default(), "kubectl --context 'my cluster'");
        assert_eq!(deed.as_ref().map(|deed| deed.what.as_str()), Some("bind shop/a to n1"));
        let wanted = "kubectl --context 'my cluster' -n shop delete pod a";
        assert_eq!(command(deed), Some(wanted.to_owned()));
    }

    #[test]
    fn a_nomination_is_taken_back_in_the_status_and_a_condition_needs_nothing() {
        let patch = |node: Option<&str>| EffectKind::PatchPodStatus {
            pod: NamespacedName::new("shop", "a"),
            uid: Uid::from("u"),
            condition: None,
            nominated_node_name: node.map(Str::from),
            base: Arc::new(Pod::default()),
        };
        let told = command(Deed::of(&patch(Some("n1")), &ObjectStore::default(), "kubectl"));
        let wanted = "kubectl -n shop patch pod a --subresource=status --type=merge -p \
                      '{\"status\":{\"nominatedNodeName\":null}}'";
        assert_eq!(told, Some(wanted.to_owned()));
        assert_eq!(command(Deed::of(&patch(None), &ObjectStore::default(), "kubectl")), None);
        assert_eq!(command(Deed::of(&patch(Some("")), &ObjectStore::default(), "kubectl")), None);
    }

    #[test]
    fn words_are_quoted_for_a_shell_where_that_is_needed() {
        assert_eq!(quote("kind-dev@eu/1"), "kind-dev@eu/1");
        assert_eq!(quote("it's; rm -rf"), r"'it'\''s; rm -rf'");
        assert_eq!(quote(""), "''");
    }
}
