use std::sync::OnceLock;

use super::bucket::Bucket;
use crate::sync::{AtomicUsize, Ordering};

/// Buckets in pieces of 64 KiB: a table in one piece would be copied to grow, and stop everything meanwhile.
///
/// One thread adds buckets, any looks at them meanwhile, so nothing ever moves: the list of pieces has its full
/// length from the start, 8 B for 64 KiB of buckets that may come.
pub(super) struct Pieces {
    pieces: Box<[OnceLock<Box<[Bucket]>>]>,
    len: AtomicUsize,
}

impl Pieces {
    /// Buckets per piece. 64 KiB are zeroed in a few µs. Two suffice to try every order.
    pub(super) const PIECE: usize = if cfg!(loom) { 2 } else { 1024 };

    /// No buckets, of at most `most`.
    pub(super) fn new(most: usize) -> Pieces {
        let pieces = (0..most.div_ceil(Self::PIECE)).map(|_| OnceLock::new()).collect();
        Pieces { pieces, len: AtomicUsize::new(0) }
    }

    /// How many there are; each is available to a thread that has seen this number.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// What the pieces take. Units: bytes.
    pub(super) fn bytes(&self) -> usize {
        self.len().div_ceil(Self::PIECE) * Self::PIECE * size_of::<Bucket>()
    }

    /// The bucket after the last, which [`Pieces::push`] adds.
    pub(super) fn next(&self) -> (usize, &Bucket) {
        let number = self.len();
        let piece = self.pieces[number / Self::PIECE].get_or_init(|| {
            let buckets: Vec<Bucket> = (0..Self::PIECE).map(|_| Bucket::default()).collect();
            buckets.into_boxed_slice()
        });
        (number, &piece[number % Self::PIECE])
    }

    /// Adds the next bucket as it is by now, and returns its number.
    pub(super) fn push(&self) -> usize {
        let (number, _) = self.next();
        self.len.store(number + 1, Ordering::Release);
        number
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> &Bucket {
        let piece = self.pieces[number / Self::PIECE].get();
        &piece.expect("a bucket is there before its number is told")[number % Self::PIECE]
    }
}
