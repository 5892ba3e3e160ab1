//! Long work of a session: how far it has come, and whether the person who waits for it wants it to end.
//!
//! Work is done on the session's thread and asks now and then whether it is still wanted. Who waits sees how far it has
//! come beside the views, because no view is made meanwhile. Work that nobody has to wait for is not told of. Nothing
//! that is decided depends on it: work that was called off leaves everything as it was.

#![expect(clippy::disallowed_methods, reason = "progress is told by the clock")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::api::Str;

/// Shorter work is over before anybody could read what it is.
const PATIENCE: Duration = Duration::from_millis(120);
/// The least time between two tellings.
const INTERVAL: Duration = Duration::from_millis(60);

/// Work that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkView {
    /// Its number, by which it is called off.
    pub number: u64,
    /// What is done, such as `going to 62 %`.
    pub what: Str,
    /// How much of it is done.
    pub done: u64,
    /// Of how much; 0 where that is not known.
    pub total: u64,
}

impl WorkView {
    /// How many hundredths are done, where that is known.
    pub fn percent(&self) -> Option<u8> {
        let percent = u128::from(self.done.min(self.total)) * 100 / u128::from(self.total.max(1));
        (self.total > 0).then(|| u8::try_from(percent).unwrap_or(100))
    }
}

/// The work of one session. Copies are the same.
#[derive(Clone, Debug)]
pub struct Work(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Work up to this number was begun.
    n_begun: AtomicU64,
    /// The number of the work that was called off last.
    called_off: AtomicU64,
    /// The number of the work that has ended because of that.
    stopped: AtomicU64,
    current: Mutex<Option<Current>>,
    told: watch::Sender<Option<WorkView>>,
}

#[derive(Debug)]
struct Current {
    number: u64,
    what: Str,
    next_told: Instant,
    is_told: bool,
}

impl Default for Work {
    fn default() -> Self {
        let told = watch::Sender::new(None);
        let [n_begun, called_off, stopped] = [const { AtomicU64::new(0) }; 3];
        Self(Arc::new(Shared { n_begun, called_off, stopped, current: Mutex::new(None), told }))
    }
}

impl Work {
    /// What is told of it.
    pub fn watch(&self) -> watch::Receiver<Option<WorkView>> {
        self.0.told.subscribe()
    }

    /// Calls work off. Nothing happens if it is over.
    pub fn call_off(&self, number: u64) {
        self.0.called_off.store(number, Ordering::Relaxed);
    }

    /// Begins work. It is over when the answer is dropped.
    pub fn begin(&self, what: impl Into<Str>) -> Task {
        let number = self.0.n_begun.fetch_add(1, Ordering::Relaxed) + 1;
        let next_told = Instant::now() + PATIENCE;
        self.set(Some(Current { number, what: what.into(), next_told, is_told: false }));
        Task { work: self.clone(), number }
    }

    /// Whether work is under way.
    pub fn is_under_way(&self) -> bool {
        self.0.current.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether the work that is under way was called off. Who is told so does not go on.
    pub fn is_called_off(&self) -> bool {
        let current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().is_some_and(|current| self.has_to_stop(current.number))
    }

    /// Whether the work that is under way has been told so.
    pub fn has_stopped(&self) -> bool {
        let current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = self.0.stopped.load(Ordering::Relaxed);
        current.as_ref().is_some_and(|current| current.number == stopped)
    }

    /// Tells how much is done, `total` being 0 where nobody knows of how much. The answer is whether it is still wanted.
    pub fn goes_on(&self, done: usize, total: usize) -> bool {
        let mut current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(current) = current.as_mut() else { return true };
        let now = Instant::now();
        if now >= current.next_told {
            (current.next_told, current.is_told) = (now + INTERVAL, true);
            let (done, total) = (done as u64, total as u64);
            let (number, what) = (current.number, current.what.clone());
            self.0.told.send_replace(Some(WorkView { number, what, done, total }));
        }
        !self.has_to_stop(current.number)
    }

    fn has_to_stop(&self, number: u64) -> bool {
        let is_called_off = self.0.called_off.load(Ordering::Relaxed) == number;
        if is_called_off {
            self.0.stopped.store(number, Ordering::Relaxed);
        }
        is_called_off
    }

    fn set(&self, current: Option<Current>) {
        let before = {
            let mut place = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *place, current)
        };
        if before.is_some_and(|before| before.is_told) {
            self.0.told.send_replace(None);
        }
    }
}

/// Work that goes on until this is dropped.
#[derive(Debug)]
pub struct Task {
    work: Work,
    number: u64,
}

impl Task {
    /// Whether it has ended because it was called off; not if it was over by then.
    pub fn is_called_off(&self) -> bool {
        self.work.0.stopped.load(Ordering::Relaxed) == self.number
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.work.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_of_only_once_somebody_has_to_wait_for_it() {
        let work = Work::default();
        let mut told = work.watch();
        {
            let _task = work.begin("short");
            assert!(work.goes_on(1, 2));
        }
        assert!(!told.has_changed().unwrap_or(true), "nobody saw it");
        let task = work.begin("long");
        std::thread::sleep(PATIENCE);
        assert!(work.goes_on(1, 4));
        let view = told.borrow_and_update().clone();
        let wanted = WorkView { number: 2, what: "long".into(), done: 1, total: 4 };
        assert_eq!(view.as_ref().and_then(WorkView::percent), Some(25));
        assert_eq!(view, Some(wanted));
        drop(task);
        assert_eq!(*told.borrow_and_update(), None);
    }

    #[test]
    fn work_is_called_off_by_its_number_and_later_work_is_not() {
        let work = Work::default();
        let task = work.begin("one");
        work.call_off(1);
        assert!(!work.goes_on(0, 0));
        assert!(task.is_called_off());
        drop(task);
        let task = work.begin("two");
        work.call_off(1);
        assert!(work.goes_on(0, 0), "what is called off too late calls nothing else off");
        assert!(!task.is_called_off());
    }

    #[test]
    fn without_work_everything_goes_on() {
        let work = Work::default();
        work.call_off(0);
        assert!(work.goes_on(3, 4) && !work.is_under_way());
    }
}
