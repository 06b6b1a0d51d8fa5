use cache_store::{Deleted, Expiry, Invalidate, Store};
use proto_memcache::MetaFlag;
use proto_memcache::server::{Refusal, reply};

use super::Request;
use crate::draft::Draft;

/// `md`. The parser has refused opaque tokens that are too long.
pub(super) fn execute(store: &mut Store, request: &Request, out: &mut Draft) {
    let Request { key, now, .. } = *request;
    let mut how = Invalidate { stale: false, expiry: None, cas: None, empty: false, flags: 0 };
    let (mut compare, mut quiet) = (None, false);
    for flag in request.flags() {
        match flag {
            MetaFlag::Quiet => quiet = true,
            MetaFlag::CompareCas(number) => compare = Some(number),
            MetaFlag::NewCas(number) => how.cas = Some(number),
            MetaFlag::Invalidate => how.stale = true,
            MetaFlag::RemoveValue => how.empty = true,
            MetaFlag::Flags(flags) => how.flags = flags,
            MetaFlag::Ttl(time) => how.expiry = Some(Expiry::from_exptime(time, now)),
            _ => {}
        }
    }
    let deleted = if how.stale || how.empty {
        store.invalidate(key, compare, how, now)
    } else {
        store.delete_meta(key, compare, now)
    };
    let code = match deleted {
        Deleted::Done if quiet => return,
        Deleted::Done => reply::meta::DONE,
        Deleted::NotFound => reply::meta::NOT_FOUND,
        Deleted::Exists => reply::meta::EXISTS,
        Deleted::NoMemory => return out.extend_from_slice(Refusal::NoMemory.line()),
    };
    request.repeat(out, code);
}
