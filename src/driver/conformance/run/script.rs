//! The commands of a script, one a line.

use crate::api::{Duration, Kind, NamespacedName};
use crate::config::GoDuration;

use super::RunError;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Nothing happens; the state is printed.
    Queue,
    /// One attempt.
    Cycle,
    /// Attempts until none can be made.
    Drain,
    /// Time goes by, with attempts.
    Wait(Duration),
    /// Time goes by.
    Advance(Duration),
    /// What an eviction does.
    Graceful(Graceful),
    /// Something is changed within the next attempt.
    During(Moment, Change),
    /// Calls fail.
    Fail { verb: String, pod: NamespacedName, fault: Fault },
    /// A call takes time.
    Slow { verb: String, pod: NamespacedName, takes: Duration },
    /// The extenders answer as that file says.
    Extenders(String),
    /// A Permit plugin allows a waiting pod.
    Allow { pod: NamespacedName, plugin: String },
    /// A Permit plugin turns it down; without a plugin, as the event handlers do.
    Reject { pod: NamespacedName, plugin: Option<String> },
    /// Something is changed.
    Change(Change),
}

/// What another client of the API does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The command as it stands in the script.
    pub text: String,
    pub deed: Deed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Creates or replaces the objects of a file.
    Apply(String),
    /// Deletes an object.
    Delete(Kind, NamespacedName),
    /// Begins the graceful deletion of a pod.
    Terminate(NamespacedName),
    /// Binds a pod.
    ExternalBind(NamespacedName, String),
}

/// What an eviction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Graceful {
    /// The pod is gone at once.
    #[default]
    Off,
    /// The pod stays until the script deletes it.
    On,
    /// The pod goes after that time.
    For(Duration),
}

/// A moment within an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The nodes have been looked at and no plugin has run.
    PreFilter,
    /// No node has passed the filters.
    PostFilter,
}

impl Moment {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreFilter => "prefilter",
            Self::PostFilter => "postfilter",
        }
    }
}

/// How calls fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// How many more calls do.
    pub times: u32,
    pub why: Why,
    /// The pod's name as the script has it, for the text.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Error,
    Conflict,
    NotFound,
    Forbidden,
}

/// The kinds that a script can delete, with the names that they have there.
const KINDS: [(&str, &str); 16] = [
    ("pod", "Pod"),
    ("node", "Node"),
    ("namespace", "Namespace"),
    ("service", "Service"),
    ("pvc", "PersistentVolumeClaim"),
    ("pv", "PersistentVolume"),
    ("pdb", "PodDisruptionBudget"),
    ("storageclass", "StorageClass"),
    ("csinode", "CSINode"),
    ("csidriver", "CSIDriver"),
    ("capacity", "CSIStorageCapacity"),
    ("attachment", "VolumeAttachment"),
    ("claim", "ResourceClaim"),
    ("slice", "ResourceSlice"),
    ("deviceclass", "DeviceClass"),
    ("podgroup", "PodGroup"),
];

/// A line of a script; `None` if it has no command.
pub(super) fn parse(line: &str) -> Result<Option<(String, Command)>, RunError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let wrong = |reason: &str| RunError::Command { line: line.to_owned(), reason: reason.to_owned() };
    let words: Vec<&str> = line.split_whitespace().collect();
    let command = command(&words).map_err(|reason| wrong(&reason))?;
    Ok(Some((line.to_owned(), command)))
}

fn command(words: &[&str]) -> Result<Command, String> {
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    Ok(match word(0) {
        "queue" => Command::Queue,
        "cycle" => Command::Cycle,
        "drain" => Command::Drain,
        "wait" => Command::Wait(duration(word(1))?),
        "advance" => Command::Advance(duration(word(1))?),
        "graceful" => Command::Graceful(match word(1) {
            "on" => Graceful::On,
            "off" => Graceful::Off,
            text => Graceful::For(duration(text)?),
        }),
        "during" => {
            let moment = match word(1) {
                "prefilter" => Moment::PreFilter,
                "postfilter" => Moment::PostFilter,
                _ => return Err("during prefilter|postfilter COMMAND".to_owned()),
            };
            Command::During(moment, change(words.get(2..).unwrap_or_default())?)
        }
        "fail" => fail(words)?,
        "slow" => match word(1) {
            verb @ ("bind" | "delete") => {
                Command::Slow { verb: verb.to_owned(), pod: pod_name(word(2)), takes: duration(word(3))? }
            }
            _ => return Err("slow bind|delete NAME DURATION".to_owned()),
        },
        "extenders" => Command::Extenders(word(1).to_owned()),
        "allow" if words.len() > 2 => Command::Allow { pod: pod_name(word(1)), plugin: word(2).to_owned() },
        "reject" if words.len() > 1 => Command::Reject {
            pod: pod_name(word(1)),
            plugin: words.get(2).map(|plugin| (*plugin).to_owned()),
        },
        "allow" | "reject" => return Err("allow NAME PLUGIN, reject NAME [PLUGIN]".to_owned()),
        _ => Command::Change(change(words)?),
    })
}

fn fail(words: &[&str]) -> Result<Command, String> {
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let mut fault = Fault { times: 1, why: Why::Error, name: word(2).to_owned() };
    for text in words.iter().skip(3) {
        match (*text, text.parse()) {
            (_, Ok(times)) => fault.times = times,
            ("error", _) => fault.why = Why::Error,
            ("conflict", _) => fault.why = Why::Conflict,
            ("notfound", _) => fault.why = Why::NotFound,
            ("forbidden", _) => fault.why = Why::Forbidden,
            (text, _) => return Err(format!("fail: unknown reason {text}")),
        }
    }
    Ok(Command::Fail { verb: word(1).to_owned(), pod: pod_name(word(2)), fault })
}

fn change(words: &[&str]) -> Result<Change, String> {
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let deed = match word(0) {
        "apply" => Deed::Apply(word(1).to_owned()),
        "delete" if words.len() > 2 => {
            let kind = kind(word(1))?;
            Deed::Delete(kind, object_name(kind, word(2)))
        }
        "delete" => Deed::Delete(Kind::Pod, object_name(Kind::Pod, word(1))),
        "terminate" => Deed::Terminate(pod_name(word(1))),
        "external-bind" => Deed::ExternalBind(pod_name(word(1)), word(2).to_owned()),
        _ => return Err("unknown command".to_owned()),
    };
    Ok(Change { text: words.join(" "), deed })
}

fn kind(word: &str) -> Result<Kind, String> {
    let (_, name) = KINDS.iter().find(|(known, _)| *known == word).ok_or(format!("unknown kind {word}"))?;
    let kind = Kind::ALL.iter().find(|kind| kind.as_str() == *name);
    kind.copied().ok_or_else(|| format!("{name} objects are not read"))
}

fn object_name(kind: Kind, text: &str) -> NamespacedName {
    match text.split_once('/') {
        Some((namespace, name)) => NamespacedName::new(namespace, name),
        None if kind.is_namespaced() => NamespacedName::new("default", text),
        None => NamespacedName::cluster(text),
    }
}

fn pod_name(text: &str) -> NamespacedName {
    object_name(Kind::Pod, text)
}

/// A duration as Go writes it, such as `1m30s` or `1.5s`.
fn duration(text: &str) -> Result<Duration, String> {
    GoDuration::parse(text).map(GoDuration::to_std).ok_or_else(|| format!("invalid duration {text:?}"))
}
