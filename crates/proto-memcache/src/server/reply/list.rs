//! Lines of the lists of all items.

use std::io::Write;

use crate::digits::{append_i64, append_u64};
use crate::limits;
use crate::server::base64;

/// The metadata of an item, without its value.
#[derive(Clone, Copy, Debug)]
pub struct Item<'k> {
    /// The key.
    pub key: &'k [u8],
    /// Whether it was sent in base 64.
    pub binary: bool,
    /// When it expires, if it does. Units: seconds of Unix time.
    pub ends: Option<u64>,
    /// When it was last used. Units: seconds of Unix time.
    pub used: u32,
    /// Its unique number.
    pub cas: u64,
    /// Whether it was read since it was stored.
    pub fetched: bool,
    /// The client's own number.
    pub flags: u32,
    /// The value's length. Units: bytes.
    pub length: usize,
}

impl Item<'_> {
    /// Appends the line of `lru_crawler metadump`. There is one class of sizes, and it is 1.
    pub fn metadump(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"key=");
        percent_encode(self.key, out);
        out.extend_from_slice(b" exp=");
        append_i64(out, self.ends.map_or(-1, |at| at as i64));
        out.extend_from_slice(b" la=");
        append_u64(out, u64::from(self.used));
        out.extend_from_slice(b" cas=");
        append_u64(out, self.cas);
        out.extend_from_slice(if self.fetched { b" fetch=yes" } else { b" fetch=no" });
        out.extend_from_slice(b" cls=1 size=");
        append_u64(out, limits::item_size(self.key.len(), self.flags, self.length) as u64);
        out.extend_from_slice(b" flags=");
        append_u64(out, u64::from(self.flags));
        // memcached ends these lines so.
        out.extend_from_slice(b" \n");
    }

    /// Appends the line of `lru_crawler mgdump`: a request for the item.
    pub fn mgdump(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"mg ");
        if self.binary {
            base64::encode(self.key, out);
            out.extend_from_slice(b" b");
        } else {
            out.extend_from_slice(self.key);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends the line of `stats cachedump`.
    pub fn cachedump(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"ITEM ");
        out.extend_from_slice(self.key);
        write!(out, " [{} b; {} s]\r\n", self.length, self.ends.unwrap_or(0)).expect("memory takes it");
    }
}

/// Appends a URL-encoded text: letters, digits and `-._~` as they are, all other bytes as `%` and two digits.
///
/// Source: RFC 3986, 2.3; memcached's `uriencode` does the same.
pub fn percent_encode(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            let digit = |four: u8| DIGITS[usize::from(four)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_memcacheds() {
        // As memcached 1.6.45 lists them.
        let item: Item<'static> = Item {
            key: "a%\u{e9}~".as_bytes(),
            binary: false,
            ends: None,
            used: 1_795_372_732,
            cas: 191,
            fetched: true,
            flags: 5,
            length: 1,
        };
        let check = |write: fn(&Item<'static>, &mut Vec<u8>), item, expect: &str| {
            let mut out = Vec::new();
            write(&item, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        let line = "key=a%25%C3%A9~ exp=-1 la=1795372732 cas=191 fetch=yes cls=1 size=69 flags=5 \n";
        check(Item::metadump, item, line);
        check(Item::mgdump, item, "mg a%\u{e9}~\r\n");
        check(Item::mgdump, Item { binary: true, key: b"\x01\x02\x03", ..item }, "mg AQID b\r\n");
        check(Item::cachedump, item, "ITEM a%\u{e9}~ [1 b; 0 s]\r\n");
        check(Item::cachedump, Item { ends: Some(7), ..item }, "ITEM a%\u{e9}~ [1 b; 7 s]\r\n");
    }
}
