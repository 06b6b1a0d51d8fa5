use cache_store::{Entry, Expiry, Fields, Lookup, Marks, Reader, Store};
use proto_memcache::MetaFlag;
use proto_memcache::server::{Refusal, reply};

use super::Request;
use crate::draft::{Draft, LEND};

/// The flags of `mg` that must be known before the answer begins.
#[derive(Default)]
struct Wanted {
    value: bool,
    quiet: bool,
    vivify: bool,
    touch: bool,
    recache: bool,
    /// It does not count as a use of the item.
    no_bump: bool,
    compare: Option<u64>,
    cas: Option<u64>,
}

impl Wanted {
    fn of(request: &Request) -> Wanted {
        let mut wanted = Wanted::default();
        for flag in request.flags.clone() {
            match flag {
                MetaFlag::ReturnValue => wanted.value = true,
                MetaFlag::Quiet => wanted.quiet = true,
                MetaFlag::Vivify(_) => wanted.vivify = true,
                MetaFlag::CompareCas(number) => wanted.compare = Some(number),
                MetaFlag::NewCas(number) => wanted.cas = Some(number),
                MetaFlag::Ttl(_) => wanted.touch = true,
                MetaFlag::Recache(_) => wanted.recache = true,
                MetaFlag::NoBump => wanted.no_bump = true,
                _ => {}
            }
        }
        // memcached locks the item for these, and gives up before it marks the item as read.
        let locks = |flag| matches!(flag, MetaFlag::ReturnHitBefore | MetaFlag::ReturnLastAccess);
        let is_locked = wanted.vivify || wanted.touch || wanted.recache || request.flags.clone().any(locks);
        wanted.no_bump |= is_locked && request.is_refused();
        wanted
    }
}

/// The changes to make to an item found.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Change {
    expiry: Expiry,
    marks: Marks,
}

/// `mg`.
pub(super) fn execute(store: &mut Store, request: &Request, out: &mut Draft) {
    let wanted = Wanted::of(request);
    let Request { key, now, .. } = *request;
    let found = store.get_entry(key, !wanted.no_bump, now).map(|entry| {
        let before = Change { expiry: entry.expiry, marks: entry.marks };
        (before, hit(request, &wanted, &entry, false, out))
    });
    let (before, after) = match found {
        Some(found) => found,
        None if wanted.vivify => {
            let before = Change { expiry: Expiry::NEVER, marks: request.marks() };
            let Change { expiry, marks } = before;
            let fields = Fields { flags: 0, expiry, marks, cas: wanted.cas };
            let placed = store.place(key, fields, b"", now);
            let Some(made) = placed.and_then(|_| store.peek(key, now)) else {
                return miss(request, &wanted, out);
            };
            let after = hit(request, &wanted, &made, true, out);
            store.count_as_hit();
            if !wanted.no_bump {
                store.note_read(key, now);
            }
            (before, after)
        }
        None => return miss(request, &wanted, out),
    };
    if before != after {
        store.amend(key, after.expiry, after.marks, now);
        // The record is a new one, which was read by this.
        if !wanted.no_bump {
            store.note_read(key, now);
        }
    }
    if wanted.touch && !request.is_refused() {
        store.count_as_touch();
    }
}

/// `mg` in a partition of another thread, unless it changes something there; returns whether it is answered.
pub(super) fn read(reader: &mut Reader, partition: usize, request: &Request, out: &mut Draft) -> bool {
    let wanted = Wanted::of(request);
    // A reader records its reads.
    if wanted.vivify || wanted.touch || wanted.recache || wanted.no_bump {
        return false;
    }
    match reader.get(partition, request.key, request.now) {
        // It is not stale and no recache is requested, so no change is needed.
        Lookup::Found(entry) => _ = hit(request, &wanted, &entry, false, out),
        Lookup::Missing => miss(request, &wanted, out),
        Lookup::AskOwner => return false,
    }
    true
}

/// Answers with an item; returns the changes to make to it.
fn hit(request: &Request, wanted: &Wanted, entry: &Entry, made: bool, out: &mut Draft) -> Change {
    use reply::meta as write;
    let Entry { value, flags, cas, mut expiry, mut marks, fetched, idle, .. } = *entry;
    let claimed = marks.has(Marks::CLAIMED);
    let mut wins = false;
    let with_value = wanted.value && wanted.compare != Some(cas);
    let start = out.len();
    if with_value {
        // 64 bytes fit the usual codes, numbers and line ends.
        let copied = if value.len() < LEND { value.len() } else { 0 };
        out.reserve(request.key.bytes.len() + copied + 64);
        write::value(out, value.len());
    } else {
        out.extend_from_slice(write::DONE);
    }
    for flag in request.flags() {
        match flag {
            MetaFlag::Ttl(time) => expiry = Expiry::from_exptime(time, request.now),
            MetaFlag::Vivify(time) if made => {
                expiry = Expiry::from_exptime(time, request.now);
                wins = true;
            }
            MetaFlag::Recache(time) if !claimed && !made => {
                wins |= expiry.is_before(Expiry::from_exptime(time, request.now));
            }
            MetaFlag::ReturnSize => write::number(out, b's', value.len() as u64),
            MetaFlag::ReturnTtl => write::time_to_live(out, expiry.left(request.now)),
            MetaFlag::ReturnCas => write::number(out, b'c', cas),
            MetaFlag::ReturnFlags => write::number(out, b'f', u64::from(flags)),
            MetaFlag::ReturnLastAccess => write::number(out, b'l', u64::from(idle)),
            MetaFlag::ReturnHitBefore => write::number(out, b'h', u64::from(fetched)),
            MetaFlag::Opaque(token) => write::opaque(out, token),
            MetaFlag::ReturnKey => write::key(out, request.key.bytes, marks.has(Marks::BINARY_KEY)),
            _ => {}
        }
    }
    if request.is_refused() {
        out.truncate(start);
        out.extend_from_slice(Refusal::OpaqueTooLong.line());
        return Change { expiry, marks };
    }
    if claimed {
        write::mark(out, b'Z');
    }
    if marks.has(Marks::STALE) {
        write::mark(out, b'X');
        wins |= !claimed;
    }
    if wins {
        write::mark(out, b'W');
        marks = marks.with(Marks::CLAIMED);
    }
    out.extend_from_slice(b"\r\n");
    if with_value {
        out.value(value, || entry.pin());
        out.extend_from_slice(b"\r\n");
    }
    Change { expiry, marks }
}

fn miss(request: &Request, wanted: &Wanted, out: &mut Draft) {
    if request.is_refused() {
        out.extend_from_slice(Refusal::OpaqueTooLong.line());
    } else if !wanted.quiet {
        request.repeat(out, reply::meta::MISS);
    }
}
