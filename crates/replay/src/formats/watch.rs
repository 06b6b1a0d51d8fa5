//! The lines of `watch fetchers mutations deletions`, of memcached and Sphinx: `ts=… gid=… type=item_get key=foo …`.
//!
//! Source: `logger.c` of memcached 1.6, which also writes `skipped=` for lines that it had no room for.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::formats::{Line, Seen, key, number, seconds, size};
use crate::{Op, Record};

pub(super) fn line(line: &[u8], emit: &mut dyn FnMut(Seen)) -> Result<Line, String> {
    let find = |name: &str| {
        line.split(|byte| *byte == b' ')
            .find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    };
    let Some(kind) = find("type") else {
        // A server's answer to `watch`, and its count of lost lines.
        let is_known = line == b"OK" || line.starts_with(b"skipped=") || line == b"END";
        return if is_known { Ok(Line::Skipped) } else { Err("it has no type=".into()) };
    };
    let op = match kind {
        b"item_get" => Op::Get,
        b"deleted" => Op::Delete,
        // The item stays as it was.
        b"item_store" if find("status").is_some_and(|status| status != b"stored") => {
            return Ok(Line::Skipped);
        }
        b"item_store" => {
            let command = find("cmd").unwrap_or(b"set");
            match command {
                // Neither stores a value.
                b"touch" | b"gat" => return Ok(Line::Skipped),
                _ => Op::of_text(command).ok_or("its cmd is not a command of memcached")?,
            }
        }
        _ => return Ok(Line::Skipped),
    };
    let at_ns = moment(find("ts").ok_or("it has no ts=")?)?;
    let text = decoded(find("key").ok_or("it has no key=")?)?;
    let (key, key_size) = key(&text)?;
    let has_size = op != Op::Get || find("status") == Some(b"found");
    let size = find("size").filter(|_| has_size && op != Op::Delete).map(size).transpose()?;
    // Seconds left; 0: never. Of an item that expires at once they are below 0, which memcached writes without a sign.
    let ttl_s = match find("ttl") {
        None => 0,
        Some(text) if text.starts_with(b"-") => 1,
        Some(text) => match super::field(text, "ttl", u32::MAX)? {
            0x8000_0000.. => 1,
            left => left.min(Record::TTL_MAX),
        },
    };
    emit(Seen { at_ns: Some(at_ns), key, key_size, size, ttl_s, op, times: 1 });
    Ok(Line::Requests)
}

/// Seconds and microseconds, which memcached writes without leading zeros: `1.42` is 42 µs after 1 s.
fn moment(text: &[u8]) -> Result<u64, String> {
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let micros = text.get(point + 1..).map_or(Some(0), number).filter(|micros| *micros < 1_000_000);
    let micros = micros.ok_or("its time has no microseconds after the point")?;
    Ok(seconds(&text[..point])?.saturating_add(1_000 * micros))
}

/// The requests of a log, without memcached's own fetches: it looks for each item that it stores or deletes, and logs a
/// fetch of the key before the command. Lines of other threads may lie between.
///
/// Source: `do_store_item` and `process_delete_cmd` of memcached 1.6. Sphinx logs the clients' fetches only.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    /// Whether memcached wrote the log, which a line has told.
    is_memcached: bool,
    held: VecDeque<Seen>,
    /// Fetches that were left out.
    own: u64,
}

/// Requests to hold back while looking for the command: more than lie between the lines of one command.
const HELD: usize = 64;

impl Fetches {
    /// Looks at a line: memcached alone writes times with fewer than six digits after the point, in one of ten lines.
    pub(crate) fn look(&mut self, line: &[u8]) {
        let time = line.split(|byte| *byte == b' ').next().and_then(|word| word.strip_prefix(b"ts="));
        let fine = time.and_then(|time| time.split(|byte| *byte == b'.').nth(1));
        self.is_memcached |= fine.is_some_and(|fine| fine.len() < 6);
    }

    /// Takes the next request, and returns one that a client made.
    pub(crate) fn next(&mut self, seen: Seen) -> Option<Seen> {
        if !self.is_memcached {
            return Some(seen);
        }
        if seen.op != Op::Get
            && let Some(own) = self.held.iter().rposition(|get| get.op == Op::Get && get.key == seen.key)
        {
            self.held.remove(own);
            self.own += 1;
        }
        self.held.push_back(seen);
        if self.held.len() > HELD { self.held.pop_front() } else { None }
    }

    /// The last requests, and how many fetches were left out.
    pub(crate) fn rest(self) -> (VecDeque<Seen>, u64) {
        (self.held, self.own)
    }
}

/// A key as it was, of its form with `%20` for a blank.
fn decoded(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    if !text.contains(&b'%') {
        return Ok(text.into());
    }
    let mut key = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            key.push(first);
            continue;
        }
        let byte = after.first_chunk::<2>().and_then(|two| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(two[0])? * 16 + digit(two[1])?) as u8)
        });
        key.push(byte.ok_or("its key has a % without two digits")?);
        rest = &after[2..];
    }
    Ok(key.into())
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{read, refuses};
    use crate::formats::{Line, Parser, key};
    use crate::{Format, Op};

    #[test]
    fn reads_requests() {
        let text = "OK\n\
            ts=1650000000.123456 gid=1 type=item_get key=foo%20bar status=found clsid=1 cfd=26 size=10\n\
            ts=1650000000.2 gid=2 type=item_get key=foo status=not_found clsid=0 cfd=26 size=0\n\
            ts=1650000000.3 gid=3 type=item_store key=foo status=stored cmd=add ttl=60 clsid=1 cfd=26 size=3\n\
            ts=1650000000.4 gid=4 type=item_store key=foo status=stored cmd=touch ttl=60 clsid=1 cfd=26 size=3\n\
            ts=1650000000.41 gid=4 type=item_store key=foo status=stored cmd=set ttl=4294967000 size=0\n\
            ts=1650000000.42 gid=4 type=item_store key=foo status=not_stored cmd=add ttl=0 size=3\n\
            ts=1650000000.43 gid=4 type=item_store key=foo status=too_large cmd=set ttl=0 size=0\n\
            ts=1650000000.5 gid=5 type=deleted key=foo cmd=delete clsid=1 cfd=26 size=3\n\
            ts=1650000000.6 gid=6 type=eviction key=foo fetch=no ttl=-1 la=1 clsid=1 size=63\n\
            skipped=12\n";
        let seen = read(Format::Watch, text).unwrap();
        let shape: Vec<_> = seen.iter().map(|one| (one.op, one.key_size, one.size, one.ttl_s)).collect();
        let expect = [
            (Op::Get, 7, Some(10), 0),
            (Op::Get, 3, None, 0),
            (Op::Add, 3, Some(3), 60),
            (Op::Set, 3, Some(0), 1),
            (Op::Delete, 3, None, 0),
        ];
        assert_eq!(shape, expect);
        assert_eq!(seen[0].at_ns, Some(1_650_000_000_123_456_000));
        assert_eq!(seen[1].at_ns, Some(1_650_000_000_000_002_000), "2 µs");
        assert_eq!(seen[0].key, key(b"foo bar").unwrap().0);
        assert_eq!(Parser::of(Format::Watch).unwrap().line(b"skipped=12", &mut |_| {}), Ok(Line::Skipped));
    }

    #[test]
    fn refuses_wrong_values() {
        let check = |text: &str, expect: &str| refuses(Format::Watch, text, expect);
        check("hello", "no type=");
        check("type=item_get key=a status=found", "no ts=");
        check("ts=1.1234567 type=item_get key=a status=found", "no microseconds");
        check("ts=1 type=item_get status=found", "no key=");
        check("ts=1 type=item_get key=%2 status=found", "two digits");
        check("ts=1 type=item_store key=a cmd=frob", "its cmd");
        check("ts=1 type=item_store key=a cmd=set size=x", "its value size");
    }
}
