//! What every plugin says of a pod, each asked whatever the others say.
//!
//! An attempt ends a node at the first Filter plugin that refuses it; here all of them answer, so that it shows which
//! nodes are one change away. Nothing of kube-scheduler does this: it decides nothing, and works on a copy.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::Pod;
use crate::framework::runtime::{PluginVerdict, ScoreOutcome};
use crate::framework::{CycleState, Framework, Handle, NodeInfo, PodInfo, Status};

use super::Scheduler;
use super::cycle::framework_of;
use super::trace::CycleTrace;

/// All that the plugins of a profile say of a pod on the cluster as it is.
#[derive(Clone, Debug)]
pub struct PodReading {
    /// What an attempt would come to, with what the plugins remember when all of them have been asked.
    pub trace: CycleTrace,
    /// The node that the pod is on; it is read as if it were not there and had to find a place again.
    pub assigned_to: Option<Str>,
    /// What each PreFilter plugin answered.
    pub pre_filter: Vec<PluginVerdict>,
    /// The Filter plugins in the profile's order.
    pub plugins: Vec<&'static str>,
    /// Those of them that have nothing to do for this pod.
    pub skipped: BTreeSet<&'static str>,
    /// The nodes in the order of the snapshot; one alone if one was asked for.
    pub nodes: Vec<NodeReading>,
    /// How many nodes no plugin refuses, of all.
    pub n_feasible: usize,
    /// The points of the one node beside all that nobody refuses, or why there are none.
    pub scores: Option<Result<PairScores, String>>,
}

/// Who refuses a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReading {
    /// The node.
    pub node: Str,
    /// Every plugin that does, in the profile's order; empty if the pod fits.
    pub refusals: Vec<Refusal>,
}

/// A plugin's no.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The plugin.
    pub plugin: &'static str,
    /// What it said.
    pub status: Status,
    /// Whether it said so only with the more important pods put there that are nominated to the node.
    pub is_for_nominated: bool,
}

/// The points of a node, as if nobody refused it.
#[derive(Clone, Debug, PartialEq)]
pub struct PairScores {
    /// The nodes that were scored: those that nobody refuses, and the one that was asked about.
    pub nodes: Vec<Str>,
    /// The place in `nodes` of that one.
    pub at: usize,
    /// The points.
    pub outcome: ScoreOutcome,
    /// Score plugins that have nothing to do for this pod.
    pub skipped: BTreeSet<&'static str>,
}

impl Scheduler {
    /// Asks every plugin about the pod and each node, or about one node alone and then for its points, too. The
    /// scheduler stays as it is, and equal schedulers answer alike. Absent if no profile is responsible for the pod, or
    /// there is no node of that name.
    ///
    /// Costs a copy of the scheduler, which shares all objects, and every plugin for every node.
    pub fn read(&self, pod: &Arc<Pod>, node: Option<&Str>) -> Option<PodReading> {
        self.read_as(pod, node, false, &mut |_, _| true)
    }

    /// The same of all nodes, with what PostFilter plugins come to where no node will do.
    pub fn read_to_the_end(&self, pod: &Arc<Pod>) -> Option<PodReading> {
        self.read_as(pod, None, true, &mut |_, _| true)
    }

    /// As [`Self::read`], for one who may lose patience: `goes_on` is told how many nodes were asked, of how many. Absent,
    /// too, if it answers false.
    pub fn read_while(
        &self,
        pod: &Arc<Pod>,
        node: Option<&Str>,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<PodReading> {
        self.read_as(pod, node, false, goes_on)
    }

    fn read_as(
        &self,
        pod: &Arc<Pod>,
        node: Option<&Str>,
        has_post_filter: bool,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<PodReading> {
        let profiles = Arc::clone(&self.world.profiles);
        let framework = framework_of(&profiles, &pod.spec.scheduler_name)?;
        let assigned_to = (!pod.spec.node_name.is_empty()).then(|| pod.spec.node_name.clone());
        let (mut copy, pod) = self.without(pod);
        let trace = copy.try_out(&pod, has_post_filter)?;
        copy.cache.update_snapshot(&mut copy.world.snapshot);
        let handle = copy.world.handle(framework);
        let mut reader = Reader::new(framework, handle, Arc::clone(&trace.pod_info));
        reader.pre_filter();
        let listed = handle.snapshot.list();
        let mut all: Vec<NodeReading> = Vec::with_capacity(listed.len());
        for (at, node) in listed.iter().enumerate() {
            if !goes_on(at, listed.len()) {
                return None;
            }
            all.push(reader.node(node));
        }
        let n_feasible = all.iter().filter(|reading| reading.refusals.is_empty()).count();
        let (nodes, scores) = match node {
            None => (all, None),
            Some(name) => {
                let at = all.iter().position(|reading| reading.node == *name)?;
                let scores = reader.scores(&all, at);
                (all.into_iter().nth(at).into_iter().collect(), Some(scores))
            }
        };
        Some(PodReading {
            assigned_to,
            plugins: framework.plugins.filter.iter().map(|plugin| plugin.name()).collect(),
            skipped: reader.state.skip_filter_plugins.clone(),
            pre_filter: reader.answers,
            nodes,
            n_feasible,
            scores,
            trace: CycleTrace { filter_state: reader.state.clone(), cycle_state: reader.state, ..trace },
        })
    }
}

impl Scheduler {
    /// A copy in which the pod is on no node, and the pod as it is there.
    fn without(&self, pod: &Arc<Pod>) -> (Self, Arc<Pod>) {
        let mut copy = self.clone();
        let pod = match copy.cache.get_pod(pod).map(|info| Arc::clone(&info.pod)) {
            Ok(there) => {
                // A pod that the cache does not have stays where it is not.
                copy.cache.remove_pod(&there).ok();
                let mut free = Pod::clone(pod);
                free.spec.node_name = Str::from("");
                let free = Arc::new(free);
                copy.world.objects.pods.insert(free.key(), Arc::clone(&free));
                free
            }
            Err(_) => Arc::clone(pod),
        };
        (copy, pod)
    }

    /// A copy that answers questions about a pod and one node after the other, also about a pod that is changed a
    /// little.
    pub fn probe(&self, pod: &Arc<Pod>) -> Probe {
        let (mut copy, _) = self.without(pod);
        copy.world.extenders = Arc::default();
        copy.cache.update_snapshot(&mut copy.world.snapshot);
        Probe { copy }
    }
}

/// A scheduler that is asked what its plugins say of a pod and a node. It decides nothing and stays as it is.
#[derive(Debug)]
pub struct Probe {
    copy: Scheduler,
}

impl Probe {
    /// Who refuses the node, if the pod were so. `None` if no profile is responsible for it, or there is no such node.
    ///
    /// Costs every PreFilter plugin over the cluster, and every Filter plugin for that node.
    pub fn ask(&self, pod: &Arc<Pod>, node: &str) -> Option<Vec<Refusal>> {
        let world = &self.copy.world;
        let framework = framework_of(&world.profiles, &pod.spec.scheduler_name)?;
        let handle = world.handle(framework);
        let info = handle.snapshot.get(node)?;
        let pod = Arc::new(PodInfo::with_options(Arc::clone(pod), world.request_options));
        let mut reader = Reader::new(framework, handle, pod);
        reader.pre_filter();
        Some(reader.node(info).refusals)
    }

    /// What an attempt would come to if the pod were so, PostFilter included.
    pub fn attempt(&self, pod: &Arc<Pod>) -> Option<CycleTrace> {
        self.copy.evaluate_with_post_filter(pod)
    }
}

struct Reader<'a> {
    framework: &'a Framework,
    handle: Handle<'a>,
    pod: Arc<PodInfo>,
    state: CycleState,
    answers: Vec<PluginVerdict>,
}

impl<'a> Reader<'a> {
    fn new(framework: &'a Framework, handle: Handle<'a>, pod: Arc<PodInfo>) -> Self {
        Self { framework, handle, pod, state: CycleState::new(), answers: Vec::new() }
    }

    /// Asks every PreFilter plugin, also behind one that turns the pod down.
    fn pre_filter(&mut self) {
        let nodes = self.handle.snapshot.list();
        for plugin in &self.framework.plugins.pre_filter {
            let Some(pre_filter) = plugin.as_pre_filter() else { continue };
            let plugin = plugin.name();
            let (result, status) = pre_filter.pre_filter(&self.handle, &mut self.state, &self.pod, nodes);
            if status.is_skip() {
                self.state.skip_filter_plugins.insert(plugin);
            }
            let node_names = result.map(|result| result.node_names);
            self.answers.push(PluginVerdict { plugin, status, node_names });
        }
    }

    /// What a plugin that turned the pod down at PreFilter says of every node.
    fn refused_before(&self, plugin: &str) -> Option<&Status> {
        let answer = self.answers.iter().find(|answer| answer.plugin == plugin)?;
        (!answer.status.is_success() && !answer.status.is_skip()).then_some(&answer.status)
    }

    fn node(&self, node: &NodeInfo) -> NodeReading {
        let mut refusals = Vec::new();
        let with_nominated = self.with_nominated(node);
        for plugin in &self.framework.plugins.filter {
            let name = plugin.name();
            let Some(filter) = plugin.as_filter() else { continue };
            if self.state.skip_filter_plugins.contains(name) || self.refused_before(name).is_some() {
                continue;
            }
            let mut status = filter.filter(&self.handle, &self.state, &self.pod, node);
            let mut is_for_nominated = false;
            if let (true, Some((state, node))) = (status.is_success(), &with_nominated) {
                status = filter.filter(&self.handle, state, &self.pod, node);
                is_for_nominated = true;
            }
            if !status.is_success() {
                refusals.push(Refusal { plugin: name, status: status.with_plugin(name), is_for_nominated });
            }
        }
        for answer in &self.answers {
            let is_left_out = answer.node_names.as_ref().is_some_and(|names| !names.contains(node.name()));
            let status = match self.refused_before(answer.plugin) {
                Some(status) => status.clone(),
                None if is_left_out && refusals.iter().all(|refusal| refusal.plugin != answer.plugin) => {
                    Status::unresolvable(format!("node(s) didn't satisfy plugin(s) [{}]", answer.plugin))
                }
                None => continue,
            };
            refusals.push(Refusal {
                plugin: answer.plugin,
                status: status.with_plugin(answer.plugin),
                is_for_nominated: false,
            });
        }
        NodeReading { node: node.name().clone(), refusals }
    }

    /// The node with the more important pods that are nominated to it, if there are some.
    fn with_nominated(&self, node: &NodeInfo) -> Option<(CycleState, NodeInfo)> {
        let nominated = self.handle.nominator.nominated_pods_for_node(node.name());
        let ahead = |other: &&Arc<PodInfo>| {
            other.pod.priority() >= self.pod.pod.priority() && other.uid() != self.pod.uid()
        };
        if !nominated.iter().any(|other| ahead(&other)) {
            return None;
        }
        let (mut state, mut node) = (self.state.clone(), node.clone());
        for other in nominated.iter().filter(ahead) {
            node.add_pod(Arc::clone(other));
            let run = |state: &mut CycleState| {
                self.framework.run_pre_filter_extension_add_pod(&self.handle, state, &self.pod, other, &node)
            };
            if !run(&mut state).is_success() {
                return None;
            }
        }
        Some((state, node))
    }

    /// The points of a node beside those that nobody refuses.
    fn scores(&mut self, all: &[NodeReading], at: usize) -> Result<PairScores, String> {
        let list = self.handle.snapshot.list();
        let scored: Vec<(usize, &Arc<NodeInfo>)> = list
            .iter()
            .enumerate()
            .filter(|(i, _)| *i == at || all.get(*i).is_some_and(|reading| reading.refusals.is_empty()))
            .collect();
        let place = scored.iter().position(|(i, _)| *i == at).unwrap_or_default();
        let nodes: Vec<Arc<NodeInfo>> = scored.into_iter().map(|(_, node)| Arc::clone(node)).collect();
        let (status, _) =
            self.framework.run_pre_score_plugins(&self.handle, &mut self.state, &self.pod, &nodes);
        if !status.is_success() {
            return Err(status.message());
        }
        let outcome = self
            .framework
            .run_score_plugins(&self.handle, &self.state, &self.pod, &nodes)
            .map_err(|status| status.message())?;
        Ok(PairScores {
            nodes: nodes.iter().map(|node| node.name().clone()).collect(),
            at: place,
            outcome,
            skipped: self.state.skip_score_plugins.clone(),
        })
    }
}
