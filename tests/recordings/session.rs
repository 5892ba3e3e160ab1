//! Sandboxes in which anything may happen, by a seed.

use schedscope::api::manifest::{Source, load};
use schedscope::api::{Duration, NamespacedName, Rng, Str};
use schedscope::driver::recorder::{Recorder, RecorderOptions, RecordingTap};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::Compression;
use schedscope::scheduler::SchedulerOptions;

use super::{Memory, default_configuration, header_of};
use crate::support::world::START;

/// A sandbox on a manifest, recorded into memory.
pub fn recorded(manifest: &str, options: RecorderOptions) -> (Simulator, Recorder, Memory) {
    let memory = Memory::default();
    let header = header_of(&default_configuration());
    let (recorder, tap) = Recorder::start(Box::new(memory.clone()), &header, options).unwrap();
    (with_tap(manifest, tap), recorder, memory)
}

/// A sandbox on a manifest, that tells the tap what happens.
pub fn with_tap(manifest: &str, tap: RecordingTap) -> Simulator {
    let config = default_configuration();
    let sources = [Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let loaded = load(&sources).unwrap();
    let (api, _) = SandboxApi::from_manifests(loaded, &sources, START).unwrap();
    let profiles = build_profiles(&config.profiles, &in_tree_registry(), &config.gates).unwrap();
    let profiles = profiles.into_values().collect();
    Simulator::recorded(profiles, SchedulerOptions::default(), api, START, Some(tap)).unwrap()
}

/// A sandbox in which people and time do what they like, recorded until it has had so many inputs.
pub struct Session {
    rng: Rng,
    pub simulator: Simulator,
    recorder: Recorder,
    memory: Memory,
    n_pods: usize,
    n_nodes: usize,
}

impl Session {
    pub fn new(seed: u64, compression: Compression) -> Self {
        let mut rng = Rng::new(seed);
        let nodes: String = (0..12).map(|number| node(number, &mut rng)).collect();
        let pods: String = (0..20).map(|number| pod(number, &mut rng)).collect();
        let extra = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n\
                     spec: {selector: {matchLabels: {app: a}}, minAvailable: 1}\nstatus: {disruptionsAllowed: 1}\n---\n\
                     apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {selector: {app: b}}\n---\n";
        let options = RecorderOptions { compression, digest_interval_min: 20, ..RecorderOptions::default() };
        let (simulator, recorder, memory) = recorded(&(nodes + &pods + extra), options);
        Self { rng, simulator, recorder, memory, n_pods: 20, n_nodes: 12 }
    }

    /// Goes on until so many inputs were recorded.
    pub fn run(&mut self, n_inputs: u64) {
        while self.simulator.n_recorded() < n_inputs {
            self.act();
        }
    }

    /// Ends the recording.
    pub fn finish(mut self) -> Vec<u8> {
        self.simulator.finish_recording("the test is over");
        self.recorder.finish().unwrap();
        self.memory.bytes()
    }

    fn act(&mut self) {
        match self.rng.below(100) {
            0..50 => _ = self.simulator.step_cycle(),
            50..65 => _ = self.simulator.step_phase(),
            65..75 => {
                let by = Duration::from_millis(1 + self.rng.below(20_000) as u64);
                let to = self.simulator.now() + by;
                self.simulator.advance_to(to, |_| true);
            }
            75..86 => {
                let text = pod(self.n_pods, &mut self.rng);
                self.n_pods += 1;
                self.edit(&Edit::Apply { source: "test".to_owned(), text });
            }
            86..93 => {
                let pods: Vec<NamespacedName> = self.simulator.api().objects().pods.keys().cloned().collect();
                if pods.len() > 10 {
                    let pod = pods[self.rng.below(pods.len())].clone();
                    self.edit(&Edit::DeletePod(pod));
                }
            }
            93 => {
                let text = node(self.n_nodes, &mut self.rng);
                self.n_nodes += 1;
                self.edit(&Edit::Apply { source: "test".to_owned(), text });
            }
            94 => {
                if self.simulator.api().objects().nodes.len() > 8 {
                    let node = self.any_node();
                    self.edit(&Edit::DeleteNode(node));
                }
            }
            95 => {
                let node = self.any_node();
                self.edit(&Edit::Cordon(node));
            }
            96 => {
                let node = self.any_node();
                self.edit(&Edit::Uncordon(node));
            }
            97 => {
                let (node, sign) = (self.any_node(), ["", "-"][self.rng.below(2)]);
                self.edit(&Edit::Taint { node, taint: format!("dedicated:NoSchedule{sign}") });
            }
            98 => {
                let (node, zone) = (self.any_node(), self.rng.below(4));
                self.edit(&Edit::Label { node, label: format!("topology.kubernetes.io/zone=z{zone}") });
            }
            _ => self.simulator.note("a word about it"),
        }
    }

    fn any_node(&mut self) -> Str {
        let nodes: Vec<Str> =
            self.simulator.api().objects().nodes.keys().map(|key| key.name.clone()).collect();
        nodes[self.rng.below(nodes.len())].clone()
    }

    /// Changes the cluster, or tries to.
    fn edit(&mut self, edit: &Edit) {
        let _ = self.simulator.edit(edit);
    }
}

fn node(number: usize, rng: &mut Rng) -> String {
    let (zone, cpu) = (rng.below(3), 2 + rng.below(7));
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: node-{number}, labels: {{kubernetes.io/hostname: node-{number}, \
         topology.kubernetes.io/zone: z{zone}, disk: d{}}}}}\n\
         status: {{allocatable: {{cpu: '{cpu}', memory: {}Gi, pods: '{}'}}}}\n---\n",
        rng.below(2),
        4 << rng.below(4),
        3 + rng.below(20),
    )
}

fn pod(number: usize, rng: &mut Rng) -> String {
    let app = ["a", "b", "c"][rng.below(3)];
    let spec = match rng.below(10) {
        0 => "nodeSelector: {disk: d0}".to_owned(),
        1 => "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: \
              {matchLabels: {app: a}}, topologyKey: kubernetes.io/hostname}]}}"
            .to_owned(),
        2 => "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, podAffinityTerm: \
              {labelSelector: {matchLabels: {app: b}}, topologyKey: topology.kubernetes.io/zone}}]}}"
            .to_owned(),
        3 => format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: {}, \
             labelSelector: {{matchLabels: {{app: {app}}}}}}}]",
            ["DoNotSchedule", "ScheduleAnyway"][rng.below(2)]
        ),
        4 => "tolerations: [{key: dedicated, operator: Exists}]".to_owned(),
        5 => "schedulingGates: [{name: example.com/wait}]".to_owned(),
        6 => "priority: 0, terminationGracePeriodSeconds: 30".to_owned(),
        _ => format!("priority: {}", rng.below(4) * 100),
    };
    let cpu = ["100m", "0.5", "1", "1500m", "3"][rng.below(5)];
    let memory = ["128Mi", "0.5Gi", "1e9", "2Gi"][rng.below(4)];
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{number}, labels: {{app: {app}}}, annotations: {{a: b}}}}\n\
         spec: {{containers: [{{name: c, image: 'registry.example.com/{app}:1', resources: {{requests: {{cpu: '{cpu}', \
         memory: '{memory}'}}}}}}], {spec}}}\n---\n"
    )
}
