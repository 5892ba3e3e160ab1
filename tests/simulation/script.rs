//! Prints a plan as the files of a script for `schedscope conformance run`, as far as its language can say it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schedscope::api::time::go_duration;

use crate::support::world::WITH_TEST_PLUGINS;

use super::plan::{Deed, Plan, Verb, Why};

/// The files one after the other, and the deeds.
pub fn print(plan: &Plan) -> String {
    let mut text = format!("{} deeds of seed {}\n", plan.ops.len(), plan.seed);
    for (name, content) in files(plan) {
        let _ = writeln!(text, "--- {name}\n{}", content.trim_end());
    }
    let _ = write!(text, "\nThe deeds:\n{:#?}", plan.ops);
    text
}

/// The files by name. What the language has no word for stands as a comment.
pub fn files(plan: &Plan) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let (mut cluster, mut script) = (String::new(), "graceful 30s\n".to_owned());
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
            let name = format!("step{}.yaml", files.len() + 1);
            line(script, &format!("apply {name}"));
            files.insert(name, yaml.to_owned());
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
    files.insert("gates".to_owned(), plan.gates.to_owned());
    files.insert("config.yaml".to_owned(), WITH_TEST_PLUGINS.trim_start().to_owned());
    files.insert("cluster.yaml".to_owned(), cluster);
    files.insert("script.txt".to_owned(), format!("{latency}{extender}{script}"));
    files
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
