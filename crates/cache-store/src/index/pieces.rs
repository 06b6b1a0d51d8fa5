use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;

use super::bucket::Bucket;
use crate::sync::{AtomicUsize, Ordering};

/// Buckets in pieces of 64 KiB: a single table would have to be copied to grow, which would stall all requests.
///
/// One thread adds and removes buckets at the end while others read, so nothing ever moves: the list of pieces has its
/// full length from the start, 8 B for each 64 KiB of buckets that may come. Only the used part takes memory.
pub(super) struct Pieces {
    /// Null if not allocated; else points at [`Pieces::PIECE`] buckets.
    pieces: Box<[AtomicPtr<Bucket>]>,
    len: AtomicUsize,
    /// The first pieces, which are allocated: all that have buckets, and those beyond that are still to be freed.
    held: AtomicUsize,
}

// SAFETY: a piece belongs to this alone, and buckets may be shared among threads.
unsafe impl Send for Pieces {}
// SAFETY: as above; the list is of atomics.
unsafe impl Sync for Pieces {}

/// A list of nulls that takes no memory until it is written to.
fn nulls(length: usize) -> Box<[AtomicPtr<Bucket>]> {
    let zeros = Box::into_raw(vec![0usize; length].into_boxed_slice());
    // SAFETY: an atomic pointer has the size and alignment of a number, and is null if that is 0; and the original box
    // is no longer used.
    unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(zeros.cast::<AtomicPtr<Bucket>>(), length)) }
}

/// The memory of a piece: a mapping of its own, so that it goes back to the system when it is freed. The system merges
/// adjacent ones. Its zeros are empty buckets.
#[cfg(not(loom))]
fn allocate() -> NonNull<Bucket> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the system's choice overlaps no memory that is in use.
    let made = unsafe { mmap_anonymous(ptr::null_mut(), Pieces::BYTES, access, MapFlags::PRIVATE) };
    made.ok().and_then(|start| NonNull::new(start.cast())).expect("the system has no memory for the index")
}

/// # Safety
/// It came from [`allocate`], and nothing refers to it any more.
#[cfg(not(loom))]
unsafe fn free(piece: NonNull<Bucket>) {
    // SAFETY: as the caller promises. Buckets need no drop.
    let _ = unsafe { rustix::mm::munmap(piece.as_ptr().cast(), Pieces::BYTES) };
}

/// loom's atomics are more than their value.
#[cfg(loom)]
fn allocate() -> NonNull<Bucket> {
    let buckets: Box<[Bucket]> = (0..Pieces::PIECE).map(|_| Bucket::default()).collect();
    NonNull::new(Box::into_raw(buckets).cast()).expect("a box is not null")
}

/// # Safety
/// It came from [`allocate`], and nothing refers to it any more.
#[cfg(loom)]
unsafe fn free(piece: NonNull<Bucket>) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(piece.as_ptr(), Pieces::PIECE)) });
}

impl Pieces {
    /// Buckets per piece. Two suffice to try every order.
    pub(super) const PIECE: usize = if cfg!(loom) { 2 } else { 1024 };

    /// Units: bytes.
    const BYTES: usize = Self::PIECE * size_of::<Bucket>();

    /// No buckets, of at most `most`.
    pub(super) fn new(most: usize) -> Pieces {
        let pieces = nulls(most.div_ceil(Self::PIECE));
        Pieces { pieces, len: AtomicUsize::new(0), held: AtomicUsize::new(0) }
    }

    /// How many there are; each is available to a thread that has seen this number.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Size of the pieces. Units: bytes.
    pub(super) fn bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed) * Self::BYTES
    }

    /// The bucket after the last, which [`Pieces::push`] adds.
    pub(super) fn next(&self) -> (usize, &Bucket) {
        let number = self.len();
        let piece = number / Self::PIECE;
        if piece == self.held.load(Ordering::Relaxed) {
            self.pieces[piece].store(allocate().as_ptr(), Ordering::Release);
            self.held.store(piece + 1, Ordering::Relaxed);
        }
        (number, self.get(number))
    }

    /// Adds the next bucket as it is by now, and returns its number.
    pub(super) fn push(&self) -> usize {
        let (number, _) = self.next();
        self.len.store(number + 1, Ordering::Release);
        number
    }

    /// Removes the last bucket, which is empty. Its piece stays until [`Pieces::free_last`].
    pub(super) fn pop(&self) {
        self.len.store(self.len() - 1, Ordering::Release);
    }

    /// Frees the last piece.
    ///
    /// # Safety
    /// It has no buckets any more, and no reader is left that has seen it with one.
    pub(super) unsafe fn free_last(&self) {
        let last = self.held.load(Ordering::Relaxed) - 1;
        assert!(last * Self::PIECE >= self.len(), "piece {last} has buckets");
        self.held.store(last, Ordering::Relaxed);
        let piece = self.pieces[last].swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it is allocated, and the caller promises the rest.
        unsafe { free(NonNull::new(piece).expect("it is held")) };
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> &Bucket {
        let piece = self.pieces[number / Self::PIECE].load(Ordering::Acquire);
        let piece = NonNull::new(piece).expect("a bucket is there before its number is told");
        // SAFETY: a piece has [`Pieces::PIECE`] buckets, and lives as long as the list.
        unsafe { piece.add(number % Self::PIECE).as_ref() }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        for piece in &mut self.pieces {
            // They were filled in order.
            let Some(piece) = NonNull::new(*piece.get_mut()) else { return };
            // SAFETY: nothing borrows from the list any more.
            unsafe { free(piece) };
        }
    }
}
