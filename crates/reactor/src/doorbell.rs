use crate::Waker;
use crate::sync::{Arc, AtomicBool, Ordering, fence};

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
        // A store would do, since no write can come between a producer's swap and the value it read. loom does not
        // know that, and compared with a sleep the difference costs nothing.
        self.asleep.swap(true, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// The sleeper: it is awake, or found work after all.
    pub fn awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// The producer: call after pushing. Returns whether the peer had to be woken.
    pub fn ring(&self) -> bool {
        self.ring_by(W::wake)
    }

    /// The same, with `wake` to wake the peer, which may be cheaper by its reactor
    /// ([`Reactor::wake`](crate::Reactor::wake)).
    #[inline]
    pub fn ring_by(&self, wake: impl FnOnce(&W)) -> bool {
        fence(Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel);
        if asleep {
            wake(&self.waker);
        }
        asleep
    }
}

/// Every order in which a sleeper and its producer can meet.
#[cfg(loom)]
#[cfg(test)]
mod loom_tests {
    use loom::sync::Notify;
    use loom::thread;

    use super::*;
    use crate::queue::{Consumer, bounded};

    /// Wakes as an eventfd does: a wake-up that comes too early ends the next sleep.
    #[derive(Clone)]
    struct Bed(Arc<Notify>, Arc<loom::sync::atomic::AtomicUsize>);

    impl Waker for Bed {
        fn wake(&self) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.notify();
        }
    }

    /// Takes the next item, and sleeps if the queue is empty, as a thread's loop does; loom finds a sleep that never
    /// ends.
    fn next<T>(items: &mut Consumer<T>, bell: &Doorbell<Bed>, bed: &Bed) -> T {
        loop {
            if let Some(item) = items.pop() {
                return item;
            }
            bell.going_to_sleep();
            if items.is_empty() {
                bed.0.wait();
            }
            bell.awake();
        }
    }

    fn check(batches: &'static [usize]) {
        let mut model = loom::model::Builder::new();
        // Three preemptions are enough for every known fault of this kind (Musuvathi and Qadeer, PLDI'07); exploring
        // all schedules takes half a minute.
        model.preemption_bound = Some(3);
        model.check(move || {
            let bed = Bed(Arc::new(Notify::new()), Arc::new(loom::sync::atomic::AtomicUsize::new(0)));
            let bell = Doorbell::new(bed.clone());
            let (mut tx, mut rx) = bounded(2);
            let producer = {
                let bell = bell.clone();
                thread::spawn(move || {
                    for &batch in batches {
                        (0..batch).for_each(|item| assert!(tx.push(item).is_ok()));
                        bell.ring();
                    }
                })
            };
            for &batch in batches {
                (0..batch).for_each(|item| assert_eq!(next(&mut rx, &bell, &bed), item));
            }
            producer.join().unwrap();
            let wakes = bed.1.load(Ordering::Relaxed);
            assert!(wakes <= batches.len(), "a peer is woken at most once per batch");
        });
    }

    #[test]
    fn loom_no_message_waits_for_a_sleeper() {
        check(&[1]);
    }

    #[test]
    fn loom_a_batch_is_one_wake_up() {
        check(&[2]);
    }

    #[test]
    fn loom_no_second_message_waits_for_a_sleeper() {
        check(&[1, 1]);
    }
}
