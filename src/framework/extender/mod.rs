//! HTTP extenders: what a scheduler asks of them, and how it reads their answers.
//!
//! Follows `pkg/scheduler/extender.go` and `k8s.io/kube-scheduler/extender/v1`. Nothing is sent here: a request is
//! an [`ExtenderCall`], which the core hands out as an effect and the driver performs; what came of it returns as
//! an [`ExtenderAnswer`]. When an extender is asked, and what follows from its answer, is the scheduler's affair.

mod from_config;
mod go_json;
mod results;
mod schema;
#[cfg(test)]
mod tests;
mod wire;

pub use go_json::is_complete;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::objects::{Container, Pod};
use crate::api::{Duration, Str};
use crate::config::go_quoted;

use super::node_info::NodeInfo;
use super::preemption::Victims;
use super::snapshot::Snapshot;

/// How long a call may take where the configuration does not say (`DefaultExtenderTimeout`).
pub const DEFAULT_HTTP_TIMEOUT: Duration = Duration::from_secs(5);

/// An extender of the configuration (`HTTPExtender`). A verb that is empty is not supported.
#[derive(Clone, Debug, PartialEq)]
pub struct Extender {
    /// Where it is; its name, too.
    pub url_prefix: String,
    /// Asked for the nodes that fit.
    pub filter_verb: String,
    /// Asked for scores.
    pub prioritize_verb: String,
    /// Asked about the victims of preemption.
    pub preempt_verb: String,
    /// Asked to bind.
    pub bind_verb: String,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// Whether it knows the nodes, so that names are enough.
    pub node_cache_capable: bool,
    /// It is asked about pods that name one of these resources; about all pods if there are none.
    pub managed_resources: BTreeSet<Str>,
    /// Whether scheduling goes on without it when it fails.
    pub ignorable: bool,
    /// How long a call may take.
    pub http_timeout: Duration,
    /// Whether TLS is spoken without a certificate authority to check the server by.
    pub enable_https: bool,
    /// How TLS is spoken.
    pub tls: Option<ExtenderTls>,
}

/// An extender that supports nothing, with the default time-out.
impl Default for Extender {
    fn default() -> Self {
        Self {
            url_prefix: String::new(),
            filter_verb: String::new(),
            prioritize_verb: String::new(),
            preempt_verb: String::new(),
            bind_verb: String::new(),
            weight: 0,
            node_cache_capable: false,
            managed_resources: BTreeSet::new(),
            ignorable: false,
            http_timeout: DEFAULT_HTTP_TIMEOUT,
            enable_https: false,
            tls: None,
        }
    }
}

/// How TLS is spoken with an extender. Data is PEM, and goes before the file of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExtenderTls {
    /// Whether the server's certificate is not verified.
    pub insecure: bool,
    /// The name that the server's certificate must have, where it is not that of the URL.
    pub server_name: String,
    /// The path of the client's certificate.
    pub cert_file: String,
    /// The path of the client's key.
    pub key_file: String,
    /// The path of the authorities that are trusted.
    pub ca_file: String,
    /// The client's certificate.
    pub cert_data: Vec<u8>,
    /// The client's key.
    pub key_data: Vec<u8>,
    /// The authorities that are trusted.
    pub ca_data: Vec<u8>,
}

/// What an extender is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExtenderVerb {
    /// Which nodes fit.
    Filter,
    /// How good the nodes are.
    Prioritize,
    /// Which victims preemption may take.
    Preempt,
    /// To bind the pod.
    Bind,
}

impl ExtenderVerb {
    /// The kind of call in a word; the word in the URL is the configuration's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Prioritize => "prioritize",
            Self::Preempt => "preempt",
            Self::Bind => "bind",
        }
    }
}

/// A request to an extender: a POST with a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtenderCall {
    /// Which one, by its position in the scheduler's list.
    pub extender: usize,
    /// What it is asked for.
    pub verb: ExtenderVerb,
    /// Where the request goes.
    pub url: String,
    /// What is sent.
    pub body: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtenderAnswer {
    /// A response.
    Http {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
    },
    /// No response: what the transport says of it.
    Failed(String),
}

/// What an extender says of the nodes that it was asked about.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ExtenderFilterResult {
    /// The nodes that fit. Those that it sent whole are new, without pods.
    pub nodes: Vec<Arc<NodeInfo>>,
    /// The nodes that do not, with the reason.
    pub failed: BTreeMap<Str, String>,
    /// The same, where preemption would not help either.
    pub failed_and_unresolvable: BTreeMap<Str, String>,
}

impl Extender {
    /// Its name, as messages have it.
    pub fn name(&self) -> &str {
        &self.url_prefix
    }

    /// Whether it is asked which nodes fit.
    pub const fn is_filter(&self) -> bool {
        !self.filter_verb.is_empty()
    }

    /// Whether it is asked for scores.
    pub const fn is_prioritizer(&self) -> bool {
        !self.prioritize_verb.is_empty()
    }

    /// Whether it binds.
    pub const fn is_binder(&self) -> bool {
        !self.bind_verb.is_empty()
    }

    /// Whether it is asked about preemption.
    pub const fn supports_preemption(&self) -> bool {
        !self.preempt_verb.is_empty()
    }

    /// Whether it is asked about this pod at all: a container names one of its resources, at any amount.
    pub fn is_interested(&self, pod: &Pod) -> bool {
        let names_one = |container: &Container| {
            let resources = &container.resources;
            resources
                .requests
                .keys()
                .chain(resources.limits.keys())
                .any(|r| self.managed_resources.contains(r))
        };
        self.managed_resources.is_empty()
            || pod.spec.containers.iter().chain(&pod.spec.init_containers).any(names_one)
    }

    /// Asks which of the nodes fit the pod.
    pub fn filter_call(&self, index: usize, pod: &Pod, nodes: &[Arc<NodeInfo>]) -> ExtenderCall {
        self.call(index, ExtenderVerb::Filter, wire::nodes(pod, nodes, self.node_cache_capable))
    }

    /// Reads the answer to [`Extender::filter_call`]; `nodes` are those that were sent.
    ///
    /// # Errors
    /// The words of the failure.
    pub fn filter_answer(
        &self,
        answer: &ExtenderAnswer,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<ExtenderFilterResult, String> {
        let result = results::filter(self.body(ExtenderVerb::Filter, answer)?)?;
        if !result.error.is_empty() {
            return Err(result.error);
        }
        let passed = match (result.node_names, result.nodes) {
            (Some(names), _) if self.node_cache_capable => names
                .iter()
                .map(|name| {
                    nodes.iter().find(|node| node.name().as_ref() == name).cloned().ok_or_else(|| {
                        format!(
                            "extender {} claims a filtered node {} which is not found in the input node list",
                            go_quoted(&self.url_prefix),
                            go_quoted(name)
                        )
                    })
                })
                .collect::<Result<_, _>>()?,
            (_, Some(list)) => list
                .items
                .unwrap_or_default()
                .into_iter()
                .map(|node| Arc::new(NodeInfo::with_node(Arc::new(node))))
                .collect(),
            (_, None) => Vec::new(),
        };
        Ok(ExtenderFilterResult {
            nodes: passed,
            failed: result.failed_nodes.unwrap_or_default(),
            failed_and_unresolvable: result.failed_and_unresolvable_nodes.unwrap_or_default(),
        })
    }

    /// Asks for the scores of the nodes.
    pub fn prioritize_call(&self, index: usize, pod: &Pod, nodes: &[Arc<NodeInfo>]) -> ExtenderCall {
        self.call(index, ExtenderVerb::Prioritize, wire::nodes(pod, nodes, self.node_cache_capable))
    }

    /// Reads the answer to [`Extender::prioritize_call`]: hosts and scores as they came, without the weight.
    ///
    /// # Errors
    /// The words of the failure.
    pub fn prioritize_answer(&self, answer: &ExtenderAnswer) -> Result<Vec<(Str, i64)>, String> {
        results::prioritize(self.body(ExtenderVerb::Prioritize, answer)?)
    }

    /// Asks which of the candidates of preemption are good, and with which victims.
    pub fn preempt_call(&self, index: usize, pod: &Pod, victims: &BTreeMap<Str, Victims>) -> ExtenderCall {
        self.call(index, ExtenderVerb::Preempt, wire::victims(pod, victims, self.node_cache_capable))
    }

    /// Reads the answer to [`Extender::preempt_call`]. The victims are looked up on the nodes of the snapshot.
    ///
    /// # Errors
    /// The words of the failure; a node or a pod that is not there among them.
    pub fn preempt_answer(
        &self,
        answer: &ExtenderAnswer,
        snapshot: &Snapshot,
    ) -> Result<BTreeMap<Str, Victims>, String> {
        let result = results::preempt(self.body(ExtenderVerb::Preempt, answer)?)?;
        let mut candidates = BTreeMap::new();
        for (node_name, meta) in result {
            let Some(node) = snapshot.get(&node_name) else {
                return Err(format!("nodeinfo not found for node name {}", go_quoted(&node_name)));
            };
            let mut victims =
                Victims { num_pdb_violations: meta.num_pdb_violations.unwrap_or(0), ..Victims::default() };
            for meta_pod in meta.pods.unwrap_or_default() {
                let uid = meta_pod.as_ref().map(|pod| pod.uid.as_str());
                let pod = node.pods().iter().find(|pod| Some(pod.uid().as_ref()) == uid).ok_or_else(|| {
                    // Upstream prints a pointer to a struct of one field, and does not survive a pointer to nothing.
                    let shown = uid.map_or("<nil>".to_owned(), |uid| format!("&{{{uid}}}"));
                    format!(
                        "extender: {} claims to preempt pod (UID: {shown}) on node: {node_name}, but the pod is not found on that node",
                        self.url_prefix
                    )
                })?;
                victims.pods.push(pod.clone());
            }
            candidates.insert(node_name, victims);
        }
        Ok(candidates)
    }

    /// Asks to bind the pod to the node.
    pub fn bind_call(&self, index: usize, pod: &Pod, node: &Str) -> ExtenderCall {
        self.call(index, ExtenderVerb::Bind, wire::bind(pod, node))
    }

    /// Reads the answer to [`Extender::bind_call`].
    ///
    /// # Errors
    /// The words of the failure.
    pub fn bind_answer(&self, answer: &ExtenderAnswer) -> Result<(), String> {
        let error = results::bind(self.body(ExtenderVerb::Bind, answer)?)?;
        if error.is_empty() { Ok(()) } else { Err(error) }
    }

    /// The verb as the configuration has it.
    fn verb(&self, verb: ExtenderVerb) -> &str {
        match verb {
            ExtenderVerb::Filter => &self.filter_verb,
            ExtenderVerb::Prioritize => &self.prioritize_verb,
            ExtenderVerb::Preempt => &self.preempt_verb,
            ExtenderVerb::Bind => &self.bind_verb,
        }
    }

    fn url(&self, verb: ExtenderVerb) -> String {
        format!("{}/{}", self.url_prefix.trim_end_matches('/'), self.verb(verb))
    }

    fn call(&self, extender: usize, verb: ExtenderVerb, body: String) -> ExtenderCall {
        ExtenderCall { extender, verb, url: self.url(verb), body, timeout: self.http_timeout }
    }

    /// The body of a good answer.
    fn body<'a>(&self, verb: ExtenderVerb, answer: &'a ExtenderAnswer) -> Result<&'a str, String> {
        match answer {
            ExtenderAnswer::Http { status: 200, body } => Ok(body),
            ExtenderAnswer::Http { status, .. } => Err(format!(
                "failed {} with extender at URL {}, code {status}",
                self.verb(verb),
                self.url(verb)
            )),
            ExtenderAnswer::Failed(text) => Err(text.clone()),
        }
    }
}
