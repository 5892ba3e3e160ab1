//! The rules that the compiler does not keep: which module imports which, how long a file may be, what it begins
//! with, and words that have no place in the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest file, in lines.
const LINES_MAX: usize = 800;

/// Each module of the library with the modules that it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("api", &[]),
    ("config", &["api"]),
    ("framework", &["api", "config"]),
    ("plugins", &["api", "config", "framework"]),
    ("queue", &["api", "config", "framework"]),
    ("cache", &["api", "config", "framework"]),
    ("scheduler", &["api", "config", "framework", "plugins", "queue", "cache"]),
    ("recording", &["api", "config", "framework", "scheduler"]),
    ("explain", &["api", "config", "framework", "plugins", "scheduler"]),
    ("driver", &["api", "config", "framework", "plugins", "scheduler", "recording"]),
    ("testkit", &["api", "config", "framework", "plugins", "scheduler", "driver"]),
    ("lessons", &["api", "config", "framework", "scheduler", "driver", "explain"]),
    ("tui", &["api", "framework", "scheduler", "driver", "explain", "lessons"]),
    (
        "cli",
        &[
            "api",
            "config",
            "framework",
            "plugins",
            "scheduler",
            "recording",
            "driver",
            "explain",
            "lessons",
            "tui",
        ],
    ),
];

/// What may only be used in these modules, or parts of them.
const ONLY_IN: &[(&str, &[&str])] = &[
    (
        "std::fs",
        &[
            "cli",
            "driver/extender/tls",
            "driver/live/audit",
            "driver/metrics",
            "driver/outlook/asking",
            "driver/recorder",
            "driver/serve",
            "tui/event_loop",
            "tui/commands",
            "tui/remote",
        ],
    ),
    ("std::env", &["cli", "tui/mod", "tui/terminal", "tui/event_loop"]),
    // Device selectors read addresses; they connect to none.
    (
        "std::net",
        &["cli/serve", "driver/api_server", "driver/extender", "driver/serve", "framework/device_cel"],
    ),
    ("std::thread", &["driver", "tui/event_loop", "tui/signals", "tui/terminal", "tui/remote"]),
    ("Instant::now", &["driver", "tui/event_loop", "tui/remote"]),
    ("SystemTime", &["driver", "cli", "tui/log_lines"]),
    ("tokio::", &["driver", "tui", "cli"]),
    ("ratatui", &["tui"]),
    ("crossterm", &["tui/terminal", "tui/event_loop", "tui/remote", "tui/keymap", "cli"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Every source file of the library by its path below `src`, with its text up to its unit tests.
fn sources() -> BTreeMap<String, String> {
    let src = root().join("src");
    rust_files(&src)
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a source file");
            let code = without_unit_tests(&text);
            let name = path.strip_prefix(&src).expect("below src").to_string_lossy().replace('\\', "/");
            (name, code)
        })
        .collect()
}

/// The text of a file up to the module with its unit tests.
fn without_unit_tests(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_test_module = |at: usize| {
        lines[at] == "#[cfg(test)]"
            && lines[at..]
                .iter()
                .find(|line| !line.starts_with('#'))
                .is_some_and(|line| line.starts_with("mod tests {"))
    };
    let end = (0..lines.len()).find(|at| is_test_module(*at)).unwrap_or(lines.len());
    lines[..end].join("\n")
}

/// The lines of a file that are code, numbered from 1.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn module_of(file: &str) -> Option<&str> {
    let (first, rest) = file.split_once('/').unwrap_or((file, ""));
    if rest.is_empty() {
        first.strip_suffix(".rs").filter(|m| *m != "lib" && *m != "main")
    } else {
        Some(first)
    }
}

#[test]
fn a_module_imports_only_what_stands_to_its_left() {
    let mut offences = Vec::new();
    for (file, text) in sources() {
        let Some(module) = module_of(&file) else { continue };
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else {
            offences.push(format!("{file}: module {module} has no place in the order"));
            continue;
        };
        for (number, line) in code_lines(&text) {
            for part in line.split("crate::").skip(1) {
                let target: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let is_known = MAY_IMPORT.iter().any(|(name, _)| *name == target);
                if is_known && target != module && !allowed.contains(&target.as_str()) {
                    offences.push(format!("{file}:{number}: {module} must not import {target}"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn a_plugin_does_not_import_another_plugin() {
    let mut offences = Vec::new();
    for (file, text) in sources() {
        let Some(rest) = file.strip_prefix("plugins/") else { continue };
        let own = rest.split(['/', '.']).next().unwrap_or_default();
        if matches!(own, "mod" | "registry") {
            continue;
        }
        for (number, line) in code_lines(&text) {
            for part in line.split("crate::plugins::").skip(1) {
                let target: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !["helper", "names", "fixtures", "", own].contains(&target.as_str()) {
                    offences.push(format!("{file}:{number}: imports the plugin {target}"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Where plugins may be put together: in the program, in the kit for tests, and where answers are compared with those of kube-scheduler, which
/// has its own plugins alone.
const COMPOSERS: &[&str] = &["cli/program", "cli/script", "driver/conformance", "plugins", "testkit"];

#[test]
fn plugins_are_put_together_in_one_place() {
    let mut offences = Vec::new();
    for (file, text) in sources() {
        if COMPOSERS.iter().any(|place| file.starts_with(place)) {
            continue;
        }
        for (number, line) in code_lines(&text).filter(|(_, line)| line.contains("in_tree_registry")) {
            offences.push(format!(
                "{file}:{number}: take the registry of the program or of the scheduler: {line}"
            ));
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn clocks_files_threads_and_screens_stay_in_their_modules() {
    let mut offences = Vec::new();
    for (file, text) in sources() {
        for (what, places) in ONLY_IN {
            if places.iter().any(|place| file.starts_with(place)) {
                continue;
            }
            for (number, line) in code_lines(&text) {
                let at_word = line.match_indices(what).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"')
                });
                if at_word {
                    offences.push(format!("{file}:{number}: uses {what}"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn every_file_opens_with_what_it_is_and_stays_short() {
    let mut offences = Vec::new();
    for folder in ["src", "tests", "examples"] {
        let folder = root().join(folder);
        if !folder.exists() {
            continue;
        }
        for path in rust_files(&folder) {
            let text = fs::read_to_string(&path).expect("a source file");
            let name = path.display();
            if !text.starts_with("//!") {
                offences.push(format!("{name}: does not open with //!"));
            }
            let n_lines = text.lines().count();
            if n_lines > LINES_MAX {
                offences.push(format!("{name}: {n_lines} lines, more than {LINES_MAX}"));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

// `unwrap`, `expect`, `panic!` and `todo!` are denied by clippy, which sees more than a search for words does.
#[test]
fn nothing_is_left_unfinished() {
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    let mut offences = Vec::new();
    for (file, text) in sources() {
        for (i, line) in text.lines().enumerate() {
            for word in words {
                if line.contains(word) {
                    offences.push(format!("{file}:{}: {word}", i + 1));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn wanted_differences_from_kube_scheduler_are_listed_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut missing = Vec::new();
    for (file, text) in sources() {
        for part in text.split("// DIVERGES:").skip(1) {
            let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
            let more = rest.lines().map_while(|line| line.trim().strip_prefix("// "));
            let reason = std::iter::once(first.trim()).chain(more).collect::<Vec<_>>().join(" ");
            let first_sentence = reason.split(". ").next().unwrap_or_default().trim_end_matches('.');
            if !readme.contains(first_sentence) {
                missing.push(format!("{file}: {reason}"));
            }
        }
    }
    assert!(missing.is_empty(), "not in the README:\n{}", missing.join("\n"));
}

/// The README's key table is made from the keymap. `UPDATE_README=1 cargo test tidy` writes it.
#[test]
fn the_readme_has_the_keys_that_the_console_has() {
    const BEGIN: &str = "<!-- keys: made from the keymap -->\n";
    const END: &str = "<!-- end of keys -->";
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("the README");
    let table = schedscope::tui::keymap::load::built_in().markdown();
    let (before, rest) = readme.split_once(BEGIN).expect("where the keys begin");
    let (now, after) = rest.split_once(END).expect("where the keys end");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{before}{BEGIN}\n{}\n\n{END}{after}", table.trim())).expect("the README");
        return;
    }
    assert_eq!(now.trim(), table.trim(), "run UPDATE_README=1 cargo test tidy");
}
