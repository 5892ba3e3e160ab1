//! Which parts of the living cluster there are, and how long things take in it.

use std::fmt;

use crate::api::Duration;

/// A part that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Pods start, run, end and stop; images are pulled.
    Kubelets,
    /// Nodes that are not heard of, taints from conditions, eviction by taints.
    Nodes,
    /// Deployments, replica sets, stateful sets, daemon sets, jobs and cron jobs.
    Workloads,
    /// The status of disruption budgets.
    Budgets,
    /// Nodes of node groups come and go.
    Autoscaler,
}

impl Part {
    /// Every part.
    pub const ALL: &'static [Self] =
        &[Self::Kubelets, Self::Nodes, Self::Workloads, Self::Budgets, Self::Autoscaler];

    /// Its name on command lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kubelets => "kubelets",
            Self::Nodes => "nodes",
            Self::Workloads => "workloads",
            Self::Budgets => "budgets",
            Self::Autoscaler => "autoscaler",
        }
    }

    /// The part of that name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|part| part.as_str() == word)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The settings of a living cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldSettings {
    parts: [bool; Part::ALL.len()],
    /// Bytes that a node pulls in a second. Images are pulled one after the other.
    pub pull_bytes_per_second: u64,
    /// How long a pod takes to start once its images are there: this, and up to as much again.
    pub start_time: Duration,
    /// How long a pod takes to stop, if its grace period is not shorter.
    pub stop_time: Duration,
    /// About how long the pods of jobs run: from half to one and a half times that.
    pub job_time: Duration,
    /// How long a node may be silent before its state counts as unknown.
    pub node_monitor_grace: Duration,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            parts: [true; Part::ALL.len()],
            pull_bytes_per_second: 50_000_000,
            start_time: Duration::from_secs(1),
            stop_time: Duration::from_secs(2),
            job_time: Duration::from_secs(60),
            node_monitor_grace: Duration::from_secs(50),
        }
    }
}

impl WorldSettings {
    /// Whether a part is there.
    pub fn has(&self, part: Part) -> bool {
        self.parts.get(part as usize).is_some_and(|is_on| *is_on)
    }

    /// Switches a part.
    pub fn switch(&mut self, part: Part, is_on: bool) {
        if let Some(known) = self.parts.get_mut(part as usize) {
            *known = is_on;
        }
    }

    /// The same settings with other parts: `all`, `none`, or names separated by commas; `-NAME` leaves one out of all.
    ///
    /// # Errors
    /// A word that is no part.
    pub fn with_parts(mut self, text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let begins_with_all = words.first().is_none_or(|word| word.starts_with('-') || *word == "all");
        self.parts = [begins_with_all; Part::ALL.len()];
        for word in words {
            match word {
                "all" => self.parts = [true; Part::ALL.len()],
                "none" => self.parts = [false; Part::ALL.len()],
                _ => {
                    let (name, is_on) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
                    let part = Part::of_word(name).ok_or_else(|| {
                        let names: Vec<&str> = Part::ALL.iter().map(|part| part.as_str()).collect();
                        format!("{name:?} is none of all, none, {}", names.join(", "))
                    })?;
                    self.switch(part, is_on);
                }
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_or_left_out() {
        let parts = |text: &str| {
            let settings = WorldSettings::default().with_parts(text).unwrap();
            Part::ALL.iter().filter(|part| settings.has(**part)).map(|part| part.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(parts("all"), ["kubelets", "nodes", "workloads", "budgets", "autoscaler"]);
        assert_eq!(parts("none"), Vec::<&str>::new());
        assert_eq!(parts("nodes,kubelets"), ["kubelets", "nodes"]);
        assert_eq!(parts("-autoscaler,-nodes"), ["kubelets", "workloads", "budgets"]);
        assert_eq!(
            WorldSettings::default().with_parts("kubelet").unwrap_err(),
            "\"kubelet\" is none of all, none, kubelets, nodes, workloads, budgets, autoscaler"
        );
    }
}
