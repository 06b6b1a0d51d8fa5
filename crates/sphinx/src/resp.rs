//! State of a connection that speaks RESP, the protocol of Redis and Valkey, and what its commands have in common.
//!
//! A command is translated into an [operation](crate::operation::resp) on one key, or on several, whose replies follow
//! each other or are summed up; the rest is about the server.

pub(crate) mod commands;
pub(crate) mod settings;

use cache_store::Cursor;
use proto_memcache::server::Awaits;
use proto_resp::server::{Limits, RequestParser, Version, append_i64, read_i64, reply};

use crate::budget;
use crate::config::Config;

/// The version of Redis whose replies these are: clients that ask choose their commands by it.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

/// A connection's part in RESP.
pub(crate) struct Resp {
    pub(crate) parser: RequestParser,
    pub(crate) talk: Talk,
}

/// A client's settings, and the progress of its present command.
#[derive(Default)]
pub(crate) struct Talk {
    pub(crate) version: Version,
    /// The name of `CLIENT SETNAME`.
    pub(crate) name: Vec<u8>,
    /// The name and the version of its library.
    pub(crate) library: [Vec<u8>; 2],
    /// The second in which the connection began.
    pub(crate) since: u32,
    /// The number of the argument at which a command for several keys goes on; 0 at its start.
    pub(crate) next: usize,
    /// The number of the reply that sums up the replies of its keys.
    pub(crate) sum: Option<u64>,
}

impl Resp {
    pub(crate) fn new(config: &Config, now: u32) -> Resp {
        let argument = config.gathered_max();
        // No command takes more than half of the memory that connections have, as others need some, too.
        let command =
            (config.connection_memory / 2).clamp(budget::largest(config.item_max), u32::MAX as usize);
        let limits = Limits { argument, command };
        Resp { parser: RequestParser::new(limits), talk: Talk { since: now, ..Talk::default() } }
    }

    /// The kind of bytes expected next.
    pub(crate) fn awaits(&self) -> Awaits {
        match self.parser.is_under_way() {
            _ if self.parser.skips() => Awaits::Refused,
            true => Awaits::Value,
            false => Awaits::Line,
        }
    }
}

/// A reply that sums up those of several keys.
#[derive(Debug)]
pub(crate) struct Sum {
    /// Summands that are missing, and one for the command itself while it has not asked for all.
    pub(crate) left: usize,
    total: i64,
    /// The first error among the summands.
    error: Option<Vec<u8>>,
    /// Whether the reply is `OK` instead of the number.
    is_ok: bool,
}

impl Sum {
    pub(crate) fn new(is_ok: bool) -> Sum {
        Sum { left: 1, total: 0, error: None, is_ok }
    }

    /// Adds the reply of one key, or none for the command itself; returns the whole reply if it was the last.
    pub(crate) fn add(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let number = text.strip_prefix(b":").and_then(|text| read_i64(text.trim_ascii_end()));
        self.total += number.unwrap_or(0);
        if number.is_none() && !text.is_empty() && self.error.is_none() {
            self.error = Some(text.to_vec());
        }
        self.left -= 1;
        (self.left == 0).then(|| {
            let mut whole = self.error.take().unwrap_or_default();
            match self.is_ok {
                _ if !whole.is_empty() => {}
                true => reply::simple(&mut whole, b"OK"),
                false => reply::integer(&mut whole, self.total),
            }
            whole
        })
    }
}

/// The reply of a command in which every thread has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Ok,
    Items,
    /// `INFO` of these sections.
    Info(settings::Sections, Version),
    /// The lines of all threads.
    Lines(Version),
}

/// A part of `SCAN`: which partition, how far it is listed, and how many keys are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) partition: usize,
    /// The number of the [`Cursor`] there; 0 at the start.
    pub(crate) number: u64,
    pub(crate) count: usize,
}

/// Bits of a cursor that say which partition: with the 37 of a partition's cursor they are 51, and clients that take a
/// cursor for a float have 53. Bounds: 16384 partitions.
const PARTITION_BITS: u32 = 14;

impl Scan {
    /// The place that a client's cursor stands for, among `partitions` partitions.
    pub(crate) fn of(cursor: u64, partitions: usize, count: usize) -> Option<Scan> {
        let partition = (cursor & ((1 << PARTITION_BITS) - 1)) as usize;
        (partition < partitions).then_some(Scan { partition, number: cursor >> PARTITION_BITS, count })
    }

    /// The cursor behind a part: where its partition goes on, or the next one begins, or 0 at the end.
    pub(crate) fn next(&self, cursor: Option<Cursor>, partitions: usize) -> i64 {
        let (number, partition) = match cursor {
            Some(cursor) => (cursor.to_number(), self.partition),
            None if self.partition + 1 < partitions => (0, self.partition + 1),
            None => return 0,
        };
        (number << PARTITION_BITS | partition as u64) as i64
    }
}

/// Appends a number as a bulk string.
pub(crate) fn bulk_number(out: &mut Vec<u8>, number: i64) {
    let mut digits = Vec::with_capacity(20);
    append_i64(&mut digits, number);
    reply::bulk(out, &digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_whole_with_its_last_part() {
        let check = |is_ok: bool, parts: &[&str], expect: &str| {
            let mut sum = Sum { left: parts.len(), ..Sum::new(is_ok) };
            let (last, first) = parts.split_last().unwrap();
            assert!(first.iter().all(|part| sum.add(part.as_bytes()).is_none()));
            assert_eq!(sum.add(last.as_bytes()).as_deref(), Some(expect.as_bytes()), "{parts:?}");
        };
        check(false, &[":1\r\n", ":0\r\n", "", ":1\r\n"], ":2\r\n");
        check(true, &[":1\r\n", ""], "+OK\r\n");
        check(true, &[":1\r\n", "-OOM a\r\n", "-OOM b\r\n", ""], "-OOM a\r\n");
    }

    #[test]
    fn a_cursor_says_where_a_scan_goes_on() {
        let scan = Scan { partition: 1, number: 77, count: 10 };
        let next = scan.next(None, 3);
        assert_eq!(Scan::of(next as u64, 3, 10), Some(Scan { partition: 2, number: 0, count: 10 }));
        assert_eq!(scan.next(None, 2), 0);
        assert_eq!(Scan::of(5, 5, 10), None);
        assert_eq!(Scan::of((77 << 14) | 1, 3, 10), Some(scan));
    }
}
