use cache_store::{Expiry, Fields, Key, Marks, MetaStore, Reservation, Stats, Store, Stored};
use proto_memcache::binary::{Echo, Status, opcode, reply as response};
use proto_memcache::{Reply, StoreVerb};

use crate::operation::{self, meta};
use crate::partitions::Place;
use crate::telling::Telling;

/// A large value that is received directly into its place in the store.
pub(crate) struct Arriving {
    pub(crate) reservation: Reservation,
    /// Where that is.
    pub(crate) place: Place,
    pub(crate) command: Command,
    /// Whether it is one for which others had to make room.
    pub(crate) is_claimed: bool,
    /// The part of the line end after the value received so far.
    end: Vec<u8>,
}

/// The command to carry out when the value is complete.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// A storage command of the text protocol; neither `append` nor `prepend`.
    Text(StoreVerb, Reply),
    /// `ms`: the flags, and whether the key was written in base 64.
    Meta(Box<[u8]>, bool),
    /// `set` of the binary protocol: the fields that the response echoes, and the marks of the item.
    Binary(Echo, Marks),
}

impl Command {
    /// The line end expected after the value.
    pub(crate) fn line_end(&self) -> &'static [u8] {
        if matches!(self, Command::Binary(..)) { b"" } else { b"\r\n" }
    }

    /// Whether it stores unconditionally, so that an old item is dropped if the new one finds no memory, as in memcached.
    pub(crate) fn replaces(&self) -> bool {
        match self {
            Command::Text(verb, _) => *verb == StoreVerb::Set,
            Command::Meta(words, _) => meta::set_replaces(words),
            Command::Binary(..) => true,
        }
    }

    /// Refuses a command whose condition does not hold, before room is made for its value: appends the reply, if one is
    /// wanted, and returns whether it refused.
    pub(crate) fn refuse(
        &self,
        store: &mut Store,
        key: Key,
        (expiry, length): (Expiry, usize),
        telling: Option<&Telling>,
        now: u32,
        out: &mut Vec<u8>,
    ) -> bool {
        let told = telling.map(|telling| (telling, *store.counts()));
        let refused = match self {
            Command::Text(verb, reply) => {
                let stored = store.refuses(*verb, key, now);
                if let Some(stored) = stored.filter(|_| *reply == Reply::Wanted) {
                    out.extend_from_slice(operation::stored(*verb, stored));
                }
                stored.is_some()
            }
            Command::Meta(words, is_binary) => {
                meta::refuse_set(store, key, (words, *is_binary), length, now, out)
            }
            Command::Binary(..) => false,
        };
        if refused && let Some((telling, before)) = told {
            let after: Stats = *store.counts();
            telling.placed(self.name(), key.bytes, (&before, &after), expiry.left(now), length);
        }
        refused
    }

    /// Whether the client gets a reply, on success and on errors.
    pub(crate) fn reply(&self) -> Reply {
        match self {
            Command::Text(_, reply) => *reply,
            Command::Meta(..) | Command::Binary(..) => Reply::Wanted,
        }
    }

    pub(crate) fn no_memory(&self, out: &mut Vec<u8>) {
        match self {
            Command::Binary(echo, _) => response::error(out, *echo, Status::NoMemory),
            _ => out.extend_from_slice(operation::stored(StoreVerb::Set, Stored::NoMemory)),
        }
    }

    /// Makes the value the item of its key, if that may be, and appends the reply.
    pub(crate) fn finish(
        &self,
        store: &mut Store,
        reservation: Reservation,
        telling: Option<&Telling>,
        now: u32,
        out: &mut Vec<u8>,
    ) {
        let told = telling.map(|telling| (telling, reservation.key().to_vec(), *store.counts()));
        let (length, expiry) = (reservation.length(), reservation.expiry());
        self.carry_out(store, reservation, now, out);
        if let Some((telling, key, before)) = told {
            let after: Stats = *store.counts();
            // The time to live of `ms` is among its flags.
            let key_and_hash = store.hasher().key(&key);
            let left = match self {
                Command::Meta(..) => store.peek(key_and_hash, now).and_then(|entry| entry.expiry.left(now)),
                _ => expiry.left(now),
            };
            telling.placed(self.name(), &key, (&before, &after), left, length);
        }
    }

    fn carry_out(&self, store: &mut Store, reservation: Reservation, now: u32, out: &mut Vec<u8>) {
        match self {
            Command::Text(verb, reply) => {
                let stored = store.commit_as(*verb, reservation, now);
                if *reply == Reply::Wanted {
                    out.extend_from_slice(operation::stored(*verb, stored));
                }
            }
            Command::Meta(words, is_binary) => {
                meta::finish_set(store, reservation, words, *is_binary, now, out);
            }
            Command::Binary(echo, marks) => {
                let cas = if *marks == Marks::NONE {
                    store.commit_numbered(reservation, now)
                } else {
                    let (flags, expiry) = (reservation.flags(), reservation.expiry());
                    let fields = Fields { flags, expiry, marks: *marks, cas: None };
                    let verb = StoreVerb::Set;
                    let command = MetaStore { verb, compare: None, older_too: false, vivify: None, fields };
                    let (stored, cas) = store.commit_meta(command, reservation, now);
                    (stored == Stored::Stored).then_some(cas)
                };
                match cas {
                    Some(_) if opcode::is_quiet(echo.opcode) => {}
                    Some(cas) => response::done(out, *echo, cas),
                    None => response::error(out, *echo, Status::NoMemory),
                }
            }
        }
    }

    /// The command's name for watchers.
    fn name(&self) -> &'static str {
        match self {
            Command::Text(StoreVerb::Add, _) => "add",
            Command::Text(StoreVerb::Replace, _) => "replace",
            Command::Text(StoreVerb::Cas(_), _) => "cas",
            _ => "set",
        }
    }
}

/// A large value for which room is being made, as announced by its request. No byte of the value is read before.
pub(crate) struct Wanted {
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    /// Units: bytes.
    pub(crate) length: usize,
    /// The place reserved for it.
    pub(crate) place: Place,
    pub(crate) command: Command,
    pub(crate) outcome: Option<Outcome>,
}

/// The result of making room for a large value.
pub(crate) enum Outcome {
    Room(Reservation),
    NoRoom,
    /// The condition of its command does not hold: the reply, empty with `noreply`.
    Refused(Vec<u8>),
}

impl Arriving {
    pub(crate) fn new(reservation: Reservation, place: Place, command: Command) -> Arriving {
        Arriving { reservation, place, command, is_claimed: false, end: Vec::new() }
    }

    /// The same for which others had to make room.
    pub(crate) fn claimed(reservation: Reservation, place: Place, command: Command) -> Arriving {
        Arriving { is_claimed: true, ..Arriving::new(reservation, place, command) }
    }

    fn line_end(&self) -> &'static [u8] {
        self.command.line_end()
    }

    /// Takes the bytes that belong to the value; returns how many.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let rest = self.reservation.rest();
        let (value, behind) = bytes.split_at(bytes.len().min(rest.len()));
        rest[..value.len()].copy_from_slice(value);
        self.reservation.fill(value.len());
        let is_whole = self.reservation.rest().is_empty();
        let end =
            &behind[..if is_whole { behind.len().min(self.line_end().len() - self.end.len()) } else { 0 }];
        self.end.extend_from_slice(end);
        value.len() + end.len()
    }

    /// Whether all bytes have arrived, and if so whether the line end is right.
    pub(crate) fn ends_well(&mut self) -> Option<bool> {
        let is_whole = self.reservation.rest().is_empty() && self.end.len() == self.line_end().len();
        is_whole.then(|| self.end == self.line_end())
    }
}

#[cfg(test)]
mod tests {
    use cache_store::Config;

    use super::*;

    const SET: Command = Command::Text(StoreVerb::Set, Reply::Wanted);

    #[test]
    fn takes_its_value_and_the_end_behind_it_however_they_are_cut() {
        let check = |end: &str, expect: bool| {
            let value = format!("0123456789{end}");
            let all = format!("{value}get a\r\n");
            for cuts in 1..all.len() {
                let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
                let key = store.hasher().key(b"k");
                let reservation = store.reserve(key, 0, Expiry::NEVER, 10, 1).unwrap();
                let mut arriving = Arriving::new(reservation, Place::Here(0), SET);
                let mut taken = 0;
                for piece in all.as_bytes().chunks(cuts) {
                    assert_eq!(arriving.ends_well().is_none(), taken < value.len(), "{cuts}");
                    taken += arriving.take(piece);
                }
                assert_eq!((taken, arriving.ends_well()), (value.len(), Some(expect)), "{cuts}");
                store.commit(arriving.reservation, 1);
                assert_eq!(store.get(store.hasher().key(b"k"), 1).unwrap().value, b"0123456789");
            }
        };
        let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
        let key = store.hasher().key(b"k");
        let reservation = store.reserve(key, 0, Expiry::NEVER, 10, 1).unwrap();
        let binary = Command::Binary(Echo::default(), Marks::NONE);
        let mut arriving = Arriving::new(reservation, Place::Here(0), binary);
        assert_eq!((arriving.take(b"012345678"), arriving.ends_well()), (9, None));
        assert_eq!((arriving.take(b"9\r\n"), arriving.ends_well()), (1, Some(true)));
        store.abandon(arriving.reservation);
        check("\r\n", true);
        check("ab", false);
        check("\r\r", false);
    }
}
