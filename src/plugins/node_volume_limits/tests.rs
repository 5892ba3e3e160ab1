//! Tests of NodeVolumeLimits.

use super::super::fixtures::{filter_in, hint, object, pod, pod_object};
use super::*;
use crate::framework::{Code, QueueingHint};

const DRIVER: &str = "csi.example.com";
const EXCEEDED: &str = "node(s) exceed max volume count";

/// A pod with these volumes, each written without its name.
fn with_volumes(name: &str, more: &str, volumes: &[&str]) -> String {
    let volumes: Vec<String> =
        volumes.iter().enumerate().map(|(i, volume)| format!("{{name: v{i}, {volume}}}")).collect();
    format!(
        "{{kind: Pod, apiVersion: v1, metadata: {{name: {name}, namespace: shop, uid: {name}}}, spec: {{{more}volumes: [{}]}}}}",
        volumes.join(", ")
    )
}

fn new_pod(volumes: &[&str]) -> String {
    with_volumes("new", "", volumes)
}

fn on_node(name: &str, volumes: &[&str]) -> String {
    with_volumes(name, "nodeName: n1, ", volumes)
}

fn claimed(name: &str) -> String {
    format!("persistentVolumeClaim: {{claimName: {name}}}")
}

/// A claim that is bound to a volume of the driver; both have that name.
fn bound(name: &str) -> [String; 2] {
    [
        format!(
            "{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, namespace: shop}}, spec: {{volumeName: {name}}}}}"
        ),
        format!(
            "{{kind: PersistentVolume, apiVersion: v1, metadata: {{name: {name}}}, spec: {{csi: {{driver: {DRIVER}, volumeHandle: h-{name}}}}}}}"
        ),
    ]
}

/// A claim without a volume, of a class with that provisioner.
fn unbound(name: &str, provisioner: &str) -> [String; 2] {
    [
        format!(
            "{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, namespace: shop}}, spec: {{storageClassName: c-{name}}}}}"
        ),
        format!(
            "{{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {{name: c-{name}}}, provisioner: {provisioner}}}"
        ),
    ]
}

fn node() -> String {
    "{kind: Node, apiVersion: v1, metadata: {name: n1}}".to_owned()
}

/// The node and its limits, as `driver: count`.
fn node_with(limits: &[(&str, &str)]) -> Vec<String> {
    let drivers: Vec<String> =
        limits.iter().map(|(name, count)| format!("{{name: {name}, nodeID: n1{count}}}")).collect();
    let csi_node = format!(
        "{{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {{name: n1}}, spec: {{drivers: [{}]}}}}",
        drivers.join(", ")
    );
    vec![node(), csi_node]
}

fn limited(driver: &str, count: u32) -> Vec<String> {
    node_with(&[(driver, &format!(", allocatable: {{count: {count}}}"))])
}

fn told(plugin: NodeVolumeLimits, objects: &[String], pod: &str) -> (Code, String) {
    match filter_in(&plugin, &objects.join("\n---\n"), pod) {
        Ok(statuses) => (statuses[0].code(), statuses[0].message()),
        Err(status) => (status.code(), format!("PreFilter: {}", status.message())),
    }
}

fn answer(objects: &[String], pod: &str) -> (Code, String) {
    told(NodeVolumeLimits::default(), objects, pod)
}

fn fits() -> (Code, String) {
    (Code::Success, String::new())
}

fn exceeded() -> (Code, String) {
    (Code::Unschedulable, EXCEEDED.to_owned())
}

#[test]
fn volumes_that_do_not_count_skip_the_plugin() {
    for volume in ["emptyDir: {}", "hostPath: {path: /x}", "csi: {driver: d}", "rbd: {image: i}"] {
        assert_eq!(
            answer(&[node()], &new_pod(&[volume])),
            (Code::Skip, "PreFilter: ".to_owned()),
            "{volume}"
        );
    }
}

#[test]
fn a_node_takes_as_many_volumes_of_a_driver_as_it_says() {
    let (old, new) = (bound("old"), bound("new"));
    let objects = |count| {
        [limited(DRIVER, count), vec![on_node("p", &[&claimed("old")])], old.to_vec(), new.to_vec()].concat()
    };
    let pod = new_pod(&[&claimed("new")]);
    assert_eq!(answer(&objects(2), &pod), fits());
    assert_eq!(answer(&objects(1), &pod), exceeded());
    assert_eq!(answer(&objects(1), &new_pod(&[&claimed("old")])), fits(), "the volume is there already");
    assert_eq!(answer(&objects(2), &new_pod(&[&claimed("new"), &claimed("new")])), fits(), "it counts once");
    assert_eq!(answer(&objects(0), &pod), exceeded(), "0 is a limit");
}

#[test]
fn without_a_limit_there_is_none() {
    let all = |nodes: Vec<String>| [nodes, bound("new").to_vec()].concat();
    let pod = new_pod(&[&claimed("new")]);
    assert_eq!(answer(&all(vec![node()]), &pod), fits(), "no CSINode");
    assert_eq!(answer(&all(node_with(&[])), &pod), fits(), "no driver");
    assert_eq!(answer(&all(node_with(&[(DRIVER, "")])), &pod), fits(), "no allocatable");
    assert_eq!(answer(&all(node_with(&[(DRIVER, ", allocatable: {}")])), &pod), fits(), "no count");
    assert_eq!(answer(&all(limited("other.example.com", 0)), &pod), fits());
}

#[test]
fn an_unbound_claim_counts_for_the_provisioner_of_its_class() {
    let of = |provisioner: &str, limit: &str| {
        answer(
            &[limited(limit, 0), unbound("new", provisioner).to_vec()].concat(),
            &new_pod(&[&claimed("new")]),
        )
    };
    assert_eq!(of(DRIVER, DRIVER), exceeded());
    assert_eq!(of("kubernetes.io/aws-ebs", "ebs.csi.aws.com"), exceeded(), "the driver has taken over");
    assert_eq!(of("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"), fits(), "this one has not");
    assert_eq!(of("kubernetes.io/azure-file", "file.csi.azure.com"), fits());
    assert_eq!(
        answer(
            &[limited(DRIVER, 0), vec![unbound("new", DRIVER)[0].clone()]].concat(),
            &new_pod(&[&claimed("new")])
        ),
        fits(),
        "the class is not there"
    );
}

#[test]
fn disks_of_old_plugins_count_for_their_drivers_where_there_is_a_csi_node() {
    let pod = new_pod(&["awsElasticBlockStore: {volumeID: 'aws://a/vol-1'}"]);
    let driver = "ebs.csi.aws.com";
    assert_eq!(answer(&limited(driver, 0), &pod), exceeded());
    assert_eq!(answer(&[node()], &pod), fits());
    let used = on_node("p", &["awsElasticBlockStore: {volumeID: vol-1}"]);
    assert_eq!(answer(&[limited(driver, 1), vec![used]].concat(), &pod), fits(), "one volume, two spellings");
    assert_eq!(
        answer(&limited(driver, 9), &new_pod(&["awsElasticBlockStore: {volumeID: 'aws:///x'}"])),
        (
            Code::Error,
            "converting volume(v0) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws:///x)".to_owned()
        )
    );
    let of_volume = "{kind: PersistentVolume, apiVersion: v1, metadata: {name: new}, spec: {portworxVolume: {volumeID: p}}}";
    let objects =
        [limited("pxd.portworx.com", 0), vec![bound("new")[0].clone(), of_volume.to_owned()]].concat();
    assert_eq!(answer(&objects, &new_pod(&[&claimed("new")])), exceeded());
}

#[test]
fn attached_volumes_count_whoever_uses_them() {
    let attachment = |name: &str, attacher: &str, source: &str| {
        format!(
            "{{kind: VolumeAttachment, apiVersion: storage.k8s.io/v1, metadata: {{name: {name}}}, spec: {{attacher: '{attacher}', nodeName: n1, source: {{{source}}}}}}}"
        )
    };
    let with = |attachments: &[String], pods: &[String]| {
        let objects = [
            limited(DRIVER, 1),
            bound("old").to_vec(),
            bound("new").to_vec(),
            attachments.to_vec(),
            pods.to_vec(),
        ];
        answer(&objects.concat(), &new_pod(&[&claimed("new")]))
    };
    let old = attachment("a", DRIVER, "persistentVolumeName: old");
    assert_eq!(with(std::slice::from_ref(&old), &[]), exceeded());
    assert_eq!(with(&[attachment("a", "", "persistentVolumeName: old")], &[]), fits());
    assert_eq!(with(&[attachment("a", DRIVER, "")], &[]), fits());
    assert_eq!(with(&[attachment("a", DRIVER, "persistentVolumeName: gone")], &[]), fits());
    assert_eq!(with(&[old.replace("nodeName: n1", "nodeName: m1")], &[]), fits());
    let own = attachment("a", DRIVER, "persistentVolumeName: new");
    assert_eq!(with(std::slice::from_ref(&own), &[]), exceeded(), "it counts as attached and as new");
    assert_eq!(with(&[own], &[on_node("p", &[&claimed("new")])]), fits(), "a pod on the node uses it");
}

#[test]
fn claims_must_be_there_for_the_new_pod_alone() {
    let objects =
        [limited(DRIVER, 1), bound("new").to_vec(), vec![on_node("p", &[&claimed("gone")])]].concat();
    assert_eq!(answer(&objects, &new_pod(&[&claimed("new")])), fits());
    assert_eq!(
        answer(&objects, &new_pod(&[&claimed("gone")])),
        (
            Code::UnschedulableAndUnresolvable,
            "looking up PVC shop/gone: persistentvolumeclaim \"gone\" not found".to_owned()
        )
    );
    assert_eq!(
        answer(&objects, &new_pod(&["persistentVolumeClaim: {claimName: ''}"])),
        (Code::Error, "PersistentVolumeClaim had no name".to_owned())
    );
}

#[test]
fn the_claim_of_an_ephemeral_volume_must_be_the_pods_own() {
    let claim = |owner: &str| {
        let [claim, volume] = bound("new-v0");
        let owner = format!("ownerReferences: [{{kind: Pod, name: new, uid: {owner}, controller: true}}], ");
        vec![claim.replace("metadata: {", &format!("metadata: {{{owner}")), volume]
    };
    let pod = new_pod(&["ephemeral: {}"]);
    assert_eq!(answer(&[limited(DRIVER, 0), claim("new")].concat(), &pod), exceeded());
    assert_eq!(
        answer(&[limited(DRIVER, 0), claim("other")].concat(), &pod),
        (Code::Error, "PVC shop/new-v0 was not created for pod shop/new (pod is not owner)".to_owned())
    );
    assert_eq!(answer(&limited(DRIVER, 0), &pod).0, Code::UnschedulableAndUnresolvable);
}

/// KEP-5030.
#[test]
fn a_driver_that_must_be_on_the_node_is_asked_for_behind_its_gate() {
    let driver = |spec: &str| {
        format!(
            "{{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {{name: {DRIVER}}}, spec: {{{spec}}}}}"
        )
    };
    let needs = driver("preventPodSchedulingIfMissing: true");
    let gated = NodeVolumeLimits { needs_driver: true };
    let pod = new_pod(&[&claimed("new")]);
    let ask = |plugin, nodes: Vec<String>, driver: &str| {
        told(plugin, &[nodes, bound("new").to_vec(), vec![driver.to_owned()]].concat(), &pod)
    };
    let missing = (Code::Unschedulable, "csi.example.com CSI driver is not installed on the node".to_owned());
    assert_eq!(ask(gated, vec![node()], &needs), missing);
    assert_eq!(ask(gated, node_with(&[]), &needs), missing);
    assert_eq!(ask(gated, node_with(&[(DRIVER, "")]), &needs), fits());
    assert_eq!(ask(gated, node_with(&[]), &driver("")), fits());
    assert_eq!(ask(NodeVolumeLimits::default(), node_with(&[]), &needs), fits());
}

const QUEUE: Result<QueueingHint, String> = Ok(QueueingHint::Queue);
const SKIP: Result<QueueingHint, String> = Ok(QueueingHint::QueueSkip);

#[test]
fn the_deletion_of_a_placed_pod_with_such_a_volume_is_worth_a_retry() {
    let own = pod(&new_pod(&[&claimed("data")]));
    let deleted = |volume: &str, more: &str| {
        let old = pod_object(&with_volumes("p", more, &[volume]));
        hint(&NodeVolumeLimits::default(), 2, &own, Some(&old), None)
    };
    assert_eq!(deleted("azureDisk: {diskName: d}", "nodeName: n1, "), QUEUE);
    assert_eq!(deleted("azureDisk: {diskName: d}", ""), SKIP);
    assert_eq!(deleted("emptyDir: {}", "nodeName: n1, "), SKIP);
}

#[test]
fn a_limit_that_grows_is_worth_a_retry_whichever_it_is() {
    let own = pod(&new_pod(&[&claimed("data")]));
    let updated = |old: &[(&str, &str)], new: &[(&str, &str)]| {
        let (old, new) = (object(&node_with(old)[1]), object(&node_with(new)[1]));
        hint(&NodeVolumeLimits::default(), 1, &own, Some(&old), Some(&new))
    };
    let (one, two) = (", allocatable: {count: 1}", ", allocatable: {count: 2}");
    assert_eq!(updated(&[(DRIVER, one)], &[(DRIVER, two)]), QUEUE);
    assert_eq!(updated(&[(DRIVER, two)], &[(DRIVER, one)]), SKIP);
    assert_eq!(updated(&[(DRIVER, two)], &[(DRIVER, two)]), SKIP);
    assert_eq!(updated(&[], &[("other.example.com", one)]), QUEUE, "a new driver");
    assert_eq!(updated(&[(DRIVER, one)], &[(DRIVER, "")]), SKIP, "no limit counts as 0");
}

#[test]
fn a_claim_of_the_pod_is_worth_a_retry() {
    let own = pod(&new_pod(&[&claimed("data"), "ephemeral: {}"]));
    let added =
        |name: &str| hint(&NodeVolumeLimits::default(), 3, &own, None, Some(&object(&bound(name)[0])));
    assert_eq!(added("data"), QUEUE);
    assert_eq!(added("new-v1"), QUEUE);
    assert_eq!(added("new-v0"), SKIP);
}

#[test]
fn the_end_of_an_attachment_is_worth_a_retry_for_claims_and_disks_of_its_driver() {
    let deleted = |volume: &str| {
        let old = object(
            "{kind: VolumeAttachment, apiVersion: storage.k8s.io/v1, metadata: {name: a}, spec: {attacher: ebs.csi.aws.com, nodeName: n1}}",
        );
        hint(&NodeVolumeLimits::default(), 4, &pod(&new_pod(&[volume])), Some(&old), None)
    };
    assert_eq!(deleted(&claimed("any")), QUEUE);
    assert_eq!(deleted("awsElasticBlockStore: {volumeID: vol-1}"), QUEUE);
    assert_eq!(deleted("gcePersistentDisk: {pdName: d}"), SKIP);
    assert_eq!(deleted("ephemeral: {}"), SKIP);
    assert_eq!(
        deleted("azureDisk: {diskName: d, kind: Shared}"),
        Err("converting volume(v0) from inline to csi: kind(Shared) is not supported in csi migration"
            .to_owned())
    );
}

/// What was kept is what would be found now, after every kind of change that it follows from; other changes leave it.
#[test]
fn what_is_kept_of_a_node_follows_all_changes() {
    use crate::api::Kind;
    let bound_again = |name: &str, volume: &str| {
        bound(name)[0].replace(&format!("volumeName: {name}"), &format!("volumeName: {volume}"))
    };
    let attachment = |volume: &str| {
        format!(
            "{{kind: VolumeAttachment, apiVersion: storage.k8s.io/v1, metadata: {{name: a}}, spec: {{attacher: {DRIVER}, nodeName: n1, source: {{persistentVolumeName: {volume}}}}}}}"
        )
    };
    let pods = [on_node("p", &[&claimed("data"), &claimed("late"), &claimed("gone")])];
    let objects = [limited(DRIVER, 3), pods.to_vec()].concat().join("\n---\n");
    let mut world = super::super::fixtures::world_of(&objects);
    NodeVolumeLimits::default().add_states(&mut world.states);
    for object in world.objects.iter() {
        world.states.object_changed(&world.objects, None, Some(&object));
    }
    let mut node = NodeInfo::clone(&world.snapshot.list()[0]);
    let ask = |world: &crate::framework::testing::TestWorld, node: &NodeInfo| {
        let kept = look_at(&world.handle(), node);
        let attachments = world.states.read(|known: &OnNodes| known.attachments.clone()).unwrap_or_default();
        assert_eq!(*kept, OnNode::of(node, &world.objects, &attachments));
        assert!(Arc::ptr_eq(&kept, &look_at(&world.handle(), node)), "it is kept");
        kept
    };
    let names = |kept: &OnNode| {
        let used: Vec<String> = kept.used.clone().unwrap_or_default().into_keys().collect();
        let attached: Vec<String> = kept.attached.keys().cloned().collect();
        (used, attached)
    };
    let list =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("{DRIVER}/{name}")).collect() };
    assert_eq!(names(&ask(&world, &node)), (list(&[]), list(&[])));
    world.put(object(&bound("data")[0]));
    assert_eq!(names(&ask(&world, &node)), (list(&[]), list(&[])), "a claim, and no volume yet");
    world.put(object(&bound("data")[1]));
    assert_eq!(names(&ask(&world, &node)), (list(&["h-data"]), list(&[])), "the volume");
    world.put(object(&unbound("late", DRIVER)[0]));
    assert_eq!(names(&ask(&world, &node)), (list(&["h-data"]), list(&[])), "a class that is not there");
    world.put(object(&unbound("late", DRIVER)[1]));
    assert_eq!(names(&ask(&world, &node)).0, list(&["<claim>-shop/late", "h-data"]), "the class");
    world.put(object(&attachment("other")));
    assert_eq!(names(&ask(&world, &node)).1, list(&[]), "an attachment of a volume that is not there");
    world.put(object(&bound("other")[1]));
    assert_eq!(names(&ask(&world, &node)).1, list(&["h-other"]), "the attached volume");
    let before = ask(&world, &node);
    world.put(object(&bound("strange")[0]));
    world.put(object(&bound("strange")[1]));
    assert!(Arc::ptr_eq(&before, &ask(&world, &node)), "claims and volumes of others do not matter");
    world.put(object(&bound_again("data", "other")));
    assert_eq!(names(&ask(&world, &node)), (list(&["<claim>-shop/late", "h-other"]), list(&[])));
    world.put(object(&bound("gone")[0]));
    world.put(object(&bound("gone")[1]));
    assert_eq!(names(&ask(&world, &node)).0, list(&["<claim>-shop/late", "h-gone", "h-other"]));
    world.remove(Kind::PersistentVolumeClaim, &NamespacedName::new("shop", "gone"));
    world.remove(Kind::VolumeAttachment, &NamespacedName::cluster("a"));
    assert_eq!(names(&ask(&world, &node)).0, list(&["<claim>-shop/late", "h-other"]));
    world.put(object(&limited(DRIVER, 1)[1]));
    assert_eq!(ask(&world, &node).limits.get(&Str::from(DRIVER)), Some(&1));
    let pod = Arc::clone(&node.pods()[0]);
    node.remove_pod(&pod.pod);
    assert_eq!(names(&ask(&world, &node)).0, list(&[]), "the pod is gone");
    node.add_pod(pod);
    assert_eq!(names(&ask(&world, &node)).0, list(&["<claim>-shop/late", "h-other"]));
    world.remove(Kind::CSINode, &NamespacedName::cluster("n1"));
    assert_eq!(names(&ask(&world, &node)).0, list(&[]), "without limits nobody counts");
}
