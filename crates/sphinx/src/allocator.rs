//! Controls how the C library's allocator returns freed memory.
//!
//! By default, freeing a large piece raises the allocator's threshold for direct mappings to the size of that piece, up
//! to 32 MiB; from then on buffers of large values come from its own heaps, and free space inside a heap stays with the
//! process. This turns that off with glibc; other libraries have no such switch.

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

/// Returns free memory of the allocator's heaps to the system. Cost: about 0.2 µs per page returned.
pub(crate) fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: touches only free memory, under the allocator's locks.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
