//! Workloads in the shapes of the Kubernetes documentation, and the rules that its pages state.

use std::collections::BTreeSet;

use schedscope::api::workloads::WorkloadKind;
use schedscope::api::{Duration, Kind, NamespacedName};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::world::WorldOrder;
use schedscope::driver::session::Edit;

use super::{
    SECOND, apply, deeds, deployment, is_ready, living, living_with, names, nodes, order, pod, pods, row,
    run_checked, run_for,
};

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn ready(simulator: &Simulator, prefix: &str) -> usize {
    pods(simulator, prefix).iter().filter(|pod| is_ready(pod) && !pod.is_terminating()).count()
}

#[test]
fn a_deployment_makes_a_replica_set_that_makes_pods() {
    let mut simulator = living(&(nodes(2) + &deployment(3, "nginx:1.14.2", "")));
    run_for(&mut simulator, 60 * SECOND);
    let there = pods(&simulator, "nginx-deployment-");
    assert_eq!(there.len(), 3);
    let sets = &simulator.api().objects().replica_sets;
    assert_eq!(sets.len(), 1);
    let set = sets.values().next().unwrap();
    let owner = set.metadata.controller().unwrap();
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("Deployment", "nginx-deployment"));
    let hash = set.metadata.labels.get("pod-template-hash").unwrap();
    assert_eq!(*set.metadata.name, *format!("nginx-deployment-{hash}"));
    for pod in &there {
        assert_eq!(pod.metadata.labels.get("pod-template-hash"), Some(hash));
        assert_eq!(pod.metadata.controller().unwrap().name, *set.metadata.name);
        let suffix = pod.metadata.name.strip_prefix(&format!("{}-", set.metadata.name)).unwrap();
        assert!(suffix.len() == 5 && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)));
    }
    let row = row(&simulator, "nginx-deployment");
    assert_eq!((row.desired, row.current, row.ready, row.pending), (3, 3, 3, 0));
}

/// "By default, it ensures that at least 75% of the desired number of Pods are up (25% max unavailable) ... at most 125%
/// of the desired number of Pods are up (25% max surge)."
#[test]
fn a_rollout_keeps_within_surge_and_unavailability() {
    for (strategy, most, least) in [
        ("", 13, 8),
        ("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 3, maxUnavailable: 0}}", 13, 10),
        ("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 20%}}", 10, 8),
        ("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}", 10, 9),
    ] {
        let mut simulator = living(&(nodes(3) + &deployment(10, "nginx:1.14.2", strategy)));
        run_for(&mut simulator, 60 * SECOND);
        assert_eq!(ready(&simulator, "nginx"), 10);
        apply(&mut simulator, &deployment(10, "nginx:1.16.1", strategy)).unwrap();
        run_checked(&mut simulator, Duration::from_secs(600), |simulator| {
            let active = pods(simulator, "nginx").iter().filter(|pod| !pod.is_terminating()).count();
            assert!(active <= most, "{active} pods with {strategy:?}");
            let ready = ready(simulator, "nginx");
            assert!(ready >= least, "{ready} pods are ready with {strategy:?}");
        });
        let there = pods(&simulator, "nginx");
        assert_eq!(there.len(), 10);
        assert!(there.iter().all(|pod| &*pod.spec.containers[0].image == "nginx:1.16.1"));
    }
}

/// "All existing Pods are killed before new ones are created when .spec.strategy.type==Recreate."
#[test]
fn recreate_ends_all_pods_before_it_makes_new_ones() {
    let strategy = "strategy: {type: Recreate}";
    let mut simulator = living(&(nodes(2) + &deployment(4, "nginx:1", strategy)));
    run_for(&mut simulator, 60 * SECOND);
    apply(&mut simulator, &deployment(4, "nginx:2", strategy)).unwrap();
    run_checked(&mut simulator, 60 * SECOND, |simulator| {
        let images: BTreeSet<String> =
            pods(simulator, "nginx").iter().map(|pod| pod.spec.containers[0].image.to_string()).collect();
        assert!(images.len() <= 1, "{images:?} at the same time");
    });
    assert_eq!(ready(&simulator, "nginx"), 4);
}

#[test]
fn a_change_back_takes_the_earlier_replica_set_again() {
    let mut simulator = living(&(nodes(2) + &deployment(2, "nginx:1", "")));
    run_for(&mut simulator, 60 * SECOND);
    let first = simulator.api().objects().replica_sets.keys().next().unwrap().clone();
    apply(&mut simulator, &deployment(2, "nginx:2", "")).unwrap();
    run_for(&mut simulator, 120 * SECOND);
    assert_eq!(simulator.api().objects().replica_sets.len(), 2);
    apply(&mut simulator, &deployment(2, "nginx:1", "")).unwrap();
    run_for(&mut simulator, 120 * SECOND);
    assert_eq!(simulator.api().objects().replica_sets.len(), 2);
    let there = pods(&simulator, "nginx");
    assert_eq!(there.len(), 2);
    assert!(there.iter().all(|pod| pod.metadata.controller().unwrap().name == *first.name));
}

#[test]
fn a_deployment_is_scaled_and_restarted() {
    let mut simulator = living(&(nodes(3) + &deployment(3, "nginx:1", "")));
    run_for(&mut simulator, 60 * SECOND);
    let scale = |replicas| WorldOrder::Scale {
        kind: WorkloadKind::Deployment,
        key: key("nginx-deployment"),
        replicas,
    };
    order(&mut simulator, scale(8)).unwrap();
    run_for(&mut simulator, 30 * SECOND);
    assert_eq!(ready(&simulator, "nginx"), 8);
    order(&mut simulator, scale(2)).unwrap();
    run_for(&mut simulator, 30 * SECOND);
    let before = names(&simulator, "nginx");
    assert_eq!(before.len(), 2);
    let restart = WorldOrder::Restart { kind: WorkloadKind::Deployment, key: key("nginx-deployment") };
    assert_eq!(order(&mut simulator, restart).unwrap(), "deployment/nginx-deployment restarted");
    run_for(&mut simulator, 60 * SECOND);
    let after = names(&simulator, "nginx");
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|name| !before.contains(name)));
    assert_eq!(
        order(
            &mut simulator,
            WorldOrder::Scale { kind: WorkloadKind::Deployment, key: key("lost"), replicas: 1 }
        )
        .unwrap_err(),
        "deployments \"lost\" not found"
    );
}

#[test]
fn pods_that_are_deleted_come_back_and_go_with_their_owner() {
    let mut simulator = living(&(nodes(2) + &deployment(3, "nginx:1", "")));
    run_for(&mut simulator, 60 * SECOND);
    let gone = names(&simulator, "nginx")[0].clone();
    simulator.edit(&Edit::DeletePod(key(&gone))).unwrap();
    run_for(&mut simulator, 30 * SECOND);
    let there = names(&simulator, "nginx");
    assert_eq!(there.len(), 3);
    assert!(!there.contains(&gone));
    let delete = WorldOrder::Delete { kind: WorkloadKind::Deployment, key: key("nginx-deployment") };
    assert_eq!(order(&mut simulator, delete).unwrap(), "deployment \"nginx-deployment\" deleted");
    run_for(&mut simulator, 30 * SECOND);
    assert!(names(&simulator, "nginx").is_empty());
    assert!(simulator.api().objects().replica_sets.is_empty());
}

#[test]
fn a_preempted_pod_of_a_deployment_comes_back() {
    let filler = deployment(4, "nginx:1", "").replace("cpu: 100m", "cpu: '1'");
    let mut simulator = living(&(nodes(1) + &filler));
    run_for(&mut simulator, 60 * SECOND);
    let urgent = "{apiVersion: v1, kind: Pod, metadata: {name: urgent}, spec: {priority: 1000, containers: [{name: c, image: i, \
                  resources: {requests: {cpu: '2'}}}]}}";
    apply(&mut simulator, urgent).unwrap();
    run_for(&mut simulator, 30 * SECOND);
    assert_eq!(&*pod(&simulator, "urgent").unwrap().spec.node_name, "n-1");
    let there = pods(&simulator, "nginx");
    assert_eq!(there.len(), 4);
    assert_eq!(there.iter().filter(|pod| pod.is_assigned()).count(), 2);
}

const STATEFUL_SET: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: my-storage-class}
provisioner: disks.example.com
volumeBindingMode: Immediate
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: nginx
  serviceName: nginx
  replicas: 3
  minReadySeconds: 10
  template:
    metadata:
      labels:
        app: nginx
    spec:
      terminationGracePeriodSeconds: 10
      containers:
      - name: nginx
        image: registry.k8s.io/nginx-slim:0.24
        ports:
        - containerPort: 80
          name: web
        volumeMounts:
        - name: www
          mountPath: /usr/share/nginx/html
  volumeClaimTemplates:
  - metadata:
      name: www
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: my-storage-class
      resources:
        requests:
          storage: 1Gi
---
";

/// "For a StatefulSet with N replicas, when Pods are being deployed, they are created sequentially, in order from
/// {0..N-1}. When Pods are being deleted, they are terminated in reverse order, from {N-1..0}. Before a scaling operation
/// is applied to a Pod, all of its predecessors must be Running and Ready."
#[test]
fn a_stateful_set_goes_up_and_down_one_by_one_with_claims_of_its_own() {
    let mut simulator = living(&(nodes(2) + STATEFUL_SET));
    run_checked(&mut simulator, Duration::from_secs(120), |simulator| {
        let there = names(simulator, "web-");
        let expected: Vec<String> = (0..there.len()).map(|n| format!("web-{n}")).collect();
        assert_eq!(there, expected);
        let all = pods(simulator, "web-");
        let n_before = all.len().saturating_sub(1);
        assert!(all.iter().take(n_before).all(|pod| is_ready(pod)), "a predecessor is not ready");
    });
    assert_eq!(names(&simulator, "web-"), ["web-0", "web-1", "web-2"]);
    let claims: Vec<String> =
        simulator.api().objects().persistent_volume_claims.keys().map(|key| key.name.to_string()).collect();
    assert_eq!(claims, ["www-web-0", "www-web-1", "www-web-2"]);
    let one = pod(&simulator, "web-1").unwrap();
    assert_eq!(one.claim_names().collect::<Vec<_>>(), ["www-web-1"]);
    assert_eq!(
        one.metadata.labels.get("statefulset.kubernetes.io/pod-name").map(|name| &**name),
        Some("web-1")
    );
    assert_eq!(one.metadata.labels.get("apps.kubernetes.io/pod-index").map(|index| &**index), Some("1"));
    let scale = WorldOrder::Scale { kind: WorkloadKind::StatefulSet, key: key("web"), replicas: 1 };
    order(&mut simulator, scale).unwrap();
    run_checked(&mut simulator, 60 * SECOND, |simulator| {
        let going = pods(simulator, "web-").iter().filter(|pod| pod.is_terminating()).count();
        assert!(going <= 1, "{going} pods go at the same time");
    });
    assert_eq!(names(&simulator, "web-"), ["web-0"]);
    // "Deleting and/or scaling a StatefulSet down will not delete the volumes associated with the StatefulSet."
    assert_eq!(simulator.api().objects().persistent_volume_claims.len(), 3);
}

#[test]
fn a_stateful_set_is_updated_from_the_last_pod_to_its_partition() {
    let mut simulator = living(&(nodes(2) + STATEFUL_SET));
    run_for(&mut simulator, 120 * SECOND);
    let changed = STATEFUL_SET.replace("0.24", "0.25").replace(
        "  serviceName:",
        "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}\n  serviceName:",
    );
    apply(&mut simulator, &changed).unwrap();
    run_for(&mut simulator, 200 * SECOND);
    let images: Vec<String> =
        pods(&simulator, "web-").iter().map(|pod| pod.spec.containers[0].image.to_string()).collect();
    let slim = |version: &str| format!("registry.k8s.io/nginx-slim:{version}");
    assert_eq!(images, [slim("0.24"), slim("0.25"), slim("0.25")]);
}

/// "Parallel ... tells the StatefulSet controller to launch or terminate all Pods in parallel."
#[test]
fn a_parallel_stateful_set_starts_all_pods_at_once() {
    let parallel = STATEFUL_SET.replace("  serviceName:", "  podManagementPolicy: Parallel\n  serviceName:");
    let simulator = living(&(nodes(2) + &parallel));
    assert_eq!(names(&simulator, "web-"), ["web-0", "web-1", "web-2"]);
}

const DAEMON_SET: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: fluentd-elasticsearch
  labels:
    k8s-app: fluentd-logging
spec:
  selector:
    matchLabels:
      name: fluentd-elasticsearch
  template:
    metadata:
      labels:
        name: fluentd-elasticsearch
    spec:
      tolerations:
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
        effect: NoSchedule
      containers:
      - name: fluentd-elasticsearch
        image: quay.io/fluentd_elasticsearch/fluentd:v5.0.1
        resources:
          limits:
            memory: 200Mi
          requests:
            cpu: 100m
            memory: 200Mi
---
";

#[test]
fn a_daemon_set_has_a_pod_on_every_node_that_takes_it() {
    let control = "{apiVersion: v1, kind: Node, metadata: {name: control}, spec: {taints: [{key: \
                   node-role.kubernetes.io/control-plane, effect: NoSchedule}]}, status: {allocatable: {cpu: '4', memory: 8Gi, \
                   pods: '20'}}}\n---\n";
    let gpu = control
        .replace("name: control}", "name: gpu}")
        .replace("node-role.kubernetes.io/control-plane", "gpu");
    let mut simulator = living(&(nodes(2) + control + &gpu + DAEMON_SET));
    run_for(&mut simulator, 60 * SECOND);
    let on = |simulator: &Simulator| -> Vec<String> {
        let mut on: Vec<String> =
            pods(simulator, "fluentd").iter().map(|pod| pod.spec.node_name.to_string()).collect();
        on.sort();
        on
    };
    assert_eq!(on(&simulator), ["control", "n-1", "n-2"]);
    // A cordoned node keeps its pod, and a new node gets one although it is cordoned.
    simulator.edit(&Edit::Cordon("n-1".into())).unwrap();
    run_for(&mut simulator, 10 * SECOND);
    assert_eq!(on(&simulator).len(), 3);
    let new =
        nodes(3).split("---\n").nth(2).unwrap().replace("status:", "spec: {unschedulable: true}, status:");
    apply(&mut simulator, &new).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(on(&simulator), ["control", "n-1", "n-2", "n-3"]);
    simulator.edit(&Edit::DeleteNode("n-2".into())).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(on(&simulator), ["control", "n-1", "n-3"]);
    // One after the other gets the new image.
    apply(&mut simulator, &DAEMON_SET.replace("v5.0.1", "v5.0.2")).unwrap();
    run_checked(&mut simulator, Duration::from_secs(200), |simulator| {
        assert!(ready(simulator, "fluentd") >= 2);
    });
    assert!(pods(&simulator, "fluentd").iter().all(|pod| pod.spec.containers[0].image.ends_with("v5.0.2")));
}

fn job(spec: &str, annotations: &str) -> String {
    format!(
        "
apiVersion: batch/v1
kind: Job
metadata:
  name: pi
spec:
  {spec}
  template:
    metadata:
      annotations: {{{annotations}}}
    spec:
      containers:
      - name: pi
        image: perl:5.34.0
        command: [perl, -Mbignum=bpi, -wle, print bpi(2000)]
      restartPolicy: Never
"
    )
}

const RUN: &str = "sandbox.schedscope.dev/run-time: 20s";

#[test]
fn a_job_runs_until_enough_pods_have_succeeded() {
    let mut simulator = living(&(nodes(2) + &job("completions: 5\n  parallelism: 2", RUN)));
    let mut most = 0;
    run_checked(&mut simulator, Duration::from_secs(300), |simulator| {
        most = most.max(pods(simulator, "pi-").len());
    });
    assert_eq!(most, 2);
    assert_eq!(row(&simulator, "pi").note, "complete: 5 succeeded");
    assert!(names(&simulator, "pi-").is_empty());
    assert!(deeds(&simulator).contains(&"Completed pi".to_owned()));
}

/// "the Job tracks the set of completed indexes": each runs until it has succeeded.
#[test]
fn an_indexed_job_completes_every_index() {
    let failing = format!("{RUN}, sandbox.schedscope.dev/outcome: 40%");
    let spec = "completions: 4\n  parallelism: 4\n  completionMode: Indexed\n  backoffLimit: 50";
    let mut simulator = living(&(nodes(2) + &job(spec, &failing)));
    let mut seen = BTreeSet::new();
    run_checked(&mut simulator, Duration::from_secs(7_200), |simulator| {
        let there = pods(simulator, "pi-");
        let indexes: BTreeSet<String> = there
            .iter()
            .map(|pod| pod.metadata.annotations["batch.kubernetes.io/job-completion-index"].to_string())
            .collect();
        assert_eq!(indexes.len(), there.len(), "two pods with the same index");
        assert!(there.iter().all(|pod| pod.metadata.name.starts_with(&format!(
            "pi-{}-",
            pod.metadata.annotations["batch.kubernetes.io/job-completion-index"]
        ))));
        seen.extend(indexes);
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    assert!(
        row(&simulator, "pi").note.starts_with("complete: 4 succeeded"),
        "{}",
        row(&simulator, "pi").note
    );
}

/// "The back-off limit is set by default to 6. Failed Pods associated with the Job are recreated by the Job controller
/// with an exponential back-off delay (10s, 20s, 40s ...)".
#[test]
fn a_job_gives_up_after_its_limit_of_failures() {
    let failing = format!("{RUN}, sandbox.schedscope.dev/outcome: Failed");
    let mut simulator = living(&(nodes(1) + &job("backoffLimit: 2", &failing)));
    run_for(&mut simulator, Duration::from_secs(600));
    assert_eq!(row(&simulator, "pi").note, "failed: BackoffLimitExceeded, 3 failed");
    let deadline = job("activeDeadlineSeconds: 10", RUN);
    let mut simulator = living(&(nodes(1) + &deadline));
    run_for(&mut simulator, Duration::from_secs(60));
    assert_eq!(row(&simulator, "pi").note, "failed: DeadlineExceeded");
}

#[test]
fn a_finished_job_goes_after_its_time() {
    let mut simulator = living(&(nodes(1) + &job("ttlSecondsAfterFinished: 100", RUN)));
    run_for(&mut simulator, Duration::from_secs(60));
    assert_eq!(row(&simulator, "pi").note, "complete: 1 succeeded");
    run_for(&mut simulator, Duration::from_secs(120));
    assert!(simulator.world_view().unwrap().workloads.is_empty());
}

const CRON_JOB: &str = "
apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  schedule: \"* * * * *\"
  concurrencyPolicy: POLICY
  jobTemplate:
    spec:
      template:
        metadata: {annotations: {sandbox.schedscope.dev/run-time: TIME}}
        spec:
          containers:
          - name: hello
            image: busybox:1.28
            command: [/bin/sh, -c, date]
          restartPolicy: OnFailure
";

#[test]
fn a_cron_job_makes_a_job_a_minute_and_keeps_three() {
    let cron = CRON_JOB.replace("POLICY", "Allow").replace("TIME", "10s");
    let mut simulator = living(&(nodes(1) + &cron));
    run_for(&mut simulator, Duration::from_secs(10 * 60 + 50));
    let jobs: Vec<String> = simulator
        .world_view()
        .unwrap()
        .workloads
        .into_iter()
        .filter(|row| row.kind == WorkloadKind::Job)
        .map(|row| row.key.name.to_string())
        .collect();
    // The number is the minute since 1970.
    assert_eq!(jobs, ["hello-29453768", "hello-29453769", "hello-29453770"]);
}

/// "Forbid: The CronJob does not allow concurrent runs"; "Replace: ... replaces the currently running Job".
#[test]
fn a_cron_job_heeds_its_policy() {
    for (policy, most) in [("Forbid", 1), ("Replace", 1), ("Allow", 3)] {
        let cron = CRON_JOB.replace("POLICY", policy).replace("TIME", "150s");
        let mut simulator = living(&(nodes(1) + &cron));
        let mut seen = 0;
        run_checked(&mut simulator, Duration::from_secs(20 * 60), |simulator| {
            seen = seen.max(pods(simulator, "hello").iter().filter(|pod| !pod.is_terminating()).count());
        });
        assert_eq!(seen, most, "{policy}");
    }
}

/// What `kubectl get deployments,pods -o yaml` writes: the pods are taken over, although their replica set is missing.
#[test]
fn a_dump_with_workloads_and_their_pods_is_taken_over() {
    let mut first = living(&(nodes(2) + &deployment(3, "nginx:1", "") + STATEFUL_SET + DAEMON_SET));
    run_for(&mut first, 120 * SECOND);
    let objects = first.api().objects();
    let mut dump = nodes(2) + &deployment(3, "nginx:1", "") + STATEFUL_SET + DAEMON_SET;
    let mut before = Vec::new();
    for pod in objects.pods.values() {
        let mut value = serde_json::to_value(&**pod).unwrap();
        value["apiVersion"] = "v1".into();
        value["kind"] = "Pod".into();
        dump.push_str(&format!("---\n{value}\n"));
        before.push(pod.metadata.name.to_string());
    }
    let mut second = living_with(&dump, "all", 7);
    run_for(&mut second, Duration::from_secs(600));
    assert_eq!(names(&second, ""), before);
    assert_eq!(second.scheduler().counts().bound, 0);
    // And they are cared for from then on.
    let gone = names(&second, "nginx")[0].clone();
    second.edit(&Edit::DeletePod(key(&gone))).unwrap();
    run_for(&mut second, 60 * SECOND);
    assert_eq!(ready(&second, "nginx"), 3);
}

/// In the sandbox the object that the scheduler reads of a set is the set.
#[test]
fn deleting_what_the_scheduler_reads_deletes_the_workload() {
    let mut simulator = living(&(nodes(1) + STATEFUL_SET));
    run_for(&mut simulator, 120 * SECOND);
    simulator.edit(&Edit::Delete { kind: Kind::StatefulSet, key: key("web") }).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    assert!(names(&simulator, "web-").is_empty());
    assert!(simulator.world_view().unwrap().workloads.is_empty());
}

const GROUP: &str = "
apiVersion: sandbox.schedscope.dev/v1alpha1
kind: NodeGroup
metadata: {name: burst}
spec:
  min: 0
  max: 2
  bootSeconds: 30
  idleSeconds: 120
  template:
    metadata: {labels: {pool: burst}}
    status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}
---
";

#[test]
fn the_autoscaler_adds_nodes_that_help_and_takes_them_back() {
    let big = deployment(6, "nginx:1", "").replace("cpu: 100m", "cpu: '2'");
    let mut simulator = living(&(nodes(1) + GROUP + &big));
    let n_nodes = |simulator: &Simulator| simulator.api().objects().nodes.len();
    assert_eq!((n_nodes(&simulator), ready(&simulator, "nginx")), (1, 0));
    run_for(&mut simulator, 60 * SECOND);
    // Six pods of two cores need three nodes of four.
    assert_eq!(n_nodes(&simulator), 3);
    assert_eq!(ready(&simulator, "nginx"), 6);
    let scale =
        WorldOrder::Scale { kind: WorkloadKind::Deployment, key: key("nginx-deployment"), replicas: 1 };
    order(&mut simulator, scale).unwrap();
    run_for(&mut simulator, Duration::from_secs(900));
    assert_eq!(n_nodes(&simulator), 1);
    assert_eq!(ready(&simulator, "nginx"), 1);
}

#[test]
fn the_autoscaler_adds_no_node_that_would_not_help() {
    let choosy = deployment(2, "nginx:1", "")
        .replace("      containers:", "      nodeSelector: {pool: gold}\n      containers:");
    let mut simulator = living(&(nodes(1) + GROUP + &choosy));
    run_for(&mut simulator, Duration::from_secs(300));
    assert_eq!(simulator.api().objects().nodes.len(), 1);
    let huge = deployment(2, "nginx:1", "").replace("cpu: 100m", "cpu: '5'");
    let mut simulator = living(&(nodes(1) + GROUP + &huge));
    run_for(&mut simulator, Duration::from_secs(300));
    assert_eq!(simulator.api().objects().nodes.len(), 1);
}

#[test]
fn what_is_wrong_with_a_workload_is_said_with_its_place() {
    use schedscope::api::manifest::{Source, load};
    let wrong = |text: &str| {
        let source = Source { name: "web.yaml".to_owned(), text: text.to_owned() };
        load(&[source]).unwrap().living_errors.to_string()
    };
    let error = wrong(
        &deployment(3, "nginx:1", "").replace("        app: nginx\n    spec", "        app: other\n    spec"),
    );
    assert!(error.contains("web.yaml") && error.contains("Deployment nginx-deployment"), "{error}");
    assert!(
        error.contains(
            "spec.template.metadata.labels: the selector does not match the labels of the template"
        ),
        "{error}"
    );
    let error = wrong(&deployment(3, "nginx:1", "").replace("replicas: 3", "replicas: three"));
    assert!(
        error.contains("spec.replicas: a whole number is expected here, not the text \"three\""),
        "{error}"
    );
    let error = wrong(&job("completionMode: Indexed", ""));
    assert!(error.contains("spec.completions: it is missing"), "{error}");
    let error = wrong(&job("parallelism: 1", "").replace("restartPolicy: Never", "dnsPolicy: Default"));
    assert!(error.contains("the pods of a job need OnFailure or Never here"), "{error}");
}
