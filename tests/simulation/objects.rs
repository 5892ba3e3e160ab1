//! The objects of a simulated cluster, as manifests.

use schedscope::api::{Kind, Rng};

use super::plan::{one_in, pick};

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePlan {
    pub name: String,
    /// In cores.
    pub cpu: usize,
    pub zone: usize,
    pub is_cordoned: bool,
    pub taint: Option<&'static str>,
    /// Has the label for which pods wait that TestPermitB has turned down.
    pub has_room: bool,
}

impl NodePlan {
    pub fn new(index: usize, rng: &mut Rng) -> Self {
        Self {
            name: format!("n{index}"),
            cpu: 2 + rng.below(3),
            zone: index % 2,
            is_cordoned: one_in(rng, 10),
            taint: one_in(rng, 6).then(|| pick(rng, &["NoSchedule", "PreferNoSchedule"])),
            has_room: one_in(rng, 3),
        }
    }

    pub fn yaml(&self) -> String {
        let Self { name, cpu, zone, .. } = self;
        let room = if self.has_room { ", test.schedscope.dev/room: 'yes'" } else { "" };
        let taints = self.taint.map(|effect| format!("{{key: kept, value: 'yes', effect: {effect}}}"));
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}, \
             topology.kubernetes.io/zone: z{zone}{room}}}}}\nspec: {{unschedulable: {}, taints: [{}]}}\nstatus: \
             {{allocatable: {{cpu: '{cpu}', memory: 16Gi, pods: '8'}}, capacity: {{cpu: '{cpu}', memory: 16Gi, pods: \
             '8'}}}}\n",
            self.is_cordoned,
            taints.unwrap_or_default(),
        )
    }

    pub fn simpler(&self) -> Vec<Self> {
        let plain = Self { is_cordoned: false, taint: None, has_room: false, ..self.clone() };
        if plain == *self { Vec::new() } else { vec![plain] }
    }
}

/// A pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodPlan {
    pub name: String,
    /// In thousandths of a core.
    pub cpu: usize,
    pub priority: i32,
    /// Seconds that it may take to end.
    pub grace: u64,
    pub features: Vec<Feature>,
    pub tolerates: bool,
    pub is_labelled: bool,
    /// The value of the label that wakes it when TestPermitA has turned it down.
    pub go: usize,
}

/// Something that makes a pod special.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    Spread,
    AntiAffinity,
    Affinity,
    HostPort(usize),
    Zone(usize),
    Gated,
    Volume(usize),
    Devices(usize),
    Group(usize),
    NeverPreempts,
    /// A test plugin acts: the annotation and its value.
    Plugin(&'static str, &'static str),
}

/// What test plugins do to pods.
const PLUGINS: [(&str, &str); 14] = [
    ("permit-a", "wait=10s"),
    ("permit-a", "wait=2m"),
    ("permit-b", "wait=30s"),
    ("permit-b", "wait=0s"),
    ("permit-a", "unschedulable,success"),
    ("permit-b", "unschedulable"),
    ("permit-a", "error,success"),
    ("reserve-a", "unschedulable,success"),
    ("reserve-b", "error,success"),
    ("prebind", "slow=4s"),
    ("prebind", "stubborn=20s"),
    ("prebind", "slow-error=3s,success"),
    ("prebind", "unschedulable,success"),
    ("preflight", "error,success"),
];

pub fn pod_plan(name: &str, rng: &mut Rng, has_groups: bool) -> PodPlan {
    let mut features = Vec::new();
    for _ in 0..rng.below(3) {
        features.push(match rng.below(15) {
            0 => Feature::Spread,
            1 => Feature::AntiAffinity,
            2 => Feature::Affinity,
            3 => Feature::HostPort(8080 + rng.below(2)),
            4 => Feature::Zone(rng.below(2)),
            5 => Feature::Gated,
            6 | 7 => Feature::Volume(rng.below(VOLUMES)),
            8 | 9 => Feature::Devices(rng.below(CLAIMS)),
            10 => Feature::NeverPreempts,
            _ => {
                let (annotation, value) = pick(rng, &PLUGINS);
                Feature::Plugin(annotation, value)
            }
        });
    }
    if has_groups && one_in(rng, 2) {
        features.push(Feature::Group(rng.below(GROUPS)));
    }
    PodPlan {
        name: name.to_owned(),
        cpu: pick(rng, &[250, 500, 1_000, 1_000, 1_500, 2_000]),
        priority: pick(rng, &[0, 0, 0, 10, 100]),
        grace: pick(rng, &[0, 0, 5, 30]),
        features,
        tolerates: one_in(rng, 4),
        is_labelled: !one_in(rng, 3),
        go: 0,
    }
}

impl PodPlan {
    pub fn yaml(&self) -> String {
        let (mut labels, mut annotations) = (String::new(), String::new());
        let (mut spec, mut ports, mut pod_affinity, mut pod_anti) =
            (String::new(), String::new(), String::new(), String::new());
        let mut has_volume = false;
        let mut has_claim = false;
        if self.is_labelled {
            labels.push_str("app: web, ");
        }
        if self.go > 0 {
            labels.push_str(&format!("test.schedscope.dev/go: '{}', ", self.go));
        }
        let web = "labelSelector: {matchLabels: {app: web}}";
        for feature in &self.features {
            match feature {
                Feature::Spread if !spec.contains("topologySpread") => spec.push_str(&format!(
                    ", topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, \
                     whenUnsatisfiable: DoNotSchedule, {web}}}]"
                )),
                Feature::AntiAffinity => pod_anti = format!("{{topologyKey: kubernetes.io/hostname, {web}}}"),
                Feature::Affinity => {
                    pod_affinity = format!("{{topologyKey: topology.kubernetes.io/zone, {web}}}")
                }
                Feature::HostPort(port) => {
                    ports = format!(", ports: [{{containerPort: 80, hostPort: {port}, protocol: TCP}}]");
                }
                Feature::Zone(zone) if !spec.contains("nodeSelector") => {
                    spec.push_str(&format!(", nodeSelector: {{topology.kubernetes.io/zone: z{zone}}}"));
                }
                Feature::Gated if !spec.contains("schedulingGates") => {
                    spec.push_str(", schedulingGates: [{name: example.com/hold}]");
                }
                Feature::Volume(index) if !has_volume => {
                    has_volume = true;
                    spec.push_str(&format!(
                        ", volumes: [{{name: v, persistentVolumeClaim: {{claimName: c{index}}}}}]"
                    ));
                }
                Feature::Devices(index) if !has_claim => {
                    has_claim = true;
                    spec.push_str(&format!(", resourceClaims: [{{name: r, resourceClaimName: d{index}}}]"));
                }
                Feature::Group(index) if !spec.contains("schedulingGroup") => {
                    spec.push_str(&format!(", schedulingGroup: {{podGroupName: g{index}}}"));
                }
                Feature::NeverPreempts if !spec.contains("preemptionPolicy") => {
                    spec.push_str(", preemptionPolicy: Never");
                }
                Feature::Plugin(annotation, value) if !annotations.contains(annotation) => {
                    annotations.push_str(&format!("test.schedscope.dev/{annotation}: '{value}', "));
                }
                _ => {}
            }
        }
        if !pod_affinity.is_empty() || !pod_anti.is_empty() {
            let required = "requiredDuringSchedulingIgnoredDuringExecution";
            spec.push_str(&format!(
                ", affinity: {{podAffinity: {{{required}: [{pod_affinity}]}}, podAntiAffinity: {{{required}: \
                 [{pod_anti}]}}}}"
            ));
        }
        if self.tolerates {
            spec.push_str(", tolerations: [{key: kept, operator: Exists}]");
        }
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: default, labels: {{{labels}}}, annotations: \
             {{{annotations}}}}}\nspec: {{priority: {}, terminationGracePeriodSeconds: {}, containers: [{{name: c, \
             image: i, resources: {{requests: {{cpu: {}m, memory: 64Mi}}}}{ports}}}]{spec}}}\n",
            self.name, self.priority, self.grace, self.cpu
        )
    }

    pub fn simpler(&self) -> Vec<Self> {
        let mut simpler = Vec::new();
        for index in 0..self.features.len() {
            let mut plan = self.clone();
            plan.features.remove(index);
            simpler.push(plan);
        }
        if self.priority != 0 {
            simpler.push(Self { priority: 0, ..self.clone() });
        }
        if self.grace != 0 || self.tolerates || self.is_labelled {
            simpler.push(Self { grace: 0, tolerates: false, is_labelled: false, ..self.clone() });
        }
        simpler
    }
}

const VOLUMES: usize = 6;
const CLAIMS: usize = 3;
const GROUPS: usize = 2;

/// Everything but nodes and pods: kind, name and manifest.
pub fn cluster_objects(has_groups: bool) -> Vec<(Kind, String, String)> {
    let mut objects = Vec::new();
    let mut add = |kind: Kind, name: String, body: String| {
        let namespace = if kind.is_namespaced() { ", namespace: default" } else { "" };
        let yaml = format!(
            "apiVersion: {}\nkind: {kind}\nmetadata: {{name: {name}{namespace}}}\n{body}\n",
            kind.api_version()
        );
        objects.push((kind, name, yaml));
    };
    add(
        Kind::PodDisruptionBudget,
        "web".to_owned(),
        "spec: {selector: {matchLabels: {app: web}}}\nstatus: {disruptionsAllowed: 1}".to_owned(),
    );
    for (name, provisioner, mode) in [
        ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        ("csi", "csi.example.com", "WaitForFirstConsumer"),
        ("now", "csi.example.com", "Immediate"),
    ] {
        add(
            Kind::StorageClass,
            name.to_owned(),
            format!("provisioner: {provisioner}\nvolumeBindingMode: {mode}"),
        );
    }
    for index in 0..4 {
        let node = index % 3;
        add(
            Kind::PersistentVolume,
            format!("local-{index}"),
            format!(
                "spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteOnce], storageClassName: local, \
                 persistentVolumeReclaimPolicy: Retain, local: {{path: /mnt}}, nodeAffinity: {{required: \
                 {{nodeSelectorTerms: [{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: \
                 [n{node}]}}]}}]}}}}}}\nstatus: {{phase: Available}}"
            ),
        );
    }
    for index in 0..VOLUMES {
        let class = ["local", "csi", "local", "csi", "now", "local"][index % 6];
        let mode = if index == 3 { "ReadWriteOncePod" } else { "ReadWriteOnce" };
        add(
            Kind::PersistentVolumeClaim,
            format!("c{index}"),
            format!(
                "spec: {{accessModes: [{mode}], storageClassName: {class}, resources: {{requests: {{storage: 1Gi}}}}}}"
            ),
        );
    }
    for index in 0..3 {
        add(
            Kind::CSINode,
            format!("n{index}"),
            format!(
                "spec: {{drivers: [{{name: csi.example.com, nodeID: n{index}, topologyKeys: [kubernetes.io/hostname], \
                 allocatable: {{count: 2}}}}]}}"
            ),
        );
        add(
            Kind::ResourceSlice,
            format!("n{index}-gpu"),
            format!(
                "spec: {{driver: gpu.example.com, nodeName: n{index}, pool: {{name: n{index}, generation: 1, \
                 resourceSliceCount: 1}}, devices: [{{name: g0}}, {{name: g1}}]}}"
            ),
        );
    }
    add(
        Kind::DeviceClass,
        "gpu".to_owned(),
        "spec: {selectors: [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}".to_owned(),
    );
    for index in 0..CLAIMS {
        add(
            Kind::ResourceClaim,
            format!("d{index}"),
            format!(
                "spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: {}}}}}]}}}}",
                1 + index % 2
            ),
        );
    }
    if has_groups {
        for index in 0..GROUPS {
            add(
                Kind::PodGroup,
                format!("g{index}"),
                format!("spec: {{schedulingPolicy: {{gang: {{minCount: {}}}}}}}", 2 + index),
            );
        }
    }
    objects
}
