//! The pictures of docs/gallery.md are what the commands beside them make.
//!
//! `UPDATE_GALLERY=1 cargo test gallery` makes them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::pty::program;

/// No picture is larger than that.
const MAX_BYTES: usize = 200_000;

/// The name of each picture, and the arguments that make it.
fn pictures(page: &str) -> Vec<(String, Vec<String>)> {
    let mut name = String::new();
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(file) = line.split_once("](gallery/").and_then(|(_, rest)| rest.strip_suffix(".svg)")) {
            name = file.to_owned();
        }
        if let Some(command) = line.strip_prefix("schedscope ") {
            // Only the keys have blanks in them, and stand last.
            let (words, keys) = command.split_once(" --keys ").unwrap_or((command, ""));
            let mut args: Vec<String> = words.split(' ').map(ToOwned::to_owned).collect();
            if !keys.is_empty() {
                args.extend(["--keys".to_owned(), keys.trim_matches('"').to_owned()]);
            }
            found.push((name.clone(), args));
        }
    }
    found
}

#[test]
fn the_pictures_of_the_gallery_are_what_the_program_draws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/gallery.md")).unwrap();
    let pictures = pictures(&page);
    assert!(pictures.len() >= 6, "{pictures:?}");
    let mut stale = Vec::new();
    for (name, args) in pictures {
        let output = Command::new(program()).args(&args).current_dir(root).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.len() < MAX_BYTES, "{name} has {} bytes", output.stdout.len());
        let path = root.join("docs/gallery").join(format!("{name}.svg"));
        if std::env::var_os("UPDATE_GALLERY").is_some() {
            fs::write(&path, &output.stdout).unwrap();
        } else if fs::read(&path).ok() != Some(output.stdout) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "run UPDATE_GALLERY=1 cargo test gallery: {stale:?} differ");
}
