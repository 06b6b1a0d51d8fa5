//! Operations on watched keys: the result of each is derived from the changes in its partition's counters.

use std::io::Write as _;
use std::sync::Arc;

use cache_store::{Expiry, Key, Reader, Stats, Store};
use proto_memcache::server::reply::list::percent_encode;
use proto_memcache::server::{MetaFlags, MetaVerb, Watched};
use proto_memcache::{MetaFlag, MetaMode, StoreVerb};

use crate::draft::Draft;
use crate::operation::Operation;
use crate::watch::Watchers;

/// The kinds that operations on keys are of.
pub(crate) const OPERATIONS: [Watched; 3] = [Watched::FETCHERS, Watched::MUTATIONS, Watched::DELETIONS];

/// Reports the operations of one connection to watchers.
pub(crate) struct Telling {
    pub(crate) watchers: Arc<Watchers>,
    /// The connection's number.
    pub(crate) number: usize,
}

impl Telling {
    /// [`Operation::execute`], reported to watchers.
    #[cold]
    pub(crate) fn execute(
        &self,
        operation: &Operation,
        store: &mut Store,
        key: Key,
        value: &[u8],
        now: u32,
        out: &mut Draft,
    ) {
        let before = *store.counts();
        let deletes = deletes(operation);
        // The lookup for the report comes after the operation's own, or an expired item would be reported as missing.
        let old = deletes.and_then(|_| store.peek(key, now)).map_or(0, |entry| entry.value.len());
        operation.execute(store, key, value, now, out);
        let after = *store.counts();
        if let Some(command) = deletes {
            if after.delete_hits > before.delete_hits {
                self.deleted(command, key.bytes, old);
            }
        } else if fetches(operation) {
            let length = store.peek(key, now).map_or(0, |entry| entry.value.len());
            self.fetched(key.bytes, &before, &after, length);
        } else if let Some((command, length)) = stores(operation, value) {
            let status = status(&before, &after);
            let (left, length) = match *operation {
                // Joined values are reported as one.
                Operation::Store { exptime, verb, .. } if !joins(verb) || status != "stored" => {
                    (Expiry::from_exptime(exptime, now).left(now), length)
                }
                _ => store
                    .peek(key, now)
                    .map_or((None, length), |item| (item.expiry.left(now), item.value.len())),
            };
            self.stored(command, key.bytes, status, left, length);
        }
    }

    /// [`Operation::read`], reported to watchers.
    #[cold]
    pub(crate) fn read(
        &self,
        operation: &Operation,
        (reader, partition): (&mut Reader, usize),
        key: Key,
        value: &[u8],
        now: u32,
        out: &mut Draft,
    ) -> bool {
        let before = reader.stats();
        if !operation.read(reader, partition, key, value, now, out) {
            return false;
        }
        let after = reader.stats();
        let length = reader.peek(partition, key, now).map_or(0, |entry| entry.value.len());
        self.fetched(key.bytes, &before, &after, length);
        true
    }

    /// A value was received directly into the store.
    #[cold]
    pub(crate) fn placed(
        &self,
        command: &str,
        key: &[u8],
        (before, after): (&Stats, &Stats),
        left: Option<u32>,
        length: usize,
    ) {
        self.stored(command, key, status(before, after), left, length);
    }

    fn fetched(&self, key: &[u8], before: &Stats, after: &Stats, length: usize) {
        if !self.watchers.want(Watched::FETCHERS) {
            return;
        }
        let status = if after.get_hits + after.touch_hits > before.get_hits + before.touch_hits {
            "found"
        } else if after.get_flushed > before.get_flushed {
            "flushed"
        } else if after.get_expired > before.get_expired || after.expired > before.expired {
            "expired"
        } else {
            "not_found"
        };
        let (class, length) = if status == "found" { (1, length) } else { (0, 0) };
        let number = self.number;
        self.watchers.tell(Watched::FETCHERS, |line| {
            line.extend_from_slice(b"type=item_get key=");
            percent_encode(key, line);
            let _ = write!(line, " status={status} clsid={class} cfd={number} size={length}");
        });
    }

    fn stored(&self, command: &str, key: &[u8], status: &str, left: Option<u32>, length: usize) {
        if !self.watchers.want(Watched::MUTATIONS) {
            return;
        }
        let (number, left) = (self.number, left.unwrap_or(0));
        self.watchers.tell(Watched::MUTATIONS, |line| {
            line.extend_from_slice(b"type=item_store key=");
            percent_encode(key, line);
            let _ =
                write!(line, " status={status} cmd={command} ttl={left} clsid=1 cfd={number} size={length}");
        });
    }

    fn deleted(&self, command: &str, key: &[u8], length: usize) {
        let number = self.number;
        self.watchers.tell(Watched::DELETIONS, |line| {
            line.extend_from_slice(b"type=deleted key=");
            percent_encode(key, line);
            let _ = write!(line, " cmd={command} clsid=1 cfd={number} size={length}");
        });
    }
}

fn fetches(operation: &Operation) -> bool {
    match operation {
        Operation::Get { .. } | Operation::GetAndTouch { .. } => true,
        Operation::Meta(meta) => meta.verb == MetaVerb::Get,
        Operation::Binary(binary) => binary.fetches(),
        Operation::Resp(resp) => resp.fetches(),
        _ => false,
    }
}

/// The command, if the operation deletes.
pub(crate) fn deletes(operation: &Operation) -> Option<&'static str> {
    match operation {
        Operation::Delete { .. } => Some("delete"),
        Operation::Meta(meta) if meta.verb == MetaVerb::Delete => Some("md"),
        Operation::Binary(binary) if binary.deletes() => Some("delete"),
        Operation::Resp(resp) if resp.deletes() => Some("delete"),
        _ => None,
    }
}

/// The command and the length of the received value, if the operation stores one.
fn stores(operation: &Operation, value: &[u8]) -> Option<(&'static str, usize)> {
    let name = |verb| match verb {
        StoreVerb::Set => "set",
        StoreVerb::Add => "add",
        StoreVerb::Replace => "replace",
        StoreVerb::Append => "append",
        StoreVerb::Prepend => "prepend",
        StoreVerb::Cas(_) => "cas",
    };
    match operation {
        Operation::Store { verb, .. } => Some((name(*verb), value.len())),
        Operation::RefuseTooLarge { .. } => Some(("set", 0)),
        Operation::Binary(binary) => binary.stores().map(|verb| (name(verb), value.len())),
        Operation::Resp(resp) => resp.stores().map(|verb| (name(verb), value.len())),
        Operation::Meta(meta) if meta.verb == MetaVerb::Set => {
            let flags = MetaFlags::new(meta.verb, &value[..usize::from(meta.flags_len)]);
            let verb = flags.fold(StoreVerb::Set, |verb, flag| match flag {
                MetaFlag::Mode(MetaMode::Add) => StoreVerb::Add,
                MetaFlag::Mode(MetaMode::Append) => StoreVerb::Append,
                MetaFlag::Mode(MetaMode::Prepend) => StoreVerb::Prepend,
                MetaFlag::Mode(MetaMode::Replace) => StoreVerb::Replace,
                MetaFlag::CompareCas(_) => StoreVerb::Cas(0),
                _ => verb,
            });
            Some((name(verb), meta.data_len as usize))
        }
        _ => None,
    }
}

fn joins(verb: StoreVerb) -> bool {
    matches!(verb, StoreVerb::Append | StoreVerb::Prepend)
}

/// The result of a storage command, in memcached's words.
fn status(before: &Stats, after: &Stats) -> &'static str {
    if after.total_items > before.total_items {
        "stored"
    } else if after.store_too_large > before.store_too_large {
        "too_large"
    } else if after.no_memory > before.no_memory {
        "no_memory"
    } else if after.cas_badval > before.cas_badval {
        "exists"
    } else if after.cas_misses > before.cas_misses {
        "not_found"
    } else {
        "not_stored"
    }
}
