//! Deeds about one pod are done one after the other, in the order in which the scheduler wanted them.
//!
//! kube-scheduler waits for the answer to a status patch before its next attempt, so that what it says of a pod that failed
//! never reaches the server after the pod was bound. Here attempts go on meanwhile, and the deeds about the pod wait.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::api::NamespacedName;
use crate::scheduler::effect::EffectKind;

/// From so many pods on, those are let go of whose deeds are done.
const N_KEPT: usize = 1_024;

/// The last deed about each pod.
#[derive(Debug, Default)]
pub struct InTurn {
    last: BTreeMap<NamespacedName, oneshot::Receiver<()>>,
}

/// A place in the order of the deeds about a pod.
#[derive(Debug)]
pub struct Turn {
    before: Option<oneshot::Receiver<()>>,
    /// Tells the next that this one is done, by being dropped.
    _done: Option<oneshot::Sender<()>>,
}

impl Turn {
    /// Waits until what was wanted before is done.
    pub async fn comes(&mut self) {
        if let Some(before) = self.before.take() {
            // It ends by the other side being dropped.
            let _ = before.await;
        }
    }
}

impl InTurn {
    /// The place of a deed. Those about no pod have none to wait for.
    pub fn take(&mut self, kind: &EffectKind) -> Turn {
        let (EffectKind::Bind { pod, .. }
        | EffectKind::PatchPodStatus { pod, .. }
        | EffectKind::DeletePod { pod, .. }) = kind
        else {
            return Turn { before: None, _done: None };
        };
        if self.last.len() >= N_KEPT {
            self.last.retain(|_, last| matches!(last.try_recv(), Err(TryRecvError::Empty)));
        }
        let (done, is_done) = oneshot::channel();
        let before = self.last.insert(pod.clone(), is_done);
        Turn { before, _done: Some(done) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use super::*;
    use crate::api::{Str, Uid};

    fn bind(pod: &str) -> EffectKind {
        EffectKind::Bind {
            pod: NamespacedName::new("default", pod),
            uid: Uid::from("u"),
            node: Str::from("n"),
        }
    }

    fn delete(pod: &str) -> EffectKind {
        EffectKind::DeletePod { pod: NamespacedName::new("default", pod), uid: Uid::from("u") }
    }

    #[tokio::test]
    async fn deeds_about_one_pod_follow_each_other_and_others_do_not_wait() {
        let mut in_turn = InTurn::default();
        let done: Arc<Mutex<Vec<&str>>> = Arc::default();
        let mut tasks = Vec::new();
        for (name, kind, takes) in
            [("a1", delete("a"), 30), ("a2", bind("a"), 1), ("b1", bind("b"), 2), ("a3", delete("a"), 0)]
        {
            let mut turn = in_turn.take(&kind);
            let done = Arc::clone(&done);
            tasks.push(tokio::spawn(async move {
                turn.comes().await;
                tokio::time::sleep(Duration::from_millis(takes)).await;
                done.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            }));
        }
        for task in tasks {
            let _ = task.await;
        }
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*done, ["b1", "a1", "a2", "a3"]);
    }

    #[test]
    fn pods_whose_deeds_are_done_are_let_go() {
        let mut in_turn = InTurn::default();
        let kept = in_turn.take(&bind("kept"));
        for i in 0..2 * N_KEPT {
            drop(in_turn.take(&bind(&format!("pod-{i}"))));
        }
        assert!(in_turn.last.len() <= N_KEPT, "{}", in_turn.last.len());
        assert!(in_turn.take(&bind("kept")).before.is_some());
        drop(kept);
    }
}
