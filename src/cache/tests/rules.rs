//! Each rule of the cache.

use super::*;

fn cache_with(nodes: impl IntoIterator<Item = Node>) -> Cache {
    let mut cache = Cache::new();
    for node in nodes {
        cache.add_node(Arc::new(node));
    }
    cache
}

fn milli_cpu_on(cache: &mut Cache, node: &str) -> i64 {
    snapshot_of(cache).get(node).unwrap().requested().milli_cpu
}

#[test]
fn an_assumed_pod_counts_until_it_is_forgotten() {
    let mut cache = cache_with([node("n")]);
    let p = pod("p", "n", 100);
    cache.assume_pod(Arc::clone(&p)).unwrap();
    assert!(cache.is_assumed_pod(&p.pod));
    assert_eq!(milli_cpu_on(&mut cache, "n"), 100);
    assert_eq!(cache.assumed_pods().count(), 1);
    cache.forget_pod(&p.pod).unwrap();
    assert!(!cache.is_assumed_pod(&p.pod));
    assert_eq!(milli_cpu_on(&mut cache, "n"), 0);
    assert_eq!(cache.pod_count(), 0);
}

#[test]
fn an_assumed_pod_that_is_bound_stays_where_it_is() {
    let mut cache = cache_with([node("n")]);
    let p = pod("p", "n", 100);
    cache.assume_pod(Arc::clone(&p)).unwrap();
    cache.add_pod(Arc::clone(&p)).unwrap();
    assert!(!cache.is_assumed_pod(&p.pod));
    assert_eq!(milli_cpu_on(&mut cache, "n"), 100);
}

#[test]
fn an_assumed_pod_that_is_bound_elsewhere_moves() {
    let mut cache = cache_with([node("n"), node("m")]);
    cache.assume_pod(pod("p", "n", 100)).unwrap();
    cache.add_pod(pod("p", "m", 100)).unwrap();
    assert_eq!(milli_cpu_on(&mut cache, "n"), 0);
    assert_eq!(milli_cpu_on(&mut cache, "m"), 100);
    assert_eq!(cache.pod_count(), 1);
}

#[test]
fn an_update_replaces_what_the_pod_requests() {
    let mut cache = cache_with([node("n")]);
    let old = pod("p", "n", 100);
    cache.add_pod(Arc::clone(&old)).unwrap();
    cache.update_pod(&old.pod, pod("p", "n", 40)).unwrap();
    assert_eq!(milli_cpu_on(&mut cache, "n"), 40);
    assert_eq!(cache.get_pod(&old.pod).unwrap().resources.requests.milli_cpu, 40);
}

#[test]
fn refusals_have_the_texts_of_kube_scheduler() {
    let mut cache = cache_with([node("n")]);
    let p = pod("p", "n", 100);
    let text = |result: Result<(), CacheError>| result.unwrap_err().to_string();
    assert_eq!(
        text(cache.update_pod(&p.pod, Arc::clone(&p))),
        "pod uid-p(default/p) is not added to scheduler cache, so cannot be updated"
    );
    assert_eq!(
        text(cache.remove_pod(&p.pod)),
        "pod uid-p(default/p) is not found in scheduler cache, so cannot be removed from it"
    );
    assert_eq!(
        cache.get_pod(&p.pod).unwrap_err().to_string(),
        "pod uid-p(default/p) does not exist in scheduler cache"
    );
    // Forgetting a pod that is gone is no mistake.
    cache.forget_pod(&p.pod).unwrap();

    cache.assume_pod(Arc::clone(&p)).unwrap();
    assert_eq!(
        text(cache.assume_pod(Arc::clone(&p))),
        "pod uid-p(default/p) is in the cache, so can't be assumed"
    );
    assert_eq!(
        text(cache.update_pod(&p.pod, Arc::clone(&p))),
        "assumed pod uid-p(default/p) should not be updated"
    );
    assert_eq!(
        text(cache.forget_pod(&pod("p", "m", 100).pod)),
        "pod uid-p(default/p) was assumed on m but assigned to n"
    );

    cache.add_pod(Arc::clone(&p)).unwrap();
    assert_eq!(text(cache.add_pod(Arc::clone(&p))), "pod uid-p(default/p) was already in added state");
    assert_eq!(text(cache.forget_pod(&p.pod)), "pod uid-p(default/p) wasn't assumed so cannot be forgotten");
    assert_eq!(text(cache.remove_node(&node("m"))), "node m is not found");
    let mut nameless = Pod::clone(&p.pod);
    nameless.metadata.uid = "".into();
    assert_eq!(text(cache.remove_pod(&nameless)), "cannot get cache key for pod with empty UID");
    // None of this changed anything.
    assert_eq!(milli_cpu_on(&mut cache, "n"), 100);
}

#[test]
fn a_pod_can_come_before_its_node() {
    let mut cache = Cache::new();
    cache.add_pod(pod("p", "n", 100)).unwrap();
    assert!(names(&snapshot_of(&mut cache)).is_empty());
    let info = cache.add_node(Arc::new(node("n")));
    assert_eq!(info.requested().milli_cpu, 100);
    assert_eq!(milli_cpu_on(&mut cache, "n"), 100);
}

#[test]
fn a_node_that_goes_leaves_a_ghost_until_its_pods_are_gone() {
    let mut cache = cache_with([node("n")]);
    let p = pod("p", "n", 100);
    cache.add_pod(Arc::clone(&p)).unwrap();
    cache.remove_node(&node("n")).unwrap();
    assert!(names(&snapshot_of(&mut cache)).is_empty());
    assert_eq!((cache.node_count(), cache.pod_count()), (1, 1));
    assert!(cache.get_pod(&p.pod).is_ok());
    assert_eq!(cache.remove_node(&node("n")), Err(CacheError::UnknownNode { name: "n".into() }));
    cache.remove_pod(&p.pod).unwrap();
    assert_eq!((cache.node_count(), cache.pod_count()), (0, 0));
}

#[test]
fn a_node_that_comes_again_finds_its_pods() {
    let mut cache = cache_with([node("n")]);
    let mut snapshot = snapshot_of(&mut cache);
    cache.add_pod(pod("p", "n", 100)).unwrap();
    cache.remove_node(&node("n")).unwrap();
    cache.update_snapshot(&mut snapshot);
    assert!(names(&snapshot).is_empty());
    cache.add_node(Arc::new(with_cpu("n", 8)));
    cache.update_snapshot(&mut snapshot);
    let info = snapshot.get("n").unwrap();
    assert_eq!((info.requested().milli_cpu, info.allocatable().milli_cpu), (100, 8000));
}

#[test]
fn a_pod_whose_node_changed_unseen_is_followed() {
    let mut cache = cache_with([node("n"), node("m")]);
    let old = pod("p", "n", 100);
    cache.add_pod(Arc::clone(&old)).unwrap();
    cache.update_pod(&old.pod, pod("p", "m", 100)).unwrap();
    assert_eq!(milli_cpu_on(&mut cache, "m"), 100);
    cache.remove_pod(&old.pod).unwrap();
    assert_eq!(milli_cpu_on(&mut cache, "m"), 0);
}

#[test]
fn nodes_are_visited_zone_by_zone_in_turn() {
    let mut cache = cache_with([
        in_zone("a1", "r", "a"),
        in_zone("a2", "r", "a"),
        in_zone("a3", "r", "a"),
        node("none"),
        in_zone("b1", "r", "b"),
        in_zone("b2", "r", "b"),
    ]);
    assert_eq!(names(&snapshot_of(&mut cache)), ["a1", "none", "b1", "a2", "b2", "a3"]);
    cache.remove_node(&in_zone("a1", "r", "a")).unwrap();
    assert_eq!(names(&snapshot_of(&mut cache)), ["a2", "none", "b1", "a3", "b2"]);
    cache.remove_node(&node("none")).unwrap();
    cache.add_node(Arc::new(node("none")));
    assert_eq!(names(&snapshot_of(&mut cache)), ["a2", "b1", "none", "a3", "b2"]);
}

#[test]
fn a_zone_is_a_region_and_a_zone_and_old_labels_come_first() {
    let mut old_labels = in_zone("old", "r", "x");
    old_labels.metadata.labels.insert("failure-domain.beta.kubernetes.io/zone".into(), "a".into());
    let mut cache = cache_with([
        in_zone("a1", "r", "a"),
        old_labels,
        in_zone("other-region", "s", "a"),
        in_zone("a2", "r", "a"),
    ]);
    assert_eq!(names(&snapshot_of(&mut cache)), ["a1", "other-region", "old", "a2"]);
}

#[test]
fn a_node_that_changes_its_zone_is_last_there_once_the_order_is_made_anew() {
    let mut cache = cache_with([in_zone("a", "r", "1"), in_zone("b", "r", "1"), in_zone("c", "r", "2")]);
    let mut snapshot = snapshot_of(&mut cache);
    assert_eq!(names(&snapshot), ["a", "c", "b"]);
    cache.update_node(Arc::new(in_zone("a", "r", "2")));
    cache.update_snapshot(&mut snapshot);
    assert_eq!(names(&snapshot), ["a", "c", "b"]);
    cache.add_node(Arc::new(in_zone("d", "r", "3")));
    cache.update_snapshot(&mut snapshot);
    assert_eq!(names(&snapshot), ["b", "c", "d", "a"]);
}

#[test]
fn a_snapshot_shares_the_nodes_that_did_not_change() {
    let mut cache = cache_with([node("n"), node("m")]);
    let mut snapshot = snapshot_of(&mut cache);
    let before = snapshot.clone();
    cache.assume_pod(pod("p", "n", 100)).unwrap();
    cache.update_snapshot(&mut snapshot);
    assert_eq!(before.get("n").unwrap().requested().milli_cpu, 0);
    assert_eq!(snapshot.get("n").unwrap().requested().milli_cpu, 100);
    assert!(Arc::ptr_eq(before.get("m").unwrap(), snapshot.get("m").unwrap()));
    let again = snapshot.clone();
    cache.update_snapshot(&mut snapshot);
    assert!(again.list().iter().zip(snapshot.list()).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn one_cache_serves_several_snapshots() {
    let mut cache = cache_with([node("n")]);
    let mut one = snapshot_of(&mut cache);
    cache.assume_pod(pod("p", "n", 100)).unwrap();
    let mut other = snapshot_of(&mut cache);
    cache.add_node(Arc::new(node("m")));
    cache.update_snapshot(&mut one);
    cache.update_snapshot(&mut other);
    assert_eq!(one, other);
}

#[test]
fn an_image_has_the_number_of_nodes_that_had_it_when_the_node_last_changed() {
    let mut cache = cache_with([with_images("a", &[(&["img:1", "img@sha"], 10)])]);
    let mut snapshot = snapshot_of(&mut cache);
    let state = |snapshot: &Snapshot, node: &str, image: &str| {
        snapshot.get(node).unwrap().image_states().get(image).map(|state| (state.size, state.num_nodes))
    };
    assert_eq!(state(&snapshot, "a", "img:1"), Some((10, 1)));

    // The size is that of the node which brought the image first.
    cache.add_node(Arc::new(with_images("b", &[(&["img:1"], 99)])));
    cache.update_snapshot(&mut snapshot);
    assert_eq!(state(&snapshot, "b", "img:1"), Some((10, 2)));
    assert_eq!(state(&snapshot, "a", "img:1"), Some((10, 1)));
    cache.assume_pod(pod("p", "a", 1)).unwrap();
    cache.update_snapshot(&mut snapshot);
    assert_eq!(state(&snapshot, "a", "img:1"), Some((10, 2)));
    assert_eq!(state(&snapshot, "a", "img@sha"), Some((10, 1)));

    cache.remove_node(&node("a")).unwrap();
    cache.update_node(Arc::new(with_images("b", &[(&["img:1"], 99)])));
    cache.update_snapshot(&mut snapshot);
    assert_eq!(state(&snapshot, "b", "img:1"), Some((99, 1)));
    cache.update_node(Arc::new(node("b")));
    cache.update_snapshot(&mut snapshot);
    assert_eq!(state(&snapshot, "b", "img:1"), None);
}

#[test]
fn a_name_that_is_listed_twice_counts_once() {
    let mut cache = cache_with([with_images("a", &[(&["img", "img"], 1), (&["img"], 2)])]);
    let snapshot = snapshot_of(&mut cache);
    let state = snapshot.get("a").unwrap().image_states()["img"];
    assert_eq!((state.size, state.num_nodes), (1, 1));
}
