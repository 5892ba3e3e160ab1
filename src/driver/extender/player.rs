//! A player of extenders: answers calls by the rules of an `extenders.yaml`, in the place of the network.
//!
//! It makes the same answers, in JSON, as an extender that follows the rules would, and tells each call in the words
//! of the golden decisions. What an extender does to the API when it binds is for the driver to do: see
//! [`PlayedBind`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::play_answers::{
    BindingResult, MetaPod, MetaVictims, PreemptionResult, filter, node, or_dash, preempt, prioritize,
    victims_text,
};
use super::rules::{Fail, File, Keys, Play, Rule};
use crate::api::objects::{Labels, Node, Pod};
use crate::api::{Duration, NamespacedName, ObjectStore, Str};
use crate::config::go_quoted;
use crate::framework::extender::{Extender, ExtenderAnswer, ExtenderCall, ExtenderVerb};

/// The keys of answers.
const KEYS: [&str; 11] = [
    "Nodes",
    "NodeNames",
    "FailedNodes",
    "FailedAndUnresolvableNodes",
    "Error",
    "Host",
    "Score",
    "NodeNameToMetaVictims",
    "Pods",
    "UID",
    "NumPDBViolations",
];

/// Why there can be no player.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayerError {
    /// The file cannot be read.
    #[error("{0}")]
    Form(String),
    /// It has an extender that the configuration does not have.
    #[error("the configuration has no extender {0:?}")]
    Unknown(String),
    /// The configuration has an extender that it does not have.
    #[error("the extender {0:?} has no name here")]
    Missing(String),
}

/// Answers the calls of a configuration's extenders. A copy goes its own way.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    plays: Vec<Play>,
}

/// What an extender did with a call.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedAnswer {
    /// The extender's name in the rules.
    pub extender: Str,
    /// What it was asked for.
    pub verb: ExtenderVerb,
    /// The pod.
    pub pod: NamespacedName,
    /// What was sent: `nodes`, `nodeNames`, `victims` or `metaVictims`; empty with a binding.
    pub sent: &'static str,
    /// The nodes that were sent, sorted; with their victims where it is about preemption.
    pub nodes: Vec<String>,
    /// The answer in words; `ok` for a binding that went well.
    pub text: String,
    /// The answer.
    pub answer: ExtenderAnswer,
    /// What else a call to bind does.
    pub bind: Option<PlayedBind>,
}

/// What a call to bind does besides being answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedBind {
    /// The node that was asked for.
    pub asked: Str,
    /// How long the call takes.
    pub takes: Duration,
    /// The node to which the extender binds the pod in the API, if it does.
    pub binds_to: Option<Str>,
    /// Whether the call ends in a time-out; then the extender binds when the call begins, otherwise when it ends.
    pub is_timeout: bool,
    /// Whether the API would not have it.
    has_failed: bool,
}

/// What a call may say.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    pod: Option<Pod>,
    nodes: Option<RequestNodes>,
    node_names: Option<Vec<Str>>,
    node_name_to_victims: Option<BTreeMap<Str, RequestVictims>>,
    node_name_to_meta_victims: Option<BTreeMap<Str, MetaVictims>>,
    pod_name: Option<Str>,
    pod_namespace: Option<Str>,
    node: Option<Str>,
}

#[derive(Deserialize)]
struct RequestNodes {
    items: Vec<Node>,
}

#[derive(Deserialize)]
struct RequestVictims {
    #[serde(rename = "Pods")]
    pods: Vec<Pod>,
    #[serde(rename = "NumPDBViolations")]
    num_pdb_violations: i64,
}

impl Player {
    /// Reads an `extenders.yaml` for these extenders.
    ///
    /// # Errors
    /// The text is not of that form, or speaks of other extenders.
    pub fn parse(text: &str, extenders: &[Extender]) -> Result<Self, PlayerError> {
        let file: File =
            serde_saphyr::from_str(text).map_err(|error| PlayerError::Form(error.to_string()))?;
        let configured: BTreeSet<&str> = extenders.iter().map(Extender::name).collect();
        if let Some(play) = file.extenders.iter().find(|play| !configured.contains(play.url_prefix.as_str()))
        {
            return Err(PlayerError::Unknown(play.url_prefix.clone()));
        }
        let player = Self { plays: file.extenders };
        match extenders.iter().find(|extender| player.name_of(extender).is_none()) {
            Some(extender) => Err(PlayerError::Missing(extender.name().to_owned())),
            None => Ok(player),
        }
    }

    /// The name of an extender in the rules.
    pub fn name_of(&self, extender: &Extender) -> Option<&Str> {
        let play = self.plays.iter().find(|play| play.url_prefix == extender.url_prefix)?;
        Some(&play.name).filter(|name| !name.is_empty())
    }

    /// Forgets how often each rule was used.
    pub fn restart(&mut self) {
        for play in &mut self.plays {
            for rules in [&mut play.filter, &mut play.prioritize, &mut play.preempt, &mut play.bind] {
                rules.iter_mut().for_each(|rule| rule.used = 0);
            }
        }
    }

    /// Answers a call to the extender; `api` holds the nodes and pods that there are.
    ///
    /// # Errors
    /// The call is not one that a scheduler makes, or the extender is not played here.
    pub fn answer(
        &mut self,
        extender: &Extender,
        call: &ExtenderCall,
        api: &ObjectStore,
    ) -> Result<PlayedAnswer, PlayerError> {
        let play = self.plays.iter_mut().find(|play| play.url_prefix == extender.url_prefix);
        let play = play.ok_or_else(|| PlayerError::Missing(extender.url_prefix.clone()))?;
        let request: Request =
            serde_json::from_str(&call.body).map_err(|error| PlayerError::Form(error.to_string()))?;
        let played = match call.verb {
            ExtenderVerb::Filter | ExtenderVerb::Prioritize => play.about_nodes(call, request, api),
            ExtenderVerb::Preempt => play.about_victims(call, request, api),
            ExtenderVerb::Bind => play.about_binding(call, request, api),
        };
        played.ok_or_else(|| PlayerError::Form(format!("{}: something is missing in the request", call.url)))
    }
}

impl Play {
    fn about_nodes(
        &mut self,
        call: &ExtenderCall,
        request: Request,
        api: &ObjectStore,
    ) -> Option<PlayedAnswer> {
        let pod = request.pod?;
        let (sent, nodes): (_, Vec<Arc<Node>>) = match (request.nodes, request.node_names) {
            (Some(list), _) => ("nodes", list.items.into_iter().map(Arc::new).collect()),
            (None, names) => ("nodeNames", names?.iter().map(|name| node(api, name)).collect()),
        };
        let rules = if call.verb == ExtenderVerb::Filter { &mut self.filter } else { &mut self.prioritize };
        let rule = next_rule(rules, &pod.key(), &pod.metadata.labels);
        let (answer, instead, text) = if call.verb == ExtenderVerb::Filter {
            let (mut result, text) = filter(&rule, &nodes, sent == "nodeNames", api);
            result.error.clone_from(&rule.error);
            let said = (!rule.error.is_empty()).then(|| format!("error {}", go_quoted(&rule.error)));
            let (answer, instead) = reply(&rule, call, &result);
            (answer, instead.or(said), text)
        } else {
            let (list, text) = prioritize(&rule, &nodes);
            let (answer, instead) = reply(&rule, call, &list);
            (answer, instead, text)
        };
        let mut nodes: Vec<String> = nodes.iter().map(|node| node.name().to_string()).collect();
        nodes.sort();
        let text = instead.unwrap_or(text);
        Some(PlayedAnswer { sent, nodes, text, ..self.played(call, pod.key(), answer) })
    }

    fn about_victims(
        &mut self,
        call: &ExtenderCall,
        request: Request,
        api: &ObjectStore,
    ) -> Option<PlayedAnswer> {
        let pod = request.pod?;
        let (sent, candidates) = match (request.node_name_to_meta_victims, request.node_name_to_victims) {
            (Some(candidates), _) => ("metaVictims", candidates),
            (None, whole) => {
                let candidates = whole?.into_iter().map(|(node, victims)| {
                    let pods = victims.pods.iter().map(|pod| MetaPod { uid: pod.uid().clone() }).collect();
                    (node, MetaVictims { pods, num_pdb_violations: victims.num_pdb_violations })
                });
                ("victims", candidates.collect())
            }
        };
        let rule = next_rule(&mut self.preempt, &pod.key(), &pod.metadata.labels);
        let left = preempt(&rule, &candidates, api);
        let text = or_dash(&victims_text(&left, api));
        let (answer, instead) = reply(&rule, call, &PreemptionResult { node_name_to_meta_victims: left });
        let nodes = victims_text(&candidates, api);
        let text = instead.unwrap_or(text);
        Some(PlayedAnswer { sent, nodes, text, ..self.played(call, pod.key(), answer) })
    }

    fn about_binding(
        &mut self,
        call: &ExtenderCall,
        request: Request,
        api: &ObjectStore,
    ) -> Option<PlayedAnswer> {
        let key = NamespacedName { namespace: request.pod_namespace?, name: request.pod_name? };
        let asked = request.node?;
        let labels = api.pods.get(&key).map(|pod| pod.metadata.labels.clone()).unwrap_or_default();
        let rule = next_rule(&mut self.bind, &key, &labels);
        let (answer, instead) = reply(&rule, call, &BindingResult { error: rule.error.clone() });
        let said = (!rule.error.is_empty()).then(|| format!("error {}", go_quoted(&rule.error)));
        let text = instead.or(said).unwrap_or_else(|| "ok".to_owned());
        let is_timeout = rule.fail == Some(Fail::Timeout);
        let binds = rule.binds.unwrap_or(text == "ok");
        let target = if rule.node.is_empty() { asked.clone() } else { rule.node.as_str().into() };
        let takes = if is_timeout { call.timeout } else { rule.takes };
        let bind =
            PlayedBind { asked, takes, binds_to: binds.then_some(target), is_timeout, has_failed: false };
        Some(PlayedAnswer { text, bind: Some(bind), ..self.played(call, key, answer) })
    }

    fn played(&self, call: &ExtenderCall, pod: NamespacedName, answer: ExtenderAnswer) -> PlayedAnswer {
        PlayedAnswer {
            extender: self.name.clone(),
            verb: call.verb,
            pod,
            sent: "",
            nodes: Vec::new(),
            text: String::new(),
            answer,
            bind: None,
        }
    }
}

impl Rule {
    fn is_for(&self, pod: &NamespacedName, labels: &Labels) -> bool {
        let is_used_up = self.times > 0 && self.used >= self.times;
        !is_used_up && self.pods.as_ref().is_none_or(|pods| pods.has(&pod.to_string(), labels))
    }
}

/// The first rule for the pod that is not used up; one that says nothing if there is none.
fn next_rule(rules: &mut [Rule], pod: &NamespacedName, labels: &Labels) -> Rule {
    match rules.iter_mut().find(|rule| rule.is_for(pod, labels)) {
        Some(rule) => {
            rule.used += 1;
            rule.clone()
        }
        None => Rule::default(),
    }
}

/// The answer, and the words for it where it is not the one that was made.
fn reply(rule: &Rule, call: &ExtenderCall, made: &impl Serialize) -> (ExtenderAnswer, Option<String>) {
    let failed = |reason: &str| ExtenderAnswer::Failed(format!("Post {}: {reason}", go_quoted(&call.url)));
    match rule.fail {
        Some(Fail::Timeout) => {
            let reason = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            return (failed(reason), Some("timeout".to_owned()));
        }
        Some(Fail::Refused) => {
            return (
                failed("dial tcp 192.0.2.1:80: connect: connection refused"),
                Some("refused".to_owned()),
            );
        }
        None => {}
    }
    if rule.status != 0 {
        let answer = ExtenderAnswer::Http { status: rule.status, body: String::new() };
        return (answer, Some(format!("status {}", rule.status)));
    }
    if let Some(body) = &rule.body {
        return (
            ExtenderAnswer::Http { status: 200, body: body.clone() },
            Some(format!("body {}", go_quoted(body))),
        );
    }
    let mut body = serde_json::to_string(made).unwrap_or_default();
    if rule.keys == Some(Keys::Lower) {
        for key in KEYS {
            let (first, rest) = key.split_at(1);
            body = body.replace(&format!("\"{key}\":"), &format!("\"{}{rest}\":", first.to_lowercase()));
        }
    }
    (ExtenderAnswer::Http { status: 200, body }, None)
}

impl PlayedAnswer {
    /// The pod could not be bound, since it is gone, or bound already.
    pub fn could_not_bind(&mut self, is_gone: bool) {
        let status = if is_gone { 404 } else { 409 };
        self.answer = ExtenderAnswer::Http { status, body: String::new() };
        self.text = format!("status {status}");
        if let Some(bind) = &mut self.bind {
            bind.has_failed = true;
        }
    }

    /// The line of a script's log for the call; for a call to bind, the line of its end.
    pub fn line(&self) -> String {
        let Self { extender, pod, sent, text, .. } = self;
        match &self.bind {
            Some(bind) if bind.is_timeout => format!("{}: over, {text}", self.bind_line(bind)),
            Some(bind) => format!("{}: {}, {text}", self.bind_line(bind), bind.deed()),
            None => {
                let (verb, nodes) = (self.verb.as_str(), or_dash(&self.nodes));
                format!("extender {extender} {verb} {pod} {sent}: {nodes} => {text}")
            }
        }
    }

    /// The lines for the beginning of a call to bind that takes time.
    pub fn first_lines(&self) -> Vec<String> {
        let Some(bind) = self.bind.as_ref().filter(|bind| !bind.takes.is_zero()) else { return Vec::new() };
        let mut lines = vec![format!("{} begins", self.bind_line(bind))];
        if bind.is_timeout && bind.binds_to.is_some() {
            lines.push(format!("{}: {}", self.bind_line(bind), bind.deed()));
        }
        lines
    }

    fn bind_line(&self, bind: &PlayedBind) -> String {
        format!("extender {} bind {} -> {}", self.extender, self.pod, bind.asked)
    }
}

impl PlayedBind {
    fn deed(&self) -> String {
        match &self.binds_to {
            Some(node) if !self.has_failed => format!("binds to {node}"),
            _ => "binds nothing".to_owned(),
        }
    }
}
