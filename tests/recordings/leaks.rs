//! No name of a cluster is left in a redacted recording, wherever it stood.
//!
//! Everything in the manifests below that somebody could have named himself begins with `zq`. What is said to remain
//! (drivers, provisioners, attributes of devices) does not.

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
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: zqnode-{i}.zqdc.example\n  uid: zquid-n{i}\n  labels:\n    \
             kubernetes.io/hostname: zqnode-{i}.zqdc.example\n    topology.kubernetes.io/zone: zqzone-{z}\n    \
             topology.kubernetes.io/region: zqregion\n    zqteam.example/zqkey: zqvalue-{z}\n    zqrole: ''\n  \
             annotations: {{zqannotation: zqtext}}\nspec:\n  providerID: zqprovider-{i}\n  taints: [{{key: zqtaint-{z}, value: zqtaintvalue, effect: PreferNoSchedule}}]\n\
             status:\n  allocatable: {{cpu: '4', memory: 8Gi, pods: '20', zqvendor.example/zqdevice: '4'}}\n  \
             images: [{{names: ['zqregistry.example/zqimage:{z}', 'zqregistry.example/zqimage@sha256:zqdigest'], sizeBytes: 900000000}}]\n  \
             addresses: [{{type: Hostname, address: zqaddress}}]\n---\n",
            z = i % 3
        ));
    }
    for (name, labels) in [("zqns", "{zqnslabel: zqnsvalue}"), ("zqother", "{}")] {
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
         apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: zqclaim, namespace: zqns, annotations: {zqclaimannotation: zqx}}\n\
         spec: {storageClassName: zqclass, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, selector: {matchLabels: {zqpvlabel: zqpvvalue}}}\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {name: zqservice, namespace: zqns}\nspec: {selector: {zqapp: zqweb}, externalName: zqexternal}\n---\n\
         apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: zqset, namespace: zqns}\nspec: {selector: {matchLabels: {zqapp: zqweb}}}\n---\n\
         apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: zqbudget, namespace: zqns}\nspec: {minAvailable: 1, selector: {matchExpressions: [{key: zqapp, operator: In, values: [zqweb, zqapi]}]}}\nstatus: {disruptionsAllowed: 1, disruptedPods: {zqweb-1: '2026-01-01T00:00:00Z'}}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: zqdeviceclass}\nspec: {config: [{opaque: {driver: example.com, parameters: {zqp: zqv}}}]}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: zqtemplate, namespace: zqns}\n\
         spec: {metadata: {labels: {zqtl: zqtv}, annotations: {zqta: zqtb}}, spec: {devices: {requests: [{name: zqrequest, exactly: {deviceClassName: zqdeviceclass}}]}}}\n---\n",
    );
    for i in 0..120 {
        let (app, priority) =
            if i % 2 == 0 { ("zqweb", "priorityClassName: zqhigh") } else { ("zqapi", "priority: 5") };
        let volume = if i == 7 {
            "volumes: [{name: zqvol, persistentVolumeClaim: {claimName: zqclaim}}, {name: zqsecret, secret: {secretName: zqsecretname}}, \
             {name: zqinline, csi: {driver: example.com, volumeAttributes: {zqo: zqov}, nodePublishSecretRef: {name: zqsecretref}}}, \
             {name: zqnfs, nfs: {server: zqserver, path: /zqpath}}]"
        } else {
            "volumes: []"
        };
        let claims = if i == 9 {
            "resourceClaims: [{name: zqrc, resourceClaimTemplateName: zqtemplate}]"
        } else {
            "resourceClaims: []"
        };
        text.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {app}-{i}\n  namespace: {namespace}\n  uid: zquid-p{i}\n  generateName: {app}-\n  \
             labels: {{zqapp: {app}, zqversion: zqv{v}}}\n  annotations: {{zqpa: 'zq secret', kubectl.kubernetes.io/last-applied-configuration: zqlast}}\n  \
             finalizers: [zqfinal.example/zqf]\n  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: zqset, uid: zqowner, controller: true}}]\n\
             spec:\n  {priority}\n  {volume}\n  {claims}\n  hostname: zqhost\n  subdomain: zqsub\n  serviceAccountName: zqaccount\n  \
             nodeSelector: {{topology.kubernetes.io/region: zqregion}}\n  \
             schedulingGates: {gates}\n  \
             containers: [{{name: zqcontainer, image: 'zqregistry.example/zqimage:{z}', command: [zqcommand], env: [{{name: zqenv, value: zqenvvalue}}], \
             ports: [{{name: zqport, containerPort: 80, hostPort: {port}}}], resources: {{requests: {{cpu: 900m, zqvendor.example/zqdevice: '1'}}}}}}]\n  \
             initContainers: [{{name: zqinit, image: zqinitimage}}]\n  \
             tolerations: [{{key: zqtaint-1, operator: Equal, value: zqtaintvalue, effect: PreferNoSchedule}}]\n  \
             topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {{matchLabels: {{zqapp: {app}}}}}, matchLabelKeys: [zqversion]}}]\n  \
             affinity:\n    nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 5, preference: {{matchExpressions: [{{key: zqteam.example/zqkey, operator: In, values: [zqvalue-1, zqvalue-2]}}]}}}}]}}\n    \
             podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 3, podAffinityTerm: {{topologyKey: kubernetes.io/hostname, namespaces: [zqother], namespaceSelector: {{matchLabels: {{zqnslabel: zqnsvalue}}}}, labelSelector: {{matchLabels: {{zqapp: {app}}}}}}}}}]}}\n---\n",
            namespace = if i % 5 == 0 { "zqother" } else { "zqns" },
            v = i % 4,
            z = i % 3,
            port = 8000 + i,
            gates = if i == 11 { "[{name: zqgate.example/zqg}]" } else { "[]" },
        ));
    }
    text
}

/// What begins with `zq` in a text, each once.
fn left(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text
        .match_indices("zq")
        .map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            &rest[..end]
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
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
        assert_eq!(left(&text), Vec::<&str>::new(), "{how}");
        assert!(text.contains("example.com"), "names of drivers stay");
    }
}

#[test]
fn what_never_reaches_a_recording_is_not_in_the_original_either() {
    let text = String::from_utf8(record(false)).unwrap();
    for word in [
        "zqenv",
        "zqcommand",
        "zqaccount",
        "zqlast",
        "zqtext",
        "zqaddress",
        "zqparametervalue",
        "zqattributevalue",
        "zqdescription",
        "zqov",
        "zqexternal",
    ] {
        assert!(!text.contains(word), "{word} is in the recording");
    }
    assert!(!records(text.as_bytes()).is_empty());
}
