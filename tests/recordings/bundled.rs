//! The recordings that come with the program: they are made here, replay without a difference, and tell their story.

use std::path::PathBuf;

use schedscope::api::manifest::{Source, load};
use schedscope::api::{Duration, NamespacedName};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::recorder::{Recorder, RecorderOptions};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::controllers::Controllers;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::seek::SeekTo;
use schedscope::driver::session::{Advance, Edit, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Compression, Header};
use schedscope::scheduler::SchedulerOptions;

use super::player::stepper_on;
use super::{Memory, checked};
use crate::support::world::START;

/// A session that is recorded while its story is told.
struct Story {
    stepper: Stepper,
    recorder: Recorder,
    memory: Memory,
}

impl Story {
    fn begin(name: &str, manifest: &str, gates: &str, is_grouping: bool) -> Self {
        let gates = FeatureGates::parse(gates).unwrap();
        let registry = in_tree_registry();
        let has_plugin = |name: &str| registry.contains(name);
        let config = SchedulerConfig::with_defaults(LoadOptions { gates: &gates, has_plugin: &has_plugin });
        let options = SchedulerOptions { gates, is_grouping, ..SchedulerOptions::default() };
        let header = Header::new(&config, &options, START, name).unwrap();
        let memory = Memory::default();
        let recorder_options =
            RecorderOptions { compression: Compression::Zstd, ..RecorderOptions::default() };
        let (recorder, tap) = Recorder::start(Box::new(memory.clone()), &header, recorder_options).unwrap();
        let sources = [Source { name: name.to_owned(), text: manifest.to_owned() }];
        let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
        let profiles = build_profiles(&config.profiles, &registry, &config.gates).unwrap();
        let simulator =
            Simulator::recorded(profiles.into_values().collect(), options, api, START, Some(tap)).unwrap();
        Self { stepper: Stepper::new(simulator.with_controllers(Controllers::new(1))), recorder, memory }
    }

    fn tell(&mut self, name: &str, note: &str) -> &mut Self {
        self.stepper.command(Tell::Mark(name.to_owned()));
        self.stepper.command(Tell::Note(note.to_owned()));
        self
    }

    fn cycles(&mut self, n: usize) -> &mut Self {
        for _ in 0..n {
            self.stepper.command(Tell::StepCycle);
        }
        self
    }

    /// Time goes on, and every pod that can be tried meanwhile is tried.
    fn wait(&mut self, seconds: u64) -> &mut Self {
        let until = self.stepper.simulator().now() + Duration::from_secs(seconds);
        for round in 0.. {
            assert!(round < 1_000, "it never comes to an end");
            for _ in 0..100 {
                if self.stepper.simulator().can_step() {
                    self.stepper.command(Tell::StepCycle);
                }
            }
            match self.stepper.simulator().next_timeout() {
                Some((at, _)) if at <= until => self.stepper.command(Tell::Advance(Advance::ToNextTimeout)),
                _ => break,
            };
        }
        let rest = until - self.stepper.simulator().now();
        self.stepper.command(Tell::Advance(Advance::By(rest)));
        self
    }

    fn apply(&mut self, text: &str) -> &mut Self {
        let edit = Edit::Apply { source: "the story".to_owned(), text: text.to_owned() };
        self.stepper.command(Tell::Edit(edit));
        self
    }

    fn delete(&mut self, name: &str) -> &mut Self {
        self.stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", name))));
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.stepper.finish_recording("the story is told");
        drop(self.stepper);
        self.recorder.finish().unwrap();
        self.memory.bytes()
    }
}

fn node(name: &str, cpu: &str, labels: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{labels}}}}}\n\
         spec: {{{spec}}}\nstatus: {{allocatable: {{cpu: \"{cpu}\", memory: 16Gi, pods: \"110\"}}}}\n---\n"
    )
}

/// A pod of an app; `spec` are further fields of its spec.
fn pod(name: &str, app: &str, cpu: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {app}}}}}\nspec:\n  \
         {{{spec}containers: [{{name: main, image: registry.example/{app}, resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n---\n"
    )
}

fn on(node: &str, priority: i32) -> String {
    format!("nodeName: {node}, priority: {priority}, ")
}

fn budget(app: &str, allowed: i32) -> String {
    format!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {app}}}\n\
         spec: {{selector: {{matchLabels: {{app: {app}}}}}, minAvailable: 1}}\nstatus: {{disruptionsAllowed: {allowed}}}\n---\n"
    )
}

fn preemption_pdb() -> Vec<u8> {
    let manifest = node("n-1", "4", "", "")
        + &node("n-2", "4", "", "")
        + &node("n-3", "4", "", "")
        + &budget("db", 0)
        + &pod("db-0", "db", "3", &on("n-1", 0))
        + &pod("web-0", "web", "3", &on("n-2", 100))
        + &pod("batch-0", "batch", "3", &on("n-3", 0))
        + &pod("critical-0", "critical", "3", "priority: 1000, ");
    let mut story = Story::begin("preemption-pdb", &manifest, "", true);
    story.tell(
        "three full nodes",
        "Each node has room for one pod of 3 cpu, and each has one. critical-0 has priority 1000 and fits nowhere. The \
         budget of db allows no disruption.",
    );
    story.cycles(1).tell(
        "the choice",
        "Any of the three could make room. Fewest broken budgets first: n-1 is out, as db-0 has no disruption to spare. \
         Then the lowest priority among the victims: batch-0 (0) before web-0 (100). So batch-0 has to go, and critical-0 \
         is nominated to n-3; it is not bound there yet.",
    );
    story.wait(15).tell(
        "the victim terminates",
        "batch-0 has 30 s to end. Until then its cpu is taken, and the nomination keeps others from the place.",
    );
    story
        .wait(20)
        .tell("the place is free", "batch-0 is gone, which woke critical-0. It was bound to n-3 at once.");
    story.apply(&pod("critical-1", "critical", "3", "priority: 1000, ")).cycles(1).tell(
        "the next one",
        "critical-1 comes. critical-0 has its own priority and is no victim. db-0 is still protected, so web-0 on n-2 has \
         to go although its priority is higher than that of db-0.",
    );
    story.wait(40);
    story.apply(&pod("critical-2", "critical", "3", "priority: 1000, ")).cycles(1).tell(
        "a budget is broken",
        "Only db-0 is left. A budget makes a node the last choice; it does not forbid it. db-0 is evicted, and its budget \
         is broken.",
    );
    story.wait(40).tell("the end", "All three critical pods run, and nothing else does.");
    story.end()
}

fn spread_volumes() -> Vec<u8> {
    let zone = |zone: &str| format!(", topology.kubernetes.io/zone: {zone}");
    let spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, \
                  whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], ";
    let with_volume =
        format!("{spread}volumes: [{{name: data, persistentVolumeClaim: {{claimName: data-2}}}}], ");
    let volume = "apiVersion: v1\nkind: StorageClass\nmetadata: {name: zonal}\nprovisioner: kubernetes.io/no-provisioner\n---\n\
         apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk-in-a}\nspec:\n  {capacity: {storage: 10Gi}, \
         accessModes: [ReadWriteOnce], storageClassName: zonal,\n  nodeAffinity: \
         {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}\n\
         ---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-2}\nspec: {accessModes: [ReadWriteOnce], storageClassName: zonal, volumeName: \
         disk-in-a, resources: {requests: {storage: 10Gi}}}\n---\n";
    let manifest = node("a-1", "8", &zone("a"), "")
        + &node("b-1", "8", &zone("b"), "")
        + volume
        + &pod("web-0", "web", "1", &on("a-1", 0))
        + &pod("web-1", "web", "1", &on("a-1", 0))
        + &pod("web-2", "web", "1", &with_volume);
    let mut story = Story::begin("spread-volumes", &manifest, "", true);
    story.tell(
        "two rules",
        "web-2 may not make the zones differ by more than one pod; zone a has two, zone b none. But its disk is in zone a.",
    );
    story.cycles(1).tell(
        "no node satisfies both",
        "a-1: PodTopologySpread says no, as it would be 3 to 0. b-1: VolumeBinding says no, as a disk of zone a cannot be \
         attached there. Both nodes have plenty of room; no larger node would help.",
    );
    story.apply(&pod("web-3", "web", "1", spread)).cycles(1).tell(
        "one more in b",
        "web-3 has no disk and goes to b. That wakes web-2, since a pod that counts was added; yet 3 to 1 is still too far \
         apart.",
    );
    story.wait(5);
    story
        .apply(&pod("web-4", "web", "1", spread))
        .cycles(1)
        .tell("and another", "web-4 goes to b, too: 2 to 2.");
    story.wait(15).tell(
        "now it fits",
        "With web-2 it is 3 to 2, one apart. It was bound to a-1, where its disk is. Pods without disks made room for \
         the one with a disk.",
    );
    story.end()
}

fn flush_only() -> Vec<u8> {
    let affinity = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                    kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}, ";
    let tainted = "taints: [{key: retired, effect: NoSchedule}]";
    let manifest = node("n-1", "4", "", tainted)
        + &node("n-2", "4", "", "")
        + &node("n-3", "4", "", "")
        + &pod("cache-0", "cache", "1", &on("n-1", 0))
        + &pod("cache-1", "cache", "1", affinity);
    let mut story = Story::begin("flush-only", &manifest, "", true);
    story.tell(
        "beside its peer",
        "cache-1 must run on the node of another cache pod. The only one is cache-0 on n-1, and n-1 takes nobody any more.",
    );
    story.cycles(1).tell(
        "rejected",
        "n-1 has a taint; on n-2 and n-3 there is no peer. cache-1 waits among the unschedulable pods for an event that \
         would help.",
    );
    story.delete("cache-0");
    story.wait(60).tell(
        "the peer is gone, and nobody says so",
        "Without any peer cache-1 would be the first of its kind, and the first may go anywhere. But when a pod is deleted \
         InterPodAffinity asks about anti-affinity alone: nothing wakes cache-1. It would fit now, and stays where it is.",
    );
    story.wait(180).tell(
        "still waiting",
        "Four minutes later nothing has changed. Whoever looks at the events sees only the first rejection.",
    );
    story.wait(120).tell(
        "the flush",
        "Pods that have waited longer than five minutes are tried again, whatever happened. Every 30 s somebody looks. \
         That has woken cache-1, and it was bound in the same second.",
    );
    story.end()
}

fn gang_permit() -> Vec<u8> {
    let group = |name: &str, n: u32| {
        format!(
            "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {{name: {name}}}\n\
             spec: {{schedulingPolicy: {{gang: {{minCount: {n}}}}}}}\n---\n"
        )
    };
    let member = |name: &str, of: &str, cpu: &str| {
        pod(name, of, cpu, &format!("schedulingGroup: {{podGroupName: {of}}}, "))
    };
    let manifest = node("n-1", "4", "", "") + &node("n-2", "4", "", "") + &member("train-0", "train", "2");
    let mut story = Story::begin("gang-permit", &manifest, "GenericWorkload=true,GangScheduling=true", false);
    story.tell(
        "a gang of three",
        "train-0 belongs to a group that is not there yet. GangScheduling keeps it from the queues: it is gated.",
    );
    story
        .apply(&group("train", 3))
        .apply(&member("train-1", "train", "2"))
        .apply(&member("train-2", "train", "2"));
    story.tell("the gate opens", "The group is there and so are three members: all may be tried.");
    story.cycles(1).tell(
        "the first one waits",
        "A node was found and taken for it, but Permit says Wait: it is held until the gang is complete. Its cpu is taken \
         meanwhile; the pane of waiting pods shows who holds it and until when.",
    );
    story.cycles(1).tell("two of three", "The second one waits, too.");
    story.cycles(1).tell(
        "all at once",
        "With the third the quorum is there. Permit lets all of them go, and all are bound.",
    );
    story
        .apply(&group("late", 2))
        .apply(&member("late-0", "late", "2"))
        .apply(&member("late-1", "late", "2"));
    story.cycles(2).tell(
        "half a gang",
        "2 cpu are left. late-0 has got them and waits at Permit; for late-1 there is no room. The gang cannot be \
         complete, and late-0 sits on what others could use.",
    );
    story.wait(330).tell(
        "the time-out",
        "Permit gives up after five minutes: late-0 is rejected, its cpu is free again, and both are tried anew.",
    );
    story.end()
}

fn backoff_storm() -> Vec<u8> {
    let manifest: String = (0..8).map(|i| pod(&format!("job-{i}"), "job", "500m", "")).collect();
    let mut story = Story::begin("backoff-storm", &manifest, "", true);
    story.tell("no node", "Eight pods and not one node: the cluster's autoscaler is down.");
    story.cycles(8).tell(
        "all have failed",
        "\"No nodes available\" is an error, not a rejection. So the pods are not put among the unschedulable ones to wait \
         for an event: they back off for one second each.",
    );
    story.wait(3).tell(
        "again and again",
        "Each is tried again when its backoff ends, and fails again. Each failure doubles the backoff: 1 s, 2 s, 4 s, 8 s.",
    );
    story.wait(27).tell(
        "the ceiling",
        "10 s is the longest backoff. From now on eight attempts come every ten seconds, for nothing. The backoffs began \
         together, so the attempts come in bursts.",
    );
    story.wait(21);
    story.apply(&node("n-1", "8", "", "")).tell(
        "a node at last",
        "n-1 has room for all of them. But a backoff after an error is not cut short by an event: they still wait.",
    );
    story
        .wait(11)
        .tell("bound", "When their backoffs had ended they were tried once more, and all eight were bound.");
    story.end()
}

type Made = (&'static str, fn() -> Vec<u8>);
const STORIES: [Made; 5] = [
    ("backoff-storm", backoff_storm),
    ("flush-only", flush_only),
    ("gang-permit", gang_permit),
    ("preemption-pdb", preemption_pdb),
    ("spread-volumes", spread_volumes),
];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings").join(format!("{name}.rec.zst"))
}

/// `cargo test --test integration make_the_bundled_recordings -- --ignored`
#[test]
#[ignore = "writes into recordings/"]
fn make_the_bundled_recordings_again() {
    for (name, make) in STORIES {
        std::fs::write(path(name), make()).unwrap();
    }
}

#[test]
fn each_of_them_is_as_it_is_made() {
    let text = |bytes: &[u8]| zstd::stream::decode_all(bytes).unwrap();
    for (name, make) in STORIES {
        let kept = std::fs::read(path(name)).unwrap();
        assert_eq!(
            text(&make()),
            text(&kept),
            "{name}: make it again, see make_the_bundled_recordings_again"
        );
    }
}

#[test]
fn each_of_them_replays_and_reaches_its_markers() {
    for (name, _) in STORIES {
        let bytes = std::fs::read(path(name)).unwrap();
        let (report, outcome) = checked(&bytes);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        assert!(report.digests > 5, "{name}: {report:?}");
        let mut stepper = stepper_on(&bytes, true);
        let timeline = stepper.timeline();
        let (notes, markers): (Vec<_>, Vec<_>) = timeline.marks.iter().partition(|mark| mark.is_note);
        assert!(markers.len() >= 5, "{name}");
        assert_eq!(notes.len(), markers.len(), "{name}: every marker says something");
        for marker in markers {
            stepper.command(Tell::Seek(SeekTo::Marker(marker.text.to_string())));
            assert_eq!(stepper.moment().position, marker.position, "{name}: {}", marker.text);
            assert_eq!(stepper.simulator().elapsed(), marker.elapsed, "{name}: {}", marker.text);
        }
        assert_eq!(stepper.replay_view().unwrap().divergence, None);
    }
}

/// Where the pods of a recording are at a marker, those that are on no node without one.
fn places(name: &str, marker: &str) -> Vec<(String, String)> {
    let mut stepper = stepper_on(&std::fs::read(path(name)).unwrap(), true);
    stepper.command(Tell::Seek(SeekTo::Marker(marker.to_owned())));
    let objects = stepper.simulator().scheduler().objects();
    let place = |pod: &std::sync::Arc<schedscope::api::objects::Pod>| {
        (pod.metadata.name.to_string(), pod.spec.node_name.to_string())
    };
    objects.pods.values().map(place).collect()
}

fn has(places: &[(String, String)], pod: &str, node: &str) -> bool {
    places.iter().any(|(name, place)| name == pod && place == node)
}

#[test]
fn what_the_notes_say_is_what_happened() {
    let at = places("preemption-pdb", "the place is free");
    assert!(has(&at, "critical-0", "n-3") && !at.iter().any(|(name, _)| name == "batch-0"), "{at:?}");
    let at = places("preemption-pdb", "the end");
    assert_eq!(at.len(), 3, "{at:?}");
    assert!(has(&at, "critical-1", "n-2") && has(&at, "critical-2", "n-1"), "{at:?}");

    assert!(has(&places("spread-volumes", "no node satisfies both"), "web-2", ""));
    let at = places("spread-volumes", "one more in b");
    assert!(has(&at, "web-3", "b-1") && has(&at, "web-2", ""), "{at:?}");
    assert!(has(&places("spread-volumes", "now it fits"), "web-2", "a-1"));

    let at = places("flush-only", "still waiting");
    assert_eq!(at, [("cache-1".to_owned(), String::new())]);
    assert_ne!(places("flush-only", "the flush")[0].1, "");

    let at = places("gang-permit", "two of three");
    assert!(at.iter().all(|(_, node)| node.is_empty()), "{at:?}");
    let at = places("gang-permit", "all at once");
    assert!(at.len() == 3 && at.iter().all(|(_, node)| !node.is_empty()), "{at:?}");
    let at = places("gang-permit", "the time-out");
    assert!(has(&at, "late-0", "") && has(&at, "late-1", ""), "{at:?}");

    let at = places("backoff-storm", "a node at last");
    assert!(at.len() == 8 && at.iter().all(|(_, node)| node.is_empty()), "{at:?}");
    let at = places("backoff-storm", "bound");
    assert!(at.iter().all(|(_, node)| node == "n-1"), "{at:?}");
}

/// A gang of three of which one member is let go by hand and one turned down.
#[test]
fn a_persons_word_for_waiting_pods_is_recorded_and_replayed() {
    let group = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: train, namespace: default}\n\
                 spec: {schedulingPolicy: {gang: {minCount: 3}}}\n---\n";
    let mut manifest = node("n-1", "4", "", "") + group;
    for i in 0..3 {
        manifest += &pod(&format!("train-{i}"), "train", "2", "schedulingGroup: {podGroupName: train}, ");
    }
    let mut story = Story::begin("by-hand", &manifest, "GenericWorkload=true,GangScheduling=true", false);
    story.cycles(3);
    let view = story.stepper.simulator().scheduler().view();
    let waiting: Vec<NamespacedName> = view.waiting.iter().map(|row| row.pod.key()).collect();
    assert_eq!(waiting.len(), 2, "there is room for two of three");
    let gang = schedscope::explain::gang(&view, &view.waiting[0].pod).unwrap();
    assert_eq!(gang.n_placed(), 2);
    assert_eq!(
        schedscope::explain::gang_headline(&gang),
        "Gang default/train: 2 of 3 have a place; 1 missing place blocks it: train-2."
    );
    story.stepper.command(Tell::Edit(Edit::Allow(waiting[0].clone())));
    story.stepper.command(Tell::Edit(Edit::Reject(waiting[1].clone())));
    let view = story.stepper.simulator().scheduler().view();
    assert_eq!((view.counts.waiting, view.counts.bound), (0, 1));
    let bytes = story.end();
    let (report, outcome) = checked(&bytes);
    assert!(outcome.is_ok(), "{} after {report:?}", outcome.unwrap_err());
    let text = String::from_utf8(zstd::stream::decode_all(&*bytes).unwrap()).unwrap();
    assert!(text.contains("\"in\":\"allow\"") && text.contains("\"in\":\"reject\""));
}
