use std::mem;

use nix::libc::{iovec, msghdr};

use crate::loans::Loans;

/// Pieces that one operation is given; more take another one. Source: Linux's `UIO_MAXIOV`.
const PIECES: usize = 1024;

/// The kernel's view of a send of text and loans: the message, the list of its pieces, and the owners of the pieces.
///
/// Shape: in a box, since the kernel knows its address.
pub(super) struct Gather {
    message: msghdr,
    pieces: Vec<iovec>,
    loans: Loans,
}

impl Default for Gather {
    fn default() -> Gather {
        // SAFETY: a message of numbers and pointers that are 0 has no address and no pieces. It has further fields on
        // some systems.
        let message = unsafe { mem::zeroed() };
        Gather { message, pieces: Vec::new(), loans: Loans::default() }
    }
}

impl Gather {
    /// Total of the loans. Units: bytes.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.loans.bytes()
    }

    /// Whether anything that was lent has not left.
    #[inline]
    pub(super) fn has_loans(&self) -> bool {
        !self.loans.is_empty()
    }

    /// Takes the loans over.
    ///
    /// Bounds: it has none.
    pub(super) fn begin(&mut self, loans: &mut Loans) {
        // Both keep their memory.
        std::mem::swap(&mut self.loans, loans);
    }

    /// A message of `text` from byte `from` on with the loans in it; it and the text stay as they are until the send has
    /// ended.
    pub(super) fn message(&mut self, text: &[u8], from: usize) -> *const msghdr {
        self.pieces.clear();
        let pieces = self.loans.behind(text, from, 0).take(PIECES);
        self.pieces.extend(
            pieces.map(|piece| iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() }),
        );
        self.message.msg_iov = self.pieces.as_mut_ptr();
        self.message.msg_iovlen = self.pieces.len() as _;
        &raw const self.message
    }

    /// What was lent.
    pub(super) fn loans(&mut self) -> &mut Loans {
        &mut self.loans
    }

    /// Gives the loans back.
    pub(super) fn give_up(&mut self) {
        self.loans.clear();
    }
}
