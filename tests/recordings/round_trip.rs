//! What is written is read as it was.

use std::sync::Arc;

use proptest::prelude::*;
use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::{Container, ContainerPort, Pod, PodCondition, ResourceRequirements};
use schedscope::api::{Object, Quantity, Rng, Str, Time};
use schedscope::config::{FeatureGates, PluginCatalog, ReadOptions, SchedulerConfig};
use schedscope::framework::extender::ExtenderAnswer;
use schedscope::recording::{Compression, Header, READ_ANNOTATIONS, Record, Slim};
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::effect::{ApiFailure, ApiFailureReason, EffectId};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::turns::Strand;
use serde_json::json;

use super::{header_of, recording_of, records};
use crate::conformance::archive::read_packed;
use crate::support::world::START;

fn inputs_of(bytes: &[u8]) -> Vec<(Time, Input)> {
    let inputs = records(bytes).into_iter().filter_map(|record| match record {
        Record::Input { at, input, .. } => Some((at, *input)),
        _ => None,
    });
    inputs.collect()
}

/// All of them must be read as they were, plain and compressed.
fn survive(inputs: &[(Time, Input)], slim: &Slim) {
    for compression in [Compression::None, Compression::Zstd] {
        let read = inputs_of(&recording_of(inputs, compression, slim.clone()));
        assert_eq!(read.len(), inputs.len());
        for (read, written) in read.iter().zip(inputs) {
            assert_eq!(read, written);
            assert_eq!(spelled(&read.1), spelled(&written.1), "{written:?}");
        }
    }
}

/// The amounts of an object with their shapes, which equality does not look at.
fn spelled(input: &Input) -> Vec<String> {
    let (Input::Added(Object::Pod(pod)) | Input::Deleted(Object::Pod(pod))) = input else {
        return Vec::new();
    };
    let containers = pod.spec.containers.iter().flat_map(|container| container.resources.requests.values());
    containers.chain(pod.spec.overhead.values()).map(|quantity| quantity.spelling()).collect()
}

/// All annotations of the objects are kept.
fn keeping_all(inputs: &[(Time, Input)]) -> Slim {
    let objects = inputs.iter().flat_map(|(_, input)| match input {
        Input::Added(object) | Input::Deleted(object) => vec![object],
        Input::Updated { old, new } => vec![old, new],
        _ => Vec::new(),
    });
    Slim {
        kept_annotations: objects
            .flat_map(|object| object.metadata().annotations.keys())
            .map(ToString::to_string)
            .collect(),
    }
}

/// Added, changed, changed back by somebody who has seen something else, and deleted.
fn story_of(objects: &[Object]) -> Vec<(Time, Input)> {
    let mut inputs = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        let at = START + schedscope::api::Duration::from_nanos(i as u64 * 7);
        let mut changed = object.clone();
        changed.metadata_mut().resource_version = format!("{i}-changed");
        inputs.push((at, Input::Added(object.clone())));
        inputs.push((at, Input::Updated { old: object.clone(), new: changed.clone() }));
        inputs.push((at, Input::Updated { old: object.clone(), new: changed.clone() }));
        inputs.push((at, Input::Deleted(if i % 2 == 0 { changed } else { object.clone() })));
        inputs.push((at, Input::Deleted(object.clone())));
    }
    inputs
}

/// The inputs with what a scheduler reads of their objects.
fn as_kept(inputs: &[(Time, Input)], kept: &Slim) -> Vec<(Time, Input)> {
    let slim = |object: &Object| kept.object(object).into_owned();
    let inputs = inputs.iter().map(|(at, input)| {
        let input = match input {
            Input::Added(object) => Input::Added(slim(object)),
            Input::Updated { old, new } => Input::Updated { old: slim(old), new: slim(new) },
            Input::Deleted(object) => Input::Deleted(slim(object)),
            other => other.clone(),
        };
        (*at, input)
    });
    inputs.collect()
}

#[test]
fn every_object_of_the_golden_clusters_survives() {
    let mut n_objects = 0;
    for archive in ["decide.tar.zst", "extenders.tar.zst"] {
        for (case, files) in read_packed(archive) {
            let sources: Vec<Source> = files
                .iter()
                .filter(|(name, _)| matches!(name.as_str(), "cluster.yaml" | "pending.yaml"))
                .map(|(name, text)| Source { name: format!("{case}/{name}"), text: text.clone() })
                .collect();
            let Ok(loaded) = load(&sources) else { continue };
            n_objects += loaded.objects.len();
            let inputs = story_of(&loaded.objects);
            let kept = keeping_all(&inputs);
            let read = inputs_of(&recording_of(&inputs, Compression::None, kept.clone()));
            assert!(read == as_kept(&inputs, &kept), "{case}");
        }
    }
    assert!(n_objects > 2_000, "{n_objects} objects");
}

#[test]
fn every_kind_of_input_survives() {
    let pod = Arc::new(any_pod(&mut Rng::new(3)));
    let failure = |reason| ApiFailure { reason, message: "pods \"a\" not found\n".to_owned() };
    let inputs = [
        Input::Timeout,
        Input::EffectDone { id: EffectId(7), result: Ok(()) },
        Input::EffectDone { id: EffectId(u64::MAX), result: Err(failure(ApiFailureReason::NotFound)) },
        Input::EffectDone { id: EffectId(0), result: Err(failure(ApiFailureReason::Conflict)) },
        Input::Written { id: EffectId(8), result: Ok(Object::Pod(Arc::clone(&pod))) },
        Input::Written { id: EffectId(9), result: Err(failure(ApiFailureReason::Other)) },
        Input::ExtenderAnswered {
            id: EffectId(10),
            answer: ExtenderAnswer::Http {
                status: 200,
                body: "{\"NodeNames\":[\"\u{1F980}\\\"]}\0\r\n".to_owned(),
            },
        },
        Input::ExtenderAnswered { id: EffectId(11), answer: ExtenderAnswer::Failed("timeout".to_owned()) },
        Input::Command(Command::ScheduleOne),
        Input::Command(Command::NextPhase),
        Input::Command(Command::GoOn(Strand::Preemption(Str::from("u")))),
        Input::Command(Command::GoOn(Strand::Binding(Str::from("")))),
        Input::Command(Command::GoOn(Strand::BackoffFlush)),
        Input::Command(Command::GoOn(Strand::LeftoverFlush)),
        Input::Command(Command::Activate(vec![])),
        Input::Command(Command::Activate(vec![Arc::clone(&pod), pod])),
        Input::Command(Command::AllowWaitingPod { uid: Str::from("u"), plugin: "P".to_owned() }),
        Input::Command(Command::RejectWaitingPod {
            uid: Str::from(""),
            plugin: String::new(),
            message: "no".to_owned(),
        }),
    ];
    let times = [0, 1, 1_767_225_600_000_000_001, u64::MAX - 1, u64::MAX].into_iter().cycle();
    let inputs: Vec<(Time, Input)> = times.map(Time::from_nanos).zip(inputs).collect();
    survive(&inputs, &Slim::default());
}

/// A pod with anything in any of its fields.
fn any_pod(rng: &mut Rng) -> Pod {
    let text = |rng: &mut Rng| {
        let n = rng.below(5);
        let characters =
            ["a", "-", "/", ".", "\"", "\\", "\n", "\u{0}", "é", "\u{1F980}", "\u{202e}", " ", "{", "\u{7f}"];
        (0..n).map(|_| characters[rng.below(characters.len())]).collect::<String>()
    };
    let quantity = |rng: &mut Rng| -> Quantity {
        let spellings = [
            "0",
            "0.5",
            "0.50",
            "500m",
            "1.5Gi",
            "1536Mi",
            "1e3",
            "12E-3",
            "-1",
            "123456789012345678901",
            "0.0Ki",
            "1n",
            "0.1Ki",
            "99999999999999999999Ei",
            "1024",
            "3.000",
        ];
        spellings[rng.below(spellings.len())].parse().unwrap()
    };
    let numbers = [
        json!(0.1),
        json!(1e300),
        json!(-0.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(5e-324),
        json!(0.30000000000000004),
    ];
    let mut pod = Pod::default();
    let metadata = &mut pod.metadata;
    metadata.name = text(rng).into();
    metadata.namespace = text(rng).into();
    metadata.uid = text(rng).into();
    metadata.resource_version = text(rng);
    metadata.generation = rng.next_u64().cast_signed();
    for _ in 0..rng.below(3) {
        metadata.labels.insert(text(rng).into(), text(rng).into());
        let annotation = READ_ANNOTATIONS[rng.below(READ_ANNOTATIONS.len())];
        metadata.annotations.insert(annotation.into(), text(rng).into());
    }
    metadata.creation_timestamp = (rng.below(2) == 0).then(|| Time::from_nanos(rng.next_u64()));
    metadata.deletion_timestamp = (rng.below(4) == 0).then(|| Time::from_secs(rng.below(1 << 30) as u64));
    let spec = &mut pod.spec;
    spec.node_name = text(rng).into();
    spec.priority = (rng.below(2) == 0).then(|| i32::try_from(rng.below(1 << 20)).unwrap());
    spec.host_users = [None, Some(true), Some(false)][rng.below(3)];
    for _ in 0..rng.below(4) {
        let port = ContainerPort {
            container_port: i32::MIN,
            host_port: i32::MAX,
            host_ip: text(rng),
            protocol: text(rng),
        };
        let container = Container {
            name: text(rng).into(),
            image: text(rng).into(),
            resources: ResourceRequirements {
                requests: [(text(rng).into(), quantity(rng))].into(),
                limits: [(text(rng).into(), quantity(rng))].into(),
                claims: Vec::new(),
            },
            ports: vec![port],
            ..Container::default()
        };
        spec.containers.push(container);
        spec.overhead.insert(text(rng).into(), quantity(rng));
    }
    for _ in 0..rng.below(3) {
        let source = json!({"number": numbers[rng.below(numbers.len())], "text": text(rng), "null": null, "list": [[], {}]});
        spec.volumes.push([("name".to_owned(), json!(text(rng))), (text(rng), source)].into_iter().collect());
    }
    pod.status.phase = text(rng);
    pod.status.start_time = (rng.below(2) == 0).then(|| Time::from_nanos(rng.next_u64()));
    pod.status.conditions = (0..rng.below(2))
        .map(|_| PodCondition {
            type_: text(rng),
            status: text(rng),
            message: text(rng),
            ..PodCondition::default()
        })
        .collect();
    pod
}

proptest! {
    #[test]
    fn whatever_is_in_a_pod_survives(seed: u64, nanos: u64) {
        let mut rng = Rng::new(seed);
        let pods: Vec<Object> = (0..5).map(|_| Object::from(any_pod(&mut rng))).collect();
        let mut inputs = story_of(&pods);
        inputs[0].0 = Time::from_nanos(nanos);
        survive(&inputs, &Slim::default());
    }
}

#[test]
fn every_configuration_makes_a_header_of_which_the_same_scheduler_is_made() {
    let mut n_configurations = 0;
    for (_, files) in read_packed("config.tar.zst").into_iter().chain(read_packed("decide.tar.zst")) {
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".yaml")) {
            let gates = FeatureGates::default();
            let catalog = PluginCatalog::default();
            let options = ReadOptions { source: name, gates: &gates, catalog: &catalog };
            let Ok(config) = SchedulerConfig::read(text, options) else { continue };
            n_configurations += 1;
            let header = header_of(&config);
            let again = header.configuration(&|_| true).unwrap();
            assert_eq!(again.profiles, config.profiles, "{name}");
            assert_eq!(again.gates, config.gates);
        }
    }
    assert!(n_configurations > 50, "{n_configurations} configurations");
}

#[test]
fn gates_and_what_was_left_out_are_kept() {
    let gates = FeatureGates::parse("GenericWorkload=true,GangScheduling=true").unwrap();
    let mut config = SchedulerConfig::default_under(&gates);
    config.leave_out_unbuilt(&|name| name != "ImageLocality");
    let options = SchedulerOptions { seed: 77, gates, ..SchedulerOptions::default() };
    let header = Header::new(&config, &options, START, "x").unwrap();
    assert_eq!(header.left_out, ["ImageLocality"]);
    let again = header.configuration(&|_| true).unwrap();
    assert_eq!((again.profiles, again.gates), (config.profiles, gates));
    assert_eq!(header.options().unwrap().seed, 77);
}
