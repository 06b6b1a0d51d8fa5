//! What the C library's allocator does with memory that is freed.
//!
//! By default it raises the size from which on it asks the system for each piece separately to that of whatever large
//! piece is freed, up to 32 MiB; from then on buffers of large values come from its own heaps, and what is freed in their
//! midst stays with the process. With glibc that is turned off here; other libraries have no such switch.

/// Pieces from this size on come from the system and go back to it when they are freed. Source: glibc's own value at
/// the start of a process (DEFAULT_MMAP_THRESHOLD_MIN). Units: bytes.
#[cfg(target_env = "gnu")]
const FROM_THE_SYSTEM: nix::libc::c_int = 128 << 10;

/// Has large pieces go back to the system when they are freed, for as long as the process lives.
pub(crate) fn return_large_pieces() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it changes a number of the allocator, under the allocator's lock.
    unsafe {
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, FROM_THE_SYSTEM);
    }
}

/// Gives back to the system what is free in the allocator's heaps. Cost: about 0.2 µs per page given back.
pub(crate) fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches only what is free, under the allocator's locks.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
