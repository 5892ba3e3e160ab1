//! Files that are read again when they say something else.
//!
//! Follows `k8s.io/apiserver/pkg/server/dynamiccertificates`: what cannot be used is told and what was read before stays;
//! once a minute everything is read in any case. Files are looked at every second instead of watched, which sees mounted
//! secrets change as well as plain files.

#![expect(clippy::disallowed_methods, reason = "files are looked at from time to time")]

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::driver::metrics::work_queue::WorkQueue;

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often they are read although nothing is new (`FileRefreshDuration`).
const READ_EVERY: Duration = Duration::from_secs(60);

/// What files say, without keeping it: they may hold secrets. `None` if one of them cannot be read now.
pub fn mark(files: &[PathBuf]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).ok()?.hash(&mut hasher);
    }
    Some(hasher.finish())
}

/// Reads files again and again, for as long as it is waited for. `read` says whether anything was new.
pub async fn follow(
    name: &str,
    files: Vec<PathBuf>,
    queue: WorkQueue,
    mut read: impl FnMut() -> Result<bool, String>,
) {
    // What was read before this began may be old by now.
    let (mut known, mut read_at) = (None, None::<Instant>);
    let mut told = String::new();
    loop {
        if read_at.is_some() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let now = mark(&files);
        if now == known && read_at.is_some_and(|at| at.elapsed() < READ_EVERY) {
            continue;
        }
        read_at = Some(Instant::now());
        match queue.run(&mut read) {
            Ok(is_new) => {
                known = now;
                told.clear();
                if is_new {
                    tracing::info!(v = 2, name, "Loaded new content");
                }
            }
            // It is tried again at the next look; the same failure is told once.
            Err(error) => {
                if error != told {
                    tracing::error!(name, err = error, "Unable to load new content; what was loaded stays");
                    told = error;
                }
            }
        }
    }
}
