//! Tests of the plugin. The values are kube-scheduler's own answers for the same clusters.

#![expect(clippy::unwrap_used, reason = "tests")]

mod explanations;
mod filter;
mod hints;
mod pre_bind;
mod properties;
mod scoring;

use std::sync::Arc;

use super::super::fixtures::{pod_info, world_of};
use super::*;
use crate::api::{Digest, Digestible, NamespacedName, Object};
use crate::framework::ApiWrite;
use crate::framework::api_write::{ApiFailure, ApiFailureReason};
use crate::framework::testing::TestWorld;

/// Two nodes in two zones, a class of volumes that are there and one of volumes that are made.
const CLUSTER: &str = "\
{kind: Node, apiVersion: v1, metadata: {name: a, labels: {zone: east}}}
---
{kind: Node, apiVersion: v1, metadata: {name: b, labels: {zone: west}}}
---
{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: now}, provisioner: csi.example.com, volumeBindingMode: Immediate}
";

/// The plugin in a small world.
struct Bench {
    world: TestWorld,
    plugin: VolumeBinding,
    version: u64,
}

/// Reasons by node, or what PreFilter answers for all of them.
type Answers = Result<Vec<(String, String)>, Status>;

impl Bench {
    /// The usual cluster and these objects.
    fn new(objects: &str) -> Self {
        Self::with_gates(objects, "")
    }

    fn with_gates(objects: &str, gates: &str) -> Self {
        let gates = FeatureGates::parse(gates).unwrap();
        let args = VolumeBindingArgs::from_value(None, "", &gates).unwrap();
        let plugin = VolumeBinding::new(&args, &gates);
        let mut world = world_of(&format!("{CLUSTER}---\n{objects}"));
        world.framework.profile_name = Str::from("default-scheduler");
        world.framework.plugins.filter.push(Arc::new(plugin.clone()));
        plugin.add_states(&mut world.states);
        let mut bench = Self { world, plugin, version: 0 };
        for object in bench.world.objects.clone().iter() {
            bench.put(object);
        }
        bench
    }

    /// A watch reports a new object, or a change.
    fn put(&mut self, mut object: Object) {
        self.version += 1;
        object.metadata_mut().resource_version = self.version.to_string();
        let old = self.world.objects.insert(object.clone());
        self.world.states.object_changed(&self.world.objects, old.as_ref(), Some(&object));
    }

    /// A watch reports that an object is gone.
    fn delete(&mut self, kind: crate::api::Kind, key: &NamespacedName) {
        if let Some(old) = self.world.objects.remove(kind, key) {
            self.world.states.object_changed(&self.world.objects, Some(&old), None);
        }
    }

    fn volume(&self, name: &str) -> crate::api::objects::PersistentVolume {
        let key = NamespacedName::cluster(name);
        crate::api::objects::PersistentVolume::clone(&self.world.objects.persistent_volumes[&key])
    }

    fn claim(&self, name: &str) -> crate::api::objects::PersistentVolumeClaim {
        let key = NamespacedName::new("default", name);
        crate::api::objects::PersistentVolumeClaim::clone(&self.world.objects.persistent_volume_claims[&key])
    }

    /// What a server makes of a write.
    fn carry_out(&mut self, write: &ApiWrite) -> Object {
        self.put(write.object.clone());
        self.world.objects.get(write.object.kind(), &write.object.key()).unwrap()
    }

    /// The state of an attempt for the pod, after PreFilter.
    fn begin(&self, pod: &PodInfo) -> Result<CycleState, Status> {
        let mut state = CycleState::new();
        let (_, status) = self.plugin.pre_filter(&self.world.handle(), &mut state, pod, &[]);
        if status.is_success() || status.is_skip() { Ok(state) } else { Err(status) }
    }

    /// What Filter answers for each node.
    fn filter(&self, pod: &PodInfo) -> Answers {
        let state = self.begin(pod)?;
        let answer = |node: &Arc<NodeInfo>| {
            let status = self.plugin.filter(&self.world.handle(), &state, pod, node);
            (node.name().to_string(), status.message())
        };
        Ok(self.world.snapshot.list().iter().map(answer).collect())
    }

    /// The state of an attempt for the pod after Reserve on a node, which must succeed.
    fn reserve(&self, pod: &PodInfo, node: &str) -> CycleState {
        let mut state = self.begin(pod).unwrap();
        let status = self.plugin.reserve(&self.world.handle(), &mut state, pod, &node.into());
        assert!(status.is_success(), "{}", status.message());
        state
    }

    fn unreserve(&self, state: &mut CycleState, pod: &PodInfo, node: &str) {
        self.plugin.unreserve(&self.world.handle(), state, pod, &node.into());
    }

    /// Asks PreBind once, and for what it wants to write.
    fn pre_bind(
        &self,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &str,
    ) -> (PreBindProgress, Vec<ApiWrite>) {
        let progress = self.plugin.pre_bind(&self.world.handle(), state, pod, &node.into(), None);
        let requests = std::mem::take(&mut *self.world.requests.borrow_mut());
        let writes = requests.into_iter().filter_map(|request| match request {
            HandleRequest::Write { write, .. } => Some(write),
            _ => None,
        });
        (progress, writes.collect())
    }

    /// What the plugin remembers, as a number.
    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.world.states.digest(&mut digest);
        digest.finish()
    }

    /// Volumes and claims that are assumed, by name.
    fn assumed(&self) -> (Vec<String>, Vec<String>) {
        let names = |state: &VolumeState| {
            let assumed = state.assumed("default-scheduler");
            let volumes = assumed.volumes().map(|volume| volume.name().to_string());
            let claims = assumed.claims().map(|claim| claim.metadata.name.to_string());
            (volumes.collect(), claims.collect())
        };
        self.world.states.read(names).unwrap()
    }
}

/// A volume of the class `local`.
fn volume(name: &str, size: &str, zone: &str, more: &str) -> String {
    format!(
        "---\n{{kind: PersistentVolume, apiVersion: v1, metadata: {{name: {name}}}, spec: {{capacity: {{storage: {size}}}, accessModes: [ReadWriteOnce], storageClassName: local, nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, values: [{zone}]}}]}}]}}}}{more}}}, status: {{phase: Available}}}}\n"
    )
}

/// A claim that is not bound.
fn claim(name: &str, class: &str, size: &str, more: &str) -> String {
    format!(
        "---\n{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, uid: uid-{name}}}, spec: {{accessModes: [ReadWriteOnce], storageClassName: {class}, resources: {{requests: {{storage: {size}}}}}{more}}}, status: {{phase: Pending}}}}\n"
    )
}

/// A claim that is bound to a volume.
fn bound(name: &str, volume: &str) -> String {
    format!(
        "---\n{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, uid: uid-{name}, annotations: {{pv.kubernetes.io/bind-completed: 'yes'}}}}, spec: {{storageClassName: local, volumeName: {volume}}}, status: {{phase: Bound}}}}\n"
    )
}

/// A pod that uses these claims.
fn pod(claims: &[&str]) -> PodInfo {
    named_pod("p", claims)
}

fn named_pod(name: &str, claims: &[&str]) -> PodInfo {
    let volumes = claims.iter().enumerate();
    let volumes: Vec<String> = volumes
        .map(|(i, claim)| format!("{{name: v{i}, persistentVolumeClaim: {{claimName: {claim}}}}}"))
        .collect();
    pod_info(&format!(
        "{{metadata: {{name: {name}, namespace: default}}, spec: {{volumes: [{}]}}}}",
        volumes.join(", ")
    ))
}

fn by_node(answers: &[(&str, &str)]) -> Answers {
    Ok(answers.iter().map(|(node, reason)| ((*node).to_owned(), (*reason).to_owned())).collect())
}

fn failure(reason: ApiFailureReason, message: &str) -> ApiFailure {
    ApiFailure { reason, message: message.to_owned() }
}
