//! Scripts: what the scheduler does step by step must be what kube-scheduler does, line for line.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};

use schedscope::api::Time;
use schedscope::api::manifest::Source;
use schedscope::config::SchedulerConfig;
use schedscope::driver::conformance::run::test_plugins;
use schedscope::driver::conformance::{CaseSources, run};
use schedscope::driver::recorder::{Recorder, RecorderOptions};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{CheckReport, Header, Slim, check};
use schedscope::scheduler::SchedulerOptions;

use super::{Files, archive};

/// The scripts that are checked in; `SCHEDSCOPE_GOLDEN=DIR` compares those of a folder instead.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn scripts_are_played_as_kube_scheduler_plays_them() {
    let folder = std::env::var_os("SCHEDSCOPE_GOLDEN");
    let mut scripts = match &folder {
        Some(folder) => archive::read_folder(folder.as_ref()),
        None => archive::read_packed("run.tar.zst"),
    };
    scripts.retain(|_, files| files.contains_key("script.txt") && files.contains_key("expected.txt"));
    let mut families: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut different = Vec::new();
    for (name, files) in &scripts {
        let first = name.rsplit_once('-').map_or("", |(family, _)| family);
        let is_case = first.chars().next().is_some_and(|c| c.is_ascii_digit());
        let (n_equal, n) = families.entry(if is_case { "cases" } else { first }).or_default();
        *n += 1;
        match difference(files) {
            None => *n_equal += 1,
            Some(difference) => different.push(format!("{name}: {difference}")),
        }
    }
    for (family, (n_equal, n)) in &families {
        println!("{family}: {n_equal} of {n} equal");
    }
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
    assert!(folder.is_some() || scripts.len() == 268, "{} scripts", scripts.len());
}

#[test]
fn a_recording_of_any_script_is_replayed_as_it_was() {
    let mut scripts = archive::read_packed("run.tar.zst");
    scripts.retain(|_, files| files.contains_key("script.txt") && files.contains_key("expected.txt"));
    let mut n_inputs = 0;
    for (name, files) in &scripts {
        // Test plugins count their calls, so each script has its own.
        let mut registry = in_tree_registry();
        test_plugins::register(&mut registry, &test_plugins::Calls::default()).unwrap();
        let bytes = Memory::default();
        let mut recorder = None;
        let mut record = |config: &SchedulerConfig, options: &SchedulerOptions, start: Time| {
            let header = Header::new(config, options, start, name).unwrap();
            // What the test plugins do is told by annotations; these are recorded as they are.
            let slim = Slim { kept_annotations: test_annotations(files) };
            let recorder_options =
                RecorderOptions { digest_interval_min: 16, slim, ..RecorderOptions::default() };
            let (begun, tap) = Recorder::start(Box::new(bytes.clone()), &header, recorder_options).unwrap();
            recorder = Some(begun);
            Some(tap)
        };
        let read_file =
            |name: &str| files.get(name).cloned().ok_or_else(|| "there is no such file".to_owned());
        // Some scripts end with an error on purpose; what was recorded until then counts.
        let _ =
            run::run_recorded(&sources(files), &files["script.txt"], &read_file, &mut |_| {}, &mut record);
        let Some(recorder) = recorder else { continue };
        recorder.finish().unwrap();
        let bytes = bytes.0.lock().unwrap().clone();
        let mut report = CheckReport::default();
        let outcome = check(&mut || Ok(&*bytes), &registry, &mut report);
        assert!(outcome.is_ok(), "{name}: {} after {report:?}", outcome.unwrap_err());
        n_inputs += report.inputs;
    }
    assert!(n_inputs > 5_000, "{n_inputs}");
}

/// The annotations of test plugins that the files of a script name.
fn test_annotations(files: &Files) -> BTreeSet<String> {
    const PREFIX: &str = "test.schedscope.dev/";
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let names =
        files.values().flat_map(|text| text.match_indices(PREFIX).map(|(at, _)| &text[at + PREFIX.len()..]));
    names.map(|rest| format!("{PREFIX}{}", &rest[..rest.find(ends).unwrap_or(rest.len())])).collect()
}

/// A sink that can be looked at.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub fn sources(files: &Files) -> CaseSources {
    let source = |name: &str| Some(Source { name: name.to_owned(), text: files.get(name)?.clone() });
    let manifests = ["cluster.yaml", "cluster.json", "pending.yaml", "pending.json"];
    CaseSources {
        manifests: manifests.into_iter().filter_map(source).collect(),
        config: source("config.yaml"),
        extenders: source("extenders.yaml"),
        feature_gates: files.get("gates").cloned().unwrap_or_default(),
    }
}

/// The first line that differs, as a text; `None` if all are equal.
fn difference(files: &Files) -> Option<String> {
    let sources = sources(files);
    let read_file = |name: &str| files.get(name).cloned().ok_or_else(|| "there is no such file".to_owned());
    let mut lines: Vec<String> = Vec::new();
    let played =
        run::run(&sources, &files["script.txt"], &read_file, &mut |line| lines.push(line.to_owned()));
    if let Err(error) = played {
        lines.push(format!("error: {error}"));
    }
    let golden: Vec<&str> = files["expected.txt"].lines().collect();
    let at = lines.iter().zip(&golden).take_while(|(ours, golden)| ours == golden).count();
    if at == lines.len() && at == golden.len() {
        return None;
    }
    let ours = lines.get(at).map_or("(the end)", String::as_str);
    let golden = golden.get(at).copied().unwrap_or("(the end)");
    Some(format!("line {}\n    ours   {ours}\n    golden {golden}", at + 1))
}
