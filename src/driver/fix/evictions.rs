//! Which pods would have to go.

use super::change::Change;
use super::remedies::{Cx, Short, evict_all};
use crate::api::objects::{Labels, Pod};
use crate::api::{ObjectStore, Str};
use crate::framework::resource::names as resources;
use crate::framework::{HostPortInfo, NodeInfo, PodAffinityTerms, PodInfo, host_ports};

/// How many pods are evicted at most.
const N_PODS: usize = 6;

fn may_go(cx: &Cx<'_>, info: &PodInfo) -> bool {
    // A pod that waits itself and has got its place on the way only is no pod to evict.
    let was_there = cx.start.pods.get(&info.pod.key()).is_some_and(|pod| pod.is_assigned());
    let is_daemon = info.pod.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet");
    let is_static = info.pod.metadata.controller().is_some_and(|owner| owner.kind == "Node");
    was_there && !is_daemon && !is_static && !info.pod.is_terminating()
}

fn amount(info: &PodInfo, resource: &str) -> i64 {
    let requests = &info.resources.requests;
    match resource {
        resources::PODS => 1,
        resources::CPU => requests.milli_cpu,
        resources::MEMORY => requests.memory,
        resources::EPHEMERAL_STORAGE => requests.ephemeral_storage,
        _ => requests.scalar_resources.get(resource).copied().unwrap_or_default(),
    }
}

/// The least important pods of a node without which there is room.
pub(super) fn evictable(cx: &Cx<'_>, node: &NodeInfo, short: &[Short]) -> Option<Change> {
    let mut pods: Vec<&PodInfo> =
        node.pods().iter().map(AsRef::as_ref).filter(|info| may_go(cx, info)).collect();
    // The least important first; of those the ones that free most of what is missing.
    let frees = |info: &PodInfo| -> i64 { short.iter().map(|short| amount(info, &short.resource)).sum() };
    pods.sort_by(|a, b| {
        (a.pod.priority(), std::cmp::Reverse(frees(a)), a.pod.key()).cmp(&(
            b.pod.priority(),
            std::cmp::Reverse(frees(b)),
            b.pod.key(),
        ))
    });
    let is_enough = |chosen: &[&PodInfo]| {
        let freed = |resource: &str| -> i64 { chosen.iter().map(|info| amount(info, resource)).sum() };
        short.iter().all(|short| freed(&short.resource) >= short.short)
    };
    let mut chosen: Vec<&PodInfo> = Vec::new();
    for info in pods {
        if is_enough(&chosen) {
            break;
        }
        if frees(info) > 0 {
            chosen.push(info);
        }
    }
    if !is_enough(&chosen) {
        return None;
    }
    // Those that turn out not to be needed stay, the most important of them first.
    for at in (0..chosen.len()).rev() {
        let mut fewer = chosen.clone();
        fewer.remove(at);
        if is_enough(&fewer) {
            chosen = fewer;
        }
    }
    (!chosen.is_empty() && chosen.len() <= N_PODS).then(|| evict_infos(cx, &chosen))
}

fn evict_infos(cx: &Cx<'_>, infos: &[&PodInfo]) -> Change {
    let pods: Vec<&Pod> = infos.iter().map(|info| info.pod.as_ref()).collect();
    evict_all(cx, &pods)
}

/// The pods that hold the host ports that the pod wants.
pub(super) fn holders_of_ports(cx: &Cx<'_>, node: &NodeInfo) -> Option<Change> {
    let wanted = host_ports(cx.pod);
    let holds = |info: &&PodInfo| {
        let mut taken = HostPortInfo::default();
        host_ports(&info.pod).iter().for_each(|port| taken.add(port));
        wanted.iter().any(|port| taken.conflicts_with(port))
    };
    let holders: Vec<&PodInfo> = node.pods().iter().map(AsRef::as_ref).filter(holds).collect();
    let all_may_go = holders.iter().all(|info| may_go(cx, info));
    (!holders.is_empty() && all_may_go && holders.len() <= N_PODS).then(|| evict_infos(cx, &holders))
}

/// The least important pod that holds something scarce, such as a volume: of the node, or anywhere where none is there.
pub(super) fn pods_that_free(
    cx: &Cx<'_>,
    node: &NodeInfo,
    what: &str,
    holds: impl Fn(&PodInfo) -> bool,
) -> Vec<Change> {
    let least = |node: &NodeInfo| {
        let pods = node.pods().iter().filter(|info| may_go(cx, info) && holds(info));
        pods.min_by_key(|info| (info.pod.priority(), info.pod.key())).cloned()
    };
    let found = least(node).or_else(|| {
        let elsewhere = cx.trace.nodes().iter().filter_map(|node| least(node));
        elsewhere.min_by_key(|info| (info.pod.priority(), info.pod.key()))
    });
    found
        .map(|info| {
            let mut change = evict_infos(cx, &[&info]);
            change.what = format!("{}, which frees {what}", change.what);
            change.cost += 2;
            change
        })
        .into_iter()
        .collect()
}

/// The rules of anti-affinity between the pod and another one.
pub(super) struct Repulsion<'a> {
    pod: &'a Pod,
    terms: Option<PodAffinityTerms>,
    objects: &'a ObjectStore,
}

impl Repulsion<'_> {
    fn labels_of(&self, namespace: &str) -> Labels {
        let key = crate::api::NamespacedName::cluster(namespace);
        self.objects.namespaces.get(&key).map(|found| found.metadata.labels.clone()).unwrap_or_default()
    }

    fn has_term(&self, terms: Option<&PodAffinityTerms>, of: &Pod, topology: &str) -> bool {
        let namespace = &of.metadata.namespace;
        let known = self.labels_of(namespace);
        terms.is_some_and(|terms| {
            terms.required_anti_affinity.iter().any(|term| {
                **term.topology_key() == *topology && term.matches(namespace, &of.metadata.labels, &known)
            })
        })
    }

    /// Whether the pod has a term against the other.
    pub fn repels(&self, other: &PodInfo, topology: &str) -> bool {
        self.has_term(self.terms.as_ref(), &other.pod, topology)
    }

    /// Whether the other has a term against the pod.
    pub fn is_repelled_by(&self, other: &PodInfo, topology: &str) -> bool {
        self.has_term(other.affinity.as_deref(), self.pod, topology)
    }
}

/// The pods in some domains that are in the way, if they are few.
pub(super) fn members_of_domain(
    cx: &Cx<'_>,
    domains: &[(&Str, &Str)],
    is_in_the_way: impl Fn(&Repulsion<'_>, &PodInfo, &str) -> bool,
) -> Option<Change> {
    let own = Repulsion { pod: cx.pod, terms: PodAffinityTerms::of(cx.pod), objects: cx.objects };
    let mut found: Vec<&PodInfo> = Vec::new();
    for node in cx.trace.nodes() {
        let Some(object) = node.node() else { continue };
        for (key, domain) in domains {
            if object.label(key) != Some(domain.as_ref()) {
                continue;
            }
            for info in node.pods().iter().filter(|info| is_in_the_way(&own, info, key)) {
                if !may_go(cx, info) || found.len() >= N_PODS {
                    return None;
                }
                if found.iter().all(|known| known.uid() != info.uid()) {
                    found.push(info);
                }
            }
        }
    }
    (!found.is_empty()).then(|| evict_infos(cx, &found))
}
