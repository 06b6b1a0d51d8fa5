use super::bucket::Bucket;

/// Buckets in pieces of 64 KiB: a table in one piece would be copied to grow, and stop everything meanwhile.
#[derive(Default)]
pub(super) struct Pieces {
    pieces: Vec<Box<[Bucket]>>,
    len: usize,
}

impl Pieces {
    /// Buckets per piece. 64 KiB are zeroed in a few µs.
    pub(super) const PIECE: usize = 1024;

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What the pieces take. Units: bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.len() * Self::PIECE * size_of::<Bucket>()
    }

    /// Adds an empty bucket and returns its number.
    pub(super) fn push(&mut self) -> usize {
        if self.len == self.pieces.len() * Self::PIECE {
            self.pieces.push(vec![Bucket::default(); Self::PIECE].into_boxed_slice());
        }
        self.len += 1;
        self.len - 1
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> &Bucket {
        &self.pieces[number / Self::PIECE][number % Self::PIECE]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: usize) -> &mut Bucket {
        &mut self.pieces[number / Self::PIECE][number % Self::PIECE]
    }
}
