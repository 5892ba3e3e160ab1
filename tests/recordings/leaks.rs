//! No name of a cluster is left in a redacted recording, wherever it stood.
//!
//! Everything in the manifests below that somebody could have named himself begins with `zq`. What is said to remain
//! (drivers, provisioners, attributes of devices) does not.

use std::collections::BTreeSet;

use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::runner::run_to_rest;
use schedscope::plugins::registry::in_tree_registry;

use super::redaction::redacted;
use super::session::recorded;
use super::{checked, records};

fn manifest() -> String {
    let mut text = String::new();
    for i in 0..40 {
        text.push_str(&format!(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: zqnode-{i}.zqdatacenter.example\n  uid: zquid-n{i}\n  labels:\n    \
             kubernetes.io/hostname: zqnode-{i}.zqdatacenter.example\n    topology.kubernetes.io/zone: zqzone-{z}\n    \
             topology.kubernetes.io/region: zqregion\n    zqteam.example/zqlabelkey: zqvalue-{z}\n    zqrolekey: ''\n  \
             annotations: {{zqannotation: zqtext}}\nspec:\n  providerID: zqprovider-{i}\n  taints: [{{key: zqtaint-{z}, value: zqtaintvalue, effect: PreferNoSchedule}}]\n\
             status:\n  allocatable: {{cpu: '4', memory: 8Gi, pods: '20', zqvendor.example/zqdevice: '4'}}\n  \
             images: [{{names: ['zqregistry.example/zqimage:{z}', 'zqregistry.example/zqimage@sha256:zqdigest'], sizeBytes: 900000000}}]\n  \
             addresses: [{{type: Hostname, address: zqaddress}}]\n---\n",
            z = i % 3
        ));
    }
    for (name, labels) in [("zqnamespace", "{zqnamespacelabel: zqnamespacevalue}"), ("zqother", "{}")] {
        text.push_str(&format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {labels}}}\n---\n"
        ));
    }
    text.push_str(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: zqhigh}\nvalue: 1000\ndescription: zqdescription\n---\n\
         apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: zqclass}\nprovisioner: example.com/driver\n\
         parameters: {zqparameter: zqparametervalue}\nvolumeBindingMode: WaitForFirstConsumer\n---\n\
         apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: zqvolume, labels: {zqpvlabel: zqpvvalue}}\n\
         spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: zqclass, \
         csi: {driver: example.com, volumeHandle: zqhandle, volumeAttributes: {zqattribute: zqattributevalue}}, \
         nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zqzone-1]}]}]}}}\n---\n\
         apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: zqclaim, namespace: zqnamespace, annotations: {zqclaimannotation: zqclaimtext}}\n\
         spec: {storageClassName: zqclass, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, selector: {matchLabels: {zqpvlabel: zqpvvalue}}}\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {name: zqservice, namespace: zqnamespace}\nspec: {selector: {zqapplabel: zqwebapp}, externalName: zqexternal}\n---\n\
         apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: zqreplicaset, namespace: zqnamespace}\nspec: {selector: {matchLabels: {zqapplabel: zqwebapp}}}\n---\n\
         apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: zqbudget, namespace: zqnamespace}\nspec: {minAvailable: 1, selector: {matchExpressions: [{key: zqapplabel, operator: In, values: [zqwebapp, zqapiapp]}]}}\nstatus: {disruptionsAllowed: 1, disruptedPods: {zqwebapp-1: '2026-01-01T00:00:00Z'}}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: zqdeviceclass}\nspec: {config: [{opaque: {driver: example.com, parameters: {zqopaquekey: zqopaquevalue}}}]}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: zqtemplate, namespace: zqnamespace}\n\
         spec: {metadata: {labels: {zqtemplatelabel: zqtemplatevalue}, annotations: {zqtemplateannotation: zqtemplatetext}}, spec: {devices: {requests: [{name: zqrequest, exactly: {deviceClassName: zqdeviceclass}}]}}}\n---\n",
    );
    for i in 0..120 {
        let (app, priority) =
            if i % 2 == 0 { ("zqwebapp", "priorityClassName: zqhigh") } else { ("zqapiapp", "priority: 5") };
        let volume = if i == 7 {
            "volumes: [{name: zqpodvolume, persistentVolumeClaim: {claimName: zqclaim}}, {name: zqsecret, secret: {secretName: zqsecretname}}, \
             {name: zqinline, csi: {driver: example.com, volumeAttributes: {zqoption: zqoptionvalue}, nodePublishSecretRef: {name: zqsecretref}}}, \
             {name: zqnfsvolume, nfs: {server: zqserver, path: /zqpath}}]"
        } else {
            "volumes: []"
        };
        let claims = if i == 9 {
            "resourceClaims: [{name: zqclaimref, resourceClaimTemplateName: zqtemplate}]"
        } else {
            "resourceClaims: []"
        };
        text.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {app}-{i}\n  namespace: {namespace}\n  uid: zquid-p{i}\n  generateName: {app}-\n  \
             labels: {{zqapplabel: {app}, zqversion: zqversionvalue{v}}}\n  annotations: {{zqpodannotation: 'zqpodtext', kubectl.kubernetes.io/last-applied-configuration: zqlast}}\n  \
             finalizers: [zqfinal.example/zqfinalizername]\n  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: zqreplicaset, uid: zqowner, controller: true}}]\n\
             spec:\n  {priority}\n  {volume}\n  {claims}\n  hostname: zqhostname\n  subdomain: zqsubdomain\n  serviceAccountName: zqaccount\n  \
             nodeSelector: {{topology.kubernetes.io/region: zqregion}}\n  \
             schedulingGates: {gates}\n  \
             containers: [{{name: zqcontainer, image: 'zqregistry.example/zqimage:{z}', command: [zqcommand], env: [{{name: zqenvname, value: zqenvvalue}}], \
             ports: [{{name: zqportname, containerPort: 80, hostPort: {port}}}], resources: {{requests: {{cpu: 900m, zqvendor.example/zqdevice: '1'}}}}}}]\n  \
             initContainers: [{{name: zqinitcontainer, image: zqinitimage}}]\n  \
             tolerations: [{{key: zqtaint-1, operator: Equal, value: zqtaintvalue, effect: PreferNoSchedule}}]\n  \
             topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {{matchLabels: {{zqapplabel: {app}}}}}, matchLabelKeys: [zqversion]}}]\n  \
             affinity:\n    nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 5, preference: {{matchExpressions: [{{key: zqteam.example/zqlabelkey, operator: In, values: [zqvalue-1, zqvalue-2]}}]}}}}]}}\n    \
             podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 3, podAffinityTerm: {{topologyKey: kubernetes.io/hostname, namespaces: [zqother], namespaceSelector: {{matchLabels: {{zqnamespacelabel: zqnamespacevalue}}}}, labelSelector: {{matchLabels: {{zqapplabel: {app}}}}}}}}}]}}\n---\n",
            namespace = if i % 5 == 0 { "zqother" } else { "zqnamespace" },
            v = i % 4,
            z = i % 3,
            port = 8000 + i,
            gates = if i == 11 { "[{name: zqgate.example/zqgatename}]" } else { "[]" },
        ));
    }
    text
}

/// The names in the manifests that are in a text, each once. Pseudonyms sort as the names do, so they may begin alike;
/// the names are long, so that none of them is a pseudonym by chance.
fn left(text: &str) -> Vec<String> {
    let names = words(&manifest());
    words(text).into_iter().filter(|word| names.contains(word)).collect()
}

/// What begins with `zq` in a text.
fn words(text: &str) -> BTreeSet<String> {
    text.match_indices("zq")
        .map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            rest[..end].to_owned()
        })
        .collect()
}

fn record(redact: bool) -> Vec<u8> {
    let options =
        RecorderOptions { redact_with: redact.then(in_tree_registry), ..RecorderOptions::default() };
    let (mut simulator, recorder, memory) = recorded(&manifest(), options);
    simulator.step_cycle();
    simulator.mark("zqmarker");
    simulator.note("zqnote");
    run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

#[test]
fn nothing_that_somebody_has_named_is_left_in_a_redacted_recording() {
    let original = record(false);
    let text = String::from_utf8(original.clone()).unwrap();
    assert!(left(&text).len() > 50, "the original has names: {:?}", left(&text));
    for (how, result) in [("afterwards", redacted(&original).0), ("while recording", record(true))] {
        let (report, outcome) = checked(&result);
        assert!(outcome.is_ok(), "{how}: {outcome:?}");
        assert_eq!(report.inputs, checked(&original).0.inputs);
        let text = String::from_utf8(result).unwrap();
        assert_eq!(left(&text), Vec::<String>::new(), "{how}");
        assert!(!text.contains("zqmarker") && !text.contains("zqnote"), "{how}");
        assert!(text.contains("example.com"), "names of drivers stay");
    }
}

#[test]
fn what_never_reaches_a_recording_is_not_in_the_original_either() {
    let text = String::from_utf8(record(false)).unwrap();
    for word in [
        "zqenvname",
        "zqcommand",
        "zqaccount",
        "zqlast",
        "zqtext",
        "zqaddress",
        "zqparametervalue",
        "zqattributevalue",
        "zqdescription",
        "zqoptionvalue",
        "zqexternal",
    ] {
        assert!(!text.contains(word), "{word} is in the recording");
    }
    assert!(!records(text.as_bytes()).is_empty());
}
