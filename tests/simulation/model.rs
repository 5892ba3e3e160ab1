//! Random commands, one by one, against the scheduler and a model of where each pod has to be.
//!
//! Unlike in a plan nothing happens by itself: calls end when a command says so, in any order, the watch tells when a
//! command says so, and attempts are stepped phase by phase. The model is that of [`super::checks`]: from what the
//! scheduler was told, and what it was answered, it follows in which one place each pod can be.

use std::collections::VecDeque;

use proptest::prelude::*;
use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Pod;
use schedscope::api::{Duration, Kind, Rng, Time};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::framework::extender::ExtenderAnswer;
use schedscope::scheduler::Scheduler;
use schedscope::scheduler::effect::{Effect, EffectKind};
use schedscope::scheduler::input::{Command, Input};

use crate::support::test_plugins::Calls;
use crate::support::world::START;

use super::calls::failure;
use super::checks::{Checks, Violation};
use super::objects::{NodePlan, cluster_objects, pod_plan};
use super::plan::{Plan, Why};
use super::watch::Watches;
use super::world::{do_call, key, scheduler, told};

/// Something that happens. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Move {
    Pod {
        name: usize,
        seed: u64,
    },
    /// The pod's labels change, its gates go, or it is nominated to a node.
    Change {
        name: usize,
        what: usize,
    },
    Delete {
        name: usize,
    },
    End {
        name: usize,
    },
    Node {
        index: usize,
        seed: u64,
    },
    DeleteNode {
        index: usize,
    },
    /// Another object is replaced, or deleted.
    Object {
        index: usize,
        is_deleted: bool,
    },
    /// The watches tell of so many changes.
    Tell {
        n: usize,
    },
    /// A call under way ends.
    Answer {
        index: usize,
        why: Option<Why>,
    },
    Step,
    Phase,
    Wait {
        millis: u64,
    },
    Activate {
        name: usize,
    },
    Allow {
        name: usize,
        is_a: bool,
    },
    Reject {
        name: usize,
        is_by_plugin: bool,
    },
}

fn why() -> impl Strategy<Value = Option<Why>> {
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(Why::Error)),
        1 => Just(Some(Why::Conflict)),
        1 => Just(Some(Why::NotFound)),
        1 => Just(Some(Why::AnswerLost)),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    let name = || 0..6_usize;
    prop_oneof![
        6 => (name(), any::<u64>()).prop_map(|(name, seed)| Move::Pod { name, seed }),
        2 => (name(), 0..4_usize).prop_map(|(name, what)| Move::Change { name, what }),
        1 => name().prop_map(|name| Move::Delete { name }),
        2 => name().prop_map(|name| Move::End { name }),
        1 => (0..3_usize, any::<u64>()).prop_map(|(index, seed)| Move::Node { index, seed }),
        1 => (0..3_usize).prop_map(|index| Move::DeleteNode { index }),
        1 => (0..30_usize, any::<bool>()).prop_map(|(index, is_deleted)| Move::Object { index, is_deleted }),
        8 => (1..6_usize).prop_map(|n| Move::Tell { n }),
        8 => (0..8_usize, why()).prop_map(|(index, why)| Move::Answer { index, why }),
        8 => Just(Move::Step),
        6 => Just(Move::Phase),
        4 => prop_oneof![1..3_000_u64, 20_000..400_000_u64].prop_map(|millis| Move::Wait { millis }),
        1 => name().prop_map(|name| Move::Activate { name }),
        1 => (name(), any::<bool>()).prop_map(|(name, is_a)| Move::Allow { name, is_a }),
        1 => (name(), any::<bool>()).prop_map(|(name, is_by_plugin)| Move::Reject { name, is_by_plugin }),
    ]
}

fn gates() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        "SchedulerAsyncPreemption=false",
        "SchedulerPopFromBackoffQ=false",
        "NominatedNodeNameForExpectation=false",
        "GenericWorkload=true,GangScheduling=true",
    ])
}

struct Model {
    plan: Plan,
    core: Scheduler,
    api: SandboxApi,
    watches: Watches,
    checks: Checks,
    calls: VecDeque<Effect>,
    now: Time,
    inputs: Vec<(Time, Input, u64)>,
}

type Checked = Result<(), Violation>;

impl Model {
    fn new(gates: &'static str) -> Self {
        let plan = Plan { seed: 7, gates, has_extender: false, has_latency: false, ops: Vec::new() };
        let mut model = Self {
            core: scheduler(&plan, &Calls::default()),
            plan,
            api: SandboxApi::default(),
            watches: Watches::default(),
            checks: Checks::default(),
            calls: VecDeque::new(),
            now: START,
            inputs: Vec::new(),
        };
        for (_, _, yaml) in cluster_objects(model.has_groups()) {
            model.apply(&yaml);
        }
        for index in 0..2 {
            model.apply(&NodePlan::new(index, &mut Rng::new(index as u64)).yaml());
        }
        model
    }

    fn has_groups(&self) -> bool {
        self.plan.gates.contains("GangScheduling")
    }

    fn apply(&mut self, yaml: &str) {
        let sources = [Source { name: "model".to_owned(), text: yaml.to_owned() }];
        for object in load(&sources).unwrap().objects {
            self.api.apply(object, self.now).unwrap();
        }
    }

    fn pod(&self, name: usize) -> Option<Pod> {
        let pods = &self.api.objects().pods;
        pods.get(&key(Kind::Pod, &format!("p{name}"))).map(|pod| Pod::clone(pod))
    }

    fn change_pod(&mut self, name: usize, change: impl FnOnce(&mut Pod)) {
        if let Some(mut pod) = self.pod(name) {
            change(&mut pod);
            self.api.apply(pod.into(), self.now).unwrap();
        }
    }

    fn do_move(&mut self, a_move: &Move) -> Checked {
        self.now += Duration::from_micros(1);
        match a_move {
            Move::Pod { name, seed } => {
                if self.pod(*name).is_none() {
                    let plan = pod_plan(&format!("p{name}"), &mut Rng::new(*seed), self.has_groups());
                    self.apply(&plan.yaml());
                }
            }
            Move::Change { name, what } => self.change_pod(*name, |pod| match what {
                0 => pod.spec.scheduling_gates.clear(),
                1 => pod.status.nominated_node_name = "n0".into(),
                2 => _ = pod.metadata.labels.insert("test.schedscope.dev/go".into(), "1".into()),
                _ => _ = pod.metadata.labels.remove("app"),
            }),
            Move::Delete { name } => {
                if self.pod(*name).is_some() {
                    self.api.delete(Kind::Pod, &key(Kind::Pod, &format!("p{name}")), self.now).unwrap();
                }
            }
            Move::End { name } => self.change_pod(*name, |pod| pod.status.phase = "Succeeded".to_owned()),
            Move::Node { index, seed } => {
                self.checks.excuse(&format!("n{index}").as_str().into());
                self.apply(&NodePlan::new(*index, &mut Rng::new(*seed)).yaml());
            }
            Move::DeleteNode { index } => {
                let _ = self.api.delete(Kind::Node, &key(Kind::Node, &format!("n{index}")), self.now);
            }
            Move::Object { index, is_deleted } => {
                let mut objects = cluster_objects(self.has_groups());
                let (kind, name, yaml) = objects.swap_remove(index % objects.len());
                if *is_deleted {
                    let _ = self.api.delete(kind, &key(kind, &name), self.now);
                } else {
                    self.apply(&yaml);
                }
            }
            Move::Tell { n } => {
                self.listen();
                for _ in 0..*n {
                    let Some(input) = self.watches.take(self.api.objects(), self.now) else { break };
                    self.handle(input)?;
                }
            }
            Move::Answer { index, why } => self.answer(*index, *why)?,
            Move::Step => self.handle(Input::Command(Command::ScheduleOne))?,
            Move::Phase => self.handle(Input::Command(Command::NextPhase))?,
            Move::Wait { millis } => self.wait(Duration::from_millis(*millis))?,
            Move::Activate { name } => {
                let key = key(Kind::Pod, &format!("p{name}"));
                let pod = self.core.objects().pods.get(&key).filter(|pod| !pod.is_assigned()).cloned();
                self.handle(Input::Command(Command::Activate(pod.into_iter().collect())))?;
            }
            Move::Allow { name, is_a } => {
                let plugin = if *is_a { "TestPermitA" } else { "TestPermitB" }.to_owned();
                if let Some(pod) = self.pod(*name) {
                    let uid = pod.uid().clone();
                    self.handle(Input::Command(Command::AllowWaitingPod { uid, plugin }))?;
                }
            }
            Move::Reject { name, is_by_plugin } => {
                let plugin = if *is_by_plugin { "TestPermitA" } else { "" }.to_owned();
                if let Some(pod) = self.pod(*name) {
                    let (uid, message) = (pod.uid().clone(), "removed".to_owned());
                    self.handle(Input::Command(Command::RejectWaitingPod { uid, plugin, message }))?;
                }
            }
        }
        Ok(())
    }

    fn listen(&mut self) {
        for event in self.api.take_events() {
            self.watches.tell(event, self.now);
        }
    }

    fn answer(&mut self, index: usize, why: Option<Why>) -> Checked {
        if self.calls.is_empty() {
            return Ok(());
        }
        let Some(Effect { id, kind }) = self.calls.remove(index % self.calls.len()) else { return Ok(()) };
        let lost = why.map(|why| failure(why, "it"));
        let is_done = why.is_none_or(|why| why == Why::AnswerLost);
        let (api, now) = (&mut self.api, self.now);
        let answer = match kind {
            EffectKind::CallExtender(_) => {
                Input::ExtenderAnswered { id, answer: ExtenderAnswer::Failed("not there".to_owned()) }
            }
            EffectKind::Write(write) => {
                if lost.is_some() {
                    self.checks.answer_of_write_lost();
                }
                let result = if is_done {
                    api.carry_out_write(&write, now).map_err(|error| told(&error))
                } else {
                    Ok(write.object)
                };
                Input::Written { id, result: lost.map_or(result, Err) }
            }
            kind => {
                let result = if is_done { do_call(api, &kind, now) } else { Ok(()) };
                if let EffectKind::Bind { uid, node, .. } = &kind
                    && is_done
                    && result.is_ok()
                {
                    if lost.is_some() {
                        self.checks.excuse(node);
                    }
                    self.checks.bound(api, uid, node, now)?;
                }
                Input::EffectDone { id, result: lost.map_or(result, Err) }
            }
        };
        self.handle(answer)
    }

    /// Time goes on, with a stop wherever the scheduler wants one.
    fn wait(&mut self, time: Duration) -> Checked {
        let end = self.now + time;
        while let Some(at) = self.core.poll_timeout().filter(|at| *at <= end) {
            self.now = at.max(self.now + Duration::from_nanos(1));
            self.api.advance(self.now);
            let before = self.inputs.last().map(|(at, input, _)| (*at, input.clone()));
            self.handle(Input::Timeout)?;
            let is_at_rest = before.is_some_and(|(at, input)| at == self.now && input == Input::Timeout);
            assert!(!is_at_rest, "the scheduler asks for {at:?} and nothing comes of it");
        }
        self.now = self.now.max(end);
        self.api.advance(self.now);
        self.handle(Input::Timeout)
    }

    fn handle(&mut self, input: Input) -> Checked {
        self.checks.before(&self.core, &input);
        self.core.handle(self.now, input.clone());
        while let Some(effect) = self.core.poll_effect() {
            if !matches!(effect.kind, EffectKind::Event(_)) {
                self.checks.called(&effect, self.now)?;
                self.calls.push_back(effect);
            }
        }
        self.inputs.push((self.now, input, self.core.digest()));
        self.checks.after(&self.core, &self.api, self.now)
    }

    /// Every call ends well, everything is told, and every pod gets its turns.
    fn come_to_rest(&mut self) -> Checked {
        for pod in self.api.objects().pods.clone().into_values() {
            // Whom plugins hold for ever, or whose node is gone, does not come to rest.
            let is_orphan = pod.is_assigned() && self.api.objects().node(&pod.spec.node_name).is_none();
            if is_orphan || pod.metadata.annotations.keys().any(|key| key.starts_with("test.schedscope.dev/"))
            {
                let mut pod = Pod::clone(&pod);
                pod.status.phase = "Succeeded".to_owned();
                self.api.apply(pod.into(), self.now).unwrap();
            }
        }
        for _ in 0..26 {
            for _ in 0..200 {
                self.do_move(&Move::Tell { n: 50 })?;
                if self.calls.is_empty() && !self.core.can_schedule() {
                    break;
                }
                self.answer(0, None)?;
                if self.core.can_schedule() {
                    self.do_move(&Move::Step)?;
                }
            }
            self.wait(Duration::from_secs(30))?;
        }
        Ok(())
    }
}

/// Feeds another scheduler what the first one got, and compares them at every step.
fn follow(mut core: Scheduler, inputs: &[(Time, Input, u64)]) {
    for (now, input, digest) in inputs {
        core.handle(*now, input.clone());
        while core.poll_effect().is_some() {}
        assert_eq!(core.digest(), *digest, "{input:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pod_is_in_its_one_place_and_comes_to_rest(
        gates in gates(),
        moves in prop::collection::vec(a_move(), 1..120),
    ) {
        let mut model = Model::new(gates);
        for a_move in &moves {
            prop_assert_eq!(model.do_move(a_move), Ok(()));
        }
        prop_assert_eq!(model.come_to_rest(), Ok(()));
        if !model.core.can_schedule() && model.calls.is_empty() {
            // Volumes are waited for: nobody plays the controllers here.
            let n_binding = model.core.view().binding.len();
            prop_assert_eq!(model.core.in_flight_pods().len(), 0);
            prop_assert_eq!(model.core.n_in_flight_events(), 0);
            prop_assert!(model.core.assumed_pods().count() <= n_binding, "assumed for ever");
        }
    }

    #[test]
    fn a_replay_and_a_copy_do_the_same(
        gates in gates(),
        moves in prop::collection::vec(a_move(), 1..80),
        copied_after in 0..80_usize,
    ) {
        let mut model = Model::new(gates);
        let mut copy = None;
        for (index, a_move) in moves.iter().enumerate() {
            let has_lists = |model: &Model| {
                let pods = model.api.objects().pods.values();
                pods.flat_map(|pod| pod.metadata.annotations.values()).any(|value| value.contains(','))
            };
            // Plugins that count their calls outside of the scheduler count those of a copy, too.
            if index == copied_after && !has_lists(&model) {
                copy = Some((model.core.clone(), model.inputs.len()));
                prop_assert_eq!(model.core.clone().digest(), model.core.digest());
            }
            prop_assert_eq!(model.do_move(a_move), Ok(()));
            if has_lists(&model) {
                copy = None;
            }
        }
        follow(scheduler(&model.plan, &Calls::default()), &model.inputs);
        if let Some((copy, at)) = copy {
            follow(copy, &model.inputs[at..]);
        }
    }
}
