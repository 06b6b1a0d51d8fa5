//! `SCAN`: a part of the list of keys in one step.

use cache_store::Cursor;
use proto_memcache::Reply;
use proto_resp::server::{Args, matches, read_i64, reply};
use reactor::Reactor;

use super::super::Core;
use super::super::requests::Flow;
use super::{Error, NO_INTEGER, PATTERN_MAX, SYNTAX};
use crate::client::Client;
use crate::message::Work;
use crate::partitions::Place;
use crate::resp::Scan;

const NO_CURSOR: &[u8] = b"ERR invalid cursor";

/// The most keys of a part of `SCAN`, and the most parts of a list that it looks at. Source: 16 parts take some 0.2 ms, as
/// [`REQUESTS`](super::REQUESTS) do.
const SCAN: (usize, usize) = (1000, 16);
/// A pattern up to which a part of `SCAN` looks at all of its parts of a list, with a longer one at fewer. Units: bytes.
const PATTERN_SHORT: usize = 64;

impl<R: Reactor> Core<R> {
    /// `SCAN`.
    pub(super) fn resp_scan(
        &mut self,
        reactor: &mut R,
        client: &mut Client,
        args: Args<'_>,
    ) -> Result<Flow, Error> {
        if !self.common.config.dump {
            return Err(b"ERR SCAN is not allowed; the server runs with -X".into());
        }
        let cursor =
            std::str::from_utf8(args.get(1).unwrap_or_default()).ok().and_then(|text| text.parse().ok());
        let (mut pattern, mut count, mut any) = (&b"*"[..], 10, true);
        for at in (2..args.len()).step_by(2) {
            let (word, value) = (args.get(at).unwrap_or_default(), args.get(at + 1));
            match value {
                Some(value) if word.eq_ignore_ascii_case(b"match") => pattern = value,
                Some(value) if word.eq_ignore_ascii_case(b"count") => {
                    match read_i64(value).ok_or(NO_INTEGER)? {
                        ..1 => return Err(SYNTAX.into()),
                        number => count = usize::try_from(number).unwrap_or(usize::MAX).min(SCAN.0),
                    }
                }
                Some(value) if word.eq_ignore_ascii_case(b"type") => {
                    any = value.eq_ignore_ascii_case(b"string");
                }
                _ => return Err(SYNTAX.into()),
            }
        }
        if pattern.len() > PATTERN_MAX {
            return Err(b"ERR a pattern has at most 1024 bytes".into());
        }
        let scan = cursor.and_then(|cursor| Scan::of(cursor, self.partitions.count(), count));
        let scan = scan.ok_or(NO_CURSOR)?;
        if !any {
            return Ok(self.answer(reactor, client, Reply::Wanted, b"*2\r\n$1\r\n0\r\n*0\r\n"));
        }
        match self.partitions.place_of(scan.partition) {
            Place::Here(_) => {
                // As before every write: memory for one may be wanted by a flush that is due.
                self.partitions.leave();
                let mut text = self.buffers.take();
                self.scan_here(scan, pattern, &mut text);
                self.make(reactor, client, |out| out.extend_from_slice(&text));
                self.buffers.give(text);
            }
            Place::At(owner) => {
                if !self.may_ask(client, owner, pattern.len()) {
                    return Ok(self.wait_for_room(client));
                }
                let reply = client.replies.expect();
                self.ask_for(client, owner, Work::Scan(scan), (pattern, b""), reply);
            }
        }
        // It is as much work as many other requests.
        self.end_step();
        Ok(Flow::Next)
    }

    /// Appends the reply to a part of `SCAN` of a partition that is here.
    pub(in crate::core) fn scan_here(&mut self, scan: Scan, pattern: &[u8], out: &mut Vec<u8>) {
        let (now, partitions) = (self.now, self.partitions.count());
        let (mut keys, mut found) = (Vec::new(), 0);
        let parts = (SCAN.1 * PATTERN_SHORT / pattern.len().max(PATTERN_SHORT)).max(1);
        let next = self.partitions.with(scan.partition, |store| {
            let mut cursor = match scan.number {
                0 => Cursor::numbered(store),
                number => Cursor::from_number(number, store)?,
            };
            for _ in 0..parts {
                let more = store.list(&mut cursor, now, |key, _| {
                    if matches(pattern, key) {
                        reply::bulk(&mut keys, key);
                        found += 1;
                    }
                });
                if !more {
                    return Some(scan.next(None, partitions));
                }
                if found >= scan.count {
                    break;
                }
            }
            Some(scan.next(Some(cursor), partitions))
        });
        let Some(next) = next else { return reply::error(out, NO_CURSOR) };
        reply::array(out, 2);
        crate::resp::bulk_number(out, next);
        reply::array(out, found);
        out.extend_from_slice(&keys);
    }
}
