//! What the program says about itself, and about arguments that it does not know.

use super::{Done, Stage};

fn run(args: &[&str]) -> Done {
    Stage::new().run(args)
}

#[test]
fn the_help_names_commands_exit_codes_and_fits_the_width() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let done = run(args);
        assert_eq!((done.code, done.said.as_str()), (0, ""));
        for word in ["sandbox", "run", "Exit codes: 0", "--theme", "--keymap"] {
            assert!(done.out.contains(word), "{args:?}: {word} is not in\n{}", done.out);
        }
        let widest = done.out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{widest} columns");
    }
}

#[test]
fn each_command_has_help_about_what_it_takes_and_nothing_else() {
    let sandbox = run(&["sandbox", "--help"]).out;
    assert!(
        ["-f, --filename", "--seed", "--theme", "--log-file"].iter().all(|word| sandbox.contains(word)),
        "{sandbox}"
    );
    let run = run(&["run", "--help"]).out;
    assert!(
        ["-f, --filename", "--seed", "-o, --output", "table", "json"].iter().all(|word| run.contains(word)),
        "{run}"
    );
    assert!(
        !["--theme", "--keymap", "--no-mouse", "--log-file"].iter().any(|word| run.contains(word)),
        "{run}"
    );
}

#[test]
fn the_version_is_the_crates() {
    for flag in ["--version", "-V"] {
        assert_eq!(run(&[flag]).out, format!("schedscope {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn what_is_not_known_is_refused_with_a_way_on() {
    for (args, words) in [
        (&["runn"][..], &["runn", "'run'"][..]),
        (&["--fiename"], &["--fiename"]),
        (&["run", "--filenme", "x"], &["--filenme", "--filename"]),
        (&["run", "-o", "yaml"], &["yaml", "table", "json"]),
        (&["run", "extra"], &["extra"]),
        (&["run", "-f"], &["--filename"]),
        (&["run", "--seed", "x"], &["--seed", "x"]),
        (&["run", "--seed", "99999999999999999999999"], &["--seed"]),
        (&["run", "--theme", "dark"], &["--theme"]),
        (&["--color", "mauve"], &["mauve", "auto", "truecolor"]),
        (&["--ascii", "run"], &["--ascii", "run"]),
        (&["sandbox", "run"], &["run"]),
    ] {
        let done = run(args);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}: {done:?}");
        for word in words {
            assert!(done.said.contains(word), "{args:?}: {word} is not in\n{}", done.said);
        }
        assert!(done.said.contains("--help"), "{args:?}: no way on in\n{}", done.said);
    }
}

#[test]
fn a_theme_from_the_environment_is_checked_like_one_from_an_argument() {
    let stage = Stage::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .arg("sandbox")
        .env("SCHEDSCOPE_THEME", "mauve")
        .current_dir(stage.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("mauve"));
}
