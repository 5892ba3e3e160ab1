//! What a program is made of: kube-scheduler's plugins, and those that its author adds.
//!
//! This is the one place where plugins are put together (the composition root). Every subcommand gets the registry from
//! here, and what is built of it (frameworks, schedulers, sessions) carries it on. Follows `app.NewSchedulerCommand` with
//! `app.WithPlugin` of `cmd/kube-scheduler/app`.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{exit, run, tell};
use crate::framework::runtime::{PluginDefinition, Registry};
use crate::plugins::registry::in_tree_registry;

/// A whole program, to which plugins can be added:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use schedscope::cli::Main;
/// use schedscope::framework::{CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, Status};
///
/// #[derive(Debug)]
/// struct EvenNames;
///
/// impl Plugin for EvenNames {
///     fn name(&self) -> &'static str {
///         "EvenNames"
///     }
///     fn as_filter(&self) -> Option<&dyn FilterPlugin> {
///         Some(self)
///     }
/// }
///
/// impl FilterPlugin for EvenNames {
///     fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
///         if node.name().len() % 2 == 0 { Status::SUCCESS } else { Status::unresolvable("node name is odd") }
///     }
/// }
///
/// fn main() -> ExitCode {
///     Main::new().with_plugin("EvenNames", |_, _| Ok(EvenNames)).run()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Main {
    registry: Registry,
    configuration: Option<String>,
    problems: Vec<String>,
}

impl Default for Main {
    fn default() -> Self {
        Self::new()
    }
}

impl Main {
    /// A program with kube-scheduler's plugins.
    pub fn new() -> Self {
        Self { registry: in_tree_registry(), configuration: None, problems: Vec::new() }
    }

    /// The same with a plugin that is made by `factory` from its `args`. A configuration has to enable it, as with
    /// kube-scheduler.
    #[must_use]
    pub fn with_plugin<P: crate::framework::Plugin + 'static>(
        self,
        name: &str,
        factory: impl Fn(
            Option<&serde_json::Value>,
            &crate::framework::runtime::FactoryContext<'_>,
        ) -> Result<P, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.with(PluginDefinition::new(name, factory))
    }

    /// The same with a plugin of which more is to be said, such as the annotations that it reads.
    #[must_use]
    pub fn with(mut self, plugin: PluginDefinition) -> Self {
        if let Err(error) = self.registry.add(plugin) {
            self.problems.push(error.to_string());
        }
        self
    }

    /// The same with a `KubeSchedulerConfiguration` (its text) that holds where `--config` names none.
    #[must_use]
    pub fn with_configuration(mut self, text: impl Into<String>) -> Self {
        self.configuration = Some(text.into());
        self
    }

    /// Parses the command line, does what it says, and tells what went wrong. The answer is the exit code.
    pub fn run(self) -> ExitCode {
        self.run_from(std::env::args_os())
    }

    /// The same with a command line of one's own. Its first word is the program's name.
    pub fn run_from<W: Into<OsString> + Clone>(self, words: impl IntoIterator<Item = W>) -> ExitCode {
        if !self.problems.is_empty() {
            tell(&self.problems.join("\n"));
            return ExitCode::from(exit::WRONG);
        }
        match run(words, &self) {
            Ok(code) => code,
            Err(error) => {
                tell(&format!("{error:#}"));
                ExitCode::from(exit::WRONG)
            }
        }
    }

    /// The plugins.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The configuration that holds where none is named, if it is not kube-scheduler's.
    pub(super) fn configuration(&self) -> Option<&str> {
        self.configuration.as_deref()
    }
}
