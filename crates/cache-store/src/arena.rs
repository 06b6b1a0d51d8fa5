use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// One up-front reservation of memory, which starts at a huge page and asks for huge pages.
pub(crate) struct Arena {
    start: NonNull<u8>,
    length: usize,
    /// What the system gave, up to a huge page more.
    mapping: (*mut std::ffi::c_void, usize),
    pages: Pages,
}

/// New memory.
fn map(length: usize, how: MapFlags) -> Option<*mut std::ffi::c_void> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the system's choice overlaps no memory that is in use.
    unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE | how) }.ok()
}

// SAFETY: the memory belongs to the arena alone.
unsafe impl Send for Arena {}
// SAFETY: what is shared is read through `bytes` and written through `bytes_mut`, whose callers keep them apart.
unsafe impl Sync for Arena {}

/// Units: bytes. Source: x86-64 and arm64 with 4 KiB pages; elsewhere it is only an alignment.
const HUGE_PAGE: usize = 2 << 20;

/// Units: bytes. The system keeps the address space locked while it provides memory, and whatever else the process wants to
/// map or unmap waits, together with the other threads' memory: so the steps are short. On a new virtual machine
/// 4 GiB take 13 s, and thus a step 50 ms; a system call for each of them costs nothing beside that.
const PROVIDED_AT_ONCE: usize = 16 << 20;

/// What memory is made of. With small pages a look-up in 25 MB of items spends more time on address translation than on
/// everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Huge pages that the administrator has set apart (`vm.nr_hugepages`).
    Pool,
    /// Huge pages where the system finds them (transparent huge pages), small ones elsewhere.
    Transparent,
    /// Small pages; the system knows no others.
    Small,
}

impl Arena {
    /// Reserves `length` bytes, which read as 0, and has them provided at once if `now` says so.
    ///
    /// Errors: `None` where the system refuses.
    pub(crate) fn new(length: usize, now: bool) -> Option<Arena> {
        let arena = Arena::from_pool(length).or_else(|| Arena::from_anywhere(length))?;
        if now {
            arena.provide();
        }
        Some(arena)
    }

    /// Has the pages provided, a step at a time.
    fn provide(&self) {
        for at in (0..self.length).step_by(PROVIDED_AT_ONCE) {
            let (start, length) =
                (self.start.as_ptr().wrapping_add(at), PROVIDED_AT_ONCE.min(self.length - at));
            // SAFETY: within the mapping; the advice has its pages provided, which changes nothing in them. Linux before
            // 5.14 refuses, and then they come when they are written.
            let _ = unsafe { madvise(start.cast(), length, Advice::LinuxPopulateWrite) };
        }
    }

    /// From the pool, if it has them all. They are the mapping's from now on, so that no write can find none left.
    fn from_pool(length: usize) -> Option<Arena> {
        if length == 0 || !length.is_multiple_of(HUGE_PAGE) {
            return None;
        }
        let mapping = map(length, MapFlags::HUGETLB | MapFlags::HUGE_2MB)?;
        Some(Arena {
            start: NonNull::new(mapping.cast())?,
            length,
            mapping: (mapping, length),
            pages: Pages::Pool,
        })
    }

    fn from_anywhere(length: usize) -> Option<Arena> {
        let mapped = length.checked_add(HUGE_PAGE)?;
        let mapping = map(mapped, MapFlags::empty())?;
        let start = mapping.wrapping_byte_add(mapping.align_offset(HUGE_PAGE));
        // SAFETY: the advice changes how the mapping is backed, not what it holds. Where there are no huge pages it is
        // refused, and small ones do.
        let advised = unsafe { madvise(start, length, Advice::LinuxHugepage) };
        let pages = if advised.is_ok() { Pages::Transparent } else { Pages::Small };
        Some(Arena { start: NonNull::new(start.cast())?, length, mapping: (mapping, mapped), pages })
    }

    /// Bytes on huge pages of the pool, and bytes for which transparent huge pages are asked for.
    pub(crate) fn huge_bytes(&self) -> (u64, u64) {
        match self.pages {
            Pages::Pool => (self.length as u64, 0),
            Pages::Transparent => (0, self.length as u64),
            Pages::Small => (0, 0),
        }
    }

    /// Gives memory to the system, which reads as 0 until it is written again.
    ///
    /// Does nothing where it is not in whole pages, as small segments of tests are.
    ///
    /// # Safety
    /// As for [`Arena::bytes_mut`].
    pub(crate) unsafe fn discard(&self, at: usize, length: usize) {
        assert!(
            at <= self.length && length <= self.length - at,
            "{length} bytes at {at} are outside of the arena"
        );
        if (at | length).is_multiple_of(rustix::param::page_size()) {
            let start = self.start.as_ptr().wrapping_add(at);
            // SAFETY: within the mapping, and no slice of it exists, as the caller promises.
            let _ = unsafe { madvise(start.cast(), length, Advice::LinuxDontNeed) };
        }
    }

    /// The bytes from `at` on.
    ///
    /// # Safety
    /// The caller ensures that no thread writes to them while the slice is in use, see [`Arena::bytes_mut`].
    #[inline]
    pub(crate) unsafe fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(
            at <= self.length && length <= self.length - at,
            "{length} bytes at {at} are outside of the arena"
        );
        // SAFETY: within the mapping, which is initialised (to 0 at first), and unchanging as the caller says.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// The bytes from `at` on, to be written.
    ///
    /// # Safety
    /// No other slice of any of them is in use. That is why this takes no exclusive borrow: what has been published
    /// is read by other threads while the one writer appends elsewhere.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the caller answers for it")]
    pub(crate) unsafe fn bytes_mut(&self, at: usize, length: usize) -> &mut [u8] {
        assert!(
            at <= self.length && length <= self.length - at,
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
            let arena = Arena::new(length, length % 2 == 0).unwrap();
            assert_eq!((arena.length, arena.start.as_ptr().align_offset(HUGE_PAGE)), (length, 0));
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
        // Of no whole huge pages: never from the pool.
        let small = Arena::new(4096, false).unwrap();
        assert_ne!(small.pages, Pages::Pool);
        let large = Arena::new(4 << 20, true).unwrap();
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
        assert!(Arena::new(usize::MAX, false).is_none());
        assert!(Arena::new(1 << 47, false).is_none());
    }
}
