//! A queue between two threads whose reader takes what has gathered, and is woken as seldom as can be.
//!
//! Waking a thread costs the one that wakes it more than what is put into the queue. So a reader that has been woken
//! by the first item lets others gather for a moment, and then takes all of them at once. The queue has a fixed
//! length; where it is full, the writer waits.

#![expect(clippy::disallowed_methods, reason = "a queue between threads has a clock")]

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Makes a queue of so many items; the reader lets them gather for so long.
pub(super) fn batch_queue<T>(len_max: usize, gathering: Duration) -> (BatchSender<T>, BatchReceiver<T>) {
    let state = State {
        items: Vec::with_capacity(len_max),
        is_awaited: false,
        is_urgent: false,
        is_full_awaited: false,
        has_sender: true,
        has_receiver: true,
    };
    let shared = Arc::new(Shared {
        len_max,
        state: Mutex::new(state),
        for_receiver: Condvar::new(),
        for_sender: Condvar::new(),
    });
    (BatchSender { shared: Arc::clone(&shared) }, BatchReceiver { shared, gathering })
}

#[derive(Debug)]
struct Shared<T> {
    len_max: usize,
    state: Mutex<State<T>>,
    for_receiver: Condvar,
    for_sender: Condvar,
}

#[derive(Debug)]
struct State<T> {
    items: Vec<T>,
    /// The receiver sleeps until there is an item.
    is_awaited: bool,
    /// Something was sent that nothing is to gather behind.
    is_urgent: bool,
    /// The sender sleeps until there is room.
    is_full_awaited: bool,
    has_sender: bool,
    has_receiver: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that puts items in. Dropping it lets the reader know that nothing more comes.
#[derive(Debug)]
pub(super) struct BatchSender<T> {
    shared: Arc<Shared<T>>,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is in the queue.
    AtOnce,
    /// It is in the queue, and the sender had to wait so long for room.
    After(Duration),
    /// The reader is gone.
    Lost,
}

impl<T> BatchSender<T> {
    /// Puts an item into the queue, and waits where there is no room. The reader takes an urgent one without delay.
    pub(super) fn send(&self, item: T, is_urgent: bool) -> Sent {
        let shared = &*self.shared;
        let mut state = shared.lock();
        let mut waited = None;
        while state.items.len() >= shared.len_max && state.has_receiver {
            waited.get_or_insert_with(Instant::now);
            state.is_full_awaited = true;
            // Woken when there is room or the reader is gone; both are looked at again.
            state = shared.for_sender.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.has_receiver {
            return Sent::Lost;
        }
        state.items.push(item);
        state.is_urgent |= is_urgent;
        let is_due = state.is_awaited || is_urgent || state.items.len() == shared.len_max / 2;
        state.is_awaited = false;
        drop(state);
        if is_due {
            shared.for_receiver.notify_one();
        }
        waited.map_or(Sent::AtOnce, |start| Sent::After(start.elapsed()))
    }
}

impl<T> Drop for BatchSender<T> {
    fn drop(&mut self) {
        self.shared.lock().has_sender = false;
        self.shared.for_receiver.notify_one();
    }
}

/// The end that takes items out. Dropping it lets the sender know that nobody reads any more.
#[derive(Debug)]
pub(super) struct BatchReceiver<T> {
    shared: Arc<Shared<T>>,
    gathering: Duration,
}

impl<T> BatchReceiver<T> {
    /// Waits for the first item, at the most so long, then lets others gather and puts all of them into `batch`, which
    /// must be empty and stays so if nothing came. False if nothing will come any more.
    pub(super) fn take(&self, batch: &mut Vec<T>, longest: Option<Duration>) -> bool {
        let shared = &*self.shared;
        let start = Instant::now();
        let mut state = shared.lock();
        while state.items.is_empty() && state.has_sender {
            state.is_awaited = true;
            state = match longest {
                None => shared.for_receiver.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(longest) => {
                    let left = longest.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        state.is_awaited = false;
                        return true;
                    }
                    let woken = shared.for_receiver.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.is_awaited = false;
        let gathering = |state: &mut State<T>| {
            state.has_sender && !state.is_urgent && state.items.len() < shared.len_max / 2
        };
        let gathered = shared.for_receiver.wait_timeout_while(state, self.gathering, gathering);
        let mut state = gathered.unwrap_or_else(PoisonError::into_inner).0;
        Self::swap(shared, &mut state, batch)
    }

    /// The same without waiting for anything.
    pub(super) fn take_now(&self, batch: &mut Vec<T>) -> bool {
        Self::swap(&self.shared, &mut self.shared.lock(), batch)
    }

    fn swap(shared: &Shared<T>, state: &mut State<T>, batch: &mut Vec<T>) -> bool {
        std::mem::swap(&mut state.items, batch);
        state.is_urgent = false;
        if std::mem::take(&mut state.is_full_awaited) {
            shared.for_sender.notify_one();
        }
        !batch.is_empty() || state.has_sender
    }
}

impl<T> Drop for BatchReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.has_receiver = false;
        // What nobody reads is not kept.
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
        self.shared.for_sender.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn everything_arrives_in_its_order_through_a_short_queue() {
        let (sender, receiver) = batch_queue(8, Duration::from_micros(10));
        let reader = thread::spawn(move || {
            let (mut all, mut batch) = (Vec::new(), Vec::new());
            while receiver.take(&mut batch, None) {
                assert!(batch.len() <= 8);
                all.append(&mut batch);
            }
            all
        });
        let waits = (0..10_000).filter(|n| matches!(sender.send(*n, false), Sent::After(_))).count();
        drop(sender);
        assert!(waits > 0, "the queue is short");
        assert!(reader.join().is_ok_and(|all| all.into_iter().eq(0..10_000)));
    }

    #[test]
    fn an_urgent_item_is_taken_at_once() {
        let (sender, receiver) = batch_queue(8, Duration::from_secs(3600));
        let reader = thread::spawn(move || {
            let mut batch = Vec::new();
            receiver.take(&mut batch, None);
            batch
        });
        sender.send(1, false);
        sender.send(2, true);
        assert!(reader.join().is_ok_and(|batch| batch.last() == Some(&2)));
    }

    #[test]
    fn a_wait_for_nothing_ends_in_time_with_nothing() {
        let (sender, receiver) = batch_queue::<u32>(8, Duration::ZERO);
        let mut batch = Vec::new();
        assert!(receiver.take(&mut batch, Some(Duration::from_millis(1))));
        assert!(batch.is_empty());
        drop(sender);
        assert!(!receiver.take(&mut batch, None));
    }

    #[test]
    fn a_sender_whose_reader_is_gone_does_not_wait() {
        let (sender, receiver) = batch_queue(2, Duration::ZERO);
        let sent = thread::spawn(move || (0..10).map(|n| sender.send(n, false)).collect::<Vec<_>>());
        drop(receiver);
        assert!(sent.join().is_ok_and(|sent| sent.last() == Some(&Sent::Lost)));
    }
}
