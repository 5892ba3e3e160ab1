//! Names in little room: plugins by shorter names, objects cut where the least is lost.

use std::borrow::Cow;

use ratatui::text::Span;

use super::Cx;
use super::find::Find;
use crate::api::NamespacedName;
use crate::tui::theme::Role;
use crate::tui::widgets::glyphs::Glyphs;
use crate::tui::widgets::text;

/// A plugin's name without the words that most names begin with: `NodeResourcesFit` becomes `Fit`.
pub fn medium(plugin: &str) -> &str {
    match plugin {
        "NodeResourcesFit" => "Fit",
        "NodeResourcesBalancedAllocation" => "Balanced",
        "NodeUnschedulable" => "Unschedulable",
        "TaintToleration" => "Taints",
        "ImageLocality" => "Images",
        "InterPodAffinity" => "PodAffinity",
        "PodTopologySpread" => "Spread",
        "NodeDeclaredFeatures" => "Features",
        "DynamicResources" => "Dynamic",
        "SchedulingGates" => "Gates",
        "DefaultPreemption" => "Preemption",
        "DefaultBinder" => "Binder",
        _ => plugin.strip_prefix("Node").filter(|rest| !rest.is_empty()).unwrap_or(plugin),
    }
}

/// A plugin's name in at most six columns, if it is a known one.
pub fn short(plugin: &str) -> &str {
    match plugin {
        "NodeUnschedulable" => "Unsch",
        "NodeName" => "Name",
        "TaintToleration" => "Taint",
        "NodeAffinity" => "Aff",
        "NodePorts" => "Ports",
        "NodeResourcesFit" => "Fit",
        "NodeResourcesBalancedAllocation" => "Bal",
        "ImageLocality" => "Image",
        "VolumeRestrictions" => "VolRes",
        "NodeVolumeLimits" => "VolLim",
        "VolumeBinding" => "VolBin",
        "VolumeZone" => "VolZon",
        "PodTopologySpread" => "Spread",
        "InterPodAffinity" => "IPA",
        "NodeDeclaredFeatures" => "Feat",
        "DynamicResources" => "DRA",
        _ => medium(plugin),
    }
}

/// The name of a plugin in `columns` columns: as it is, or as short as it must be.
pub fn plugin(name: &str, columns: usize) -> &str {
    [name, medium(name)].into_iter().find(|form| text::width(form) <= columns).unwrap_or_else(|| short(name))
}

/// The names of several plugins in `columns` columns, all in the same form; what does not fit is counted.
pub fn plugins<S: AsRef<str>>(names: &[S], columns: usize) -> String {
    let forms: [fn(&str) -> &str; 3] = [|name| name, medium, short];
    let joined = |form: fn(&str) -> &str, n: usize| {
        let mut text = String::new();
        for name in names.iter().take(n) {
            text.push_str(if text.is_empty() { "" } else { ", " });
            text.push_str(form(name.as_ref()));
        }
        if n < names.len() {
            text.push_str(&format!(" +{}", names.len() - n));
        }
        text
    };
    let whole = forms.into_iter().map(|form| joined(form, names.len()));
    let parts = (1..names.len()).rev().map(|n| joined(short, n));
    whole.chain(parts).find(|text| text::width(text) <= columns).unwrap_or_else(|| joined(short, 1))
}

/// A cleaned name cut in its middle to at most `columns` columns: beginnings and ends tell objects apart.
pub fn middle<'t>(name: &'t str, columns: usize, glyphs: &Glyphs) -> Cow<'t, str> {
    let width = text::width(name);
    if width <= columns {
        return Cow::Borrowed(name);
    }
    let room = columns.saturating_sub(text::width(glyphs.ellipsis));
    let head = text::prefix(name, room - room / 2);
    let tail = name
        .char_indices()
        .map(|(at, _)| &name[at..])
        .find(|tail| text::width(tail) <= room / 2)
        .unwrap_or_default();
    if columns == 0 { Cow::Borrowed("") } else { Cow::Owned(format!("{head}{}{tail}", glyphs.ellipsis)) }
}

/// A pod's name in at most `columns` columns: with its namespace if there is room.
pub fn pod(key: &NamespacedName, columns: usize, find: &Find, cx: &Cx<'_>) -> Vec<Span<'static>> {
    let name_style = cx.theme.style(Role::Name);
    let (namespace, name) = (text::clean(&key.namespace), text::clean(&key.name));
    let whole = text::width(&namespace) + 1 + text::width(&name);
    if whole <= columns {
        if find.is_on() {
            return find.spans(&format!("{namespace}/{name}"), name_style, cx);
        }
        let muted = cx.theme.style(Role::Muted);
        return vec![
            Span::styled(format!("{namespace}/"), muted),
            Span::styled(name.into_owned(), name_style),
        ];
    }
    if text::width(&name) + 2 <= columns {
        let mut spans = vec![Span::styled(format!("{}/", cx.glyphs.ellipsis), cx.theme.style(Role::Muted))];
        spans.extend(find.spans(&name, name_style, cx));
        return spans;
    }
    find.spans(&middle(&name, columns, cx.glyphs), name_style, cx)
}

/// A priority in at most seven columns; those of the two built-in classes by name.
pub fn priority(priority: i32) -> String {
    match priority {
        2_000_001_000 => String::from("sysnode"),
        2_000_000_000 => String::from("sysclus"),
        -999_999..=9_999_999 => priority.to_string(),
        _ => format!("{}M", priority / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::widgets::glyphs::{ASCII, UNICODE};

    #[test]
    fn plugins_are_as_long_as_there_is_room() {
        assert_eq!(plugin("NodeResourcesFit", 16), "NodeResourcesFit");
        assert_eq!(plugin("NodeUnschedulable", 14), "Unschedulable");
        assert_eq!(plugin("NodeUnschedulable", 5), "Unsch");
        assert_eq!(plugin("SomebodysOwn", 4), "SomebodysOwn");
        assert_eq!(plugins(&["NodeResourcesFit", "TaintToleration"], 12), "Fit, Taints");
        let four = ["NodeAffinity", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration"];
        assert_eq!(plugins(&four, 17), "Aff, Fit +2");
        assert_eq!(plugins(&four, 3), "Aff +3");
    }

    #[test]
    fn names_are_cut_in_their_middle() {
        assert_eq!(middle("web-7d4b9c6f5-x2x7z", 11, &UNICODE), "web-7…x2x7z");
        assert_eq!(middle("web-7d4b9c6f5-x2x7z", 4, &ASCII), "we~z");
        assert_eq!(middle("世界世界世界", 5, &UNICODE), "世…界");
        assert_eq!(middle("abc", 0, &UNICODE), "");
        assert_eq!(middle("abc", 1, &UNICODE), "…");
    }

    #[test]
    fn priorities_fit_seven_columns() {
        for value in [0, 1000, -5, i32::MIN, i32::MAX, 9_999_999, -999_999, 2_000_000_000, 2_000_001_000] {
            assert!(priority(value).len() <= 7, "{value}");
        }
    }
}
