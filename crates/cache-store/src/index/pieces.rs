use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;

use super::bucket::Bucket;
use crate::sync::{AtomicUsize, Ordering};

/// Buckets in pieces of 64 KiB: a single table would have to be copied to grow, which would stall all requests.
///
/// One thread adds buckets while others read, so nothing ever moves: the list of pieces has its full length from the
/// start, 8 B for each 64 KiB of buckets that may come. Only the used part takes memory.
pub(super) struct Pieces {
    /// Null if not allocated yet; else points at a box of [`Pieces::PIECE`] buckets.
    pieces: Box<[AtomicPtr<Bucket>]>,
    len: AtomicUsize,
}

// SAFETY: a piece is a box that belongs to this alone, and buckets may be shared among threads.
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

impl Pieces {
    /// Buckets per piece. 64 KiB are zeroed in a few µs. Two suffice to try every order.
    pub(super) const PIECE: usize = if cfg!(loom) { 2 } else { 1024 };

    /// No buckets, of at most `most`.
    pub(super) fn new(most: usize) -> Pieces {
        Pieces { pieces: nulls(most.div_ceil(Self::PIECE)), len: AtomicUsize::new(0) }
    }

    /// How many there are; each is available to a thread that has seen this number.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Size of the pieces. Units: bytes.
    pub(super) fn bytes(&self) -> usize {
        self.len().div_ceil(Self::PIECE) * Self::PIECE * size_of::<Bucket>()
    }

    /// The bucket after the last, which [`Pieces::push`] adds.
    pub(super) fn next(&self) -> (usize, &Bucket) {
        let number = self.len();
        let piece = &self.pieces[number / Self::PIECE];
        if piece.load(Ordering::Relaxed).is_null() {
            let buckets: Box<[Bucket]> = (0..Self::PIECE).map(|_| Bucket::default()).collect();
            piece.store(Box::into_raw(buckets).cast(), Ordering::Release);
        }
        (number, self.get(number))
    }

    /// Adds the next bucket as it is by now, and returns its number.
    pub(super) fn push(&self) -> usize {
        let (number, _) = self.next();
        self.len.store(number + 1, Ordering::Release);
        number
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
            // SAFETY: it came from such a box, and nothing borrows from the list any more.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(piece.as_ptr(), Self::PIECE)) });
        }
    }
}
