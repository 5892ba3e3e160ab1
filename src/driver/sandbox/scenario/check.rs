//! Whether what a scenario expects is so.

use std::collections::BTreeMap;

use super::plan::{Count, Expect, Of, PodIs};
use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::driver::sandbox::simulator::Simulator;

/// The label with a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// What was expected and what was, if that differs.
pub(super) fn check(simulator: &Simulator, expect: &Expect) -> Result<(), (String, String)> {
    match expect {
        Expect::Pod { pod, is } => check_pod(simulator, pod, is),
        Expect::Pods { of, placed, pending, count, per_node } => {
            let pods: Vec<&Pod> = simulator
                .api()
                .objects()
                .pods
                .values()
                .map(|pod| &**pod)
                .filter(|pod| is_one(simulator, pod, of))
                .collect();
            let n = |is_wanted: &dyn Fn(&Pod) -> bool| {
                u64::try_from(pods.iter().filter(|pod| is_wanted(pod)).count()).unwrap_or(u64::MAX)
            };
            counted(of, "on a node", *placed, n(&Pod::is_assigned))?;
            counted(of, "pending", *pending, n(&|pod: &Pod| !pod.is_assigned()))?;
            counted(of, "there", *count, n(&|_: &Pod| true))?;
            let mut by_node: BTreeMap<&str, u64> = BTreeMap::new();
            for pod in pods.iter().filter(|pod| pod.is_assigned()) {
                *by_node.entry(&pod.spec.node_name).or_default() += 1;
            }
            let (node, most) =
                by_node.iter().max_by_key(|(_, n)| **n).map_or(("any node", 0), |(node, n)| (*node, *n));
            counted(of, &format!("on {node}, the most on one node"), *per_node, most)
        }
        Expect::Totals { preempted, attempts, nodes } => {
            let counts = simulator.scheduler().counts();
            let n_nodes = u64::try_from(simulator.api().objects().nodes.len()).unwrap_or(u64::MAX);
            total("evicted pods", *preempted, counts.preempted)?;
            total("attempts", *attempts, counts.cycles)?;
            total("nodes", *nodes, n_nodes)
        }
    }
}

fn counted(of: &Of, what: &str, wanted: Option<Count>, n: u64) -> Result<(), (String, String)> {
    match wanted {
        Some(wanted) if !wanted.has(n) => {
            Err((format!("{wanted} of {} {what}", of_text(of)), format!("{n} are")))
        }
        _ => Ok(()),
    }
}

fn total(what: &str, wanted: Option<Count>, n: u64) -> Result<(), (String, String)> {
    match wanted {
        Some(wanted) if !wanted.has(n) => Err((format!("{wanted} {what}"), format!("{n}"))),
        _ => Ok(()),
    }
}

fn of_text(of: &Of) -> String {
    let mut words =
        vec![of.pattern.as_deref().map_or("the pods".to_owned(), |pattern| format!("pods {pattern}"))];
    if !of.labels.is_empty() {
        let pairs: Vec<String> = of.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        words.push(format!("with {}", pairs.join(",")));
    }
    words.extend(of.zone.iter().map(|zone| format!("in zone {zone}")));
    words.extend(of.node.iter().map(|node| format!("on node {node}")));
    words.join(" ")
}

fn is_one(simulator: &Simulator, pod: &Pod, of: &Of) -> bool {
    !pod.is_terminating()
        && of.pattern.as_ref().is_none_or(|pattern| matches(pattern, &pod.key().to_string()))
        && of.labels.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
        && of.node.as_ref().is_none_or(|node| pod.spec.node_name == *node)
        && of.zone.as_ref().is_none_or(|zone| zone_of(simulator, &pod.spec.node_name).as_ref() == Some(zone))
}

fn label_of(simulator: &Simulator, node: &Str, key: &str) -> Option<Str> {
    simulator.api().objects().node(node)?.label(key).map(Str::from)
}

fn zone_of(simulator: &Simulator, node: &Str) -> Option<Str> {
    label_of(simulator, node, ZONE)
}

/// Whether a text is as a pattern says, in which `*` stands for any letters.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

fn check_pod(simulator: &Simulator, name: &Str, is: &PodIs) -> Result<(), (String, String)> {
    let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
    let key = NamespacedName::new(namespace, short);
    let pod = simulator.api().objects().pods.get(&key);
    let found = match pod {
        None => "it is not there".to_owned(),
        Some(pod) if pod.is_assigned() => {
            let node = &pod.spec.node_name;
            match zone_of(simulator, node) {
                Some(zone) => format!("it is on {node}, in zone {zone}"),
                None => format!("it is on {node}"),
            }
        }
        Some(pod) => match simulator.scheduler().last_message(pod.uid()) {
            Some(message) => format!("it is pending: {message}"),
            None => "it is pending".to_owned(),
        },
    };
    let node = pod.map(|pod| &pod.spec.node_name).filter(|node| !node.is_empty());
    let (is_so, wanted) = match is {
        PodIs::On(None) => (node.is_some(), "on a node".to_owned()),
        PodIs::On(Some(wanted)) => (node == Some(wanted), format!("on {wanted}")),
        PodIs::InZone(zone) => (
            node.is_some_and(|node| zone_of(simulator, node).as_ref() == Some(zone)),
            format!("in zone {zone}"),
        ),
        PodIs::OnLabel(label, value) => (
            node.is_some_and(|node| label_of(simulator, node, label).as_ref() == Some(value)),
            format!("on a node with {label}={value}"),
        ),
        PodIs::Pending(reason) => {
            let message = pod.and_then(|pod| simulator.scheduler().last_message(pod.uid()));
            let has_reason = reason.is_empty() || message.is_some_and(|said| said.contains(&**reason));
            let why = if reason.is_empty() { String::new() } else { format!(" because of {reason:?}") };
            (pod.is_some() && node.is_none() && has_reason, format!("pending{why}"))
        }
        PodIs::Gone => (pod.is_none(), "gone".to_owned()),
    };
    if is_so { Ok(()) } else { Err((format!("pod {key} {wanted}"), found)) }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_have_stars() {
        for (pattern, text, is_match) in [
            ("shop/web-1", "shop/web-1", true),
            ("shop/web-1", "shop/web-10", false),
            ("shop/*", "shop/web-1", true),
            ("*/web-*", "shop/web-1", true),
            ("*-1", "shop/web-1", true),
            ("s*p/*-1", "shop/web-1", true),
            ("s*p/*-2", "shop/web-1", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }
}
