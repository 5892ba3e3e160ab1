//! What people are shown of a configuration: complaints with their places, warnings, tables, differences, and the
//! command `schedscope config`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use schedscope::config::{Complaints, FeatureGates, ReadOptions, SchedulerConfig, Step, view};

use super::{catalog, packed};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn read(body: &str) -> Result<SchedulerConfig, Complaints> {
    let (gates, catalog) = (FeatureGates::default(), catalog());
    let options = ReadOptions { source: "sched.yaml", gates: &gates, catalog: &catalog };
    SchedulerConfig::read(&format!("{HEAD}{body}"), options)
}

fn refused(body: &str) -> Complaints {
    read(body).expect_err("it is wrong")
}

#[test]
fn a_complaint_names_file_line_and_column_and_shows_the_line() {
    assert_eq!(
        refused("profiles:\n- percentageOfNodesToScore: 101\n").to_string(),
        "sched.yaml:4:29: profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]\n  |\n4 \
         | - percentageOfNodesToScore: 101\n  |                             ^"
    );
    let complaints = refused("parallelism: 2\nparallelism: 3\nprofils: []\n");
    assert_eq!(
        complaints.to_string(),
        "sched.yaml:4:1: duplicate field \"parallelism\"\n  |\n4 | parallelism: 3\n  | ^\nsched.yaml:5:1: unknown \
         field \"profils\", did you mean \"profiles\"?\n  |\n5 | profils: []\n  | ^"
    );
}

#[test]
fn everything_is_told_at_once() {
    let body = "parallelism: 0\nfoo: 1\nprofiles:\n- schedulerName: a\n  plugins: {scores: {}}\n- schedulerName: a\n";
    let steps: Vec<(Step, String)> =
        refused(body).list.into_iter().map(|complaint| (complaint.step, complaint.text)).collect();
    let texts: Vec<(Step, &str)> = steps.iter().map(|(step, text)| (*step, text.as_str())).collect();
    assert_eq!(
        texts,
        [
            (Step::Decode, "unknown field \"profiles[0].plugins.scores\", did you mean \"score\"?"),
            (Step::Decode, "unknown field \"foo\""),
            (Step::Validate, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
            (Step::Validate, "profiles[1].schedulerName: Duplicate value: {}"),
        ]
    );
}

#[test]
fn a_profile_that_cannot_be_built_points_at_the_plugin_or_at_every_argument() {
    let unknown = refused("profiles:\n- plugins:\n    score:\n      enabled:\n      - name: Nope\n");
    assert_eq!(
        unknown.to_string(),
        "sched.yaml:7:9: initializing profiles: creating profile for scheduler name default-scheduler: ScorePlugin \
         \"Nope\" does not exist\n  |\n7 |       - name: Nope\n  |         ^"
    );
    let refused = refused(
        "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      ignoredResources: ['-a', '-b']\n",
    );
    let lines: Vec<usize> =
        refused.list.iter().flat_map(|complaint| &complaint.places).map(|p| p.column).collect();
    assert_eq!(lines, [26, 32]);
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let config = read(
        "profiles:\n- plugins:\n    filter:\n      disabled:\n      - name: NodePort\n      - name: ImageLocality\n  \
         pluginConfig:\n  - name: PrioritySort\n    args: {a: 1}\n  - name: Elsewhere\n---\n",
    )
    .unwrap();
    let texts: Vec<&str> = config.warnings.list.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "profiles[0].plugins.filter.disabled[0]: there is no plugin \"NodePort\"",
            "profiles[0].plugins.filter.disabled[1]: plugin \"ImageLocality\" has no Filter to disable",
            "profiles[0].pluginConfig[0]: plugin \"PrioritySort\" takes no arguments",
            "profiles[0].pluginConfig[1]: plugin \"Elsewhere\" is not enabled, so these arguments have no effect",
            "only the first document is read",
        ]
    );
    assert!(config.warnings.to_string().starts_with("sched.yaml:7:9: warning: profiles[0]"));
}

#[test]
fn extenders_take_their_resources_out_of_the_account_of_every_profile() {
    let config = read(
        "extenders:\n- urlPrefix: http://a\n  managedResources:\n  - {name: a.b/c, ignoredByScheduler: true}\n  - {name: \
         a.b/d}\nprofiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {ignoredResources: [e.f/g]}\n",
    )
    .unwrap();
    let args = &config.profiles[0].plugin_config[0].args;
    assert_eq!(args["ignoredResources"], serde_json::json!(["a.b/c"]));
    assert!(
        view::yaml(&config).contains("ignoredResources:\n      - e.f/g\n"),
        "the document stays as it was"
    );
}

#[test]
fn the_table_has_the_plugins_of_every_point_with_weights_above_1() {
    let config = read("profiles:\n- plugins:\n    score:\n      disabled:\n      - name: '*'\n      enabled:\n      - name: \
                       NodeAffinity\n        weight: 7\n      - name: ImageLocality\n")
    .unwrap();
    let table = view::table(&config);
    let row = |name: &str| {
        let row = table.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("Score"), "Score NodeAffinity x7, ImageLocality");
    assert_eq!(row("QueueSort"), "QueueSort PrioritySort");
    assert_eq!(row("parallelism"), "parallelism 16");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn differences_from_the_default_are_told_in_a_line_each() {
    assert_eq!(view::diff(&read("").unwrap()), "");
    let config = read(
        "parallelism: 8\ndelayCacheUntilActive: true\nprofiles:\n- schedulerName: packed\n  plugins:\n    multiPoint:\n      \
         disabled:\n      - name: NodeName\n    score:\n      enabled:\n      - name: TaintToleration\n        weight: 9\n  \
         pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        type: MostAllocated\n",
    )
    .unwrap();
    let words = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(
        words(&view::diff(&config)),
        [
            "parallelism 16 -> 8",
            "delayCacheUntilActive false -> true",
            "profile packed (added)",
            "Filter - NodeName",
            "Score TaintToleration: weight 3 -> 9",
            "NodeResourcesFit scoringStrategy.type LeastAllocated -> MostAllocated",
            "profile default-scheduler (not there)",
        ]
    );
}

/// Runs `schedscope config` with a text as standard input.
fn command(args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .arg("config")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    // A program that does not read its input may be gone before it is written.
    let _ = child.stdin.take().expect("its input").write_all(stdin.as_bytes());
    child.wait_with_output().expect("its output")
}

#[test]
fn the_command_prints_the_two_documents_and_exits_with_2_where_something_is_wrong() {
    let files = packed("generated.tar.zst");
    let output = command(&["view", "-o", "yaml", "-"], &files["000.yaml"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), files["000.out"]);
    assert_eq!(output.status.code(), Some(0));

    let output =
        command(&["validate", "-"], &format!("{HEAD}parallelism: 0\npercentageOfNodesToScore: -1\n"));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.starts_with("standard input:3:14: parallelism: Invalid value: 0"), "{told}");
    assert!(told.contains("standard input:4:27: percentageOfNodesToScore: Invalid value: -1"), "{told}");
    assert!(output.stdout.is_empty());

    let output = command(&["validate", "-"], HEAD);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "valid: profile default-scheduler\n");
    let output = command(&["diff"], "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing differs from the default configuration\n");

    let output = command(&["view", "--feature-gates", "Nope=true,SchedulerQueueingHints=false"], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "--feature-gates: unrecognized feature gate: Nope\n--feature-gates: cannot set feature gate \
         SchedulerQueueingHints to false, feature is locked to true\n"
    );
}
