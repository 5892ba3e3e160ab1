//! The metrics: names, kinds, stability, labels, buckets and texts as kube-scheduler v1.36 has them.
//!
//! Follows `pkg/scheduler/metrics`, `component-base/metrics/prometheus` and, for `process_`, the Prometheus client. A
//! test compares this list with what the real scheduler prints.

use super::registry::{Family, Kind, Stability};

macro_rules! families {
    ($($id:ident: $name:literal, $kind:expr, $stability:expr, [$($label:literal),*], $help:literal;)*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names and texts of the metrics say it")]
        pub enum Metric {
            $($id,)*
        }

        /// All of them, in the order of their names.
        pub const FAMILIES: &[(Metric, Family)] = &[
            $((Metric::$id, Family {
                name: $name,
                kind: $kind,
                stability: $stability,
                labels: &[$($label),*],
                help: $help,
            }),)*
        ];
    };
}

families! {
    DisabledMetricsTotal: "disabled_metrics_total", Kind::Counter, Stability::Beta, [],
        "The count of disabled metrics.";
    HiddenMetricsTotal: "hidden_metrics_total", Kind::Counter, Stability::Beta, [],
        "The count of hidden metrics.";
    KubePodResourceLimit: "kube_pod_resource_limit", Kind::Gauge, Stability::Stable, ["namespace", "node", "pod", "priority", "resource", "scheduler", "unit"],
        "Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.";
    KubePodResourceRequest: "kube_pod_resource_request", Kind::Gauge, Stability::Stable, ["namespace", "node", "pod", "priority", "resource", "scheduler", "unit"],
        "Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.";
    KubernetesBuildInfo: "kubernetes_build_info", Kind::Gauge, Stability::Beta, ["build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "major", "minor", "platform"],
        "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.";
    KubernetesFeatureEnabled: "kubernetes_feature_enabled", Kind::Gauge, Stability::Beta, ["name", "stage"],
        "This metric records the data about the stage and enablement of a k8s feature.";
    KubernetesHealthcheck: "kubernetes_healthcheck", Kind::Gauge, Stability::Stable, ["name", "type"],
        "This metric records the result of a single healthcheck.";
    KubernetesHealthchecksTotal: "kubernetes_healthchecks_total", Kind::Counter, Stability::Stable, ["name", "status", "type"],
        "This metric records the results of all healthcheck.";
    LeaderElectionMasterStatus: "leader_election_master_status", Kind::Gauge, Stability::Alpha, ["name"],
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.";
    ProcessCpuSecondsTotal: "process_cpu_seconds_total", Kind::Counter, Stability::None, [],
        "Total user and system CPU time spent in seconds.";
    ProcessMaxFds: "process_max_fds", Kind::Gauge, Stability::None, [],
        "Maximum number of open file descriptors.";
    ProcessNetworkReceiveBytesTotal: "process_network_receive_bytes_total", Kind::Counter, Stability::None, [],
        "Number of bytes received by the process over the network.";
    ProcessNetworkTransmitBytesTotal: "process_network_transmit_bytes_total", Kind::Counter, Stability::None, [],
        "Number of bytes sent by the process over the network.";
    ProcessOpenFds: "process_open_fds", Kind::Gauge, Stability::None, [],
        "Number of open file descriptors.";
    ProcessResidentMemoryBytes: "process_resident_memory_bytes", Kind::Gauge, Stability::None, [],
        "Resident memory size in bytes.";
    ProcessStartTimeSeconds: "process_start_time_seconds", Kind::Gauge, Stability::Alpha, [],
        "Start time of the process since unix epoch in seconds.";
    ProcessVirtualMemoryBytes: "process_virtual_memory_bytes", Kind::Gauge, Stability::None, [],
        "Virtual memory size in bytes.";
    ProcessVirtualMemoryMaxBytes: "process_virtual_memory_max_bytes", Kind::Gauge, Stability::None, [],
        "Maximum amount of virtual memory available in bytes.";
    RegisteredMetricsTotal: "registered_metrics_total", Kind::Counter, Stability::Beta, ["deprecated_version", "stability_level"],
        "The count of registered metrics broken by stability level and deprecation version.";
    RestClientRateLimiterDurationSeconds: "rest_client_rate_limiter_duration_seconds", Kind::Histogram(&[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0]), Stability::Alpha, ["host", "verb"],
        "Client side rate limiter latency in seconds. Broken down by verb, and host.";
    RestClientRequestDurationSeconds: "rest_client_request_duration_seconds", Kind::Histogram(&[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0]), Stability::Alpha, ["host", "verb"],
        "Request latency in seconds. Broken down by verb, and host.";
    RestClientRequestRetriesTotal: "rest_client_request_retries_total", Kind::Counter, Stability::Alpha, ["code", "host", "verb"],
        "Number of request retries, partitioned by status code, verb, and host.";
    RestClientRequestSizeBytes: "rest_client_request_size_bytes", Kind::Histogram(&[64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0]), Stability::Alpha, ["host", "verb"],
        "Request size in bytes. Broken down by verb and host.";
    RestClientRequestsTotal: "rest_client_requests_total", Kind::Counter, Stability::Alpha, ["code", "host", "method"],
        "Number of HTTP requests, partitioned by status code, method, and host.";
    RestClientResponseSizeBytes: "rest_client_response_size_bytes", Kind::Histogram(&[64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0]), Stability::Alpha, ["host", "verb"],
        "Response size in bytes. Broken down by verb and host.";
    BatchAttemptsTotal: "scheduler_batch_attempts_total", Kind::Counter, Stability::Alpha, ["profile", "result"],
        "Counts of results when we attempt to use batching.";
    BatchCacheFlushedTotal: "scheduler_batch_cache_flushed_total", Kind::Counter, Stability::Alpha, ["profile", "reason"],
        "Counts of cache flushes by reason.";
    CacheSize: "scheduler_cache_size", Kind::Gauge, Stability::Alpha, ["type"],
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.";
    EventHandlingDurationSeconds: "scheduler_event_handling_duration_seconds", Kind::Histogram(&[0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048]), Stability::Alpha, ["event"],
        "Event handling latency in seconds.";
    FrameworkExtensionPointDurationSeconds: "scheduler_framework_extension_point_duration_seconds", Kind::Histogram(&[0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048]), Stability::Stable, ["extension_point", "profile", "status"],
        "Latency for running all plugins of a specific extension point.";
    GetNodeHintDurationSeconds: "scheduler_get_node_hint_duration_seconds", Kind::Histogram(&[1e-05, 2e-05, 4e-05, 8e-05, 0.00016, 0.00032, 0.00064, 0.00128, 0.00256, 0.00512, 0.01024, 0.02048]), Stability::Alpha, ["hinted", "profile"],
        "Latency for getting a node hint.";
    Goroutines: "scheduler_goroutines", Kind::Gauge, Stability::Beta, ["operation"],
        "Number of running goroutines split by the work they do such as binding.";
    InflightEvents: "scheduler_inflight_events", Kind::Gauge, Stability::Alpha, ["event"],
        "Number of events currently tracked in the scheduling queue.";
    PendingPods: "scheduler_pending_pods", Kind::Gauge, Stability::Stable, ["queue"],
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.";
    PermitWaitDurationSeconds: "scheduler_permit_wait_duration_seconds", Kind::Histogram(&[0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384]), Stability::Beta, ["result"],
        "Duration of waiting on permit.";
    PluginEvaluationTotal: "scheduler_plugin_evaluation_total", Kind::Counter, Stability::Beta, ["extension_point", "plugin", "profile"],
        "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).";
    PluginExecutionDurationSeconds: "scheduler_plugin_execution_duration_seconds", Kind::Histogram(&[1e-05, 1.5000000000000002e-05, 2.2500000000000005e-05, 3.375000000000001e-05, 5.062500000000001e-05, 7.593750000000002e-05, 0.00011390625000000003, 0.00017085937500000006, 0.0002562890625000001, 0.00038443359375000017, 0.0005766503906250003, 0.0008649755859375004, 0.0012974633789062506, 0.0019461950683593758, 0.0029192926025390638, 0.004378938903808595, 0.006568408355712893, 0.009852612533569338, 0.014778918800354007, 0.02216837820053101]), Stability::Alpha, ["extension_point", "plugin", "status"],
        "Duration for running a plugin at a specific extension point.";
    PodScheduledAfterFlushTotal: "scheduler_pod_scheduled_after_flush_total", Kind::Counter, Stability::Alpha, [],
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.";
    PodSchedulingAttempts: "scheduler_pod_scheduling_attempts", Kind::Histogram(&[1.0, 2.0, 4.0, 8.0, 16.0]), Stability::Stable, [],
        "Number of attempts to successfully schedule a pod.";
    PodSchedulingSliDurationSeconds: "scheduler_pod_scheduling_sli_duration_seconds", Kind::Histogram(&[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88]), Stability::Beta, ["attempts"],
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.";
    PreemptionAttemptsTotal: "scheduler_preemption_attempts_total", Kind::Counter, Stability::Stable, [],
        "Total preemption attempts in the cluster till now";
    PreemptionGoroutinesDurationSeconds: "scheduler_preemption_goroutines_duration_seconds", Kind::Histogram(&[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88]), Stability::Alpha, ["result"],
        "Duration in seconds for running goroutines for the preemption.";
    PreemptionGoroutinesExecutionTotal: "scheduler_preemption_goroutines_execution_total", Kind::Counter, Stability::Alpha, ["result"],
        "Number of preemption goroutines executed.";
    PreemptionVictims: "scheduler_preemption_victims", Kind::Histogram(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), Stability::Stable, [],
        "Number of selected preemption victims";
    QueueIncomingPodsTotal: "scheduler_queue_incoming_pods_total", Kind::Counter, Stability::Stable, ["event", "queue"],
        "Number of pods added to scheduling queues by event and queue type.";
    QueueingHintExecutionDurationSeconds: "scheduler_queueing_hint_execution_duration_seconds", Kind::Histogram(&[1e-05, 1.5000000000000002e-05, 2.2500000000000005e-05, 3.375000000000001e-05, 5.062500000000001e-05, 7.593750000000002e-05, 0.00011390625000000003, 0.00017085937500000006, 0.0002562890625000001, 0.00038443359375000017, 0.0005766503906250003, 0.0008649755859375004, 0.0012974633789062506, 0.0019461950683593758, 0.0029192926025390638, 0.004378938903808595, 0.006568408355712893, 0.009852612533569338, 0.014778918800354007, 0.02216837820053101]), Stability::Alpha, ["event", "hint", "plugin"],
        "Duration for running a queueing hint function of a plugin.";
    ScheduleAttemptsTotal: "scheduler_schedule_attempts_total", Kind::Counter, Stability::Stable, ["profile", "result"],
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.";
    SchedulingAlgorithmDurationSeconds: "scheduler_scheduling_algorithm_duration_seconds", Kind::Histogram(&[0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384]), Stability::Alpha, [],
        "Scheduling algorithm latency in seconds";
    SchedulingAttemptDurationSeconds: "scheduler_scheduling_attempt_duration_seconds", Kind::Histogram(&[0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384]), Stability::Stable, ["profile", "result"],
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)";
    StoreScheduleResultsDurationSeconds: "scheduler_store_schedule_results_duration_seconds", Kind::Histogram(&[1e-05, 2e-05, 4e-05, 8e-05, 0.00016, 0.00032, 0.00064, 0.00128, 0.00256, 0.00512, 0.01024, 0.02048]), Stability::Alpha, ["profile"],
        "Latency for getting a no.";
    UnschedulablePods: "scheduler_unschedulable_pods", Kind::Gauge, Stability::Beta, ["plugin", "profile"],
        "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.";
    VersionInfo: "version_info", Kind::Gauge, Stability::Alpha, ["binary", "component", "emulation", "min_compat"],
        "Provides the compatibility version info of the component. The component label is the name of the component, usually kube, but is relevant for aggregated-apiservers.";
    WorkqueueAddsTotal: "workqueue_adds_total", Kind::Counter, Stability::Beta, ["name"],
        "Total number of adds handled by workqueue";
    WorkqueueDepth: "workqueue_depth", Kind::Gauge, Stability::Beta, ["name"],
        "Current depth of workqueue";
    WorkqueueLongestRunningProcessorSeconds: "workqueue_longest_running_processor_seconds", Kind::Gauge, Stability::Beta, ["name"],
        "How many seconds has the longest running processor for workqueue been running.";
    WorkqueueQueueDurationSeconds: "workqueue_queue_duration_seconds", Kind::Histogram(&[1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1.0, 10.0]), Stability::Beta, ["name"],
        "How long in seconds an item stays in workqueue before being requested.";
    WorkqueueRetriesTotal: "workqueue_retries_total", Kind::Counter, Stability::Beta, ["name"],
        "Total number of retries handled by workqueue";
    WorkqueueUnfinishedWorkSeconds: "workqueue_unfinished_work_seconds", Kind::Gauge, Stability::Beta, ["name"],
        "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.";
    WorkqueueWorkDurationSeconds: "workqueue_work_duration_seconds", Kind::Histogram(&[1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1.0, 10.0]), Stability::Beta, ["name"],
        "How long in seconds processing an item from workqueue takes.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/metrics.md` is this list.
    #[test]
    fn the_documentation_lists_every_metric() {
        let mut table = String::new();
        for (_, family) in FAMILIES {
            let labels =
                family.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
            let stability = family.stability.as_str();
            let kind = family.kind.as_str();
            table.push_str(&format!("| `{}` | {kind} | {stability} | {labels} |\n", family.name));
        }
        let text = include_str!("../../../docs/metrics.md");
        assert!(text.contains(&table), "docs/metrics.md is to have these rows:\n{table}");
    }
}
