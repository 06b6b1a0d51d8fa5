use cache_store::{Expiry, Fields, MetaStore, Reservation, Store, Stored};
use proto_memcache::server::{MetaFlags, Refusal, reply};
use proto_memcache::{MetaFlag, MetaMode, StoreVerb};

use super::Request;
use crate::draft::Draft;

/// `ms`. The parser has refused items and opaque tokens that are too long.
pub(super) fn execute(store: &mut Store, request: &Request, out: &mut Draft) {
    let (command, quiet) = command(request);
    let stored = store.store_meta(command, request.key, request.data, request.now);
    answer(store, request, stored, request.data.len(), quiet, out);
}

/// The same, with a fully received large value.
pub(super) fn finish(store: &mut Store, request: &Request, reservation: Reservation, out: &mut Vec<u8>) {
    let (command, quiet) = command(request);
    let length = reservation.length();
    let stored = store.commit_meta(command, reservation, request.now);
    answer(store, request, stored, length, quiet, out);
}

/// Refuses a command whose condition does not hold, before its value of `length` bytes has arrived; returns whether it
/// refused.
pub(super) fn refuse(store: &mut Store, request: &Request, length: usize, out: &mut Vec<u8>) -> bool {
    let (command, quiet) = command(request);
    let refused = store.refuses_meta(command, request.key, request.now);
    if let Some(stored) = refused {
        answer(store, request, stored, length, quiet, out);
    }
    refused.is_some()
}

/// Whether it stores on no condition.
pub(super) fn replaces(mut flags: MetaFlags) -> bool {
    !flags.any(|flag| match flag {
        MetaFlag::CompareCas(_) => true,
        MetaFlag::Mode(mode) => verb(mode) != StoreVerb::Set,
        _ => false,
    })
}

/// The command that the flags request, and whether they suppress the answer on success.
fn command(request: &Request) -> (MetaStore, bool) {
    let now = request.now;
    let fields = Fields { flags: 0, expiry: Expiry::NEVER, marks: request.marks(), cas: None };
    let mut command =
        MetaStore { verb: StoreVerb::Set, compare: None, older_too: false, vivify: None, fields };
    let mut quiet = false;
    for flag in request.flags() {
        match flag {
            MetaFlag::Quiet => quiet = true,
            MetaFlag::CompareCas(number) => command.compare = Some(number),
            // As in memcached, 0 asks for the next number here, and is the number itself in `ma`, `mg` and `md`.
            MetaFlag::NewCas(number) => command.fields.cas = Some(number).filter(|number| *number != 0),
            MetaFlag::Flags(flags) => command.fields.flags = flags,
            MetaFlag::Ttl(time) => command.fields.expiry = Expiry::from_exptime(time, now),
            MetaFlag::Vivify(time) => command.vivify = Some(Expiry::from_exptime(time, now)),
            MetaFlag::Invalidate => command.older_too = true,
            MetaFlag::Mode(mode) => command.verb = verb(mode),
            _ => {}
        }
    }
    (command, quiet)
}

fn answer(
    store: &mut Store,
    request: &Request,
    (stored, cas): (Stored, u64),
    length: usize,
    quiet: bool,
    out: &mut Vec<u8>,
) {
    let Request { key, now, .. } = *request;
    if quiet && stored == Stored::Stored {
        return;
    }
    out.extend_from_slice(match stored {
        Stored::Stored => reply::meta::DONE,
        Stored::Exists => reply::meta::EXISTS,
        Stored::NotFound => reply::meta::NOT_FOUND,
        Stored::NotStored | Stored::TooLarge => reply::meta::NOT_STORED,
        Stored::NoMemory => return out.extend_from_slice(Refusal::OutOfMemory.line()),
    });
    for flag in request.flags() {
        match flag {
            MetaFlag::Opaque(token) => reply::meta::opaque(out, token),
            MetaFlag::ReturnKey => reply::meta::key(out, key.bytes, request.binary),
            MetaFlag::ReturnCas => reply::meta::number(out, b'c', cas),
            MetaFlag::ReturnSize => {
                // The length after an append is the sum of both.
                let whole = match stored {
                    Stored::Stored => store.peek(key, now).map(|entry| entry.value.len()),
                    _ => None,
                };
                reply::meta::number(out, b's', whole.unwrap_or(length) as u64);
            }
            _ => {}
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn verb(mode: MetaMode) -> StoreVerb {
    match mode {
        MetaMode::Add => StoreVerb::Add,
        MetaMode::Append => StoreVerb::Append,
        MetaMode::Prepend => StoreVerb::Prepend,
        MetaMode::Replace => StoreVerb::Replace,
        MetaMode::Set | MetaMode::Increment | MetaMode::Decrement => StoreVerb::Set,
    }
}
