//! The words of the console in two sentences each, with where the documentation has more.
//!
//! It knows plugins, extension points, steps of an attempt, status codes, queues and the main fields, and says what
//! they are in general; what they did in an attempt, the other modules of [`explain`](crate::explain) say. Titles are
//! those of pages of kubernetes.io/docs; a KEP is named by its number in kubernetes/enhancements.

use crate::config::plugin_names;
use crate::framework::About;
use crate::scheduler::trace::Phase;
use crate::scheduler::view::{OwnPlugin, View};

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordKind {
    /// A plugin of kube-scheduler.
    Plugin,
    /// A plugin of somebody's own.
    OwnPlugin,
    /// An extension point of the Scheduling Framework.
    ExtensionPoint,
    /// A step of an attempt that calls no plugin.
    Step,
    /// A code of an answer.
    Code,
    /// A place where pods wait.
    Queue,
    /// A field of an object, or a number that the scheduler keeps.
    Field,
}

impl WordKind {
    /// In a word or two, such as `plugin`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::OwnPlugin => "plugin of this program",
            Self::ExtensionPoint => "extension point",
            Self::Step => "step",
            Self::Code => "status code",
            Self::Queue => "queue",
            Self::Field => "field",
        }
    }
}

/// A word and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The word, as Kubernetes spells it.
    pub word: &'static str,
    /// What kind of word it is.
    pub kind: WordKind,
    /// Two sentences.
    pub text: &'static str,
    /// Where there is more, by name.
    pub see: &'static str,
}

impl Entry {
    /// The sentences and where there is more, as a text of two paragraphs.
    pub fn body(&self) -> String {
        if self.see.is_empty() {
            return self.text.to_owned();
        }
        let is_ours = self.kind == WordKind::OwnPlugin || self.see.starts_with("KEP-");
        let site = if is_ours { "" } else { "kubernetes.io/docs: " };
        format!("{}\n\nMore: {site}{}", self.text, self.see)
    }
}

/// What the word means; capitals, blanks, dashes and dots do not matter.
pub fn entry(word: &str) -> Option<&'static Entry> {
    let wanted = folded(word);
    // Some words differ by their capitals alone, such as the code Unschedulable and the queue.
    let exact = ENTRIES.iter().find(|entry| entry.word == word);
    exact.or_else(|| ENTRIES.iter().find(|entry| folded(entry.word) == wanted))
}

/// A plugin that is not kube-scheduler's, as it explains itself.
fn own_entry(plugin: &OwnPlugin) -> Entry {
    const SILENT: About = About {
        text: "It is none of kube-scheduler's plugins, and it has no words for itself. Its authors know what it does.",
        see: "",
    };
    let about = plugin.about.unwrap_or(SILENT);
    Entry { word: plugin.name, kind: WordKind::OwnPlugin, text: about.text, see: about.see }
}

/// The words of a session: every word, and the plugins that are there and not kube-scheduler's.
pub fn entries_of(view: &View) -> impl Iterator<Item = Entry> {
    view.own_plugins.iter().map(own_entry).chain(ENTRIES.iter().copied())
}

/// What the word means in a session; capitals, blanks, dashes and dots do not matter.
pub fn entry_of(view: &View, word: &str) -> Option<Entry> {
    let wanted = folded(word);
    let own = view.own_plugins.iter().find(|plugin| folded(plugin.name) == wanted);
    own.map(own_entry).or_else(|| entry(word).copied())
}

/// Whether the session, or kube-scheduler, has a plugin of exactly that name.
pub fn is_plugin(view: &View, name: &str) -> bool {
    plugin_names::is_in_tree(name) || view.own_plugins.iter().any(|plugin| plugin.name == name)
}

/// The step of an attempt at which there is the most to see of a plugin: what it does at each node, or else the first at
/// which it is called.
pub fn first_phase(view: &View, plugin: &str) -> Phase {
    if let Some(own) = view.own_plugins.iter().find(|own| own.name == plugin) {
        return if own.scores && !own.filters { Phase::Score } else { Phase::Filter };
    }
    let points = plugin_names::in_tree_points(plugin).unwrap_or(&[]);
    let is_at = |phase: &Phase| points.iter().any(|point| point.as_str() == phase.as_str());
    [Phase::Filter, Phase::Score].into_iter().chain(Phase::ALL).find(is_at).unwrap_or(Phase::Filter)
}

/// Letters and digits alone, small.
fn folded(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

macro_rules! entries {
    ($($kind:ident { $($word:literal: $text:literal, $see:literal;)+ })+) => {
        /// Every word, by kinds.
        pub const ENTRIES: &[Entry] = &[$($(
            Entry { word: $word, kind: WordKind::$kind, text: $text, see: $see },
        )+)+];
    };
}

entries! {
    Plugin {
        "PrioritySort": "It orders activeQ: the higher priority first, and among equals the pod that has been in the \
            queue for longer. Exactly one plugin can do that, and every profile must have the same one.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (QueueSort)";
        "SchedulingGates": "It keeps a pod out of activeQ while its spec.schedulingGates is not empty. Whoever set a \
            gate takes it away; nothing else lets the pod in.",
            "Scheduling, Preemption and Eviction / Pod Scheduling Readiness; KEP-3521";
        "NodeUnschedulable": "It turns down nodes that are cordoned (spec.unschedulable), unless the pod tolerates the \
            taint node.kubernetes.io/unschedulable. Preemption cannot help there.",
            "Architecture / Nodes (Manual Node administration)";
        "NodeName": "It turns down every node but the one that the pod names in spec.nodeName. Such a pod is mostly \
            bound already, so that this seldom decides.",
            "Scheduling, Preemption and Eviction / Assigning Pods to Nodes (nodeName)";
        "TaintToleration": "It turns down nodes with a taint NoSchedule or NoExecute that the pod does not tolerate. \
            Among the others it prefers those with fewer taints PreferNoSchedule that the pod does not tolerate.",
            "Scheduling, Preemption and Eviction / Taints and Tolerations; KEP-5471 (operators Lt and Gt)";
        "NodeAffinity": "It turns down nodes that do not match the pod's nodeSelector and required node affinity. The \
            weights of the preferred terms that a node matches are its points.",
            "Scheduling, Preemption and Eviction / Assigning Pods to Nodes (Node affinity)";
        "NodePorts": "It turns down nodes on which another pod uses a host port that the pod asks for. The same port \
            with another protocol, or on another host address, is no conflict.",
            "Configuration / Configuration Good Practices (hostPort)";
        "NodeResourcesFit": "It turns down nodes on which the pod's requests are more than what is allocatable minus what \
            the pods there request. Its points favour empty nodes (LeastAllocated), full ones (MostAllocated) or a \
            shape of one's own (RequestedToCapacityRatio).",
            "Configuration / Resource Management for Pods and Containers; Scheduling, Preemption and Eviction / Resource \
            Bin Packing";
        "NodeResourcesBalancedAllocation": "It prefers nodes on which CPU, memory and so on would be used to similar \
            parts once the pod is there. It turns no node down.",
            "Reference / Scheduling / Scheduler Configuration (NodeResourcesBalancedAllocation)";
        "ImageLocality": "It prefers nodes that have the pod's images already, large ones above all. An image that few \
            nodes have counts for less, so that not all its pods come to the same node.",
            "Reference / Scheduling / Scheduler Configuration (ImageLocality)";
        "InterPodAffinity": "It turns down nodes whose topology domain has, or lacks, pods that the pod's required \
            (anti-)affinity is about; the anti-affinity of pods that run there counts too. Preferred terms give \
            points, in both directions.",
            "Scheduling, Preemption and Eviction / Assigning Pods to Nodes (Inter-pod affinity and anti-affinity); \
            KEP-3633 (matchLabelKeys)";
        "PodTopologySpread": "It turns down nodes where the pod would make the skew between domains larger than maxSkew, \
            for constraints with DoNotSchedule. For those with ScheduleAnyway it prefers domains with fewer matching \
            pods.",
            "Scheduling, Preemption and Eviction / Pod Topology Spread Constraints; KEP-895, KEP-3022 (minDomains), \
            KEP-3094 (node inclusion)";
        "VolumeRestrictions": "It turns down nodes where a disk is in use in a way that does not allow a second pod, such \
            as a GCE or AWS disk. For claims with ReadWriteOncePod it turns down everything while another pod uses \
            them, which preemption can change.",
            "Storage / Persistent Volumes (Access Modes); KEP-2485 (ReadWriteOncePod)";
        "NodeVolumeLimits": "It turns down nodes that would have more volumes of a CSI driver attached than the node's \
            CSINode allows. Volumes that are attached already count once.",
            "Storage / Node-specific Volume Limits";
        "VolumeBinding": "It turns down nodes where the pod's claims can neither use their volume nor find or be given \
            one. In Reserve it chooses volumes, and in PreBind it waits until the claims are bound.",
            "Storage / Storage Classes (Volume Binding Mode), Storage / Storage Capacity; KEP-1472, KEP-4049 (scoring)";
        "VolumeZone": "It turns down nodes outside of the zone or region of a volume that the pod uses. The labels of \
            the PersistentVolume say which that are.",
            "Best practices / Running in multiple zones (Storage access)";
        "DynamicResources": "It turns down nodes whose devices cannot satisfy the pod's ResourceClaims, and remembers an \
            allocation for each of the others. In PreBind that allocation and the reservation for the pod are \
            written into the claims.",
            "Scheduling, Preemption and Eviction / Dynamic Resource Allocation; KEP-4381";
        "DefaultPreemption": "When no node fits it looks for nodes where evicting pods of lower priority would make room, \
            as few and as unimportant as can be. The pod is nominated to the node chosen and tried again once the \
            victims are gone.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption; KEP-4832 (asynchronous)";
        "DefaultBinder": "It writes the binding of pod and node to the API server. After that the kubelet of the node \
            starts the pod.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Bind)";
        "NodeDeclaredFeatures": "It turns down nodes that do not declare a feature that the pod needs in \
            status.declaredFeatures. That keeps pods off kubelets that are too old for them.",
            "Architecture / Nodes (Node declared features); KEP-5328";
        "GangScheduling": "It keeps the pods of a PodGroup out of activeQ until there are minCount of them, and in Permit \
            until so many have found a node. So either enough of them start, or none.",
            "Workloads / Workload API, Scheduling, Preemption and Eviction / Gang Scheduling; KEP-4671";
        "TopologyPlacementGenerator": "For a PodGroup with a topology constraint it proposes one placement for each domain \
            of the topology key. The group is then tried in each placement.",
            "Scheduling, Preemption and Eviction / Topology-Aware Workload Scheduling; KEP-5732";
        "PodGroupPodsCount": "It prefers the placement in which more pods of the group find a node. It gives points to \
            placements, not to nodes.",
            "Scheduling, Preemption and Eviction / Topology-Aware Workload Scheduling; KEP-5732";
    }
    ExtensionPoint {
        "PreEnqueue": "Plugins are asked before a pod may enter activeQ; if one refuses, the pod waits with the \
            unschedulable ones. It is no failed attempt, and no condition Unschedulable is set for it.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PreEnqueue); KEP-624";
        "QueueSort": "One plugin says which of two pods in activeQ is to be tried first. It is the same for all profiles, \
            as they share the queue.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (QueueSort)";
        "PreFilter": "Each plugin looks at the pod once, and may end the attempt, narrow the search to some nodes, or be \
            left out of Filter (Skip). What it computes here it uses for each node.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PreFilter)";
        "Filter": "Each plugin says of a node whether the pod can run there; the first that refuses decides, and the \
            others are not asked. In large clusters the search stops when enough nodes are found.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Filter), Scheduler Performance Tuning";
        "PostFilter": "It is called when no node is left, to make room for a later attempt; the first plugin that can ends \
            it. Preemption happens here.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PostFilter)";
        "PreScore": "Each plugin looks at the nodes that are left and computes what its points need. It may be left out \
            of Score (Skip).",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PreScore)";
        "Score": "Each plugin gives each node that is left a raw score, which it normalizes to 0 to 100. Times the \
            plugin's weight, and added up, that is the node's total.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Scoring, NormalizeScore)";
        "Reserve": "Plugins set aside in memory what the pod will use on its node, so that no other attempt counts on it. \
            If anything fails later, Unreserve is called in the opposite order.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Reserve)";
        "Permit": "Plugins let the pod pass, turn it down, or hold it for a time that they name. A pod that is held waits \
            beside the queue, and the next attempt begins meanwhile.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Permit)";
        "PreBind": "Plugins do what must be done before the pod is bound, such as binding volumes or claims. If one fails, \
            the pod is unreserved and goes back to the queue.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PreBind)";
        "Bind": "Plugins are asked in turn to bind the pod to its node; the first that does not skip does it. It comes \
            after all PreBind plugins have succeeded.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Bind)";
        "PostBind": "Plugins are told that the pod is bound, to clean up. They cannot change anything about it any more.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (PostBind)";
        "PlacementGenerate": "For a PodGroup, plugins propose placements: sets of nodes in which the whole group is to \
            find room. Each is tried on its own.",
            "Scheduling, Preemption and Eviction / Topology-Aware Workload Scheduling; KEP-5732";
        "PlacementScore": "Each plugin gives each placement in which the group finds room a score. The placement with the \
            highest total is taken.",
            "Scheduling, Preemption and Eviction / Topology-Aware Workload Scheduling; KEP-5732";
    }
    Step {
        "Pop": "The first pod is taken out of activeQ, and a snapshot of the nodes is made that the whole attempt looks \
            at. If activeQ is empty, the first pod of backoffQ is taken before its time.",
            "Scheduling, Preemption and Eviction / Kubernetes Scheduler; KEP-5142 (pop from backoffQ)";
        "Select": "The node with the highest total is chosen. Among several with the same total chance decides.",
            "Scheduling, Preemption and Eviction / Kubernetes Scheduler (Node selection)";
        "Assume": "The scheduler's cache counts the pod on its node before the API server knows of it. So the next attempt \
            can begin while the binding is under way.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Scheduling cycle & binding cycle)";
        "WaitOnPermit": "The pod waits until every Permit plugin that holds it lets it go. If one rejects it, or its time \
            is over, the pod is unreserved and goes back to the queue.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Permit)";
    }
    Code {
        "Success": "The plugin ran and has no objection. Where a plugin says nothing, this is meant.",
            "Scheduling, Preemption and Eviction / Scheduling Framework";
        "Error": "Something failed inside of the scheduler, or a call did, so that the attempt ends. The pod is tried \
            again after a backoff; the cluster need not change for that.",
            "Scheduling, Preemption and Eviction / Scheduling Framework";
        "Unschedulable": "The pod cannot run there as things are, but could if pods there went away. Preemption looks at \
            such nodes.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption";
        "UnschedulableAndUnresolvable": "The pod cannot run there, and evicting pods would not change that. Preemption \
            leaves such nodes out.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption";
        "Wait": "A Permit plugin holds the pod for a time. It waits on its node's behalf, with everything reserved.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Permit)";
        "Skip": "The plugin has nothing to do for this pod and is left out of what follows: Filter after PreFilter, Score \
            after PreScore. In Bind it means that the next plugin is asked.",
            "Scheduling, Preemption and Eviction / Scheduling Framework";
        "Pending": "The pod waits for something outside of the scheduler, such as a controller's answer. When the plugin's \
            hint says that it is there, the pod goes to activeQ without a backoff.",
            "KEP-4247 (queueing hints)";
    }
    Queue {
        "activeQ": "Pods that can be tried now, in the order of the QueueSort plugin. The first one is taken by the next \
            attempt.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (QueueSort)";
        "backoffQ": "Pods that may be tried again when their backoff is over: 1 second after the first failed attempt, \
            twice as long after each further one, 10 seconds at most (as configured). If activeQ is empty, they are \
            taken earlier.",
            "Reference / Scheduling / Scheduler Configuration (podInitialBackoffSeconds, podMaxBackoffSeconds); KEP-5142";
        "unschedulable": "Pods that were turned down and wait for an event that may help, or are gated. An event that a \
            plugin's queueing hint takes for helpful moves them; after 5 minutes they are tried again anyway.",
            "KEP-4247 (queueing hints)";
        "waiting": "Pods that have a node and are held by a Permit plugin. They go on to PreBind, or back to the queue.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Permit)";
        "binding": "Pods whose binding cycle is under way: PreBind, Bind, PostBind. Their node counts them already.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Scheduling cycle & binding cycle)";
        "inFlight": "Pods that are being tried, with the events that happened meanwhile. If the attempt fails, those events \
            decide at once whether the pod may be tried again.",
            "KEP-4247 (queueing hints)";
    }
    Field {
        "attempt": "One scheduling cycle for one pod: from Pop to Permit, then binding beside the next attempt. `try 3` \
            means that it is the third attempt for that pod.",
            "Scheduling, Preemption and Eviction / Scheduling Framework (Scheduling cycle & binding cycle)";
        "priority": "The number of the pod's PriorityClass: higher ones are tried first and may evict lower ones. Without \
            a class it is 0, or that of the class that is the global default.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption";
        "preemptionPolicy": "With Never a pod is tried before those of lower priority, but evicts nobody. The default is \
            PreemptLowerPriority.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption (Non-preempting PriorityClass); KEP-902";
        "nominatedNodeName": "The node where preemption makes room for the pod, or where the scheduler expects to bind it. \
            Other attempts count the pod there if its priority is not lower than theirs; it can still land elsewhere.",
            "Scheduling, Preemption and Eviction / Pod Priority and Preemption (User exposed information)";
        "requests": "What a pod's containers ask for; the scheduler counts this, not what they really use. Init containers \
            and the pod's overhead are taken into account.",
            "Configuration / Resource Management for Pods and Containers";
        "allocatable": "What a node offers to pods: its capacity minus what is kept for the system. The sum of the \
            requests of its pods never exceeds it.",
            "Tasks / Reserve Compute Resources for System Daemons (Node Allocatable)";
        "weight": "How much a Score plugin counts: its normalized score is multiplied by it. The profile of the \
            configuration sets it.",
            "Reference / Scheduling / Scheduler Configuration";
        "taint": "A mark on a node that keeps pods away unless they tolerate it. NoSchedule keeps new pods away, NoExecute \
            evicts running ones too, PreferNoSchedule only costs points.",
            "Scheduling, Preemption and Eviction / Taints and Tolerations";
        "toleration": "A pod's permission to ignore taints that match it. It does not attract the pod to such nodes.",
            "Scheduling, Preemption and Eviction / Taints and Tolerations";
        "cordon": "To set spec.unschedulable of a node, so that no new pods come to it. Pods that are there stay.",
            "Architecture / Nodes (Manual Node administration)";
        "maxSkew": "By how many matching pods one topology domain may have more than the one with the fewest. With \
            ScheduleAnyway it is a preference.",
            "Scheduling, Preemption and Eviction / Pod Topology Spread Constraints";
        "minDomains": "The least number of domains that there must be; while there are fewer, the smallest count is taken \
            for 0. It works with DoNotSchedule alone.",
            "Scheduling, Preemption and Eviction / Pod Topology Spread Constraints; KEP-3022";
        "topologyKey": "The label of nodes whose values make the domains, such as topology.kubernetes.io/zone. Nodes \
            without it belong to no domain.",
            "Reference / Well-Known Labels, Annotations and Taints";
        "schedulingGates": "Names in a pod's spec that keep it from being tried at all until all are taken away. They can \
            only be set when the pod is created.",
            "Scheduling, Preemption and Eviction / Pod Scheduling Readiness; KEP-3521";
        "schedulerName": "Which scheduler, and which of its profiles, a pod is for. Pods of other names are left alone.",
            "Tasks / Configure Multiple Schedulers";
        "percentageOfNodesToScore": "In large clusters Filter stops when that part of the nodes has been found to fit, and \
            the next attempt begins where it stopped. 0 means a part that grows smaller with the number of nodes, 5 % at \
            the least.",
            "Scheduling, Preemption and Eviction / Scheduler Performance Tuning";
        "queueing hint": "A plugin's answer to an event in the cluster: whether it may make a pod schedulable that the \
            plugin turned down. Queue moves the pod, Skip leaves it where it is.",
            "KEP-4247 (queueing hints)";
        "backoff": "The time that a pod waits after a failed attempt before it may be tried again. It doubles with each \
            attempt up to a maximum, and keeps one pod from filling the queue.",
            "Reference / Scheduling / Scheduler Configuration (podInitialBackoffSeconds, podMaxBackoffSeconds)";
        "PodDisruptionBudget": "It says how many pods of a set may be missing at a time. Preemption prefers victims whose \
            budget allows it, but goes on without that if there is no other way.",
            "Workloads / Disruptions, Scheduling, Preemption and Eviction / Pod Priority and Preemption";
        "ResourceClaim": "A pod's request for devices by class and selectors, allocated before the pod is bound. It can be \
            shared by several pods.",
            "Scheduling, Preemption and Eviction / Dynamic Resource Allocation; KEP-4381";
        "PodGroup": "Pods that are scheduled as one: all that are needed, or none. The pods name it in \
            spec.schedulingGroup.",
            "Workloads / Workload API; KEP-4671";
        "extender": "An HTTP service outside of the scheduler that is asked after the plugins to filter, rank, preempt or \
            bind. It is older than the Scheduling Framework and slower than a plugin.",
            "Reference / Scheduling / Scheduler Configuration (extenders)";
        "profile": "A set of plugins with weights and arguments under a schedulerName. One scheduler can have several.",
            "Reference / Scheduling / Scheduler Configuration (Multiple profiles)";
        "lease": "The object by which several schedulers agree on the one that works. The others stand by until it is not \
            renewed any more.",
            "Architecture / Leases (Leader election)";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::ExtensionPoint;
    use crate::framework::Code;

    fn kind_of(word: &str) -> Option<WordKind> {
        entry(word).map(|entry| entry.kind)
    }

    #[test]
    fn every_plugin_of_kube_scheduler_is_explained() {
        for name in plugin_names::ALL {
            assert_eq!(kind_of(name), Some(WordKind::Plugin), "{name}");
        }
    }

    #[test]
    fn every_extension_point_phase_and_code_is_explained() {
        for point in ExtensionPoint::ALL {
            assert_eq!(kind_of(point.as_str()), Some(WordKind::ExtensionPoint), "{}", point.as_str());
        }
        for phase in Phase::ALL {
            assert!(entry(phase.as_str()).is_some(), "{phase}");
        }
        use Code::{Error, Pending, Skip, Success, Unschedulable, UnschedulableAndUnresolvable, Wait};
        for code in [Success, Error, Unschedulable, UnschedulableAndUnresolvable, Wait, Skip, Pending] {
            assert!(ENTRIES.iter().any(|entry| entry.kind == WordKind::Code && entry.word == code.as_str()));
        }
    }

    #[test]
    fn every_queue_is_explained() {
        for queue in ["activeQ", "backoffQ", "waiting", "binding", "in-flight"] {
            assert_eq!(kind_of(queue), Some(WordKind::Queue), "{queue}");
        }
        assert!(ENTRIES.iter().any(|entry| entry.kind == WordKind::Queue && entry.word == "unschedulable"));
    }

    #[test]
    fn each_has_two_sentences_and_names_where_there_is_more() {
        for entry in ENTRIES {
            let n_ends = entry.text.matches(". ").count() + usize::from(entry.text.ends_with('.'));
            assert_eq!(n_ends, 2, "{}: {}", entry.word, entry.text);
            assert!(!entry.text.contains("  ") && !entry.see.contains("  "), "{}", entry.word);
            assert!(entry.see.contains(" / ") || entry.see.contains("KEP-"), "{}: {}", entry.word, entry.see);
        }
    }

    #[test]
    fn words_are_different_but_for_two_pairs_that_capitals_tell_apart() {
        let mut seen = BTreeSet::new();
        let twice: Vec<&str> =
            ENTRIES.iter().filter(|entry| !seen.insert(folded(entry.word))).map(|entry| entry.word).collect();
        assert_eq!(twice, ["unschedulable", "schedulingGates"]);
        for word in ["unschedulable", "Unschedulable", "schedulingGates", "SchedulingGates"] {
            assert_eq!(entry(word).map(|entry| entry.word), Some(word));
        }
    }

    #[test]
    fn a_plugin_of_ones_own_explains_itself() {
        let about = About { text: "It likes even names. It is an example.", see: "" };
        let plugin = |name, about| OwnPlugin { name, about, filters: false, scores: true };
        let view = View {
            own_plugins: [plugin("EvenNames", Some(about)), plugin("Silent", None)].into(),
            ..View::default()
        };
        let entry = entry_of(&view, "even-names").map(|entry| (entry.kind, entry.body()));
        assert_eq!(entry, Some((WordKind::OwnPlugin, about.text.to_owned())));
        assert!(entry_of(&view, "Silent").is_some_and(|entry| entry.text.contains("no words for itself")));
        assert_eq!(entry_of(&View::default(), "EvenNames"), None);
        assert!(is_plugin(&view, "EvenNames") && !is_plugin(&View::default(), "EvenNames"));
        assert_eq!(first_phase(&view, "EvenNames"), Phase::Score);
        assert_eq!(first_phase(&view, "NodeResourcesFit"), Phase::Filter);
    }

    #[test]
    fn spelling_does_not_matter() {
        assert_eq!(entry("node-resources-fit").map(|entry| entry.word), Some("NodeResourcesFit"));
        assert_eq!(entry("QUEUEING HINT").map(|entry| entry.word), Some("queueing hint"));
        assert!(entry("bananas").is_none());
    }
}
