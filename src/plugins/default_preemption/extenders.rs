//! What the extenders leave of the candidates.
//!
//! Follows `callExtenders` of `pkg/scheduler/framework/preemption/preemption.go`. Upstream keeps candidates in a map;
//! here they are in the order of the nodes' names.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::api::objects::Pod;
use crate::config::go_quoted;
use crate::framework::preemption::{Candidate, Victims};
use crate::framework::{Handle, Status};

/// Asks every extender that has a say in preemption and is interested in the pod, one after the other, about what
/// the one before it left. What an extender says is taken as it is: other nodes, other victims, in any order.
///
/// `None` if an answer is not at hand: the plugin is run again when it is.
///
/// # Errors
/// An extender that is not ignorable fails, or names a node and no victims.
pub fn ask_extenders(
    handle: &Handle<'_>,
    pod: &Pod,
    candidates: Vec<Candidate>,
) -> Option<Result<Vec<Candidate>, Status>> {
    if handle.extenders.is_empty() || candidates.is_empty() {
        return Some(Ok(candidates));
    }
    let by_node = candidates.into_iter().map(|candidate| (candidate.node_name, candidate.victims));
    let mut left: BTreeMap<Str, Victims> = by_node.collect();
    for (index, extender) in handle.extenders.iter().enumerate() {
        if !extender.supports_preemption() || !extender.is_interested(pod) {
            continue;
        }
        let answer = handle.call_extender(extender.preempt_call(index, pod, &left))?;
        let mut said = match extender.preempt_answer(&answer, handle.snapshot) {
            Ok(said) => said,
            Err(_) if extender.ignorable => continue,
            Err(text) => return Some(Err(Status::error(text))),
        };
        if extender.ignorable {
            said.retain(|_, victims| !victims.pods.is_empty());
        } else if let Some((node, _)) = said.iter().find(|(_, victims)| victims.pods.is_empty()) {
            return Some(Err(Status::error(format!(
                "expected at least one victim pod on node {}",
                go_quoted(node)
            ))));
        }
        left = said;
        if left.is_empty() {
            break;
        }
    }
    Some(Ok(left.into_iter().map(|(node_name, victims)| Candidate { node_name, victims }).collect()))
}
