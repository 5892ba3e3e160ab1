//! `kubectl drain`: a node is cordoned, and its pods are evicted as their budgets allow, again every 5 s.
//!
//! As with `--ignore-daemonsets --delete-emptydir-data`: pods of daemon sets stay. Pods that nobody would make again are
//! a reason to refuse, unless it is forced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::alarms::Alarm;
use super::budgets::evict;
use super::{Item, Wx};
use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Str, Uid};
use crate::driver::sandbox::controllers::Said;

const NAME: &str = "drain";

/// How long is waited before a refused eviction is tried again.
const INTERVAL: Duration = Duration::from_secs(5);

/// The nodes that are being drained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drains {
    nodes: BTreeMap<Str, Drain>,
}

/// A node that is being drained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Drain {
    /// The pods that were there when it began: those that come later are left alone.
    pods: BTreeSet<Uid>,
    /// Whether budgets have refused all that is left, and neither pod nor budget has changed since.
    is_held: bool,
}

/// The pods of a node that a drain takes away.
fn evictable(wx: &Wx<'_>, node: &Str) -> Vec<Arc<Pod>> {
    let is_of_daemon_set =
        |pod: &Pod| pod.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet");
    let is_mirror = |pod: &Pod| pod.metadata.annotations.contains_key("kubernetes.io/config.mirror");
    let pods = wx.pods_on(node).into_iter();
    pods.filter(|pod| !is_of_daemon_set(pod) && !is_mirror(pod) && !pod.is_terminal()).collect()
}

impl Drains {
    /// Whether a drain is under way that may get on.
    pub(super) fn is_moving(&self) -> bool {
        self.nodes.values().any(|drain| !drain.is_held)
    }

    /// A pod or a budget has changed: more may be allowed than was.
    pub(super) fn something_changed(&mut self) {
        self.nodes.values_mut().for_each(|drain| drain.is_held = false);
    }

    /// Begins.
    ///
    /// # Errors
    /// If there is no such node, or pods would be lost.
    pub(super) fn begin(&mut self, wx: &mut Wx<'_>, node: &Str, is_forced: bool) -> Result<String, String> {
        if wx.api.objects().node(node).is_none() {
            return Err(format!("nodes {:?} not found", &**node));
        }
        let pods = evictable(wx, node);
        let lost = pods.iter().filter(|pod| pod.metadata.controller().is_none());
        let lost: Vec<String> = lost.map(|pod| pod.key().to_string()).collect();
        if !is_forced && !lost.is_empty() {
            let named: Vec<&str> = lost.iter().take(3).map(String::as_str).collect();
            let more = lost.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            return Err(format!(
                "cannot drain {node}: nobody would make these pods again: {}{more}; `:drain {node} --force` deletes them",
                named.join(", ")
            ));
        }
        wx.api.cordon(node).map_err(|error| error.to_string())?;
        let uids = pods.iter().map(|pod| pod.uid().clone()).collect();
        self.nodes.insert(node.clone(), Drain { pods: uids, is_held: false });
        let n = pods.len();
        self.go_on(wx, node);
        Ok(match n {
            0 => format!("node/{node} cordoned and drained: it has no pods to evict"),
            n => format!("node/{node} cordoned; evicting {n} pods as their budgets allow"),
        })
    }

    /// Tries to evict what is left.
    pub(super) fn go_on(&mut self, wx: &mut Wx<'_>, node: &Str) {
        let Some(drain) = self.nodes.get_mut(node) else { return };
        let key = NamespacedName::cluster(node.clone());
        let is_cordoned = wx.api.objects().node(node).is_some_and(|node| node.spec.unschedulable);
        if !is_cordoned {
            self.nodes.remove(node);
            return wx.tell(
                NAME,
                "Node",
                &key,
                Said::done("DrainEnded", "is not drained further: it is not cordoned"),
            );
        }
        let mut pods = evictable(wx, node);
        pods.retain(|pod| drain.pods.contains(pod.uid()));
        if pods.is_empty() {
            self.nodes.remove(node);
            return wx.tell(NAME, "Node", &key, Said::done("Drained", "is drained"));
        }
        drain.is_held = pods.iter().all(|pod| !pod.is_terminating());
        for pod in pods.iter().filter(|pod| !pod.is_terminating()) {
            let pod_key = pod.key();
            match evict(wx.api, &pod_key, None, wx.now) {
                Ok(()) => {
                    drain.is_held = false;
                    let said = Said::done("Evicted", format!("is evicted from {node}"));
                    wx.tell(NAME, "Pod", &pod_key, said);
                }
                Err(error) => {
                    wx.tell(NAME, "Pod", &pod_key, Said::failed("EvictionRefused", error.to_string()))
                }
            }
            wx.due.insert(Item::Owner(pod_key));
        }
        wx.alarms.set(Alarm::Drain(node.clone()), wx.now + INTERVAL);
    }
}
