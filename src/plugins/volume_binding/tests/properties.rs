//! What holds whatever happens, in whatever order.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::claims::is_fully_bound;
use super::*;
use crate::api::Kind;

/// Something that can happen; numbers are names.
#[derive(Clone, Debug)]
enum Op {
    /// The pod is tried, and goes to the first node that will do.
    Schedule { pod: usize },
    /// The pod's volumes are given back.
    Unreserve { pod: usize },
    /// PreBind goes on, and what it wants written is written, or refused.
    Write { pod: usize, is_refused: bool },
    /// The controller binds a claim to the volume that is reserved for it, or makes one.
    Bind { claim: usize },
    /// A volume is put back to how it was at first.
    Release { volume: usize },
    /// Somebody else changes a volume or a claim in no way that matters.
    Touch { kind: Kind, index: usize },
    /// A volume is gone.
    Delete { volume: usize },
}

const PODS: usize = 4;
/// Two for each pod. Pods that share a claim can get in each other's way, as upstream: who gives a volume back gives it
/// back for all of them.
const CLAIMS: usize = 2 * PODS;
const VOLUMES: usize = 4;

fn op() -> impl Strategy<Value = Op> {
    let (pod, volume) = (|| 0..PODS, || 0..VOLUMES);
    prop_oneof![
        4 => pod().prop_map(|pod| Op::Schedule { pod }),
        2 => pod().prop_map(|pod| Op::Unreserve { pod }),
        4 => (pod(), prop::bool::weighted(0.2)).prop_map(|(pod, is_refused)| Op::Write { pod, is_refused }),
        2 => (0..CLAIMS).prop_map(|claim| Op::Bind { claim }),
        1 => volume().prop_map(|volume| Op::Release { volume }),
        1 => volume().prop_map(|index| Op::Touch { kind: Kind::PersistentVolume, index }),
        1 => (0..CLAIMS).prop_map(|index| Op::Touch { kind: Kind::PersistentVolumeClaim, index }),
        1 => volume().prop_map(|volume| Op::Delete { volume }),
    ]
}

fn volume_yaml(i: usize) -> String {
    volume(&format!("v{i}"), &format!("{}Gi", i + 2), if i.is_multiple_of(2) { "east" } else { "west" }, "")
}

struct Model {
    bench: Bench,
    /// Pods that are reserved, with their nodes.
    reserved: BTreeMap<usize, (PodInfo, String, CycleState)>,
    empty: u64,
}

impl Model {
    fn new() -> Self {
        let mut objects = String::new();
        for i in 0..VOLUMES {
            objects += &volume_yaml(i);
        }
        for i in 0..CLAIMS {
            let class = if i.is_multiple_of(4) { "fast" } else { "local" };
            objects += &claim(&format!("c{i}"), class, &format!("{}Gi", i % 3 + 1), "");
        }
        for i in 0..PODS {
            objects += &format!("---\n{{kind: Pod, apiVersion: v1, metadata: {{name: p{i}}}}}\n");
        }
        let bench = Bench::new(&objects);
        let empty = bench.digest();
        Self { bench, reserved: BTreeMap::new(), empty }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Schedule { pod } if !self.reserved.contains_key(pod) => self.schedule(*pod),
            Op::Schedule { .. } => {}
            Op::Unreserve { pod } => self.unreserve(*pod),
            Op::Write { pod, is_refused } => self.write(*pod, *is_refused),
            Op::Bind { claim } => self.bind(&format!("c{claim}")),
            Op::Release { volume } => {
                let source = crate::api::manifest::Source { name: String::new(), text: volume_yaml(*volume) };
                for object in crate::api::manifest::load(&[source]).unwrap().objects {
                    self.bench.put(object);
                }
            }
            Op::Touch { kind, index } => {
                let key = match kind {
                    Kind::PersistentVolume => NamespacedName::cluster(format!("v{index}")),
                    _ => NamespacedName::new("default", format!("c{index}")),
                };
                if let Some(object) = self.bench.world.objects.get(*kind, &key) {
                    self.bench.put(object);
                }
            }
            Op::Delete { volume } => {
                let key = NamespacedName::cluster(format!("v{volume}"));
                self.bench.delete(Kind::PersistentVolume, &key);
            }
        }
    }

    fn schedule(&mut self, index: usize) {
        let claims = [format!("c{}", index * 2), format!("c{}", index * 2 + 1)];
        let pod = named_pod(&format!("p{index}"), &[&claims[0], &claims[1]]);
        let Ok(answers) = self.bench.filter(&pod) else { return };
        let Some((node, _)) = answers.into_iter().find(|(_, reasons)| reasons.is_empty()) else { return };
        let state = self.bench.reserve(&pod, &node);
        self.reserved.insert(index, (pod, node, state));
    }

    fn unreserve(&mut self, index: usize) {
        if let Some((pod, node, mut state)) = self.reserved.remove(&index) {
            self.bench.unreserve(&mut state, &pod, &node);
        }
    }

    fn write(&mut self, index: usize, is_refused: bool) {
        let Some((pod, node, mut state)) = self.reserved.remove(&index) else { return };
        let (progress, writes) = self.bench.pre_bind(&mut state, &pod, &node);
        for write in writes {
            // A server refuses a version that is not its own.
            let current = self.bench.world.objects.get(write.object.kind(), &write.object.key());
            let is_current = current.is_some_and(|current| {
                current.metadata().resource_version == write.object.metadata().resource_version
            });
            let result = if is_refused || !is_current {
                Err(failure(ApiFailureReason::Conflict, "conflict"))
            } else {
                Ok(self.bench.carry_out(&write))
            };
            state.put_write_result(names::VOLUME_BINDING, write, result);
        }
        match progress {
            PreBindProgress::Pending { .. } => {
                self.reserved.insert(index, (pod, node, state));
            }
            PreBindProgress::Done(status) if status.is_success() => {}
            PreBindProgress::Done(_) => self.bench.unreserve(&mut state, &pod, &node),
        }
    }

    fn bind(&mut self, name: &str) {
        let mut claim = self.bench.claim(name);
        if is_fully_bound(&claim) {
            return;
        }
        let mut volumes = self.bench.world.objects.persistent_volumes.values();
        let reserved = volumes.find(|volume| super::super::matching::is_bound_to(volume, &claim));
        let Some(volume) = reserved.map(|volume| volume.name().clone()) else { return };
        claim.spec.volume_name = volume;
        claim.metadata.annotations.insert(BIND_COMPLETED.into(), "yes".into());
        self.bench.put(claim.into());
    }

    /// No volume is for two claims, and no claim has two volumes, by what is assumed and what is written together.
    fn check(&self) {
        let claims_of = |state: &VolumeState| {
            let assumed = state.assumed("default-scheduler");
            let mut volumes: BTreeMap<String, String> = BTreeMap::new();
            for known in state.known.of_class("local") {
                let latest = assumed.volume(&known.volume);
                if let Some(reference) = &latest.spec.claim_ref {
                    let before = volumes.insert(reference.name.to_string(), latest.name().to_string());
                    assert_eq!(before, None, "two volumes for {}", reference.name);
                }
            }
            let mut holders: BTreeMap<String, String> = BTreeMap::new();
            for (_, _, cycle) in self.reserved.values() {
                let Some(data) = cycle.read::<StateData>() else { continue };
                for binding in data.reserved.iter().flat_map(|(_, volumes)| &volumes.bindings) {
                    let (volume, claim) = (&binding.volume, binding.claim.metadata.name.to_string());
                    assert_eq!(*volume.spec.claim_ref.as_ref().unwrap().name, *claim);
                    // What has changed since is no longer held: its write would be refused.
                    let known = state.known.volume(volume.name());
                    let is_current = |known: &&Arc<KnownVolume>| {
                        known.volume.metadata.resource_version == volume.metadata.resource_version
                    };
                    if known.filter(is_current).is_some() {
                        let before = holders.insert(volume.name().to_string(), claim.clone());
                        assert_eq!(before, None, "{} is held for {claim} too", volume.name());
                    }
                }
            }
        };
        self.bench.world.states.read(claims_of);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_volume_is_for_two_claims_and_nothing_stays_assumed(ops in prop::collection::vec(op(), 1..60)) {
        let mut model = Model::new();
        for op in &ops {
            model.apply(op);
            model.check();
        }
        for pod in 0..PODS {
            model.unreserve(pod);
        }
        prop_assert_eq!(model.bench.assumed(), (Vec::new(), Vec::new()));
        prop_assert_eq!(model.bench.digest(), model.empty);
    }

    /// What is known of volumes by class is what can be found by looking at each.
    #[test]
    fn the_index_is_what_the_objects_say(ops in prop::collection::vec(op(), 1..40)) {
        let mut model = Model::new();
        for op in &ops {
            model.apply(op);
        }
        let objects = &model.bench.world.objects;
        model.bench.world.states.read(|state: &VolumeState| {
            for class in ["local", "fast", ""] {
                let known: Vec<&str> = state.known.of_class(class).map(|known| &**known.volume.name()).collect();
                let all = objects.persistent_volumes.values().filter(|volume| &**volume.class() == class);
                assert_eq!(known, all.map(|volume| &**volume.name()).collect::<Vec<_>>());
            }
        });
    }
}
