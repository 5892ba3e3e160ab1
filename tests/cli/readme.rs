//! The README's commands run as written.
//!
//! Every line behind a `$` in a `console` block is given to a shell in a terminal. `kubectl` prints a dump there, and
//! `cargo run --release` starts the program that was built for the tests; other commands of cargo are believed. Where the README shows what is
//! printed, exactly that must be printed; a line `...` stands for any lines.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use super::{Stage, dumps};
use crate::support::pty::{self, program};

const KUBECTL: &str = "#!/bin/sh
case \"$*\" in
    'get '*' -o yaml') cat \"$DUMP\" ;;
    *) echo \"kubectl: unexpected arguments: $*\" >&2; exit 64 ;;
esac
";

const CARGO: &str = "#!/bin/sh
case \"$1 $2\" in
    'run --release') shift 2; [ \"$1\" != -- ] || shift; exec schedscope \"$@\" ;;
    'run --example') [ -f \"$ROOT/examples/$3.rs\" ] ;;
    'test --locked' | 'build --release' | 'install --path') ;;
    *) echo \"cargo: unexpected arguments: $*\" >&2; exit 64 ;;
esac
";

/// A command of the README, and what the README says that it prints.
#[derive(Debug)]
struct Example {
    command: String,
    output: Vec<String>,
}

fn examples() -> Vec<Example> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for line in readme.lines() {
        match (line.strip_prefix("```"), line.strip_prefix("$ ")) {
            (Some(language), _) => is_console = !is_console && language == "console",
            (None, Some(command)) if is_console => {
                examples.push(Example { command: command.to_owned(), output: Vec::new() });
            }
            (None, None) if is_console => {
                examples.last_mut().unwrap().output.push(line.trim_end().to_owned())
            }
            _ => {}
        }
    }
    examples
}

/// A folder with what the commands need, and with the files of the dumps.
fn stage() -> Stage {
    let stage = Stage::new();
    let bin = stage.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(program(), bin.join("schedscope")).unwrap();
    for (name, script) in [("kubectl", KUBECTL), ("cargo", CARGO)] {
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["broken.yaml", "scheduler.yaml"] {
        fs::copy(dumps().join(name), stage.path().join(name)).unwrap();
    }
    stage
}

/// The command in the folder of the stage, with its commands.
fn shell(stage: &Stage, command: &str) -> String {
    let folder = stage.path().display();
    let (root, dump) = (env!("CARGO_MANIFEST_DIR"), dumps().join("shop.yaml"));
    format!(
        "cd '{folder}'; PATH='{folder}/bin':\"$PATH\"; ROOT='{root}'; DUMP='{}'; export PATH ROOT DUMP; {command}",
        dump.display()
    )
}

#[test]
fn every_command_runs_as_written() {
    let examples = examples();
    assert!(examples.len() >= 4, "{examples:?}");
    let stage = stage();
    for Example { command, output } in &examples {
        let terminal = pty::Stage::of(Path::new("sh"), &["-c", &shell(&stage, command)]).start();
        let is_over = |terminal: &pty::Terminal| terminal.text().contains("<exit ");
        terminal
            .wait_until("a console or an end", || terminal.screen().alternate_screen() || is_over(&terminal));
        let mut terminal = terminal;
        if terminal.screen().alternate_screen() {
            terminal.wait_console();
            terminal.send("q");
        }
        let code = terminal.wait_exit();
        let is_refused = output.iter().any(|line| line.starts_with("schedscope: "));
        let is_wanted = if is_refused { code == 2 } else { code <= 1 };
        assert!(is_wanted, "$ {command}\nexit code {code}\n{}", terminal.text());
        if !output.is_empty() {
            let script = shell(&stage, &format!("{{ {command}\n}} 2>&1"));
            let done = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_prints(command, output, &String::from_utf8(done.stdout).unwrap());
        }
    }
    // What the commands leave behind is what the README says that they do.
    let names = examples.iter().map(|example| example.command.as_str()).collect::<Vec<_>>().join("\n");
    for word in ["cargo run --release", "cargo test", "schedscope sandbox -f", "schedscope run -f", "-o json"]
    {
        assert!(names.contains(word), "the README does not show {word}:\n{names}");
    }
}

/// Fails unless the text is as shown, where `...` stands for any lines.
#[track_caller]
fn assert_prints(command: &str, shown: &[String], printed: &str) {
    let mut rest: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let mut may_skip = false;
    for line in shown {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let at = if may_skip { rest.iter().position(|other| other == line) } else { Some(0) };
        let at = at.filter(|at| rest.get(*at) == Some(&line.as_str()));
        let Some(at) = at else { panic!("$ {command}\nthe README shows\n{line}\nprinted is\n{printed}") };
        rest.drain(..=at);
        may_skip = false;
    }
    assert!(
        may_skip || rest.is_empty(),
        "$ {command}\nmore is printed than the README shows:\n{}",
        rest.join("\n")
    );
}
