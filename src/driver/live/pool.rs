//! One copy of texts that many objects have.
//!
//! The pods of a large cluster say the same in thousands of copies: keys and values of labels, namespaces, images, names
//! of resources. Of each text that is read for a kind only one is kept.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::api::Object;
use crate::api::Str;
use crate::api::objects::{Container, Labels, Node, Pod, ResourceList};

/// Texts that nobody else has any more are looked for when there are so many, and when there are twice as many again.
const SWEEP_FROM: usize = 16_384;

/// Texts.
#[derive(Debug)]
pub struct Pool {
    texts: FxHashSet<Str>,
    sweep_at: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self { texts: FxHashSet::default(), sweep_at: SWEEP_FROM }
    }
}

impl Pool {
    /// Lets an object that was read just now have the texts that are there already.
    pub fn share(&mut self, object: &mut Object) {
        match object {
            Object::Pod(pod) => {
                if let Some(pod) = Arc::get_mut(pod) {
                    self.share_of_pod(pod);
                }
            }
            Object::Node(node) => {
                if let Some(node) = Arc::get_mut(node) {
                    self.share_of_node(node);
                }
            }
            _ => {}
        }
        self.sweep();
    }

    fn share_of_pod(&mut self, pod: &mut Pod) {
        // What only this pod has, its name and uid, stays out.
        self.text(&mut pod.metadata.namespace);
        self.labels(&mut pod.metadata.labels);
        self.labels(&mut pod.metadata.annotations);
        let spec = &mut pod.spec;
        self.text(&mut spec.node_name);
        self.text(&mut spec.scheduler_name);
        self.labels(&mut spec.node_selector);
        for toleration in &mut spec.tolerations {
            self.text(&mut toleration.key);
            self.text(&mut toleration.value);
        }
        for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
            self.container(container);
        }
        self.resources(&mut spec.overhead);
        self.text(&mut pod.status.nominated_node_name);
    }

    fn share_of_node(&mut self, node: &mut Node) {
        self.labels(&mut node.metadata.labels);
        self.labels(&mut node.metadata.annotations);
        self.resources(&mut node.status.allocatable);
        self.resources(&mut node.status.capacity);
        for image in &mut node.status.images {
            image.names.iter_mut().for_each(|name| self.text(name));
        }
    }

    fn container(&mut self, container: &mut Container) {
        self.text(&mut container.name);
        self.text(&mut container.image);
        self.resources(&mut container.resources.requests);
        self.resources(&mut container.resources.limits);
    }

    fn text(&mut self, text: &mut Str) {
        match self.texts.get(text) {
            Some(known) => *text = Arc::clone(known),
            None => drop(self.texts.insert(Arc::clone(text))),
        }
    }

    fn labels(&mut self, labels: &mut Labels) {
        *labels = std::mem::take(labels)
            .into_iter()
            .map(|(mut key, mut value)| {
                self.text(&mut key);
                self.text(&mut value);
                (key, value)
            })
            .collect();
    }

    fn resources(&mut self, list: &mut ResourceList) {
        *list = std::mem::take(list)
            .into_iter()
            .map(|(mut name, quantity)| {
                self.text(&mut name);
                (name, quantity)
            })
            .collect();
    }

    fn sweep(&mut self) {
        if self.texts.len() >= self.sweep_at {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = SWEEP_FROM.max(self.texts.len() * 2);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::api::Kind;
    use serde_json::json;

    fn pod(name: &str) -> Object {
        let pod = json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": "web", "of": name}},
            "spec": {
                "nodeName": "n1", "schedulerName": "default-scheduler",
                "tolerations": [{"key": "k", "operator": "Exists"}],
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
            },
        });
        Object::deserialize_kind(Kind::Pod, pod).unwrap()
    }

    fn inside(object: &Object) -> &Pod {
        let Object::Pod(pod) = object else { unreachable!() };
        pod
    }

    #[test]
    fn two_pods_have_one_copy_of_what_both_say_and_say_the_same_as_before() {
        let mut pool = Pool::default();
        let (mut one, mut two) = (pod("a"), pod("b"));
        pool.share(&mut one);
        pool.share(&mut two);
        assert_eq!((&one, &two), (&pod("a"), &pod("b")));
        let (one, two) = (inside(&one), inside(&two));
        let is_shared = |a: &Str, b: &Str| Arc::ptr_eq(a, b);
        assert!(is_shared(&one.metadata.namespace, &two.metadata.namespace));
        assert!(is_shared(one.metadata.labels.get("app").unwrap(), two.metadata.labels.get("app").unwrap()));
        assert!(is_shared(&one.spec.containers[0].image, &two.spec.containers[0].image));
        let cpu = |pod: &Pod| pod.spec.containers[0].resources.requests.keys().next().unwrap().clone();
        assert!(is_shared(&cpu(one), &cpu(two)));
    }

    #[test]
    fn what_nobody_has_any_more_goes() {
        let mut pool = Pool::default();
        for i in 0..40_000 {
            pool.share(&mut pod(&format!("pod-{i}")));
        }
        assert!(pool.texts.len() <= SWEEP_FROM, "{}", pool.texts.len());
    }
}
