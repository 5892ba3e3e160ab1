//! `:open`: the page of an object of any kind, or of a profile.

use crate::api::{Kind, NamespacedName, Str};
use crate::tui::panes::Subject;

use super::edits::kind_named;
use super::{CommandCx, Deed, find_pod, pod_name, usage};

pub(super) fn open(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let [word, name] = arguments else { return Err(usage("open")) };
    let subject = match *word {
        "pod" | "po" | "pods" => Subject::Pod(find_pod(name, cx)),
        "node" | "no" | "nodes" => Subject::Node(Str::from(*name)),
        "profile" => Subject::Profile(Str::from(*name)),
        word => match kind_named(word) {
            Some(Kind::Pod) => Subject::Pod(find_pod(name, cx)),
            Some(Kind::Node) => Subject::Node(Str::from(*name)),
            Some(kind) if kind.is_namespaced() => Subject::Object(kind, pod_name(name)),
            Some(kind) => Subject::Object(kind, NamespacedName::cluster(*name)),
            None => return Err(format!("{word:?} is no kind that the scheduler reads; {}", usage("open"))),
        },
    };
    Ok(Deed::Open(subject))
}
