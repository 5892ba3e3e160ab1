//! Extenders as the configuration has them.
//!
//! Follows `buildExtenders` of `pkg/scheduler/scheduler.go` and `NewHTTPExtender` of `extender.go`. What the resources
//! that an extender manages change about the profiles is worked out where the configuration is read.

use super::{DEFAULT_HTTP_TIMEOUT, Extender, ExtenderTls};
use crate::api::{Duration, Str};
use crate::config::GoDuration;
use crate::config::v1;

impl Extender {
    /// The extenders of a configuration in the order in which they are asked: ignorable ones last.
    pub fn all_from_config(configured: &[v1::Extender]) -> Vec<Self> {
        let mut extenders: Vec<Self> = configured.iter().map(Self::from_config).collect();
        extenders.sort_by_key(|extender| extender.ignorable);
        extenders
    }

    /// One extender of a configuration.
    pub fn from_config(configured: &v1::Extender) -> Self {
        Self {
            url_prefix: configured.url_prefix.clone(),
            filter_verb: configured.filter_verb.clone(),
            prioritize_verb: configured.prioritize_verb.clone(),
            preempt_verb: configured.preempt_verb.clone(),
            bind_verb: configured.bind_verb.clone(),
            weight: configured.weight,
            node_cache_capable: configured.node_cache_capable,
            managed_resources: configured
                .managed_resources
                .iter()
                .map(|resource| Str::from(resource.name.as_str()))
                .collect(),
            ignorable: configured.ignorable,
            http_timeout: http_timeout(configured.http_timeout),
            enable_https: configured.enable_https,
            tls: configured.tls_config.as_ref().map(|tls| ExtenderTls {
                insecure: tls.insecure,
                server_name: tls.server_name.clone(),
                cert_file: tls.cert_file.clone(),
                key_file: tls.key_file.clone(),
                ca_file: tls.ca_file.clone(),
                cert_data: tls.cert_data.0.clone(),
                key_data: tls.key_data.0.clone(),
                ca_data: tls.ca_data.0.clone(),
            }),
        }
    }
}

/// A call without a time-out of its own has the default one; a negative one never ends it.
fn http_timeout(configured: GoDuration) -> Duration {
    match configured.0 {
        0 => DEFAULT_HTTP_TIMEOUT,
        nanos => u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::config::{FeatureGates, LoadOptions, SchedulerConfig};

    fn extenders(entries: &str) -> Vec<Extender> {
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n{entries}"
        );
        let gates = FeatureGates::default();
        let options = LoadOptions { gates: &gates, has_plugin: &|_| true };
        Extender::all_from_config(&SchedulerConfig::load(&text, options).unwrap().extenders)
    }

    #[test]
    fn ignorable_extenders_are_asked_last() {
        let order = extenders(
            "- {urlPrefix: a, ignorable: true}\n- {urlPrefix: b}\n- {urlPrefix: c, ignorable: true}\n- {urlPrefix: d}\n",
        );
        assert_eq!(order.iter().map(Extender::name).collect::<Vec<_>>(), ["b", "d", "a", "c"]);
    }

    #[test]
    fn everything_that_is_configured_is_kept() {
        let found = extenders(
            "- urlPrefix: https://x\n  filterVerb: f\n  prioritizeVerb: p\n  preemptVerb: e\n  bindVerb: b\n  weight: 7\n  \
             nodeCacheCapable: true\n  enableHTTPS: true\n  httpTimeout: 1m1.5s\n  managedResources:\n  - {name: a.b/c}\n  \
             - {name: a.b/d, ignoredByScheduler: true}\n  tlsConfig: {serverName: s, certFile: c, keyFile: k, caFile: r}\n",
        );
        let expected = Extender {
            url_prefix: "https://x".to_owned(),
            filter_verb: "f".to_owned(),
            prioritize_verb: "p".to_owned(),
            preempt_verb: "e".to_owned(),
            bind_verb: "b".to_owned(),
            weight: 7,
            node_cache_capable: true,
            managed_resources: ["a.b/c".into(), "a.b/d".into()].into(),
            ignorable: false,
            http_timeout: Duration::from_millis(61_500),
            enable_https: true,
            tls: Some(ExtenderTls {
                server_name: "s".to_owned(),
                cert_file: "c".to_owned(),
                key_file: "k".to_owned(),
                ca_file: "r".to_owned(),
                ..ExtenderTls::default()
            }),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn calls_end_after_five_seconds_unless_the_configuration_says_otherwise() {
        let timeouts = extenders(
            "- {urlPrefix: a}\n- {urlPrefix: b, httpTimeout: 0s}\n- {urlPrefix: c, httpTimeout: 300ms}\n- {urlPrefix: d, httpTimeout: -1s}\n",
        );
        let timeouts: Vec<Duration> = timeouts.iter().map(|extender| extender.http_timeout).collect();
        let five = Duration::from_secs(5);
        assert_eq!(timeouts, [five, five, Duration::from_millis(300), Duration::MAX]);
    }
}
