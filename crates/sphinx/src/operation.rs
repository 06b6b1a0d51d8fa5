pub(crate) mod binary;
pub(crate) mod meta;
pub(crate) mod resp;

use cache_store::{Counted, Expiry, Item, Key, Lookup, Reader, Store, Stored};
use proto_memcache::server::{MetaVerb, Refusal, reply};
use proto_memcache::{Reply, StoreVerb};

use crate::draft::{Draft, LEND};
use crate::stats::prefixes::Detail;
use binary::BinaryOperation;
use meta::MetaOperation;
use resp::RespOperation;

/// The answer of the text protocol if a reply finds no memory. Source: memcached's in the same case.
pub(crate) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory writing get response\r\n";

/// An operation on one key, in any partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// One key of a `get`; the last one of its request is followed by `END`.
    Get { with_cas: bool, last: bool },
    /// One key of a `gat`.
    GetAndTouch { exptime: i32, with_cas: bool, last: bool },
    /// A meta command.
    Meta(MetaOperation),
    /// A command of the binary protocol.
    Binary(BinaryOperation),
    /// A command of RESP.
    Resp(RespOperation),
    /// A storage command.
    Store { verb: StoreVerb, flags: u32, exptime: i32, reply: Reply },
    /// `delete`.
    Delete { reply: Reply },
    /// `incr`, `decr`.
    Count { up: bool, delta: u64, reply: Reply },
    /// `touch`.
    Touch { exptime: i32, reply: Reply },
    /// A `set` whose value was too large, so that the old value must go too.
    RefuseTooLarge { reply: Reply },
}

impl Operation {
    /// Whether the client gets a reply.
    pub(crate) fn reply(&self) -> Reply {
        match *self {
            // Quiet commands of these are quiet only on success.
            Operation::Meta(_) | Operation::Binary(_) | Operation::Resp(_) => Reply::Wanted,
            Operation::Get { .. } | Operation::GetAndTouch { .. } => Reply::Wanted,
            Operation::Store { reply, .. }
            | Operation::Delete { reply }
            | Operation::Count { reply, .. }
            | Operation::Touch { reply, .. }
            | Operation::RefuseTooLarge { reply } => reply,
        }
    }

    /// Does it, and appends the reply to `out` if one is wanted.
    ///
    /// Units: `now` in seconds of Unix time.
    #[inline]
    pub(crate) fn execute(&self, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        let line = match *self {
            Operation::Get { with_cas, last } => {
                return show(key, store.get(key, now), with_cas, last, out);
            }
            Operation::GetAndTouch { exptime, with_cas, last } => {
                if let Some(item) = store.peek(key, now) {
                    show_item(key, item.item(), with_cas, out);
                }
                store.touch(key, Expiry::from_exptime(exptime, now), now);
                if last { reply::END } else { b"" }
            }
            Operation::Meta(meta) => {
                meta.execute(store, key, value, now, out);
                b""
            }
            Operation::Binary(binary) => {
                binary.execute(store, key, value, now, out);
                b""
            }
            Operation::Resp(resp) => {
                resp.execute(store, key, value, now, out);
                b""
            }
            Operation::Store { verb, flags, exptime, .. } => {
                stored(verb, store.store(verb, key, flags, Expiry::from_exptime(exptime, now), value, now))
            }
            Operation::Delete { .. } if store.delete(key, now) => reply::DELETED,
            Operation::Delete { .. } => reply::NOT_FOUND,
            Operation::Count { up, delta, reply } => match store.count(key, up, delta, now) {
                Counted::Now(number) => {
                    if reply == Reply::Wanted {
                        reply::counter(out, number);
                    }
                    b""
                }
                Counted::NotFound | Counted::Exists => reply::NOT_FOUND,
                Counted::NonNumeric => Refusal::NonNumeric.line(),
                Counted::NoMemory => Refusal::NoMemory.line(),
            },
            Operation::Touch { exptime, .. } => {
                match store.touch(key, Expiry::from_exptime(exptime, now), now) {
                    true => reply::TOUCHED,
                    false => reply::NOT_FOUND,
                }
            }
            Operation::RefuseTooLarge { .. } => {
                store.refuse_too_large(Some(key), now);
                Refusal::TooLarge.line()
            }
        };
        if self.reply() == Reply::Wanted {
            out.extend_from_slice(line);
        }
    }
}

/// The reply line of a storage command.
pub(crate) fn stored(verb: StoreVerb, stored: Stored) -> &'static [u8] {
    match stored {
        Stored::Stored => reply::STORED,
        Stored::NotStored => reply::NOT_STORED,
        Stored::Exists => reply::EXISTS,
        Stored::NotFound => reply::NOT_FOUND,
        // memcached says no more than this when the old and the new value are too large together.
        Stored::TooLarge if matches!(verb, StoreVerb::Append | StoreVerb::Prepend) => reply::NOT_STORED,
        Stored::TooLarge => Refusal::TooLarge.line(),
        Stored::NoMemory => Refusal::OutOfMemory.line(),
    }
}

impl Operation {
    /// Whether its reply may have the value of an item.
    #[inline]
    pub(crate) fn shows_value(&self) -> bool {
        match self {
            Operation::Get { .. } | Operation::GetAndTouch { .. } => true,
            Operation::Meta(meta) => meta.verb == MetaVerb::Get,
            Operation::Binary(binary) => binary.shows_value(),
            Operation::Resp(resp) => resp.shows_value(),
            _ => false,
        }
    }

    /// Whether it only reads, so that it may be done while this thread looks at others' partitions.
    #[inline]
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Operation::Get { .. } => true,
            Operation::Binary(binary) => binary.only_reads(),
            Operation::Resp(resp) => resp.only_reads(),
            _ => false,
        }
    }

    pub(crate) fn no_memory(&self, out: &mut Vec<u8>) {
        match self {
            Operation::Binary(binary) => binary.no_memory(out),
            Operation::Resp(_) => RespOperation::no_memory(out),
            _ => out.extend_from_slice(NO_MEMORY),
        }
    }

    /// The kind of operation for `stats detail`, `reply` being the bytes appended.
    pub(crate) fn detail(&self, reply: &[u8]) -> Option<Detail> {
        match *self {
            Operation::Get { .. } | Operation::GetAndTouch { .. } => {
                Some(Detail::Get { hit: reply.starts_with(b"VALUE ") })
            }
            Operation::Store { .. } | Operation::RefuseTooLarge { .. } => Some(Detail::Set),
            Operation::Delete { .. } => Some(Detail::Delete),
            Operation::Binary(binary) => binary.detail(reply),
            Operation::Resp(resp) => resp.detail(reply),
            // memcached does not count these either.
            Operation::Meta(_) | Operation::Count { .. } | Operation::Touch { .. } => None,
        }
    }

    /// Does it in a partition of another thread if it only reads, and returns whether it could.
    #[inline]
    pub(crate) fn read(
        &self,
        reader: &mut Reader,
        partition: usize,
        key: Key,
        value: &[u8],
        now: u32,
        out: &mut Draft,
    ) -> bool {
        let (with_cas, last) = match *self {
            Operation::Get { with_cas, last } => (with_cas, last),
            Operation::Meta(meta) => return meta.read(reader, partition, key, value, now, out),
            Operation::Binary(binary) => return binary.read(reader, partition, key, now, out),
            Operation::Resp(resp) => return resp.read(reader, partition, key, now, out),
            _ => return false,
        };
        let item = match reader.get(partition, key, now) {
            Lookup::Found(entry) => Some(entry.item()),
            Lookup::Missing => None,
            Lookup::AskOwner => return false,
        };
        show(key, item, with_cas, last, out);
        true
    }
}

/// Appends the part of a `get` reply for one key.
#[inline]
fn show(key: Key, item: Option<Item>, with_cas: bool, last: bool, out: &mut Draft) {
    if let Some(item) = item {
        show_item(key, item, with_cas, out);
    }
    if last {
        out.extend_from_slice(reply::END);
    }
}

#[inline]
fn show_item(key: Key, item: Item, with_cas: bool, out: &mut Draft) {
    let Item { value, flags, cas, .. } = item;
    let cas = with_cas.then_some(cas);
    if value.len() < LEND {
        return reply::value(out, key.bytes, flags, cas, value);
    }
    reply::value_header(out, key.bytes, flags, value.len(), cas);
    out.value(value, || item.pin());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_reply() {
        let mut store = Store::new(cache_store::Config::new(4 << 20, 1)).unwrap();
        let mut check = |operation: Operation, value: &str, expect: &str| {
            let (mut out, mut loans) = (Vec::new(), Vec::new());
            let key = store.hasher().key(b"k");
            let mut draft = Draft::new(&mut out, &mut loans);
            operation.execute(&mut store, key, value.as_bytes(), 1_700_000_000, &mut draft);
            assert_eq!(String::from_utf8_lossy(&out), expect, "{operation:?}");
        };
        let reply = Reply::Wanted;
        let silent = Reply::Suppressed;
        let store_it = |verb, reply| Operation::Store { verb, flags: 5, exptime: 0, reply };
        let get = Operation::Get { with_cas: false, last: true };
        check(get, "", "END\r\n");
        check(Operation::Delete { reply }, "", "NOT_FOUND\r\n");
        check(Operation::Touch { exptime: 0, reply }, "", "NOT_FOUND\r\n");
        check(Operation::Count { up: true, delta: 1, reply }, "", "NOT_FOUND\r\n");
        check(store_it(StoreVerb::Replace, reply), "9", "NOT_STORED\r\n");
        check(store_it(StoreVerb::Cas(1), reply), "9", "NOT_FOUND\r\n");
        check(store_it(StoreVerb::Set, reply), "9", "STORED\r\n");
        check(store_it(StoreVerb::Add, silent), "8", "");
        check(store_it(StoreVerb::Cas(0), reply), "9", "EXISTS\r\n");
        check(get, "", "VALUE k 5 1\r\n9\r\nEND\r\n");
        check(Operation::Get { with_cas: true, last: false }, "", "VALUE k 5 1 1\r\n9\r\n");
        check(Operation::Count { up: true, delta: 1, reply: silent }, "", "");
        check(Operation::Count { up: true, delta: 1, reply }, "", "11\r\n");
        check(Operation::Touch { exptime: 0, reply }, "", "TOUCHED\r\n");
        check(Operation::Touch { exptime: 0, reply: silent }, "", "");
        check(store_it(StoreVerb::Append, reply), "x", "STORED\r\n");
        check(
            Operation::Count { up: false, delta: 1, reply },
            "",
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
        );
        check(Operation::RefuseTooLarge { reply }, "", "SERVER_ERROR object too large for cache\r\n");
        check(get, "", "END\r\n");
        check(store_it(StoreVerb::Set, silent), "9", "");
        check(Operation::Delete { reply: silent }, "", "");
        check(get, "", "END\r\n");
        check(
            store_it(StoreVerb::Set, reply),
            &"v".repeat(1 << 20),
            "SERVER_ERROR object too large for cache\r\n",
        );
    }
}
