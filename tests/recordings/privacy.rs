//! What never reaches a recording.

use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::session::Edit;
use schedscope::recording::{Compression, Record, Slim};

use super::session::recorded;
use super::{checked, records};
use crate::support::world::{apply, node};

/// In every field that holds what is nobody's business.
const SECRET: &str = "hunter2-s3cr3t";

fn manifest() -> String {
    let pod = format!(
        "
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{{\"password\":\"{SECRET}\"}}'
    vault.example.com/token: {SECRET}
    volume.kubernetes.io/selected-node: n1
  managedFields: [{{manager: {SECRET}, operation: Update}}]
spec:
  serviceAccountName: x
  imagePullSecrets: [{{name: {SECRET}}}]
  containers:
  - name: c
    image: i
    command: [run, {SECRET}]
    args: [--password, {SECRET}]
    env: [{{name: PASSWORD, value: {SECRET}}}]
    envFrom: [{{secretRef: {{name: {SECRET}}}}}]
    livenessProbe: {{exec: {{command: [{SECRET}]}}}}
  volumes:
  - {{name: a, csi: {{driver: d, volumeAttributes: {{key: {SECRET}, number: 7}}}}}}
  - {{name: b, flexVolume: {{driver: d, options: {{key: {SECRET}}}}}}}
  - name: d
    ephemeral: {{volumeClaimTemplate: {{metadata: {{annotations: {{key: {SECRET}}}}}, spec: {{accessModes: [ReadWriteOnce]}}}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: claim}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: c}}}}], config: [{{opaque: {{driver: d, parameters: {{key: {SECRET}}}}}}}]}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: template}}
spec:
  metadata: {{annotations: {{key: {SECRET}}}}}
  spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: c}}}}], config: [{{opaque: {{driver: d, parameters: {{key: {SECRET}}}}}}}]}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: s}}
stringData: {{password: {SECRET}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c}}
data: {{password: {SECRET}}}
---
"
    );
    node("n1", "4") + &pod
}

#[test]
fn what_the_scheduler_does_not_read_is_not_in_the_file() {
    let (mut simulator, recorder, memory) = recorded(&manifest(), RecorderOptions::default());
    simulator.step_cycle();
    apply(&mut simulator, &manifest().replace("name: web", "name: other"));
    simulator.edit(&Edit::DeletePod(schedscope::api::NamespacedName::new("default", "web"))).unwrap();
    simulator.finish_recording("the test is over");
    recorder.finish().unwrap();
    let bytes = memory.bytes();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains(SECRET));
    assert!(text.contains("volume.kubernetes.io/selected-node\":\"n1\""), "plugins read that one");
    assert!(
        text.contains("vault.example.com/token\":\"hidden:"),
        "that it is there shows, as does a change of it"
    );
    assert!(checked(&bytes).1.is_ok());
}

#[test]
fn what_was_hidden_once_stays_as_it_is() {
    let (simulator, recorder, memory) = recorded(&manifest(), RecorderOptions::default());
    drop(simulator);
    recorder.finish().unwrap();
    let first = records(&memory.bytes());
    let inputs: Vec<_> = first
        .iter()
        .filter_map(|record| match record {
            Record::Input { at, input, .. } => Some((*at, (**input).clone())),
            _ => None,
        })
        .collect();
    let second = records(&super::recording_of(&inputs, Compression::None, Slim::default()));
    let again: Vec<_> = second
        .into_iter()
        .filter_map(|record| match record {
            Record::Input { at, input, .. } => Some((at, *input)),
            _ => None,
        })
        .collect();
    assert_eq!(again, inputs);
}

#[test]
fn annotations_of_plugins_of_ones_own_can_be_kept() {
    let slim = Slim { kept_annotations: ["vault.example.com/token".to_owned()].into() };
    let options = RecorderOptions { slim, ..RecorderOptions::default() };
    let (simulator, recorder, memory) = recorded(&manifest(), options);
    drop(simulator);
    recorder.finish().unwrap();
    let text = String::from_utf8(memory.bytes()).unwrap();
    assert!(text.contains(&format!("vault.example.com/token\":\"{SECRET}\"")));
}

#[test]
fn certificates_keys_and_passwords_of_extenders_are_not_in_the_header() {
    let config = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         clientConnection: {{kubeconfig: /home/{SECRET}/config}}\n\
         extenders:\n- urlPrefix: https://user:{SECRET}@example.com/\n  filterVerb: filter\n  enableHTTPS: true\n  \
         tlsConfig: {{keyFile: {SECRET}, keyData: aHVudGVyMi1zM2NyM3Q=, insecure: true}}\n"
    );
    let gates = schedscope::config::FeatureGates::default();
    let catalog = schedscope::config::PluginCatalog::default();
    let options = schedscope::config::ReadOptions { source: "config", gates: &gates, catalog: &catalog };
    let config = schedscope::config::SchedulerConfig::read(&config, options).unwrap();
    let text = super::header_of(&config).configuration.to_string();
    assert!(!text.contains(SECRET) && !text.contains("aHVudGVyMi1zM2NyM3Q"), "{text}");
    assert!(text.contains("https://example.com/"));
}
