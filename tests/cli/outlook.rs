//! What `whatif`, `compare`, `generate` and scenarios print, and how they end.

use serde_json::{Value, json};

use super::{Stage, text};

const CLUSTER: &str = "apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {kubernetes.io/hostname: b}}
status: {allocatable: {cpu: '2', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1-x
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u1, controller: true}]
spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1-y
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u1, controller: true}]
spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}
";

const BIN_PACKING: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
";

fn stage() -> Stage {
    Stage::with(&[("cluster.yaml", CLUSTER), ("pack.yaml", BIN_PACKING)])
}

fn parsed(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

#[test]
fn a_drain_tells_who_no_longer_fits_and_who_moves() {
    let done = stage().run(&["whatif", "drain", "a", "-f", "cluster.yaml"]);
    assert_eq!((done.code, done.said.as_str()), (1, ""));
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines[0], "What if: drain a");
    assert_eq!(lines[1], "  node/a drained: 2 pods come back elsewhere");
    assert!(done.out.contains("1 pod no longer fits:\n  shop/web-1-"), "{}", done.out);
    assert!(
        done.out.contains(
            ", on a today: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable"
        )
    );
    assert!(done.out.contains("1 pod moves:\n  shop/web-1-"), "{}", done.out);
    assert!(done.out.contains(": a -> b"), "{}", done.out);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lines.iter().any(|line| words(line) == "pods on nodes 2 1"), "{}", done.out);
}

#[test]
fn the_json_has_a_schema_and_the_numbers_of_both() {
    let done = stage().run(&["whatif", "add", "1", "like", "b", "-o", "json", "-f", "cluster.yaml"]);
    assert_eq!(done.code, 0, "{done:?}");
    let report = parsed(&done.out);
    assert_eq!(report["schema"], "schedscope.dev/whatif/v1");
    assert_eq!(report["changes"], json!(["add 1 like b"]));
    assert_eq!((&report["before"]["nodes"], &report["after"]["nodes"]), (&json!(2), &json!(3)));
    assert_eq!(report["noLongerFit"], json!([]));
    assert_eq!(report["same"], 2);
    assert_eq!(report["after"]["emptyNodes"], 2);
}

#[test]
fn several_changes_go_together_and_wrong_ones_are_told() {
    let stage = stage();
    let done =
        stage.run(&["whatif", "drain", "a", "add", "2", "like", "a", "-o", "markdown", "-f", "cluster.yaml"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.starts_with("### What if: drain a, add 2 like a\n"), "{}", done.out);
    assert!(done.out.contains("|  | today | then |\n| --- | ---: | ---: |\n"), "{}", done.out);
    let wrong = |args: &[&str]| {
        let done = stage.run(&[&["whatif"], args, &["-f", "cluster.yaml"]].concat());
        assert_eq!(done.code, 2, "{done:?}");
        done.said
    };
    assert!(wrong(&["drain", "lost"]).contains("drain lost: nodes \"lost\" not found"));
    assert!(wrong(&["explode", "a"]).contains("\"explode\" is no change; changes are: drain NODE"));
    assert!(wrong(&["config", "lost.yaml"]).contains("lost.yaml: there is no such file"));
}

#[test]
fn what_if_is_asked_of_a_moment_of_a_recording() {
    let done = Stage::new().run(&[
        "whatif",
        "weight",
        "NodeResourcesFit=5",
        "--rec",
        "preemption-pdb@50%",
        "-o",
        "json",
    ]);
    assert!(done.code < 2, "{done:?}");
    assert_eq!(parsed(&done.out)["changes"], json!(["weight NodeResourcesFit=5"]));
}

#[test]
fn configurations_are_compared_over_a_cluster_a_recording_and_a_scenario() {
    let stage = stage();
    stage.write(
        "pods.yaml",
        stage.run(&["generate", "--nodes", "6", "--pods", "40", "--pending", "40", "--mix", "web"]).out,
    );
    let done = stage.run(&["compare", "--configs", "default,pack.yaml", "-f", "pods.yaml", "-o", "json"]);
    assert_eq!((done.code, done.said.as_str()), (0, ""));
    let report = parsed(&done.out);
    assert_eq!(report["schema"], "schedscope.dev/compare/v1");
    let of = |index: usize| &report["configurations"][index];
    assert_eq!((text(&of(0)["name"]), text(&of(1)["name"])), ("default", "pack.yaml"));
    let deviation = |index: usize| of(index)["resources"][0]["deviationPermille"].as_u64().unwrap();
    assert!(deviation(1) >= deviation(0), "packing is less even: {report}");
    let table =
        stage.run(&["compare", "--configs", "default,pack.yaml", "-f", "cluster.yaml", "--reschedule"]);
    assert_eq!(table.code, 0, "{table:?}");
    assert!(table.out.starts_with("CONFIGURATION  PLACED  PENDING  PREEMPTED"), "{}", table.out);
    assert!(
        table.out.contains("Balance: standard deviation of the nodes' cpu in use\n  default    "),
        "{}",
        table.out
    );
    let recorded = stage.run(&["compare", "--configs", "pack.yaml", "--rec", "backoff-storm", "-o", "json"]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert_eq!(parsed(&recorded.out)["configurations"][0]["name"], "as recorded");
    let scenario =
        stage.run(&["compare", "--configs", "default,pack.yaml", "--scenario", "noisy-batch", "-o", "json"]);
    assert_eq!(scenario.code, 0, "{scenario:?}");
    let scenario = parsed(&scenario.out);
    assert!(scenario["configurations"][1]["waits"]["pods"].as_u64().unwrap() > 100);
    // `run` ends where the comparison does: when the time of the scenario is over.
    let run = stage.run(&["run", "--scenario", "noisy-batch", "-o", "json"]);
    let run = parsed(&run.out);
    assert_eq!(run["simulatedMilliseconds"], 3_600_000);
    let of = |field: &str| scenario["configurations"][0][field].as_u64().unwrap();
    let pods = run["pods"].as_array().unwrap();
    let n_bound = pods.iter().filter(|pod| pod["state"] == "bound").count() as u64;
    assert_eq!((n_bound, pods.len() as u64 - n_bound), (of("placed"), of("pending")));
}

#[test]
fn generated_clusters_are_equal_for_equal_flags_and_load_without_a_word() {
    let stage = Stage::new();
    let flags =
        ["generate", "--nodes", "30", "--pods", "300", "--mix", "web,db,gpu,devices,system", "--seed", "4"];
    let one = stage.run(&flags);
    assert_eq!((one.code, one.out == stage.run(&flags).out), (0, true));
    assert!(one.said.starts_with("schedscope: 30 nodes, "), "{}", one.said);
    let folder = stage.run(&[&flags as &[&str], &["-o", "out"]].concat());
    assert_eq!((folder.code, folder.out.as_str()), (0, ""));
    let run = stage.run(&["run", "-f", "out", "-o", "json"]);
    assert_eq!(run.said, "");
    assert!(run.code < 2);
    let again = stage.run(&[&flags as &[&str], &["-o", "out"]].concat());
    assert_eq!(again.code, 2, "nothing is written over");
    assert!(stage.run(&["generate", "--mix", "wep"]).said.contains("\"wep\" is no work that is known"));
    assert!(stage.run(&["generate", "--utilization", "7"]).said.contains("a share such as 0.6 or 60%"));
}

#[test]
fn a_scenario_is_a_test() {
    let scenario = |wanted: &str| {
        format!(
            "cluster: {{files: cluster.yaml}}\nsteps:\n- {{at: 10s, do: drain a}}\nfinally:\n- {{pods: 'shop/*', \
             placed: {wanted}}}\n"
        )
    };
    let stage = stage();
    stage.write("good.yaml", scenario("1"));
    stage.write("bad.yaml", scenario("2"));
    stage.write("wrong.yaml", "cluster: {files: cluster.yaml}\nsteps:\n- {at: 10s, du: drain a}\n");
    let good = stage.run(&["run", "--scenario", "good.yaml"]);
    assert_eq!(good.code, 0, "{good:?}");
    assert!(good.out.ends_with("good: all 1 expectations are met\n"), "{}", good.out);
    let bad = stage.run(&["run", "--scenario", "bad.yaml"]);
    assert_eq!(bad.code, 1);
    assert!(bad.out.contains("line 5: expected 2 of pods shop/* on a node, but 1 are"), "{}", bad.out);
    assert!(bad.out.ends_with("bad: 1 of 1 expectations are not met\n"), "{}", bad.out);
    let wrong = stage.run(&["run", "--scenario", "wrong.yaml"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.said.contains("wrong.yaml:3: steps[0].du: there is no such field; known are at, do,"),
        "{}",
        wrong.said
    );
    let lost = stage.run(&["run", "--scenario", "lost"]);
    assert!(lost.said.contains("zone-outage"), "{}", lost.said);
}

#[test]
fn workloads_of_a_scenario_live() {
    let stage = stage();
    stage.write(
        "living.yaml",
        "cluster: {files: cluster.yaml}
world: {parts: 'kubelets,workloads', jobTime: 30s}
lasts: 10m
arrivals:
- name: report
  process: every
  every: 2m
  count: 3
  object:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: 'report-${n}'}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}
steps:
- at: 20s
  expect: {pods: 'default/report-1-*', placed: 1}
- at: 5m
  apply:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: api}
    spec: {replicas: 2, selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}, spec: {containers: [{name: c, image: i}]}}}
- at: 7m
  do: scale deployment/api 4
finally:
- {pods: 'default/api-*', placed: 4}
- {pods: 'default/report-*', count: 0}
",
    );
    let done = stage.run(&["run", "--scenario", "living.yaml"]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn a_script_is_played_on_its_folder() {
    let stage = Stage::with(&[
        ("case/cluster.yaml", super::NODE),
        ("case/pending.yaml", super::FITS),
        ("script.txt", "# one pod\ndrain\nqueue\n"),
    ]);
    let done = stage.run(&["run", "--script", "script.txt", "-f", "case"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.starts_with("# start\n"), "{}", done.out);
    assert!(done.out.contains("> drain\n  cycle shop/web attempt=1 from=activeQ\n"), "{}", done.out);
}
