//! Changes of a cluster in words: `drain node-1`, `scale deployment/web 5`, `weight NodeResourcesFit=3`.
//!
//! One language for `schedscope whatif`, for `:whatif` in the console and for the steps of a scenario. Each change takes as
//! many words as its form says, so that several of them can stand one after the other. Files are read by whoever asks.

use super::changes::{Change, Workload};
use crate::api::{Kind, NamespacedName, Str};
use crate::driver::session::Edit;

/// Reads a file that a change names.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The forms of changes, with what each does.
pub const FORMS: [(&str, &str); 15] = [
    ("drain NODE", "cordon a node and evict its pods; those of a controller come back elsewhere"),
    ("remove NODE", "take a node away; pods of a controller come back elsewhere"),
    ("add FILE", "add the objects of a manifest, such as nodes"),
    ("add N like NODE", "add so many nodes like one that is there"),
    ("cordon NODE", "let no new pods onto a node"),
    ("uncordon NODE", "let new pods onto a node again"),
    ("taint NODE KEY=VALUE:EFFECT", "taint a node; KEY:EFFECT- takes a taint away"),
    ("label NODE KEY=VALUE", "label a node; KEY- takes a label away"),
    ("down NODE", "the node's kubelet falls silent: it is tainted as unreachable"),
    ("up NODE", "it is heard of again"),
    ("config FILE", "start the scheduler again under another KubeSchedulerConfiguration"),
    ("weight PLUGIN=N", "give a Score plugin another weight"),
    (
        "scale KIND/[NAMESPACE/]NAME N",
        "make the pods of a controller so many; LABEL=VALUE N those with a label",
    ),
    ("apply FILE", "create or replace the objects of a manifest"),
    ("delete KIND [NAMESPACE/]NAME", "delete an object; a pod is not replaced"),
];

/// Short names of kinds, as kubectl has them.
const SHORT: [(&str, Kind); 13] = [
    ("po", Kind::Pod),
    ("no", Kind::Node),
    ("ns", Kind::Namespace),
    ("svc", Kind::Service),
    ("pvc", Kind::PersistentVolumeClaim),
    ("pv", Kind::PersistentVolume),
    ("pdb", Kind::PodDisruptionBudget),
    ("sc", Kind::StorageClass),
    ("rs", Kind::ReplicaSet),
    ("sts", Kind::StatefulSet),
    ("rc", Kind::ReplicationController),
    ("pc", Kind::PriorityClass),
    ("claim", Kind::ResourceClaim),
];

/// Reads changes, one after the other.
///
/// # Errors
/// What is wrong with the first that is none, in one sentence.
pub fn parse(words: &[&str], read_file: ReadFile<'_>) -> Result<Vec<Edit>, String> {
    let mut edits = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let (edit, behind) = one(rest, read_file)?;
        edits.push(edit);
        rest = behind;
    }
    Ok(edits)
}

/// What a change does, in a few words.
pub fn told(edit: &Edit) -> String {
    match edit {
        Edit::Apply { source, .. } => format!("apply {source}"),
        Edit::DeletePod(pod) => format!("delete pod {pod}"),
        Edit::Delete { kind, key } => format!("delete {} {key}", kind.as_str().to_lowercase()),
        Edit::DeleteNode(node) => format!("delete node {node}"),
        Edit::Cordon(node) => format!("cordon {node}"),
        Edit::Uncordon(node) => format!("uncordon {node}"),
        Edit::Taint { node, taint } => format!("taint {node} {taint}"),
        Edit::Label { node, label } => format!("label {node} {label}"),
        Edit::Change(change) => change.to_string(),
        Edit::Weight { plugin, weight } => format!("weight {plugin}={weight}"),
        Edit::Configure { source, .. } => format!("config {source}"),
        Edit::Allow(pod) => format!("allow {pod}"),
        Edit::Reject(pod) => format!("reject {pod}"),
        Edit::Activate(pod) => format!("activate {pod}"),
        Edit::Several { what, .. } => what.clone(),
        Edit::World(order) => order.describe(),
    }
}

fn one<'w, 't>(words: &'w [&'t str], read_file: ReadFile<'_>) -> Result<(Edit, &'w [&'t str]), String> {
    let verb = words.first().copied().unwrap_or_default();
    let word =
        |index: usize| -> Result<&'t str, String> { words.get(index).copied().ok_or_else(|| form(verb)) };
    let name = |index: usize| word(index).map(Str::from);
    let number =
        |text: &str| text.parse::<usize>().map_err(|_| format!("{text:?} is not a number; {}", form(verb)));
    let file = |index: usize| -> Result<(String, String), String> {
        let path = word(index)?;
        Ok((path.to_owned(), read_file(path)?))
    };
    let (edit, n) = match verb {
        "drain" => (Edit::Change(Change::Drain(name(1)?)), 2),
        "remove" => (Edit::Change(Change::RemoveNode(name(1)?)), 2),
        "down" => (Edit::Change(Change::NodeDown(name(1)?)), 2),
        "up" => (Edit::Change(Change::NodeUp(name(1)?)), 2),
        "cordon" => (Edit::Cordon(name(1)?), 2),
        "uncordon" => (Edit::Uncordon(name(1)?), 2),
        "taint" => (Edit::Taint { node: name(1)?, taint: word(2)?.to_owned() }, 3),
        "label" => (Edit::Label { node: name(1)?, label: word(2)?.to_owned() }, 3),
        "add" => match (word(1)?.parse::<usize>(), words.get(2), words.get(3)) {
            (Ok(count), Some(&("node" | "nodes")), Some(&"like")) => {
                (Edit::Change(Change::AddNodes { like: name(4)?, count }), 5)
            }
            (Ok(count), Some(&"like"), _) => (Edit::Change(Change::AddNodes { like: name(3)?, count }), 4),
            (Ok(_), ..) => return Err(form(verb)),
            (Err(_), ..) => {
                let (source, text) = file(1)?;
                (Edit::Apply { source, text }, 2)
            }
        },
        "apply" => {
            let (source, text) = file(1)?;
            (Edit::Apply { source, text }, 2)
        }
        "config" => {
            let (source, text) = file(1)?;
            (Edit::Configure { source, text }, 2)
        }
        "weight" => {
            let (plugin, weight, n) = match word(1)?.split_once('=') {
                Some((plugin, weight)) => (plugin, weight, 2),
                None => (word(1)?, word(2)?, 3),
            };
            let weight = i64::try_from(number(weight)?).map_err(|_| form(verb))?;
            (Edit::Weight { plugin: plugin.into(), weight }, n)
        }
        "scale" => {
            let count = number(word(2)?)?;
            (Edit::Change(Change::Scale { of: workload(word(1)?)?, count }), 3)
        }
        "delete" => {
            let (kind_word, target, n) = match word(1)?.split_once('/') {
                Some((kind, name)) => (kind, name, 2),
                None => (word(1)?, word(2)?, 3),
            };
            let kind = kind_named(kind_word)
                .ok_or_else(|| format!("delete: {kind_word:?} is no kind of object that is known here"))?;
            (delete(kind, target), n)
        }
        _ => {
            let forms: Vec<&str> = FORMS.iter().map(|(form, _)| *form).collect();
            return Err(format!("{verb:?} is no change; changes are: {}", forms.join(", ")));
        }
    };
    Ok((edit, words.get(n..).unwrap_or_default()))
}

fn form(verb: &str) -> String {
    let forms = FORMS.iter().map(|(form, _)| *form).filter(|form| form.split(' ').next() == Some(verb));
    let forms: Vec<&str> = forms.collect();
    format!("{verb}: write {}", forms.join(" or "))
}

fn delete(kind: Kind, target: &str) -> Edit {
    let key = match target.split_once('/') {
        Some((namespace, name)) => NamespacedName::new(namespace, name),
        None if kind.is_namespaced() => NamespacedName::new("default", target),
        None => NamespacedName::cluster(target),
    };
    match kind {
        Kind::Pod => Edit::DeletePod(key),
        Kind::Node => Edit::DeleteNode(key.name),
        kind => Edit::Delete { kind, key },
    }
}

fn workload(text: &str) -> Result<Workload, String> {
    if text.contains('=') {
        let pairs: Option<Vec<(Str, Str)>> =
            text.split(',').map(|pair| pair.split_once('=').map(|(k, v)| (k.into(), v.into()))).collect();
        let pairs = pairs.ok_or_else(|| format!("scale: {text:?} is not LABEL=VALUE[,LABEL=VALUE]"))?;
        return Ok(Workload::Labels { namespace: None, pairs });
    }
    let parts: Vec<&str> = text.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] => (*kind, None, *name),
        [kind, namespace, name] => (*kind, Some(Str::from(*namespace)), *name),
        _ => return Err(form("scale")),
    };
    let kind = match kind {
        "deploy" | "deployments" => "deployment",
        "rs" | "replicasets" => "replicaset",
        "sts" | "statefulsets" => "statefulset",
        "jobs" => "job",
        kind => kind,
    };
    Ok(Workload::Controller { namespace, kind: kind.into(), name: name.into() })
}

/// The kind that a word names, as kubectl reads it.
pub fn kind_named(word: &str) -> Option<Kind> {
    let word = word.to_lowercase();
    let short = SHORT.iter().find(|(short, _)| *short == word).map(|(_, kind)| *kind);
    short.or_else(|| {
        Kind::ALL.iter().copied().find(|kind| kind.as_str().to_lowercase() == word || kind.resource() == word)
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let read_file =
            |name: &str| if name == "lost" { Err(format!("{name}: not there")) } else { Ok(String::new()) };
        parse(&words, &read_file).map(|edits| edits.iter().map(told).collect())
    }

    #[test]
    fn changes_stand_one_after_the_other() {
        assert_eq!(
            read(
                "drain n-1 add 3 nodes like n-2 add 2 like n-2 scale deploy/shop/web 5 scale app=web,tier=a 0"
            )
            .unwrap(),
            [
                "drain n-1",
                "add 3 like n-2",
                "add 2 like n-2",
                "scale deployment/web in shop to 5",
                "scale app=web,tier=a to 0"
            ]
        );
        assert_eq!(
            read("weight NodeResourcesFit=3 weight ImageLocality 2 delete po shop/a delete node/n-1 delete pdb/shop/b config c.yaml").unwrap(),
            [
                "weight NodeResourcesFit=3",
                "weight ImageLocality=2",
                "delete pod shop/a",
                "delete node n-1",
                "delete poddisruptionbudget shop/b",
                "config c.yaml"
            ]
        );
        assert_eq!(
            read("taint n a=b:NoSchedule label n a- cordon n uncordon n remove n down n up n add x.yaml apply y.yaml").unwrap(),
            [
                "taint n a=b:NoSchedule",
                "label n a-",
                "cordon n",
                "uncordon n",
                "remove n",
                "node n down",
                "node n up",
                "apply x.yaml",
                "apply y.yaml"
            ]
        );
    }

    #[test]
    fn what_is_no_change_is_said_with_its_form() {
        for (words, wrong) in [
            ("drain", "drain: write drain NODE"),
            ("add 3 n-1", "add: write add FILE or add N like NODE"),
            ("scale web 3", "scale: write scale KIND/[NAMESPACE/]NAME N"),
            ("delete thing x", "delete: \"thing\" is no kind of object that is known here"),
            ("config lost", "lost: not there"),
        ] {
            assert_eq!(read(words).unwrap_err(), wrong);
        }
        assert!(
            read("explode n-1")
                .unwrap_err()
                .starts_with("\"explode\" is no change; changes are: drain NODE,")
        );
        assert!(read("scale rs/web many").unwrap_err().contains("\"many\" is not a number"));
    }
}
