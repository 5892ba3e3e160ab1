//! Filter answers in words: which number, label, taint or port decided.
//!
//! The answers are those of upstream's plugins of the same names (`pkg/scheduler/framework/plugins`).

use crate::api::objects::{Node, NodeSelectorTerm, Taint, TaintEffect};
use crate::framework::resource::names as resources;
use crate::framework::{Code, HostPort, NodeInfo, PodInfo, Resource, Status, host_ports};

use super::amount::{comparable, exact, percent};
use super::cell::CellExplanation;
use super::selectors::{Mismatch, describe_term, describe_toleration, first_mismatch, tolerates};
use super::{counted, listed, names};

/// The taint that stands for a cordoned node.
const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

/// The plugin turned the node down.
pub(super) fn rejected(pod: &PodInfo, node: &NodeInfo, plugin: &str, status: &Status) -> CellExplanation {
    let said = status.message();
    let known = match plugin {
        names::FIT => Some(fit_rejected(pod, node, status)),
        names::TAINT_TOLERATION => taint_rejected(pod, node),
        names::NODE_AFFINITY => affinity_rejected(pod, node),
        names::NODE_NAME => Some((
            format!("The pod asks for node {}; this is {}.", pod.pod.spec.node_name, node.name()),
            Vec::new(),
            None,
        )),
        names::NODE_UNSCHEDULABLE => Some((
            format!("The node is cordoned, and the pod does not tolerate {UNSCHEDULABLE_TAINT}:NoSchedule."),
            Vec::new(),
            Some("Uncordon the node, or choose another."),
        )),
        names::NODE_PORTS => ports_rejected(pod, node),
        _ => None,
    };
    let code = status.code();
    let Some((sentence, arithmetic, hint)) = known else {
        let sentence = if said.is_empty() {
            format!("{plugin} answered {code} without a reason.")
        } else {
            format!("{plugin} answered {code}: {said}.")
        };
        return preemption_hint(CellExplanation::new(code, sentence));
    };
    let explanation = CellExplanation::new(code, sentence).with_arithmetic(arithmetic);
    match hint {
        Some(hint) => explanation.with_hint(hint),
        None => preemption_hint(explanation),
    }
}

/// The plugin had no objection.
pub(super) fn passed(pod: &PodInfo, node: &NodeInfo, plugin: &str) -> CellExplanation {
    let (sentence, arithmetic) = match plugin {
        names::FIT => {
            let demands = demands(pod, node);
            let asks_for_room = demands.iter().any(|demand| demand.resource != resources::PODS);
            let sentence = if asks_for_room {
                format!("The node has room: {}.", joined(&demands, Demand::headroom))
            } else {
                format!("The pod requests nothing but a place: {}.", joined(&demands, Demand::headroom))
            };
            (sentence, equations(&demands))
        }
        names::TAINT_TOLERATION => taint_passed(pod, node),
        names::NODE_AFFINITY => (affinity_passed(pod, node), Vec::new()),
        names::NODE_NAME if pod.pod.spec.node_name.is_empty() => {
            (String::from("The pod asks for no particular node."), Vec::new())
        }
        names::NODE_NAME => (String::from("This is the node that the pod asks for."), Vec::new()),
        names::NODE_UNSCHEDULABLE if node.node().is_some_and(|node| node.spec.unschedulable) => {
            (String::from("The node is cordoned, and the pod tolerates it."), Vec::new())
        }
        names::NODE_UNSCHEDULABLE => (String::from("The node is not cordoned."), Vec::new()),
        names::NODE_PORTS => {
            let ports: Vec<String> = host_ports(&pod.pod).iter().map(describe_port).collect();
            (format!("Free on this node: {}.", listed(&ports, 4)), Vec::new())
        }
        _ => (format!("{plugin} has no objection."), Vec::new()),
    };
    CellExplanation::new(Code::Success, sentence).with_arithmetic(arithmetic)
}

fn preemption_hint(explanation: CellExplanation) -> CellExplanation {
    match explanation.code {
        Some(Code::Unschedulable) => explanation.with_hint("Preemption may help."),
        Some(Code::UnschedulableAndUnresolvable) => explanation.with_hint("Preemption cannot help."),
        _ => explanation,
    }
}

type Known = (String, Vec<String>, Option<&'static str>);

/// One resource of a node beside what the pod asks of it.
pub(super) struct Demand {
    pub(super) resource: String,
    pub(super) requested: i64,
    pub(super) used: i64,
    pub(super) allocatable: i64,
    /// How many pods of the node ask for it.
    n_pods: usize,
}

impl Demand {
    const fn free(&self) -> i64 {
        self.allocatable.saturating_sub(self.used)
    }

    const fn fits(&self) -> bool {
        self.requested <= self.free()
    }

    /// What NodeResourcesFit calls it when it does not fit.
    fn reason(&self) -> String {
        if self.resource == resources::PODS {
            String::from("Too many pods")
        } else {
            format!("Insufficient {}", self.resource)
        }
    }

    /// `cpu 1500m requested, 1200m free of 4000m (2800m asked for by 9 pods)`
    fn shortage(&self) -> String {
        if self.resource == resources::PODS {
            return format!("{} here, and the node takes {}", are(self.n_pods, "pod"), self.allocatable);
        }
        let shown =
            comparable(&self.resource, &[self.requested, self.free().max(0), self.allocatable, self.used]);
        let [requested, free, allocatable, used] = shown.as_slice() else { return String::new() };
        let resource = &self.resource;
        if self.allocatable == 0 {
            return format!("{resource} {requested} requested, and the node has none");
        }
        let free = if self.free() <= 0 { "none" } else { free };
        let by = if self.n_pods == 0 {
            String::from("nothing asked for")
        } else {
            format!("{used} asked for by {}", counted(self.n_pods, "pod"))
        };
        format!("{resource} {requested} requested, {free} free of {allocatable} ({by})")
    }

    /// `cpu 500m of 1200m free`
    fn headroom(&self) -> String {
        let shown = comparable(&self.resource, &[self.requested, self.free()]);
        let [requested, free] = shown.as_slice() else { return String::new() };
        if self.resource == resources::PODS {
            return format!("{} of {} left", counted_place(self.free()), self.allocatable);
        }
        format!("{} {requested} of {free} free", self.resource)
    }

    /// `cpu: 1500m > 4000m - 2800m = 1200m, short by 300m`
    fn equation(&self) -> String {
        let free = self.free();
        let shown = comparable(
            &self.resource,
            &[self.requested, self.allocatable, self.used, free, self.requested.saturating_sub(free)],
        );
        let [requested, allocatable, used, free, short] = shown.as_slice() else { return String::new() };
        let (relation, end) =
            if self.fits() { ("<=", String::new()) } else { (">", format!(", short by {short}")) };
        format!("{}: {requested} {relation} {allocatable} - {used} = {free}{end}", self.resource)
    }
}

fn counted_place(n: i64) -> String {
    if n == 1 { String::from("1 place") } else { format!("{n} places") }
}

fn are(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one} is") } else { format!("{n} {one}s are") }
}

fn joined(demands: &[Demand], say: impl Fn(&Demand) -> String) -> String {
    let parts: Vec<String> = demands.iter().map(say).collect();
    parts.join(", ")
}

fn equations(demands: &[Demand]) -> Vec<String> {
    demands.iter().map(Demand::equation).collect()
}

/// What the pod asks of the node, in the order in which NodeResourcesFit looks at it: the number of pods first.
pub(super) fn demands(pod: &PodInfo, node: &NodeInfo) -> Vec<Demand> {
    let wanted = &pod.resources.requests;
    let mut demands = vec![Demand {
        resource: String::from(resources::PODS),
        requested: 1,
        used: i64::try_from(node.pods().len()).unwrap_or(i64::MAX),
        allocatable: node.allocatable().allowed_pod_number,
        n_pods: node.pods().len(),
    }];
    let mut add = |resource: &str, amount: &dyn Fn(&Resource) -> i64| {
        let requested = amount(wanted);
        if requested > 0 {
            demands.push(Demand {
                resource: resource.to_owned(),
                requested,
                used: amount(node.requested()),
                allocatable: amount(node.allocatable()),
                n_pods: node.pods().iter().filter(|pod| amount(&pod.resources.requests) > 0).count(),
            });
        }
    };
    add(resources::CPU, &|resource| resource.milli_cpu);
    add(resources::MEMORY, &|resource| resource.memory);
    add(resources::EPHEMERAL_STORAGE, &|resource| resource.ephemeral_storage);
    for name in wanted.scalar_resources.keys() {
        add(name, &|resource| resource.scalar_resources.get(name).copied().unwrap_or_default());
    }
    demands
}

/// What a node has too little of for a pod, each with how many hundredths of all that it has that is.
pub(super) fn missing(pod: &PodInfo, node: &NodeInfo) -> Vec<(String, i64)> {
    let demands = demands(pod, node);
    let short = demands.iter().filter(|demand| !demand.fits());
    short
        .map(|demand| {
            let lacks = demand.requested.saturating_sub(demand.free());
            let percent = percent(lacks, demand.allocatable).unwrap_or(i64::MAX);
            let place =
                if demand.requested > demand.allocatable { ", more than the whole node has" } else { "" };
            (format!("{} {} too little{place}", demand.resource, exact(&demand.resource, lacks)), percent)
        })
        .collect()
}

fn fit_rejected(pod: &PodInfo, node: &NodeInfo, status: &Status) -> Known {
    let demands = demands(pod, node);
    let short: Vec<&Demand> = demands
        .iter()
        .filter(|demand| !demand.fits() && status.reasons().contains(&demand.reason()))
        .collect();
    let said = status.message();
    let arithmetic = equations(&demands);
    if short.is_empty() {
        let sentence = format!(
            "{said}. The pods here leave room ({}); what counts besides are pods of the same or a higher priority \
             that are nominated to this node.",
            joined(&demands, Demand::headroom)
        );
        return (sentence, arithmetic, None);
    }
    let shortages: Vec<String> = short.iter().map(|demand| demand.shortage()).collect();
    let sentence = format!("{}. {said}.", shortages.join("; "));
    let too_big = short.iter().find(|demand| demand.requested > demand.allocatable);
    let hint = match too_big {
        Some(demand) if demand.allocatable > 0 => {
            Some("Preemption cannot help: the whole node is too small.")
        }
        Some(_) => Some("Preemption cannot help: the node has nothing of that kind."),
        None => None,
    };
    (sentence, arithmetic, hint)
}

fn repelling(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec
        .taints
        .iter()
        .filter(|taint| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute))
}

fn taint_rejected(pod: &PodInfo, node: &NodeInfo) -> Option<Known> {
    let tolerations = &pod.pod.spec.tolerations;
    let node = node.node()?;
    let taint = repelling(node).find(|taint| !tolerations.iter().any(|t| tolerates(t, taint)))?;
    let who = match tolerations.len() {
        0 => String::from("the pod has no toleration"),
        1 => String::from("the pod's one toleration does not cover it"),
        n => format!("none of the pod's {n} tolerations covers it"),
    };
    let compared = repelling(node).flat_map(|taint| taint_lines(taint, pod)).collect();
    Some((
        format!("Taint {taint} is not tolerated: {who}."),
        compared,
        Some("Preemption cannot help: the pod needs a toleration, or the node must lose the taint."),
    ))
}

fn taint_lines(taint: &Taint, pod: &PodInfo) -> Vec<String> {
    let tolerations = &pod.pod.spec.tolerations;
    if let Some(by) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) {
        return vec![format!("{taint}: covered by {}", describe_toleration(by))];
    }
    if tolerations.is_empty() {
        return vec![format!("{taint}: nothing to compare with")];
    }
    tolerations
        .iter()
        .map(|toleration| format!("{taint}: not covered by {}", describe_toleration(toleration)))
        .collect()
}

fn taint_passed(pod: &PodInfo, node: &NodeInfo) -> (String, Vec<String>) {
    let taints: Vec<&Taint> = node.node().map(|node| repelling(node).collect()).unwrap_or_default();
    match taints.as_slice() {
        [] => (String::from("No taint here keeps pods away."), Vec::new()),
        [taint] => (format!("Taint {taint} is tolerated."), taint_lines(taint, pod)),
        several => (
            format!("All {} taints are tolerated.", several.len()),
            several.iter().flat_map(|taint| taint_lines(taint, pod)).collect(),
        ),
    }
}

fn required_terms(pod: &PodInfo) -> &[NodeSelectorTerm] {
    pod.pod
        .spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required.as_ref())
        .map_or(&[], |required| &required.node_selector_terms)
}

fn affinity_rejected(pod: &PodInfo, node: &NodeInfo) -> Option<Known> {
    const HINT: Option<&str> =
        Some("Preemption cannot help: the node needs the label, or the pod another rule.");
    let node = node.node()?;
    for (key, wanted) in &pod.pod.spec.node_selector {
        let found = match node.label(key) {
            Some(value) if value == wanted.as_ref() => continue,
            Some(value) => format!("the node has {key}={value}"),
            None => format!("the node has no label {key}"),
        };
        return Some((format!("The node selector wants {key}={wanted}; {found}."), Vec::new(), HINT));
    }
    let terms = required_terms(pod);
    let mismatches: Vec<Mismatch> = terms.iter().filter_map(|term| first_mismatch(term, node)).collect();
    if mismatches.len() < terms.len() || terms.is_empty() {
        // The pod's own rules match: the profile's added affinity is what decided.
        return None;
    }
    let sentence = match mismatches.as_slice() {
        [only] => format!("The required term wants {}; {}.", only.requirement, only.found),
        several => format!("None of the {} required terms matches.", several.len()),
    };
    let lines = terms
        .iter()
        .zip(&mismatches)
        .enumerate()
        .map(|(i, (term, missing))| format!("term {}: {} - {}", i + 1, describe_term(term), missing.found))
        .collect();
    Some((sentence, lines, HINT))
}

fn affinity_passed(pod: &PodInfo, node: &NodeInfo) -> String {
    let Some(node) = node.node() else { return String::from("The required node affinity matches.") };
    let matching = required_terms(pod).iter().find(|term| first_mismatch(term, node).is_none());
    let selector: Vec<String> =
        pod.pod.spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    match (matching, selector.is_empty()) {
        (Some(term), true) => format!("The node meets {}.", describe_term(term)),
        (Some(term), false) => {
            format!("The node meets {} and has {}.", describe_term(term), listed(&selector, 4))
        }
        (None, false) => format!("The node has {}, as the node selector wants.", listed(&selector, 4)),
        (None, true) => String::from("The node matches what the profile requires."),
    }
}

pub(super) fn describe_port(port: &HostPort) -> String {
    if port.ip.as_ref() == "0.0.0.0" {
        format!("{}/{}", port.port, port.protocol)
    } else {
        format!("{}:{}/{}", port.ip, port.port, port.protocol)
    }
}

fn ports_rejected(pod: &PodInfo, node: &NodeInfo) -> Option<Known> {
    let wanted = host_ports(&pod.pod);
    let collides = |other: &PodInfo, port: &HostPort| {
        let mut taken = crate::framework::HostPortInfo::default();
        host_ports(&other.pod).iter().for_each(|port| taken.add(port));
        taken.conflicts_with(port)
    };
    let conflicts: Vec<(String, String)> = wanted
        .iter()
        .filter_map(|port| {
            let holder = node.pods().iter().find(|other| collides(other, port))?;
            Some((describe_port(port), holder.pod.key().to_string()))
        })
        .collect();
    let (port, holder) = conflicts.first()?;
    let lines = wanted
        .iter()
        .map(describe_port)
        .map(|port| match conflicts.iter().find(|(taken, _)| *taken == port) {
            Some((_, holder)) => format!("{port}: taken by {holder}"),
            None => format!("{port}: free"),
        })
        .collect();
    Some((format!("Port {port} of the host is taken by {holder}."), lines, None))
}

/// What a pod asks for, resource by resource: `cpu 500m`.
pub fn requests(pod: &PodInfo) -> Vec<String> {
    let wanted = &pod.resources.requests;
    let mut list = Vec::new();
    let fixed = [
        (resources::CPU, wanted.milli_cpu),
        (resources::MEMORY, wanted.memory),
        (resources::EPHEMERAL_STORAGE, wanted.ephemeral_storage),
    ];
    for (name, amount) in fixed {
        if amount > 0 {
            list.push(format!("{name} {}", exact(name, amount)));
        }
    }
    for (name, amount) in &wanted.scalar_resources {
        if *amount > 0 {
            list.push(format!("{name} {}", exact(name, *amount)));
        }
    }
    list
}
