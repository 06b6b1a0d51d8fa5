use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crate::Waker;

/// Wakes a peer only when it sleeps.
///
/// The sleeper announces its sleep, looks at its queues once more, and sleeps only if they are empty; the
/// producer pushes, and rings. Two fences order "announce, then look" against "push, then ring", so that at
/// least one side sees the other and no message waits for a sleeper. An awake peer costs a load, no system
/// call.
#[derive(Clone, Debug)]
pub struct Doorbell<W: Waker> {
    asleep: Arc<AtomicBool>,
    waker: W,
}

impl<W: Waker> Doorbell<W> {
    /// A doorbell for the reactor that `waker` wakes.
    pub fn new(waker: W) -> Doorbell<W> {
        Doorbell { asleep: Arc::new(AtomicBool::new(false)), waker }
    }

    /// The sleeper: announces that it is about to sleep. Look at the queues after this, not before.
    pub fn going_to_sleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The sleeper: it is awake, or found work after all.
    pub fn awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// The producer: call after pushing. Returns whether the peer had to be woken.
    pub fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed);
        if asleep {
            self.waker.wake();
        }
        asleep
    }
}
