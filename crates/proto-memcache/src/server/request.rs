use crate::scan::find;
use crate::server::{Meta, MetaKey, Refusal, Watched};
use crate::{Reply, StoreVerb};

/// One request. Slices point into the bytes that were parsed.
///
/// `reply` is whether to answer. `exptime` is as the client wrote it: 0 never, below 0 past, up to 30 days a span, above
/// a Unix time. Units: seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "see above; the other fields are their names")]
pub enum Request<'b> {
    /// `get` and `gets`, of at least one key, each of a legal length; the reply to `gets` carries unique numbers.
    Get { keys: Keys<'b>, with_cas: bool },
    /// `gat` and `gats`, the same of any number of keys.
    GetAndTouch { exptime: i32, keys: Keys<'b>, with_cas: bool },
    /// `mg`, `ms`, `md`, `ma`, `me`.
    Meta(Meta<'b>),
    /// `ms` with an item over the largest size; its value is skipped, and an old item must go.
    MetaTooLarge { key: MetaKey<'b> },
    /// `mn`: answered with `MN`, at which clients see that all before it is answered.
    NoOp,
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`; `flags` is the client's own number.
    Store { verb: StoreVerb, key: &'b [u8], flags: u32, exptime: i32, data: &'b [u8], reply: Reply },
    /// `delete`.
    Delete { key: &'b [u8], reply: Reply },
    /// `incr`, which counts up, and `decr`.
    Count { key: &'b [u8], up: bool, delta: u64, reply: Reply },
    /// `touch`.
    Touch { key: &'b [u8], exptime: i32, reply: Reply },
    /// `flush_all`; the delay is as an expiry time, and not over 0 is now.
    FlushAll { delay: i32, reply: Reply },
    /// `verbosity`, and commands that tune memcached's own workings: to be answered with `OK` and otherwise ignored.
    NoEffect { reply: Reply },
    /// `version`.
    Version,
    /// `stats` of a group, which is empty for the general ones, and the words after it.
    Stats { group: &'b [u8], arguments: [Option<&'b [u8]>; 2] },
    /// `watch`.
    Watch { kinds: Watched },
    /// `lru_crawler metadump` and `lru_crawler mgdump`, of classes of sizes to be read with
    /// [`Classes::read`](super::Classes::read).
    Dump { kind: DumpKind, classes: &'b [u8], reply: Reply },
    /// `refresh_certs`.
    RefreshCertificates { reply: Reply },
    /// `cache_memlimit`: the new limit for items.
    MemoryLimit { megabytes: u32, reply: Reply },
    /// `shutdown`; `reply` is whether to answer that it is not allowed.
    Shutdown { how: Shutdown, reply: Reply },
    /// `quit`: close the connection when earlier requests are answered.
    Quit,
    /// To be answered with an error, which `noreply` silences, too. The item of the key `unlink` must go, since its new
    /// value was refused: better no value than an old one.
    Refused { refusal: Refusal, reply: Reply, unlink: Option<&'b [u8]> },
}

/// The content of a list of all items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpKind {
    /// All but the value.
    Items,
    /// The key, as a request for it.
    Keys,
}

/// How `shutdown` wants the server to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// At once.
    Now,
    /// When requests in progress are done.
    Graceful,
    /// In no way that there is.
    Unknown,
}

/// The keys of a `get`, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys<'b> {
    rest: &'b [u8],
    count: usize,
}

impl<'b> Keys<'b> {
    /// Splits `words` at blanks. The parser has checked each word's length, and that there is at least one.
    pub(super) fn new(words: &'b [u8], count: usize) -> Keys<'b> {
        Keys { rest: words, count }
    }

    /// The rest of the line, and its number of keys: to resume with a copy of it later.
    pub fn rest(&self) -> (&'b [u8], usize) {
        (self.rest, self.count)
    }

    /// Resumes with the result of [`Keys::rest`]. Bounds: other values only make the count of keys wrong.
    pub fn resume(rest: &'b [u8], count: usize) -> Keys<'b> {
        Keys { rest, count }
    }
}

impl<'b> Iterator for Keys<'b> {
    type Item = &'b [u8];

    #[inline]
    fn next(&mut self) -> Option<&'b [u8]> {
        let word = next_word(&mut self.rest)?;
        self.count = self.count.saturating_sub(1);
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Keys<'_> {}

/// Takes the first word off `rest`; blanks around it do not count.
#[inline]
pub(super) fn next_word<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    while let [b' ', after @ ..] = *rest {
        *rest = after;
    }
    if rest.is_empty() {
        return None;
    }
    let (word, after) = rest.split_at(find(b' ', rest).unwrap_or(rest.len()));
    *rest = after;
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_can_be_gone_on_with_later() {
        let mut keys = Keys::new(b" a  bc d", 3);
        assert_eq!(keys.next(), Some(&b"a"[..]));
        let (rest, count) = keys.rest();
        let copy = rest.to_vec();
        let later = Keys::resume(&copy, count);
        assert_eq!((later.len(), later.collect::<Vec<_>>()), (2, vec![&b"bc"[..], b"d"]));
    }

    #[test]
    fn words_are_split_at_blanks() {
        let check = |line: &str, expect: &[&str]| {
            let mut rest = line.as_bytes();
            let mut words = Vec::new();
            while let Some(word) = next_word(&mut rest) {
                words.push(std::str::from_utf8(word).unwrap());
            }
            assert_eq!(words, expect, "{line:?}");
        };
        check("", &[]);
        check("   ", &[]);
        check("a", &["a"]);
        check("  a  bc ", &["a", "bc"]);
        check("a\tb c\r", &["a\tb", "c\r"]);
    }
}
