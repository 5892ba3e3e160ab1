//! With kubectl.

use std::process::Command;

use super::harness::{CLUSTER, Served};
use crate::cluster::is_skipped;

const MORE: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "i:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "i:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: shop}
spec:
  containers: [{name: c, image: "i:1", resources: {requests: {cpu: "64"}}}]
"#;

struct Kubectl<'a> {
    program: String,
    served: &'a Served,
}

impl Kubectl<'_> {
    /// Runs it. Whether it was content, and all that it said.
    fn run(&self, args: &str) -> (bool, String) {
        let output = Command::new(&self.program)
            .args(args.split(' '))
            .arg("--kubeconfig")
            .arg(self.served.kubeconfig())
            .env("HOME", self.served.kubeconfig().parent().unwrap())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    fn must(&self, args: &str) -> String {
        let (is_good, said) = self.run(args);
        assert!(is_good, "kubectl {args}: {said}");
        said
    }
}

#[test]
fn kubectl_works_on_a_sandbox() {
    if is_skipped() {
        return;
    }
    let program = std::env::var("SCHEDSCOPE_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
    if Command::new(&program).arg("version").arg("--client").output().is_err() {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let served = Served::start(CLUSTER, &["--speed", "10"]);
    let kubectl = Kubectl { program, served: &served };
    let file = served.file("more.yaml", MORE);
    let file = file.display();

    let said = kubectl.must(&format!("apply -f {file}"));
    assert!(said.contains("deployment.apps/web created") && said.contains("pod/one created"), "{said}");
    assert!(!said.contains("arning"), "{said}");
    served.until_bound("one");
    let said = kubectl.must(&format!("apply -f {file}"));
    assert!(said.contains("pod/one unchanged") && said.contains("deployment.apps/web unchanged"), "{said}");

    let said = kubectl.must("get pods -n shop -o wide");
    assert!(said.starts_with("NAME") && said.contains("NOMINATED NODE") && said.contains("node-"), "{said}");
    let said = kubectl.must("get nodes");
    assert!(said.contains("node-1   Ready    <none>"), "{said}");
    kubectl.must("get all -A");
    kubectl.must("api-resources");
    assert!(kubectl.must("get pod one -n shop -o jsonpath={.spec.containers[0].image}").contains("i:1"));
    assert!(kubectl.must("auth can-i create pods").contains("yes"));

    served.until("a failure", || kubectl.must("get events -n shop").contains("FailedScheduling"));
    let said = kubectl.must("get events -n shop --sort-by=.lastTimestamp");
    assert!(said.contains("FailedScheduling"), "{said}");
    let said = kubectl.must("describe pod big -n shop");
    assert!(said.contains("FailedScheduling") && said.contains("0/2 nodes are available"), "{said}");
    kubectl.must("describe node node-1");
    kubectl.must("describe deployment web -n shop");

    kubectl.must("label pod one -n shop tier=front");
    assert!(kubectl.must("get pods -n shop -l tier=front -o name").contains("pod/one"));
    kubectl.must("annotate pod one -n shop note=x");
    kubectl.must("taint nodes node-1 a=b:NoSchedule");
    assert!(kubectl.must("get node node-1 -o jsonpath={.spec.taints[0].key}").contains('a'));
    kubectl.must("taint nodes node-1 a:NoSchedule-");
    kubectl.must("cordon node-1");
    assert!(kubectl.must("get nodes").contains("Ready,SchedulingDisabled"));
    kubectl.must("uncordon node-1");
    kubectl.must("scale deployment web -n shop --replicas=3");
    assert!(kubectl.must("get deployment web -n shop").contains("/3"));
    kubectl.must("patch deployment web -n shop -p {\"spec\":{\"replicas\":1}}");
    kubectl.must("create configmap settings -n shop --from-literal=a=b");
    kubectl.must("create namespace extra");
    let said = kubectl.must("create deployment more --image=i -n extra --dry-run=server -o yaml");
    assert!(said.contains("revisionHistoryLimit: 10"), "{said}");
    kubectl.must("run quick --image=i:1 -n extra");

    let node = kubectl.must("get pod one -n shop -o jsonpath={.spec.nodeName}");
    kubectl.must(&format!("drain {node} --ignore-daemonsets --force --timeout=60s"));
    let (is_there, _) = kubectl.run("get pod one -n shop");
    assert!(!is_there, "it was evicted");
    kubectl.must(&format!("uncordon {node}"));

    let (is_good, said) = kubectl.run("logs big -n shop");
    assert!(!is_good && said.contains("no container runs in a sandbox"), "{said}");
    let (is_good, said) = kubectl.run("get pod lost -n shop");
    assert!(!is_good && said.contains("Error from server (NotFound): pods \"lost\" not found"), "{said}");
    kubectl.must("delete pod big -n shop");
    kubectl.must("delete deployment web -n shop");
    kubectl.must("delete configmap settings -n shop");
    kubectl.must("delete namespace extra --timeout=60s");
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
    let (_, said) = kubectl.run(&format!("apply -f {}", served.file("widget.yaml", widget).display()));
    assert!(said.contains("no matches for kind \"Widget\" in version \"example.com/v1\""), "{said}");
    let wrong = served.file("wrong.yaml", &MORE.replace("labels: {app: web}", "labels: {app: other}"));
    let (_, said) = kubectl.run(&format!("apply -f {}", wrong.display()));
    let why = "The Deployment \"web\" is invalid: spec.template.metadata.labels: ";
    assert!(said.contains(why), "{said}");
    let said = kubectl.must(&format!("apply --server-side -f {file}"));
    assert!(said.contains("serverside-applied"), "{said}");
}
