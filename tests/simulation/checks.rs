//! What has to be true at every step.
//!
//! - **one place**: every pod that the scheduler knows to be without a node is in exactly one of activeQ, backoffQ,
//!   unschedulablePods, the attempt under way, the wait at Permit, the binding cycle, or bound and not yet reported;
//!   and nothing that is gone is in a queue.
//!   As in kube-scheduler, a wait at Permit is left behind when PreBindPreFlight fails; a wait of a pod that is not
//!   assumed is such a one and no place. And a pod that somebody else binds while it waits at Permit goes on waiting.
//! - **waits**: nobody waits at Permit, in backoffQ or unschedulablePods for longer than the rules allow.
//! - **nominations** are of pods that are there and have no node.
//! - **in flight**: no events are kept when no pod is in flight.
//! - **assumed** pods are on their way, or bound.
//! - **one bind**: no pod is bound twice, nor while a bind of it is under way.
//! - **room**: the scheduler gives no pod a node that it knows to be full. And in the API no node has more than its
//!   allocatable through the scheduler's deeds, unless since it last had no more, with all of that known to the
//!   scheduler, one of these has happened: somebody else bound a pod to it, the node itself was changed, the answer to
//!   a bind to it was lost, or a pod was given to it while the scheduler had not been told all about it.
//! - **devices** are given to one claim each, while no answer to a write was lost.

use std::collections::{BTreeMap, BTreeSet};

use schedscope::api::objects::{Node, Pod};
use schedscope::api::{Duration, Object, Str, Time, Uid};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::framework::NodeInfo;
use schedscope::scheduler::Scheduler;
use schedscope::scheduler::effect::{Effect, EffectId, EffectKind};
use schedscope::scheduler::input::Input;
use schedscope::scheduler::view::View;

/// Longest stay in unschedulablePods: five minutes, and half a minute to the flush.
const FLUSH_MAX: Duration = Duration::from_secs(331);

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub check: &'static str,
    pub text: String,
    pub at: Time,
}

/// What is known from one step to the next.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    assumed: BTreeSet<Uid>,
    /// Binds that the scheduler has asked for and that are not answered.
    binds: BTreeMap<EffectId, Uid>,
    /// Pods that the scheduler was told to be bound, by the answer to its call.
    bound: BTreeSet<Uid>,
    /// Nodes that may have more than fits.
    excused: BTreeSet<Str>,
    /// Nodes about which something was told during the attempt under way, which has looked at them before.
    touched: BTreeSet<Str>,
    is_answer_of_write_lost: bool,
    /// Pods that the scheduler has wanted to evict.
    evicted: BTreeSet<Uid>,
    /// Whether the input under way reports the end of such a pod, and nobody is told of that.
    ends_victim_unheard: bool,
    left_behind: BTreeSet<Uid>,
}

impl Checks {
    /// Preemptors that stay behind their gate though the way is free, in kube-scheduler as here: their victim was on its
    /// way to the node when they chose it, and its bind failed. That its room was given back woke them too early, while
    /// the eviction was still under way; the deletion, which would open the gate, is that of a pod without a node, of
    /// which the queue is told nothing. The next deletion of a pod on a node wakes them.
    pub const fn left_behind(&self) -> &BTreeSet<Uid> {
        &self.left_behind
    }

    /// That node may have too much for a while.
    pub fn excuse(&mut self, node: &Str) {
        self.excused.insert(node.clone());
    }

    pub fn answer_of_write_lost(&mut self) {
        self.is_answer_of_write_lost = true;
    }

    /// Before the scheduler takes an input.
    pub fn before(&mut self, core: &Scheduler, input: &Input) {
        if let Input::EffectDone { id, result } = input
            && let Some(uid) = self.binds.remove(id)
            && result.is_ok()
        {
            self.bound.insert(uid);
        }
        self.ends_victim_unheard = match input {
            Input::Deleted(Object::Pod(pod)) => {
                let is_assumed = core.assumed_pods().any(|assumed| assumed.uid() == pod.uid());
                !pod.is_assigned() && !is_assumed && self.evicted.contains(pod.uid())
            }
            _ => false,
        };
        if !core.is_in_cycle() {
            self.touched.clear();
            return;
        }
        let objects: Vec<&Object> = match input {
            Input::Added(object) | Input::Deleted(object) => vec![object],
            Input::Updated { old, new } => vec![old, new],
            _ => Vec::new(),
        };
        for object in objects {
            match object {
                Object::Node(node) => _ = self.touched.insert(node.name().clone()),
                Object::Pod(pod) => _ = self.touched.insert(pod.spec.node_name.clone()),
                _ => {}
            }
        }
    }

    /// The scheduler makes a call.
    pub fn called(&mut self, effect: &Effect, now: Time) -> Result<(), Violation> {
        if let EffectKind::DeletePod { uid, .. } = &effect.kind {
            self.evicted.insert(uid.clone());
        }
        let EffectKind::Bind { uid, .. } = &effect.kind else { return Ok(()) };
        if self.bound.contains(uid) || self.binds.values().any(|other| other == uid) {
            let text = format!("{uid} is to be bound again");
            return Err(Violation { check: "one bind", text, at: now });
        }
        self.binds.insert(effect.id, uid.clone());
        Ok(())
    }

    /// A bind was done.
    pub fn bound(&mut self, api: &SandboxApi, uid: &Uid, node: &Str, now: Time) -> Result<(), Violation> {
        let Some(known) = api.objects().node(node) else { return Ok(()) };
        let on_node: Vec<&Pod> = pods_on(api, node).collect();
        let (cpu, n_pods) = (on_node.iter().map(|pod| milli_cpu(pod)).sum::<i64>(), on_node.len());
        if (cpu > allocatable_cpu(known) || n_pods > 8) && !self.excused.contains(node) {
            let text = format!("with {uid} node {node} has {n_pods} pods that want {cpu}m");
            return Err(Violation { check: "room in the API", text, at: now });
        }
        Ok(())
    }

    /// After the scheduler has taken an input.
    pub fn after(&mut self, core: &Scheduler, api: &SandboxApi, now: Time) -> Result<(), Violation> {
        let view = core.view();
        let result = self.look(core, api, &view);
        result.map_err(|(check, text)| Violation { check, text, at: now })
    }

    fn look(
        &mut self,
        core: &Scheduler,
        api: &SandboxApi,
        view: &View,
    ) -> Result<(), (&'static str, String)> {
        self.note_left_behind(view);
        let on_the_way = self.places(core, view)?;
        waits(view)?;
        for (node, pod) in core.nominations() {
            let known = core.objects().pods.get(&pod.key());
            if known.is_none_or(|known| known.uid() != pod.uid() || known.is_assigned()) {
                return Err(("nominations", format!("{} is nominated to {node}", pod.uid())));
            }
        }
        if !core.is_in_cycle() && core.in_flight_pods().is_empty() && core.n_in_flight_events() > 0 {
            let n = core.n_in_flight_events();
            return Err(("in flight", format!("{n} events are kept and no pod is in flight")));
        }
        self.assumed(core, api, view, &on_the_way)?;
        self.devices(api)
    }

    fn note_left_behind(&mut self, view: &View) {
        if self.left_behind.is_empty() && !self.ends_victim_unheard {
            return;
        }
        let gated = view.unschedulable_pods.iter();
        let gated = gated.filter(|row| row.gated_by.as_deref() == Some("DefaultPreemption"));
        let gated: BTreeSet<Uid> = gated.map(|row| row.pod.uid().clone()).collect();
        self.left_behind.retain(|uid| gated.contains(uid));
        if self.ends_victim_unheard {
            self.left_behind.extend(gated);
        }
    }

    /// Every pod is in one place. The answer is which pods are in an attempt or on their way to their node.
    fn places(&self, core: &Scheduler, view: &View) -> Result<BTreeSet<Uid>, (&'static str, String)> {
        let mut places: BTreeMap<&Uid, Vec<&'static str>> = BTreeMap::new();
        let mut on_the_way = BTreeSet::new();
        for (name, rows) in [
            ("activeQ", &view.active_q),
            ("backoffQ", &view.backoff_q),
            ("unschedulablePods", &view.unschedulable_pods),
        ] {
            for row in rows {
                places.entry(row.pod.uid()).or_default().push(name);
                let known = core.objects().pods.get(&row.pod.key());
                if known.is_none_or(|known| known.uid() != row.pod.uid() || known.is_assigned()) {
                    return Err(("one place", format!("{} is in {name}, and gone or bound", row.pod.uid())));
                }
            }
        }
        let assumed: BTreeSet<&Uid> = core.assumed_pods().map(|pod| pod.uid()).collect();
        let waiting = view.waiting.iter().filter(|row| assumed.contains(row.pod.uid()));
        let waiting = waiting.map(|row| ("Permit", &row.pod));
        for (name, pod) in waiting.chain(view.binding.iter().map(|row| ("binding", &row.pod))) {
            places.entry(pod.uid()).or_default().push(name);
            on_the_way.insert(pod.uid().clone());
        }
        let in_flight = core.in_flight_pods();
        for pod in in_flight.iter().filter(|pod| !on_the_way.contains(pod.uid())).collect::<Vec<_>>() {
            let known = core.objects().pods.get(&pod.key());
            let is_bound = known.is_none_or(|known| known.uid() != pod.uid() || known.is_assigned());
            if is_bound && view.waiting.iter().any(|row| row.pod.uid() == pod.uid()) {
                continue;
            }
            if !core.is_in_cycle() {
                return Err(("one place", format!("{} is in flight and in no attempt", pod.uid())));
            }
            places.entry(pod.uid()).or_default().push("attempt");
            on_the_way.insert(pod.uid().clone());
        }
        for uid in assumed.iter().filter(|uid| self.bound.contains(**uid)) {
            let place = places.entry(uid).or_default();
            if !on_the_way.contains(*uid) {
                place.push("bound");
            }
        }
        for (uid, places) in &places {
            if places.len() > 1 {
                return Err(("one place", format!("{uid} is in {}", places.join(" and "))));
            }
        }
        for pod in core.objects().pods.values().filter(|pod| !pod.is_assigned()) {
            if !places.contains_key(pod.uid()) {
                return Err(("one place", format!("{} is nowhere", pod.uid())));
            }
        }
        Ok(on_the_way)
    }

    fn assumed(
        &mut self,
        core: &Scheduler,
        api: &SandboxApi,
        view: &View,
        on_the_way: &BTreeSet<Uid>,
    ) -> Result<(), (&'static str, String)> {
        let mut assumed = BTreeSet::new();
        for pod in core.assumed_pods() {
            let (uid, node) = (pod.uid(), &pod.spec.node_name);
            assumed.insert(uid.clone());
            if !on_the_way.contains(uid) && !self.bound.contains(uid) {
                return Err(("assumed", format!("{uid} is assumed on {node} and not on its way")));
            }
            if self.assumed.contains(uid) {
                continue;
            }
            if self.touched.contains(node) || !is_known(core, api, node) {
                self.excuse(node);
            }
            let info = view.nodes.iter().find(|info| info.name() == node);
            if info.is_some_and(|info| is_full(info)) && !self.touched.contains(node) {
                let text = format!("{uid} was given node {node}, which is full");
                return Err(("room", text));
            }
        }
        self.assumed = assumed;
        self.bound.retain(|uid| self.assumed.contains(uid));
        let is_well = |node: &Str| {
            let info = view.nodes.iter().find(|info| info.name() == node);
            info.is_some_and(|info| !is_full(info)) && is_known(core, api, node)
        };
        if !self.excused.is_empty() {
            self.excused.retain(|node| !is_well(node));
        }
        Ok(())
    }

    fn devices(&self, api: &SandboxApi) -> Result<(), (&'static str, String)> {
        if self.is_answer_of_write_lost {
            return Ok(());
        }
        let mut owners = BTreeMap::new();
        for claim in api.objects().resource_claims.values() {
            for result in claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results) {
                let device = (&result.driver, &result.pool, &result.device);
                if let Some(other) = owners.insert(device, &claim.metadata.name) {
                    let text =
                        format!("{}/{} is {other}'s and {}'s", device.1, device.2, claim.metadata.name);
                    return Err(("devices", text));
                }
            }
        }
        Ok(())
    }
}

fn waits(view: &View) -> Result<(), (&'static str, String)> {
    for row in &view.waiting {
        if row.plugins.iter().any(|(_, until)| *until <= view.now) {
            return Err(("waits", format!("{} waits at Permit and its time is over", row.pod.uid())));
        }
    }
    for row in &view.backoff_q {
        let expires = row.backoff_expiration.unwrap_or_default().truncate_to_second();
        if view.now > expires + Duration::from_secs(2) {
            return Err(("waits", format!("{} backs off and its time is over", row.pod.uid())));
        }
    }
    for row in view.unschedulable_pods.iter().filter(|row| row.gated_by.is_none()) {
        if view.now > row.since + FLUSH_MAX {
            return Err(("waits", format!("{} was not flushed", row.pod.uid())));
        }
    }
    Ok(())
}

fn is_full(info: &NodeInfo) -> bool {
    let (requested, allocatable) = (info.requested(), info.allocatable());
    requested.milli_cpu > allocatable.milli_cpu
        || requested.memory > allocatable.memory
        || i64::try_from(info.pods().len()).is_ok_and(|n| n > allocatable.allowed_pod_number)
}

/// Whether the scheduler knows the node as it is, and every pod that is on it.
fn is_known(core: &Scheduler, api: &SandboxApi, node: &Str) -> bool {
    let (known, is) = (core.objects().node(node), api.objects().node(node));
    if known.map(|node| &node.metadata.resource_version) != is.map(|node| &node.metadata.resource_version) {
        return false;
    }
    let assumed: BTreeSet<&Uid> =
        core.assumed_pods().filter(|pod| pod.spec.node_name == *node).map(|pod| pod.uid()).collect();
    pods_on(api, node).all(|pod| {
        let known = core.objects().pods.get(&pod.key());
        assumed.contains(pod.uid())
            || known.is_some_and(|known| known.uid() == pod.uid() && known.spec.node_name == *node)
    })
}

fn pods_on<'a>(api: &'a SandboxApi, node: &'a Str) -> impl Iterator<Item = &'a Pod> {
    api.objects().pods.values().map(AsRef::as_ref).filter(move |pod| pod.spec.node_name == *node)
}

fn milli_cpu(pod: &Pod) -> i64 {
    let requests = pod.spec.containers.iter().filter_map(|container| container.resources.requests.get("cpu"));
    requests.map(|cpu| cpu.milli_value()).sum()
}

fn allocatable_cpu(node: &Node) -> i64 {
    node.status.allocatable.get("cpu").map_or(0, |cpu| cpu.milli_value())
}
