//! Execution of the meta commands on a key.
//!
//! Flags take effect in their order, as in memcached: `t` before `T` returns the old time to live, after it the new
//! one, and an opaque token that is too long undoes no earlier flag.

mod count;
mod delete;
mod get;
mod set;

use cache_store::{Key, Marks, Reader, Reservation, Store};
use proto_memcache::server::{MetaFlags, MetaVerb, reply};
use proto_memcache::{MetaFlag, limits};

use crate::draft::Draft;

/// A meta command, as passed to the key's owner: flags and value in one piece, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetaOperation {
    pub(crate) verb: MetaVerb,
    /// The key was sent in base 64.
    pub(crate) binary: bool,
    /// How much of the arguments are flags. Bounds: a line.
    pub(crate) flags_len: u16,
    /// How much of them, at their end, is the value.
    pub(crate) data_len: u32,
}

impl MetaOperation {
    /// Does it, and appends the reply to `out`.
    pub(crate) fn execute(&self, store: &mut Store, key: Key, arguments: &[u8], now: u32, out: &mut Draft) {
        let flags = MetaFlags::new(self.verb, &arguments[..usize::from(self.flags_len)]);
        let data = &arguments[arguments.len() - self.data_len as usize..];
        let request = Request { key, binary: self.binary, flags, data, now };
        match self.verb {
            MetaVerb::Get => get::execute(store, &request, out),
            MetaVerb::Set => set::execute(store, &request, out),
            MetaVerb::Delete => delete::execute(store, &request, out),
            MetaVerb::Count => count::execute(store, &request, out),
            MetaVerb::Debug => debug(store, &request, out),
        }
    }
}

impl MetaOperation {
    /// Does it in a partition of another thread if it only reads, and returns whether it could.
    pub(crate) fn read(
        &self,
        reader: &mut Reader,
        partition: usize,
        key: Key,
        arguments: &[u8],
        now: u32,
        out: &mut Draft,
    ) -> bool {
        let flags = MetaFlags::new(self.verb, &arguments[..usize::from(self.flags_len)]);
        let request = Request { key, binary: self.binary, flags, data: b"", now };
        self.verb == MetaVerb::Get && get::read(reader, partition, &request, out)
    }
}

/// `ms`, with a fully received large value, as [`MetaOperation::execute`]; `words` are its flags.
pub(crate) fn finish_set(
    store: &mut Store,
    reservation: Reservation,
    words: &[u8],
    binary: bool,
    now: u32,
    out: &mut Vec<u8>,
) {
    let bytes = reservation.key().to_vec();
    let flags = MetaFlags::new(MetaVerb::Set, words);
    let request = Request { key: store.hasher().key(&bytes), binary, flags, data: b"", now };
    set::finish(store, &request, reservation, out);
}

/// `ms`, with a large value that is still to come: refuses it if its condition does not hold, with the reply, and returns
/// whether it did. `words` are its flags, with whether its key is in base 64.
pub(crate) fn refuse_set(
    store: &mut Store,
    key: Key,
    (words, binary): (&[u8], bool),
    length: usize,
    now: u32,
    out: &mut Vec<u8>,
) -> bool {
    let request = Request { key, binary, flags: MetaFlags::new(MetaVerb::Set, words), data: b"", now };
    set::refuse(store, &request, length, out)
}

/// Whether the flags of `ms` make it an unconditional store.
pub(crate) fn set_replaces(words: &[u8]) -> bool {
    set::replaces(MetaFlags::new(MetaVerb::Set, words))
}

/// The inputs of every meta command.
struct Request<'r> {
    key: Key<'r>,
    binary: bool,
    flags: MetaFlags<'r>,
    data: &'r [u8],
    now: u32,
}

impl<'r> Request<'r> {
    /// The flags up to an overlong opaque token, if any.
    fn flags(&self) -> impl Iterator<Item = MetaFlag<'r>> {
        self.flags.clone().take_while(|flag| !is_too_long(*flag))
    }

    /// Whether an opaque token is too long, so that the answer is a complaint.
    fn is_refused(&self) -> bool {
        self.flags.clone().any(is_too_long)
    }

    /// The marks of an item that the command makes.
    fn marks(&self) -> Marks {
        if self.binary { Marks::BINARY_KEY } else { Marks::NONE }
    }

    /// Appends a code and the fields that every reply echoes: the opaque token and the key.
    fn repeat(&self, out: &mut Draft, code: &[u8]) {
        out.extend_from_slice(code);
        for flag in self.flags() {
            match flag {
                MetaFlag::Opaque(token) => reply::meta::opaque(out, token),
                MetaFlag::ReturnKey => reply::meta::key(out, self.key.bytes, self.binary),
                _ => {}
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn is_too_long(flag: MetaFlag) -> bool {
    matches!(flag, MetaFlag::Opaque(token) if token.len() > limits::OPAQUE_MAX)
}

/// `me`.
fn debug(store: &mut Store, request: &Request, out: &mut Draft) {
    let Some(entry) = store.peek(request.key, request.now) else {
        return out.extend_from_slice(reply::meta::DEBUG_MISS);
    };
    let key = request.key.bytes;
    let debug = reply::meta::Debug {
        key,
        binary: entry.marks.has(Marks::BINARY_KEY),
        time_to_live: entry.expiry.left(request.now),
        last_access: entry.idle,
        cas: entry.cas,
        fetched: entry.fetched,
        size: limits::item_size(key.len(), entry.flags, entry.value.len()),
    };
    debug.append(out);
}
