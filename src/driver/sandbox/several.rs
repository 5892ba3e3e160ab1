//! Several changes of the sandbox as one, and a pod that is tried at once.

use std::sync::Arc;

use super::simulator::Simulator;
use crate::api::NamespacedName;
use crate::driver::session::Edit;
use crate::scheduler::input::{Command, Input};

impl Simulator {
    /// Puts a pod that waits into activeQ, as a plugin's `Activate` does.
    pub(super) fn activate(&mut self, key: &NamespacedName) -> Result<String, String> {
        let pod = self.scheduler().objects().pods.get(key).filter(|pod| !pod.is_assigned());
        let Some(pod) = pod.map(Arc::clone) else { return Err(format!("pod {key} does not wait")) };
        self.input(Input::Command(Command::Activate(vec![pod])));
        Ok(format!("pod {key} is tried at once"))
    }

    /// Makes changes one after the other. They are tried on a copy first.
    pub(super) fn edit_all(&mut self, what: &str, edits: &[Edit]) -> Result<String, String> {
        let mut copy = self.clone();
        for edit in edits {
            copy.edit(edit)?;
        }
        for edit in edits {
            self.edit(edit)?;
        }
        Ok(format!("done: {what}"))
    }
}
