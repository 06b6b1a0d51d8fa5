use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::{Config, SEGMENTS_MIN};
use crate::epochs::{Epochs, Retired};
use crate::extent::Run;
use crate::records::Records;

/// Pauses that a write takes at most for the sake of readers, when no segment is left that it could fill instead.
///
/// A reader is inside for the requests of one receive, some µs; only a preempted reader takes longer, and a pause gives
/// its processor back to it.
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
///
/// The segments of a large value go that way together. While adjacent ones are gathered for another, gathered segments
/// that become free wait in a [`Window`].
pub(crate) struct Supply {
    records: Arc<Records>,
    epochs: Arc<Epochs>,
    /// Current memory limit of segments and index. Units: bytes.
    memory: usize,
    /// The memory that it is shrinking to, if less. Units: bytes.
    target: usize,
    /// Segments that the most memory that there ever was has room for without an index.
    count: usize,
    /// Segments `0..taken` were in use at some time.
    taken: usize,
    /// Segments `taken..provided` have their pages from the system already.
    provided: usize,
    /// Ones that the index does not point into any more, and that readers may still look at; since when.
    leaving: VecDeque<(Vacated, Retired)>,
    /// Ones that no reader can find, and that replies point into which have not left.
    pinned: Vec<Vacated>,
    /// Empty ones.
    free: Vec<usize>,
    /// Empty ones whose pages were given to the system.
    returned: Vec<usize>,
    /// The segments being gathered for a large value.
    window: Option<Window>,
}

/// Segments that the index does not point into any more.
#[derive(Clone, Copy)]
struct Vacated {
    run: Run,
    /// Whether the segments, possibly a single one, contained a large value.
    is_large: bool,
}

/// Adjacent segments that are to be empty all at once.
struct Window {
    run: Run,
    /// Its segments that are empty.
    ready: Vec<usize>,
    /// Its empty segments with pages given back to the system.
    bare: Vec<usize>,
}

/// Result of providing pages again for a window's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backed {
    /// All that are empty have them.
    Whole,
    /// No memory for that until another segment is empty.
    Short,
    Refused,
}

/// Result of one step of shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lowered {
    Done,
    /// There is less memory than before, or will be when readers have left.
    More,
    /// Every segment is in use; one has to be reclaimed first.
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
            window: None,
        }
    }

    /// The most that the memory may become. Units: bytes.
    pub(crate) fn reach(&self) -> usize {
        self.memory.max(self.target).max(self.records.reach() * self.records.segment_len())
    }

    /// Sets the memory limit; [`Supply::lower`] then shrinks if it is lower. The segments exist already.
    pub(super) fn set_memory(&mut self, memory: usize) {
        self.target = memory;
        self.memory = self.memory.max(memory);
        self.count = self.count.max(memory / self.records.segment_len());
    }

    /// Gives up the memory of a segment, if one is not in use.
    ///
    /// Free segments are given to the system before the next is emptied, so that a write finds the same as without
    /// shrinking: memory that is full, and one segment after the other being reclaimed.
    pub(crate) fn lower(&mut self, index_bytes: usize) -> Lowered {
        if self.memory <= self.target {
            return Lowered::Done;
        }
        self.settle(index_bytes);
        // The rest is the index's, which shrinks with the number of items alone.
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

    /// Restarts with these segments in use, and all others free.
    pub(super) fn restore(&mut self, is_in_use: &[bool]) {
        let empty = |segment: &usize| !is_in_use[*segment];
        self.free = (0..self.count).rev().filter(empty).collect();
        (self.taken, self.provided) = (self.count, self.count);
        self.leaving.clear();
        self.pinned.clear();
        self.returned.clear();
        self.window = None;
    }

    pub(crate) fn epochs(&self) -> Arc<Epochs> {
        Arc::clone(&self.epochs)
    }

    /// Segments that are in use, leaving, pinned or free.
    pub(super) fn held(&self) -> usize {
        self.taken - self.returned.len() - self.window.as_ref().map_or(0, |window| window.bare.len())
    }

    /// Segments of the window that are empty and have pages.
    pub(super) fn ready(&self) -> usize {
        self.window.as_ref().map_or(0, |window| window.ready.len())
    }

    /// Segments that hold anything.
    pub(crate) fn in_use(&self) -> usize {
        let leaving: usize = self.leaving.iter().map(|(gone, _)| gone.run.count).sum();
        let pinned: usize = self.pinned.iter().map(|gone| gone.run.count).sum();
        self.held() - self.free.len() - self.ready() - leaving - pinned
    }

    /// Segments that only replies point into.
    pub(crate) fn pinned(&self) -> usize {
        self.held_by_replies().map(|gone| gone.run.count).sum()
    }

    fn held_by_replies(&self) -> impl Iterator<Item = Vacated> + '_ {
        self.pinned.iter().copied().filter(|gone| self.records.pins().is_pinned(gone.run.first))
    }

    /// Of these, the segments of large values.
    pub(super) fn pinned_large(&self) -> usize {
        self.held_by_replies().filter(|gone| gone.is_large).map(|gone| gone.run.count).sum()
    }

    /// Segments with memory, and those that will get it when written.
    fn resident(&self) -> usize {
        self.held() + self.provided.saturating_sub(self.taken)
    }

    /// Segments that only wait for their readers to leave.
    pub(crate) fn leaving(&self) -> usize {
        let window = self.window.as_ref().map_or(Run { first: 0, count: 0 }, |window| window.run);
        self.leaving.iter().map(|(gone, _)| gone.run.count - gone.run.overlap(window)).sum()
    }

    /// Whether any segment waits for its readers to leave.
    pub(crate) fn awaits_readers(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Segments that are available without taking one back, though readers may still look at some. Not those that are
    /// pinned: a reply may wait for others before it.
    pub(crate) fn spare(&self, index_bytes: usize) -> usize {
        self.free.len() + self.leaving() + self.growth(index_bytes)
    }

    /// Segments that fit into the memory next to the index.
    pub(super) fn fit(&self, index_bytes: usize) -> usize {
        let fit = self.memory.min(self.target).saturating_sub(index_bytes) / self.records.segment_len();
        fit.max(SEGMENTS_MIN).min(self.count)
    }

    /// Segments that can still be added to those held.
    fn growth(&self, index_bytes: usize) -> usize {
        let fit = self.memory.saturating_sub(index_bytes) / self.records.segment_len();
        fit.max(SEGMENTS_MIN).min(self.count).saturating_sub(self.held())
    }

    /// An empty segment, if available; waits a little for readers of one that is leaving if `wait` is set.
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

    /// An empty segment even beyond the memory limit, until another is given back; `None` if all are in use.
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

    /// Receives segments that the index no longer points into: one of records, or a large value's.
    pub(super) fn give_back(&mut self, run: Run, is_large: bool, index_bytes: usize) {
        self.leaving.push_back((Vacated { run, is_large }, self.epochs.retire()));
        self.settle(index_bytes);
    }

    /// Whether no reader looks at a segment that the index does not point into any more; waits a little for readers.
    pub(super) fn is_left(&self, segment: usize) -> bool {
        self.epochs.wait(self.epochs.retire(), PAUSES_TO_RESTART) && !self.records.pins().is_pinned(segment)
    }

    /// Waits a little for readers if all segments of the window are empty or leaving; returns whether waiting longer may help.
    pub(crate) fn wait_for_window(&mut self, index_bytes: usize) -> bool {
        let Some(window) = &self.window else { return true };
        let mut leaving = self.leaving.iter().filter(|(gone, _)| gone.run.overlap(window.run) > 0);
        let here: usize = leaving.clone().map(|(gone, _)| gone.run.overlap(window.run)).sum();
        if window.ready.len() + here < window.run.count {
            return true;
        }
        let Some(&(_, since)) = leaving.next_back() else { return true };
        let have_left = self.epochs.wait(since, PAUSES);
        self.settle(index_bytes);
        have_left
    }

    /// Frees segments that no reader sees any more, and no reply points into.
    pub(crate) fn settle(&mut self, index_bytes: usize) {
        while let Some(&(gone, since)) = self.leaving.front()
            && self.epochs.is_over(since)
        {
            self.leaving.pop_front();
            self.pinned.push(gone);
        }
        // In this order: a pin is taken before its reader leaves.
        let pins = self.records.pins();
        for gone in self.pinned.extract_if(.., |gone| !pins.is_pinned(gone.run.first)) {
            for segment in gone.run.segments() {
                match &mut self.window {
                    Some(window) if window.run.has(segment) => window.ready.push(segment),
                    _ => self.free.push(segment),
                }
            }
        }
        self.trim(index_bytes);
    }

    /// Segments that hold nothing, or will in a moment.
    pub(super) fn empty(&self) -> impl Iterator<Item = usize> + '_ {
        let pins = self.records.pins();
        let gone = self.leaving.iter().map(|(gone, _)| gone).chain(&self.pinned);
        let settled = gone.map(|gone| gone.run).filter(|run| !pins.is_pinned(run.first));
        self.free.iter().copied().chain(settled.flat_map(Run::segments))
    }

    /// Segments that hold nothing and have no pages, or never had.
    pub(super) fn bare(&self) -> impl Iterator<Item = usize> + '_ {
        self.returned.iter().copied().chain(self.taken..self.count)
    }

    /// All that there may be.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn can_grow(&self, index_bytes: usize) -> bool {
        self.growth(index_bytes) > 0
    }

    /// From now on these segments are gathered, and given to no other purpose.
    pub(crate) fn begin_window(&mut self, run: Run) {
        debug_assert!(self.window.is_none());
        for segment in self.taken..run.segments().end.max(self.taken) {
            // Their provided pages stay, see `resident`.
            let to = if segment < self.provided { &mut self.free } else { &mut self.returned };
            to.push(segment);
        }
        self.taken = self.taken.max(run.segments().end);
        let ready = self.free.extract_if(.., |segment| run.has(*segment)).collect();
        let bare = self.returned.extract_if(.., |segment| run.has(*segment)).collect();
        self.window = Some(Window { run, ready, bare });
    }

    pub(super) fn window(&self) -> Option<Run> {
        self.window.as_ref().map(|window| window.run)
    }

    /// The segments that were gathered, once they are all empty; they are in use from then on.
    pub(super) fn take_window(&mut self) -> Option<Run> {
        let run = self.window()?;
        (self.ready() == run.count).then(|| self.window = None)?;
        Some(run)
    }

    pub(super) fn end_window(&mut self, index_bytes: usize) {
        if let Some(Window { ready, bare, .. }) = self.window.take() {
            self.free.extend(ready);
            self.returned.extend(bare);
        }
        self.trim(index_bytes);
    }

    /// Whether replies point into segments of the window, so that it is unknown when they will be empty.
    pub(crate) fn is_window_pinned(&self) -> bool {
        let window = self.window().unwrap_or(Run { first: 0, count: 0 });
        self.held_by_replies().any(|gone| gone.run.overlap(window) > 0)
    }

    /// Gives the empty segments of the window pages.
    pub(crate) fn back_window(&mut self, index_bytes: usize) -> Backed {
        while let Some(segment) = self.window.as_ref().and_then(|window| window.bare.last().copied()) {
            while self.growth(index_bytes) == 0 {
                // The memory of another for it.
                let Some(other) = self.free.pop() else { return Backed::Short };
                // SAFETY: it is free: the index does not point into it, and its readers have left.
                unsafe { self.records.discard(other) };
                self.returned.push(other);
            }
            if !self.records.take_back(segment) {
                return Backed::Refused;
            }
            if let Some(window) = &mut self.window {
                window.bare.pop();
                window.ready.push(segment);
            }
        }
        Backed::Whole
    }

    /// Gives segments back to the system to make up for the growth of the index.
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
                // All others hold items; the next one reclaimed will do.
                return;
            }
        }
    }

    /// Checks the segments held against the limit; for tests.
    pub(crate) fn audit(&self, index_bytes: usize) {
        let length = self.records.segment_len();
        // The index grows by a piece of buckets and by one of overflow buckets before the log returns a segment for it.
        let bound = self.memory + 2 * (64 << 10) + length;
        assert!(
            self.resident() <= SEGMENTS_MIN || self.resident() * length + index_bytes <= bound,
            "{} segments of {length} B and {index_bytes} B of index are over {} B",
            self.resident(),
            self.memory,
        );
    }
}
