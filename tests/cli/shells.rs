//! Completions for shells, manual pages, and the program as a plugin of kubectl.

use std::process::Command;

use super::{Done, Stage, done};

fn run(args: &[&str]) -> Done {
    Stage::new().run(args)
}

/// The subcommands that the help names.
fn subcommands() -> Vec<String> {
    let help = run(&["--help"]).out;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<String> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect();
    assert!(names.contains(&"live".to_owned()), "{names:?}");
    names
}

#[test]
fn each_shell_gets_completions_with_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = run(&["completions", shell]);
        assert_eq!((done.code, done.said.as_str()), (0, ""), "{shell}");
        for name in subcommands() {
            assert!(done.out.contains(&name), "{shell}: {name} is missing");
        }
        assert!(done.out.contains("schedscope"), "{shell}");
    }
    let done = run(&["completions", "tcsh"]);
    assert!(done.code == 2 && done.said.contains("bash"), "{done:?}");
}

#[test]
fn bash_takes_its_completions_and_completes_a_subcommand() {
    let stage = Stage::new();
    let text = stage.run(&["completions", "bash"]).out;
    stage.write("completions", text);
    let path = stage.path().join("completions");
    let script = format!(
        "set -e; source {}; COMP_WORDS=(schedscope sandb); COMP_CWORD=1; _schedscope schedscope sandb schedscope; \
         echo \"${{COMPREPLY[*]}}\"",
        path.display()
    );
    let checked = done(Command::new("bash").arg("-n").arg(&path).output().unwrap());
    assert_eq!((checked.code, checked.said.as_str()), (0, ""));
    let completed = done(Command::new("bash").args(["-c", &script]).output().unwrap());
    assert_eq!(completed.out.trim(), "sandbox", "{completed:?}");
}

#[test]
fn the_program_and_each_subcommand_have_a_manual_page() {
    let page = run(&["man"]);
    assert_eq!(page.code, 0);
    assert!(page.out.contains(".TH schedscope 1"), "{}", page.out);
    let stage = Stage::new();
    assert_eq!(stage.run(&["man", "--out", "pages"]).code, 0);
    let mut written: Vec<String> = std::fs::read_dir(stage.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    written.sort();
    for name in subcommands() {
        let page = run(&["man", &name]);
        assert!(page.code == 0 && page.out.contains(".SH NAME"), "{name}: {page:?}");
        assert!(page.out.contains(&format!("schedscope\\-{name}")), "{name}: {}", page.out);
        let file = format!("schedscope-{name}.1");
        assert!(written.contains(&file), "{file} is not in {written:?}");
        assert_eq!(std::fs::read_to_string(stage.path().join("pages").join(&file)).unwrap(), page.out);
    }
    assert!(
        written.contains(&"schedscope.1".to_owned())
            && written.contains(&"schedscope-config-view.1".to_owned())
    );
    assert!(!written.iter().any(|name| name.contains("conformance")), "{written:?}");
    let done = run(&["man", "liv"]);
    assert!(done.code == 2 && done.said.contains("liv"), "{done:?}");
}

#[test]
#[cfg(unix)]
fn as_a_plugin_of_kubectl_it_speaks_of_itself_so() {
    let stage = Stage::new();
    let plugin = stage.path().join("kubectl-schedscope");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_schedscope"), &plugin).unwrap();
    for (args, usage) in [
        (&["--help"][..], "Usage: kubectl schedscope"),
        (&["live", "--help"], "Usage: kubectl schedscope live"),
        (&["config", "view", "--nothing"], "Usage: kubectl schedscope config view"),
    ] {
        let done = done(Command::new(&plugin).args(args).output().unwrap());
        assert!(done.out.contains(usage) || done.said.contains(usage), "{done:?}");
    }
    let version = done(Command::new(&plugin).arg("--version").output().unwrap());
    assert_eq!(version.out, format!("schedscope {}\n", env!("CARGO_PKG_VERSION")));
}
