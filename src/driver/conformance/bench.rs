//! What a scheduling cycle costs: the pending pods are tried once each, in the order of the queue, and each is bound
//! where it goes.
//!
//! The clock runs during the cycles alone. What follows them, the binding and the news of it, is done as a cluster
//! would and not counted: claims get the volumes that the scheduler has chosen for them, or new ones, at once. A cycle
//! of a pod that fits nowhere includes PostFilter and the way back into the queue.
//!
//! What recording or metrics cost is found by doing the same work twice at the same time, once with that beside it: a
//! block of pods here, the same block there, and so on, so that whatever else the machine does falls upon both.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration as Elapsed, Instant};

use serde::Serialize;

use crate::api::objects::{
    CSIPersistentVolumeSource, ObjectMeta, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeSpec, PersistentVolumeStatus,
};
use crate::api::{Duration, NamespacedName, Object, Str, Time};
use crate::driver::metrics::meter::SchedulerMeter;
use crate::framework::meter::Meter;
use crate::framework::{ApiWrite, WriteVerb};
use crate::plugins::volume_binding::{BIND_COMPLETED, SELECTED_NODE};
use crate::scheduler::effect::{Effect, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::{Scheduler, SchedulerError, SchedulerOptions};

use super::{Case, CaseError, EPOCH};
use crate::driver::recorder::{Recorder, RecorderError, RecordingTap};

/// Pods that are scheduled in one go while two schedulers are compared.
const BLOCK: usize = 100;

/// What the cycles cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BenchReport {
    /// The pods that were tried.
    pub pods: usize,
    /// Those of them that were bound.
    pub scheduled: usize,
    /// The time of all cycles together.
    pub seconds: f64,
    /// Pods by that time.
    pub pods_per_second: f64,
    /// Half of the cycles took no longer.
    #[serde(rename = "p50Microseconds")]
    pub p50_micros: u64,
    /// 99 of 100 cycles took no longer.
    #[serde(rename = "p99Microseconds")]
    pub p99_micros: u64,
    /// The longest cycle.
    #[serde(rename = "maxMicroseconds")]
    pub max_micros: u64,
    /// How many nodes Filter looked at for a pod that was bound.
    pub mean_evaluated_nodes: f64,
}

/// What a recording costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingReport {
    /// The pods that were tried.
    pub pods: usize,
    /// The inputs that were recorded, those that make up the cluster included.
    pub inputs: u64,
    /// The time of all inputs of these pods without a recording: the attempts, and the news of what came of them.
    pub plain_seconds: f64,
    /// The same with a recording.
    pub recorded_seconds: f64,
    /// How much longer a block of pods takes with a recording, in percent of the time without: the median of all blocks.
    pub median_percent: f64,
    /// How often the session waited for the file.
    pub waits: u64,
    /// Bytes of lines, before compression.
    pub bytes: u64,
    /// How long it took, after the last input, until everything was in the file.
    pub tail_seconds: f64,
}

/// What metrics cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeteringReport {
    /// The pods that were tried.
    pub pods: usize,
    /// The time of all inputs of these pods without a meter: the attempts, and the news of what came of them.
    pub plain_seconds: f64,
    /// The same with a meter.
    pub metered_seconds: f64,
    /// How much longer a block of pods takes with a meter, in percent of the time without: the median of all blocks.
    pub median_percent: f64,
}

/// Two schedulers that do the same work, a block here and a block there.
#[derive(Default)]
struct Pair {
    pods: usize,
    plain_seconds: f64,
    other_seconds: f64,
    median_percent: f64,
}

impl Pair {
    #[expect(clippy::disallowed_methods, reason = "what is measured here is real time")]
    fn run(plain: &mut Bench, other: &mut Bench, n_pending: usize) -> Self {
        let mut pair = Self::default();
        let mut percents = Vec::new();
        let block = |bench: &mut Bench, n: usize| {
            let start = Instant::now();
            let n_tried = (0..n).take_while(|_| bench.try_one()).count();
            (n_tried, start.elapsed().as_secs_f64())
        };
        let mut is_first = true;
        while pair.pods < n_pending {
            let n = BLOCK.min(n_pending - pair.pods);
            // Whoever comes first finds the caches as the other has left them, so they take turns.
            let ((n_tried, without), (_, with)) = if is_first {
                let without = block(plain, n);
                (without, block(other, n))
            } else {
                let with = block(other, n);
                (block(plain, n), with)
            };
            is_first = !is_first;
            pair.pods += n_tried;
            pair.plain_seconds += without;
            pair.other_seconds += with;
            if n_tried < n {
                break;
            }
            percents.push((with / without - 1.0) * 100.0);
        }
        percents.sort_by(f64::total_cmp);
        pair.median_percent = percents.get(percents.len() / 2).copied().unwrap_or_default();
        pair
    }
}

/// Why it cannot be measured what a recording costs.
#[derive(Debug, thiserror::Error)]
pub enum RecordingBenchError {
    /// No scheduler can be made.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The recording cannot be written.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
}

impl Case {
    /// Schedules all pending pods twice, a block of them without and the same block with a recording, whose header is
    /// made of [`Self::bench_options`].
    ///
    /// # Errors
    /// If no scheduler can be made, or the recording cannot be written.
    #[expect(clippy::disallowed_methods, reason = "what is measured here is real time")]
    pub fn bench_recording(
        self,
        (recorder, tap): (Recorder, RecordingTap),
    ) -> Result<RecordingReport, RecordingBenchError> {
        let n_pending = self.pending.len();
        let options = self.bench_options();
        let profiles = self.profiles.into_iter().map(|profile| profile.framework);
        let scheduler = Scheduler::new(profiles.collect(), options)?;
        let mut plain = Bench::new(scheduler.clone(), None);
        let mut recorded = Bench::new(scheduler, Some(tap));
        for object in self.objects {
            plain.handle(Input::Added(object.clone()));
            recorded.handle(Input::Added(object));
        }
        plain.settle();
        recorded.settle();
        let pair = Pair::run(&mut plain, &mut recorded, n_pending);
        let mut report = RecordingReport {
            pods: pair.pods,
            plain_seconds: pair.plain_seconds,
            recorded_seconds: pair.other_seconds,
            median_percent: pair.median_percent,
            ..RecordingReport::default()
        };
        let start = Instant::now();
        if let Some(mut tap) = recorded.tap {
            tap.finish(tap.inputs(), &recorded.scheduler, "scheduled");
        }
        let stats = recorder.finish()?;
        report.tail_seconds = start.elapsed().as_secs_f64();
        (report.inputs, report.waits, report.bytes) = (stats.inputs, stats.waits, stats.bytes);
        Ok(report)
    }

    /// Schedules all pending pods twice, a block of them without and the same block with a meter that counts what
    /// `schedscope serve` serves.
    ///
    /// # Errors
    /// If no scheduler can be made.
    pub fn bench_metering(self) -> Result<MeteringReport, SchedulerError> {
        let n_pending = self.pending.len();
        let options = self.bench_options();
        let profiles = self.profiles.into_iter().map(|profile| profile.framework);
        let scheduler = Scheduler::new(profiles.collect(), options)?;
        let mut metered = scheduler.clone();
        let meter: Arc<dyn Meter> = Arc::new(SchedulerMeter::new(Arc::default()));
        metered.measure(&meter);
        let (mut plain, mut metered) = (Bench::new(scheduler, None), Bench::new(metered, None));
        for object in self.objects {
            plain.handle(Input::Added(object.clone()));
            metered.handle(Input::Added(object));
        }
        plain.settle();
        metered.settle();
        let pair = Pair::run(&mut plain, &mut metered, n_pending);
        Ok(MeteringReport {
            pods: pair.pods,
            plain_seconds: pair.plain_seconds,
            metered_seconds: pair.other_seconds,
            median_percent: pair.median_percent,
        })
    }

    /// What the schedulers that are measured are made with.
    pub fn bench_options(&self) -> SchedulerOptions {
        SchedulerOptions {
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            gates: self.gates,
            is_tracing: false,
            ..SchedulerOptions::default()
        }
    }

    /// Schedules all pending pods and tells what that cost. The case itself is used up, so that its objects are
    /// there only once.
    ///
    /// # Errors
    /// If no scheduler can be made.
    pub fn bench(self) -> Result<BenchReport, CaseError> {
        let n_pending = self.pending.len();
        let options = self.bench_options();
        let profiles = self.profiles.into_iter().map(|profile| profile.framework);
        let mut bench = Bench::new(Scheduler::new(profiles.collect(), options)?, None);
        for object in self.objects {
            bench.handle(Input::Added(object));
        }
        bench.settle();
        Ok(bench.run(n_pending))
    }
}

struct Bench {
    scheduler: Scheduler,
    now: Time,
    /// Whether claims were bound since PreBind looked last; it looks once a second.
    has_bound_claims: bool,
    effects: VecDeque<Effect>,
    tap: Option<RecordingTap>,
}

/// How often PreBind looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Bench {
    fn new(scheduler: Scheduler, tap: Option<RecordingTap>) -> Self {
        Self { scheduler, now: EPOCH, has_bound_claims: false, effects: VecDeque::new(), tap }
    }

    /// Every input comes a little later than the one before, so that no two pods have the same time in the queue.
    fn handle(&mut self, input: Input) {
        self.now += Duration::from_micros(1);
        let recorded = self.tap.as_ref().map(|_| input.clone());
        self.scheduler.handle(self.now, input);
        let n_before = self.effects.len();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
        if let (Some(tap), Some(input)) = (&mut self.tap, recorded) {
            tap.took(tap.inputs(), self.now, input, self.effects.range(n_before..), &self.scheduler);
        }
    }

    /// Tries a pod and binds it where it goes. False if there is none.
    fn try_one(&mut self) -> bool {
        let can_schedule = self.scheduler.can_schedule();
        if can_schedule {
            self.handle(Input::Command(Command::ScheduleOne));
            self.settle();
        }
        can_schedule
    }

    /// Tries as many pods as were pending; one that comes back into the queue meanwhile is not tried again.
    #[expect(clippy::disallowed_methods, reason = "what is measured here is real time")]
    fn run(mut self, n_pending: usize) -> BenchReport {
        let mut took: Vec<Elapsed> = Vec::with_capacity(n_pending);
        let mut report = BenchReport::default();
        let mut n_evaluated = 0;
        while took.len() < n_pending && self.scheduler.can_schedule() {
            let evaluated_before = self.scheduler.counts().evaluated;
            let start = Instant::now();
            self.handle(Input::Command(Command::ScheduleOne));
            took.push(start.elapsed());
            let n_bound = self.settle();
            if n_bound > 0 {
                report.scheduled += n_bound;
                n_evaluated += self.scheduler.counts().evaluated - evaluated_before;
            }
        }
        took.sort_unstable();
        let total: Elapsed = took.iter().sum();
        let at = |percent: usize| {
            let elapsed = took.get(took.len() * percent / 100).or(took.last()).copied().unwrap_or_default();
            u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
        };
        report.pods = took.len();
        report.seconds = total.as_secs_f64();
        if !took.is_empty() {
            report.pods_per_second = took.len() as f64 / report.seconds;
        }
        (report.p50_micros, report.p99_micros, report.max_micros) = (at(50), at(99), at(100));
        if report.scheduled > 0 {
            report.mean_evaluated_nodes = n_evaluated as f64 / report.scheduled as f64;
        }
        report
    }

    /// Does what the core asks for, and tells it what comes of that. The answer is how many pods were bound.
    fn settle(&mut self) -> usize {
        let mut n_bound = 0;
        loop {
            let Some(Effect { id, kind }) = self.effects.pop_front() else {
                if !std::mem::take(&mut self.has_bound_claims) {
                    return n_bound;
                }
                self.now += LOOK_INTERVAL;
                self.handle(Input::Timeout);
                continue;
            };
            match kind {
                EffectKind::Event(_) => continue,
                EffectKind::Bind { pod, node, .. } => {
                    if let Some(old) = self.scheduler.objects().pods.get(&pod).cloned() {
                        let mut new = old.as_ref().clone();
                        new.spec.node_name = node;
                        n_bound += 1;
                        self.handle(Input::Updated {
                            old: Object::Pod(old),
                            new: Object::Pod(Arc::new(new)),
                        });
                    }
                }
                EffectKind::Write(write) => {
                    self.report_write(&write);
                    self.bind_claim_of(&write.object);
                    self.handle(Input::Written { id, result: Ok(write.object) });
                    continue;
                }
                EffectKind::PatchPodStatus { .. }
                | EffectKind::PatchPodGroupStatus { .. }
                | EffectKind::DeletePod { .. }
                | EffectKind::CallExtender(_) => {}
            }
            self.handle(Input::EffectDone { id, result: Ok(()) });
        }
    }

    /// The watch reports what was written.
    fn report_write(&mut self, write: &ApiWrite) {
        let new = write.object.clone();
        let old = self.scheduler.objects().get(new.kind(), &new.key());
        self.handle(match (old, write.verb) {
            (None, WriteVerb::Delete) => return,
            (Some(old), WriteVerb::Delete) => Input::Deleted(old),
            (Some(old), _) => Input::Updated { old, new },
            (None, _) => Input::Added(new),
        });
    }

    /// Does what the controller of volumes would do about a volume that was given to a claim, or about a claim for which
    /// a node was chosen.
    fn bind_claim_of(&mut self, written: &Object) {
        match written {
            Object::PersistentVolume(volume) => {
                let Some(of) = &volume.spec.claim_ref else { return };
                let key = NamespacedName { namespace: of.namespace.clone(), name: of.name.clone() };
                self.bind_claim(&key, volume.name().clone());
            }
            Object::PersistentVolumeClaim(claim)
                if claim.spec.volume_name.is_empty()
                    && claim.metadata.annotations.contains_key(SELECTED_NODE) =>
            {
                let volume = self.volume_for(claim);
                let name = volume.name().clone();
                self.handle(Input::Added(volume.into()));
                self.bind_claim(&claim.key(), name);
            }
            _ => {}
        }
    }

    /// A new volume for a claim.
    fn volume_for(&self, claim: &PersistentVolumeClaim) -> PersistentVolume {
        let class = NamespacedName::cluster(Str::from(claim.class()));
        let class = self.scheduler.objects().storage_classes.get(&class);
        let driver = class.map(|class| class.provisioner.clone()).unwrap_or_default();
        let name = Str::from(format!("pvc-{}-{}", claim.metadata.namespace, claim.metadata.name));
        let of = ObjectReference {
            kind: "PersistentVolumeClaim".to_owned(),
            namespace: claim.metadata.namespace.clone(),
            name: claim.metadata.name.clone(),
            uid: claim.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        PersistentVolume {
            metadata: ObjectMeta { name: name.clone(), uid: name.as_ref().into(), ..ObjectMeta::default() },
            spec: PersistentVolumeSpec {
                capacity: claim.spec.resources.requests.clone(),
                access_modes: claim.spec.access_modes.clone(),
                claim_ref: Some(of),
                storage_class_name: Str::from(claim.class()),
                csi: Some(CSIPersistentVolumeSource { driver, volume_handle: name }),
                ..PersistentVolumeSpec::default()
            },
            status: PersistentVolumeStatus { phase: "Bound".to_owned() },
        }
    }

    fn bind_claim(&mut self, key: &NamespacedName, volume: Str) {
        let Some(old) = self.scheduler.objects().persistent_volume_claims.get(key).cloned() else { return };
        let mut new = PersistentVolumeClaim::clone(&old);
        new.spec.volume_name = volume;
        new.metadata.annotations.insert(Str::from(BIND_COMPLETED), Str::from("yes"));
        new.status.phase = "Bound".to_owned();
        self.has_bound_claims = true;
        self.handle(Input::Updated { old: Object::PersistentVolumeClaim(old), new: new.into() });
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::api::manifest::Source;
    use crate::driver::conformance::CaseSources;

    use super::*;

    #[test]
    fn metrics_change_nothing_about_what_is_done() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}, status: \
                    {allocatable: {cpu: 4, pods: 9}}}\n- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: \
                    default}, spec: {containers: [{name: c, image: i}]}}\n";
        let manifests = vec![Source { name: "test".to_owned(), text: text.to_owned() }];
        let case = Case::new(&CaseSources { manifests, ..CaseSources::default() }).unwrap();
        let report = case.bench_metering().unwrap();
        assert_eq!(report.pods, 1);
        assert!(report.plain_seconds > 0.0 && report.metered_seconds > 0.0);
    }

    #[test]
    fn claims_get_their_volumes_so_that_every_pod_is_bound() {
        let objects = [
            "{apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a}}, status: {allocatable: \
             {cpu: 4, memory: 8Gi, pods: 9}}}",
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: disk.example.com, \
             volumeBindingMode: WaitForFirstConsumer}",
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: \
             kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}",
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Gi}, accessModes: \
             [ReadWriteOnce], storageClassName: local, local: {path: /mnt}, nodeAffinity: {required: \
             {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}]}}}, \
             status: {phase: Available}}",
        ];
        let claim_and_pod = |class: &str| {
            format!(
                "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {class}, namespace: default}}, spec: \
                 {{accessModes: [ReadWriteOnce], storageClassName: {class}, resources: {{requests: {{storage: 1Gi}}}}}}}}\n\
                 ---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {class}, namespace: default}}, spec: {{containers: \
                 [{{name: c, image: i}}], volumes: [{{name: v, persistentVolumeClaim: {{claimName: {class}}}}}]}}}}"
            )
        };
        let mut text = objects.map(str::to_owned).join("\n---\n");
        for class in ["late", "local"] {
            text = format!("{text}\n---\n{}", claim_and_pod(class));
        }
        let manifests = vec![Source { name: "test".to_owned(), text }];
        let case = Case::new(&CaseSources { manifests, ..CaseSources::default() }).unwrap();
        let report = case.bench().unwrap();
        assert_eq!((report.pods, report.scheduled), (2, 2));
    }
}
