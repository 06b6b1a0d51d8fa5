use std::sync::Arc;

use crate::epochs::Seat;
use crate::hash::Key;
use crate::index::Look;
use crate::marks::Marks;
use crate::stats::Gone;
use crate::stats::Stats;
use crate::store::{Entry, View};

/// One thread's eyes on the partitions of all threads: it reads them while their owners write, without a lock and
/// without a message.
///
/// Cost: a fence for the first of the gets between two [`Reader::leave`]s, plus the cost of the owner's own get.
pub struct Reader {
    seat: Seat,
    views: Box<[View]>,
    stats: Stats,
}

/// The result of a reader's lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'r> {
    /// The item, until [`Reader::leave`].
    Found(Entry<'r>),
    /// There was none at some moment during the call.
    Missing,
    /// Only the owner can say: it is at work in this very place, has a flush to carry out, or has to record which
    /// client was the first to learn that the item is stale.
    AskOwner,
}

impl Reader {
    /// A reader of these partitions; `None` if their [`Epochs`](crate::Epochs) have no free place.
    ///
    /// Panics: they do not all have the same epochs.
    pub fn new(views: Vec<View>) -> Option<Reader> {
        let epochs = &views.first()?.epochs;
        assert!(
            views.iter().all(|view| Arc::ptr_eq(&view.epochs, epochs)),
            "a reader is inside of one set of epochs, which all its partitions must heed"
        );
        Some(Reader { seat: Seat::take(epochs)?, views: views.into(), stats: Stats::default() })
    }

    /// The item of `key` in partition `number`.
    ///
    /// Expired items are not found; their owner removes them later.
    #[inline]
    pub fn get(&mut self, number: usize, key: Key, now: u32) -> Lookup<'_> {
        self.seat.enter();
        let shared = &*self.views[number].shared;
        if shared.is_flush_due(now) {
            return Lookup::AskOwner;
        }
        let gone = match shared.look(key, true, now) {
            Look::Unsettled => return Lookup::AskOwner,
            Look::Missing => Gone::Missing,
            Look::Found(at, usage) => {
                let header = shared.records.header(at);
                match shared.gone(at, &header, now) {
                    Some(gone) => gone,
                    None if Marks::from_u32(header.marks).has(Marks::STALE) => return Lookup::AskOwner,
                    None => {
                        self.stats.count_get(Ok(()));
                        return Lookup::Found(Entry::new(&shared.records, at, &header, usage, now));
                    }
                }
            }
        };
        self.stats.count_get(Err(gone));
        Lookup::Missing
    }

    /// The item of `key` in partition `number`, as [`Reader::get`] would find it, without counting a get or noting a
    /// read. `None` also if only the owner can tell.
    pub fn peek(&mut self, number: usize, key: Key, now: u32) -> Option<Entry<'_>> {
        self.seat.enter();
        let shared = &*self.views[number].shared;
        let Look::Found(at, usage) = shared.look(key, false, now) else { return None };
        let header = shared.records.header(at);
        let stands = shared.gone(at, &header, now).is_none();
        stands.then(|| Entry::new(&shared.records, at, &header, usage, now))
    }

    /// Lets owners reuse memory that this thread has seen. Call it before the thread sleeps and regularly in between:
    /// until then that memory stays occupied.
    #[inline]
    pub fn leave(&mut self) {
        self.seat.leave();
    }

    /// Counters of this reader.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Sets all counters to 0.
    pub fn reset_stats(&mut self) {
        self.stats.reset();
    }
}
