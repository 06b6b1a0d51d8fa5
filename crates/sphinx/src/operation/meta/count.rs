use cache_store::{Counted, Expiry, Fields, MetaCount, Store};
use proto_memcache::server::{Refusal, reply};
use proto_memcache::{MetaFlag, MetaMode, append_u64};

use super::Request;
use crate::draft::Draft;

/// `ma`.
pub(super) fn execute(store: &mut Store, request: &Request, out: &mut Draft) {
    let Request { key, now, .. } = *request;
    let mut command = MetaCount { up: true, delta: 1, compare: 0, cas: None, expiry: None };
    let (mut initial, mut vivify, mut quiet, mut value) = (0, false, false, false);
    for flag in request.flags.clone() {
        match flag {
            MetaFlag::Quiet => quiet = true,
            MetaFlag::ReturnValue => value = true,
            MetaFlag::CompareCas(number) => command.compare = number,
            MetaFlag::NewCas(number) => command.cas = Some(number),
            MetaFlag::Delta(delta) => command.delta = delta,
            MetaFlag::InitialValue(number) => initial = number,
            MetaFlag::Vivify(_) => vivify = true,
            MetaFlag::Mode(mode) => command.up = mode != MetaMode::Decrement,
            _ => {}
        }
    }
    command.expiry = last_expiry(request, false);
    let before = store.peek(key, now).map_or(Expiry::NEVER, |entry| entry.expiry);
    let (counted, cas) = store.count_meta(command, key, now);
    let (number, cas, made) = match counted {
        Counted::Now(number) => (number, cas, false),
        Counted::NotFound if vivify => match make(store, request, initial, command.cas) {
            Some(cas) => (initial, cas, true),
            None => return out.extend_from_slice(Refusal::NoMemoryToCount.line()),
        },
        Counted::NotFound => {
            store.count_miss(command.up);
            return repeat_or_refuse(request, out, reply::meta::NOT_FOUND);
        }
        Counted::Exists => return repeat_or_refuse(request, out, reply::meta::EXISTS),
        Counted::NonNumeric => return out.extend_from_slice(Refusal::NonNumeric.line()),
        Counted::NoMemory => return out.extend_from_slice(Refusal::NoMemory.line()),
    };
    if request.is_refused() {
        return out.extend_from_slice(Refusal::OpaqueTooLong.line());
    }
    if quiet {
        return;
    }
    Told { number, value, made, cas, before }.append(request, out);
}

/// Creates a missing item, and returns its unique number, if there is memory. The flag `D` does not count yet.
fn make(store: &mut Store, request: &Request, initial: u64, cas: Option<u64>) -> Option<u64> {
    let mut digits = Vec::with_capacity(20);
    append_u64(&mut digits, initial);
    let expiry = last_expiry(request, true).unwrap_or(Expiry::NEVER);
    let fields = Fields { flags: 0, expiry, marks: request.marks(), cas };
    store.place(request.key, fields, &digits, request.now)
}

/// The expiry that the flags leave an item with, if they say anything of it.
fn last_expiry(request: &Request, made: bool) -> Option<Expiry> {
    let times = request.flags().filter_map(|flag| match flag {
        MetaFlag::Ttl(time) => Some(time),
        MetaFlag::Vivify(time) if made => Some(time),
        _ => None,
    });
    times.last().map(|time| Expiry::from_exptime(time, request.now))
}

fn repeat_or_refuse(request: &Request, out: &mut Draft, code: &[u8]) {
    if request.is_refused() {
        return out.extend_from_slice(Refusal::OpaqueTooLong.line());
    }
    request.repeat(out, code);
}

/// The data that the answer is made from.
struct Told {
    number: u64,
    value: bool,
    made: bool,
    cas: u64,
    before: Expiry,
}

impl Told {
    fn append(&self, request: &Request, out: &mut Draft) {
        use reply::meta as write;
        if self.value {
            write::value(out, self.number.checked_ilog10().map_or(1, |log| log as usize + 1));
        } else {
            out.extend_from_slice(write::DONE);
        }
        let mut expiry = self.before;
        for flag in request.flags() {
            match flag {
                MetaFlag::Ttl(time) => expiry = Expiry::from_exptime(time, request.now),
                MetaFlag::Vivify(time) if self.made => expiry = Expiry::from_exptime(time, request.now),
                MetaFlag::ReturnTtl => write::time_to_live(out, expiry.left(request.now)),
                MetaFlag::ReturnCas => write::number(out, b'c', self.cas),
                MetaFlag::Opaque(token) => write::opaque(out, token),
                MetaFlag::ReturnKey => write::key(out, request.key.bytes, request.binary),
                _ => {}
            }
        }
        out.extend_from_slice(b"\r\n");
        if self.value {
            append_u64(out, self.number);
            out.extend_from_slice(b"\r\n");
        }
    }
}
