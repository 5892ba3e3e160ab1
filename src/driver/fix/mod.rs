//! What would let a pod run: a search for the smallest sets of changes, each proven by doing it in a copy.
//!
//! kube-scheduler has nothing like it. Candidates come from what its plugins say of every node
//! ([`Scheduler::read`](crate::scheduler::Scheduler::read)): what each one that refuses would need is put together, the
//! cheapest sets first. A set is first asked about ([`Probe`](crate::scheduler::reading::Probe)), then proven: the
//! sandbox is copied, the changes are made, and it runs until nothing moves. What it came to is compared with the same
//! run without the changes. Nothing here reads a clock: whoever calls can end the search at every step.

mod additions;
pub mod change;
mod evictions;
mod outcome;
mod parts;
pub mod patch;
mod remedies;
mod search;

pub use change::{Change, ChangeKind, Deed};
pub use outcome::Effects;
pub use search::find;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::driver::session::Edit;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixQuestion {
    /// The pod.
    pub pod: NamespacedName,
    /// The node that it shall get to; any without one.
    pub onto: Option<Str>,
    /// How many proven fixes are enough.
    pub n_wanted: usize,
    /// How many runs may be made at most.
    pub n_runs_max: usize,
}

impl FixQuestion {
    /// Whatever lets the pod run, with the usual bounds.
    pub const fn any(pod: NamespacedName) -> Self {
        Self { pod, onto: None, n_wanted: 5, n_runs_max: 40 }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FixProgress {
    /// Sets of changes that were thought of.
    pub n_candidates: usize,
    /// How many of them were asked about.
    pub n_asked: usize,
    /// How many were run.
    pub n_runs: usize,
    /// How many are proven.
    pub n_proven: usize,
}

/// A set of changes that lets the pod run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The changes.
    pub changes: Vec<Change>,
    /// What they cost, with what follows from them.
    pub cost: u32,
    /// Where the pod got to.
    pub node: Str,
    /// What happens to others.
    pub effects: Effects,
    /// Everything that is done, in order.
    pub edits: Vec<Edit>,
    /// On how many other nodes the same sort of changes looked as good.
    pub n_alike: usize,
}

impl Fix {
    /// The changes in a few words.
    pub fn title(&self) -> String {
        let what: Vec<&str> = self.changes.iter().map(|change| change.what.as_str()).collect();
        what.join(" + ")
    }

    /// All of it as one edit of a sandbox.
    pub fn edit(&self) -> Edit {
        Edit::Several { what: self.title(), edits: self.edits.clone() }
    }

    /// The command lines that do it in a cluster; `kubectl` may have flags.
    pub fn commands(&self, pod: &Pod, kubectl: &str) -> Vec<String> {
        change::commands(pod, &self.changes, kubectl)
    }
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixReport {
    /// What was looked for.
    pub question: FixQuestion,
    /// Where the pod gets without any change, if it does.
    pub is_fine_on: Option<Str>,
    /// Why the pod does not run, in the words of its attempt.
    pub message: String,
    /// What was found, the cheapest first.
    pub fixes: Vec<Fix>,
    /// How far the search came.
    pub progress: FixProgress,
    /// Why it ended before everything was tried, if it did.
    pub cut: Option<&'static str>,
    /// What was thought of by sort, with how many sets of it.
    pub tried: Vec<(String, usize)>,
    /// What stands in the way and no change is known against, with on how many nodes, the most frequent first.
    pub unanswered: Vec<(String, usize)>,
    /// Resources of which no node has as much as the pod asks for, in words.
    pub too_large: Vec<String>,
}

impl FixReport {
    /// That nothing was found, and what was tried.
    pub fn not_found(&self) -> Vec<String> {
        let progress = &self.progress;
        let mut lines = vec![format!(
            "No fix was found: {} sets of changes were thought of, {} looked at, {} run{}.",
            progress.n_candidates,
            progress.n_asked,
            progress.n_runs.saturating_sub(1),
            self.cut.map(|why| format!("; {why}")).unwrap_or_default()
        )];
        if !self.tried.is_empty() {
            lines.push("Thought of:".to_owned());
            lines.extend(self.tried.iter().map(|(sort, n)| format!("  {n:>4} {sort}")));
        }
        lines.extend(self.too_large.iter().map(|what| {
            format!("{what}: a larger node is needed, or a smaller request than the tenth that is tried at the least.")
        }));
        if !self.unanswered.is_empty() {
            lines.push("Nothing is known against:".to_owned());
            lines.extend(self.unanswered.iter().map(|(what, n)| format!("  {n:>4} {what}")));
        }
        lines
    }
}

/// Why there is nothing to look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixError {
    /// The scheduler does not know the pod.
    #[error("there is no pod {0}")]
    NoPod(NamespacedName),
    /// The scheduler does not know the node.
    #[error("there is no node {0}")]
    NoNode(Str),
    /// No profile is responsible for it.
    #[error("pod {0} is for another scheduler: it asks for {1:?}")]
    Ignored(NamespacedName, Str),
    /// It is on a node.
    #[error("pod {0} is on {1} already; a pod on a node is not moved, but a pod like it could be placed")]
    Placed(NamespacedName, Str),
}
