//! The audit file: what was done in the cluster, when, as whom, and who said so.
//!
//! One JSON object a line, appended and never changed, readable by its owner alone. It holds names, conditions and
//! messages, never credentials: those are not known where lines are made. `docs/live.md` describes
//! the fields.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::api::Time;

use super::deed::{Deed, Outcome};

/// Only the owner may read and write it.
const MODE: u32 = 0o600;

/// Under what every line is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// The context of the kubeconfig.
    pub context: String,
    /// The server's address.
    pub server: String,
    /// As whom, as far as is known.
    pub user: String,
}

/// An open audit file.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    file: File,
    /// Why the last line could not be written.
    failure: Option<String>,
}

impl Audit {
    /// Opens a file to append to; it is made if it is not there, with its folder.
    ///
    /// # Errors
    /// If that cannot be done, or others could read the file and that cannot be changed.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(MODE).open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.permissions().mode() & 0o777 != MODE {
            file.set_permissions(Permissions::from_mode(MODE))?;
        }
        Ok(Self { path: path.to_owned(), file, failure: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the last line could not be written, if it could not.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Writes what became of a deed. `confirmed_by` is the person who was asked about it.
    pub fn deed(
        &mut self,
        heading: &Heading,
        now: Time,
        deed: &Deed,
        outcome: &Outcome,
        confirmed_by: Option<&str>,
    ) {
        let mut line = begin(heading, now, deed.verb);
        line["resource"] = Value::from(deed.resource.as_str());
        line["object"] = json!({
            "namespace": &*deed.object.namespace, "name": &*deed.object.name, "uid": &*deed.uid,
        });
        line["body"] = deed.essence.clone();
        line["outcome"] = Value::from(outcome.as_str());
        if let Outcome::Failed(error) = outcome {
            line["error"] = Value::from(error.as_str());
        }
        line["confirmedBy"] = Value::from(confirmed_by);
        let undo = deed.undo.as_ref().filter(|_| matches!(outcome, Outcome::Done | Outcome::Unknown));
        line["undo"] = Value::from(undo.and_then(|undo| undo.command.as_deref()));
        self.write(&line);
    }

    /// Writes what happened to the session itself, such as that it was armed.
    pub fn session(
        &mut self,
        heading: &Heading,
        now: Time,
        verb: &str,
        by: &str,
        outcome: &str,
        detail: &str,
    ) {
        let mut line = begin(heading, now, verb);
        line["resource"] = Value::from("session");
        line["outcome"] = Value::from(outcome);
        line["confirmedBy"] = Value::from(by);
        line["detail"] = Value::from(detail);
        self.write(&line);
    }

    fn write(&mut self, line: &Value) {
        // One call of the system for a line, so that lines of two programs do not mix.
        let text = format!("{line}\n");
        self.failure = self.file.write_all(text.as_bytes()).err().map(|error| error.to_string());
    }
}

fn begin(heading: &Heading, now: Time, verb: &str) -> Value {
    json!({
        "time": now.to_rfc3339_micros(),
        "context": heading.context,
        "server": heading.server,
        "user": heading.user,
        "verb": verb,
    })
}

/// Where the audit file is if nobody says: `$XDG_STATE_HOME/schedscope/audit.jsonl`, or the same under
/// `~/.local/state`. Absent where neither is known.
pub fn default_place(state_home: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let state = state_home
        // The rule of the XDG base directories: what is not absolute is ignored.
        .filter(|path| path.is_absolute())
        .map(Path::to_owned)
        .or_else(|| home.filter(|home| home.is_absolute()).map(|home| home.join(".local/state")))?;
    Some(state.join("schedscope/audit.jsonl"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::api::{NamespacedName, ObjectStore, Uid};
    use crate::scheduler::effect::EffectKind;

    #[test]
    fn lines_are_appended_to_a_file_of_its_owner_alone_and_say_who_what_and_what_became_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/audit.jsonl");
        let heading = Heading { context: "dev".into(), server: "https://x".into(), user: "ann".into() };
        let bind = EffectKind::Bind {
            pod: NamespacedName::new("shop", "a"),
            uid: Uid::from("u1"),
            node: "n1".into(),
        };
        let deed = Deed::of(&bind, &ObjectStore::default(), "kubectl").unwrap();
        let mut audit = Audit::open(&path).unwrap();
        audit.deed(&heading, Time::from_secs(0), &deed, &Outcome::Done, Some("ann"));
        drop(audit);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let mut audit = Audit::open(&path).unwrap();
        audit.deed(&heading, Time::from_secs(1), &deed, &Outcome::Failed("gone".into()), None);
        audit.session(&heading, Time::from_secs(2), "disarm", "ann", "done", "");
        assert_eq!(audit.failure(), None);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["time"], "1970-01-01T00:00:00.000000Z");
        assert_eq!((&lines[0]["user"], &lines[0]["confirmedBy"]), (&json!("ann"), &json!("ann")));
        assert_eq!(lines[0]["object"], json!({"namespace": "shop", "name": "a", "uid": "u1"}));
        assert_eq!(
            (&lines[0]["resource"], &lines[0]["body"]),
            (&json!("pods/binding"), &json!({"node": "n1"}))
        );
        assert_eq!(lines[0]["undo"], "kubectl -n shop delete pod a");
        assert_eq!((&lines[1]["outcome"], &lines[1]["error"]), (&json!("failed"), &json!("gone")));
        assert_eq!(lines[2]["verb"], "disarm");
    }

    #[test]
    fn the_place_is_the_one_of_the_xdg_rules() {
        let (state, home) = (Path::new("/state"), Path::new("/home/ann"));
        let of = |state, home| default_place(state, home).map(|path| path.display().to_string());
        assert_eq!(of(Some(state), Some(home)).as_deref(), Some("/state/schedscope/audit.jsonl"));
        let relative = Some(Path::new("state"));
        let below_home = Some("/home/ann/.local/state/schedscope/audit.jsonl");
        assert_eq!(of(relative, Some(home)).as_deref(), below_home);
        assert_eq!(of(None, None), None);
    }
}
