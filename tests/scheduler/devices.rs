//! Claims for devices on their way through an attempt: allocated, written, waited for, given back.

use std::collections::BTreeSet;

use schedscope::api::objects::ResourceClaim;
use schedscope::api::{Duration, NamespacedName, Rng};
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;

use crate::support::world::{apply, drain, events, node, node_of, pod, pod_of, sandbox};

const CLASS: &str = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {selectors: \
                     [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}\n---\n";

/// A slice of the node with these devices.
fn slice(node: &str, devices: &str) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {node}-gpu}}\nspec: {{driver: \
         gpu.example.com, nodeName: {node}, pool: {{name: {node}, generation: 1, resourceSliceCount: 1}}, devices: \
         [{devices}]}}\n---\n"
    )
}

/// A claim for so many GPUs.
fn claim(name: &str, count: u32) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {name}}}\nspec: {{devices: \
         {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: {count}}}}}]}}}}\n---\n"
    )
}

fn pod_with(name: &str, claim: &str) -> String {
    pod(name, "1", "", &format!(", resourceClaims: [{{name: r, resourceClaimName: {claim}}}]"))
}

fn claim_of(simulator: &Simulator, name: &str) -> ResourceClaim {
    let key = NamespacedName::new("default", name);
    (**simulator.api().objects().resource_claims.get(&key).unwrap()).clone()
}

fn devices_of(simulator: &Simulator, name: &str) -> Vec<String> {
    let allocation = claim_of(simulator, name).status.allocation.into_iter();
    let results = allocation.flat_map(|allocation| allocation.devices.results);
    results.map(|result| format!("{}/{}", result.pool, result.device)).collect()
}

fn users_of(simulator: &Simulator, name: &str) -> Vec<String> {
    let users = claim_of(simulator, name).status.reserved_for.into_iter();
    users.map(|user| user.name.to_string()).collect()
}

#[test]
fn a_claim_is_written_with_its_devices_and_its_user_before_the_pod_is_bound() {
    let manifest = node("a", "4") + CLASS + &slice("a", "{name: g0}, {name: g1}");
    let mut simulator = sandbox(&(manifest + &claim("c", 2) + &pod_with("p", "c")));
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "p"), "a");
    assert_eq!(devices_of(&simulator, "c"), ["a/g0", "a/g1"]);
    assert_eq!(users_of(&simulator, "c"), ["p"]);
    let claim = claim_of(&simulator, "c");
    assert_eq!(claim.metadata.finalizers, ["resource.kubernetes.io/delete-protection".into()]);
    let selector = claim.status.allocation.and_then(|allocation| allocation.node_selector).unwrap();
    assert_eq!(selector.node_selector_terms[0].match_fields[0].values, ["a"]);
}

#[test]
fn two_pods_never_get_the_same_device() {
    let manifest = node("a", "8") + CLASS + &slice("a", "{name: g0}, {name: g1}");
    let claims = claim("c1", 1) + &claim("c2", 1) + &claim("c3", 1);
    let pods = pod_with("p1", "c1") + &pod_with("p2", "c2") + &pod_with("p3", "c3");
    let mut simulator = sandbox(&(manifest + &claims + &pods));
    drain(&mut simulator);
    assert_eq!(
        (devices_of(&simulator, "c1"), devices_of(&simulator, "c2")),
        (vec!["a/g0".into()], vec!["a/g1".into()])
    );
    assert_eq!(node_of(&simulator, "p3"), "");
    let text = "FailedScheduling default/p3: 0/1 nodes are available: 1 cannot allocate all claims. still not \
                schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    assert!(events(&simulator).contains(&text.to_owned()), "{:?}", events(&simulator));
}

#[test]
fn a_pod_whose_claim_is_missing_waits_for_it() {
    let manifest = node("a", "4") + CLASS + &slice("a", "{name: g0}");
    let mut simulator = sandbox(&(manifest + &pod_with("p", "late")));
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "p"), "");
    apply(&mut simulator, &claim("late", 1));
    drain(&mut simulator);
    assert_eq!(
        (node_of(&simulator, "p").as_str(), devices_of(&simulator, "late")),
        ("a", vec!["a/g0".to_owned()])
    );
}

#[test]
fn a_second_pod_shares_an_allocated_claim_on_its_node() {
    let manifest = node("a", "4") + &node("b", "4") + CLASS + &slice("b", "{name: g0}") + &claim("c", 1);
    let mut simulator = sandbox(&(manifest + &pod_with("p1", "c") + &pod_with("p2", "c")));
    drain(&mut simulator);
    assert_eq!((node_of(&simulator, "p1").as_str(), node_of(&simulator, "p2").as_str()), ("b", "b"));
    assert_eq!(users_of(&simulator, "c"), ["p1", "p2"]);
}

#[test]
fn a_claim_that_nobody_uses_is_deallocated_where_it_cannot_be_reached() {
    let manifest = node("a", "4") + CLASS + &slice("a", "{name: g0}");
    let elsewhere = claim("c", 1).replace(
        "\n---\n",
        "\nstatus: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: gone, device: g}]}, \
         nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [gone]}]}]}}}\n---\n",
    );
    let mut simulator = sandbox(&(manifest + &elsewhere + &pod_with("p", "c")));
    simulator.step_cycle();
    let note = &events(&simulator)[0];
    assert!(note.ends_with("deallocation of ResourceClaim completed, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."), "{note}");
    assert_eq!(devices_of(&simulator, "c"), [""; 0]);
    drain(&mut simulator);
    assert_eq!(
        (node_of(&simulator, "p").as_str(), devices_of(&simulator, "c")),
        ("a", vec!["a/g0".to_owned()])
    );
}

#[test]
fn extended_resources_get_a_claim_of_their_own() {
    let class = CLASS.replace("spec: {", "spec: {extendedResourceName: example.com/gpu, ");
    let manifest = node("a", "4") + &class + &slice("a", "{name: g0}, {name: g1}");
    let request = pod("p", "1", "", "").replace("requests: {", "requests: {example.com/gpu: '2', ");
    let mut simulator = sandbox(&(manifest + &request));
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "p"), "a");
    let status = pod_of(&simulator, "p").unwrap().status.extended_resource_claim_status.unwrap();
    assert!(status.resource_claim_name.starts_with("p-extended-resources-"), "{status:?}");
    assert_eq!(devices_of(&simulator, &status.resource_claim_name), ["a/g0", "a/g1"]);
    let mapping = &status.request_mappings[0];
    assert_eq!((&*mapping.container_name, &*mapping.request_name), ("c", "container-0-request-1"));
}

const BINDING: &str =
    "{name: g0, bindingConditions: [example.com/ready], bindingFailureConditions: [example.com/broken]}";

/// The claim with what the driver reports of its device.
fn reported(simulator: &mut Simulator, condition: &str) {
    let mut claim = claim_of(simulator, "c");
    let status = serde_saphyr::from_str(&format!(
        "{{driver: gpu.example.com, pool: a, device: g0, conditions: [{condition}]}}"
    ));
    claim.status.devices = vec![status.unwrap()];
    let mut text = serde_json::to_value(&claim).unwrap();
    text["apiVersion"] = "resource.k8s.io/v1".into();
    text["kind"] = "ResourceClaim".into();
    apply(simulator, &text.to_string());
}

fn waiting() -> Simulator {
    let manifest = node("a", "4") + CLASS + &slice("a", BINDING);
    let mut simulator = sandbox(&(manifest + &claim("c", 1) + &pod_with("p", "c")));
    drain(&mut simulator);
    simulator
}

#[test]
fn a_pod_waits_until_its_devices_are_ready() {
    let mut simulator = waiting();
    assert_eq!(
        (node_of(&simulator, "p").as_str(), devices_of(&simulator, "c")),
        ("", vec!["a/g0".to_owned()])
    );
    let text = "BindingConditionsPending default/p: waiting for binding conditions for device on node a";
    assert!(events(&simulator).contains(&text.to_owned()), "{:?}", events(&simulator));
    reported(&mut simulator, "{type: example.com/ready, status: 'True'}");
    // The plugin looks every five seconds.
    let now = simulator.now();
    simulator.advance_to(now.saturating_add(Duration::from_secs(5)), |_| true);
    assert_eq!(node_of(&simulator, "p"), "a");
}

#[test]
fn a_device_that_fails_gives_the_pod_back() {
    let mut simulator = waiting();
    reported(&mut simulator, "{type: example.com/broken, status: 'True', reason: Burnt, message: no power}");
    let now = simulator.now();
    simulator.advance_to(now.saturating_add(Duration::from_secs(5)), |_| true);
    let text = "FailedScheduling default/p: running PreBind plugin \"DynamicResources\": device binding failed: \
                claim=c, reason=Burnt, message=\"no power\"";
    assert!(events(&simulator).contains(&text.to_owned()), "{:?}", events(&simulator));
    assert_eq!(users_of(&simulator, "c"), [""; 0], "{:?}", events(&simulator));
}

#[test]
fn the_wait_for_devices_ends_after_ten_minutes() {
    let mut simulator = waiting();
    let now = simulator.now();
    simulator.advance_to(now.saturating_add(Duration::from_secs(600)), |_| true);
    let text = "FailedScheduling default/p: running PreBind plugin \"DynamicResources\": device binding timeout: \
                context deadline exceeded";
    assert!(events(&simulator).contains(&text.to_owned()), "{:?}", events(&simulator));
}

/// Devices that more than one claim has.
fn held_twice(simulator: &Simulator) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let claims = simulator.api().objects().resource_claims.values();
    let results = claims.flat_map(|claim| &claim.status.allocation).flat_map(|found| &found.devices.results);
    let devices = results.map(|result| format!("{}/{}", result.pool, result.device));
    devices.filter(|device| !seen.insert(device.clone())).collect()
}

#[test]
fn no_device_is_held_twice_whatever_happens() {
    const NODES: [&str; 3] = ["a", "b", "c"];
    for seed in 0..15 {
        let mut rng = Rng::new(seed);
        let mut manifest = CLASS.to_owned();
        for name in NODES {
            manifest += &(node(name, "8") + &slice(name, "{name: g0}, {name: g1}"));
        }
        let mut simulator = sandbox(&manifest);
        let mut names: Vec<String> = Vec::new();
        for i in 0..60 {
            match rng.below(8) {
                0 | 1 => {
                    let name = format!("x{i}");
                    let count = if rng.below(2) == 0 { 1 } else { 2 };
                    apply(&mut simulator, &(claim(&name, count) + &pod_with(&name, &name)));
                    names.push(name);
                }
                2 if !names.is_empty() => {
                    // Another pod of the same claim.
                    let other = names[rng.below(names.len())].clone();
                    apply(&mut simulator, &pod_with(&format!("y{i}"), &other));
                }
                3 if !names.is_empty() => {
                    let gone = names.swap_remove(rng.below(names.len()));
                    let key = NamespacedName::new("default", gone);
                    let _ = simulator.edit(&Edit::DeletePod(key));
                }
                4 => {
                    let name = NODES[rng.below(3)];
                    let devices = ["{name: g0}, {name: g1}", "{name: g0}, {name: g1}, {name: g2}"];
                    apply(&mut simulator, &slice(name, devices[rng.below(2)]));
                }
                5 => {
                    let to = simulator.now().saturating_add(Duration::from_secs(1 + rng.below(40) as u64));
                    simulator.advance_to(to, |_| true);
                }
                6 => drop(simulator.step_cycle()),
                _ => drop(simulator.step_phase()),
            }
            assert_eq!(held_twice(&simulator), [""; 0], "seed {seed}, step {i}");
        }
        drain(&mut simulator);
        assert_eq!(held_twice(&simulator), [""; 0], "seed {seed}");
    }
}

#[test]
fn a_binding_tells_which_devices_it_waits_for_and_until_when() {
    let simulator = waiting();
    let view = simulator.scheduler().view();
    let wait = &view.binding[0].waits[0];
    assert_eq!(wait.plugin, "DynamicResources");
    assert_eq!(wait.what, ["device gpu.example.com/a/g0 to become example.com/ready"]);
    // bindingTimeout is 600 s by default, and the plugin looks every five seconds.
    let left = |at: Option<schedscope::api::Time>| at.map(|at| at.saturating_since(view.now));
    assert_eq!(left(wait.until), Some(Duration::from_secs(600)));
    assert_eq!(left(wait.next_look), Some(Duration::from_secs(5)));
}

#[test]
fn a_cell_tells_of_each_device_what_keeps_it_from_the_claim() {
    let devices = "{name: g0, attributes: {model: {string: big}}}, {name: g1, attributes: {model: {string: small}}}, \
                   {name: g2, attributes: {model: {string: big}}, taints: [{key: broken, value: 'yes', effect: \
                   NoSchedule}]}, {name: g3}";
    let selector =
        "selectors: [{cel: {expression: 'device.attributes[\"gpu.example.com\"].model == \"big\"'}}], ";
    let wanting = claim("wanting", 1).replace("count:", &format!("{selector}count:"));
    let manifest = node("a", "4") + CLASS + &slice("a", devices) + &claim("first", 1) + &wanting;
    let mut simulator = sandbox(&(manifest + &pod_with("p1", "first") + &pod_with("p2", "wanting")));
    assert!(simulator.step_cycle() && simulator.step_cycle());
    let view = simulator.scheduler().view();
    let trace = view.cycle.as_deref().unwrap();
    assert_eq!(trace.pod_key().name.as_ref(), "p2");
    let (pools, claims) = schedscope::explain::devices(&view, trace, &trace.nodes()[0]).unwrap();
    assert_eq!((pools, claims.len()), (Vec::<String>::new(), 1));
    let request = &claims[0].requests[0];
    assert_eq!(request.headline, "Request r: 1 device of class gpu; 0 of 4 devices would do by itself.");
    assert_eq!(request.selectors[0], ('a', "device.driver == \"gpu.example.com\" (class)".to_owned()));
    let why: Vec<(&str, &str, String)> = request
        .devices
        .iter()
        .map(|device| (device.device.as_str(), device.verdicts.as_str(), device.why_not.join("; ")))
        .collect();
    let expected = [
        ("gpu.example.com/a/g0", "a true, b true", "claim default/first has it"),
        ("gpu.example.com/a/g1", "a true, b false", "selector b says no"),
        ("gpu.example.com/a/g2", "a true, b true", "taint broken=yes:NoSchedule is not tolerated"),
        ("gpu.example.com/a/g3", "a true, b error", "selector b fails: no such key: model"),
    ];
    for ((device, verdicts, why), expected) in why.iter().zip(expected) {
        assert_eq!((*device, *verdicts, why.as_str()), expected);
    }
}
