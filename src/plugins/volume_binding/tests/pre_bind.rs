//! Reserve, PreBind and Unreserve.

use super::*;
use crate::api::Kind;
use crate::framework::WriteVerb;

const PENDING: PreBindProgress = PreBindProgress::Pending { wake_at: None };

fn done(text: &str) -> PreBindProgress {
    PreBindProgress::Done(if text.is_empty() { Status::SUCCESS } else { Status::error(text) })
}

/// A volume for `data` and a class that makes one for `made`.
fn bench() -> Bench {
    Bench::new(&format!(
        "---\n{{kind: Pod, apiVersion: v1, metadata: {{name: p}}}}\n{}{}{}",
        volume("v", "5Gi", "east", ""),
        claim("data", "local", "5Gi", ""),
        claim("made", "fast", "5Gi", "")
    ))
}

/// Goes through all writes of a pod that is reserved on `a`; the first look is a second later.
fn write_all(bench: &mut Bench, state: &mut CycleState, pod: &PodInfo) -> Vec<Object> {
    let mut written = Vec::new();
    loop {
        let (progress, writes) = bench.pre_bind(state, pod, "a");
        let [write] = writes.as_slice() else {
            let first_look = bench.world.now + Duration::from_secs(1);
            assert_eq!(progress, PreBindProgress::Pending { wake_at: Some(first_look) });
            return written;
        };
        assert_eq!((progress, write.verb), (PENDING, WriteVerb::Update));
        // Nobody asks again before the answer is there.
        assert_eq!(bench.pre_bind(state, pod, "a"), (PENDING, Vec::new()));
        let answer = bench.carry_out(write);
        written.push(answer.clone());
        state.put_write_result(names::VOLUME_BINDING, write.clone(), Ok(answer));
    }
}

/// Another second goes by.
fn look(bench: &mut Bench, state: &mut CycleState, pod: &PodInfo) -> PreBindProgress {
    bench.world.now += Duration::from_secs(1);
    bench.pre_bind(state, pod, "a").0
}

fn wait_for_another_second(bench: &Bench) -> PreBindProgress {
    PreBindProgress::Pending { wake_at: Some(bench.world.now + Duration::from_secs(1)) }
}

/// What the volume controller does with `data` and the provisioner with `made`.
fn bind(bench: &mut Bench, name: &str, volume: &str) {
    let mut claim = bench.claim(name);
    claim.spec.volume_name = volume.into();
    claim.metadata.annotations.insert(BIND_COMPLETED.into(), "yes".into());
    claim.status.phase = "Bound".into();
    bench.put(claim.into());
}

#[test]
fn reserve_assumes_and_unreserve_takes_back() {
    let bench = bench();
    let before = bench.digest();
    let pod = pod(&["data", "made"]);
    let mut state = bench.reserve(&pod, "a");
    assert_eq!(bench.assumed(), (vec!["v".to_owned()], vec!["made".to_owned()]));
    assert_ne!(bench.digest(), before);
    let (result, status) =
        bench.plugin.pre_bind_pre_flight(&bench.world.handle(), &mut state, &pod, &"a".into());
    assert!(result.allow_parallel && status.is_success());
    bench.unreserve(&mut state, &pod, "a");
    assert_eq!((bench.assumed(), bench.digest()), ((Vec::new(), Vec::new()), before));
}

#[test]
fn what_is_assumed_is_not_there_for_others() {
    let bench = Bench::new(&format!(
        "{}{}{}",
        volume("v", "5Gi", "east", ""),
        claim("data", "local", "5Gi", ""),
        claim("more", "local", "5Gi", "")
    ));
    bench.reserve(&pod(&["data"]), "a");
    let conflict = super::super::binder::BIND_CONFLICT;
    assert_eq!(
        bench.filter(&named_pod("q", &["more"])),
        by_node(&[("a", conflict), ("b", conflict)]),
        "the only volume is taken"
    );
    assert_eq!(bench.filter(&named_pod("q", &["data"])), by_node(&[("a", ""), ("b", conflict)]));
}

#[test]
fn volumes_are_written_before_claims_and_looked_at_once_a_second() {
    let mut bench = bench();
    let pod = pod(&["made", "data"]);
    let mut state = bench.reserve(&pod, "a");
    let written = write_all(&mut bench, &mut state, &pod);
    let [Object::PersistentVolume(volume), Object::PersistentVolumeClaim(claim)] = written.as_slice() else {
        unreachable!("two writes, the volume first: {written:?}")
    };
    let reference = volume.spec.claim_ref.clone().unwrap();
    assert_eq!((reference.key().to_string().as_str(), &*reference.uid), ("default/data", "uid-data"));
    assert_eq!((reference.kind.as_str(), reference.api_version.as_str()), ("PersistentVolumeClaim", "v1"));
    assert_eq!(volume.metadata.annotations.get(BOUND_BY_CONTROLLER).map(|value| &**value), Some("yes"));
    assert_eq!(claim.metadata.annotations.get(SELECTED_NODE).map(|node| &**node), Some("a"));
    assert_eq!(bench.assumed(), (Vec::new(), Vec::new()), "the watch has told of it");
    let progress = look(&mut bench, &mut state, &pod);
    assert_eq!(progress, wait_for_another_second(&bench));
    bind(&mut bench, "data", "v");
    // It is not looked at before the second is over.
    let progress = bench.pre_bind(&mut state, &pod, "a").0;
    assert_eq!(progress, wait_for_another_second(&bench));
    let progress = look(&mut bench, &mut state, &pod);
    assert_eq!(progress, wait_for_another_second(&bench), "the other claim is not bound");
    bind(&mut bench, "made", "new");
    let progress = look(&mut bench, &mut state, &pod);
    assert_eq!(progress, wait_for_another_second(&bench), "its volume has not been told of yet");
    let mut made = bench.volume("v");
    made.metadata.name = "new".into();
    bench.put(made.into());
    assert_eq!(look(&mut bench, &mut state, &pod), done(""));
}

#[test]
fn a_write_that_fails_ends_it_and_the_rest_is_no_longer_assumed() {
    let mut bench = bench();
    let pod = pod(&["data", "made"]);
    let mut state = bench.reserve(&pod, "a");
    let (_, writes) = bench.pre_bind(&mut state, &pod, "a");
    let refused = failure(ApiFailureReason::Conflict, "the object has been modified");
    state.put_write_result(names::VOLUME_BINDING, writes[0].clone(), Err(refused));
    assert_eq!(bench.pre_bind(&mut state, &pod, "a").0, done("the object has been modified"));
    assert_eq!(bench.assumed(), (Vec::new(), Vec::new()));
    let mut state = bench.reserve(&pod, "a");
    let (_, writes) = bench.pre_bind(&mut state, &pod, "a");
    let written = bench.carry_out(&writes[0]);
    state.put_write_result(names::VOLUME_BINDING, writes[0].clone(), Ok(written));
    let (_, writes) = bench.pre_bind(&mut state, &pod, "a");
    let refused = failure(ApiFailureReason::Other, "no");
    state.put_write_result(names::VOLUME_BINDING, writes[0].clone(), Err(refused));
    assert_eq!(bench.pre_bind(&mut state, &pod, "a").0, done("no"));
    assert_eq!(bench.assumed(), (Vec::new(), Vec::new()));
    assert!(bench.volume("v").spec.claim_ref.is_some(), "what is written stays");
}

#[test]
fn a_volume_that_has_changed_since_filter_cannot_be_assumed() {
    let mut bench = bench();
    let pod = pod(&["data"]);
    let mut state = bench.begin(&pod).unwrap();
    let seen = bench.volume("v");
    bench.put(seen.clone().into());
    let status = bench.plugin.reserve(&bench.world.handle(), &mut state, &pod, &"a".into());
    let (stored, seen) = (bench.version, seen.metadata.resource_version);
    assert_eq!(status.message(), format!("\"v\" is out of sync (stored: {stored}, assume: {seen})"));
    bench.delete(Kind::PersistentVolume, &NamespacedName::cluster("v"));
    let status = bench.plugin.reserve(&bench.world.handle(), &mut state, &pod, &"a".into());
    assert_eq!(status.message(), "persistentvolumes \"v\" not found");
    assert_eq!(bench.assumed(), (Vec::new(), Vec::new()));
}

/// What a look finds after the writes, when this has happened.
fn after(claims: &[&str], happens: impl Fn(&mut Bench)) -> PreBindProgress {
    let mut bench = bench();
    let pod = pod(claims);
    let mut state = bench.reserve(&pod, "a");
    write_all(&mut bench, &mut state, &pod);
    happens(&mut bench);
    look(&mut bench, &mut state, &pod)
}

#[test]
fn what_undoes_a_binding_is_told() {
    let text = |claims: &[&str], happens: &dyn Fn(&mut Bench)| match after(claims, happens) {
        PreBindProgress::Done(status) => status.message(),
        PreBindProgress::Pending { .. } => String::new(),
    };
    let (data, made) = (&["data"][..], &["made"][..]);
    let key = |name: &str| NamespacedName::new("default", name);
    let gone = |kind, key: NamespacedName| move |bench: &mut Bench| bench.delete(kind, &key);
    for (claims, happens, expected) in [
        (
            data,
            &gone(Kind::Pod, key("p")) as &dyn Fn(&mut Bench),
            "binding volumes: pod does not exist any more: pod \"p\" not found",
        ),
        (
            data,
            &gone(Kind::Node, NamespacedName::cluster("a")),
            "binding volumes: failed to get node \"a\": node \"a\" not found",
        ),
        (
            data,
            &gone(Kind::PersistentVolume, NamespacedName::cluster("v")),
            "binding volumes: failed to check binding: persistentvolumes \"v\" not found",
        ),
        (
            data,
            &gone(Kind::PersistentVolumeClaim, key("data")),
            "binding volumes: failed to check binding: persistentvolumeclaims \"default/data\" not found",
        ),
        (
            made,
            &gone(Kind::PersistentVolumeClaim, key("made")),
            "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/made\" not found",
        ),
        (
            data,
            &|bench| {
                let mut volume = bench.volume("v");
                volume.spec.claim_ref = None;
                bench.put(volume.into());
            },
            "binding volumes: ClaimRef got reset for pv \"v\"",
        ),
        (
            data,
            &|bench| {
                let mut node =
                    crate::api::objects::Node::clone(bench.world.objects.node(&"a".into()).unwrap());
                node.metadata.labels.clear();
                bench.put(node.into());
            },
            "binding volumes: pv \"v\" node affinity doesn't match node \"a\": no matching NodeSelectorTerms",
        ),
        (
            made,
            &|bench| {
                let mut claim = bench.claim("made");
                claim.metadata.annotations.clear();
                bench.put(claim.into());
            },
            "binding volumes: selectedNode annotation reset for PVC \"made\"",
        ),
        (
            made,
            &|bench| {
                let mut claim = bench.claim("made");
                claim.metadata.annotations.insert(SELECTED_NODE.into(), "b".into());
                bench.put(claim.into());
            },
            "binding volumes: provisioning failed for PVC \"made\"",
        ),
    ] {
        assert_eq!(text(claims, happens), expected);
    }
}

#[test]
fn it_waits_for_the_watch_to_tell_of_its_own_write() {
    let mut bench = bench();
    let pod = pod(&["data"]);
    let mut state = bench.reserve(&pod, "a");
    let (_, writes) = bench.pre_bind(&mut state, &pod, "a");
    let mut answer = writes[0].object.clone();
    answer.metadata_mut().resource_version = "1000".to_owned();
    state.put_write_result(names::VOLUME_BINDING, writes[0].clone(), Ok(answer));
    bench.pre_bind(&mut state, &pod, "a");
    assert_eq!(bench.assumed().0, ["v"], "it is assumed until then");
    let progress = look(&mut bench, &mut state, &pod);
    assert_eq!(progress, wait_for_another_second(&bench));
}

/// The state of a pod whose claim is not bound a second before the ten minutes are over.
fn waited_long(bench: &mut Bench, pod: &PodInfo) -> CycleState {
    let mut state = bench.reserve(pod, "a");
    write_all(bench, &mut state, pod);
    for _ in 1..600 {
        let progress = look(bench, &mut state, pod);
        assert_eq!(progress, wait_for_another_second(bench));
    }
    state
}

#[test]
fn after_ten_minutes_it_is_too_late() {
    let mut bench = bench();
    let pod = pod(&["data"]);
    let mut state = waited_long(&mut bench, &pod);
    assert_eq!(look(&mut bench, &mut state, &pod), done("binding volumes: context deadline exceeded"));
}

#[test]
fn a_look_at_the_moment_at_which_the_time_is_over_still_counts() {
    let mut bench = bench();
    let pod = pod(&["data"]);
    let mut state = waited_long(&mut bench, &pod);
    bind(&mut bench, "data", "v");
    assert_eq!(look(&mut bench, &mut state, &pod), done(""));
}

#[test]
fn a_preemption_ends_it_with_its_reason() {
    let bench = bench();
    let pod = pod(&["data"]);
    let mut state = bench.reserve(&pod, "a");
    let (handle, node) = (bench.world.handle(), "a".into());
    let progress = bench.plugin.pre_bind(&handle, &mut state, &pod, &node, Some("preempted"));
    assert_eq!(progress, done("preempted"));
    assert_eq!(bench.assumed(), (Vec::new(), Vec::new()));
}

#[test]
fn profiles_assume_for_themselves() {
    let mut bench = bench();
    bench.reserve(&pod(&["data"]), "a");
    bench.world.framework.profile_name = "other".into();
    assert_eq!(bench.filter(&named_pod("q", &["data"])).unwrap()[0].1, "");
    let state = bench.reserve(&named_pod("q", &["data"]), "a");
    assert_eq!(state.entries().count(), 1);
    let assumed = |profile: &str| {
        bench.world.states.read(|state: &VolumeState| state.assumed(profile).volumes().count()).unwrap()
    };
    assert_eq!((assumed("default-scheduler"), assumed("other")), (1, 1));
}
