//! `stats detail`: operations on keys, by the prefix before their first `:`.
//!
//! Each thread counts its own operations, only while `stats detail` is on; the dump adds the threads' counts up.

use std::collections::BTreeMap;
use std::io::Write;

use proto_memcache::server::reply;

/// memcached's default delimiter of a prefix.
const DELIMITER: u8 = b':';
/// Most prefixes that a thread counts; others are not counted, so that a client that makes up keys cannot fill the
/// memory.
const PREFIXES: usize = 10_000;

/// Operations on the keys of one prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    gets: u64,
    hits: u64,
    sets: u64,
    deletes: u64,
}

/// One thing that was done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Get { hit: bool },
    Set,
    Delete,
}

/// Counts for all prefixes.
pub(crate) struct Prefixes {
    /// Whether anything is counted now.
    pub(crate) on: bool,
    delimiter: u8,
    all: BTreeMap<Vec<u8>, Counts>,
}

impl Prefixes {
    /// Counting is off until a client asks, unless a delimiter is given.
    pub(crate) fn new(delimiter: Option<u8>) -> Prefixes {
        Prefixes { on: delimiter.is_some(), delimiter: delimiter.unwrap_or(DELIMITER), all: BTreeMap::new() }
    }

    #[cold]
    pub(crate) fn count(&mut self, key: &[u8], detail: Detail) {
        let Some(end) = key.iter().position(|&byte| byte == self.delimiter) else { return };
        // The threads' counts are lines of words. Only keys of RESP, the binary protocol and base 64 have these bytes.
        if key[..end].iter().any(|byte| b" \n".contains(byte)) {
            return;
        }
        let full = self.all.len() >= PREFIXES;
        let counts = match self.all.get_mut(&key[..end]) {
            Some(counts) => counts,
            None if full => return,
            None => self.all.entry(key[..end].to_vec()).or_default(),
        };
        match detail {
            Detail::Get { hit } => {
                counts.gets += 1;
                counts.hits += u64::from(hit);
            }
            Detail::Set => counts.sets += 1,
            Detail::Delete => counts.deletes += 1,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.all.clear();
    }

    /// Appends one line for each prefix.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (prefix, Counts { gets, hits, sets, deletes }) in &self.all {
            out.extend_from_slice(b"PREFIX ");
            out.extend_from_slice(prefix);
            write!(out, " get {gets} hit {hits} set {sets} del {deletes}\r\n").expect("memory takes it");
        }
    }

    /// Reads the lines of several threads, and appends the answer to `stats detail dump`.
    pub(crate) fn answer(lines: &[u8], out: &mut Vec<u8>) {
        let mut sum = Prefixes::new(None);
        for line in lines.split(|&byte| byte == b'\n') {
            let words: Vec<&[u8]> = line.trim_ascii_end().split(|&byte| byte == b' ').collect();
            let [_, prefix, _, gets, _, hits, _, sets, _, deletes] = words[..] else { continue };
            let number = |word: &[u8]| std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
            let counts = sum.all.entry(prefix.to_vec()).or_default();
            counts.gets += number(gets).unwrap_or(0u64);
            counts.hits += number(hits).unwrap_or(0u64);
            counts.sets += number(sets).unwrap_or(0u64);
            counts.deletes += number(deletes).unwrap_or(0u64);
        }
        sum.write(out);
        out.extend_from_slice(reply::END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_counts_add_up_by_prefix() {
        let (mut one, mut other) = (Prefixes::new(None), Prefixes::new(None));
        one.count(b"user:1", Detail::Get { hit: true });
        one.count(b"user:2:x", Detail::Get { hit: false });
        one.count(b"plain", Detail::Set);
        other.count(b"user:1", Detail::Set);
        other.count(b":empty", Detail::Delete);
        let mut lines = Vec::new();
        one.write(&mut lines);
        other.write(&mut lines);
        let mut out = Vec::new();
        Prefixes::answer(&lines, &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "PREFIX  get 0 hit 0 set 0 del 1\r\nPREFIX user get 2 hit 1 set 1 del 0\r\nEND\r\n"
        );
    }

    #[test]
    fn a_key_cannot_make_up_lines() {
        let mut prefixes = Prefixes::new(None);
        prefixes.count(b"x\nPREFIX evil get 9 hit 9 set 9 del 9\n:1", Detail::Set);
        prefixes.count(b"two words:1", Detail::Set);
        let (mut lines, mut out) = (Vec::new(), Vec::new());
        prefixes.write(&mut lines);
        Prefixes::answer(&lines, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "END\r\n");
    }

    #[test]
    fn made_up_prefixes_do_not_fill_the_memory() {
        let mut prefixes = Prefixes::new(None);
        for i in 0..PREFIXES + 10 {
            prefixes.count(format!("{i}:").as_bytes(), Detail::Set);
        }
        prefixes.count(b"7:", Detail::Set);
        assert_eq!((prefixes.all.len(), prefixes.all[&b"7"[..]].sets), (PREFIXES, 2));
    }
}
