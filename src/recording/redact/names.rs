//! Which words of a name are replaced, and which texts stay because the scheduler knows them.

use std::collections::BTreeMap;

use super::pseudonyms::Words;

/// What stands between the words of a name. All of it sorts before letters and digits, so names keep their order.
const SEPARATORS: [char; 3] = ['-', '.', '/'];
/// Labels whose values are the same everywhere and tell nobody apart.
const COMMON_LABELS: &[&str] =
    &["beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/os"];
/// What stands between the zones of a volume that is in several.
const ZONE_DELIMITER: &str = "__";
/// An extended resource of this prefix names a class of devices.
const DEVICE_CLASS_PREFIX: &str = crate::api::objects::RESOURCE_DEVICE_CLASS_PREFIX;
/// The scheduler whose name is everybody's.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// All names with their pseudonyms.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    words: Words,
    uids: Words,
    /// Messages of the scheduler with what it says instead.
    messages: BTreeMap<String, String>,
}

impl Names {
    /// A name, word by word: what is put together of two names is put together of their pseudonyms.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.split(name, &SEPARATORS)
    }

    fn split(&mut self, text: &str, separators: &[char]) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive(separators) {
            let word = piece.strip_suffix(separators);
            let (word, separator) = match word {
                Some(word) => (word, piece.get(word.len()..).unwrap_or_default()),
                None => (piece, ""),
            };
            if !word.is_empty() {
                out.push_str(&self.words.get(word));
            }
            out.push_str(separator);
        }
        out
    }

    /// The uid of an object.
    pub(super) fn uid(&mut self, uid: &str) -> String {
        if uid.is_empty() { String::new() } else { self.uids.get(uid) }
    }

    /// The key of a label, an annotation or a taint. Those of Kubernetes itself stay.
    pub(super) fn label_key(&mut self, key: &str) -> String {
        if is_of_kubernetes(key) { key.to_owned() } else { self.name(key) }
    }

    /// The value of a label or a taint. Numbers stay, since they can be compared.
    pub(super) fn label_value(&mut self, key: &str, value: &str) -> String {
        if COMMON_LABELS.contains(&key) || value.parse::<i64>().is_ok() {
            return value.to_owned();
        }
        let parts: Vec<String> = value.split(ZONE_DELIMITER).map(|part| self.name(part)).collect();
        parts.join(ZONE_DELIMITER)
    }

    /// A resource. Native ones stay.
    pub(super) fn resource(&mut self, resource: &str) -> String {
        if let Some(class) = resource.strip_prefix(DEVICE_CLASS_PREFIX) {
            return format!("{DEVICE_CLASS_PREFIX}{}", self.name(class));
        }
        if !resource.contains('/') || is_of_kubernetes(resource) {
            return resource.to_owned();
        }
        self.name(resource)
    }

    /// An image. The tag that an image without one has stays.
    pub(super) fn image(&mut self, image: &str) -> String {
        if let Some(untagged) = image.strip_suffix(":latest") {
            return format!("{}:latest", self.image(untagged));
        }
        self.split(image, &['-', '.', '/', ':', '@'])
    }

    /// The name of a scheduler.
    pub(super) fn scheduler(&mut self, name: &str) -> String {
        if name == DEFAULT_SCHEDULER { name.to_owned() } else { self.name(name) }
    }

    /// A text for people. What the scheduler itself has said becomes what it says instead.
    pub(super) fn message(&mut self, message: &str) -> String {
        match self.messages.get(message) {
            _ if message.is_empty() => String::new(),
            Some(instead) => instead.clone(),
            None => format!("redacted {}", self.uids.get(&format!("message {message}"))),
        }
    }

    /// The scheduler now says `instead` of `message`.
    pub(super) fn said(&mut self, message: &str, instead: &str) {
        if !message.is_empty() && self.messages.get(message).map(String::as_str) != Some(instead) {
            self.messages.insert(message.to_owned(), instead.to_owned());
        }
    }

    /// How many words and uids were replaced.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.words.len(), self.uids.len())
    }
}

/// Whether a key or a resource has a prefix of Kubernetes itself.
fn is_of_kubernetes(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|own| domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together_as_before() {
        let mut names = Names::default();
        let (pod, volume, claim) = (names.name("web-1"), names.name("data"), names.name("web-1-data"));
        assert_eq!(format!("{pod}-{volume}"), claim);
        assert_eq!(names.image("registry/nginx:latest"), format!("{}:latest", names.image("registry/nginx")));
        assert_eq!(names.name(""), "");
        assert_eq!(names.name("-a-"), format!("-{}-", names.name("a")));
    }

    #[test]
    fn what_the_scheduler_knows_stays() {
        let mut names = Names::default();
        for key in ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "resource.k8s.io/x"] {
            assert_eq!(names.label_key(key), key);
        }
        assert_ne!(names.label_key("notkubernetes.io/zone"), "notkubernetes.io/zone");
        for resource in ["cpu", "hugepages-2Mi", "requests.kubernetes.io/x"] {
            assert_eq!(names.resource(resource), resource);
        }
        let gpu = names.resource("nvidia.com/gpu");
        assert_eq!(gpu.split_once('/').map(|(domain, _)| domain), Some(&*names.name("nvidia.com")));
        assert_eq!(names.label_value("a", "-17"), "-17");
        let zone = names.label_value("z", "a");
        assert_eq!(names.label_value("z", "a__a"), format!("{zone}__{zone}"));
    }

    #[test]
    fn messages_of_the_scheduler_become_what_it_says_now() {
        let mut names = Names::default();
        names.said("0/1 nodes: a", "0/1 nodes: b");
        assert_eq!(names.message("0/1 nodes: a"), "0/1 nodes: b");
        let other = names.message("secret");
        assert!(!other.contains("secret"));
        assert_eq!(names.message("secret"), other);
        assert_eq!(names.message(""), "");
    }
}
