//! The files behind `-f`: from paths to named texts.
//!
//! A folder stands for the manifests in it, not for those in folders inside it; `-` is standard input. Text is
//! UTF-8; what PowerShell redirects, UTF-16 with a byte order mark, is understood too. What the texts mean is not
//! looked at here.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::api::manifest::Source;

/// What errors call standard input.
const STDIN_NAME: &str = "standard input";
/// The names of manifests in a folder end in one of these.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Why the input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is no such file.
    #[error("{}: there is no such file or folder", .0.display())]
    NotFound(PathBuf),
    /// The system does not let us.
    #[error("{name}: {error}")]
    Unreadable {
        /// What was to be read.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// A folder holds no manifest.
    #[error("{}: the folder holds no *.yaml, *.yml or *.json{}", .path.display(), folders_text(.folders))]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
        /// The folders inside it, which are not looked into.
        folders: Vec<String>,
    },
    /// Something inside a folder is named like a manifest and is a folder.
    #[error("{}: it is a folder, though it is named like a manifest", .0.display())]
    FolderInside(PathBuf),
    /// The bytes are no text.
    #[error("{name}: not UTF-8 text, at byte {offset}")]
    NotText {
        /// What was read.
        name: String,
        /// Where the first byte is that is not UTF-8, counted from 0.
        offset: usize,
    },
    /// Standard input can be read once.
    #[error("-: standard input is given twice")]
    StdinTwice,
}

fn folders_text(folders: &[String]) -> String {
    match folders {
        [] => String::new(),
        _ => format!("; folders inside it are not looked into: {}", folders.join(", ")),
    }
}

/// Reads what the paths stand for, in their order, the files of a folder by name.
///
/// # Errors
/// The first thing that cannot be read.
pub fn read_sources(paths: &[PathBuf]) -> Result<Vec<Source>, InputError> {
    read_sources_from(paths, &mut io::stdin().lock())
}

fn read_sources_from(paths: &[PathBuf], stdin: &mut impl Read) -> Result<Vec<Source>, InputError> {
    let mut sources = Vec::new();
    let mut stdin_read = false;
    for path in paths {
        if path.as_os_str() == "-" {
            if stdin_read {
                return Err(InputError::StdinTwice);
            }
            stdin_read = true;
            let mut bytes = Vec::new();
            let name = STDIN_NAME.to_owned();
            match stdin.read_to_end(&mut bytes) {
                Ok(_) => sources.push(Source { text: text(bytes, &name)?, name }),
                Err(error) => return Err(InputError::Unreadable { name, error }),
            }
        } else if path.is_dir() {
            for file in manifests_in(path)? {
                sources.push(read_file(&file)?);
            }
        } else {
            sources.push(read_file(path)?);
        }
    }
    Ok(sources)
}

fn read_file(path: &Path) -> Result<Source, InputError> {
    let name = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => Ok(Source { text: text(bytes, &name)?, name }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(InputError::NotFound(path.to_owned())),
        Err(error) => Err(InputError::Unreadable { name, error }),
    }
}

/// The manifests of a folder, by name.
fn manifests_in(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |error| InputError::Unreadable { name: folder.display().to_string(), error };
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_manifest =
            path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
        match (is_manifest, path.is_dir()) {
            (true, true) => return Err(InputError::FolderInside(path)),
            (true, false) => files.push(path),
            (false, true) => folders.extend(path.file_name().map(|name| name.to_string_lossy().into_owned())),
            (false, false) => {}
        }
    }
    if files.is_empty() {
        folders.sort();
        return Err(InputError::EmptyFolder { path: folder.to_owned(), folders });
    }
    files.sort();
    Ok(files)
}

fn text(bytes: Vec<u8>, name: &str) -> Result<String, InputError> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.get(2..).unwrap_or_default().as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).map_err(|_| InputError::NotText { name: name.to_owned(), offset: 0 })
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| InputError::NotText {
            name: name.to_owned(),
            offset: error.utf8_error().valid_up_to(),
        }),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Reads paths inside a folder with these files; a name that ends in a slash is a folder.
    fn read(files: &[(&str, &[u8])], paths: &[&str], stdin: &[u8]) -> Result<Vec<Source>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, bytes).unwrap();
            }
        }
        let paths: Vec<PathBuf> = paths
            .iter()
            .map(|path| if *path == "-" { PathBuf::from("-") } else { folder.path().join(path) })
            .collect();
        let root = format!("{}/", folder.path().display());
        let mut sources =
            read_sources_from(&paths, &mut &*stdin).map_err(|error| error.to_string().replace(&root, ""))?;
        for source in &mut sources {
            source.name = source.name.replace(&root, "");
        }
        Ok(sources)
    }

    fn told(sources: &[Source]) -> Vec<(&str, &str)> {
        sources.iter().map(|source| (source.name.as_str(), source.text.as_str())).collect()
    }

    #[test]
    fn files_folders_and_standard_input_are_read_in_order() {
        let files: &[(&str, &[u8])] = &[
            ("one.txt", b"1"),
            ("dir/", b""),
            ("dir/b.yaml", b"b"),
            ("dir/a.json", b"a"),
            ("dir/c.yml", b"c"),
            ("dir/README.md", b"x"),
            ("dir/inner/", b""),
            ("dir/inner/d.yaml", b"d"),
        ];
        let sources = read(files, &["one.txt", "-", "dir"], b"in").unwrap();
        assert_eq!(
            told(&sources),
            [
                ("one.txt", "1"),
                ("standard input", "in"),
                ("dir/a.json", "a"),
                ("dir/b.yaml", "b"),
                ("dir/c.yml", "c")
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let files: &[(&str, &[u8])] = &[
            ("empty/", b""),
            ("outer/", b""),
            ("outer/team-b/", b""),
            ("outer/team-a/", b""),
            ("odd/", b""),
            ("odd/x.yaml/", b""),
            ("binary", b"ab\xffc"),
        ];
        for (paths, expected) in [
            (&["lost.yaml"] as &[&str], "lost.yaml: there is no such file or folder"),
            (&["empty"], "empty: the folder holds no *.yaml, *.yml or *.json"),
            (
                &["outer"],
                "outer: the folder holds no *.yaml, *.yml or *.json; folders inside it are not looked into: team-a, team-b",
            ),
            (&["odd"], "odd/x.yaml: it is a folder, though it is named like a manifest"),
            (&["binary"], "binary: not UTF-8 text, at byte 2"),
            (&["-", "-"], "-: standard input is given twice"),
        ] {
            assert_eq!(read(files, paths, b"").unwrap_err(), expected);
        }
        assert_eq!(read(&[], &["-"], b"\xc3").unwrap_err(), "standard input: not UTF-8 text, at byte 0");
    }

    #[test]
    fn text_from_powershell_is_understood() {
        let bytes: Vec<u8> = "\u{feff}kind: \u{e9}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(told(&read(&[("a", &bytes)], &["a"], b"").unwrap()), [("a", "kind: \u{e9}")]);
        assert_eq!(
            read(&[], &["-"], b"\xfe\xff\xd8\x00").unwrap_err(),
            "standard input: not UTF-8 text, at byte 0"
        );
    }
}
