//! Pages about objects beside pods and nodes, and about profiles; the names in them can be gone to.

use super::page::Page;
use super::reading::{answer, how_old};
use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Str};
use crate::driver::inspect::{Found, Inspect};
use crate::explain::{self, Named};
use crate::scheduler::internals::ProfileView;
use crate::tui::panes::{Cx, Subject};
use crate::tui::theme::Role;

/// How many objects are listed under one label.
const N_LISTED: usize = 40;

pub(super) fn object(page: &mut Page, kind: Kind, key: &NamespacedName, cx: &Cx<'_>) {
    let word = explain::kind_word(kind);
    page.title(vec![(format!("{word} "), Role::Muted), (key.to_string(), Role::Strong)]);
    let inspected = answer(&Inspect::Object(kind, key.clone()), cx);
    how_old(page, inspected, cx);
    let store = match inspected.map(|inspected| &inspected.found) {
        Some(Found::Object(store)) => store,
        Some(Found::Nothing(why)) => return page.text(why.clone(), Role::Muted),
        _ => return,
    };
    let Some(story) = explain::object_story(store, kind, key) else { return };
    page.text(story.headline, Role::Text);
    page.heading(word);
    for (label, value) in story.facts {
        page.item(label, value);
    }
    let mut last = "";
    let mut n = 0;
    for named in &story.named {
        if named.label != last {
            page.heading(heading(named, &story.named));
            (last, n) = (named.label, 0);
        }
        n += 1;
        if n <= N_LISTED {
            line(page, named);
        } else if n == N_LISTED + 1 {
            let more = story.named.iter().filter(|other| other.label == last).count() - N_LISTED;
            page.text(format!("{more} more"), Role::Muted);
        }
    }
}

/// The label, with how many there are where there are several.
fn heading(named: &Named, all: &[Named]) -> String {
    match all.iter().filter(|other| other.label == named.label).count() {
        1 => named.label.to_owned(),
        n => format!("{} {n}", named.label),
    }
}

fn line(page: &mut Page, named: &Named) {
    let name = named.key.to_string();
    let note = match (named.exists, named.note.as_str()) {
        (false, _) => "which is not there".to_owned(),
        (true, note) => note.to_owned(),
    };
    let role = if named.exists { Role::Text } else { Role::StatusUnschedulable };
    let text = if note.is_empty() { name.clone() } else { format!("{name}  {note}") };
    page.text(text, role);
    page.name(name, subject(named.kind, named.key.clone()));
}

/// The subject that an object is.
fn subject(kind: Kind, key: NamespacedName) -> Subject {
    match kind {
        Kind::Pod => Subject::Pod(key),
        Kind::Node => Subject::Node(key.name),
        kind => Subject::Object(kind, key),
    }
}

pub(super) fn profile(page: &mut Page, name: &Str, cx: &Cx<'_>) {
    page.title(vec![("profile ".to_owned(), Role::Muted), (name.to_string(), Role::Strong)]);
    let inspected = answer(&Inspect::Internals, cx);
    how_old(page, inspected, cx);
    let Some(Found::Internals(inside)) = inspected.map(|inspected| &inspected.found) else { return };
    let Some(profile) = inside.profiles.iter().find(|profile| profile.name == *name) else {
        let others: Vec<&str> = inside.profiles.iter().map(|profile| &*profile.name).collect();
        page.text(
            format!(
                "This scheduler has no such profile: it leaves its pods alone. It has {}.",
                explain::listed(&others, 8)
            ),
            Role::StatusUnschedulable,
        );
        for other in &inside.profiles {
            page.name(other.name.to_string(), Subject::Profile(other.name.clone()));
        }
        return;
    };
    page.text("The plugins of its pods, point by point, in the order in which they are called; Score plugins with their weights.", Role::Muted);
    page.heading("plugins");
    points(page, profile, cx);
}

/// The extension points of a profile with their plugins.
pub(super) fn points(page: &mut Page, profile: &ProfileView, cx: &Cx<'_>) {
    for (point, plugins) in &profile.points {
        let plugins: Vec<String> = plugins
            .iter()
            .map(|(plugin, weight)| match weight {
                Some(weight) => format!("{plugin} {}{weight}", cx.glyphs.times),
                None => (*plugin).to_owned(),
            })
            .collect();
        page.item(*point, if plugins.is_empty() { String::from("none") } else { plugins.join(", ") });
    }
}

/// What a pod names: its claims, its group, its budgets, its profile.
pub(super) fn named_by(page: &mut Page, pod: &Pod, cx: &Cx<'_>) {
    let namespace = &pod.metadata.namespace;
    let mut list = |label: &str, kind: Kind, names: Vec<Str>| {
        for name in &names {
            page.name(
                name.to_string(),
                Subject::Object(kind, NamespacedName::new(namespace.clone(), name.clone())),
            );
        }
        page.item(label, names.join(", "));
    };
    list("claims", Kind::PersistentVolumeClaim, pod.claim_names().map(Str::from).collect());
    let named = pod.spec.resource_claims.iter().filter_map(|claim| claim.resource_claim_name.as_deref());
    let made =
        pod.status.resource_claim_statuses.iter().filter_map(|made| made.resource_claim_name.as_deref());
    list("device claims", Kind::ResourceClaim, named.chain(made).map(Str::from).collect());
    list("group", Kind::PodGroup, pod.pod_group_name().cloned().into_iter().collect());
    let budgets = explain::budgets_of(&cx.view.scheduler.pdbs, pod);
    list("budgets", Kind::PodDisruptionBudget, budgets.into_iter().map(|(name, _)| name).collect());
    if !pod.spec.priority_class_name.is_empty() {
        let class = pod.spec.priority_class_name.as_str();
        page.name(class, Subject::Object(Kind::PriorityClass, NamespacedName::cluster(class)));
    }
    let profile = &pod.spec.scheduler_name;
    page.item("profile", profile.to_string());
    page.name(profile.to_string(), Subject::Profile(profile.clone()));
}
