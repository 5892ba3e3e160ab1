//! Prints a plan as the files of a script for `schedscope conformance run`, as far as its language can say it.

use std::fmt::Write as _;

use schedscope::api::time::go_duration;

use super::plan::{Deed, Plan, Verb, Why};

/// What the language has no word for stands as a comment.
pub fn print(plan: &Plan) -> String {
    let (mut cluster, mut script, mut steps) = (String::new(), String::new(), String::new());
    let mut n_steps = 0;
    let mut has_begun = false;
    for op in &plan.ops {
        has_begun |= !op.after.is_zero() || matches!(op.deed, Deed::Pod(_));
        if !op.after.is_zero() {
            line(&mut script, &format!("wait {}", go_duration(op.after)));
        }
        let mut apply = |yaml: &str, script: &mut String| {
            if !has_begun {
                let _ = write!(cluster, "---\n{yaml}");
                return;
            }
            n_steps += 1;
            let _ = write!(steps, "--- step{n_steps}.yaml\n{yaml}");
            line(script, &format!("apply step{n_steps}.yaml"));
        };
        match &op.deed {
            Deed::Node(node) => apply(&node.yaml(), &mut script),
            Deed::Pod(pod) => {
                apply(&pod.yaml(), &mut script);
            }
            Deed::Object { yaml, .. } => apply(yaml, &mut script),
            Deed::Delete { kind, name } => line(&mut script, &deletion(kind.as_str(), name)),
            Deed::End { pod } => line(&mut script, &format!("delete {pod}")),
            Deed::BindElsewhere { pod, node } => line(&mut script, &format!("external-bind {pod} {node}")),
            Deed::Fail { verb, name, times, why } => {
                let comment =
                    if name == "*" || *verb == Verb::Write || *why == Why::AnswerLost { "# " } else { "" };
                let lost = if *why == Why::AnswerLost { " (it is done; the answer is lost)" } else { "" };
                let verb = verb.as_str();
                line(&mut script, &format!("{comment}fail {verb} {name} {times} {}{lost}", why.as_str()));
            }
            Deed::Slow { verb, name, takes } => {
                let comment =
                    if name == "*" || matches!(verb, Verb::Write | Verb::Patch) { "# " } else { "" };
                line(&mut script, &format!("{comment}slow {} {name} {}", verb.as_str(), go_duration(*takes)));
            }
            Deed::Lag { kind, by } => {
                line(
                    &mut script,
                    &format!("# from here the watch of {kind} is late by {}", go_duration(*by)),
                );
            }
            Deed::Lose { kind, time } => {
                line(&mut script, &format!("# the watch of {kind} is lost for {}", go_duration(*time)));
            }
            Deed::Repeat { kind } => line(&mut script, &format!("# the watch of {kind} tells all again")),
            Deed::Allow { pod, plugin } => line(&mut script, &format!("allow {pod} {plugin}")),
            Deed::Reject { pod, plugin } => {
                line(&mut script, &format!("reject {pod} {}", plugin.unwrap_or_default()));
            }
            Deed::Activate { pod } => line(&mut script, &format!("# activate {pod}")),
        }
    }
    line(&mut script, "wait 12m");
    let latency = if plan.has_latency { "# calls take time by themselves\n" } else { "" };
    let extender = if plan.has_extender { "# an ignorable extender is not there\n" } else { "" };
    format!(
        "{} deeds of seed {}\n--- gates\n{}\n--- cluster.yaml\n{cluster}{steps}--- script.txt\n{latency}{extender}\
         graceful 30s\n{script}\nThe deeds:\n{:#?}",
        plan.ops.len(),
        plan.seed,
        plan.gates,
        plan.ops
    )
}

fn line(script: &mut String, text: &str) {
    script.push_str(text.trim_end());
    script.push('\n');
}

fn deletion(kind: &str, name: &str) -> String {
    let word = match kind {
        "Pod" => return format!("terminate {name}"),
        "PersistentVolumeClaim" => "pvc",
        "PersistentVolume" => "pv",
        "PodDisruptionBudget" => "pdb",
        "ResourceClaim" => "claim",
        "ResourceSlice" => "slice",
        other => return format!("delete {} {name}", other.to_lowercase()),
    };
    format!("delete {word} {name}")
}
