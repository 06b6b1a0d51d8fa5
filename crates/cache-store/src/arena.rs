use std::ops::{Deref, DerefMut};
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

impl Deref for Arena {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for that many bytes, which are initialised (to 0 at first), and nobody
        // else has the address.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Arena {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        for length in [1, 4096, 1 << 16, (2 << 20) + 1] {
            let mut arena = Arena::new(length, length % 2 == 0).unwrap();
            assert_eq!((arena.len(), arena.as_ptr().align_offset(HUGE_PAGE)), (length, 0));
            assert!(arena.iter().all(|&b| b == 0));
            arena[length - 1] = 7;
            assert_eq!(arena[length - 1], 7);
        }
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert!(Arena::new(usize::MAX, false).is_none());
        assert!(Arena::new(1 << 47, false).is_none());
    }
}
