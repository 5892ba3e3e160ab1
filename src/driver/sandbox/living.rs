//! Manifests that hold what a living cluster reads beside what the scheduler does.

use crate::api::Time;
use crate::api::manifest::{Source, load};

use super::api::SandboxApi;
use super::controllers::Controllers;
use super::edits::EditError;

/// Said where nothing can live.
pub(super) const NO_CONTROLLERS: &str = "nothing can live here: there are no controllers";

/// `kubectl apply -f`: adds or replaces the objects of a manifest, all or none; with the first workload the cluster
/// begins to live.
///
/// # Errors
/// What is wrong with the text or with an object.
pub(super) fn apply_text(
    controllers: &mut Controllers,
    api: &mut SandboxApi,
    name: &str,
    text: &str,
    now: Time,
) -> Result<String, EditError> {
    let loaded = load(&[Source { name: name.to_owned(), text: text.to_owned() }])?;
    if loaded.living_errors.total > 0 {
        return Err(loaded.living_errors.into());
    }
    if loaded.objects.is_empty() && loaded.living.is_empty() {
        return Err(EditError::Syntax(format!("no objects that are read in {name}")));
    }
    // Of workloads that a scheduler reads, too, the workload speaks.
    let labels: Vec<String> = loaded.living.iter().map(|object| object.label()).collect();
    let mut said = api.apply_objects(loaded.objects, &labels, now)?;
    if !loaded.living.is_empty() {
        for done in controllers.apply_living(api, now, loaded.living) {
            if let Some((label, done)) = done.split_once(' ') {
                said.add(label, done);
            }
        }
    }
    Ok(said.text())
}
