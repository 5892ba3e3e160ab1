//! Signatures: pods of equal signature get equal answers from every plugin of the profile.
//!
//! Mirrors `computeBatchablePlugins` and `SignPod` of `pkg/scheduler/framework/runtime/framework.go` (KEP-5598).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Framework;
use crate::api::Str;
use crate::api::objects::Pod;
use crate::framework::handle::Handle;
use crate::framework::plugin::Plugin;
use crate::framework::status::Code;

impl Framework {
    /// The plugins whose answers depend on the pod and the node.
    fn deciding_plugins(&self) -> impl Iterator<Item = &Arc<dyn Plugin>> {
        let points = &self.plugins;
        let scores = points.score.iter().map(|weighted| &weighted.plugin);
        points.pre_filter.iter().chain(&points.filter).chain(&points.pre_score).chain(scores)
    }

    /// Whether every plugin that decides can sign. One that cannot makes all pods of the profile unsignable.
    pub fn can_sign_pods(&self) -> bool {
        self.deciding_plugins().all(|plugin| plugin.as_sign().is_some())
    }

    /// The pod's signature; `None` if a plugin cannot sign this pod, or [`Framework::can_sign_pods`] is false.
    pub fn sign_pod(&self, handle: &Handle<'_>, pod: &Pod) -> Option<Str> {
        let since = self.metering.stamp();
        let signature = self.ask_to_sign_pod(handle, pod);
        // Upstream counts a pod that cannot be signed as a success, too.
        self.metering.point(&self.profile_name, "Sign", Code::Success, since);
        signature
    }

    fn ask_to_sign_pod(&self, handle: &Handle<'_>, pod: &Pod) -> Option<Str> {
        let mut fragments: BTreeMap<&'static str, String> = BTreeMap::new();
        let mut asked: Vec<&'static str> = Vec::new();
        for plugin in self.deciding_plugins() {
            if asked.contains(&plugin.name()) {
                continue;
            }
            asked.push(plugin.name());
            let signer = plugin.as_sign().filter(|signer| signer.is_signable(handle, pod))?;
            let signed = signer.sign_pod(pod).ok()?;
            fragments.extend(signed.into_iter().map(|fragment| (fragment.key, fragment.value)));
        }
        let mut text = pod.spec.scheduler_name.to_string();
        for (key, value) in fragments {
            // Lengths keep neighbouring values from running into each other.
            text.push_str(&format!("\n{key} {} {value}", value.len()));
        }
        Some(Str::from(text))
    }
}
