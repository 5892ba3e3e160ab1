//! What a path and its query ask for.

use std::collections::BTreeMap;

use crate::driver::sandbox::resources::ResourceId;

/// A path below `/api` or `/apis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`.
    Version(String, String),
    /// Objects.
    Objects {
        /// The resource.
        resource: ResourceId,
        /// The namespace, if one stands in the path.
        namespace: Option<String>,
        /// The object, if one stands in the path.
        name: Option<String>,
        /// The part of it, if one stands in the path.
        part: Option<String>,
    },
    /// A resource of which nothing is kept, such as `selfsubjectaccessreviews`.
    Review(String, String),
}

/// Takes a path apart; `None` if nothing is served there.
pub(super) fn parse(path: &str) -> Option<Route> {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(|part| unescape(part, false)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api"] => return Some(Route::Core),
        ["apis"] => return Some(Route::Groups),
        ["apis", group] => return Some(Route::Group((*group).to_owned())),
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    if rest.is_empty() {
        return Some(Route::Version(group.to_owned(), version.to_owned()));
    }
    if let (["authentication.k8s.io" | "authorization.k8s.io", "v1"], [resource]) = ([group, version], rest) {
        return Some(Route::Review(group.to_owned(), (*resource).to_owned()));
    }
    let find = |plural: &str| ResourceId::of(group, plural).filter(|id| id.get().version == version);
    let text = |part: &str| Some(part.to_owned());
    let (resource, namespace, rest) = match rest {
        // The namespace's own parts.
        ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
            (find("namespaces")?, None, rest.get(1..)?)
        }
        ["namespaces", namespace, resource, rest @ ..] => (find(resource)?, text(namespace), rest),
        [resource, rest @ ..] => (find(resource)?, None, rest),
        [] => return None,
    };
    if namespace.is_some() && !resource.get().is_namespaced {
        return None;
    }
    let (name, part) = match rest {
        [] => (None, None),
        [name] => (text(name), None),
        [name, part] => (text(name), text(part)),
        _ => return None,
    };
    if name.is_some() && namespace.is_none() && resource.get().is_namespaced {
        return None;
    }
    Some(Route::Objects { resource, namespace, name, part })
}

/// The parameters behind the question mark; of two of one name the first counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn new(query: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.entry(unescape(name, true)).or_insert_with(|| unescape(value, true));
        }
        Self(parameters)
    }

    /// A parameter; empty if it is not given.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether a parameter says yes.
    pub(super) fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), "true" | "1")
    }

    /// Whether the write is to be tried only.
    pub(super) fn is_dry_run(&self) -> bool {
        self.get("dryRun") == "All"
    }
}

/// Percent signs as what they stand for; in a query a plus is a blank.
fn unescape(text: &str, is_query: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, tail) {
            (b'%', [high, low, behind @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = behind;
                }
                _ => bytes.push(b'%'),
            },
            (b'+', _) if is_query => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api_server() {
        let objects = |group: &str, plural: &str, rest: [Option<&str>; 3]| {
            let [namespace, name, part] = rest.map(|text| text.map(str::to_owned));
            Some(Route::Objects { resource: ResourceId::of(group, plural).unwrap(), namespace, name, part })
        };
        for (path, route) in [
            ("/api", Some(Route::Core)),
            ("/apis/", Some(Route::Groups)),
            ("/api/v1", Some(Route::Version(String::new(), "v1".to_owned()))),
            ("/api/v1/pods", objects("", "pods", [None, None, None])),
            (
                "/api/v1/namespaces/a/pods/b/binding",
                objects("", "pods", [Some("a"), Some("b"), Some("binding")]),
            ),
            ("/api/v1/namespaces/a", objects("", "namespaces", [None, Some("a"), None])),
            ("/api/v1/namespaces/a/status", objects("", "namespaces", [None, Some("a"), Some("status")])),
            (
                "/apis/apps/v1/namespaces/a/deployments",
                objects("apps", "deployments", [Some("a"), None, None]),
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab",
                objects("rbac.authorization.k8s.io", "clusterroles", [None, Some("a:b"), None]),
            ),
            ("/apis/apps/v1beta1/deployments", None),
            ("/apis/apps/v1/unknown", None),
            ("/api/v1/pods/b", None),
            ("/api/v1/namespaces/a/nodes", None),
            ("/other", None),
        ] {
            assert_eq!(parse(path), route, "{path}");
        }
    }

    #[test]
    fn queries_are_unescaped() {
        let query = Query::new("labelSelector=a%3Db%2Cc+in+%28d%29&watch=true&limit=5&x");
        assert_eq!(query.get("labelSelector"), "a=b,c in (d)");
        assert!(query.is_set("watch") && !query.is_set("x"));
        assert_eq!(query.get("lost"), "");
        assert_eq!(Query::new("a=%zz%4").get("a"), "%zz%4");
    }
}
