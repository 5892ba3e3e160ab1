//! What would bring a pod to a node is what does bring it there: every answer is computed again, or tried.

use std::sync::Arc;

use schedscope::api::Rng;
use schedscope::explain::{self, Behind, ToWin};
use schedscope::framework::runtime::PluginScores;
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::trace::{CycleTrace, ScoreTrace};

use crate::support::test_plugins::Calls;
use crate::support::world::{build, node, pod, sandbox};
use crate::tui::fixture::{self, Stage};

/// The node that has the highest total alone, all totals added up anew.
fn winner(plugins: &[PluginScores], n_nodes: usize) -> Option<usize> {
    let total = |at: usize| -> i64 { plugins.iter().map(|p| p.normalized[at] * p.weight).sum() };
    let best = (0..n_nodes).max_by_key(|at| total(*at))?;
    (0..n_nodes).all(|at| at == best || total(at) < total(best)).then_some(best)
}

fn random_scores(rng: &mut Rng, score: &mut ScoreTrace) {
    let n = score.nodes.len();
    for plugin in &mut score.scores.plugins {
        plugin.weight = 1 + i64::try_from(rng.below(4)).unwrap();
        plugin.normalized = (0..n).map(|_| i64::try_from(rng.below(101)).unwrap()).collect();
        plugin.raw.clone_from(&plugin.normalized);
    }
    let plugins = &score.scores.plugins;
    score.scores.totals =
        (0..n).map(|at| plugins.iter().map(|p| p.normalized[at] * p.weight).sum()).collect();
}

fn behind(trace: &CycleTrace, node: &str) -> Option<Behind> {
    match explain::to_win(trace, node) {
        Some(ToWin::Behind(behind)) => Some(behind),
        _ => None,
    }
}

#[test]
fn the_change_that_is_named_makes_the_node_win_and_a_smaller_one_does_not() {
    let mut rng = Rng::new(9);
    let (mut n_scores, mut n_weights) = (0, 0);
    for _ in 0..300 {
        let mut trace = fixture::trace(Stage::Scored);
        let score = trace.score.as_mut().unwrap();
        random_scores(&mut rng, score);
        let (names, plugins) = (score.nodes.clone(), score.scores.plugins.clone());
        for (at, name) in names.iter().enumerate() {
            let Some(behind) = behind(&trace, name) else { continue };
            let (best, own) = behind.totals;
            let gaps: i64 = behind.gaps.iter().map(|gap| gap.points).sum();
            assert_eq!(gaps + behind.by_extenders, best - own);
            let wins_with = |change: &dyn Fn(&mut PluginScores), plugin: &str| {
                let mut changed = plugins.clone();
                change(changed.iter_mut().find(|scores| scores.plugin == plugin).unwrap());
                winner(&changed, names.len()) == Some(at)
            };
            for gap in &behind.gaps {
                match gap.needed {
                    Some(needed) => {
                        n_scores += 1;
                        assert!(wins_with(&|scores| scores.normalized[at] = needed, gap.plugin));
                        assert!(!wins_with(&|scores| scores.normalized[at] = needed - 1, gap.plugin));
                    }
                    None => assert!(!wins_with(&|scores| scores.normalized[at] = 100, gap.plugin)),
                }
            }
            for scores in &plugins {
                let named = behind.weights.iter().find(|(plugin, ..)| *plugin == scores.plugin);
                let nearest = (1..=100)
                    .filter(|weight| wins_with(&|scores| scores.weight = *weight, scores.plugin))
                    .min_by_key(|weight| (weight - scores.weight).abs());
                assert_eq!(named.map(|(_, _, then)| *then), nearest, "{} of {name}", scores.plugin);
                n_weights += usize::from(nearest.is_some());
            }
        }
    }
    assert!(n_scores > 500 && n_weights > 100, "{n_scores} scores and {n_weights} weights were tried");
}

fn weighted(plugin: &str, weight: i64) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n\
         - schedulerName: default-scheduler\n  plugins:\n    multiPoint:\n      enabled:\n      - name: {plugin}\n        \
         weight: {weight}\n"
    )
}

#[test]
fn under_the_weight_that_is_named_the_scheduler_chooses_the_node() {
    let prefers = ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, \
                   preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [b-1]}]}}]}}";
    let manifest = [node("a-1", "64"), node("b-1", "4"), pod("web", "2", "", prefers)].concat();
    let decide = |config: Option<&str>| {
        let mut simulator = build(&manifest, config, &Calls::default(), SchedulerOptions::default());
        simulator.step_cycle();
        simulator.scheduler().view().cycle.unwrap()
    };
    let trace = decide(None);
    let host = trace.selection.as_ref().unwrap().host.clone();
    let other = if host.as_ref() == "a-1" { "b-1" } else { "a-1" };
    assert_eq!(explain::to_win(&trace, &host), Some(ToWin::Chosen));
    let behind = behind(&trace, other).unwrap();
    assert!(!behind.weights.is_empty());
    for (plugin, _, weight) in behind.weights {
        let chosen = decide(Some(&weighted(plugin, weight)));
        assert_eq!(chosen.selection.as_ref().unwrap().host.as_ref(), other, "{plugin} at {weight}");
    }
}

#[test]
fn a_rejection_is_named_with_all_its_reasons_and_what_was_not_asked_behind_it() {
    let big = "apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {containers: [{name: c, image: i, resources: \
               {requests: {cpu: '8', memory: 100Gi}}}]}\n---\n";
    let mut simulator = sandbox(&[node("a-1", "4"), big.to_owned()].concat());
    simulator.step_cycle();
    let trace: Arc<CycleTrace> = simulator.scheduler().view().cycle.unwrap();
    let Some(ToWin::Rejected { plugin, reasons, sentence, not_asked }) = explain::to_win(&trace, "a-1")
    else {
        unreachable!("the node is too small");
    };
    assert_eq!(plugin, "NodeResourcesFit");
    assert_eq!(reasons, ["Insufficient cpu", "Insufficient memory"]);
    assert!(sentence.contains("cpu 8000m requested"), "{sentence}");
    assert!(!not_asked.contains(&"TaintToleration"), "{not_asked:?} came before");
    assert_eq!(explain::to_win(&trace, "b-1"), None);
}
