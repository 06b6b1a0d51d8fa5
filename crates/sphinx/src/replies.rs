use std::collections::VecDeque;

use proto_memcache::binary::Echo;
use reactor::Loan;

use crate::buffers::Buffers;
use crate::config::GATHERED_MAX;
use crate::draft::{Draft, lent, make_room};
use crate::resp::{self, Sum};
use crate::stats::CoreStats;

/// Replies of one connection that wait for earlier ones. A request with `noreply` that another thread executes has an empty reply
/// here, so that later replies wait for it.
///
/// ```text
///   oldest                                    newest
///   [answer of core 1] [text] [answer of core 3] [text…]
///        waiting        made       waiting        grows
/// ```
///
/// Shape: empty as long as all keys are the connection's own thread's; replies then bypass it.
#[derive(Default)]
pub(crate) struct Replies {
    slots: VecDeque<Slot>,
    /// The number of the oldest slot.
    first: u64,
    /// Bytes of complete replies that wait. Units: bytes.
    bytes: usize,
    /// Bytes of the replies that are not lent, and of the parts of those that are gathered. Units: bytes.
    copied: usize,
    /// Slots that wait for another thread.
    waiting: usize,
    /// A part of the oldest slot has been released.
    stepping: bool,
}

enum Slot {
    Made(Text),
    Waiting,
    Gathering(Box<Gathering>),
    Summing(Box<Sum>),
}

/// Complete replies: text, and large values in their places.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    loans: Vec<Loan>,
}

/// A large reply becomes the output as is, if the output is empty: the thread that made it has copied the value once,
/// which suffices. Copying a smaller one is cheaper than replacing its buffer. Units: bytes.
const HAND_OVER: usize = 16 << 10;

/// Bytes of a large value lent to the kernel before others have their turn, or copied if it cannot be lent.
/// Units: bytes. Source: as [`OUTPUT_MAX`](crate::client::OUTPUT_MAX); it leaves in some 0.1 ms at 10 GB/s.
pub(crate) const STEP: usize = 1 << 20;

/// Whether it contains a value sent in steps: one larger than any segment.
#[inline]
pub(crate) fn has_long(loans: &[Loan]) -> bool {
    loans.iter().any(|loan| loan.bytes.len() > GATHERED_MAX)
}

/// A reply that needs a part from every other thread.
pub(crate) struct Gathering {
    /// Parts that are still missing.
    pub(crate) left: usize,
    /// The data that the reply is made from.
    pub(crate) stats: CoreStats,
    /// Lines that all threads have a part in.
    pub(crate) lines: Vec<u8>,
    /// The kind of reply.
    pub(crate) finish: Finish,
    /// The fields that the response echoes, in the binary protocol.
    pub(crate) echo: Option<Echo>,
}

/// The reply when all threads have done their part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Silent,
    Ok,
    Reset,
    Stats,
    Items,
    Slabs,
    Connections,
    Detail,
    Curve,
    HotKeys,
    Resp(resp::Finish),
}

impl Finish {
    /// Whether the reply grows with the number of connections or of prefixes.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Finish::Connections | Finish::Detail | Finish::Resp(resp::Finish::Lines(_)))
    }
}

impl Replies {
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of complete replies that wait. Units: bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the replies that are not lent, and of the parts of those that are gathered. Units: bytes.
    pub(crate) fn copied(&self) -> usize {
        self.copied
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Makes a reply now: in `output`, with `loans` in it, if it is the first in order, else in the queue.
    #[inline]
    pub(crate) fn make<T>(
        &mut self,
        output: &mut Vec<u8>,
        loans: &mut Vec<Loan>,
        buffers: &mut Buffers,
        write: impl FnOnce(&mut Draft) -> T,
    ) -> T {
        if self.slots.is_empty() {
            return write(&mut Draft::new(output, loans));
        }
        if !matches!(self.slots.back(), Some(Slot::Made(_))) {
            self.slots.push_back(Slot::Made(Text { bytes: buffers.take(), loans: Vec::new() }));
        }
        let Some(Slot::Made(text)) = self.slots.back_mut() else { unreachable!("it was just pushed") };
        let (before, lent_before) = (text.bytes.len(), text.loans.len());
        let made = write(&mut Draft::new(&mut text.bytes, &mut text.loans));
        self.copied += text.bytes.len() - before;
        self.bytes += text.bytes.len() - before + lent(&text.loans[lent_before..]);
        made
    }

    /// Keeps a place for a reply that another thread makes; returns its number.
    pub(crate) fn expect(&mut self) -> u64 {
        self.push(Slot::Waiting)
    }

    /// Keeps a place for a reply that all threads have a part in; returns its number.
    pub(crate) fn gather(&mut self, gathering: Gathering) -> u64 {
        self.copied += gathering.lines.len();
        self.push(Slot::Gathering(Box::new(gathering)))
    }

    /// Keeps a place for a reply that sums up those of several keys; returns its number.
    pub(crate) fn sum_up(&mut self, sum: Sum) -> u64 {
        self.push(Slot::Summing(Box::new(sum)))
    }

    /// A further summand will come.
    pub(crate) fn expect_summand(&mut self, number: u64) {
        self.sum(number).left += 1;
    }

    /// Adds the reply of one key, and puts the whole into its place when it was the last.
    pub(crate) fn add_summand(&mut self, number: u64, text: &[u8]) {
        if let Some(whole) = self.sum(number).add(text) {
            self.fill(number, whole, None);
        }
    }

    fn sum(&mut self, number: u64) -> &mut Sum {
        let Slot::Summing(sum) = &mut self.slots[(number - self.first) as usize] else {
            unreachable!("only sums get summands")
        };
        sum
    }

    fn push(&mut self, slot: Slot) -> u64 {
        self.slots.push_back(slot);
        self.waiting += 1;
        self.first + self.slots.len() as u64 - 1
    }

    pub(crate) fn fill(&mut self, number: u64, bytes: Vec<u8>, loan: Option<Loan>) {
        let loans = Vec::from_iter(loan);
        self.copied += bytes.len();
        self.bytes += bytes.len() + lent(&loans);
        self.waiting -= 1;
        let slot = &mut self.slots[(number - self.first) as usize];
        debug_assert!(!matches!(slot, Slot::Made(_)), "a reply came twice");
        *slot = Slot::Made(Text { bytes, loans });
    }

    /// Adds a thread's part; returns the whole when it was the last.
    pub(crate) fn add(&mut self, number: u64, part: &CoreStats, lines: &[u8]) -> Option<&mut Gathering> {
        let Slot::Gathering(gathering) = &mut self.slots[(number - self.first) as usize] else {
            unreachable!("only gatherings get parts")
        };
        gathering.stats += *part;
        gathering.lines.extend_from_slice(lines);
        gathering.left -= 1;
        self.copied += lines.len();
        if gathering.left > 0 {
            return None;
        }
        // From here on they are the caller's.
        self.copied -= gathering.lines.len();
        Some(gathering)
    }

    /// The length of the oldest reply, if it is made.
    #[inline]
    pub(crate) fn front_length(&self) -> usize {
        match self.slots.front() {
            Some(Slot::Made(text)) => text.bytes.len() + lent(&text.loans),
            _ => 0,
        }
    }

    /// Appends the replies that no longer need to wait to `output`, and their loans, but no more than `room` bytes, and a
    /// step of a longer one; returns whether there were any. The rest is released when these have left.
    pub(crate) fn release(
        &mut self,
        output: &mut Vec<u8>,
        loans: &mut Vec<Loan>,
        buffers: &mut Buffers,
        mut room: usize,
    ) -> bool {
        let before = self.first;
        while let Some(Slot::Made(text)) = self.slots.front_mut() {
            let length = text.bytes.len() + lent(&text.loans);
            if room == 0 || (length > room && self.first != before) {
                self.stepping = true;
                return self.first != before;
            }
            if has_long(&text.loans) {
                self.release_step(output, loans, room.min(STEP));
                return true;
            }
            room = room.saturating_sub(length);
            let mut text = std::mem::take(text);
            self.stepping = false;
            self.copied -= text.bytes.len();
            self.bytes -= text.bytes.len() + lent(&text.loans);
            let start = output.len();
            loans.extend(text.loans.into_iter().map(|loan| Loan { at: start + loan.at, ..loan }));
            if start == 0 && text.bytes.len() >= HAND_OVER {
                std::mem::swap(output, &mut text.bytes);
            } else {
                make_room(output, text.bytes.len());
                output.extend_from_slice(&text.bytes);
            }
            buffers.give(text.bytes);
            self.slots.pop_front();
            self.first += 1;
        }
        self.first != before
    }

    /// Whether a reply has left in part, so that the rest is released when that part has been sent.
    #[inline]
    pub(crate) fn is_stepping(&self) -> bool {
        self.stepping
    }

    /// The same with the next part of the oldest reply, which is too long to leave at once.
    #[cold]
    fn release_step(&mut self, output: &mut Vec<u8>, loans: &mut Vec<Loan>, step: usize) {
        let Some(Slot::Made(text)) = self.slots.front_mut() else { return };
        let (mut left, mut copied, mut taken) = (step, 0, 0);
        for loan in &mut text.loans {
            if left == 0 {
                break;
            }
            output.extend_from_slice(&text.bytes[copied..loan.at]);
            copied = loan.at;
            let bytes = loan.bytes.split_to(loan.bytes.len().min(left));
            left -= bytes.len();
            taken += usize::from(loan.bytes.is_empty());
            loans.push(Loan { at: output.len(), bytes });
        }
        text.loans.drain(..taken);
        text.bytes.drain(..copied);
        text.loans.iter_mut().for_each(|loan| loan.at -= copied);
        self.copied -= copied;
        self.bytes -= copied + step - left;
        self.stepping = true;
    }

    /// Takes back the reply just made from byte `start` of the output, with all loans, as it is first in order; it is
    /// released in steps.
    #[cold]
    pub(crate) fn take_back(&mut self, output: &mut Vec<u8>, start: usize, loans: &mut Vec<Loan>) {
        debug_assert!(self.slots.is_empty());
        let bytes = output.split_off(start);
        let mut loans = std::mem::take(loans);
        loans.iter_mut().for_each(|loan| loan.at -= start);
        self.copied += bytes.len();
        self.bytes += bytes.len() + lent(&loans);
        self.slots.push_back(Slot::Made(Text { bytes, loans }));
    }

    /// Drops the rest of a reply of which a part has been released.
    pub(crate) fn drop_steps(&mut self) {
        if std::mem::take(&mut self.stepping)
            && let Some(Slot::Made(text)) = self.slots.pop_front()
        {
            self.first += 1;
            self.copied -= text.bytes.len();
            self.bytes -= text.bytes.len() + lent(&text.loans);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn replies_leave_in_the_order_of_their_requests() {
        let (mut replies, mut buffers, mut output) = (Replies::default(), Buffers::default(), Vec::new());
        let write = |text: &'static str| move |out: &mut Draft| out.extend_from_slice(text.as_bytes());
        replies.make(&mut output, &mut Vec::new(), &mut buffers, write("1 "));
        let second = replies.expect();
        replies.make(&mut output, &mut Vec::new(), &mut buffers, write("3 "));
        replies.make(&mut output, &mut Vec::new(), &mut buffers, write("4 "));
        let fifth = replies.expect();
        let sixth = replies.expect();
        assert_eq!((replies.bytes(), replies.waiting()), (4, 3));
        replies.fill(sixth, b"6 ".to_vec(), None);
        assert!(!replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        replies.fill(second, b"2 ".to_vec(), None);
        assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        assert_eq!(output, b"1 2 3 4 ");
        replies.make(&mut output, &mut Vec::new(), &mut buffers, write("7 "));
        replies.fill(fifth, b"5 ".to_vec(), None);
        assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        assert_eq!(output, b"1 2 3 4 5 6 7 ");
        assert!(replies.is_empty());
        assert_eq!((replies.bytes(), replies.waiting()), (0, 0));
        replies.make(&mut output, &mut Vec::new(), &mut buffers, write("8"));
        assert_eq!(output, b"1 2 3 4 5 6 7 8");
    }

    #[test]
    fn small_replies_behind_large_ones_do_not_double_the_output() {
        let (mut replies, mut buffers, mut output) = (Replies::default(), Buffers::default(), Vec::new());
        let large = 1_000_000;
        for number in 0..4 {
            let (value, end) = (replies.expect(), replies.expect());
            replies.fill(value, vec![b'v'; large], None);
            replies.fill(end, b"END\r\n".to_vec(), None);
            assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
            // The head of a value that is lent.
            let make = |draft: &mut Draft| draft.extend_from_slice(b"VALUE k 0 1000000\r\n");
            replies.make(&mut output, &mut Vec::new(), &mut buffers, make);
            let bound = output.len() + large / 10;
            assert!(output.capacity() <= bound, "{number}: {} for {}", output.capacity(), output.len());
        }
    }

    #[test]
    fn large_replies_are_handed_over_and_stay_in_line() {
        let (mut replies, mut buffers, mut output) = (Replies::default(), Buffers::default(), Vec::new());
        let large = vec![b'l'; HAND_OVER];
        let address = large.as_ptr();
        let numbers = [replies.expect(), replies.expect(), replies.expect()];
        replies.fill(numbers[0], large.clone(), None);
        replies.fill(numbers[2], b"end".to_vec(), None);
        assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        replies.fill(numbers[1], large.clone(), None);
        assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        assert!(output == [&large[..], &large, b"end"].concat());
        output.clear();
        let number = replies.expect();
        replies.fill(number, large, None);
        assert!(replies.release(&mut output, &mut Vec::new(), &mut buffers, usize::MAX));
        assert_eq!((output.as_ptr(), output.len(), replies.bytes()), (address, HAND_OVER, 0));
    }

    #[test]
    fn a_large_value_is_released_in_steps_and_what_is_behind_it_waits() {
        let lengths = [
            (5, 3, 1),
            (GATHERED_MAX, GATHERED_MAX, 1),
            (GATHERED_MAX + 1, 4, 2),
            (3 * STEP + 7, 0, 3),
            (4, 5 * STEP, 5),
            (2 * STEP + STEP / 2, 3 * STEP, 5),
        ];
        for (first, second, expect) in lengths {
            let (mut replies, mut buffers) = (Replies::default(), Buffers::default());
            let (mut output, mut loans) = (b"before <>[]".to_vec(), Vec::new());
            let value =
                |length: usize, seed: usize| (0..length).map(|i| (i * 7 + seed) as u8).collect::<Vec<u8>>();
            for (at, length) in [(8, first), (10, second)] {
                loans.push(Loan { at, bytes: value(length, at).into() });
            }
            let expected =
                [b"<", &value(first, 8)[..], b">[", &value(second, 10)[..], b"]", b"behind"].concat();
            replies.take_back(&mut output, 7, &mut loans);
            assert_eq!(output, b"before ");
            output.clear();
            let behind = |out: &mut Draft| out.extend_from_slice(b"behind");
            replies.make(&mut output, &mut loans, &mut buffers, behind);
            assert_eq!(replies.bytes(), expected.len());
            let (mut sent, mut steps) = (Vec::new(), 0);
            while !replies.is_empty() {
                assert!(replies.release(&mut output, &mut loans, &mut buffers, usize::MAX));
                assert!(lent(&loans) <= 2 * GATHERED_MAX && replies.is_stepping() != replies.is_empty());
                let mut from = 0;
                for loan in loans.drain(..) {
                    sent.extend_from_slice(&output[from..loan.at]);
                    sent.extend_from_slice(&loan.bytes);
                    from = loan.at;
                }
                sent.extend_from_slice(&output[from..]);
                output.clear();
                steps += 1;
                assert_eq!(sent.len() + replies.bytes(), expected.len());
            }
            assert!(sent == expected && steps == expect, "{first} {second}");
            assert_eq!((replies.bytes(), replies.copied(), replies.waiting()), (0, 0, 0));
        }
    }

    #[test]
    fn a_gathering_is_whole_with_its_last_part() {
        let mut replies = Replies::default();
        let one = CoreStats { connections: 1, ..CoreStats::default() };
        let lines = b"1 ".to_vec();
        let number =
            replies.gather(Gathering { left: 2, stats: one, lines, finish: Finish::Stats, echo: None });
        assert!(replies.add(number, &one, b"2 ").is_none());
        assert_eq!(replies.copied(), 4, "its parts take memory");
        let whole = replies.add(number, &one, b"3").unwrap();
        assert_eq!((whole.stats.connections, whole.finish), (3, Finish::Stats));
        assert_eq!(whole.lines, b"1 2 3");
        assert_eq!(replies.copied(), 0);
        replies.fill(number, b"done".to_vec(), None);
        assert_eq!(replies.copied(), 4);
        let mut output = Vec::new();
        assert!(replies.release(&mut output, &mut Vec::new(), &mut Buffers::default(), usize::MAX));
        assert_eq!(output, b"done");
    }

    #[test]
    fn values_that_are_lent_stay_in_their_places() {
        let (mut replies, mut buffers) = (Replies::default(), Buffers::default());
        let (mut output, mut loans) = (b"before ".to_vec(), Vec::new());
        let loan = |at, text: &'static str| Loan { at, bytes: Bytes::from_static(text.as_bytes()) };
        let first = replies.expect();
        let second = replies.expect();
        replies.fill(second, b"<>".to_vec(), Some(loan(1, "second")));
        let end = |out: &mut Draft| out.extend_from_slice(b"end");
        replies.make(&mut output, &mut loans, &mut buffers, end);
        assert_eq!(replies.bytes(), 11);
        assert!(!replies.release(&mut output, &mut loans, &mut buffers, usize::MAX) && loans.is_empty());
        replies.fill(first, b"[]".to_vec(), Some(loan(1, "first")));
        assert!(replies.release(&mut output, &mut loans, &mut buffers, usize::MAX));
        assert_eq!((&output[..], replies.bytes()), (&b"before []<>end"[..], 0));
        let places: Vec<_> = loans.iter().map(|loan| (loan.at, &loan.bytes[..])).collect();
        assert_eq!(places, [(8, &b"first"[..]), (10, b"second")]);
    }
}
