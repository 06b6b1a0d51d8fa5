use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::{Config, SEGMENTS_MIN};
use crate::epochs::{Epochs, Retired};
use crate::records::Records;

/// Pauses that a write takes at most for the sake of readers, when no segment is left that it could fill instead.
///
/// A reader is inside for the requests of one receive, some µs; only one that the system has put aside meanwhile takes
/// longer, and a pause gives its processor back to it.
const PAUSES: u32 = 1000;
/// The same where another segment may do.
const PAUSES_TO_RESTART: u32 = 10;

/// Where empty segments come from and go to, so that all of them and the index stay within the memory.
///
/// ```text
///   untouched ──take──▶ in use ──give back──▶ leaving ──no reader left, no pin──▶ free ──take──▶ in use
///       ▲                                        └──no reader left──▶ pinned ──▶──┤
///       └── given to the system, as the index grows into their memory ────────────┘
/// ```
pub(super) struct Supply {
    records: Arc<Records>,
    epochs: Arc<Epochs>,
    /// What segments and index may take now. Units: bytes.
    memory: usize,
    /// What that is on its way to, where it is less. Units: bytes.
    target: usize,
    /// Segments that the most memory that there ever was has room for without an index.
    count: usize,
    /// Segments `0..taken` were in use at some time.
    taken: usize,
    /// Segments `taken..provided` have their pages from the system already.
    provided: usize,
    /// Ones that the index does not point into any more, and that readers may still look at; since when.
    leaving: VecDeque<(usize, Retired)>,
    /// Ones that no reader can find, and that replies point into which have not left.
    pinned: Vec<usize>,
    /// Empty ones.
    free: Vec<usize>,
    /// Empty ones whose pages were given to the system.
    returned: Vec<usize>,
}

/// What came of a step to less memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lowered {
    /// There is no more to do.
    Done,
    /// There is less memory than before, or will be when readers have left.
    More,
    /// Every segment is in use; one has to be taken back first.
    Full,
}

impl Supply {
    pub(super) fn new(
        config: &Config,
        is_provided: bool,
        records: Arc<Records>,
        epochs: Arc<Epochs>,
    ) -> Supply {
        let count = config.memory / config.segment;
        Supply {
            records,
            epochs,
            memory: config.memory,
            target: config.memory,
            count,
            taken: 0,
            provided: if is_provided { count } else { 0 },
            leaving: VecDeque::new(),
            pinned: Vec::new(),
            free: Vec::new(),
            returned: Vec::new(),
        }
    }

    /// The most that the memory may become. Units: bytes.
    pub(super) fn reach(&self) -> usize {
        self.memory.max(self.target).max(self.records.reach() * self.records.segment_len())
    }

    /// Sets the memory, which [`Supply::lower`] makes less if it is to be less. The segments are there.
    pub(super) fn set_memory(&mut self, memory: usize) {
        self.target = memory;
        self.memory = self.memory.max(memory);
        self.count = self.count.max(memory / self.records.segment_len());
    }

    /// Gives up the memory of a segment, if one is not in use.
    ///
    /// What has been free is given to the system before the next one, so that a write finds the same as without it: memory
    /// that is full, and one segment after the other that is taken back.
    pub(super) fn lower(&mut self, index_bytes: usize) -> Lowered {
        if self.memory <= self.target {
            return Lowered::Done;
        }
        self.settle(index_bytes);
        // The index keeps what it has.
        if self.resident() <= SEGMENTS_MIN {
            self.memory = self.target;
            return Lowered::Done;
        }
        let unused = self.growth(index_bytes) > 0 || self.provided > self.taken || !self.free.is_empty();
        if unused {
            self.memory = self.target.max(self.memory - self.records.segment_len().min(self.memory));
            self.trim(index_bytes);
        }
        if unused || !self.leaving.is_empty() { Lowered::More } else { Lowered::Full }
    }

    /// Begins anew with these segments in use, and all others free.
    pub(super) fn restore(&mut self, is_in_use: &[bool]) {
        let empty = |segment: &usize| !is_in_use[*segment];
        self.free = (0..self.count).rev().filter(empty).collect();
        (self.taken, self.provided) = (self.count, self.count);
        self.leaving.clear();
        self.pinned.clear();
        self.returned.clear();
    }

    pub(super) fn epochs(&self) -> Arc<Epochs> {
        Arc::clone(&self.epochs)
    }

    /// Segments that are in use, leaving, pinned or free.
    pub(super) fn held(&self) -> usize {
        self.taken - self.returned.len()
    }

    /// Segments that hold anything.
    pub(super) fn in_use(&self) -> usize {
        self.held() - self.free.len() - self.leaving.len() - self.pinned.len()
    }

    /// Segments that only replies point into.
    pub(super) fn pinned(&self) -> usize {
        self.pinned.iter().filter(|segment| self.records.pins().is_pinned(**segment)).count()
    }

    /// Segments that have memory, or will have it as soon as they are written.
    fn resident(&self) -> usize {
        self.held() + self.provided.saturating_sub(self.taken)
    }

    /// Segments that are available without taking one back, though readers may still look at some. Not those that are
    /// pinned: a reply may wait for others before it.
    pub(super) fn spare(&self, index_bytes: usize) -> usize {
        self.free.len() + self.leaving.len() + self.growth(index_bytes)
    }

    /// Segments that there is memory for beside those held.
    fn growth(&self, index_bytes: usize) -> usize {
        let fit = self.memory.saturating_sub(index_bytes) / self.records.segment_len();
        fit.max(SEGMENTS_MIN).min(self.count).saturating_sub(self.held())
    }

    /// An empty segment, if there is one; waits a little for readers of one that is leaving if `wait` says so.
    pub(super) fn take(&mut self, index_bytes: usize, wait: bool) -> Option<usize> {
        self.settle(index_bytes);
        self.trim(index_bytes);
        if wait
            && self.free.is_empty()
            && self.growth(index_bytes) == 0
            && let Some(&(_, since)) = self.leaving.front()
            && self.epochs.wait(since, PAUSES)
        {
            self.settle(index_bytes);
        }
        if let Some(segment) = self.free.pop() {
            return Some(segment);
        }
        if self.growth(index_bytes) == 0 {
            return None;
        }
        self.another()
    }

    /// An empty segment even if there is no memory for it, until another is given back; none where all are in use.
    pub(super) fn borrow(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| self.another())
    }

    /// A segment that has no pages, or was never in use.
    fn another(&mut self) -> Option<usize> {
        if let Some(segment) = self.returned.pop_if(|segment| self.records.take_back(*segment)) {
            return Some(segment);
        }
        let first = self.taken;
        let is_there = first < self.count && (first < self.provided || self.records.take_back(first));
        self.taken += usize::from(is_there);
        is_there.then_some(first)
    }

    /// Takes a segment in that the index does not point into any more.
    pub(super) fn give_back(&mut self, segment: usize, index_bytes: usize) {
        self.leaving.push_back((segment, self.epochs.retire()));
        self.settle(index_bytes);
    }

    /// Whether no reader looks at a segment that the index does not point into any more; waits a little for readers.
    pub(super) fn is_left(&self, segment: usize) -> bool {
        self.epochs.wait(self.epochs.retire(), PAUSES_TO_RESTART) && !self.records.pins().is_pinned(segment)
    }

    /// Takes in what no reader looks at any more, and no reply points into.
    pub(super) fn settle(&mut self, index_bytes: usize) {
        while let Some(&(segment, since)) = self.leaving.front()
            && self.epochs.is_over(since)
        {
            self.leaving.pop_front();
            self.pinned.push(segment);
        }
        // In this order: a pin is taken before its reader leaves.
        let pins = self.records.pins();
        self.free.extend(self.pinned.extract_if(.., |segment| !pins.is_pinned(*segment)));
        self.trim(index_bytes);
    }

    /// Gives the system what the index has grown into.
    fn trim(&mut self, index_bytes: usize) {
        let length = self.records.segment_len();
        while self.resident() > SEGMENTS_MIN && self.resident() * length + index_bytes > self.memory {
            if self.provided > self.taken {
                self.provided -= 1;
                // SAFETY: it was never in use.
                unsafe { self.records.discard(self.provided) };
            } else if let Some(segment) = self.free.pop() {
                // SAFETY: it is free: the index does not point into it, and its readers have left.
                unsafe { self.records.discard(segment) };
                self.returned.push(segment);
            } else {
                // All others hold items; the next that is taken back will do.
                return;
            }
        }
    }

    /// Compares what is held with what may be; for tests.
    pub(super) fn audit(&self, index_bytes: usize) {
        let length = self.records.segment_len();
        // The index grows by a piece of buckets and by one of overflow buckets before a segment goes for it.
        let bound = self.memory + 2 * (64 << 10) + length;
        assert!(
            self.resident() <= SEGMENTS_MIN || self.resident() * length + index_bytes <= bound,
            "{} segments of {length} B and {index_bytes} B of index are over {} B",
            self.resident(),
            self.memory,
        );
    }
}
