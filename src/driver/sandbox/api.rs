//! The in-memory API of the sandbox.
use std::sync::Arc;
use std::collections::BTreeMap;
use crate::api::{ObjectStore, Object, Time, NamespacedName, Str, Uid, Duration};
use crate::api::objects::{Pod, PodCondition};
use crate::driver::session::Edit;
/// A change.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent { /// a
 Added(Object), /// m
 Modified { /// o
 old: Object, /// n
 new: Object }, /// d
 Deleted(Object) }
/// e
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApiError { /// n
 #[error("pods {name:?} not found")] NotFound { /// n
 name: String }, /// c
 #[error("{message}")] Conflict { /// m
 message: String } }
/// The API.
#[derive(Clone, Debug, Default)]
pub struct SandboxApi { objects: ObjectStore, events: Vec<WatchEvent>, version: u64, leaving: BTreeMap<NamespacedName, Time> }
impl SandboxApi {
    /// n
    pub fn new(objects: Vec<Object>) -> Self {
        let mut api = Self::default();
        for object in objects {
            let object = match object { Object::Pod(p) => { let mut p = (*p).clone(); api.version += 1; if p.metadata.uid.is_empty() { p.metadata.uid = Str::from(format!("uid-{}", api.version)); } if p.spec.scheduler_name.is_empty() { p.spec.scheduler_name = Str::from("default-scheduler"); } p.metadata.resource_version = api.version.to_string(); Object::Pod(Arc::new(p)) } o => o };
            api.objects.insert(object);
        }
        api
    }
    /// o
    pub fn objects(&self) -> &ObjectStore { &self.objects }
    /// t
    pub fn take_events(&mut self) -> Vec<WatchEvent> { std::mem::take(&mut self.events) }
    fn change(&mut self, key: &NamespacedName, f: impl FnOnce(&mut Pod)) -> Result<(), ApiError> {
        let Some(old) = self.objects.pods.get(key).cloned() else { return Err(ApiError::NotFound { name: key.name.to_string() }) };
        let mut new = (*old).clone(); f(&mut new); self.version += 1; new.metadata.resource_version = self.version.to_string();
        let new = Arc::new(new); self.objects.insert(Object::Pod(Arc::clone(&new)));
        self.events.push(WatchEvent::Modified { old: Object::Pod(old), new: Object::Pod(new) }); Ok(())
    }
    /// b
    pub fn bind(&mut self, key: &NamespacedName, _uid: &Uid, node: &Str, _now: Time) -> Result<(), ApiError> {
        self.change(key, |p| { p.spec.node_name = node.clone(); p.status.nominated_node_name = Str::from(""); })
    }
    /// p
    pub fn patch_pod_status(&mut self, key: &NamespacedName, _uid: &Uid, c: Option<PodCondition>, n: Option<Str>, _now: Time) -> Result<(), ApiError> {
        self.change(key, |p| { if let Some(c) = c { p.status.conditions.retain(|o| o.type_ != c.type_); p.status.conditions.push(c); } if let Some(n) = n { p.status.nominated_node_name = n; } })
    }
    /// e
    pub fn evict_pod(&mut self, key: &NamespacedName, _uid: &Uid, now: Time) -> Result<(), ApiError> {
        self.change(key, |p| p.metadata.deletion_timestamp = Some(now))?;
        self.leaving.insert(key.clone(), now + Duration::from_secs(3)); Ok(())
    }
    /// n
    pub fn next_timeout(&self) -> Option<Time> { self.leaving.values().min().copied() }
    /// a
    pub fn advance(&mut self, now: Time) {
        let gone: Vec<_> = self.leaving.iter().filter(|(_, t)| **t <= now).map(|(k, _)| k.clone()).collect();
        for k in gone { self.leaving.remove(&k); if let Some(p) = self.objects.pods.remove(&k) { self.events.push(WatchEvent::Deleted(Object::Pod(p))); } }
    }
    /// e
    pub fn edit(&mut self, _e: &Edit, _now: Time) -> Result<String, String> { Err("not yet".into()) }
}
