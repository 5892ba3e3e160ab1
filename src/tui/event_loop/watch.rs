//! Tells when a person's own settings have changed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// So long nothing may change any more before files are read: editors write in several steps.
const SETTLED: Duration = Duration::from_millis(80);

/// Watches folders. Without one it never tells anything.
#[derive(Debug)]
pub(super) struct SettingsWatch {
    // Watches as long as it is there.
    _watcher: Option<RecommendedWatcher>,
    changes: UnboundedReceiver<()>,
    /// When the files are to be read.
    due: Option<Instant>,
}

impl SettingsWatch {
    /// Watches these folders. The second answer says which could not be.
    pub(super) fn new(folders: &[PathBuf]) -> (Self, Vec<String>) {
        let (sender, changes) = unbounded_channel();
        let mut problems = Vec::new();
        let on_event = move |event: Result<notify::Event, notify::Error>| {
            if event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_))) {
                // Nobody listens any more when the console has ended.
                let _ = sender.send(());
            }
        };
        let watcher = match folders.is_empty() {
            true => None,
            false => {
                notify::recommended_watcher(on_event).map_err(|error| problems.push(error.to_string())).ok()
            }
        };
        let watcher = watcher.map(|mut watcher| {
            for folder in folders {
                if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                    problems.push(format!("{}: {error}", folder.display()));
                }
            }
            watcher
        });
        (Self { _watcher: watcher, changes, due: None }, problems)
    }

    /// Waits until something has changed.
    pub(super) async fn changed(&mut self) {
        if self.changes.recv().await.is_none() {
            std::future::pending().await
        }
    }

    /// Something has changed at that time.
    pub(super) fn note(&mut self, now: Instant) {
        while self.changes.try_recv().is_ok() {}
        self.due = Some(now + SETTLED);
    }

    /// When the files are to be read.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether they are to be read now.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }
}
