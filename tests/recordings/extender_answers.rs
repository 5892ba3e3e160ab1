//! Extenders are asked once: what they answered is an input, and the last minutes are saved with the same answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schedscope::api::manifest::{Source, load};
use schedscope::api::{Duration, NamespacedName};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::desk::Desk;
use schedscope::driver::recorder::RecordingTap;
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::{ExtenderTransport, Simulator};
use schedscope::driver::session::{Advance, Edit, RecordTo, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::framework::extender::{Extender, ExtenderAnswer, ExtenderCall};
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Header, Slim};
use schedscope::scheduler::SchedulerOptions;

use super::checked;
use super::player::stepper_on;
use crate::support::world::{START, node, pod};

const CONFIG: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n\
    - {urlPrefix: 'http://127.0.0.1:1/ext', filterVerb: filter, nodeCacheCapable: true}\n";

/// Lets every pod onto `b` alone, and counts how often it is asked.
#[derive(Debug, Default)]
struct OnlyB(AtomicUsize);

impl ExtenderTransport for OnlyB {
    fn call(&self, _: &ExtenderCall) -> ExtenderAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        let body = r#"{"NodeNames":["b"],"FailedNodes":{"a":"not this one"},"Error":""}"#;
        ExtenderAnswer::Http { status: 200, body: body.to_owned() }
    }
}

#[test]
fn the_last_minutes_are_saved_with_what_extenders_answered_then_and_nobody_is_called() {
    let registry = in_tree_registry();
    let gates = FeatureGates::default();
    let has_plugin = |name: &str| registry.contains(name);
    let config =
        SchedulerConfig::load(CONFIG, LoadOptions { gates: &gates, has_plugin: &has_plugin }).unwrap();
    let options = SchedulerOptions {
        extenders: Extender::all_from_config(&config.extenders),
        ..SchedulerOptions::default()
    };
    let header = Header::new(&config, &options, START, "test").unwrap();
    let profiles = build_profiles(&config.profiles, &registry, &config.gates).unwrap();
    let sources = [Source { name: "test".to_owned(), text: node("a", "64") + &node("b", "64") }];
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
    let tap = RecordingTap::in_memory_of(20_000);
    let transport = Arc::new(OnlyB::default());
    let simulator =
        Simulator::recorded(profiles.into_values().collect(), options, api, START, Some(tap)).unwrap();
    let shared: Arc<dyn ExtenderTransport> = Arc::<OnlyB>::clone(&transport);
    let mut stepper = Stepper::new(simulator.with_transport(shared));
    stepper.set_desk(Desk::new(header, Slim::default(), None));
    for i in 0..20 {
        let name = format!("pod-{i}");
        stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text: pod(&name, "1", "", "") }));
        stepper.command(Tell::StepCycle);
        stepper.command(Tell::Advance(Advance::By(Duration::from_secs(10))));
        if i % 2 == 0 {
            stepper.command(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", &*name))));
            stepper.command(Tell::Advance(Advance::By(Duration::from_secs(31))));
        }
    }
    let n_calls = transport.0.load(Ordering::Relaxed);
    assert_eq!(n_calls, 20);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("last.rec");
    stepper.command(Tell::SaveLast(RecordTo::File(path.clone())));
    let said = stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default();
    assert!(said.contains("extenders were not called again"), "{said}");
    assert!(said.contains("attempts came out as they did then"), "{said}");
    assert_eq!(transport.0.load(Ordering::Relaxed), n_calls, "nobody was called");
    let bytes = std::fs::read(path).unwrap();
    let (report, outcome) = checked(&bytes);
    assert!(outcome.is_ok() && report.end.is_some(), "{outcome:?} {report:?}");
    let mut replay = stepper_on(&bytes, true);
    replay.command(Tell::ToEnd);
    let on_a = replay.simulator().scheduler().objects().pods.values();
    assert_eq!(on_a.filter(|pod| &*pod.spec.node_name == "a").count(), 0);
}
