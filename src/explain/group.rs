//! The cycle of a pod group in words.

use crate::scheduler::pod_group_trace::{
    GroupOutcome, GroupStep, GroupTrace, MemberVerdict, PlacementTrace, RunPurpose, RunTrace,
};

use super::{counted, listed};

/// How many victims a sentence names.
const N_VICTIMS_NAMED: usize = 3;

/// How a group stands, in a line.
pub fn group_so_far(trace: &GroupTrace) -> String {
    match &trace.outcome {
        GroupOutcome::Scheduled => match trace.schedule_run().and_then(|run| run.chosen.as_deref()) {
            Some(placement) if !placement.is_empty() => format!("has room in {placement}"),
            Some(_) | None => String::from("has room"),
        },
        GroupOutcome::WaitingOnPreemption { .. } if !trace.victims.is_empty() => {
            let victims: Vec<String> = trace.victims.iter().map(ToString::to_string).collect();
            format!("waits until {} make room", listed(&victims, N_VICTIMS_NAMED))
        }
        GroupOutcome::WaitingOnPreemption { .. } => String::from("waits until room is made"),
        GroupOutcome::Unschedulable { message } => message.clone(),
        GroupOutcome::Error { message } => format!("failed, will be retried: {message}"),
        GroupOutcome::InProgress => under_way(trace),
    }
}

fn under_way(trace: &GroupTrace) -> String {
    let members = counted(trace.members.len(), "member");
    let Some(run) = trace.runs.last() else { return format!("{members} popped together") };
    match trace.next {
        Some(GroupStep::Submit) => String::from("the trial is over: the members are dealt with one by one"),
        Some(GroupStep::Condition) => String::from("all members are dealt with"),
        Some(GroupStep::Preempt) => String::from("no room: pods that could make room are looked for"),
        Some(_) | None => match &run.purpose {
            RunPurpose::Schedule => tried(trace, run),
            RunPurpose::WithoutVictims => String::from("would it fit without any less important pod?"),
            RunPurpose::Spare(pods) => {
                let pods: Vec<String> = pods.iter().map(ToString::to_string).collect();
                format!("would it fit beside {}?", listed(&pods, N_VICTIMS_NAMED))
            }
        },
    }
}

fn tried(trace: &GroupTrace, run: &RunTrace) -> String {
    let Some(placement) = run.placements.last() else {
        return counted(run.placement_names.len(), "placement") + " to try";
    };
    let n_tried = placement.members.len();
    let member = format!("{n_tried} of {} tried", counted(trace.members.len(), "member"));
    if run.placement_names.len() < 2 && placement.name.is_empty() {
        return member;
    }
    let (n, of) = (run.placements.len(), run.placement_names.len());
    format!("placement {} ({n} of {of}): {member}", placement.name)
}

/// What the group came to in a placement.
pub fn placement_verdict(placement: &PlacementTrace) -> String {
    match &placement.status {
        None => String::from("being tried"),
        Some(status) if status.is_success() => String::from("room for the group"),
        Some(_) if placement.is_waiting_on_preemption => String::from("room for the group if others go"),
        Some(status) => status.message(),
    }
}

/// What a member came to.
pub fn member_verdict(verdict: &MemberVerdict) -> String {
    match verdict {
        MemberVerdict::Fits { node, permit } if permit.is_wait() => {
            format!("fits on {node}, waits for others")
        }
        MemberVerdict::Fits { node, .. } => format!("fits on {node}"),
        MemberVerdict::NeedsRoom { node, .. } => format!("would fit on {node} if others went"),
        MemberVerdict::Rejected { message } | MemberVerdict::Error { message } => message.clone(),
    }
}
