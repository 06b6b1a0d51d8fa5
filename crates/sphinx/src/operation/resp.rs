//! Execution of RESP's commands on a key.

use cache_store::{Entry, Expiry, Fields, Item, Key, Lookup, MetaStore, Pinned, Reader, Store, Stored};
use proto_memcache::StoreVerb;
use proto_resp::server::{Version, append_i64, read_i64, reply};

use super::binary::marks;
use crate::draft::{Draft, LEND};
use crate::stats::prefixes::Detail;

/// The error of a value that no partition has memory for. Source: Redis' `shared.oomerr`.
const NO_MEMORY: &[u8] = b"OOM command not allowed when used memory > 'maxmemory'.";
/// The error of a value that is larger than an item may be.
pub(crate) const TOO_LARGE: &[u8] = b"ERR the item is larger than the cache takes; see -I";
const NO_INTEGER: &[u8] = b"ERR value is not an integer or out of range";
const OVERFLOW: &[u8] = b"ERR increment or decrement would overflow";

/// A command of RESP, as passed to the key's owner: key and value are passed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RespOperation {
    pub(crate) verb: Verb,
    pub(crate) version: Version,
    /// The expiry that the item is to have.
    pub(crate) expiry: Expiry,
    /// The summand, or the present moment for a question about the time left. Units: ms of Unix time for the latter.
    pub(crate) number: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    GetAndDelete,
    /// `GETEX` with an expiry.
    GetAndExpire,
    Set(Set),
    Append,
    Length,
    /// `INCR` and its kind.
    Add,
    Delete,
    Exists,
    /// The same, and counts as a use.
    Touch,
    Type,
    Expire(Condition),
    Persist,
    Ends(Ends),
    Footprint,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) condition: Presence,
    /// With the expiry of the item before.
    pub(crate) keeps_expiry: bool,
    pub(crate) answer: StoreReply,
}

/// Whether there must be an item already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Any,
    /// `NX`.
    Absent,
    /// `XX`.
    Present,
}

/// The reply of a command that stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreReply {
    /// `OK`, or nothing if the condition did not hold.
    Ok,
    /// The value before.
    Old,
    /// 1, or 0 if the condition did not hold.
    Number,
}

/// When `EXPIRE` has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// `NX`: the item has no expiry.
    Never,
    /// `XX`: it has one.
    Ending,
    /// `GT`: it ends earlier.
    Later,
    /// `LT`: it ends later, or never.
    Earlier,
    /// `XX LT`: it ends later.
    EndingEarlier,
}

/// The form of an answer about an item's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// `TTL`.
    InSeconds,
    /// `PTTL`.
    InMilliseconds,
    /// `EXPIRETIME`.
    AtSecond,
    /// `PEXPIRETIME`.
    AtMillisecond,
}

impl RespOperation {
    pub(crate) fn new(verb: Verb, version: Version) -> RespOperation {
        RespOperation { verb, version, expiry: Expiry::NEVER, number: 0 }
    }

    pub(crate) fn shows_value(&self) -> bool {
        match self.verb {
            Verb::Get | Verb::GetAndDelete | Verb::GetAndExpire => true,
            Verb::Set(set) => set.answer == StoreReply::Old,
            _ => false,
        }
    }

    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self.verb,
            Verb::Get | Verb::Length | Verb::Exists | Verb::Type | Verb::Ends(_) | Verb::Footprint
        )
    }

    pub(crate) fn fetches(&self) -> bool {
        matches!(self.verb, Verb::Get | Verb::GetAndExpire | Verb::Length)
    }

    pub(crate) fn deletes(&self) -> bool {
        matches!(self.verb, Verb::Delete | Verb::GetAndDelete)
    }

    /// The equivalent command of memcached's protocol, if it stores its own value.
    pub(crate) fn stores(&self) -> Option<StoreVerb> {
        match self.verb {
            Verb::Set(set) => Some(set.condition.verb()),
            Verb::Append => Some(StoreVerb::Append),
            _ => None,
        }
    }

    /// The kind of operation for `stats detail`, `reply` being the bytes appended.
    pub(crate) fn detail(&self, reply: &[u8]) -> Option<Detail> {
        match self.verb {
            Verb::Get | Verb::GetAndExpire | Verb::Length => {
                Some(Detail::Get { hit: !matches!(reply, b"$-1\r\n" | b"_\r\n" | b":0\r\n") })
            }
            Verb::Set(_) | Verb::Append => Some(Detail::Set),
            Verb::Delete | Verb::GetAndDelete => Some(Detail::Delete),
            _ => None,
        }
    }

    /// Executes it, and appends the reply to `out`.
    pub(crate) fn execute(&self, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        match self.verb {
            Verb::Get => self.show(store.get(key, now), out),
            Verb::GetAndDelete => {
                self.show(store.get(key, now), out);
                store.delete(key, now);
            }
            Verb::GetAndExpire => {
                self.show(store.get(key, now), out);
                self.end(store, key, now);
            }
            Verb::Set(set) => self.set(set, store, key, value, now, out),
            Verb::Append => self.append(store, key, value, now, out),
            Verb::Length => {
                reply::integer(out, store.get(key, now).map_or(0, |item| item.value.len() as i64));
            }
            Verb::Add => self.add(store, key, now, out),
            Verb::Delete => reply::integer(out, store.delete(key, now).into()),
            Verb::Touch => {
                let is_there = store.peek(key, now).is_some();
                store.note_read(key, now);
                reply::integer(out, is_there.into());
            }
            Verb::Expire(condition) => {
                let may = store.peek(key, now).is_some_and(|item| condition.holds(item.expiry, self.expiry));
                reply::integer(out, (may && self.end(store, key, now)).into());
            }
            Verb::Persist => {
                let ends = store.peek(key, now).is_some_and(|item| item.expiry != Expiry::NEVER);
                reply::integer(out, (ends && store.touch(key, Expiry::NEVER, now)).into());
            }
            Verb::Exists | Verb::Type | Verb::Ends(_) | Verb::Footprint => {
                self.tell(store.peek(key, now), now, out);
            }
        }
    }

    /// Does it in a partition of another thread if it only reads, and returns whether it could.
    #[inline]
    pub(crate) fn read(
        &self,
        reader: &mut Reader,
        partition: usize,
        key: Key,
        now: u32,
        out: &mut Draft,
    ) -> bool {
        if !matches!(self.verb, Verb::Get | Verb::Length) {
            // A reader can tell that an item is missing only in a get, which it counts; the other verbs ask the owner.
            return false;
        }
        let item = match reader.get(partition, key, now) {
            Lookup::Found(entry) => Some(entry.item()),
            Lookup::Missing => None,
            Lookup::AskOwner => return false,
        };
        match self.verb {
            Verb::Length => reply::integer(out, item.map_or(0, |item| item.value.len() as i64)),
            _ => self.show(item, out),
        }
        true
    }

    pub(crate) fn no_memory(out: &mut Vec<u8>) {
        reply::error(out, NO_MEMORY);
    }

    #[inline]
    fn show(&self, item: Option<Item>, out: &mut Draft) {
        let Some(item) = item else { return reply::null(out, self.version) };
        if item.value.len() < LEND {
            return reply::bulk(out, item.value);
        }
        reply::bulk_header(out, item.value.len());
        out.value(item.value, || item.pin());
        out.extend_from_slice(b"\r\n");
    }

    fn tell(&self, item: Option<Entry>, now: u32, out: &mut Draft) {
        match (self.verb, item) {
            (Verb::Type, item) => reply::simple(out, if item.is_some() { b"string" } else { b"none" }),
            (Verb::Footprint, None) => reply::null(out, self.version),
            (Verb::Footprint, Some(item)) => reply::integer(out, item.footprint() as i64),
            (Verb::Ends(_), None) => reply::integer(out, -2),
            (Verb::Ends(ends), Some(item)) => {
                let at = item.expiry.left(now).map(|left| i64::from(now) + i64::from(left));
                reply::integer(out, at.map_or(-1, |second| ends.told(second, self.number)));
            }
            (_, item) => reply::integer(out, item.is_some().into()),
        }
    }

    /// Gives an item the expiry; one that is over already ends it. Returns whether there was an item.
    fn end(&self, store: &mut Store, key: Key, now: u32) -> bool {
        if self.expiry.is_over(now) { store.delete(key, now) } else { store.touch(key, self.expiry, now) }
    }

    fn set(&self, set: Set, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        let (mut expiry, mut old) = (self.expiry, None);
        if set.keeps_expiry || set.answer == StoreReply::Old {
            let before = store.peek(key, now);
            if set.keeps_expiry {
                expiry = before.as_ref().map_or(Expiry::NEVER, |item| item.expiry);
            }
            // Not in the reply yet, since an error may have to take its place.
            old = before.filter(|_| set.answer == StoreReply::Old).map(|item| Old::of(&item));
        }
        let stored = self.put(set.condition.verb(), store, key, value, expiry, now);
        match (stored, set.answer) {
            (Stored::NoMemory, _) => reply::error(out, NO_MEMORY),
            (_, StoreReply::Old) => match old {
                None => reply::null(out, self.version),
                Some(Old::Copied(value)) => {
                    reply::bulk_header(out, value.len());
                    out.copy(&value);
                    out.extend_from_slice(b"\r\n");
                }
                Some(Old::Kept(pinned)) => {
                    reply::bulk_header(out, pinned.as_ref().len());
                    out.lend(pinned);
                    out.extend_from_slice(b"\r\n");
                }
            },
            (stored, StoreReply::Number) => reply::integer(out, (stored == Stored::Stored).into()),
            (Stored::Stored, StoreReply::Ok) => reply::simple(out, b"OK"),
            (_, StoreReply::Ok) => reply::null(out, self.version),
        }
    }

    fn append(&self, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        let is_there = store.peek(key, now).is_some();
        let verb = if is_there { StoreVerb::Append } else { StoreVerb::Set };
        match self.put(verb, store, key, value, Expiry::NEVER, now) {
            Stored::Stored => {
                let length = store.peek(key, now).map_or(0, |item| item.value.len());
                reply::integer(out, length as i64);
            }
            Stored::NoMemory => reply::error(out, NO_MEMORY),
            _ => reply::error(out, TOO_LARGE),
        }
    }

    fn add(&self, store: &mut Store, key: Key, now: u32, out: &mut Draft) {
        let (before, flags, expiry) = match store.peek(key, now) {
            None => (Some(0), 0, Expiry::NEVER),
            Some(item) => (read_i64(item.value), item.flags, item.expiry),
        };
        let Some(before) = before else { return reply::error(out, NO_INTEGER) };
        let Some(number) = before.checked_add(self.number) else { return reply::error(out, OVERFLOW) };
        let mut digits = Vec::with_capacity(20);
        append_i64(&mut digits, number);
        let fields = Fields { flags, expiry, marks: marks(key), cas: None };
        match store.place(key, fields, &digits, now) {
            Some(_) => reply::integer(out, number),
            None => reply::error(out, NO_MEMORY),
        }
    }

    fn put(
        &self,
        verb: StoreVerb,
        store: &mut Store,
        key: Key,
        value: &[u8],
        expiry: Expiry,
        now: u32,
    ) -> Stored {
        let fields = Fields { flags: 0, expiry, marks: marks(key), cas: None };
        let command = MetaStore { verb, compare: None, older_too: false, vivify: None, fields };
        store.store_meta(command, key, value, now).0
    }
}

/// The value of an item that is replaced.
enum Old {
    Copied(Vec<u8>),
    /// A large value, in the place of its storage.
    Kept(Pinned),
}

impl Old {
    fn of(item: &Entry) -> Old {
        let pinned = if item.value.len() < LEND { None } else { item.pin() };
        pinned.map_or_else(|| Old::Copied(item.value.to_vec()), Old::Kept)
    }
}

impl Presence {
    fn verb(self) -> StoreVerb {
        match self {
            Presence::Any => StoreVerb::Set,
            Presence::Absent => StoreVerb::Add,
            Presence::Present => StoreVerb::Replace,
        }
    }
}

impl Condition {
    fn holds(self, now: Expiry, wanted: Expiry) -> bool {
        match self {
            Condition::Always => true,
            Condition::Never => now == Expiry::NEVER,
            Condition::Ending => now != Expiry::NEVER,
            Condition::Later => now.is_before(wanted),
            Condition::EndingEarlier => wanted.is_before(now) && now != Expiry::NEVER,
            Condition::Earlier => wanted.is_before(now) || now == Expiry::NEVER,
        }
    }
}

impl Ends {
    /// The answer about an item that ends with the beginning of `second`; `now` in ms. Seconds left are whole ones, as an
    /// item with an expiry in seconds lasts until the end of its last one.
    fn told(self, second: i64, now: i64) -> i64 {
        let left = (second * 1000 - now).max(0);
        match self {
            Ends::InSeconds => left / 1000,
            Ends::InMilliseconds => left,
            Ends::AtSecond => second,
            Ends::AtMillisecond => second * 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_700_000_000;

    fn set(condition: Presence, keeps_expiry: bool, answer: StoreReply) -> Verb {
        Verb::Set(Set { condition, keeps_expiry, answer })
    }

    #[test]
    fn each_command_has_its_reply() {
        let mut store = Store::new(cache_store::Config::new(4 << 20, 1)).unwrap();
        let mut check = |verb: Verb, ends: u32, number: i64, value: &str, expect: &str| {
            let expiry = if ends == 0 { Expiry::NEVER } else { Expiry::from_unsigned(NOW + ends, NOW) };
            let operation = RespOperation { verb, version: Version::Two, expiry, number };
            let (mut out, mut loans) = (Vec::new(), Vec::new());
            let key = store.hasher().key(b"k");
            let mut draft = Draft::new(&mut out, &mut loans);
            operation.execute(&mut store, key, value.as_bytes(), NOW, &mut draft);
            assert_eq!(String::from_utf8_lossy(&out), expect, "{operation:?}");
        };
        let (any, ok) = (Presence::Any, StoreReply::Ok);
        let ms = i64::from(NOW) * 1000;
        check(Verb::Get, 0, 0, "", "$-1\r\n");
        check(set(Presence::Present, false, ok), 0, 0, "v", "$-1\r\n");
        check(set(any, false, StoreReply::Old), 0, 0, "v", "$-1\r\n");
        check(set(any, false, StoreReply::Old), 0, 0, "w", "$1\r\nv\r\n");
        check(set(Presence::Absent, false, StoreReply::Number), 0, 0, "x", ":0\r\n");
        check(set(any, false, ok), 10, 0, "x", "+OK\r\n");
        check(Verb::Ends(Ends::InSeconds), 0, ms + 1, "", ":9\r\n");
        check(Verb::Ends(Ends::InMilliseconds), 0, ms + 1, "", ":9999\r\n");
        check(Verb::Ends(Ends::AtSecond), 0, 0, "", ":1700000010\r\n");
        check(set(any, true, ok), 0, 0, "y", "+OK\r\n");
        check(Verb::Ends(Ends::AtMillisecond), 0, 0, "", ":1700000010000\r\n");
        check(Verb::Expire(Condition::Never), 20, 0, "", ":0\r\n");
        check(Verb::Expire(Condition::Later), 5, 0, "", ":0\r\n");
        check(Verb::Expire(Condition::Earlier), 5, 0, "", ":1\r\n");
        check(Verb::Persist, 0, 0, "", ":1\r\n");
        check(Verb::Persist, 0, 0, "", ":0\r\n");
        check(Verb::Expire(Condition::Ending), 5, 0, "", ":0\r\n");
        check(Verb::Expire(Condition::Later), 5, 0, "", ":0\r\n");
        check(Verb::Ends(Ends::InSeconds), 0, ms, "", ":-1\r\n");
        check(Verb::Append, 0, 0, "yz", ":3\r\n");
        check(Verb::Length, 0, 0, "", ":3\r\n");
        check(Verb::Add, 0, 1, "", "-ERR value is not an integer or out of range\r\n");
        check(Verb::Type, 0, 0, "", "+string\r\n");
        check(Verb::GetAndDelete, 0, 0, "", "$3\r\nyyz\r\n");
        check(Verb::Type, 0, 0, "", "+none\r\n");
        check(Verb::Delete, 0, 0, "", ":0\r\n");
        check(Verb::Ends(Ends::InSeconds), 0, ms, "", ":-2\r\n");
        check(Verb::Add, 0, i64::MAX, "", ":9223372036854775807\r\n");
        check(Verb::Add, 0, 1, "", "-ERR increment or decrement would overflow\r\n");
        check(Verb::GetAndExpire, 10, 0, "", "$19\r\n9223372036854775807\r\n");
        check(Verb::Add, 0, i64::MIN, "", ":-1\r\n");
        check(Verb::Ends(Ends::InSeconds), 0, ms, "", ":10\r\n");
        check(Verb::Expire(Condition::Always), u32::MAX - 2 * NOW, 0, "", ":1\r\n");
        let large = "v".repeat(1 << 20);
        check(Verb::Append, 0, 0, &large, "-ERR the item is larger than the cache takes; see -I\r\n");
        check(Verb::Get, 0, 0, "", "$2\r\n-1\r\n");
        check(Verb::Exists, 0, 0, "", ":1\r\n");
        check(Verb::Delete, 0, 0, "", ":1\r\n");
    }

    #[test]
    fn a_large_value_that_is_replaced_is_lent() {
        let mut store = Store::new(cache_store::Config::new(32 << 20, 1)).unwrap();
        let key = store.hasher().key(b"k");
        let mut ask = |verb: Verb, value: &[u8]| {
            let (mut out, mut loans) = (Vec::new(), Vec::new());
            let operation = RespOperation::new(verb, Version::Two);
            operation.execute(&mut store, key, value, NOW, &mut Draft::new(&mut out, &mut loans));
            (out, loans)
        };
        let verb = set(Presence::Any, false, StoreReply::Old);
        let old = vec![b'v'; 100_000];
        ask(verb, &old);
        let (out, loans) = ask(verb, b"new");
        assert_eq!(out, b"$100000\r\n\r\n");
        assert!(matches!(&loans[..], [loan] if loan.at == 9 && loan.bytes == old));
        assert_eq!(ask(Verb::Get, b"").0, b"$3\r\nnew\r\n");
    }

    #[test]
    fn an_operation_is_no_longer_for_it() {
        // Each message between threads holds one.
        assert_eq!((size_of::<RespOperation>(), size_of::<super::super::Operation>()), (16, 32));
    }
}
