use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use cache_store::Pinned;
use reactor::Loan;

use crate::budget::{BESIDE, FREE};

/// Values from this size on are not copied into a reply: they leave from where they are stored. Units: bytes.
///
/// Below this size a copy is cheaper than lending. A pin, its allocation and its return are some 60 ns, two more pieces
/// of a `sendmsg` some 100 ns; a copy runs at about 20 GB/s once the value is in the cache, 200 ns for 4 KiB.
pub(crate) const LEND: usize = 4 << 10;

/// Room for the end of a reply. Units: bytes.
const TAIL: usize = 64;

/// Most bytes of a reply in addition to its value. Units: bytes. Source: a key of 250 bytes, flags of a meta command
/// and numbers.
const HEAD: usize = 1 << 10;
/// Spare room added when a large text grows, so that small replies behind a large one do not each move it.
/// Units: bytes.
const SLACK: usize = 16 << 10;

/// A reply under construction: text, and values lent from their place.
pub(crate) struct Draft<'o> {
    text: &'o mut Vec<u8>,
    loans: &'o mut Vec<Loan>,
}

impl<'o> Draft<'o> {
    /// Continues `text`, in which `loans` have their places.
    #[inline]
    pub(crate) fn new(text: &'o mut Vec<u8>, loans: &'o mut Vec<Loan>) -> Draft<'o> {
        make_room(text, HEAD);
        Draft { text, loans }
    }

    /// Appends a value, which `pin` keeps in place if it is large and that can be.
    #[inline]
    pub(crate) fn value(&mut self, value: &[u8], pin: impl FnOnce() -> Option<Pinned>) {
        if value.len() >= LEND
            && let Some(pinned) = pin()
        {
            let bytes = Bytes::from_owner(pinned);
            debug_assert!(bytes == value);
            return self.loans.push(Loan { at: self.text.len(), bytes });
        }
        self.copy(value);
    }

    /// Appends a value that stays in its place.
    pub(crate) fn lend(&mut self, pinned: Pinned) {
        self.loans.push(Loan { at: self.text.len(), bytes: Bytes::from_owner(pinned) });
    }

    /// Appends a copy of a value.
    #[inline]
    pub(crate) fn copy(&mut self, value: &[u8]) {
        if value.len() > FREE {
            // Includes the bytes that follow it. The whole capacity counts against the budget, and growth doubles it.
            self.text.reserve_exact(value.len() + TAIL);
        }
        self.text.extend_from_slice(value);
    }
}

impl Deref for Draft<'_> {
    type Target = Vec<u8>;

    #[inline]
    fn deref(&self) -> &Vec<u8> {
        self.text
    }
}

impl DerefMut for Draft<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        self.text
    }
}

/// Makes room for `bytes` bytes after a text. The whole capacity counts against the budget, and growth by doubling
/// would make a large buffer twice its content, even for the head of a lent value.
#[inline]
pub(crate) fn make_room(text: &mut Vec<u8>, bytes: usize) {
    if text.len() + bytes > BESIDE && text.capacity() - text.len() < bytes {
        grow(text, bytes);
    }
}

#[cold]
fn grow(text: &mut Vec<u8>, bytes: usize) {
    text.reserve_exact(bytes + SLACK);
}

/// Total size of the loans. Units: bytes.
#[inline]
pub(crate) fn lent(loans: &[Loan]) -> usize {
    loans.iter().map(|loan| loan.bytes.len()).sum()
}
