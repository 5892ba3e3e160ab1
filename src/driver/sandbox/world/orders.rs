//! What a person tells a living cluster: scale, restart, drain, take a node down, switch a part.

use super::settings::Part;
use super::{Item, Lent, World};
use crate::api::workloads::WorkloadKind;
use crate::api::{NamespacedName, Str, Time};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Journal;

/// Something that is told to a living cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldOrder {
    /// The cluster lives from now on, with these parts (`all`, `none`, names).
    Start(String),
    /// A part is switched.
    Switch {
        /// The part.
        part: Part,
        /// Whether it is on.
        is_on: bool,
    },
    /// `kubectl scale`.
    Scale {
        /// The kind.
        kind: WorkloadKind,
        /// The workload.
        key: NamespacedName,
        /// How many pods.
        replicas: i32,
    },
    /// `kubectl rollout restart`.
    Restart {
        /// The kind.
        kind: WorkloadKind,
        /// The workload.
        key: NamespacedName,
    },
    /// `kubectl delete`, of a workload.
    Delete {
        /// The kind.
        kind: WorkloadKind,
        /// The workload.
        key: NamespacedName,
    },
    /// `kubectl drain`.
    Drain {
        /// The node.
        node: Str,
        /// Whether pods go that nobody would make again.
        is_forced: bool,
    },
    /// A node is cut off.
    NodeDown(Str),
    /// It is back.
    NodeUp(Str),
}

impl WorldOrder {
    /// What was done, for the list of branches.
    pub fn describe(&self) -> String {
        let named =
            |kind: WorkloadKind, key: &NamespacedName| format!("{} {key}", kind.as_str().to_lowercase());
        match self {
            Self::Start(_) => "let the cluster live".to_owned(),
            Self::Switch { part, is_on } => format!("switched {part} {}", if *is_on { "on" } else { "off" }),
            Self::Scale { kind, key, replicas } => format!("scaled {} to {replicas}", named(*kind, key)),
            Self::Restart { kind, key } => format!("restarted {}", named(*kind, key)),
            Self::Delete { kind, key } => format!("deleted {}", named(*kind, key)),
            Self::Drain { node, .. } => format!("drained {node}"),
            Self::NodeDown(node) => format!("took {node} down"),
            Self::NodeUp(node) => format!("brought {node} back"),
        }
    }
}

impl World {
    /// Does what a person asks for, and says what was done.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub(in crate::driver::sandbox) fn order(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
        order: &WorldOrder,
    ) -> Result<String, String> {
        if let WorldOrder::Switch { part, is_on } = order {
            return Ok(self.switch(api, now, journal, *part, *is_on));
        }
        if let WorldOrder::Start(text) = order {
            let wanted = self.settings.clone().with_parts(text)?;
            for part in Part::ALL {
                if wanted.has(*part) != self.settings.has(*part) {
                    self.switch(api, now, journal, *part, wanted.has(*part));
                }
            }
            return Ok(format!("the cluster lives: {}", self.describe_parts()));
        }
        let Lent { mut wx, kubelets, workloads, drains, .. } = self.parts(api, now, journal);
        let wx = &mut wx;
        match order {
            WorldOrder::Scale { kind, key, replicas } => {
                workloads.scale(wx, &(*kind, key.clone()), *replicas)
            }
            WorldOrder::Restart { kind, key } => workloads.restart(wx, &(*kind, key.clone())),
            WorldOrder::Delete { kind, key } => workloads.delete(wx, &(*kind, key.clone())),
            WorldOrder::Drain { node, is_forced } => drains.begin(wx, node, *is_forced),
            WorldOrder::NodeDown(node) => kubelets.node_down(wx, node),
            WorldOrder::NodeUp(node) => kubelets.node_up(wx, node),
            WorldOrder::Switch { .. } | WorldOrder::Start(_) => Ok(String::new()),
        }
    }

    /// `kubelets on, nodes off, ...`
    pub fn describe_parts(&self) -> String {
        let word = |part: &Part| format!("{part} {}", if self.settings.has(*part) { "on" } else { "off" });
        Part::ALL.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    fn switch(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        journal: &mut Journal,
        part: Part,
        is_on: bool,
    ) -> String {
        if self.settings.has(part) == is_on {
            return format!("{part} is {} already", if is_on { "on" } else { "off" });
        }
        self.settings.switch(part, is_on);
        api.set_lives(self.settings.has(Part::Kubelets), self.settings.has(Part::Nodes));
        if api.is_served() {
            // Without kubelets other pods count as ready.
            self.touch_all();
        }
        if is_on {
            // Whatever has changed meanwhile is looked at.
            let nodes: Vec<Str> = api.objects().nodes.values().map(|node| node.name().clone()).collect();
            self.due.extend(nodes.into_iter().map(Item::Node));
            for key in api.objects().pods.keys() {
                self.due.extend([Item::Pod(key.clone()), Item::Eviction(key.clone())]);
            }
            let keys: Vec<Item> =
                self.workloads.iter().map(|((kind, key), _)| Item::Workload(*kind, key.clone())).collect();
            self.due.extend(keys);
            self.due.extend(api.objects().pod_disruption_budgets.keys().cloned().map(Item::Budget));
            let Lent { mut wx, autoscaler, kubelets, .. } = self.parts(api, now, journal);
            autoscaler.look_soon(&mut wx);
            kubelets.resume(&mut wx);
        }
        format!("{part} is {}", if is_on { "on" } else { "off" })
    }
}
