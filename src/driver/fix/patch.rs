//! JSON patches (RFC 6902): what a change of a pod is, so that what is proven here is what `kubectl patch` does there.
//!
//! Only `add`, `remove` and `replace` are known; `test`, `move` and `copy` are not needed.

use serde::Serialize;
use serde_json::Value;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOp {
    /// Puts a value there; of a list's place `-`, behind the last.
    Add {
        /// A JSON pointer.
        path: String,
        /// The value.
        value: Value,
    },
    /// Takes the value away.
    Remove {
        /// A JSON pointer.
        path: String,
    },
    /// Puts another value in the place of one.
    Replace {
        /// A JSON pointer.
        path: String,
        /// The value.
        value: Value,
    },
}

/// A pointer that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing at {0}")]
pub struct NoSuchPlace(pub String);

impl PatchOp {
    /// Puts a value there.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }

    /// Takes the value away.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// Puts another value in the place of one.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Replace { path: path.into(), value: value.into() }
    }

    /// Where.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Remove { path } | Self::Replace { path, .. } => path,
        }
    }

    /// The same below another root.
    #[must_use]
    pub fn below(&self, root: &str) -> Self {
        let mut op = self.clone();
        let (Self::Add { path, .. } | Self::Remove { path } | Self::Replace { path, .. }) = &mut op;
        *path = format!("{root}{path}");
        op
    }

    /// Does it.
    ///
    /// # Errors
    /// If the pointer leads nowhere; the document may then be changed in part.
    pub fn apply(&self, document: &mut Value) -> Result<(), NoSuchPlace> {
        let nowhere = || NoSuchPlace(self.path().to_owned());
        let (parent, last) = self.path().rsplit_once('/').ok_or_else(nowhere)?;
        let last = last.replace("~1", "/").replace("~0", "~");
        let parent = document.pointer_mut(parent).ok_or_else(nowhere)?;
        match (self, parent) {
            (Self::Add { value, .. }, Value::Object(map)) => _ = map.insert(last, value.clone()),
            (Self::Add { value, .. }, Value::Array(list)) if last == "-" => list.push(value.clone()),
            (Self::Add { value, .. }, Value::Array(list)) => {
                let at = last.parse().ok().filter(|at| *at <= list.len()).ok_or_else(nowhere)?;
                list.insert(at, value.clone());
            }
            (Self::Remove { .. }, Value::Object(map)) => {
                // The order of the others stays.
                map.shift_remove(&last).ok_or_else(nowhere)?;
            }
            (Self::Remove { .. }, Value::Array(list)) => {
                let at = last.parse().ok().filter(|at| *at < list.len()).ok_or_else(nowhere)?;
                list.remove(at);
            }
            (Self::Replace { value, .. }, Value::Object(map)) => {
                *map.get_mut(&last).ok_or_else(nowhere)? = value.clone();
            }
            (Self::Replace { value, .. }, Value::Array(list)) => {
                let at: usize = last.parse().map_err(|_| nowhere())?;
                *list.get_mut(at).ok_or_else(nowhere)? = value.clone();
            }
            _ => return Err(nowhere()),
        }
        Ok(())
    }
}

/// A key as it stands in a pointer.
pub fn key(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_follow_rfc_6902() {
        // Examples of appendix A: A.1, A.2, A.3, A.4, A.5, A.16.
        for (document, op, expected) in [
            (json!({"foo": "bar"}), PatchOp::add("/baz", "qux"), json!({"foo": "bar", "baz": "qux"})),
            (
                json!({"foo": ["bar", "baz"]}),
                PatchOp::add("/foo/1", "qux"),
                json!({"foo": ["bar", "qux", "baz"]}),
            ),
            (json!({"baz": "qux", "foo": "bar"}), PatchOp::remove("/baz"), json!({"foo": "bar"})),
            (
                json!({"foo": ["bar", "qux", "baz"]}),
                PatchOp::remove("/foo/1"),
                json!({"foo": ["bar", "baz"]}),
            ),
            (json!({"baz": "qux"}), PatchOp::replace("/baz", "boo"), json!({"baz": "boo"})),
            (
                json!({"foo": ["bar"]}),
                PatchOp::add("/foo/-", json!(["abc", "def"])),
                json!({"foo": ["bar", ["abc", "def"]]}),
            ),
            (json!({"a/b": 1}), PatchOp::replace(format!("/{}", key("a/b")), 2), json!({"a/b": 2})),
        ] {
            let mut changed = document.clone();
            op.apply(&mut changed).unwrap();
            assert_eq!(changed, expected, "{op:?}");
        }
        let mut document = json!({"foo": []});
        assert_eq!(PatchOp::remove("/bar").apply(&mut document), Err(NoSuchPlace("/bar".into())));
        assert_eq!(PatchOp::replace("/foo/0", 1).apply(&mut document), Err(NoSuchPlace("/foo/0".into())));
    }
}
