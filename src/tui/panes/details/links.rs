//! Names in lines of text that can be gone to.
//!
//! A name is recognized by its form, and nodes by being there: `NAMESPACE/NAME` is a pod, `#7` and `attempt 7` an
//! attempt that is still known, and so on. That a pod is gone is said by its page.

use ratatui::text::{Line, Span};

use crate::api::{Kind, NamespacedName, Str};
use crate::explain::glossary::{first_phase, is_plugin};
use crate::scheduler::trace::CycleTrace;
use crate::scheduler::view::View;
use crate::tui::panes::{Cx, Subject};
use crate::tui::theme::Role;

/// The longest name of an object.
const NAME_MAX: usize = 253;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    /// What is gone to.
    pub(super) to: Subject,
    /// The line of the page.
    pub(super) line: usize,
    /// Where the name begins and ends in the text of that line, in bytes.
    range: (usize, usize),
}

/// The names in lines of a page; the subject that the page is about is none.
pub(super) fn links(
    lines: &[Line<'_>],
    about: &Subject,
    names: &[(String, Subject)],
    cx: &Cx<'_>,
) -> Vec<Link> {
    let view = &cx.view.scheduler;
    let mut links = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = text_of(line);
        let mut before = "";
        let mut kind = None;
        for (start, word) in words(&text) {
            // `claims default/a, default/b`: what the first is the others are, too.
            kind = kind_said(before).or(kind.filter(|_| is_key(word)));
            let named = || names.iter().find(|(name, _)| name == word).map(|(_, to)| to.clone());
            let said = || kind.and_then(|kind| object(kind, word, view));
            let to = named().or_else(said).or_else(|| target(word, before, view));
            if let Some(to) = to.filter(|to| to != about) {
                links.push(Link { to, line: at, range: (start, start + word.len()) });
            }
            before = word;
        }
    }
    links
}

/// The line with a name in it marked.
pub(super) fn marked(line: &Line<'static>, link: &Link, cx: &Cx<'_>) -> Line<'static> {
    let style = cx.theme.style(Role::Selection);
    let mut spans = Vec::new();
    let mut at = 0;
    for span in &line.spans {
        let end = at + span.content.len();
        let cut = |place: usize| place.clamp(at, end) - at;
        let (from, to) = (cut(link.range.0), cut(link.range.1));
        for (part, is_link) in [(0..from, false), (from..to, true), (to..end - at, false)] {
            let Some(part) = span.content.get(part).filter(|part| !part.is_empty()) else { continue };
            let style = if is_link { span.style.patch(style) } else { span.style };
            spans.push(Span::styled(part.to_owned(), style));
        }
        at = end;
    }
    Line { spans, ..line.clone() }
}

fn text_of(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| span.content.as_ref()).collect()
}

/// Words without the signs around them, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_apart = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '[' | ']' | '=');
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text.get(rest..)?.find(|c: char| !is_apart(c))?;
        let end = text[start..].find(is_apart).map_or(text.len(), |length| start + length);
        rest = end;
        let word = text[start..end].trim_end_matches(['.', ':', '!', '?', '\'']);
        Some((start, word))
    })
    .filter(|(_, word)| !word.is_empty())
}

/// The kind that a word says of the name behind it.
fn kind_said(word: &str) -> Option<Kind> {
    Some(match word {
        "claim" | "Claim" | "claims" | "Claims" | "persistentvolumeclaim" | "PersistentVolumeClaim" => {
            Kind::PersistentVolumeClaim
        }
        "resourceclaim" | "ResourceClaim" | "resourceclaims" => Kind::ResourceClaim,
        "volume" | "volumes" | "PersistentVolume" | "persistentvolume" => Kind::PersistentVolume,
        "budget" | "budgets" | "PDB" | "PodDisruptionBudget" => Kind::PodDisruptionBudget,
        "group" | "PodGroup" | "podgroup" => Kind::PodGroup,
        "slice" | "slices" | "ResourceSlice" => Kind::ResourceSlice,
        "CSINode" => Kind::CSINode,
        "StorageClass" | "storageclass" => Kind::StorageClass,
        "DeviceClass" | "deviceclass" => Kind::DeviceClass,
        _ => return None,
    })
}

/// Whether a word has the form `NAMESPACE/NAME`.
fn is_key(word: &str) -> bool {
    word.split_once('/').is_some_and(|(namespace, name)| is_pod(namespace, name))
}

/// The object of a kind that was said.
fn object(kind: Kind, word: &str, view: &View) -> Option<Subject> {
    if kind.is_namespaced() {
        let (namespace, name) = word.split_once('/').filter(|_| is_key(word))?;
        let key = NamespacedName::new(namespace, name);
        let is_device_claim = || {
            view.device_claims
                .iter()
                .any(|claim| claim.metadata.namespace == key.namespace && claim.metadata.name == key.name)
        };
        let kind = match kind {
            Kind::PersistentVolumeClaim if is_device_claim() => Kind::ResourceClaim,
            kind => kind,
        };
        return Some(Subject::Object(kind, key));
    }
    // What follows such a word need be no name: `volume limits`, `the slice is`.
    let is_name =
        is_pod("x", word) && word.contains(['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    is_name.then(|| Subject::Object(kind, NamespacedName::cluster(word)))
}

fn target(word: &str, before: &str, view: &View) -> Option<Subject> {
    let number = match word.strip_prefix('#') {
        Some(number) => Some(number),
        None if matches!(before, "attempt" | "Attempt" | "cycle") => Some(word),
        None => None,
    };
    if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
        let is_known = view.history.iter().any(|line| line.number == number);
        return is_known.then_some(Subject::Attempt(number));
    }
    if let Some((namespace, name)) = word.split_once('/') {
        return is_pod(namespace, name).then(|| Subject::Pod(NamespacedName::new(namespace, name)));
    }
    if view.nodes.binary_search_by(|node| node.name().as_ref().cmp(word)).is_ok() {
        return Some(Subject::Node(Str::from(word)));
    }
    let asked = |trace: &CycleTrace| {
        let filter = trace.filter.as_ref().is_some_and(|filter| filter.plugins.contains(&word));
        filter || trace.pre_filter.iter().flatten().any(|verdict| verdict.plugin == word)
    };
    let is_known = is_plugin(view, word) || view.cycle.as_ref().is_some_and(|trace| asked(trace));
    is_known.then(|| Subject::Plugin { plugin: Str::from(word), phase: first_phase(view, word) })
}

/// Whether the two can be namespace and name: neither a fraction nor a label's prefix, which has dots.
fn is_pod(namespace: &str, name: &str) -> bool {
    let is_name = |text: &str, dots: bool| {
        !text.is_empty()
            && text.len() <= NAME_MAX
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || (dots && byte == b'.')
            })
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    is_name(namespace, false)
        && is_name(name, true)
        && namespace.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_told_from_fractions_and_labels() {
        assert!(is_pod("shop", "web-1"));
        assert!(is_pod("kube-system", "kube-proxy-x.y"));
        assert!(!is_pod("0", "12"));
        assert!(!is_pod("example.com", "gpu"));
        assert!(!is_pod("Shop", "web"));
        assert!(!is_pod("", "web"));
    }

    #[test]
    fn signs_around_a_word_do_not_belong_to_it() {
        let found: Vec<_> = words("on a-1 (shop/web-1), then \"b\".").collect();
        assert_eq!(found, [(0, "on"), (3, "a-1"), (8, "shop/web-1"), (21, "then"), (27, "b")]);
    }
}
