//! The golden data as texts by case and file: from the packed archives, or from a folder of the same form.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Texts by folder and file.
pub type Texts = BTreeMap<String, BTreeMap<String, String>>;

/// Reads an archive of `data`; files at the top stand under the empty name.
pub fn read_packed(name: &str) -> Texts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/data").join(name);
    let file = fs::File::open(&path).expect("the packed data");
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("a zstd stream"));
    let mut texts = Texts::new();
    for entry in archive.entries().expect("a tar archive") {
        let mut entry = entry.expect("an entry");
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().expect("a path").to_string_lossy().into_owned();
        let path = path.trim_start_matches("./");
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let (folder, file) = (folder.to_owned(), file.to_owned());
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("a text");
        texts.entry(folder).or_default().insert(file, text);
    }
    texts
}

/// Reads every folder below `folder`.
pub fn read_folder(folder: &Path) -> Texts {
    let mut texts = Texts::new();
    for entry in fs::read_dir(folder).expect("the folder of golden cases") {
        let path = entry.expect("an entry").path();
        if !path.is_dir() {
            continue;
        }
        let mut files = BTreeMap::new();
        for file in fs::read_dir(&path).expect("a case") {
            let file = file.expect("a file").path();
            if let Ok(text) = fs::read_to_string(&file) {
                files.insert(file.file_name().expect("a name").to_string_lossy().into_owned(), text);
            }
        }
        texts.insert(path.file_name().expect("a name").to_string_lossy().into_owned(), files);
    }
    texts
}
