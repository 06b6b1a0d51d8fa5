//! Output that is not copied: bytes that the lender keeps in place until they have left.
//!
//! A loan lasts until the kernel has taken its bytes or the connection is closed, so the lender bounds how much it
//! lends. From some KiB on a copy costs more than a system call that takes several pieces, and copies of output that
//! slow peers do not read would use unbounded memory.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::iter;
use std::os::fd::AsFd;

use bytes::{Buf, Bytes};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

/// Bytes in the midst of an output that are not copied, see [`Reactor::lend`](crate::Reactor::lend).
#[derive(Debug)]
pub struct Loan {
    /// They come before this byte of what [`Reactor::output`](crate::Reactor::output) yields.
    pub at: usize,
    /// The bytes. The lender keeps them in place and unchanged as long as this exists.
    pub bytes: Bytes,
}

/// Pieces that one `sendmsg` is given; more take another one. Source: each costs some ns to set up, and 64 of them with
/// values of 4 KiB are more than most sockets take at once.
const PIECES: usize = 64;

/// The loans in one connection's output.
#[derive(Default)]
pub(crate) struct Loans {
    /// In the order of their places.
    loans: VecDeque<Loan>,
    /// Their total. Units: bytes.
    bytes: usize,
}

impl Loans {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.loans.is_empty()
    }

    /// Their total. Units: bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds `more`, which come behind those that are there.
    pub(crate) fn take(&mut self, more: &mut Vec<Loan>) {
        debug_assert!(self.loans.iter().chain(&*more).is_sorted_by_key(|loan| loan.at));
        self.bytes += more.iter().map(|loan| loan.bytes.len()).sum::<usize>();
        self.loans.extend(more.drain(..));
    }

    /// Gives them back.
    pub(crate) fn clear(&mut self) {
        self.loans.clear();
        self.bytes = 0;
    }

    /// Text and loans in turn, from byte `from` of the text on; loans start at or after it.
    fn all<'l>(&'l self, text: &'l [u8], from: usize) -> impl Iterator<Item = &'l [u8]> {
        let mut before = from;
        let rest = self.loans.back().map_or(from, |loan| loan.at);
        let pieces = self.loans.iter().flat_map(move |loan| {
            let between = &text[before..loan.at];
            before = loan.at;
            [between, &loan.bytes[..]]
        });
        pieces.chain(iter::once(&text[rest..]))
    }

    /// The same without the first `taken` bytes, and without empty pieces.
    pub(crate) fn behind<'l>(
        &'l self,
        text: &'l [u8],
        from: usize,
        mut taken: usize,
    ) -> impl Iterator<Item = &'l [u8]> {
        self.all(text, from).filter_map(move |piece| {
            let skipped = taken.min(piece.len());
            taken -= skipped;
            Some(&piece[skipped..]).filter(|piece| !piece.is_empty())
        })
    }

    /// Offers the kernel everything from byte `from` of the text on; returns how much it took, and what went wrong, if it
    /// is not that it takes no more for now.
    pub(crate) fn send(&self, fd: impl AsFd, text: &[u8], from: usize) -> (usize, Result<(), Errno>) {
        let mut taken = 0;
        loop {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let (mut count, mut offered) = (0, 0);
            for (place, piece) in pieces.iter_mut().zip(self.behind(text, from, taken)) {
                *place = IoSlice::new(piece);
                (count, offered) = (count + 1, offered + piece.len());
            }
            if count == 0 {
                return (taken, Ok(()));
            }
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(&fd, &pieces[..count], &mut SendAncillaryBuffer::default(), flags) {
                Ok(n) => {
                    taken += n;
                    if n < offered || count < PIECES {
                        return (taken, Ok(()));
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => return (taken, Ok(())),
                Err(error) => return (taken, Err(error)),
            }
        }
    }

    /// Gives back the loans within the first `taken` bytes from byte `from` of the text on, and returns the byte of
    /// the text at which the rest begins.
    pub(crate) fn advance(&mut self, mut from: usize, mut taken: usize) -> usize {
        while let Some(loan) = self.loans.front_mut() {
            let text = taken.min(loan.at - from);
            (from, taken) = (from + text, taken - text);
            if from < loan.at {
                return from;
            }
            let lent = taken.min(loan.bytes.len());
            taken -= lent;
            self.bytes -= lent;
            if lent < loan.bytes.len() {
                loan.bytes.advance(lent);
                return from;
            }
            self.loans.pop_front();
        }
        from + taken
    }

    /// Adjusts the loans after the first `n` bytes of the text, which precede all loans, were cut off.
    pub(crate) fn shift(&mut self, n: usize) {
        self.loans.iter_mut().for_each(|loan| loan.at -= n);
    }

    /// Copies everything behind the first `taken` bytes from byte `from` of the text on, which is all that is left then,
    /// and gives the loans back.
    pub(crate) fn settle(&mut self, text: &mut Vec<u8>, from: usize, taken: usize) {
        let left = text.len() - from + self.bytes - taken;
        if left == 0 {
            text.clear();
        } else {
            let mut rest = Vec::with_capacity(left);
            self.behind(text, from, taken).for_each(|piece| rest.extend_from_slice(piece));
            *text = rest;
        }
        self.clear();
    }
}

/// Copies `loans` to their places in `text`, and gives them back.
pub(crate) fn copy_in(text: &mut Vec<u8>, loans: &mut Vec<Loan>) {
    let mut all = Loans::default();
    all.take(loans);
    all.settle(text, 0, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loan(at: usize, bytes: &'static str) -> Loan {
        Loan { at, bytes: Bytes::from_static(bytes.as_bytes()) }
    }

    fn loans(of: Vec<Loan>) -> Loans {
        let mut loans = Loans::default();
        loans.take(&mut { of });
        loans
    }

    #[test]
    fn text_and_loans_come_in_turn() {
        let check = |from: usize, of: Vec<Loan>, taken: usize, expect: &[&str]| {
            let loans = loans(of);
            let pieces: Vec<&str> = loans
                .behind(b"0123456789", from, taken)
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();
            assert_eq!(pieces, expect);
        };
        check(0, vec![], 0, &["0123456789"]);
        check(4, vec![], 0, &["456789"]);
        check(0, vec![loan(0, "abc"), loan(10, "def")], 0, &["abc", "0123456789", "def"]);
        check(2, vec![loan(4, "abc"), loan(4, ""), loan(4, "def")], 0, &["23", "abc", "def", "456789"]);
        check(2, vec![loan(4, "abc"), loan(6, "def")], 4, &["c", "45", "def", "6789"]);
        check(2, vec![loan(4, "abc"), loan(6, "def")], 13, &["9"]);
        check(2, vec![loan(4, "abc"), loan(6, "def")], 14, &[]);
    }

    #[test]
    fn what_was_taken_is_given_back() {
        let text = b"0123456789";
        for first in 0..=15 {
            for second in 0..=15 - first {
                let mut loans = loans(vec![loan(0, ""), loan(4, "abc"), loan(6, "de"), loan(10, "")]);
                let all: Vec<u8> = loans.behind(text, 0, 0).flatten().copied().collect();
                let from = loans.advance(0, first);
                let from = loans.advance(from, second);
                let rest: Vec<u8> = loans.behind(text, from, 0).flatten().copied().collect();
                assert_eq!(rest, all[first + second..], "{first} {second}");
                assert_eq!(loans.bytes(), rest.iter().filter(|byte| byte.is_ascii_alphabetic()).count());
                loans.shift(from);
                let same: Vec<u8> = loans.behind(&text[from..], 0, 0).flatten().copied().collect();
                assert_eq!(same, rest);
                assert_eq!(loans.is_empty(), first + second == 15);
            }
        }
    }

    #[test]
    fn what_is_left_is_copied_and_the_loans_are_given_back() {
        for taken in 0..=13 {
            let mut loans = loans(vec![loan(4, "abc"), loan(6, "de")]);
            let mut text = b"0123456789".to_vec();
            loans.settle(&mut text, 2, taken);
            assert_eq!(text, &b"23abc45de6789"[taken..]);
            assert!(loans.is_empty() && loans.bytes() == 0);
        }
        let mut text = b"0123".to_vec();
        copy_in(&mut text, &mut vec![loan(1, "abc"), loan(4, "d")]);
        assert_eq!(text, b"0abc123d");
    }
}
