//! The memory of connections' buffers: one budget for the server, of which each thread has a share.
//!
//! ```text
//!   limit ─┬─ common: half of it, taken by threads in steps     ◀── one atomic operation per step
//!          └─ shares: the other half, the same for each thread  ◀── no atomic operation
//!                     up to a quarter of each only for requests and replies of at most 128 KiB
//! ```
//!
//! A thread asks before it does something that may take much memory ([`Account::may_grow`]), and counts the memory
//! taken afterwards ([`Account::charge`]). Data received or made cannot be refused any more, so a charge never fails;
//! it may exceed the limit by the memory taken between a question and its charge, which is one item per thread, and by
//! one more for the connection that continues in any case (`core::memory`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use units::Bytes;

use crate::config::GATHERED_MAX;

/// Buffers up to this size are not counted: each connection may have one for input and one for output, and requests that
/// need no more never wait. Source: memcached gives each connection as much to read with (READ_BUFFER_SIZE). Units: bytes.
pub(crate) const FREE: usize = 16 << 10;

/// The largest of the small requests and replies, for which a part of each thread's share is kept. Units: bytes.
/// Source: most items of most caches are smaller, and a socket of default size has received all of such a request.
pub(crate) const SMALL: usize = 128 << 10;

/// Step in which a thread takes from the common part, and the most that it keeps in reserve. Units: bytes.
const STEP: usize = 64 << 10;
/// Memory of a request or a reply in addition to its item: a line, the bytes of one receive, and the rounding of a
/// buffer.
/// Units: bytes.
pub(crate) const BESIDE: usize = 128 << 10;

/// The part of a buffer that counts. Units: bytes.
#[inline]
pub(crate) fn counted(capacity: usize) -> usize {
    if capacity > FREE { capacity } else { 0 }
}

/// The largest growth that one question allows: a larger item is never gathered. Units: bytes.
pub(crate) fn largest(item_max: usize) -> usize {
    item_max.min(GATHERED_MAX) + BESIDE
}

/// The least budget: each thread can always take one of the largest requests or replies from its share. Units: bytes.
pub(crate) fn least(threads: usize, item_max: usize) -> usize {
    2 * threads * largest(item_max)
}

/// The default budget.
///
/// A sixteenth of the memory for items: Redis, whose clients' buffers have such a limit too, gives 5 % of it as an example
/// (`maxmemory-clients 5%` in redis.conf). At least 32 MiB, the same again as the default of 1024 connections has free; and
/// at least twice what its threads need.
pub(crate) fn default(memory: Bytes, threads: usize, item_max: usize) -> usize {
    (memory.0 as usize / 16).max(32 << 20).max(2 * least(threads, item_max))
}

/// The state shared by all threads.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The part that is shared by all threads. Units: bytes.
    common: usize,
    /// The share of each thread. Units: bytes.
    share: usize,
    /// Taken from the common part; more than all of it if charges exceeded it. Units: bytes.
    taken: AtomicUsize,
    /// Connections that wait for memory.
    waiting: AtomicUsize,
}

impl Budget {
    /// A budget of `limit` bytes for `threads` threads.
    pub(crate) fn new(limit: usize, threads: usize) -> Budget {
        let share = limit / threads / 2;
        let (taken, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Budget { common: limit - share * threads, share, taken, waiting }
    }

    /// How many connections of all threads wait for memory.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether connections of any thread wait for memory.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn begin_wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_wait(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts memory that is under way to another thread, whose charge it will be.
    #[inline]
    pub(crate) fn depart(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Completes the transfer that [`Budget::depart`] began.
    #[inline]
    pub(crate) fn arrive(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether the common part has this much left: a reply made for another thread is not charged to its maker, and
    /// must not use the maker's share. An eighth is kept for small ones.
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let kept = if bytes > SMALL { self.common / 8 } else { 0 };
        self.taken.load(Ordering::Relaxed) + bytes + kept <= self.common
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.common);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// One thread's account.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<Budget>,
    /// Memory charged. Units: bytes.
    used: usize,
    /// The share, plus the amount taken from the common part; never less than `used`. Units: bytes.
    granted: usize,
    /// The most that one growth may take. Units: bytes.
    largest: usize,
    /// What larger growths than [`SMALL`] leave of the share. Units: bytes.
    kept: usize,
    /// Whether a growth was not allowed since [`Account::was_refused`].
    refused: bool,
    /// The most that was charged since [`Account::has_fallen`] was true. Units: bytes.
    peak: usize,
}

impl Account {
    /// The account of a thread whose largest growth is `largest`.
    pub(crate) fn new(budget: Arc<Budget>, largest: usize) -> Account {
        let granted = budget.share;
        let kept = (granted / 4).min(granted.saturating_sub(largest));
        Account { budget, used: 0, granted, largest, kept, refused: false, peak: 0 }
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Memory charged. Units: bytes.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether there is memory for one more of the largest growths.
    #[inline]
    pub(crate) fn may_grow(&mut self) -> bool {
        let wanted = self.largest + self.kept;
        self.granted - self.used >= wanted || self.take(wanted)
    }

    /// Whether there is memory for a growth by `bytes` bytes. A small one may take all that there is.
    pub(crate) fn may_grow_by(&mut self, bytes: usize) -> bool {
        if bytes > SMALL {
            return self.may_grow();
        }
        let wanted = bytes.next_multiple_of(STEP);
        self.granted - self.used >= wanted || self.take(wanted)
    }

    /// Whether the thread has more than its share.
    pub(crate) fn has_of_common(&self) -> bool {
        self.granted > self.budget.share
    }

    #[cold]
    fn take(&mut self, wanted: usize) -> bool {
        let missing = (self.used + wanted - self.granted).next_multiple_of(STEP);
        let taken = self.budget.take(missing);
        self.granted += if taken { missing } else { 0 };
        self.refused |= !taken;
        taken
    }

    /// Whether a growth was not allowed since the last time.
    #[inline]
    pub(crate) fn was_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    pub(crate) fn charge(&mut self, bytes: usize) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        if self.used > self.granted {
            let missing = (self.used - self.granted).next_multiple_of(STEP);
            self.budget.depart(missing);
            self.granted += missing;
        }
    }

    pub(crate) fn release(&mut self, bytes: usize) {
        self.used -= bytes;
        let kept = if self.used == 0 { self.budget.share } else { self.budget.share.max(self.used + STEP) };
        if self.granted > kept + STEP || (self.used == 0 && self.granted > kept) {
            self.budget.arrive(self.granted - kept);
            self.granted = kept;
        }
    }

    /// Replaces a charge by another.
    #[inline]
    pub(crate) fn exchange(&mut self, before: &mut usize, after: usize) {
        if *before != after {
            if after > *before {
                self.charge(after - *before)
            } else {
                self.release(*before - after)
            }
            *before = after;
        }
    }

    /// Whether enough was released since the last call that the allocator should return it to the system.
    pub(crate) fn has_fallen(&mut self) -> bool {
        let fallen = self.peak - self.used >= TRIM && self.used <= self.peak / 2;
        if fallen {
            self.peak = self.used;
        }
        fallen
    }
}

/// Less is not worth a walk through the allocator's lists. Units: bytes.
const TRIM: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LARGEST: usize = 1 << 20;

    fn accounts(limit: usize, threads: usize) -> (Arc<Budget>, Vec<Account>) {
        let budget = Arc::new(Budget::new(limit, threads));
        let accounts = (0..threads).map(|_| Account::new(Arc::clone(&budget), LARGEST)).collect();
        (budget, accounts)
    }

    #[test]
    fn one_thread_may_take_the_common_part_and_leaves_the_others_their_shares() {
        let (budget, mut accounts) = accounts(16 << 20, 2);
        let mut taken = 0;
        while accounts[0].may_grow() {
            accounts[0].charge(LARGEST);
            taken += 1;
        }
        assert_eq!(taken, 11, "three quarters of its share of 4 MiB, and 8 MiB of the common part");
        assert!(!accounts[0].may_grow_by(SMALL + 1));
        for _ in 0..8 {
            assert!(accounts[0].may_grow_by(SMALL), "the rest of it is for small ones");
            accounts[0].charge(SMALL);
        }
        assert!(!accounts[0].may_grow_by(1));
        assert!(accounts[1].may_grow());
        accounts[1].charge(4 << 20);
        assert!(!accounts[1].may_grow());
        accounts[0].release(3 << 20);
        assert!(accounts[1].may_grow(), "what one gives back the other may take");
        accounts[0].release(9 << 20);
        // The other account has taken 2 MiB for its next growth, and an eighth is kept for small ones.
        assert!(budget.has_room(5 << 20) && !budget.has_room(6 << 20));
        budget.depart(2 << 20);
        assert!(budget.has_room(3 << 20) && !budget.has_room(4 << 20), "what is under way is of no share");
        budget.arrive(2 << 20);
        accounts[1].release(4 << 20);
        budget.audit_is_whole();
    }

    #[test]
    fn memory_has_fallen_once() {
        let (_, mut accounts) = accounts(16 << 20, 1);
        let account = &mut accounts[0];
        account.charge(4 << 20);
        assert!(!account.has_fallen());
        account.release(1 << 20);
        assert!(!account.has_fallen());
        account.release(3 << 20);
        assert!(account.has_fallen() && !account.has_fallen());
    }

    proptest! {
        #[test]
        fn the_limit_is_kept_by_all_who_ask_and_the_budget_is_whole_in_the_end(
            threads in 1..5usize,
            steps in prop::collection::vec((0..5usize, 0..3u8, 0..LARGEST), 1..400),
        ) {
            let limit = 2 * threads * LARGEST + (3 << 20);
            let (budget, mut accounts) = accounts(limit, threads);
            let mut held: Vec<Vec<usize>> = vec![Vec::new(); threads];
            for (thread, what, bytes) in steps {
                let thread = thread % threads;
                let account = &mut accounts[thread];
                let others: usize = held.iter().flatten().sum();
                match what {
                    0 | 1 if account.may_grow() => {
                        prop_assert!(others + LARGEST <= limit);
                        account.charge(bytes);
                        held[thread].push(bytes);
                    }
                    0 | 1 => prop_assert!(account.used() > 0, "a thread without charges may always grow"),
                    _ => if let Some(bytes) = held[thread].pop() {
                        account.release(bytes);
                    }
                }
                prop_assert_eq!(accounts[thread].used(), held[thread].iter().sum::<usize>());
            }
            for (account, held) in accounts.iter_mut().zip(held) {
                held.into_iter().for_each(|bytes| account.release(bytes));
                // A charge that was not asked for is counted, too.
                account.charge(2 * limit);
                prop_assert!(!account.may_grow() && account.was_refused() && !account.was_refused());
                account.release(2 * limit);
            }
            budget.audit_is_whole();
        }
    }

    impl Budget {
        /// Panics if anything is charged, waited for, or under way, once no thread holds anything.
        pub(crate) fn audit_is_whole(&self) {
            assert_eq!(self.taken.load(Ordering::Relaxed), 0, "bytes of the common part are missing");
            assert_eq!(self.waiting.load(Ordering::Relaxed), 0, "connections that were closed still wait");
        }
    }
}
