//! Execution of the binary protocol's commands on a key.

use cache_store::{
    Counted, Deleted, Expiry, Fields, Item, Key, Lookup, Marks, MetaCount, MetaStore, Reader, Store, Stored,
};
use proto_memcache::binary::{Command, Echo, NO_VIVIFY, Status, opcode, reply};
use proto_memcache::{StoreVerb, append_u64};

use crate::draft::{Draft, LEND};
use crate::stats::prefixes::Detail;

/// A command of the binary protocol, as passed to the key's owner: key and value are passed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinaryOperation {
    verb: Verb,
    opcode: u8,
    opaque: u32,
    flags: u32,
    exptime: u32,
    cas: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    GetAndTouch,
    Touch,
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Delete,
    Increment,
    Decrement,
    /// A value over the largest size.
    TooLarge,
    /// The same for a `set`, after which no old value may remain.
    SetTooLarge,
}

/// Passed instead of a value: the delta, and the initial number of a new item.
pub(crate) type Numbers = [u8; 16];

impl BinaryOperation {
    /// The operation of a command that has one key, with its key and its value. Counters have their numbers, which are
    /// put into `room`, for a value.
    pub(crate) fn of<'b>(
        echo: Echo,
        command: &Command<'b>,
        room: &'b mut Numbers,
    ) -> Option<(BinaryOperation, &'b [u8], &'b [u8])> {
        let Echo { opcode, opaque } = echo;
        let plain = |verb| BinaryOperation { verb, opcode, opaque, flags: 0, exptime: 0, cas: 0 };
        Some(match *command {
            Command::Get { key, .. } => (plain(Verb::Get), key, b""),
            Command::GetAndTouch { key, exptime, .. } => {
                (BinaryOperation { exptime, ..plain(Verb::GetAndTouch) }, key, b"")
            }
            Command::Touch { key, exptime } => (BinaryOperation { exptime, ..plain(Verb::Touch) }, key, b""),
            Command::Store { verb, key, flags, exptime, cas, value, .. } => {
                let verb = match verb {
                    StoreVerb::Add => Verb::Add,
                    StoreVerb::Replace => Verb::Replace,
                    StoreVerb::Append => Verb::Append,
                    StoreVerb::Prepend => Verb::Prepend,
                    StoreVerb::Set | StoreVerb::Cas(_) => Verb::Set,
                };
                (BinaryOperation { flags, exptime, cas, ..plain(verb) }, key, value)
            }
            Command::TooLarge { key, unlink } => {
                (plain(if unlink { Verb::SetTooLarge } else { Verb::TooLarge }), key, b"")
            }
            Command::Delete { key, cas, .. } => (BinaryOperation { cas, ..plain(Verb::Delete) }, key, b""),
            Command::Count { key, up, delta, initial, exptime, cas, .. } => {
                room[..8].copy_from_slice(&delta.to_be_bytes());
                room[8..].copy_from_slice(&initial.to_be_bytes());
                let verb = if up { Verb::Increment } else { Verb::Decrement };
                (BinaryOperation { exptime, cas, ..plain(verb) }, key, room)
            }
            _ => return None,
        })
    }

    fn echo(&self) -> Echo {
        Echo { opcode: self.opcode, opaque: self.opaque }
    }

    fn is_quiet(&self) -> bool {
        opcode::is_quiet(self.opcode)
    }

    pub(crate) fn shows_value(&self) -> bool {
        matches!(self.verb, Verb::Get | Verb::GetAndTouch)
    }

    #[inline]
    pub(crate) fn only_reads(&self) -> bool {
        self.verb == Verb::Get
    }

    pub(crate) fn fetches(&self) -> bool {
        self.shows_value()
    }

    pub(crate) fn deletes(&self) -> bool {
        self.verb == Verb::Delete
    }

    /// The equivalent command of the text protocol, if it stores its own value.
    pub(crate) fn stores(&self) -> Option<StoreVerb> {
        Some(match self.verb {
            Verb::Set if self.cas != 0 => StoreVerb::Cas(self.cas),
            Verb::Set | Verb::SetTooLarge | Verb::TooLarge => StoreVerb::Set,
            Verb::Add => StoreVerb::Add,
            Verb::Replace => StoreVerb::Replace,
            Verb::Append => StoreVerb::Append,
            Verb::Prepend => StoreVerb::Prepend,
            _ => return None,
        })
    }

    /// The kind of operation for `stats detail`, `reply` being the bytes appended.
    pub(crate) fn detail(&self, reply: &[u8]) -> Option<Detail> {
        match self.verb {
            // The status of a hit is 0.
            Verb::Get | Verb::GetAndTouch | Verb::Touch => {
                Some(Detail::Get { hit: reply.get(6..8) == Some(&[0, 0]) })
            }
            Verb::Set | Verb::Add | Verb::Replace | Verb::Append | Verb::Prepend => Some(Detail::Set),
            Verb::TooLarge | Verb::SetTooLarge => Some(Detail::Set),
            Verb::Delete => Some(Detail::Delete),
            Verb::Increment | Verb::Decrement => None,
        }
    }

    /// Executes it, and appends the response to `out`, if there is one.
    pub(crate) fn execute(&self, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        match self.verb {
            Verb::Get => self.show(key, store.get(key, now), out),
            Verb::GetAndTouch => {
                self.show(key, store.peek(key, now).map(|entry| entry.item()), out);
                store.touch(key, self.expiry(now), now);
            }
            Verb::Touch => {
                let before = store.peek(key, now).map(|entry| (entry.flags, entry.cas));
                let touched = store.touch(key, self.expiry(now), now);
                match before.filter(|_| touched) {
                    Some((flags, cas)) => reply::value_header(out, self.echo(), flags, None, cas, 0),
                    None => self.refuse(Status::NotFound, out),
                }
            }
            Verb::Set => self.store(StoreVerb::Set, store, key, value, now, out),
            Verb::Add => self.store(StoreVerb::Add, store, key, value, now, out),
            Verb::Replace => self.store(StoreVerb::Replace, store, key, value, now, out),
            Verb::Append => self.store(StoreVerb::Append, store, key, value, now, out),
            Verb::Prepend => self.store(StoreVerb::Prepend, store, key, value, now, out),
            Verb::Delete => match store.delete_meta(key, (self.cas != 0).then_some(self.cas), now) {
                Deleted::Done => self.done(0, out),
                Deleted::NotFound => self.refuse(Status::NotFound, out),
                Deleted::Exists => self.refuse(Status::Exists, out),
                Deleted::NoMemory => self.refuse(Status::NoMemory, out),
            },
            Verb::Increment => self.count(true, store, key, value, now, out),
            Verb::Decrement => self.count(false, store, key, value, now, out),
            Verb::TooLarge | Verb::SetTooLarge => {
                store.refuse_too_large((self.verb == Verb::SetTooLarge).then_some(key), now);
                self.refuse(Status::TooLarge, out);
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
        if self.verb != Verb::Get {
            return false;
        }
        let item = match reader.get(partition, key, now) {
            Lookup::Found(entry) => Some(entry.item()),
            Lookup::Missing => None,
            Lookup::AskOwner => return false,
        };
        self.show(key, item, out);
        true
    }

    pub(crate) fn no_memory(&self, out: &mut Vec<u8>) {
        reply::error(out, self.echo(), Status::NoMemory);
    }

    fn expiry(&self, now: u32) -> Expiry {
        Expiry::from_unsigned(self.exptime, now)
    }

    #[inline]
    fn show(&self, key: Key, item: Option<Item>, out: &mut Draft) {
        let shown = opcode::shows_key(self.opcode).then_some(key.bytes);
        let Some(item) = item else {
            if !self.is_quiet() {
                reply::miss(out, self.echo(), shown);
            }
            return;
        };
        let Item { value, flags, cas, .. } = item;
        if value.len() < LEND {
            return reply::value(out, self.echo(), flags, shown, cas, value);
        }
        reply::value_header(out, self.echo(), flags, shown, cas, value.len());
        out.value(value, || item.pin());
    }

    fn store(&self, verb: StoreVerb, store: &mut Store, key: Key, value: &[u8], now: u32, out: &mut Draft) {
        let joins = matches!(verb, StoreVerb::Append | StoreVerb::Prepend);
        let compare = (self.cas != 0).then_some(self.cas);
        // With a unique number all commands store in the same way.
        let verb = if compare.is_some() && !joins { StoreVerb::Set } else { verb };
        let fields = Fields { flags: self.flags, expiry: self.expiry(now), marks: marks(key), cas: None };
        let command = MetaStore { verb, compare, older_too: false, vivify: None, fields };
        let (stored, cas) = store.store_meta(command, key, value, now);
        let status = match stored {
            Stored::Stored => return self.done(cas, out),
            Stored::Exists => Status::Exists,
            Stored::NotFound => Status::NotFound,
            Stored::NotStored if verb == StoreVerb::Add => Status::Exists,
            Stored::NotStored if verb == StoreVerb::Replace => Status::NotFound,
            // memcached says no more than this when the old and the new value are too large together.
            Stored::TooLarge | Stored::NoMemory | Stored::NotStored if joins => Status::NotStored,
            Stored::NotStored => Status::NotStored,
            Stored::TooLarge => Status::TooLarge,
            Stored::NoMemory => {
                return reply::error_with(
                    out,
                    self.echo(),
                    Status::NoMemory,
                    b"Out of memory allocating item",
                );
            }
        };
        self.refuse(status, out);
    }

    fn count(&self, up: bool, store: &mut Store, key: Key, numbers: &[u8], now: u32, out: &mut Draft) {
        let number = |at: usize| numbers[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let (delta, initial) = (number(0), number(8));
        let command = MetaCount { up, delta, compare: self.cas, cas: None, expiry: None };
        let (counted, cas) = store.count_meta(command, key, now);
        let (now_is, cas) = match counted {
            Counted::Now(number) => (number, cas),
            Counted::NotFound if self.exptime == NO_VIVIFY => {
                store.count_miss(up);
                return self.refuse(Status::NotFound, out);
            }
            Counted::NotFound => {
                let mut digits = Vec::with_capacity(20);
                append_u64(&mut digits, initial);
                let fields = Fields { flags: 0, expiry: self.expiry(now), marks: marks(key), cas: None };
                match store.place(key, fields, &digits, now) {
                    Some(cas) => (initial, cas),
                    None => {
                        let text = b"Out of memory allocating new item";
                        return reply::error_with(out, self.echo(), Status::NoMemory, text);
                    }
                }
            }
            Counted::Exists => return self.refuse(Status::Exists, out),
            Counted::NonNumeric => return self.refuse(Status::NonNumeric, out),
            Counted::NoMemory => {
                let text = b"Out of memory incrementing value";
                return reply::error_with(out, self.echo(), Status::NoMemory, text);
            }
        };
        if !self.is_quiet() {
            reply::counter(out, self.echo(), now_is, cas);
        }
    }

    fn done(&self, cas: u64, out: &mut Draft) {
        if !self.is_quiet() {
            reply::done(out, self.echo(), cas);
        }
    }

    /// Errors are sent even for quiet commands.
    fn refuse(&self, status: Status, out: &mut Draft) {
        reply::error(out, self.echo(), status);
    }
}

/// The marks of an item with this key: a key that is not a word is shown in base 64 in the text protocol.
pub(crate) fn marks(key: Key) -> Marks {
    if is_word(key) { Marks::NONE } else { Marks::BINARY_KEY }
}

/// Whether a line of the text protocol can hold a key.
fn is_word(key: Key) -> bool {
    key.bytes.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use proto_memcache::binary::testing::{Packet, Read, read};
    use proto_memcache::binary::{BinaryParse, BinaryParser};

    use super::*;

    const NOW: u32 = 1_700_000_000;

    /// The answer to a request: status, value, and unique number; `None` without an answer.
    fn answer(store: &mut Store, packet: Packet<'_>) -> Option<(Status, Vec<u8>, u64)> {
        let mut bytes = Vec::new();
        packet.opaque(77).append(&mut bytes);
        let BinaryParse::Done { request, .. } = BinaryParser::default().parse(&bytes, true) else { panic!() };
        let mut room = [0; 16];
        let (operation, key, value) =
            BinaryOperation::of(request.echo, &request.command, &mut room).expect("it has a key");
        let (mut out, mut loans) = (Vec::new(), Vec::new());
        let key = store.hasher().key(key);
        operation.execute(store, key, value, NOW, &mut Draft::new(&mut out, &mut loans));
        if out.is_empty() {
            return None;
        }
        let Read::Done { consumed, response } = read(&out, 1 << 20) else { panic!() };
        assert_eq!((consumed, response.header.opaque), (out.len(), 77));
        Some((response.status().expect("a status"), response.value.to_vec(), response.header.cas))
    }

    #[test]
    fn each_command_has_its_answer() {
        let mut store = Store::new(cache_store::Config::new(4 << 20, 1)).unwrap();
        // Returns the unique number.
        let mut check = |packet: Packet<'_>, expect: Option<(Status, &[u8])>| {
            let found = answer(&mut store, packet.key(b"k"));
            let cas = found.as_ref().map_or(0, |(_, _, cas)| *cas);
            let found = found.map(|(status, value, _)| (status, value));
            assert_eq!(found, expect.map(|(status, value)| (status, value.to_vec())), "{packet:?}");
            cas
        };
        let new = Packet::new;
        let error = |status: Status| Some((status, status.text()));
        let done = Some((Status::Done, &b""[..]));
        check(new(opcode::GET), error(Status::NotFound));
        check(new(opcode::GETQ), None);
        check(new(opcode::GETK), Some((Status::NotFound, b"")));
        check(new(opcode::GATQ).touch(1), None);
        check(new(opcode::TOUCH).touch(1), error(Status::NotFound));
        check(new(opcode::DELETEQ), error(Status::NotFound));
        check(new(opcode::REPLACE).store(0, 0).value(b"v"), error(Status::NotFound));
        check(new(opcode::SETQ).store(0, 0).value(b"v").cas(9), error(Status::NotFound));
        check(new(opcode::APPENDQ).value(b"v"), error(Status::NotStored));
        check(new(opcode::PREPEND).value(b"v").cas(7), error(Status::NotStored));
        check(new(opcode::INCREMENT).count(1, 5, NO_VIVIFY), error(Status::NotFound));
        check(new(opcode::INCREMENTQ).count(1, 5, 0), None);
        let first = check(new(opcode::GET), Some((Status::Done, b"5")));
        let cas = check(new(opcode::INCREMENT).count(6, 5, 0), Some((Status::Done, &11u64.to_be_bytes())));
        assert!(first != 0 && cas > first);
        check(new(opcode::DECREMENT).count(12, 5, 0).cas(first), error(Status::Exists));
        let zero = Some((Status::Done, &[0; 8][..]));
        let cas = check(new(opcode::DECREMENT).count(12, 5, 0).cas(cas), zero);
        check(new(opcode::ADD).store(0, 0).value(b"v"), error(Status::Exists));
        check(new(opcode::ADD).store(0, 0).value(b"v").cas(first), error(Status::Exists));
        let added = check(new(opcode::ADD).store(7, 0).value(b"v").cas(cas), done);
        check(new(opcode::APPEND).value(b">").cas(cas), error(Status::Exists));
        let appended = check(new(opcode::APPEND).value(b">").cas(added), done);
        assert!(added > cas && appended > added);
        check(new(opcode::PREPENDQ).value(b"<"), None);
        let cas = check(new(opcode::GETKQ), Some((Status::Done, b"<v>")));
        check(new(opcode::INCREMENTQ).count(1, 5, 0), error(Status::NonNumeric));
        assert_eq!(check(new(opcode::TOUCH).touch(100), done), cas);
        assert_eq!(check(new(opcode::GAT).touch(100), Some((Status::Done, b"<v>"))), cas);
        check(new(opcode::DELETEQ).cas(appended), error(Status::Exists));
        check(new(opcode::DELETEQ).cas(cas), None);
        check(new(opcode::GETKQ), None);
        check(new(opcode::SET).store(0, 0).value(b"v"), done);
        let large = vec![b'v'; 1 << 20];
        check(new(opcode::APPEND).value(&large[60..]), error(Status::NotStored));
        check(new(opcode::ADD).store(0, 0).value(&large), error(Status::TooLarge));
        check(new(opcode::GET), Some((Status::Done, b"v")));
        check(new(opcode::SETQ).store(0, 0).value(&large), error(Status::TooLarge));
        check(new(opcode::GET), error(Status::NotFound));
    }

    #[test]
    fn an_operation_is_no_longer_for_it() {
        // Each message between threads holds one.
        assert_eq!((size_of::<BinaryOperation>(), size_of::<super::super::Operation>()), (24, 32));
    }
}
