//! Lists of all items: `lru_crawler metadump`, `lru_crawler mgdump` and `stats cachedump`.
//!
//! A list is made in parts, each from one partition by a thread with access to it, and the next part is made when the
//! connection's output has room for it. So a list holds up no thread for long, and takes no more memory than another
//! reply.

use cache_store::{Cursor, Entry, Marks, Store};
use proto_memcache::server::reply::list;
use proto_memcache::server::{DumpKind, reply};

/// Most bytes of an answer to `stats cachedump`. Units: bytes. Source: memcached's `item_cachedump`.
const CACHED_MAX: usize = 2 << 20;

/// The format of each item in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As `lru_crawler` does.
    Crawler(DumpKind),
    /// As `stats cachedump` does.
    Cached,
}

impl Format {
    pub(crate) fn start(self) -> &'static [u8] {
        if self == Format::Cached { b"" } else { reply::OK }
    }

    pub(crate) fn end(self) -> &'static [u8] {
        match self {
            Format::Crawler(DumpKind::Keys) => reply::meta::END_OF_KEYS,
            Format::Crawler(DumpKind::Items) | Format::Cached => reply::END,
        }
    }
}

/// A list that is being made, as it is passed to the thread that makes its next part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dump {
    pub(crate) format: Format,
    pub(crate) partition: usize,
    /// How far that is.
    cursor: Cursor,
    /// How many items may still be listed.
    items: u32,
    /// Most bytes for the items. Units: bytes.
    room: usize,
    /// Whether another thread makes the next part.
    pub(crate) asked: bool,
}

impl Dump {
    pub(crate) fn of_all(kind: DumpKind) -> Dump {
        Dump { room: usize::MAX, ..Dump::new(Format::Crawler(kind), u32::MAX) }
    }

    /// `stats cachedump` of at most `limit` items; 0 for all.
    pub(crate) fn cached(limit: u32) -> Dump {
        Dump::new(Format::Cached, if limit == 0 { u32::MAX } else { limit })
    }

    fn new(format: Format, items: u32) -> Dump {
        let room = CACHED_MAX - reply::END.len();
        Dump { format, partition: 0, cursor: Cursor::default(), items, room, asked: false }
    }

    /// Whether all `partitions` partitions have been listed.
    pub(crate) fn is_over(&self, partitions: usize) -> bool {
        self.partition >= partitions || self.items == 0 || self.room == 0
    }

    /// Appends the next part, from the current partition.
    pub(crate) fn go_on(&mut self, store: &mut Store, now: u32, out: &mut Vec<u8>) {
        let Dump { format, items, room, .. } = self;
        let more = store.list(&mut self.cursor, now, |key, entry| {
            if *items == 0 {
                return;
            }
            let start = out.len();
            if !line(*format, key, entry, now, out) {
                return;
            }
            let length = out.len() - start;
            if length > *room {
                // As in memcached, the first that finds no room is the end.
                out.truncate(start);
                (*items, *room) = (0, 0);
                return;
            }
            // For `all` this is not a bound.
            *room -= if *room == usize::MAX { 0 } else { length };
            *items -= u32::from(*items != u32::MAX);
        });
        if !more {
            (self.partition, self.cursor) = (self.partition + 1, Cursor::default());
        }
    }
}

/// Appends the line of an item, if it has one.
fn line(format: Format, key: &[u8], entry: &Entry, now: u32, out: &mut Vec<u8>) -> bool {
    let item = list::Item {
        key,
        binary: entry.marks.has(Marks::BINARY_KEY),
        ends: entry.expiry.left(now).map(|left| u64::from(now) + u64::from(left)),
        used: now.saturating_sub(entry.idle),
        cas: entry.cas,
        fetched: entry.fetched,
        flags: entry.flags,
        length: entry.value.len(),
    };
    match format {
        Format::Crawler(DumpKind::Items) => item.metadump(out),
        Format::Crawler(DumpKind::Keys) => item.mgdump(out),
        Format::Cached if item.binary => return false,
        Format::Cached => item.cachedump(out),
    }
    true
}

#[cfg(test)]
mod tests {
    use cache_store::Expiry;
    use proto_memcache::StoreVerb;

    use super::*;

    const NOW: u32 = 1_700_000_000;

    fn stores() -> [Store; 2] {
        [0, 1].map(|_| Store::new(cache_store::Config::new(4 << 20, 1)).unwrap())
    }

    fn set(store: &mut Store, key: &str) {
        let hasher = store.hasher();
        let key = hasher.key(key.as_bytes());
        store.store(StoreVerb::Set, key, 5, Expiry::from_exptime(100, NOW), b"value", NOW);
    }

    fn all(dump: &mut Dump, stores: &mut [Store]) -> String {
        let mut out = Vec::new();
        while !dump.is_over(stores.len()) {
            dump.go_on(&mut stores[dump.partition], NOW + 2, &mut out);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_every_partition_in_each_form() {
        let mut stores = stores();
        set(&mut stores[0], "a b\u{1}");
        set(&mut stores[1], "c");
        let mut check = |mut dump: Dump, expect: &str| assert_eq!(all(&mut dump, &mut stores), expect);
        check(
            Dump::of_all(DumpKind::Items),
            "key=a%20b%01 exp=1700000100 la=1700000000 cas=1 fetch=no cls=1 size=72 flags=5 \n\
             key=c exp=1700000100 la=1700000000 cas=1 fetch=no cls=1 size=69 flags=5 \n",
        );
        check(Dump::of_all(DumpKind::Keys), "mg a b\u{1}\r\nmg c\r\n");
        check(Dump::cached(0), "ITEM a b\u{1} [5 b; 1700000100 s]\r\nITEM c [5 b; 1700000100 s]\r\n");
        check(Dump::cached(1), "ITEM a b\u{1} [5 b; 1700000100 s]\r\n");
    }

    #[test]
    fn a_cachedump_ends_where_memcacheds_does() {
        let mut stores = stores();
        let key = |i: usize| format!("{i:0200}");
        (0..10_000).for_each(|i| set(&mut stores[i % 2], &key(i)));
        let mut text = all(&mut Dump::cached(0), &mut stores);
        text.push_str("END\r\n");
        let line = "ITEM  [5 b; 1700000100 s]\r\n".len() + 200;
        assert!(text.len() <= CACHED_MAX && text.len() + line > CACHED_MAX, "{}", text.len());
        assert_eq!(all(&mut Dump::of_all(DumpKind::Keys), &mut stores).lines().count(), 10_000);
    }
}
