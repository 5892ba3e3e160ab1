//! The allocator by example, with results of kube-scheduler v1.36.3, and what must hold whatever is allocated.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::super::fixtures::node;
use super::*;
use crate::api::ObjectStore;
use crate::api::manifest::{Source, load};
use crate::api::objects::AllocationResult;
use crate::config::FeatureGates;
use crate::framework::PluginState;
use crate::framework::device_cel;
use crate::plugins::helper::devices::{AllocatedDevices, DeviceState};

const CLASSES: &str = "
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}}
";

/// A cluster of one node, `one`, and its allocator.
struct Cluster {
    gates: FeatureGates,
    state: DeviceState,
}

impl Cluster {
    fn new(gates: &str) -> Self {
        let gates = FeatureGates::parse(gates).unwrap();
        let mut cluster = Self { gates, state: DeviceState::new(&gates) };
        cluster.add(CLASSES);
        cluster
    }

    fn add(&mut self, manifests: &str) {
        let sources = [Source { name: "test".to_owned(), text: manifests.to_owned() }];
        for object in load(&sources).unwrap().objects {
            self.state.object_changed(&ObjectStore::default(), None, Some(&object));
        }
    }

    /// A slice of the node, alone in its pool.
    fn slice(&mut self, pool: &str, devices: &str) {
        self.slice_with(pool, pool, "nodeName: one", 1, 1, devices);
    }

    fn slice_with(
        &mut self,
        name: &str,
        pool: &str,
        place: &str,
        generation: u32,
        count: u32,
        devices: &str,
    ) {
        self.add(&format!(
            "{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: {name}}}, spec: {{driver: \
             gpu.example.com, {place}, pool: {{name: {pool}, generation: {generation}, resourceSliceCount: {count}}}, \
             devices: [{devices}]}}}}"
        ));
    }

    fn allocator(&self) -> Allocator {
        Allocator {
            features: Features::new(&self.gates),
            allocated: self.state.claims.allocated_state(),
            slices: Arc::clone(&self.state.slices),
            classes: Arc::clone(&self.state.classes),
            selectors: SelectorCache::new(device_cel::Features::default()),
            max_steps: steps_within(Duration::from_secs(10)),
        }
    }

    /// What a claim gets: `request=pool/device` for each device, or why it gets nothing.
    fn ask(&self, spec: &str) -> String {
        self.ask_all(&[spec])
    }

    fn ask_all(&self, specs: &[&str]) -> String {
        let claims: Vec<Arc<ResourceClaim>> =
            specs.iter().enumerate().map(|(i, spec)| Arc::new(claim(&format!("c{i}"), spec))).collect();
        match self.allocator().allocate(&node("{metadata: {name: one, labels: {zone: a}}}"), &claims) {
            Ok(Some(results)) => results.iter().map(told).collect::<Vec<_>>().join("; "),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// A claim that has what the allocator finds for it.
    fn allocate(&mut self, name: &str, spec: &str) -> bool {
        let mut claim = claim(name, spec);
        let found = self.allocator().allocate(&node("{metadata: {name: one}}"), &[Arc::new(claim.clone())]);
        let Ok(Some(mut results)) = found else { return false };
        claim.status.allocation = results.pop();
        self.state.object_changed(&ObjectStore::default(), None, Some(&claim.into()));
        true
    }
}

fn claim(name: &str, spec: &str) -> ResourceClaim {
    let yaml = format!(
        "{{metadata: {{name: {name}, uid: {name}, namespace: default}}, spec: {{devices: {{{spec}}}}}}}"
    );
    serde_saphyr::from_str(&yaml).unwrap()
}

fn told(result: &AllocationResult) -> String {
    let results = result.devices.results.iter();
    let told: Vec<String> = results
        .map(|result| {
            let mut text = format!("{}={}/{}", result.request, result.pool, result.device);
            for (name, amount) in &result.consumed_capacity {
                write!(text, " {name}:{amount}").unwrap();
            }
            text
        })
        .collect();
    told.join(", ")
}

/// A request for so many devices of the class `gpu`, with more in it.
fn request(count: u32, more: &str) -> String {
    let name = if more.is_empty() { "r" } else { "q" };
    format!(
        "{{name: {name}, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {count}{more}}}}}"
    )
}

fn requests(list: &[String]) -> String {
    format!("requests: [{}]", list.join(", "))
}

fn selector(expression: &str) -> String {
    format!(", selectors: [{{cel: {{expression: '{expression}'}}}}]")
}

fn devices(n: usize) -> String {
    (0..n).map(|i| format!("{{name: d{i}}}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn devices_are_taken_in_the_order_of_pools_slices_and_places() {
    let mut cluster = Cluster::new("");
    cluster.slice_with("b-second", "b", "nodeName: one", 1, 2, "{name: late}");
    cluster.slice_with("a-first", "b", "nodeName: one", 1, 2, "{name: z}, {name: a}");
    cluster.slice("c", "{name: c}");
    assert_eq!(cluster.ask(&requests(&[request(4, "")])), "r=b/z, r=b/a, r=b/late, r=c/c");
    assert_eq!(cluster.ask(&requests(&[request(5, "")])), "none");
}

#[test]
fn pools_with_binding_conditions_come_last() {
    let mut cluster = Cluster::new("");
    cluster.slice("a", "{name: d, bindingConditions: [ready]}");
    cluster.slice("b", "{name: d}");
    assert_eq!(cluster.ask(&requests(&[request(2, "")])), "r=b/d, r=a/d");
}

#[test]
fn the_newest_generation_alone_counts_and_only_if_it_is_complete() {
    let mut cluster = Cluster::new("");
    cluster.slice_with("old", "p", "nodeName: one", 1, 1, "{name: old}");
    cluster.slice_with("new", "p", "nodeName: one", 2, 1, "{name: new}");
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "r=p/new");
    cluster.slice_with("newer", "p", "nodeName: one", 3, 2, "{name: newer}");
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "none");
    let all = "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]";
    assert_eq!(
        cluster.ask(all),
        "claim default/c0, request r: asks for all devices, but resource pool gpu.example.com/p is currently being updated"
    );
}

#[test]
fn names_that_clash_make_a_pool_invalid() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", "{name: d}, {name: d}");
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "invalid resource pools were encountered");
    let all = "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]";
    assert!(cluster.ask(all).ends_with("resource pool gpu.example.com/p is currently invalid"));
    cluster.slice("q", "{name: d}");
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "r=q/d");
}

#[test]
fn the_search_goes_back_to_earlier_requests() {
    let mut cluster = Cluster::new("");
    cluster.slice(
        "p",
        "{name: d0, attributes: {fast: {bool: true}}}, {name: d1, attributes: {fast: {bool: false}}}",
    );
    let fast = request(1, &selector(r#"device.attributes["gpu.example.com"].fast"#));
    assert_eq!(cluster.ask(&requests(&[request(1, ""), fast])), "r=p/d1, q=p/d0");
}

#[test]
fn a_claim_has_no_more_than_32_devices() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", &devices(40));
    assert_eq!(
        cluster.ask(&requests(&[request(33, "")])),
        "claim default/c0: number of requested devices 33 exceeds the claim limit of 32"
    );
    let alternative = |name: &str, count: u32| {
        format!("{{name: {name}, deviceClassName: gpu, allocationMode: ExactCount, count: {count}}}")
    };
    let first = |name: &str, counts: [u32; 2]| {
        let (a, b) = (alternative("a", counts[0]), alternative("b", counts[1]));
        format!("{{name: {name}, firstAvailable: [{a}, {b}]}}")
    };
    // 20 and 20 are too many; the first alternative of the first request is given up for it.
    let two = requests(&[first("x", [20, 2]), first("y", [20, 19])]);
    assert!(cluster.ask(&two).starts_with("x/b=p/d0, x/b=p/d1, y/a=p/d2"));
}

#[test]
fn alternatives_are_tried_in_their_order() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", "{name: d0}");
    let spec = "requests: [{name: x, firstAvailable: [{name: two, deviceClassName: gpu, allocationMode: ExactCount, \
                count: 2}, {name: one, deviceClassName: gpu, allocationMode: ExactCount, count: 1}]}]";
    assert_eq!(cluster.ask(spec), "x/one=p/d0");
    let mut off = Cluster::new("DRAPrioritizedList=false");
    off.slice("p", "{name: d0}");
    assert_eq!(
        off.ask(spec),
        "claim default/c0, request x: has subrequests, but the DRAPrioritizedList feature is disabled"
    );
}

#[test]
fn constraints_hold_between_the_devices_of_their_requests() {
    let mut cluster = Cluster::new("");
    let device =
        |name: &str, root: &str| format!("{{name: {name}, attributes: {{root: {{string: {root}}}}}}}");
    cluster.slice(
        "p",
        &[device("d0", "left"), device("d1", "right"), device("d2", "right"), "{name: bare}".into()]
            .join(", "),
    );
    let with = |constraint: &str, count: u32| {
        format!("{}, constraints: [{{{constraint}}}]", requests(&[request(count, "")]))
    };
    assert_eq!(cluster.ask(&with("matchAttribute: gpu.example.com/root", 2)), "r=p/d1, r=p/d2");
    assert_eq!(cluster.ask(&with("matchAttribute: gpu.example.com/root", 3)), "none");
    assert_eq!(
        cluster.ask(&with("matchAttribute: gpu.example.com/root, requests: [other]", 3)),
        "r=p/d0, r=p/d1, r=p/d2"
    );
    assert_eq!(cluster.ask(&with("distinctAttribute: gpu.example.com/root", 2)), "r=p/d0, r=p/d1");
    assert_eq!(
        cluster.ask(&with("", 1)),
        "claim default/c0, constraint #0: empty constraint (unsupported constraint type?)"
    );
    let all = "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}], constraints: \
               [{matchAttribute: gpu.example.com/root}]";
    assert_eq!(
        cluster.ask(all),
        "claim default/c0, request r: cannot add device gpu.example.com/p/d1 because a claim constraint would not be satisfied"
    );
}

#[test]
fn taints_keep_devices_from_claims_that_do_not_tolerate_them() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", "{name: d0, taints: [{key: hot, value: very, effect: NoExecute}]}, {name: d1, taints: [{key: hot, effect: None}]}");
    let with = |tolerations: &str| cluster.ask(&requests(&[request(1, tolerations)]));
    assert_eq!(with(""), "r=p/d1");
    assert_eq!(with(", tolerations: [{key: hot, operator: Exists}]"), "q=p/d0");
    assert_eq!(
        with(", tolerations: [{key: hot, operator: Equal, value: very, effect: NoExecute}]"),
        "q=p/d0"
    );
    assert_eq!(with(", tolerations: [{key: hot, operator: Equal, value: a bit}]"), "q=p/d1");
    assert_eq!(with(", tolerations: [{operator: Exists, effect: NoSchedule}]"), "q=p/d1");
}

#[test]
fn admin_access_gives_devices_that_others_have() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", "{name: d0}");
    assert!(cluster.allocate("other", &requests(&[request(1, "")])));
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "none");
    assert_eq!(cluster.ask(&requests(&[request(1, ", adminAccess: true")])), "q=p/d0");
    assert_eq!(
        cluster.ask(&requests(&[request(2, ", adminAccess: true")])),
        "none",
        "each device once in a claim"
    );
}

const COUNTERS: &str = "
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: gpu.example.com
  nodeName: one
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: set, counters: {memory: {value: 40Gi}}}]
";

fn partition(name: &str, memory: &str) -> String {
    format!(
        "{{name: {name}, consumesCounters: [{{counterSet: set, counters: {{memory: {{value: {memory}}}}}}}]}}"
    )
}

#[test]
fn partitions_share_the_counters_of_their_pool() {
    let mut cluster = Cluster::new("");
    cluster.add(COUNTERS);
    let list = [partition("full", "40Gi"), partition("half0", "20Gi"), partition("half1", "20Gi")].join(", ");
    cluster.slice_with("devices", "p", "nodeName: one", 1, 2, &list);
    assert_eq!(cluster.ask(&requests(&[request(1, "")])), "r=p/full");
    assert_eq!(cluster.ask(&requests(&[request(2, "")])), "r=p/half0, r=p/half1");
    assert_eq!(cluster.ask(&requests(&[request(3, "")])), "none");
    let half = request(1, &selector(r#"device.driver == "gpu.example.com""#));
    assert!(cluster.allocate("other", &requests(&[request(2, "")])));
    assert_eq!(cluster.ask(&requests(&[half])), "none", "nothing is left");
    let mut broken = Cluster::new("");
    broken.slice("p", &partition("full", "40Gi"));
    assert_eq!(broken.ask(&requests(&[request(1, "")])), "invalid resource pools were encountered");
}

#[test]
fn a_shared_device_is_given_until_its_capacity_is_consumed() {
    let mut cluster = Cluster::new("");
    let policy = "requestPolicy: {default: 1Gi, validRange: {min: 1Gi, step: 2Gi}}";
    cluster.slice(
        "p",
        &format!("{{name: d0, allowMultipleAllocations: true, capacity: {{bw: {{value: 8Gi, {policy}}}}}}}"),
    );
    let with = |amount: &str| format!(", capacity: {{requests: {{bw: {amount}}}}}");
    assert_eq!(
        cluster.ask(&requests(&[request(1, &with("2Gi"))])),
        "q=p/d0 bw:3Gi",
        "rounded up to min + n * step"
    );
    assert_eq!(cluster.ask(&requests(&[request(1, ", adminAccess: false")])), "q=p/d0 bw:1Gi", "the default");
    assert!(cluster.allocate("a", &requests(&[request(1, &with("3Gi"))])));
    assert!(cluster.allocate("b", &requests(&[request(1, &with("3Gi"))])));
    assert_eq!(cluster.ask(&requests(&[request(1, &with("3Gi"))])), "none");
    assert_eq!(cluster.ask(&requests(&[request(1, &with("1Gi"))])), "q=p/d0 bw:1Gi");
    let other = ", capacity: {requests: {unknown: 1}}";
    assert_eq!(cluster.ask(&requests(&[request(1, other)])), "none", "a capacity that the device has not");
}

#[test]
fn slices_are_for_the_nodes_that_they_name_or_select() {
    let mut cluster = Cluster::new("");
    let zone = |zone: &str| {
        format!(
            "nodeSelector: {{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, values: [{zone}]}}]}}]}}"
        )
    };
    cluster.slice_with("other", "a", "nodeName: m", 1, 1, "{name: d}");
    cluster.slice_with("far", "b", &zone("b"), 1, 1, "{name: d}");
    cluster.slice_with("near", "c", &zone("a"), 1, 1, "{name: d}");
    cluster.slice_with("wide", "e", "allNodes: true", 1, 1, "{name: d}");
    cluster.slice_with(
        "mixed",
        "f",
        "perDeviceNodeSelection: true",
        1,
        1,
        "{name: d0, nodeName: m}, {name: d1, allNodes: true}",
    );
    assert_eq!(cluster.ask(&requests(&[request(3, "")])), "r=c/d, r=e/d, r=f/d1");
    assert_eq!(cluster.ask(&requests(&[request(4, "")])), "none");
}

#[test]
fn what_is_wrong_with_a_claim_is_told() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", "{name: d0}");
    let with = |selector_text: &str| cluster.ask(&requests(&[request(1, &selector(selector_text))]));
    assert_eq!(
        with(r#"device.attributes["gpu.example.com"].model == "x""#),
        "claim default/c0: selector #0: CEL runtime error: no such key: model"
    );
    assert!(
        with("device.bogus")
            .starts_with("claim default/c0: selector #0: CEL compile error: compilation failed")
    );
    let class =
        "requests: [{name: r, exactly: {deviceClassName: gone, allocationMode: ExactCount, count: 1}}]";
    assert_eq!(
        cluster.ask(class),
        "claim default/c0, request r: could not retrieve device class gone: deviceclass.resource.k8s.io \"gone\" not found"
    );
    let mode = "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: Some}}]";
    assert_eq!(cluster.ask(mode), "claim default/c0, request r: unsupported count mode Some");
}

#[test]
fn claims_of_one_pod_do_not_share_devices() {
    let mut cluster = Cluster::new("");
    cluster.slice("p", &devices(3));
    let one = requests(&[request(1, "")]);
    assert_eq!(cluster.ask_all(&[&one, &one]), "r=p/d0; r=p/d1");
    let two = requests(&[request(2, "")]);
    assert_eq!(cluster.ask_all(&[&two, &two]), "none");
}

#[test]
fn a_hopeless_search_ends() {
    let mut cluster = Cluster::new("");
    let list: Vec<String> =
        (0..30).map(|i| format!("{{name: d{i}, attributes: {{model: {{int: {}}}}}}}", i % 4)).collect();
    cluster.slice("p", &list.join(", "));
    // Every choice of 20 devices is tried until one has five equal ones for the last constraint: there is none.
    let list: Vec<String> =
        (0..20).map(|i| request(1, "").replace("name: r", &format!("name: r{i}"))).collect();
    let spec = format!(
        "{}, constraints: [{{matchAttribute: gpu.example.com/model, requests: [r0, r19]}}, {{distinctAttribute: gpu.example.com/model, requests: [r0, r19]}}]",
        requests(&list)
    );
    assert_eq!(cluster.ask(&spec), "timed out trying to allocate devices");
}

/// A device of a random pool, or what a random claim asks for.
#[derive(Clone, Debug)]
enum Deed {
    Allocate { count: u32, memory: u32 },
    Free(Index),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let allocate = (1_u32..4, 1_u32..5).prop_map(|(count, memory)| Deed::Allocate { count, memory });
    let deed = prop_oneof![3 => allocate, 1 => any::<Index>().prop_map(Deed::Free)];
    prop::collection::vec(deed, 1..25)
}

/// The devices of a cluster: how many GPUs, how many partitions of 10Gi of 40Gi, how many shared devices of 8Gi.
fn shape() -> impl Strategy<Value = (usize, usize, usize)> {
    (0_usize..4, 0_usize..7, 0_usize..3)
}

/// Checks what must hold whatever is allocated: no device twice, no counter below nothing, no capacity beyond its end.
fn check(slices: &DeviceSlices, claims: &[ResourceClaim]) {
    let mut whole: Vec<String> = Vec::new();
    let mut memory = 0;
    let mut consumed: std::collections::BTreeMap<String, crate::api::Quantity> = Default::default();
    for result in claims.iter().flat_map(|claim| &claim.status.allocation).flat_map(|a| &a.devices.results) {
        let id = format!("{}/{}", result.pool, result.device);
        if result.share_id.is_some() {
            let amount = result.consumed_capacity.values().next().copied().unwrap();
            consumed.entry(id).and_modify(|sum| *sum += amount).or_insert(amount);
        } else {
            assert!(!whole.contains(&id), "{id} is allocated twice");
            whole.push(id);
            memory += 10 * u32::from(result.device.starts_with("part"));
        }
    }
    assert!(memory <= 40, "{memory}Gi of 40Gi");
    for (id, amount) in &consumed {
        assert!(*amount <= "8Gi".parse().unwrap(), "{amount} of {id}");
    }
    assert!(slices.iter().count() > 0 || whole.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_given_twice_and_what_is_given_back_leaves_no_trace(
        (gpus, parts, shared) in shape(),
        deeds in deeds(),
    ) {
        let mut cluster = Cluster::new("");
        if gpus > 0 {
            cluster.slice("gpus", &devices(gpus));
        }
        if parts > 0 {
            cluster.add(COUNTERS);
            let list: Vec<String> = (0..parts).map(|i| partition(&format!("part{i}"), "10Gi")).collect();
            cluster.slice_with("parts", "p", "nodeName: one", 1, 2, &list.join(", "));
        }
        if shared > 0 {
            let list: Vec<String> = (0..shared).map(|i| {
                format!("{{name: s{i}, allowMultipleAllocations: true, capacity: {{bw: {{value: 8Gi}}}}}}")
            }).collect();
            cluster.slice("shared", &list.join(", "));
        }
        let mut claims: Vec<ResourceClaim> = Vec::new();
        for (i, deed) in deeds.iter().enumerate() {
            match deed {
                Deed::Allocate { count, memory } => {
                    let capacity = format!(", capacity: {{requests: {{bw: {memory}Gi}}}}");
                    let more = if i % 2 == 0 { capacity.as_str() } else { "" };
                    let mut new = claim(&format!("c{i}"), &requests(&[request(*count, more)]));
                    let found = cluster.allocator().allocate(&node("{metadata: {name: one}}"), &[Arc::new(new.clone())]);
                    if let Ok(Some(mut results)) = found {
                        new.status.allocation = results.pop();
                        cluster.state.object_changed(&ObjectStore::default(), None, Some(&new.clone().into()));
                        claims.push(new);
                    }
                }
                Deed::Free(index) => {
                    if !claims.is_empty() {
                        let old = claims.swap_remove(index.index(claims.len()));
                        cluster.state.object_changed(&ObjectStore::default(), Some(&old.into()), None);
                    }
                }
            }
            check(&cluster.state.slices, &claims);
        }
        for old in claims.drain(..) {
            cluster.state.object_changed(&ObjectStore::default(), Some(&old.into()), None);
        }
        prop_assert_eq!(&*cluster.state.claims.allocated_state().by_claims, &AllocatedDevices::default());
    }
}
