//! The arguments of plugins.
//!
//! Those of the plugins of kube-scheduler have types; those of other plugins are kept as they came.

use serde_json::Value;

use super::API_VERSION;
use super::configuration::with_type;
use crate::config::decode::{Decode, Encode, Findings, Path, Slice, object};
use crate::config::document::{self, Entry, Node};
use crate::config::go_text::{GoDuration, quoted};

macro_rules! kinds {
    ($($kind:ident = $plugin:ident, $name:literal;)+) => {
        /// The arguments of a plugin.
        #[derive(Clone, Debug, PartialEq)]
        pub enum PluginArgs {
            $(
                #[doc = concat!("Those of ", $name, ".")]
                $plugin($kind),
            )+
            /// Those of a plugin that is not kube-scheduler's, or that has none there.
            Other(Value),
        }

        impl PluginArgs {
            /// The plugins that have typed arguments, sorted by name.
            pub const PLUGINS: &'static [&'static str] = &[$($name),+];

            /// The arguments of that plugin without any field set; `None` if it has no typed ones.
            pub fn empty(plugin: &str) -> Option<Self> {
                match plugin {
                    $($name => Some(Self::$plugin($kind::default())),)+
                    _ => None,
                }
            }

            fn decode_typed(plugin: &str, node: &Node, path: &Path<'_>, findings: &mut Findings) -> Option<Self> {
                match plugin {
                    $($name => Some(Self::$plugin($kind::decode(node, path, findings))),)+
                    _ => None,
                }
            }

            /// The arguments as a document; typed ones with their `apiVersion` and `kind`.
            pub fn encode(&self) -> Value {
                match self {
                    $(Self::$plugin(args) => with_type(args.encode(), stringify!($kind)),)+
                    Self::Other(value) => value.clone(),
                }
            }
        }
    };
}

kinds! {
    DefaultPreemptionArgs = DefaultPreemption, "DefaultPreemption";
    DynamicResourcesArgs = DynamicResources, "DynamicResources";
    InterPodAffinityArgs = InterPodAffinity, "InterPodAffinity";
    NodeAffinityArgs = NodeAffinity, "NodeAffinity";
    NodeResourcesBalancedAllocationArgs = NodeResourcesBalancedAllocation, "NodeResourcesBalancedAllocation";
    NodeResourcesFitArgs = NodeResourcesFit, "NodeResourcesFit";
    PodTopologySpreadArgs = PodTopologySpread, "PodTopologySpread";
    VolumeBindingArgs = VolumeBinding, "VolumeBinding";
}

impl PluginArgs {
    /// Whether these are arguments of a plugin that takes none.
    pub(in crate::config) fn is_untyped_and_set(&self) -> bool {
        matches!(self, Self::Other(value) if !value.is_null())
    }
}

impl Default for PluginArgs {
    fn default() -> Self {
        Self::Other(Value::Null)
    }
}

impl PluginArgs {
    /// Decodes the arguments of that plugin.
    pub(super) fn decode(
        plugin: &str,
        node: Option<&Node>,
        path: &Path<'_>,
        findings: &mut Findings,
    ) -> Self {
        let missing = Node { value: document::Value::Null, offset: 0 };
        let node = node.unwrap_or(&missing);
        if !Self::PLUGINS.contains(&plugin) {
            findings.untyped(path, node);
            return Self::Other(node.to_json());
        }
        check_type(plugin, node, path, findings);
        let untyped = without_type(node);
        Self::decode_typed(plugin, &untyped, path, findings).unwrap_or_default()
    }
}

/// The mapping without `apiVersion` and `kind`, which are checked by themselves.
pub(in crate::config) fn without_type(node: &Node) -> Node {
    let document::Value::Map(entries) = &node.value else { return node.clone() };
    let is_field = |entry: &&Entry| entry.key != "apiVersion" && entry.key != "kind";
    let fields = entries.iter().filter(is_field).cloned().collect();
    Node { value: document::Value::Map(fields), offset: node.offset }
}

/// `apiVersion` and `kind` may be left out; where they are given they must be those of the plugin's arguments.
fn check_type(plugin: &str, node: &Node, path: &Path<'_>, findings: &mut Findings) {
    let mut text = |name: &'static str| {
        let node = node.get(name).map(|entry| &entry.value);
        let text = node.map(|node| String::decode(node, &Path::Field(path, name), findings));
        (text.unwrap_or_default(), node.map_or(0, |node| node.offset))
    };
    let (api_version, version_offset) = text("apiVersion");
    let (kind, kind_offset) = text("kind");
    let expected = format!("{plugin}Args");
    let (group, _) = API_VERSION.split_once('/').unwrap_or_default();
    let is_default = api_version.is_empty() || api_version == "/" || api_version == format!("{group}/");
    if !is_default && api_version != API_VERSION {
        let kind = if kind.is_empty() { &expected } else { &kind };
        let text = format!(
            "{path}: decoding args for plugin {plugin}: no kind {} is registered for version {}",
            quoted(kind),
            quoted(&api_version)
        );
        findings.wrong(&Path::Field(path, "apiVersion"), version_offset, text);
    } else if !kind.is_empty() && kind != expected {
        let text = format!(
            "{path}: args for plugin {plugin} were not of type {expected}.{group}, got {}.{group}",
            kind.escape_debug()
        );
        findings.wrong(&Path::Field(path, "kind"), kind_offset, text);
    }
}

object! {
    /// The arguments of DefaultPreemption.
    pub struct DefaultPreemptionArgs {
        /// On which part of the nodes (in percent) candidates are looked for at the least.
        pub min_candidate_nodes_percentage: Option<i32> = "minCandidateNodesPercentage" empty,
        /// On how many nodes candidates are looked for at the least.
        pub min_candidate_nodes_absolute: Option<i32> = "minCandidateNodesAbsolute" empty,
    }
}

object! {
    /// The arguments of InterPodAffinity.
    pub struct InterPodAffinityArgs {
        /// The weight of the required affinity of pods that run.
        pub hard_pod_affinity_weight: Option<i32> = "hardPodAffinityWeight" empty,
        /// Whether what pods that run prefer is left out of account for a pod that prefers nothing.
        pub ignore_preferred_terms_of_existing_pods: bool = "ignorePreferredTermsOfExistingPods" always,
    }
}

object! {
    /// The arguments of NodeResourcesFit.
    pub struct NodeResourcesFitArgs {
        /// Extended resources that Filter does not look at.
        pub ignored_resources: Vec<String> = "ignoredResources" empty,
        /// Domains of extended resources that Filter does not look at.
        pub ignored_resource_groups: Vec<String> = "ignoredResourceGroups" empty,
        /// How nodes are scored.
        pub scoring_strategy: Option<ScoringStrategy> = "scoringStrategy" empty,
    }
}

object! {
    /// How NodeResourcesFit scores a node.
    pub struct ScoringStrategy {
        /// `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`.
        pub strategy: String = "type" empty,
        /// The resources that count.
        pub resources: Vec<ResourceSpec> = "resources" empty,
        /// The function of `RequestedToCapacityRatio`.
        pub requested_to_capacity_ratio: Option<RequestedToCapacityRatioParam> = "requestedToCapacityRatio" empty,
    }
}

object! {
    /// The function of `RequestedToCapacityRatio`.
    pub struct RequestedToCapacityRatioParam {
        /// Its points.
        pub shape: Vec<UtilizationShapePoint> = "shape" empty,
    }
}

object! {
    /// A point of a function from utilization to score.
    #[derive(Copy, Eq)]
    pub struct UtilizationShapePoint {
        /// 0 to 100.
        pub utilization: i32 = "utilization" always,
        /// 0 to 10.
        pub score: i32 = "score" always,
    }
}

object! {
    /// A resource and its weight in a score.
    #[derive(Eq)]
    pub struct ResourceSpec {
        /// The resource.
        pub name: String = "name" always,
        /// Its weight, 1 to 100.
        pub weight: i64 = "weight" empty,
    }
}

object! {
    /// The arguments of NodeResourcesBalancedAllocation.
    pub struct NodeResourcesBalancedAllocationArgs {
        /// The resources whose use is to be balanced.
        pub resources: Vec<ResourceSpec> = "resources" empty,
    }
}

object! {
    /// The arguments of PodTopologySpread.
    pub struct PodTopologySpreadArgs {
        /// The constraints of pods that have none.
        pub default_constraints: Vec<TopologySpreadConstraint> = "defaultConstraints" empty,
        /// `System`, or `List` for the ones above.
        pub defaulting_type: String = "defaultingType" empty,
    }
}

object! {
    /// A topology spread constraint of the core API.
    pub struct TopologySpreadConstraint {
        /// By how many pods two domains may differ.
        pub max_skew: i32 = "maxSkew" always,
        /// The label whose values are the domains.
        pub topology_key: String = "topologyKey" always,
        /// `DoNotSchedule` or `ScheduleAnyway`.
        pub when_unsatisfiable: String = "whenUnsatisfiable" always,
        /// The pods that are counted; not allowed in default constraints.
        pub label_selector: Option<LabelSelector> = "labelSelector" empty,
        /// How many domains there must be.
        pub min_domains: Option<i32> = "minDomains" empty,
        /// Whether nodes that the pod's affinity excludes count.
        pub node_affinity_policy: Option<String> = "nodeAffinityPolicy" empty,
        /// Whether nodes whose taints the pod does not tolerate count.
        pub node_taints_policy: Option<String> = "nodeTaintsPolicy" empty,
        /// Labels of the pod that narrow the selector.
        pub match_label_keys: Vec<String> = "matchLabelKeys" empty,
    }
}

/// A label selector of the core API; nothing of it is kept, since no default constraint may have one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LabelSelector;

object! {
    /// An expression of a label selector.
    pub struct LabelSelectorRequirement {
        /// The label.
        pub key: String = "key" always,
        /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
        pub operator: String = "operator" always,
        /// The values.
        pub values: Vec<String> = "values" empty,
    }
}

impl Decode for LabelSelector {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        let mut fields = crate::config::decode::Fields::new(node, path, findings);
        let _: Vec<LabelSelectorRequirement> = fields.take("matchExpressions", findings);
        let _: Labels = fields.take("matchLabels", findings);
        fields.finish(findings);
        Self
    }
}

impl Encode for LabelSelector {
    fn encode(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }
}

/// Labels, checked and not kept.
#[derive(Default)]
struct Labels;

impl Decode for Labels {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match &node.value {
            document::Value::Map(entries) => {
                for entry in entries {
                    String::decode(&entry.value, &Path::Field(path, &entry.key), findings);
                }
            }
            document::Value::Null => {}
            _ => findings.mismatch(path, node, "a mapping"),
        }
        Self
    }
}

object! {
    /// The arguments of VolumeBinding.
    pub struct VolumeBindingArgs {
        /// How long binding may take, in seconds.
        pub bind_timeout_seconds: Option<i64> = "bindTimeoutSeconds" empty,
        /// The function from the use of storage to score; needs the gate StorageCapacityScoring.
        pub shape: Slice<UtilizationShapePoint> = "shape" empty,
    }
}

object! {
    /// The arguments of DynamicResources.
    pub struct DynamicResourcesArgs {
        /// How long Filter may take on one node; 0 means for ever.
        pub filter_timeout: Option<GoDuration> = "filterTimeout" always,
        /// How long PreBind waits for the conditions of devices.
        pub binding_timeout: Option<GoDuration> = "bindingTimeout" empty,
    }
}

object! {
    /// The arguments of NodeAffinity.
    pub struct NodeAffinityArgs {
        /// What every pod requires and prefers besides its own.
        pub added_affinity: Option<NodeAffinity> = "addedAffinity" empty,
    }
}

object! {
    /// Node affinity of the core API.
    pub struct NodeAffinity {
        /// What is required.
        pub required: Option<NodeSelector> = "requiredDuringSchedulingIgnoredDuringExecution" empty,
        /// What is preferred.
        pub preferred: Vec<PreferredSchedulingTerm> = "preferredDuringSchedulingIgnoredDuringExecution" empty,
    }
}

object! {
    /// Alternatives, one of which a node must match.
    pub struct NodeSelector {
        /// The alternatives.
        pub node_selector_terms: Slice<NodeSelectorTerm> = "nodeSelectorTerms" always,
    }
}

object! {
    /// Conditions that a node must match all of.
    pub struct NodeSelectorTerm {
        /// Conditions on labels.
        pub match_expressions: Vec<NodeSelectorRequirement> = "matchExpressions" empty,
        /// Conditions on fields.
        pub match_fields: Vec<NodeSelectorRequirement> = "matchFields" empty,
    }
}

object! {
    /// A condition on a label or a field.
    pub struct NodeSelectorRequirement {
        /// The label or the field.
        pub key: String = "key" always,
        /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
        pub operator: String = "operator" always,
        /// The values.
        pub values: Slice<String> = "values" empty,
    }
}

object! {
    /// A term that is preferred.
    pub struct PreferredSchedulingTerm {
        /// How much, 1 to 100.
        pub weight: i32 = "weight" always,
        /// The term.
        pub preference: NodeSelectorTerm = "preference" always,
    }
}

impl NodeAffinity {
    /// The affinity as the type that nodes are matched with.
    pub fn to_object(&self) -> crate::api::objects::NodeAffinity {
        use crate::api::objects;
        let requirement = |requirement: &NodeSelectorRequirement| objects::NodeSelectorRequirement {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.items().to_vec(),
        };
        let term = |term: &NodeSelectorTerm| objects::NodeSelectorTerm {
            match_expressions: term.match_expressions.iter().map(requirement).collect(),
            match_fields: term.match_fields.iter().map(requirement).collect(),
        };
        objects::NodeAffinity {
            required: self.required.as_ref().map(|selector| objects::NodeSelector {
                node_selector_terms: selector.node_selector_terms.items().iter().map(term).collect(),
            }),
            preferred: self
                .preferred
                .iter()
                .map(|preferred| objects::PreferredSchedulingTerm {
                    weight: preferred.weight,
                    preference: term(&preferred.preference),
                })
                .collect(),
        }
    }
}
