use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// One up-front reservation of memory.
///
/// It starts at a huge page and asks for huge pages: with small ones a look-up in 25 MB of items spends more
/// time on address translation than on everything else.
pub(crate) struct Arena {
    start: NonNull<u8>,
    length: usize,
    /// What the system gave, up to a huge page more.
    mapping: (*mut std::ffi::c_void, usize),
}

// SAFETY: the memory belongs to the arena alone.
unsafe impl Send for Arena {}
// SAFETY: what is shared is read through `bytes` and written through `bytes_mut`, whose callers keep them apart.
unsafe impl Sync for Arena {}

/// Units: bytes. Source: x86-64 and arm64 with 4 KiB pages; elsewhere it is only an alignment.
const HUGE_PAGE: usize = 2 << 20;

impl Arena {
    /// Reserves `length` bytes, which read as 0, and has them provided at once if `now` says so.
    ///
    /// Errors: `None` where the system refuses.
    pub(crate) fn new(length: usize, now: bool) -> Option<Arena> {
        let mapped = length.checked_add(HUGE_PAGE)?;
        // SAFETY: a new private mapping at an address of the system's choice touches nobody else's memory.
        let mapping = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .ok()?;
        let skip = mapping.align_offset(HUGE_PAGE);
        let start = mapping.wrapping_byte_add(skip);
        // SAFETY: the advice changes how the mapping above is backed, not what it holds. Where there are no
        // huge pages it is refused, and small ones do.
        let _ = unsafe { madvise(start, length, Advice::LinuxHugepage) };
        if now {
            // SAFETY: as above. Linux before 5.14 refuses, and then pages come when they are written.
            let _ = unsafe { madvise(start, length, Advice::LinuxPopulateWrite) };
        }
        Some(Arena { start: NonNull::new(start.cast())?, length, mapping: (mapping, mapped) })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and every borrow of it has ended with the arena's.
        let _ = unsafe { munmap(self.mapping.0, self.mapping.1) };
    }
}

impl Arena {
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
            // SAFETY: within the mapping, and nobody has a slice of it, as the caller says.
            let _ = unsafe { madvise(start.cast(), length, Advice::LinuxDontNeed) };
        }
    }

    /// The bytes from `at` on.
    ///
    /// # Safety
    /// Nobody writes to them as long as the slice is in use, see [`Arena::bytes_mut`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        for length in [1, 4096, 1 << 16, (2 << 20) + 1] {
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
    fn refuses_what_cannot_be() {
        assert!(Arena::new(usize::MAX, false).is_none());
        assert!(Arena::new(1 << 47, false).is_none());
    }
}
