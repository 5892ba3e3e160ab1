//! The configuration, its profiles and its extenders.

use serde_json::{Map, Value};

use super::args::PluginArgs;
use super::{API_VERSION, KIND};
use crate::config::decode::{Bytes, Decode, Encode, Fields, Findings, Path, object};
use crate::config::document::Node;
use crate::config::go_text::GoDuration;
use crate::config::plugins::Plugins;

object! {
    /// The configuration of kube-scheduler.
    pub struct KubeSchedulerConfiguration {
        /// How many nodes are looked at side by side.
        pub parallelism: Option<i32> = "parallelism" empty,
        /// Which of several schedulers is active.
        pub leader_election: LeaderElectionConfiguration = "leaderElection" always,
        /// How the API server is spoken to.
        pub client_connection: ClientConnectionConfiguration = "clientConnection" always,
        /// Whether profiles of the process can be had.
        pub enable_profiling: Option<bool> = "enableProfiling" empty,
        /// Whether profiles of lock contention can be had.
        pub enable_contention_profiling: Option<bool> = "enableContentionProfiling" empty,
        /// After which part of all nodes (in percent) the search for feasible ones ends; 0 adapts to the cluster.
        pub percentage_of_nodes_to_score: Option<i32> = "percentageOfNodesToScore" empty,
        /// The backoff after the first failed attempt.
        pub pod_initial_backoff_seconds: Option<i64> = "podInitialBackoffSeconds" empty,
        /// The longest backoff.
        pub pod_max_backoff_seconds: Option<i64> = "podMaxBackoffSeconds" empty,
        /// The profiles.
        pub profiles: Vec<KubeSchedulerProfile> = "profiles" empty,
        /// The HTTP extenders, shared by all profiles.
        pub extenders: Vec<Extender> = "extenders" empty,
        /// Whether caches fill only once the scheduler is active.
        pub delay_cache_until_active: bool = "delayCacheUntilActive" empty,
    }
}

impl KubeSchedulerConfiguration {
    /// The document, with `apiVersion` and `kind`.
    pub fn to_document(&self) -> Value {
        with_type(self.encode(), KIND)
    }
}

/// The object with its `apiVersion` and `kind`.
pub(super) fn with_type(value: Value, kind: &str) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), API_VERSION.into());
    object.insert("kind".to_owned(), kind.into());
    if let Value::Object(fields) = value {
        object.extend(fields);
    }
    object.into()
}

object! {
    /// Which of several schedulers is active (`component-base/config/v1alpha1`).
    pub struct LeaderElectionConfiguration {
        /// Whether one is elected at all.
        pub leader_elect: Option<bool> = "leaderElect" always,
        /// How long a lease holds that is not renewed.
        pub lease_duration: GoDuration = "leaseDuration" always,
        /// How long its holder tries to renew it.
        pub renew_deadline: GoDuration = "renewDeadline" always,
        /// How long clients wait between two tries.
        pub retry_period: GoDuration = "retryPeriod" always,
        /// The kind of object that serves as a lock.
        pub resource_lock: String = "resourceLock" always,
        /// The lock's name.
        pub resource_name: String = "resourceName" always,
        /// The lock's namespace.
        pub resource_namespace: String = "resourceNamespace" always,
    }
}

object! {
    /// How the API server is spoken to (`component-base/config/v1alpha1`).
    pub struct ClientConnectionConfiguration {
        /// The path of a kubeconfig.
        pub kubeconfig: String = "kubeconfig" always,
        /// The `Accept` header.
        pub accept_content_types: String = "acceptContentTypes" always,
        /// The `Content-Type` of what is sent.
        pub content_type: String = "contentType" always,
        /// Queries a second.
        pub qps: f32 = "qps" always,
        /// Queries at once.
        pub burst: i32 = "burst" always,
    }
}

object! {
    /// What pods of one `schedulerName` are scheduled with.
    pub struct KubeSchedulerProfile {
        /// The `schedulerName` of the pods.
        pub scheduler_name: Option<String> = "schedulerName" empty,
        /// The profile's own percentage.
        pub percentage_of_nodes_to_score: Option<i32> = "percentageOfNodesToScore" empty,
        /// The plugins; once defaults are set, the default ones are merged in.
        pub plugins: Option<Plugins> = "plugins" empty,
        /// The arguments of plugins.
        pub plugin_config: Vec<PluginConfig> = "pluginConfig" empty,
    }
}

/// The arguments of a plugin.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PluginConfig {
    /// The plugin.
    pub name: String,
    /// Its arguments.
    pub args: PluginArgs,
}

impl Decode for PluginConfig {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        let mut fields = Fields::new(node, path, findings);
        let name: String = fields.take("name", findings);
        let args = PluginArgs::decode(&name, fields.node("args"), &Path::Field(path, "args"), findings);
        fields.finish(findings);
        Self { name, args }
    }
}

impl Encode for PluginConfig {
    fn encode(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.name.as_str().into());
        object.insert("args".to_owned(), self.args.encode());
        object.into()
    }
}

object! {
    /// An HTTP extender. A verb that is empty is not supported.
    pub struct Extender {
        /// Where it is.
        pub url_prefix: String = "urlPrefix" always,
        /// Asked for the nodes that fit.
        pub filter_verb: String = "filterVerb" empty,
        /// Asked for the victims of preemption.
        pub preempt_verb: String = "preemptVerb" empty,
        /// Asked for scores.
        pub prioritize_verb: String = "prioritizeVerb" empty,
        /// What its scores are multiplied by.
        pub weight: i64 = "weight" empty,
        /// Asked to bind.
        pub bind_verb: String = "bindVerb" empty,
        /// Whether TLS is spoken.
        pub enable_https: bool = "enableHTTPS" empty,
        /// How TLS is spoken.
        pub tls_config: Option<ExtenderTlsConfig> = "tlsConfig" empty,
        /// How long a call may take; 0 means 5 seconds.
        pub http_timeout: GoDuration = "httpTimeout" always,
        /// Whether node names are enough for it.
        pub node_cache_capable: bool = "nodeCacheCapable" empty,
        /// The extended resources for whose pods alone it is asked.
        pub managed_resources: Vec<ExtenderManagedResource> = "managedResources" empty,
        /// Whether scheduling goes on without it when it fails.
        pub ignorable: bool = "ignorable" empty,
    }
}

object! {
    /// An extended resource that an extender manages.
    pub struct ExtenderManagedResource {
        /// The resource.
        pub name: String = "name" always,
        /// Whether NodeResourcesFit leaves it out of account.
        pub ignored_by_scheduler: bool = "ignoredByScheduler" empty,
    }
}

object! {
    /// How TLS is spoken with an extender.
    pub struct ExtenderTlsConfig {
        /// Whether the server's certificate is not verified.
        pub insecure: bool = "insecure" empty,
        /// The name that the server's certificate must have.
        pub server_name: String = "serverName" empty,
        /// The path of the client's certificate.
        pub cert_file: String = "certFile" empty,
        /// The path of the client's key.
        pub key_file: String = "keyFile" empty,
        /// The path of the roots that are trusted.
        pub ca_file: String = "caFile" empty,
        /// The client's certificate (PEM); goes before the path.
        pub cert_data: Bytes = "certData" empty,
        /// The client's key (PEM); goes before the path.
        pub key_data: Bytes = "keyData" empty,
        /// The roots that are trusted (PEM); goes before the path.
        pub ca_data: Bytes = "caData" empty,
    }
}
