//! Scenarios: equal to the same edits by hand, taken back and done again, files that are read strictly, and those that
//! come with the program.

use std::sync::Arc;

use schedscope::api::{Duration, Object};
use schedscope::config::FeatureGates;
use schedscope::driver::runner::{run_and_see, run_to_rest};
use schedscope::driver::sandbox::scenario::bundled::BUNDLED;
use schedscope::driver::sandbox::scenario::file::{Elsewhere, ScenarioFile, read};
use schedscope::driver::sandbox::scenario::plan::Deed;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::{Advance, BackTo, Edit, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::scheduler::SchedulerOptions;

use crate::support::test_plugins::Calls;
use crate::support::world::{build, sandbox};

fn no_file(name: &str) -> Result<String, String> {
    Err(format!("{name}: there is no such file"))
}

fn no_recording(name: &str) -> Result<Vec<(Duration, Object)>, String> {
    Err(format!("{name}: there is no such recording"))
}

fn try_read(name: &str, text: &str) -> Result<ScenarioFile, String> {
    let elsewhere = Elsewhere { file: &no_file, recording: &no_recording };
    read(name, text, elsewhere).map_err(|errors| errors.to_string())
}

fn started(file: &ScenarioFile) -> Simulator {
    let manifests: Vec<&str> = file.manifests.iter().map(|source| source.text.as_str()).collect();
    let gates = FeatureGates::parse(&file.feature_gates).unwrap();
    let options = SchedulerOptions { gates, ..SchedulerOptions::default() };
    build(&manifests.join("\n---\n"), None, &Calls::default(), options).with_scenario(Arc::clone(&file.plan))
}

fn run(file: &ScenarioFile) -> Simulator {
    let mut simulator = started(file);
    run_and_see(&mut simulator, file.plan.attempt, &mut |_, _| true);
    simulator
}

const CLUSTER: &str = "
cluster:
  objects:
  - {apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}
  - {apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}
";

#[test]
fn a_scenario_does_what_the_same_edits_by_hand_do() {
    let text = format!(
        "{CLUSTER}
attempt: 0s
steps:
- {{at: 10s, do: cordon a}}
- at: 20s
  apply: {{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c, image: i}}]}}}}
- {{at: 30s, do: [uncordon a, drain b]}}
"
    );
    let file = try_read("x.yaml", &text).unwrap();
    let by_scenario = run(&file);
    let manifests: Vec<&str> = file.manifests.iter().map(|source| source.text.as_str()).collect();
    let mut by_hand = sandbox(&manifests.join("\n---\n"));
    let start = by_hand.start();
    let steps = file.plan.steps.clone();
    for step in &steps {
        let at = start + step.at;
        while by_hand.next_timeout().is_some_and(|(next, _)| next < at) {
            by_hand.go_to_next_timeout();
        }
        by_hand.let_time_go_to(at);
        let Deed::Edit(edit) = &step.deed else { unreachable!() };
        by_hand.edit(edit).unwrap();
        run_to_rest_of_attempts(&mut by_hand);
    }
    run_to_rest(&mut by_hand);
    let told = |simulator: &Simulator| -> Vec<(String, String)> {
        let pods = simulator.api().objects().pods.values();
        pods.map(|pod| (pod.key().to_string(), pod.spec.node_name.to_string())).collect()
    };
    assert_eq!(told(&by_scenario), told(&by_hand));
    let nodes = |simulator: &Simulator| {
        simulator.api().objects().nodes.values().map(|it| it.spec.clone()).collect::<Vec<_>>()
    };
    assert_eq!(nodes(&by_scenario), nodes(&by_hand));
}

fn run_to_rest_of_attempts(simulator: &mut Simulator) {
    while simulator.step_cycle() {}
}

#[test]
fn a_scenario_can_be_taken_back_and_does_the_same_again() {
    let text = format!(
        "{CLUSTER}
seed: 3
lasts: 10m
arrivals:
- name: web
  process: poisson
  rate: 6/m
  lifetime: mean 1m
  object: {{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: '1'}}}}}}]}}}}
steps:
- {{at: 3m, do: drain a}}
- {{at: 5m, do: uncordon a}}
"
    );
    let file = try_read("x.yaml", &text).unwrap();
    let mut stepper = Stepper::new(started(&file));
    let mut digests = Vec::new();
    for _ in 0..30 {
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(20))));
        for _ in 0..8 {
            stepper.command(Tell::StepCycle);
        }
        digests.push((stepper.moment().position, stepper.simulator().scheduler().digest()));
    }
    assert!(stepper.simulator().scenario().unwrap().arrived().any(|(_, n)| n > 30));
    stepper.command(Tell::Back(BackTo::Start));
    let wanted = digests.last().copied().unwrap();
    stepper.command(Tell::ToEnd);
    assert_eq!((stepper.moment().position, stepper.simulator().scheduler().digest()), wanted);
    // Another way from the middle is a branch, and the scenario goes on in it.
    stepper.command(Tell::ToElapsed(Duration::from_secs(60)));
    let arrived =
        |stepper: &Stepper| stepper.simulator().scenario().unwrap().arrived().map(|(_, n)| n).sum::<u64>();
    let before = arrived(&stepper);
    stepper.command(Tell::Edit(Edit::Cordon("b".into())));
    stepper.command(Tell::Advance(Advance::By(Duration::from_secs(60))));
    assert_eq!(stepper.moment().branch, 1);
    assert!(arrived(&stepper) > before);
}

#[test]
fn equal_seeds_give_equal_runs_and_other_seeds_do_not() {
    let text = |seed: u64| {
        format!(
            "{CLUSTER}
seed: {seed}
lasts: 5m
arrivals:
- process: bursts
  every: 1m
  size: 1-4
  within: 20s
  object: {{apiVersion: v1, kind: Pod, metadata: {{name: job}}, spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 500m}}}}}}]}}}}
"
        )
    };
    let digest = |seed| run(&try_read("x.yaml", &text(seed)).unwrap()).scheduler().digest();
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn what_is_expected_and_not_so_is_told_with_what_is() {
    let text = format!(
        "{CLUSTER}
steps:
- at: 1s
  apply: {{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c, image: i}}]}}}}
- at: 5s
  expect:
  - {{pod: web, placed: true}}
  - {{pod: web, pending: Insufficient cpu}}
  - {{pods: 'default/*', placed: '>=2'}}
  - {{pod: lost, gone: true}}
finally:
- {{nodes: 2}}
- {{preempted: '>0'}}
"
    );
    let file = try_read("x.yaml", &text).unwrap();
    let simulator = run(&file);
    let scenario = simulator.scenario().unwrap();
    assert!(!scenario.is_moving());
    let told: Vec<String> = scenario
        .findings()
        .iter()
        .filter_map(|finding| finding.differs.as_ref())
        .map(|(wanted, found)| format!("{wanted}: {found}"))
        .collect();
    assert_eq!(scenario.n_failed(), 3);
    assert!(
        told[0].starts_with("pod default/web pending because of \"Insufficient cpu\": it is on "),
        "{told:?}"
    );
    assert_eq!(told[1], "at least 2 of pods default/* on a node: 1 are");
    assert_eq!(told[2], "at least 1 evicted pods: 0");
}

#[test]
fn a_file_is_read_strictly_and_all_mistakes_are_told_with_line_and_field() {
    let text = "name: x
cluster: {generate: {nodes: 3, pods: 9, zone: 2}}
sead: 3
steps:
- {at: soon, do: cordon a}
- {at: 5m, do: explode a}
- {at: 5m}
- {at: 5m, mark: x, note: y}
- {at: 5m, expect: {pod: web}}
- {at: 5m, expect: {pods: '*', placed: many}}
arrivals:
- {process: poisson, rate: fast, count: 3, object: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}}
- {process: tidal, count: 3, object: {kind: Pod}}
- {process: every, every: 1s, object: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}}
";
    let told = try_read("bad.yaml", text).unwrap_err();
    let lines: Vec<&str> = told.lines().collect();
    for expected in [
        "bad.yaml:2: cluster.generate.zone: there is no such field; known are nodes, pods, zones, seed,",
        "bad.yaml:3: sead: there is no such field",
        "bad.yaml:5: steps[0].at: a duration such as 90s, 5m or 1h30m is expected, not the text \"soon\"",
        "bad.yaml:6: steps[1].do: \"explode\" is no change",
        "bad.yaml:7: steps[2]: nothing happens: write do, apply, mark, note or expect",
        "bad.yaml:8: steps[3]: a step is one of do, apply, mark, note or expect",
        "bad.yaml:9: steps[4].expect: say one of placed: true, node",
        "bad.yaml:10: steps[5].expect.placed: a number such as 3",
        "bad.yaml:12: arrivals[0].rate: a rate such as 30/m",
        "bad.yaml:13: arrivals[1].process: \"tidal\" is no process",
        "bad.yaml:14: arrivals[2]: it never ends: say until or count",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}\n{told}");
    }
    let told = try_read("bad.toml", "seed = 1\nseed = 2\n").unwrap_err();
    assert!(told.starts_with("bad.toml:2: "), "{told}");
    let told =
        try_read("bad.toml", "[cluster]\nsample = true\n[[steps]]\nat = \"1m\"\nnot = 3\n").unwrap_err();
    assert!(told.contains("bad.toml:5: steps[0].not: there is no such field"), "{told}");
    assert!(try_read("bad.yaml", "seed: [").unwrap_err().starts_with("bad.yaml:1: "));
}

#[test]
fn toml_and_yaml_say_the_same() {
    let yaml =
        "name: x\ncluster: {sample: true}\nlasts: 1h\nsteps: [{at: 1m, do: cordon a-1}, {at: 2m, mark: m}]\n";
    let toml = "name = 'x'\nlasts = '1h'\n[cluster]\nsample = true\n[[steps]]\nat = '1m'\ndo = 'cordon a-1'\n[[steps]]\nat = '2m'\nmark = 'm'\n";
    let (yaml, toml) = (try_read("x.yaml", yaml).unwrap(), try_read("x.toml", toml).unwrap());
    let deeds =
        |file: &ScenarioFile| file.plan.steps.iter().map(|it| (it.at, it.deed.clone())).collect::<Vec<_>>();
    assert_eq!(deeds(&yaml), deeds(&toml));
    assert_eq!((yaml.manifests, yaml.plan.lasts), (toml.manifests, toml.plan.lasts));
}

#[test]
fn the_scenarios_that_come_with_the_program_come_out_as_they_expect() {
    for bundled in BUNDLED {
        let file = try_read(&format!("{}.toml", bundled.name), bundled.text)
            .unwrap_or_else(|error| unreachable!("{}: {error}", bundled.name));
        assert_eq!(&*file.plan.about, bundled.about);
        let simulator = run(&file);
        let scenario = simulator.scenario().unwrap();
        let said: Vec<_> = scenario.said().filter(|said| said.is_error).collect();
        assert!(said.is_empty(), "{}: {said:?}", bundled.name);
        assert_eq!(scenario.n_failed(), 0, "{}", bundled.name);
        assert!(!scenario.is_moving(), "{}", bundled.name);
    }
}
