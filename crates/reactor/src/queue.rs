//! Bounded single-producer single-consumer queues between two threads.
//!
//! One cache line each for the producer's and the consumer's position, and each side keeps a copy of the
//! other's, so that a transfer touches shared lines only when the copy runs out. Full is an answer, not a
//! wait: the producer decides what to hold back.
//!
//! Source: the ring of Lamport (1977) with cached indices, as in FastForward (PPoPP'08) and MCRingBuffer.

use std::mem::MaybeUninit;

use crate::sync::{Arc, AtomicUsize, Ordering, UnsafeCell};

/// Keeps what two threads write apart: 128 B, since processors fetch cache lines in adjacent pairs.
#[repr(align(128))]
struct Apart<T>(T);

struct Ring<T> {
    /// Written by the consumer: how many items were taken.
    head: Apart<AtomicUsize>,
    /// Written by the producer: how many items were put in.
    tail: Apart<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a slot is touched by the producer only between `head` and `tail + capacity` and by the consumer
// only between `head` and `tail`; release stores and acquire loads of the two hand each slot over.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    #[inline]
    fn slot(&self, position: usize) -> &UnsafeCell<MaybeUninit<T>> {
        // The capacity is a power of two.
        &self.slots[position & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        for position in self.head.0.load(Ordering::Relaxed)..self.tail.0.load(Ordering::Relaxed) {
            // SAFETY: both sides were dropped, and the slots from head to tail hold items.
            self.slot(position).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
        }
    }
}

/// The side that puts items in.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: usize,
    head_seen: usize,
}

/// The side that takes items out.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    tail_seen: usize,
}

/// Makes a queue that holds at least `capacity` items (rounded up to a power of two, at least 2).
pub fn bounded<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let slots = capacity.max(2).next_power_of_two();
    let ring = Arc::new(Ring {
        head: Apart(AtomicUsize::new(0)),
        tail: Apart(AtomicUsize::new(0)),
        slots: (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    (Producer { ring: Arc::clone(&ring), tail: 0, head_seen: 0 }, Consumer { ring, head: 0, tail_seen: 0 })
}

impl<T> Producer<T> {
    /// Puts `item` in, or gives it back when the queue is full.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.room() == 0 {
            return Err(item);
        }
        // SAFETY: there is room, so the consumer has given this slot up.
        self.ring.slot(self.tail).with_mut(|slot| unsafe { _ = (*slot).write(item) });
        self.tail += 1;
        self.ring.tail.0.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// How many items can be pushed now; more may fit a moment later.
    pub fn room(&mut self) -> usize {
        let capacity = self.ring.slots.len();
        if self.tail - self.head_seen == capacity {
            self.head_seen = self.ring.head.0.load(Ordering::Acquire);
        }
        capacity - (self.tail - self.head_seen)
    }
}

impl<T> Consumer<T> {
    /// Takes the oldest item out.
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the producer has filled this slot and will not touch it until `head` passes it.
        let item = self.ring.slot(self.head).with_mut(|slot| unsafe { (*slot).assume_init_read() });
        self.head += 1;
        self.ring.head.0.store(self.head, Ordering::Release);
        Some(item)
    }

    /// Whether the queue is empty now.
    pub fn is_empty(&mut self) -> bool {
        if self.head == self.tail_seen {
            self.tail_seen = self.ring.tail.0.load(Ordering::Acquire);
        }
        self.head == self.tail_seen
    }
}

/// Every order in which the two sides can meet.
#[cfg(loom)]
#[cfg(test)]
mod loom_tests {
    use loom::thread;

    use super::*;

    /// Three items through two slots, so that each side meets the other's trail; all arrive once and in order.
    #[test]
    fn loom_every_item_arrives_once_and_in_order() {
        loom::model(|| {
            let (mut tx, mut rx) = bounded(2);
            let producer = thread::spawn(move || {
                for i in 0..3 {
                    let mut item = Box::new(i);
                    while let Err(back) = tx.push(item) {
                        item = back;
                        thread::yield_now();
                    }
                }
            });
            for expect in 0..3 {
                let item = loop {
                    match rx.pop() {
                        Some(item) => break item,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(*item, expect);
            }
            assert!(rx.pop().is_none());
            producer.join().unwrap();
        });
    }

    /// Items left when both sides are dropped are dropped once, whichever side goes last; loom finds leaks and double
    /// frees.
    #[test]
    fn loom_items_left_inside_are_dropped() {
        loom::model(|| {
            let witness = Arc::new(());
            let (mut tx, mut rx) = bounded(2);
            let producer = {
                let witness = Arc::clone(&witness);
                thread::spawn(move || {
                    _ = tx.push(Arc::clone(&witness));
                    _ = tx.push(witness);
                })
            };
            drop(rx.pop());
            drop(rx);
            producer.join().unwrap();
        });
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn full_gives_the_item_back() {
        let (mut tx, mut rx) = bounded(4);
        for i in 0..4 {
            assert_eq!(tx.push(i), Ok(()));
        }
        assert_eq!(tx.push(9), Err(9));
        assert_eq!(rx.pop(), Some(0));
        assert_eq!(tx.push(4), Ok(()));
        let rest: Vec<_> = std::iter::from_fn(|| rx.pop()).collect();
        assert_eq!(rest, [1, 2, 3, 4]);
        assert!(rx.is_empty());
    }

    #[test]
    fn every_item_arrives_once_and_in_order() {
        const N: usize = 200_000;
        let (mut tx, mut rx) = bounded(64);
        let sender = thread::spawn(move || {
            for i in 0..N {
                let mut item = Box::new(i);
                while let Err(back) = tx.push(item) {
                    item = back;
                    thread::yield_now();
                }
            }
        });
        for expect in 0..N {
            let got = loop {
                match rx.pop() {
                    Some(item) => break item,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(*got, expect);
        }
        sender.join().unwrap();
    }

    #[test]
    fn items_left_inside_are_dropped() {
        let witness = Arc::new(());
        let (mut tx, mut rx) = bounded(8);
        for _ in 0..5 {
            tx.push(Arc::clone(&witness)).unwrap();
        }
        drop(rx.pop());
        assert_eq!(Arc::strong_count(&witness), 5);
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}
