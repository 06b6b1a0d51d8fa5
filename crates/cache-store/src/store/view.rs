use std::sync::Arc;

use crate::epochs::Epochs;
use crate::hash::Key;
use crate::index::{Look, Table};
use crate::marks::Marks;
use crate::record::Header;
use crate::records::{Location, Records};
use crate::stats::Gone;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The part of a store shared with readers on other threads.
pub(crate) struct Shared {
    pub(crate) records: Arc<Records>,
    pub(crate) table: Arc<Table>,
    /// Records up to this position in the log were flushed.
    flushed: AtomicU64,
    /// When everything will be flushed; 0 for never.
    flush_at: AtomicU32,
}

impl Shared {
    pub(super) fn new(records: Arc<Records>, table: Arc<Table>) -> Shared {
        Shared { records, table, flushed: AtomicU64::new(0), flush_at: AtomicU32::new(0) }
    }

    /// The writer: everything up to this position is flushed.
    pub(super) fn flush(&self, position: u64) {
        // In this order, or a reader could find nothing due and nothing done.
        self.flushed.store(position, Ordering::Relaxed);
        self.flush_at.store(0, Ordering::Release);
    }

    /// The writer: up to which position everything is flushed, and when everything will be, 0 for never.
    pub(super) fn flushes(&self) -> (u64, u32) {
        (self.flushed.load(Ordering::Relaxed), self.flush_at.load(Ordering::Relaxed))
    }

    /// The writer: everything will be flushed then.
    pub(super) fn flush_at(&self, at: u32) {
        self.flush_at.store(at, Ordering::Relaxed);
    }

    /// Whether a flush should have happened that the writer has not carried out yet.
    #[inline]
    pub(crate) fn is_flush_due(&self, now: u32) -> bool {
        let at = self.flush_at.load(Ordering::Acquire);
        at != 0 && at <= now
    }

    /// Whether a record has ended, and why.
    #[inline]
    pub(crate) fn gone(&self, at: Location, header: &Header, now: u32) -> Option<Gone> {
        let flushed = self.flushed.load(Ordering::Relaxed);
        if flushed > 0 && self.records.position(at) <= flushed {
            Some(Gone::Flushed)
        } else if header.expiry.is_over(now) {
            Some(Gone::Expired)
        } else {
            None
        }
    }

    /// The record of `key`, for a reader that is inside. `reads`: whether that is a use of the item; never of a stale one,
    /// which only its owner reads.
    #[inline]
    pub(crate) fn look(&self, key: Key, reads: bool, now: u32) -> Look {
        let records = &self.records;
        self.table.look(key.hash, now, |at| {
            let header = records.header(at);
            let is_it = records.key(at, &header) == key.bytes;
            is_it.then(|| reads && !Marks::from_u32(header.marks).has(Marks::STALE))
        })
    }
}

/// The view of a store for a [`Reader`](crate::Reader) on another thread.
#[derive(Clone)]
pub struct View {
    pub(crate) shared: Arc<Shared>,
    pub(crate) epochs: Arc<Epochs>,
}
