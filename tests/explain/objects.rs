//! What is said of objects beside pods and nodes, and which others they lead to.

use schedscope::api::{Kind, NamespacedName};
use schedscope::driver::related::related;
use schedscope::explain::{ObjectStory, object_story};

use crate::support::world::{node, pod, sandbox};

const OBJECTS: &str = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local}\n\
    provisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n---\n\
    apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: local, \
    accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}\n---\n\
    apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n\
    spec: {selector: {matchLabels: {app: web}}, minAvailable: 1}\nstatus: {disruptionsAllowed: 0}\n---\n";

fn story(kind: Kind, key: &NamespacedName) -> Option<ObjectStory> {
    let claims = ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]";
    let manifest = [node("a-1", "4"), OBJECTS.to_owned(), pod("web", "1", "", claims)].concat();
    let simulator = sandbox(&manifest);
    let store = related(simulator.scheduler().objects(), kind, key)?;
    object_story(&store, kind, key)
}

fn named(story: &ObjectStory) -> Vec<(&'static str, Kind, String, bool)> {
    story.named.iter().map(|named| (named.label, named.kind, named.key.to_string(), named.exists)).collect()
}

#[test]
fn a_claim_says_what_it_waits_for_and_leads_to_its_class_and_its_pods() {
    let story = story(Kind::PersistentVolumeClaim, &NamespacedName::new("default", "data")).expect("a claim");
    assert!(
        story.headline.starts_with("It has no volume yet and gets one with its first pod"),
        "{}",
        story.headline
    );
    assert_eq!(
        named(&story),
        [
            ("class", Kind::StorageClass, "local".to_owned(), true),
            ("used by", Kind::Pod, "default/web".to_owned(), true),
        ]
    );
    assert!(story.facts.contains(&("asks for", "5Gi".to_owned())), "{:?}", story.facts);
}

#[test]
fn a_class_leads_to_its_claims_and_says_that_its_driver_is_not_there() {
    let story = story(Kind::StorageClass, &NamespacedName::cluster("local")).expect("a class");
    assert_eq!(
        named(&story),
        [
            ("made by", Kind::CSIDriver, "kubernetes.io/no-provisioner".to_owned(), false),
            ("claim", Kind::PersistentVolumeClaim, "default/data".to_owned(), true),
        ]
    );
}

#[test]
fn a_budget_says_what_preemption_may_do() {
    let story = story(Kind::PodDisruptionBudget, &NamespacedName::new("default", "web")).expect("a budget");
    assert!(story.headline.contains("may be evicted now"), "{}", story.headline);
    assert!(story.facts.contains(&("selects", "app=web".to_owned())), "{:?}", story.facts);
    assert!(story.facts.contains(&("available", "at least 1".to_owned())), "{:?}", story.facts);
}

#[test]
fn what_is_not_there_has_no_story() {
    assert_eq!(story(Kind::PersistentVolume, &NamespacedName::cluster("gone")), None);
}
