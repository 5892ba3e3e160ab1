//! What is under `deploy/`, taken by a real API server.

use std::path::Path;

use serde_json::{Value, json};

use super::harness::{ControlPlane, Options, is_skipped};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

/// The objects of a file under `deploy/`.
pub fn objects(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// The files that `kustomization.yaml` names, in its order.
fn files() -> Vec<String> {
    let kustomization = objects("kustomization.yaml").remove(0);
    kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.as_str().unwrap().to_owned())
        .collect()
}

/// The configuration in `deploy/config.yaml`.
pub fn configuration() -> String {
    objects("config.yaml")[0]["data"]["config.yaml"].as_str().unwrap().to_owned()
}

/// Where an object of the manifests is.
fn path_of(object: &Value) -> String {
    let plural = match object["kind"].as_str().unwrap() {
        "Namespace" => "namespaces",
        "ServiceAccount" => "serviceaccounts",
        "ConfigMap" => "configmaps",
        "Pod" => "pods",
        "Deployment" => "deployments",
        "PodDisruptionBudget" => "poddisruptionbudgets",
        "ClusterRole" => "clusterroles",
        "ClusterRoleBinding" => "clusterrolebindings",
        "Role" => "roles",
        "RoleBinding" => "rolebindings",
        other => panic!("{other}"),
    };
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    let place = object["metadata"]["namespace"]
        .as_str()
        .map(|name| format!("namespaces/{name}/"))
        .unwrap_or_default();
    format!("/{root}/{version}/{place}{plural}/{}", object["metadata"]["name"].as_str().unwrap())
}

/// Applies an object as `kubectl apply --server-side` does; an unknown field is an error.
pub fn apply(cluster: &ControlPlane, object: &Value) -> Value {
    let path = format!("{}?fieldManager=test&fieldValidation=Strict", path_of(object));
    cluster
        .send("PATCH", &path, "application/apply-patch+yaml", object)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Applies everything that `kubectl apply -k deploy` does.
pub fn apply_all(cluster: &ControlPlane) {
    for object in files().iter().flat_map(|file| objects(file)) {
        apply(cluster, &object);
    }
}

#[test]
fn the_api_server_takes_the_manifests_and_the_pods_meet_the_restricted_standard() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    apply_all(&cluster);
    for object in objects("groups.yaml").iter().chain(&objects("example-pod.yaml")) {
        apply(&cluster, object);
    }
    // A second time nothing changes.
    apply_all(&cluster);
    let deployment = objects("scheduler.yaml").remove(0);
    let template = &deployment["spec"]["template"];
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]});
    pod["metadata"]["name"] = json!("schedscope");
    let create = |pod: &Value| {
        cluster.send("POST", "/api/v1/namespaces/schedscope/pods?dryRun=All", "application/json", pod)
    };
    create(&pod).unwrap();
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    let refused = create(&pod).unwrap_err();
    assert!(refused.contains("restricted"), "the namespace enforces nothing: {refused}");
    let context = &template["spec"]["containers"][0]["securityContext"];
    assert_eq!(context["readOnlyRootFilesystem"], true);
    assert_eq!(deployment["spec"]["replicas"], 2);
}

#[test]
fn the_configuration_is_one_that_the_program_takes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), configuration()).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["config", "validate"])
        .arg(file.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let pod = objects("example-pod.yaml").remove(0);
    assert!(
        configuration()
            .contains(&format!("schedulerName: {}\n", pod["spec"]["schedulerName"].as_str().unwrap()))
    );
}

#[test]
fn the_package_for_krew_holds_the_program_and_the_manifest_its_digest() {
    let out = tempfile::tempdir().unwrap();
    let binary = out.path().join("program");
    std::fs::write(&binary, "the program").unwrap();
    let package = || {
        std::process::Command::new(folder().join("krew/package"))
            .arg(&binary)
            .args(["linux", "amd64", "https://example.com/releases/"])
            .arg(out.path())
            .output()
            .unwrap()
    };
    let done = package();
    assert!(done.status.success(), "{done:?}");
    let archive = std::fs::read(out.path().join("schedscope-linux-amd64.tar.gz")).unwrap();
    package();
    let again = std::fs::read(out.path().join("schedscope-linux-amd64.tar.gz")).unwrap();
    assert!(archive == again, "the same program makes another archive");
    let text = std::fs::read_to_string(out.path().join("schedscope.yaml")).unwrap();
    let manifest: Value = serde_saphyr::from_str(&text).unwrap();
    let digest = std::process::Command::new("sha256sum")
        .arg(out.path().join("schedscope-linux-amd64.tar.gz"))
        .output()
        .unwrap();
    let digest = String::from_utf8(digest.stdout).unwrap();
    let platform = &manifest["spec"]["platforms"][0];
    assert_eq!(platform["sha256"].as_str(), digest.split_whitespace().next());
    assert_eq!(platform["uri"], "https://example.com/releases/schedscope-linux-amd64.tar.gz");
    assert_eq!(platform["selector"]["matchLabels"], json!({"os": "linux", "arch": "amd64"}));
    assert_eq!(manifest["spec"]["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    let listed = std::process::Command::new("tar")
        .arg("-tzf")
        .arg(out.path().join("schedscope-linux-amd64.tar.gz"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for file in platform["files"].as_array().unwrap() {
        assert!(listed.lines().any(|line| Some(line) == file["from"].as_str()), "{file} is not in {listed}");
    }
    let short = manifest["spec"]["shortDescription"].as_str().unwrap();
    assert!(short.len() <= 50 && !short.ends_with('.'), "krew's rules: {short}");
}
