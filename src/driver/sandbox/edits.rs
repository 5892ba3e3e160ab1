//! What a person does to the sandbox, in kubectl's syntax and words.
//!
//! The syntax of taints and labels is that of `kubectl taint` and `kubectl label`, as if `--overwrite` was given.
//! Each deed answers with the sentence that kubectl prints, or says what is wrong and changes nothing.

use std::collections::BTreeMap;

use crate::api::label::{name_errors, namespace_errors};
use crate::api::manifest::{ManifestErrors, Source, load};
use crate::api::objects::{Node, Taint, TaintEffect};
use crate::api::{Kind, NamespacedName, Object, Str, Time};

use super::api::{ApiError, SandboxApi, not_found};
use super::world::podgc::QUARANTINE;

/// The taint that a node controller puts on a cordoned node.
const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

/// Why a deed is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The API refuses it.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestErrors),
    /// It is not written as it must be.
    #[error("{0}")]
    Syntax(String),
}

/// How many objects are named of those that a manifest has changed.
const N_SAID: usize = 4;

/// What the API server says of a name that no object can have.
fn check_names(object: &Object) -> Result<(), EditError> {
    let (kind, key) = (object.kind(), object.key());
    let of_name = if kind == Kind::Namespace { namespace_errors(&key.name) } else { name_errors(&key.name) };
    let of_namespace = if kind.is_namespaced() { namespace_errors(&key.namespace) } else { Vec::new() };
    let invalid = |field: &str, value: &str, errors: Vec<String>| {
        let error = errors.into_iter().next()?;
        Some(format!("{kind} {:?} is invalid: {field}: Invalid value: {value:?}: {error}", key.name.as_ref()))
    };
    let wrong = invalid("metadata.name", &key.name, of_name)
        .or_else(|| invalid("metadata.namespace", &key.namespace, of_namespace));
    wrong.map_or(Ok(()), |wrong| Err(EditError::Syntax(wrong)))
}

/// What was done with the objects of a manifest.
#[derive(Debug, Default)]
pub(super) struct Said {
    first: Vec<String>,
    counts: BTreeMap<String, usize>,
}

impl Said {
    /// Such as `pod/web`, `created`.
    pub(super) fn add(&mut self, label: &str, done: &str) {
        *self.counts.entry(done.to_owned()).or_default() += 1;
        if self.first.len() < N_SAID {
            self.first.push(format!("{label} {done}"));
        }
    }

    /// The sentence.
    pub(super) fn text(&self) -> String {
        let n_more = self.counts.values().sum::<usize>() - self.first.len();
        let mut said = self.first.join(", ");
        if n_more > 0 {
            let counts: Vec<String> =
                self.counts.iter().map(|(done, count)| format!("{count} {done}")).collect();
            said.push_str(&format!(" and {n_more} more; in all {}", counts.join(", ")));
        }
        said
    }
}

impl SandboxApi {
    /// `kubectl apply -f`: adds or replaces the objects of a manifest, all or none.
    ///
    /// # Errors
    /// What is wrong with the text or with an object.
    pub fn apply_text(&mut self, name: &str, text: &str, now: Time) -> Result<String, EditError> {
        let loaded = load(&[Source { name: name.to_owned(), text: text.to_owned() }])?;
        if loaded.objects.is_empty() {
            return Err(EditError::Syntax(format!("no objects that are read in {name}")));
        }
        self.apply_objects(loaded.objects, &[], now).map(|said| said.text())
    }

    /// Adds or replaces objects, all or none. What is told of elsewhere is not told of.
    pub(super) fn apply_objects(
        &mut self,
        objects: Vec<Object>,
        told_elsewhere: &[String],
        now: Time,
    ) -> Result<Said, EditError> {
        objects.iter().try_for_each(check_names)?;
        // One object is applied as a whole or not at all; several may stop half way.
        let before = (objects.len() > 1).then(|| self.clone());
        let mut said = Said::default();
        for object in objects {
            let label = format!("{}/{}", object.kind().as_str().to_lowercase(), object.key().name);
            match self.apply(object, now) {
                Ok(done) if !told_elsewhere.contains(&label) => said.add(&label, done.as_str()),
                Ok(_) => {}
                Err(error) => {
                    if let Some(before) = before {
                        *self = before;
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(said)
    }

    /// `kubectl delete pod`.
    ///
    /// # Errors
    /// If there is no such pod.
    pub fn delete_pod_by_name(&mut self, key: &NamespacedName, now: Time) -> Result<String, EditError> {
        self.delete_pod(key, now)?;
        Ok(format!("pod {:?} deleted from {} namespace", key.name, key.namespace))
    }

    /// What there is to say of an object whose deletion was asked for.
    pub(super) fn said_of_deletion(&self, kind: Kind, key: &NamespacedName) -> String {
        let what = kind.as_str().to_lowercase();
        if self.objects().get(kind, key).is_some() {
            format!("{what} {:?} is being deleted", key.name)
        } else {
            format!("{what} {:?} deleted", key.name)
        }
    }

    /// `kubectl delete node`. Its pods go when pod garbage collection finds them; where there is none, at once.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn delete_node(&mut self, name: &Str) -> Result<String, EditError> {
        let key = NamespacedName::cluster(name.clone());
        if !self.remove(Kind::Node, &key) {
            return Err(not_found(Kind::Node, &key).into());
        }
        let count = self.lose_pods_of(name);
        let what = if count == 1 { "its pod".to_owned() } else { format!("its {count} pods") };
        Ok(match count {
            0 => format!("node {name:?} deleted"),
            _ if self.collects_pods() => {
                let wait = QUARANTINE.as_secs();
                format!("node {name:?} deleted; pod garbage collection takes {what} in {wait}s")
            }
            _ => format!("node {name:?} deleted, with {what}"),
        })
    }

    /// A node is gone. Its pods go with it, unless there is somebody to find them; the count is of those that it had.
    pub(super) fn lose_pods_of(&mut self, node: &Str) -> usize {
        let pods = self.objects().pods.iter().filter(|(_, pod)| pod.spec.node_name == *node);
        let orphans: Vec<NamespacedName> = pods.map(|(key, _)| key.clone()).collect();
        if !self.collects_pods() {
            for pod in &orphans {
                self.remove(Kind::Pod, pod);
            }
            self.drop_ended(|pod| pod["spec"]["nodeName"] == **node);
        }
        orphans.len()
    }

    /// `kubectl cordon`. As there, the taint of a cordoned node is another's business.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn cordon(&mut self, name: &Str) -> Result<String, EditError> {
        let mut node = self.node(name)?;
        if node.spec.unschedulable {
            return Ok(format!("node/{name} already cordoned"));
        }
        node.spec.unschedulable = true;
        self.write(node.into());
        Ok(format!("node/{name} cordoned"))
    }

    /// `kubectl uncordon`. The taint of a cordoned node goes too, which a node controller would see to.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn uncordon(&mut self, name: &Str) -> Result<String, EditError> {
        let mut node = self.node(name)?;
        if !node.spec.unschedulable {
            return Ok(format!("node/{name} already uncordoned"));
        }
        node.spec.unschedulable = false;
        node.spec.taints.retain(|taint| &*taint.key != UNSCHEDULABLE_TAINT);
        self.write(node.into());
        Ok(format!("node/{name} uncordoned"))
    }

    /// `kubectl taint node`: `key=value:Effect`, `key:Effect`; `key:Effect-` or `key-` takes away.
    ///
    /// # Errors
    /// If there is no such node or no such taint to take away, or the text is no taint.
    pub fn taint(&mut self, name: &Str, text: &str) -> Result<String, EditError> {
        let mut node = self.node(name)?;
        let taints = &mut node.spec.taints;
        let done = if let Some(unwanted) = text.strip_suffix('-') {
            let (key, _, effect) = parse_taint(unwanted)?;
            let before = taints.len();
            taints.retain(|taint| {
                *taint.key != *key || effect.as_ref().is_some_and(|effect| taint.effect != *effect)
            });
            if taints.len() == before {
                return Err(EditError::Syntax(format!("taint {unwanted:?} not found")));
            }
            "untainted"
        } else {
            let (key, value, Some(effect)) = parse_taint(text)? else {
                return Err(EditError::Syntax(format!("invalid taint spec: {text}, there is no effect")));
            };
            let new = Taint { key: key.into(), value: value.into(), effect };
            match taints.iter_mut().find(|taint| taint.key == new.key && taint.effect == new.effect) {
                Some(taint) if *taint == new => return Ok(format!("node/{name} already tainted")),
                Some(taint) => *taint = new,
                None => taints.push(new),
            }
            "tainted"
        };
        self.write(node.into());
        Ok(format!("node/{name} {done}"))
    }

    /// `kubectl label`: `key=value`; `key-` takes away.
    ///
    /// # Errors
    /// If there is no such object or the text is no label.
    pub fn label(&mut self, kind: Kind, key: &NamespacedName, text: &str) -> Result<String, EditError> {
        let mut object = self.objects().get(kind, key).ok_or_else(|| not_found(kind, key))?;
        let (label, value) = parse_label(text)?;
        let labels = &mut object.metadata_mut().labels;
        let (before, done) = match value {
            Some(value) => {
                (labels.insert(label.into(), value.into()).is_some_and(|old| *old == *value), "labeled")
            }
            None => (labels.remove(label).is_none(), "unlabeled"),
        };
        let named = format!("{}/{}", kind.as_str().to_lowercase(), key.name);
        if before {
            return Ok(format!("{named} not labeled"));
        }
        self.write(object);
        Ok(format!("{named} {done}"))
    }

    /// A manifest of a pod to start from, under a name that is free in that namespace.
    pub fn pod_template(&self, namespace: &str) -> String {
        let is_free =
            |name: &String| !self.objects().pods.contains_key(&NamespacedName::new(namespace, name.as_str()));
        let name = (1_u32..).map(|number| format!("new-{number}")).find(is_free).unwrap_or_default();
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  containers:\n  \
             - name: main\n    image: registry.k8s.io/pause:3.10\n    resources:\n      requests:\n        cpu: 100m\n        \
             memory: 128Mi\n"
        )
    }

    fn node(&self, name: &Str) -> Result<Node, ApiError> {
        let key = NamespacedName::cluster(name.clone());
        self.objects()
            .nodes
            .get(&key)
            .map(|node| Node::clone(node))
            .ok_or_else(|| not_found(Kind::Node, &key))
    }
}

/// Key, value and effect of a taint.
fn parse_taint(text: &str) -> Result<(&str, &str, Option<TaintEffect>), EditError> {
    let (pair, effect) = match text.split_once(':') {
        None => (text, None),
        Some((pair, effect)) => match TaintEffect::from(effect.to_owned()) {
            TaintEffect::Other(_) => {
                return Err(EditError::Syntax(format!(
                    "invalid taint effect: {effect:?} is none of NoSchedule, PreferNoSchedule, NoExecute"
                )));
            }
            effect => (pair, Some(effect)),
        },
    };
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    check_key(key)?;
    check_value(value)?;
    Ok((key, value, effect))
}

/// Key and value of a label; without a value it is to be taken away.
fn parse_label(text: &str) -> Result<(&str, Option<&str>), EditError> {
    if let Some((key, value)) = text.split_once('=') {
        check_key(key)?;
        check_value(value)?;
        return Ok((key, Some(value)));
    }
    let Some(key) = text.strip_suffix('-') else {
        return Err(EditError::Syntax(format!("{text:?} is neither key=value nor key-")));
    };
    check_key(key)?;
    Ok((key, None))
}

/// A label's name or value: up to 63 characters that begin and end with a letter or a digit.
fn is_label_text(text: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A qualified name: a name, or a DNS name, a slash and a name.
fn check_key(key: &str) -> Result<(), EditError> {
    let (prefix, name) = key.split_once('/').unwrap_or(("x", key));
    let is_dns = prefix.len() <= 253
        && prefix.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with('-')
                && !part.ends_with('-')
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        });
    if is_dns && is_label_text(name) {
        return Ok(());
    }
    Err(EditError::Syntax(format!("{key:?} is not a key such as tier or example.com/tier")))
}

fn check_value(value: &str) -> Result<(), EditError> {
    if value.is_empty() || is_label_text(value) {
        return Ok(());
    }
    Err(EditError::Syntax(format!("{value:?} is not a value: up to 63 letters, digits, -, _ and .")))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::driver::sandbox::api::WatchEvent;

    const NODE: &str = "kind: Node\napiVersion: v1\nmetadata: {name: a-1, labels: {zone: a}}\nspec: {taints: [{key: gpu, value: \"yes\", effect: NoSchedule}, {key: gpu, effect: NoExecute}]}\n";

    fn sandbox() -> SandboxApi {
        let mut api = SandboxApi::default();
        api.apply_text("test", NODE, Time::ZERO).unwrap();
        api.take_events();
        api
    }

    fn node(api: &SandboxApi) -> Arc<Node> {
        Arc::clone(api.objects().node(&"a-1".into()).unwrap())
    }

    fn taints(api: &SandboxApi) -> Vec<String> {
        node(api).spec.taints.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cordoning_and_uncordoning_change_one_field() {
        let mut api = sandbox();
        let name = Str::from("a-1");
        assert_eq!(api.cordon(&name).unwrap(), "node/a-1 cordoned");
        assert_eq!(api.cordon(&name).unwrap(), "node/a-1 already cordoned");
        assert!(node(&api).spec.unschedulable);
        api.taint(&name, "node.kubernetes.io/unschedulable:NoSchedule").unwrap();
        assert_eq!(api.uncordon(&name).unwrap(), "node/a-1 uncordoned");
        assert_eq!(api.uncordon(&name).unwrap(), "node/a-1 already uncordoned");
        assert_eq!(taints(&api), ["gpu=yes:NoSchedule", "gpu:NoExecute"]);
        assert_eq!(api.take_events().len(), 3);
        assert_eq!(api.cordon(&"b".into()).unwrap_err().to_string(), "nodes \"b\" not found");
    }

    #[test]
    fn taints_are_written_as_for_kubectl() {
        let mut api = sandbox();
        let name = Str::from("a-1");
        assert_eq!(api.taint(&name, "team=a:PreferNoSchedule").unwrap(), "node/a-1 tainted");
        assert_eq!(api.taint(&name, "gpu=no:NoSchedule").unwrap(), "node/a-1 tainted");
        assert_eq!(taints(&api), ["gpu=no:NoSchedule", "gpu:NoExecute", "team=a:PreferNoSchedule"]);
        assert_eq!(api.taint(&name, "gpu=no:NoSchedule").unwrap(), "node/a-1 already tainted");
        assert_eq!(api.taint(&name, "gpu:NoSchedule-").unwrap(), "node/a-1 untainted");
        assert_eq!(taints(&api), ["gpu:NoExecute", "team=a:PreferNoSchedule"]);
        assert_eq!(api.taint(&name, "gpu-").unwrap(), "node/a-1 untainted");
        assert_eq!(taints(&api), ["team=a:PreferNoSchedule"]);
        for (text, wrong) in [
            ("gpu-", "taint \"gpu\" not found"),
            ("gpu", "invalid taint spec: gpu, there is no effect"),
            (
                "gpu:Never",
                "invalid taint effect: \"Never\" is none of NoSchedule, PreferNoSchedule, NoExecute",
            ),
            ("=x:NoSchedule", "\"\" is not a key such as tier or example.com/tier"),
            ("a=b=c:NoSchedule", "\"b=c\" is not a value: up to 63 letters, digits, -, _ and ."),
        ] {
            assert_eq!(api.taint(&name, text).unwrap_err().to_string(), wrong);
        }
    }

    #[test]
    fn labels_are_written_as_for_kubectl() {
        let mut api = sandbox();
        let key = NamespacedName::cluster("a-1");
        assert_eq!(api.label(Kind::Node, &key, "zone=b").unwrap(), "node/a-1 labeled");
        assert_eq!(api.label(Kind::Node, &key, "zone=b").unwrap(), "node/a-1 not labeled");
        assert_eq!(api.label(Kind::Node, &key, "example.com/disk=").unwrap(), "node/a-1 labeled");
        assert_eq!(node(&api).label("example.com/disk"), Some(""));
        assert_eq!(api.label(Kind::Node, &key, "zone-").unwrap(), "node/a-1 unlabeled");
        assert_eq!(api.label(Kind::Node, &key, "zone-").unwrap(), "node/a-1 not labeled");
        for text in ["zone", "-zone=a", "UPPER.com/x=y", "a/b/c=d", "x=-", "=", "-"] {
            assert!(matches!(api.label(Kind::Node, &key, text), Err(EditError::Syntax(_))), "{text}");
        }
        assert_eq!(
            api.label(Kind::Pod, &NamespacedName::new("default", "web"), "a=b").unwrap_err().to_string(),
            "pods \"web\" not found"
        );
    }

    #[test]
    fn a_manifest_is_applied_as_a_whole_or_not_at_all() {
        let mut api = sandbox();
        let pod = api.pod_template("shop");
        assert_eq!(api.apply_text("editor", &pod, Time::ZERO).unwrap(), "pod/new-1 created");
        assert!(api.pod_template("shop").contains("name: new-2"));
        assert_eq!(api.apply_text("editor", &pod, Time::ZERO).unwrap(), "pod/new-1 unchanged");
        let more = pod.replace("100m", "200m");
        assert_eq!(
            api.apply_text("editor", &format!("{more}---\n{NODE}"), Time::ZERO).unwrap(),
            "pod/new-1 configured, node/a-1 unchanged"
        );
        let before = api.clone();
        let bad = format!("{pod}  priorityClassName: lost\n");
        let both = format!("{NODE}---\n{}", bad.replace("new-1", "other"));
        let told = api
            .apply_text("editor", &both.replace("zone: a", "zone: z"), Time::ZERO)
            .unwrap_err()
            .to_string();
        assert_eq!(
            told,
            "Pod \"other\" is invalid: spec.priorityClassName: no PriorityClass with name lost was found"
        );
        assert!(api.apply_text("editor", "kind: [", Time::ZERO).is_err());
        assert_eq!(
            api.apply_text("editor", "# nothing", Time::ZERO).unwrap_err().to_string(),
            "no objects that are read in editor"
        );
        assert_eq!(api, before);
    }

    #[test]
    fn names_are_those_that_the_api_server_takes() {
        let mut api = SandboxApi::default();
        let pod = |namespace: &str, name: &str| {
            format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: '{name}', namespace: '{namespace}'}}, spec: \
                 {{containers: [{{name: c, image: i}}]}}}}"
            )
        };
        let mut said = |namespace: &str, name: &str| {
            api.apply_text("test", &pod(namespace, name), Time::ZERO).map_err(|error| error.to_string())
        };
        let error = said("default", "A_B").unwrap_err();
        assert!(
            error.starts_with(
                "Pod \"A_B\" is invalid: metadata.name: Invalid value: \"A_B\": a lowercase RFC 1123 subdomain must \
                 consist of lower case alphanumeric characters, '-' or '.'"
            ),
            "{error}"
        );
        let error = said("a", "b/c").unwrap_err();
        assert!(
            error.starts_with("Pod \"b/c\" is invalid: metadata.name: Invalid value: \"b/c\""),
            "{error}"
        );
        let error = said("a.b", "c").unwrap_err();
        assert!(
            error.starts_with(
                "Pod \"c\" is invalid: metadata.namespace: Invalid value: \"a.b\": a lowercase RFC 1123 label must"
            ),
            "{error}"
        );
        assert_eq!(said("default", "web.example-1").as_deref(), Ok("pod/web.example-1 created"));
        let long = "x".repeat(254);
        assert!(said("default", &long).unwrap_err().ends_with("must be no more than 253 bytes"));
    }

    #[test]
    fn many_objects_are_counted_and_the_first_named() {
        let mut api = SandboxApi::default();
        let node = |n: usize| format!("{{apiVersion: v1, kind: Node, metadata: {{name: n-{n}}}}}\n---\n");
        let many: String = (0..1_000).map(node).collect();
        assert_eq!(
            api.apply_text("test", &many, Time::ZERO).unwrap(),
            "node/n-0 created, node/n-1 created, node/n-2 created, node/n-3 created and 996 more; in all 1000 created"
        );
    }

    #[test]
    fn a_node_takes_its_pods_with_it() {
        let mut api = sandbox();
        for name in ["x", "y"] {
            let pod =
                format!("kind: Pod\napiVersion: v1\nmetadata: {{name: {name}-1}}\nspec: {{nodeName: a-1}}\n");
            api.apply_text("test", &pod, Time::ZERO).unwrap();
        }
        api.take_events();
        assert_eq!(api.delete_node(&"a-1".into()).unwrap(), "node \"a-1\" deleted, with its 2 pods");
        let gone: Vec<String> = api
            .take_events()
            .iter()
            .map(|event| match event {
                WatchEvent::Deleted(object) => object.key().to_string(),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(gone, ["a-1", "default/x-1", "default/y-1"]);
        assert!(matches!(api.delete_node(&"a-1".into()), Err(EditError::Api(ApiError::NotFound { .. }))));
    }

    #[test]
    fn a_client_that_deletes_a_node_takes_its_pods_too() {
        let mut api = sandbox();
        let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {nodeName: a-1}\n";
        api.apply_text("test", pod, Time::ZERO).unwrap();
        let nodes = crate::driver::sandbox::resources::ResourceId::of("", "nodes").unwrap();
        api.delete_document(nodes, &NamespacedName::cluster("a-1"), None, Time::ZERO).unwrap();
        assert!(!api.objects().pods.contains_key(&NamespacedName::new("default", "x")));
    }
}
