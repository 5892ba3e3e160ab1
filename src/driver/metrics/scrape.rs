//! What is looked at when somebody asks for metrics: how full the queues are, what pods ask for, the process itself.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use crate::api::objects::{Container, Pod, ResourceList};
use crate::framework::RequestOptions;
use crate::framework::pod_resources::pod_requests;
use crate::scheduler::gauges::Gauges;

use super::families::{FAMILIES, Metric};
use super::registry::{Registry, head, line};

/// Clock ticks of `/proc` in a second, as Linux has them for programs.
const TICKS_A_SECOND: f64 = 100.0;
/// Bytes of a page.
const PAGE: f64 = 4096.0;

/// Puts the numbers of now into the registry.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn put_gauges(registry: &Registry, gauges: &Gauges) {
    let queues = [
        ("active", gauges.active),
        ("backoff", gauges.backoff),
        ("gated", gauges.gated),
        ("unschedulable", gauges.unschedulable),
    ];
    for (queue, n) in queues {
        registry.set(Metric::PendingPods, &[queue], n as f64);
    }
    let cached = [("assumed_pods", gauges.assumed_pods), ("nodes", gauges.nodes), ("pods", gauges.pods)];
    for (what, n) in cached {
        registry.set(Metric::CacheSize, &[what], n as f64);
    }
    registry.set(Metric::InflightEvents, &["PodPopped"], gauges.in_flight as f64);
    registry.set(Metric::Goroutines, &["binding"], gauges.binding as f64);
    // What has become none stays as 0.
    registry.zero(Metric::UnschedulablePods);
    for ((plugin, profile), n) in &gauges.unschedulable_by {
        registry.set(Metric::UnschedulablePods, &[plugin, profile], *n as f64);
    }
}

/// Puts what the system says of the process into the registry; what it does not say stays as it was.
pub fn put_process(registry: &Registry) {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    if let Ok(stat) = fs::read_to_string("/proc/self/stat")
        // The name stands in brackets and may hold anything.
        && let Some((_, rest)) = stat.rsplit_once(") ")
    {
        let fields: Vec<&str> = rest.split(' ').collect();
        let at = |i: usize| number(fields.get(i).copied());
        if let (Some(user), Some(system)) = (at(11), at(12)) {
            registry.set(Metric::ProcessCpuSecondsTotal, &[], (user + system) / TICKS_A_SECOND);
        }
        if let (Some(started), Some(boot)) = (at(19), boot_time()) {
            registry.set(Metric::ProcessStartTimeSeconds, &[], boot + started / TICKS_A_SECOND);
        }
        if let Some(bytes) = at(20) {
            registry.set(Metric::ProcessVirtualMemoryBytes, &[], bytes);
        }
        if let Some(pages) = at(21) {
            registry.set(Metric::ProcessResidentMemoryBytes, &[], pages * PAGE);
        }
    }
    if let Ok(entries) = fs::read_dir("/proc/self/fd") {
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        registry.set(Metric::ProcessOpenFds, &[], entries.count() as f64);
    }
    if let Ok(statistics) = fs::read_to_string("/proc/self/net/netstat") {
        for (field, metric) in [
            ("InOctets", Metric::ProcessNetworkReceiveBytesTotal),
            ("OutOctets", Metric::ProcessNetworkTransmitBytesTotal),
        ] {
            if let Some(bytes) = number(ip_statistic(&statistics, field)) {
                registry.set(metric, &[], bytes);
            }
        }
    }
    if let Ok(limits) = fs::read_to_string("/proc/self/limits") {
        for (name, metric) in [
            ("Max open files", Metric::ProcessMaxFds),
            ("Max address space", Metric::ProcessVirtualMemoryMaxBytes),
        ] {
            let soft = limits.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
            match soft {
                // As many as 64 bits can say.
                Some("unlimited") => registry.set(metric, &[], 18_446_744_073_709_551_615.0),
                soft => {
                    if let Some(limit) = number(soft) {
                        registry.set(metric, &[], limit);
                    }
                }
            }
        }
    }
}

/// A number of the whole network namespace: a line of names, and one of numbers below it.
fn ip_statistic<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt: "));
    let (names, numbers) = (lines.next()?, lines.next()?);
    names.split(' ').zip(numbers.split(' ')).find(|(name, _)| *name == field).map(|(_, number)| number)
}

/// When the machine was started, in seconds.
fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

/// What `/metrics/resources` says (`pkg/scheduler/metrics/resources`): requests and limits of each pod that has not
/// ended.
pub fn resources_text(pods: &[Arc<Pod>], options: RequestOptions) -> String {
    let options = options.of_spec();
    let mut text = String::new();
    for metric in [Metric::KubePodResourceLimit, Metric::KubePodResourceRequest] {
        let Some((_, family)) = FAMILIES.get(metric as usize) else { continue };
        // As upstream sorts them: by the values of the labels in the order of their names.
        let mut lines: BTreeMap<[String; 7], f64> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| !pod.is_terminal() || !pod.is_assigned()) {
            let total = match metric {
                Metric::KubePodResourceLimit => pod_limits(pod, options),
                _ => pod_requests(pod, options, None),
            };
            let priority = pod.spec.priority.map(|priority| priority.to_string()).unwrap_or_default();
            for (resource, quantity) in total {
                let number = quantity.as_approximate_f64();
                if number == 0.0 {
                    continue;
                }
                let unit = unit_of(&resource).to_owned();
                let key = [
                    pod.metadata.namespace.to_string(),
                    pod.spec.node_name.to_string(),
                    pod.metadata.name.to_string(),
                    priority.clone(),
                    resource.to_string(),
                    pod.spec.scheduler_name.to_string(),
                    unit,
                ];
                lines.insert(key, number);
            }
        }
        if lines.is_empty() {
            continue;
        }
        head(&mut text, family);
        for (values, number) in lines {
            let values = values.iter().map(String::as_str);
            let labels: Vec<(&str, &str)> = family.labels.iter().copied().zip(values).collect();
            line(&mut text, family.name, &labels, number);
        }
    }
    text
}

fn unit_of(resource: &str) -> &'static str {
    match resource {
        "cpu" => "cores",
        "memory" | "storage" | "ephemeral-storage" => "bytes",
        _ if resource.starts_with("hugepages-") => "bytes",
        _ if resource.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}

/// The limits of a pod (`PodLimits`): they add up as requests do, and the overhead counts only where there is a limit.
fn pod_limits(pod: &Pod, options: RequestOptions) -> ResourceList {
    let mut as_requests = pod.clone();
    let turn = |container: &mut Container| {
        container.resources.requests = std::mem::take(&mut container.resources.limits);
    };
    as_requests.spec.containers.iter_mut().for_each(turn);
    as_requests.spec.init_containers.iter_mut().for_each(turn);
    if let Some(resources) = &mut as_requests.spec.resources {
        resources.requests = std::mem::take(&mut resources.limits);
    }
    let overhead = std::mem::take(&mut as_requests.spec.overhead);
    let limits = pod_requests(&as_requests, options, None);
    let mut with_overhead = as_requests;
    with_overhead.spec.overhead =
        overhead.into_iter().filter(|(name, _)| limits.contains_key(name)).collect();
    pod_requests(&with_overhead, options, None)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_and_limits_have_the_lines_of_the_real_scheduler() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "a-2", "namespace": "default"},
            "spec": {
                "schedulerName": "default-scheduler", "nodeName": "n0", "priority": 0,
                "containers": [{"name": "c", "resources": {
                    "requests": {"cpu": "3", "memory": "64Mi"}, "limits": {"cpu": "3"},
                }}],
            },
        }))
        .unwrap();
        let text = resources_text(&[Arc::new(pod)], RequestOptions::default());
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        // Printed by kube-scheduler v1.36.3 about this pod.
        let expected = [
            r#"kube_pod_resource_limit{namespace="default",node="n0",pod="a-2",priority="0",resource="cpu",scheduler="default-scheduler",unit="cores"} 3"#,
            r#"kube_pod_resource_request{namespace="default",node="n0",pod="a-2",priority="0",resource="cpu",scheduler="default-scheduler",unit="cores"} 3"#,
            r#"kube_pod_resource_request{namespace="default",node="n0",pod="a-2",priority="0",resource="memory",scheduler="default-scheduler",unit="bytes"} 6.7108864e+07"#,
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_process_is_known() {
        let registry = Registry::default();
        put_process(&registry);
        if std::path::Path::new("/proc/self/stat").exists() {
            assert!(registry.get(Metric::ProcessResidentMemoryBytes, &[]) > 1e6);
            assert!(registry.get(Metric::ProcessStartTimeSeconds, &[]) > 1.6e9);
            assert!(registry.get(Metric::ProcessMaxFds, &[]) >= 1.0);
        }
    }
}
