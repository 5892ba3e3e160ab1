//! Configurations: what kube-scheduler v1.36.3 makes of them, and by which words it refuses them, must be what is
//! made of them here.
//!
//! The data and its rules are described in `README.md`.

mod answers;
mod damage;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use schedscope::config::{ExtensionPoint, PluginCatalog};

/// The files of a set by name.
type Files = BTreeMap<String, String>;

/// The files of an archive of this folder.
fn packed(name: &str) -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(name);
    let file = fs::File::open(&path).expect("the packed data");
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("a zstd stream"));
    let mut files = Files::new();
    for entry in archive.entries().expect("a tar archive") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a path").to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("a text");
        files.insert(name.trim_start_matches("./").to_owned(), text);
    }
    files
}

/// The files of a folder, or of its folder `config`; `None` if no configuration with an answer is there.
fn unpacked(folder: &Path) -> Option<Files> {
    let inner = folder.join("config");
    let folder = if inner.is_dir() { inner.as_path() } else { folder };
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a folder of configurations") {
        let path = entry.expect("an entry").path();
        if let Ok(text) = fs::read_to_string(&path) {
            files.insert(path.file_name().expect("a name").to_string_lossy().into_owned(), text);
        }
    }
    let is_answer = |name: &String| name.ends_with(".out") || name.ends_with(".err");
    files.keys().any(is_answer).then_some(files)
}

/// kube-scheduler's plugins, and those that the answers were made with besides.
fn catalog() -> PluginCatalog {
    PluginCatalog::default()
        .with("TestPermitA", [ExtensionPoint::Permit])
        .with("TestPermitB", [ExtensionPoint::Permit])
        .with("TestReserveA", [ExtensionPoint::Reserve])
        .with("TestReserveB", [ExtensionPoint::Reserve])
        .with("TestPreBind", [ExtensionPoint::PreBind])
        .with("TestPostBind", [ExtensionPoint::PostBind])
}
