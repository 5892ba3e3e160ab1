//! The past of a live session, without a cluster: what the watches would report is told to the engine.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "what another thread does is waited for, and told how long it took"
)]

use std::time::{Duration, Instant};

use schedscope::api::objects::Pod;
use schedscope::api::{Kind, NamespacedName, Object, Time};
use schedscope::driver::desk::Desk;
use schedscope::driver::live::engine::{Engine, Mode};
use schedscope::driver::live::informers::Report;
use schedscope::driver::live::past::{Past, PastView};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::seek::SeekTo;
use schedscope::driver::session::{BackTo, Edit, RecordTo, SessionCommand as Tell};
use schedscope::driver::work::Work;
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Header, Slim};
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::input::Command;
use schedscope::scheduler::view::View;

use super::{checked, default_configuration, header_of};
use crate::support::world::{START, api_of, node, pod};

const KINDS: [Kind; 2] = [Kind::Node, Kind::Pod];

/// A live session of which somebody tells what the watches report, second by second.
struct Cluster {
    engine: Engine,
    past: Past,
    now: Time,
}

impl Cluster {
    fn new(manifest: &str, bytes_max: usize) -> Self {
        let header = Header { start: START, ..header_of(&default_configuration()) };
        let config = default_configuration();
        let profiles = || {
            let made = build_profiles(&config.profiles, &in_tree_registry(), &config.gates).unwrap();
            made.into_values().collect::<Vec<_>>()
        };
        let options = SchedulerOptions::default();
        let engine = Engine::new(profiles(), profiles(), options, &KINDS, Mode::Observe).unwrap();
        let desk = Desk::new(header.clone(), Slim::default(), None);
        let (past, keeper) = Past::start_with(
            engine.scheduler(),
            &header,
            "test".into(),
            Some(desk),
            bytes_max,
            &Work::default(),
        )
        .unwrap();
        let mut cluster = Self { engine: engine.kept(Some(keeper)).remembering(), past, now: START };
        let api = api_of(manifest);
        for kind in KINDS {
            cluster.report(kind, Report::Listing);
            for object in api.objects().iter().filter(|object| object.kind() == kind) {
                cluster.report(kind, Report::Listed(object));
            }
            cluster.report(kind, Report::ListDone);
        }
        cluster
    }

    fn report(&mut self, kind: Kind, report: Report) {
        self.now += Duration::from_secs(1);
        self.engine.report(kind, report, self.now);
        self.engine.flush_past();
    }

    fn create(&mut self, manifest: &str) {
        let api: SandboxApi = api_of(manifest);
        for object in api.objects().iter().filter(|object| KINDS.contains(&object.kind())) {
            let kind = object.kind();
            self.report(kind, Report::Applied(object));
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_secs(1);
        assert!(self.engine.step(Command::ScheduleOne, self.now), "no pod can be tried");
        self.engine.flush_past();
    }

    /// The cluster's own scheduler binds a pod.
    fn bind(&mut self, name: &str, node: &str) {
        let key = NamespacedName::new("default", name);
        let known = self.engine.informers().objects().pods.get(&key).unwrap();
        let mut bound = Pod::clone(known);
        bound.spec.node_name = node.into();
        bound.metadata.resource_version = "later".into();
        self.report(Kind::Pod, Report::Applied(bound.into()));
    }

    /// Asks and waits for what there is to see then.
    fn tell(&mut self, command: Tell) -> PastView {
        assert!(self.past.command(command));
        self.seen()
    }

    fn seen(&mut self) -> PastView {
        let start = Instant::now();
        while self.past.is_waited_for() {
            assert!(start.elapsed() < Duration::from_secs(20), "nothing is answered");
            std::thread::sleep(Duration::from_millis(2));
        }
        (**self.past.views.borrow()).clone()
    }
}

fn digest_of(view: &View) -> (u64, usize, usize) {
    (
        view.counts.cycles,
        view.counts.active + view.counts.backoff + view.counts.unschedulable,
        view.counts.nodes,
    )
}

fn said(past: &PastView) -> String {
    past.notice.as_ref().map(|notice| notice.text.clone()).unwrap_or_default()
}

fn two_pods() -> Cluster {
    Cluster::new(
        &(node("a", "2") + &node("b", "2") + &pod("one", "2", "", "") + &pod("two", "2", "", "")),
        1 << 20,
    )
}

#[test]
fn who_steps_back_sees_the_cluster_as_it_was_while_it_goes_on() {
    let mut cluster = two_pods();
    let before = digest_of(&cluster.engine.scheduler().view());
    cluster.step();
    cluster.step();
    let past = cluster.tell(Tell::Back(BackTo::Cycle));
    assert!(!past.is_at_live && !past.is_fork);
    assert_eq!(past.view.as_ref().unwrap().scheduler.counts.cycles, 1);
    let past = cluster.tell(Tell::Back(BackTo::Cycle));
    let shown = past.view.as_ref().unwrap();
    assert_eq!(digest_of(&shown.scheduler), before);
    assert!(shown.moment.is_past() && shown.moment.is_recorded);
    // The cluster goes on, and what is looked at stays.
    cluster.create(&pod("three", "1", "", ""));
    cluster.bind("one", "b");
    assert_eq!(cluster.engine.scheduler().view().counts.nodes, 2);
    let past = cluster.tell(Tell::StepCycle);
    assert_eq!(past.view.as_ref().unwrap().scheduler.counts.cycles, 1);
    // Going on along what has happened ends at the present moment.
    let mut past = past;
    for _ in 0..10 {
        if past.is_at_live {
            break;
        }
        past = cluster.tell(Tell::StepCycle);
    }
    assert!(past.is_at_live, "{past:?}");
}

#[test]
fn an_attempt_in_the_past_is_gone_through_phase_by_phase_and_nothing_is_asked_of_the_cluster() {
    let mut cluster = two_pods();
    cluster.step();
    let n_withheld = cluster.engine.n_withheld();
    let past = cluster.tell(Tell::Back(BackTo::Phase));
    assert!(past.view.as_ref().unwrap().moment.phases_inside > 1, "{:?}", past.view.as_ref().unwrap().moment);
    cluster.tell(Tell::Back(BackTo::Phase));
    cluster.tell(Tell::StepPhase);
    assert_eq!(cluster.engine.n_withheld(), n_withheld);
    assert_eq!(cluster.engine.take_deeds().count(), 0);
}

#[test]
fn a_fork_is_a_paused_sandbox_with_its_own_cluster() {
    let mut cluster = two_pods();
    cluster.step();
    let live = cluster.engine.scheduler().digest();
    let past = cluster.tell(Tell::Fork);
    assert!(past.is_fork && !past.is_at_live);
    assert!(said(&past).starts_with("forked: branch 1"), "{}", said(&past));
    let edit = |text: String| Tell::Edit(Edit::Apply { source: "test".to_owned(), text });
    cluster.tell(edit(node("c", "64")));
    cluster.tell(edit(pod("mine", "32", "", "")));
    let mut past = cluster.tell(Tell::StepCycle);
    for _ in 0..4 {
        past = cluster.tell(Tell::StepCycle);
    }
    let shown = past.view.as_ref().unwrap();
    let on = |name: &str| {
        let nodes = shown.scheduler.nodes.iter();
        let holds = |pod: &Pod| pod.metadata.name.as_ref() == name;
        let mut found = nodes.filter(|node| node.pods().iter().any(|info| holds(&info.pod)));
        found.next().map(|node| node.name().to_string())
    };
    assert_eq!(on("mine").as_deref(), Some("c"));
    // What was predicted when it began is done in it: the API of the fork is not the cluster's.
    assert_eq!(shown.scheduler.counts.nodes, 3);
    assert_eq!(cluster.engine.scheduler().digest(), live);
    assert_eq!(cluster.engine.informers().objects().count(Kind::Node), 2);
    assert_eq!(cluster.engine.take_deeds().count(), 0);
    // One can go to the live cluster and come back.
    cluster.past.go_to_live();
    assert!(cluster.seen().is_at_live);
    let back = cluster.tell(Tell::ToBranch(1));
    assert_eq!(back.view.as_ref().unwrap().scheduler.counts.nodes, 3);
    assert_eq!(back.branches.len(), 2);
    assert_eq!(back.branches[0].change, "the live cluster");
}

#[test]
fn a_fork_and_the_live_cluster_are_compared_pod_by_pod() {
    let mut cluster = Cluster::new(&(node("a", "2") + &pod("one", "1", "", "")), 1 << 20);
    cluster.tell(Tell::Fork);
    cluster.tell(Tell::Edit(Edit::Cordon("a".into())));
    cluster.step();
    let past = cluster.tell(Tell::Compare(0, 1));
    let (_, comparison) = past.comparison.as_ref().unwrap();
    assert_eq!(comparison.differences.len(), 1, "{comparison:?}");
    assert_eq!(comparison.differences[0].pod, NamespacedName::new("default", "one"));
}

#[test]
fn a_change_in_the_past_begins_a_fork_there() {
    let mut cluster = two_pods();
    cluster.step();
    cluster.tell(Tell::Back(BackTo::Cycle));
    let past = cluster.tell(Tell::Edit(Edit::Cordon("a".into())));
    assert!(past.is_fork, "{}", said(&past));
    assert_eq!(past.view.as_ref().unwrap().scheduler.counts.cycles, 0);
    assert_eq!(cluster.engine.scheduler().view().counts.cycles, 1);
}

#[test]
fn what_is_too_old_is_forgotten_and_a_fork_of_it_stays() {
    let mut cluster = Cluster::new(&(node("a", "2") + &pod("one", "1", "", "")), 100_000);
    cluster.tell(Tell::Fork);
    cluster.tell(Tell::Edit(Edit::Cordon("a".into())));
    cluster.past.go_to_live();
    cluster.seen();
    for i in 0..400 {
        let name = format!("pod-{i}");
        cluster.create(&pod(&name, "1m", "", ""));
        cluster.report(Kind::Pod, Report::Deleted(NamespacedName::new("default", &*name)));
    }
    let past = cluster.tell(Tell::Back(BackTo::Start));
    let moment = past.view.as_ref().unwrap().moment.clone();
    assert!(moment.end < 300, "{moment:?}");
    let (_, bytes) = past.checkpoints;
    assert!(bytes <= 256 << 20, "{bytes}");
    let past = cluster.tell(Tell::ToBranch(1));
    let shown = past.view.as_ref().unwrap();
    assert_eq!((past.is_fork, shown.scheduler.counts.nodes), (true, 1));
    let past = cluster.tell(Tell::StepCycle);
    assert_eq!(past.view.as_ref().unwrap().scheduler.counts.cycles, 1, "it goes on");
}

#[test]
fn a_fork_is_recorded_with_the_way_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = two_pods();
    cluster.step();
    cluster.tell(Tell::Fork);
    let path = folder.path().join("fork.rec");
    let past = cluster.tell(Tell::Record(RecordTo::File(path.clone())));
    assert!(said(&past).starts_with("recording to "), "{}", said(&past));
    cluster.tell(Tell::StepCycle);
    let past = cluster.tell(Tell::StopRecording);
    assert!(said(&past).starts_with("recorded "), "{}", said(&past));
    let (report, outcome) = checked(&std::fs::read(path).unwrap());
    assert!(outcome.is_ok() && report.digests > 0, "{outcome:?} {report:?}");
}

#[test]
fn what_happened_is_saved_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = two_pods();
    cluster.step();
    cluster.engine.mark("here", false);
    let path = folder.path().join("last.rec");
    let header = Header { start: START, ..header_of(&default_configuration()) };
    let options = schedscope::driver::recorder::RecorderOptions::default();
    let (recorder, to) = schedscope::driver::recorder::Recorder::create(&path, &header, options).unwrap();
    let (tap, scheduler) = cluster.engine.tap().unwrap();
    let behind = tap.inputs();
    tap.save(to, behind, scheduler, "saved").unwrap();
    recorder.finish().unwrap();
    let (report, outcome) = checked(&std::fs::read(path).unwrap());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!((report.inputs, report.marks), (behind, 1));
    assert!(cluster.engine.recording_state().is_none(), "nothing is written while nobody asked");
}

#[test]
fn an_object_of_the_live_cluster_leads_back_to_its_last_change() {
    let mut cluster = two_pods();
    cluster.bind("one", "b");
    cluster.create(&pod("three", "1", "", ""));
    let key = NamespacedName::new("default", "one");
    let past = cluster.tell(Tell::Back(BackTo::Change(Kind::Pod, key.clone())));
    assert!(said(&past).contains("was changed from outside"), "{}", said(&past));
    let shown = past.view.as_ref().unwrap();
    let is_there = |object: &Object| object.key() == key;
    assert!(cluster.engine.informers().objects().iter().any(|object| is_there(&object)));
    assert!(shown.moment.is_past());
}

#[test]
fn of_a_live_session_that_is_too_long_a_scheduler_beside_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::new(&(node("a", "4") + &node("b", "4") + &pod("big", "64", "", "")), 100_000);
    for i in 0..60 {
        let name = format!("pod-{i}");
        cluster.create(&pod(&name, "1", "", ""));
        cluster.step();
        cluster.bind(&name, if i % 2 == 0 { "a" } else { "b" });
        cluster.report(Kind::Pod, Report::Deleted(NamespacedName::new("default", &*name)));
    }
    let path = |name: &str| folder.path().join(name);
    cluster.past.record_live(RecordTo::File(path("last.rec")), true);
    let past = cluster.seen();
    assert!(said(&past).starts_with("saved the last "), "{}", said(&past));
    assert!(past.is_at_live && past.recorder.is_none());
    cluster.past.record_live(RecordTo::File(path("on.rec")), false);
    let past = cluster.seen();
    assert!(said(&past).contains("begun anew beside the live one"), "{}", said(&past));
    assert!(past.recorder.is_some());
    let live = cluster.engine.scheduler().digest();
    cluster.create(&pod("late", "1", "", ""));
    cluster.step();
    cluster.bind("late", "b");
    assert_ne!(cluster.engine.scheduler().digest(), live);
    cluster.past.stop_recording_live();
    let past = cluster.seen();
    assert!(said(&past).starts_with("recorded "), "{}", said(&past));
    for name in ["last.rec", "on.rec"] {
        let (report, outcome) = checked(&std::fs::read(path(name)).unwrap());
        assert!(outcome.is_ok() && report.end.is_some(), "{name}: {outcome:?} {report:?}");
    }
    let text = std::fs::read_to_string(path("on.rec")).unwrap();
    assert!(text.contains("late") && text.contains("begun anew beside the live one"), "it went on");
}

/// In a release build on 5,000 nodes a seek takes as long as in a sandbox; here it is held that none has to go through the
/// whole session.
#[test]
fn every_moment_of_a_long_session_is_reached_soon() {
    const PODS: usize = 600;
    let nodes: String = (0..50).map(|i| node(&format!("n{i}"), "64")).collect();
    let mut cluster = Cluster::new(&nodes, 64 << 20);
    for i in 0..PODS {
        let name = format!("p{i}");
        cluster.create(&pod(&name, "100m", "", ""));
        cluster.step();
        cluster.bind(&name, &format!("n{}", i % 50));
    }
    cluster.seen();
    let mut took = Vec::new();
    for i in 0_u16..60 {
        let percent = u8::try_from(i * 37 % 100).unwrap();
        let start = Instant::now();
        let past = cluster.tell(Tell::Seek(SeekTo::Percent(percent)));
        took.push(start.elapsed());
        let cycles = past.view.as_ref().unwrap().scheduler.counts.cycles;
        let expected = PODS as u64 * u64::from(percent) / 100;
        assert!(cycles.abs_diff(expected) < 40, "at {percent} %: {cycles} attempts");
    }
    took.sort_unstable();
    let (median, p95) = (took[took.len() / 2], took[took.len() * 95 / 100]);
    println!("seeks among {PODS} attempts: median {median:?}, p95 {p95:?}, longest {:?}", took[59]);
    assert!(p95 < Duration::from_secs(2), "{p95:?}");
}
