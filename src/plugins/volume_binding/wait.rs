//! What a pod in PreBind waits for because of its volumes, for a person.

use super::StateData;
use super::pre_bind::Progress;
use crate::api::{NamespacedName, Str, Time};
use crate::framework::CycleState;

/// The volumes of a pod on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWait {
    /// Claims that get a volume which is there: claim and volume.
    pub bound: Vec<(NamespacedName, Str)>,
    /// Claims for which a volume is made.
    pub made: Vec<NamespacedName>,
    /// How many of the writes have ended; there is one for each claim.
    pub n_written: usize,
    /// When the plugin gives up; absent while it still writes.
    pub until: Option<Time>,
    /// When it looks at the bindings again.
    pub next_look: Option<Time>,
}

/// What the pod of this state waits for; absent if Reserve has found nothing to bind, or has not been there.
pub fn volume_wait(state: &CycleState) -> Option<VolumeWait> {
    let data = state.read::<StateData>()?;
    let (_, volumes) = data.reserved.as_ref()?;
    let looks = data.progress.as_ref().and_then(Progress::looks_until);
    Some(VolumeWait {
        bound: volumes
            .bindings
            .iter()
            .map(|binding| (binding.claim.key(), binding.volume.name().clone()))
            .collect(),
        made: volumes.provisions.iter().map(|provision| provision.claim.key()).collect(),
        n_written: data.progress.as_ref().map_or(0, Progress::n_written),
        until: looks.map(|(until, _)| until),
        next_look: looks.map(|(_, next)| next),
    })
}
