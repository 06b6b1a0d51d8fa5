use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// The group under which receives ask for these buffers.
pub(super) const GROUP: u16 = 0;
/// Room for one receive. Small answers are some hundred bytes; a value of 1 MB takes 64 receives, whose completions
/// (about 0.2 µs each) add less than 10 % to the copy of their bytes (about 3 µs each).
pub(super) const SIZE: usize = 16 * 1024;
/// Number of buffers, a power of two: 1 MiB per reactor, which stays in the second-level cache of a core in any order
/// of use. The kernel takes about 20 completions of a deferring ring per entry (its IO_LOCAL_TW_DEFAULT_MAX), each of
/// them at most 32 buffers of one connection; a receive that finds no buffer is merely armed again.
pub(super) const COUNT: u16 = 64;
/// From one buffer to the next: a cache line more than the size. Small answers touch only the first lines of
/// each buffer, and at a distance of a power of two these would all fall into the same few sets of the caches.
const STRIDE: usize = SIZE + 64;
/// The ring of descriptors comes first, at the begin of a page.
const RING: usize = COUNT as usize * size_of::<BufRingEntry>();

/// The wake-up counter's place: a cache line after the buffers.
const COUNTER: usize = RING + COUNT as usize * STRIDE;

/// The memory that the kernel writes into: the ring of descriptors, the buffers, the wake-up counter.
pub(super) struct Memory {
    base: NonNull<u8>,
}

impl Memory {
    const LENGTH: usize = COUNTER + 64;

    fn new() -> io::Result<Memory> {
        // Populated now, so that no receive of a measurement waits for a page to be cleared.
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe { mmap_anonymous(null_mut(), Memory::LENGTH, protection, flags) }?;
        Ok(Memory { base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)? })
    }

    fn ring(&self) -> *mut BufRingEntry {
        self.base.as_ptr().cast()
    }

    /// Place of the 8 bytes of a wake-up counter.
    pub(super) fn counter(&self) -> *mut u8 {
        // SAFETY: the mapping ends 64 bytes after the place.
        unsafe { self.base.as_ptr().add(COUNTER) }
    }

    fn buffer(&self, id: u16) -> *mut u8 {
        assert!(id < COUNT, "the kernel named buffer {id} of {COUNT}");
        // SAFETY: the mapping holds COUNT buffers after the ring.
        unsafe { self.base.as_ptr().add(RING + usize::from(id) * STRIDE) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and `Buffers` keeps it until the kernel's ring is closed.
        let _ = unsafe { munmap(self.base.as_ptr().cast::<c_void>(), Memory::LENGTH) };
    }
}

/// Buffers that the kernel picks from when bytes have come, so that a connection that waits holds none.
pub(super) struct Buffers {
    memory: Rc<Memory>,
    tail: u16,
}

impl Buffers {
    /// Hands [`COUNT`] buffers to the ring behind `submitter`.
    pub(super) fn new(submitter: &Submitter<'_>) -> io::Result<Buffers> {
        let memory = Rc::new(Memory::new()?);
        // SAFETY: the ring is page-aligned, holds COUNT descriptors, and stays mapped until the io_uring is closed:
        // `Uring` drops it after its `Ring`, or never.
        unsafe { submitter.register_buf_ring_with_flags(memory.ring() as u64, COUNT, GROUP, 0) }?;
        let mut buffers = Buffers { memory, tail: 0 };
        (0..COUNT).for_each(|id| buffers.offer(id));
        buffers.publish();
        Ok(buffers)
    }

    /// The memory; to be held while bytes of it are shown to a handler.
    pub(super) fn memory(&self) -> Rc<Memory> {
        Rc::clone(&self.memory)
    }

    /// The first `length` bytes of a buffer.
    ///
    /// # Safety
    ///
    /// The kernel must have filled the buffer, and it must not be given back while the bytes are in use.
    pub(super) unsafe fn bytes(memory: &Memory, id: u16, length: usize) -> &[u8] {
        // SAFETY: the buffer lies within the mapping and is initialized (the mapping was zeroed); the caller promises
        // that it is not written to.
        unsafe { std::slice::from_raw_parts(memory.buffer(id), length.min(SIZE)) }
    }

    /// Lets the kernel fill the buffer again.
    #[inline]
    pub(super) fn give_back(&mut self, id: u16) {
        self.offer(id);
        self.publish();
    }

    #[inline]
    fn offer(&mut self, id: u16) {
        let address = self.memory.buffer(id) as u64;
        // SAFETY: the index is within the ring. The kernel reads a descriptor only before the published tail, and
        // this one lies behind it: there are as many places as buffers. The first descriptor's last field is the
        // tail; these writes do not touch it.
        unsafe {
            let entry = &mut *self.memory.ring().add(usize::from(self.tail % COUNT));
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline]
    fn publish(&self) {
        // SAFETY: the ring's base belongs to a registered, page-aligned ring; the kernel reads the tail atomically.
        let tail = unsafe { &*BufRingEntry::tail(self.memory.ring()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
