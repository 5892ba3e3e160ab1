//! The first line of a recording: what a scheduler has to be made of to decide the same again.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::{Duration, Time};
use crate::config::{FeatureGates, LoadOptions, SchedulerConfig};
use crate::framework::extender::Extender;
use crate::framework::runtime::{Registry, build_profiles};
use crate::scheduler::turns::Turns;
use crate::scheduler::{QueueOptions, Scheduler, SchedulerOptions, TieBreak};

/// The version of the format that is written.
pub const FORMAT_VERSION: u64 = 1;
/// The version of what goes into the digests of the scheduler's components. Digests of another version are not
/// compared.
pub const DIGEST_VERSION: u64 = 1;
/// What the first line begins with.
pub(super) const MAGIC: &str = r#"{"schedscope":"recording","format":"#;
/// Whose scheduler this is, by version.
const KUBERNETES: &str = "v1.36";

/// Why no scheduler can be made of a header, or no header of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// This build does not know a gate, or cannot set it so.
    #[error("feature gates: {0}")]
    Gates(String),
    /// This build cannot read the configuration.
    #[error("configuration: {0}")]
    Configuration(String),
    /// It was made with plugins of somebody's own.
    #[error("it was made with {}, which this program has not: use the program that it was made with", plugins_text(.0))]
    MissingPlugins(Vec<String>),
    /// The profiles cannot be built.
    #[error("profiles: {0}")]
    Profiles(String),
    /// The configuration is not the same after it was written and read.
    #[error("the configuration cannot be written so that it is read as it is")]
    NotFaithful,
}

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of the program that wrote it.
    pub app: String,
    /// The Kubernetes release whose scheduler it follows.
    pub kubernetes: String,
    /// The version of what goes into digests.
    pub digest_version: u64,
    /// When the recording begins; that of the first input is not before it.
    #[serde(with = "time_text")]
    pub start: Time,
    /// What is recorded, such as the name of the first file.
    pub source: String,
    /// Whether names are pseudonyms.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Where the random numbers start.
    pub seed: u64,
    /// Which of several nodes with the highest total is taken: `random` or `byName`.
    pub tie_break: String,
    /// Who decides when things go on that run beside the attempts: `atOnce` or `onCommand`; see [`Turns`].
    pub turns: String,
    /// How many victims of a preemption are dealt with at the same time.
    pub parallelism: usize,
    /// Whether the ranking of one attempt may serve the next pod.
    pub batching: bool,
    /// Whether pods of groups are scheduled together, under its gate.
    pub grouping: bool,
    /// See [`SchedulerOptions::percentage_of_nodes_to_score`].
    pub percentage_of_nodes_to_score: i32,
    /// How the queue behaves.
    pub queue: QueueHeader,
    /// The feature gates that are not as by default in that Kubernetes release.
    pub gates: IndexMap<String, bool>,
    /// Plugins of kube-scheduler that the configuration has and the program had not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The `KubeSchedulerConfiguration`, all defaults filled in, without certificates and keys.
    pub configuration: Value,
}

/// How the queue behaves; see [`QueueOptions`]. In nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of `QueueOptions`")]
pub struct QueueHeader {
    pub pod_initial_backoff: u64,
    pub pod_max_backoff: u64,
    pub pod_max_in_unschedulable_pods_duration: u64,
    pub pop_from_backoff_q: bool,
}

impl Header {
    /// The header for a scheduler that is made of this configuration and these options.
    ///
    /// # Errors
    /// If the configuration cannot be written so that the same scheduler is made of it again.
    pub fn new(
        config: &SchedulerConfig,
        options: &SchedulerOptions,
        start: Time,
        source: &str,
    ) -> Result<Self, HeaderError> {
        let queue = &options.queue;
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let header = Self {
            app: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes: KUBERNETES.to_owned(),
            digest_version: DIGEST_VERSION,
            start,
            source: source.to_owned(),
            redacted: false,
            seed: options.seed,
            tie_break: tie_break_text(options.tie_break).to_owned(),
            turns: turns_text(options.turns).to_owned(),
            parallelism: options.parallelism,
            batching: options.is_batching,
            grouping: options.is_grouping,
            percentage_of_nodes_to_score: options.percentage_of_nodes_to_score,
            queue: QueueHeader {
                pod_initial_backoff: nanos(queue.pod_initial_backoff),
                pod_max_backoff: nanos(queue.pod_max_backoff),
                pod_max_in_unschedulable_pods_duration: nanos(queue.pod_max_in_unschedulable_pods_duration),
                pop_from_backoff_q: queue.pop_from_backoff_q,
            },
            gates: config.gates.changed().map(|(gate, on)| (gate.to_string(), on)).collect(),
            left_out: config.left_out.clone(),
            configuration: without_keys(config.document.to_document()),
        };
        let read = header.configuration(&|_| true)?;
        if read.profiles == config.profiles && read.gates == config.gates {
            Ok(header)
        } else {
            Err(HeaderError::NotFaithful)
        }
    }

    /// The feature gates.
    ///
    /// # Errors
    /// If this build does not know one of them, or cannot set it so.
    pub fn feature_gates(&self) -> Result<FeatureGates, HeaderError> {
        let list: Vec<String> = self.gates.iter().map(|(gate, on)| format!("{gate}={on}")).collect();
        FeatureGates::parse(&list.join(",")).map_err(|error| HeaderError::Gates(error.to_string()))
    }

    /// The configuration, for the plugins that are there now and were there then.
    ///
    /// # Errors
    /// If this build cannot read it.
    pub fn configuration(&self, has_plugin: &dyn Fn(&str) -> bool) -> Result<SchedulerConfig, HeaderError> {
        let gates = self.feature_gates()?;
        let has_plugin = |name: &str| has_plugin(name) && self.left_out.iter().all(|out| out != name);
        let text = self.configuration.to_string();
        SchedulerConfig::load(&text, LoadOptions { gates: &gates, has_plugin: &has_plugin })
            .map_err(|complaints| HeaderError::Configuration(complaints.to_string()))
    }

    /// What the scheduler is made with.
    ///
    /// # Errors
    /// If this build cannot read the gates or the configuration.
    pub fn options(&self) -> Result<SchedulerOptions, HeaderError> {
        let config = self.configuration(&|_| true)?;
        Ok(SchedulerOptions {
            seed: self.seed,
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            queue: QueueOptions {
                pod_initial_backoff: Duration::from_nanos(self.queue.pod_initial_backoff),
                pod_max_backoff: Duration::from_nanos(self.queue.pod_max_backoff),
                pod_max_in_unschedulable_pods_duration: Duration::from_nanos(
                    self.queue.pod_max_in_unschedulable_pods_duration,
                ),
                pop_from_backoff_q: self.queue.pop_from_backoff_q,
                ..QueueOptions::default()
            },
            is_grouping: self.grouping,
            extenders: Extender::all_from_config(&config.extenders),
            is_batching: self.batching,
            gates: config.gates,
            tie_break: if self.tie_break == tie_break_text(TieBreak::ByName) {
                TieBreak::ByName
            } else {
                TieBreak::Random
            },
            parallelism: self.parallelism,
            turns: if self.turns == turns_text(Turns::OnCommand) { Turns::OnCommand } else { Turns::AtOnce },
            is_tracing: true,
        })
    }

    /// The scheduler as it was before the first input.
    ///
    /// # Errors
    /// If this build does not know a gate, a field of the configuration or a plugin.
    pub fn scheduler(&self, registry: &Registry, is_tracing: bool) -> Result<Scheduler, HeaderError> {
        let profiles = |error: &dyn std::fmt::Display| HeaderError::Profiles(error.to_string());
        let config = self.configuration(&|name| registry.contains(name))?;
        let mut missing: Vec<String> = Vec::new();
        for name in config.profiles.iter().flat_map(|profile| profile.plugins.enabled_names()) {
            if !registry.contains(name) && missing.iter().all(|other| other != name) {
                missing.push(name.to_owned());
            }
        }
        if !missing.is_empty() {
            return Err(HeaderError::MissingPlugins(missing));
        }
        let frameworks =
            build_profiles(&config.profiles, registry, &config.gates).map_err(|error| profiles(&error))?;
        let options = SchedulerOptions { is_tracing, ..self.options()? };
        Scheduler::new(frameworks.into_values().collect(), options).map_err(|error| profiles(&error))
    }

    /// Its line, without the closing brace.
    pub(super) fn line(&self) -> Vec<u8> {
        let fields = serde_json::to_vec(self).unwrap_or_default();
        let mut line = format!("{MAGIC}{FORMAT_VERSION},").into_bytes();
        line.extend(fields.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).unwrap_or_default());
        line
    }
}

/// Such as `the plugins A and B`.
fn plugins_text(names: &[String]) -> String {
    match names {
        [name] => format!("the plugin {name}"),
        [first @ .., last] => format!("the plugins {} and {last}", first.join(", ")),
        [] => String::from("no plugin"),
    }
}

const fn tie_break_text(tie_break: TieBreak) -> &'static str {
    match tie_break {
        TieBreak::Random => "random",
        TieBreak::ByName => "byName",
    }
}

const fn turns_text(turns: Turns) -> &'static str {
    match turns {
        Turns::AtOnce => "atOnce",
        Turns::OnCommand => "onCommand",
    }
}

/// A configuration without how TLS is spoken with extenders and how the API server is reached: a replay calls nobody.
pub fn without_keys(mut document: Value) -> Value {
    if let Value::Object(fields) = &mut document {
        fields.shift_remove("clientConnection");
        fields.shift_remove("leaderElection");
        let extenders = fields.get_mut("extenders").and_then(Value::as_array_mut);
        for extender in extenders.into_iter().flatten().filter_map(Value::as_object_mut) {
            remove_tls(extender);
        }
    }
    document
}

fn remove_tls(extender: &mut Map<String, Value>) {
    extender.shift_remove("tlsConfig");
    // What stands between the scheme and the host of a URL may be a password.
    if let Some(Value::String(url)) = extender.get_mut("urlPrefix")
        && let Some((scheme, rest)) = url.split_once("://")
        && let Some((_, host)) = rest.split_once('@')
    {
        *url = format!("{scheme}://{host}");
    }
}

/// Times as text: seconds and nine digits, which no program cuts as it may a large number.
pub(super) mod time_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::api::Time;

    /// The text of a time.
    pub(crate) fn text(time: Time) -> String {
        format!("{time:?}")
    }

    /// The time of a text.
    pub(crate) fn parse(text: &str) -> Option<Time> {
        let (secs, nanos) = text.split_once('.')?;
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(secs) || !is_number(nanos) || nanos.len() != 9 {
            return None;
        }
        let secs: u64 = secs.parse().ok()?;
        secs.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?).map(Time::from_nanos)
    }

    pub(crate) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let found = String::deserialize(deserializer)?;
        parse(&found).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{found:?} is not a time like 1767225600.000000000"))
        })
    }
}
