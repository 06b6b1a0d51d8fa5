use std::collections::HashSet;

use thiserror::Error;

use crate::client::udp::Header;

/// Reassembles the datagrams of one reply, in any order of arrival.
///
/// Bounds: the caller limits the bytes kept; in addition 12 B for each datagram received, and some 4 B if one came
/// late, independent of their claimed count.
/// Cost: a reply of one datagram is passed through without copying or allocation; datagrams in another order are sorted
/// once, when all have arrived.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// How many datagrams the reply has; 0 before the first arrived.
    count: u16,
    /// The datagrams received, in order of arrival.
    places: Vec<PayloadPlace>,
    /// The highest of their numbers.
    highest: u16,
    /// Whether one of them arrived after one with a higher number.
    is_mixed: bool,
    /// Their numbers, if one did.
    here: HashSet<u16>,
    /// The payloads in order of arrival.
    bytes: Vec<u8>,
    /// The complete reply, if its datagrams arrived in another order.
    sorted: Vec<u8>,
}

/// The place of a datagram's payload. Units: bytes. Bounds: 65 535 of them have less than 2³² bytes.
#[derive(Clone, Copy, Debug)]
struct PayloadPlace {
    sequence: u16,
    start: u32,
    length: u32,
}

/// The effect of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Arrived<'b> {
    /// More must come. `late`: one with a higher number had arrived before it, so the network changed their order.
    Partial { late: bool },
    /// Already received; dropped without looking at its content.
    Duplicate,
    /// It was the last that was missing.
    Whole { reply: &'b [u8], late: bool },
    /// It cannot belong to this reply.
    Broken(Defect),
}

/// Why a datagram cannot belong to a reply.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Defect {
    #[error("a datagram of {length} bytes is too short for memcached's header of {}", Header::SIZE)]
    Short { length: usize },
    #[error("a datagram says that it is number {sequence} of {count}, counted from 0")]
    Sequence { sequence: u16, count: u16 },
    #[error("a datagram says that its reply has {count} datagrams, the one before it said {before}")]
    Count { count: u16, before: u16 },
    #[error("the datagrams of one reply come to over {limit} bytes")]
    TooLong { limit: usize },
}

impl Reassembly {
    /// Takes one datagram, header included. `limit` bounds the reply, each datagram of which has a byte at least. Units: bytes.
    ///
    /// After [`Arrived::Whole`] it is empty again, as soon as the next datagram comes.
    pub fn push<'b>(&'b mut self, datagram: &'b [u8], limit: usize) -> Arrived<'b> {
        let Some((header, payload)) = Header::read(datagram) else {
            return Arrived::Broken(Defect::Short { length: datagram.len() });
        };
        if header.sequence >= header.count {
            let Header { sequence, count, .. } = header;
            return Arrived::Broken(Defect::Sequence { sequence, count });
        }
        if self.count != 0 && !self.is_waiting() {
            self.clear();
        }
        if self.count != 0 && header.count != self.count {
            return Arrived::Broken(Defect::Count { count: header.count, before: self.count });
        }
        if self.bytes.len() + payload.len() > limit || (header.count > 1 && usize::from(header.count) > limit)
        {
            return Arrived::Broken(Defect::TooLong { limit });
        }
        if header.count == 1 {
            return Arrived::Whole { reply: payload, late: false };
        }
        self.keep(header, payload)
    }

    /// Whether datagrams are here that wait for others.
    pub fn is_waiting(&self) -> bool {
        !self.places.is_empty() && self.places.len() != usize::from(self.count)
    }

    /// The memory that it takes. Units: bytes.
    pub fn memory(&self) -> usize {
        // A table of `capacity` numbers has an eighth more places, and an extra byte for each.
        let here = self.here.capacity() * (size_of::<u16>() + 1) * 8 / 7;
        self.places.capacity() * size_of::<PayloadPlace>()
            + here
            + self.bytes.capacity()
            + self.sorted.capacity()
    }

    /// Drops the content, and keeps the memory.
    pub fn clear(&mut self) {
        (self.count, self.highest, self.is_mixed) = (0, 0, false);
        self.places.clear();
        self.here.clear();
        self.bytes.clear();
        self.sorted.clear();
    }

    fn keep(&mut self, header: Header, payload: &[u8]) -> Arrived<'_> {
        self.count = header.count;
        let sequence = header.sequence;
        let late = !self.places.is_empty() && sequence <= self.highest;
        if late && self.is_here(sequence) {
            return Arrived::Duplicate;
        }
        if late && !self.is_mixed {
            self.here.extend(self.places.iter().map(|place| place.sequence));
            self.is_mixed = true;
        }
        if self.is_mixed {
            self.here.insert(sequence);
        }
        let place = PayloadPlace { sequence, start: self.bytes.len() as u32, length: payload.len() as u32 };
        self.places.push(place);
        self.highest = self.highest.max(sequence);
        self.bytes.extend_from_slice(payload);
        if self.is_waiting() {
            return Arrived::Partial { late };
        }
        if !self.is_mixed {
            return Arrived::Whole { reply: &self.bytes, late };
        }
        self.places.sort_unstable_by_key(|place| place.sequence);
        for PayloadPlace { start, length, .. } in &self.places {
            let start = *start as usize;
            self.sorted.extend_from_slice(&self.bytes[start..start + *length as usize]);
        }
        Arrived::Whole { reply: &self.sorted, late }
    }

    fn is_here(&self, sequence: u16) -> bool {
        if self.is_mixed {
            return self.here.contains(&sequence);
        }
        self.places.binary_search_by_key(&sequence, |place| place.sequence).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn datagram(sequence: u16, count: u16, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Header { request: 1, sequence, count }.append(&mut out);
        out.extend_from_slice(payload);
        out
    }

    #[test]
    fn one_datagram_is_passed_through() {
        let mut reply = Reassembly::default();
        let bytes = datagram(0, 1, b"END\r\n");
        assert_eq!(reply.push(&bytes, 5), Arrived::Whole { reply: b"END\r\n", late: false });
        assert!(!reply.is_waiting());
        assert_eq!(reply.bytes.capacity(), 0);
    }

    #[test]
    fn what_cannot_belong_is_refused() {
        let check = |first: Option<&[u8]>, bytes: &[u8], expect: Defect| {
            let mut reply = Reassembly::default();
            if let Some(first) = first {
                assert_eq!(reply.push(first, 10), Arrived::Partial { late: false });
            }
            assert_eq!(reply.push(bytes, 10), Arrived::Broken(expect));
        };
        check(None, b"1234567", Defect::Short { length: 7 });
        check(None, &datagram(0, 0, b""), Defect::Sequence { sequence: 0, count: 0 });
        check(None, &datagram(2, 2, b""), Defect::Sequence { sequence: 2, count: 2 });
        check(None, &datagram(0, 1, b"12345678901"), Defect::TooLong { limit: 10 });
        let first = datagram(1, 3, b"123456");
        check(Some(&first), &datagram(0, 2, b""), Defect::Count { count: 2, before: 3 });
        check(Some(&first), &datagram(0, 1, b""), Defect::Count { count: 1, before: 3 });
        check(Some(&first), &datagram(0, 3, b"12345"), Defect::TooLong { limit: 10 });
    }

    #[test]
    fn what_is_announced_takes_no_memory() {
        let mut reply = Reassembly::default();
        assert_eq!(reply.push(&datagram(0, u16::MAX, b""), 1 << 20), Arrived::Partial { late: false });
        assert!(reply.memory() <= 100, "{} B", reply.memory());
        assert_eq!(reply.push(&datagram(65_534, u16::MAX, b"x"), 1 << 20), Arrived::Partial { late: false });
        assert_eq!(reply.push(&datagram(7, u16::MAX, b"y"), 1 << 20), Arrived::Partial { late: true });
        assert_eq!(reply.push(&datagram(7, u16::MAX, b"z"), 1 << 20), Arrived::Duplicate);
        assert!(reply.memory() <= 100, "{} B", reply.memory());
        for (count, limit) in [(2, 0), (2, 1), (101, 100), (u16::MAX, 65_534)] {
            let (mut reply, bytes) = (Reassembly::default(), datagram(0, count, b""));
            let broken = Arrived::Broken(Defect::TooLong { limit });
            assert_eq!(reply.push(&bytes, limit), broken, "{count} datagrams in {limit} B");
        }
        let mut reply = Reassembly::default();
        assert_eq!(reply.push(&datagram(0, 1, b""), 0), Arrived::Whole { reply: b"", late: false });
    }

    #[test]
    fn a_second_copy_is_dropped_even_if_it_differs() {
        let mut reply = Reassembly::default();
        assert_eq!(reply.push(&datagram(1, 2, b"b"), 9), Arrived::Partial { late: false });
        assert!(reply.is_waiting());
        assert_eq!(reply.push(&datagram(1, 2, b"x"), 9), Arrived::Duplicate);
        assert_eq!(reply.push(&datagram(0, 2, b"a"), 9), Arrived::Whole { reply: b"ab", late: true });
        // The next reply starts from the beginning.
        assert_eq!(reply.push(&datagram(0, 3, b"c"), 9), Arrived::Partial { late: false });
    }

    #[test]
    fn a_reply_that_comes_backwards_is_put_together_and_takes_32_b_a_datagram() {
        let mut reply = Reassembly::default();
        let whole: Vec<u8> = (0..u16::MAX).flat_map(u16::to_le_bytes).collect();
        for sequence in (1..u16::MAX).rev() {
            let late = sequence != u16::MAX - 1;
            let bytes = datagram(sequence, u16::MAX, &sequence.to_le_bytes());
            assert_eq!(reply.push(&bytes, 1 << 20), Arrived::Partial { late });
        }
        assert!(reply.memory() < 65_535 * 32, "{} B", reply.memory());
        let last = datagram(0, u16::MAX, &[0, 0]);
        assert_eq!(reply.push(&last, 1 << 20), Arrived::Whole { reply: &whole, late: true });
    }

    proptest! {
        #[test]
        fn any_order_gives_the_reply(
            (parts, order) in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..20)
                .prop_flat_map(|parts| {
                    let order: Vec<usize> = (0..parts.len()).collect();
                    (Just(parts), Just(order).prop_shuffle())
                }),
            copies in prop::collection::vec(0usize..3, 20),
        ) {
            let whole = parts.concat();
            let count = parts.len() as u16;
            // A reply has a byte for each datagram at least; of those drawn here some are empty.
            let limit = whole.len().max(parts.len());
            let mut reassembly = Reassembly::default();
            let mut highest = None;
            for (i, &which) in order.iter().enumerate() {
                let bytes = datagram(which as u16, count, &parts[which]);
                let late = highest > Some(which);
                highest = highest.max(Some(which));
                let expect = match i + 1 == parts.len() {
                    true => Arrived::Whole { reply: &whole, late },
                    false => Arrived::Partial { late },
                };
                prop_assert_eq!(reassembly.push(&bytes, limit), expect);
                prop_assert_eq!(reassembly.is_waiting(), i + 1 != parts.len());
                if i + 1 != parts.len() {
                    for _ in 0..copies[which] {
                        prop_assert_eq!(reassembly.push(&bytes, 2 * limit), Arrived::Duplicate);
                    }
                }
            }
        }
    }
}
