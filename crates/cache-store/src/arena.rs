use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
};

use crate::sync::{AtomicUsize, Ordering};

/// One up-front reservation of addresses, aligned to a huge page. The memory is at its front, with huge pages
/// requested.
pub(crate) struct Arena {
    start: NonNull<u8>,
    /// The usable part; only ever grows. Units: bytes.
    length: AtomicUsize,
    /// The most that `length` may become. Units: bytes.
    reach: usize,
    /// Up to where memory is to be provided before it is written. Units: bytes.
    wanted: AtomicUsize,
    /// The mapping itself, up to a huge page larger.
    mapping: (*mut std::ffi::c_void, usize),
    pages: Pages,
    /// The file that it is a part of, if it is, and from where on.
    file: Option<(OwnedFd, u64)>,
}

/// Maps new memory, or reserves addresses only if `access` is empty.
fn map(length: usize, access: ProtFlags, how: MapFlags) -> Option<*mut std::ffi::c_void> {
    // SAFETY: a new private mapping at an address of the system's choice overlaps no memory that is in use.
    unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE | how) }.ok()
}

// SAFETY: the memory belongs to the arena alone.
unsafe impl Send for Arena {}
// SAFETY: shared bytes are read through `bytes` and written through `bytes_mut`, whose callers keep them apart.
unsafe impl Sync for Arena {}

/// Units: bytes. Source: x86-64 and arm64 with 4 KiB pages; elsewhere it is only an alignment.
const HUGE_PAGE: usize = 2 << 20;

/// Units: bytes. The system keeps the address space locked while it provides memory, and whatever else the process
/// wants to map or unmap waits, together with the other threads' memory: so the steps are short. On a new virtual
/// machine 4 GiB take 13 s, and thus a step 6 ms; a system call for each of them costs nothing in comparison.
const PROVIDED_AT_ONCE: usize = HUGE_PAGE;

/// The kind of pages. With small pages a look-up in 25 MB of items spends more time on address translation than on
/// everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Huge pages that the administrator has set apart (`vm.nr_hugepages`).
    Pool,
    /// Transparent huge pages, to the extent that the system finds them; small pages elsewhere.
    Transparent,
    /// Small pages; the system knows no others.
    Small,
}

impl Arena {
    /// Takes `length` bytes, which read as 0, and has them provided at once if `now` says so. The arena can grow to
    /// `reach` bytes later, unless that many addresses are not available or it uses pool pages.
    ///
    /// Errors: `None` if the system refuses.
    pub(crate) fn new(length: usize, reach: usize, now: bool) -> Option<Arena> {
        let arena = Arena::from_pool(length)
            .or_else(|| Arena::from_anywhere(length, reach))
            .or_else(|| Arena::from_anywhere(length, length))?;
        if now {
            arena.provide();
        }
        Some(arena)
    }

    /// The `length` bytes of `file` from `offset` on, with their content, and memory for all of them, provided at once
    /// if `now` says so.
    ///
    /// Bounds: in whole pages. Errors: `None` if the file system has no room, or the system refuses.
    pub(crate) fn in_file(file: BorrowedFd<'_>, offset: u64, length: usize, now: bool) -> Option<Arena> {
        // Writing a page without room in the file system would end the process.
        fallocate(file, FallocateFlags::empty(), offset, length as u64).ok()?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice overlaps no memory that is in use.
        let mapping =
            unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, offset) }.ok()?;
        // SAFETY: the advice changes the backing of the mapping, not its content.
        let advised = unsafe { madvise(mapping, length, Advice::LinuxHugepage) };
        let arena = Arena {
            start: NonNull::new(mapping.cast())?,
            length: AtomicUsize::new(length),
            reach: length,
            wanted: AtomicUsize::new(length),
            mapping: (mapping, length),
            pages: if advised.is_ok() { Pages::Transparent } else { Pages::Small },
            file: Some((file.try_clone_to_owned().ok()?, offset)),
        };
        if now {
            arena.provide();
        }
        Some(arena)
    }

    #[inline]
    fn length(&self) -> usize {
        // A thread that asks for bytes of a new part learned about them from the thread that extended the arena.
        self.length.load(Ordering::Relaxed)
    }

    /// The most that its length may become. Units: bytes.
    pub(crate) fn reach(&self) -> usize {
        self.reach
    }

    /// Extends the arena to `length` bytes, if it is shorter; new pages are provided when written. Returns whether it
    /// succeeded.
    ///
    /// Cost: one system call, for any length.
    pub(crate) fn grow(&self, length: usize) -> bool {
        let before = self.length();
        if length <= before {
            return true;
        }
        if length > self.reach || !self.open(before, length) {
            return false;
        }
        self.length.store(length, Ordering::Relaxed);
        true
    }

    /// Allows access to the bytes from `before` up to `length`.
    fn open(&self, before: usize, length: usize) -> bool {
        // In whole pages: the one in which `before` lies is open already.
        let page = rustix::param::page_size();
        let from = before / page * page;
        let start = self.start.as_ptr().wrapping_add(from);
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: addresses of the reservation, beyond the part in use, or a page that has this access already.
        let opened = unsafe { mprotect(start.cast(), length - from, access) };
        // SAFETY: the advice changes the backing of the mapping, not its content.
        let _ = unsafe { madvise(start.cast(), length - from, Advice::LinuxHugepage) };
        opened.is_ok()
    }

    /// Has the pages provided, a step at a time.
    fn provide(&self) {
        let mut at = 0;
        while let Some(next) = self.provide_from(at) {
            at = next;
        }
    }

    /// Has the system provide some pages from `at` on, while other threads may write to them. Returns the position to
    /// go on from, or `None` at the end of the arena or of its part that was not returned to the system.
    pub(crate) fn provide_from(&self, at: usize) -> Option<usize> {
        let left = self.wanted.load(Ordering::Relaxed).saturating_sub(at);
        let length = left.min(PROVIDED_AT_ONCE);
        if length == 0 {
            return None;
        }
        let start = self.start.as_ptr().wrapping_add(at);
        // SAFETY: within the mapping; the advice has its pages provided, which changes nothing in them. Linux before
        // 5.14 refuses, and then they come when they are written.
        let _ = unsafe { madvise(start.cast(), length, Advice::LinuxPopulateWrite) };
        Some(at + length)
    }

    /// From the pool, if it has them all. They are the mapping's from now on, so that no write can find none left.
    fn from_pool(length: usize) -> Option<Arena> {
        if length == 0 || !length.is_multiple_of(HUGE_PAGE) {
            return None;
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mapping = map(length, access, MapFlags::HUGETLB | MapFlags::HUGE_2MB)?;
        Some(Arena {
            start: NonNull::new(mapping.cast())?,
            length: AtomicUsize::new(length),
            reach: length,
            wanted: AtomicUsize::new(length),
            mapping: (mapping, length),
            pages: Pages::Pool,
            file: None,
        })
    }

    fn from_anywhere(length: usize, reach: usize) -> Option<Arena> {
        let reach = reach.max(length);
        let mapped = reach.checked_add(HUGE_PAGE)?;
        // Addresses without access do not count as memory under any overcommit policy.
        let mapping = map(mapped, ProtFlags::empty(), MapFlags::empty())?;
        let start = mapping.wrapping_byte_add(mapping.align_offset(HUGE_PAGE));
        // SAFETY: the advice changes the backing of the mapping, not its content. Without huge pages the system refuses
        // it, and small pages are used.
        let advised = unsafe { madvise(start, length, Advice::LinuxHugepage) };
        let pages = if advised.is_ok() { Pages::Transparent } else { Pages::Small };
        let arena = Arena {
            start: NonNull::new(start.cast())?,
            length: AtomicUsize::new(0),
            reach,
            wanted: AtomicUsize::new(length),
            mapping: (mapping, mapped),
            pages,
            file: None,
        };
        arena.grow(length).then_some(arena)
    }

    /// Bytes on huge pages of the pool, and bytes with transparent huge pages requested.
    pub(crate) fn huge_bytes(&self) -> (u64, u64) {
        match self.pages {
            Pages::Pool => (self.length() as u64, 0),
            Pages::Transparent => (0, self.length() as u64),
            Pages::Small => (0, 0),
        }
    }

    /// Gives memory to the system, which reads as 0 until it is written again.
    ///
    /// Does nothing unless the range is in whole pages; tests use smaller segments.
    ///
    /// # Safety
    /// As for [`Arena::bytes_mut`].
    pub(crate) unsafe fn discard(&self, at: usize, length: usize) {
        assert!(
            at <= self.length() && length <= self.length() - at,
            "{length} bytes at {at} are outside of the arena"
        );
        if (at | length).is_multiple_of(rustix::param::page_size()) {
            self.wanted.fetch_min(at, Ordering::Relaxed);
            let start = self.start.as_ptr().wrapping_add(at);
            // Pages of a file stay in memory until a hole is punched.
            let how = if self.file.is_some() { Advice::LinuxRemove } else { Advice::LinuxDontNeed };
            // SAFETY: within the mapping, and no slice of it exists, as the caller promises.
            let _ = unsafe { madvise(start.cast(), length, how) };
        }
    }

    /// Provides memory again for a range that was given back to the system and is to be written; returns whether that
    /// worked.
    ///
    /// Other memory than a file's is the system's business.
    pub(crate) fn take_back(&self, at: usize, length: usize) -> bool {
        let taken = |(file, offset): &(OwnedFd, u64)| {
            fallocate(file, FallocateFlags::empty(), offset + at as u64, length as u64).is_ok()
        };
        self.file.as_ref().is_none_or(taken)
    }

    /// The bytes from `at` on.
    ///
    /// # Safety
    /// The caller ensures that no thread writes to them while the slice is in use, see [`Arena::bytes_mut`].
    #[inline]
    pub(crate) unsafe fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(
            at <= self.length() && length <= self.length() - at,
            "{length} bytes at {at} are outside of the arena"
        );
        // SAFETY: within the mapping, which is initialised (to 0 at first), and unchanging as the caller says.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// The bytes from `at` on, to be written.
    ///
    /// # Safety
    /// No other slice of any of these bytes is in use. This takes no exclusive borrow because other threads read
    /// published bytes while the one writer appends elsewhere.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the caller answers for it")]
    pub(crate) unsafe fn bytes_mut(&self, at: usize, length: usize) -> &mut [u8] {
        assert!(
            at <= self.length() && length <= self.length() - at,
            "{length} bytes at {at} are outside of the arena"
        );
        // SAFETY: as above, and exclusive as the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and every borrow of it has ended with the arena's.
        let _ = unsafe { munmap(self.mapping.0, self.mapping.1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        for length in [1, 4096, 1 << 16, (2 << 20) + 1, (16 << 20) + 4096] {
            let arena = Arena::new(length, 0, length % 2 == 0).unwrap();
            assert_eq!((arena.length(), arena.start.as_ptr().align_offset(HUGE_PAGE)), (length, 0));
            // SAFETY: no two slices are in use at once.
            unsafe {
                assert!(arena.bytes(0, length).iter().all(|&b| b == 0));
                arena.bytes_mut(length - 1, 1)[0] = 7;
                assert_eq!(arena.bytes(length - 1, 1), [7]);
            }
        }
    }

    #[test]
    fn says_what_it_is_made_of() {
        // Not a multiple of huge pages: never from the pool.
        let small = Arena::new(4096, 0, false).unwrap();
        assert_ne!(small.pages, Pages::Pool);
        let large = Arena::new(4 << 20, 0, true).unwrap();
        let (pool, transparent) = large.huge_bytes();
        let expect = match large.pages {
            Pages::Pool => (4 << 20, 0),
            Pages::Transparent => (0, 4 << 20),
            Pages::Small => (0, 0),
        };
        assert_eq!((pool, transparent), expect);
        // SAFETY: no slice is in use.
        unsafe {
            large.bytes_mut(2 << 20, 1)[0] = 7;
            large.discard(2 << 20, 2 << 20);
            assert_eq!(large.bytes(2 << 20, 1), [0]);
        }
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert!(Arena::new(usize::MAX, 0, false).is_none());
        assert!(Arena::new(1 << 47, 0, false).is_none());
    }
    #[test]
    fn grows_in_place_up_to_its_reach() {
        // 1 << 46 is more than the memory of any machine, and can be reserved.
        for (length, reach) in [(4096, 1 << 20), (3 << 20, 64 << 20), (100, 5000), (4096, 1 << 46)] {
            let arena = Arena::new(length, reach, false).unwrap();
            if arena.reach() == length {
                println!("skipped: {reach}, as the pool of huge pages or the limit of addresses has it");
                continue;
            }
            // SAFETY: no two slices are in use at once.
            unsafe { arena.bytes_mut(length - 1, 1)[0] = 7 };
            assert!(arena.grow(length) && arena.grow(length / 2), "it is as long already");
            let longer = reach.min(96 << 20);
            assert!(arena.grow(longer) && !arena.grow(reach + 1));
            // SAFETY: as above.
            unsafe {
                assert_eq!(arena.bytes(length - 1, 2), [7, 0]);
                arena.bytes_mut(longer - 1, 1)[0] = 8;
            }
        }
    }
}
